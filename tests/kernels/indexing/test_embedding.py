import numpy as np
import pytest

import pellucid as torch
from pellucid import config
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


@pytest.mark.parametrize("kernels_on", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_gradients_of_tables_of_every_dtype(dtype, kernels_on, monkeypatch):
    monkeypatch.setattr(config, "kernels", kernels_on)
    torch.manual_seed(0)
    index = torch.randint(0, 7, (40, 3))
    table = torch.randn(9, 5).to(getattr(torch, dtype)).requires_grad_()
    factors = torch.randn(40, 3, 5).to(table.dtype)
    (torch.nn.functional.embedding(index, table) * factors).sum().backward()
    want = torch.zeros(9, 5, dtype=torch.float64)
    for row, g in zip(index.flatten().tolist(), factors.reshape(-1, 5), strict=True):
        want[row] += g
    assert table.grad.dtype is table.dtype
    tolerance = {"float64": 1e-12, "float16": 2e-2, "bfloat16": 8e-2}.get(dtype, 1e-5)
    torch.testing.assert_close(table.grad.double(), want, rtol=tolerance, atol=tolerance)
    assert not table.grad[7:].any()
