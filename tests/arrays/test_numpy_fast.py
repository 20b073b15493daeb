"""The shorter ways give what NumPy's own functions give, on both sides of the size from which
kernels are used.
"""

import numpy as np
import pytest

from pellucid.arrays import numpy_fast

RNG = np.random.default_rng(5)
SIZES = (3, 4095, 4096, 5001)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["exp", "log"])
def test_exponentials_are_within_few_units_in_the_last_place(name, size):
    x = RNG.uniform(0.01, 60, size).astype(np.float32)
    want = getattr(np, name)(x.astype(np.float64))
    got = getattr(numpy_fast, name)(x)
    assert got.dtype == np.float32
    assert np.max(np.abs(got - want) / np.spacing(np.abs(want).astype(np.float32))) < (
        2 if size >= 4096 else 3
    )


@pytest.mark.parametrize("size", SIZES)
def test_special_values_of_exponentials(size):
    x = np.resize(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32), size)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(numpy_fast.exp(x), np.exp(x))
        np.testing.assert_array_equal(numpy_fast.log(np.abs(x)), np.log(np.abs(x)))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "bounds",
    [(-0.5, 0.7), (None, 0.2), (0.2, None), (0.7, -0.5), (float("nan"), 0.5), (-np.inf, np.inf)],
)
def test_clip(size, bounds):
    x = RNG.standard_normal(size).astype(np.float32)
    x[1] = np.nan
    before = x.copy()
    low, high = bounds
    want = x if low is None else np.maximum(x, np.float32(low))
    want = want if high is None else np.minimum(want, np.float32(high))
    np.testing.assert_array_equal(numpy_fast.clip_numbers(x, low, high), want)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("kind", [np.int64, np.float64, np.uint8])
def test_clip_keeps_the_dtype(kind):
    got = numpy_fast.clip_numbers(np.arange(10, dtype=kind), 2, 7)
    assert got.dtype == kind and got.tolist() == [2, 2, 2, 3, 4, 5, 6, 7, 7, 7]


def test_cube_of_arrays_and_scalars():
    x = np.array([2.0, -3.0])
    assert numpy_fast.cube(x).tolist() == [8.0, -27.0] and x.tolist() == [2.0, -3.0]
    assert numpy_fast.cube(np.array(2.0)) == 8.0
    x = RNG.standard_normal(5001).astype(np.float32)
    np.testing.assert_array_equal(numpy_fast.cube(x), x * x * x)


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 70, 90)])
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.complex64])
def test_running_sums(shape, kind):
    x = RNG.standard_normal(shape).astype(kind)
    for axis in range(len(shape)):
        got = numpy_fast.cumsum(x, axis)
        assert got.dtype == kind
        np.testing.assert_allclose(
            got, np.cumsum(x.astype(np.complex128), axis), rtol=2e-5, atol=2e-5
        )


def test_a_long_running_sum_is_exact_to_rounding():
    x = RNG.random(1 << 17).astype(np.float32)
    for y in (x, np.stack([x, x], 1)):
        want = np.cumsum(y.astype(np.float64), 0)
        np.testing.assert_allclose(numpy_fast.cumsum(y, 0), want, rtol=1.3e-7)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_elements_along_an_axis(axis):
    x = RNG.standard_normal((3, 4, 5))
    index = RNG.integers(0, 3, tuple(2 if d == axis % 3 else n for d, n in enumerate(x.shape)))
    np.testing.assert_array_equal(
        numpy_fast.take_along_axis(x, index, axis), np.take_along_axis(x, index, axis)
    )
    wide = index[:, :1] if axis in (2, -1) else index  # an index that is broadcast
    np.testing.assert_array_equal(
        numpy_fast.take_along_axis(x, wide, axis), np.take_along_axis(x, wide, axis)
    )
    with pytest.raises(IndexError):
        numpy_fast.take_along_axis(x, index + 5, axis)


@pytest.mark.parametrize("diagonal", [-9, -1, 0, 2, 9])
@pytest.mark.parametrize("shape", [(3, 5), (2, 4, 3), (0, 3), (80, 90)])
def test_triangles(shape, diagonal):
    x = RNG.standard_normal(shape)
    x.flat[:1] = np.nan
    for kind in (float, int):
        with np.errstate(invalid="ignore"):
            y = np.nan_to_num(x).astype(int) if kind is int else x
        for lower, whole in ((True, np.tril), (False, np.triu)):
            got = numpy_fast.triangle(y, diagonal, lower)
            assert got.dtype == y.dtype
            np.testing.assert_array_equal(got, whole(y, diagonal))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "kind", [np.float32, np.float64, np.int64, np.int32, np.int8, np.complex64]
)
def test_where(size, kind):
    x, y = ((RNG.standard_normal((2, size)) * 50).astype(kind) for _ in range(2))
    if np.dtype(kind).kind == "f":
        x[0, :3] = np.nan, -0.0, np.inf
    mask = RNG.random((2, size)) > 0.5
    for a, b in (
        (x, y),
        (x, y[:1]),
        (x[0], y),
        (x, 3),
        (3, y),
        (x, np.asarray(7, kind)),
        (x.T, y.T),
    ):
        chosen = mask.T if np.shape(a) == x.T.shape else mask
        got, want = numpy_fast.where(chosen, a, b), np.where(chosen, a, b)
        assert got.dtype == want.dtype
        assert got.tobytes() == want.tobytes()
    got = numpy_fast.where(mask[0], x, y)
    np.testing.assert_array_equal(got, np.where(mask[0], x, y))


def test_where_of_two_dtypes_is_numpys():
    x, mask = np.ones(5000, np.float32), np.arange(5000) % 2 == 0
    got = numpy_fast.where(mask, x, np.zeros(5000))
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, np.where(mask, x, np.zeros(5000)))


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("bounds", [(3, 40), (None, 7), (7, None), (40, 3)])
def test_clip_of_integers(kind, bounds):
    x = RNG.integers(0, 100, 5001).astype(kind) - kind(20)
    low, high = bounds
    np.testing.assert_array_equal(numpy_fast.clip_numbers(x, low, high), np.clip(x, low, high))
    chosen = numpy_fast.where(x > 20, x, x[::-1])
    np.testing.assert_array_equal(chosen, np.where(x > 20, x, x[::-1]))


@pytest.mark.parametrize("turned", [False, True])
def test_many_complex_numbers_are_chosen_as_numpy_chooses_them(turned):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((300, 17)) + 1j * rng.standard_normal((300, 17))).astype(np.complex64)
    x[::7] = complex(np.nan, -0.0)
    x, y = (x.T, x[::-1].T) if turned else (x, x[::-1])
    for a, b in ((x, y), (x, y[:1]), (x[:, :1], y)):
        got, want = numpy_fast.where(x.real > 0, a, b), np.where(x.real > 0, a, b)
        assert got.tobytes() == want.tobytes() and got.strides == want.strides
