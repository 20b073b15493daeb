"""Factorizations of matrices: Cholesky, QR, LU, LDL, eigenvalues, singular values. Gradients: Giles
(2008), "An extended collection of matrix derivative results", and their complex forms with the
conjugate transpose.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.meta import MetaArray
from ...arrays.native import kernels
from ...core import tracing
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import FUNCTIONS
from ...core.tape import titled
from ...core.tensor import Tensor, make_tensor
from ...core.transforms.arranging import together
from ...core.transforms.whole import one_node
from ...errors import (
    ArgumentTypeError,
    DimensionError,
    OperationError,
    ShapeError,
    type_name,
)
from .. import return_types
from .._rules import constant, full_precision, library, require_tensor, values
from .._samples import cases
from ..pointwise.basic import underivable
from ._linalg import (
    batched,
    by_columns,
    columns,
    floating,
    lapack,
    linalg,
    loop,
    matrices,
    mH,
    square,
    tril,
    triu,
)

_INFO = np.dtype(np.int32)


# ---- Cholesky ---------------------------------------------------------------------------------
def cholesky_arrays(a: Any, upper: bool) -> tuple[Any, Any]:
    """(lower factors of the matrices' lower triangles, or upper of upper; info: order of the minor
    that is not positive).
    """
    if a.size == 0:
        return a.copy(), np.zeros(a.shape[:-2], _INFO)
    lower = np.tril(a) if not upper else np.tril(a.mT.conj())
    try:
        whole = lower + np.tril(lower, -1).mT.conj()
        made, info = kernels.matmul.blas.linalg.cholesky(whole), np.zeros(a.shape[:-2], _INFO)
    except np.linalg.LinAlgError:
        (potrf,) = lapack("potrf", a)
        made, info = loop(lambda x: potrf(x, lower=1, clean=1), lower)
    info = np.asarray(info, _INFO)
    unknown = np.isnan(np.diagonal(made, axis1=-2, axis2=-1))
    if unknown.any():  # LAPACK's comparisons do not notice NaN
        info = np.where((info == 0) & unknown.any(-1), unknown.argmax(-1) + 1, info)
    return (made.mT.conj() if upper else made), np.asarray(info, _INFO)


def _cholesky_grad(F: Any, g: Any, out0: Any, upper: bool) -> Any:
    g = g[0]
    factor = mH(F, out0) if upper else out0
    g = mH(F, g) if upper else g
    inner = tril(F, F.matmul(mH(F, factor), g))
    inner = (inner + mH(F, tril(F, inner, -1))) * 0.5
    inner = F.solve_triangular(mH(F, factor), inner, upper=True, left=True, unit=False)
    return F.solve_triangular(factor, inner, upper=False, left=False, unit=False)


defop(
    "cholesky",
    "input",
    host=True,
    forward=by_columns(lambda xp, x, *, upper: cholesky_arrays(x, upper)),
    outputs=2,
    vjp={"input": _cholesky_grad},
    aval=lambda x, upper: [x, (x[0][:-2], _INFO)],
    grad_name="LinalgCholeskyEx",
    batch="leading",
    autocast="float32",
)
_cholesky_ex = return_types.make("linalg_cholesky_ex", "L info")


def checked_cholesky(name: str, input: Any, upper: bool, whole: bool = False) -> Tensor:
    """The Cholesky factors, or LinAlgError naming the minor that is not positive-definite."""
    factor, info = F.cholesky(
        square(input, name, kernel="cholesky_cpu", whole=whole), upper=bool(upper)
    )
    batched(
        name,
        info._array,
        "The factorization could not be completed because the input is not positive-definite "
        "(the leading minor of order {info} is not positive-definite).",
    )
    return factor


@linalg(out="same")
@full_precision
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:  # noqa: N803
    """The lower-triangular L with `A = L @ L.mH` (or U with `A = U.mH @ U`), for a stack of
    positive-definite matrices.

    Args:
        A: `(..., n, n)`, symmetric or Hermitian and positive-definite, floating point or complex.
        upper: whether to return U instead of L. Default: False.

    Raises:
        RuntimeError: not square. LinAlgError: not positive-definite.

    >>> import pellucid as torch
    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return checked_cholesky("linalg.cholesky", A, upper)


@linalg(out="same")
@full_precision
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:  # noqa: N803
    """Cholesky decomposition that reports failure in `info` instead of raising an error.

    Args:
        A: symmetric or Hermitian matrices, `(..., n, n)`.
        upper: return the upper triangular factor. Default: False.
        check_errors: raise an error as `cholesky` does. Default: False.

    Returns:
        (L, info). `info` is 0, or the order of the first leading minor that is not positive.

    >>> import pellucid as torch
    >>> torch.linalg.cholesky_ex(torch.eye(2)).info
    tensor(0, dtype=torch.int32)
    """
    if check_errors:
        checked_cholesky("linalg.cholesky_ex", A, upper)
    return _cholesky_ex(
        *F.cholesky(square(A, "linalg.cholesky", kernel="cholesky_cpu"), upper=bool(upper))
    )


# ---- QR ---------------------------------------------------------------------------------------
def _qr(xp: Any, x: Any, *, mode: str) -> Any:
    m, n = x.shape[-2:]
    k = min(m, n)
    if x.size == 0:
        rows = m if mode == "complete" else k
        q = np.zeros((*x.shape[:-2], m, rows), x.dtype)
        if rows:
            q[...] = np.eye(m, rows)
        return (np.zeros(0, x.dtype) if mode == "r" else q), np.zeros(
            (*x.shape[:-2], rows, n), x.dtype
        )
    if mode == "r":
        return np.zeros(0, x.dtype), kernels.matmul.blas.linalg.qr(x, "r")
    return tuple(kernels.matmul.blas.linalg.qr(x, mode))


def _qr_grad(F: Any, g: Any, out0: Any, out1: Any, input_shape: Any, mode: str) -> Any:
    m, n = input_shape[-2:]
    if mode == "r":
        raise OperationError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
            "Please use linalg.qr(A, mode='reduced') if you are going to require differentiation through QR."
        )
    if mode == "complete" and m > n:
        raise OperationError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols"
        )
    gq, gr = g
    q, r = out0, out1
    if m >= n:
        return _qr_tall(F, gq, gr, q, r)
    # Wide: A = [A1 | A2] with A1 = Q R1 square, R2 = Q^H A2.
    r1, r2 = r[..., :m], r[..., m:]
    gr1, gr2 = gr[..., :m], gr[..., m:]
    rest = F.matmul(q, r2)
    first = _qr_tall(F, gq + F.matmul(rest, mH(F, gr2)), gr1, q, r1)
    second = F.matmul(q, gr2)
    return F.cat(first, second, dim=len(input_shape) - 1)


def _qr_tall(F: Any, gq: Any, gr: Any, q: Any, r: Any) -> Any:
    inner = triu(F, F.matmul(gr, mH(F, r)) - F.matmul(mH(F, q), gq))
    inner = inner + mH(F, inner)
    half = constant(F, 1 - 0.5 * np.eye(inner.shape[-1]).astype(values(F, F.real(inner)).dtype))
    return F.solve_triangular(
        mH(F, r), gq + F.matmul(q, inner * half), upper=False, left=False, unit=False
    )


defop(
    "qr",
    "input",
    host=True,
    forward=by_columns(_qr, (0, 1)),
    outputs=2,
    vjp={"input": _qr_grad},
    grad_name="LinalgQr",
    batch="leading",
    autocast="float32",
    samples=cases(*(((shape,), {"mode": "reduced"}) for shape in ((3, 3), (2, 4, 3), (2, 4)))),
)
_qr_result = return_types.make("linalg_qr", "Q R")


def _check_mode(mode: Any) -> str:
    if not isinstance(mode, str):
        raise ArgumentTypeError(f"linalg_qr(): argument 'mode' must be str, not {type_name(mode)}")
    if mode not in ("reduced", "complete", "r"):
        raise OperationError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    return mode


@linalg(out="same")
@full_precision
def qr(A: Tensor, mode: str = "reduced") -> Any:  # noqa: N803
    """`A = Q @ R` with orthonormal columns in Q and an upper-triangular R, as (Q, R).

    Args:
        A: `(..., m, n)`, floating point or complex.
        mode: "reduced" (Q of m by min(m, n)), "complete" (m by m) or "r" (R alone; Q is empty).
            Default: "reduced".

    Raises:
        RuntimeError: fewer than two dimensions, or an unknown mode.

    >>> import pellucid as torch
    >>> torch.linalg.qr(torch.eye(2)).Q.shape
    torch.Size([2, 2])
    """
    _check_mode(mode)
    return _qr_result(*F.qr(matrices(A, "linalg.qr", kernel="geqrf_cpu"), mode=mode))


# ---- LU ---------------------------------------------------------------------------------------
def getrf(xp: Any, x: Any) -> Any:
    k = min(x.shape[-2:])
    if x.size == 0:
        return x.copy(), np.zeros((*x.shape[:-2], k), np.int32), np.zeros(x.shape[:-2], _INFO)
    lu, pivots, info = loop(lu_of(x), x)
    return lu, pivots.astype(np.int32) + 1, np.asarray(info, _INFO)


def lu_of(x: Any) -> Any:
    """What factorizes one matrix of the type of `x`, as LAPACK's `getrf`: LU, pivots, info."""
    (getrf,) = lapack("getrf", x)
    return lambda a: getrf(a) if np.isfinite(a).all() else _eliminated(a)


def _eliminated(a: Any) -> tuple[Any, Any, int]:
    """Return the LU factorization of a matrix with infinities or NaN. LAPACK's pivot search may
    skip NaN and lose it; here NaN counts as the largest.
    """
    lu, info = a.copy(), 0
    pivots = np.zeros(min(a.shape), np.int32)
    with np.errstate(all="ignore"):
        for k in range(len(pivots)):
            pivots[k] = place = k + int(np.abs(lu[k:, k]).argmax())
            lu[[k, place]] = lu[[place, k]]
            if lu[k, k] == 0:
                info = info or k + 1
                continue
            lu[k + 1 :, k] /= lu[k, k]
            lu[k + 1 :, k + 1 :] -= lu[k + 1 :, k, None] * lu[k, k + 1 :]
    return lu, pivots, info


def permutation_of(pivots: Any, m: int) -> Any:
    """Row order that LAPACK's (one-based) row exchanges make: `A[order] = L @ U`."""
    flat = (
        pivots.reshape(-1, pivots.shape[-1])
        if pivots.size
        else np.zeros((int(np.prod(pivots.shape[:-1])), 0), int)
    )
    out = np.tile(np.arange(m), (len(flat), 1))
    for line, swaps in zip(out, flat, strict=True):
        for i, p in enumerate(swaps - 1):
            line[i], line[p] = line[p], line[i]
    return out.reshape(*pivots.shape[:-1], m)


def permutation_matrix(pivots: Any, m: int, dtype: Any) -> Any:
    """P of `A = P @ L @ U`."""
    if type(pivots) is MetaArray:
        return MetaArray((*pivots.shape[:-1], m, m), dtype)
    order = permutation_of(pivots, m)
    return np.ascontiguousarray((order[..., None, :] == np.arange(m)[:, None]).astype(dtype))


def _lu_grad(F: Any, g: Any, out0: Any, out1: Any, input_shape: Any) -> Any:
    g = g[0]
    packed = out0
    m, n = input_shape[-2:]
    k = min(m, n)
    kind = values(F, packed).dtype
    p = constant(F, permutation_matrix(library(F).to_host(values(F, out1)), m, kind))
    top = packed[..., :k, :k]
    lower = tril(F, top, -1) + constant(F, np.eye(k, dtype=kind))
    upper = triu(F, top)
    gl, gu = tril(F, g[..., :k, :k], -1), triu(F, g[..., :k, :k])
    extra = None
    if m > k:
        # Rows below: L2 = A2 U^-1.
        extra = F.solve_triangular(mH(F, upper), g[..., k:, :], upper=False, left=False, unit=False)
        gu = gu - triu(F, F.matmul(mH(F, packed[..., k:, :]), extra))
    elif n > k:
        # Columns to the right: U2 = L^-1 A2.
        extra = F.solve_triangular(mH(F, lower), g[..., :, k:], upper=True, left=True, unit=True)
        gl = gl - tril(F, F.matmul(extra, mH(F, packed[..., :, k:])), -1)
    inner = tril(F, F.matmul(mH(F, lower), gl), -1) + triu(F, F.matmul(gu, mH(F, upper)))
    inner = F.solve_triangular(mH(F, lower), inner, upper=True, left=True, unit=True)
    made = F.solve_triangular(mH(F, upper), inner, upper=False, left=False, unit=False)
    if extra is not None:
        made = F.cat(made, extra, dim=len(input_shape) - (2 if m > k else 1))
    return F.matmul(p, made)


defop(
    "lu_factor",
    "input",
    host=True,
    forward=by_columns(getrf),
    outputs=3,
    vjp={"input": _lu_grad},
    grad_name="LinalgLuFactorEx",
    batch="leading",
    samples=cases(*(((shape,), {}) for shape in ((3, 3), (2, 4, 3), (2, 4))), complex=True),
    shows={"pivot": lambda: True},
)
_lu_result = return_types.make("linalg_lu", "P L U")
_lu_factor = return_types.make("linalg_lu_factor", "LU pivots")
_lu_factor_ex = return_types.make("linalg_lu_factor_ex", "LU pivots info")


def lu_input(A: Any, name: str) -> Tensor:  # noqa: N803
    """The matrices of an LU factorization, checked in PyTorch's words."""
    if require_tensor(A, name.replace(".", "_"), "A")._array.ndim < 2:
        raise ShapeError(
            f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A._array.shape)} instead"
        )
    return floating(A, name, kernel="lu_cpu", whole=True)


def _pivoted(name: str, pivot: bool) -> None:
    if not pivot:
        raise OperationError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


def _no_zeros(name: str, info: Tensor) -> None:
    batched(
        name,
        info._array,
        "U[{info},{info}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the "
        "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
        OperationError,
    )


@linalg(out="same")
def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:  # noqa: N803
    """LU decomposition in compact form, for `lu_solve`.

    Args:
        A: `(..., m, n)`.
        pivot: exchange rows for numerical stability. Default: True.

    Returns:
        (LU, pivots). L is below the diagonal of LU, without its ones; U is on and above it.

    Raises:
        RuntimeError: a matrix is singular; `lu_factor_ex` and `lu` factor it all the same.

    >>> import pellucid as torch
    >>> torch.linalg.lu_factor(torch.eye(2)).pivots
    tensor([1, 2], dtype=torch.int32)
    """
    _pivoted("linalg.lu_factor", pivot)
    made = F.lu_factor(lu_input(A, "torch.lu_factor"))
    _no_zeros("torch.linalg.lu_factor", made[2])
    return _lu_factor(made[0], made[1])


@linalg(out="same")
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:  # noqa: N803
    """LU decomposition that reports failure in `info` instead of raising an error; see `lu_factor`.

    Args:
        A: `(..., m, n)`.
        pivot: exchange rows for numerical stability. Default: True.
        check_errors: raise an error for a singular matrix. Default: False.

    Returns:
        (LU, pivots, info). `info` is 0, or the place of the first zero on U's diagonal.

    >>> import pellucid as torch
    >>> torch.linalg.lu_factor_ex(torch.eye(2)).info
    tensor(0, dtype=torch.int32)
    """
    _pivoted("linalg.lu_factor", pivot)
    made = F.lu_factor(lu_input(A, "torch.lu_factor"))
    if check_errors:
        _no_zeros("torch.linalg.lu_factor_ex", made[2])
    return _lu_factor_ex(*made)


def unpacked(
    lu_data: Tensor, pivots: Tensor, data: bool = True, pivot: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    """(P, L, U) of a compact factorization; empty where not wanted."""
    m, n = lu_data._array.shape[-2:]
    k = min(m, n)
    kind = lu_data._array.dtype
    empty = make_tensor(tracing.constant(np.zeros(0, kind)))
    p = make_tensor(tracing.effect(permutation_matrix, pivots._array, m, kind)) if pivot else empty
    if not data:
        return p, empty, make_tensor(tracing.constant(np.zeros(0, kind)))
    left = lu_data if n == k else lu_data.narrow(-1, 0, k)
    top = lu_data if m == k else lu_data.narrow(-2, 0, k)
    lower = F.tril(left, diagonal=-1) + make_tensor(tracing.constant(np.eye(m, k, dtype=kind)))
    return p, lower, F.triu(top, diagonal=0)


def _lu_gradient(g: Any, out0: Tensor, out1: Tensor, out2: Tensor) -> tuple[Any]:
    """Return the gradient of A given those of P, L and U. It handles the columns or rows beyond the
    square part first.
    """
    _, g_lower, g_upper = g
    m, k, n = out1._array.shape[-2], out1._array.shape[-1], out2._array.shape[-1]
    solve = FUNCTIONS["linalg"]["solve_triangular"]
    left, top = out1.narrow(-2, 0, k).mH, out2.narrow(-1, 0, k).mH
    lower = out1.new_zeros(out1._array.shape) if g_lower is None else g_lower
    upper = out2.new_zeros(out2._array.shape) if g_upper is None else g_upper
    by_lower = left @ lower.narrow(-2, 0, k)
    by_upper = upper.narrow(-1, 0, k) @ top
    if n > k:
        by_lower = by_lower - upper.narrow(-1, k, n - k) @ out2.narrow(-1, k, n - k).mH
    if m > k:
        by_upper = by_upper - out1.narrow(-2, k, m - k).mH @ lower.narrow(-2, k, m - k)
    inner = by_lower.tril(-1) + by_upper.triu()
    made = solve(left, inner, upper=True, unitriangular=True)
    made = solve(top, made, upper=False, left=False)
    if n > k:
        more = solve(left, upper.narrow(-1, k, n - k), upper=True, unitriangular=True)
        made = F.cat(made, more, dim=made.ndim - 1)
    if m > k:
        more = solve(top, lower.narrow(-2, k, m - k), upper=False, left=False)
        made = F.cat(made, more, dim=made.ndim - 2)
    return (out0 @ made,)


@linalg(out="same")
@one_node("LinalgLu", "A", "out1 out0 out2", _lu_gradient)
def lu(A: Tensor, *, pivot: bool = True) -> Any:  # noqa: N803
    """LU decomposition with partial pivoting, `A = P @ L @ U`.

    Args:
        A: `(..., m, n)`.
        pivot: exchange rows for numerical stability. Default: True.

    Returns:
        (P, L, U): a permutation, a lower triangular matrix with ones on its diagonal, and an upper
        triangular matrix.

    >>> import pellucid as torch
    >>> torch.linalg.lu(torch.tensor([[1.0, 2.0], [4.0, 4.0]])).U
    tensor([[4., 4.],
            [0., 1.]])
    """
    _pivoted("linalg.lu", pivot)
    made = F.lu_factor(lu_input(A, "linalg.lu"))
    parts = unpacked(made[0], made[1])
    keeps = dict(zip("PLU", parts, strict=True))
    return _lu_result(*together(parts, "LinalgLu", A, keeps=keeps, pivot=pivot))


# ---- LDL --------------------------------------------------------------------------------------
_ldl = return_types.make("linalg_ldl_factor", "LD pivots")
_ldl_ex = return_types.make("linalg_ldl_factor_ex", "LD pivots info")


def _ldl_arrays(a: Any, hermitian: bool) -> Any:
    if a.size == 0:
        return a.copy(), np.zeros(a.shape[:-1], np.int32), np.zeros(a.shape[:-2], _INFO)
    (trf,) = lapack("hetrf" if hermitian and a.dtype.kind in "cW" else "sytrf", a)

    def one(x: Any) -> Any:
        packed, pivots, info = trf(x, lower=1)
        # SciPy returns LAPACK's pivots: one-based, and negative for blocks of two.
        return np.tril(packed), pivots, info

    packed, pivots, info = loop(one, a)
    return columns(packed), pivots.astype(np.int32), np.asarray(info, _INFO)


def _ldl_call(name: str, input: Any, hermitian: bool) -> Any:
    a = square(input, name, kernel="ldl_factor_kernel_cpu")._array
    packed, pivots, info = (make_tensor(m) for m in tracing.effect(_ldl_arrays, a, hermitian))
    return underivable(packed, (input,), "aten::linalg_ldl_factor_ex"), pivots, info


@linalg(out="same")
def ldl_factor(A: Tensor, *, hermitian: bool = False) -> Any:  # noqa: N803
    """LDL factorization of symmetric or Hermitian matrices, which need not be positive definite.

    Args:
        A: `(..., n, n)`.
        hermitian: A is Hermitian instead of symmetric. Default: False.

    Returns:
        (LD, pivots), in LAPACK's compact form for `ldl_solve`.

    Source: Bunch and Kaufman, "Some stable methods for calculating inertia and solving symmetric
    linear systems", 1977.

    >>> import pellucid as torch
    >>> torch.linalg.ldl_factor(torch.eye(2)).pivots
    tensor([1, 2], dtype=torch.int32)
    """
    packed, pivots, info = _ldl_call("torch.linalg.ldl_factor_ex", A, hermitian)
    batched(
        "torch.linalg.ldl_factor",
        (-info).clamp(min=0)._array,
        "argument {info} had an illegal value",
    )
    return _ldl(packed, pivots)


@linalg(out="same")
def ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> Any:  # noqa: N803
    """LDL factorization that reports failure in `info` instead of raising an error; see
    `ldl_factor`.

    Args:
        A: `(..., n, n)`.
        hermitian: A is Hermitian instead of symmetric. Default: False.
        check_errors: raise an error where the factorization fails. Default: False.

    >>> import pellucid as torch
    >>> torch.linalg.ldl_factor_ex(torch.eye(2)).info
    tensor(0, dtype=torch.int32)
    """
    packed, pivots, info = _ldl_call("torch.linalg.ldl_factor_ex", A, hermitian)
    if check_errors:
        batched("torch.linalg.ldl_factor_ex", info._array, "D[{info},{info}] is zero")
    return _ldl_ex(packed, pivots, info)


# ---- Householder products ---------------------------------------------------------------------
@linalg(out="full: castable: torch.linalg.householder_product")
@full_precision
@one_node("LinalgHouseholderProduct", "A tau", "A tau out")
def householder_product(A: Tensor, tau: Tensor) -> Tensor:  # noqa: N803
    """The first n columns of the product of the Householder reflections that `geqrf` returns.

    Args:
        A: `(..., m, n)` with m >= n; its columns hold the reflections.
        tau: `(..., k)` with k <= n, their scales.

    >>> import pellucid as torch
    >>> torch.linalg.householder_product(torch.eye(2), torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    name = "torch.linalg.householder_product"
    if require_tensor(A, "linalg_householder_product", "input")._array.ndim < 2:
        raise ShapeError(f"{name}: input must have at least 2 dimensions.")
    shape = A._array.shape
    m, n = shape[-2:]
    if m < n:
        raise OperationError(
            f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    if not isinstance(tau, Tensor):
        raise ArgumentTypeError(
            f"linalg_householder_product(): argument 'tau' (position 2) must be Tensor, not {type_name(tau)}"
        )
    if not tau._array.ndim:
        raise DimensionError("Dimension specified as -1 but tensor has no dimensions")
    if n < tau._array.shape[-1]:
        raise OperationError(
            f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )
    if len(shape) - tau._array.ndim != 1 or shape[:-2] != tau._array.shape[:-1]:
        raise OperationError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau._array.shape[:-1])}"
            if len(shape) - tau._array.ndim == 1
            else f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau._array.ndim} and "
            f"input.ndim is equal to {len(shape)}"
        )
    if tau.dtype is not A.dtype:
        raise OperationError(
            f"{name}: tau dtype {tau.dtype.scalar_type_name} does not match input dtype {A.dtype.scalar_type_name}"
        )
    floating(A, name, kernel="orgqr_cpu", whole=True)
    return titled(
        apply_reflections(
            A,
            tau,
            make_tensor(
                tracing.constant(
                    columns(np.broadcast_to(np.eye(m, n, dtype=A._array.dtype), shape))
                )
            ),
            False,
        ),
        "LinalgHouseholderProduct",
        of=(A, tau),
    )


def reflections(A: Any, tau: Any) -> list[tuple[Tensor, Tensor]]:  # noqa: N803
    """(vector, factor) of each reflection I - tau v v^H stored below the diagonal of A."""
    m = A._array.shape[-2]
    k = tau._array.shape[-1]
    kind = A._array.dtype
    lower = F.tril(A, diagonal=-1) + make_tensor(
        tracing.constant(np.eye(m, A._array.shape[-1], dtype=kind))
    )
    return [(lower.narrow(-1, i, 1), tau.narrow(-1, i, 1).unsqueeze(-1)) for i in range(k)]


def apply_reflections(A: Any, tau: Any, other: Any, transpose: bool) -> Tensor:  # noqa: N803
    """Q @ other (or Q^H @ other), with Q the product of the reflections stored in A and tau."""
    steps = reflections(A, tau)
    if not steps and (A._rg or tau._rg):
        # the identity, but as in PyTorch still connected to its arguments
        return other + (A * 0).sum() + tau.sum()
    for v, t in steps if transpose else reversed(steps):
        factor = F.conj(t) if transpose else t
        other = other - F.matmul(v * factor, F.matmul(F.conj(v).mT, other))
    return other
