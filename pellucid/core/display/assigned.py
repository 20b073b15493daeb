"""Checks for assignments to tensors and tensor classes: gradients, flags and methods."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any

from numpy import ndarray

from ...arrays.meta import MetaArray
from ...errors import type_name


class TensorMeta(type):
    """The metaclass of tensor classes. It passes each assignment to a class (`torch.Tensor.relu =
    mine`) to the function `told`, if one is set. The class `sealed` stores replaced methods as
    `ReplacedMethod`, so that the library itself keeps calling its own.
    """

    told: Callable[[type, str, Any], None] | None = None
    sealed: type | None = None

    def __setattr__(cls, name: str, value: Any) -> None:
        if cls is TensorMeta.sealed:
            old = vars(cls).get(name)
            own = old.own if isinstance(old, ReplacedMethod) else old
            known = isinstance(own, (FunctionType, property)) and name not in _SHOWN
            if known and value is not own and not isinstance(value, ReplacedMethod):
                writes = hasattr(type(value), "__set__") or hasattr(type(value), "__delete__")
                place(cls, name, (ReplacedProperty if writes else ReplacedMethod)(own, value))
                return
        place(cls, name, value)

    def __delattr__(cls, name: str) -> None:
        if TensorMeta.told is not None:
            TensorMeta.told(cls, name, None)
        super().__delattr__(name)


def place(cls: type, name: str, value: Any) -> None:
    """Set an attribute of a tensor class for all callers, including the library's own code."""
    if TensorMeta.told is not None:
        TensorMeta.told(cls, name, value)
    type.__setattr__(cls, name, value)


# replacements of these methods apply to the library's own code as well
_SHOWN = frozenset({"__format__", "__repr__", "__str__"})
# packages whose counterpart in PyTorch is written in C++, and those that watch programs
_INNER = tuple(
    f"{__name__.partition('.')[0]}.{part}."
    for part in (
        "_foreach api arrays aten check compiler core debug devices dtypes interop kernels nested ops "
        "quantized shapes sparse"
    ).split()
)


def _inside(frame: FrameType) -> bool:
    """Whether the caller is library code whose counterpart in PyTorch is written in C++."""
    return f"{frame.f_globals.get('__name__')}.".startswith(_INNER)


class ReplacedMethod:
    """A method of tensors that a program has replaced (`torch.Tensor.sum = mine`). PyTorch's C++
    code never looks methods up, so the library's own code keeps finding the original. All other
    code finds the replacement.
    """

    def __init__(self, own: Any, others: Any) -> None:
        self.own = own
        self.others = others

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.others(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.others, name)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        value = self.own if _inside(sys._getframe(1)) else self.others
        bind = getattr(type(value), "__get__", None)
        return value if bind is None else bind(value, instance, owner)


class ReplacedProperty(ReplacedMethod):
    """A replaced attribute that supports assignment."""

    def __set__(self, instance: Any, value: Any) -> None:
        found: Any = self.own if _inside(sys._getframe(1)) else self.others
        found.__set__(instance, value)

    def __delete__(self, instance: Any) -> None:
        found: Any = self.own if _inside(sys._getframe(1)) else self.others
        found.__delete__(instance)


def check_data(tensor: Any, data: Any, tensors: Any) -> None:
    """Raise PyTorch's error if a tensor cannot take over another's memory: one that is kept in
    another way.
    """
    if not isinstance(data, tensors):
        raise TypeError(f"Variable data has to be a tensor, but got {type_name(data)}")
    alike = type(tensor._array) is ndarray is type(data._array)
    if not alike and (tensor.layout != data.layout or tensor.is_meta != data.is_meta):
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type."
        )
    if tensor._rg and data._array.dtype.kind not in "fcVW":
        raise RuntimeError(
            "data set to a tensor that requires gradients must be floating point or complex dtype"
        )


def check_grad(tensor: Any, grad: Any, tensors: Any) -> None:
    """Raise PyTorch's error if `grad` cannot be the gradient of a tensor."""
    if not isinstance(grad, tensors):
        raise TypeError(
            f"assigned grad expected to be a Tensor or None but got grad of type {type_name(grad)}"
        )
    if grad is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    wanted = (tensor._x or {}).get("grad_dtype", tensor.dtype)
    if wanted is not None and grad.dtype is not wanted:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{grad.dtype.c_name}' to a tensor with grad_dtype "
            f"'{wanted.scalar_type_name}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You "
            "can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set grad_dtype with caution. "
            "Diverging the dtypes of a tensor and its gradient may break downstream systems that assume they match."
        )
    if grad._array.shape != tensor._array.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(grad._array.shape)}' to a tensor of size '{list(tensor._array.shape)}'. "
            "Please ensure that the gradient and the tensor are the same size"
        )
    if (type(grad._array) is MetaArray) is not (type(tensor._array) is MetaArray):
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{grad.device.type}' to a tensor with device type "
            f"'{tensor.device.type}'. Please ensure that the gradient and the tensor are on the same device"
        )


def checked_flag(value: Any) -> bool:
    """The value, if it may be assigned to `requires_grad`; otherwise PyTorch's error."""
    if type(value) is not bool:
        raise RuntimeError("requires_grad must be a bool")
    return value


def checked_mode(mode: Any) -> bool:
    """The value, if grad mode may be set to it; otherwise PyTorch's error."""
    if type_name(mode) not in ("bool", "numpy.bool"):
        raise TypeError(
            f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type_name(mode)}"
        )
    return bool(mode)
