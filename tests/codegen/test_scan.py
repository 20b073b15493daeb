import numpy as np
import pytest

from pellucid.codegen import scan

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("shape", [(1,), (100_000,), (3, 5), (70, 1001), (2, 3, 0), (0, 4), (4, 2, 33)])
def test_running_sums_are_added_in_double(shape, thread_count):
    x = RNG.standard_normal(shape).astype(np.float32)
    want = np.cumsum(x, -1, np.float64).astype(np.float32)
    np.testing.assert_array_equal(scan.cumsum(x, -1), want)
    np.testing.assert_array_equal(scan.cumsum(x, len(shape) - 1), want)


def test_nan_and_infinity_stay_from_where_they_are():
    x = np.array([1.0, np.inf, 2.0, -np.inf, 1.0], np.float32)
    np.testing.assert_array_equal(scan.cumsum(x, 0), [1.0, np.inf, np.inf, np.nan, np.nan])


def test_what_is_not_served():
    x = np.ones((3, 4), np.float32)
    assert scan.cumsum(x, 0) is None
    assert scan.cumsum(x.T, 1) is None
    assert scan.cumsum(x.astype(np.float64), 1) is None
