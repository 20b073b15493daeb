"""Inverses, linear systems, determinants, least squares."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays.native import kernels
from ...core import tracing
from ...core.display.packing import given
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import public
from ...core.tape import titled
from ...core.tensor import Tensor, make_tensor
from ...core.transforms.whole import one_node
from ...errors import LinAlgError, OperationError, ShapeError
from ...shapes import broadcast_shapes, normalize_dim
from .. import return_types
from .._rules import constant, full_precision, library, require_tensor, values
from .._samples import cases
from ._linalg import (
    batched,
    broadcast_batches,
    by_columns,
    column,
    columns,
    floating,
    lapack,
    linalg,
    loop,
    matrices,
    mH,
    raise_info,
    same_dtype,
    square,
    tril,
    triu,
)
from ._packs import DETERMINANT, SOLUTION, of_factors
from ._triangular import solved
from .factor import lu_of, unpacked

_INFO = np.dtype(np.int32)
SINGULAR = "The solver failed because the input matrix is singular."
_SINGULAR_INVERSE = "The diagonal element {info} is zero, the inversion could not be completed because the input matrix is singular."


def _singular(a: Any) -> Any:
    """Return LAPACK's info for each matrix: 0, or the one-based position of the first zero on the
    diagonal of U.
    """
    factorize = lu_of(a)
    return np.asarray(loop(lambda x: factorize(x)[2:], a)[0], _INFO)


def _in_spite_of_nan(rule: Any, a: Any, *others: Any) -> Any:
    """Apply NumPy's rule matrix by matrix, with NaN as the result of matrices that make it fail."""

    def one(*arrays: Any) -> Any:
        try:
            return (rule(*arrays),)
        except np.linalg.LinAlgError:
            return (np.full_like(arrays[-1], np.nan),)

    return loop(one, a, *others)[0]


def dominant(a: Any, *others: Any) -> tuple[Any, ...]:
    """Sample matrices far from singular."""
    return (a + 3 * np.eye(a.shape[-1]), *others)


# ---- triangular systems -----------------------------------------------------------------------
def _triangle(F: Any, x: Any, upper: bool, unit: bool) -> Any:
    return triu(F, x, 1 if unit else 0) if upper else tril(F, x, -1 if unit else 0)


def _triangular_right(F: Any, g: Any, input: Any, upper: bool, left: bool, unit: bool) -> Any:
    return F.solve_triangular(mH(F, input), g, upper=not upper, left=left, unit=unit)


def _triangular_left(
    F: Any, g: Any, input: Any, out: Any, upper: bool, left: bool, unit: bool
) -> Any:
    gb = F.solve_triangular(mH(F, input), g, upper=not upper, left=left, unit=unit)
    product = F.matmul(gb, mH(F, out)) if left else F.matmul(mH(F, out), gb)
    return -_triangle(F, product, upper, unit)


defop(
    "solve_triangular",
    "input other",
    packs="input out",
    host=True,
    overload="linalg_solve_triangular",
    forward=by_columns(solved),
    aval=lambda a, b, upper, left, unit: b,
    vjp={"input": _triangular_left, "other": _triangular_right},
    grad_name="LinalgSolveTriangular",
    samples=cases(
        *(
            (((2, 3, 3), (2, 3, 3)), {"upper": upper, "left": left, "unit": unit})
            for upper in (False, True)
            for left in (False, True)
            for unit in (False, True)
        ),
        complex=True,
        make=dominant,
    ),  # fmt: skip
)


@linalg(out="expected scalar type {wanted} but found {given}")
def solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,  # noqa: N803
) -> Tensor:
    """The solution X of `A @ X = B` (or `X @ A = B` with left=False) for triangular A, of which
    only that triangle is read.

    Args:
        A: `(..., n, n)`.
        B: `(..., n, k)`; leading dimensions broadcast.
        unitriangular: take A's diagonal as ones.

    >>> import pellucid as torch
    >>> torch.linalg.solve_triangular(torch.tensor([[2.0]]), torch.tensor([[6.0]]), upper=True)
    tensor([[3.]])
    """
    name = "linalg.solve_triangular"
    square(A, name, kernel="triangular_solve_cpu", whole=True)
    if require_tensor(B, "linalg_solve_triangular", "B", 2).dtype is not A.dtype:
        B = B.to(A.dtype)  # noqa: N806
    matrices(B, name, "B")
    _check_inner(name, A, B, left)
    a, b = broadcast_batches(A, B)
    return F.solve_triangular(a, b, upper=bool(upper), left=bool(left), unit=bool(unitriangular))


def _check_inner(name: str, a: Any, b: Any, left: bool = True) -> None:
    sa, sb = a._array.shape, b._array.shape
    if sa[-2 if left else -1] != sb[-2 if left else -1]:
        equation = "AX = B" if left else "XA = B"
        raise ShapeError(
            f"{name}: Incompatible shapes of A and B for the equation {equation} ({sa[-2]}x{sa[-1]} and {sb[-2]}x{sb[-1]})"
        )


# ---- general systems --------------------------------------------------------------------------
def _solve(xp: Any, a: Any, b: Any) -> Any:
    if not (a.size and b.size):
        return np.zeros(b.shape, b.dtype)
    try:
        return kernels.matmul.blas.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        raise_info("torch.linalg.solve", _singular(a), SINGULAR)
        return _in_spite_of_nan(kernels.matmul.blas.linalg.solve, a, b)


defop(
    "solve",
    "input other",
    packs=SOLUTION,
    host=True,
    forward=by_columns(_solve),
    aval=lambda a, b: b,
    vjp={
        "input": lambda F, g, input, out: -F.matmul(F.solve(mH(F, input), g), mH(F, out)),
        "other": lambda F, g, input: F.solve(mH(F, input), g),
    },
    grad_name="LinalgSolveEx",
    autocast="float32",
    samples=cases((((2, 3, 3), (2, 3, 2)), {}), complex=True, make=dominant),
    shows={"left": lambda: True},
)


def _solve_ex_arrays(xp: Any, a: Any, b: Any) -> Any:
    try:
        return _solve(xp, a, b), np.zeros(a.shape[:-2], _INFO)
    except LinAlgError:
        return np.full(b.shape, np.nan, b.dtype), _singular(a)


defop(
    "solve_ex",
    "input other",
    packs=SOLUTION,
    host=True,
    forward=by_columns(_solve_ex_arrays),
    outputs=2,
    aval=lambda a, b: [b, (a[0][:-2], _INFO)],
    vjp={
        "input": lambda F, g, input, out0: (
            -F.matmul(F.solve_ex(mH(F, input), g[0])[0], mH(F, out0))
        ),
        "other": lambda F, g, input: F.solve_ex(mH(F, input), g[0])[0],
    },
    grad_name="LinalgSolveEx",
    samples=cases((((2, 3, 3), (2, 3, 2)), {}), complex=True, make=dominant),
)


def _solution(name: str, A: Any, B: Any, left: bool, solver: Any) -> Any:  # noqa: N803
    """Return the solution of A X = B or X A = B by `solver`, and the solver's other results. B may
    be a stack of vectors.
    """
    name = name.removeprefix("torch.").removesuffix("_ex")
    if require_tensor(A, name, "A").dtype.is_integral:
        matrices(A, name)
    # refused below by the kernel's name, but only after the dtypes have been compared
    if A.dtype.itemsize == 2:
        same_dtype(A, B, name)
    square(A, name, kernel="lu_cpu")
    same_dtype(A, B, name)
    sa, sb = A._array.shape, B._array.shape
    if not sb:
        raise ShapeError(f"{name}: The input tensor B must have at least 2 dimensions.")
    vector = len(sb) == 1 or (len(sa) - 1 == len(sb) and sb == sa[:-1])
    if vector and not left:
        raise ShapeError(
            f"{name}: Vector broadcasting of the left hand side is not supported for left=False. In this case "
            f"{name} is equivalent to B / A.squeeze(-1)"
        )
    b = B.unsqueeze(-1) if vector else B
    _check_inner(name, A, b, left)
    a, b = broadcast_batches(A, b)
    with given(vector=vector):
        made = solver(a, b) if left else solver(a.mT, b.mT)
    made, *rest = made if isinstance(made, tuple) else (made,)
    made = made if left else made.mT
    if vector or not left:
        made = titled(made.squeeze(-1) if vector else made, "LinalgSolveEx", of=(A, B), left=left)
    return (made, *[_first_of_each(info, sa[:-2]) for info in rest]) if rest else made


def _first_of_each(info: Any, shape: tuple[int, ...]) -> Any:
    """Return one info for each original matrix, where broadcasting made copies."""
    lead = len(info._array.shape) - len(shape)
    places = (0,) * lead + tuple(slice(n) for n in shape)
    return info[places] if info._array.shape != shape else info


@linalg(out="same")
@full_precision
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:  # noqa: N803
    """The solution X of `A @ X = B` (or `X @ A = B` with left=False) for square A.

    Args:
        A: `(..., n, n)`.
        B: `(..., n, k)`, or vectors `(..., n)` when its shape is A's without the last dimension.

    Raises:
        LinAlgError: A is singular. RuntimeError: shapes or dtypes do not fit.

    >>> import pellucid as torch
    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """

    return _solution("torch.linalg.solve", A, B, left, F.solve)


_solve_ex = return_types.make("linalg_solve_ex", "result info")


@linalg(out="same")
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:  # noqa: N803
    """Solve `A @ X = B`, and report failure in `info` instead of raising an error; see `solve`.

    Args:
        A: `(..., n, n)`.
        B: `(..., n, k)`, or vectors `(..., n)`.
        left: False solves `X @ A = B`. Default: True.
        check_errors: raise an error for a singular matrix. Default: False.

    Returns:
        (result, info). `info` is 0 where the matrix is not singular.

    >>> import pellucid as torch
    >>> torch.linalg.solve_ex(torch.eye(2), torch.ones(2)).info
    tensor(0, dtype=torch.int32)
    """
    made, info = _solution("torch.linalg.solve_ex", A, B, left, F.solve_ex)
    if check_errors:
        batched("torch.linalg.solve_ex", info._array, SINGULAR)
    return _solve_ex(made, info)


def _inverse(xp: Any, x: Any) -> Any:
    try:
        return kernels.matmul.blas.linalg.inv(x) if x.size else x.copy()
    except np.linalg.LinAlgError:
        raise_info("linalg.inv", _singular(x), _SINGULAR_INVERSE)
        return _in_spite_of_nan(kernels.matmul.blas.linalg.inv, x)


defop(
    "inverse",
    "input",
    host=True,
    forward=by_columns(_inverse),
    aval=lambda x: x,
    vjp={"input": lambda F, g, out: -F.matmul(mH(F, out), F.matmul(g, mH(F, out)))},
    grad_name="LinalgInvEx",
    batch="leading",
    autocast="float32",
    samples=cases((((2, 3, 3),), {}), complex=True, make=dominant),
)


def _inverse_ex(xp: Any, x: Any) -> Any:
    try:
        return _inverse(xp, x), np.zeros(x.shape[:-2], _INFO)
    except LinAlgError:
        return np.full(x.shape, np.inf, x.dtype), _singular(x)


defop(
    "inverse_ex",
    "input",
    host=True,
    forward=by_columns(_inverse_ex),
    outputs=2,
    aval=lambda x: [x, (x[0][:-2], _INFO)],
    vjp={"input": lambda F, g, out0: -F.matmul(mH(F, out0), F.matmul(g[0], mH(F, out0)))},
    grad_name="LinalgInvEx",
    samples=cases((((2, 3, 3),), {}), complex=True, make=dominant),
)


@linalg(out="same")
@full_precision
def inv(A: Tensor) -> Tensor:  # noqa: N803
    """The inverses of square matrices.

    For `inv(A) @ B` use `solve(A, B)`, which is faster and more precise.

    Args:
        A: `(..., n, n)`, floating point or complex.

    Raises:
        LinAlgError: a matrix is singular. RuntimeError: not square.

    >>> import pellucid as torch
    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return F.inverse(square(A, "linalg.inv"))


_inv_ex = return_types.make("linalg_inv_ex", "inverse info")


@linalg(out="same")
@full_precision
def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:  # noqa: N803
    """Inverse of square matrices that reports failure in `info` instead of raising an error.

    Args:
        A: `(..., n, n)`.
        check_errors: raise an error for a singular matrix. Default: False.

    Returns:
        (inverse, info). `info` is 0 where the matrix has an inverse.

    >>> import pellucid as torch
    >>> torch.linalg.inv_ex(torch.eye(2)).info
    tensor(0, dtype=torch.int32)
    """
    made, info = F.inverse_ex(square(A, "linalg.inv"))
    if check_errors:
        batched("linalg.inv_ex", info._array, _SINGULAR_INVERSE)
    return _inv_ex(made, info)


# ---- determinants -----------------------------------------------------------------------------
def _det(xp: Any, x: Any) -> Any:
    if not x.size:
        return np.ones(x.shape[:-2], x.dtype)
    made = np.asarray(kernels.matmul.blas.linalg.det(x), x.dtype)
    return made if np.isfinite(x).all() else _where_finite(x, made, lambda d: d.prod(-1))


def _where_finite(x: Any, made: Any, of_diagonal: Any) -> Any:
    """Return `made` for finite matrices, and for others `of_diagonal` of U's signed diagonal."""
    lu, pivots, _ = loop(lu_of(x), x)
    diagonal = np.diagonal(lu, axis1=-2, axis2=-1).copy()
    swaps = (pivots != np.arange(pivots.shape[-1])).sum(-1, keepdims=True)
    diagonal[..., :1] *= 1 - 2 * (swaps % 2)
    with np.errstate(all="ignore"):
        other = np.asarray(of_diagonal(diagonal), made.dtype)
    return np.where(np.isfinite(x).all((-2, -1)), made, other)


def _det_grad(F: Any, g: Any, input: Any, out: Any) -> Any:
    a = values(F, input)
    if a.size == 0:
        return input * 0
    xp = library(F)
    try:
        inverse = F.inverse(input)
        if (
            xp.isfinite(values(F, inverse)).all()
            and (kernels.matmul.blas.linalg.cond(xp.to_host(a)) < 1 / np.finfo(a.dtype).eps).all()
        ):
            return column(column(g * F.conj(out))) * mH(F, inverse)
    except RuntimeError:
        pass  # the matrix is singular: compute cofactors from its singular values
    finite = xp.isfinite(values(F, F.sum(F.abs(input), dim=(-2, -1))))
    # a matrix that is not finite has no singular values and gets NaN; compute the others separately
    if not finite.all():
        own = constant(F, finite[..., None, None])
        others = _det_grad(F, g, F.where(own, input, 0), out)
        return F.where(own, others, np.nan)
    u, s, vh = F.svd(input, full=False)
    n = a.shape[-1]
    # cofactor = det(U) det(Vh) U diag(products of the other singular values) Vh, conjugated for
    # complex matrices
    lines = F.expand(s.reshape((*s.shape[:-1], 1, n)), shape=(*s.shape[:-1], n, n))
    eye = constant(F, np.eye(n, dtype=a.real.dtype))
    others = F.prod(lines * (1 - eye) + eye, dim=(lines.ndim - 1,), keepdim=False)
    sign = F.conj(F.det(u) * F.det(vh))
    return column(column(g * sign)) * F.matmul(u * others.reshape((*others.shape[:-1], 1, n)), vh)


defop(
    "det",
    "input",
    packs=DETERMINANT,
    host=True,
    forward=_det,
    aval=lambda x: (x[0][:-2], x[1]),
    vjp={"input": _det_grad},
    grad_name="LinalgDet",
    batch="leading",
    autocast="float32",
    onnx="Det",
    samples=lambda rng: (
        *cases((((2, 3, 3),), {}), complex=True)(rng),
        *cases((((3, 2), (2, 3)), {}), make=lambda a, b: (a @ b,))(rng),
    ),
)


@public(namespace="linalg", out="same")
def det(A: Tensor) -> Tensor:  # noqa: N803
    """The determinants of square matrices.

    Args:
        A: `(..., n, n)`, floating point or complex.

    Returns:
        `(...)`, one number for each matrix. For large matrices use `slogdet`, which does not
        overflow.

    Raises:
        RuntimeError: not square, or integers.

    >>> import pellucid as torch
    >>> torch.linalg.det(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor(8.)
    """
    return F.det(square(A, "linalg.det", kernel="lu_cpu"))


def _slogdet(xp: Any, x: Any) -> Any:
    sign, logabs = kernels.matmul.blas.linalg.slogdet(x)
    if not np.isfinite(x).all():
        sign = _where_finite(x, sign, lambda d: np.sign(d).prod(-1))
        logabs = _where_finite(x, logabs, lambda d: np.log(np.abs(d)).sum(-1))
    if x.dtype.kind == "f":
        sign = np.where(np.isnan(logabs), 0, sign)  # NumPy counts NaN as positive
    return np.asarray(sign, x.dtype), np.asarray(logabs, x.real.dtype)


def _slogdet_grad(F: Any, g: Any, input: Any, out0: Any) -> Any:
    gsign, glog = g
    if values(F, input).dtype.kind in "cW":
        # The sign moves on the unit circle: d sign = i sign d(angle).
        turned = gsign * F.conj(out0)
        imag = turned - F.cast(F.real(turned), dtype=values(F, turned).dtype)
        factor = F.cast(glog, dtype=values(F, gsign).dtype) + imag
    else:
        factor = glog
    a, own = values(F, input), column(column(factor))
    try:
        return own * mH(F, F.inverse(input))
    except RuntimeError:  # only the singular matrices of the batch have no gradient
        flat = constant(F, values(F, out0)[..., None, None] == 0)
        nan = np.full((), complex(np.nan, np.nan) if a.dtype.kind in "cW" else np.nan, a.dtype)
        regular = F.where(flat, constant(F, np.eye(a.shape[-1], dtype=a.dtype)), input)
        return F.where(flat, constant(F, nan), own * mH(F, F.inverse(regular)))


defop(
    "slogdet",
    "input",
    packs=DETERMINANT,
    host=True,
    forward=_slogdet,
    outputs=2,
    vjp={"input": _slogdet_grad},
    grad_name="LinalgSlogdet",
    batch="leading",
    samples=cases((((2, 3, 3),), {}), complex=True, make=dominant),
    aval=lambda x: [(x[0][:-2], x[1]), (x[0][:-2], np.empty(0, x[1]).real.dtype)],
)
_slogdet_result = return_types.make("linalg_slogdet", "sign logabsdet")


@linalg(out="same")
def slogdet(A: Tensor) -> Any:  # noqa: N803
    """The sign and the logarithm of the absolute value of determinants, as (sign, logabsdet).

    >>> import pellucid as torch
    >>> torch.linalg.slogdet(torch.eye(2))
    torch.return_types.linalg_slogdet(
    sign=tensor(1.),
    logabsdet=tensor(0.))
    """
    return _slogdet_result(*F.slogdet(square(A, "linalg.slogdet")))


# ---- systems from factorizations --------------------------------------------------------------
def _lu_gradients(
    g: Any, needs: Any, LU: Any, pivots: Any, out: Any, left: Any = True, adjoint: Any = False
) -> tuple[Any, Any]:  # noqa: N803
    b = lu_solve(LU, pivots, g, left=left, adjoint=not adjoint)
    return of_factors(unpacked(LU, pivots), out, b, left, adjoint) if needs["LU"] else None, b


@linalg(out="same")
@one_node("LinalgLuSolve", "LU B", "LU pivots out", _lu_gradients)
def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:  # noqa: N803
    """Solve `A @ X = B` with the factors that `lu_factor` returned for A.

    Args:
        LU, pivots: the factors.
        B: `(..., n, k)`.
        left: False solves `X @ A = B`. Default: True.
        adjoint: use the conjugate transpose of A in its place. Default: False.

    >>> import pellucid as torch
    >>> torch.linalg.lu_solve(*torch.linalg.lu_factor(torch.eye(2)), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    name = "torch.linalg.lu_solve"
    if require_tensor(LU, "linalg_lu_solve", "LU").is_floating_point():
        same_dtype(LU, B, "linalg.lu_solve", "LU", "B")
    if LU.dtype.is_integral:
        matrices(LU, name)
    square(LU, name, kernel="linalg.lu_solve_cpu")
    same_dtype(LU, B, "linalg.lu_solve", "LU", "B")
    matrices(B, "linalg.lu_solve", "B")
    if require_tensor(pivots, "linalg_lu_solve", "pivots", 2)._array.dtype != np.int32:
        raise OperationError(
            "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32"
        )
    sp = pivots._array.shape
    if not sp or sp[-1] != LU._array.shape[-1]:
        raise ShapeError(
            "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix"
        )
    if sp[:-1] != LU._array.shape[:-2]:
        raise ShapeError(
            f"linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape {list(sp)} "
            "instead"
        )
    _check_inner("linalg.lu_solve", LU, B, left)
    p, lower, upper = unpacked(LU, pivots)
    # left: P L U X = B; right: X P L U = B. The adjoint reverses the order and each factor.
    if adjoint:
        made = _adjoint_lu(p, lower, upper, B, left)
    elif left:
        turned = F.matmul(*broadcast_batches(p.mT, B))
        made = _tri(upper, _tri(lower, turned, False, True, True), True, False, True)
    else:
        turned = _tri(lower, _tri(upper, B, True, False, False), False, True, False)
        made = F.matmul(*broadcast_batches(turned, p.mT))
    return titled(made, "LinalgLuSolve", of=(LU, B), left=left, adjoint=adjoint, pivots=pivots)


def _tri(a: Any, b: Any, upper: bool, unit: bool, left: bool) -> Any:
    a, b = broadcast_batches(a, b)
    return F.solve_triangular(a, b, upper=upper, left=left, unit=unit)


def _adjoint_lu(p: Any, lower: Any, upper: Any, b: Any, left: bool) -> Any:
    lower, upper = F.conj(lower).mT, F.conj(upper).mT
    # transpose at the end, so that the result has LAPACK's memory layout
    if left:
        turned = _tri(lower, _tri(upper, b, False, False, True), True, True, True)
        return F.matmul(*broadcast_batches(turned.mT, p.mT)).mT
    turned = _tri(lower, F.matmul(*broadcast_batches(b, p)), True, True, False)
    return _tri(upper.mT, turned.mT, True, False, True).mT


def _cholesky_solve(xp: Any, b: Any, factor: Any, *, upper: bool) -> Any:
    lower = factor.mT.conj() if upper else factor
    half = solved(xp, lower, b, upper=False, left=True, unit=False)
    return solved(xp, lower.mT.conj(), half, upper=True, left=True, unit=False)


def _cholesky_solve_factor(F: Any, g: Any, factor: Any, out: Any, upper: bool) -> Any:
    outer = F.matmul(F.cholesky_solve(g, factor, upper=upper), mH(F, out))
    both = outer + mH(F, outer)  # A = L L^H
    return -F.matmul(factor, both) if upper else -F.matmul(both, factor)


defop(
    "cholesky_solve",
    "input factor",
    packs="factor input out",
    host=True,
    forward=_cholesky_solve,
    aval=lambda b, factor, upper: b,
    vjp={
        "input": lambda F, g, factor, upper: F.cholesky_solve(g, factor, upper=upper),
        "factor": _cholesky_solve_factor,
    },
)


def cholesky_solution(name: str, B: Any, L: Any, upper: bool) -> Tensor:  # noqa: N803
    """X with A X = B from A's Cholesky factor."""
    for word, x in (("b", require_tensor(B, name)), ("u", require_tensor(L, name, "input2", 2))):
        if x._array.ndim < 2:
            raise ShapeError(
                f"{word} should have at least 2 dimensions, but has {x._array.ndim} dimensions instead"
            )
    shape = L._array.shape
    if shape[-1] != shape[-2]:
        raise ShapeError(
            f"A must be batches of square matrices, but they are {shape[-2]} by {shape[-1]} matrices"
        )
    same_dtype(B, L, "", "b", "A")
    floating(B, name, kernel="cholesky_solve_cpu", whole=True)
    if B._array.shape[-2] != L._array.shape[-1]:
        raise ShapeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {L._array.shape[-1]} by {L._array.shape[-1]} but each b "
            f"matrix is {B._array.shape[-2]} by {B._array.shape[-1]}"
        )
    return F.cholesky_solve(*broadcast_batches(B, L), upper=bool(upper))


@linalg(out="same")
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:  # noqa: N803
    """Solve `A @ X = B` with the factors that `ldl_factor` returned for A.

    Args:
        LD, pivots: the factors.
        B: `(..., n, k)`.
        hermitian: as it was given to `ldl_factor`. Default: False.

    >>> import pellucid as torch
    >>> torch.linalg.ldl_solve(*torch.linalg.ldl_factor(torch.eye(2)), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    name = "torch.linalg.ldl_solve"
    half = require_tensor(LD, "linalg_ldl_solve", "LD").dtype.itemsize == 2
    if not (half and isinstance(B, Tensor) and B.dtype is not LD.dtype):
        square(LD, name)
    if LD.dtype is not require_tensor(B, "linalg_ldl_solve", "B", 3).dtype:
        raise OperationError(
            f"Expected b and A to have the same dtype, but found b of type {B.dtype.scalar_type_name} and A of type "
            f"{LD.dtype.scalar_type_name} instead."
        )
    rows = normalize_dim(-2, B._array.ndim, scalar_is_vector=False)
    (n, m), own = B._array.shape[rows:], LD._array.shape[-1]
    if n != own:
        raise ShapeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {own} by {own} but each b matrix is {n} by {m}"
        )
    shape = pivots._array.shape
    if shape != LD._array.shape[:-1]:
        raise ShapeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape {list(shape)} instead"
        )
    if pivots._array.dtype.kind not in "iu":
        raise OperationError(
            f"{name}: Expected pivots to be integers. Got {pivots.dtype.scalar_type_name}"
        )
    a, b = LD._array, B._array
    lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if b.size == 0 or a.size == 0:
        return make_tensor(tracing.constant(np.zeros((*lead, *b.shape[-2:]), b.dtype)))
    return make_tensor(tracing.effect(_ldl_solution, a, pivots._array, b, lead, bool(hermitian)))


def _has_half_blocks(pivots: np.ndarray) -> bool:
    """Return whether a negative number, which marks a block of two rows, lacks its equal neighbor."""
    # first number of an incomplete block
    open_block = np.zeros(pivots.shape[:-1], pivots.dtype)
    for k in range(pivots.shape[-1]):
        one = pivots[..., k]
        if ((open_block < 0) & (one != open_block)).any():
            return True
        open_block = np.where(open_block < 0, 0, np.minimum(one, 0))
    return bool((open_block < 0).any())


def _ldl_solution(a: Any, pivots: Any, b: Any, lead: tuple[int, ...], hermitian: bool) -> Any:
    # LAPACK would swap rows outside of the matrix, or treat half of a block of two as a whole one.
    if (np.abs(pivots) > a.shape[-1]).any() or (pivots == 0).any() or _has_half_blocks(pivots):
        raise OperationError(
            "torch.linalg.ldl_solve: Expected pivots of ldl_factor, from 1 to the number of rows, or pairs of their negatives"
        )
    (trs,) = lapack("hetrs" if hermitian and a.dtype.kind in "cW" else "sytrs", a)
    a, pivots, b = (
        np.broadcast_to(x, (*lead, *x.shape[-k:])) for x, k in ((a, 2), (pivots, 1), (b, 2))
    )
    out = np.empty(b.shape, b.dtype)
    for place in np.ndindex(*b.shape[:-2]):
        out[place] = trs(a[place], pivots[place], b[place], lower=1)[0]
    return columns(out)


@linalg(out="rows: castable: tensorinv")
@full_precision
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:  # noqa: N803
    """Inverse of the linear map that `tensordot` with A computes.

    Args:
        A: the sizes of its first `ind` dimensions and of the others have the same product.
        ind: how many dimensions count as rows. Default: 2.

    >>> import pellucid as torch
    >>> torch.linalg.tensorinv(torch.eye(4).reshape(2, 2, 4)).shape
    torch.Size([4, 2, 2])
    """
    shape = require_tensor(A, "linalg_tensorinv", "A")._array.shape
    if ind <= 0:
        raise OperationError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    rows, columns = math.prod(shape[:ind]), math.prod(shape[ind:])
    if rows != columns:
        raise OperationError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{columns} != {rows}"
        )
    made = inv(A.reshape((rows, columns)))
    return made.reshape((*shape[ind:], *shape[:ind]))


@linalg(out="castable: tensorsolve")
@full_precision
def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:  # noqa: N803
    """Solve `tensordot(A, X, X.ndim) = B` for X.

    Args:
        A: the shape of B followed by the shape of X.
        B: the right-hand side.
        dims: dimensions of A that are moved to its end first. Default: None.

    >>> import pellucid as torch
    >>> torch.linalg.tensorsolve(torch.eye(4).reshape(2, 2, 4), torch.ones(2, 2))
    tensor([1., 1., 1., 1.])
    """
    require_tensor(A, "linalg_tensorsolve", "A")
    require_tensor(B, "linalg_tensorsolve", "B", 2)
    if dims is not None:
        ndim = A._array.ndim
        moved = [normalize_dim(d, ndim) for d in dims]
        A = A.permute([d for d in range(ndim) if d not in moved] + moved)  # noqa: N806
    rest = A._array.shape[B._array.ndim :]
    size = math.prod(rest)
    if math.prod(B._array.shape) != size:
        raise OperationError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got "
            f"{size} != {math.prod(B._array.shape)}"
        )
    return solve(A.reshape((math.prod(B._array.shape), size)), B.reshape((-1,))).reshape(rest)
