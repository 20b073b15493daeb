"""The linear algebra of the array API standard over tensors: `xp.linalg`.

Source: the array API standard, version 2024.12, extension "linalg".
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, cast

from ...core.public import FUNCTIONS, METHODS
from ...core.tensor import Tensor
from .elementwise import accumulated, together

_T: dict[str, Any] = FUNCTIONS["torch"]
_L: dict[str, Any] = FUNCTIONS["linalg"]

# Functions whose name, arguments and meaning are the standard's already.
SAME = ("cholesky", "det", "eigh", "eigvalsh", "inv", "matrix_power", "qr", "slogdet", "svdvals")


def __getattr__(name: str) -> Any:
    if name in SAME:
        return _L[name]
    raise AttributeError(f"the array namespace's linalg has no function {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *SAME})


class SVD(NamedTuple):
    """What `svd` returns."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVD:
    """Singular value decompositions `U diag(S) Vh` of a stack of matrices."""
    return SVD(*_L["svd"](x, full_matrices=full_matrices))


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Cross products of vectors of three elements along an axis."""
    result: Tensor = _L["cross"](*_T["broadcast_tensors"](*together(x1, x2)), dim=axis)
    return result


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """Diagonals of the matrices in the last two axes."""
    result: Tensor = METHODS["diagonal"](x, offset, -2, -1)
    return result


def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """Sums of the diagonals of the matrices in the last two axes; integers are added in int64
    (unsigned ones in uint64).
    """
    result: Tensor = METHODS["sum"](diagonal(x, offset=offset), -1, dtype=accumulated(x, dtype))
    return result


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Norms of the matrices in the last two axes."""
    result: Tensor = _L["matrix_norm"](x, ord, (-2, -1), keepdims)
    return result


def vector_norm(x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """Norms of vectors along axes (None: of all elements)."""
    if axis == ():  # of every element by itself
        flat = _L["vector_norm"](x.unsqueeze(-1), ord, -1)
        return flat
    result: Tensor = _L["vector_norm"](x, ord, axis, keepdims)
    return result


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """Ranks of a stack of matrices: how many singular values exceed `rtol` times the largest."""
    result: Tensor = _L["matrix_rank"](x, rtol=rtol)
    return result


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """Pseudo-inverses of a stack of matrices."""
    result: Tensor = _L["pinv"](x, rtol=rtol)
    return result


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Products of stacks of matrices."""
    result: Tensor = _T["matmul"](*together(x1, x2))
    return result


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """All products of an element of one vector and an element of the other."""
    result: Tensor = _T["outer"](*together(x1, x2))
    return result


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The solution of `x1 @ x = x2`. A right side of one axis is a vector; one of more is a stack
    of matrices.
    """
    x1, x2 = together(x1, x2)
    if x2.ndim == 1:
        return _L["solve"](x1, x2.unsqueeze(-1)).squeeze(-1)
    batch = _T["broadcast_shapes"](x1.shape[:-2], x2.shape[:-2])
    if math.prod(batch) and x2.ndim == x1.ndim - 1:  # PyTorch takes this for a stack of vectors
        x2 = METHODS["expand"](x2, (*batch, *x2.shape[-2:]))
    result: Tensor = _L["solve"](x1, x2)
    return result


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged."""
    result: Tensor = METHODS["transpose"](x, -2, -1)
    return result


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """Products summed over axes: over so many last and first ones, or over those that are named in
    two sequences.
    """
    result: Tensor = _T["tensordot"](*together(x1, x2), dims=axes)
    return result


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Sum of conj(x1) * x2 along an axis, whose sizes have to be equal.

    Raises:
        ValueError: they are not.
    """
    n = max(x1.ndim, x2.ndim)
    sizes = [((1,) * (n - x.ndim) + tuple(x.shape))[axis : axis + 1 or None] for x in (x1, x2)]
    if sizes[0] != sizes[1]:  # PyTorch repeats the one element
        raise ValueError(f"x1 and x2 have sizes {sizes[0][0]} and {sizes[1][0]} along the axis")
    x1, x2 = together(x1, x2)
    if x1.is_floating_point() or x1.is_complex():
        return cast(Tensor, _L["vecdot"](x1, x2, dim=axis))
    return cast(Tensor, METHODS["sum"](x1 * x2, axis, dtype=x1.dtype))
