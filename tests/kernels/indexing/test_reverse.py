"""Copies of arrays whose last dimension is read backwards, beside NumPy's."""

import numpy as np
import pytest

import pellucid as torch
from pellucid.arrays import numpy_cpu
from pellucid.kernels.indexing.reverse import reversed_rows

RNG = np.random.default_rng(3)


@pytest.mark.parametrize(
    "kind", [np.float32, np.float64, np.int64, np.complex64, np.int8, np.float16]
)
@pytest.mark.parametrize("shape", [(5000,), (300, 17), (3, 40, 64), (2, 2, 1031), (4, 70_000)])
def test_rows_backwards(kind, shape, thread_count):
    x = (RNG.standard_normal(shape) * 50).astype(kind)[..., ::-1]
    made = reversed_rows(x)
    assert made.flags.c_contiguous
    np.testing.assert_array_equal(made, x)


def test_others_are_numpys():
    x = RNG.standard_normal((64, 128))
    for view in (x[:4, ::-1], x[::-1, ::-1], x[:, ::-2], x.T[:, ::-1], x[:, :8][:, ::-1]):
        assert reversed_rows(view) is None
        np.testing.assert_array_equal(numpy_cpu.copy(view), view)
    assert reversed_rows(x.astype(np.complex128)[:, ::-1]) is None


def test_flip():
    x = torch.arange(3 * 50 * 40.0).reshape(3, 50, 40)
    for dims in ((2,), (0, 2), (1,), (0, 1, 2)):
        want = np.flip(x.numpy(), dims)
        np.testing.assert_array_equal(x.flip(dims).numpy(), want)
