"""Sorting, the first few in order, and extremes with their places, along one dimension of float32.

An element and its place become one 64-bit number: a whole number that is ordered as the floats are, then the place. Such numbers are
all different, so the least of them is the first of equals, and any way of sorting keeps equals in their order. NaN comes last in
ascending order and first in descending order, and is both the largest and the smallest element.

    >>> made = first(np.array([[3.0, 5.0, 5.0]], np.float32), 1, 2, largest=True)
    >>> made is None or [a.tolist() for a in made] == [[[5.0, 5.0]], [[1, 2]]]
    True
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import Function, Module, Value, vector

__all__ = ["MOST", "extreme", "first", "native", "numbers", "scratch", "sort"]

_F32 = np.dtype(np.float32)
MOST = 64  # of the first few: more are sorted
RUN = 12  # elements that are sorted by insertion
GRAIN = 8192  # elements a chunk
_LAST, _FIRST = (1 << 31) - 1, -(1 << 31)  # where NaN stands


def _packed(f: Function, x: Value, place: Value, flip: Value, nan: Value) -> Value:
    """An element and its place as one number; `flip` is -1 for descending order, else 0."""
    bits = f.bitcast(x + 0.0, "i32")  # -0.0 becomes 0.0
    key = bits ^ ((bits >> 31) & 0x7FFFFFFF) ^ flip
    key = f.select(x.compare("uno", x), nan, key)
    return (f.extend(key, "i64") << 32) | place


def _insert(f: Function, items: Value, count: Value, item: Value) -> None:
    """Put an item to its place among `count` sorted ones, with room for one more."""
    at = f.var("i64", count)
    with f.loop_while() as go_on:
        here = at.get()
        before = f.load("i64", items, f.larger(here - 1, 0))
        go_on(here.compare("sgt", 0) & before.compare("sgt", item))
        f.store(before, items, here)
        at.set(here - 1)
    f.store(item, items, at.get())


def _lines(f: Function, line: Value, length: Value) -> Value:
    """Where a line of an array (outer, length, inner) begins."""
    return line // f.inner * length * f.inner + line % f.inner


def _deliver(f: Function, items: Value, count: Value, base: Value, to: Value) -> None:
    """Elements and places of sorted items."""
    with f.loop(0, count) as j:
        place = f.load("i64", items, j) & 0xFFFFFFFF
        f.store(f.load("float", f.x, base + place * f.inner), f.values, to + j * f.inner)
        f.store(place, f.index, to + j * f.inner)


def _emit_first(module: Module, name: str, better: str) -> None:
    params = {"x": "ptr", "values": "ptr", "index": "ptr", "n": "i64", "k": "i64", "inner": "i64", "flip": "i64", "nan": "i64"}
    f = threads.parallel_export(module, name, {("length" if p == "n" else p): t for p, t in params.items()})
    f.scalar = True
    width = target.host().lanes("float")
    kind = vector("float", width)
    items = f.buffer("i64", MOST + 1)
    flip, nan = f.trunc(f.flip, "i32"), f.trunc(f.nan, "i32")
    with f.loop(f.begin, f.end) as line:
        base, to = _lines(f, line, f.length), _lines(f, line, f.k)
        have = f.var("i64", 0)
        bound = f.var("float", 0.0)  # the worst of those that were found

        def offer(place: Value) -> None:
            x = f.load("float", f.x, base + place * f.inner)
            item = _packed(f, x, place, flip, nan)
            room = have.get().compare("slt", f.k)
            worst = f.load("i64", items, f.k - 1)
            with f.when(room | worst.compare("sgt", item)):
                count = f.smaller(have.get(), f.k - 1)
                _insert(f, items, count, item)
                have.set(count + 1)
                last = f.load("i64", items, f.k - 1) & 0xFFFFFFFF
                with f.when(have.get().compare("eq", f.k)):
                    bound.set(f.load("float", f.x, base + last * f.inner))

        f.store(f.const(0, "i64"), items, f.k - 1)
        start = f.var("i64", f.smaller(f.length, f.k))
        with f.loop(0, start.get()) as place:
            offer(place)
        # Rows in memory: vectors without an element that is better are passed over.
        with f.when(f.inner.compare("eq", 1)), f.loop_while() as go_on:
            at = start.get()
            go_on((at + width).compare("sle", f.length))
            x = f.load(kind, f.x, base + at)
            good = x.compare(better, f.splat(bound.get(), kind))
            bits = f.emit(f"bitcast {good.ctype} {good.name} to i{width}", f"i{width}")
            some = f.emit(f"icmp ne i{width} {bits.name}, 0", "i1")
            with f.when(some), f.loop(at, at + width) as place:
                offer(place)
            start.set(at + width)
        with f.loop(start.get(), f.length) as place:
            offer(place)
        _deliver(f, items, f.k, base, to)
    f.ret()


def _emit_sort(module: Module) -> None:
    params = {"x": "ptr", "values": "ptr", "index": "ptr", "length": "i64", "k": "i64", "inner": "i64", "flip": "i64", "nan": "i64",
              "scratch": "ptr"}  # fmt: skip
    f = threads.parallel_export(module, "sort", params)
    f.scalar = True
    flip, nan = f.trunc(f.flip, "i32"), f.trunc(f.nan, "i32")
    own = f.at(f.scratch, f.thread * f.length * 2, "i64")
    other = f.at(own, f.length, "i64")
    with f.loop(f.begin, f.end) as line:
        base, to = _lines(f, line, f.length), _lines(f, line, f.k)
        with f.loop(0, f.length, RUN) as run:
            items = f.at(own, run, "i64")
            with f.loop(0, f.smaller(f.length - run, RUN)) as j:
                place = run + j
                x = f.load("float", f.x, base + place * f.inner)
                _insert(f, items, j, _packed(f, x, place, flip, nan))
        origin, goal = f.var("ptr", own), f.var("ptr", other)
        size = f.var("i64", RUN)
        with f.loop_while() as go_on:
            width = size.get()
            go_on(width.compare("slt", f.length))
            here, there = origin.get(), goal.get()
            with f.loop(0, f.length, width * 2) as left:
                middle = f.smaller(left + width, f.length)
                _merge(f, here, there, left, middle, f.smaller(middle + width, f.length))
            origin.set(there)
            goal.set(here)
            size.set(width * 2)
        _deliver(f, origin.get(), f.k, base, to)
    f.ret()


def _merge(f: Function, items: Value, out: Value, left: Value, middle: Value, end: Value) -> None:
    """Two sorted runs to one."""
    i, j, to = f.var("i64", left), f.var("i64", middle), f.var("i64", left)
    with f.loop_while() as go_on:
        go_on(i.get().compare("slt", middle) & j.get().compare("slt", end))
        a, b = f.load("i64", items, i.get()), f.load("i64", items, j.get())
        second = b.compare("slt", a)
        f.store(f.select(second, b, a), out, to.get())
        step = f.emit(f"zext i1 {second.name} to i64", "i64")
        j.set(j.get() + step)
        i.set(i.get() + 1 - step)
        to.set(to.get() + 1)
    for rest, stop in ((i, middle), (j, end)):
        with f.loop(rest.get(), stop) as k:
            f.store(f.load("i64", items, k), out, to.get())
            to.set(to.get() + 1)


def _emit_across(module: Module, name: str, better: str) -> None:
    """The extreme of each column of (outer, length, inner), vectors running along `inner`."""
    f = threads.parallel_export(module, name, {"x": "ptr", "values": "ptr", "index": "ptr", "length": "i64", "inner": "i64"})
    f.scalar = True
    width = target.host().lanes("float")
    floats, ints, wide = vector("float", width), vector("i32", width), vector("i64", width)
    with f.loop(f.begin, f.end) as o:
        base, to = f.at(f.x, o * f.length * f.inner), o * f.inner

        def column(i: Value, mask: Value | None, base: Value = base, to: Value = to) -> None:
            best, place = f.var(floats, f.load(floats, base, i, mask=mask)), f.var(ints, f.const(0, ints))
            with f.loop(1, f.length) as j:
                x, known = f.load(floats, base, j * f.inner + i, mask=mask), best.get()
                wins = x.compare(better, known) & known.compare("ord", known)
                best.set(f.select(wins, x, known))
                place.set(f.select(wins, f.splat(f.trunc(j, "i32"), ints), place.get()))
            f.store(best.get(), f.values, to + i, mask=mask)
            f.store(f.extend(place.get(), wide), f.index, to + i, mask=mask)

        f.vector_loop(f.inner, width, column)
    f.ret()


def _build(name: str) -> str:
    module = Module()
    _emit_first(module, "largest", "ugt")  # true where one is NaN, too
    _emit_first(module, "smallest", "ult")
    _emit_across(module, "largest_across", "ugt")
    _emit_across(module, "smallest_across", "ult")
    _emit_sort(module)
    return module.text(name)


_lib = jit.Library(
    "order",
    _build,
    {
        "largest": "paaaiiiiiii", "smallest": "paaaiiiiiii", "sort": "paaaiiiiiaii", "largest_across": "paaaiiii",
        "smallest_across": "paaaiiii",
    },
)  # fmt: skip


def native(name: str) -> int | None:
    """The address of `largest`, `smallest` or `sort`; None where it cannot be compiled."""
    function = getattr(_lib, name)
    return None if function is None else jit.address(function)


def numbers(n: int, k: int, inner: int, largest: bool, extreme: bool) -> tuple[int, ...]:
    """Arguments of the kernels: sizes, the order, and where NaN stands (`extreme`: first, as the smallest element too)."""
    return n, k, inner, -1 if largest else 0, _FIRST if largest or extreme else _LAST


def scratch(n: int, team: int) -> int:
    """Bytes of working memory that `sort` needs for so many threads."""
    return 16 * n * team


def lines(shape: Sequence[int], dim: int) -> tuple[int, int, int]:
    """How many lines an array has along a dimension, how many make a chunk, and how many lie side by side."""
    inner = math.prod(shape[dim + 1 :])
    return math.prod(shape[:dim]) * inner, max(1, GRAIN // max(1, shape[dim])), inner


def _serves(x: np.ndarray, name: str) -> bool:
    fits = x.dtype is _F32 and x.size > 0 and x.flags.c_contiguous and (x.size < 1 << 31 or max(x.shape) < 1 << 31)
    return fits and getattr(_lib, name) is not None


def first(x: np.ndarray, dim: int, k: int, largest: bool, extreme: bool = False) -> tuple[np.ndarray, np.ndarray] | None:
    """The `k` largest (or smallest) along a dimension in order, and their int64 places; None where it is not served.

    With `extreme` a NaN is the smallest element, too.
    """
    shape = x.shape
    n = shape[dim]
    if not 0 < k <= n or k > MOST or not _serves(x, "largest" if largest else "smallest"):
        return None
    values, index = _results(x, dim, k)
    inner = 1 if dim == len(shape) - 1 else math.prod(shape[dim + 1 :])
    kernel = _lib.largest if largest else _lib.smallest
    kernel(threads.team(), x, values, index, *numbers(n, k, inner, largest, extreme), x.size // n, GRAIN // n or 1)
    return values, index


def extreme(x: np.ndarray, dim: int, largest: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """The largest (or smallest) along a dimension, which is kept with size one, and the first place of it; NaN wins."""
    if not across(x.shape, dim):
        return first(x, dim, 1, largest, True)
    if not _serves(x, "largest_across"):
        return None
    values, index = _results(x, dim, 1)
    function = _lib.largest_across if largest else _lib.smallest_across
    function(threads.team(), x, values, index, *across_numbers(x.shape, dim))
    return values, index


def across(shape: Sequence[int], dim: int) -> bool:
    """Whether so many lines lie side by side that vectors run across them."""
    return math.prod(shape[dim + 1 :]) >= 8


def across_numbers(shape: Sequence[int], dim: int) -> tuple[int, ...]:
    """Arguments of the kernels that go across."""
    length, inner = shape[dim], math.prod(shape[dim + 1 :])
    return length, inner, math.prod(shape[:dim]), max(1, GRAIN // max(1, length * inner))


def sort(x: np.ndarray, dim: int, descending: bool, k: int | None = None) -> tuple[np.ndarray, np.ndarray] | None:
    """Sorted along a dimension, and the int64 places; the first `k` of them. None where it is not served."""
    if not _serves(x, "sort"):
        return None
    n = x.shape[dim]
    values, index = _results(x, dim, n if k is None else k)
    count, grain, inner = lines(x.shape, dim)
    room = np.empty(scratch(n, threads.get_num_threads()), np.uint8)
    _lib.sort(threads.team(), x, values, index, *numbers(n, n if k is None else k, inner, descending, False), room, count, grain)
    return values, index


def _results(x: np.ndarray, dim: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    shape = (*x.shape[:dim], k, *x.shape[dim + 1 :])
    return np.empty(shape, _F32), np.empty(shape, np.int64)
