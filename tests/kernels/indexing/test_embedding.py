import numpy as np
import pytest

from pellucid.kernels.indexing import embedding

RNG = np.random.default_rng(7)
SHAPES = [((5, 3), (4,)), ((65, 128), (12, 64)), ((3, 1), ()), ((4, 0), (2,)), ((9, 300), (500,))]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape, index_shape",
    [((5, 3), (4,)), ((65, 128), (12, 64)), ((3, 1), ()), ((4, 0), (2,)), ((9, 300), (500,))],
)
def test_gather_and_scatter(shape, index_shape, dtype, thread_count):
    table = RNG.standard_normal(shape).astype(dtype)
    index = np.asarray(RNG.integers(0, shape[0], index_shape))
    np.testing.assert_array_equal(embedding.gather_rows(table, index), table[index])
    rows = RNG.standard_normal((*index_shape, shape[1])).astype(dtype)
    want = np.zeros(shape, dtype)
    np.add.at(want, index, rows)
    np.testing.assert_array_equal(embedding.scatter_add_rows(rows, index, shape[0]), want)
    want[0] = 0
    np.testing.assert_array_equal(embedding.scatter_add_rows(rows, index, shape[0], skip=0), want)
    out = np.ones(shape, dtype)
    assert embedding.scatter_add_rows(rows, index, shape[0], out=out) is out


def test_indices_are_checked():
    table = np.ones((3, 2), np.float32)
    for bad in (3, -1, 2**40):
        with pytest.raises(IndexError, match="index out of range in self"):
            embedding.gather_rows(table, np.array([0, bad]))
        with pytest.raises(IndexError, match="index out of range in self"):
            embedding.scatter_add_rows(np.ones((2, 2), np.float32), np.array([0, bad]), 3)
    assert embedding.gather_rows(table, np.array([0], np.int32)) is None
    assert embedding.gather_rows(table.T, np.array([0])) is None
