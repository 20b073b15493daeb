import numpy as np
import pytest

from pellucid import config
from pellucid.kernels.indexing import embedding_bag as bags
from pellucid.llvm import target
from pellucid.ops.nn import embedding as nn_embedding

pytestmark = pytest.mark.skipif(not target.available(), reason="there is no compiler")
RNG = np.random.default_rng(0)
STARTS = [[0], [0, 0, 0], [0, 3, 3, 9, 40, 41, 41], [0, 41], [0, 7, 2, 11]]


def numpy_and_native(function, monkeypatch, *args):
    monkeypatch.setattr(config, "kernels", False)
    want = function(*args)
    monkeypatch.setattr(config, "kernels", True)
    return want, function(*args)


@pytest.mark.parametrize("starts", STARTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_bags_and_their_largest(starts, dtype, monkeypatch, thread_count):
    starts, index = np.array(starts), RNG.integers(0, 5, 41)
    for padding in (None, 3):
        want, made = numpy_and_native(
            nn_embedding._bags, monkeypatch, starts, index, padding, np.dtype(dtype)
        )
        for a, b in zip(made, want, strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype
        for columns in (1, 5, 130):
            rows = RNG.integers(0, 9, (41, columns)).astype(dtype)  # with many equals
            rows[RNG.random(rows.shape) < 0.1] = np.nan
            rows[RNG.random(rows.shape) < 0.3] = -np.inf
            largest = numpy_and_native(
                nn_embedding._winners, monkeypatch, rows, want[0], len(starts)
            )
            for a, b in zip(*largest, strict=True):
                np.testing.assert_array_equal(a, b)


def test_what_has_no_kernel():
    assert bags.bags(np.array([0]), np.array([1]), None, np.dtype(np.float16)) is None
    assert bags.native("winners", "int64") is None
