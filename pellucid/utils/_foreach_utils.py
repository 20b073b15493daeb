"""How optimizers of PyTorch and of other libraries group tensors for `torch._foreach_*`."""

from __future__ import annotations

from typing import Any, TypeAlias

from .. import devices
from .._foreach import (
    _get_foreach_kernels_supported_devices as _get_foreach_kernels_supported_devices,
)
from .._foreach import (
    _get_fused_kernels_supported_devices as _get_fused_kernels_supported_devices,
)
from .._foreach import (
    _group_tensors_by_device_and_dtype as _group_tensors_by_device_and_dtype,
)
from ..core.tensor import Tensor

TensorListList: TypeAlias = list[list[Tensor | None]]
Indices: TypeAlias = list[int]
_foreach_supported_types: list[Any] = [Tensor]


def _device_has_foreach_support(device: devices.device) -> bool:
    """Whether lists of tensors can be updated on the device."""
    return device.type in [*_get_foreach_kernels_supported_devices(), "cpu"]


def _has_foreach_support(tensors: list[Tensor | None], device: devices.device) -> bool:
    """Whether the tensors, of which some may be None, can be updated as a list."""
    return _device_has_foreach_support(device) and all(
        x is None or type(x) in _foreach_supported_types for x in tensors
    )
