"""Batches in parts for several devices (`torch.nn.parallel.scatter_gather`); on a CPU there is one
device.
"""

from __future__ import annotations

from typing import Any

from ...core.public import FUNCTIONS
from ...core.tensor import Tensor
from ...errors import UnsupportedError

__all__ = ["gather", "scatter", "scatter_kwargs"]


def _one(target_gpus: Any) -> None:
    if any(getattr(device, "type", device) not in ("cpu", -1) for device in target_gpus):
        raise UnsupportedError("torch.nn.parallel.scatter_gather: there are no devices but the CPU")


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> list[Any]:
    """A part of the inputs for each device; refused for devices that are not there."""
    _one(target_gpus)
    count = len(target_gpus)
    if isinstance(inputs, Tensor):
        return list(FUNCTIONS["torch"]["chunk"](inputs, count, dim))
    if isinstance(inputs, (tuple, list)) and inputs:
        return [
            type(inputs)(part)
            for part in zip(*[scatter(value, target_gpus, dim) for value in inputs], strict=True)
        ]
    if isinstance(inputs, dict) and inputs:
        parts = zip(*[scatter(value, target_gpus, dim) for value in inputs.values()], strict=True)
        return [type(inputs)(zip(inputs, part, strict=True)) for part in parts]
    return [inputs for _ in target_gpus]


def scatter_kwargs(inputs: Any, kwargs: Any, target_gpus: Any, dim: int = 0) -> tuple[Any, Any]:
    """`scatter` of positional and keyword arguments."""
    return tuple(scatter(inputs, target_gpus, dim)), tuple(scatter(kwargs or {}, target_gpus, dim))


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """The results of all devices together."""
    first = outputs[0]
    if isinstance(first, Tensor):
        return FUNCTIONS["torch"]["cat"](list(outputs), dim)
    if first is None:
        return None
    if isinstance(first, dict):
        return type(first)(
            (key, gather([part[key] for part in outputs], target_device, dim)) for key in first
        )
    return type(first)(
        [gather(column, target_device, dim) for column in zip(*outputs, strict=True)]
    )
