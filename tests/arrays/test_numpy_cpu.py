"""Array functions where they leave NumPy's own way."""

import numpy as np
import pytest

from pellucid.arrays import numpy_cpu

SHAPES = [
    ((5, 1), (1, 7)),
    ((3, 5, 1), (3, 1, 7)),
    ((2, 3, 5, 1), (3, 1, 7)),
    ((3, 1, 1), (1, 9)),
    ((1, 1), (1, 1)),
    ((0, 1), (1, 4)),
    ((5, 1), (1, 1)),
    ((1,), (1, 4)),
    ((4, 1), (1,)),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.complex64])
@pytest.mark.parametrize("left, right", SHAPES)
def test_outer_products_are_products_of_matrices(left, right, dtype):
    rng = np.random.default_rng(0)
    a, b = ((rng.standard_normal(shape) * 4).astype(dtype) for shape in (left, right))
    for x, y in ((a, b), (np.asfortranarray(a), b[..., ::-1])):
        made, wanted = numpy_cpu.matmul(x, y), np.matmul(x, y)
        assert made.dtype == wanted.dtype and made.shape == wanted.shape
        np.testing.assert_array_equal(made, wanted)


def test_an_outer_product_keeps_nan_and_infinity():
    with np.errstate(all="ignore"):
        made = numpy_cpu.matmul(np.array([[np.inf], [np.nan], [0.0]]), np.array([[0.0, 1.0]]))
    np.testing.assert_array_equal(made, [[np.nan, np.inf], [np.nan, np.nan], [0.0, 0.0]])


def test_full_sums_of_arrays_with_gaps_do_not_depend_on_the_buffers_of_the_thread():
    x = np.random.default_rng(0).standard_normal((300, 700)).astype(np.float32)[::2]
    before = np.setbufsize(8192)
    try:
        expected = np.add.reduce(x, None)
        np.setbufsize(512)
        assert numpy_cpu.sum(x) == expected
        assert np.getbufsize() == 512
    finally:
        np.setbufsize(before)
