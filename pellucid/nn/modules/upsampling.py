"""Resizing layers."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Resizes the spatial dimensions of (N, C, ...) by interpolation.

    Args:
        size: spatial sizes of the result, a number or a tuple; or
        scale_factor: factors of the sizes, a number or a tuple. Exactly one of the two is given.
        mode: "nearest", "linear" for (N, C, L), "bilinear" or "bicubic" for (N, C, H, W),
            "trilinear" for (N, C, D, H, W). Default: "nearest".
        align_corners: whether the centers of the corner elements, instead of their outer corners,
            are put in the same place. Not with "nearest". Default: None, which is False.
        recompute_scale_factor: whether to recompute the factor from the rounded sizes. Default:
            None, which is False.

    Shape:
        input: `(N, C, L)`, `(N, C, H, W)` or `(N, C, D, H, W)`.
        result: `(N, C, *size)`, where each size is `floor(size * scale_factor)` with
            `scale_factor`.

    Raises:
        ValueError: neither or both of `size` and `scale_factor`; `align_corners` with "nearest".
        NotImplementedError: a mode that does not go with the number of dimensions.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))
        tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        how = (
            f"scale_factor={self.scale_factor!r}"
            if self.scale_factor is not None
            else f"size={self.size!r}"
        )
        return f"{how}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resizes (N, C, H, W) by repeating the nearest elements: Upsample with mode "nearest".

    Args:
        size: spatial sizes of the result, a number or a tuple; or
        scale_factor: factors of the sizes, a number or a tuple. Exactly one of the two is given.

    Shape:
        input: `(N, C, H, W)`.
        result: `(N, C, *size)`.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.UpsamplingNearest2d(scale_factor=2)(torch.ones(1, 3, 4, 4)).shape
        torch.Size([1, 3, 8, 8])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resizes (N, C, H, W) by bilinear interpolation: Upsample with mode "bilinear" and
    align_corners=True.

    Args:
        size: spatial sizes of the result, a number or a tuple; or
        scale_factor: factors of the sizes, a number or a tuple. Exactly one of the two is given.

    Shape:
        input: `(N, C, H, W)`.
        result: `(N, C, *size)`.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.UpsamplingBilinear2d(size=(6, 5))(torch.ones(1, 3, 4, 4)).shape
        torch.Size([1, 3, 6, 5])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
