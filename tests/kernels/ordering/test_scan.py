import numpy as np
import pytest

from pellucid.kernels.ordering import scan
from pellucid.kernels.pointwise.values import numpy_dtype

RNG = np.random.default_rng(3)


@pytest.mark.parametrize(
    "shape", [(1,), (100_000,), (3, 5), (70, 1001), (2, 3, 0), (0, 4), (4, 2, 33)]
)
def test_running_sums_are_added_in_double(shape, thread_count):
    x = RNG.standard_normal(shape).astype(np.float32)
    want = np.cumsum(x, -1, np.float64).astype(np.float32)
    np.testing.assert_array_equal(scan.cumsum(x, -1), want)
    np.testing.assert_array_equal(scan.cumsum(x, len(shape) - 1), want)


def test_nan_and_infinity_stay_from_where_they_are():
    x = np.array([1.0, np.inf, 2.0, -np.inf, 1.0], np.float32)
    np.testing.assert_array_equal(scan.cumsum(x, 0), [1.0, np.inf, np.inf, np.nan, np.nan])


@pytest.mark.parametrize(
    "shape", [(3, 5), (7, 4, 3), (6, 40), (2, 5, 33), (0, 9), (4, 0, 9), (1, 300)]
)
def test_any_dimension(shape, thread_count):
    x = RNG.standard_normal(shape).astype(np.float32)
    for dim in range(len(shape)):
        np.testing.assert_array_equal(
            scan.cumsum(x, dim), np.cumsum(x, dim, np.float64).astype(np.float32)
        )
        np.testing.assert_array_equal(
            scan.cumprod(x, dim), np.cumprod(x, dim, np.float64).astype(np.float32)
        )


EVERY = "float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128".split()
SHAPES = [(5,), (1, 70), (6, 40), (9, 17), (2, 5, 33), (4, 9, 2), (0, 9), (3, 1, 4), (11, 8)]


def _numbers(shape, dtype):
    x = RNG.integers(0 if dtype in ("uint8", "bool") else -9, 9, shape)
    if dtype.startswith("complex"):
        x = x + 1j * RNG.integers(-9, 9, shape)
    return x.astype(numpy_dtype(dtype) if "complex" not in dtype else dtype)


@pytest.mark.parametrize("dtype", EVERY)
def test_every_dtype(dtype, thread_count):
    """Floats in double precision, rounded once (two-byte floats by way of float32), integers in
    int64.
    """
    for shape in SHAPES:
        x = _numbers(shape, dtype)
        wide = {"c": np.complex128, "f": np.float64, "V": np.float64}.get(x.dtype.kind, np.int64)
        for dim in range(len(shape)):
            for name in ("cumsum", "cumprod"):
                made = getattr(scan, name)(x, dim)
                with np.errstate(all="ignore"):
                    want = getattr(np, name)(x.astype(wide), dim)
                    if wide is np.float64 and x.itemsize < 8:
                        want = want.astype(np.float32).astype(x.dtype)
                    want = want.astype(np.int64 if wide is np.int64 else x.dtype)
                np.testing.assert_array_equal(made, want)
                assert made.dtype == want.dtype


def test_integers_of_one_byte_do_not_wrap_around():
    x = np.full((9, 300), 127, np.int8)
    np.testing.assert_array_equal(scan.cumsum(x, 1)[:, -1], 300 * 127)
    x = np.full((3, 300), 255, np.uint8)
    np.testing.assert_array_equal(scan.cumsum(x, 1)[:, -1], 300 * 255)
    np.testing.assert_array_equal(scan.extremes(x, 1, True)[0], x)


@pytest.mark.parametrize("zeros", [0, 1, 2])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_the_gradient_of_running_products(dim, zeros):
    """Against the sum over all results of the products that leave one element out."""
    x, g = RNG.standard_normal((2, 4, 5, 3)).astype(np.float32)
    moved, along = np.moveaxis(x, dim, 0), np.moveaxis(g, dim, 0)
    moved[:zeros] = 0
    want = np.zeros_like(moved, np.float64)
    for k in range(len(moved)):
        for j in range(k, len(moved)):
            want[k] += along[j] * np.delete(moved[: j + 1].astype(float), k, 0).prod(0)
    product = np.cumprod(x, dim, np.float64).astype(np.float32)
    made = scan.cumprod_backward(x, product, g, dim)
    np.testing.assert_allclose(np.moveaxis(made, dim, 0), want, rtol=1e-5, atol=1e-6)


def test_what_is_not_served():
    x = np.ones((3, 4), np.float32)
    assert scan.cumsum(x.T, 1) is None
    assert scan.cumsum(x.astype(np.uint64), 1) is None
    assert scan.extremes(x.astype(np.complex64), 1, True) is None


@pytest.mark.parametrize("dtype", ["float32", *EVERY[:8]])
@pytest.mark.parametrize("shape", [(1,), (7,), (5, 9), (3, 4, 11), (2, 300, 17), (19, 2), (9, 33)])
def test_running_extremes(shape, dtype, thread_count):
    x = np.round(np.random.default_rng(len(shape)).standard_normal(shape) * 2)
    x = (x + 4 * (dtype == "uint8")).astype(numpy_dtype(dtype))
    if x.dtype.kind in "fV":
        x[np.random.default_rng(0).random(shape) < 0.05] = np.nan
    for dim in range(len(shape)):
        for largest in (True, False):
            values, index = scan.extremes(x, dim, largest)
            want = (np.maximum if largest else np.minimum).accumulate(x, dim)
            plain = np.float32 if dtype == "bfloat16" else x.dtype
            np.testing.assert_array_equal(values.astype(plain), want.astype(plain))
            places = np.arange(shape[dim]).reshape(
                [-1 if d == dim else 1 for d in range(len(shape))]
            )
            here = (x == want) | (x != x)
            np.testing.assert_array_equal(index, np.maximum.accumulate(here * places, dim))
    assert scan.extremes(np.zeros((0, 3), dtype), 0, True) is None
