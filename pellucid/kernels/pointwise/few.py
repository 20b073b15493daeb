"""Sums, products, maxima, minima and variances of few elements, equal to NumPy's bit by bit.

NumPy spends most of a microsecond around the loop of such a reduction. A sum along the innermost
axis is computed as NumPy adds up to 128 terms: in eight partial sums, which are added pairwise,
followed by the remaining terms one by one. All other sums are computed from the first element to
the last. (The maximum of 0.0 and -0.0 may be either, as in NumPy, whose choice depends on the
processor.) Two-byte floats are computed as float32, or float64 for variances, and rounded once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ... import config
from ...llvm.emit import Function, Module, SSAValue, element, lanes, vector
from ...llvm.jit import NativeLibrary
from .reduce import Axes, arranged
from .values import available, pack, unpack

__all__ = ["conversion", "function", "minus_picked", "norm", "reduced", "spread"]

_ndarray = np.ndarray

LONGEST = 128  # number of terms that NumPy adds without splitting the sum in halves
_LANES = 8
_HALVES = tuple(np.dtype(kind) for kind in ("float16", ml_dtypes.bfloat16))
_REALS = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
_REALS |= {kind: kind.name for kind in _HALVES}
_NARROW = tuple(kind.name for kind in _HALVES)
_NAMES = ("sum", "mean", "prod", "max", "min", "norm", "taxicab")
_SUMS = ("sum", "mean", "norm", "taxicab")
_SPREADS = ("var", "std")


class _Numbers:
    """How numbers of one type lie in memory: `word` there, `real` in registers."""

    def __init__(self, f: Function, kind: str) -> None:
        self.f, self.kind = f, kind
        self.word, self.real = ("i16", "float") if kind in _NARROW else (kind, kind)

    def at(self, x: SSAValue, i: SSAValue) -> SSAValue:
        return self.f.at(x, i, self.word)

    def load(
        self, x: SSAValue, i: SSAValue | int, count: int = 1, mask: SSAValue | None = None
    ) -> SSAValue:
        """Return the number at `i`, or a vector of `count` numbers."""
        word = vector(self.word, count) if count > 1 else self.word
        return unpack(self.f, self.f.load(word, x, i, mask=mask), self.kind)

    def store(self, made: SSAValue, i: SSAValue, mask: SSAValue | None = None) -> None:
        self.f.store(pack(self.f, made, self.kind), self.f.out, i, mask=mask)


def _step(f: Function, name: str, old: SSAValue, new: SSAValue) -> SSAValue:
    """Combine two numbers, or the lanes of two vectors; NaN stays."""
    if name in _SUMS:
        return old + new
    if name == "prod":
        return old * new
    better = f.select(new.compare("ogt" if name == "max" else "olt", old), new, old)
    return f.select(new.compare("uno", new), new, better)


def _pairs(f: Function, v: SSAValue) -> SSAValue:
    """Return the sum of the lanes, added pairwise from adjacent ones on."""
    while (n := lanes(v.ctype)) > 2:
        even, odd = (f.shuffle(v, v, list(range(k, n, 2))) for k in (0, 1))
        v = even + odd
    return f.fold(v, lambda a, b: a + b)


def _added(f: Function, length: SSAValue, at: Callable[[SSAValue, str], SSAValue]) -> SSAValue:
    """Return the sum of a row in double. `at(i, kind)` returns the numbers from `i` on, one or a
    vector.
    """
    kind = vector("double", _LANES)
    total, begin = f.var("double", at(f.const(0, "i64"), "double")), f.var("i64", 1)
    with f.when(length.compare("sge", _LANES)):
        whole = length - length % _LANES
        parts = f.var(kind, at(f.const(0, "i64"), kind))
        with f.loop(_LANES, whole, _LANES) as i:
            parts.set(parts.get() + at(i, kind))
        total.set(_pairs(f, parts.get()))
        begin.set(whole)
    with f.loop(begin.get(), length) as i:
        total.set(total.get() + at(i, "double"))
    return total.get()


def _spread(f: Function, numbers: _Numbers, rows: bool, root: bool) -> None:
    """Emit the sums of squared distances from the mean, divided by `left`; columns are processed
    one by one.
    """

    def store(squares: SSAValue, where: SSAValue) -> None:
        made = squares / f.left
        made = f.sqrt(made) if root else made
        numbers.store(f.trunc(made, numbers.real), where)

    def wide(x: SSAValue, i: SSAValue | int) -> SSAValue:
        return f.extend(numbers.load(x, i), "double")

    count = f.to_float(f.length, "double")
    with f.loop(0, f.outer) as block:
        if rows:
            x = numbers.at(f.x, block * f.length)

            def number(i: SSAValue, kind: str) -> SSAValue:
                return f.extend(numbers.load(x, i, 1 if kind == "double" else _LANES), kind)

            mean = _added(f, f.length, number) / count

            def square(i: SSAValue, kind: str) -> SSAValue:
                away = number(i, kind) - f.splat(mean, kind)
                return away * away

            store(_added(f, f.length, square), block)
        else:
            with f.loop(0, f.inner) as column:
                x = numbers.at(f.x, block * f.length * f.inner + column)
                total = f.var("double", wide(x, f.const(0, "i64")))
                with f.loop(1, f.length) as i:
                    total.set(total.get() + wide(x, i * f.inner))
                mean = total.get() / count
                away = wide(x, f.const(0, "i64")) - mean
                total.set(away * away)
                with f.loop(1, f.length) as i:
                    away = wide(x, i * f.inner) - mean
                    total.set(total.get() + away * away)
                store(total.get(), block * f.inner + column)


def _term(f: Function, name: str, x: SSAValue) -> SSAValue:
    """Return the term of a number in a reduction."""
    return x * x if name == "norm" else f.fabs(x) if name == "taxicab" else x


def _rows(f: Function, name: str, numbers: _Numbers) -> None:
    with f.loop(0, f.outer) as row:
        x = numbers.at(f.x, row * f.length)
        numbers.store(
            _row(f, name, numbers.real, lambda i, n: numbers.load(x, i, n)),
            row,
        )


def _row(
    f: Function, name: str, real: str, load: Callable[[SSAValue | int, int], SSAValue]
) -> SSAValue:
    """Return the reduction of a row of `f.length` numbers. `load(i, n)` returns n of them."""

    def term(i: SSAValue | int, n: int = 1) -> SSAValue:
        return _term(f, name, load(i, n))

    total, begin = f.var(real, term(0)), f.var("i64", 1)
    if name in _SUMS:
        with f.when(f.length.compare("sge", _LANES)):
            whole = f.length - f.length % _LANES
            parts = f.var(vector(real, _LANES), term(0, _LANES))
            with f.loop(_LANES, whole, _LANES) as i:
                parts.set(parts.get() + term(i, _LANES))
            total.set(_pairs(f, parts.get()))
            begin.set(whole)
    with f.loop(begin.get(), f.length) as i:
        total.set(_step(f, name, total.get(), term(i)))
    return _last(f, name, total.get())


def _last(f: Function, name: str, made: SSAValue) -> SSAValue:
    if name == "norm":
        return f.sqrt(made)
    made = made + 0.0 if name in ("sum", "mean") else made  # the sum of -0.0 alone is 0.0
    if name == "mean":
        return made / f.splat(f.to_float(f.length, element(made.ctype)), made.ctype)
    return made


def _columns(f: Function, name: str, numbers: _Numbers) -> None:
    best = f.var(vector(numbers.real, _LANES))
    with f.loop(0, f.outer) as block:
        with f.loop(0, f.inner, _LANES) as column:
            mask = f.tail_mask(f.inner - column, _LANES)
            x = numbers.at(f.x, block * f.length * f.inner + column)
            best.set(_term(f, name, numbers.load(x, 0, _LANES, mask)))
            with f.loop(1, f.length) as row:
                v = _term(f, name, numbers.load(x, row * f.inner, _LANES, mask))
                best.set(_step(f, name, best.get(), v))
            numbers.store(_last(f, name, best.get()), block * f.inner + column, mask)


def _build(symbol: str) -> str:
    name, kind, way = symbol.split(".")
    module = Module("float" if kind in _NARROW else kind)
    sizes = {"outer": "i64", "length": "i64", "inner": "i64"}
    if name in _SPREADS:
        f = module.function(symbol, x="ptr", out="ptr", **sizes, left="double")
        _spread(f, _Numbers(f, kind), way == "rows", name == "std")
    else:
        f = module.function(symbol, x="ptr", out="ptr", **sizes)
        (_rows if way == "rows" else _columns)(f, name, _Numbers(f, kind))
    f.ret()
    return module.text()


_library = NativeLibrary(
    "reductions of few elements",
    _build,
    {
        f"{n}.{real}.{w}": "aniiid" if n in _SPREADS else "aniii"
        for n in (*_NAMES, *_SPREADS)
        for real in _REALS.values()
        for w in ("rows", "columns")
    },
)


def _build_picks(symbol: str) -> str:
    name, kind = symbol.split(".")
    module = Module("float" if kind in _NARROW else kind)
    f = module.function(symbol, x="ptr", index="ptr", out="ptr", length="i64", width="i64")
    numbers = _Numbers(f, kind)

    def picked(i: SSAValue) -> SSAValue:
        return numbers.load(f.x, i * f.width + f.load("i64", f.index, i))

    if name == "none":
        with f.loop(0, f.length) as i:
            numbers.store(-picked(i), i)
    else:
        made = f.buffer(numbers.real, LONGEST)
        with f.loop(0, f.length) as i:
            f.store(picked(i), f.at(made, i, numbers.real))

        def load(i: SSAValue | int, n: int) -> SSAValue:
            at = f.at(made, f.as_value(i, "i64"), numbers.real)
            return f.load(vector(numbers.real, n) if n > 1 else numbers.real, at, 0)

        numbers.store(-_row(f, name, numbers.real, load), f.const(0, "i64"))
    f.ret()
    return module.text()


_picks = NativeLibrary(
    "picks from few rows",
    _build_picks,
    {f"{name}.{kind}": "aanii" for name in ("none", "sum", "mean") for kind in _REALS.values()},
)


@functools.lru_cache(256)
def _plan_of_picks(name: str, dtype: np.dtype[Any], rows: int) -> tuple[Any, np.ndarray] | None:
    if dtype not in _REALS or dtype in _HALVES and not available(dtype.name):
        return None
    kernel = getattr(_picks, f"{name}.{_REALS[dtype]}") if 0 < rows <= LONGEST else None
    return kernel and (kernel, np.broadcast_to(np.empty((), dtype), (rows,) * (name == "none")))


def minus_picked(x: np.ndarray, index: np.ndarray, name: str) -> np.ndarray | None:
    """Return `-x[i, index[i]]` for the rows of a small contiguous matrix ("none"), or their "sum" or
    "mean"; None if there is no kernel. The positions are in range and int64.
    """
    if not (config.kernels and x.flags.c_contiguous and index.flags.c_contiguous):
        return None
    plan = _plan_of_picks(name, x.dtype, index.size)
    if plan is None:
        return None
    made: np.ndarray = plan[0](x, index, plan[1], index.size, x.shape[1])
    return made


def _build_conversion(symbol: str) -> str:
    way, kind = symbol.split(".")
    module = Module()
    f = module.function(symbol, out="ptr", count="i64", x="ptr")
    source = "i16" if way == "widen" else "float"

    def convert(i: SSAValue, count: int) -> None:
        x = f.load(vector(source, count) if count > 1 else source, f.x, i)
        f.store(unpack(f, x, kind) if way == "widen" else pack(f, x, kind), f.out, i)

    whole = f.count - f.count % _LANES
    with f.loop(0, whole, _LANES) as i:
        convert(i, _LANES)
    with f.loop(whole, f.count) as i:
        convert(i, 1)
    f.ret()
    return module.text()


_conversions = NativeLibrary(
    "conversions of few elements",
    _build_conversion,
    {f"{way}.{kind.name}": "nia" for way in ("widen", "narrow") for kind in _HALVES},
)


def conversion(
    shape: tuple[int, ...], source: np.dtype[Any], wanted: np.dtype[Any]
) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return a function like `x.astype(wanted)` for small contiguous arrays of one shape, from a
    two-byte float to float32 or back; None if there is no kernel.
    """
    half, other = (source, wanted) if source in _HALVES else (wanted, source)
    if half not in _HALVES or other != np.float32 or not available(half.name):
        return None
    kernel = getattr(_conversions, f"{'widen' if half is source else 'narrow'}.{half.name}")
    like = np.broadcast_to(np.empty((), wanted), shape)
    return kernel and functools.partial(kernel, like, like.size)


@functools.lru_cache(1024)
def _plan(
    name: str, dtype: np.dtype[Any], shape: tuple[int, ...], axis: Axes, keepdims: bool
) -> tuple[Any, np.ndarray, int, int, int] | None:
    """Return the kernel, an array with the shape and dtype of its result, and the kernel's numbers;
    None if there is no kernel.
    """
    layout = arranged(shape, axis) if dtype in _REALS else None
    if layout is None or 0 in shape or dtype in _HALVES and not available(dtype.name):
        return None
    outer, length, inner, short, kept = layout
    if length > LONGEST:
        return None
    way = "rows" if inner == 1 else "columns"
    kernel = getattr(_library, f"{name}.{_REALS[dtype]}.{way}")
    # a broadcast array, which takes no memory
    like = np.broadcast_to(np.empty((), dtype), kept if keepdims else short)
    return kernel and (kernel, like, outer, length, inner)


def reduced(name: str, x: np.ndarray, axis: Axes, keepdims: bool) -> np.ndarray | None:
    """Like `np.add.reduce` ("sum"), `np.multiply.reduce` ("prod"), `np.maximum.reduce` ("max") or
    `np.minimum.reduce` ("min") for small contiguous arrays; None if there is no kernel.
    """
    if not (type(x) is _ndarray and x.flags.c_contiguous and config.kernels):
        return None
    plan = _plan(name, x.dtype, x.shape, axis, keepdims)
    if plan is None:
        return None
    kernel, like, outer, length, inner = plan
    made: np.ndarray = kernel(x, like, outer, length, inner)
    return made


def spread(
    name: str,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    axis: Axes,
    correction: float,
    keepdims: bool,
) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return a function for the variance ("var") or its root ("std") of small contiguous arrays of
    one shape, computed as NumPy does in float64 and rounded once; None if there is no kernel.
    """
    plan = _plan(name, dtype, shape, axis, keepdims)
    if plan is None:
        return None
    kernel, like, outer, length, inner = plan
    left = float(length - correction)
    return (lambda x: kernel(x, like, outer, length, inner, left)) if left > 0 else None


def function(
    name: str, shape: tuple[int, ...], dtype: np.dtype[Any], axis: Axes, keepdims: bool
) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return a function for a reduction of small contiguous arrays of one shape; None if there is
    no kernel.
    """
    plan = _plan(name, dtype, shape, axis, keepdims)
    if plan is None:
        return None
    kernel, like, outer, length, inner = plan
    return lambda x: kernel(x, like, outer, length, inner)


def norm(
    shape: tuple[int, ...], dtype: np.dtype[Any], axis: Axes, order: float, keepdims: bool
) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return a function for the root of the sum of squares (order 2), or the sum of absolute values
    (order 1), of small contiguous arrays of one shape; None if there is no kernel.
    """
    if order not in (1, 2):
        return None
    name = "norm" if order == 2 else "taxicab"
    plan = _plan(name, dtype, shape, axis, keepdims)
    # not for single elements, whose square might overflow
    return None if plan is None or plan[3] == 1 else function(name, shape, dtype, axis, keepdims)
