import numpy as np
import pytest

from pellucid.kernels.ordering import select
from pellucid.llvm import target
from pellucid.ops.reduce import _order
from pellucid.ops.reduce import select as reduce_select

pytestmark = pytest.mark.skipif(not target.available(), reason="there is no compiler")
RNG = np.random.default_rng(0)


def arrays(dtype):
    for shape, dim in (
        ((7,), 0),
        ((1,), 0),
        ((4, 100), 1),
        ((5, 33), 0),
        ((2, 64, 3), 1),
        ((300, 2), 1),
    ):
        x = RNG.standard_normal(shape).astype(dtype)
        yield x, dim
        yield np.round(x), dim  # equals, zeros of both signs
        yield np.where(RNG.random(shape) < 0.3, np.nan, x).astype(dtype), dim
        yield np.sort(x, dim), dim
        yield -np.sort(x, dim), dim
        yield np.full(shape, np.nan, dtype), dim
        yield np.where(RNG.random(shape) < 0.5, np.inf, -np.inf).astype(dtype), dim
    yield np.asfortranarray(RNG.standard_normal((6, 11)).astype(dtype)), 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_a_stable_sort_puts_there(dtype, thread_count):
    for x, dim in arrays(dtype):
        rules = {
            "median": lambda: reduce_select._median_index(x, dim, False),
            "nanmedian": lambda: reduce_select._median_index(x, dim, True),
        }
        for k in {1, 2, x.shape[dim] // 2, x.shape[dim]} & set(range(1, x.shape[dim] + 1)):
            rules["kth", k] = lambda k=k: _order.order_of(x, dim, False).take([k - 1], dim)
        for way, rule in rules.items():
            values, index = select.select(x, dim, *(way if isinstance(way, tuple) else (way,)))
            np.testing.assert_array_equal(index, rule())
            np.testing.assert_array_equal(values, np.take_along_axis(x, index, dim))


def test_a_large_line():
    x = np.concatenate([np.arange(200_000.0), np.arange(200_000.0, 0, -1)])
    values, index = select.select(x, 0, "median")
    assert values[0] == np.sort(x)[(x.size - 1) // 2] and x[index[0]] == values[0]


def test_other_dtypes_have_no_kernel():
    assert (
        select.select(np.arange(5, dtype=np.int16), 0, "median") is None
        and select.native("float16") is None
    )


@pytest.mark.parametrize("kind", ("float32", "float64", "int32", "int64"))
def test_the_most_frequent_element_of_short_lines(kind):
    rng = np.random.default_rng(4)
    for shape, dim in (((5, 7), 1), ((5, 7), 0), ((2, 16, 3), 1), ((1,), 0), ((4, 1), 1)):
        for _ in range(40):
            x = rng.integers(-3, 4, shape).astype(kind)
            if kind.startswith("float"):
                for value in (np.nan, np.inf, -0.0):
                    x[rng.random(shape) < 0.15] = value
            made = select.select(x, dim, "mode")
            index = reduce_select._mode_index(x, dim)
            np.testing.assert_array_equal(made[1], index)
            np.testing.assert_array_equal(made[0], np.take_along_axis(x, index, dim))
    assert select.select(np.full((2, 5), np.nan), 1, "mode")[1].tolist() == [[0], [0]]
    assert select.select(np.zeros((2, 17), kind), 1, "mode") is None
