"""The operators of torchvision's compiled part, which is built against PyTorch's C++ library and
cannot be loaded here.

`torch.ops.load_library` of that part imports this module, so `torchvision.ops.nms`, `roi_align`,
`deform_conv2d` and similar operators work, and so do the detection models. Gradients are registered by
torchvision itself, in Python, over the operators `_..._backward`.

Sources: He et al., "Mask R-CNN", 2017 (RoIAlign); Girshick, "Fast R-CNN", 2015 (RoI pooling); Dai
et al., "R-FCN", 2016 (position-sensitive pooling) and "Deformable convolutional networks", 2017;
Zhu et al., "Deformable ConvNets v2", 2018 (masks).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..aten.overload import ops
from ..autograd import grad as gradients_of
from ..core.modes import enable_grad, no_grad
from ..core.primitive import TENSORS as F
from ..core.tensor import Tensor, make_tensor
from ..errors import OperationError
from ..library import Library

_LIBRARY = Library("torchvision", "FRAGMENT")
_POOLED = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_SIZES = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_DEFORM = (
    "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, "
    "SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask"
)


def _define(schema: str) -> str:
    name = schema.partition("(")[0]
    return name if hasattr(ops.torchvision, name) else _LIBRARY.define(schema)


def _operator(schema: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Define an operator; the function decorated computes it. Programs may have declared it
    already, for where nothing computes it.
    """
    name = _define(schema)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _LIBRARY.impl(name, function, "CPU")
        return function

    return register


def _array(x: Tensor) -> np.ndarray:
    return x.detach()._array


def _floats(x: Tensor) -> np.ndarray:
    """The values in a type that NumPy computes in with enough digits."""
    a = _array(x)
    return a if a.dtype.itemsize > 2 else a.astype(np.float32)


# ---- boxes -------------------------------------------------------------------------------------
@_operator("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Indices of the boxes `(n, 4)` that no box of a higher score overlaps by more than the
    threshold, the highest score first.

    Raises:
        RuntimeError: shapes that are not those of boxes and their scores.
    """
    if dets.dim() != 2:
        raise OperationError(f"boxes should be a 2d tensor, got {dets.dim()}D")
    if dets.shape[1] != 4:
        raise OperationError(f"boxes should have 4 elements in dimension 1, got {dets.shape[1]}")
    if scores.dim() != 1:
        raise OperationError(f"scores should be a 1d tensor, got {scores.dim()}D")
    if dets.shape[0] != scores.shape[0]:
        raise OperationError(
            f"boxes and scores should have same number of elements in dimension 0, got {dets.shape[0]} and {scores.shape[0]}"
        )
    left, top, right, bottom = _floats(dets).T
    area = (right - left) * (bottom - top)
    order = np.argsort(-_floats(scores), kind="stable")
    kept = []
    while order.size:
        first, order = order[0], order[1:]
        kept.append(first)
        width = np.minimum(right[first], right[order]) - np.maximum(left[first], left[order])
        height = np.minimum(bottom[first], bottom[order]) - np.maximum(top[first], top[order])
        shared = np.maximum(width, 0) * np.maximum(height, 0)
        order = order[~(shared / (area[first] + area[order] - shared) > iou_threshold)]
    return make_tensor(np.array(kept, np.int64))


def _corners(box: np.ndarray) -> list[tuple[float, float]]:
    """The corners of (center x, center y, width, height, degrees counter-clockwise as one sees it),
    in order.
    """
    x, y, w, h, angle = (float(v) for v in box)
    c, s = math.cos(math.radians(angle)) / 2, math.sin(math.radians(angle)) / 2
    return [
        (x + i * c * w + j * s * h, y - i * s * w + j * c * h)
        for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))
    ]


def _area(corners: list[tuple[float, float]]) -> float:
    return (
        abs(
            sum(
                a[0] * b[1] - a[1] * b[0]
                for a, b in zip(corners, corners[1:] + corners[:1], strict=True)
            )
        )
        / 2
    )


def _clip(
    polygon: list[tuple[float, float]], window: list[tuple[float, float]]
) -> list[tuple[float, float]]:
    """The part of a convex polygon inside another whose corners run as those of `_corners`
    (Sutherland and Hodgman, 1974).
    """
    for a, b in zip(window, window[1:] + window[:1], strict=True):
        side = [(b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) for p in polygon]
        kept: list[tuple[float, float]] = []
        for k, (p, s) in enumerate(zip(polygon, side, strict=True)):
            q, t = polygon[k - 1], side[k - 1]
            if (s >= 0) != (t >= 0):
                u = t / (t - s)
                kept.append((q[0] + u * (p[0] - q[0]), q[1] + u * (p[1] - q[1])))
            if s >= 0:
                kept.append(p)
        polygon = kept
    return polygon


@_operator("box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor")
def box_iou_rotated(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Intersection over union of rotated boxes `(n, 5)` and `(m, 5)`: `(n, m)`."""
    first, second = _floats(boxes1), _floats(boxes2)
    corners, others = [_corners(b) for b in first], [_corners(b) for b in second]
    made = np.zeros((len(first), len(second)), np.float32)
    for i, a in enumerate(corners):
        for j, b in enumerate(others):
            total = float(first[i, 2] * first[i, 3] + second[j, 2] * second[j, 3])
            shared = _area(_clip(a, b))
            made[i, j] = shared / (total - shared) if total > shared else 0.0
    return make_tensor(made)


# ---- regions read between pixels ---------------------------------------------------------------
def _weights(
    start: float, length: float, bins: int, samples: int, size: int, dtype: Any
) -> np.ndarray:
    """(bins, size): what each pixel along one dimension counts in the mean of a bin's samples, each
    read linearly between two pixels.
    """
    step = length / bins
    at = start + step * (np.arange(bins)[:, None] + (np.arange(samples) + 0.5) / max(samples, 1))
    inside = (at >= -1) & (at <= size)
    at = np.clip(at, 0, size - 1)
    low = at.astype(np.int64)
    high = np.minimum(low + 1, size - 1)
    part = at - low
    made = np.zeros((bins, size), dtype)
    rows = np.broadcast_to(np.arange(bins)[:, None], at.shape)
    np.add.at(made, (rows, low), np.where(inside, 1 - part, 0))
    np.add.at(made, (rows, high), np.where(inside, part, 0))
    return made / max(samples, 1)


def _regions(
    rois: Tensor,
    scale: float,
    bins: tuple[int, int],
    sizes: tuple[int, int],
    ratio: int,
    shift: float,
    least: float,
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """For each region its image and the weights of rows and of columns."""
    values = _floats(rois)
    for image, left, top, right, bottom in values.astype(np.float64):
        x, y = left * scale - shift, top * scale - shift
        width, height = (
            max(right * scale - shift - x, least),
            max(bottom * scale - shift - y, least),
        )
        samples = (
            (ratio, ratio)
            if ratio > 0
            else (math.ceil(height / bins[0]), math.ceil(width / bins[1]))
        )
        yield (
            int(image),
            _weights(y, height, bins[0], samples[0], sizes[0], values.dtype),
            _weights(x, width, bins[1], samples[1], sizes[1], values.dtype),
        )


def _check_regions(input: Tensor, rois: Tensor) -> None:
    if rois.dim() != 2 or rois.shape[1] != 5:
        raise OperationError("rois must have shape as Tensor[K, 5]")
    if input.dtype is not rois.dtype:
        raise OperationError(
            f"Expected tensor for argument #1 'input' to have the same type as tensor for argument #2 'rois'; but type "
            f"{input.dtype} does not equal {rois.dtype}"
        )


def _like(array: np.ndarray, x: Tensor) -> Tensor:
    return make_tensor(np.ascontiguousarray(array.astype(x._array.dtype, copy=False)))


# `aligned`: shift of the pixels, least size of a region
_BOUNDS = {True: (0.5, -math.inf), False: (0.0, 1.0)}


@_operator(
    f"roi_align(Tensor input, Tensor rois, {_POOLED}, int sampling_ratio, bool aligned) -> Tensor"
)
def roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """Regions `(k, 5)` of images `(n, c, h, w)`, each read in a grid of bins:
    `(k, c, pooled_height, pooled_width)`.
    """
    _check_regions(input, rois)
    x, bins = _floats(input), (pooled_height, pooled_width)
    made = np.zeros((len(rois), x.shape[1], *bins), x.dtype)
    regions = _regions(
        rois, spatial_scale, bins, x.shape[2:], sampling_ratio, *_BOUNDS[bool(aligned)]
    )
    for k, (image, rows, columns) in enumerate(regions):
        made[k] = rows @ x[image] @ columns.T
    return _like(made, input)


@_operator(
    f"_roi_align_backward(Tensor grad, Tensor rois, {_POOLED}, {_SIZES}, int sampling_ratio, bool aligned) -> Tensor"
)
def _roi_align_backward(
    grad: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    g, bins = _floats(grad), (pooled_height, pooled_width)
    made = np.zeros((batch_size, channels, height, width), g.dtype)
    regions = _regions(
        rois, spatial_scale, bins, (height, width), sampling_ratio, *_BOUNDS[bool(aligned)]
    )
    for k, (image, rows, columns) in enumerate(regions):
        made[image] += rows.T @ g[k] @ columns
    return _like(made, grad)


def _channels_of_bins(channels: int, bins: tuple[int, int]) -> np.ndarray:
    """(channels out, bins, bins): the channel that a bin of a position-sensitive region reads."""
    return np.arange(channels, dtype=np.int32).reshape(-1, *bins)


def _check_channels(channels: int, bins: tuple[int, int]) -> None:
    if channels % (bins[0] * bins[1]):
        raise OperationError("input channels must be a multiple of pooling height * pooling width")


@_operator(
    f"ps_roi_align(Tensor input, Tensor rois, {_POOLED}, int sampling_ratio) -> (Tensor, Tensor)"
)
def ps_roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
) -> tuple[Tensor, Tensor]:
    """`roi_align` where each bin has channels of its own; the second result says which."""
    x, bins = _floats(input), (pooled_height, pooled_width)
    _check_regions(input, rois)
    _check_channels(x.shape[1], bins)
    places = _channels_of_bins(x.shape[1], bins)
    i, j = np.indices(bins)
    made = np.zeros((len(rois), *places.shape), x.dtype)
    for k, (image, rows, columns) in enumerate(
        _regions(rois, spatial_scale, bins, x.shape[2:], sampling_ratio, 0.5, -math.inf)
    ):
        made[k] = (rows @ x[image] @ columns.T)[places, i, j]
    return _like(made, input), make_tensor(np.repeat(places[None], len(rois), 0))


@_operator(
    f"_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_POOLED}, int sampling_ratio, {_SIZES}) -> Tensor"
)
def _ps_roi_align_backward(
    grad: Tensor,
    rois: Tensor,
    channel_mapping: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
) -> Tensor:
    g, bins = _floats(grad), (pooled_height, pooled_width)
    places = _channels_of_bins(channels, bins)
    i, j = np.indices(bins)
    made = np.zeros((batch_size, channels, height, width), g.dtype)
    for k, (image, rows, columns) in enumerate(
        _regions(rois, spatial_scale, bins, (height, width), sampling_ratio, 0.5, -math.inf)
    ):
        spread = np.zeros((channels, *bins), g.dtype)
        spread[places, i, j] = g[k]
        made[image] += rows.T @ spread @ columns
    return _like(made, grad)


# ---- regions of whole pixels -------------------------------------------------------------------
def _rounded(value: np.ndarray) -> np.ndarray:
    """To the nearest integer, halves away from 0, as C's `round` does."""
    return np.trunc(value + np.copysign(np.asarray(0.5, value.dtype), value)).astype(np.int64)


def _edges(start: int, length: int, bins: int, dtype: Any, last: int) -> list[tuple[int, int]]:
    """First pixel and the one after the last of each bin along one dimension, cut at 0 and `last`."""
    step = np.asarray(length, dtype) / np.asarray(bins, dtype)
    at = np.arange(bins + 1).astype(dtype)
    low = np.floor(at[:-1] * step).astype(np.int64) + start
    high = np.ceil(at[1:] * step).astype(np.int64) + start
    return [
        (min(max(int(a), 0), last), min(max(int(b), 0), last))
        for a, b in zip(low, high, strict=True)
    ]


@_operator(f"roi_pool(Tensor input, Tensor rois, {_POOLED}) -> (Tensor, Tensor)")
def roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """The largest value in each bin of the regions, 0 in empty ones, and its place in the image
    (-1).
    """
    _check_regions(input, rois)
    x, values = _floats(input), _floats(rois)
    height, width = x.shape[2:]
    made = np.zeros((len(values), x.shape[1], pooled_height, pooled_width), x.dtype)
    places = np.full(made.shape, -1, np.int32)
    for k, roi in enumerate(values):
        left, top, right, bottom = _rounded(roi[1:] * np.asarray(spatial_scale, values.dtype))
        rows = _edges(int(top), max(int(bottom - top) + 1, 1), pooled_height, values.dtype, height)
        columns = _edges(
            int(left), max(int(right - left) + 1, 1), pooled_width, values.dtype, width
        )
        for i, (a, b) in enumerate(rows):
            for j, (c, d) in enumerate(columns):
                if b > a and d > c:
                    part = x[int(roi[0]), :, a:b, c:d].reshape(x.shape[1], -1)
                    at = part.argmax(1)
                    made[k, :, i, j] = part.max(1)
                    places[k, :, i, j] = (a + at // (d - c)) * width + c + at % (d - c)
    return _like(made, input), make_tensor(places)


@_operator(
    f"_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, {_POOLED}, {_SIZES}) -> Tensor"
)
def _roi_pool_backward(
    grad: Tensor,
    rois: Tensor,
    argmax: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
) -> Tensor:
    g, places = _floats(grad), _array(argmax)
    made = np.zeros((batch_size, channels, height * width), g.dtype)
    k, c, _, _ = np.nonzero(places >= 0)
    taken = places >= 0
    np.add.at(made, (_array(rois)[:, 0].astype(np.int64)[k], c, places[taken]), g[taken])
    return _like(made.reshape(batch_size, channels, height, width), grad)


def _pixels(
    rois: Tensor, scale: float, bins: tuple[int, int], last: tuple[int, int]
) -> Iterator[tuple[int, int, int, int, tuple[slice, slice]]]:
    """Region, image, bin and pixels of the bins of position-sensitive pooling that are not empty,
    cut at `last`.
    """
    values = _floats(rois)
    for k, roi in enumerate(values):
        left, top, right, bottom = _rounded(roi[1:] * np.asarray(scale, values.dtype))
        rows = _edges(int(top), max(int(bottom - top), 1), bins[0], values.dtype, last[0])
        columns = _edges(int(left), max(int(right - left), 1), bins[1], values.dtype, last[1])
        for i, (a, b) in enumerate(rows):
            for j, (c, d) in enumerate(columns):
                if b > a and d > c:
                    yield k, int(roi[0]), i, j, (slice(a, b), slice(c, d))


@_operator(f"ps_roi_pool(Tensor input, Tensor rois, {_POOLED}) -> (Tensor, Tensor)")
def ps_roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """The mean of each bin of the regions, read from channels of its own; the second result says
    which.
    """
    x, bins = _floats(input), (pooled_height, pooled_width)
    _check_regions(input, rois)
    _check_channels(x.shape[1], bins)
    places = _channels_of_bins(x.shape[1], bins)
    made = np.zeros((len(rois), *places.shape), x.dtype)
    last = x.shape[2] - 1, x.shape[3] - 1
    for k, image, i, j, pixels in _pixels(rois, spatial_scale, bins, last):
        made[k, :, i, j] = x[image, places[:, i, j]][:, pixels[0], pixels[1]].mean((1, 2))
    return _like(made, input), make_tensor(np.repeat(places[None], len(rois), 0))


@_operator(
    f"_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_POOLED}, {_SIZES}) -> Tensor"
)
def _ps_roi_pool_backward(
    grad: Tensor,
    rois: Tensor,
    channel_mapping: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
) -> Tensor:
    g, bins = _floats(grad), (pooled_height, pooled_width)
    places = _channels_of_bins(channels, bins)
    made = np.zeros((batch_size, channels, height, width), g.dtype)
    # torchvision cuts bins one pixel later here than where it computes the means
    for k, image, i, j, pixels in _pixels(rois, spatial_scale, bins, (height, width)):
        many = (pixels[0].stop - pixels[0].start) * (pixels[1].stop - pixels[1].start)
        made[image, places[:, i, j], pixels[0], pixels[1]] += (g[k, :, i, j] / many)[:, None, None]
    return _like(made, grad)


# ---- deformable convolution --------------------------------------------------------------------
def _deformed(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor,
    bias: Tensor,
    stride: tuple[int, int],
    pad: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> Tensor:
    """The convolution in operations, so that its gradients follow."""
    n, channels, height, width = input.shape
    outs, _, kh, kw = weight.shape
    oh = (height + 2 * pad[0] - (dilation[0] * (kh - 1) + 1)) // stride[0] + 1
    ow = (width + 2 * pad[1] - (dilation[1] * (kw - 1) + 1)) // stride[1] + 1
    kind = input._array.dtype
    i, j = np.indices((kh, kw)).reshape(2, kh * kw, 1, 1)
    y0 = (np.arange(oh) * stride[0] - pad[0])[None, :, None] + i * dilation[0]
    x0 = (np.arange(ow) * stride[1] - pad[1])[None, None, :] + j * dilation[1]
    moved = offset.reshape(n, offset_groups, kh * kw, 2, oh, ow)
    y = moved[:, :, :, 0] + make_tensor(np.broadcast_to(y0, (kh * kw, oh, ow)).astype(kind))
    x = moved[:, :, :, 1] + make_tensor(np.broadcast_to(x0, (kh * kw, oh, ow)).astype(kind))
    with no_grad():
        low_y, low_x = y.detach().floor(), x.detach().floor()
    part_y, part_x = y - low_y, x - low_x
    flat = input.reshape(n, offset_groups, channels // offset_groups, height * width)
    rows, columns = low_y._array.astype(np.int64), low_x._array.astype(np.int64)
    total: Any = 0
    for down, across in ((0, 0), (0, 1), (1, 0), (1, 1)):
        at_y, at_x = rows + down, columns + across
        inside = (at_y >= 0) & (at_y < height) & (at_x >= 0) & (at_x < width)
        place = np.where(inside, at_y * width + at_x, 0).reshape(n, offset_groups, 1, -1)
        share = (
            (part_y if down else 1 - part_y)
            * (part_x if across else 1 - part_x)
            * make_tensor(inside.astype(kind))
        )
        index = make_tensor(
            np.ascontiguousarray(np.broadcast_to(place, (*flat.shape[:3], place.shape[3])))
        )
        total = total + flat.gather(3, index) * share.reshape(n, offset_groups, 1, -1)
    if use_mask:
        total = total * mask.reshape(n, offset_groups, 1, -1)
    columns_of = total.reshape(n, groups, channels // groups * kh * kw, oh * ow)
    made = F.matmul(weight.reshape(1, groups, outs // groups, -1), columns_of).reshape(
        n, outs, oh, ow
    )
    return made + bias.reshape(1, outs, 1, 1)


def _deform_arguments(args: tuple[Any, ...]) -> tuple[Any, ...]:
    stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, use_mask = args
    return (
        (stride_h, stride_w),
        (pad_h, pad_w),
        (dilation_h, dilation_w),
        groups,
        offset_groups,
        use_mask,
    )


@_operator(f"deform_conv2d({_DEFORM}) -> Tensor")
def deform_conv2d(
    input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, *args: Any
) -> Tensor:
    """A convolution whose kernel reads each of its pixels from a place of its own, linearly between
    four pixels.

    Raises:
        RuntimeError: offsets or masks of the wrong number of channels.
    """
    use_mask, offset_groups, (kh, kw) = args[-1], args[-2], weight.shape[2:]
    if offset.shape[1] != offset_groups * 2 * kh * kw:
        raise OperationError(
            f"offset.shape[1] is not valid: got: {offset.shape[1]} expected: {offset_groups * 2 * kh * kw}"
        )
    if use_mask and mask.shape[1] != offset_groups * kh * kw:
        raise OperationError(
            f"mask.shape[1] is not valid: got: {mask.shape[1]} expected: {offset_groups * kh * kw}"
        )
    with no_grad():
        return _deformed(input, weight, offset, mask, bias, *_deform_arguments(args))


@_operator(
    f"_deform_conv2d_backward(Tensor grad, {_DEFORM}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)"
)
def _deform_conv2d_backward(grad: Tensor, *args: Any) -> tuple[Tensor, ...]:
    leaves = [x.detach().requires_grad_() for x in args[:5]]
    with enable_grad():
        made = _deformed(*leaves, *_deform_arguments(args[5:]))
        found = gradients_of(made, leaves, grad.detach(), allow_unused=True)
    return tuple(
        x.new_zeros(x.shape) if g is None else g for x, g in zip(args, found, strict=False)
    )


# ---- what is asked for and not there -----------------------------------------------------------
@_operator("_cuda_version() -> int")
def _cuda_version() -> int:
    return -1


for _schema in (
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    (
        "qroi_align(Tensor input, Tensor rois, float input_scale, int input_zero_point, float rois_scale, int rois_zero_point, "
        f"{_POOLED}, int sampling_ratio, bool aligned) -> Tensor"
    ),
):
    _define(_schema)
