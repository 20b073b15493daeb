"""Check what may be assigned: gradients, and flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...arrays.meta import MetaArray
from ...errors import type_name


class TensorMeta(type):
    """The class of the classes of tensors: `torch.Tensor.relu = mine` is told to `told`, which
    whoever has to know of it sets.
    """

    told: Callable[[type, str, Any], None] | None = None

    def __setattr__(cls, name: str, value: Any) -> None:
        if TensorMeta.told is not None:
            TensorMeta.told(cls, name, value)
        super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        if TensorMeta.told is not None:
            TensorMeta.told(cls, name, None)
        super().__delattr__(name)


def check_grad(tensor: Any, grad: Any, tensors: Any) -> None:
    """Refuse what cannot be the gradient of a tensor."""
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
    """What may be assigned to `requires_grad`."""
    if type(value) is not bool:
        raise RuntimeError("requires_grad must be a bool")
    return value


def checked_mode(mode: Any) -> bool:
    """What grad mode may be set to."""
    if type_name(mode) not in ("bool", "numpy.bool"):
        raise TypeError(
            f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type_name(mode)}"
        )
    return bool(mode)
