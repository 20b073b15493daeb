"""Channels moved into space and back, and channels shuffled."""

from __future__ import annotations

from ...core.tensor import Tensor
from ...errors import ArgumentValueError
from .. import functional as F
from .module import Module


class PixelShuffle(Module):
    """Rearranges channels into pixels: (*, C r^2, H, W) to (*, C, H r, W r).

    Source: Shi et al., "Real-time single image and video super-resolution using an efficient sub-pixel CNN", 2016.
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Rearranges pixels into channels: (*, C, H r, W r) to (*, C r^2, H, W)."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Rearranges the channels of (N, C, *): splits them into `groups` and interleaves these."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        if groups <= 0:
            raise ArgumentValueError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
