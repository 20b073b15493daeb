"""Dense tensors asked about sparse and quantised layouts, symbolic numbers that do not exist,
control flow as functions.
"""

import pytest

import pellucid as torch


def test_answers_for_a_dense_tensor():
    x = torch.ones(2, 3, dtype=torch.float64)
    assert x.sparse_dim() == 0 and x.dense_dim() == 2 and x.to_dense() is x
    assert (
        x.to_dense(torch.float32).dtype is torch.float32 and x.dequantize().dtype is torch.float32
    )
    assert not (x.is_xla or x.is_mtia or x.is_distributed())
    assert x.storage_type() is torch.DoubleStorage
    assert torch.equal(torch.spmm(x, x.T), x @ x.T)


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("coalesce", "sparse coordinate"),
        ("values", "sparse"),
        ("crow_indices", "sparse row compressed"),
        ("row_indices", "sparse column compressed"),
    ],
)
def test_parts_of_sparse_tensors(name, layout):
    with pytest.raises(
        RuntimeError, match=f"^{name} expected {layout} tensor layout but got Strided"
    ):
        getattr(torch.ones(2), name)()


@pytest.mark.parametrize(("name", "args"), [("Tensor.to_mkldnn", ())])
def test_refusals_name_themselves(name, args):
    home, _, last = name.rpartition(".")
    function = getattr(torch.Tensor if home else torch, last)
    with pytest.raises(NotImplementedError, match=name.replace(".", r"\.")):
        function(torch.ones(2), *args)


def test_deprecated_resize_is_a_view():
    x = torch.arange(6)
    with pytest.warns(UserWarning, match="non-inplace resize is deprecated"):
        y = x.resize(2, 3)
    assert y.data_ptr() == x.data_ptr() and y.shape == (2, 3)
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="^requested resize to 4 "):
        x.resize(4)


def test_no_number_is_symbolic():
    assert not isinstance(3, (torch.SymInt, torch.SymFloat, torch.SymBool))
    with pytest.raises(NotImplementedError, match="SymInt"):
        torch.SymInt(3)
    assert (
        torch.sym_max(2, 3.0) == 3.0
        and isinstance(torch.sym_min(2, 3.0), float)
        and torch.sym_sum([1, 2]) == 3
    )
    assert (
        torch.sym_not(0)
        and torch.sym_ite(False, 1, 2) == 2
        and torch.sym_int(2.7) == 2
        and torch.sym_sqrt(4) == 2
    )


def test_branches_and_loops_are_differentiated():
    x = torch.tensor(2.0, requires_grad=True)
    torch.cond(x > 1, lambda a: a * a, lambda a: -a, (x,)).backward()
    assert x.grad == 4
    x.grad = None
    _, y = torch.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), (torch.tensor(0), x))
    y.backward()
    assert x.grad == 4 * 2.0**3


def test_conditions_are_checked():
    with pytest.raises(RuntimeError, match="^Expect pred to be bool or tensor, but got yes."):
        torch.cond("yes", lambda: 1, lambda: 2)
    with pytest.raises(RuntimeError, match="^Expect both branches to be callable."):
        torch.cond(True, 1, lambda: 2)
    with pytest.raises(RuntimeError, match="^body_fn should return the same number of elements"):
        torch.while_loop(lambda a: a < 1, lambda a: (a, a), (0,))
