"""Calls that take a short way (plain tensors, no gradient, nobody watching) give what the general way
gives.
"""

import numpy as np
import pytest

import pellucid as torch
from pellucid import shapes
from pellucid.arrays.native import Quick
from pellucid.core.observe import observing
from pellucid.core.primitive import PRIMITIVES, takes_only_arrays

F = torch.nn.functional
KINDS = (torch.float32, torch.float64, torch.int64, torch.bfloat16)


class Watch:
    """An observer of nothing: while it is registered, no call takes a short way."""

    def operation(self, *_):
        pass


def generally(call):
    """What a call gives the general way."""
    with observing(Watch()):
        return call()


def layouts(rng, kind=torch.float32):
    """Arrays of one dtype in many layouts, with special values, without elements, without
    dimensions.
    """
    values = rng.normal(size=(4, 6)) * 3
    base = torch.from_numpy(values).to(kind)
    yield from (base, base.t(), base[:, ::2], base[1:], base[:0], base[0, 0], base[:1].expand(3, 6))
    if kind.is_floating_point:
        hard = base.clone()
        hard.view(-1)[:6] = torch.tensor([0.0, -0.0, np.nan, np.inf, -np.inf, -3.0]).to(kind)
        yield hard


def same(a, b):
    """Bit for bit, NaN for NaN."""
    assert a.dtype is b.dtype and a.shape == b.shape
    x, y = a.detach().contiguous()._array, b.detach().contiguous()._array
    assert x.tobytes() == y.tobytes() or (
        np.array_equal(np.isnan(x), np.isnan(y)) and np.array_equal(x[x == x], y[y == y])
    )


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("name", ["sign", "trace", "digamma", "lgamma"])
def test_of_one_tensor(name, kind):
    if kind is torch.int64 and name.endswith("gamma"):
        kind = torch.float16
    for x in layouts(np.random.default_rng(3), kind):
        if name == "trace" and x.ndim != 2:
            continue
        same(getattr(torch, name)(x), generally(lambda x=x: getattr(torch, name)(x)))


def test_sign_and_lgamma_at_hard_points():
    for kind in (torch.float32, torch.float64):
        x = torch.tensor([0.0, -0.0, np.nan, np.inf, -np.inf, 2.0, -5e-324, -1.5], dtype=kind)
        assert torch.sign(x).tolist()[:5] == [0, 0, 0, 1, -1]
        assert torch.lgamma(x).tolist()[:2] == [np.inf, np.inf]
        assert torch.lgamma(x).tolist()[3:5] == [np.inf, np.inf]
        assert np.isnan(torch.lgamma(x)[2].item())
        d = torch.digamma(x).tolist()
        assert d[:2] == [-np.inf, np.inf] and np.isnan(d[2])
        least = torch.tensor([torch.finfo(kind).min], dtype=kind)
        assert torch.lgamma(least).item() == np.inf


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_equal(kind):
    for x in layouts(np.random.default_rng(4), kind):
        y = x.clone()
        assert torch.equal(x, y) is bool(np.array_equal(x._array, y._array))
        assert torch.equal(x, x.reshape(-1)) is (x.ndim == 1)
        if y.numel():
            y[(-1,) * y.ndim] = 77
            assert not torch.equal(x, y)
    assert torch.equal(torch.tensor([1]), torch.tensor([1.0]))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_masked_select(kind):
    for x in layouts(np.random.default_rng(5), kind):
        for mask in (x > 0, torch.zeros(x.shape, dtype=torch.bool), (x > 0).t().contiguous().t()):
            same(x.masked_select(mask), generally(lambda x=x, m=mask: x.masked_select(m)))
    with pytest.raises(RuntimeError):
        torch.ones(3).masked_select(torch.ones(2, dtype=torch.bool))


@pytest.mark.parametrize("name", ["var", "std", "var_mean"])
def test_spreads(name):
    rng = np.random.default_rng(6)
    for scale in (1, 1e-20, 1e20, 0):
        for x in layouts(rng):
            if x.ndim < 2 or not x.numel():
                continue
            x = x * scale
            for dim in (0, 1, -1, (0, 1)):
                short = getattr(torch, name)(x, dim=dim)
                general = generally(lambda x=x, d=dim: getattr(torch, name)(x, dim=d))
                if name == "var_mean":
                    assert torch.allclose(
                        short[1], general[1], rtol=1e-5, atol=1e-6 * scale, equal_nan=True
                    )
                    short, general = short[0], general[0]
                same(short, general)


def test_nll_loss_of_few_rows():
    rng = np.random.default_rng(7)
    for kind in (torch.float32, torch.float64, torch.bfloat16):
        for x in layouts(rng, kind):
            if x.ndim != 2 or not x.numel():
                continue
            t = torch.from_numpy(rng.integers(0, x.shape[1], x.shape[0]))
            some = t.clone()
            some[0] = -100
            for labels in (t, some):
                for reduction in ("none", "sum", "mean"):
                    want = generally(lambda: F.nll_loss(x, labels, reduction=reduction))
                    same(F.nll_loss(x, labels, reduction=reduction), want)
                    w = x.clone().requires_grad_()
                    same(F.nll_loss(w, labels, reduction=reduction), want)
    with pytest.raises(IndexError):
        F.nll_loss(torch.zeros(2, 3), torch.tensor([0, 3]))
    with pytest.raises(IndexError):
        F.nll_loss(torch.zeros(2, 3), torch.tensor([0, -1]))


def test_labels_may_change_after_a_recorded_nll_loss():
    x, t = torch.zeros(2, 3, requires_grad=True), torch.tensor([0, 1])
    loss = F.nll_loss(x, t)
    t.fill_(2)
    loss.backward()
    assert x.grad.tolist() == [[-0.5, 0, 0], [0, -0.5, 0]]


def test_pixel_shuffle():
    for shape in ((1, 4, 2, 3), (2, 8, 1, 1), (3, 4, 0, 2), (1, 9, 2, 2), (2, 4, 3, 3)):
        x = torch.arange(int(np.prod(shape)), dtype=torch.float32).reshape(shape)
        r = 3 if shape[1] == 9 else 2
        for y in (x, x.contiguous(memory_format=torch.channels_last)):
            made = F.pixel_shuffle(y, r)
            same(made, generally(lambda y=y, r=r: F.pixel_shuffle(y, r)))
            assert made.stride() == generally(lambda y=y, r=r: F.pixel_shuffle(y, r)).stride()
            made.fill_(-1)
            assert y.numel() == 0 or y.max() >= 0  # memory of its own


def test_copy_in_place():
    for x in layouts(np.random.default_rng(8)):
        if x.numel() > 1 and 0 in x.stride():
            continue
        target = torch.zeros(x.shape)
        assert target.copy_(x) is target and target._version == 1
        same(target, x.contiguous())
    x = torch.arange(4.0)
    with pytest.raises(RuntimeError):
        x[1:].copy_(x[:-1])  # a part of itself
    leaf = torch.zeros(4, requires_grad=True)
    with pytest.raises(RuntimeError):
        leaf.copy_(x)
    recorded = torch.zeros(4).copy_(leaf)
    assert recorded.requires_grad


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    "name, args",
    [
        ("uniform_", ()), ("uniform_", (-1, 2.5)), ("normal_", ()), ("normal_", (1, 0.5)),
        ("exponential_", ()), ("exponential_", (2,)), ("bernoulli_", (0.3,)), ("geometric_", (0.4,)),
        ("cauchy_", ()), ("log_normal_", ()),
    ],
)  # fmt: skip
def test_random_fills(name, args, kind):
    for shape in ((), (0,), (1,), (5,), (16,), (4, 8), (3, 21), (70_000,)):
        made = []
        for way in (lambda call: call(), generally):
            torch.manual_seed(5)
            x = torch.zeros(shape, dtype=kind)
            assert way(lambda x=x: getattr(x, name)(*args)) is x
            assert x._version == 1
            made.append((x, torch.rand(3)))
        same(made[0][0], made[1][0])
        same(made[0][1], made[1][1])


def test_random_fills_of_parts_and_refusals():
    base = torch.zeros(6, 6)
    torch.manual_seed(2)
    base[:, ::2].uniform_()
    assert (base[:, 1::2] == 0).all() and (base[:, ::2] != 0).any()
    with pytest.raises(RuntimeError):
        torch.zeros(3).normal_(0, -1)
    with pytest.raises(RuntimeError):
        torch.zeros(3, requires_grad=True).uniform_()
    with pytest.raises(RuntimeError):
        torch.zeros(1).expand(3).uniform_()


@pytest.mark.parametrize(
    "kind", [torch.float32, torch.float64, torch.float16, torch.int32, torch.uint8]
)
def test_random_integers_of_a_dtype(kind):
    for low, high in ((0, 10), (3, 5), (-5, 5), (0, 200)):
        if kind is torch.uint8 and low < 0:
            continue
        torch.manual_seed(1)
        a = torch.randint(low, high, (3, 5), dtype=kind)
        torch.manual_seed(1)
        b = torch.randint(low, high, (3, 5)).to(kind)
        same(a, b)


def test_mode_against_counting():
    rng = np.random.default_rng(9)
    for shape, dim in (((5, 7), 1), ((5, 7), 0), ((2, 3, 6), 1), ((4, 1), 1), ((3,), 0)):
        x = rng.integers(0, 3, shape)
        values, index = torch.mode(torch.from_numpy(x), dim=dim)
        lines = np.moveaxis(x, dim, -1).reshape(-1, shape[dim])
        for line, value, at in zip(
            lines, values.reshape(-1).tolist(), index.reshape(-1).tolist(), strict=True
        ):
            known, counts = np.unique(line, return_counts=True)
            assert value == known[counts.argmax()] and at == np.flatnonzero(line == value)[-1]


def test_whole_numbers_counted_in_place():
    x = torch.zeros((), dtype=torch.int64)
    x += 3
    x.mul_(2).sub_(1)
    assert x.item() == 5 and x._version == 3
    with pytest.raises(RuntimeError):
        x.add_(1.5)
    with pytest.raises((RuntimeError, OverflowError)):
        x.add_(1 << 70)
    assert x.item() == 5
    x.add_(True)
    assert x.item() == 6


def test_linspace_ends():
    for kind in (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.complex64):
        for n in (1, 2, 7, 32):
            made = torch.linspace(-3, 5, n, dtype=kind)
            assert made[0].item() == -3 and (n == 1 or made[-1].item() == 5)
    assert torch.linspace(0.1, 0.7, 4).tolist() == pytest.approx([0.1, 0.3, 0.5, 0.7], rel=1e-6)


def test_moved_dimensions():
    for ndim in (1, 2, 3, 4, 5):
        x = np.empty(range(2, 2 + ndim))
        for source in range(-ndim, ndim):
            for place in range(-ndim, ndim):
                assert x.transpose(shapes.moved(ndim, source, place)).shape == (
                    np.moveaxis(x, source, place).shape
                )


def test_keywords_of_numpy_and_of_the_function():
    x = torch.arange(6.0).reshape(2, 3)
    for _ in range(2):  # the second call takes the short way
        assert torch.median(x, dim=1).values.tolist() == [1, 4]
        assert torch.median(x, axis=1).values.tolist() == [1, 4]
        assert torch.var(x, axis=1, keepdims=True).shape == (2, 1)
        assert torch.var(x, dim=1, keepdim=True).shape == (2, 1)
        with pytest.raises(TypeError):
            torch.median(x, dims=1)
        with pytest.raises(TypeError):
            torch.median(x, dim=1, axis=1)
        out = (torch.empty(2), torch.empty(2, dtype=torch.int64))
        assert torch.median(x, dim=1, out=out)[0] is out[0]


def test_one_dimension_of_a_transform():
    rng = np.random.default_rng(10)
    for shape in ((4, 8), (3, 1), (2, 5, 7)):
        x = torch.from_numpy(rng.normal(size=shape)).float()
        for dim in range(-len(shape), len(shape)):
            for y in (x, x.transpose(0, 1), torch.complex(x, x.flip(0))):
                same(torch.fft.fft(y, dim=dim), torch.fft.fftn(y, dim=(dim,)))
                near = torch.fft.ifft(torch.fft.fft(y, dim=dim), dim=dim)
                assert torch.allclose(near.real, y.real, atol=1e-5)


def test_views_of_any_strides():
    rng = np.random.default_rng(11)
    seen = [0, 0]
    for _ in range(400):
        sizes = rng.choice([1, 2, 3, 4], rng.integers(1, 5)).tolist()
        x = torch.arange(int(np.prod(sizes)), dtype=torch.float32).reshape(sizes)
        x = x.permute(*rng.permutation(x.ndim).tolist())
        d = int(rng.integers(x.ndim))
        x = [x, x.narrow(d, 0, x.shape[d] - (x.shape[d] > 1)), x[..., ::2], x.unsqueeze(d)][
            rng.integers(4)
        ]
        if rng.random() < 0.2:
            x = x.unsqueeze(0).expand(2, *x.shape)
        parts, left = [], x.numel()
        while left > 1 and rng.random() < 0.8:
            parts.append(int(rng.choice([n for n in range(1, left + 1) if left % n == 0])))
            left //= parts[-1]
        shape = (*parts, left)
        wanted = shapes.view_strides(x.shape, x.stride(), shape)
        seen[wanted is None] += 1
        if wanted is None:
            with pytest.raises(RuntimeError, match="view size is not compatible"):
                x.view(shape)
            same(x.reshape(shape), x.contiguous().view(shape))
            continue
        y = x.view(shape)
        assert y.data_ptr() == x.data_ptr()
        if not x._array.flags.c_contiguous:
            assert y.stride() == wanted
        same(y, x.contiguous().view(shape))
        assert y._base is not None
    assert min(seen) > 40


def test_views_of_large_and_empty_arrays():
    x = torch.zeros(300, 400)[:, ::2]
    assert x.view(3, 100, 200).stride() == (40_000, 400, 2)
    assert torch.zeros(0, 4).t().view(2, 0).shape == (2, 0)
    y = torch.zeros(1).expand(70_000)
    assert y.view(7, 10_000).stride() == (0, 0)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_elements_at_a_mask(kind):
    rng = np.random.default_rng(12)
    for x in layouts(rng, kind):
        if not x.ndim:
            continue
        for shape in {x.shape, x.shape[:1]}:
            mask = torch.from_numpy(rng.random(shape) > 0.5)
            for m in (mask, mask.t().contiguous().t() if mask.ndim == 2 else mask, ~mask & mask):
                same(x[m], generally(lambda x=x, m=m: x[m]))
                assert x[m].is_contiguous()
                if not kind.is_floating_point:
                    continue
                grads = []
                for way in (lambda call: call(), generally):
                    w = x.detach().clone().requires_grad_()
                    y = way(lambda w=w, m=m: w[m])
                    assert y.grad_fn.name() == "IndexBackward0" and y.requires_grad
                    y.backward(torch.ones_like(y) * 3)
                    grads.append(w.grad)
                same(*grads)
    with pytest.raises(IndexError):
        torch.zeros(2, 3)[torch.zeros(2, 2, dtype=torch.bool)]
    with pytest.raises(IndexError):
        torch.zeros(2)[torch.zeros(2, 2, dtype=torch.bool)]


def test_a_mask_that_changes_before_backward_is_noticed():
    w, mask = torch.ones(3, requires_grad=True), torch.tensor([True, False, True])
    y = w[mask].sum()
    mask[1] = True
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    v = (w * 1)[torch.tensor([True, False, True])]
    (g,) = torch.autograd.grad((v * v).sum(), w, create_graph=True)
    assert torch.autograd.grad(g.sum(), w)[0].tolist() == [2, 0, 2]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_constant_borders(kind):
    for x in layouts(np.random.default_rng(13), kind):
        if x.ndim != 2 or len(x) < 2:
            continue
        for pad in ((1, 2), (0, 0, 3, 1), (-1, 1), (2, 0, -1, -1), (0, 0), ()):
            for value in (0.0, -0.0, 0, 2.0, None):
                made = F.pad(x, pad, value=value)
                edges = [(0, 0)] * (2 - len(pad) // 2) + [
                    (pad[k], pad[k + 1]) for k in range(len(pad) - 2, -1, -2)
                ]
                cut = x.contiguous()._array[
                    tuple(
                        slice(max(0, -a), n - max(0, -b))
                        for n, (a, b) in zip(x.shape, edges, strict=True)
                    )
                ]
                want = np.pad(
                    cut,
                    [(max(0, a), max(0, b)) for a, b in edges],
                    constant_values=np.array(0 if value is None else value).astype(cut.dtype),
                )
                same(made, torch.from_numpy(want.astype(np.float64)).to(kind))
                assert made.numel() == 0 or not np.may_share_memory(made._array, x._array)


def test_cosine_similarity_casts_only_what_differs():
    x = torch.randn(3, 4, requires_grad=True)
    names, waiting = set(), [F.cosine_similarity(x, x.detach() + 1).grad_fn]
    while waiting:
        node = waiting.pop()
        names.add(node.name())
        waiting += [n for n, _ in node.next_functions if n is not None]
    assert "ToCopyBackward0" not in names
    assert F.cosine_similarity(x, x.double()).dtype is torch.float64


def test_an_equation_serves_again():
    x, y = torch.randn(2, 3), torch.randn(3, 4)
    for _ in range(2):
        assert torch.allclose(torch.einsum("ij,jk->ik", x, y), x @ y)
        assert torch.einsum("...j,jk", x, y).shape == (2, 4)
        with pytest.raises(RuntimeError, match="fewer operands"):
            torch.einsum("ij,jk->ik", x)
        with pytest.raises(RuntimeError, match="invalid subscript"):
            torch.einsum("i1,jk->ik", x, y)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_differences(kind):
    for x in layouts(np.random.default_rng(14), kind):
        for dim in range(-x.ndim, x.ndim):
            for n in (1, 2, 7):
                short = torch.diff(x, n, dim)
                general = generally(lambda x=x, n=n, d=dim: torch.diff(x, n, d))
                same(short, general)
                assert short.stride() == general.stride()
                if kind is torch.float64:
                    wanted = np.diff(x.contiguous()._array, min(n, x.shape[dim]), dim)
                    assert np.array_equal(short._array, wanted, equal_nan=True)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_elements_along_a_dimension(kind):
    rng = np.random.default_rng(15)
    for x in layouts(rng, kind):
        for dim in range(x.ndim):
            n = x.shape[dim]
            if not n:
                continue
            for shape in (x.shape, (*x.shape[:dim], 2, *x.shape[dim + 1 :]), (1,) * x.ndim):
                for low in (0, -n):
                    index = torch.from_numpy(rng.integers(low, n, shape))
                    made = torch.take_along_dim(x, index, dim)
                    same(made, generally(lambda x=x, i=index, d=dim: torch.take_along_dim(x, i, d)))
                    if x.ndim == index.ndim and index.shape == x.shape:
                        want = np.take_along_axis(x.contiguous()._array, index._array, dim)
                        same(made, torch.from_numpy(want.astype(np.float64)).to(kind))
    with pytest.raises(RuntimeError):
        torch.take_along_dim(torch.zeros(2, 2), torch.tensor([[0], [2]]), 1)


def test_index_tensors_for_the_first_dimensions():
    rng = np.random.default_rng(2)
    x = torch.tensor(rng.standard_normal((4, 5, 3)).astype(np.float32), requires_grad=True)
    for sizes in (((3,), (3,)), ((2, 1), (3,)), ((1,), (4, 2)), ((2,), (2,), (2,))):
        picks = [rng.integers(-n, n, shape) for n, shape in zip((4, 5, 3), sizes, strict=False)]
        x.grad = None
        made = x[tuple(map(torch.tensor, picks))]
        same(made.detach(), torch.tensor(x.detach().numpy()[tuple(picks)]))
        made.sum().backward()
        want = np.zeros((4, 5, 3), np.float32)
        np.add.at(want, tuple(picks), 1)
        assert np.array_equal(x.grad.numpy(), want)
    i = torch.tensor([0, 4])
    with pytest.raises(IndexError, match="index 4 is out of bounds for dimension 0 with size 4"):
        x[i, i]
    with pytest.raises(IndexError, match="could not be broadcast together"):
        x[i[:1].expand(3), i % 4]
    with pytest.raises(IndexError, match="too many indices"):
        x[i, i, i, i]


def test_counts_of_everything():
    for values in ([0.0, float("nan"), -0.0, 2.0], [True, False], [0, 3], [0j, 1j]):
        x = torch.tensor(values)
        count = torch.count_nonzero(x)
        assert count.dtype is torch.int64 and count.shape == ()
        assert count.item() == sum(bool(v) for v in values)


def test_recorded_losses_of_few_labels():
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    t = torch.tensor([1, 3, 0])
    for reduction in ("none", "sum", "mean"):
        weight = torch.tensor([1.0, 2.0, 3.0]) if reduction == "none" else torch.tensor(2.0)
        loss = F.nll_loss(x, t, reduction=reduction)
        assert loss.grad_fn.name() == "NllLossBackward0"
        (grad,) = torch.autograd.grad(loss, x, weight, create_graph=True)
        want = torch.zeros(3, 4)
        want[torch.arange(3), t] = -weight / (3 if reduction == "mean" else 1)
        same(grad.detach(), want)
        general = generally(
            lambda reduction=reduction: F.nll_loss(x.detach(), t, reduction=reduction)
        )
        same(loss.detach(), general)


def test_recorded_pixel_shuffle():
    x = torch.arange(2 * 8 * 3 * 2.0).reshape(2, 8, 3, 2).requires_grad_()
    made = F.pixel_shuffle(x, 2)
    assert made.grad_fn.name() == "PixelShuffleBackward0"
    seed = torch.rand(made.shape)
    (grad,) = torch.autograd.grad(made, x, seed)
    same(grad, F.pixel_unshuffle(seed, 2))


@pytest.mark.parametrize("shape", [(4, 8), (3, 5, 7), (6,), (4, 1)])
def test_cosines_are_the_same_with_and_without_a_graph(shape):
    x = torch.arange(torch.Size(shape).numel(), dtype=torch.float32).sin().reshape(shape)
    y, w = x.cos(), x.clone().requires_grad_()
    for dim in range(-len(shape), len(shape)):
        plain, recorded = (torch.cosine_similarity(a, y, dim) for a in (x, w))
        assert torch.equal(plain, recorded)
        assert plain.shape == recorded.shape


def test_positions_alike_are_taken_with_a_graph():
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    index = torch.tensor([[2, 0, 1], [0, 0, 2]])
    made = torch.take_along_dim(x, index, 1)
    assert made.grad_fn.next_functions[0][0].name() == "ExpandBackward0"
    index.zero_()  # the gradient has positions of its own
    made.sum().backward()
    assert x.grad.tolist() == [[1, 1, 1], [2, 0, 1]]
    assert torch.take_along_dim(x, index - 1, 1).tolist() == [[2, 2, 2], [5, 5, 5]]


# ---- two-byte floats ---------------------------------------------------------------------------
def _of_two():
    """The records of two operands that may be numbers."""
    for name, op in PRIMITIVES.items():
        if op.promote is not None and len(op.args) == 2 and op.outputs == 1 and op.elementwise:
            if not (op.view or op.variadic or op.aux) and takes_only_arrays(op.forward):
                yield name, op


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16], ids=str)
def test_two_byte_floats_beside_numbers(kind):
    seen = set()
    for name, op in _of_two():
        for x in layouts(np.random.default_rng(5), kind):
            for number in (2, -3, 0.3, 1e30, float("nan"), 0):
                for args in ((x, number), (number, x)):
                    try:
                        want = generally(lambda args=args, op=op: op.call(*args))
                    except NotImplementedError:
                        continue  # refused by the public function, before the record
                    except Exception as error:
                        with pytest.raises(type(error)):
                            op.call(*args)
                        continue
                    made = op.call(*args)
                    same(made, want)
                    assert made.stride() == want.stride() and made._array.dtype is want._array.dtype
                    seen.add(name)
    assert {"add", "sub", "mul", "div", "pow", "gt", "eq", "maximum", "remainder"} <= seen


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16], ids=str)
def test_recorded_two_byte_floats_beside_numbers(kind):
    calls = (
        lambda x: x * 2.5, lambda x: 2.5 * x, lambda x: x + 1, lambda x: 1 - x, lambda x: x / 3,
        lambda x: 3 / x, lambda x: x**2, lambda x: 2**x, lambda x: x % 0.3,
    )  # fmt: skip
    for call in calls:
        results = []
        for run in (call, lambda x, call=call: generally(lambda: call(x))):
            x = (torch.arange(24.0).view(4, 6) * 0.13 + 0.5).to(kind).requires_grad_()
            y = run(x)
            y.backward(torch.ones_like(y))
            results.append((y, x.grad, y.grad_fn.name()))
        same(results[0][0], results[1][0])
        same(results[0][1], results[1][1])
        assert results[0][2] == results[1][2]


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16], ids=str)
def test_two_byte_floats_written_in_place(kind):
    for name in ("add_", "sub_", "mul_", "div_"):
        for x in layouts(np.random.default_rng(6), kind):
            for other in (2, 0.3, 1e30, x.flip(0) if x.ndim else x + 1, torch.tensor(3.0), x):
                if 0 in x.stride():  # several elements share memory
                    continue
                made, want = x.clone(), x.clone()
                ours = made if other is x else other
                theirs = want if other is x else other
                before = made._version
                assert getattr(made, name)(ours) is made and made._version == before + 1
                generally(lambda want=want, name=name, theirs=theirs: getattr(want, name)(theirs))
                same(made, want)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16], ids=str)
def test_few_two_byte_floats_have_the_numbers_of_many(kind, monkeypatch):
    monkeypatch.setattr(Quick, "LOADING", 1)  # native code at once
    monkeypatch.setattr(Quick, "COMPILER", 1)
    every = torch.arange(1 << 16, dtype=torch.int32).sub(1 << 15).to(torch.int16).view(kind)
    calls = {
        "relu": F.relu, "leaky_relu": F.leaky_relu, "hardswish": F.hardswish, "gelu": F.gelu,
        "silu": F.silu, "elu": F.elu, "softplus": F.softplus, "sigmoid": torch.sigmoid,
        "sqrt": torch.sqrt, "log10": torch.log10, "log2": torch.log2, "exp2": torch.exp2,
        "atan": torch.atan, "asinh": torch.asinh, "sinh": torch.sinh,
        "clamp": lambda x: x.clamp(-0.3, 0.7),
        "addcmul": lambda x: torch.addcmul(x, x, x.flip(0), value=0.3),
        "lerp": lambda x: torch.cat([torch.lerp(x, x.flip(0), w).reshape(-1) for w in (0.3, 0.8)]),
    }  # fmt: skip
    for name, call in calls.items():
        few = [call(part) for part in every.split(1 << 11)]
        same(torch.cat(few), torch.cat([generally(lambda p=p: call(p)) for p in every.split(2048)]))
        for x in layouts(np.random.default_rng(7), kind):
            made, want = call(x), generally(lambda x=x, call=call: call(x))
            same(made, want)
            assert made.stride() == want.stride(), name


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16], ids=str)
def test_rows_of_few_two_byte_floats(kind):
    rows = (
        lambda x: x.softmax(1), lambda x: x.log_softmax(0), lambda x: x.cumsum(1),
        lambda x: x.cumprod(0), lambda x: x.cummax(1), lambda x: x.cummin(0),
        lambda x: F.max_pool2d(x[None], 2, return_indices=True), lambda x: F.avg_pool2d(x[None], 2),
    )  # fmt: skip
    every = [x for x in layouts(np.random.default_rng(8), kind) if x.numel() and x.ndim]
    for x in every:
        for call in rows:
            if x.shape[0] == 1 or x.shape[1] == 1:
                continue
            made, want = call(x), generally(lambda x=x, call=call: call(x))
            for a, b in zip(*[v if isinstance(v, tuple) else (v,) for v in (made, want)]):
                same(a, b)
                assert a.stride() == b.stride()


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize(
    ("shape", "sides"),
    [
        ((2, 3, 5), (2, 1)),
        ((2, 3, 5), (0, 4)),
        ((3, 5), (4, 0)),
        ((2, 3, 4, 5), (3, 4, 0, 3)),
        ((2, 3, 4, 5), (1, -1, 2, 0)),
        ((1, 2, 3, 4, 5), (1, 2, 2, 1, 2, 2)),
        ((2, 2, 40, 50), (7, 9, 39, 1)),  # many elements
        ((0, 3, 5), (1, 1)),
        ((2, 3, 5), (0, 0)),
    ],
    ids=str,
)
def test_borders(kind, mode, shape, sides):
    x = torch.from_numpy(np.random.default_rng(8).normal(size=shape) * 9).to(kind)
    for t in (x, x.transpose(-1, -2).contiguous().transpose(-1, -2), x.flip(-1)):
        same(F.pad(t, sides, mode), generally(lambda t=t: F.pad(t, sides, mode)))
    if len(shape) == 4:
        last = x.contiguous(memory_format=torch.channels_last)
        made, general = F.pad(last, sides, mode), generally(lambda: F.pad(last, sides, mode))
        same(made, general)
        assert made.stride() == general.stride()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_places_in_memory_and_in_the_flat_tensor(kind):
    x = torch.arange(24).to(kind).view(4, 6)
    for t in (x, x.t(), x[1:, ::2], x[3:]):
        for given in (
            ((2, 2), (1, 2)),
            ((2, 2), (1, 2), 3),
            ((), ()),
            ((0, 3), (1, 1)),
            ([3], [0]),
        ):
            made = torch.as_strided(t, *given)
            general = generally(lambda t=t, given=given: torch.as_strided(t, *given))
            same(made, general)
            assert made.stride() == general.stride() and made._is_view()
            assert made.storage_offset() == general.storage_offset()
        for index in (
            torch.tensor([[0, -1], [5, 2]]),
            torch.tensor(3),
            torch.tensor([], dtype=int),
        ):
            same(t.take(index), generally(lambda t=t, index=index: t.take(index)))
        for wrong in (24, -25):
            with pytest.raises(IndexError, match=f"index {wrong} on a tensor of {t.numel()}"):
                t.take(torch.tensor([0, wrong]))
    made = torch.as_strided(x, (2,), (7,), 1)
    made.fill_(0)
    assert x[0, 1] == 0 == x[1, 2] and x[0, 2] == 2
    with pytest.raises(RuntimeError, match="out of bounds for storage"):
        torch.as_strided(x, (5,), (6,))


def test_roll_along_any_dimensions():
    rng = np.random.default_rng(9)
    for shape in ((3, 4, 5), (1,), (6,), (0, 3)):
        x = rng.random(shape)
        for _ in range(30):
            dims = tuple(rng.integers(-len(shape), len(shape), rng.integers(1, 4)).tolist())
            shifts = tuple(rng.integers(-9, 9, len(dims)).tolist())
            for t in (x, x[..., ::-1], np.asfortranarray(x)):
                made = torch.from_numpy(t.copy() if t.strides[-1] < 0 else t).roll(shifts, dims)
                np.testing.assert_array_equal(made.numpy(), np.roll(t, shifts, dims))
                assert made.is_contiguous()


@pytest.mark.parametrize("kind", (torch.float32, torch.float64, torch.bfloat16, torch.complex64))
@pytest.mark.parametrize("steps", (0, 1, 2, 3, 10, 1024, 1025, 5000))
def test_lines_are_symmetric_and_reach_both_ends(kind, steps):
    line = torch.linspace(-1.5, 1.5, steps, dtype=kind)
    assert line.dtype is kind and line.shape == (steps,)
    if steps > 1:
        assert line[0] == -1.5 and line[-1] == 1.5
        assert torch.equal(line.flip(0), -line) or steps % 2
    again = torch.linspace(-1.5, 1.5, steps, dtype=kind)
    assert torch.equal(again, line)  # nothing that is kept was written to
