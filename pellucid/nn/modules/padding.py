"""Padding layers. A size is one number for all sides, or (left, right, top, bottom, ...) starting
with the last dimension; negative sizes crop.
"""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from ...errors import ArgumentValueError
from .. import functional as F
from ._naming import separate_initializers
from .module import Module
from .utils import _ntuple

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


@separate_initializers
class _Pad(Module):
    _dims = 0
    _mode = "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _CircularPadNd(_Pad):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        n = self._dims
        if input.ndim not in (n + 1, n + 2):
            raise ArgumentValueError(
                f"expected {n + 1}D or {n + 2}D input (got {input.ndim}D input)"
            )
        return super().forward(input)


class ConstantPad1d(_ConstantPadNd):
    """Pads the last dimension with a value.

    Args:
        padding: a number for all sides, or (left, right). Negative sizes crop.
        value: the value.

    Shape:
        input: any number of dimensions; each padded dimension grows by the padding of its two
            sides.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.ConstantPad1d(1, 0.5)(torch.tensor([[[1.0, 2.0, 3.0]]]))
        tensor([[[0.5000, 1.0000, 2.0000, 3.0000, 0.5000]]])
    """

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads the last two dimensions with a value.

    Args:
        padding: a number for all sides, or (left, right, top, bottom). Negative sizes crop.
        value: the value.

    Shape:
        input: any number of dimensions; each padded dimension grows by the padding of its two
            sides.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.ConstantPad2d(1, 0.5)(torch.ones(1, 2, 3, 3)).shape
        torch.Size([1, 2, 5, 5])
    """

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads the last three dimensions with a value.

    Args:
        padding: a number for all sides, or (left, right, top, bottom, front, back). Negative sizes
            crop.
        value: the value.

    Shape:
        input: any number of dimensions; each padded dimension grows by the padding of its two
            sides.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.ConstantPad3d(1, 0.5)(torch.ones(1, 2, 3, 3, 3)).shape
        torch.Size([1, 2, 5, 5, 5])
    """

    _dims = 3


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pads the last dimension with zeros.

    Args:
        padding: a number for all sides, or (left, right). Negative sizes crop.

    Shape:
        input: any number of dimensions; each padded dimension grows by the padding of its two
            sides.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.ZeroPad1d(1)(torch.tensor([[[1.0, 2.0, 3.0]]]))
        tensor([[[0., 1., 2., 3., 0.]]])
    """


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pads the last two dimensions with zeros.

    Args:
        padding: a number for all sides, or (left, right, top, bottom). Negative sizes crop.

    Shape:
        input: any number of dimensions; each padded dimension grows by the padding of its two
            sides.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.ZeroPad2d(1)(torch.ones(1, 2, 3, 3)).shape
        torch.Size([1, 2, 5, 5])
    """


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pads the last three dimensions with zeros.

    Args:
        padding: a number for all sides, or (left, right, top, bottom, front, back). Negative sizes
            crop.

    Shape:
        input: any number of dimensions; each padded dimension grows by the padding of its two
            sides.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.ZeroPad3d(1)(torch.ones(1, 2, 3, 3, 3)).shape
        torch.Size([1, 2, 5, 5, 5])
    """


class _ReflectionPadNd(_Pad):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Pads the last dimension with its mirror image; the edge itself is not repeated.

    Args:
        padding: a number for all sides, or (left, right). Each size is smaller than the dimension.

    Shape:
        input: `(N, C, L)` or `(C, L)`; each padded dimension grows by the padding of its two sides.

    Raises:
        NotImplementedError: a wrong number of dimensions.
        RuntimeError: a padding that is too large.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.ReflectionPad1d(1)(torch.tensor([[[1.0, 2.0, 3.0]]]))
        tensor([[[2., 1., 2., 3., 2.]]])
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pads the last two dimensions with their mirror images; the edges themselves are not repeated.

    Args:
        padding: a number for all sides, or (left, right, top, bottom). Each size is smaller than
            the dimension.

    Shape:
        input: `(N, C, H, W)` or `(C, H, W)`; each padded dimension grows by the padding of its two
            sides.

    Raises:
        NotImplementedError: a wrong number of dimensions.
        RuntimeError: a padding that is too large.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.ReflectionPad2d(1)(torch.ones(1, 2, 3, 3)).shape
        torch.Size([1, 2, 5, 5])
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pads the last three dimensions with their mirror images; the edges themselves are not
    repeated.

    Args:
        padding: a number for all sides, or (left, right, top, bottom, front, back). Each size is
            smaller than the dimension.

    Shape:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`; each padded dimension grows by the padding of
            its two sides.

    Raises:
        NotImplementedError: a wrong number of dimensions.
        RuntimeError: a padding that is too large.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.ReflectionPad3d(1)(torch.ones(1, 2, 3, 3, 3)).shape
        torch.Size([1, 2, 5, 5, 5])
    """

    _dims = 3


class _ReplicationPadNd(_Pad):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Pads the last dimension with its edge values.

    Args:
        padding: a number for all sides, or (left, right). Negative sizes crop.

    Shape:
        input: `(N, C, L)` or `(C, L)`; each padded dimension grows by the padding of its two sides.

    Raises:
        NotImplementedError: a wrong number of dimensions.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.ReplicationPad1d(1)(torch.tensor([[[1.0, 2.0, 3.0]]]))
        tensor([[[1., 1., 2., 3., 3.]]])
    """

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pads the last two dimensions with their edge values.

    Args:
        padding: a number for all sides, or (left, right, top, bottom). Negative sizes crop.

    Shape:
        input: `(N, C, H, W)` or `(C, H, W)`; each padded dimension grows by the padding of its two
            sides.

    Raises:
        NotImplementedError: a wrong number of dimensions.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.ReplicationPad2d(1)(torch.ones(1, 2, 3, 3)).shape
        torch.Size([1, 2, 5, 5])
    """

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pads the last three dimensions with their edge values.

    Args:
        padding: a number for all sides, or (left, right, top, bottom, front, back). Negative sizes
            crop.

    Shape:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`; each padded dimension grows by the padding of
            its two sides.

    Raises:
        NotImplementedError: a wrong number of dimensions.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.ReplicationPad3d(1)(torch.ones(1, 2, 3, 3, 3)).shape
        torch.Size([1, 2, 5, 5, 5])
    """

    _dims = 3


class CircularPad1d(_CircularPadNd):
    """Pads the last dimension circularly: with the elements of the other end.

    Args:
        padding: a number for all sides, or (left, right). No size exceeds the dimension.

    Shape:
        input: `(N, C, L)` or `(C, L)`; each padded dimension grows by the padding of its two sides.

    Raises:
        ValueError: a wrong number of dimensions.
        RuntimeError: a padding that is too large.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.CircularPad1d(1)(torch.tensor([[[1.0, 2.0, 3.0]]]))
        tensor([[[3., 1., 2., 3., 1.]]])
    """

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Pads the last two dimensions circularly: with the elements of the other end.

    Args:
        padding: a number for all sides, or (left, right, top, bottom). No size exceeds the
            dimension.

    Shape:
        input: `(N, C, H, W)` or `(C, H, W)`; each padded dimension grows by the padding of its two
            sides.

    Raises:
        ValueError: a wrong number of dimensions.
        RuntimeError: a padding that is too large.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.CircularPad2d(1)(torch.ones(1, 2, 3, 3)).shape
        torch.Size([1, 2, 5, 5])
    """

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Pads the last three dimensions circularly: with the elements of the other end.

    Args:
        padding: a number for all sides, or (left, right, top, bottom, front, back). No size exceeds
            the dimension.

    Shape:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`; each padded dimension grows by the padding of
            its two sides.

    Raises:
        ValueError: a wrong number of dimensions.
        RuntimeError: a padding that is too large.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.CircularPad3d(1)(torch.ones(1, 2, 3, 3, 3)).shape
        torch.Size([1, 2, 5, 5, 5])
    """

    _dims = 3
