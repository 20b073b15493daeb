"""The k-th smallest element along one dimension and its position, and medians, of float32, float64,
int32 and int64, found by partition instead of sorting; and the most frequent element of short
lines.

An element becomes an integer that is ordered as the floats are, with NaN behind all others. The
k-th of these determines the element; its position is that of the equal element which a stable sort
would put there. The median of a line with NaN is its first NaN.

    >>> made = select(np.array([[3.0, 5.0, 4.0]], np.float32), 1, "median")
    >>> made is None or [a.tolist() for a in made] == [[[4.0]], [[2]]]
    True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...dtypes import name_of
from ...llvm import jit, threads
from ...llvm.emit import Function, Module, SSAValue, Var
from . import FEW

__all__ = ["native", "numbers", "scratch", "select"]

GRAIN = 2048  # elements per chunk
_CTYPES = {
    "float32": ("float", "i32"),
    "float64": ("double", "i64"),
    "int32": ("i32", "i32"),
    "int64": ("i64", "i64"),
}
_WAYS = ("kth", "median", "nanmedian", "mode")


def _key(f: Function, x: SSAValue, whole: str) -> SSAValue:
    """Return an element as an integer with the same order; -0.0 counts as 0.0."""
    if x.ctype == whole:
        return x
    bits = f.bitcast(x + 0.0, whole)
    size = 32 if whole == "i32" else 64
    key = bits ^ ((bits >> (size - 1)) & ((1 << (size - 1)) - 1))
    return f.select(x.compare("uno", x), f.const((1 << (size - 1)) - 1, whole), key)


def _partition(f: Function, keys: SSAValue, whole: str, rank: SSAValue, n: SSAValue) -> None:
    """Emit a partition that moves the element of a rank to its place, with smaller ones before it
    and larger ones behind.

    Source: Hoare, "FIND", 1961.
    """
    low, high = f.var("i64", 0), f.var("i64", n - 1)
    i, j = f.var("i64"), f.var("i64")

    def walk(at: Var, how: str, pivot: SSAValue, step: int) -> None:
        with f.loop_while() as go_on:
            go_on(f.load(whole, keys, at.get()).compare(how, pivot))
            at.set(at.get() + step)

    with f.loop_while() as go_on:
        go_on(low.get().compare("slt", high.get()))
        pivot = f.load(whole, keys, rank)
        i.set(low.get())
        j.set(high.get())
        with f.loop_while() as again:
            again(i.get().compare("sle", j.get()))
            walk(i, "slt", pivot, 1)
            walk(j, "sgt", pivot, -1)
            with f.when(i.get().compare("sle", j.get())):
                a, b = f.load(whole, keys, i.get()), f.load(whole, keys, j.get())
                f.store(b, keys, i.get())
                f.store(a, keys, j.get())
                i.set(i.get() + 1)
                j.set(j.get() - 1)
        low.set(f.select(j.get().compare("slt", rank), i.get(), low.get()))
        high.set(f.select(rank.compare("slt", i.get()), j.get(), high.get()))


def _most_frequent(
    f: Function, keys: SSAValue, whole: str, real: bool, n: SSAValue, place: Var
) -> None:
    """Emit the search for the last occurrence of the most frequent key; of several equally frequent
    keys, the smallest. No NaN equals another one.
    """
    most, best = f.var("i64", 0), f.var(whole, 0)
    with f.loop(0, n) as i:
        key = f.load(whole, keys, i)
        count, last = f.var("i64", 0), f.var("i64", i)
        with f.loop(0, n) as j:
            same = f.load(whole, keys, j).compare("eq", key)
            count.set(count.get() + f.emit(f"zext i1 {same.name} to i64", "i64"))
            last.set(f.select(same, j, last.get()))
        if real:
            nan = key.compare("eq", (1 << (31 if whole == "i32" else 63)) - 1)
            count.set(f.select(nan, f.const(1, "i64"), count.get()))
            last.set(f.select(nan, i, last.get()))
        tie = count.get().compare("eq", most.get()) & key.compare("slt", best.get())
        with f.when(count.get().compare("sgt", most.get()) | tie):
            most.set(count.get())
            best.set(key)
            place.set(last.get())


def _build(name: str) -> str:
    module, (ctype, whole) = Module(), {c: (c, w) for c, w in _CTYPES.values()}[name]
    params = {
        "x": "ptr",
        "values": "ptr",
        "index": "ptr",
        "scratch": "ptr",
        "length": "i64",
        "inner": "i64",
        "way": "i64",
        "k": "i64",
    }
    f = threads.parallel_export(module, name, params)
    n = f.length
    keys = f.at(f.scratch, f.thread * n, whole)

    def ranked(base: SSAValue, nans: Var, place: Var) -> None:
        known, some = n - nans.get(), nans.get().compare("sgt", 0)
        median = f.select(some, known, (n - 1) // 2)
        rank = f.select(f.way.compare("eq", 1), median, f.larger(known - 1, 0) // 2)
        rank = f.select(f.way.compare("eq", 0), f.k, rank)
        _partition(f, keys, whole, rank, n)
        found = f.load(whole, keys, rank)
        before = f.var("i64", 0)  # number of smaller ones, which are all before it
        with f.loop(0, rank) as i:
            less = f.load(whole, keys, i).compare("slt", found)
            before.set(before.get() + f.emit(f"zext i1 {less.name} to i64", "i64"))
        left = f.var("i64", rank - before.get())
        with f.loop_while() as go_on:
            here = _key(f, f.load(ctype, base, place.get() * f.inner), whole).compare("eq", found)
            go_on((here & left.get().compare("eq", 0)).compare("eq", 0))
            left.set(left.get() - f.emit(f"zext i1 {here.name} to i64", "i64"))
            place.set(place.get() + 1)

    with f.loop(f.begin, f.end) as line:
        base = f.at(f.x, line // f.inner * n * f.inner + line % f.inner, ctype)
        nans = f.var("i64", 0)
        with f.loop(0, n) as i:
            x = f.load(ctype, base, i * f.inner)
            f.store(_key(f, x, whole), keys, i)
            if ctype != whole:
                nans.set(nans.get() + f.emit(f"zext i1 {x.compare('uno', x).name} to i64", "i64"))
        place = f.var("i64", 0)
        f.branch(
            f.way.compare("eq", _WAYS.index("mode")),
            partial(_most_frequent, f, keys, whole, ctype != whole, n, place),
            partial(ranked, base, nans, place),
        )
        f.store(f.load(ctype, base, place.get() * f.inner), f.values, line)
        f.store(place.get(), f.index, line)
    f.ret()
    return module.text(name)


_lib = jit.NativeLibrary("select", _build, {ctype: "paaaaiiiiii" for ctype, _ in _CTYPES.values()})


def native(dtype: str) -> int | None:
    """Return the address of the kernel; None if it does not support the dtype or cannot be
    compiled.
    """
    function = getattr(_lib, _CTYPES[dtype][0]) if dtype in _CTYPES else None
    return None if function is None else jit.address(function)


def numbers(shape: Sequence[int], dim: int, way: str, k: int = 1) -> tuple[int, ...]:
    """Return the kernel's last arguments for the k-th smallest element ("kth", from 1), the
    "median" or "nanmedian", or the "mode" of at most `FEW` elements (whose order is stable), along
    a dimension.
    """
    inner, n = math.prod(shape[dim + 1 :]), shape[dim]
    return n, inner, _WAYS.index(way), k - 1, math.prod(shape[:dim]) * inner, max(1, GRAIN // n)


def scratch(n: int, size: int, team: int) -> int:
    """Return the bytes of working memory for `team` threads and lines of n elements of `size`
    bytes.
    """
    return n * size * team


def select(x: np.ndarray, dim: int, way: str, k: int = 1) -> tuple[np.ndarray, np.ndarray] | None:
    """Return what `numbers` describes, and the int64 positions, with the dimension kept with size
    one; None if not supported.
    """
    ctype = _CTYPES.get(name_of(x.dtype)) if x.size else None
    function = None if ctype is None else getattr(_lib, ctype[0])
    if function is None or way == "mode" and x.shape[dim] > FEW:
        return None
    shape = (*x.shape[:dim], 1, *x.shape[dim + 1 :])
    values, index = np.empty(shape, x.dtype), np.empty(shape, np.int64)
    room = np.empty(scratch(x.shape[dim], x.itemsize, threads.get_num_threads()), np.uint8)
    function(
        threads.team(), np.ascontiguousarray(x), values, index, room, *numbers(x.shape, dim, way, k)
    )
    return values, index


def few(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    dim: int,
    way: str,
    short: tuple[int, ...],
    k: int = 1,
) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] | None:
    """Return a form of `select` that is fast for small contiguous arrays, specialized for one shape
    and dtype, with results of the shape `short`; None if not supported.
    """
    ctype = _CTYPES.get(name_of(dtype))
    function = None if ctype is None else getattr(_lib, ctype[0])
    if function is None or way == "mode" and shape[dim] > FEW:
        return None
    size, last = scratch(shape[dim], dtype.itemsize, 1), numbers(shape, dim, way, k)

    def run(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, index = np.empty(short, dtype), np.empty(short, _WHOLE)
        function(0, x, values, index, np.empty(size, _BYTE), *last)
        return values, index

    return run


_WHOLE, _BYTE = np.dtype(np.int64), np.dtype(np.uint8)
