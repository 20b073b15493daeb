"""Sums, means, variances, maxima and minima over adjacent axes (float32, C-contiguous).

An array is seen as (outer, length, inner) and reduced over `length`. Sums take at most 128 terms in float in a row
(one after another in each lane), then go on in double; large reductions are cut into chunks that depend on the shape
only, so results do not depend on the number of threads. Maxima and minima of NaN are NaN. Every function returns None
where it cannot serve its arguments.
"""

from __future__ import annotations

import math as pymath

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, Value, vector

__all__ = ["amax", "amin", "mean", "sum", "var"]

_F32 = np.dtype(np.float32)
Axes = int | tuple[int, ...] | None
CHUNK = 1 << 16  # elements of a row that make a piece of their own
SUM_TERMS = 32  # terms of a row that each partial sum takes in float
SUM_ROWS = 128  # rows summed in float
UNROLL = 4


def _kind() -> tuple[str, int]:
    width = target.host().lanes("float")
    return vector("float", width), width


# Rows: inner == 1. A piece [start, stop) of a row is reduced to one double.


def _sum_piece(f: Function, x: Value, length: Value, term=None) -> Value:
    kind, width = _kind()
    total = f.var("double", 0.0)
    parts = [f.var(kind) for _ in range(UNROLL)]
    block = SUM_TERMS * UNROLL * width
    with f.loop(0, length, block) as start:
        here = f.at(x, start)
        count = f.smaller(length - start, block)
        for part in parts:
            part.set(0.0)
        whole = count - count % (width * UNROLL)

        def add(part, i: Value, mask: Value | None, here=here) -> None:
            v = f.load(kind, here, i, mask=mask)
            v = v if term is None else term(v)
            part.set(part.get() + (v if mask is None else f.select(mask, v, 0.0)))

        with f.loop(0, whole, width * UNROLL) as i:
            for u, part in enumerate(parts):
                add(part, i + u * width, None)
        with f.loop(whole, count, width) as i:
            add(parts[0], i, f.tail_mask(count - i, width))
        values = [part.get() for part in parts]
        while len(values) > 1:
            values = [a + b for a, b in zip(values[::2], values[1::2])]
        total.set(total.get() + f.extend(f.total(values[0]), "double"))
    return total.get()


def _extreme_piece(f: Function, x: Value, length: Value, better) -> Value:
    """The largest or smallest element, NaN if there is one, as a double."""
    kind, width = _kind()
    worst = -pymath.inf if better == f.larger else pymath.inf
    best = [f.var(kind, worst) for _ in range(UNROLL)]
    bad = f.var(vector("i1", width), 0)
    whole = length - length % (width * UNROLL)
    with f.loop(0, whole, width * UNROLL) as i:
        vectors = [f.load(kind, x, i + u * width) for u in range(UNROLL)]
        for part, v in zip(best, vectors):
            part.set(better(v, part.get()))
        # One comparison finds a NaN in either of two vectors.
        bad.set(bad.get() | vectors[0].compare("uno", vectors[1]) | vectors[2].compare("uno", vectors[3]))
    with f.loop(whole, length, width) as i:
        v = f.load(kind, x, i, mask=f.tail_mask(length - i, width), other=worst)
        best[0].set(better(v, best[0].get()))
        bad.set(bad.get() | v.compare("uno", v))
    values = [part.get() for part in best]
    while len(values) > 1:
        values = [better(a, b) for a, b in zip(values[::2], values[1::2])]
    bits = f.emit(f"bitcast {bad.ctype} {bad.get().name} to i{width}", f"i{width}")
    found = bits.compare("ne", 0)
    return f.extend(f.select(found, f.const(pymath.nan, "float"), f.fold(values[0], better)), "double")


def _store(f: Function, value: Value, p: Value) -> None:
    def rounded() -> None:
        f.store(f.trunc(value * f.scale, "float"), f.out, p)

    f.branch(f.direct.compare("ne", 0), rounded, lambda: f.store(value, f.out, p))


def _build_rows(only: str) -> str:
    """Each kernel reduces pieces: rows * pieces iterations. `out` is a double for each, to be combined by `finish`; or, where
    `direct` says that rows are whole, the scaled result.
    """
    module = Module()
    numbers = {"length": "i64", "pieces": "i64", "size": "i64", "scale": "double", "direct": "i64"}
    pieces = {
        "sum": lambda f, x, n: _sum_piece(f, x, n),
        "max": lambda f, x, n: _extreme_piece(f, x, n, f.larger),
        "min": lambda f, x, n: _extreme_piece(f, x, n, f.smaller),
    }
    for name, piece in pieces.items():
        params = {"x": "ptr", "out": "ptr", **numbers}
        f = threads.parallel_export(module, name, params)
        with f.loop(f.begin, f.end) as p:
            start = p % f.pieces * f.size
            stop = f.smaller(start + f.size, f.length)
            at = f.at(f.x, p / f.pieces * f.length + start)
            _store(f, piece(f, at, stop - start), p)
        f.ret()
    # The sum of squares around each row's mean.
    params = {"x": "ptr", "mean": "ptr", "out": "ptr", **numbers}
    f = threads.parallel_export(module, "deviations", params)
    with f.loop(f.begin, f.end) as p:
        row = p / f.pieces
        start = p % f.pieces * f.size
        stop = f.smaller(start + f.size, f.length)
        m = f.splat(f.load("float", f.mean, row), _kind()[0])
        at = f.at(f.x, row * f.length + start)
        _store(f, _sum_piece(f, at, stop - start, lambda v, m=m: (v - m) * (v - m)), p)
    f.ret()
    # Combine pieces, scale and round.
    f = module.function("finish", x="ptr", out="ptr", rows="i64", pieces="i64", scale="double")
    with f.loop(0, f.rows) as r:
        total = f.var("double", 0.0)
        with f.loop(0, f.pieces) as p:
            total.set(total.get() + f.load("double", f.x, r * f.pieces + p))
        f.store(f.trunc(total.get() * f.scale, "float"), f.out, r)
    f.ret()
    return module.text(only)


# Columns: inner > 1. A task is one block of columns of one outer index.


def _build_columns(only: str) -> str:
    module = Module()
    kind, width = _kind()
    for name in ("sum", "deviations", "max", "min"):
        pointers = ["x", "mean", "out"] if name == "deviations" else ["x", "out"]
        sizes = {"length": "i64", "inner": "i64", "blocks": "i64", "scale": "double"}
        f = threads.parallel_export(module, name, dict.fromkeys(pointers, "ptr") | sizes)
        wide = UNROLL * width
        with f.loop(f.begin, f.end) as task:
            outer, first = task / f.blocks, task % f.blocks * wide
            x = f.at(f.x, outer * f.length * f.inner + first)
            place = outer * f.inner + first
            left = f.inner - first

            def full(f=f, name=name, x=x, place=place) -> None:
                _columns(f, name, x, place, [None] * UNROLL)

            def partial(f=f, name=name, x=x, place=place, left=left) -> None:
                _columns(f, name, x, place, [f.tail_mask(f.larger(left - u * width, 0), width) for u in range(UNROLL)])

            f.branch(left.compare("sge", wide), full, partial)
        f.ret()
    return module.text(only)


def _columns(f: Function, name: str, x: Value, place: Value, masks: list[Value | None]) -> None:
    kind, width = _kind()
    offsets = [u * width for u in range(UNROLL)]
    if name in ("max", "min"):
        better, worst = (f.larger, -pymath.inf) if name == "max" else (f.smaller, pymath.inf)
        best = [f.var(kind, worst) for _ in offsets]
        with f.loop(0, f.length) as row:
            for part, offset, mask in zip(best, offsets, masks):
                v, old = f.load(kind, x, row * f.inner + offset, mask=mask), part.get()
                part.set(f.select(v.compare("uno", v), v, f.select(old.compare("uno", old), old, better(v, old))))
        for part, offset, mask in zip(best, offsets, masks):
            f.store(part.get(), f.out, place + offset, mask=mask)
        return
    double = vector("double", width)
    totals = [f.var(double, 0.0) for _ in offsets]
    parts = [f.var(kind) for _ in offsets]
    means = None
    if name == "deviations":
        means = [f.load(kind, f.mean, place + offset, mask=mask) for offset, mask in zip(offsets, masks)]
    with f.loop(0, f.length, SUM_ROWS) as start:
        for part in parts:
            part.set(0.0)
        with f.loop(start, f.smaller(start + SUM_ROWS, f.length)) as row:
            for u, (part, offset, mask) in enumerate(zip(parts, offsets, masks)):
                v = f.load(kind, x, row * f.inner + offset, mask=mask)
                if means is not None:
                    v = (v - means[u]) * (v - means[u])
                part.set(part.get() + v)
        for total, part in zip(totals, parts):
            total.set(total.get() + f.extend(part.get(), double))
    scale = f.splat(f.scale, double)
    for total, offset, mask in zip(totals, offsets, masks):
        f.store(f.trunc(total.get() * scale, kind), f.out, place + offset, mask=mask)


_rows = jit.Library(
    "row reductions",
    _build_rows,
    {
        **dict.fromkeys(("sum", "max", "min"), "paaiiidiii"),
        "deviations": "paaaiiidiii",
        "finish": "aaiid",
    },
)
_column = jit.Library(
    "column reductions",
    _build_columns,
    {**dict.fromkeys(("sum", "max", "min"), "paaiiidii"), "deviations": "paaaiiidii"},
)


# The entries.


def _layout(x: np.ndarray, axis: Axes) -> tuple[int, int, int, tuple[int, ...], tuple[int, ...]] | None:
    """outer, length, inner, the result's shape and the shape with the axes kept; None for what is not served."""
    if x.dtype is not _F32 or not x.flags.c_contiguous:
        return None
    shape, ndim = x.shape, x.ndim
    if axis is None:
        return 1, x.size, 1, (), (1,) * ndim
    if type(axis) is tuple and len(axis) == 1:
        axis = axis[0]
    if isinstance(axis, int):
        low = axis + ndim if axis < 0 else axis
        high = low + 1
    else:
        axes = sorted({a + ndim if a < 0 else a for a in axis})
        if not axes or axes[-1] - axes[0] != len(axes) - 1:
            return None
        low, high = axes[0], axes[-1] + 1
    if low < 0 or high > ndim:
        return None
    before, after = shape[:low], shape[high:]
    length = shape[low] if high == low + 1 else pymath.prod(shape[low:high])
    kept = (*before, *(1,) * (high - low), *after)
    return pymath.prod(before), length, pymath.prod(after), before + after, kept


def _grain(work: int) -> int:
    return (CHUNK // 4) // work or 1 if work else CHUNK // 4


def _rows_to(name: str, x: np.ndarray, mean: tuple, out: np.ndarray, outer: int, length: int, scale: float) -> None:
    """Reduce contiguous rows, long ones in pieces."""
    kernel = getattr(_rows, name)
    if length < 2 * CHUNK:
        kernel(threads.team(), x, *mean, out, length, 1, max(1, length), scale, 1, outer, _grain(length))
        return
    pieces = -(-length // CHUNK)
    partial = np.empty((outer, pieces))
    kernel(threads.team(), x, *mean, partial, length, pieces, CHUNK, 1.0, 0, outer * pieces, 1)
    if name in ("max", "min"):
        out[...] = (np.max if name == "max" else np.min)(partial, axis=1).reshape(out.shape)
    else:
        _rows.finish(partial, out, outer, pieces, scale)


def _columns_to(name: str, x: np.ndarray, mean: tuple, out: np.ndarray, layout: tuple, scale: float) -> None:
    outer, length, inner = layout[:3]
    wide = UNROLL * target.host().lanes()
    blocks = -(-inner // wide)
    numbers = (length, inner, blocks, scale, outer * blocks, _grain(length * wide))
    getattr(_column, name)(threads.team(), x, *mean, out, *numbers)


def _reduce(name: str, x: np.ndarray, mean: tuple, layout: tuple, keepdims: bool, scale: float) -> np.ndarray | None:
    if _rows.sum is None or _column.sum is None:
        return None
    outer, length, inner, short, kept = layout
    out = np.empty(kept if keepdims else short, _F32)
    if inner == 1:
        _rows_to(name, x, mean, out, outer, length, scale)
    else:
        _columns_to(name, x, mean, out, layout, scale)
    return out


def sum(x: np.ndarray, axis: Axes = None, keepdims: bool = False) -> np.ndarray | None:
    """The sum over an axis, adjacent axes or everything."""
    layout = _layout(x, axis)
    return layout and _reduce("sum", x, (), layout, keepdims, 1.0)


def mean(x: np.ndarray, axis: Axes = None, keepdims: bool = False) -> np.ndarray | None:
    """The mean; NaN over nothing."""
    layout = _layout(x, axis)
    # Over nothing: 0 * NaN.
    return layout and _reduce("sum", x, (), layout, keepdims, 1.0 / layout[1] if layout[1] else pymath.nan)


def var(x: np.ndarray, axis: Axes = None, correction: float = 1, keepdims: bool = False) -> tuple[np.ndarray, np.ndarray] | None:
    """The variance with divisor `length - correction` (at least 0), and the mean; in two passes."""
    layout = _layout(x, axis)
    if layout is None:
        return None
    average = _reduce("sum", x, (), layout, keepdims, 1.0 / layout[1] if layout[1] else pymath.nan)
    if average is None:
        return None
    divisor = max(0.0, layout[1] - correction)
    scale = 1.0 / divisor if divisor else pymath.inf  # inf * 0 is NaN
    out = _reduce("deviations", x, (average,), layout, keepdims, scale)
    return None if out is None else (out, average)


def _extreme(name: str, x: np.ndarray, axis: Axes, keepdims: bool) -> np.ndarray | None:
    layout = _layout(x, axis)
    if layout is None or layout[1] == 0:  # the caller has the words for a maximum of nothing
        return None
    return _reduce(name, x, (), layout, keepdims, 1.0)


def amax(x: np.ndarray, axis: Axes = None, keepdims: bool = False) -> np.ndarray | None:
    """The largest element, NaN if there is one; not served over nothing."""
    return _extreme("max", x, axis, keepdims)


def amin(x: np.ndarray, axis: Axes = None, keepdims: bool = False) -> np.ndarray | None:
    """The smallest element, NaN if there is one; not served over nothing."""
    return _extreme("min", x, axis, keepdims)
