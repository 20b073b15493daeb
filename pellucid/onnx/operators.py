"""`torch.onnx.operators`."""

from __future__ import annotations

from .._checks import _shape_as_tensor
from ..core.public import METHODS
from ..core.tensor import Tensor


def shape_as_tensor(x: Tensor) -> Tensor:
    """The shape as a tensor of int64.

    >>> import pellucid as torch
    >>> shape_as_tensor(torch.ones(2, 3))
    tensor([2, 3])
    """
    return _shape_as_tensor(x)


def reshape_from_tensor_shape(x: Tensor, shape: Tensor) -> Tensor:
    """`x` in the shape that a tensor holds."""
    return METHODS["reshape"](x, [int(n) for n in shape.tolist()])
