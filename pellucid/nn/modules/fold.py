"""Extract sliding windows (Unfold) and sum them back (Fold)."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["Fold", "Unfold"]


class _Windows(Module):
    kernel_size: Any
    dilation: Any
    padding: Any
    stride: Any

    def _windows(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(_Windows):
    """Sums windows into the image that they are from; the adjoint of Unfold.

    Where windows overlap, their values are added: this is not the inverse of Unfold.

    Args:
        output_size: size of the image, a number or a pair (height, width).
        kernel_size: size of the windows, a number or a pair (height, width).
        dilation: distance between two elements of a window. Default: 1.
        padding: zeros on both sides of the image. Default: 0.
        stride: distance between two windows. Default: 1.

    Shape:
        input: `(N, C * KH * KW, L)` or `(C * KH * KW, L)`, with L the number of windows.
        result: `(N, C, *output_size)` or `(C, *output_size)`.

    Raises:
        RuntimeError: sizes that do not fit each other.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Fold(output_size=4, kernel_size=2)(torch.ones(1, 3 * 4, 9)).shape
        torch.Size([1, 3, 4, 4])
    """

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any,
        dilation: Any = 1,
        padding: Any = 0,
        stride: Any = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}, {self._windows()}"


class Unfold(_Windows):
    """Extracts the sliding windows of an image (N, C, H, W) as columns (N, C * KH * KW, L).

    A convolution is a matrix product with these columns.

    Args:
        kernel_size: size of the windows, a number or a pair (height, width).
        dilation: distance between two elements of a window. Default: 1.
        padding: zeros on both sides of the image. Default: 0.
        stride: distance between two windows. Default: 1.

    Shape:
        input: `(N, C, H, W)` or `(C, H, W)`.
        result: `(N, C * KH * KW, L)` or `(C * KH * KW, L)`, where L is the number of positions: the
            product over both dimensions of `floor((size + 2 * padding - dilation * (kernel_size -
            1) - 1) / stride) + 1`.

    Raises:
        RuntimeError: an image smaller than the window.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Unfold(kernel_size=2)(torch.ones(1, 3, 4, 4)).shape
        torch.Size([1, 12, 9])
    """

    def __init__(
        self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return self._windows()
