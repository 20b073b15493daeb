"""`torch._check`, `torch._assert` and related small functions that models call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .core.tensor import Tensor, make_tensor
from .errors import ArgumentTypeError


def _message(message: Any, default: str) -> str:
    if message is None:
        return default
    return str(message() if callable(message) else message)


def _check_with(error: type[Exception], cond: Any, message: Any = None) -> None:
    """Raise `error` unless the condition holds.

    Raises:
        TypeError: the condition is not a bool.
    """
    if not isinstance(cond, bool):
        raise ArgumentTypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        raise error(
            _message(
                message,
                "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
                "enhancement request to PyTorch.)",
            )
        )


def _check(cond: Any, message: Callable[[], Any] | str | None = None) -> None:
    """Raise RuntimeError unless the condition, a bool, holds.

    >>> _check(2 > 1, lambda: "never asked for")
    """
    _check_with(RuntimeError, cond, message)


def _check_is_size(i: Any, message: Any = None, *, max: Any = None) -> None:
    """Raise RuntimeError for a number that is no size."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_index(cond: Any, message: Any = None) -> None:
    """`_check` with IndexError."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Any = None) -> None:
    """`_check` with ValueError."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Any = None) -> None:
    """`_check` with TypeError."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Any = None) -> None:
    """`_check` with NotImplementedError."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all_with(error: type[Exception], cond: Any, message: Any = None) -> None:
    """Raise `error` unless all elements of a tensor of truth values hold."""
    if not isinstance(cond, Tensor):
        raise ArgumentTypeError(f"cond must be a tensor, but got {type(cond)}")
    if str(cond.dtype) != "torch.bool":
        raise ArgumentTypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error, bool(cond.all().item()), message)


def _check_tensor_all(cond: Any, message: Any = None) -> None:
    """Raise RuntimeError unless all elements of a tensor of truth values hold."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert(condition: Any, message: Any = "") -> None:
    """`assert condition, message`, which stays with `python -O`."""
    if not condition:
        raise AssertionError(message)


def _assert_async(condition: Tensor, assert_msg: str | None = None) -> None:
    """Raise RuntimeError unless the one element of a tensor is not zero."""
    if condition.numel() != 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    if not condition.item():
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _shape_as_tensor(self: Tensor) -> Tensor:
    """The shape as a tensor of int64.

    >>> import pellucid as torch
    >>> torch._shape_as_tensor(torch.ones(2, 3))
    tensor([2, 3])
    """

    return make_tensor(np.array(self.shape, np.int64))


def _cast(name: str) -> Callable[..., Tensor]:
    def cast(input: Tensor, non_blocking: bool = False) -> Tensor:
        made: Tensor = getattr(input, name)()
        return made

    cast.__doc__ = f"The elements as `Tensor.{name}` gives them; an older name."
    return cast


(
    _cast_Byte,
    _cast_Char,
    _cast_Short,
    _cast_Int,
    _cast_Long,
    _cast_Half,
    _cast_Float,
    _cast_Double,
) = map(_cast, ("byte", "char", "short", "int", "long", "half", "float", "double"))


def set_vital(*args: Any) -> bool:
    """False: PyTorch's figures about its own use are not kept."""
    return False
