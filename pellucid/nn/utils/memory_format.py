"""Convert convolution weights to another memory format."""

from __future__ import annotations

from typing import Any

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _converted(
    module: Any, memory_format: Any, ndims: tuple[int, ...], names: tuple[str, ...]
) -> Any:
    for each in module.modules():
        weight = each._parameters.get("weight")
        if weight is not None and weight.ndim in ndims and type(each).__name__.startswith(names):
            weight.data = weight.detach().clone().contiguous(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Put the weights of two-dimensional convolutions into a memory order; returns the module.

    >>> import pellucid as torch
    >>> conv = torch.nn.Conv2d(2, 3, 3)
    >>> conv = torch.nn.utils.convert_conv2d_weight_memory_format(conv, torch.channels_last)
    >>> conv.weight.is_contiguous(memory_format=torch.channels_last)
    True
    """
    return _converted(module, memory_format, (4,), ("Conv2d", "ConvTranspose2d"))


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Put the weights of three-dimensional convolutions into a memory order; returns the module.

    >>> import pellucid as torch
    >>> conv = torch.nn.Conv3d(2, 3, 3)
    >>> conv = torch.nn.utils.convert_conv3d_weight_memory_format(conv, torch.channels_last_3d)
    >>> conv.weight.is_contiguous(memory_format=torch.channels_last_3d)
    True
    """
    return _converted(module, memory_format, (5,), ("Conv3d", "ConvTranspose3d"))
