"""Products and convolutions of quantized numbers: `Weight`, `linear`, `convolution`.

    >>> w = Weight(np.int8([[1, -2], [3, 4]]), np.float32([0.5]), np.int64([0]))
    >>> x = np.uint8([[10, 12]])
    >>> linear(x, w, 0.1, 10, None, scale=0.05, zero_point=100).tolist()
    [[96, 108]]

Integers are exact. How sums become bytes is that of a library that PyTorch uses, to the bit; each
step is rounded in float32, the last one to an integer, halves to even.

    FBGEMM             (sum + bias / (s_x * s_w)) * (s_x * s_w / s_y), then the zero point is added
    oneDNN, `late`     (sum * (s_x * s_w) + bias) * (1 / s_y) + zero point

Dynamic products are sum * (s_x * s_w) + bias as one operation.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from ...llvm import threads
from . import native

__all__ = [
    "Weight",
    "convolution",
    "dequantized",
    "extent",
    "linear",
    "linear_dynamic",
    "quantized",
]

_TASK = 1 << 18  # number of multiplications that make a task for a thread worthwhile
_EXACT = 512  # number of products of bytes whose sum is exact in float32


class Weight:
    """A matrix of signed bytes with one row per result, packed once for the native products.

    Args:
        ints: int8 `(rows, k)`. scales, zero_points: one for all rows, or one for each.
    """

    __slots__ = ("_packed", "ints", "k", "rows", "scales", "sums", "zero_points")

    def __init__(self, ints: Any, scales: Any, zero_points: Any) -> None:
        self.ints = np.ascontiguousarray(ints, np.int8)
        self.rows, self.k = self.ints.shape
        self.scales = np.ascontiguousarray(
            np.broadcast_to(np.asarray(scales, np.float32).reshape(-1), (self.rows,))
        )
        self.zero_points = np.ascontiguousarray(
            np.broadcast_to(np.asarray(zero_points, np.int32).reshape(-1), (self.rows,))
        )
        self.sums = self.ints.sum(1, dtype=np.int32)
        self._packed: Any = None

    @property
    def symmetric(self) -> bool:
        """Whether all zero points are zero."""
        return not self.zero_points.any()

    def packed(self) -> Any:
        """Return panels of columns, with four steps of k next to each other."""
        if self._packed is None:
            columns = native.shape()[1]
            panels, units = -(-self.rows // columns), -(-self.k // 4)
            full = np.zeros((panels * columns, units * 4), np.int8)
            full[: self.rows, : self.k] = self.ints
            self._packed = np.ascontiguousarray(
                full.reshape(panels, columns, units, 4).transpose(0, 2, 1, 3)
            )
        return self._packed

    def part(self, first: int, last: int) -> Weight:
        """Return some of the rows as a weight."""
        return Weight(self.ints[first:last], self.scales[first:last], self.zero_points[first:last])


# ---- scaling -------------------------------------------------------------------------------------
class _Rounding:
    """How the sums of each column are converted: a term is added, they are scaled and rounded."""

    __slots__ = ("added", "factor", "inverse", "late", "relu", "zero")

    def __init__(
        self,
        w: Weight,
        scale_x: float,
        bias: Any,
        scale: float,
        zero_point: int,
        relu: bool,
        late: bool,
    ) -> None:
        both = np.float32(scale_x) * w.scales
        added = np.zeros(w.rows, np.float32) if bias is None else np.asarray(bias, np.float32)
        self.late, self.relu, self.zero, self.inverse = (
            late,
            relu,
            zero_point,
            np.float32(1) / np.float32(scale),
        )
        self.added = np.ascontiguousarray(added if late else added / both)
        self.factor = both if late else both / np.float32(scale)

    @property
    def flags(self) -> int:
        return (native.RELU if self.relu else 0) | (native.LATE if self.late else 0)

    def bytes(self, sums: Any) -> Any:
        """Convert sums to bytes, with NumPy."""
        sums = sums.astype(np.float32)
        if self.late:
            scaled = (sums * self.factor + self.added) * self.inverse + np.float32(self.zero)
        else:
            scaled = (sums + self.added) * self.factor
        made = np.rint(np.clip(scaled, np.float32(-1024), np.float32(1024))).astype(np.int32)
        if not self.late:
            made += self.zero
        return np.clip(made, self.zero if self.relu else 0, 255).astype(np.uint8)


def _sums(x: Any, w: Weight, zero_x: int) -> Any:
    """Return the exact int32 products of bytes minus their zero points, by products of floats."""
    total = np.zeros((len(x), w.rows), np.int32)
    for start in range(0, w.k, _EXACT):
        part = slice(start, start + _EXACT)
        total += (x[:, part].astype(np.float32) @ w.ints[:, part].T.astype(np.float32)).astype(
            np.int32
        )
    total -= zero_x * w.sums
    if not w.symmetric:
        total += w.zero_points * (w.k * zero_x - x.sum(1, dtype=np.int32)[:, None])
    return total


# ---- running ---------------------------------------------------------------------------------------
def _address(array: Any) -> int:
    return array.__array_interface__["data"][0]


def _run(
    a: Any,
    w: Weight,
    out: Any,
    m: int,
    *,
    source: int,
    pitch: int,
    zero_x: int,
    flags: int,
    added: Any,
    factor: Any,
    zero: int = 0,
    inverse: float = 0.0,
    out_inverse: float = 0.0,
    out_pitch: int = 0,
    column: int = 0,
    patch: tuple[int, ...] = (0,) * 15,
) -> None:
    """Compute one native product into `out`."""
    natives = native.functions()
    assert natives is not None
    lanes, columns, heights = native.shape()
    packed = w.packed()
    term = w.sums * np.int32(zero_x)
    panels, rows = -(-w.rows // columns), -(-m // heights[-1])
    # number of multiplications with one panel of columns
    each = min(m, heights[-1]) * w.k * columns
    team = threads.team()
    group = panels
    if team and rows < 2 * threads.get_num_threads() and source != native.PATCHES:
        group = min(
            panels, max(1, _TASK // each, -(-panels * rows // (2 * threads.get_num_threads())))
        )
    tasks = rows * -(-panels // group)
    grain = max(1, _TASK // (each * group), tasks // (8 * threads.get_num_threads()))
    pointers = [
        _address(a),
        _address(packed),
        _address(out) + column * out.itemsize,
        *map(_address, (term, factor, added)),
    ]
    numbers = [m, w.rows, w.k, pitch, out_pitch or w.rows, group, source, flags, zero, zero_x]
    words = _words(pointers, numbers, (inverse, out_inverse), patch)
    natives["bytes.run"](team, _address(words), tasks, grain)


def _words(pointers: Any, numbers: Any, floats: Any, patch: Any) -> Any:
    """Return the description of a product for native code: one 64-bit word per field."""
    kept = [int.from_bytes(struct.pack("<f", f), "little") for f in floats]
    return np.array([*pointers, *numbers, *kept, *patch], np.int64)


def _run_windows(
    x: Any, w: Weight, out: Any, how: _Rounding, zero_x: int, window: tuple[int, ...]
) -> None:
    """Compute a depthwise convolution into `out`."""
    natives = native.functions()
    assert natives is not None
    if w._packed is None:
        w._packed = np.ascontiguousarray(w.ints.T, np.int32)
    term = np.zeros(w.rows, np.int32)
    pointers = [_address(a) for a in (x, w._packed, out, term, how.factor, how.added)]
    lines, places = out.shape[0] * out.shape[1], out.shape[2]
    numbers = [lines, w.rows, w.k, 0, w.rows, 0, 0, how.flags, how.zero, zero_x]
    words = _words(pointers, numbers, (0.0, float(how.inverse)), window)
    natives["bytes.run_windows"](
        threads.team(), _address(words), lines, max(1, _TASK // 8 // (places * w.rows * w.k))
    )


def _native(w: Weight) -> bool:
    return (
        native.available()
        and w.symmetric
        and w.rows > 0
        and w.k > 0
        and native.functions() is not None
    )


def linear(
    x: Any,
    w: Weight,
    scale_x: float,
    zero_x: int,
    bias: Any,
    *,
    scale: float,
    zero_point: int,
    relu: bool = False,
    late: bool = False,
) -> Any:
    """Multiply bytes `(m, k)` by the weight; the result is bytes `(m, rows)` with their own scale
    and zero point.
    """
    how = _Rounding(w, scale_x, bias, scale, zero_point, relu, late)
    if not _native(w) or not len(x):
        return how.bytes(_sums(x, w, zero_x))
    x = np.ascontiguousarray(x)
    out = np.empty((len(x), w.rows), np.uint8)
    _run(
        x,
        w,
        out,
        len(x),
        source=native.COPY,
        pitch=w.k,
        zero_x=zero_x,
        flags=how.flags,
        added=how.added,
        factor=how.factor,
        zero=zero_point,
        out_inverse=float(how.inverse),
    )
    return out


def linear_dynamic(
    x: Any, w: Weight, scale_x: float, zero_x: int, bias: Any, relu: bool = False
) -> Any:
    """Multiply floats `(m, k)`, quantized to bytes on the way, by the weight; the result is floats."""
    both = np.float32(scale_x) * w.scales
    added = np.zeros(w.rows, np.float32) if bias is None else np.ascontiguousarray(bias, np.float32)
    inverse = np.float32(1) / np.float32(scale_x)
    if not _native(w) or not len(x):
        ints = quantized(x, np.dtype(np.uint8), inverse, zero_x)
        if ints is None:
            ints = np.clip(
                np.rint((x.astype(np.float64) * inverse + zero_x).astype(np.float32)), 0, 255
            ).astype(np.uint8)
        made = (_sums(ints, w, zero_x).astype(np.float64) * both + added).astype(np.float32)
        return np.maximum(made, np.float32(0)) if relu else made
    x = np.ascontiguousarray(x, np.float32)
    out = np.empty((len(x), w.rows), np.float32)
    flags = native.TO_FLOAT | (native.RELU if relu else 0)
    _run(
        x,
        w,
        out,
        len(x),
        source=native.QUANTIZE,
        pitch=w.k,
        zero_x=zero_x,
        flags=flags,
        added=added,
        factor=both,
        inverse=float(inverse),
    )
    return out


# ---- convolution -------------------------------------------------------------------------------------
def extent(size: int, taps: int, step: int, pad: int, apart: int) -> int:
    """Return the number of positions of a window along a dimension."""
    return (size + 2 * pad - apart * (taps - 1) - 1) // step + 1


def convolution(
    x: Any,
    w: Weight,
    taps: tuple[int, int],
    scale_x: float,
    zero_x: int,
    bias: Any,
    *,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    scale: float,
    zero_point: int,
    relu: bool = False,
    late: bool = False,
) -> Any:
    """Convolve bytes `(n, height, width, channels)` with windows of `taps`; the result is bytes
    `(n, out height, out width, rows)`.

    A row of the weight has its taps in the order (y, x, channel of the group).
    """
    n, height, width, channels = x.shape
    used = channels // groups
    oy, ox = (
        extent(s, t, st, p, d)
        for s, t, st, p, d in zip((height, width), taps, stride, padding, dilation, strict=True)
    )
    how = _Rounding(w, scale_x, bias, scale, zero_point, relu, late)
    m, each = n * oy * ox, w.rows // groups
    x = np.ascontiguousarray(x)
    depthwise = (
        used == 1 and each == 1 and groups > 1 and native.available() and native.shape()[0] == 16
    )
    if depthwise and m and _native(w):
        out = np.empty((n, oy, ox, w.rows), np.uint8)
        _run_windows(
            x,
            w,
            out,
            how,
            zero_x,
            (height, width, channels, *taps, *stride, *padding, *dilation, oy, ox, 0, 1),
        )
        return out
    if not _native(w) or not m or groups > 1 and used < 4:
        sums = _sums_of_patches(x, w, taps, zero_x, stride, padding, dilation, groups, (oy, ox))
        return how.bytes(sums).reshape(n, oy, ox, w.rows)
    out = np.empty((n, oy, ox, w.rows), np.uint8)
    for g in range(groups):
        part = w if groups == 1 else w.part(g * each, (g + 1) * each)
        rows = slice(g * each, (g + 1) * each)
        window = (
            height,
            width,
            channels,
            *taps,
            *stride,
            *padding,
            *dilation,
            oy,
            ox,
            g * used,
            used,
        )
        as_it_is = (
            taps == (1, 1) and tuple(stride) == (1, 1) and tuple(padding) == (0, 0) and groups == 1
        )
        _run(
            x,
            part,
            out,
            m,
            source=native.COPY if as_it_is else native.PATCHES,
            pitch=channels,
            zero_x=zero_x,
            flags=how.flags,
            added=np.ascontiguousarray(how.added[rows]),
            factor=np.ascontiguousarray(how.factor[rows]),
            zero=zero_point,
            out_inverse=float(how.inverse),
            out_pitch=w.rows,
            column=g * each,
            patch=window,
        )
    return out


def _sums_of_patches(
    x: Any,
    w: Weight,
    taps: Any,
    zero_x: int,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    out: Any,
) -> Any:
    """Return exact sums `(positions, rows)`, with NumPy."""
    patches = patches_of(x, taps, zero_x, stride, padding, dilation, out)
    places = math.prod(patches.shape[: 1 + len(taps)])
    flat = patches.reshape(places, math.prod(taps), x.shape[-1])
    used, each = x.shape[-1] // groups, w.rows // groups
    if used == 1 and each == 1 and w.symmetric:  # depthwise
        parts = [flat[:, t].astype(np.int32) * w.ints[:, t] for t in range(flat.shape[1])]
        return sum(parts) - zero_x * w.sums
    made = [
        _sums(
            np.ascontiguousarray(flat[:, :, g * used : (g + 1) * used]).reshape(places, -1),
            w.part(g * each, (g + 1) * each),
            zero_x,
        )
        for g in range(groups)
    ]
    return np.concatenate(made, 1) if groups > 1 else made[0]


def patches_of(
    x: Any, taps: Any, fill: int, stride: Any, padding: Any, dilation: Any, out: Any
) -> Any:
    """Return a copy of the windows of an array `(n, *sizes, channels)`: `(n, *out, *taps,
    channels)`.
    """
    dims = len(taps)
    padded = (
        np.pad(x, [(0, 0), *[(p, p) for p in padding], (0, 0)], constant_values=fill)
        if any(padding)
        else x
    )
    steps = padded.strides
    strides = (
        steps[0],
        *[steps[1 + d] * stride[d] for d in range(dims)],
        *[steps[1 + d] * dilation[d] for d in range(dims)],
        steps[-1],
    )
    shape = (len(x), *out, *taps, x.shape[-1])
    return np.lib.stride_tricks.as_strided(padded, shape, strides).copy()


# ---- conversion --------------------------------------------------------------------------------------
def quantized(values: Any, kind: Any, inverse: Any, zero_point: int) -> Any:
    """Convert floats to bytes by native code, in the memory layout of `values`; None if not
    supported.
    """
    if type(values) is not np.ndarray or values.dtype != np.float32 or values.size < 64:
        return None
    natives = native.functions()
    dense = values.flags.c_contiguous
    if natives is None or not (dense or _channels_last(values)):
        return None
    out = np.empty_like(values, kind)  # in the same memory order
    natives["bytes.to_unsigned" if kind.kind == "u" else "bytes.to_signed"](
        values, out, values.size, float(inverse), float(zero_point)
    )
    return out


def _channels_last(a: Any) -> bool:
    return a.ndim > 2 and a.transpose(0, *range(2, a.ndim), 1).flags.c_contiguous


def dequantized(ints: Any, scale: Any, zero_point: int) -> Any:
    """Convert bytes to floats by native code, in the memory layout of `ints`; None if not
    supported.
    """
    natives = native.functions()
    if (
        natives is None
        or type(ints) is not np.ndarray
        or ints.size < 64
        or not (ints.flags.c_contiguous or _channels_last(ints))
    ):
        return None
    out = np.empty_like(ints, np.float32)
    natives["bytes.from_unsigned" if ints.dtype.kind == "u" else "bytes.from_signed"](
        ints, out, ints.size, float(scale), float(zero_point)
    )
    return out


def range_of(values: Any) -> tuple[float, float]:
    """Return the least and the greatest float."""
    natives = native.functions()
    if (
        natives is None
        or not values.flags.c_contiguous
        or values.dtype != np.float32
        or values.size < 64
    ):
        return float(values.min()), float(values.max())
    out = np.empty(2, np.float32)
    natives["bytes.range"](values, out, values.size)
    return float(out[0]), float(out[1])
