import numpy as np
import pytest

from pellucid.kernels.pointwise import reduce

RNG = np.random.default_rng(5)
CASES = [
    ((7,), None),
    ((1,), 0),
    ((5, 33), 1),
    ((5, 33), 0),
    ((5, 33), None),
    ((3, 4, 5), (0, 1)),
    ((3, 4, 5), (1, 2)),
    ((3, 4, 5), 1),
    ((2, 300, 70), 1),
    ((300, 64), 0),
    ((1000, 3), 0),
    ((4, 200_001), 1),
    ((300_000,), None),
    ((2, 8, 16, 16), (2, 3)),
    ((), None),
    ((0, 3), 1),
]


def data(shape):
    return (RNG.standard_normal(shape) + 0.5).astype(np.float32)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape, axis", CASES)
def test_against_float64(shape, axis, keepdims, thread_count):
    x = np.asarray(data(shape))
    wide = x.astype(np.float64)
    scale = np.abs(wide).sum(axis, keepdims=keepdims)
    got = reduce.sum(x, axis, keepdims)
    want = wide.sum(axis, keepdims=keepdims)
    assert got.shape == want.shape and got.dtype == np.float32
    assert (np.abs(got - want) <= 1e-6 * scale).all()
    np.testing.assert_allclose(
        reduce.mean(x, axis, keepdims), wide.mean(axis, keepdims=keepdims), rtol=1e-5, atol=1e-6
    )
    for correction in (0, 1):
        length = x.size // max(1, want.size)
        if length > correction:
            v, m = reduce.var(x, axis, correction, keepdims)
            np.testing.assert_allclose(
                v, wide.var(axis, ddof=correction, keepdims=keepdims), rtol=1e-5, atol=1e-9
            )
            np.testing.assert_allclose(m, wide.mean(axis, keepdims=keepdims), rtol=1e-5, atol=1e-6)
    norms = np.sqrt((wide**2).sum(axis, keepdims=keepdims))
    np.testing.assert_allclose(reduce.norm(x, axis, keepdims), norms, rtol=1e-6, atol=1e-7)
    halves = reduce.norm(x.astype(np.float16), axis, keepdims)
    assert halves is None or halves.dtype == np.float16
    if halves is not None:
        exact = np.sqrt((x.astype(np.float16).astype(np.float64) ** 2).sum(axis, keepdims=keepdims))
        np.testing.assert_allclose(
            halves.astype(float), np.minimum(exact, 1e9), rtol=6e-4, atol=1e-6
        )
    np.testing.assert_array_equal(reduce.amax(x, axis, keepdims), x.max(axis, keepdims=keepdims))
    np.testing.assert_array_equal(reduce.amin(x, axis, keepdims), x.min(axis, keepdims=keepdims))


def test_nan_and_infinities(thread_count):
    for shape, axis in (((6, 200), 1), ((200, 6), 0), ((200_000, 1), 0)):
        x = data(shape)
        flat = np.moveaxis(x, axis, -1)
        flat[0, 150] = np.nan
        if len(flat) > 1:
            flat[1, 20] = np.inf
            flat[2, :] = -np.inf
            flat[3, 30:32] = np.inf, -np.inf
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(reduce.sum(x, axis), x.sum(axis), rtol=1e-5)
        np.testing.assert_array_equal(reduce.amax(x, axis), x.max(axis))
        np.testing.assert_array_equal(reduce.amin(x, axis), x.min(axis))


def test_nothing_to_reduce():
    x = np.zeros((3, 0), np.float32)
    assert reduce.sum(x, 1).tolist() == [0, 0, 0]
    assert np.isnan(reduce.mean(x, 1)).all()
    assert reduce.amax(x, 1) is None
    assert reduce.sum(np.zeros((0, 3), np.float32), 0).tolist() == [0, 0, 0]
    v, _ = reduce.var(np.ones((2, 1), np.float32), 1)
    assert np.isnan(v).all()


def test_long_sums_keep_their_precision():
    x = np.full(10_000_000, 0.1, np.float32)
    assert abs(reduce.sum(x) - 10_000_000 * float(np.float32(0.1))) < 0.5
    tall = x.reshape(-1, 100)
    np.testing.assert_allclose(reduce.sum(tall, 0), 100_000 * float(np.float32(0.1)), rtol=2e-6)


def test_refusals():
    x = data((3, 4, 5))
    assert reduce.sum(x, (0, 2)) is None
    assert reduce.sum(x.T) is None
    assert reduce.sum(x.astype(np.uint64)) is None
    assert reduce.mean(x.astype(np.int64)) is None
    assert reduce.amax(x.astype(np.complex64)) is None
    assert reduce.any(x.astype(np.complex64)) is None
    assert reduce.var(x.astype(np.float64)) is None
    assert reduce.sum(x, 3) is None


LAYOUTS = [((3,), None), ((70,), 0), ((5, 33), 1), ((5, 33), 0), ((2, 9, 130), 1), ((3, 0), 1)]
LAYOUTS += [((300_000,), None), ((2, 270_000), 1), ((4, 6, 5), (1, 2)), ((0, 4), 0), ((9, 1), 1)]


@pytest.mark.parametrize("dtype", reduce.WHOLE)
@pytest.mark.parametrize("shape, axis", LAYOUTS)
def test_integers(shape, axis, dtype, thread_count):
    """Sums and products in int64, which wrap around there; extremes in the dtype itself."""
    low, high = (0, 2) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    x = RNG.integers(low, high, shape, endpoint=dtype != "bool", dtype=dtype)
    for keepdims in (False, True):
        made = reduce.sum(x, axis, keepdims)
        want = x.sum(axis, np.int64, keepdims=keepdims)
        assert made.dtype == np.int64 and made.shape == want.shape
        np.testing.assert_array_equal(made, want)
    np.testing.assert_array_equal(reduce.prod(x | 1, axis), (x | 1).prod(axis, np.int64))
    zeros = x * (RNG.random(shape) < 0.01).astype(dtype)
    for some in (x, zeros, np.ones_like(x)):
        for name in ("any", "all"):
            made, want = getattr(reduce, name)(some, axis), getattr(np, name)(some, axis)
            assert made.dtype == np.bool_
            np.testing.assert_array_equal(made, want)
    if x.size:
        for name, plain in (("amax", np.max), ("amin", np.min)):
            made = getattr(reduce, name)(x, axis)
            assert made.dtype == x.dtype
            np.testing.assert_array_equal(made, plain(x, axis))


def test_bytes_whose_sum_needs_more_than_32_bits():
    x = np.full(40_000_000, 255, np.uint8)
    assert reduce.sum(x) == 255 * x.size
    assert reduce.sum(x.view(np.int8)) == -x.size


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_truth_of_floats(dtype, thread_count):
    x = np.zeros((7, 300), reduce.numpy_dtype(dtype))
    x[0, 77], x[1, 299], x[2] = np.nan, -1.0, 3.0
    x[3, 4] = -0.0
    wanted = [True, True, True, *[False] * 4]
    np.testing.assert_array_equal(reduce.any(x, 1), wanted)
    np.testing.assert_array_equal(reduce.all(x, 1), [k == 2 for k in range(7)])
    np.testing.assert_array_equal(reduce.any(np.ascontiguousarray(x.T), 0), wanted)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape, axis", LAYOUTS)
def test_complex_numbers(shape, axis, dtype, thread_count):
    x = (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)
    wide = x.astype(np.complex128)
    close = {"rtol": 1e-5, "atol": 1e-3} if dtype == "complex64" else {"rtol": 1e-9, "atol": 1e-9}
    for keepdims in (False, True):
        made = reduce.sum(x, axis, keepdims)
        want = wide.sum(axis, keepdims=keepdims)
        assert made.dtype == x.dtype and made.shape == want.shape
        np.testing.assert_allclose(made, want, **close)
    if x.size:
        np.testing.assert_allclose(reduce.mean(x, axis), wide.mean(axis), **close)
    turned = np.exp(1j * RNG.standard_normal(shape)).astype(dtype)
    made, want = reduce.prod(turned, axis), turned.astype(np.complex128).prod(axis)
    np.testing.assert_allclose(made, want, rtol=1e-2 if x.size > 10_000 else 1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64"])
def test_products_that_vanish(dtype):
    x = np.full((3, 40_000), 0.37, dtype)
    x[1, 9] = np.inf
    x[2] = 1
    x[2, :40:2], x[2, 1:40:2] = 0.25, 4  # which vanish nowhere
    np.testing.assert_array_equal(reduce.prod(x, 1)[[0, 2]], [0, 1])
    np.testing.assert_array_equal(reduce.prod(np.ascontiguousarray(x.T), 0)[[0, 2]], [0, 1])
