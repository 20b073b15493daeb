"""Shapes, parts and joins: what moves values and computes none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pellucid import dtypes
from pellucid.core import observe
from pellucid.core.tensor import make_tensor
from pellucid.errors import OperationError
from pellucid.nn import functional as F
from pellucid.onnx.writer.read import numpy_type

from .registry import NodeCall, T, array_of, ints, kind, operator, tensor_of


@operator("Shape", shape_only=True)
def _shape(c: NodeCall, x: Any) -> Any:
    return np.array(tuple(x.shape)[c.get("start", 0) : c.get("end")], np.int64)


@operator("Size", shape_only=True)
def _size(c: NodeCall, x: Any) -> Any:
    return np.array(math.prod(x.shape), np.int64)


_CONSTANTS = {
    "value": None,
    "sparse_value": None,
    "value_int": np.int64,
    "value_ints": np.int64,
    "value_float": np.float32,
    "value_floats": np.float32,
}


@operator("Constant")
def _constant(c: NodeCall) -> Any:
    for key, dtype in _CONSTANTS.items():
        if key in c.attributes:
            return np.asarray(c.get(key), dtype)
    raise c.refuse("of text")


@operator("Identity", keeps=True)
def _identity(c: NodeCall, x: Any) -> Any:
    return x


@operator("Reshape", static=(1,))
def _reshape(c: NodeCall, x: Any, shape: Any = None) -> Any:
    target = list(c.get("shape")) if shape is None else ints(shape)
    if not c.get("allowzero"):
        target = [x.shape[k] if n == 0 else n for k, n in enumerate(target)]
    elif -1 in target and 0 in target:
        raise OperationError("onnx: Reshape with allowzero takes 0 or -1, not both")
    return x.reshape(target)


@operator("Flatten")
def _flatten(c: NodeCall, x: Any) -> Any:
    axis = c.get("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(
        [math.prod(x.shape[:axis]), -1]
        if 0 not in x.shape
        else [math.prod(x.shape[:axis]), math.prod(x.shape[axis:])]
    )


@operator("Transpose")
def _transpose(c: NodeCall, x: Any) -> Any:
    return T.permute(x, c.get("perm") or list(range(x.ndim))[::-1])


def _axes(c: NodeCall, axes: Any) -> list[int] | None:
    return c.get("axes") if axes is None else ints(axes)


@operator("Squeeze", static=(1,))
def _squeeze(c: NodeCall, x: Any, axes: Any = None) -> Any:
    given = _axes(c, axes)
    if given is None:
        return T.squeeze(x)
    gone = {d % x.ndim for d in given}
    if any(x.shape[d] != 1 for d in gone):
        raise OperationError(
            f"onnx: Squeeze of the axes {sorted(gone)} of the shape {list(x.shape)}"
        )
    return T.squeeze(x, tuple(gone)) if gone else x


@operator("Unsqueeze", static=(1,))
def _unsqueeze(c: NodeCall, x: Any, axes: Any = None) -> Any:
    given = _axes(c, axes) or []
    for d in sorted(d % (x.ndim + len(given)) for d in given):
        x = T.unsqueeze(x, d)
    return x


@operator("Expand", static=(1,))
def _expand(c: NodeCall, x: Any, shape: Any) -> Any:
    return T.broadcast_to(x, np.broadcast_shapes(tuple(x.shape), tuple(ints(shape))))


@operator("Tile", static=(1,))
def _tile(c: NodeCall, x: Any, repeats: Any) -> Any:
    return T.tile(x, ints(repeats))


@operator("Slice", static=(1, 2, 3, 4))
def _slice(
    c: NodeCall, x: Any, starts: Any = None, ends: Any = None, axes: Any = None, steps: Any = None
) -> Any:
    if starts is None:
        starts, ends, axes = c.get("starts"), c.get("ends"), c.get("axes")
    first, last = ints(starts), ints(ends)
    where = list(range(len(first))) if axes is None else ints(axes)
    strides = [1] * len(first) if steps is None else ints(steps)
    for start, end, axis, step in zip(first, last, where, strides, strict=True):
        axis %= x.ndim
        size = x.shape[axis]
        index: list[Any] = [slice(None)] * x.ndim
        # An end at -size or below means "before the first element" when going back, for which a
        # slice has None.
        back = step < 0
        start = min(max(start + size if start < 0 else start, 0), size - 1 if back else size)
        end = end + size if end < 0 else end
        end = min(max(end, -1), size) if back else min(max(end, 0), size)
        if back:
            count = max(0, -((start - end) // step))
            if not size or not count:
                index[axis] = slice(0, 0)
                x = x[tuple(index)]
                continue
            low = start + (count - 1) * step
            index[axis] = slice(low, start + 1, -step)
            x = T.flip(x[tuple(index)], [axis])
        elif (start, end, step) != (0, size, 1):
            index[axis] = slice(start, max(start, end), step)
            x = x[tuple(index)]
    return x


@operator("Concat")
def _concat(c: NodeCall, *xs: Any) -> Any:
    axis = c.get("axis", 1)
    return xs[0] if len(xs) == 1 else T.cat(xs, axis)


@operator("Split", static=(1,))
def _split(c: NodeCall, x: Any, sizes: Any = None) -> Any:
    axis = c.get("axis", 0) % x.ndim
    given = c.get("split") if sizes is None else ints(sizes)
    if given is None:
        count, size = c.get("num_outputs") or len(c.outputs), x.shape[axis]
        part = -(-size // count)
        given = [max(0, min(part, size - k * part)) for k in range(count)]
    return tuple(T.split(x, given, axis))


@operator("Gather")
def _gather(c: NodeCall, x: Any, index: Any) -> Any:
    axis = c.get("axis", 0) % x.ndim
    flat = index.reshape([-1]).long()
    # whoever records wants a rule for all values
    if observe.observers or bool((index._array < 0).any()):
        flat = T.where(flat < 0, flat + x.shape[axis], flat)
    if axis == 0 and kind(x) == "f" and x.ndim == 2:
        return F.embedding(flat.reshape(tuple(index.shape)), x)
    out = T.index_select(x, axis, flat)
    return out.reshape([*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]])


@operator("GatherElements")
def _gather_elements(c: NodeCall, x: Any, index: Any) -> Any:
    axis = c.get("axis", 0) % x.ndim
    index = index.long()
    return T.gather(x, axis, T.where(index < 0, index + x.shape[axis], index))


def _last(index: Any, shape: Any) -> list[Any]:
    """The columns of an index for GatherND and ScatterND, counted from the beginning."""
    columns = [T.select(index, -1, k).long() for k in range(index.shape[-1])]
    return [T.where(col < 0, col + shape[k], col) for k, col in enumerate(columns)]


@operator("GatherND")
def _gather_nd(c: NodeCall, x: Any, index: Any) -> Any:
    batch = c.get("batch_dims", 0)
    lead = tuple(x.shape[:batch])
    first = []
    for k, n in enumerate(lead):
        shape = [1] * (index.ndim - 1)
        shape[k] = n
        first.append(T.arange(n).reshape(shape))
    return x[(*first, *_last(index, x.shape[batch:]))]


@operator("Scatter", "ScatterElements")
def _scatter(c: NodeCall, x: Any, index: Any, values: Any) -> Any:
    axis, how = c.get("axis", 0) % x.ndim, c.get("reduction", "none")
    index = index.long()
    index = T.where(index < 0, index + x.shape[axis], index)
    if how == "none":
        return T.scatter(x, axis, index, values)
    if how == "add":
        return T.scatter_add(x, axis, index, values)
    return T.scatter_reduce(
        x, axis, index, values, {"mul": "prod", "max": "amax", "min": "amin"}[how]
    )


@operator("ScatterND")
def _scatter_nd(c: NodeCall, x: Any, index: Any, values: Any) -> Any:
    how, depth = c.get("reduction", "none"), index.shape[-1]
    columns, rest = _last(index, x.shape), tuple(x.shape[depth:])
    if how in ("none", "add"):
        return T.index_put(x, tuple(columns), values, accumulate=how == "add")
    flat = columns[0]
    for k in range(1, depth):
        flat = flat * x.shape[k] + columns[k]
    count, size = math.prod(index.shape[:-1]), math.prod(rest)
    where = flat.reshape([count, 1]).expand(count, size)
    out = T.scatter_reduce(
        x.reshape([-1, size]),
        0,
        where,
        values.reshape([count, size]),
        {"mul": "prod", "max": "amax", "min": "amin"}[how],
    )
    return out.reshape(tuple(x.shape))


@operator("TensorScatter", static=(2,))
def _tensor_scatter(c: NodeCall, past: Any, update: Any, where: Any = None) -> Any:
    axis = c.get("axis", -2) % past.ndim
    start = [0] * past.shape[0] if where is None else ints(where)
    size, length = past.shape[axis], update.shape[axis]
    rows = []
    for b, first in enumerate(start):
        places = (
            (first + np.arange(length)) % size
            if c.get("mode", "linear") == "circular"
            else first + np.arange(length)
        )
        rows.append(T.index_copy(past[b], axis - 1, make_tensor(places), update[b]))
    return T.stack(rows)


@operator("Compress", static=(1,))
def _compress(c: NodeCall, x: Any, condition: Any) -> Any:
    axis = c.get("axis")
    x = x.reshape([-1]) if axis is None else x
    return T.index_select(
        x, 0 if axis is None else axis % x.ndim, make_tensor(np.flatnonzero(condition))
    )


@operator("OneHot", static=(1,))
def _one_hot(c: NodeCall, index: Any, depth: Any, values: Any) -> Any:
    size, axis = int(np.asarray(depth).reshape(-1)[0]), c.get("axis", -1)
    index = index.long()
    index = T.where(index < 0, index + size, index)
    axis = axis + index.ndim + 1 if axis < 0 else axis
    shape = [1] * (index.ndim + 1)
    shape[axis] = size
    here = T.unsqueeze(index, axis) == T.arange(size).reshape(shape)
    return T.where(here, values[1], values[0])


@operator("ConstantOfShape", static=(0,))
def _constant_of_shape(c: NodeCall, shape: Any) -> Any:
    value = c.get("value", np.zeros(1, np.float32))
    return T.full(ints(shape), value.reshape(-1)[0].item(), dtype=dtypes.BY_NUMPY[value.dtype])


@operator("Range", static=(0, 1, 2))
def _range(c: NodeCall, start: Any, end: Any, step: Any) -> Any:
    first, last, by = (x.reshape(-1)[0] for x in (start, end, step))
    count = max(math.ceil((last - first) / by), 0)
    if (first, by) == (0, 1):
        return make_tensor(np.arange(count, dtype=start.dtype))
    # From operations, so that whoever records them sees counting from 0, whose length may be open.
    return make_tensor(np.arange(count, dtype=start.dtype)) * by.item() + first.item()


@operator("EyeLike", shape_only=True)
def _eye_like(c: NodeCall, x: Any) -> Any:
    number = c.get("dtype")
    dtype = array_dtype(x) if number is None else numpy_type(number, "the result of EyeLike")
    return np.eye(*x.shape, k=c.get("k", 0), dtype=dtype)


def array_dtype(x: Any) -> Any:
    """The NumPy dtype of an array or Tensor."""
    return x.dtype if isinstance(x, np.ndarray) else x._array.dtype


@operator("Trilu", static=(1,))
def _trilu(c: NodeCall, x: Any, k: Any = None) -> Any:
    return (T.triu if c.get("upper", 1) else T.tril)(x, 0 if k is None else ints(k)[0])


@operator("Pad", static=(1, 2, 3))
def _pad(c: NodeCall, x: Any, pads: Any = None, value: Any = None, axes: Any = None) -> Any:
    given = c.get("pads", c.get("paddings")) if pads is None else ints(pads)
    fill = (
        c.get("value", 0.0) if value is None else value.reshape(-1)[0].item() if value.size else 0
    )
    where = list(range(x.ndim)) if axes is None else [d % x.ndim for d in ints(axes)]
    low, high = [0] * x.ndim, [0] * x.ndim
    for k, d in enumerate(where):
        low[d], high[d] = given[k], given[k + len(where)]
    return pad(x, low, high, c.get("mode", "constant"), fill)


def pad(x: Any, low: list[int], high: list[int], mode: str = "constant", value: Any = 0) -> Any:
    """A tensor with more (or, negative, fewer) elements before and after each axis."""
    if mode == "constant":
        flat = [n for pair in reversed(list(zip(low, high, strict=True))) for n in pair]
        while flat and flat[-2:] == [0, 0]:
            flat = flat[:-2]
        return F.pad(x, flat, value=value) if flat else x
    for d, (before, after) in enumerate(zip(low, high, strict=True)):
        if (before, after) == (0, 0):
            continue
        n = x.shape[d]
        places = np.arange(-before, n + after)
        if mode == "edge":
            places = places.clip(0, n - 1)
        elif mode == "wrap":
            places = places % n
        else:  # reflect
            period = max(2 * (n - 1), 1)
            places = np.abs((places + (n - 1)) % period - (n - 1)) if n > 1 else places * 0
        x = T.index_select(x, d, make_tensor(places.astype(np.int64)))
    return x


@operator("CenterCropPad", static=(1,))
def _center_crop_pad(c: NodeCall, x: Any, shape: Any) -> Any:
    axes = [d % x.ndim for d in c.get("axes", range(x.ndim))]
    low, high = [0] * x.ndim, [0] * x.ndim
    for d, size in zip(axes, ints(shape), strict=True):
        n = x.shape[d]
        if n > size:
            x = T.narrow(x, d, (n - size) // 2, size)
        else:
            low[d] = (size - n) // 2
            high[d] = size - n - low[d]
    return pad(x, low, high)


@operator("DepthToSpace")
def _depth_to_space(c: NodeCall, x: Any) -> Any:
    b, (n, ch, h, w) = c.get("blocksize"), x.shape
    if c.get("mode", "DCR") == "DCR":
        return (
            x.reshape([n, b, b, ch // b**2, h, w])
            .permute(0, 3, 4, 1, 5, 2)
            .reshape([n, ch // b**2, h * b, w * b])
        )
    return (
        x.reshape([n, ch // b**2, b, b, h, w])
        .permute(0, 1, 4, 2, 5, 3)
        .reshape([n, ch // b**2, h * b, w * b])
    )


@operator("SpaceToDepth")
def _space_to_depth(c: NodeCall, x: Any) -> Any:
    b, (n, ch, h, w) = c.get("blocksize"), x.shape
    x = x.reshape([n, ch, h // b, b, w // b, b])
    crd = c.get("mode", "DCR") == "CRD"
    x = x.permute(0, 1, 3, 5, 2, 4) if crd else x.permute(0, 3, 5, 1, 2, 4)
    return x.reshape([n, ch * b * b, h // b, w // b])


@operator("ReverseSequence", static=(1,))
def _reverse_sequence(c: NodeCall, x: Any, lengths: Any) -> Any:
    time, batch = c.get("time_axis", 0), c.get("batch_axis", 1)
    order = np.arange(x.shape[time])[:, None] + 0 * np.asarray(lengths)[None]
    order = np.where(order < lengths, lengths - 1 - order, order)  # (time, batch)
    shape = [1] * x.ndim
    shape[time], shape[batch] = order.shape
    index = (order if time < batch else order.T).reshape(shape).astype(np.int64)
    return T.gather(x, time, make_tensor(index).expand(tuple(x.shape)))


@operator("AffineGrid", static=(1,))
def _affine_grid(c: NodeCall, theta: Any, size: Any) -> Any:
    return F.affine_grid(theta, ints(size), align_corners=bool(c.get("align_corners", 0)))


@operator("Col2Im", static=(1, 2))
def _col2im(c: NodeCall, x: Any, image: Any, block: Any) -> Any:
    size, kernel = ints(image), ints(block)
    rank = len(size)
    dilation, stride = c.get("dilations", [1] * rank), c.get("strides", [1] * rank)
    pads = c.get("pads", [0] * 2 * rank)
    n, channels = x.shape[0], x.shape[1] // math.prod(kernel)
    full = [s + pads[k] + pads[rank + k] for k, s in enumerate(size)]
    steps = [(full[k] - dilation[k] * (kernel[k] - 1) - 1) // stride[k] + 1 for k in range(rank)]
    where = np.zeros([*kernel, *steps], np.int64)  # the place in the image of every entry
    for k in range(rank):
        at = np.arange(kernel[k])[:, None] * dilation[k] + np.arange(steps[k]) * stride[k]
        shape = [1] * (2 * rank)
        shape[k], shape[rank + k] = at.shape
        where = where * full[k] + at.reshape(shape)
    rows = x.reshape([n * channels, -1])
    flat = make_tensor(where.reshape(1, -1)).expand(tuple(rows.shape))
    out = T.scatter_add(
        T.zeros([n * channels, math.prod(full)], dtype=x.dtype), 1, flat, rows
    ).reshape([n, channels, *full])
    for k in range(rank):
        out = T.narrow(out, 2 + k, pads[k], size[k])
    return out


# ---- sequences and optional values -----------------------------------------------------------
def _known(x: Any) -> int:
    return ints(array_of(x))[0]


@operator("SequenceConstruct", keeps=True)
def _sequence(c: NodeCall, *xs: Any) -> Any:
    return list(xs)


@operator("SequenceEmpty", keeps=True)
def _sequence_empty(c: NodeCall) -> Any:
    return []


@operator("SequenceAt", keeps=True)
def _sequence_at(c: NodeCall, xs: Any, k: Any) -> Any:
    return xs[_known(k)]


@operator("SequenceInsert", keeps=True)
def _sequence_insert(c: NodeCall, xs: Any, x: Any, k: Any = None) -> Any:
    at = len(xs) if k is None else _known(k)
    at = at + len(xs) if at < 0 else at
    return [*xs[:at], x, *xs[at:]]


@operator("SequenceErase", keeps=True)
def _sequence_erase(c: NodeCall, xs: Any, k: Any = None) -> Any:
    out = list(xs)
    del out[-1 if k is None else _known(k)]
    return out


@operator("SequenceLength", keeps=True)
def _sequence_length(c: NodeCall, xs: Any) -> Any:
    return np.array(len(xs), np.int64)


@operator("SplitToSequence", static=(1,))
def _split_to_sequence(c: NodeCall, x: Any, sizes: Any = None) -> Any:
    axis = c.get("axis", 0) % x.ndim
    if sizes is None:
        parts = T.split(x, 1, axis)
        return list(parts) if c.get("keepdims", 1) else [T.squeeze(p, axis) for p in parts]
    return list(T.split(x, ints(sizes)[0] if np.ndim(sizes) == 0 else ints(sizes), axis))


@operator("ConcatFromSequence", keeps=True)
def _concat_from_sequence(c: NodeCall, xs: Any) -> Any:
    parts = [tensor_of(x) for x in xs]
    return (T.stack if c.get("new_axis", 0) else T.cat)(parts, c.get("axis"))


@operator("Optional", keeps=True)
def _optional(c: NodeCall, x: Any = None) -> Any:
    return x


@operator("OptionalGetElement", keeps=True)
def _optional_get(c: NodeCall, x: Any) -> Any:
    return x


@operator("OptionalHasElement", keeps=True)
def _optional_has(c: NodeCall, x: Any = None) -> Any:
    return np.array(x is not None)
