"""Helpers of the reductions: dimension numbers, NumPy's keyword names, and spreading gradients back
over the reduced dimensions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ... import dtypes
from ..._names import renamed
from ...arrays.native import HALVES
from ...core.primitive import TENSORS as F
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, UnsupportedError, type_name
from ...shapes import normalize_dim, reduce_dims
from .._rules import require_tensor

Dims = int | tuple[int, ...] | list[int] | None


def numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function taking NumPy's names (`axis=`, `keepdims=`) for its own as well, as PyTorch's
    do.
    """

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **renamed(function, kwargs))

    wrapper.positional = function  # type: ignore[attr-defined]
    return wrapper


def everyday_dim(x: Any, dim: Any) -> int:
    """The dimension, counted from 0, of a call that needs no closer look: real numbers, some of
    them, and an int in range; else -1.
    """
    if type(dim) is int and isinstance(x, Tensor):
        a = x._array
        kind = a.dtype
        if (kind.kind in "fiu" or kind in HALVES) and a.size and -a.ndim <= dim < a.ndim:
            return dim if dim >= 0 else dim + a.ndim
    return -1


def dims_of(dim: Any, ndim: int, name: str) -> Any:
    """The dimensions to reduce, counted from 0; None for all."""
    if dim is None:
        return None
    if type(dim) is int:
        return (normalize_dim(dim, ndim),) if ndim else (normalize_dim(dim, 0), ())[1]
    if isinstance(dim, bool) or not isinstance(dim, (int, tuple, list)):
        if isinstance(dim, str) or not hasattr(dim, "__index__"):
            raise ArgumentTypeError(
                f"{name}(): argument 'dim' must be tuple of ints, not {type_name(dim)}"
            )
        dim = dim.__index__()
    return reduce_dims(dim, ndim)


def listed(dim: Any) -> Any:
    """Dimensions as operators of aten take them: a list, or None for all."""
    return None if dim is None else [dim] if isinstance(dim, int) else list(dim)


def kept(shape: tuple[int, ...], dim: Any) -> tuple[int, ...]:
    """The shape after reducing `dim` (all for None) with `keepdim=True`."""
    if dim is None:
        return (1,) * len(shape)
    gone = dim if isinstance(dim, tuple) else (dim,)
    return tuple([1 if d in gone else n for d, n in enumerate(shape)])


def restore(x: Any, shape: tuple[int, ...], dim: Any, keepdim: bool) -> Any:
    """A reduction's result or gradient with the reduced dimensions back as 1, so that it
    broadcasts.
    """
    return x if keepdim or not shape else x.reshape(kept(shape, dim))


def spread(F: Any, g: Any, shape: tuple[int, ...], dim: Any, keepdim: bool) -> Any:
    """The gradient of a sum: the same for every element that was added."""
    if shape and not keepdim and dim is not None:
        g = g.reshape(kept(shape, dim))
    return F.expand(g, shape=shape)


def slope_tangent(F: Any, slope: Any, tangent: Any, dim: Any, keepdim: bool) -> Any:
    """The tangent of a real reduction with `slope` as the gradient of each result.

    For rules whose gradient is 0 by agreement somewhere: the transposed rule would divide by 0
    there.
    """
    product = F.conj(slope) * tangent
    product = F.real(product) if product._array.dtype.kind in "cW" else product
    return F.sum(
        product, dim=tuple(range(product._array.ndim)) if dim is None else dim, keepdim=keepdim
    )


def count(shape: tuple[int, ...], dim: Any) -> int:
    """How many elements make one result."""
    n = 1
    for d in range(len(shape)) if dim is None else (dim if isinstance(dim, tuple) else (dim,)):
        n *= shape[d] if shape else 1
    return n


def as_dtype(input: Tensor, dtype: Any, name: str) -> Tensor:
    """The tensor in the dtype that the caller asked a reduction to compute in."""
    if dtype is None:
        return input
    kind = dtypes.check_dtype(dtype, name)
    return input if kind is None or kind is input.dtype else F.cast(input, dtype=kind.numpy)


def to_float(input: Tensor) -> Tensor:
    """Integers and bools as the default float type."""
    kind = input.dtype
    return (
        input
        if kind.is_floating_point or kind.is_complex
        else F.cast(input, dtype=dtypes.get_default_dtype().numpy)
    )


def require_float(input: Any, name: str, complex_too: bool = True) -> Tensor:
    """The tensor, refused unless its elements are floating point (or complex)."""
    kind = require_tensor(input, name).dtype
    if not (kind.is_floating_point or (complex_too and kind.is_complex)):
        raise UnsupportedError(f"\"{name}\" not implemented for '{kind.scalar_type_name}'")
    return input
