"""Products of integers against NumPy's, with sums that wrap around."""

import numpy as np
import pytest

from pellucid.kernels.matmul import integers
from pellucid.llvm import target
from pellucid.llvm.emit import Module
from pellucid.llvm.threads import parallel_export

pytestmark = pytest.mark.skipif(not target.available(), reason="there is no compiler")
SHAPES = [
    ((70, 33), (33, 50)),
    ((4, 17, 20), (4, 20, 90)),
    ((1, 9), (9, 1)),
    ((65, 3), (3, 100)),
    ((2, 3, 30, 4), (2, 3, 4, 7)),
]


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8", "uint64"])
@pytest.mark.parametrize("left, right", SHAPES)
def test_products(left, right, dtype, thread_count):
    rng = np.random.default_rng(len(left))
    a, b = (
        rng.integers(0, 256, shape).astype(dtype) * np.array(97).astype(dtype)
        for shape in (left, right)
    )
    np.testing.assert_array_equal(integers.multiply(a, b), np.matmul(a, b))
    swapped = integers.multiply(np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2), b)
    np.testing.assert_array_equal(swapped, np.matmul(a, b))


def test_what_is_not_served():
    x = np.ones((3, 4), np.int64)
    assert integers.multiply(x, x) is None
    assert integers.multiply(x.astype(np.float32), x.T.astype(np.float32)) is None
    assert integers.multiply(x, np.ones((4, 0), np.int64)) is None
    assert integers.multiply(x, np.ones((4, 2), np.int32)) is None


def test_names_of_a_range_are_not_given_to_parameters():
    with pytest.raises(ValueError, match="n"):
        parallel_export(Module(), "kernel", {"x": "ptr", "n": "i64"})


@pytest.mark.parametrize("dtype", "int8 uint8 int16 uint16 int32 uint32 int64 uint64".split())
def test_rows_times_a_vector(dtype, thread_count):
    rng = np.random.default_rng(11)
    for n in (1, 2, 63, 64, 65, 200, 5000):
        a = rng.integers(0, 256, (9, n)).astype(dtype) * np.array(97).astype(dtype)
        b = rng.integers(0, 256, n).astype(dtype)
        for x in (a, a[0], a[::2], a.reshape(3, 3, n)):
            made = integers.times_vector(x, b)
            assert made.dtype == dtype
            np.testing.assert_array_equal(made, np.matmul(x, b))
    assert integers.times_vector(a, b[1:]) is None
    assert integers.times_vector(a, b.astype(np.float32)) is None
    assert integers.times_vector(a[:0], b) is None
