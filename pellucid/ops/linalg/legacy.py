"""Older names of linear algebra functions in the `torch` namespace."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import tracing
from ...core.primitive import TENSORS as F
from ...core.public import FUNCTIONS, METHODS, public, with_out
from ...core.tape import titled
from ...core.tensor import Tensor, make_tensor
from ...core.tracing import constant
from ...core.transforms.arranging import together
from ...core.transforms.whole import one_node
from ...devices import contiguous_format
from ...errors import DtypeError, OperationError, ShapeError, warn_once
from .. import return_types
from .._rules import aged, full_precision, past_autocast, require_tensor
from ..pointwise.basic import underivable
from ._linalg import (
    broadcast_batches,
    columns,
    floating,
    lapack,
    loop,
    matrices,
    same_dtype,
    square,
)
from .factor import apply_reflections, checked_cholesky, householder_product, lu_input, unpacked
from .lstsq import pinv as _pinv
from .matmul import outer
from .solve import cholesky_solution, inv, solve_triangular
from .solve import lu_solve as _linalg_lu_solve


def _advice(name: str, successor: str, *how: str) -> str:
    start = f"torch.{name} is deprecated in favor of {successor} will be removed in a future PyTorch release."
    return "\n".join([start, *how])


_CHOLESKY = _advice(
    "cholesky",
    "torch.linalg.cholesky and",
    "L = torch.cholesky(A)",
    "should be replaced with",
    "L = torch.linalg.cholesky(A)",
    "and",
    "U = torch.cholesky(A, upper=True)",
    "should be replaced with",
    "U = torch.linalg.cholesky(A).mH",
    "This transform will produce equivalent results for all valid (symmetric positive definite) inputs.",
)
_QR = _advice(
    "qr",
    "torch.linalg.qr and",
    "The boolean parameter 'some' has been replaced with a string parameter 'mode'.",
    "Q, R = torch.qr(A, some)",
    "should be replaced with",
    "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')",
)
_LU_SOLVE = _advice(
    "lu_solve",
    "torch.linalg.lu_solveand",
    "Note that torch.linalg.lu_solve has its arguments reversed.",
    "X = torch.lu_solve(B, LU, pivots)",
    "should be replaced with",
    "X = torch.linalg.lu_solve(LU, pivots, B)",
)


@full_precision
def _cholesky(input: Tensor, upper: bool = False) -> Tensor:
    warn_once(_CHOLESKY)
    if require_tensor(input, "cholesky").ndim >= 2 and not input._array.size:
        return _copied(input)  # of whatever shape
    made = checked_cholesky("cholesky", input, upper, whole=True)
    return titled(made.clone() if made._rg else made, "Cholesky", of=(input,), upper=upper)


@one_node("Cholesky", "input", "out", lambda g: (g,))
def _copied(input: Tensor) -> Tensor:
    return titled(input.clone(), "Cholesky", of=(input,))


@public(methods="=", out=aged("rows: castable: cholesky", _CHOLESKY, _cholesky))
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """The Cholesky factors; see `linalg.cholesky`.

    >>> import pellucid as torch
    >>> torch.cholesky(torch.tensor([[4.0]]))
    tensor([[2.]])
    """
    return _cholesky(input, upper)


@public(methods="=", out="rows: castable: cholesky_solve")
@full_precision
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """The solution X of `A @ X = input` for the A whose Cholesky factor is `input2`.

    >>> import pellucid as torch
    >>> torch.cholesky_solve(torch.tensor([[8.0]]), torch.tensor([[2.0]]))
    tensor([[2.]])
    """
    return cholesky_solution("cholesky_solve", input, input2, upper)


def _inverse_gradient(g: Any, input: Any, out: Any, upper: bool = False) -> tuple[Any]:
    moved = out @ (g + g.mH) @ out
    return (-(input @ moved if upper else moved @ input),)


@public(methods="=", out="full: castable: cholesky_inverse")
@full_precision
@one_node("CholeskyInverse", "input", "input out", _inverse_gradient)
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of the A whose Cholesky factor is `input`.

    >>> import pellucid as torch
    >>> torch.cholesky_inverse(torch.tensor([[2.0]]))
    tensor([[0.2500]])
    """
    shape = square(
        input, "cholesky_inverse", kernel="cholesky_inverse_out_cpu", whole=True
    )._array.shape
    eye = make_tensor(
        constant(np.broadcast_to(np.eye(shape[-1], dtype=input._array.dtype), shape).copy())
    )
    return titled(
        cholesky_solution("cholesky_inverse", eye, input, upper),
        "CholeskyInverse",
        of=(input,),
        upper=upper,
    )


@public(names="inverse", methods="=", out="same")
@full_precision
def inverse(input: Tensor) -> Tensor:
    """As `linalg.inv`.

    >>> import pellucid as torch
    >>> torch.inverse(torch.tensor([[4.0]]))
    tensor([[0.2500]])
    """
    return inv(input)


@public(methods="=")
@full_precision
@past_autocast
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """As `linalg.pinv`.

    >>> import pellucid as torch
    >>> torch.pinverse(torch.tensor([[4.0]]))
    tensor([[0.2500]])
    """
    return _pinv(input, rcond)


# ---- QR ---------------------------------------------------------------------------------------
_qr = return_types.make("qr", "Q R")
_geqrf = return_types.make("geqrf", "a tau")


@full_precision
def _qr_of(input: Tensor, some: bool = True) -> Any:
    input = matrices(input, "linalg.qr", kernel="geqrf_cpu")
    return _qr(*F.qr(input, mode="reduced" if some else "complete"))


@public(methods="=", out=aged("same", _QR, _qr_of))
def qr(input: Tensor, some: bool = True) -> Any:
    """The QR factorization: `linalg.qr` with mode "reduced" (some) or "complete".

    >>> import pellucid as torch
    >>> torch.qr(torch.eye(2)).Q.shape
    torch.Size([2, 2])
    """
    warn_once(_QR)
    return _qr_of(input, some)


@public(methods="=", out="full: castable: torch.geqrf")
@full_precision
def geqrf(input: Tensor) -> Any:
    """The compact QR factorization: Householder vectors below the diagonal, R on and above it, and
    their factors, as (a, tau).

    >>> import pellucid as torch
    >>> torch.geqrf(torch.eye(2)).tau
    tensor([0., 0.])
    """
    if require_tensor(input, "geqrf")._array.ndim < 2:
        raise ShapeError("torch.geqrf: input must have at least 2 dimensions.")
    x = matrices(input, "torch.geqrf", "input", kernel="geqrf_cpu", whole=True)._array
    k = min(x.shape[-2:])
    if x.size == 0:
        made = (constant(x.copy()), constant(np.zeros((*x.shape[:-2], k), x.dtype)))
    else:
        made = tracing.effect(_geqrf_arrays, x)
    return _geqrf(*(underivable(make_tensor(m), (input,), "geqrf") for m in made))


def _geqrf_arrays(x: Any) -> tuple[Any, Any]:
    (trf,) = lapack("geqrf", x)
    packed, tau = loop(lambda a: trf(a)[:2], x)
    return columns(packed), tau


METHODS["orgqr"] = householder_product
FUNCTIONS["torch"]["orgqr"] = with_out(
    householder_product, "full: castable: torch.linalg.householder_product", "torch.orgqr"
)


@public(
    methods="=",
    out="full: torch.ormqr: Expected input and result to have the same dtype, but input has dtype{wanted} and result has dtype {given}",
)
@full_precision
@one_node("Ormqr", "input tau other", "tau other input out")
def ormqr(
    input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    """`Q @ other` (Q^H with transpose, `other @ Q` without left) for the Q that `geqrf` stores in
    `input` and `tau`.

    >>> import pellucid as torch
    >>> torch.ormqr(torch.eye(2), torch.zeros(2), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    name = "torch.ormqr"
    if require_tensor(input, "ormqr")._array.ndim < 2:
        raise ShapeError(f"{name}: input must have at least 2 dimensions.")
    sa, so = input._array.shape, require_tensor(other, "ormqr", "other", 3)._array.shape
    if len(so) < 2:
        raise ShapeError(f"{name}: other must have at least 2 dimensions.")
    st = require_tensor(tau, "ormqr", "tau", 2)._array.shape
    where = -2 if left else -1
    if so[where] != sa[-2]:
        raise ShapeError(f"{name}: other.shape[{where}] must be equal to input.shape[-2]")
    if st and st[-1] != min(so[where], sa[-1]):
        raise ShapeError(
            f"{name}: tau.shape[-1] must be equal to min(other.shape[{where}], input.shape[-1])"
        )
    if len(st) != len(sa) - 1 or st[:-1] != sa[:-2]:
        raise ShapeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {len(st)} and input.ndim is "
            f"equal to {len(sa)}"
            if len(st) != len(sa) - 1
            else f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(st[:-1])}"
        )
    if len(so) != len(sa) or so[:-2] != sa[:-2]:
        raise ShapeError(
            f"{name}: Expected other to have the same number of dimensions as input, but got other.ndim equal to {len(so)} and "
            f"input.ndim is equal to {len(sa)}"
            if len(so) != len(sa)
            else f"{name}: Expected batch dimensions of other to be equal to input.shape[:-2], but got {list(so[:-2])}"
        )
    for word, t in (("tau", tau), ("other", other)):
        if t.dtype is not input.dtype:
            raise DtypeError(
                f"{name}: Expected input and {word} to have the same dtype, but input has dtype"
                f"{input.dtype.scalar_type_name} and {word} has dtype {t.dtype.scalar_type_name}"
            )
    floating(input, name, kernel="ormqr_cpu", whole=True)
    if left:
        made = apply_reflections(input, tau, other.mT.contiguous().mT, transpose)
    else:
        turned = F.conj(other).mT.contiguous()
        made = F.conj(apply_reflections(input, tau, turned, not transpose)).mT
    return titled(made, "Ormqr", of=(input, tau, other), left=left, transpose=transpose)


# ---- singular values --------------------------------------------------------------------------
_svd = return_types.make("svd", "U S V")


@public(methods="=", out="same")
@full_precision
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """`input = U @ diag(S) @ V.mH`; see `linalg.svd` (which returns V.mH).

    >>> import pellucid as torch
    >>> torch.svd(torch.eye(2)).S
    tensor([1., 1.])
    """
    if require_tensor(input, "svd")._array.ndim < 2:
        raise ShapeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {input.ndim} dimensions instead"
        )
    matrices(input, "linalg.svd", kernel="linalg_svd_cpu")
    if not compute_uv:
        s = F.svd(input, full=False)[1]
        m, n = input._array.shape[-2:]
        lead, kind = input._array.shape[:-2], input._array.dtype
        return _svd(
            make_tensor(constant(np.zeros((*lead, m, m), kind))),
            s,
            make_tensor(constant(np.zeros((*lead, n, n), kind))).mT,
        )
    u, s, vh = F.svd(input, full=not some)
    return _svd(u, s, F.conj(vh).mT)


def _range_of(a: Any, q: int, niter: int, m: Any) -> Any:
    """Orthonormal columns that nearly span the range of `a - m`: subspace iteration from a random
    start (Halko, Martinsson and Tropp 2009).
    """
    shape = a._array.shape
    start = FUNCTIONS["torch"]["randn"](shape[-1], q, dtype=a.dtype)

    def times(x: Any) -> Any:
        made = F.matmul(a, x)
        return made if m is None else made - F.matmul(m, x)

    def back(x: Any) -> Any:
        made = F.matmul(F.conj(a).mT, x)
        return made if m is None else made - F.matmul(F.conj(m).mT, x)

    made = F.qr(times(start), mode="reduced")[0]
    for _ in range(niter):
        made = F.qr(back(made), mode="reduced")[0]
        made = F.qr(times(made), mode="reduced")[0]
    return made


@public()
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> Any:  # noqa: N803
    """The q largest singular values and vectors of `A - M`, approximately, as (U, S, V).

    >>> import pellucid as torch
    >>> U, S, V = torch.svd_lowrank(torch.eye(3), q=2)
    >>> S.shape
    torch.Size([2])
    """
    require_tensor(A, "svd_lowrank", "A")
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    m = None if M is None else F.expand(M, shape=A._array.shape)
    rows, columns = A._array.shape[-2:]
    # project on the shorter side
    wide = rows < columns
    a = F.conj(A).mT if wide else A
    if m is not None and wide:
        m = F.conj(m).mT
    basis = _range_of(a, q, niter, m)
    b = F.matmul(F.conj(basis).mT, a)
    if m is not None:
        b = b - F.matmul(F.conj(basis).mT, m)
    u, s, vh = F.svd(b, full=False)
    u, v = F.matmul(basis, u), F.conj(vh).mT
    return (v, s, u) if wide else (u, s, v)


@public()
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Any:  # noqa: N803
    """The first q principal components of the rows of A, approximately, as (U, S, V); see
    `svd_lowrank`.

    >>> import pellucid as torch
    >>> torch.pca_lowrank(torch.eye(3), q=2)[2].shape
    torch.Size([3, 2])
    """
    m, n = require_tensor(A, "pca_lowrank", "A")._array.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if center:
        A = A - A.mean(-2, True)  # noqa: N806
    return svd_lowrank(A, q, niter)


# ---- LU ---------------------------------------------------------------------------------------
_lu = return_types.make("_lu_with_info", "LU pivots info")
_unpack = return_types.make("lu_unpack", "P L U")


@public(names="lu", methods="=", out=True)
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:  # noqa: N803
    """The compact LU factorization, as (LU, pivots) or with `get_infos` (LU, pivots, info); see
    `linalg.lu_factor`.

    >>> import pellucid as torch
    >>> torch.lu(torch.eye(2))[1]
    tensor([1, 2], dtype=torch.int32)
    """
    if not pivot:
        raise OperationError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    warn_once(
        _advice(
            "lu",
            "torch.linalg.lu_factor / torch.linalg.lu_factor_ex and",
            "LU, pivots = torch.lu(A, compute_pivots)",
            "should be replaced with",
            "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)",
            "and",
            "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)",
            "should be replaced with",
            "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)",
        )
    )
    made = F.lu_factor(lu_input(A, "torch.lu_factor"))
    return _lu(*made) if get_infos else made[:2]


@public(out="same")
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:  # noqa: N803
    """(P, L, U) from a compact LU factorization; empty tensors for what is not wanted.

    >>> import pellucid as torch
    >>> torch.lu_unpack(*torch.linalg.lu_factor(torch.eye(2))).P
    tensor([[1., 0.],
            [0., 1.]])
    """
    if require_tensor(LU_data, "lu_unpack", "LU_data").ndim < 2:
        raise ShapeError(
            f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(LU_data.shape)} instead"
        )
    if (
        unpack_pivots
        and require_tensor(LU_pivots, "lu_unpack", "LU_pivots", 2)._array.dtype != np.int32
    ):
        raise OperationError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    made = unpacked(LU_data, LU_pivots, unpack_data, unpack_pivots)
    rows, columns = LU_data._array.shape[-2:]
    sizes = {"LU_data_sym_argsize_minus_2": rows, "LU_data_sym_argsize_minus_1": columns}
    return _unpack(*together(made, "LuUnpack", LU_data, **sizes))


@full_precision
def _lu_solved(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:  # noqa: N803
    require_tensor(b, "lu_solve", "b")
    return _linalg_lu_solve(LU_data, LU_pivots, b)


@public(names="lu_solve", methods="=", out=aged("same", _LU_SOLVE, _lu_solved))
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:  # noqa: N803
    """The solution X of `A @ X = b` from A's compact LU factorization.

    >>> import pellucid as torch
    >>> torch.lu_solve(torch.ones(2, 1), *torch.linalg.lu_factor(torch.eye(2)))
    tensor([[1.],
            [1.]])
    """
    warn_once(_LU_SOLVE)
    return _lu_solved(b, LU_data, LU_pivots)


TRIANGULAR = return_types.make("triangular_solve", "solution cloned_coefficient")


@public(methods="=", out="same")
@full_precision
def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:  # noqa: N803
    """The solution X of `A @ X = b` (A^T with transpose) for triangular A, as (solution,
    cloned_coefficient).

    >>> import pellucid as torch
    >>> torch.triangular_solve(torch.tensor([[6.0]]), torch.tensor([[2.0]])).solution
    tensor([[3.]])
    """
    name = "triangular_solve"
    warn_once(
        _advice(
            name,
            "torch.linalg.solve_triangularand",
            "torch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of the inputs.",
            "X = torch.triangular_solve(B, A).solution",
            "should be replaced with",
            "X = torch.linalg.solve_triangular(A, B).",
        )
    )
    require_tensor(A, name, "A", 2)
    sb = require_tensor(b, name, "b")._array.shape
    if len(sb) < 2:
        raise ShapeError(
            f"torch.triangular_solve: Expected b to have at least 2 dimensions, but it has {len(sb)} dimensions instead"
        )
    if A._array.ndim < 2:
        raise ShapeError(
            f"torch.triangular_solve: Expected A to have at least 2 dimensions, but it has {A._array.ndim} dimensions instead"
        )
    same_dtype(b, A, "", "b", "A")
    if A._array.shape[-1] != A._array.shape[-2]:
        raise ShapeError(
            f"A must be batches of square matrices, but they are {A._array.shape[-2]} by {A._array.shape[-1]} matrices"
        )
    if A._array.shape[-1] != sb[-2]:
        raise ShapeError(
            f"Incompatible matrix sizes for triangular_solve: each A matrix is {A._array.shape[-1]} by {A._array.shape[-1]} but each "
            f"b matrix is {sb[-2]} by {sb[-1]}"
        )
    floating(A, name, kernel="triangular_solve_cpu", whole=True)
    made = _solved(b, A, bool(upper), transpose, bool(unitriangular))
    how = {"upper": bool(upper), "transpose": transpose, "unitriangular": bool(unitriangular)}
    keeps = {"A": A, "self": b, "solution": made[0]}
    return TRIANGULAR(*together(made, "TriangularSolve", b, A, keeps=keeps, **how))


def _solved_gradients(
    g: Any,
    needs: Any,
    A: Any,
    out0: Any,
    upper: bool,
    transpose: bool,
    unit: bool,  # noqa: N803
) -> tuple[Any, Any]:
    of_solution, of_copy = g
    if of_solution is None:
        return None, of_copy
    turned = (A.mT if transpose else A).mH
    b = solve_triangular(turned, of_solution, upper=upper == transpose, unitriangular=unit)
    of_a = -(b @ out0.mH)
    of_a = of_a.mT if transpose else of_a
    of_a = F.triu(of_a, diagonal=int(unit)) if upper else F.tril(of_a, diagonal=-int(unit))
    return b, of_a if of_copy is None else of_a + of_copy


@one_node("TriangularSolve", "b A", "A b out0", _solved_gradients)
def _solved(b: Tensor, A: Tensor, upper: bool, transpose: bool, unit: bool) -> Any:  # noqa: N803
    given, given_upper = (b, A), upper
    a, b = broadcast_batches(A, b)
    # column-major, as LAPACK expects
    clone = a.mT.clone(memory_format=contiguous_format).mT
    if transpose:
        a, upper = a.mT, not upper
    made = F.solve_triangular(a, b, upper=upper, left=True, unit=unit)
    return titled(
        made,
        "TriangularSolve",
        of=given,
        upper=given_upper,
        transpose=transpose,
        unitriangular=unit,
    ), clone


# ---- outer products ---------------------------------------------------------------------------
_GER = "torch.ger is deprecated and will be removed in a future PyTorch release. Use torch.outer instead."


@public(methods="=", out=aged("True", _GER, outer, always=True))
def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """As `outer`.

    >>> import pellucid as torch
    >>> torch.ger(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    return outer(input, vec2)


# ---- largest eigenvalues ----------------------------------------------------------------------
@public()
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,  # noqa: N803
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,  # noqa: N803
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) eigenvalues and eigenvectors of `A x = lambda B x`, symmetric A,
    positive-definite B.

    Computed exactly, by a full symmetric eigendecomposition: the parameters that steer an iteration
    (`X`, `n`, `iK`, `niter`, `tol`, `method`, `tracker`, `ortho_*`) only decide how many pairs are
    wanted where `k` is left out.

    >>> import pellucid as torch
    >>> torch.lobpcg(torch.eye(3), k=1)[0]
    tensor([1.])
    """
    shape = square(A, "lobpcg")._array.shape
    if k is None:
        k = 1 if X is None else X._array.shape[-1]
    if not (n is None or n >= k):
        k = n
    if shape[-1] < 3 * k:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={shape[-1]}) is smaller than 3 x the number of "
            f"requested eigenpairs (={k})"
        )
    if B is not None:
        lower = F.cholesky(B, upper=False)[0]
        inner = F.solve_triangular(*broadcast_batches(lower, A), upper=False, left=True, unit=False)
        inner = F.solve_triangular(
            *broadcast_batches(F.conj(lower).mT, inner), upper=True, left=False, unit=False
        )
    else:
        inner = A
    w, v = F.eigh(inner, uplo="L")
    size = shape[-1]
    if largest is None or largest:
        w, v = w.narrow(-1, size - k, k).flip(-1), v.narrow(-1, size - k, k).flip(-1)
    else:
        w, v = w.narrow(-1, 0, k), v.narrow(-1, 0, k)
    if B is not None:
        v = F.solve_triangular(
            *broadcast_batches(F.conj(lower).mT, v), upper=True, left=True, unit=False
        )
    return w, v


# ---- names that PyTorch removed ---------------------------------------------------------------
_NOW = {"symeig": "eigh"}  # new names of functions that were renamed


def _removed(name: str, advice: str, takes: Any, method: Any = None) -> None:
    """Define a function that PyTorch removed. `takes` and `method` only supply the parameters of
    PyTorch's function and method.
    """

    def refusing(takes: Any) -> Any:
        def function(*args: Any, **kwargs: Any) -> Any:
            takes(*args, **kwargs)
            raise OperationError(
                f"This function was deprecated since version 1.9 and is now removed.{advice}"
            )

        function.__name__ = function.__qualname__ = name
        return function

    takes.__qualname__ = "_symeig" if name == "symeig" else name
    function = refusing(takes)
    if method is not None:
        method.__qualname__ = f"Tensor.{name}"
        METHODS[name] = refusing(method)
    function.__doc__ = f"""Removed in PyTorch 1.9: always raises RuntimeError. Use `torch.linalg.{_NOW.get(name, name)}`.

    >>> import pellucid as torch
    >>> torch.{name}(torch.eye(2){", torch.eye(2)" * (name in ("lstsq", "solve"))})
    Traceback (most recent call last):
        ...
    RuntimeError: This function was deprecated since version 1.9 and is now removed...
    """
    public(names=name)(function)


_removed(
    "eig",
    " `torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors mimicking "
    "complex tensors.\n\nL, _ = torch.eig(A) should be replaced with:\nL_complex = torch.linalg.eigvals(A)\n\nand\n\n"
    "L, V = torch.eig(A, eigenvectors=True) should be replaced with:\nL_complex, V_complex = torch.linalg.eig(A)",
    lambda self, eigenvectors=False, *, e=None, v=None: None,
    lambda self, eigenvectors=False: None,
)
_removed(
    "symeig",
    " The default behavior has changed from using the upper triangular portion of the matrix by default to using "
    "the lower triangular portion.\n\nL, _ = torch.symeig(A, upper=upper) should be replaced with:\n"
    "L = torch.linalg.eigvalsh(A, UPLO='U' if upper else 'L')\n\nand\n\n"
    "L, V = torch.symeig(A, eigenvectors=True) should be replaced with:\n"
    "L, V = torch.linalg.eigh(A, UPLO='U' if upper else 'L')",
    lambda input, eigenvectors=False, upper=True, *, out=None: None,
    lambda self, eigenvectors=False: None,
)
_removed(
    "lstsq",
    " `torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.\n`torch.linalg.lstsq` has reversed arguments and "
    "does not return the QR decomposition in the returned tuple (although it returns other information about the "
    "problem).\n\nTo get the QR decomposition consider using `torch.linalg.qr`.\n\nThe returned solution in "
    "`torch.lstsq` stored the residuals of the solution in the last m - n columns of the returned value whenever "
    "m > n. In torch.linalg.lstsq, the residuals are in the field 'residuals' of the returned named tuple.\n\n"
    "The unpacking of the solution, as in\nX, _ = torch.lstsq(B, A).solution[:A.size(1)]\nshould be replaced with:\n"
    "X = torch.linalg.lstsq(A, B).solution",
    lambda input, A, *, out=None: None,
    lambda self, other: None,
)
_removed(
    "matrix_rank",
    "\nPlease use the `torch.linalg.matrix_rank` function instead. The parameter 'symmetric' was renamed in "
    "`torch.linalg.matrix_rank()` to 'hermitian'.",
    lambda input, tol=None, symmetric=False, *, out=None: None,
)
_removed(
    "solve",
    " `torch.solve` is deprecated in favor of `torch.linalg.solve`. `torch.linalg.solve` has its arguments reversed "
    "and does not return the LU factorization.\n\nTo get the LU factorization see `torch.lu`, which can be used with "
    "`torch.lu_solve` or `torch.lu_unpack`.\nX = torch.solve(B, A).solution should be replaced with:\n"
    "X = torch.linalg.solve(A, B)",
    lambda input, A, *, out=None: None,
    lambda self, other: None,
)
