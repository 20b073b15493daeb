"""Helpers of views: sizes as arguments, strides in elements, and which tensors take the fast path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy import ndarray

from ...core.modes import state
from ...core.tensor import Parameter, Tensor
from ...errors import ArgumentTypeError
from .._rules import as_index


def sizes_of(args: Sequence[Any], name: str, argument: str = "size") -> tuple[int, ...]:
    """The sizes of a call `f(2, 3)` or `f((2, 3))`."""
    if len(args) == 1 and not isinstance(args[0], int):
        only = args[0]
        args = only if type(only) is tuple or isinstance(only, Sequence) else (only,)
    if type(args) is tuple and {int}.issuperset(map(type, args)):
        return args
    try:
        return tuple([as_index(size) for size in args])
    except TypeError:
        for position, size in enumerate(args):
            if not hasattr(size, "__index__"):
                raise ArgumentTypeError(
                    f"{name}(): argument '{argument}' (position 1) must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {position}"
                ) from None
        raise


def element_strides(a: Any) -> tuple[int, ...]:
    """Strides in elements."""
    size = a.dtype.itemsize
    return tuple([s // size for s in a.strides])


def is_fast(x: Any) -> bool:
    """True for a plain tensor with data when nobody watches."""
    kind = type(x)
    return (kind is Tensor or kind is Parameter) and not state.slow and type(x._array) is ndarray


def legacy_type(x: Tensor) -> str:
    """`torch.FloatTensor`, as older messages name types."""
    return f"torch.{x.dtype.scalar_type_name}Tensor"
