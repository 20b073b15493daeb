"""Convolution, pooling, normalization, dropout and losses."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from pellucid.core.primitive import TENSORS
from pellucid.core.tensor import make_tensor
from pellucid.nn import functional as F

from .registry import NodeCall, T, array_of, ints, kind, like, operator
from .shape import pad


def _window(
    c: NodeCall, sizes: list[int], kernel: list[int]
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Strides, dilations, and padding before and after each axis."""
    rank = len(kernel)
    strides, dilations = c.get("strides", [1] * rank), c.get("dilations", [1] * rank)
    auto = c.get("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        low, high = [], []
        for n, k, s, d in zip(sizes, kernel, strides, dilations, strict=True):
            total = max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
            less = total // 2
            low.append(less if auto == "SAME_UPPER" else total - less)
            high.append(total - low[-1])
        return strides, dilations, low, high
    pads = [0] * (2 * rank) if auto == "VALID" else c.get("pads", [0] * (2 * rank))
    return strides, dilations, list(pads[:rank]), list(pads[rank:])


@operator("Conv")
def _conv(c: NodeCall, x: Any, w: Any, b: Any = None) -> Any:
    strides, dilations, low, high = _window(c, list(x.shape[2:]), list(w.shape[2:]))
    padding = tuple(zip(low, high, strict=True))
    return TENSORS.conv(
        x,
        w,
        b,
        stride=tuple(strides),
        padding=padding,
        dilation=tuple(dilations),
        groups=c.get("group", 1),
    )


@operator("ConvTranspose")
def _conv_transpose(c: NodeCall, x: Any, w: Any, b: Any = None) -> Any:
    rank, groups = w.ndim - 2, c.get("group", 1)
    strides, dilations = c.get("strides", [1] * rank), c.get("dilations", [1] * rank)
    extra, auto = c.get("output_padding", [0] * rank), c.get("auto_pad", "NOTSET")
    pads = list(c.get("pads", [0] * 2 * rank))
    spans = [
        (x.shape[2 + k] - 1) * strides[k] + dilations[k] * (w.shape[2 + k] - 1) + 1 + extra[k]
        for k in range(rank)
    ]
    wanted = c.get("output_shape")
    if wanted is None and auto.startswith("SAME"):
        wanted = [x.shape[2 + k] * strides[k] for k in range(rank)]
    if wanted is not None:
        wanted = list(wanted)[-rank:]
        for k in range(rank):
            total = spans[k] - wanted[k]
            less = max(total, 0) // 2
            pads[k] = less if auto == "SAME_UPPER" else max(total, 0) - less
            # below zero where the result is larger than what the input reaches
            pads[rank + k] = total - pads[k]
    sizes = [spans[k] - pads[k] - pads[rank + k] for k in range(rank)]
    padding = tuple((pads[k], pads[rank + k] - extra[k]) for k in range(rank))
    out = TENSORS.conv_input_grad(
        x,
        w,
        x_shape=(x.shape[0], w.shape[1] * groups, *sizes),
        stride=tuple(strides),
        padding=padding,
        dilation=tuple(dilations),
        groups=groups,
    )
    return out if b is None else out + b.reshape([1, -1] + [1] * rank)


# ---- pooling ---------------------------------------------------------------------------------
def _counts(
    c: NodeCall, sizes: list[int], kernel: list[int]
) -> tuple[list[int], list[int], list[int], list[int], list[int]]:
    """Strides, dilations, padding before and after, and what a window that is rounded up reaches
    beyond it.
    """
    strides, dilations, low, high = _window(c, sizes, kernel)
    more = []
    for k, n in enumerate(sizes):
        span = dilations[k] * (kernel[k] - 1) + 1
        room = n + low[k] + high[k] - span
        steps = room // strides[k]
        if c.get("ceil_mode", 0) and room % strides[k] and (steps + 1) * strides[k] < n + low[k]:
            steps += 1
        more.append(max(steps * strides[k] + span - (n + low[k] + high[k]), 0))
    return strides, dilations, low, high, more


@operator("MaxPool")
def _max_pool(c: NodeCall, x: Any) -> Any:
    kernel = c.get("kernel_shape")
    strides, dilations, low, high, more = _counts(c, list(x.shape[2:]), kernel)
    high = [a + b for a, b in zip(high, more, strict=True)]
    lowest = -np.inf if kind(x) == "f" else np.iinfo(array_of(x).dtype).min
    if low == high and all(2 * p <= k for p, k in zip(low, kernel, strict=True)) and kind(x) == "f":
        wide, padding = x, tuple(low)
    else:
        wide, padding = pad(x, [0, 0, *low], [0, 0, *high], value=lowest), (0,) * len(kernel)
    if kind(x) == "f":
        out = TENSORS.max_pool(
            wide,
            kernel=tuple(kernel),
            stride=tuple(strides),
            padding=padding,
            dilation=tuple(dilations),
            ceil_mode=False,
        )
    else:
        view = _windows(array_of(wide), kernel, strides, dilations)
        out = make_tensor(view.max(tuple(range(-len(kernel), 0))))
    if not c.wants(1):
        return out
    array = np.pad(
        array_of(x), [(0, 0), (0, 0), *zip(low, high, strict=True)], constant_values=lowest
    )
    return out, make_tensor(_places(c, array, list(x.shape), kernel, strides, dilations, low))


def _windows(array: Any, kernel: list[int], strides: list[int], dilations: list[int]) -> Any:
    """A view with the windows as last axes."""
    rank = len(kernel)
    span = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True))
    view = np.lib.stride_tricks.sliding_window_view(array, span, tuple(range(2, 2 + rank)))
    return view[
        (slice(None),) * 2
        + tuple(slice(None, None, s) for s in strides)
        + tuple(slice(None, None, d) for d in dilations)
    ]


def _places(
    c: NodeCall, array: Any, shape: list[int], kernel: Any, strides: Any, dilations: Any, low: Any
) -> Any:
    """Where each maximum lies in the flattened input, batch and channels counted in."""
    rank = len(kernel)
    view = _windows(array, kernel, strides, dilations)
    best = view.reshape(*view.shape[: 2 + rank], -1).argmax(-1)
    where = np.unravel_index(best, kernel)
    index = np.arange(shape[0] * shape[1]).reshape(shape[0], shape[1], *[1] * rank)
    inner: Any = np.zeros_like(best)
    order = range(rank) if not c.get("storage_order", 0) else reversed(range(rank))
    for k in order:
        steps = [1] * (2 + rank)
        steps[2 + k] = -1
        at = where[k] * dilations[k] + (np.arange(best.shape[2 + k]) * strides[k] - low[k]).reshape(
            steps
        )
        inner = inner * shape[2 + k] + at
    return (index * math.prod(shape[2:]) + inner).astype(np.int64)


def _sums(x: Any, kernel: list[int], strides: list[int], dilations: list[int]) -> Any:
    """The sum over each window, every channel by itself."""
    n, ch = x.shape[0], x.shape[1]
    ones = T.ones([1, 1, *kernel], dtype=x.dtype)
    flat = x.reshape([n * ch, 1, *x.shape[2:]])
    out = TENSORS.conv(
        flat,
        ones,
        None,
        stride=tuple(strides),
        padding=((0, 0),) * len(kernel),
        dilation=tuple(dilations),
        groups=1,
    )
    return out.reshape([n, ch, *out.shape[2:]])


@operator("AveragePool")
def _average_pool(c: NodeCall, x: Any) -> Any:
    kernel, include = c.get("kernel_shape"), bool(c.get("count_include_pad", 0))
    strides, dilations, low, high, more = _counts(c, list(x.shape[2:]), kernel)
    plain = low == high and not any(more) and all(d == 1 for d in dilations)
    if plain and all(2 * p <= k for p, k in zip(low, kernel, strict=True)):
        return TENSORS.avg_pool(
            x,
            kernel=tuple(kernel),
            stride=tuple(strides),
            padding=tuple(low),
            ceil_mode=False,
            include_pad=include,
            divisor=None,
        )
    beyond = [0, 0, *[a + b for a, b in zip(high, more, strict=True)]]
    total = _sums(pad(x, [0, 0, *low], beyond), kernel, strides, dilations)
    ones = T.ones([1, 1, *x.shape[2:]], dtype=x.dtype)
    ones = (
        pad(ones, [0, 0, *low], [0, 0, *high], value=1)
        if include
        else pad(ones, [0, 0, *low], [0, 0, *high])
    )
    return total / _sums(pad(ones, [0] * ones.ndim, [0, 0, *more]), kernel, strides, dilations)


@operator("LpPool")
def _lp_pool(c: NodeCall, x: Any) -> Any:
    kernel, p = c.get("kernel_shape"), c.get("p", 2)
    strides, dilations, low, high, more = _counts(c, list(x.shape[2:]), kernel)
    wide = pad(
        T.pow(T.abs(x), p), [0, 0, *low], [0, 0, *[a + b for a, b in zip(high, more, strict=True)]]
    )
    return T.pow(_sums(wide, kernel, strides, dilations), 1 / p)


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def _global_pool(c: NodeCall, x: Any) -> Any:
    dims = list(range(2, x.ndim))
    if c.op == "GlobalLpPool":
        p = c.get("p", 2)
        return T.pow(T.sum(T.pow(T.abs(x), p), dims, keepdim=True), 1 / p)
    return (
        T.mean(x, dims, keepdim=True)
        if c.op == "GlobalAveragePool"
        else T.amax(x, dims, keepdim=True)
    )


@operator("MaxUnpool", static=(2,))
def _max_unpool(c: NodeCall, x: Any, index: Any, shape: Any = None) -> Any:
    kernel = c.get("kernel_shape")
    rank = len(kernel)
    strides, pads = c.get("strides", [1] * rank), c.get("pads", [0] * 2 * rank)
    made = [
        (x.shape[2 + k] - 1) * strides[k] + kernel[k] - pads[k] - pads[rank + k]
        for k in range(rank)
    ]
    inner = [*x.shape[:2], *made]
    out = T.scatter(
        T.zeros([math.prod(inner)], dtype=x.dtype), 0, index.reshape([-1]), x.reshape([-1])
    ).reshape(inner)
    return (
        out
        if shape is None
        else pad(out, [0] * out.ndim, [a - b for a, b in zip(ints(shape), inner, strict=True)])
    )


# ---- normalization ---------------------------------------------------------------------------
@operator("BatchNormalization")
def _batch_norm(c: NodeCall, x: Any, scale: Any, bias: Any, mean: Any, var: Any) -> Any:
    eps, momentum = c.get("epsilon", 1e-5), c.get("momentum", 0.9)
    if not c.get("training_mode", 0) and not (c.opset < 7 and not c.get("is_test", 0)):
        return F.batch_norm(x, mean, var, scale, bias, training=False, eps=eps)
    dims = [d for d in range(x.ndim) if d != 1]
    here, spread = T.mean(x, dims), T.var(x, dims, correction=0)
    out = F.batch_norm(x, None, None, scale, bias, training=True, eps=eps)
    return out, mean * momentum + here * (1 - momentum), var * momentum + spread * (1 - momentum)


@operator("InstanceNormalization")
def _instance_norm(c: NodeCall, x: Any, scale: Any, bias: Any) -> Any:
    return F.instance_norm(x, weight=scale, bias=bias, eps=c.get("epsilon", 1e-5))


@operator("GroupNormalization")
def _group_norm(c: NodeCall, x: Any, scale: Any, bias: Any) -> Any:
    groups = c.get("num_groups")
    if c.opset < 21:  # one number for a group, and not for a channel
        each = x.shape[1] // groups
        scale, bias = T.repeat_interleave(scale, each), T.repeat_interleave(bias, each)
    return F.group_norm(x, groups, scale, bias, c.get("epsilon", 1e-5))


@operator("LayerNormalization")
def _layer_norm(c: NodeCall, x: Any, scale: Any, bias: Any = None) -> Any:
    axis, eps = c.get("axis", -1) % x.ndim, c.get("epsilon", 1e-5)
    shape = tuple(x.shape[axis:])
    if tuple(scale.shape) == shape and (bias is None or tuple(bias.shape) == shape):
        out = F.layer_norm(x, shape, scale, bias, eps)
    else:
        out = F.layer_norm(x, shape, None, None, eps) * scale
        out = out if bias is None else out + bias
    if not c.wants(1) and not c.wants(2):
        return out
    dims = list(range(axis, x.ndim))
    return (
        out,
        T.mean(x, dims, keepdim=True),
        T.rsqrt(T.var(x, dims, correction=0, keepdim=True) + eps),
    )


@operator("RMSNormalization")
def _rms_norm(c: NodeCall, x: Any, scale: Any) -> Any:
    axis = c.get("axis", -1) % x.ndim
    return like(F.rms_norm(x, tuple(x.shape[axis:]), None, c.get("epsilon", 1e-5)) * scale, x)


@operator("MeanVarianceNormalization")
def _mean_variance(c: NodeCall, x: Any) -> Any:
    axes = c.get("axes", [0, 2, 3])
    return (x - T.mean(x, axes, keepdim=True)) / (T.std(x, axes, correction=0, keepdim=True) + 1e-9)


@operator("LpNormalization")
def _lp_norm(c: NodeCall, x: Any) -> Any:
    norm = T.norm(x, p=c.get("p", 2), dim=c.get("axis", -1), keepdim=True)
    return T.where(norm == 0, T.zeros_like(x), x / norm)


@operator("LRN")
def _lrn(c: NodeCall, x: Any) -> Any:
    size = c.get("size")
    squares = pad(
        x * x,
        [0, (size - 1) // 2, *[0] * (x.ndim - 2)],
        [0, size - 1 - (size - 1) // 2, *[0] * (x.ndim - 2)],
    )
    total = T.sum(squares.unfold(1, size, 1), -1)
    return x / T.pow(
        total * (c.get("alpha", 1e-4) / size) + c.get("bias", 1.0), c.get("beta", 0.75)
    )


@operator("Dropout", static=(1, 2))
def _dropout(c: NodeCall, x: Any, ratio: Any = None, training: Any = None) -> Any:
    """Nothing is dropped unless the file says so; the library's generator chooses."""
    p = c.get("ratio", 0.5) if ratio is None else float(ratio)
    if training is None or not bool(training) or p == 0:
        return (x, T.ones_like(x, dtype=T.gt(x, x).dtype)) if c.wants(1) else x
    kept = T.rand(list(x.shape)) >= p
    return x * kept / (1 - p), kept


# ---- losses ----------------------------------------------------------------------------------
@operator("NegativeLogLikelihoodLoss")
def _nll(c: NodeCall, x: Any, target: Any, weight: Any = None) -> Any:
    how, ignored = c.get("reduction", "mean"), c.get("ignore_index")
    target = target.long()
    seen = None if ignored is None else target != ignored
    target = target if seen is None else T.where(seen, target, T.zeros_like(target))
    loss = -T.gather(x, 1, T.unsqueeze(target, 1)).squeeze(1)
    share = (
        None
        if weight is None
        else T.index_select(weight, 0, target.reshape([-1])).reshape(tuple(target.shape))
    )
    if seen is not None:
        share = like(seen, x) if share is None else share * seen
    loss = loss if share is None else loss * share
    if how == "none":
        return loss
    if how == "sum":
        return T.sum(loss)
    return T.mean(loss) if share is None else T.sum(loss) / T.sum(share)


@operator("SoftmaxCrossEntropyLoss")
def _cross_entropy(c: NodeCall, x: Any, target: Any, weight: Any = None) -> Any:
    scores = T.log_softmax(x, 1)
    return _nll(c, scores, target, weight), scores


# ---- boxes -----------------------------------------------------------------------------------
@operator("NonMaxSuppression", static=(0, 1, 2, 3, 4))
def _nms(
    c: NodeCall, boxes: Any, scores: Any, most: Any = None, overlap: Any = None, least: Any = None
) -> Any:
    """For each image and class the boxes by score, without those that cover a chosen one too much."""
    limit = 0 if most is None else ints(most)[0]
    threshold = 0.0 if overlap is None else float(np.asarray(overlap).reshape(-1)[0])
    rows = []
    for image, cls in itertools.product(range(scores.shape[0]), range(scores.shape[1])):
        b = boxes[image].astype(np.float64)
        if c.get("center_point_box", 0):
            b = np.stack(
                [
                    b[:, 1] - b[:, 3] / 2,
                    b[:, 0] - b[:, 2] / 2,
                    b[:, 1] + b[:, 3] / 2,
                    b[:, 0] + b[:, 2] / 2,
                ],
                1,
            )
        low, high = np.minimum(b[:, :2], b[:, 2:]), np.maximum(b[:, :2], b[:, 2:])
        areas = (high - low).prod(1)
        left = np.argsort(-scores[image, cls], kind="stable")
        if least is not None:
            left = left[scores[image, cls][left] > np.asarray(least).reshape(-1)[0]]
        chosen = 0
        while len(left) and chosen < limit:
            best, rest = left[0], left[1:]
            rows.append((image, cls, best))
            chosen += 1
            common = (
                (np.minimum(high[best], high[rest]) - np.maximum(low[best], low[rest]))
                .clip(0)
                .prod(1)
            )
            union = areas[best] + areas[rest] - common
            left = rest[common <= threshold * union]
    return make_tensor(np.array(rows, np.int64).reshape(-1, 3))
