"""Pooling on NumPy against loops over every window, and its gradients against finite differences."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from pellucid.kernels.convolution.geometry import adaptive_windows, pool_geometry
from pellucid.kernels.pooling import reference as pool_reference

CASES = [
    # x, kernel, stride, padding, dilation, ceil_mode
    ((2, 3, 9), 2, None, 0, 1, False),
    ((1, 2, 9), 3, 2, 1, 2, True),
    ((2, 2, 7, 8), 2, 2, 0, 1, True),
    ((1, 2, 8, 9), (3, 2), (2, 3), (1, 0), 1, True),
    ((1, 1, 9, 9), 3, 1, 1, (2, 1), False),
    ((1, 2, 5, 6, 7), (2, 3, 2), (2, 1, 3), (1, 1, 0), 1, True),
]


def normal(seed, shape):
    return np.random.default_rng(seed).standard_normal(shape)


def window(geo, cell):
    """Flat indices inside the input of one window, in the order of the taps."""
    at = []
    for tap in np.ndindex(geo.k):
        place = [
            c * s - p + t * d
            for c, s, p, t, d in zip(cell, geo.stride, geo.pad, tap, geo.dilation, strict=True)
        ]
        if all(0 <= i < size for i, size in zip(place, geo.x, strict=True)):
            at.append(int(np.ravel_multi_index(place, geo.x)))
    return at


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("special", [False, True])
def test_max_pool_is_the_definition(case, special):
    shape, *args = case
    x = normal(0, shape)
    if special:
        x = np.round(x)  # ties
        x.flat[::5], x.flat[::11] = -np.inf, np.nan
    values, index = pool_reference.max_pool(x, *args)
    geo = pool_geometry(shape, *args)
    assert values.shape == index.shape == geo.out_shape and index.dtype == np.int64
    for n, c, *cell in np.ndindex(values.shape):
        plane, places = x[n, c].ravel(), window(geo, cell)
        nans = [i for i in places if np.isnan(plane[i])]
        winner = nans[-1] if nans else max(places, key=lambda i: (plane[i], -i))
        assert index[(n, c, *cell)] == winner
        np.testing.assert_equal(values[(n, c, *cell)], plane[winner])


@pytest.mark.parametrize("case", [c for c in CASES if c[4] == 1], ids=str)
@pytest.mark.parametrize("include, override", [(True, None), (False, None), (True, 5)])
def test_avg_pool_is_the_definition(case, include, override):
    shape, kernel, stride, padding, _, ceil_mode = case
    x = normal(0, shape)
    args = (kernel, stride, padding, ceil_mode, include, override)
    values = pool_reference.avg_pool(x, *args)
    geo = pool_geometry(shape, kernel, stride, padding, 1, ceil_mode)
    for n, c, *cell in np.ndindex(geo.out_shape):
        places = window(geo, cell)
        sizes = zip(cell, geo.stride, geo.k, geo.pad, geo.x, strict=True)
        inside = np.prod([min(i * s - p + k, size + p) - (i * s - p) for i, s, k, p, size in sizes])
        divisor = override or (inside if include else len(places))
        assert values[(n, c, *cell)] == pytest.approx(x[n, c].ravel()[places].sum() / divisor)


def differences(function, x, g):
    grad = np.zeros(x.shape)
    for index in itertools.islice(np.ndindex(x.shape), 0, None, 2):
        sides = []
        for step in (1e-6, -1e-6):
            moved = x.copy()
            moved[index] += step
            sides.append((g * function(moved)).sum())
        grad[index] = (sides[0] - sides[1]) / 2e-6
    return grad


@pytest.mark.parametrize("case", CASES[1:4], ids=str)
def test_gradients(case):
    shape, kernel, stride, padding, dilation, ceil_mode = case
    x = normal(0, shape)
    values, index = pool_reference.max_pool(x, kernel, stride, padding, dilation, ceil_mode)
    g = normal(1, values.shape)
    every_other = np.zeros(x.size, bool)
    every_other[::2] = True
    every_other = every_other.reshape(shape)
    grad = pool_reference.max_pool_grad(g, index, shape)
    expected = differences(
        lambda x: pool_reference.max_pool(x, kernel, stride, padding, dilation, ceil_mode)[0], x, g
    )
    np.testing.assert_allclose(np.where(every_other, grad, 0), expected, atol=1e-6)
    args = (kernel, stride, padding, ceil_mode, False)
    g = normal(2, pool_reference.avg_pool(x, *args).shape)
    expected = differences(lambda x: pool_reference.avg_pool(x, *args), x, g)
    np.testing.assert_allclose(
        np.where(every_other, pool_reference.avg_pool_grad(g, shape, *args), 0), expected, atol=1e-6
    )


@pytest.mark.parametrize(
    "shape, size",
    [((2, 3, 7), 3), ((1, 2, 6, 9), (3, 4)), ((1, 2, 6, 6), 1), ((1, 1, 4, 5, 6), (2, 5, 4))],
)
def test_adaptive_pools(shape, size):
    x = normal(0, shape)
    dims = len(shape) - 2
    sizes = (size,) * dims if isinstance(size, int) else size
    values, index = pool_reference.adaptive_max_pool(x, size)
    means = pool_reference.adaptive_avg_pool(x, size)
    for n, c, *cell in np.ndindex(values.shape):
        box = [slice(*adaptive_windows(shape[2 + d], sizes[d])[cell[d]]) for d in range(dims)]
        assert (
            values[(n, c, *cell)] == x[(n, c, *box)].max() == x[n, c].ravel()[index[(n, c, *cell)]]
        )
        assert means[(n, c, *cell)] == pytest.approx(x[(n, c, *box)].mean())
    g = normal(1, means.shape)
    dx = normal(2, shape)
    grad = pool_reference.adaptive_avg_pool_grad(g, shape)
    assert (grad * dx).sum() == pytest.approx(
        (g * pool_reference.adaptive_avg_pool(dx, size)).sum()
    )


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int64", "float16", ml_dtypes.bfloat16], ids=str
)
def test_dtypes_are_kept(dtype):
    x = (np.arange(2 * 6 * 6) * 7 % 50).reshape(1, 2, 6, 6).astype(dtype)
    values, index = pool_reference.max_pool(x, 3, 2, 1)
    assert values.dtype == x.dtype
    exact, places = pool_reference.max_pool(x.astype(np.float64), 3, 2, 1)
    assert np.array_equal(values.astype(np.float64), exact) and np.array_equal(index, places)
    if np.dtype(dtype).kind not in "iu":
        assert pool_reference.avg_pool(x, 2).dtype == x.dtype
        g = values
        assert pool_reference.max_pool_grad(g, index, x.shape).dtype == x.dtype
        assert (
            pool_reference.avg_pool_grad(pool_reference.avg_pool(x, 2), x.shape, 2).dtype == x.dtype
        )


def test_an_input_of_nothing_but_minus_infinity_keeps_the_first_position():
    _, index = pool_reference.max_pool(np.full((1, 1, 4, 4), -np.inf), 3, 2, 1)
    assert index.ravel().tolist() == [0, 1, 4, 5]


def test_arguments_that_do_not_fit():
    x = np.zeros((1, 1, 4, 4))
    with pytest.raises(
        RuntimeError, match="pad should be at most half of effective kernel size, but got pad=2"
    ):
        pool_reference.max_pool(x, 2, 2, 2)
    with pytest.raises(RuntimeError, match="Output size is too small"):
        pool_reference.avg_pool(x, 5)
    with pytest.raises(RuntimeError, match="divisor must be not zero"):
        pool_reference.avg_pool(x, 2, divisor_override=0)
    with pytest.raises(RuntimeError, match="stride should be greater than zero"):
        pool_reference.max_pool(x, 2, 0)


def test_no_images_at_all():
    x = np.zeros((0, 2, 6, 6))
    values, index = pool_reference.max_pool(x, 2)
    assert values.shape == index.shape == (0, 2, 3, 3)
    assert pool_reference.max_pool_grad(values, index, x.shape).shape == x.shape
    assert pool_reference.avg_pool_grad(pool_reference.avg_pool(x, 2), x.shape, 2).shape == x.shape
    assert pool_reference.adaptive_max_pool(x, 4)[1].shape == (0, 2, 4, 4)
    assert (
        pool_reference.adaptive_avg_pool_grad(pool_reference.adaptive_avg_pool(x, 4), x.shape).shape
        == x.shape
    )


def test_nothing_is_copied_where_there_are_no_elements(monkeypatch):
    copyto = np.copyto

    def watched(out, value, **how):
        assert out.size  # NumPy's copy under a mask reads an element also where there is none
        copyto(out, value, **how)

    monkeypatch.setattr(np, "copyto", watched)
    for shape in ((0, 2, 4, 4, 4), (2, 0, 4, 4, 4)):
        values, index = pool_reference.max_pool(np.zeros(shape, ml_dtypes.bfloat16), 2)
        assert values.shape == index.shape == (*shape[:2], 2, 2, 2)
        assert values.dtype == ml_dtypes.bfloat16 and index.dtype == np.int64
