import numpy as np
import pytest
from scipy import special

from pellucid.ir.formula import FORMULAS, Formula
from pellucid.kernels.pointwise import activations as act
from pellucid.kernels.pointwise import ufunc as e

RNG = np.random.default_rng(1)
X = np.concatenate(
    [RNG.standard_normal(4000) * 3, RNG.uniform(-100, 100, 100), [0.0, -0.0, 1.0, -1.0]]
).astype(np.float32)
G = RNG.standard_normal(X.size).astype(np.float32)


def softplus(x):
    return np.logaddexp(0, x)


def phi(x):
    return 0.5 * special.erfc(-x / np.sqrt(2))


# name: (extra numbers, the function in float64)
FORWARD = {
    "relu": ((), lambda x: np.maximum(x, 0)),
    "leaky_relu": ((0.01,), lambda x, a: np.where(x > 0, x, a * x)),
    "elu": (
        (1.5, 1.1, 0.5),
        lambda x, a, s, i: np.where(x > 0, s * x, a * s * np.expm1(np.minimum(x * i, 0))),
    ),
    "gelu": ((), lambda x: x * phi(x)),
    "gelu_tanh": ((), lambda x: x * special.expit(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "silu": ((), lambda x: x * special.expit(x)),
    "sigmoid": ((), special.expit),
    "log_sigmoid": ((), lambda x: -softplus(-x)),
    "tanh": ((), np.tanh),
    "softplus": ((2.0, 20.0), lambda x, b, t: np.where(b * x > t, x, softplus(b * x) / b)),
    "mish": ((), lambda x: x * np.tanh(softplus(x))),
    "hardtanh": ((-0.5, 0.75), np.clip),
    "hardsigmoid": ((), lambda x: np.clip(x + 3, 0, 6) / 6),
    "hardswish": ((), lambda x: x * np.clip(x + 3, 0, 6) / 6),
}


@pytest.mark.parametrize("name", FORWARD)
def test_activation(name, thread_count):
    numbers, reference = FORWARD[name]
    got = getattr(act, name)(X, *numbers)
    numbers = [float(np.float32(v)) for v in numbers]
    # gelu's value cancels far below zero, where 1 + erf keeps absolute precision only (as PyTorch's
    # does).
    np.testing.assert_allclose(got, reference(X.astype(np.float64), *numbers), rtol=2e-6, atol=3e-7)


@pytest.mark.parametrize("name", [n for n in FORWARD if n + "_backward" in FORMULAS])
def test_activation_backward(name):
    numbers, reference = FORWARD[name]
    x, g = X.astype(np.float64), G.astype(np.float64)
    numbers32 = [float(np.float32(v)) for v in numbers]
    kink = np.min([np.abs(x - k) for k in (0, -3, 3, -0.5, 0.75, 10)], axis=0) < 1e-5
    h = 1e-5
    slope = (reference(x + h, *numbers32) - reference(x - h, *numbers32)) / (2 * h)
    of = reference(x).astype(np.float32) if name in ("sigmoid", "tanh") else X
    got = getattr(act, name + "_backward")(G, of, *numbers)
    np.testing.assert_allclose(got[~kink], (g * slope)[~kink], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", FORWARD)
def test_nan_stays_nan(name):
    x = np.array([1.0, np.nan, np.inf, -np.inf] * 9, np.float32)
    got = getattr(act, name)(x, *FORWARD[name][0])
    assert np.isnan(got[1::4]).all() and not np.isnan(got[0::4]).any()
    if name + "_backward" in FORMULAS and name != "hardtanh":
        back = getattr(act, name + "_backward")(
            np.full_like(x, np.nan), np.ones_like(x), *FORWARD[name][0]
        )
        assert np.isnan(back).all()


def test_relu_keeps_nan_and_drops_the_gradient_at_zero():
    x = np.array([np.nan, -1, 0, 2], np.float32)
    g = np.array([1, 2, 3, 4], np.float32)
    np.testing.assert_array_equal(act.relu(x), np.array([np.nan, 0, 0, 2], np.float32))
    np.testing.assert_array_equal(act.relu_backward(g, x), np.array([1, 0, 0, 4], np.float32))


def test_dropout_and_bce():
    keep = RNG.random(X.size) < 0.7
    np.testing.assert_array_equal(act.dropout(X, keep, 2.0), X * keep * np.float32(2))
    y = RNG.random(X.size).astype(np.float32)
    x64, y64 = X.astype(np.float64), y.astype(np.float64)
    np.testing.assert_allclose(
        act.binary_cross_entropy_with_logits(X, y), softplus(x64) - x64 * y64, rtol=1e-5, atol=2e-5
    )


BROADCASTS = [
    ((5, 7), (7,)),
    ((5, 7), (5, 1)),
    ((5, 7), ()),
    ((4, 3, 33), (3, 1)),
    ((2, 3, 4, 5), (1, 3, 1, 1)),
    ((2, 3, 4, 5), (4, 5)),
    ((2, 3, 4, 5), (2, 1, 1, 1)),
    ((64, 100), (1, 100)),
    ((1,), (40,)),
    ((3, 1), (1, 4)),
    ((0, 3), (3,)),
    ((3, 0), (3, 1)),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shapes", BROADCASTS)
def test_broadcasting(shapes, dtype, thread_count):
    a, b = (RNG.standard_normal(s).astype(dtype) for s in shapes)
    for left, right in ((a, b), (b, a)):
        got = act.subtract(left, right)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, left - right)


def test_strided_operands():
    a = RNG.standard_normal((30, 20, 50)).astype(np.float32)
    keep = RNG.random((30, 20, 50)) < 0.5
    for view in (
        np.s_[::2],
        np.s_[:, ::3, 1:],
        np.s_[:, :, ::-1],
        np.s_[:, 3:4, :],
        np.s_[1, 2, ::7],
    ):
        x = a[view]
        np.testing.assert_array_equal(act.multiply(x, x), x * x)
        np.testing.assert_array_equal(act.multiply(x.T, a.T[0, 0, 0]), x.T * a[0, 0, 0])
        np.testing.assert_array_equal(
            act.where(keep[view], x, 2.0), np.where(keep[view], x, np.float32(2))
        )
    out = np.zeros((50, 1000), np.float32)[:, ::2]
    np.testing.assert_array_equal(
        act.negative(a[0, 0, :, None], out=out), -a[0, 0, :, None] + np.zeros_like(out)
    )


def test_other_dtypes_are_refused():
    with pytest.raises(TypeError):
        act.arctan(np.ones(3))
    with pytest.raises(TypeError):
        act.gelu(np.ones(3, np.complex64))
    assert act.add(np.ones(3), np.ones(3)).dtype == np.float64


def test_no_floating_point_warnings():
    x = np.array([np.inf, -np.inf, 0, -1, 1e38, 200], np.float32)
    with np.errstate(all="raise"):
        assert (
            np.isinf(act.exp(x)[0])
            and np.isinf(act.true_divide(x, np.zeros_like(x))[0])
            and np.isnan(act.log(x)[1])
        )


def test_large_arrays_do_not_depend_on_the_number_of_threads(thread_count):
    x = np.linspace(-4, 4, 100_003, dtype=np.float32)
    np.testing.assert_array_equal(act.multiply(x, x), x * x)
    whole = act.gelu(x)
    np.testing.assert_array_equal(whole[50_000:50_100], act.gelu(x[50_000:50_100]))


def test_in_place_and_several_outputs():
    x = X.copy()
    assert act.negative(x, out=x) is x
    np.testing.assert_array_equal(x, -X)
    both = e.make_ufunc("sum_and_scaled", Formula(lambda m, a, s, b: (a + b, (a + b) * s)))
    total, scaled = both(X, 3.0, G)
    np.testing.assert_array_equal(total, X + G)
    np.testing.assert_array_equal(scaled, (X + G) * np.float32(3))


def test_maximum_minimum_where_follow_numpy():
    a = np.array([1, np.nan, 2, -0.0, np.inf], np.float32)
    b = np.array([np.nan, 1, 3, 0.0, 1], np.float32)
    np.testing.assert_array_equal(act.maximum(a, b), np.maximum(a, b))
    np.testing.assert_array_equal(act.minimum(a, b), np.minimum(a, b))
    keep = np.array([True, False, True, False, True])
    np.testing.assert_array_equal(act.where(keep, a, b), np.where(keep, a, b))


def test_loops_over_doubles_are_compiled_when_used():
    from pellucid.llvm import jit

    made = e.make_ufunc("later", Formula(lambda m, x, y: m.where(x < 3.0, x * y - 7.0, m.abs(x))))
    before = jit.statistics["compiled"] + jit.statistics["loaded"]
    for size in (1000, 10, 100_001):
        a, b = np.linspace(-5, 5, size), np.linspace(2, 3, 2 * size)[::-2]
        np.testing.assert_array_equal(made(a, b), np.where(a < 3, a * b - 7, np.abs(a)))
    assert jit.statistics["compiled"] + jit.statistics["loaded"] == before + 1


def test_doubles_without_a_compiler(monkeypatch):
    from pellucid.llvm import jit

    formula = Formula(
        lambda m, x, y, keep: (m.where(keep, x * y + 1.0, -x), m.maximum(x, m.sqrt(m.abs(y)))),
        masks=(2,),
    )
    made = e.make_ufunc("fallback", formula)
    monkeypatch.setattr(jit, "compile_ir", lambda *args, **kwargs: None)
    a, b, k = np.arange(12.0)[::-3], np.float64(2.0), np.array([True, False, True, True])
    for _ in range(2):
        first, second = made(a, b, k)
        np.testing.assert_array_equal(first, np.where(k, a * 2 + 1, -a))
        np.testing.assert_array_equal(second, np.maximum(a, np.sqrt(2.0)))
    np.testing.assert_array_equal(made(a.copy(), a.copy(), k)[0], np.where(k, a * a + 1, -a))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
def test_divisions_with_rest_are_numpys_to_the_bit(name, kind, thread_count):
    rng = np.random.default_rng(4)
    info = np.finfo(kind)
    tiny, huge = info.smallest_subnormal, info.max
    hard = np.array(
        [0, -0.0, np.inf, -np.inf, np.nan, tiny, -tiny, huge, -huge, info.tiny, 2.5, -7, 0.1, -0.1]
        + [2**24, 2**28 - 16, 2**28, 2**28 + 32, 2.0**51, 3 * 2.0**50, 1e10, 3, -3, 1 / 3],
        kind,
    )
    bits = np.uint32 if kind is np.float32 else np.uint64
    words = rng.integers(0, np.iinfo(bits).max, (2, 20_003), dtype=bits, endpoint=True)
    pairs = (
        np.meshgrid(hard, hard),
        words.view(kind),
        rng.standard_normal((2, 20_000)) * [[50], [1]],
    )
    x, y = (np.concatenate([p[k].ravel().astype(kind) for p in pairs]) for k in (0, 1))
    run = getattr(act, name)
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x, y)
    got = run(x, y)
    same = (got.view(bits) == want.view(bits)) | np.isnan(got) & np.isnan(want)
    assert same.all()
    # quotients that are rounded up to a whole number
    y = np.nextafter(kind(1), kind(2)) * np.ones(5000, kind)
    x = np.nextafter((np.arange(5000) + 1).astype(kind) * y, kind(0))
    np.testing.assert_array_equal(run(x, y), getattr(np, name)(x, y))
