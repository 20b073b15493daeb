"""Padding, and shuffles between channels and pixels."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes, shapes
from ...core.bind import wrap
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import public
from ...core.tape import titled
from ...core.tensor import Tensor, make_tensor
from ...core.tracing import constant
from ...core.transforms.arranging import by_steps
from ...core.transforms.whole import in_one_node
from ...errors import ArgumentTypeError, OperationError, ShapeError, UnsupportedError, type_name
from .._few import Few
from .._format import in_format
from .._numbers import number_array
from .._rules import as_index, at_full_precision, is_direct, is_plain, require_tensor
from .._samples import cases
from .parts import narrow
from .transpose import permute
from .view import reshape


# ---- constants -------------------------------------------------------------------------------
def _sides(pad: Sequence[int], ndim: int) -> list[tuple[int, int]]:
    """Return (before, after) for each dimension; `pad` begins with the last one."""
    sides = [(0, 0)] * ndim
    for k in range(len(pad) // 2):
        sides[ndim - 1 - k] = (pad[2 * k], pad[2 * k + 1])
    return sides


def _pad(xp: Any, x: Any, *, pad: tuple[int, ...], value: Any) -> Any:
    sides = _sides(pad, x.ndim)
    inner = x
    if min(pad, default=0) < 0:
        inner = x[tuple([slice(max(0, -a), n - max(0, -b)) for n, (a, b) in zip(x.shape, sides)])]
    shape = tuple([n + a + b for n, (a, b) in zip(x.shape, sides)])
    plain = type(value) is float and not value and math.copysign(1.0, value) > 0
    out = xp.zeros(shape, x.dtype) if plain else xp.full(shape, value, x.dtype)
    out[tuple([slice(max(0, a), n - max(0, b)) for n, (a, b) in zip(shape, sides)])] = inner
    return out


def _onnx_pad(c: Any) -> Any:
    pad = list(c.p["pad"])
    rank = len(c.shape())
    low, high = [0] * rank, [0] * rank
    for k in range(len(pad) // 2):
        low[rank - 1 - k], high[rank - 1 - k] = pad[2 * k], pad[2 * k + 1]
    return c.emit("Pad", c[0], c.ints(low + high), c.number(c.p["value"]), mode="constant")


constant_pad_op = defop(
    "constant_pad_nd",
    "input",
    forward=_pad,
    aval=lambda x, pad, value: (
        tuple(n + a + b for n, (a, b) in zip(x[0], _sides(pad, len(x[0])), strict=True)),
        x[1],
    ),
    vjp={"input": lambda F, g, pad: F.constant_pad_nd(g, pad=tuple(-n for n in pad), value=0)},
    traits="passes",
    onnx=_onnx_pad,
    aten=lambda A, x, *, pad, value: A.constant_pad_nd(x, list(pad), value),
    samples=cases(
        (((2, 3),), {"pad": (1, 2, 0, 1), "value": 0.5}),
        (((2, 4),), {"pad": (-1, 1), "value": 0.0}),
        (((0, 3),), {"pad": (0, 0, 1, 1), "value": 1.0}),
    ),
)


@public()
def constant_pad_nd(input: Tensor, pad: Sequence[int], value: Any = 0) -> Tensor:
    """The tensor with `value` around it.

    Args:
        pad: (before, after) for the last dimension, then for the one before it, ...; negative
            numbers cut off.

    >>> import pellucid as torch
    >>> torch.constant_pad_nd(torch.tensor([1, 2]), (1, 0), 9)
    tensor([9, 1, 2])
    """
    a = require_tensor(input, "constant_pad_nd")._array
    pad = tuple([n if type(n) is int else as_index(n) for n in pad])
    if len(pad) % 2:
        raise OperationError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * a.ndim:
        raise OperationError(
            f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is {len(pad)}while the input "
            f"has {a.ndim}dimensions."
        )
    return _with_constant(input, pad, value)


def _with_constant(input: Tensor, pad: tuple[int, ...], value: Any) -> Tensor:
    a = input._array
    if min(pad, default=0) < 0:
        for size, (before, after) in zip(a.shape, _sides(pad, a.ndim), strict=True):
            if (before < 0 and -before > size) or (after < 0 and size + min(before, 0) + after < 0):
                raise OperationError("narrow(): length must be non-negative.")
    if a.dtype.kind == "f" and type(value) is float and not value:
        number = value
    else:
        given = number_array(value, a.dtype)[()]
        number = given if given.dtype.kind == "V" else given.item()
    return in_format(constant_pad_op.call(input, pad=pad, value=number), input)


# ---- other modes -----------------------------------------------------------------------------
@functools.lru_cache(256)
def _positions(size: int, before: int, after: int, mode: str) -> np.ndarray:
    """Return for each position of the padded dimension the position that it copies."""
    at = np.arange(-before, size + after)
    if mode == "replicate":
        return np.clip(at, 0, size - 1)
    if mode == "circular":  # what negative padding cuts off does not reappear on the other side
        first, kept = max(-before, 0), size + min(before, 0) + min(after, 0)
        return (at - first) % max(kept, 1) + first
    at = np.abs(at)
    return np.where(at >= size, 2 * (size - 1) - at, at)


@functools.lru_cache(64)
def _flat_positions(shape: tuple[int, ...], pad: tuple[int, ...], mode: str) -> np.ndarray:
    """Return `_positions` of all dimensions at once, as indices of the flattened array."""
    flat = np.zeros((), np.int64)
    for n, (before, after) in zip(shape, _sides(pad, len(shape)), strict=True):
        flat = flat[..., None] * n + _positions(n, before, after, mode)
    return flat


_FEW = 4096  # largest number of elements that are gathered one by one


def _bordered(x: np.ndarray, pad: tuple[int, ...], mode: str) -> np.ndarray:
    """Pad `x` as `_positions` says, if nothing is cut off. For many elements, copy the inside first
    and then the borders, dimension by dimension, from what is already there.
    """
    if 0 < x.size <= _FEW:
        lead = x.ndim - len(pad) // 2
        places = _flat_positions(x.shape[lead:], pad, mode)
        return x.reshape(*x.shape[:lead], places.size and -1).take(places, lead)
    sides = _sides(pad, x.ndim)
    out = np.empty([n + a + b for n, (a, b) in zip(x.shape, sides)], x.dtype)
    place = [slice(a, a + n) for n, (a, _) in zip(x.shape, sides)]
    out[tuple(place)] = x
    for d, (a, b) in enumerate(sides):
        n, end = x.shape[d], x.shape[d] + a
        last = end - 2 - b
        for to, size, edge, mirror, other in (
            (slice(a), a, slice(a, a + 1), slice(2 * a, a, -1), slice(n, end)),
            (
                slice(end, end + b),
                b,
                slice(end - 1, end),
                slice(end - 2, last if last >= 0 else None, -1),
                slice(a, a + b),
            ),
        ):
            if size:
                source = {"reflect": mirror, "circular": other, "replicate": edge}[mode]
                out[(*place[:d], to, *place[d + 1 :])] = out[(*place[:d], source, *place[d + 1 :])]
        place[d] = slice(None)
    return out


def _check(shape: tuple[int, ...], pad: Sequence[int], mode: str) -> None:
    ndim, dims = len(shape), len(pad) // 2
    if not ((ndim == dims + 1 or ndim == dims + 2) and dims <= 3):
        raise UnsupportedError(
            f"Padding size {len(pad)} is not supported for {ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    for d, (before, after) in reversed(list(enumerate(_sides(pad, ndim)))):
        if not before and not after:
            continue
        size = shape[d]
        if mode == "circular":
            if before > size or after > size:
                raise OperationError("Padding value causes wrapping around more than once.")
            if size + before + after < 0:
                raise OperationError("Negative padding value is resulting in an empty dimension")
        elif mode == "reflect" and (before >= size or after >= size):
            k = 2 * (ndim - 1 - d)
            raise OperationError(
                f"Argument #{4 + k}: Padding size should be less than the corresponding input dimension, but got: padding ({before}, "
                f"{after}) at dimension {d} of input {shapes.text(shape)}"
            )
        if size + before + after < 1 and mode != "circular":
            raise OperationError(
                f"input (W: {size}) is too small. Calculated output W: {size + before + after}"
            )


@public(namespace="nn.functional")
def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """The tensor with a border.

    Args:
        input: any shape for "constant"; for the other modes one or two dimensions more than are
            padded.
        pad: (before, after) for the last dimension, then for the one before it, ...; negative
            numbers cut off.
        mode: "constant" (with `value`, any dimensions), "reflect" (mirrored, without the edge),
            "replicate" (the edge repeated) or "circular" (from the other end); these three take the
            last 1 to 3 dimensions. Default: "constant".
        value: of a constant border. Default: None, which is 0.

    Raises:
        RuntimeError: an odd number of sizes, or more than the input has sides; a border that is too
            wide for its mode.
        NotImplementedError: a number of dimensions that does not go with the mode.

    >>> import pellucid as torch
    >>> torch.nn.functional.pad(torch.tensor([[1, 2, 3]]), (1, 1), mode="reflect")
    tensor([[2, 1, 2, 3, 2]])
    """
    plain = type(pad) is tuple and value is None and {*map(type, pad)} == {int}
    if plain and (quick := _few.made(input, pad, mode)) is not None:
        return quick
    require_tensor(input, "pad")
    if not isinstance(pad, (tuple, list)):
        raise ArgumentTypeError(
            f"pad(): argument 'pad' (position 2) must be tuple of ints, not {type_name(pad)}"
        )
    sides = tuple([n if type(n) is int else as_index(n) for n in pad])
    made = _padded(input, sides, mode, value)
    if plain:
        _few.remember(input, (sides, mode), lambda a: _border(a, sides, mode), made)
    return made


_few = Few(_FEW)


def _border(a: np.ndarray, pad: tuple[int, ...], mode: str) -> Any:
    """Return a function that pads small contiguous arrays. False if there is none."""
    if not a.flags.c_contiguous or not a.size or not pad or min(pad) < 0 or max(pad) == 0:
        return False
    if mode != "constant":
        lead = a.ndim - len(pad) // 2
        flat, places = (*a.shape[:lead], -1), _flat_positions(a.shape[lead:], pad, mode)
        return lambda x: x.reshape(flat).take(places, lead)
    sides, kind = _sides(pad, a.ndim), a.dtype
    shape = tuple([n + before + after for n, (before, after) in zip(a.shape, sides)])
    inside = tuple([slice(before, before + n) for n, (before, _) in zip(a.shape, sides)])

    def run(x: np.ndarray) -> np.ndarray:
        made = np.zeros(shape, kind)
        made[inside] = x
        return made

    return run


def _padded(input: Tensor, pad: tuple[int, ...], mode: str, value: float | None) -> Tensor:
    a = input._array
    if len(pad) % 2:
        raise OperationError("Padding length must be divisible by 2")
    if len(pad) > 2 * a.ndim:
        raise OperationError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {a.ndim}"
        )
    if mode == "constant":
        if isinstance(value, complex):
            raise ArgumentTypeError(
                f"pad(): argument 'value' (position 4) must be float, not {type_name(value)}"
            )
        return _apart(_with_constant(input, pad, 0.0 if value is None else float(value)), input)
    if value is not None and value != 0:
        raise OperationError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise UnsupportedError(f"Unrecognised padding mode {mode}")
    _check(a.shape, pad, mode)
    if mode == "replicate" or mode == "reflect" and len(pad) < 6:
        input = at_full_precision(input)
    one = len(pad) // 2 + 1  # dimensions of an unbatched image
    if mode != "circular" and 0 in a.shape[a.ndim - one :]:
        raise OperationError(
            f"Expected {one}D or {one + 1}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but "
            f"got: {shapes.text(a.shape)}"
        )
    kind = input.dtype
    if mode != "circular" and kind in _NOT_CONTINUED and not input.is_meta:
        raise UnsupportedError(
            f"\"{_TITLES[mode].lower()}_pad{one - 1}d\" not implemented for '{kind.scalar_type_name}'"
        )
    if pad and min(pad) >= 0 < max(pad) and is_direct(input):
        made = wrap(_bordered(input._array, pad, mode))
        return made if mode == "circular" else in_format(made, input)
    if mode not in _TITLES:
        around = functools.partial(_wrapped_around, pad=pad)
        return by_steps("CopySlices", lambda: _mirrored(input, pad, mode), around, input)
    title = f"{_TITLES[mode]}Pad{one - 1}D"
    made = in_one_node(title, "input", "input", _mirrored, input=input, pad=pad, mode=mode)
    return titled(made, title, input, of=(input,), padding=pad)


def _mirrored(input: Tensor, pad: Any, mode: str) -> Tensor:
    """Pad the input with copies of its own elements."""
    given, a = input, input._array
    for d, (before, after) in enumerate(_sides(pad, a.ndim)):
        if before or after:
            places = wrap(constant(_positions(a.shape[d], before, after, mode)))
            input = F.index_select(input, places.to("meta") if given.is_meta else places, dim=d)
    return _apart(input, given, mode != "circular")


def _wrapped_around(input: Tensor, pad: Any) -> Tensor:
    """Pad as "circular", written part by part to new memory."""
    a = input._array
    sides = list(enumerate(_sides(pad, a.ndim)))[: a.ndim - len(pad) // 2 - 1 : -1]
    shape = [n + before + after for n, (before, after) in zip(a.shape, _sides(pad, a.ndim))]
    out = make_tensor(np.empty(shape, a.dtype))
    inside, kept = out, input
    for d, (before, after) in sides:
        cut = a.shape[d] + min(before, 0) + min(after, 0)
        inside = narrow(inside, d, max(before, 0), cut)
        kept = narrow(kept, d, max(-before, 0), cut)
    inside.copy_(kept)
    for d, (before, after) in sides:
        first, end = max(before, 0), shape[d] - max(after, 0)
        if before > 0:
            narrow(out, d, 0, before).copy_(narrow(out, d, end - before, before))
        if after > 0:
            narrow(out, d, end, after).copy_(narrow(out, d, first, after))
    return out


_TITLES = {"reflect": "Reflection", "replicate": "Replication"}  # names of the nodes by mode
# Dtypes for which these two have no kernel.
_NOT_CONTINUED = {
    d for d in dtypes.BY_NUMPY.values() if d.is_float8 or d.is_wide_unsigned or d is dtypes.bool_
}


def _apart(padded: Tensor, input: Tensor, keeps: bool = True) -> Tensor:
    """Return the result in memory of its own, even if nothing was added. With `keeps`, it has the
    memory format of the input.
    """
    if padded is input or padded._view is not None:
        padded = padded.clone()
    return in_format(padded, input) if keeps else padded


# ---- shuffles --------------------------------------------------------------------------------
def _three(input: Any, name: str) -> tuple[int, ...]:
    shape = require_tensor(input, name)._array.shape
    if len(shape) < 3:
        raise ShapeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {len(shape)} dimension(s)"
        )
    return shape


def _together(xp: Any, x: Any, *, r: int) -> Any:
    *lead, channels, height, width = x.shape
    n = len(lead)
    parts = x.reshape(*lead, channels // (r * r), r, r, height, width)
    moved = parts.transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return _own(x, moved.reshape(*lead, channels // (r * r), height * r, width * r))


def _spread(xp: Any, x: Any, *, r: int) -> Any:
    *lead, channels, height, width = x.shape
    n = len(lead)
    parts = x.reshape(*lead, channels, height // r, r, width // r, r)
    moved = parts.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return _own(x, moved.reshape(*lead, channels * r * r, height // r, width // r))


def _own(x: Any, made: Any) -> Any:
    return made.copy() if type(x) is np.ndarray and np.may_share_memory(made, x) else made


# one node if nothing watches; traced programs use views
shuffle_op = defop(
    "pixels_together",
    "input",
    forward=_together,
    vjp={"input": lambda F, g, r: F.pixels_apart(g, r=r)},
    jvp="linear",
    aval=lambda x, r: (
        (*x[0][:-3], x[0][-3] // (r * r), x[0][-2] * r, x[0][-1] * r),
        x[1],
    ),
    title="pixel_shuffle",
    grad_name="PixelShuffle",
    linked="input",
    samples=cases((((2, 4, 2, 3),), {"r": 2})),
)

defop(
    "pixels_apart",
    "input",
    forward=_spread,
    vjp={"input": lambda F, g, r: F.pixels_together(g, r=r)},
    jvp="linear",
    aval=lambda x, r: ((*x[0][:-3], x[0][-3] * r * r, x[0][-2] // r, x[0][-1] // r), x[1]),
    title="pixel_unshuffle",
    samples=cases((((2, 1, 4, 6),), {"r": 2})),
)


_few_pixels = Few(_FEW)


def _shuffler(a: np.ndarray, r: int) -> Any:
    """Return a function that moves channels of small arrays into pixels."""
    places = _together(None, np.arange(a.size).reshape(a.shape), r=r)
    return lambda x: x.reshape(-1).take(places)


@public(namespace="torch nn.functional")
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Move channels into pixels: `(..., C r^2, H, W)` to `(..., C, H r, W r)`.

    Args:
        input: at least three dimensions.
        upscale_factor: r.

    Source: Shi et al., 2016, arXiv:1609.05158.

    >>> import pellucid as torch
    >>> torch.pixel_shuffle(torch.zeros(1, 9, 4, 4), 3).shape
    torch.Size([1, 1, 12, 12])
    """
    r = upscale_factor
    if type(r) is int and (quick := _few_pixels.made(input, r)) is not None:
        return quick
    shape = _three(input, "pixel_shuffle")
    if r <= 0:
        raise OperationError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, channels, height, width = shape
    if channels % (r * r):
        raise ShapeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={channels} is not divisible by {r * r}"
        )
    n = len(lead)
    if is_plain(input):
        # contiguous: there is no memory format to keep
        if input._array.flags.c_contiguous and r > 1 and input._array.size:
            made = titled(
                shuffle_op.call(input, r=r), "PixelShuffle", of=(input,), upscale_factor=r
            )
            if type(r) is int:
                _few_pixels.remember(input, (r,), lambda a: _shuffler(a, r), made)
            return made
    x = reshape(input, (*lead, channels // (r * r), r, r, height, width))
    x = permute(x, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return titled(
        _apart(reshape(x, (*lead, channels // (r * r), height * r, width * r)), input),
        "PixelShuffle",
        of=(input,),
        upscale_factor=r,
    )


@public(namespace="torch nn.functional")
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Move pixels into channels: `(..., C, H r, W r)` to `(..., C r^2, H, W)`, the inverse of
    `pixel_shuffle`.

    Args:
        input: at least three dimensions.
        downscale_factor: r.

    >>> import pellucid as torch
    >>> torch.pixel_unshuffle(torch.zeros(1, 1, 12, 12), 3).shape
    torch.Size([1, 9, 4, 4])
    """
    shape, r = _three(input, "pixel_unshuffle"), downscale_factor
    if r <= 0:
        raise OperationError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, channels, height, width = shape
    for name, d, size in (("height", -2, height), ("width", -1, width)):
        if size % r:
            raise ShapeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({d})={size} is not divisible by {r}"
            )
    if not math.prod(shape):
        return titled(
            input.clone(), "PixelUnshuffle", of=(input,), downscale_factor=r
        )  # PyTorch leaves the shape of an empty tensor as it is
    n = len(lead)
    x = reshape(input, (*lead, channels, height // r, r, width // r, r))
    x = permute(x, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return titled(
        _apart(reshape(x, (*lead, channels * r * r, height // r, width // r)), input),
        "PixelUnshuffle",
        of=(input,),
        downscale_factor=r,
    )


@public(namespace="torch nn.functional", names="channel_shuffle native_channel_shuffle")
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleave the channels of several groups.

    Args:
        input: `(N, C, ...)`.
        groups: how many groups the channels form.

    Source: Zhang et al., "ShuffleNet", 2018, arXiv:1707.01083.

    >>> import pellucid as torch
    >>> torch.channel_shuffle(torch.arange(4).reshape(1, 4, 1), 2).flatten()
    tensor([0, 2, 1, 3])
    """
    shape = require_tensor(input, "channel_shuffle")._array.shape
    if len(shape) <= 2:
        raise ShapeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {shapes.text(shape)}"
        )
    if groups <= 0:
        raise OperationError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    batch, channels, *rest = shape
    if channels % groups:
        raise ShapeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    x = reshape(input, (batch, groups, channels // groups, *rest))
    return titled(
        _apart(reshape(permute(x, (0, 2, 1, *range(3, len(rest) + 3))), shape), input),
        "ChannelShuffle",
        of=(input,),
        groups=groups,
    )
