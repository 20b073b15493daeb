"""Translations of less common operations: indexed writes, windows, losses and corners of arithmetic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .graph import Context, rule
from .shape_rules import reshape


# ---- indexed writes and reads ------------------------------------------------------------------
def _along(c: Context, index: str, dim: int, shape: Any) -> str:
    """A one-dimensional index repeated to a shape, for operators that take one index for each element."""
    view = [1] * len(shape)
    view[dim] = -1
    return c.emit("Expand", c.emit("Reshape", index, c.ints(view)), c.ints(shape))


@rule("index_add", "index_copy")
def _index_add(c: Context) -> Any:
    if not c.shape():
        raise c.refuse("of a tensor without dimensions")
    if c.graph.opset < 16 and c.step.op == "index_add":
        raise c.refuse("needs opset 16")
    alpha, reduction = c.p.get("alpha", 1), "add" if c.step.op == "index_add" else None
    source = c[2] if alpha == 1 else c.emit("Mul", c[2], c.number(alpha))
    dim = int(c.p["dim"])
    return c.emit("ScatterElements", c[0], _along(c, c[1], dim, c.shape(2)), source, axis=dim, reduction=reduction)


@rule("index_fill")
def _index_fill(c: Context) -> Any:
    if not c.shape():
        raise c.refuse("of a tensor without dimensions")
    dim, shape = int(c.p["dim"]), list(c.shape())
    shape[dim] = c.shape(1)[0] if c.shape(1) else 1
    filled = c.emit("Expand", c[2], c.ints(shape))
    return c.emit("ScatterElements", c[0], _along(c, c[1], dim, shape), filled, axis=dim)


@rule("scatter_reduce")
def _scatter_reduce(c: Context) -> Any:
    how = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}.get(c.p["reduce"])
    if how is None or not c.p["include_self"] or c.graph.opset < (16 if how in ("add", "mul") else 18):
        raise c.refuse(f"with {c.p['reduce']!r}, include_self={c.p['include_self']} in opset {c.graph.opset}")
    return c.emit("ScatterElements", c[0], c[1], c[2], axis=int(c.p["dim"]), reduction=how)


@rule("take_along")
def _take_along(c: Context) -> Any:
    return c.emit("GatherElements", c[0], c[1], axis=int(c.p["dim"]))


@rule("repeat_each")
def _repeat_each(c: Context) -> Any:
    """A new axis after `dim`, repeated, and put together with it."""
    count, dim = c.p["count"], int(c.p["dim"])
    if not isinstance(count, int):
        raise c.refuse("with a count for each element")
    wide = c.emit("Unsqueeze", c[0], c.ints([dim + 1]))
    target = [1] * (len(c.shape()) + 1)
    target[dim + 1] = count
    wide = c.emit("Expand", wide, c.ints(target))
    return reshape(c, wide, c.out_shape, c.shape())


# ---- windows and diagonals: reads from known places ------------------------------------------------
@rule("diagonal")
def _diagonal(c: Context) -> Any:
    rank = len(c.shape())
    dims = [c.p["dim1"] % rank, c.p["dim2"] % rank]
    rest = [d for d in range(rank) if d not in dims]
    rows, columns = (c.fixed([c.shape()[d]])[0] for d in dims)
    turned = c.emit("Transpose", c[0], perm=[*rest, *dims])
    flat = c.emit("Reshape", turned, c.ints([*[0] * len(rest), rows * columns]))
    picked = np.arange(rows * columns).reshape(rows, columns).diagonal(c.p["offset"])
    return c.emit("Gather", flat, c.const(picked.copy()), axis=len(rest))


@rule("unfold")
def _unfold(c: Context) -> Any:
    dim, rank = c.p["dim"] % len(c.shape()), len(c.shape())
    count = c.fixed([c.out_shape[dim]])[0]
    index = np.arange(count)[:, None] * c.p["step"] + np.arange(c.p["size"])
    out = c.emit("Gather", c[0], c.const(index), axis=dim)  # the window's elements come after the axis
    return c.emit("Transpose", out, perm=[*range(dim + 1), *range(dim + 2, rank + 1), dim + 1])


@rule("im2col")
def _im2col(c: Context) -> Any:
    """Every element of the padded image by its place."""
    (high, wide), kernel = c.fixed(c.shape()[2:]), c.p["kernel"]
    (dy, dx), (py, px), (sy, sx) = c.p["dilation"], c.p["padding"], c.p["stride"]
    padded = c.emit("Pad", c[0], c.ints([0, 0, py, px, 0, 0, py, px]), c.number(0), mode="constant") if py or px else c[0]
    high, wide = high + 2 * py, wide + 2 * px
    rows, columns = (high - dy * (kernel[0] - 1) - 1) // sy + 1, (wide - dx * (kernel[1] - 1) - 1) // sx + 1
    y = np.arange(kernel[0])[:, None, None, None] * dy + np.arange(rows)[:, None] * sy
    x = np.arange(kernel[1])[:, None, None] * dx + np.arange(columns) * sx
    picked = (y * wide + x).reshape(-1)
    flat = c.emit("Reshape", padded, c.ints([0, 0, high * wide]))
    out = c.emit("Gather", flat, c.const(picked), axis=2)
    return reshape(c, out, c.out_shape, ())


@rule("col2im")
def _col2im(c: Context) -> Any:
    if c.graph.opset < 18:
        raise c.refuse("needs opset 18")
    pads = list(c.p["padding"]) * 2
    size, kernel = c.ints(c.fixed(c.p["size"])), c.ints(c.p["kernel"])
    return c.emit("Col2Im", c[0], size, kernel, dilations=list(c.p["dilation"]), pads=pads, strides=list(c.p["stride"]))


# ---- arithmetic --------------------------------------------------------------------------------
@rule("hypot")
def _hypot(c: Context) -> Any:
    return c.emit("Sqrt", c.emit("Add", c.emit("Mul", c[0], c[0]), c.emit("Mul", c[1], c[1])))


def _negative(c: Context, x: str) -> str:
    """Whether the sign bit is set: of -0 only its reciprocal tells."""
    if c.dtype.kind != "f":
        return c.emit("Less", x, c.number(0))
    return c.emit("Or", c.emit("Less", x, c.number(0)), c.emit("Less", c.emit("Reciprocal", x), c.number(0)))


@rule("atan2")
def _atan2(c: Context) -> Any:
    """The arc tangent of the quotient, moved to the quadrant; of (0, 0) it is 0."""
    y, x = c[0], c[1]
    zero = c.number(0)
    both = c.emit("And", c.emit("Equal", y, zero), c.emit("Equal", x, zero))
    base = c.emit("Atan", c.emit("Div", y, c.emit("Where", both, c.number(1), x)))
    half = c.emit("Where", _negative(c, y), c.number(-math.pi), c.number(math.pi))
    return c.emit("Where", c.emit("Less", x, zero), c.emit("Add", base, half), base)


@rule("signbit")
def _signbit(c: Context) -> Any:
    return _negative(c, c[0])


@rule("sgn")
def _sgn(c: Context) -> Any:
    if c.dtype.kind == "c":
        raise c.refuse("of complex numbers")
    return c.emit("Sign", c[0])


@rule("nan_to_num")
def _nan_to_num(c: Context) -> Any:
    if c.dtype.kind != "f" or c.dtype.itemsize < 4:
        raise c.refuse(f"of {c.dtype.name}")
    limits = np.finfo(c.dtype)
    low, high, nan = c.p["neginf"], c.p["posinf"], c.p["nan"]
    out = c.emit("Where", c.emit("Equal", c[0], c.number(np.inf)), c.number(limits.max if high is None else high), c[0])
    out = c.emit("Where", c.emit("Equal", c[0], c.number(-np.inf)), c.number(limits.min if low is None else low), out)
    return c.emit("Where", c.emit("IsNaN", c[0]), c.number(0.0 if nan is None else nan), out)


@rule("isposinf", "isneginf")
def _isinf(c: Context) -> Any:
    up = int(c.step.op == "isposinf")
    return c.emit("IsInf", c[0], detect_positive=up, detect_negative=1 - up)


@rule("logit")
def _logit(c: Context) -> Any:
    eps = c.p["eps"]
    x = c[0] if eps is None else c.emit("Clip", c[0], c.number(eps), c.number(1 - eps))
    return c.emit("Log", c.emit("Div", x, c.emit("Sub", c.number(1), x)))


@rule("xlogy", "xlog1py")
def _xlogy(c: Context) -> Any:
    y = c[1] if c.step.op == "xlogy" else c.emit("Add", c[1], c.number(1))
    zero = c.emit("And", c.emit("Equal", c[0], c.number(0)), c.emit("Not", c.emit("IsNaN", y)))
    return c.emit("Where", zero, c.number(0), c.emit("Mul", c[0], c.emit("Log", y)))


@rule("fmax", "fmin")
def _fmax(c: Context) -> Any:
    if c.dtype.kind != "f":
        return c.emit("Max" if c.step.op == "fmax" else "Min", *c.names)
    chosen = c.emit("Max" if c.step.op == "fmax" else "Min", *c.names)
    return c.emit("Where", c.emit("IsNaN", c[0]), c[1], c.emit("Where", c.emit("IsNaN", c[1]), c[0], chosen))


@rule("count_nonzero")
def _count_nonzero(c: Context) -> Any:
    ones = c.cast(c.cast(c[0], np.bool_), np.int64)
    return c.reduce("ReduceSum", ones, _dims(c), False)


@rule("nansum")
def _nansum(c: Context) -> Any:
    x = c.emit("Where", c.emit("IsNaN", c[0]), c.number(0), c[0])
    return c.reduce("ReduceSum", x, _dims(c), c.p["keepdim"])


def _dims(c: Context) -> Any:
    dim = c.p["dim"]
    return dim if dim is None or isinstance(dim, (tuple, list)) else (dim,)


@rule("det")
def _det(c: Context) -> Any:
    return c.emit("Det", c[0])


@rule("cdist")
def _cdist(c: Context) -> Any:
    order = float(c.p["p"])
    d = c.emit("Sub", c.emit("Unsqueeze", c[0], c.ints([-2])), c.emit("Unsqueeze", c[1], c.ints([-3])))
    if order == 2:
        return c.reduce("ReduceL2", d, [-1], False)
    size = c.emit("Abs", d)
    if order == 1 or math.isinf(order):
        return c.reduce("ReduceSum" if order == 1 else "ReduceMax", size, [-1], False)
    if order == 0:
        raise c.refuse("with p=0")
    total = c.reduce("ReduceSum", c.emit("Pow", size, c.number(order)), [-1], False)
    return c.emit("Pow", total, c.number(1 / order))


# ---- losses --------------------------------------------------------------------------------------
@rule("binary_cross_entropy")
def _bce(c: Context) -> Any:
    logs = [c.emit("Max", c.emit("Log", x), c.number(-100)) for x in (c[0], c.emit("Sub", c.number(1), c[0]))]
    rest = c.emit("Sub", c.number(1), c[1])
    return c.emit("Neg", c.emit("Add", c.emit("Mul", c[1], logs[0]), c.emit("Mul", rest, logs[1])))


@rule("binary_cross_entropy_with_logits")
def _bce_logits(c: Context) -> Any:
    return c.emit("Sub", c.emit("Softplus", c[0]), c.emit("Mul", c[0], c[1]))


@rule("huber")
def _huber(c: Context) -> Any:
    delta, scale = float(c.p["delta"]), float(c.p["scale"])
    d = c.emit("Abs", c.emit("Sub", c[0], c[1]))
    near = c.emit("Mul", c.emit("Mul", d, d), c.number(0.5 * scale))
    far = c.emit("Mul", c.emit("Sub", d, c.number(0.5 * delta)), c.number(delta * scale))
    return c.emit("Where", c.emit("Less", d, c.number(delta)), near, far)
