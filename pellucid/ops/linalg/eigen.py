"""Eigenvalues and singular values. Gradients: Giles (2008), "An extended collection of matrix
derivative results", and their complex forms with the conjugate transpose.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.native import kernels
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, DtypeError, OperationError, SingularError, type_name
from .. import return_types
from .._rules import constant, full_precision, require_tensor, values
from .._samples import cases
from ._linalg import (
    by_columns,
    column,
    diag,
    diagonal,
    linalg,
    matrices,
    mH,
    row,
    singular,
    square,
    used,
)


# ---- eigenvalues ------------------------------------------------------------------------------
def _eigh(xp: Any, x: Any, *, uplo: str) -> Any:
    if x.size == 0:
        return np.zeros(x.shape[:-1], x.real.dtype), x.copy()
    x = np.tril(x) if uplo == "L" else np.triu(x)  # clear the other half, which must not matter
    if not np.isfinite(x).all():
        raise SingularError(
            "linalg.eigh: The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
            "eigenvalues (error code: 1)."
        )
    return tuple(kernels.matmul.blas.linalg.eigh(x, uplo))


def _spread_of(F: Any, lengths: Any) -> Any:
    """Return the differences of all pairs, [..., i, j] = x[j] - x[i], with 1 on the diagonal."""
    made = row(lengths) - column(lengths)
    return made + constant(F, np.eye(lengths.shape[-1]).astype(values(F, lengths).dtype))


def _off_diagonal(F: Any, x: Any) -> Any:
    return x * constant(F, 1 - np.eye(x.shape[-1]).astype(values(F, F.real(x)).dtype))


def _check_phase(F: Any, turns: Any, whose: str, what: str) -> None:
    """Refuse the gradient of a loss that depends on the phases of complex vectors, as PyTorch does.
    The imaginary part of `turns` is the derivative of the loss by the phase of each vector.
    """
    turns = values(F, turns)
    if turns.dtype.kind in "cW" and not (abs(turns.imag) <= 1e-2).all():
        raise OperationError(
            f"{whose} in the complex case are specified up to multiplication by e^{{i phi}}. "
            f"The specified loss function depends on this {what}"
        )


_OF_VECTORS = "quantity, so it is ill-defined."


def _eigh_grad(F: Any, g: Any, out0: Any, out1: Any) -> Any:
    gw, gv = g
    w, v = out0, out1
    if used(F, gv):
        inner = F.matmul(mH(F, v), gv)
        _check_phase(F, diagonal(F, inner), "linalg_eigh_backward: The eigenvectors", _OF_VECTORS)
        # Take the skew part: the gradient of a Hermitian matrix is Hermitian.
        inner = (inner - mH(F, inner)) * 0.5 / _spread_of(F, w)
        inner = _off_diagonal(F, inner) + diag(F, gw)
        return F.matmul(v, F.matmul(inner, mH(F, v)))
    return F.matmul(v * row(gw), mH(F, v))


defop(
    "eigh",
    "input",
    host=True,
    forward=by_columns(_eigh, (1,)),
    outputs=2,
    vjp={"input": _eigh_grad},
    grad_name="LinalgEigh",
    aval=lambda x, uplo: [(x[0][:-1], np.empty(0, x[1]).real.dtype), x],
    batch="leading",
    autocast="float32",
)
_eigh_result = return_types.make("linalg_eigh", "eigenvalues eigenvectors")


def _uplo(which: Any) -> str:
    if not isinstance(which, str):
        raise ArgumentTypeError(
            f"linalg_eigh(): argument 'UPLO' must be str, not {type_name(which)}"
        )
    if which.upper() not in ("L", "U"):
        raise OperationError(f"Expected UPLO argument to be 'L' or 'U', but got {which}")
    return which.upper()


@linalg(out="same")
@full_precision
def eigh(A: Tensor, UPLO: str = "L") -> Any:  # noqa: N803
    """Eigenvalues, ascending, and orthonormal eigenvectors (columns) of symmetric or Hermitian
    matrices.

    `A = V @ diag(L) @ V.mH`.

    Args:
        A: `(..., n, n)`, floating point or complex; only the lower triangle is read (upper with
            UPLO="U").
        UPLO: which triangle is read, "L" or "U". Default: "L".

    Returns:
        A named tuple of `eigenvalues` `(..., n)`, real, and `eigenvectors` `(..., n, n)`.

    Raises:
        RuntimeError: not square.

    >>> import pellucid as torch
    >>> torch.linalg.eigh(torch.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    uplo = _uplo(UPLO)
    return _eigh_result(
        *F.eigh(square(A, "linalg.eigh", kernel="linalg_eigh_cpu", whole=True), uplo=uplo)
    )


@linalg(out="same")
@full_precision
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:  # noqa: N803
    """Eigenvalues of symmetric or Hermitian matrices, in ascending order.

    Args:
        A: `(..., n, n)`; only the triangle that `UPLO` names is read.
        UPLO: "L" for the lower triangle, "U" for the upper. Default: "L".

    Returns:
        Real values of shape `(..., n)`.

    >>> import pellucid as torch
    >>> torch.linalg.eigvalsh(torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
    uplo = _uplo(UPLO)
    return F.eigh(square(A, "linalg.eigh", kernel="linalg_eigh_cpu", whole=True), uplo=uplo)[0]


def _eig(xp: Any, x: Any) -> Any:
    kind = np.result_type(x.dtype, np.complex64)
    if x.size == 0:
        return np.zeros(x.shape[:-1], kind), x.astype(kind)
    if not np.isfinite(x).all():
        raise OperationError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    w, v = kernels.matmul.blas.linalg.eig(x)
    return w.astype(kind), v.astype(kind)


def _eig_grad(F: Any, g: Any, out0: Any, out1: Any, input_dtype: Any) -> Any:
    gw, gv = g
    w, v = out0, out1
    vh = mH(F, v)
    if used(F, gv):
        inner = F.matmul(vh, gv)
        _check_phase(F, diagonal(F, inner), "linalg_eig_backward: The eigenvectors", _OF_VECTORS)
        # The eigenvectors have norm 1, so remove the part that would change their length.
        size = F.real(diagonal(F, inner))
        inner = inner - F.matmul(vh, v * row(F.cast(size, dtype=values(F, v).dtype)))
        inner = _off_diagonal(F, inner / F.conj(_spread_of(F, w))) + diag(F, gw)
        made = F.solve(vh, F.matmul(inner, vh))
    else:
        made = F.solve(vh, column(gw) * vh)
    return made if input_dtype.kind in "cW" else F.real(made)


defop(
    "eig",
    "input",
    host=True,
    forward=by_columns(_eig, (1,)),
    outputs=2,
    vjp={"input": _eig_grad},
    grad_name="LinalgEig",
    batch="leading",
    autocast="float32",
)
_eig_result = return_types.make("linalg_eig", "eigenvalues eigenvectors")


def _of_complex(A: Any, name: str) -> Tensor:  # noqa: N803
    """Check that `A` holds square matrices with a dtype that has a complex counterpart."""
    kind = require_tensor(A, name.replace(".", "_"), "A").dtype
    if A._array.ndim >= 2 and kind.is_integral:
        raise DtypeError(f"Unknown Complex ScalarType for {kind.scalar_type_name}")
    return square(A, name, kernel="linalg_eig_out_cpu")


@linalg(out="rows: castable: torch.linalg.eig")
@full_precision
def eig(A: Tensor) -> Any:  # noqa: N803
    """Eigenvalues and eigenvectors (columns of norm 1) of square matrices; always complex.

    `A @ V = V @ diag(L)`. For symmetric or Hermitian matrices use `eigh`, which is faster and gives
    real eigenvalues.

    Args:
        A: `(..., n, n)`, floating point or complex.

    Returns:
        A named tuple of `eigenvalues` `(..., n)` and `eigenvectors` `(..., n, n)`. Neither the
        order of the eigenvalues nor the
            phase of the eigenvectors is defined.

    Raises:
        RuntimeError: not square.

    >>> import pellucid as torch
    >>> torch.linalg.eig(torch.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.real
    tensor([0., 0.])
    """
    return _eig_result(*F.eig(_of_complex(A, "linalg.eig")))


@linalg(out="castable: torch.linalg.eigvals eigenvalues")
@full_precision
def eigvals(A: Tensor) -> Tensor:  # noqa: N803
    """The eigenvalues of `eig`.

    >>> import pellucid as torch
    >>> torch.linalg.eigvals(torch.eye(2)).real
    tensor([1., 1.])
    """
    return F.eig(_of_complex(A, "linalg.eigvals"))[0]


# ---- singular values --------------------------------------------------------------------------
def _svd(xp: Any, x: Any, *, full: bool) -> Any:
    m, n = x.shape[-2:]
    k = min(m, n)
    lead = x.shape[:-2]
    if x.size == 0:
        u = np.zeros((*lead, m, m if full else k), x.dtype)
        v = np.zeros((*lead, n if full else k, n), x.dtype)
        if full:
            u[...], v[...] = np.eye(m), np.eye(n)
        return u, np.zeros((*lead, k), x.real.dtype), v
    return singular(x, full)


def _svd_grad(F: Any, g: Any, out0: Any, out1: Any, out2: Any, input_shape: Any, full: bool) -> Any:
    gu, gs, gv = g
    u, s, vh = out0, out1, out2
    m, n = input_shape[-2:]
    k = min(m, n)
    # the additional vectors are an arbitrary basis of the rest, so their gradient does not count
    if full and m != n:
        u, gu, vh, gv = u[..., :k], gu[..., :k], vh[..., :k, :], gv[..., :k, :]
    has_u, has_v = used(F, gu), used(F, gv)
    if not has_u and not has_v:
        return F.matmul(u * row(gs), vh)
    square_s = s * s
    gaps = _spread_of(F, square_s)
    skew_u = F.matmul(mH(F, u), gu)
    skew_v = F.matmul(vh, mH(F, gv))
    turns = diagonal(F, skew_u) + diagonal(F, skew_v)
    _check_phase(
        F, turns, "svd_backward: The singular vectors", "phase term, making it ill-defined."
    )
    skew_u, skew_v = skew_u - mH(F, skew_u), skew_v - mH(F, skew_v)
    inner = _off_diagonal(F, (skew_u * row(s) + column(s) * skew_v) / gaps) + diag(F, gs)
    if values(F, u).dtype.kind in "cW":
        inner = inner + diag(F, diagonal(F, skew_u) / (s * 2.0))
    made = F.matmul(u, inner)
    if m > k and has_u:
        scaled = gu / row(s)
        made = made + scaled - F.matmul(u, F.matmul(mH(F, u), scaled))
    made = F.matmul(made, vh)
    if n > k and has_v:
        scaled = gv / column(s)
        made = made + F.matmul(u, scaled - F.matmul(F.matmul(scaled, mH(F, vh)), vh))
    return made


defop(
    "svd",
    "input",
    host=True,
    forward=by_columns(_svd, (0, 2)),
    outputs=3,
    vjp={"input": _svd_grad},
    grad_name="LinalgSvd",
    packs="out1 out0 out2",
    batch="leading",
    autocast="float32",
    samples=cases(*(((shape,), {"full": False}) for shape in ((3, 3), (2, 4, 3), (2, 4)))),
    shows={"S_sym_argsize_minus_1": lambda out1: out1.shape[-1], "full_matrices": "full"},
)
_svd_result = return_types.make("linalg_svd", "U S Vh")


@linalg(out="same")
@full_precision
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:  # noqa: N803
    """Singular value decomposition `A = U @ diag(S) @ Vh`, with orthonormal U and V and descending
    S, as (U, S, Vh).

    Args:
        A: `(..., m, n)`, floating point or complex.
        full_matrices: square U and Vh; otherwise only min(m, n) vectors (the only differentiable
            ones). Default: True.
        driver: for CUDA only.

    Returns:
        A named tuple of `U` `(..., m, m)`, `S` `(..., min(m, n))`, real, and `Vh` `(..., n, n)`;
        without `full_matrices` `U` is
            `(..., m, min(m, n))` and `Vh` `(..., min(m, n), n)`.

    Raises:
        RuntimeError: fewer than two dimensions, or integers.

    >>> import pellucid as torch
    >>> torch.linalg.svd(torch.eye(2)).S
    tensor([1., 1.])
    """
    checked = matrices(A, "linalg.svd", kernel="linalg_svd_cpu")
    _check_driver("svd", driver)
    return _svd_result(*F.svd(checked, full=bool(full_matrices)))


def _check_driver(name: str, driver: Any) -> None:
    if driver is not None:
        if not isinstance(driver, str):
            raise ArgumentTypeError(
                f"linalg_{name}(): argument 'driver' must be str, not {type_name(driver)}"
            )
        raise OperationError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


@linalg(out="same")
@full_precision
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:  # noqa: N803
    """Singular values of matrices, in descending order.

    Args:
        A: `(..., m, n)`.
        driver: accepted for code written for CUDA. Default: None.

    Returns:
        Real values of shape `(..., min(m, n))`.

    >>> import pellucid as torch
    >>> torch.linalg.svdvals(torch.eye(2))
    tensor([1., 1.])
    """
    _check_driver("svdvals", driver)
    return F.svd(matrices(A, "linalg.svd", kernel="linalg_svd_cpu"), full=False)[1]
