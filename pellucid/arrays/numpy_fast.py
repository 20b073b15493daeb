"""Replacements for NumPy functions: a generated kernel for large arrays, or a shorter path for
small ones.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy import ndarray

from .. import config
from ..ir.formula import FORMULAS, Formula
from .halves import narrowed, widened
from .native import (
    HALVES,
    SERVED,
    SMALL,
    activation,
    fused,
    kernels,
    native_code_runs,
    straight,
    ufuncs,
)

__all__ = [
    "clip_numbers",
    "cube",
    "cumprod",
    "cumsum",
    "exp",
    "fill",
    "full",
    "log",
    "take_along_axis",
    "triangle",
    "where",
]

_F32, _C64 = np.dtype(np.float32), np.dtype(np.complex64)
_WHOLE = tuple(map(np.dtype, (np.int64, np.int32, np.int16, np.int8, np.uint8)))
_CHOSEN = (_F32, np.dtype(np.float64), *_WHOLE)
_LARGE = 1 << 12  # from so many elements on, loading a generated kernel pays off


def _served(x: Any) -> bool:
    return (x.dtype is _F32 or x.dtype in SERVED()) and type(x) is ndarray and config.kernels


def exp(x: Any) -> Any:
    """As `np.exp`."""
    if x.size >= _LARGE and _served(x):
        run = activation("exp", x.size)
        if run is not None:
            return run(x)
    return ufuncs.exp(x)


def log(x: Any) -> Any:
    """As `np.log`."""
    if x.size >= _LARGE and _served(x):
        run = activation("log", x.size)
        if run is not None:
            return run(x)
    return ufuncs.log(x)


FORMULAS["cube"] = Formula(lambda m, x: x * x * x)
FORMULAS["cube_in_steps"] = FORMULAS["cube"]._replace(rounds_each=True)
FORMULAS["at_least"] = Formula(lambda m, x, *, low: m.maximum(low, x), "fhi")
FORMULAS["at_most"] = Formula(lambda m, x, *, high: m.minimum(high, x), "fhi")
FORMULAS["between"] = Formula(lambda m, x, *, low, high: m.minimum(high, m.maximum(low, x)), "fhi")


def cube(x: Any) -> Any:
    """x * x * x, with a single temporary array."""
    if x.size >= _LARGE:
        run = fused("cube", x)
        if run is not None:
            return run(x)
    result = x * x
    return np.multiply(result, x, result) if type(result) is ndarray else result * x


def _of(kind: Any, bound: Any) -> float:
    """A number rounded to the dtype. NumPy rejects Python numbers that float32 cannot represent."""
    return kind.type(bound) if kind.itemsize > 2 else float(kind.type(bound))


def clip_numbers(x: Any, low: Any, high: Any) -> Any:
    """Clamp a real array between two numbers, either of which may be None; NaN stays."""
    kind = x.dtype
    if x.size >= _LARGE and kind.kind in "fV":
        run = fused("at_most" if low is None else "at_least" if high is None else "between", x)
        # NaN bounds propagate only without a kernel
        if run is not None and low == low and high == high:
            bounds = [
                bound if type(bound) is float and -3e38 < bound < 3e38 else _of(kind, bound)
                for bound in (low, high)
                if bound is not None
            ]
            return run(x, *bounds)
    if x.size >= _LARGE and kind in _WHOLE and type(x) is ndarray and config.kernels:
        run = activation(
            "at_most" if low is None else "at_least" if high is None else "between", x.size
        )
        if run is not None:
            return run(x, *[kind.type(bound) for bound in (low, high) if bound is not None])
    # NumPy handles arrays without dimensions in half the time of its scalars.
    if low is None:
        return ufuncs.minimum(np.array(high, kind), x)
    # for equal operands the second is returned, so -0.0 stays
    result = ufuncs.maximum(np.array(low, kind), x)
    if high is None:
        return result
    return ufuncs.minimum(
        np.array(high, kind), result, out=result if type(result) is ndarray else None
    )


_where = straight(np.where)


def where(condition: Any, x: Any, y: Any) -> Any:
    """As `np.where`; a kernel handles large arrays."""
    if condition.size < _LARGE:
        return _where(condition, x, y)
    if condition.dtype.kind == "b" and config.kernels:
        kind = getattr(x if type(x) is ndarray else y, "dtype", None)
        if kind == _C64 and getattr(x, "dtype", None) == kind == getattr(y, "dtype", None):
            # selecting only moves bits
            return where(condition, x.view(np.int64), y.view(np.int64)).view(kind)
        if kind is not None and kind in _CHOSEN:
            a, b = (
                np.asarray(v, kind) if type(v) in (int, float) and kind.kind == "f" else v
                for v in (x, y)
            )
            if type(a) is ndarray is type(b) and a.dtype is b.dtype and type(condition) is ndarray:
                run = activation("where", condition.size)
                if run is not None:
                    return run(condition, a, b)
    return np.where(condition, x, y)


def cumsum(x: Any, axis: int, dtype: Any = None) -> Any:
    """As `np.cumsum`, accumulated in double precision and rounded at the end."""
    made = _running("cumsum", x, axis, dtype)
    return _accumulated(np.add, x, axis, dtype) if made is None else made


def cumprod(x: Any, axis: int, dtype: Any = None, out: Any = None) -> Any:
    """As `np.cumprod`, accumulated in double precision and rounded at the end."""
    if out is not None:
        return np.multiply.accumulate(x, axis, dtype, out)
    made = _running("cumprod", x, axis, dtype)
    return _accumulated(np.multiply, x, axis, dtype) if made is None else made


def _accumulated(function: Any, x: Any, axis: int, dtype: Any) -> Any:
    kind = x.dtype
    if dtype is not None or kind.kind not in "fcVW":
        return function.accumulate(x, axis, dtype)
    if kind.kind in "cW":
        return function.accumulate(x, axis, np.complex128).astype(kind, copy=False)
    made = function.accumulate(widened(x), axis, np.float64)
    return made if kind.itemsize == 8 else narrowed(made.astype(np.float32), kind)


def _running(name: str, x: Any, axis: int, dtype: Any) -> Any:
    """The scan by a kernel; None if there is none."""
    if (
        (dtype is None or dtype is x.dtype or dtype == np.int64 and x.dtype.kind in "biu")
        and (x.size >= SMALL or x.size and native_code_runs())
        and type(x) is ndarray
        and config.kernels
    ):
        return getattr(kernels.ordering.scan, name)(x, axis)
    return None


MANY = 1 << 15  # from so many elements on, a kernel fills
_FEW = 256  # up to so many two-byte floats, filling them one by one costs less than a view
# Dtypes that NumPy fills element by element -> integers of the same size, which it fills fast.
_BITS = {**dict.fromkeys(HALVES, np.dtype(np.uint16)), np.dtype(np.complex64): np.dtype(np.uint64)}


def full(shape: Any, value: Any, dtype: Any = None) -> Any:
    """As `np.full`."""
    bits = None if dtype is _F32 else _BITS.get(dtype)
    if bits is None or dtype.itemsize == 2:
        if dtype is None or type(value) not in (float, int, bool):
            return np.full(shape, value, dtype)
        made = np.empty(shape, dtype)
        if made.size < (MANY if bits is None else _FEW):
            made.fill(value)
        else:
            fill(made, value)
        return made
    made = np.empty(shape, dtype)
    fill(made, value)
    return made


def fill(x: Any, value: Any) -> None:
    """Set all elements to a number, or to an array without dimensions of the same dtype."""
    bits = _BITS.get(x.dtype)
    if x.size >= MANY and type(x) is ndarray and config.kernels and x.dtype.itemsize > 1:
        if kernels.indexing.fill.filled(x, np.array(value, x.dtype)):
            return
    if bits is None or type(x) is not ndarray:
        x[...] = value
    else:
        x.view(bits)[...] = np.array(value, x.dtype).view(bits)


@functools.lru_cache(1024)
def positions(size: int, ndim: int, dim: int) -> ndarray:
    """The array 0, 1, ... along dimension `dim` of `ndim`, read-only."""
    places = np.arange(size).reshape([-1 if d == dim else 1 for d in range(ndim)])
    places.flags.writeable = False
    return places


def take_along_axis(x: Any, index: Any, axis: int) -> Any:
    """As `np.take_along_axis`, at a third of its cost for small arrays."""
    shape = index.shape
    ndim = x.ndim
    axis %= ndim or 1
    if (
        ndim > 4
        or len(shape) != ndim
        or shape[:axis] != x.shape[:axis]
        or shape[axis + 1 :] != x.shape[axis + 1 :]
    ):
        return np.take_along_axis(x, index, axis)
    return x[tuple([index if d == axis else positions(shape[d], ndim, d) for d in range(ndim)])]


def triangle(x: Any, diagonal: int, lower: bool) -> Any:
    """As `np.tril` or `np.triu`: matrices with zeros above, or below, a diagonal."""
    rows, columns = x.shape[-2:]
    if rows * columns > _LARGE:
        if type(x) is ndarray and config.kernels:
            made = kernels.indexing.triangle.triangle(x, diagonal, lower)
            if made is not None:
                return made
        if x.dtype in HALVES:
            return triangle(x.view(np.uint16), diagonal, lower).view(x.dtype)
        return (np.tril if lower else np.triu)(x, diagonal)
    if x.ndim == 2:
        made = x.copy()
        made.put(_outside(rows, columns, diagonal, lower), _zero(x.dtype))
        return made
    return np.where(_mask(rows, columns, diagonal, lower), x, _zero(x.dtype))


@functools.lru_cache(64)
def _mask(rows: int, columns: int, diagonal: int, lower: bool) -> ndarray:
    below = np.tri(rows, columns, diagonal if lower else diagonal - 1, bool)
    return below if lower else ~below


@functools.lru_cache(64)
def _outside(rows: int, columns: int, diagonal: int, lower: bool) -> ndarray:
    """The flat positions outside of a triangle."""
    return np.flatnonzero(~_mask(rows, columns, diagonal, lower))


@functools.lru_cache(64)
def _zero(kind: Any) -> ndarray:
    return np.zeros((), kind)
