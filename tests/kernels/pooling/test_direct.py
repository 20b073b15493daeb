"""Pooling window by window against the NumPy reference: dtypes, layouts, windows that reach
outside.
"""

import numpy as np
import pytest

import pellucid as torch
from pellucid.kernels.pooling import direct, reference
from pellucid.llvm import target

pytestmark = pytest.mark.skipif(not target.available(), reason="there is no compiler")
WINDOWS = [
    (2, None, 0, 1, False),
    (3, 2, 1, 1, True),
    (3, 1, 1, 2, False),
    (2, 1, 1, 1, True),
    (3, 2, 0, 1, True),
]
SHAPES = [(2, 5, 7), (2, 3, 9, 11), (1, 5, 20, 35), (2, 4, 5, 6, 7)]


def filled(shape, dtype, last):
    x = (np.random.default_rng(len(shape)).standard_normal(shape) * 9).astype(dtype)
    if x.dtype.kind == "f":
        x.flat[::17], x.flat[5] = np.nan, -np.inf
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1) if last else x


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("shape", SHAPES)
def test_windows(shape, dtype, last, thread_count):
    x = filled(shape, dtype, last)
    close = {"rtol": 1e-6, "atol": 1e-5} if dtype is np.float32 else {"rtol": 0, "atol": 0}
    for kernel, stride, padding, dilation, ceil in WINDOWS:
        want = reference.max_pool(x, kernel, stride, padding, dilation, ceil)
        made = direct.max_pool(x, kernel, stride, padding, dilation, ceil)
        for a, b in zip(made, want, strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype
        if dtype is np.int64:
            continue
        g = np.random.default_rng(1).standard_normal(want[0].shape).astype(dtype)
        back = direct.max_pool_grad(g, want[1], shape)
        np.testing.assert_allclose(back, reference.max_pool_grad(g, want[1], shape), **close)
        for include, divisor in ((True, None), (False, None), (True, 3)):
            options = kernel, stride, padding, ceil, include, divisor
            want_mean = reference.avg_pool(x, *options)
            np.testing.assert_allclose(direct.avg_pool(x, *options), want_mean, **close)
            g = np.random.default_rng(2).standard_normal(want_mean.shape).astype(dtype)
            made_back = direct.avg_pool_grad(g, shape, *options)
            np.testing.assert_allclose(
                made_back, reference.avg_pool_grad(g, shape, *options), **close
            )


def test_results_are_laid_out_as_the_input():
    x = (
        torch.arange(2 * 8 * 6 * 6, dtype=torch.float64)
        .reshape(2, 8, 6, 6)
        .to(memory_format=torch.channels_last)
    )
    for pooled in (torch.nn.functional.max_pool2d(x, 2), torch.nn.functional.avg_pool2d(x, 3, 1)):
        assert pooled.is_contiguous(memory_format=torch.channels_last)
    x = torch.ones(2, 8, 4, 4, 4, dtype=torch.float64).to(memory_format=torch.channels_last_3d)
    assert torch.nn.functional.max_pool3d(x, 2).is_contiguous(memory_format=torch.channels_last_3d)
    assert torch.nn.functional.avg_pool3d(x, 2).is_contiguous()


def test_what_is_not_served():
    x = np.ones((1, 1, 4, 4))
    assert direct.max_pool(x.astype(np.int16), 2, None, 0, 1, False) is None
    assert direct.avg_pool(x.astype(np.int64), 2, None, 0, False, True, None) is None
    assert direct.max_pool(np.ones((0, 1, 4, 4)), 2, None, 0, 1, False) is None
    g = np.ones((1, 1, 2, 2))
    for outside in (-1, 16):
        index = np.full(g.shape, outside)
        assert direct.max_pool_grad(g, index, x.shape) is None
    assert (
        direct.avg_pool_grad(np.ones((1, 1, 3, 3)), x.shape, 2, None, 0, False, True, None) is None
    )
