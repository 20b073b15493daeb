"""Factorisations, systems, norms: gradients through symmetric and gauge-free functions, singular
and empty matrices, refusals.
"""

import math

import numpy as np
import pytest

import pellucid as torch

RNG = np.random.default_rng(7)


def tensor(*shape, complex=False, **more):
    values = RNG.standard_normal(shape)
    return torch.tensor(values + 1j * RNG.standard_normal(shape) if complex else values, **more)


def positive(*shape, complex=False):
    x = tensor(*shape, complex=complex)
    return x @ x.mH + 0.5 * torch.eye(shape[-1], dtype=x.dtype)


def check_gradient(f, x, order=1):
    """The gradient of sum(f(x)) along a random direction against a central difference."""
    x = x.detach().requires_grad_()

    def value(at):
        return f(at).real.sum() if f(at).is_complex() else f(at).sum()

    (g,) = torch.autograd.grad(value(x), x, create_graph=order == 2)
    if order == 2:
        return check_gradient(
            lambda at: torch.autograd.grad(value(at), at, create_graph=True)[0] ** 2, x
        )
    v = RNG.standard_normal(x.shape) + (1j * RNG.standard_normal(x.shape) if x.is_complex() else 0)
    step = torch.tensor(1e-6 * v)

    def plain(at):
        return value(at.requires_grad_()).item()

    slope = (plain((x + step).detach()) - plain((x - step).detach())) / 2e-6
    assert np.sum((np.conj(g.detach().numpy()) * v).real) == pytest.approx(
        slope, rel=1e-4, abs=1e-5
    )
    return None


FUNCTIONS = {
    "cholesky": lambda x: torch.linalg.cholesky(x @ x.mH + torch.eye(3, dtype=x.dtype)),
    "cholesky upper": lambda x: torch.linalg.cholesky(
        x @ x.mH + torch.eye(3, dtype=x.dtype), upper=True
    ),
    "cholesky_inverse": lambda x: torch.cholesky_inverse(
        torch.linalg.cholesky(x @ x.mH + torch.eye(3, dtype=x.dtype))
    ),
    "eigvalsh": lambda x: torch.linalg.eigvalsh(x + x.mH) ** 2,
    "eigh": lambda x: torch.linalg.eigh(x + x.mH).eigenvectors.abs() ** 4,
    "eigvals": lambda x: torch.linalg.eigvals(x).abs(),
    "eig": lambda x: torch.linalg.eig(x).eigenvectors.abs() ** 4,
    "svdvals": lambda x: torch.linalg.svdvals(x) ** 2,
    "svd": lambda x: torch.linalg.svd(x).U.abs() ** 4 + torch.linalg.svd(x).Vh.abs() ** 4,
    "nuclear": lambda x: torch.linalg.matrix_norm(x, "nuc"),
    "spectral": lambda x: torch.linalg.matrix_norm(x, 2),
    "cond": lambda x: torch.linalg.cond(x),
    "logdet": lambda x: torch.logdet(x @ x.mH),
    "lstsq": lambda x: torch.linalg.lstsq(x, torch.ones(3, 2, dtype=x.dtype)).solution.abs() ** 2,
    "lu": lambda x: torch.linalg.lu(x).L.abs() ** 2 + torch.linalg.lu(x).U.abs() ** 2,
    "lu_solve": lambda x: (
        torch.linalg.lu_solve(*torch.linalg.lu_factor(x), torch.ones(3, 2, dtype=x.dtype)).abs()
        ** 2
    ),
    "power": lambda x: torch.linalg.matrix_power(x, -3).abs() ** 2,
    "multi_dot": lambda x: torch.linalg.multi_dot([x, x.mH, x]).abs() ** 2,
    "householder": lambda x: (
        torch.linalg.householder_product(x, torch.ones(2, dtype=x.dtype)).abs() ** 2
    ),
    "tensorinv": lambda x: torch.linalg.tensorinv(x.reshape(3, 3), ind=1).abs() ** 2,
}


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name, complex):
    check_gradient(FUNCTIONS[name], tensor(3, 3, complex=complex) + 2 * torch.eye(3))


@pytest.mark.parametrize("name", ["cholesky", "eigh", "svd", "lu", "lstsq", "logdet", "lu_solve"])
def test_second_derivatives(name):
    check_gradient(FUNCTIONS[name], tensor(3, 3) + 2 * torch.eye(3), order=2)


# ---- what factorisations promise --------------------------------------------------------------
@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("shape", [(4, 4), (2, 5, 3), (2, 3, 5), (0, 3), (3, 0), (0, 2, 2)])
def test_factors_multiply_back(shape, complex):
    a = tensor(*shape, complex=complex)
    u, s, vh = torch.linalg.svd(a, full_matrices=False)
    np.testing.assert_allclose(((u * s.unsqueeze(-2)) @ vh).numpy(), a.numpy(), atol=1e-12)
    q, r = torch.linalg.qr(a)
    np.testing.assert_allclose((q @ r).numpy(), a.numpy(), atol=1e-12)
    p, lower, upper = torch.linalg.lu(a)
    np.testing.assert_allclose((p @ lower @ upper).numpy(), a.numpy(), atol=1e-12)
    assert torch.linalg.qr(a, mode="r").Q.shape == (0,)
    assert torch.linalg.qr(a, mode="complete").Q.shape == (*shape[:-1], shape[-2])
    pseudo = torch.linalg.pinv(a)
    np.testing.assert_allclose((a @ pseudo @ a).numpy(), a.numpy(), atol=1e-10)


@pytest.mark.parametrize("complex", [False, True])
def test_symmetric_factors(complex):
    a = positive(2, 4, 4, complex=complex)
    w, v = torch.linalg.eigh(a)
    np.testing.assert_allclose(((v * w.unsqueeze(-2)) @ v.mH).numpy(), a.numpy(), atol=1e-10)
    b = tensor(2, 4, 3, complex=complex)
    factor, pivots = torch.linalg.ldl_factor(a, hermitian=complex)
    np.testing.assert_allclose(
        (a @ torch.linalg.ldl_solve(factor, pivots, b, hermitian=complex)).numpy(),
        b.numpy(),
        atol=1e-9,
    )
    solved = torch.cholesky_solve(b, torch.linalg.cholesky(a))
    np.testing.assert_allclose((a @ solved).numpy(), b.numpy(), atol=1e-9)


def test_geqrf_and_ormqr():
    a, b = tensor(5, 3), tensor(5, 2)
    packed, tau = torch.geqrf(a)
    q = torch.orgqr(packed, tau)
    np.testing.assert_allclose((q @ packed.triu()[:3]).numpy(), a.numpy(), atol=1e-12)
    product = torch.ormqr(packed, tau, b)
    np.testing.assert_allclose(
        torch.ormqr(packed, tau, product, transpose=True)[:3].numpy(),
        (q.mT @ product).numpy(),
        atol=1e-12,
    )
    np.testing.assert_allclose(
        torch.ormqr(packed, tau, product, transpose=True).numpy(), b.numpy(), atol=1e-12
    )


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("adjoint", [False, True])
def test_lu_solve_from_either_side(left, adjoint):
    a, b = tensor(2, 3, 3, complex=True), tensor(3, 3, complex=True)
    x = torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b, left=left, adjoint=adjoint)
    m = a.mH if adjoint else a
    np.testing.assert_allclose(
        ((m @ x) if left else (x @ m)).numpy(), np.broadcast_to(b.numpy(), (2, 3, 3)), atol=1e-10
    )


def test_vectors_on_the_right_hand_side():
    a = tensor(2, 3, 3)
    b = tensor(2, 3)
    np.testing.assert_allclose(
        (a @ torch.linalg.solve(a, b).unsqueeze(-1)).squeeze(-1).numpy(), b.numpy(), atol=1e-10
    )
    assert torch.linalg.lstsq(tensor(2, 4, 3), tensor(2, 4)).solution.shape == (2, 3)
    assert torch.linalg.tensorsolve(torch.eye(6).reshape(2, 3, 6), torch.ones(2, 3)).shape == (6,)


def test_lstsq_reports_what_its_driver_knows():
    a, b = tensor(5, 2), tensor(5, 1)
    whole = torch.linalg.lstsq(a, b, driver="gelsd")
    assert whole.rank.item() == 2 and whole.singular_values.shape == (2,)
    np.testing.assert_allclose(
        whole.residuals.numpy(), ((a @ whole.solution - b) ** 2).sum(0).numpy()
    )
    assert torch.linalg.lstsq(a, b, driver="gels").rank.shape == (0,)


# ---- singular matrices ------------------------------------------------------------------------
def test_singular_matrices_are_named():
    stack = torch.stack([torch.eye(2), torch.zeros(2, 2)])
    with pytest.raises(
        torch.linalg.LinAlgError,
        match=r"linalg.inv: \(Batch element 1\): The diagonal element 1 is zero",
    ):
        torch.linalg.inv(stack)
    with pytest.raises(
        torch.linalg.LinAlgError, match="The solver failed because the input matrix is singular"
    ):
        torch.linalg.solve(torch.zeros(2, 2), torch.ones(2))
    with pytest.raises(
        RuntimeError,
        match=r"linalg.cholesky: \(Batch element 1\).*the leading minor of order 1 is not positive",
    ):
        torch.linalg.cholesky(stack)
    assert torch.linalg.cholesky_ex(stack).info.tolist() == [0, 1]
    assert torch.linalg.inv_ex(stack).info.tolist() == [0, 1]
    assert torch.linalg.cond(torch.zeros(2, 2), 1).item() == math.inf
    assert torch.linalg.matrix_rank(stack).tolist() == [2, 0]


def test_the_determinant_of_a_singular_matrix_has_a_gradient():
    a = torch.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=torch.float64, requires_grad=True)
    torch.linalg.det(a).backward()
    np.testing.assert_allclose(a.grad.numpy(), [[4, -2], [-2, 1]], atol=1e-12)
    sign, logabs = torch.linalg.slogdet(torch.zeros(2, 2))
    assert sign.item() == 0 and logabs.item() == -math.inf
    assert math.isnan(torch.logdet(torch.tensor([[-1.0]])).item())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: torch.linalg.inv(torch.ones(2, 3)),
            "linalg.inv: A must be batches of square matrices, but they are 2 by 3 matrices",
        ),
        (
            lambda: torch.linalg.det(torch.ones(2)),
            "linalg.det: The input tensor A must have at least 2 dimensions.",
        ),
        (
            lambda: torch.linalg.eigh(torch.ones(2, 2), "X"),
            "Expected UPLO argument to be 'L' or 'U', but got X",
        ),
        (
            lambda: torch.linalg.svd(torch.ones(2, 2).half()),
            "\"linalg_svd_cpu\" not implemented for 'Half'",
        ),
        (
            lambda: torch.linalg.svd(torch.ones(2, 2, dtype=torch.int64)),
            "Expected a floating point or complex tensor as input. Got Long",
        ),
        (
            lambda: torch.linalg.solve(torch.eye(2), torch.ones(3, 1)),
            r"Incompatible shapes of A and B for the equation AX = B",
        ),
        (
            lambda: torch.linalg.matrix_norm(torch.eye(2), 3),
            "linalg.matrix_norm: Order 3 not supported.",
        ),
        (
            lambda: torch.linalg.multi_dot([torch.eye(2)]),
            "multi_dot\\(\\): expected at least 2 tensors but got 1",
        ),
        (lambda: torch.linalg.qr(torch.eye(2), "full"), "qr received unrecognized mode 'full'"),
        (lambda: torch.linalg.cross(torch.ones(2), torch.ones(2)), "must have length 3"),
        (
            lambda: torch.symeig(torch.eye(2)),
            "This function was deprecated since version 1.9 and is now removed.",
        ),
        (lambda: torch.trace(torch.ones(2)), "trace: expected a matrix, but got tensor with dim 1"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_gradients_that_do_not_exist():
    a = tensor(4, 2, requires_grad=True)
    with pytest.raises(
        RuntimeError, match="not differentiable when mode='complete' and nrows > ncols"
    ):
        torch.linalg.qr(a, mode="complete").Q.sum().backward()
    with pytest.raises(RuntimeError, match="depends on Q, which is not computed when mode='r'"):
        torch.linalg.qr(a, mode="r").R.sum().backward()


# ---- norms and the rest -----------------------------------------------------------------------
@pytest.mark.parametrize("ord", [None, "fro", "nuc", 2, -2, 1, -1, math.inf, -math.inf])
def test_matrix_norms_against_numpy(ord):
    a = RNG.standard_normal((3, 4))
    np.testing.assert_allclose(
        torch.linalg.norm(torch.tensor(a), ord).numpy(), np.linalg.norm(a, ord)
    )
    stack = RNG.standard_normal((3, 2, 4))
    got = torch.linalg.norm(torch.tensor(stack), ord, dim=(2, 0), keepdim=True)
    np.testing.assert_allclose(got.numpy(), np.linalg.norm(stack, ord, axis=(2, 0), keepdims=True))


@pytest.mark.parametrize("ord", [0, 0.5, 1, 2, 3, -1, math.inf, -math.inf])
def test_vector_norms_against_numpy(ord):
    a = RNG.standard_normal((3, 4)) + 1j * RNG.standard_normal((3, 4))
    got = torch.linalg.vector_norm(torch.tensor(a), ord, dim=1)
    assert got.dtype is torch.float64
    np.testing.assert_allclose(got.numpy(), np.linalg.norm(a, ord, axis=1))


def test_powers_exponentials_and_cross_products():
    a = tensor(3, 3)
    np.testing.assert_allclose(
        torch.linalg.matrix_power(a, 5).numpy(), np.linalg.matrix_power(a.numpy(), 5), rtol=1e-10
    )
    turn = torch.tensor([[0.0, -math.pi], [math.pi, 0.0]], dtype=torch.float64)
    np.testing.assert_allclose(torch.matrix_exp(turn).numpy(), -np.eye(2), atol=1e-12)
    x, y = tensor(2, 3), tensor(2, 3)
    np.testing.assert_allclose(torch.cross(x, y, dim=1).numpy(), np.cross(x.numpy(), y.numpy()))
    np.testing.assert_array_equal(
        torch.linalg.vander(torch.tensor([2, 3]), N=3).numpy(), [[1, 2, 4], [1, 3, 9]]
    )


def test_single_precision_stays_single():
    a = tensor(3, 3).float()
    for made in (
        torch.linalg.inv(a),
        torch.linalg.svdvals(a),
        torch.linalg.solve(a, a),
        torch.matrix_exp(a),
        torch.linalg.pinv(a),
    ):
        assert made.dtype is torch.float32
    assert torch.linalg.eigvals(a).dtype is torch.complex64


def test_the_largest_eigenpairs():
    a, b = positive(9, 9), positive(9, 9)
    w, v = torch.lobpcg(a, k=2, B=b)
    np.testing.assert_allclose((a @ v).numpy(), (b @ v * w).numpy(), atol=1e-8)
    torch.manual_seed(0)
    u, s, v = torch.svd_lowrank(a, q=9)
    np.testing.assert_allclose(((u * s) @ v.mT).numpy(), a.numpy(), atol=1e-8)


@pytest.mark.parametrize(
    "pivots",
    [[-1, 2, 3], [1, 2, -3], [-2, -2, -3], [-1, -2, 3], [-2, -3, -3], [0, 2, 3], [1, 2, 4]],
)
def test_pivots_that_no_factorisation_gives_are_refused(pivots: list[int]) -> None:
    # LAPACK takes a negative number for half of a block of two rows, and would read, and write,
    # beside the matrix.
    with pytest.raises(RuntimeError, match="Expected pivots of ldl_factor"):
        torch.linalg.ldl_solve(torch.eye(3), torch.tensor(pivots, dtype=torch.int32), torch.eye(3))


def test_blocks_of_two_rows_are_solved() -> None:
    a = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    factor = torch.linalg.ldl_factor(a)
    assert (factor.pivots < 0).any()
    assert torch.allclose(
        a @ torch.linalg.ldl_solve(factor.LD, factor.pivots, torch.ones(3, 1)), torch.ones(3, 1)
    )


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128])
def test_a_singular_matrix_leaves_the_gradients_of_its_neighbours_alone(dtype, create_graph):
    x = torch.tensor(
        [[[1, 1], [1, 1]], [[2, 0], [0, 4]], [[0, 0], [0, 0]]], dtype=dtype, requires_grad=True
    )
    logabs = torch.linalg.slogdet(x)[1]
    (g,) = torch.autograd.grad(logabs.sum(), x, create_graph=create_graph)
    assert g[1].tolist() == [[0.5, 0.0], [0.0, 0.25]]
    assert g[0].isnan().all() and g[2].isnan().all()


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_the_angle_of_a_determinant_of_zero_is_no_number(dtype):
    made = torch.logdet(torch.tensor([[[1, 1], [1, 1]], [[2j, 0], [0, 1]]], dtype=dtype))
    assert made.real[0] == -math.inf and made.imag[0].isnan()
    assert made[1].imag.item() == pytest.approx(math.pi / 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_sign_of_a_determinant_that_is_no_number_is_zero(dtype):
    x = torch.eye(3, dtype=dtype).repeat(4, 1, 1)
    x[1, 1, 1] = x[2, 2, 0] = math.nan
    x[3] = -1 * x[3]
    sign, logabs = torch.linalg.slogdet(x)
    assert sign.tolist() == [1, 0, 0, -1] and logabs.isnan().tolist() == [False, True, True, False]
    assert torch.slogdet(x).sign.dtype == dtype


def _hermitian(kind):
    torch.manual_seed(0)
    a = torch.randn(3, 3, dtype=kind)
    return (a + a.mH).requires_grad_()


@pytest.mark.parametrize("kind", [torch.float64, torch.complex128])
def test_the_gradient_of_a_hermitian_matrix_is_hermitian(kind):
    a = _hermitian(kind)
    weight = torch.arange(9.0, dtype=torch.float64).square().reshape(3, 3)
    (torch.linalg.eigh(a).eigenvectors.abs().square() * weight).sum().backward()
    assert torch.allclose(a.grad, a.grad.mH) and a.grad.abs().max() > 0.1


@pytest.mark.parametrize(
    ("vectors", "name"),
    [
        (lambda a: torch.linalg.eigh(a).eigenvectors, "linalg_eigh_backward"),
        (lambda a: torch.linalg.eig(a).eigenvectors, "linalg_eig_backward"),
        (lambda a: torch.linalg.svd(a).U, "svd_backward"),
    ],
)
def test_a_loss_must_not_depend_on_the_phase_of_complex_vectors(vectors, name):
    a = _hermitian(torch.complex128)
    with pytest.raises(RuntimeError, match=rf"{name}: The .*vectors in the complex case are"):
        vectors(a).real.sum().backward()
    vectors(a).abs().sum().backward()


def test_vectors_of_the_rest_have_no_gradient():
    a = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    (torch.linalg.svd(a).Vh.square() * torch.arange(5.0)[:, None]).sum().backward()
    whole, a.grad = a.grad, None
    vh = torch.linalg.svd(a, full_matrices=False).Vh
    (vh.square() * torch.arange(3.0)[:, None]).sum().backward()
    assert torch.allclose(whole, a.grad)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64])
def test_cholesky_of_nan_is_refused(dtype):
    nan = float("nan")
    for rows, lower, upper in (
        ([[nan, 0], [0, 1.0]], 1, 1),
        ([[1.0, 0], [nan, 1.0]], 2, 0),
        ([[1.0, nan], [0, 1.0]], 0, 2),
        ([[1.0, 0], [0, nan]], 2, 2),
    ):
        x = torch.tensor([rows, [[2.0, 0], [0, 2.0]]], dtype=dtype)
        assert torch.linalg.cholesky_ex(x).info.tolist() == [lower, 0]
        assert torch.linalg.cholesky_ex(x, upper=True).info.tolist() == [upper, 0]
        if lower:
            with pytest.raises(torch.linalg.LinAlgError, match=rf"Batch element 0.*order {lower}"):
                torch.linalg.cholesky(x)
