"""Two-byte floats through native code: every value, every rounding, odd layouts, gradients rounded
once.
"""

import ml_dtypes
import numpy as np
import pytest

import pellucid as torch
from pellucid.arrays import halves, native, numpy_cpu
from pellucid.arrays.native import fused
from pellucid.core.primitive import PRIMITIVES

KINDS = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
RNG = np.random.default_rng(3)


def every(kind):
    """All values, NaNs and subnormal numbers among them."""
    return np.arange(1 << 16, dtype=np.uint16).view(kind)


def same(got, want):
    """Equal to the bit, any NaN for any other."""
    assert got.dtype == want.dtype and got.shape == want.shape
    bits = got.view(np.uint16) == want.view(np.uint16)
    assert (bits | (np.isnan(got.astype(np.float32)) & np.isnan(want.astype(np.float32)))).all()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_conversions_there_and_back(kind):
    x = every(kind)
    wide = halves.widened(x)
    assert wide.dtype == np.float32
    np.testing.assert_array_equal(wide, x.astype(np.float32))
    same(halves.narrowed(wide, kind), x)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_rounding_is_to_nearest_and_ties_to_even(kind):
    # Around the middle between any two neighbours: below it, on it, above it.
    x = every(kind)[: 0x7C00 if kind == KINDS[0] else 0x7F80].astype(np.float64)
    middle = ((x[:-1] + x[1:]) / 2).astype(np.float32)
    for near in (
        middle,
        np.nextafter(middle, np.float32(-np.inf)),
        np.nextafter(middle, np.float32(np.inf)),
    ):
        for signed in (near, -near):
            same(halves.narrowed(signed, kind), signed.astype(kind))
    far = np.repeat(
        np.float32(
            [
                65519.9,
                65520,
                70000,
                3.39e38,
                3.4e38,
                np.inf,
                np.nan,
                -np.inf,
                1e-45,
                -0.0,
                6e-8,
                2.9e-8,
            ]
        ),
        50,
    )
    same(halves.narrowed(far, kind), far.astype(kind))


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "true_divide", "maximum", "minimum"]
)
def test_arithmetic_of_all_values(name, kind, thread_count=2):
    x = every(kind)
    for y in (RNG.permutation(x), x[::-1], x[12345:12346], np.full(1, np.nan, kind)):
        want = getattr(np, name)(x.astype(np.float32), y.astype(np.float32)).astype(kind)
        same(getattr(numpy_cpu, name)(x, y), want)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("name", ["negative", "absolute", "sqrt", "square", "floor", "rint"])
def test_functions_of_all_values(name, kind):
    x = every(kind)
    same(getattr(numpy_cpu, name)(x), getattr(np, name)(x.astype(np.float32)).astype(kind))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_layouts(kind):
    whole = RNG.standard_normal((24, 35, 6)).astype(np.float32).astype(kind)
    out = np.zeros((24, 35, 12), kind)[..., ::2]
    for view in (np.s_[:], np.s_[::2], np.s_[:, ::-3], np.s_[..., 2], np.s_[1:1], np.s_[:, 1:2]):
        x = whole[view]
        for a in (x, x.T):
            wide = a.astype(np.float32)
            same(numpy_cpu.multiply(a, a), (wide * wide).astype(kind))
            same(numpy_cpu.add(a, a[..., :1]), (wide + wide[..., :1]).astype(kind))
            np.testing.assert_array_equal(halves.widened(a), wide)
    numpy_cpu.add(whole, whole, out)
    same(np.ascontiguousarray(out), (whole.astype(np.float32) * 2).astype(kind))
    for n in range(1, 40):  # nothing is written beyond the end
        place = np.full(64, 7, kind)
        numpy_cpu.add(whole.reshape(-1)[3 : 3 + n], whole.reshape(-1)[9 : 9 + n], place[5 : 5 + n])
        assert (place[:5] == 7).all() and (place[5 + n :] == 7).all()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_numbers_beside_two_byte_floats_are_not_rounded(kind):
    x = RNG.standard_normal(300).astype(np.float32).astype(kind)
    t = torch.from_numpy(x.astype(np.float32)).to(
        torch.bfloat16 if kind == KINDS[1] else torch.float16
    )
    wide = x.astype(np.float32)
    same((t * 1.003)._array, (wide * np.float32(1.003)).astype(kind))
    same((t / 1.003)._array, (wide / np.float32(1.003)).astype(kind))
    leaky = torch.nn.functional.leaky_relu(t, 0.3003)._array
    same(leaky, np.where(wide > 0, wide, wide * np.float32(0.3003)).astype(kind))
    if fused("leaky_relu", x) is not None:
        assert numpy_cpu.addcmul(x, x, x, 0.3).dtype == kind


GRADIENTS = {
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / (y.abs() + 1),
    "tanh": lambda x, y: x.tanh() - y,
    "sigmoid": lambda x, y: (x * y).sigmoid(),
    "gelu": lambda x, y: torch.nn.functional.gelu(x) * y,
    "where": lambda x, y: torch.where(x > y, x * 2.0, y),
    "pow": lambda x, y: x**3 + y**2 + (y.abs() + 1) ** x,
    "softmax": lambda x, y: x.softmax(-1) * y,
    "layer_norm": lambda x, y: torch.nn.functional.layer_norm(x, (40,), y[0], y[1]),
    "huber": lambda x, y: torch.nn.functional.huber_loss(x, y, reduction="none"),
    "lerp": lambda x, y: torch.lerp(x, y, 0.3) + torch.lerp(x, y, 0.8),
    "twice": lambda x, y: x * x + x * y + x + y,
}


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_float32_rounded(name, kind):
    torch.manual_seed(0)
    narrow = [torch.randn(20, 40).to(kind).requires_grad_() for _ in range(2)]
    wide = [x.detach().float().requires_grad_() for x in narrow]
    seed = torch.randn(20, 40).to(kind)
    GRADIENTS[name](*narrow).backward(seed)
    GRADIENTS[name](*wide).backward(seed.float())
    for a, b in zip(narrow, wide):
        assert a.grad.dtype is kind
        step = 2.0 ** (-10 if kind is torch.float16 else -7)
        torch.testing.assert_close(a.grad.float(), b.grad, rtol=6 * step, atol=6 * step)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16], ids=str)
def test_one_operation_rounds_once(kind):
    torch.manual_seed(1)
    x, y, g = (torch.randn(500).to(kind) for _ in range(3))
    a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
    (a / b).backward(g)
    wide = -(g.float() * (x.float() / y.float() / y.float()))
    assert torch.equal(b.grad, wide.to(kind)) and torch.equal(
        a.grad, (g.float() / y.float()).to(kind)
    )


def test_formulas_that_decide_are_told():
    from pellucid.ir.formula import FORMULAS

    assert FORMULAS["lerp_number"].decides() and not FORMULAS["gelu"].decides()


LAYERS = {
    "conv2d": lambda x: torch.nn.functional.conv2d(
        x.view(2, 4, 10, 10), x.view(-1)[:72].view(2, 4, 3, 3), x.view(-1)[:2]
    ),
    "conv_transpose2d": lambda x: torch.nn.functional.conv_transpose2d(
        x.view(2, 4, 10, 10), x.view(-1)[:72].view(4, 2, 3, 3)
    ),
    "max_pool2d": lambda x: torch.nn.functional.max_pool2d(x.view(2, 4, 10, 10), 2),
    "avg_pool2d": lambda x: torch.nn.functional.avg_pool2d(x.view(2, 4, 10, 10), 3, 2),
    "linear": lambda x: torch.nn.functional.linear(x, x[:10], x[0, :10]),
    "cumsum": lambda x: x.cumsum(1),
    "sort": lambda x: x.sort(1).values,
    "topk": lambda x: x.topk(3, 1, largest=False).values,
    "batch_norm": lambda x: torch.nn.functional.batch_norm(
        x.view(2, 4, 10, 10), None, None, training=True
    ),
    "sum": lambda x: x.sum(0),
    "mean": lambda x: x.mean((0, 1)),
    "amax": lambda x: x.amax(1),
    "cross_entropy": lambda x: torch.nn.functional.cross_entropy(x, torch.arange(20)),
}


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_those_of_float32_rounded(name, kind):
    torch.manual_seed(0)
    narrow = torch.randn(20, 40).to(kind).requires_grad_()
    wide = narrow.detach().float().requires_grad_()
    got, want = LAYERS[name](narrow), LAYERS[name](wide)
    assert got.dtype is kind and torch.equal(got, want.to(kind))
    got.sum().backward()
    want.sum().backward()
    step = 2.0 ** (-10 if kind is torch.float16 else -7)
    torch.testing.assert_close(narrow.grad.float(), wide.grad, rtol=4 * step, atol=4 * step)


def test_order_keeps_nan_and_ties():
    x = torch.tensor(
        [[1.0, float("nan"), -1.0, 1.0, float("-inf"), 0.0, -0.0, float("inf")] * 20]
    ).to(torch.bfloat16)
    for down in (False, True):
        got, want = (
            x.sort(dim=1, descending=down, stable=True),
            x.float().sort(dim=1, descending=down, stable=True),
        )
        assert torch.equal(got.indices, want.indices) and torch.equal(
            got.values.float().nan_to_num(7.0), want.values.nan_to_num(7.0)
        )


def test_dropout_scales_by_a_number_of_its_dtype():
    import pellucid as torch

    for dtype, scale in ((torch.bfloat16, 1.6640625), (torch.float16, 1.6669921875)):
        for count in (20, 500):  # by NumPy, and by a kernel
            made = torch.nn.functional.dropout(torch.ones(count, dtype=dtype), 0.4)
            assert set(made.tolist()) == {0.0, scale}


@pytest.mark.parametrize("kind", sorted(native.HALVES, key=str), ids=str)
def test_reductions_of_few_are_planned_for_two_byte_floats_and_topk_is_not(kind):
    if kind not in native.SERVED() or not native.native_code_runs():
        pytest.skip("no native code")
    total = PRIMITIVES["sum"].forward.quick.plans[kind].of(((4, 8), (1,), False))
    assert total and total(np.ones((4, 8), kind)).dtype == kind
    # its kernel sorts the numbers by their bits, several times slower than after a conversion
    best = PRIMITIVES["topk"].forward.quick.plans[kind].of(((4, 8), 4, 1, True, "top"))
    assert not best
