"""What the masked functions share: the mask in the input's shape, and the value that changes no
result.
"""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..api.messages.first import refused
from ..core.tensor import Tensor
from ..errors import ArgumentTypeError, DimensionError, UnsupportedError
from ..ops._rules import asked_for
from ..ops.pointwise.compare import where
from ..ops.shape.broadcast import broadcast_to
from ..shapes import reduce_dims

Dims = int | tuple[int, ...] | list[int] | None


def require(value: Any, function: str, name: str = "input") -> Tensor:
    """The tensor, or PyTorch's error: of an input that has no dtype or layout, else one that names
    the argument.
    """
    if not isinstance(value, Tensor):
        error = (
            refused(f"masked.{function}", name, value, type(value).__name__)
            if name == "input"
            else None
        )
        if error is not None:
            raise error
        raise ArgumentTypeError(
            f"{function}(): argument '{name}' must be Tensor, not {type(value).__name__}"
        )
    return value


def all_dims(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The dimensions to reduce, sorted; all of them for None and for an empty tuple.

    Raises:
        IndexError: out of range. RuntimeError: named twice.
    """
    return tuple(range(ndim)) if dim is None or dim == () else tuple(sorted(reduce_dims(dim, ndim)))


def one_dim(dim: Any, ndim: int) -> int:
    """The one dimension that a function works along."""
    return all_dims(dim, max(ndim, 1))[0]


def input_mask(input: Tensor, mask: Tensor) -> Tensor:
    """The mask as bools in the input's shape.

    Raises:
        IndexError: the mask has more dimensions than the input. RuntimeError: it does not broadcast
            to the input's shape.
    """
    asked_for("shape", mask)
    if mask.shape != input.shape:
        if mask.ndim > input.ndim:
            raise DimensionError(
                "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
            )
        mask = broadcast_to(mask, input.shape)
    # a copy: the gradient does not read what is written to the mask later
    return mask.to(dtypes.bool_, copy=True)


def _limit(kind: dtypes.dtype, sign: int) -> float | None:
    if kind.is_floating_point:
        return sign * math.inf
    if kind.category == dtypes.INTEGER and (kind.is_signed or kind is dtypes.uint8):
        return dtypes.iinfo(kind).max if sign > 0 else dtypes.iinfo(kind).min
    return None


def identity(function: str, kind: dtypes.dtype, ord: float | None = None) -> Any:
    """The value that a reduction ignores.

    Raises:
        NotImplementedError: there is none in this dtype.
    """
    value: Any = None
    if function in ("sum", "cumsum", "normalize"):
        value = 0
    elif function in ("prod", "cumprod"):
        value = 1
    elif function in ("amin", "argmin"):
        value = _limit(kind, 1)
    elif function in ("amax", "argmax", "logaddexp", "logsumexp"):
        value = (
            complex(-math.inf, 0)
            if kind.is_complex and function == "logsumexp"
            else _limit(kind, -1)
        )
    elif function == "norm":
        value = math.inf if ord == -math.inf else 0
    elif function == "median":
        value = math.nan
    if value is None:
        raise UnsupportedError(f"identity of {function} on {kind} input")
    return value


def combine(function: str, input: Tensor, mask: Tensor | None, ord: float | None = None) -> Tensor:
    """The input with the value that `function` ignores where the mask is False."""
    if mask is None:
        return input
    fill = input.new_full((), identity(function, input.dtype, ord))
    return where(input_mask(input, mask), input, fill)
