import numpy as np
import pytest

from pellucid.kernels.indexing.triangle import triangle
from pellucid.kernels.pointwise.values import numpy_dtype

RNG = np.random.default_rng(7)
DTYPES = "bool uint8 int16 float16 bfloat16 float32 int64 float64 complex64".split()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(70, 70), (3, 5, 90), (2, 2, 90, 3), (1, 500), (500, 1), (4, 33)]
)
def test_against_numpy(shape, dtype, thread_count):
    kind = np.dtype(dtype) if dtype == "complex64" else numpy_dtype(dtype)
    x = (RNG.standard_normal(shape) * 9).astype(kind)
    for diagonal in (0, 1, -1, 4, -33, 69, 89, 90, -90, 500, -500, 1 << 62, -(1 << 62)):
        for lower, plain in ((True, np.tril), (False, np.triu)):
            made = triangle(x, diagonal, lower)
            assert made.dtype == x.dtype
            want = plain(x, max(-1000, min(1000, diagonal)))
            np.testing.assert_array_equal(made.view(np.uint8), want.view(np.uint8))


def test_not_a_number_is_left_out():
    x = np.full((80, 80), np.nan, np.float32)
    assert not np.isnan(np.triu(triangle(x, 0, True), 1)).any()


def test_what_is_not_served():
    x = np.ones((80, 80))
    assert triangle(x.T[::2], 0, True) is None
    assert triangle(x.astype(np.complex128), 0, True) is None
    assert triangle(x[:0], 0, True) is None
    assert triangle(x[0], 0, True) is None
