"""What saved-tensor hooks are handed, and that backward computes with what they hand back."""

import numpy as np
import pytest

import pellucid as torch

F = torch.nn.functional


def through(call, x, unpack=lambda t: t, **more):
    """The tensors that were packed, how many were unpacked, and the gradient of `x`."""
    packed, unpacked = [], []

    def pack(t):
        packed.append(t.detach().clone())
        return t

    def back(t):
        unpacked.append(t)
        return unpack(t)

    with torch.autograd.graph.saved_tensors_hooks(pack, back):
        y = call(x, **more)
    (g,) = torch.autograd.grad(y, x, torch.ones_like(y))
    return packed, len(unpacked), g


def image(*shape):
    return torch.linspace(-1.0, 2.0, int(np.prod(shape))).sin().view(shape).requires_grad_()


w = torch.tensor([1.0, 2.0, 3.0, 4.0])
CALLS = {
    # by words: what only the shape is needed of, positions
    "max_pool1d": (lambda x: F.max_pool1d(x, 2), (2, 4, 6), ["2 4 1 6", "2 4 1 3"]),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), (4, 2, 6), ["4 2 6", "4 1 3"]),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), (1, 4, 2, 6), ["1 4 2 6"]),
    "cummax": (lambda x: x.cummax(0)[0], (3, 4), ["3 4", "3 4"]),
    "rfft": (lambda x: torch.fft.rfft(x).abs(), (8,), ["8", "5"]),
    # by rules: statistics, factors
    "layer_norm": (lambda x: F.layer_norm(x, (4,), w), (3, 4), ["3 4", "4", "3 1", "3 1"]),
    "group_norm": (lambda x: F.group_norm(x, 2, w), (3, 4, 2), ["3 4 2", "4", "3 2", "3 2"]),
    "batch_norm": (
        lambda x: F.batch_norm(x, w.clone(), w.clone(), w, None, True),
        (3, 4, 2),
        ["3 4 2", "4", "4", "4", "4", "4"],
    ),
    "batch_norm of statistics": (
        lambda x: F.batch_norm(x, w, w, w),
        (3, 4, 2),
        ["3 4 2", "4", "4", "4", "0", "0"],
    ),
    "solve": (
        lambda x: torch.linalg.solve(x + 3 * torch.eye(3), w[:3]),
        (3, 3),
        ["3 3", "3 3", "3", "3"],
    ),
    "det": (torch.linalg.det, (3, 3), ["3 3", "3 3", "3", ""]),
    # as a whole, recomputed
    "addmm": (lambda x: torch.addmm(w[:2], x, torch.ones(3, 2)), (2, 3), ["3 2"]),
    "glu": (F.glu, (3, 4), ["3 4"]),
    "hardshrink": (F.hardshrink, (5,), ["5"]),
    "cross": (lambda x: torch.linalg.cross(x, w[:3]), (3,), ["3"]),
    "reflect": (lambda x: F.pad(x, (1, 1), mode="reflect"), (2, 4), ["2 4"]),
    "nll_loss": (
        lambda x: F.nll_loss(x, torch.tensor([1, 0, 1])),
        (3, 2),
        ["3 2", "3", ""],
    ),
    "multilabel_margin_loss": (
        lambda x: F.multilabel_margin_loss(x, torch.tensor([[2, 0, -1], [1, -1, 0]])),
        (2, 3),
        ["2 3", "2 3", "2 3"],
    ),
    "fractional_max_pool2d": (
        lambda x: F.fractional_max_pool2d(x, 2, 2, _random_samples=torch.full((1, 2, 2), 0.5)),
        (2, 5, 5),
        ["2 5 5", "2 2 2"],
    ),
    "segment_reduce": (
        lambda x: torch.segment_reduce(x, "max", lengths=torch.tensor([1, 3])),
        (4,),
        ["4", "2", "2"],
    ),
    "embedding_bag": (
        lambda x: F.embedding_bag(torch.tensor([1, 0, 1]), x, torch.tensor([0, 2])),
        (2, 3),
        ["3", "2", "3", "2", "2"],
    ),
    "embedding_bag, largest": (
        lambda x: F.embedding_bag(torch.tensor([1, 0, 1]), x, torch.tensor([0, 2]), mode="max"),
        (2, 3),
        ["3", "2", "3", "2", "2 3"],
    ),
    "aminmax": (lambda x: torch.aminmax(x, dim=1).max, (2, 3), ["2 3", "2", "2"]),
    "cosine_similarity": (
        lambda x: F.cosine_similarity(x, w[:3]),
        (2, 3),
        ["2 3", "2 1", "2 1", "2 3", "2 3"],
    ),
    "cross_entropy of lines": (
        lambda x: F.cross_entropy(x, torch.tensor([[1, 0], [0, 1]])),
        (2, 3, 2),
        ["2 3 2", "2 3 1 2", "2 1 2", ""],
    ),
    "circular padding": (lambda x: F.pad(x, (1, 2), mode="circular"), (2, 3), []),
    "combinations": (torch.combinations, (3,), ["3 3", "3 3", "3 3", "3 3"]),
    "native_group_norm": (
        lambda x: torch.native_group_norm(x, w, None, 2, 4, 2, 2, 1e-5)[0],
        (2, 4, 2),
        ["2 4 2", "4", "2 2", "2 2"],
    ),
    "index_reduce of numbers": (
        lambda x: torch.index_reduce(x, 0, torch.tensor(0), torch.tensor(3.0), "amax"),
        (),
        ["1", "", "", ""],
    ),
    # by a rule of what is kept
    "lu, L": (lambda x: torch.linalg.lu(x + 3 * torch.eye(3))[1], (3, 3), ["3 3"] * 3),
    "lu, more columns": (lambda x: torch.linalg.lu(x)[2], (2, 3), ["2 2", "2 2", "2 3"]),
    "lu, more rows": (lambda x: torch.linalg.lu(x)[1], (3, 2), ["3 2", "3 3", "2 2"]),
    "attention with a row that sees nothing": (
        lambda x: F.scaled_dot_product_attention(x, x, x[:, :1], torch.tensor([[True], [False]])),
        (2, 3),
        ["3 2", "2 3", "2 2", "2 1", "2 2"],
    ),
    "ldexp": (lambda x: torch.ldexp(w[:3], x), (2, 3), ["2 3"]),
    "polar": (lambda x: torch.polar(w[:3], x).real, (2, 3), ["2 3"]),
    "lu_solve": (
        lambda x: torch.linalg.lu_solve(x + 2 * torch.eye(3), PIVOTS, torch.ones(3, 1)),
        (3, 3),
        ["3 3", "3", "3 1"],
    ),
    "lu_solve from the right, adjoint": (
        lambda x: torch.linalg.lu_solve(
            x + 2 * torch.eye(3), PIVOTS, torch.ones(2, 3), left=False, adjoint=True
        ),
        (3, 3),
        ["3 3", "3", "2 3"],
    ),
    "cholesky_inverse": (
        lambda x: torch.cholesky_inverse(x.tril() + 2 * torch.eye(3)),
        (3, 3),
        ["3 3", "3 3"],
    ),
}
PIVOTS = torch.tensor([2, 2, 3], dtype=torch.int32)


@pytest.mark.parametrize("name", CALLS)
def test_tensors_of_pytorchs_nodes(name):
    call, shape, shapes = CALLS[name]
    x = image(*shape)
    packed, unpacked, g = through(call, x)
    assert [" ".join(map(str, t.shape)) for t in packed] == shapes
    assert unpacked == len(packed)
    y = call(x)
    (plain,) = torch.autograd.grad(y, x, torch.ones_like(y))
    assert torch.allclose(g, plain, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", CALLS)
def test_backward_twice_through_hooks(name):
    call, shape, _ = CALLS[name]

    def twice(x):
        y = call(x)
        (g,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
        return torch.autograd.grad(g.square().sum(), x)[0]

    x = image(*shape)
    plain = twice(x)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), torch.from_numpy):
        assert torch.allclose(twice(x), plain, rtol=1e-4, atol=1e-5)


def doubled(t):
    return t * 2 if t.is_floating_point() else t


def test_backward_computes_with_what_was_unpacked():
    x = image(3, 4)
    twice = (2 * x.detach()).requires_grad_()
    (at_double,) = torch.autograd.grad(F.glu(twice).sum(), twice)
    assert torch.allclose(through(F.glu, x, doubled)[2], at_double)


def test_a_mask_of_dropout_is_what_was_unpacked():
    x = image(3, 4)
    torch.manual_seed(0)
    packed, unpacked, g = through(F.dropout, x, doubled)
    assert unpacked == 1
    assert torch.equal(g, packed[0] * 2)
    assert set(packed[0].unique().tolist()) <= {0.0, 2.0}


def test_a_floor_under_norms_lets_gradients_through():
    x = torch.tensor([[1e-10, 0.0]], requires_grad=True)
    F.cosine_similarity(x, torch.tensor([[0.0, 1.0]])).backward()
    assert x.grad.tolist() == [[0.0, pytest.approx(1e8)]]


def test_positions_of_a_pool_are_those_that_were_unpacked():
    x = image(1, 1, 4)

    def other(t):
        return t if t.is_floating_point() else torch.ones_like(t)

    assert through(lambda x: F.max_pool1d(x, 2), x, other)[2].tolist() == [[[0.0, 2.0, 0.0, 0.0]]]


def test_statistics_of_a_norm_are_those_that_were_unpacked():
    x = image(2, 4)
    plain = through(lambda x: F.layer_norm(x, (4,)), x)[2]
    changed = through(lambda x: F.layer_norm(x, (4,)) * w, x, doubled)[2]
    assert not torch.allclose(plain, changed)


def text(node):
    if node is None or node.name().endswith("AccumulateGrad"):
        return "x" if node else "-"
    return f"{node.name()}({', '.join(text(n) for n, _ in node.next_functions)})"


@pytest.mark.parametrize(
    "call",
    [
        lambda x, m: F.linear(x[0, 0], m[0], x[0, 0]),
        torch.bmm,
        lambda x, m: x @ m,
        lambda x, m: torch.outer(x[0, 0], m[1, 1]),
        lambda x, m: torch.tensordot(x, m, 1),
        lambda x, m: torch.einsum("abc,acd->abd", x, m),
        lambda x, m: torch.einsum("abc,abd->b", x, m),
        lambda x, m: torch.einsum("abc,bd->ad", x[:, :1], m[:1, 0]),
        lambda x, m: F.pad(x, (1, 2), mode="circular"),
        lambda x, m: torch.combinations(x[0, 0]),
    ],
)
def test_shape_of_the_graph_does_not_depend_on_hooks(call):
    x, m = image(2, 2, 2), image(2, 2, 2)
    plain = call(x, m)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        made = call(x, m)
    assert text(made.grad_fn) == text(plain.grad_fn)
    for one in (x, m):
        grads = [
            torch.autograd.grad(y.square().sum(), one, retain_graph=True, allow_unused=True)[0]
            for y in (made, plain)
        ]
        torch.testing.assert_close(*grads)


WRITES = {
    "pow_": lambda z, y: z.pow_(2),
    "mul_": lambda z, y: z.mul_(y),
    "div_": lambda z, y: z.div_(y),
    "sin_": lambda z, y: z.sin_(),
    "exp_": lambda z, y: z.exp_(),
    "clamp_": lambda z, y: z.clamp_(0.3, 0.6),
    "cumprod_": lambda z, y: z.cumprod_(0),
    "silu": lambda z, y: F.silu(z, inplace=True),
    "hardswish": lambda z, y: F.hardswish(z, inplace=True),
    "a part": lambda z, y: z[0].pow_(2),
    "*=": lambda z, y: z.__imul__(z),
    "renorm_": lambda z, y: z.renorm_(2, 0, 0.1),
    "lerp_": lambda z, y: z.lerp_(y, 0.3 * y),
}


@pytest.mark.parametrize(
    "pack, unpack",
    [
        (lambda t: t, lambda t: t),
        (lambda t: t.detach(), lambda t: t),
        (lambda t: (t.device, t.cpu()), lambda pair: pair[1].to(pair[0])),
    ],
)
@pytest.mark.parametrize("name", WRITES)
def test_hooks_receive_copies_of_what_the_operation_overwrites(name, pack, unpack):
    def gradients():
        x, y = image(3, 3), image(3, 3)
        z = x * 1
        WRITES[name](z, y)
        return torch.autograd.grad(
            (z * torch.arange(1.0, 10.0).view(3, 3)).sum(), (x, y), allow_unused=True
        )

    plain = gradients()
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        hooked = gradients()
    for a, b in zip(plain, hooked, strict=True):
        assert a is b is None or torch.allclose(a, b)


def test_what_another_type_or_the_argument_is_kept_for():
    x = torch.tensor([0.25], requires_grad=True)
    packed, _, g = through(torch.erfinv, x)
    assert torch.equal(packed[0], x)
    assert torch.allclose(g, torch.autograd.grad(torch.erfinv(x), x)[0])
    packed, *_ = through(lambda x: x.gather(0, torch.zeros(0, dtype=torch.uint8)), x)
    assert [t.dtype for t in packed] == [torch.uint8, torch.float32]
