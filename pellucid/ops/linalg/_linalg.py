"""Helpers of the linear algebra files: argument checks, small rules for stacks of matrices, loops
over LAPACK calls.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...arrays.meta import MetaArray
from ...arrays.native import kernels
from ...core import tracing
from ...core.public import public
from ...core.tensor import Tensor
from ...errors import DtypeError, ShapeError, SingularError, UnsupportedError
from .._rules import require_tensor, values

linalg = functools.partial(public, namespace="linalg", out=True)


# PyTorch's kernels that do not run for matrices without elements, so they do not refuse dtypes then
UNREACHED = frozenset(
    ("cholesky_cpu", "ldl_factor_kernel_cpu", "linalg_eigh_cpu", "linalg_svd_cpu", "lu_cpu")
)


# ---- checks -----------------------------------------------------------------------------------
def matrices(input: Any, name: str, argument: str = "A", **refusal: Any) -> Tensor:
    """A tensor of at least two dimensions with elements as `floating` wants them."""
    if require_tensor(input, name, argument)._array.ndim < 2:
        raise ShapeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")
    return floating(input, name, **refusal)


def floating(input: Tensor, name: str, *, kernel: str = "", whole: bool = False) -> Tensor:
    """The tensor, refused unless its elements are float32, float64, complex64 or complex128.

    Args:
        kernel: what PyTorch computes with, where that is what refuses two-byte floats, if there
            are any.
        whole: whether it is what refuses whole numbers, too.
    """
    kind = input.dtype
    if kind in (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128):
        return input
    if kernel in UNREACHED and not input._array.size and (whole or not kind.is_integral):
        return input
    if kernel and (whole or not kind.is_integral):
        raise UnsupportedError(
            f"\"{kernel}\" not implemented for '{kind.scalar_type_name}'",
            hint="convert first: x.float()",
        )
    if kind.is_floating_point or kind.is_complex:
        raise DtypeError(f"{name}: Low precision dtypes not supported. Got {kind.scalar_type_name}")
    raise DtypeError(
        f"{name}: Expected a floating point or complex tensor as input. Got {kind.scalar_type_name}"
    )


def double_or_float(input: Tensor) -> None:
    """`floating` where PyTorch asks for the precision before it looks at anything else."""
    if input.dtype not in (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128):
        raise DtypeError("This function doesn't handle types other than float and double")


def square(input: Any, name: str, argument: str = "A", **refusal: Any) -> Tensor:
    """`matrices` with as many rows as columns, which comes before the type."""
    shape = require_tensor(input, name, argument)._array.shape
    if len(shape) >= 2 and shape[-1] != shape[-2]:
        raise ShapeError(
            f"{name}: {argument} must be batches of square matrices, but they are {shape[-2]} by {shape[-1]} matrices"
        )
    return matrices(input, name, argument, **refusal)


def same_dtype(a: Tensor, b: Any, name: str, first: str = "A", second: str = "B") -> None:
    """Refuse matrices of two element types; without a name in the words of the older functions."""
    if require_tensor(b, name, second, 2).dtype is not a.dtype:
        raise DtypeError(
            f"{name}{': ' if name else ''}Expected {first} and {second} to have the same dtype, but found {first} of type "
            f"{a.dtype.scalar_type_name} and {second} of type {b.dtype.scalar_type_name} instead{'' if name else '.'}"
        )


def batched(name: str, bad: Any, tail: str, kind: Any = SingularError) -> None:
    """Raise for the first matrix of a stack that LAPACK's info (an integer array) says failed."""
    if type(bad) is not MetaArray:
        tracing.check(raise_info, name, np.asarray(bad), tail, kind)


def raise_info(name: str, bad: Any, tail: str, kind: Any = SingularError) -> None:
    """The same on arrays."""
    if not bad.any():
        return
    where = "" if bad.ndim == 0 else f"(Batch element {int(np.flatnonzero(bad.reshape(-1))[0])}): "
    info = int(bad.reshape(-1)[np.flatnonzero(bad.reshape(-1))[0]])
    raise kind(f"{name}: {where}{tail.format(info=info)}")


# ---- rules on arrays and Tensors --------------------------------------------------------------
def mH(F: Any, x: Any) -> Any:  # noqa: N802 (PyTorch's name of the conjugate transpose)
    """The conjugate transpose of each matrix."""
    return F.conj(x).mT


def diagonal(F: Any, x: Any) -> Any:
    """The main diagonals of a stack of matrices."""
    return F.diagonal(x, offset=0, dim1=x.ndim - 2, dim2=x.ndim - 1)


def diag(F: Any, x: Any) -> Any:
    """Diagonal matrices with the last dimension of `x` on them."""
    return F.diag_embed(x, offset=0, dim1=x.ndim - 1, dim2=x.ndim)


def tril(F: Any, x: Any, k: int = 0) -> Any:
    """Lower triangles."""
    return F.tril(x, diagonal=k)


def triu(F: Any, x: Any, k: int = 0) -> Any:
    """Upper triangles."""
    return F.triu(x, diagonal=k)


def column(x: Any) -> Any:
    """`(..., n)` as `(..., n, 1)`."""
    return x.reshape((*x.shape, 1))


def row(x: Any) -> Any:
    """`(..., n)` as `(..., 1, n)`."""
    return x.reshape((*x.shape[:-1], 1, x.shape[-1]))


def used(F: Any, g: Any) -> bool:
    """False for the zeros that stand for the gradient of a result that nothing was made from."""
    return bool(values(F, g).any()) or (not F.raw and g.requires_grad)


# ---- stacks of matrices through functions of one matrix ---------------------------------------
def loop(function: Callable[..., Any], *stacks: Any, core: int = 2) -> list[Any]:
    """`function` on each matrix of stacks with the same leading dimensions; the results stacked
    again.
    """
    lead = stacks[0].shape[: stacks[0].ndim - core]
    if not lead:
        made = function(*stacks)
        return [np.asarray(m) for m in made]
    flat = [
        s.reshape((-1, *s.shape[len(lead) :]))
        if s.size
        else s.reshape((int(np.prod(lead)), *s.shape[len(lead) :]))
        for s in stacks
    ]
    rows = [function(*each) for each in zip(*flat, strict=True)]
    if not rows:
        probe = function(*[np.zeros(s.shape[len(lead) :], s.dtype) for s in stacks])
        return [np.zeros((*lead, *np.shape(p)), np.asarray(p).dtype) for p in probe]
    return [
        np.stack([np.asarray(r[k]) for r in rows]).reshape((*lead, *np.shape(rows[0][k])))
        for k in range(len(rows[0]))
    ]


def by_columns(rule: Callable[..., Any], places: tuple[int, ...] = (0,)) -> Callable[..., Any]:
    """A forward rule whose results lie in memory as LAPACK writes them, column after column, and so
    do PyTorch's.

    Args:
        rule: it returns one array or several.
        places: which of several are matrices.
    """

    @functools.wraps(rule)
    def laid_out(*args: Any, **params: Any) -> Any:
        made = rule(*args, **params)
        if isinstance(made, tuple):
            return tuple(columns(m) if k in places else m for k, m in enumerate(made))
        return columns(made)

    return laid_out


def columns(x: Any) -> Any:
    """Matrices that lie in memory column after column."""
    return np.ascontiguousarray(x.mT).mT if type(x) is np.ndarray and x.ndim >= 2 else x


def lapack(names: str, *arrays: Any) -> Any:
    """SciPy's LAPACK functions for the arrays' element type, on as many threads as a matrix is
    worth.
    """
    from scipy.linalg import get_lapack_funcs

    return [
        kernels.matmul.blas.bounded(function)
        for function in get_lapack_funcs(names.split(), arrays)
    ]


def broadcast_batches(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Two stacks of matrices with their leading dimensions broadcast, recorded."""
    from ...core.primitive import TENSORS as F
    from ...shapes import broadcast_shapes

    lead = broadcast_shapes(a._array.shape[:-2], b._array.shape[:-2])
    out = []
    for t in (a, b):
        shape = (*lead, *t._array.shape[-2:])
        out.append(t if t._array.shape == shape else F.expand(t, shape=shape))
    return out[0], out[1]


def singular(x: Any, full: bool) -> tuple[Any, Any, Any]:
    """The singular value decomposition of matrices: of one with an infinity nothing is a number.

    LAPACK's iterations need not end where there are infinities.

    Raises:
        RuntimeError: there is a NaN.
    """
    finite = np.isfinite(x)
    if finite.all():
        return tuple(kernels.matmul.blas.linalg.svd(x, full_matrices=full))
    if np.isnan(x).any():
        raise SingularError(
            "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."
        )
    made = tuple(kernels.matmul.blas.linalg.svd(np.where(finite, x, 0), full_matrices=full))
    for part in made:
        part[~finite.all((-2, -1))] = np.nan
    return made
