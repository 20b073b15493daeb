"""Resize, GridSample and RoiAlign: reading between the elements.

Source: https://onnx.ai/onnx/operators/onnx__Resize.html, onnx__GridSample.html, onnx__RoiAlign.html
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pellucid.core.primitive import TENSORS
from pellucid.core.tensor import make_tensor
from pellucid.nn import functional as F

from .registry import NodeCall, T, ints, operator


def _coordinates(how: str, out: int, size: int, scale: float, region: tuple[float, float]) -> Any:
    """Where in the input each output element reads."""
    x = np.arange(out, dtype=np.float64)
    if how == "align_corners":
        return x * (size - 1) / (out - 1) if out > 1 else x * 0
    if how == "asymmetric":
        return x / scale
    if how == "tf_crop_and_resize":
        start, end = region
        return (
            start * (size - 1) + x * (end - start) * (size - 1) / (out - 1)
            if out > 1
            else 0.5 * (start + end) * (size - 1) + x * 0
        )
    if how == "pytorch_half_pixel" and out == 1:
        return x * 0
    if how == "half_pixel_symmetric":
        adjust = out / (scale * size)
        return size / 2 * (1 - adjust) + (x + 0.5) / scale - 0.5
    if how == "tf_half_pixel_for_nn":
        return (x + 0.5) / scale
    return (x + 0.5) / scale - 0.5


def _nearest(x: Any, how: str) -> Any:
    if how == "floor":
        return np.floor(x)
    if how == "ceil":
        return np.ceil(x)
    return np.ceil(x - 0.5) if how == "round_prefer_floor" else np.floor(x + 0.5)


def _cubic(d: Any, a: float) -> Any:
    d = np.abs(d)
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _taps(c: NodeCall, mode: str, x: Any, size: int, scale: float, nearest: str) -> tuple[Any, Any]:
    """The elements that each output reads and their weights, (outputs, taps) each."""
    if mode == "nearest":
        return _nearest(x, nearest).clip(0, size - 1).astype(np.int64)[:, None], None
    stretch = 1 / scale if c.get("antialias", 0) and scale < 1 else 1.0
    radius = (1 if mode == "linear" else 2) * stretch
    first = np.floor(x - radius).astype(np.int64) + (0 if stretch != 1 else 1)
    count = math.ceil(2 * radius) + (2 if stretch != 1 else 0)
    index = first[:, None] + np.arange(count)
    distance = (index - x[:, None]) / stretch
    weight = (
        np.maximum(1 - np.abs(distance), 0)
        if mode == "linear"
        else _cubic(distance, c.get("cubic_coeff_a", -0.75))
    )
    if c.get("exclude_outside", 0):
        weight = np.where((index < 0) | (index >= size), 0, weight)
    weight = weight / weight.sum(1, keepdims=True)
    return index.clip(0, size - 1), weight


def resize(
    c: NodeCall,
    x: Any,
    sizes: Any,
    scales: Any,
    mode: str,
    how: str,
    nearest: str,
    region: Any = None,
    axes: Any = None,
) -> Any:
    """A tensor with other sizes along some axes, read one axis after the other."""
    axes = list(range(x.ndim)) if axes is None else [d % x.ndim for d in axes]
    old = [x.shape[d] for d in axes]
    if sizes is not None:
        sizes = list(sizes)
        policy = c.get("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            ratio = (min if policy == "not_larger" else max)(
                new / n for new, n in zip(sizes, old, strict=True)
            )
            scales = [ratio] * len(axes)
            sizes = [int(math.floor(n * ratio + 0.5)) for n in old]
        else:
            scales = [new / n for new, n in zip(sizes, old, strict=True)]
    else:
        sizes = [math.floor(n * s) for n, s in zip(old, scales, strict=True)]
    outside: Any = None
    for k, d in enumerate(axes):
        if sizes[k] == old[k] and scales[k] == 1 and how != "tf_crop_and_resize":
            continue
        part = (0.0, 1.0) if region is None else (float(region[k]), float(region[k + len(axes)]))
        at = _coordinates(how, sizes[k], old[k], scales[k], part)
        if how == "tf_crop_and_resize":
            shape = [1] * x.ndim
            shape[d] = -1
            here = ((at < 0) | (at > old[k] - 1)).reshape(shape)
            outside = here if outside is None else outside | here
        index, weight = _taps(c, mode, at, old[k], scales[k], nearest)
        if weight is None:
            x = T.index_select(x, d, make_tensor(index[:, 0]))
        else:
            x = TENSORS.resample_axis(x, axis=d, index=index, weight=weight, size=old[k])
    return (
        x
        if outside is None
        else T.where(make_tensor(outside), c.get("extrapolation_value", 0.0), x)
    )


@operator("Resize", static=(1, 2, 3))
def _resize(c: NodeCall, x: Any, roi: Any = None, scales: Any = None, sizes: Any = None) -> Any:
    if c.opset < 11:
        return resize(
            c, x, None, [float(s) for s in roi], c.get("mode", "nearest"), "asymmetric", "floor"
        )
    wanted = ints(sizes) if sizes is not None and sizes.size else None
    factors = [float(s) for s in scales] if scales is not None and scales.size else None
    return resize(
        c,
        x,
        wanted,
        factors,
        c.get("mode", "nearest"),
        c.get("coordinate_transformation_mode", "half_pixel"),
        c.get("nearest_mode", "round_prefer_floor"),
        roi if roi is not None and roi.size else None,
        c.get("axes"),
    )


@operator("Upsample", static=(1,))
def _upsample(c: NodeCall, x: Any, scales: Any = None) -> Any:
    given = c.get("scales") if scales is None else scales
    return resize(
        c, x, None, [float(s) for s in given], c.get("mode", "nearest"), "asymmetric", "floor"
    )


@operator("GridSample")
def _grid_sample(c: NodeCall, x: Any, grid: Any) -> Any:
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(
        c.get("mode", "linear"), c.get("mode", "linear")
    )
    return F.grid_sample(
        x, grid, mode, c.get("padding_mode", "zeros"), bool(c.get("align_corners", 0))
    )


@operator("RoiAlign", static=(1, 2))
def _roi_align(c: NodeCall, x: Any, rois: Any, batch: Any) -> Any:
    """Averages (or maxima) of values read between the elements, on a grid in each cell of each
    region.
    """
    high, wide, count = (
        c.get("output_height", 1),
        c.get("output_width", 1),
        c.get("sampling_ratio", 0),
    )
    half = (
        0.5
        if c.get(
            "coordinate_transformation_mode", "half_pixel" if c.opset >= 16 else "output_half_pixel"
        )
        == "half_pixel"
        else 0
    )
    scale, maximum = c.get("spatial_scale", 1.0), c.get("mode", "avg") == "max"
    made = []
    for roi, image in zip(rois.astype(np.float64), ints(batch), strict=True):
        left, top, right, bottom = roi * scale - half
        width, height = right - left, bottom - top
        if not half:
            width, height = max(width, 1.0), max(height, 1.0)
        ny, nx = count or math.ceil(height / high), count or math.ceil(width / wide)
        ys = top + (np.arange(high * ny) + 0.5) * height / high / ny
        xs = left + (np.arange(wide * nx) + 0.5) * width / wide / nx
        parts = _corner_reads(x[image], ys, xs)
        if maximum:
            value = T.stack(parts).amax(0)
        else:
            value = parts[0] + parts[1] + parts[2] + parts[3]
        cells = value.reshape([x.shape[1], high, ny, wide, nx])
        made.append(T.amax(cells, [2, 4]) if maximum else T.mean(cells, [2, 4]))
    return T.stack(made) if made else T.zeros([0, x.shape[1], high, wide], dtype=x.dtype)


def _corner_reads(x: Any, ys: Any, xs: Any) -> list[Any]:
    """The four weighted neighbors of each point of a grid, (channels, ys, xs) each."""
    found = []
    ends = []
    for at, size in ((ys, x.shape[1]), (xs, x.shape[2])):
        outside = (at < -1) | (at > size)
        at = at.clip(0, None)
        low = np.minimum(np.floor(at), size - 1).astype(np.int64)
        up = np.minimum(low + 1, size - 1)
        more = np.where(low >= size - 1, 0, at - low)
        ends.append(((low, np.where(outside, 0, 1 - more)), (up, np.where(outside, 0, more))))
    for iy, wy in ends[0]:
        rows = T.index_select(x, 1, make_tensor(iy))
        for ix, wx in ends[1]:
            weight = make_tensor((wy[:, None] * wx[None]).astype(x._array.dtype))
            found.append(T.index_select(rows, 2, make_tensor(ix)) * weight)
    return found
