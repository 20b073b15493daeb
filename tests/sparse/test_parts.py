"""Parts, sums and softmax of sparse tensors, and products of other kinds, held to dense arrays."""

import copy
import io
import pickle

import numpy as np
import pytest

import pellucid as torch

RNG = np.random.default_rng(1)
A = np.where(RNG.random((4, 5)) < 0.5, RNG.normal(size=(4, 5)), 0)


def leaf():
    return torch.from_numpy(A).to_sparse().requires_grad_()


def check(function, expected):
    """The value, and the gradient at the places that are stored, against those of the dense
    function.
    """
    s, d = leaf(), torch.from_numpy(A).requires_grad_()
    got, want = function(s), expected(d)
    got = got.to_dense() if got.layout is not torch.strided else got
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), atol=1e-12)
    g = torch.from_numpy(RNG.normal(size=want.shape))
    got.backward(g)
    want.backward(g)
    grad = s.grad.to_dense() if s.grad.layout is not torch.strided else s.grad
    np.testing.assert_allclose(
        np.where(A != 0, grad.numpy(), 0), np.where(A != 0, d.grad.numpy(), 0), atol=1e-12
    )


@pytest.mark.parametrize("dim", [0, 1, -1, (0, 1)])
def test_sums(dim):
    check(lambda s: torch.sparse.sum(s, dim), lambda d: d.sum(dim))
    check(lambda s: s.sum(dim, keepdim=True), lambda d: d.sum(dim, keepdim=True))


def test_whole_sums_and_norms():
    check(torch.sparse.sum, lambda d: d.sum())
    check(lambda s: s.sum(), lambda d: d.sum())
    check(lambda s: s.norm(), lambda d: d.norm())
    check(lambda s: torch.norm(s, 1), lambda d: d.norm(1))


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("dim", [0, 1])
def test_softmax(dim, log):
    function = torch.sparse.log_softmax if log else torch.sparse.softmax

    def dense(d):
        x = d.masked_fill(torch.from_numpy(A == 0), -float("inf"))
        return (x.log_softmax(dim) if log else x.softmax(dim)).masked_fill(
            torch.from_numpy(A == 0), 0.0
        )

    s = leaf()
    got = function(s, dim)
    want = dense(torch.from_numpy(A))
    np.testing.assert_allclose(
        got.to_dense().detach().numpy(), np.nan_to_num(want.numpy()), atol=1e-12
    )
    values = s.coalesce().values().detach().requires_grad_()
    places = s.coalesce().indices()
    assert torch.autograd.gradcheck(
        lambda v: function(
            torch.sparse_coo_tensor(places, v, (4, 5), is_coalesced=True), dim
        ).values(),
        (values,),
    )


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[1], lambda x: x[:, 2], lambda x: x[1, 2], lambda x: x[None], lambda x: x.select(1, -1), lambda x: x.unsqueeze(2),
        lambda x: x.index_select(0, torch.tensor([3, 0, 0])), lambda x: x.index_select(1, torch.tensor([4, 1])), lambda x: x.t(),
        lambda x: x.permute(1, 0), lambda x: x.narrow_copy(1, 1, 3), lambda x: torch.cat([x, x, x]), lambda x: torch.cat([x, x], 1),
        lambda x: torch.stack([x, x], 1), lambda x: x.unbind()[2], lambda x: x * 3, lambda x: x / 2, lambda x: -x, lambda x: x.sin(), lambda x: x**3,
        lambda x: x.tanh(), lambda x: x.abs(), lambda x: x + x, lambda x: x - 2 * x, lambda x: x * x, lambda x: x.clone(),
    ],
)  # fmt: skip
def test_parts_and_functions(function):
    check(function, function)


def test_layouts_in_between():
    check(lambda s: s.to_sparse_csr().to_sparse_csc().to_sparse(), lambda d: d.clone())
    check(lambda s: (s.to_sparse_csr() * 2).t(), lambda d: (d * 2).t())
    check(lambda s: s.to_sparse_bsr((2, 1)), lambda d: d.clone())
    check(lambda s: s.to_sparse_csr().sum(1, keepdim=True), lambda d: d.sum(1, keepdim=True))


@pytest.mark.parametrize("how", ["sum", "mean", "amax", "amin"])
def test_reductions_of_products(how):
    m = RNG.normal(size=(5, 3))
    s = torch.from_numpy(A).to_sparse_csr()
    got = torch.sparse.mm(s, torch.from_numpy(m), how).numpy()
    reduce = {"sum": np.sum, "mean": np.mean, "amax": np.max, "amin": np.min}[how]
    terms = [A[i, A[i] != 0][:, None] * m[A[i] != 0] for i in range(4)]
    np.testing.assert_allclose(got, [reduce(t, axis=0) if len(t) else np.zeros(3) for t in terms])


def test_products_of_three():
    x, y = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 5))
    s = torch.from_numpy(A).to_sparse_csr()
    got = torch.sparse.sampled_addmm(
        s, torch.from_numpy(x), torch.from_numpy(y), beta=0.5, alpha=2.0
    )
    np.testing.assert_allclose(got.to_dense().numpy(), np.where(A != 0, 0.5 * A + 2 * x @ y, 0))
    b = torch.from_numpy(np.stack([A, 2 * A])).to_sparse().requires_grad_()
    d = torch.from_numpy(RNG.normal(size=(2, 5, 3))).requires_grad_()
    made = torch.bmm(b, d)
    np.testing.assert_allclose(made.detach().numpy(), np.stack([A, 2 * A]) @ d.detach().numpy())
    made.sum().backward()
    np.testing.assert_allclose(
        d.grad.numpy(), np.swapaxes(np.stack([A, 2 * A]), 1, 2) @ np.ones((2, 4, 3))
    )


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda s, x, y: torch.sparse.sampled_addmm(s, y, x), "SparseSampledAddmmBackward0"),
        (lambda s, x, y: torch.sparse.mm(s, x, "mean"), "SparseMmReduceImplBackward0"),
        (lambda s, x, y: torch.sparse.mm(s, x, "amax"), "SparseMmReduceImplBackward0"),
    ],
)
def test_products_have_one_node(call, name):
    found = []
    for look in (False, True):
        s = torch.from_numpy(A).to_sparse_csr().requires_grad_()
        x, y = (
            torch.from_numpy(m).requires_grad_() for m in (np.cos(A.T @ A), np.sin(A @ A.T @ A))
        )
        made = call(s, x, y)
        if look:
            assert made.grad_fn.name() == name
            assert {n.variable for n, _ in made.grad_fn.next_functions} <= {s, x, y}
        made.to_dense().pow(2).sum().backward()
        found.append([None if t.grad is None else t.grad.to_dense() for t in (s, x, y)])
    torch.testing.assert_close(*found)


def test_backward_from_sparse_tensors():
    s = leaf()
    (s * 2).backward(torch.from_numpy(A).to_sparse())
    np.testing.assert_allclose(s.grad.to_dense().numpy(), 2 * A)
    (s.t() * 3).backward(torch.from_numpy(A.T.copy()))
    np.testing.assert_allclose(s.grad.to_dense().numpy(), 5 * A)
    kept = []
    y = leaf() * 2
    y.retain_grad()
    y.register_hook(lambda g: kept.append(g.layout))
    torch.sparse.sum(y).backward()
    assert kept == [torch.sparse_coo] and y.grad.is_sparse


def test_assert_close():
    s = leaf().detach()
    for layout in (torch.sparse_coo, torch.sparse_csr):
        x = s.to_sparse(layout=layout)
        torch.testing.assert_close(x, x.clone())
        with pytest.raises(AssertionError, match="^Sparse (COO|CSR) values are not close!"):
            torch.testing.assert_close(x, x * 2)
    with pytest.raises(AssertionError, match="number of specified values"):
        torch.testing.assert_close(s, torch.ones(4, 5, dtype=torch.float64).to_sparse())


def test_gradcheck_of_sparse_arguments():
    gradcheck = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    for x in (leaf(), leaf().detach().to_sparse_csr().requires_grad_()):
        assert gradcheck(lambda s: s * 2, (x,), masked=True)
        assert gradcheck(
            lambda s: torch.sparse.mm(s, torch.ones(5, 2, dtype=torch.float64)), (x,), masked=True
        )
    assert gradcheck(lambda s: s.to_dense(masked_grad=False), (leaf(),), masked=False)


def test_writing_in_place():
    s = torch.eye(3).to_sparse()
    t = s
    s *= 3
    s.add_(torch.eye(3).to_sparse())
    assert s is t and s.to_dense().tolist() == (4 * torch.eye(3)).tolist()
    s.zero_()
    assert s._nnz() == 0 and s.to_dense().sum() == 0
    s.copy_(torch.ones(3, 3).to_sparse())
    s.sparse_resize_((4, 5), 2, 0)
    assert s.shape == (4, 5) and s._nnz() == 9
    d = torch.zeros(4, 5)
    d += s
    assert d.sum() == 9
    d.mul_(s)
    assert d.sum() == 9
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf().mul_(2)
    with pytest.raises(RuntimeError, match="^copy_\\(\\) between dense and sparse"):
        d.copy_(s)
    with pytest.raises(TypeError, match="^Cannot assign to a sparse tensor"):
        s[0] = 1


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr", "bsc"])
def test_copies_and_files(layout):
    s = torch.from_numpy(A).to_sparse(
        layout=getattr(torch, f"sparse_{layout}"),
        **({"blocksize": (2, 5)} if layout[0] == "b" else {}),
    )
    s.requires_grad_()
    for t in (copy.copy(s), copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        assert repr(t) == repr(s)
    file = io.BytesIO()
    torch.save({"s": s.detach(), "p": torch.nn.Parameter(s.detach())}, file)
    file.seek(0)
    got = torch.load(file)
    assert repr(got["s"]) == repr(s.detach()) and isinstance(got["p"], torch.nn.Parameter)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("zipped", [True, False])
def test_files_whose_indices_lie_outside(weights_only, zipped):
    for bad in (
        torch.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (2,)),
        torch.sparse_coo_tensor([[1, 0]], [1.0, 2.0], (2,), is_coalesced=True),
        torch.sparse_csr_tensor([0, 1], [7], [1.0], (1, 3)),
        torch.sparse_csr_tensor([0, 2], [1, 0], [1.0, 2.0], (1, 3)),
        torch.sparse_csc_tensor([0, 9], [0, 1], [1.0, 2.0], (3, 1)),
    ):
        file = io.BytesIO()
        torch.save(bad, file, _use_new_zipfile_serialization=zipped)
        file.seek(0)
        with pytest.raises(
            RuntimeError, match="not satisfied|size is inconsistent|cannot set is_coalesced"
        ):
            torch.load(file, weights_only=weights_only)


@pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")
def test_compiled_functions_with_sparse_tensors_run_as_they_are():
    s = torch.from_numpy(A).to_sparse()
    d = torch.from_numpy(RNG.normal(size=(5, 2)))
    compiled = torch.compile(lambda d: torch.sparse.mm(s, d).relu() * 2)
    for _ in range(3):
        np.testing.assert_allclose(compiled(d).numpy(), np.maximum(A @ d.numpy(), 0) * 2)
    given = torch.compile(lambda s, d: (s @ d).sum())
    for _ in range(3):
        np.testing.assert_allclose(given(s, d).item(), (A @ d.numpy()).sum())


@pytest.mark.parametrize(
    ("first", "second"), [("coo", "coo"), ("csr", "csr"), ("csc", "csr"), ("csc", "csc")]
)
def test_products_of_sparse_matrices(first, second):
    b = np.where(RNG.random((5, 3)) < 0.5, RNG.normal(size=(5, 3)), 0)
    s, t = (
        torch.from_numpy(x).to_sparse(layout=getattr(torch, f"sparse_{k}")).requires_grad_()
        for x, k in ((A, first), (b, second))
    )
    made = torch.sparse.mm(s, t)
    np.testing.assert_allclose(made.to_dense().detach().numpy(), A @ b, atol=1e-12)
    made.to_dense().sum().backward()
    g = (A @ b != 0).astype(float)
    np.testing.assert_allclose(s.grad.to_dense().numpy(), np.where(A != 0, g @ b.T, 0), atol=1e-12)
    np.testing.assert_allclose(t.grad.to_dense().numpy(), np.where(b != 0, A.T @ g, 0), atol=1e-12)


def test_sums_with_a_factor():
    x = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    s = x.to_sparse()
    for made in (
        torch.add(s, s, alpha=3),
        torch.add(x, s, alpha=3),
        torch.add(s, (x.long()).to_sparse(), alpha=3),
        s.clone().add_(s, alpha=3),
        torch.add(x.to_sparse_csr(), x.to_sparse_csr(), alpha=3),
    ):
        assert made.to_dense().tolist() == [[4, 0], [0, 8]]
    assert torch.sub(s, s, alpha=3).to_dense().tolist() == [[-2, 0], [0, -4]]
    leaf = x.to_sparse().requires_grad_()
    torch.sparse.sum(torch.add(leaf, leaf, alpha=3)).backward()
    assert leaf.grad.to_dense().tolist() == [[4, 0], [0, 4]]
