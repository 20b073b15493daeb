"""Pseudo-inverses and least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.native import kernels
from ...core.interpret import thread
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.tensor import Tensor, make_tensor
from ...core.tracing import constant
from ...errors import ArgumentTypeError, DimensionError, DtypeError, OperationError, ShapeError
from ...shapes import broadcast_shapes, normalize_dim
from .. import return_types
from .._rules import full_precision, require_tensor, values
from .._samples import cases
from ._linalg import (
    broadcast_batches,
    by_columns,
    double_or_float,
    linalg,
    loop,
    mH,
    singular,
    square,
)


# ---- pseudo-inverse and least squares ---------------------------------------------------------
def cutoff(top: Any, shape: Any, atol: Any, rtol: Any, dtype: Any) -> Any:
    """max(atol, rtol * largest singular value); rtol defaults to eps * max(m, n) unless atol is
    given and positive.
    """
    eps = np.finfo(dtype).eps * max(shape[-2:])
    atol = np.asarray(0.0 if atol is None else atol)
    rtol = np.where(atol > 0, 0.0, eps) if rtol is None else np.asarray(rtol)
    return np.maximum(atol, rtol * top)


def _pinv(xp: Any, x: Any, *, atol: Any, rtol: Any, hermitian: bool) -> Any:
    if x.size == 0:
        return np.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    if hermitian:
        w, v = kernels.matmul.blas.linalg.eigh(x)
        keep = abs(w) > np.asarray(cutoff(abs(w).max(-1), x.shape, atol, rtol, x.dtype))[..., None]
        return (
            v * np.where(keep, 1 / np.where(keep, w, 1), 0)[..., None, :].astype(w.dtype)
        ) @ v.mT.conj()
    u, s, vh = singular(x, False)
    keep = s > np.asarray(cutoff(s[..., 0], x.shape, atol, rtol, x.dtype))[..., None]
    return (
        vh.mT.conj() * np.where(keep, 1 / np.where(keep, s, 1), 0)[..., None, :].astype(s.dtype)
    ) @ u.mT.conj()


def _pinv_grad(F: Any, g: Any, input: Any, out: Any) -> Any:
    # Golub and Pereyra (1973), "The differentiation of pseudo-inverses", with the factors
    # multiplied in the order that keeps the products small.
    p, ph, gh = out, mH(F, out), mH(F, g)
    m, n = input.shape[-2:]
    mul = F.matmul
    if m <= n:
        k = mul(gh, p)
        kph = mul(k, ph)
        return (
            -mH(F, mul(p, k)) + kph - mul(mul(input, p), kph) + mul(mul(ph, p), gh - mul(k, input))
        )
    k = mul(p, gh)
    phk = mul(ph, k)
    return -mH(F, mul(k, p)) + mul(gh - mul(input, k), mul(p, ph)) + phk - mul(mul(phk, p), input)


defop(
    "pinv",
    "input",
    host=True,
    forward=_pinv,
    vjp={"input": _pinv_grad},
    grad_name="LinalgPinv",
    samples=cases(
        *(
            ((shape,), {"atol": None, "rtol": None, "hermitian": False})
            for shape in ((2, 4, 3), (2, 3))
        ),
        complex=True,
    ),
    aval=lambda x, **params: ((*x[0][:-2], x[0][-1], x[0][-2]), x[1]),
)


def number_or_array(value: Any) -> Any:
    """A tolerance as NumPy takes it."""
    return value._array if isinstance(value, Tensor) else value


@linalg(out="castable: linalg.pinv")
def pinv(
    A: Tensor,
    rcond: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,  # noqa: N803
) -> Tensor:
    """The pseudo-inverses (Moore and Penrose) of matrices.

    Args:
        A: `(..., m, n)`.
        atol, rtol: singular values up to max(atol, rtol * largest) count as 0; rtol defaults to eps
            * max(m, n).
        hermitian: A is symmetric or Hermitian, which is faster.

    >>> import pellucid as torch
    >>> torch.linalg.pinv(torch.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    if isinstance(rcond, str) or isinstance(rtol, str) or isinstance(atol, str):
        raise ArgumentTypeError("linalg_pinv(): tolerances must be numbers or Tensors, not str")
    for given in (atol, rtol, rcond):
        if isinstance(given, Tensor) and given.dtype.is_complex:
            raise OperationError(
                f"torch.linalg.pinv: rcond tensor of complex type is not supported. Got {given.dtype.scalar_type_name}"
            )
    rtol = rcond if rtol is None else rtol
    kind = require_tensor(A, "linalg_pinv", "A").dtype
    if atol is not None and rtol is None:  # the tolerance comes from the sizes and the dtype
        if not A._array.ndim:
            raise DimensionError("Dimension specified as -2 but tensor has no dimensions")
        normalize_dim(-2, A._array.ndim)
        double_or_float(A)
    if A._array.ndim < 2 or kind.is_integral or kind.itemsize < 4:
        raise ShapeError(
            f"linalg.pinv({kind.scalar_type_name}{{{list(A._array.shape)}}}): expected a tensor with 2 or more dimensions of float, "
            "double, cfloat or cdouble types"
        )
    if hermitian and A._array.size:
        square(A, "linalg.eigh", kernel="linalg_eigh_cpu", whole=True)
    made = F.pinv(
        A, atol=number_or_array(atol), rtol=number_or_array(rtol), hermitian=bool(hermitian)
    )
    policy = thread.stack.autocast
    # PyTorch ends with a product of singular vectors, which autocast makes narrow
    return made if policy is None else policy.narrow(made)


def _lstsq(xp: Any, a: Any, b: Any, *, rcond: Any, driver: str) -> Any:
    m, n = a.shape[-2:]
    k = b.shape[-1]
    lead = a.shape[:-2]
    if a.size == 0 or b.size == 0:
        return (
            np.zeros((*lead, n, k), a.dtype), np.zeros((*lead, k) if m > n and driver != "gelsy" else 0, a.real.dtype),
            np.zeros(lead, np.int64), np.zeros((*lead, min(m, n)), a.real.dtype),
        )  # fmt: skip
    # gelsd and gelss report singular values, gelsy only the rank, gels neither.
    least = np.finfo(a.dtype).eps * max(m, n) if rcond is None or rcond < 0 else rcond

    def one(x: Any, y: Any) -> Any:
        # LAPACK's iterations may not terminate for numbers that are not finite
        whole = np.isfinite(y).all(0)
        if not np.isfinite(x).all() or not whole.any():
            singular = np.full(min(m, n), np.nan, a.real.dtype)
            return np.full((n, k), np.nan, a.dtype), np.asarray(0), singular
        if not whole.all():
            made = np.full((n, k), np.nan, a.dtype)
            made[:, whole], rank, s = one(x, np.ascontiguousarray(y[:, whole]))
            return made, rank, s
        # gelsy determines the rank by columns, not by singular values
        if driver == "gelsy" and rcond is not None:
            from scipy.linalg import lstsq as solved

            made, _, rank, _ = solved(x, y, cond=least, lapack_driver="gelsy", check_finite=False)
            return made, np.asarray(rank), np.zeros(min(m, n), a.real.dtype)
        made, _, rank, s = kernels.matmul.blas.linalg.lstsq(x, y, rcond=least)
        return made, np.asarray(rank), s

    solution, rank, s = loop(one, a, b)
    solution = solution.astype(a.dtype, copy=False)
    residuals = np.zeros(0, a.real.dtype)
    if m > n and driver != "gelsy" and (driver == "gels" or (rank == n).all()):
        left = b - a @ solution
        residuals = (left.real**2 + left.imag**2 if left.dtype.kind in "cW" else left * left).sum(
            -2
        )
    return solution, residuals, np.asarray(rank, np.int64), s.astype(a.real.dtype, copy=False)


def _lstsq_parts(
    F: Any, g: Any, input: Any, other: Any, out0: Any, out1: Any
) -> tuple[Any, Any, Any]:
    """Return the gradient of the solution, and the gradients of B and A through the residuals."""
    gx, gr = g[0], g[1]
    if values(F, gr).size == 0 or not values(F, gr).any():
        return gx, None, None
    # residual = sum |B - A X|^2; at the minimum the derivative in X vanishes
    left = other - F.matmul(input, out0)
    through = left * (gr.reshape((*gr.shape[:-1], 1, gr.shape[-1])) * 2.0)
    return gx, through, -F.matmul(through, mH(F, out0))


def _lstsq_a(F: Any, g: Any, input: Any, other: Any, out0: Any, out1: Any) -> Any:
    gx, _, extra = _lstsq_parts(F, g, input, other, out0, out1)
    p = F.pinv(input, atol=None, rtol=None, hermitian=False)
    made = _pinv_grad(F, F.matmul(gx, mH(F, other)), input, p)
    return made if extra is None else made + extra


def _lstsq_b(F: Any, g: Any, input: Any, other: Any, out0: Any, out1: Any) -> Any:
    gx, extra, _ = _lstsq_parts(F, g, input, other, out0, out1)
    p = F.pinv(input, atol=None, rtol=None, hermitian=False)
    made = F.matmul(mH(F, p), gx)
    return made if extra is None else made + extra


defop(
    "lstsq",
    "input other",
    host=True,
    forward=by_columns(_lstsq),
    outputs=4,
    vjp={"input": _lstsq_a, "other": _lstsq_b},
    grad_name="LinalgLstsq",
    packs="other input out0",
    autocast="float32",
)
_lstsq_result = return_types.make("linalg_lstsq", "solution residuals rank singular_values")


@linalg(
    out=(
        "rows: castable: torch.linalg.lstsq",
        "castable: torch.linalg.lstsq solution",
        "castable: torch.linalg.lstsq",
        "castable: torch.linalg.lstsq",
    )
)
@full_precision
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:  # noqa: N803
    """The X that makes `norm(A @ X - B)` smallest, as (solution, residuals, rank, singular_values).

    Args:
        A: `(..., m, n)`.
        B: `(..., m, k)`, or vectors `(..., m)`.
        rcond: singular values below `rcond * largest` count as 0; eps * max(m, n) by default.
        driver: LAPACK's "gelsy" (default), "gels", "gelsd" or "gelss"; it decides which of the
            other results are filled.

    >>> import pellucid as torch
    >>> torch.linalg.lstsq(torch.tensor([[1.0], [1.0]]), torch.tensor([[1.0], [3.0]])).solution
    tensor([[2.]])
    """
    name = "torch.linalg.lstsq"
    if require_tensor(A, name, "input")._array.ndim < 2:
        raise ShapeError(f"{name}: input must have at least 2 dimensions.")
    if require_tensor(B, name, "other", 2).dtype is A.dtype:
        double_or_float(A)
    if driver is not None and driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise OperationError(
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    driver = driver or "gelsy"
    sa, sb = A._array.shape, B._array.shape
    if not sb:
        raise ShapeError(f"{name}: other must have at least 1 dimension.")
    if B.dtype is not A.dtype:
        raise DtypeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype {A.dtype.scalar_type_name} and other's "
            f"dtype {B.dtype.scalar_type_name}"
        )
    vector = len(sb) == 1 or (len(sa) - 1 == len(sb) and sb == sa[:-1])
    if not vector and len(sa) != len(sb) and len(sa) - len(sb) > 1:
        raise ShapeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    if not vector and len(sa) - 1 == len(sb):
        broadcast_shapes(sa[:-2], sb[:-1])
    b = B.unsqueeze(-1) if vector else B
    if sa[-2] != b._array.shape[-2]:
        where = "-1" if vector else "-2"
        raise ShapeError(f"{name}: input.size(-2) should match other.size({where})")
    a, b = broadcast_batches(A, b)
    solution, residuals, rank, s = F.lstsq(a, b, rcond=rcond, driver=driver)
    if vector:
        solution = solution.squeeze(-1)
    if driver == "gels":
        rank = make_tensor(constant(np.zeros(0, np.int64)))
    if driver in ("gels", "gelsy"):
        s = make_tensor(constant(np.zeros(0, s._array.dtype)))
    # the singular values have no gradient
    return _lstsq_result(solution, residuals, rank, s.detach())
