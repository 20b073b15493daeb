"""Gradients, and gradients of gradients, where functions have kinks; gradients of zeros where
nothing is read; writes that overlap.
"""

import numpy as np
import pytest

import pellucid as torch

F = torch.nn.functional


def leaf(*values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def second(function, *values):
    x = leaf(*values)
    (g,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
    return torch.autograd.grad(g.sum(), x)[0].tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_atan2_at_the_origin(dtype):
    for a, b in ((0.0, 0.0), (-0.0, 0.0), (0.0, -0.0)):
        y, x = leaf(a, dtype=dtype), leaf(b, dtype=dtype)
        torch.atan2(y, x).sum().backward()
        assert (y.grad.item(), x.grad.item()) == (0.0, 0.0)
    y, x = leaf(1e-25, 0.0, 3.0, dtype=torch.float32), leaf(1e-25, 0.0, 4.0, dtype=torch.float32)
    step = torch.compile(lambda a, b: torch.autograd.grad(torch.atan2(a, b).sum(), (a, b)))
    for _ in range(3):
        made = step(y, x)
        assert made[0].tolist() == pytest.approx([0.0, 0.0, 0.16]) and made[
            1
        ].tolist() == pytest.approx([0.0, 0.0, -0.12])


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (F.elu, (0.0, -0.0)),
        (F.selu, (0.0, -0.0)),
        (lambda x: F.celu(x, 2.0), (0.0, -0.0)),
        (lambda x: F.softplus(x, 2.0, 1.0), (0.5,)),
        (lambda x: F.smooth_l1_loss(x, torch.zeros_like(x), beta=0.5), (0.5, -0.5)),
        (lambda x: F.huber_loss(x, torch.zeros_like(x), delta=2.0), (2.0, -2.0)),
        (lambda x: x.norm(3), (0.0, 0.0)),
    ],
)
def test_second_derivatives_at_kinks_are_zero(function, values):
    assert second(function, *values) == [0.0] * len(values)


def test_second_derivatives_beside_kinks_are_not():
    assert second(F.elu, -1e-9)[0] == pytest.approx(1.0)
    assert second(
        lambda x: F.smooth_l1_loss(x, torch.zeros_like(x), reduction="sum"), 0.999, -0.999
    ) == [1.0, 1.0]
    assert second(lambda x: x.reshape(2, 2).norm(3, dim=1), 0.0, 0.0, 1.0, 2.0)[:2] == [0.0, 0.0]


def test_margins():
    x = leaf(0.5, 1.5, 0.5)
    F.multi_margin_loss(x, torch.tensor(1)).backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]
    x = leaf(0.5, 1.5, 0.5)
    F.multilabel_margin_loss(x, torch.tensor([1, -1, -1])).backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("value", [1e25, 1e-25])
def test_the_gradient_of_a_quotient_needs_no_square(value):
    a, b = leaf(value, dtype=torch.float32), leaf(value, dtype=torch.float32)
    step = torch.compile(lambda a, b: torch.autograd.grad((a / b).sum(), (a, b)))
    for made in (torch.autograd.grad((a / b).sum(), (a, b)), *(step(a, b) for _ in range(3))):
        assert made[1].item() == pytest.approx(-1 / value) and made[0].item() == pytest.approx(
            1 / value
        )


def test_medians_share_their_gradient():
    nan = float("nan")
    for name, values, expected in (
        ("median", (1.0, 2.0, 2.0, 3.0), [0, 0.5, 0.5, 0]),
        ("nanmedian", (nan, 1.0, 1.0, 2.0), [0, 0.5, 0.5, 0]),
        ("median", (nan, 1.0, nan), [0.5, 0, 0.5]),
        ("max", (nan, 1.0, nan), [0.5, 0, 0.5]),
    ):
        x = leaf(*values)
        getattr(x, name)().backward()
        assert x.grad.tolist() == expected


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a.clone().copy_(b),
        lambda a, b: torch.addmm(a, b, b, beta=0),
        lambda a, b: torch.addmv(a[0], b, b[0], beta=0),
        lambda a, b: torch.addr(a, b[0], b[1], beta=0),
        lambda a, b: torch.baddbmm(a[None], b[None], b[None], beta=0),
        lambda a, b: torch.addbmm(a, b[None], b[None], beta=0),
        lambda a, b: a.clone().addmm_(b, b, beta=0),
    ],
)
def test_what_is_not_read_has_a_gradient_of_zeros(function):
    """An optimizer with momentum or weight decay moves for zeros, not for None."""
    for run in (function, torch.compile(function)):
        for _ in range(3):
            a, b = (
                torch.full((2, 2), float("nan"), requires_grad=True),
                torch.ones(2, 2, requires_grad=True),
            )
            made = run(a, b)
            made.sum().backward()
            assert a.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]] and b.grad is not None
            assert made.shape[-1] == 2 and made.requires_grad


def test_a_part_of_a_tensor_may_be_written_with_itself():
    """Also where the array that is read is a read-only view of the same memory."""
    x = torch.arange(8.0).reshape(2, 2, 2).rot90().abs()
    expected = x.clone()
    expected[0] *= 2
    x[::2] *= 2
    assert torch.equal(x, expected)
    y = torch.arange(8.0)
    y[::2] = y[1::2]  # neither lies without gaps
    assert y.tolist() == [1, 1, 3, 3, 5, 5, 7, 7]
    for shift in (
        lambda t: t.__setitem__(slice(1, None), t[:-1]),
        lambda t: t.__setitem__(slice(None, -1), t[1:]),
    ):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            shift(torch.arange(8.0))


def test_writing_to_an_array_of_a_third_kind_is_refused():
    """It was taken for a meta tensor, to which a write does nothing."""

    class Other:
        shape, dtype, strides, size, ndim = (2,), np.dtype(np.float32), (4,), 2, 1

    t = torch.zeros(2)
    t._array = Other()
    with pytest.raises(NotImplementedError, match="cannot be written to"):
        t.copy_(torch.ones(2))
    meta = torch.zeros(2, device="meta")
    assert meta.add_(1) is meta


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("function", [F.relu, F.relu6, F.hardtanh])
def test_the_gradient_passes_at_nan(function, dtype):
    """And what is infinite does not make NaN of a 0."""
    for run in (function, torch.compile(lambda x: function(x) * 1)):
        for _ in range(3):
            x = leaf(float("nan"), -2.0, 0.5, dtype=dtype)
            run(x).backward(torch.tensor([1.0, float("inf"), 2.0], dtype=dtype))
            assert x.grad.tolist() == [1.0, 0.0, 2.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_cross_entropy_of_infinite_logits(dtype):
    inf = float("inf")
    x, y = torch.tensor([inf, inf, 3.0], dtype=dtype), torch.tensor([0.0, 2.0, 1.0], dtype=dtype)
    step = torch.compile(
        lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none") * 1
    )
    for made in (
        F.binary_cross_entropy_with_logits(x, y, reduction="none"),
        *(step(x, y) for _ in range(3)),
    ):
        assert made[:2].tolist() == [inf, -inf] and made[2].item() == pytest.approx(0.04858735)


@pytest.mark.parametrize("kind", [torch.int8, torch.int16, torch.int32, torch.int64])
def test_powers_whose_exponent_is_the_smallest_number(kind):
    least = torch.iinfo(kind).min
    x = torch.tensor([least, -1, 0, 1, 3], dtype=kind)
    assert (x ** torch.tensor([least], dtype=kind)).tolist() == [0, 1, 0, 1, 0]
    assert (x ** torch.tensor([-3], dtype=kind)).tolist() == [0, -1, 0, 1, 0]


def test_gradients_of_distances_keep_nan_and_are_zeros_for_counts():
    nan = float("nan")
    expected = {  # of PyTorch
        0.0: [[0, 0], [0, 0]],
        1.0: [[1, nan], [1, 1]],
        float("inf"): [[1, nan], [1, 1]],
    }
    for p, gradient in expected.items():
        x = torch.tensor([[1.0, nan], [2.0, 3.0]], requires_grad=True)
        torch.cdist(x, torch.tensor([[0.0, 1.0]]), p=p).sum().backward()
        np.testing.assert_equal(x.grad.numpy(), np.array(gradient, np.float32))
    x = torch.randn(4, 3, requires_grad=True)
    counts = torch.pdist(x, 0)
    counts.sum().backward()
    assert counts.tolist() == [3] * 6 and x.grad.tolist() == [[0] * 3] * 4


@pytest.mark.parametrize("size", [16, 4096])
def test_a_sigmoid_is_one_from_where_pytorchs_is(size):
    """Programs take `log(1 - sigmoid(x) + eps)`: what is 1 decides which number that is."""
    compiled = torch.compile(lambda x: torch.sigmoid(x) * 1.0)
    for function in (torch.sigmoid, compiled):
        assert (function(torch.full((size,), 16.64)) == 1).all()
        assert (function(torch.full((size,), 16.63)) == 1 - 2**-23).all()


def test_erfinv_of_float32_is_rounded_once():
    x = torch.linspace(-0.999, 0.999, 999)
    assert torch.equal(torch.erfinv(x), torch.erfinv(x.double()).float())
