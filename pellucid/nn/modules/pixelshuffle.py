"""Layers that move channels into space and back, and shuffle channels."""

from __future__ import annotations

from ...core.tensor import Tensor
from ...errors import ArgumentValueError
from .. import functional as F
from .module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """Rearranges channels into pixels: (*, C r^2, H, W) to (*, C, H r, W r).

    Args:
        upscale_factor: the factor r of height and width.

    Shape:
        input: `(*, C * r * r, H, W)`.
        result: `(*, C, H * r, W * r)`.

    Raises:
        RuntimeError: r^2 does not divide the number of channels.

    Source: Shi et al., "Real-time single image and video super-resolution using an efficient
    sub-pixel CNN", 2016.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.PixelShuffle(3)(torch.ones(1, 9, 4, 4)).shape
        torch.Size([1, 1, 12, 12])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Rearranges pixels into channels: (*, C, H r, W r) to (*, C r^2, H, W); the inverse of
    PixelShuffle.

    Args:
        downscale_factor: the factor r by which height and width shrink.

    Shape:
        input: `(*, C, H * r, W * r)`.
        result: `(*, C * r * r, H, W)`.

    Raises:
        RuntimeError: r does not divide height or width.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.PixelUnshuffle(3)(torch.ones(1, 1, 12, 12)).shape
        torch.Size([1, 9, 4, 4])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Rearranges the channels of (N, C, *): splits them into `groups` and interleaves these.

    After a grouped convolution it lets the groups exchange what they know.

    Args:
        groups: number of groups, a divisor of C.

    Shape:
        input: `(N, C, *)`; the result has the same shape.

    Raises:
        ValueError: `groups` is not positive.
        RuntimeError: `groups` does not divide C.

    Source: Zhang et al., "ShuffleNet", 2018.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.ChannelShuffle(2)(torch.arange(4.0).reshape(1, 4, 1, 1)).flatten()
        tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        if groups <= 0:
            raise ArgumentValueError(
                f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
            )
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
