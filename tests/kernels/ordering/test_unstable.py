"""Native code leaves equals where the definition on lists does."""

import numpy as np
import pytest

from pellucid.kernels.ordering import order, unstable
from pellucid.llvm import target

pytestmark = pytest.mark.skipif(not target.available(), reason="there is no compiler")
RNG = np.random.default_rng(0)


def quicksorts_worst(n):
    """Keys for which the median of three is always among the smallest (Musser 1997)."""
    half = n // 2
    keys = [0] * n
    for i in range(half):
        keys[i] = i + 1 if i % 2 == 0 else half + i
        keys[half + i] = 2 * (i + 1)
    return keys


def lines():
    for n in (1, 2, 3, 15, 16, 17, 18, 40, 200, 1000):
        for most in (1, 2, 7, 10 * n):
            yield RNG.integers(0, most, n).tolist()
        yield sorted(RNG.integers(0, 9, n).tolist())
        yield quicksorts_worst(n)
    yield [key // 2 for key in quicksorts_worst(3000)]


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("largest", [False, True])
def test_the_order_of_equals(dtype, largest, thread_count):
    for line in lines():
        x, n = np.array([line, line[::-1]], dtype), len(line)
        for way in unstable.WAYS[1:]:
            for k in {n} if way == "sort" else {1, n // 64 or 1, n // 3 or 1, n}:
                wanted = [
                    unstable.arranged([-v if largest else v for v in r], k, way) for r in x.tolist()
                ]
                made = [order.sort(x, 1, largest, k, way)]
                made += (
                    [order.first(x, 1, k, largest, how=way)]
                    if way == "top" and k <= order.MOST
                    else []
                )
                for values, index in made:
                    begin = k - 1 if way == "choice" else 0
                    assert index[:, begin:].tolist() == [w[begin:k] for w in wanted], (n, k, way)
                    assert (values == np.take_along_axis(x, index, 1))[:, begin:].all()


def test_the_worst_case_is_not_quadratic():
    assert unstable.arranged(quicksorts_worst(4000), 4000, "sort")[:2] == [0, 2000]


def test_numbers_that_are_not_a_number_are_equals():
    x = np.full((1, 40), np.nan, np.float32)
    x[0, ::3] = 1
    keys = [1 if v == 1 else 2 for v in x[0]]
    assert order.sort(x, 1, False, how="sort")[1][0].tolist() == unstable.arranged(keys, 40, "sort")
    keys = [1 if v != 1 else 2 for v in x[0]]
    assert (
        order.first(x, 1, 5, True, how="top")[1][0].tolist()
        == unstable.arranged(keys, 5, "top")[:5]
    )


@pytest.mark.parametrize("kind", ("float32", "float64", "int64"))
@pytest.mark.parametrize("k", (65, 500, 3000, 4999))
@pytest.mark.parametrize("largest", (False, True))
def test_the_first_of_long_lines_are_those_of_the_definition(kind, k, largest):
    """Whether the line has equals, which are in PyTorch's order, or not."""
    for most in (300, 10**9):
        x = np.random.default_rng(k).integers(0, most, 5000).astype(kind)
        keys = [-v if largest else v for v in x.tolist()]
        values, index = order.sort(x, 0, largest, k, "top")
        assert index.tolist() == unstable.arranged(keys, k, "top")[:k]
        np.testing.assert_array_equal(values, x[index])
