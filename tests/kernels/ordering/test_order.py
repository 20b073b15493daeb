import numpy as np
import pytest

from pellucid.kernels.ordering import order

SHAPES = [(1,), (5,), (3, 7), (4, 64), (2, 100, 3), (3, 17, 5), (2, 1000), (2, 4096), (3, 2, 40)]


def filled(shape, kind):
    rng = np.random.default_rng(len(shape))
    if kind.startswith("int"):
        x = rng.integers(-9, 9, shape).astype(kind)
        x.flat[0], x.flat[-1] = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
        return x
    x = rng.standard_normal(shape).astype(np.float64 if kind == "double" else np.float32)
    kind = "special" if kind == "double" else kind
    if kind == "ties":
        return np.round(2 * x) / 2
    if kind == "special":
        for value in (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0):
            x[rng.random(shape) < 0.1] = value
    return x


def order_of(x, dim, descending):
    """Stable; NaN last, or first when descending."""
    if not descending:
        return np.argsort(x, dim, kind="stable")
    flipped = np.argsort(np.flip(x, dim), dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(flipped, dim)


@pytest.mark.parametrize("kind", ["plain", "ties", "special", "double", "int32", "int64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_sorting_and_the_first_few(shape, kind, thread_count):
    x = filled(shape, kind)
    for dim in range(len(shape)):
        for descending in (False, True):
            want = order_of(x, dim, descending)
            values, index = order.sort(x, dim, descending)
            np.testing.assert_array_equal(index, want)
            np.testing.assert_array_equal(values, np.take_along_axis(x, want, dim))
            for k in {1, min(3, shape[dim]), min(order.MOST, shape[dim])}:
                values, index = order.first(x, dim, k, descending)
                np.testing.assert_array_equal(index, want.take(range(k), dim))
                np.testing.assert_array_equal(values, np.take_along_axis(x, index, dim))


@pytest.mark.parametrize("kind", ["plain", "ties", "special", "double", "int32", "int64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_extremes(shape, kind, thread_count):
    x = filled(shape, kind)
    for dim in range(len(shape)):
        for largest, name in ((True, "max"), (False, "min")):
            values, index = order.extreme(x, dim, largest)
            np.testing.assert_array_equal(index, getattr(x, "arg" + name)(dim, keepdims=True))
            np.testing.assert_array_equal(values, getattr(x, name)(dim, keepdims=True))


def test_nothing_but_the_worst():
    for worst, largest in ((-np.inf, True), (np.inf, False)):
        x = np.full((2, 50), worst, np.float32)
        assert order.extreme(x, 1, largest)[1].tolist() == [[0], [0]]
        assert order.first(x, 1, 3, largest)[1].tolist() == [[0, 1, 2]] * 2


def test_what_is_not_served():
    x = np.ones((3, 4), np.float32)
    assert order.sort(x.T, 0, False) is None
    assert order.sort(x.astype(np.int16), 0, False) is None
    assert order.first(np.ones((2, 100), np.float32), 1, order.MOST + 1, True) is None
    assert order.extreme(np.ones((0, 4), np.float32), 1, True) is None
