"""Running sums, products and extremes along one dimension of float32 (accumulated in double as
PyTorch's are), float64 and int64; and the gradient of products of float32 and float64.

>>> cumsum(np.ones(3, np.float32), 0) is None or cumsum(np.ones(3, np.float32), 0).tolist() == [1.0, 2.0, 3.0]
True
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dtypes import name_of
from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, Value, types_of, vector

__all__ = ["cumprod", "cumprod_backward", "cumsum", "extremes", "native", "numbers"]

_CTYPES = types_of("float32 float64 int64")
_REALS = ("float", "double")
GRAIN = 16384  # elements a chunk
WIDE = 8  # lines side by side from which on vectors run across them
# lines that are gone along at once: each element waits for the one before it in its line
TOGETHER = 8


def _accumulated(f: Function, kind: str, total: Value, x: Value) -> Value:
    return total + x if kind == "cumsum" else total * x


def _lines(module: Module, kind: str, ctype: str) -> None:
    """`kind.type(team, x, out, length, inner, n, grain)` over n lines of an array (outer, length,
    inner).
    """
    wide = "double" if ctype == "float" else ctype
    f = threads.parallel_export(
        module, f"{kind}.{ctype}", {"x": "ptr", "out": "ptr", "length": "i64", "inner": "i64"}
    )

    def along(first: Value, count: int) -> None:
        lines = [first + u for u in range(count)]
        starts = [line // f.inner * f.length * f.inner + line % f.inner for line in lines]
        totals = [f.var(wide, int(kind == "cumprod")) for _ in lines]
        with f.loop(0, f.length) as i:
            for start, total in zip(starts, totals):
                at = start + i * f.inner
                total.set(
                    _accumulated(f, kind, total.get(), f.extend(f.load(ctype, f.x, at), wide))
                )
                f.store(f.trunc(total.get(), ctype), f.out, at)

    whole = f.end - (f.end - f.begin) % TOGETHER
    with f.loop(f.begin, whole, TOGETHER) as line:
        along(line, TOGETHER)
    with f.loop(whole, f.end) as line:
        along(line, 1)
    f.ret()


def _across(module: Module, kind: str, ctype: str) -> None:
    """`kind_across.type(team, x, out, length, inner, outer, grain)`: vectors run along `inner`."""
    name = f"{kind}_across.{ctype}"
    f = threads.parallel_export(
        module, name, {"x": "ptr", "out": "ptr", "length": "i64", "inner": "i64"}
    )
    width = target.host().lanes("double")
    narrow, wide = vector(ctype, width), vector("double" if ctype == "float" else ctype, width)
    with f.loop(f.begin, f.end) as o:
        base = o * f.length * f.inner

        def column(i: Value, mask: Value | None, base: Value = base) -> None:
            total = f.var(wide, f.const(int(kind == "cumprod"), wide))
            with f.loop(0, f.length) as j:
                at = base + j * f.inner + i
                total.set(
                    _accumulated(
                        f, kind, total.get(), f.extend(f.load(narrow, f.x, at, mask=mask), wide)
                    )
                )
                f.store(f.trunc(total.get(), narrow), f.out, at, mask=mask)

        f.vector_loop(f.inner, width, column)
    f.ret()


def _extremes(module: Module, kind: str, ctype: str, across: bool) -> None:
    """`kind.type(team, x, values, index, length, inner, n, grain)`: the extreme so far, and the
    last place where it stood; a NaN stays.
    """
    name = f"{kind}{'_across' * across}.{ctype}"
    params = {"x": "ptr", "values": "ptr", "index": "ptr", "length": "i64", "inner": "i64"}
    f = threads.parallel_export(module, name, params)
    floating = ctype in ("float", "double")
    lowest = math.inf if floating else (1 << 63) - 1
    if kind == "cummax":
        lowest = -lowest if floating else -lowest - 1
    width = target.host().lanes("double") if across else 1
    elements, places = vector(ctype, width), vector("i64", width)
    how = ("o" if floating else "s") + ("ge" if kind == "cummax" else "le")

    def step(best: Any, place: Any, at: Value, i: Value, mask: Value | None = None) -> None:
        x = f.load(elements, f.x, at, mask=mask)
        wins = x.compare(how, best.get())
        if floating:
            wins = wins | x.compare("uno", x)
        best.set(f.select(wins, x, best.get()))
        place.set(f.select(wins, f.splat(i, places), place.get()))
        f.store(best.get(), f.values, at, mask=mask)
        f.store(place.get(), f.index, at, mask=mask)

    def fresh() -> tuple[Any, Any]:
        return f.var(elements, f.const(lowest, elements)), f.var(places, f.const(0, places))

    if across:
        with f.loop(f.begin, f.end) as o:
            base = o * f.length * f.inner

            def column(i: Value, mask: Value | None, base: Value = base) -> None:
                best, place = fresh()
                with f.loop(0, f.length) as j:
                    step(best, place, base + j * f.inner + i, j, mask)

            f.vector_loop(f.inner, width, column)
        f.ret()
        return

    def along(first: Value, count: int) -> None:
        lines = [first + u for u in range(count)]
        starts = [line // f.inner * f.length * f.inner + line % f.inner for line in lines]
        known = [fresh() for _ in lines]
        with f.loop(0, f.length) as i:
            for start, (best, place) in zip(starts, known):
                step(best, place, start + i * f.inner, i)

    whole = f.end - (f.end - f.begin) % (TOGETHER // 2)
    with f.loop(f.begin, whole, TOGETHER // 2) as line:
        along(line, TOGETHER // 2)
    with f.loop(whole, f.end) as line:
        along(line, 1)
    f.ret()


def _cumprod_backward(module: Module, ctype: str) -> None:
    """With s[k] = g[k] + x[k + 1] * s[k + 1] the gradient is s[k] times the product of what stands
    before: no division, zeros are fine.
    """
    params = {
        "x": "ptr",
        "product": "ptr",
        "g": "ptr",
        "out": "ptr",
        "length": "i64",
        "inner": "i64",
    }
    f = threads.parallel_export(module, f"cumprod_backward.{ctype}", params)
    with f.loop(f.begin, f.end) as line:
        start = line // f.inner * f.length * f.inner + line % f.inner
        total, factor = f.var("double", 0.0), f.var("double", 0.0)
        with f.loop(0, f.length) as i:
            k = f.length - 1 - i
            at = start + k * f.inner
            total.set(f.extend(f.load(ctype, f.g, at), "double") + factor.get() * total.get())
            factor.set(f.extend(f.load(ctype, f.x, at), "double"))
            before = f.load(ctype, f.product, f.larger(at - f.inner, start))
            before = f.extend(f.select(k.compare("eq", 0), f.const(1.0, ctype), before), "double")
            f.store(f.trunc(total.get() * before, ctype), f.out, at)
    f.ret()


def _build(name: str) -> str:
    module = Module()
    for kind, ctype in itertools.product(("cumsum", "cumprod"), _CTYPES.values()):
        _lines(module, kind, ctype)
        _across(module, kind, ctype)
    for kind, ctype, across in itertools.product(
        ("cummax", "cummin"), _CTYPES.values(), (False, True)
    ):
        _extremes(module, kind, ctype, across)
    for ctype in _REALS:
        _cumprod_backward(module, ctype)
    return module.text(name)


_NAMES = [
    f"{kind}{across}.{ctype}"
    for kind in ("cumsum", "cumprod")
    for across in ("", "_across")
    for ctype in _CTYPES.values()
]
_EXTREMES = [name.replace("sum", end) for name in _NAMES if "sum" in name for end in ("max", "min")]
_BACK = [f"cumprod_backward.{ctype}" for ctype in _REALS]
_lib = jit.Library(
    "scan",
    _build,
    {
        **dict.fromkeys(_NAMES, "paaiiii"),
        **dict.fromkeys(_EXTREMES, "paaaiiii"),
        **dict.fromkeys(_BACK, "paaaaiiii"),
    },
)


def native(name: str, shape: Sequence[int], dim: int, dtype: str = "float32") -> int | None:
    """The address of the kernel that serves a shape and dtype; None where there is none, or it
    cannot be compiled.
    """
    kernel = _kernel(name, shape, dim, dtype)
    function = None if kernel is None else getattr(_lib, kernel)
    return None if function is None else jit.address(function)


def _kernel(name: str, shape: Sequence[int], dim: int, dtype: str) -> str | None:
    if name == "cumprod_backward":
        return f"{name}.{_CTYPES[dtype]}" if dtype in ("float32", "float64") else None
    return (
        f"{name}{'_across' if _is_across(name, shape, dim) else ''}.{_CTYPES[dtype]}"
        if dtype in _CTYPES
        else None
    )


def _is_across(name: str, shape: Sequence[int], dim: int) -> bool:
    return name != "cumprod_backward" and math.prod(shape[dim + 1 :]) >= WIDE


def numbers(name: str, shape: Sequence[int], dim: int) -> tuple[int, ...]:
    """The kernel's last arguments."""
    length, inner, outer = shape[dim], math.prod(shape[dim + 1 :]), math.prod(shape[:dim])
    if _is_across(name, shape, dim):
        return length, inner, outer, max(1, GRAIN // max(1, length * inner))
    return length, inner, outer * inner, max(TOGETHER, GRAIN // max(1, length))


def _run(name: str, dim: int, *arrays: np.ndarray) -> np.ndarray | None:
    shape, dtype = arrays[0].shape, arrays[0].dtype
    for a in arrays:
        if a.dtype is not dtype or not a.flags.c_contiguous or a.shape != shape:
            return None
    kernel, last = _chosen(name, shape, dim % len(shape), dtype)
    function = None if kernel is None else getattr(_lib, kernel)
    if function is None:
        return None
    out = np.empty(shape, dtype)
    function(threads.team(), *arrays, out, *last)
    return out


@functools.lru_cache(512)
def _chosen(
    name: str, shape: tuple[int, ...], dim: int, dtype: np.dtype[Any]
) -> tuple[str | None, tuple[int, ...]]:
    """The kernel that serves a shape and dtype, None where there is none, and its last arguments."""
    return _kernel(name, shape, dim, name_of(dtype)), numbers(name, shape, dim)


def cumsum(x: np.ndarray, axis: int) -> np.ndarray | None:
    """`np.cumsum(x, axis)` of a contiguous array of float32, float64 or int64; None for others."""
    return _run("cumsum", axis, x)


def cumprod(x: np.ndarray, axis: int) -> np.ndarray | None:
    """`np.cumprod(x, axis)` of a contiguous array of float32, float64 or int64; None for others."""
    return _run("cumprod", axis, x)


def cumprod_backward(
    x: np.ndarray, product: np.ndarray, g: np.ndarray, axis: int
) -> np.ndarray | None:
    """The gradient of `product`, the running product of x, in x; None for others than contiguous
    arrays of float32 or float64.
    """
    return _run("cumprod_backward", axis, x, product, g)


def extremes(x: np.ndarray, axis: int, largest: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """The largest (or smallest) element so far of a contiguous array of float32, float64 or int64,
    and its last place; None for others.
    """
    if not x.flags.c_contiguous or not x.size:
        return None
    kernel, last = _chosen("cummax" if largest else "cummin", x.shape, axis % x.ndim, x.dtype)
    function = None if kernel is None else getattr(_lib, kernel)
    if function is None:
        return None
    values, index = np.empty(x.shape, x.dtype), np.empty(x.shape, np.int64)
    function(threads.team(), x, values, index, *last)
    return values, index
