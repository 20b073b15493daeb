"""Products of matrices and vectors, einsum, distances."""

import math

import numpy as np
import pytest

import pellucid as torch

RNG = np.random.default_rng(5)


def tensor(*shape, **more):
    return torch.tensor(RNG.standard_normal(shape), **more)


def test_operators_and_their_refusals():
    a, b = tensor(2, 3), tensor(3, 4)
    np.testing.assert_allclose((a @ b).numpy(), a.numpy() @ b.numpy())
    with pytest.raises(
        RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"
    ):
        a @ a
    with pytest.raises(
        RuntimeError, match="expected m1 and m2 to have the same dtype, but got: double != float"
    ):
        a @ b.float()
    with pytest.raises(RuntimeError, match="not implemented for 'Bool'"):
        torch.ones(2, 2, dtype=torch.bool) @ torch.ones(2, 2, dtype=torch.bool)
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for @: 'Tensor' and 'int'"):
        a @ 3
    with pytest.raises(
        TypeError, match=r"unsupported operand type\(s\) for @: 'float' and 'Tensor'"
    ):
        2.0 @ a
    with pytest.raises(
        TypeError, match=r"matmul\(\): argument 'other' \(position 2\) must be Tensor, not int"
    ):
        torch.matmul(a, 3)
    with pytest.raises(RuntimeError, match="1D tensors expected, but got 2D and 2D tensors"):
        torch.dot(a, a)
    with pytest.raises(RuntimeError, match="batch1 must be a 3D tensor"):
        torch.bmm(a, b)


def test_integers_wrap_around():
    x = torch.full((1, 1), 100, dtype=torch.int8)
    assert (x @ x).item() == 10000 - 39 * 256
    assert (x @ x).dtype is torch.int8


def test_a_batch_times_one_matrix_and_its_gradients():
    x, w = tensor(2, 5, 3, requires_grad=True), tensor(3, 4, requires_grad=True)
    g = RNG.standard_normal((2, 5, 4))
    (x @ w).backward(torch.tensor(g))
    np.testing.assert_allclose(x.grad.numpy(), g @ w.detach().numpy().T)
    np.testing.assert_allclose(w.grad.numpy(), np.einsum("bti,btj->ij", x.detach().numpy(), g))


def test_beta_zero_does_not_read_the_input():
    nan = torch.full((2, 2), math.nan)
    assert torch.addmm(nan, torch.eye(2), torch.eye(2), beta=0).tolist() == [[1, 0], [0, 1]]
    assert torch.baddbmm(
        nan, torch.ones(1, 2, 2), torch.ones(1, 2, 2), beta=0, alpha=0.5
    ).tolist() == [[[1, 1], [1, 1]]]
    x = torch.ones(2, 2)
    assert x.addmm_(torch.eye(2), torch.eye(2), alpha=2) is x and x.tolist() == [[3, 1], [1, 3]]
    with pytest.raises(RuntimeError, match="The expanded size of the tensor"):
        torch.addmm(torch.ones(3), torch.eye(2), torch.eye(2))


def test_outer_inner_and_vdot():
    a, b = tensor(3), tensor(4)
    np.testing.assert_allclose(torch.outer(a, b).numpy(), np.outer(a.numpy(), b.numpy()))
    x, y = tensor(2, 3), tensor(5, 3)
    np.testing.assert_allclose(torch.inner(x, y).numpy(), np.inner(x.numpy(), y.numpy()))
    z = torch.tensor([1 + 2j, 3j])
    assert torch.vdot(z, z).item() == 14


EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("ij->ji", (2, 3)),
    ("ji", (2, 3)),
    ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
    ("i,j->ij", (2,), (3,)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("i,i", (3,), (3,)),
    ("...ij,...jk->...ik", (2, 1, 2, 3), (4, 3, 2)),
    ("i...->...", (2, 3)),
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("ijk,jil->kl", (2, 3, 4), (3, 2, 5)),
    ("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5)),
    ("ea,fb,abcd,gc,hd->efgh", (2, 3), (2, 3), (3, 3, 3, 3), (2, 3), (2, 3)),
    ("ij,kj->ik", (2, 3), (1, 3)),
    ("aab,bc->ac", (2, 2, 3), (3, 4)),
    ("Ab,bA", (2, 3), (3, 2)),
]


@pytest.mark.parametrize(("equation", "shapes"), [(e[0], e[1:]) for e in EQUATIONS])
def test_einsum_against_numpy(equation, shapes):
    arrays = [RNG.standard_normal(s) for s in shapes]
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
    got = torch.einsum(equation, *leaves)
    want = np.einsum(equation, *arrays)
    assert got.shape == want.shape
    np.testing.assert_allclose(got.detach().numpy(), want, atol=1e-12)
    # The product is linear in each operand: its gradient times the operand gives the product back.
    g = RNG.standard_normal(want.shape)
    got.backward(torch.tensor(g))
    for leaf, a in zip(leaves, arrays, strict=True):
        assert np.sum(leaf.grad.numpy() * a) == pytest.approx(np.sum(g * want))


def test_einsum_with_lists_of_labels():
    a, b = tensor(2, 3), tensor(3, 4)
    np.testing.assert_allclose(
        torch.einsum(a, [0, 1], b, [1, 2], [0, 2]).numpy(), a.numpy() @ b.numpy()
    )
    np.testing.assert_allclose(torch.einsum(a, [..., 1], [1, ...]).numpy(), a.numpy().T)
    np.testing.assert_allclose(torch.einsum("ij,jk", [a, b]).numpy(), a.numpy() @ b.numpy())


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk", ((2, 3),), "fewer operands were provided than specified in the equation"),
        ("ij", ((2, 3), (2, 3)), "more operands were provided than specified in the equation"),
        ("i", ((2, 3),), "the number of subscripts in the equation"),
        (
            "ij->ik",
            ((2, 3),),
            "output subscript k does not appear in the equation for any input operand",
        ),
        ("ij->ii", ((2, 3),), "output subscript i appears more than once in the output"),
        (
            "ij,jk",
            ((2, 3), (4, 5)),
            "subscript j has size 4 for operand 1 which does not broadcast with previously seen size 3",
        ),
        ("i.j", ((2, 3),), "that is not part of any ellipsis"),
        ("ii", ((2, 3),), "is repeated for operand 0 but the sizes don't match"),
        ("i1", ((2, 3),), "invalid subscript given at index 1"),
    ],
)
def test_einsum_refuses(equation, shapes, message):
    with pytest.raises(RuntimeError, match=message):
        torch.einsum(equation, *[torch.ones(s) for s in shapes])


def test_tensordot_and_kron_against_numpy():
    a, b = RNG.standard_normal((2, 3, 4)), RNG.standard_normal((4, 3, 5))
    t, u = torch.tensor(a), torch.tensor(b)
    np.testing.assert_allclose(
        torch.tensordot(t, u, dims=([1, 2], [1, 0])).numpy(), np.tensordot(a, b, ([1, 2], [1, 0]))
    )
    np.testing.assert_allclose(torch.tensordot(t, u, dims=1).numpy(), np.tensordot(a, b, 1))
    np.testing.assert_allclose(torch.kron(t[0], u[0]).numpy(), np.kron(a[0], b[0]))
    with pytest.raises(RuntimeError, match="contracted dimensions need to match"):
        torch.tensordot(t, t, dims=1)


def test_distances_of_all_pairs():
    x, y = RNG.standard_normal((40, 3)), RNG.standard_normal((30, 3))
    for p in (0.0, 1.0, 2.0, 3.5, math.inf):
        want = np.linalg.norm(x[:, None] - y[None], ord=p, axis=-1)
        np.testing.assert_allclose(
            torch.cdist(torch.tensor(x), torch.tensor(y), p).numpy(), want, atol=1e-7
        )
    same = torch.tensor(x[:5], requires_grad=True)
    torch.cdist(same, same).sum().backward()
    assert np.isfinite(same.grad.numpy()).all()


def test_covariance_with_weights():
    x = RNG.standard_normal((3, 8))
    f, a = RNG.integers(1, 4, 8), RNG.uniform(0.5, 1, 8)
    got = torch.cov(torch.tensor(x), fweights=torch.tensor(f), aweights=torch.tensor(a))
    np.testing.assert_allclose(got.numpy(), np.cov(x, fweights=f, aweights=a))
    np.testing.assert_allclose(torch.corrcoef(torch.tensor(x)).numpy(), np.corrcoef(x))


@pytest.mark.parametrize(
    ("equation", "shapes", "view", "name"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)], True, "View"),
        ("...i,...j->...", [(2, 3), (2, 3)], True, "View"),
        ("ij,kj->ki", [(2, 3), (4, 3)], True, "View"),
        ("i,j->ji", [(2,), (3,)], False, "Mul"),
        ("ij,ij->ji", [(2, 3), (2, 3)], False, "Mul"),
        ("i,j,k->kij", [(2,), (3,), (4,)], False, "Mul"),
        ("ijk->ki", [(2, 3, 4)], False, "Sum"),
        ("ii->i", [(3, 3)], True, "Permute"),
        ("i->i", [(3,)], True, "Permute"),
    ],
)
def test_einsum_is_a_view_where_it_ends_in_one(equation, shapes, view, name):
    """Sums of products are views of a product with the summed dimensions, products alone are not
    views.
    """
    arrays = [RNG.standard_normal(s) for s in shapes]
    made = torch.einsum(equation, *[torch.tensor(a, requires_grad=True) for a in arrays])
    assert made._is_view() is view
    assert made.grad_fn.name().startswith(name + "Backward")
    np.testing.assert_allclose(made.detach().numpy(), np.einsum(equation, *arrays))


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("beta", "alpha"), [(1, 1), (-4.75, 2.03), (0, 0.3)])
def test_sums_with_products_of_two_byte_floats_are_rounded_once(kind, beta, alpha):
    z, x, y = tensor(3, 6, 7).to(kind), tensor(3, 6, 9).to(kind), tensor(3, 9, 7).to(kind)
    wide = [t.float() for t in (z, x, y)]
    assert torch.equal(
        torch.baddbmm(z, x, y, beta=beta, alpha=alpha),
        torch.baddbmm(*wide, beta=beta, alpha=alpha).to(kind),
    )
    assert torch.equal(
        torch.addmm(z[0], x[0], y[0], beta=beta, alpha=alpha),
        torch.addmm(*(t[0] for t in wide), beta=beta, alpha=alpha).to(kind),
    )
    step = torch.addmm(z[0], x[0], y[0], beta=beta, alpha=alpha)
    for k in (1, 2):
        step = torch.addmm(step, x[k], y[k], alpha=alpha)
    assert torch.equal(torch.addbmm(z[0], x, y, beta=beta, alpha=alpha), step)
    if beta == alpha:
        assert torch.equal(
            torch.addmv(z[0, :, 0], x[0], y[0, :, 0]),
            torch.addmv(wide[0][0, :, 0], wide[1][0], wide[2][0, :, 0]).to(kind),
        )


def test_sums_with_products_of_two_byte_floats_under_autocast_and_backward():
    z, x, y = (tensor(4, 4).float().requires_grad_() for _ in range(3))
    with torch.autocast("cpu"):
        made = torch.addmm(z, x, y, alpha=0.3)
    half = [t.detach().bfloat16().requires_grad_() for t in (z, x, y)]
    alone = torch.addmm(*half, alpha=0.3)
    assert made.dtype is alone.dtype is torch.bfloat16 and torch.equal(made, alone)
    made.sum().backward()
    alone.sum().backward()
    for t, h in zip((z, x, y), half):
        assert h.grad.dtype is torch.bfloat16 and torch.equal(t.grad, h.grad.float())


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int32", "int64"])
def test_einsum_sums_integers_in_int64(dtype):
    x = torch.full((3, 3), 100).to(getattr(torch, dtype))
    for equation, wanted in {"ij->i": x.sum(1), "ii->": x.diagonal().sum()}.items():
        made = torch.einsum(equation, x)
        assert made.dtype == torch.int64 and torch.equal(made, wanted)
    assert torch.einsum("ij,i->i", x, x[0]).dtype == torch.int64
    one = x[:, :1]  # nothing is summed
    assert torch.einsum("ij,kj->ik", one, one).dtype == x.dtype
