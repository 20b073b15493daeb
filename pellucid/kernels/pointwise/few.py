"""Sums, products, maxima and minima of few elements, the same numbers as NumPy's bit for bit.

NumPy takes most of a microsecond around the loop of such a reduction. A sum along the axis that is
closest in memory is added as NumPy adds up to 128 terms: in eight partial sums, which are added in
pairs, and the terms that are left one by one. All others go from the first element to the last.
(The largest of 0.0 and -0.0 is either, as in NumPy, whose choice depends on the processor.)
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ... import config
from ...llvm.emit import Function, Module, SSAValue, lanes, vector
from ...llvm.jit import NativeLibrary
from .reduce import Axes, arranged

__all__ = ["reduced"]

_ndarray = np.ndarray

LONGEST = 128  # terms that NumPy adds without halving them first
_LANES = 8
_REALS = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
_NAMES = ("sum", "prod", "max", "min")


def _step(f: Function, name: str, old: SSAValue, new: SSAValue) -> SSAValue:
    """What is left of two numbers, or of the lanes of two vectors; NaN stays."""
    if name == "sum":
        return old + new
    if name == "prod":
        return old * new
    better = f.select(new.compare("ogt" if name == "max" else "olt", old), new, old)
    return f.select(new.compare("uno", new), new, better)


def _pairs(f: Function, v: SSAValue) -> SSAValue:
    """The sum of the lanes, neighbors first."""
    while (n := lanes(v.ctype)) > 2:
        even, odd = (f.shuffle(v, v, list(range(k, n, 2))) for k in (0, 1))
        v = even + odd
    return f.fold(v, lambda a, b: a + b)


def _rows(f: Function, name: str, real: str) -> None:
    kind = vector(real, _LANES)
    total, begin = f.var(real), f.var("i64")
    with f.loop(0, f.outer) as row:
        x = f.at(f.x, row * f.length, real)
        total.set(f.load(real, x, 0))
        begin.set(1)
        if name == "sum":
            with f.when(f.length.compare("sge", _LANES)):
                whole = f.length - f.length % _LANES
                parts = f.var(kind, f.load(kind, x, 0))
                with f.loop(_LANES, whole, _LANES) as i:
                    parts.set(parts.get() + f.load(kind, x, i))
                total.set(_pairs(f, parts.get()))
                begin.set(whole)
        with f.loop(begin.get(), f.length) as i:
            total.set(_step(f, name, total.get(), f.load(real, x, i)))
        made = total.get()
        f.store(made + 0.0 if name == "sum" else made, f.out, row)  # of -0.0 alone the sum is 0.0


def _columns(f: Function, name: str, real: str) -> None:
    kind = vector(real, _LANES)
    best = f.var(kind)
    with f.loop(0, f.outer) as block:
        with f.loop(0, f.inner, _LANES) as column:
            mask = f.tail_mask(f.inner - column, _LANES)
            x = f.at(f.x, block * f.length * f.inner + column, real)
            first = f.load(kind, x, 0, mask=mask)
            best.set(first + 0.0 if name == "sum" else first)
            with f.loop(1, f.length) as row:
                v = f.load(kind, x, row * f.inner, mask=mask)
                best.set(_step(f, name, best.get(), v))
            f.store(best.get(), f.out, block * f.inner + column, mask=mask)


def _build(symbol: str) -> str:
    name, real, way = symbol.split(".")
    module = Module(real)
    sizes = {"outer": "i64", "length": "i64", "inner": "i64"}
    f = module.function(symbol, x="ptr", out="ptr", **sizes)
    (_rows if way == "rows" else _columns)(f, name, real)
    f.ret()
    return module.text()


_library = NativeLibrary(
    "reductions of few elements",
    _build,
    {
        f"{n}.{real}.{w}": "aniii"
        for n in _NAMES
        for real in _REALS.values()
        for w in ("rows", "columns")
    },
)


@functools.lru_cache(1024)
def _plan(
    name: str, dtype: np.dtype[Any], shape: tuple[int, ...], axis: Axes, keepdims: bool
) -> tuple[Any, np.ndarray, int, int, int] | None:
    """The kernel, an array like its results and the kernel's numbers."""
    layout = arranged(shape, axis) if dtype in _REALS else None
    if layout is None or 0 in shape:
        return None
    outer, length, inner, short, kept = layout
    if length > LONGEST:
        return None
    way = "rows" if inner == 1 else "columns"
    kernel = getattr(_library, f"{name}.{_REALS[dtype]}.{way}")
    # what results are like takes no memory
    like = np.broadcast_to(np.empty((), dtype), kept if keepdims else short)
    return kernel and (kernel, like, outer, length, inner)


def reduced(name: str, x: np.ndarray, axis: Axes, keepdims: bool) -> np.ndarray | None:
    """`np.add.reduce` ("sum"), `np.multiply.reduce` ("prod"), `np.maximum.reduce` ("max") or
    `np.minimum.reduce` ("min") of few elements in order; None where there is no kernel.
    """
    if not (type(x) is _ndarray and x.flags.c_contiguous and config.kernels):
        return None
    plan = _plan(name, x.dtype, x.shape, axis, keepdims)
    if plan is None:
        return None
    kernel, like, outer, length, inner = plan
    made: np.ndarray = kernel(x, like, outer, length, inner)
    return made
