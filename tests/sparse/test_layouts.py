"""Sparse tensors made, converted, printed and taken apart, held to dense arrays and to SciPy."""

import re

import numpy as np
import pytest
import scipy.sparse

import pellucid as torch
from pellucid import nn

LAYOUTS = ("coo", "csr", "csc", "bsr", "bsc")
RNG = np.random.default_rng(0)


def matrix(rows=4, columns=6, dtype=np.float64, share=0.4):
    return np.where(
        RNG.random((rows, columns)) < share, RNG.integers(1, 9, (rows, columns)), 0
    ).astype(dtype)


def sparse(a, layout):
    blocks = {"blocksize": (2, 3)} if layout[0] == "b" else {}
    return torch.from_numpy(a).to_sparse(layout=getattr(torch, f"sparse_{layout}"), **blocks)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64", "bool", "float16"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_to_a_layout_and_back(layout, dtype):
    a = matrix(dtype=dtype)
    s = sparse(a, layout)
    assert (
        s.layout is getattr(torch, f"sparse_{layout}")
        and s.shape == (4, 6)
        and s.dtype == getattr(torch, dtype)
    )
    assert isinstance(s, torch.Tensor) and s.is_sparse == (layout == "coo")
    np.testing.assert_array_equal(s.to_dense().numpy(), a)
    assert s.sparse_dim() == 2 and s.dense_dim() == 0


@pytest.mark.parametrize("target", LAYOUTS)
@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_between_layouts(layout, target):
    a = matrix()
    s, blocks = sparse(a, layout), {"blocksize": (2, 3)} if target[0] == "b" else {}
    np.testing.assert_array_equal(
        s.to_sparse(layout=getattr(torch, f"sparse_{target}"), **blocks).to_dense().numpy(), a
    )


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr"])
def test_the_parts_are_scipys(layout):
    a = matrix()
    s = sparse(a, layout)
    other = getattr(scipy.sparse, f"{layout}_array")(
        a, **({"blocksize": (2, 3)} if layout == "bsr" else {})
    )
    rows = layout in ("csr", "bsr")
    np.testing.assert_array_equal(
        (s.crow_indices() if rows else s.ccol_indices()).numpy(), other.indptr
    )
    np.testing.assert_array_equal(
        (s.col_indices() if rows else s.row_indices()).numpy(), other.indices
    )
    np.testing.assert_array_equal(s.values().numpy(), other.data)


def test_equal_places_are_added_up():
    s = torch.sparse_coo_tensor([[1, 0, 1], [2, 1, 2]], [1.0, 2.0, 3.0], (2, 3))
    assert not s.is_coalesced() and s._nnz() == 3
    with pytest.raises(RuntimeError, match="^Cannot get values on an uncoalesced tensor"):
        s.values()
    c = s.coalesce()
    assert c.is_coalesced() and c.coalesce() is c
    assert c.indices().tolist() == [[0, 1], [1, 2]] and c.values().tolist() == [2.0, 4.0]
    assert s.to_dense().tolist() == c.to_dense().tolist() == [[0, 2, 0], [0, 0, 4]]


def test_dense_dimensions_and_batches():
    a = np.zeros((3, 2, 4))
    a[[0, 2]] = RNG.normal(size=(2, 2, 4))
    s = torch.from_numpy(a).to_sparse(1)
    assert (s.sparse_dim(), s.dense_dim(), s._nnz()) == (1, 2, 2)
    np.testing.assert_array_equal(s.to_dense().numpy(), a)
    b = np.stack([np.eye(3), 2 * np.eye(3)[::-1]])
    for layout in ("csr", "csc"):
        batch = torch.from_numpy(b).to_sparse(layout=getattr(torch, f"sparse_{layout}"))
        assert batch.values().shape == (2, 3)
        np.testing.assert_array_equal(batch.to_dense().numpy(), b)
        np.testing.assert_array_equal(batch.to_sparse().to_dense().numpy(), b)
    with pytest.raises(
        RuntimeError, match="^Expect the same number of specified elements per batch"
    ):
        torch.stack([torch.eye(2), torch.zeros(2, 2)]).to_sparse_csr()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_conversions_keep_the_layout(layout):
    a = matrix()
    s = sparse(a, layout).requires_grad_()
    weights = torch.from_numpy(RNG.normal(size=a.shape))
    (s.to_dense() * weights).sum().backward()
    assert s.grad.layout is s.layout
    stored = np.zeros(a.shape)
    stored[tuple(s._array.index())] = 1
    np.testing.assert_allclose(s.grad.to_dense().numpy(), stored * weights.numpy())
    (s.to_dense() * weights).sum().backward()
    np.testing.assert_allclose(s.grad.to_dense().numpy(), 2 * stored * weights.numpy())
    x = torch.from_numpy(a).requires_grad_()
    (sparse_of(x, layout).to_dense() * weights).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), stored * weights.numpy())


def sparse_of(x, layout):
    return x.to_sparse(
        layout=getattr(torch, f"sparse_{layout}"),
        **({"blocksize": (2, 3)} if layout[0] == "b" else {}),
    )


def test_gradients_reach_the_values():
    v = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    s = torch.sparse_coo_tensor([[1, 0, 1], [2, 1, 2]], v, (2, 3))
    (s.to_dense() * torch.arange(6.0).reshape(2, 3)).sum().backward()
    assert v.grad.tolist() == [5.0, 1.0, 5.0]
    v.grad = None
    c = torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], v, (2, 3))
    (c.values() * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert v.grad.tolist() == [1.0, 10.0, 100.0]


def test_printing():
    s = torch.sparse_coo_tensor(
        [[0, 1], [1, 0]], [1.0, 2.0], (2, 2), dtype=torch.float64, requires_grad=True
    )
    assert repr(s) == (
        "tensor(indices=tensor([[0, 1],\n                       [1, 0]]),\n       values=tensor([1., 2.]),\n"
        "       size=(2, 2), nnz=2, dtype=torch.float64, layout=torch.sparse_coo,\n       requires_grad=True)"
    )
    assert "grad_fn=<ToSparseCsrBackward0>" in repr(s.to_sparse_csr())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: torch.sparse_coo_tensor([[0, -1]], [1.0, 2.0], (2,)), "found negative index -1 for dim 0"),
        (lambda: torch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (2,)), "size is inconsistent with indices: for dim 0, size is 2 but found"),
        (lambda: torch.sparse_csr_tensor([0, 2], [0, 7], [1.0, 2.0], (1, 3)), "`0 <= col_indices < ncols` is not satisfied."),
        (lambda: torch.sparse_csr_tensor([0, 2], [0, -7], [1.0, 2.0], (1, 3)), "`0 <= col_indices < ncols` is not satisfied."),
        (lambda: torch.sparse_csr_tensor([1, 2], [0, 1], [1.0, 2.0], (1, 3)), "`crow_indices[..., 0] == 0` is not satisfied."),
        (lambda: torch.sparse_csc_tensor([0, 9], [0, 1], [1.0, 2.0], (3, 1)), "`ccol_indices[..., -1] == nnz` is not satisfied."),
        (lambda: torch.sparse_csr_tensor([0, 3, 1, 2], [0, 1], [1.0, 2.0], (3, 3)), "`0 <= crow_indices[..., 1:] - crow_indices"),
    ],
)  # fmt: skip
def test_indices_are_looked_at_before_they_are_used(make, message):
    s = make()
    uses = [
        lambda: s.to_dense(),
        lambda: s.to_sparse_csr().to_dense() if s.ndim == 2 and s.is_sparse else s.to_dense(),
    ]
    uses += [lambda: torch.sparse.mm(s, torch.ones(s.shape[-1], 1))] if s.ndim == 2 else []
    for use in uses:
        with pytest.raises(RuntimeError) as error:
            use()
        assert str(error.value).startswith(message)
    with pytest.raises(RuntimeError) as error, torch.sparse.check_sparse_tensor_invariants():
        make()
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("use", "name"),
    [
        (lambda s: torch.median(s), "median"),
        (lambda s: torch.max(s, 0), "max.dim"),
        (lambda s: torch.clamp(s, torch.tensor(0.0), torch.tensor(1.0)), "clamp.Tensor"),
        (lambda s: torch.round(s, decimals=1), "round.decimals"),
        (lambda s: nn.functional.huber_loss(s, s), "huber_loss"),
        (lambda s: nn.functional.gelu(s, approximate="tanh"), "gelu"),
        (lambda s: nn.functional.logsigmoid(s), "log_sigmoid_forward"),
        (lambda s: s & s, "bitwise_and.Tensor"),
        (lambda s: torch.isfinite(s), "ne.Scalar"),
        (lambda s: torch.softmax(s, 0), "_softmax"),
    ],
)
def test_the_operator_that_is_missing_has_pytorchs_name(use, name):
    with pytest.raises(
        NotImplementedError, match=f"^Could not run 'aten::{re.escape(name)}' with arguments from"
    ):
        use(torch.eye(2).to_sparse())


def test_operations_that_sparse_tensors_do_not_have():
    s = torch.eye(2).to_sparse()
    with pytest.raises(
        NotImplementedError,
        match="^Could not run 'aten::cos' with arguments from the 'SparseCPU' backend.",
    ):
        torch.cos(s)
    with pytest.raises(
        TypeError, match="^can't convert Sparse layout tensor to numpy. Use Tensor.to_dense"
    ):
        s.numpy()
    with pytest.raises(RuntimeError, match="^add\\(sparse, dense\\) is not supported"):
        s + torch.ones(2, 2)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int32", "float16"])
@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr"])
def test_products(layout, dtype):
    if layout != "coo" and dtype in ("int32", "float16"):
        pytest.skip("compressed products are of floats")
    a, b = matrix(dtype=dtype), matrix(6, 3, dtype)
    s, d = sparse(a, layout), torch.from_numpy(b)
    np.testing.assert_allclose(torch.sparse.mm(s, d).numpy(), a @ b)
    np.testing.assert_allclose((s @ d).numpy(), a @ b)
    np.testing.assert_allclose((s @ d[:, 0]).numpy(), a @ b[:, 0])
    if layout in ("coo", "csr", "csc"):
        np.testing.assert_allclose((d.T @ s.t()).numpy(), (a @ b).T)


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr"])
def test_gradients_of_products(layout):
    a, b, g = matrix(), RNG.normal(size=(6, 3)), RNG.normal(size=(4, 3))
    s, d = sparse(a, layout).requires_grad_(), torch.from_numpy(b).requires_grad_()
    torch.sparse.mm(s, d).backward(torch.from_numpy(g))
    assert s.grad.layout is s.layout
    stored = np.zeros(a.shape)
    stored[tuple(s._array.index())] = 1
    np.testing.assert_allclose(s.grad.to_dense().numpy(), stored * (g @ b.T))
    np.testing.assert_allclose(d.grad.numpy(), a.T @ g)


def test_second_gradients_of_products():
    a, b = matrix(3, 3), RNG.normal(size=(3, 2))
    v = torch.from_numpy(a[a != 0]).requires_grad_()
    d = torch.from_numpy(b).requires_grad_()
    places = torch.from_numpy(np.stack(np.nonzero(a)))

    def f(v, d):
        return torch.sparse.mm(torch.sparse_coo_tensor(places, v, (3, 3)), d).sin()

    assert torch.autograd.gradcheck(f, (v, d)) and torch.autograd.gradgradcheck(f, (v, d))


def test_sums_and_products_of_elements():
    a, b = matrix(), matrix()
    for layout in ("coo", "csr"):
        s, t = sparse(a, layout), sparse(b, layout)
        np.testing.assert_array_equal((s + t).to_dense().numpy(), a + b)
        np.testing.assert_array_equal((s * t).to_dense().numpy(), a * b)
        np.testing.assert_array_equal((s * 3).to_dense().numpy(), a * 3)
        np.testing.assert_array_equal((s * torch.from_numpy(b)).to_dense().numpy(), a * b)
        np.testing.assert_array_equal((torch.from_numpy(b) + s).numpy(), a + b)
        np.testing.assert_array_equal((-s).sqrt().isnan().to_dense().numpy(), a > 0)
    s = sparse(a, "coo")
    s += sparse(b, "coo")
    s *= 2
    np.testing.assert_array_equal(s.to_dense().numpy(), 2 * (a + b))


def test_gradients_of_a_dense_leaf_may_be_sparse():
    """Arrays that are sparse are added up with dense ones, in both orders, and with each other."""
    for first, second in ((True, True), (True, False), (False, True)):
        w = torch.ones(3, 3, requires_grad=True)
        total = 0
        for is_sparse in (first, second):
            s = torch.sparse.mm(torch.eye(3).to_sparse(), w)
            total = total + (s.to_sparse().to_dense() if is_sparse else s).sum()
        total.backward()
        np.testing.assert_array_equal(w.grad.numpy(), np.full((3, 3), 2.0))
