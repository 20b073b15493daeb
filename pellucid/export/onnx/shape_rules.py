"""Translations of views, indexing, joins and padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.backends import numpy_cpu
from pellucid.core.inplace import replay
from pellucid.core.primitive import PRIMITIVES
from pellucid.export.trace import Ref, Size

from .graph import LAST, Context, rule


def reshape(c: Context, name: str, shape: Any, before: Any) -> str:
    """A Reshape that keeps dynamic sizes open: 0 copies a size from the same place, -1 stands for at most one more."""
    target: list[Any] = list(shape)
    if 0 in target:
        allow = 1 if c.graph.opset >= 14 else None
        if allow is None and -1 not in target and any(n != 0 and before[k : k + 1] != (n,) for k, n in enumerate(target)):
            raise c.refuse("to a shape with a size of 0 needs opset 14")
        return c.emit("Reshape", name, c.ints(target), allowzero=allow)
    for k, n in enumerate(target):
        if isinstance(n, Size) and k < len(before) and before[k] == n:
            target[k] = 0
    left = [k for k, n in enumerate(target) if isinstance(n, Size)]
    if len(left) == 1:
        target[left[0]] = -1
    elif left:
        target = list(shape)
    return c.emit("Reshape", name, c.ints(target))


@rule("view", "reshape", "unsafe_view")
def _view(c: Context) -> Any:
    return reshape(c, c[0], c.p["shape"], c.shape())


@rule("transpose", "t")
def _transpose(c: Context) -> Any:
    perm = list(range(len(c.shape())))
    if not perm:
        return c.emit("Identity", c[0])
    i, j = c.p["dim0"], c.p["dim1"]
    perm[i], perm[j] = perm[j], perm[i]
    return c.emit("Transpose", c[0], perm=perm)


@rule("permute")
def _permute(c: Context) -> Any:
    rank = len(c.shape())
    return c.emit("Transpose", c[0], perm=[d % rank for d in c.p["dims"]]) if rank else c.emit("Identity", c[0])


@rule("squeeze")
def _squeeze(c: Context) -> Any:
    shape = c.shape()
    dims = c.p["dims"]
    wanted = range(len(shape)) if dims is None else dims if isinstance(dims, (tuple, list)) else (dims,)
    axes = [int(d) for d in wanted if shape[d] == 1]
    return c.emit("Squeeze", c[0], c.ints(axes)) if axes else c.emit("Identity", c[0])


@rule("unsqueeze")
def _unsqueeze(c: Context) -> Any:
    return c.emit("Unsqueeze", c[0], c.ints([c.p["dim"]]))


@rule("expand")
def _expand(c: Context) -> Any:
    target = list(c.p["shape"])
    before = [1] * (len(target) - len(c.shape())) + list(c.shape())
    return c.emit("Expand", c[0], c.ints([1 if n == m else n for n, m in zip(target, before, strict=True)]))


@rule("full")
def _full(c: Context) -> Any:
    value = np.asarray([c.p["value"]]).astype(c.p["dtype"])
    return c.emit("ConstantOfShape", c.ints(c.p["shape"]), value=value)


@rule("arange")
def _arange(c: Context) -> Any:
    end = c.emit("Squeeze", c.ints([c.p["end"]]), c.ints([0]))
    out = c.emit("Range", c.const(np.array(0)), end, c.const(np.array(1)))
    return out if c.p["dtype"] == np.int64 else c.cast(out, c.p["dtype"])


# ---- parts -----------------------------------------------------------------------------------
def cut(c: Context, name: str, axis: int, start: Any, end: Any, step: int = 1) -> str:
    """A Slice along one axis."""
    return c.emit("Slice", name, c.ints([start]), c.ints([end]), c.ints([axis]), c.ints([step]))


@rule("slice")
def _slice(c: Context) -> Any:
    dim = c.p["dim"]
    end = LAST if c.p["end"] == c.shape()[dim] else c.p["end"]
    return cut(c, c[0], dim, c.p["start"], end, c.p["step"])


@rule("select")
def _select(c: Context) -> Any:
    at = c.emit("Squeeze", c.ints([c.p["index"]]), c.ints([0]))
    return c.emit("Gather", c[0], at, axis=int(c.p["dim"]))


@rule("index_select_int", "index_slice", "index_unsqueeze")
def _basic_index(c: Context) -> Any:
    """Slices first, which keep the axes; then the numbers, from the last axis on; then the new axes."""
    index = list(c.p["index"])
    shape = c.shape()
    used = sum(1 for item in index if item is not None and item is not ...)
    if ... in index:
        at = index.index(...)
        index[at : at + 1] = [slice(None)] * (len(shape) - used)
    name, axis, chosen, new, place = c[0], 0, [], [], 0
    for item in index:
        if item is None:
            new.append(place)
            place += 1
            continue
        if isinstance(item, slice):
            start = 0 if item.start is None else item.start
            end = LAST if item.stop is None or item.stop == shape[axis] else item.stop
            step = 1 if item.step is None else item.step
            if (start, end, step) != (0, LAST, 1):
                name = cut(c, name, axis, start, end, step)
            place += 1
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            chosen.append((axis, c.const(np.array(item, np.int64))))
        elif isinstance(item, Size):
            chosen.append((axis, c.emit("Squeeze", c.ints([item]), c.ints([0]))))
        else:
            raise c.refuse(f"by a {type(item).__name__}")
        axis += 1
    for where, number in reversed(chosen):
        name = c.emit("Gather", name, number, axis=where)
    if new:
        name = c.emit("Unsqueeze", name, c.ints(new))
    return name if name != c[0] else c.emit("Identity", name)


@rule("split", "unsafe_split")
def _split(c: Context) -> Any:
    made = c.emit("Split", c[0], c.ints(c.p["sizes"]), count=len(c.step.outputs), axis=int(c.p["dim"]))
    return made if isinstance(made, list) else [made]


@rule("unbind")
def _unbind(c: Context) -> Any:
    dim = int(c.p["dim"])
    return [c.emit("Gather", c[0], c.const(np.array(k)), axis=dim) for k in range(len(c.step.outputs))]


@rule("index_select")
def _index_select(c: Context) -> Any:
    return c.emit("Gather", c[0], c[1], axis=int(c.p["dim"]))


@rule("gather")
def _gather(c: Context) -> Any:
    return c.emit("GatherElements", c[0], c[1], axis=int(c.p["dim"]))


@rule("index")
def _index(c: Context) -> Any:
    """The indexed axes are brought to the front for GatherND, and the result's to where NumPy puts them."""
    axes = [k for k, here in enumerate(c.p["spec"]) if here]
    indices = [c[k + 1] for k in range(len(axes))]
    masks = [k for k, x in enumerate(c.step.inputs[1:]) if c.graph.trace.dtypes[x.value].kind == "b"]
    if masks:
        if len(axes) > 1 or len(c.shape(1)) != 1:
            raise c.refuse("by a mask of several dimensions")
        indices = [c.const(np.flatnonzero(c.array(c.step.inputs[1])))]
    if len(axes) == 1:
        return c.emit("Gather", c[0], indices[0], axis=axes[0])
    rank, broad = len(c.shape()), max(len(c.shape(k + 1)) for k in range(len(axes)))
    rest = [k for k in range(rank) if k not in axes]
    front = c.emit("Transpose", c[0], perm=axes + rest) if axes + rest != list(range(rank)) else c[0]
    # Added to zeros of all their shapes, indices of different shapes come to the common one.
    zero = indices[0]
    for name in indices[1:]:
        zero = c.emit("Add", zero, name)
    zero = c.emit("Mul", zero, c.const(np.array(0)))
    columns = [c.emit("Unsqueeze", c.emit("Add", name, zero), c.ints([-1])) for name in indices]
    out = c.emit("GatherND", front, c.emit("Concat", *columns, axis=-1))
    if axes[0] == 0 or axes != list(range(axes[0], axes[0] + len(axes))):
        return out
    total = broad + len(rest)
    moved = list(range(broad, broad + axes[0])) + list(range(broad)) + list(range(broad + axes[0], total))
    return c.emit("Transpose", out, perm=moved)


@rule("index_put")
def _index_put(c: Context) -> Any:
    """One value put where a mask is true; other forms have no translation."""
    whole = len(c) == 3 and c.shape(2) == c.shape(0) and c.graph.trace.dtypes[c.step.inputs[2].value].kind == "b"
    if not whole or c.p["accumulate"] or any(n != 1 for n in c.shape(1)):
        raise c.refuse("other than one value under a mask")
    return c.emit("Where", c[2], c.emit("Reshape", c[1], c.const(np.zeros(0, np.int64))), c[0])


@rule("copy_slices")
def _copy_slices(c: Context) -> Any:
    """The part's places in the flat base are known; the new values are scattered to them."""
    shape = c.fixed(c.shape())
    count = int(np.prod(shape, dtype=int))
    chain = tuple([(PRIMITIVES[name], how, k) for name, how, k in c.p["chain"]])
    if any(isinstance(part, Ref) for _, how, _ in c.p["chain"] for part in how.values()):
        raise c.refuse("through an index that is a tensor")
    places = replay(numpy_cpu, np.arange(count).reshape(shape), chain).reshape(-1)
    flat = c.emit("Reshape", c[0], c.ints([-1]))
    part = c.emit("Reshape", c[1], c.ints([-1]))
    return c.emit("Reshape", c.emit("ScatterElements", flat, c.const(places), part, axis=0), c.ints(shape))


@rule("scatter", "scatter_add")
def _scatter(c: Context) -> Any:
    if set(c.p) - {"dim"}:
        raise c.refuse("with a reduction")
    reduction = "add" if c.step.op == "scatter_add" else None
    if reduction and c.graph.opset < 16:
        raise c.refuse("needs opset 16")
    return c.emit("ScatterElements", c[0], c[1], c[2], axis=int(c.p["dim"]), reduction=reduction)


# ---- joins and padding -----------------------------------------------------------------------
@rule("cat")
def _cat(c: Context) -> Any:
    return c.emit("Concat", *c.names, axis=int(c.p["dim"]))


@rule("stack")
def _stack(c: Context) -> Any:
    dim = int(c.p["dim"])
    return c.emit("Concat", *[c.emit("Unsqueeze", name, c.ints([dim])) for name in c.names], axis=dim)


@rule("repeat")
def _repeat(c: Context) -> Any:
    repeats = c.p["repeats"]
    extra = len(repeats) - len(c.shape())
    x = c.emit("Unsqueeze", c[0], c.ints(list(range(extra)))) if extra else c[0]
    return c.emit("Tile", x, c.ints(repeats))


@rule("flip")
def _flip(c: Context) -> Any:
    name = c[0]
    for dim in c.p["dims"]:
        name = cut(c, name, int(dim), -1, -LAST, -1)
    return name if name != c[0] else c.emit("Identity", name)


@rule("roll")
def _roll(c: Context) -> Any:
    name, shape = c[0], c.shape()
    dims, shifts = c.p["dims"], c.p["shifts"]
    if not dims:
        raise c.refuse("of the flattened tensor")
    for dim, shift in zip(dims, shifts, strict=True):
        (size,) = c.fixed([shape[dim]])
        at = (size - shift % size) % size
        if at:
            name = c.emit("Concat", cut(c, name, int(dim), at, LAST), cut(c, name, int(dim), 0, at), axis=int(dim))
    return name if name != c[0] else c.emit("Identity", name)


def seen(c: Context, rows: Any, columns: Any, diagonal: int, upper: bool = False) -> str:
    """A bool matrix that is true up to a diagonal (or from it on), for opsets before Trilu."""
    ends = [c.emit("Squeeze", c.ints([n]), c.ints([0])) for n in (rows, columns)]
    row, column = [c.emit("Range", c.const(np.array(0)), end, c.const(np.array(1))) for end in ends]
    row = c.emit("Unsqueeze", c.emit("Add", row, c.const(np.array(diagonal))), c.ints([1]))
    return c.emit("LessOrEqual" if upper else "GreaterOrEqual", row, column)


@rule("tril", "triu")
def _trilu(c: Context) -> Any:
    upper = c.step.op == "triu"
    x = c.cast(c[0], np.int32) if c.dtype == np.bool_ else c[0]
    if c.graph.opset < 14:
        mask = seen(c, c.shape()[-2], c.shape()[-1], int(c.p["diagonal"]), upper)
        zero = c.const(np.zeros((), np.int32)) if c.dtype == np.bool_ else c.number(0)
        out = c.emit("Where", mask, x, zero)
    else:
        out = c.emit("Trilu", x, c.const(np.array(c.p["diagonal"], np.int64)), upper=int(upper))
    return c.cast(out, np.bool_) if c.dtype == np.bool_ else out


@rule("constant_pad_nd")
def _pad(c: Context) -> Any:
    pad = list(c.p["pad"])
    rank = len(c.shape())
    low, high = [0] * rank, [0] * rank
    for k in range(len(pad) // 2):
        low[rank - 1 - k], high[rank - 1 - k] = pad[2 * k], pad[2 * k + 1]
    return c.emit("Pad", c[0], c.ints(low + high), c.number(c.p["value"]), mode="constant")
