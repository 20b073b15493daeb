"""Sums, means, norms, products, maxima and minima over adjacent axes of floats, variances of
float32 (C-contiguous).

Two-byte floats are read as they are, added in float32 and double, and rounded once. An array is
seen as (outer, length, inner) and reduced over `length`. Sums take at most 128 terms in float in a
row (one after another in each lane), then go on in double; large reductions are cut into chunks
that depend on the shape only, so results do not depend on the number of threads. Maxima and minima
of NaN are NaN. Every function returns None where it cannot serve its arguments.
"""

from __future__ import annotations

import functools
import math as pymath

import ml_dtypes
import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import MEMORY, REGISTER, Function, Module, Value, lanes, vector
from .values import available, pack, unpack

__all__ = ["amax", "amin", "mean", "nansum", "norm", "prod", "sum", "var"]

_F32 = np.dtype(np.float32)
Axes = int | tuple[int, ...] | None
CHUNK = 1 << 16  # elements of a row that make a piece of their own
SUM_TERMS = 32  # terms of a row that each partial sum takes in float
SUM_ROWS = 128  # rows summed in float
UNROLL = 4


class Kind:
    """How vectors of a dtype are read and written; two-byte floats are float32 in registers."""

    def __init__(self, dtype: str) -> None:
        self.dtype, self.memory, self.scalar = dtype, MEMORY[dtype], REGISTER[dtype]
        self.width = target.host().lanes(self.scalar)
        self.vector = vector(self.scalar, self.width)

    def at(self, f: Function, pointer: Value, index: Value) -> Value:
        """The address of an element."""
        return f.at(pointer, index, self.memory)

    def load(
        self,
        f: Function,
        pointer: Value,
        index: Value,
        mask: Value | None = None,
        other: float = 0.0,
    ) -> Value:
        """A vector, with `other` in the lanes that a mask leaves out."""
        if self.memory == self.scalar:
            return f.load(self.vector, pointer, index, mask=mask, other=other)
        read = unpack(
            f, f.load(vector(self.memory, self.width), pointer, index, mask=mask), self.dtype
        )
        return read if mask is None or not other else f.select(mask, read, other)

    def store(
        self, f: Function, value: Value, pointer: Value, index: Value, mask: Value | None = None
    ) -> None:
        """Round what is wider (a scalar or a vector), and write it."""
        value = f.trunc(value, vector(self.scalar, lanes(value.ctype)))
        f.store(pack(f, value, self.dtype), pointer, index, mask=mask)


# Rows: inner == 1. A piece [start, stop) of a row is reduced to one double.


def _sum_piece(f: Function, k: Kind, x: Value, length: Value, term=None) -> Value:
    kind, width = k.vector, k.width
    total = f.var("double", 0.0)
    parts = [f.var(kind) for _ in range(UNROLL)]
    block = SUM_TERMS * UNROLL * width
    with f.loop(0, length, block) as start:
        here = k.at(f, x, start)
        count = f.smaller(length - start, block)
        for part in parts:
            part.set(0.0)
        whole = count - count % (width * UNROLL)

        def add(part, i: Value, mask: Value | None, here=here) -> None:
            v = k.load(f, here, i, mask)
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


def _number(f: Function, v: Value) -> Value:
    """The elements, 0 for NaN."""
    return f.select(v.compare("uno", v), f.const(0.0, v.ctype), v)


def _product_piece(f: Function, k: Kind, x: Value, length: Value) -> Value:
    """The product, multiplied in double."""
    width = k.width
    double = vector("double", width)
    parts = [f.var(double, 1.0) for _ in range(UNROLL)]
    whole = length - length % (width * UNROLL)
    with f.loop(0, whole, width * UNROLL) as i:
        for u, part in enumerate(parts):
            part.set(part.get() * f.extend(k.load(f, x, i + u * width), double))
    with f.loop(whole, length, width) as i:
        v = k.load(f, x, i, f.tail_mask(length - i, width), 1.0)
        parts[0].set(parts[0].get() * f.extend(v, double))
    values = [part.get() for part in parts]
    while len(values) > 1:
        values = [a * b for a, b in zip(values[::2], values[1::2])]
    return f.fold(values[0], lambda a, b: a * b)


def _extreme_piece(f: Function, k: Kind, x: Value, length: Value, better) -> Value:
    """The largest or smallest element, NaN if there is one, as a double."""
    kind, width = k.vector, k.width
    worst = -pymath.inf if better == f.larger else pymath.inf
    best = [f.var(kind, worst) for _ in range(UNROLL)]
    bad = f.var(vector("i1", width), 0)
    whole = length - length % (width * UNROLL)
    with f.loop(0, whole, width * UNROLL) as i:
        vectors = [k.load(f, x, i + u * width) for u in range(UNROLL)]
        for part, v in zip(best, vectors):
            part.set(better(v, part.get()))
        # One comparison finds a NaN in either of two vectors.
        bad.set(
            bad.get()
            | vectors[0].compare("uno", vectors[1])
            | vectors[2].compare("uno", vectors[3])
        )
    with f.loop(whole, length, width) as i:
        v = k.load(f, x, i, f.tail_mask(length - i, width), worst)
        best[0].set(better(v, best[0].get()))
        bad.set(bad.get() | v.compare("uno", v))
    values = [part.get() for part in best]
    while len(values) > 1:
        values = [better(a, b) for a, b in zip(values[::2], values[1::2])]
    bits = f.emit(f"bitcast {bad.ctype} {bad.get().name} to i{width}", f"i{width}")
    found = bits.compare("ne", 0)
    return f.extend(
        f.select(found, f.const(pymath.nan, k.scalar), f.fold(values[0], better)), "double"
    )


def _store(f: Function, k: Kind, value: Value, p: Value, root: bool = False) -> None:
    def rounded() -> None:
        k.store(f, f.sqrt(value) if root else value * f.scale, f.out, p)

    f.branch(f.direct.compare("ne", 0), rounded, lambda: f.store(value, f.out, p))


def _build_rows(dtype: str, only: str) -> str:
    """Each kernel reduces pieces: rows * pieces iterations. `out` is a double for each, to be
    combined by `finish`; or, where `direct` says that rows are whole, the scaled result.
    """
    module, k = Module(), Kind(dtype)
    numbers = {"length": "i64", "pieces": "i64", "size": "i64", "scale": "double", "direct": "i64"}
    pieces = {
        "sum": lambda f, x, n: _sum_piece(f, k, x, n),
        "norm": lambda f, x, n: _sum_piece(f, k, x, n, lambda v: v * v),
        "nansum": lambda f, x, n: _sum_piece(f, k, x, n, lambda v: _number(f, v)),
        "prod": lambda f, x, n: _product_piece(f, k, x, n),
        "max": lambda f, x, n: _extreme_piece(f, k, x, n, f.larger),
        "min": lambda f, x, n: _extreme_piece(f, k, x, n, f.smaller),
    }
    for name, piece in pieces.items():
        params = {"x": "ptr", "out": "ptr", **numbers}
        f = threads.parallel_export(module, name, params)
        with f.loop(f.begin, f.end) as p:
            start = p % f.pieces * f.size
            stop = f.smaller(start + f.size, f.length)
            at = k.at(f, f.x, p / f.pieces * f.length + start)
            _store(f, k, piece(f, at, stop - start), p, name == "norm")
        f.ret()
    # The sum of squares around each row's mean.
    params = {"x": "ptr", "mean": "ptr", "out": "ptr", **numbers}
    f = threads.parallel_export(module, "deviations", params)
    with f.loop(f.begin, f.end) as p:
        row = p / f.pieces
        start = p % f.pieces * f.size
        stop = f.smaller(start + f.size, f.length)
        m = f.splat(f.load(k.scalar, f.mean, row), k.vector)
        at = k.at(f, f.x, row * f.length + start)
        _store(f, k, _sum_piece(f, k, at, stop - start, lambda v, m=m: (v - m) * (v - m)), p)
    f.ret()
    # Combine pieces, scale and round.
    for name in ("finish", "finish_norm"):
        f = module.function(name, x="ptr", out="ptr", rows="i64", pieces="i64", scale="double")
        with f.loop(0, f.rows) as r:
            total = f.var("double", 0.0)
            with f.loop(0, f.pieces) as p:
                total.set(total.get() + f.load("double", f.x, r * f.pieces + p))
            k.store(
                f, f.sqrt(total.get()) if name == "finish_norm" else total.get() * f.scale, f.out, r
            )
        f.ret()
    return module.text(only)


# Columns: inner > 1. A task is one block of columns of one outer index.


def _build_columns(dtype: str, only: str) -> str:
    module, k = Module(), Kind(dtype)
    width = k.width
    for name in ("sum", "norm", "nansum", "prod", "deviations", "max", "min"):
        pointers = ["x", "mean", "out"] if name == "deviations" else ["x", "out"]
        sizes = {"length": "i64", "inner": "i64", "blocks": "i64", "scale": "double"}
        f = threads.parallel_export(module, name, dict.fromkeys(pointers, "ptr") | sizes)
        wide = UNROLL * width
        with f.loop(f.begin, f.end) as task:
            outer, first = task / f.blocks, task % f.blocks * wide
            x = k.at(f, f.x, outer * f.length * f.inner + first)
            place = outer * f.inner + first
            left = f.inner - first

            def full(f=f, name=name, x=x, place=place) -> None:
                _columns(f, k, name, x, place, [None] * UNROLL)

            def partial(f=f, name=name, x=x, place=place, left=left) -> None:
                _columns(
                    f,
                    k,
                    name,
                    x,
                    place,
                    [f.tail_mask(f.larger(left - u * width, 0), width) for u in range(UNROLL)],
                )

            f.branch(left.compare("sge", wide), full, partial)
        f.ret()
    return module.text(only)


def _columns(
    f: Function, k: Kind, name: str, x: Value, place: Value, masks: list[Value | None]
) -> None:
    kind, width = k.vector, k.width
    offsets = [u * width for u in range(UNROLL)]
    if name in ("max", "min"):
        better, worst = (f.larger, -pymath.inf) if name == "max" else (f.smaller, pymath.inf)
        best = [f.var(kind, worst) for _ in offsets]
        with f.loop(0, f.length) as row:
            for part, offset, mask in zip(best, offsets, masks):
                v, old = k.load(f, x, row * f.inner + offset, mask), part.get()
                part.set(
                    f.select(
                        v.compare("uno", v),
                        v,
                        f.select(old.compare("uno", old), old, better(v, old)),
                    )
                )
        for part, offset, mask in zip(best, offsets, masks):
            k.store(f, part.get(), f.out, place + offset, mask)
        return
    double = vector("double", width)
    if name == "prod":
        products = [f.var(double, 1.0) for _ in offsets]
        with f.loop(0, f.length) as row:
            for part, offset, mask in zip(products, offsets, masks):
                part.set(part.get() * f.extend(k.load(f, x, row * f.inner + offset, mask), double))
        for part, offset, mask in zip(products, offsets, masks):
            k.store(f, part.get(), f.out, place + offset, mask)
        return
    totals = [f.var(double, 0.0) for _ in offsets]
    parts = [f.var(kind) for _ in offsets]
    means = None
    if name == "deviations":
        means = [k.load(f, f.mean, place + offset, mask) for offset, mask in zip(offsets, masks)]
    with f.loop(0, f.length, SUM_ROWS) as start:
        for part in parts:
            part.set(0.0)
        with f.loop(start, f.smaller(start + SUM_ROWS, f.length)) as row:
            for u, (part, offset, mask) in enumerate(zip(parts, offsets, masks)):
                v = k.load(f, x, row * f.inner + offset, mask)
                if means is not None:
                    v = (v - means[u]) * (v - means[u])
                elif name == "norm":
                    v = v * v
                elif name == "nansum":
                    v = _number(f, v)
                part.set(part.get() + v)
        for total, part in zip(totals, parts):
            total.set(total.get() + f.extend(part.get(), double))
    scale = f.splat(f.scale, double)
    for total, offset, mask in zip(totals, offsets, masks):
        k.store(
            f,
            f.sqrt(total.get()) if name == "norm" else total.get() * scale,
            f.out,
            place + offset,
            mask,
        )


@functools.cache
def _libraries(dtype: str) -> tuple[jit.Library, jit.Library]:
    """Reductions of rows and of columns."""
    plain = ("sum", "norm", "nansum", "prod", "max", "min")
    rows = {
        **dict.fromkeys(plain, "paaiiidiii"),
        "deviations": "paaaiiidiii",
        "finish": "aaiid",
        "finish_norm": "aaiid",
    }
    columns = {**dict.fromkeys(plain, "paaiiidii"), "deviations": "paaaiiidii"}
    return (
        jit.Library(f"row reductions of {dtype}", functools.partial(_build_rows, dtype), rows),
        jit.Library(
            f"column reductions of {dtype}", functools.partial(_build_columns, dtype), columns
        ),
    )


KINDS = {
    np.dtype(k): np.dtype(k).name for k in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
}


# The entries.


def _layout(
    x: np.ndarray, axis: Axes
) -> tuple[int, int, int, tuple[int, ...], tuple[int, ...]] | None:
    """outer, length, inner, the result's shape and the shape with the axes kept; None for what is
    not served.
    """
    if x.dtype not in KINDS or not x.flags.c_contiguous or not available(KINDS[x.dtype]):
        return None
    return _arranged(x.shape, axis)


@functools.lru_cache(1024)
def _arranged(
    shape: tuple[int, ...], axis: Axes
) -> tuple[int, int, int, tuple[int, ...], tuple[int, ...]] | None:
    ndim = len(shape)
    if axis is None:
        return 1, pymath.prod(shape), 1, (), (1,) * ndim
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


def _rows_to(
    name: str, x: np.ndarray, mean: tuple, out: np.ndarray, outer: int, length: int, scale: float
) -> None:
    """Reduce contiguous rows, long ones in pieces."""
    library = _libraries(KINDS[x.dtype])[0]
    kernel = getattr(library, name)
    if length < 2 * CHUNK:
        kernel(
            threads.team(),
            x,
            *mean,
            out,
            length,
            1,
            max(1, length),
            scale,
            1,
            outer,
            _grain(length),
        )
        return
    pieces = -(-length // CHUNK)
    partial = np.empty((outer, pieces))
    kernel(threads.team(), x, *mean, partial, length, pieces, CHUNK, 1.0, 0, outer * pieces, 1)
    if name in ("max", "min"):
        out[...] = (np.max if name == "max" else np.min)(partial, axis=1).reshape(out.shape)
    elif name == "prod":
        out[...] = np.prod(partial, axis=1).reshape(out.shape)
    else:
        (library.finish_norm if name == "norm" else library.finish)(
            partial, out, outer, pieces, scale
        )


def _columns_to(
    name: str, x: np.ndarray, mean: tuple, out: np.ndarray, layout: tuple, scale: float
) -> None:
    outer, length, inner = layout[:3]
    wide = UNROLL * target.host().lanes("double" if x.itemsize == 8 else "float")
    blocks = -(-inner // wide)
    numbers = (length, inner, blocks, scale, outer * blocks, _grain(length * wide))
    getattr(_libraries(KINDS[x.dtype])[1], name)(threads.team(), x, *mean, out, *numbers)


def _reduce(
    name: str, x: np.ndarray, mean: tuple, layout: tuple, keepdims: bool, scale: float
) -> np.ndarray | None:
    rows, columns = _libraries(KINDS[x.dtype])
    if rows.sum is None or columns.sum is None:
        return None
    outer, length, inner, short, kept = layout
    out = np.empty(kept if keepdims else short, x.dtype)
    if inner == 1:
        _rows_to(name, x, mean, out, outer, length, scale)
    else:
        _columns_to(name, x, mean, out, layout, scale)
    return out


def sum(x: np.ndarray, axis: Axes = None, keepdims: bool = False) -> np.ndarray | None:
    """The sum over an axis, adjacent axes or everything."""
    layout = _layout(x, axis)
    return layout and _reduce("sum", x, (), layout, keepdims, 1.0)


def norm(x: np.ndarray, axis: Axes = None, keepdims: bool = False) -> np.ndarray | None:
    """The root of the sum of squares."""
    layout = _layout(x, axis)
    return layout and _reduce("norm", x, (), layout, keepdims, 1.0)


def nansum(x: np.ndarray, axis: Axes = None, keepdims: bool = False) -> np.ndarray | None:
    """The sum of what is not NaN."""
    layout = _layout(x, axis)
    return layout and _reduce("nansum", x, (), layout, keepdims, 1.0)


def prod(x: np.ndarray, axis: Axes = None, keepdims: bool = False) -> np.ndarray | None:
    """The product, multiplied in double and rounded once."""
    layout = _layout(x, axis)
    return layout and _reduce("prod", x, (), layout, keepdims, 1.0)


def mean(x: np.ndarray, axis: Axes = None, keepdims: bool = False) -> np.ndarray | None:
    """The mean; NaN over nothing."""
    layout = _layout(x, axis)
    # Over nothing: 0 * NaN.
    return layout and _reduce(
        "sum", x, (), layout, keepdims, 1.0 / layout[1] if layout[1] else pymath.nan
    )


def var(
    x: np.ndarray, axis: Axes = None, correction: float = 1, keepdims: bool = False
) -> tuple[np.ndarray, np.ndarray] | None:
    """The variance with divisor `length - correction` (at least 0), and the mean; in two passes."""
    layout = _layout(x, axis) if x.dtype is _F32 else None
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
