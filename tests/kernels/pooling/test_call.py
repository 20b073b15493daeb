"""The generated pooling kernels against the NumPy reference."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.kernels.pooling import call as kernels
from pellucid.kernels.pooling import reference as reference
from pellucid.llvm import target, threads

pytestmark = pytest.mark.skipif(not target.available(), reason="needs a compiler for kernels")


def normal(seed, shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@st.composite
def configurations(draw):
    dims = draw(st.sampled_from([1, 2, 2, 3]))

    def sizes(low, high):
        return tuple(draw(st.integers(low, high)) for _ in range(dims))

    kernel = sizes(1, 4)
    stride = draw(st.sampled_from([None, (2,) * dims, sizes(1, 5)]))
    padding = tuple(draw(st.integers(0, k // 2)) for k in kernel)
    shape = (
        draw(st.integers(1, 3)),
        draw(st.integers(1, 4)),
        *sizes(7, {1: 90, 2: 40, 3: 9}[dims]),
    )
    return shape, kernel, stride, padding, sizes(1, 2), draw(st.booleans()), draw(st.booleans())


@settings(max_examples=150, deadline=None, derandomize=True)
@given(configurations())
def test_max_pool(configuration):
    shape, *args, special = configuration
    x = normal(0, shape)
    if special:
        x = np.round(x)
        x.flat[::3], x.flat[::11] = -np.inf, np.nan
    for dtype in (np.int64, np.int32):
        values, index = kernels.max_pool(x, *args, index_dtype=dtype)
        expected, places = reference.max_pool(x, *args)
        assert index.dtype == dtype
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(index, places)
        g = normal(1, values.shape)
        np.testing.assert_allclose(
            kernels.max_pool_grad(g, index, shape),
            reference.max_pool_grad(g, places, shape),
            rtol=1e-5,
            atol=1e-6,
        )


@settings(max_examples=100, deadline=None, derandomize=True)
@given(configurations(), st.booleans(), st.sampled_from([None, 7]))
def test_avg_pool(configuration, include, override):
    shape, kernel, stride, padding, _, ceil_mode, _ = configuration
    x = normal(0, shape)
    args = (kernel, stride, padding, ceil_mode, include, override)
    made, expected = kernels.avg_pool(x, *args), reference.avg_pool(x, *args)
    assert made.shape == expected.shape and made.dtype == np.float32
    np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-6)
    g = normal(1, made.shape)
    np.testing.assert_allclose(
        kernels.avg_pool_grad(g, shape, *args),
        reference.avg_pool_grad(g, shape, *args),
        rtol=1e-5,
        atol=1e-5,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16], ids=str)
def test_adaptive_pools_and_two_byte_floats(dtype):
    x = normal(0, (2, 3, 12, 9)).astype(dtype)
    for size in ((4, 3), 1, (12, 9)):
        values, index = kernels.adaptive_max_pool(x, size)
        expected, places = reference.adaptive_max_pool(x, size)
        assert (
            values.dtype == dtype
            and np.array_equal(values, expected)
            and np.array_equal(index, places)
        )
        grad = kernels.max_pool_grad(values, index, x.shape)
        assert grad.dtype == dtype and np.array_equal(
            grad, reference.max_pool_grad(values, places, x.shape)
        )
        means = kernels.adaptive_avg_pool(x, size)
        close = {"rtol": 2 * float(ml_dtypes.finfo(dtype).eps), "atol": 1e-6}
        assert means.dtype == dtype
        np.testing.assert_allclose(
            means.astype(float), reference.adaptive_avg_pool(x, size).astype(float), **close
        )
        grad = kernels.adaptive_avg_pool_grad(means, x.shape)
        assert grad.dtype == dtype
        np.testing.assert_allclose(
            grad.astype(float),
            reference.adaptive_avg_pool_grad(means, x.shape).astype(float),
            **close,
        )
    assert kernels.adaptive_avg_pool(x, 5) is None and kernels.adaptive_max_pool(x, (5, 9)) is None


def test_threads_agree():
    x = normal(0, (3, 5, 20, 20))
    before = threads.get_num_threads()
    results = []
    try:
        for count in (1, 3):
            threads.set_num_threads(count)
            values, index = kernels.max_pool(x, 3, 2, 1)
            results.append(
                (
                    values,
                    index,
                    kernels.max_pool_grad(values, index, x.shape),
                    kernels.avg_pool(x, 2),
                )
            )
    finally:
        threads.set_num_threads(before)
    assert all(np.array_equal(a, b) for a, b in zip(*results, strict=True))


def test_what_does_not_apply():
    assert kernels.max_pool(np.zeros((1, 1, 4)), 2) is None
    assert kernels.avg_pool(np.zeros((0, 1, 4), np.float32), 2) is None
    assert (
        kernels.max_pool_grad(np.zeros((1, 1, 2)), np.zeros((1, 1, 2), np.int64), (1, 1, 4)) is None
    )
    with pytest.raises(TypeError, match="int32 or int64"):
        kernels.max_pool(np.zeros((1, 1, 4), np.float32), 2, index_dtype=np.int16)
    with pytest.raises(RuntimeError, match="pad should be at most half"):
        kernels.max_pool(np.zeros((1, 1, 4), np.float32), 2, 2, 2)
