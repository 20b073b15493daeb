"""Image transforms in the style of torchvision: each is called with an image and returns one.

Images are tensors `(..., height, width)`, or NumPy arrays `(height, width)` or `(height, width,
channels)`. A transform returns the type it was given, except for `ToTensor`. Random transforms draw
the same numbers from the default generator as torchvision's, so a seed gives the same crops and
flips.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.public import FUNCTIONS
from ..core.tensor import Tensor
from ..nn import functional as F

__all__ = [
    "CenterCrop",
    "Compose",
    "ConvertImageDtype",
    "Lambda",
    "Normalize",
    "Pad",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomVerticalFlip",
    "Resize",
    "ToTensor",
]

_PAD_MODES = {"constant": "constant", "edge": "replicate", "reflect": "reflect"}


def _as_tensor(picture: Any) -> Tensor:
    """Channels first, whatever it was."""
    if isinstance(picture, Tensor):
        return picture
    if not isinstance(picture, np.ndarray) or picture.ndim not in (2, 3):
        kind = (
            f"an array of {picture.ndim} dimensions"
            if isinstance(picture, np.ndarray)
            else str(type(picture))
        )
        raise TypeError(f"a picture is a tensor, or an array of 2 or 3 dimensions, not {kind}")
    planes = picture[None] if picture.ndim == 2 else picture.transpose(2, 0, 1)
    return FUNCTIONS["torch"]["from_numpy"](np.ascontiguousarray(planes))


def _like(result: Tensor, picture: Any) -> Any:
    """A tensor back in the picture's own form."""
    if isinstance(picture, Tensor):
        return result
    planes = result.numpy()
    return planes[0] if picture.ndim == 2 else np.ascontiguousarray(planes.transpose(1, 2, 0))


def _draw(low: int, high: int) -> int:
    return int(FUNCTIONS["torch"]["randint"](low, high, (1,)).item())


def _chance(p: float) -> bool:
    return bool(FUNCTIONS["torch"]["rand"](1).item() < p)


class _Shown:
    """Prints as its class and attributes."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in vars(self).items() if not k.startswith('_'))})"


class Compose:
    """One transform after the other.

    Example:
        >>> import pellucid as torch
        >>> t = Compose([ToTensor(), Normalize((0.5,), (0.5,))])
        >>> t(np.full((2, 2), 255, np.uint8))
        tensor([[[1., 1.],
                 [1., 1.]]])
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, picture: Any) -> Any:
        for transform in self.transforms:
            picture = transform(picture)
        return picture

    def __repr__(self) -> str:
        return "\n".join(["Compose(", *(f"    {transform}" for transform in self.transforms), ")"])


class ToTensor(_Shown):
    """An array as a tensor `(channels, height, width)`; uint8 becomes float32 in [0, 1]. A tensor
    stays as it is.
    """

    def __call__(self, picture: Any) -> Tensor:
        if isinstance(picture, Tensor):
            return picture
        planes = _as_tensor(picture)
        return planes.to(dtypes.float32).div(255) if planes.dtype == dtypes.uint8 else planes


class ConvertImageDtype(_Shown):
    """A tensor in another element type: floats hold [0, 1], uint8 holds 0 to 255."""

    def __init__(self, dtype: dtypes.dtype = dtypes.float32) -> None:
        if not (dtype.is_floating_point or dtype == dtypes.uint8):
            raise TypeError(f"pictures are floating point or uint8, not {dtype}")
        self.dtype = dtype

    def __call__(self, picture: Tensor) -> Tensor:
        if picture.dtype == self.dtype:
            return picture
        if picture.dtype == dtypes.uint8:
            return picture.to(self.dtype) / 255
        if self.dtype == dtypes.uint8:
            return (picture * (256 - 1e-3)).to(dtypes.uint8)
        return picture.to(self.dtype)


class Normalize(_Shown):
    """`(picture - mean) / std`, channel by channel, of a floating-point tensor."""

    def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def __call__(self, tensor: Tensor) -> Tensor:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"img should be Tensor Image. Got {type(tensor)}")
        if not tensor.is_floating_point():
            raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
        if tensor.dim() < 3:
            raise ValueError(
                f"Expected tensor to be a tensor image of size (..., C, H, W). Got tensor.size() = {tensor.size()}"
            )
        as_tensor = FUNCTIONS["torch"]["as_tensor"]
        mean, std = (as_tensor(value, dtype=tensor.dtype) for value in (self.mean, self.std))
        if (std == 0).any().item():
            raise ValueError(
                f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero."
            )
        mean, std = (t.view(-1, 1, 1) if t.dim() == 1 else t for t in (mean, std))
        return (tensor if self.inplace else tensor.clone()).sub_(mean).div_(std)


class Lambda(_Shown):
    """Any function as a transform."""

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, picture: Any) -> Any:
        return self.lambd(picture)


class RandomHorizontalFlip(_Shown):
    """Left to right with probability `p`; draws one `rand(1)`."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def __call__(self, picture: Any) -> Any:
        return _like(_as_tensor(picture).flip(-1), picture) if _chance(self.p) else picture


class RandomVerticalFlip(_Shown):
    """Upside down with probability `p`; draws one `rand(1)`."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def __call__(self, picture: Any) -> Any:
        return _like(_as_tensor(picture).flip(-2), picture) if _chance(self.p) else picture


class Pad(_Shown):
    """Add a border.

    Args:
        padding: pixels for all sides, for (left and right, top and bottom), or for (left, top,
            right, bottom).
        fill: value of a constant border.
        padding_mode: "constant", "edge" (repeat the outermost) or "reflect" (mirror, without the
            outermost).
    """

    def __init__(
        self, padding: int | Sequence[int], fill: float = 0, padding_mode: str = "constant"
    ) -> None:
        sides = (padding,) if isinstance(padding, int) else tuple(padding)
        if len(sides) not in (1, 2, 4):
            raise ValueError(
                f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(sides)} element tuple"
            )
        if padding_mode not in _PAD_MODES:
            raise ValueError(
                f"padding_mode is one of {', '.join(_PAD_MODES)}, not {padding_mode!r}"
            )
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def __call__(self, picture: Any) -> Any:
        sides = (self.padding,) if isinstance(self.padding, int) else tuple(self.padding)
        left, top, right, bottom = sides if len(sides) == 4 else (sides * 4)[:4]
        return _padded(picture, (left, right, top, bottom), self.fill, self.padding_mode)


def _padded(picture: Any, sides: tuple[int, int, int, int], fill: float, mode: str) -> Any:
    planes = _as_tensor(picture)
    if mode == "constant":
        return _like(F.pad(planes, sides, value=fill), picture)
    batch = planes.reshape(-1, 1, *planes.shape[-2:])
    # exact for the integers of pictures
    whole = batch if batch.is_floating_point() else batch.to(dtypes.float64)
    padded = F.pad(whole, sides, mode=_PAD_MODES[mode]).to(planes.dtype)
    return _like(padded.reshape(*planes.shape[:-2], *padded.shape[-2:]), picture)


def _size(size: int | Sequence[int]) -> tuple[int, int]:
    sizes = (size, size) if isinstance(size, int) else tuple(size)
    if len(sizes) == 1:
        sizes *= 2
    if len(sizes) != 2:
        raise ValueError("Please provide only two dimensions (h, w) for size.")
    return sizes


class RandomCrop(_Shown):
    """Cut out a part at a random place, after an optional border; draws `randint` for the row, then
    for the column.

    Args:
        size: height and width, or one number for both.
        padding, fill, padding_mode: a border as in `Pad`.
        pad_if_needed: widen pictures that are smaller than the crop.

    Raises:
        ValueError: when the picture is smaller than the crop.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: float = 0,
        padding_mode: str = "constant",
    ) -> None:
        self.size = _size(size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    def __call__(self, picture: Any) -> Any:
        planes = _as_tensor(picture)
        if self.padding is not None:
            planes = Pad(self.padding, self.fill, self.padding_mode)(planes)
        rows, columns = self.size
        if self.pad_if_needed and planes.shape[-1] < columns:
            planes = Pad((columns - planes.shape[-1], 0), self.fill, self.padding_mode)(planes)
        if self.pad_if_needed and planes.shape[-2] < rows:
            planes = Pad((0, rows - planes.shape[-2]), self.fill, self.padding_mode)(planes)
        height, width = planes.shape[-2:]
        if height < rows or width < columns:
            raise ValueError(
                f"Required crop size {(rows, columns)} is larger than input image size {(height, width)}"
            )
        top = left = 0
        if (height, width) != (rows, columns):
            top = _draw(0, height - rows + 1)
            left = _draw(0, width - columns + 1)
        return _like(planes[..., top : top + rows, left : left + columns], picture)


class CenterCrop(_Shown):
    """Cut out the middle; a smaller picture is first widened with zeros."""

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = _size(size)

    def __call__(self, picture: Any) -> Any:
        planes = _as_tensor(picture)
        rows, columns = self.size
        below, beside = max(rows - planes.shape[-2], 0), max(columns - planes.shape[-1], 0)
        if below or beside:
            sides = (beside // 2, (beside + 1) // 2, below // 2, (below + 1) // 2)
            planes = _padded(planes, sides, 0, "constant")
        top = round((planes.shape[-2] - rows) / 2.0)
        left = round((planes.shape[-1] - columns) / 2.0)
        return _like(planes[..., top : top + rows, left : left + columns], picture)


class Resize(_Shown):
    """Scale to a size through `nn.functional.interpolate`.

    Args:
        size: (height, width), or one number for the shorter side, the other one following.
        interpolation: "bilinear", "bicubic" or "nearest".
        max_size: limit for the longer side when `size` is one number.
        antialias: average over all pixels that fall together; ignored for "nearest".
    """

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: str = "bilinear",
        max_size: int | None = None,
        antialias: bool = True,
    ) -> None:
        if interpolation not in ("bilinear", "bicubic", "nearest"):
            raise ValueError(
                f"interpolation is bilinear, bicubic or nearest, not {interpolation!r}"
            )
        if max_size is not None and not isinstance(size, int):
            raise ValueError("max_size needs a size that is one number")
        self.size = size
        self.interpolation = interpolation
        self.max_size = max_size
        self.antialias = antialias

    def _target(self, height: int, width: int) -> tuple[int, int]:
        if not isinstance(self.size, int):
            return _size(self.size)
        short, long = min(height, width), max(height, width)
        new_short, new_long = self.size, int(self.size * long / short)
        if self.max_size is not None and new_long > self.max_size:
            new_short, new_long = int(self.max_size * new_short / new_long), self.max_size
        return (new_short, new_long) if height <= width else (new_long, new_short)

    def __call__(self, picture: Any) -> Any:
        planes = _as_tensor(picture)
        target = self._target(*planes.shape[-2:])
        if target == tuple(planes.shape[-2:]):
            return picture
        batch = planes.reshape(-1, 1, *planes.shape[-2:])
        whole = batch if batch.is_floating_point() else batch.to(dtypes.float32)
        if self.interpolation == "nearest":
            scaled = F.interpolate(whole, target, mode="nearest")
        else:
            scaled = F.interpolate(
                whole,
                target,
                mode=self.interpolation,
                align_corners=False,
                antialias=self.antialias,
            )
        if not planes.is_floating_point():
            limits = dtypes.iinfo(planes.dtype)
            scaled = scaled.round().clamp(limits.min, limits.max).to(planes.dtype)
        return _like(scaled.reshape(*planes.shape[:-2], *target), picture)
