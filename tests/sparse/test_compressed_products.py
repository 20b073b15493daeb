"""Products of rows with columns, triangular systems, and what compressed tensors refuse."""

import pytest

import pellucid as torch

D = torch.tensor([[0, 0, 3.0, 0], [4, 0, 5, 0]])


def test_rows_times_columns():
    rows, columns = D.to_sparse_csr(), D.to_sparse_csc()
    for made in (rows @ rows.t(), rows @ columns.t().to_sparse_csc(), torch.mm(rows, columns.t())):
        assert made.layout is torch.sparse_csr and torch.equal(made.to_dense(), D @ D.T)
    assert torch.equal((rows.t() @ rows).to_dense(), D.T @ D)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        torch.sparse.mm(rows, columns)


@pytest.mark.filterwarnings("ignore:torch.triangular_solve")
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_systems(upper, transpose, unit):
    a, b = torch.tensor([[2.0, 1, 0], [3, 4, 1], [0, 5, 8]]), torch.tensor([[1.0], [2], [3]])
    made = torch.triangular_solve(b, a.to_sparse_csr(), upper, transpose, unit)
    assert torch.allclose(
        made.solution, torch.triangular_solve(b, a, upper, transpose, unit).solution
    )
    assert made.cloned_coefficient.shape == (0,)


def test_what_is_refused():
    for x in (D.to_sparse(), D.to_sparse_csr()):
        for call in (x.nonzero, lambda x=x: torch.nonzero(x), lambda x=x: torch.argwhere(x)):
            with pytest.raises(NotImplementedError, match="Could not run 'aten::nonzero'"):
                call()
    batches = torch.stack([torch.eye(2)] * 2).to_sparse_csr()
    with pytest.raises(RuntimeError, match="not supported for batched sparse compressed"):
        batches.select(1, 0)
    with pytest.raises(RuntimeError, match="Sparse CSR tensors do not have strides"):
        batches.unsqueeze(0)


def test_a_row_of_blocks():
    blocks = torch.eye(4).to_sparse_bsr((2, 2))
    assert torch.equal(blocks[1].to_dense(), torch.eye(4)[1])


def test_copies_take_the_source_s_size():
    x = torch.sparse_coo_tensor((3, 5))
    assert x.copy_(D.to_sparse()).shape == (2, 4) and torch.equal(x.to_dense(), D)
    with pytest.raises(RuntimeError, match="shrinking the size of sparse dimensions"):
        x.copy_(torch.ones(2, 2).to_sparse())
    with pytest.raises(RuntimeError, match="self layout is SparseCsr and src layout is SparseCsc"):
        D.to_sparse_csr().copy_(D.to_sparse_csc())
    with pytest.raises(RuntimeError, match="same number of specified elements"):
        D.to_sparse_csr().copy_(torch.ones(2, 2).to_sparse_csr())


@pytest.mark.parametrize(("short", "long"), [("max", "amax"), ("min", "amin")])
def test_two_names_of_an_extreme(short, long):
    """torch_geometric's products of edges and features say "min"."""
    rows, x = D.to_sparse_csr(), torch.arange(12.0).reshape(4, 3) - 5
    assert torch.equal(torch.sparse.mm(rows, x, short), torch.sparse.mm(rows, x, long))
    index, source = torch.tensor([[0, 0, 1], [1, 1, 1]]), torch.arange(6.0).reshape(2, 3) - 3
    assert torch.equal(
        torch.scatter_reduce(torch.zeros(2, 3), 0, index, source, short),
        torch.scatter_reduce(torch.zeros(2, 3), 0, index, source, long),
    )
    with pytest.raises(RuntimeError, match="got median"):
        torch.scatter_reduce(torch.zeros(2, 3), 0, index, source, "median")
