"""Sorting, the first few in order, and extremes with their positions, along one dimension of
float32, float64, int32 and int64.

An element and its position are combined to one number with twice the bits: an integer that is
ordered as the elements are, followed by the position. Such numbers are all different, so the least
of them is the first of equal elements, and any sorting method is stable. NaN comes last in
ascending order and first in descending order, and is both the largest and the smallest element. If
equal elements must be in PyTorch's order, a line that has some is arranged again by `unstable`.

    >>> made = first(np.array([[3.0, 5.0, 5.0]], np.float32), 1, 2, largest=True)
    >>> made is None or [a.tolist() for a in made] == [[[5.0, 5.0]], [[1, 2]]]
    True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import BYTES, Function, Module, SSAValue, types_of, vector
from . import FEW, unstable

__all__ = ["KINDS", "MOST", "extreme", "first", "native", "numbers", "scratch", "sort"]


class KeyType(NamedTuple):
    """The LLVM types of the elements of one dtype."""

    ctype: str

    @property
    def floating(self) -> bool:
        """Whether the elements are floating-point numbers."""
        return self.ctype in ("float", "double")

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return 8 * BYTES[self.ctype]

    @property
    def key(self) -> str:
        """The LLVM type of the integers that elements are compared as."""
        return f"i{self.bits}"

    @property
    def item(self) -> str:
        """The LLVM type of a key combined with a position."""
        return f"i{2 * self.bits}"

    @property
    def width(self) -> int:
        """The number of lanes of a vector register."""
        return target.host().lanes("double" if self.bits == 64 else "float")

    def better(self, largest: bool) -> str:
        """Return the LLVM predicate for a better element, which is also true if one of them is NaN."""
        return ("u" if self.floating else "s") + ("gt" if largest else "lt")


KINDS = types_of("float32 float64 int32 int64")
# number of elements of a line from which on the first ones are not found by sorting all
LONG = 4096
MOST = 64  # largest number of first elements found by selection; for more, the line is sorted
RUN = 8  # number of elements that are sorted in registers
# Batcher's odd-even merge sort: pairs to compare and exchange, one after the other.
NETWORK = (
    (0, 1),
    (2, 3),
    (4, 5),
    (6, 7),
    (0, 2),
    (1, 3),
    (4, 6),
    (5, 7),
    (1, 2),
    (5, 6),
    (0, 4),
    (1, 5),
    (2, 6),
    (3, 7),
    (2, 4),
    (3, 5),
    (1, 2),
    (3, 4),
    (5, 6),
)
GRAIN = 8192  # elements per chunk


_PARAMS = {
    "x": "ptr",
    "values": "ptr",
    "index": "ptr",
    "length": "i64",
    "k": "i64",
    "inner": "i64",
    "flip": "i64",
    "nan": "i64",
    "how": "i64",
    "scratch": "ptr",
}


def _packed(
    f: Function, kind: KeyType, x: SSAValue, place: SSAValue, flip: SSAValue, nan: SSAValue
) -> SSAValue:
    """Combine an element and its position to one number. `flip` is -1 for descending order, and
    `nan` is -1 if NaN comes first; else they are 0.
    """
    key = x
    if kind.floating:
        bits = f.bitcast(x + 0.0, kind.key)  # -0.0 becomes 0.0
        key = bits ^ ((bits >> (kind.bits - 1)) & ((1 << (kind.bits - 1)) - 1))
    key = key ^ f.trunc(flip, kind.key)
    if kind.floating:
        key = f.select(
            x.compare("uno", x), f.trunc(nan, kind.key) ^ ((1 << (kind.bits - 1)) - 1), key
        )
    return (f.extend(key, kind.item) << kind.bits) | f.extend(place, kind.item)


def _place(f: Function, kind: KeyType, items: SSAValue, j: SSAValue) -> SSAValue:
    """Load the position from an item."""
    return f.trunc(f.load(kind.item, items, j), "i64") & 0xFFFFFFFF


def _insert(f: Function, kind: str, items: SSAValue, count: SSAValue, item: SSAValue) -> None:
    """Insert an item among `count` sorted ones, which have space for one more."""
    at = f.var("i64", count)
    with f.loop_while() as go_on:
        here = at.get()
        before = f.load(kind, items, f.larger(here - 1, 0))
        go_on(here.compare("sgt", 0) & before.compare("sgt", item))
        f.store(before, items, here)
        at.set(here - 1)
    f.store(item, items, at.get())


def _lines(f: Function, line: SSAValue, length: SSAValue) -> SSAValue:
    """Return where a line of an array (outer, length, inner) begins."""
    return line // f.inner * length * f.inner + line % f.inner


def _equal(f: Function, kind: KeyType, items: SSAValue, count: SSAValue) -> SSAValue:
    """Return whether there are equal elements among sorted items, and the line must be arranged
    again.
    """
    found = f.var("i1", 0)
    with f.when(f.how.compare("ne", unstable.STABLE)), f.loop(1, count) as j:
        a, b = f.load(kind.item, items, j - 1), f.load(kind.item, items, j)
        found.set(found.get() | ((a ^ b) >> kind.bits).compare("eq", 0))
    return found.get()


def _arranged(f: Function, kind: KeyType, line: SSAValue, room: SSAValue) -> None:
    """Emit the arrangement of a line's items in PyTorch's order."""
    base = _lines(f, line, f.length)

    def item(place: SSAValue) -> SSAValue:
        return _packed(
            f, kind, f.load(kind.ctype, f.x, base + place * f.inner), place, f.flip, f.nan
        )

    # A heap only needs memory for its own items.
    top = f.how.compare("eq", unstable.TOP) | f.how.compare("eq", unstable.UNORDERED)
    heap = top & (f.k * unstable.PARTIAL).compare("sle", f.length)
    with f.loop(0, f.select(heap, f.k, f.length)) as place:
        f.store(item(place), room, place)
    arrange = unstable.emit(f.module, kind.item)

    def by_heap() -> None:
        zero = f.const(0, "i64")
        f.call(arrange.heap_select, room, zero, f.k, f.k)
        with f.loop(f.k, f.length) as place:
            one = item(place)
            with f.when((one >> kind.bits).compare("slt", f.load(kind.item, room) >> kind.bits)):
                f.call(arrange.sift, room, zero, zero, f.k, one)
        f.call(arrange.heap_sort, room, zero, f.k)

    def whole() -> None:
        f.call(arrange.whole, room, f.length, f.k, f.how)

    f.branch(heap, by_heap, whole)


def _deliver(
    f: Function, kind: KeyType, items: SSAValue, count: SSAValue, base: SSAValue, to: SSAValue
) -> None:
    """Emit stores of the elements and positions of sorted items."""
    with f.loop(0, count) as j:
        place = _place(f, kind, items, j)
        f.store(f.load(kind.ctype, f.x, base + place * f.inner), f.values, to + j * f.inner)
        f.store(place, f.index, to + j * f.inner)


def _emit_first(module: Module, name: str, own: KeyType, largest: bool) -> None:
    f = threads.parallel_export(module, name, _PARAMS)
    f.scalar = True
    width, better = own.width, own.better(largest)
    kind = vector(own.ctype, width)
    items = f.buffer(own.item, MOST + 2)
    room = f.at(f.scratch, f.thread * f.length * 2, own.item)
    # Find one more than requested, to know whether elements equal to the last one are left out.
    many = f.smaller(
        f.k + f.select(f.how.compare("eq", unstable.STABLE), f.const(0, "i64"), 1), f.length
    )
    with f.loop(f.begin, f.end) as line:
        base, to = _lines(f, line, f.length), _lines(f, line, f.k)
        have = f.var("i64", 0)
        bound = f.var(own.ctype, 0)  # the worst of the elements found so far

        def offer(place: SSAValue) -> None:
            x = f.load(own.ctype, f.x, base + place * f.inner)
            item = _packed(f, own, x, place, f.flip, f.nan)
            free = have.get().compare("slt", many)
            worst = f.load(own.item, items, many - 1)
            with f.when(free | worst.compare("sgt", item)):
                count = f.smaller(have.get(), many - 1)
                _insert(f, own.item, items, count, item)
                have.set(count + 1)
                last = _place(f, own, items, many - 1)
                with f.when(have.get().compare("eq", many)):
                    bound.set(f.load(own.ctype, f.x, base + last * f.inner))

        f.store(f.const(0, own.item), items, many - 1)
        start = f.var("i64", many)
        with f.loop(0, start.get()) as place:
            offer(place)
        # Contiguous lines: vectors without a better element are skipped.
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
        source = f.var("ptr", items)
        with f.when(_equal(f, own, items, many)):
            _arranged(f, own, line, room)
            source.set(room)
        _deliver(f, own, source.get(), f.k, base, to)
    f.ret()


def _emit_sort(module: Module, name: str, own: KeyType) -> None:
    f = threads.parallel_export(module, name, _PARAMS)
    f.scalar = True
    room = f.at(f.scratch, f.thread * f.length * 2, own.item)
    other = f.at(room, f.length, own.item)
    with f.loop(f.begin, f.end) as line:
        base, to = _lines(f, line, f.length), _lines(f, line, f.k)

        def item(place: SSAValue, base: SSAValue = base) -> SSAValue:
            return _packed(
                f, own, f.load(own.ctype, f.x, base + place * f.inner), place, f.flip, f.nan
            )

        # Arrange the line directly as PyTorch does, which for a few of many is faster than sorting.
        few_of_many = (f.k * 8).compare("sle", f.length) | f.length.compare("sge", LONG)
        few_of_many = few_of_many & f.how.compare("eq", unstable.TOP)
        known = f.var("i1", f.how.compare("sge", unstable.UNORDERED) | few_of_many)
        # In that case nothing is sorted.
        end = f.select(known.get(), f.const(0, "i64"), f.length)
        whole = end - end % RUN
        with f.loop(0, whole, RUN) as run:
            few = [item(run + j) for j in range(RUN)]
            for a, b in NETWORK:
                swap = few[b].compare("slt", few[a])
                few[a], few[b] = f.select(swap, few[b], few[a]), f.select(swap, few[a], few[b])
            for j, value in enumerate(few):
                f.store(value, room, run + j)
            for one, next_one in pairwise(few):
                known.set(known.get() | ((one ^ next_one) >> own.bits).compare("eq", 0))
        known.set(known.get() & f.how.compare("ne", unstable.STABLE))
        last = f.at(room, whole, own.item)
        with f.loop(whole, end) as place:
            _insert(f, own.item, last, place - whole, item(place))
        origin, goal = f.var("ptr", room), f.var("ptr", other)
        size = f.var("i64", RUN)
        with f.loop_while() as go_on:
            width = size.get()
            go_on(width.compare("slt", f.length) & (known.get() ^ 1))
            here, there = origin.get(), goal.get()
            with f.loop(0, f.length, width * 2) as left:
                middle = f.smaller(left + width, f.length)
                _merge(f, own.item, here, there, left, middle, f.smaller(middle + width, f.length))
            origin.set(there)
            goal.set(here)
            size.set(width * 2)
        with f.when(known.get() ^ 1):
            known.set(_equal(f, own, origin.get(), f.smaller(f.k + 1, f.length)))
        with f.when(known.get()):
            _arranged(f, own, line, room)
            origin.set(room)
        _deliver(f, own, origin.get(), f.k, base, to)
    f.ret()


def _merge(
    f: Function,
    kind: str,
    items: SSAValue,
    out: SSAValue,
    left: SSAValue,
    middle: SSAValue,
    end: SSAValue,
) -> None:
    """Emit the merge of two sorted runs. Runs of equal length are merged from both ends at once,
    since neither end can exhaust a run before the merge is complete.
    """
    i, j = f.var("i64", left), f.var("i64", middle)

    def least(to: SSAValue) -> None:
        a, b = f.load(kind, items, i.get()), f.load(kind, items, j.get())
        second = b.compare("slt", a)
        f.store(f.select(second, b, a), out, to)
        step = f.emit(f"zext i1 {second.name} to i64", "i64")
        j.set(j.get() + step)
        i.set(i.get() + 1 - step)

    def both() -> None:
        p, q = f.var("i64", middle - 1), f.var("i64", end - 1)
        with f.loop(0, middle - left) as k:
            least(left + k)
            a, b = f.load(kind, items, p.get()), f.load(kind, items, q.get())
            first = b.compare("slt", a)
            f.store(f.select(first, a, b), out, end - 1 - k)
            step = f.emit(f"zext i1 {first.name} to i64", "i64")
            p.set(p.get() - step)
            q.set(q.get() - 1 + step)

    def one() -> None:
        to = f.var("i64", left)
        with f.loop_while() as go_on:
            go_on(i.get().compare("slt", middle) & j.get().compare("slt", end))
            least(to.get())
            to.set(to.get() + 1)
        for rest, stop in ((i, middle), (j, end)):
            with f.loop(rest.get(), stop) as k:
                f.store(f.load(kind, items, k), out, to.get())
                to.set(to.get() + 1)

    f.branch((end - middle).compare("eq", middle - left), both, one)


def _emit_across(module: Module, name: str, own: KeyType, largest: bool) -> None:
    """Emit the extreme of each column of (outer, length, inner), with vectors along `inner`."""
    f = threads.parallel_export(
        module, name, {"x": "ptr", "values": "ptr", "index": "ptr", "length": "i64", "inner": "i64"}
    )
    f.scalar = True
    width, better = own.width, own.better(largest)
    elements, ints, wide = vector(own.ctype, width), vector("i32", width), vector("i64", width)
    with f.loop(f.begin, f.end) as o:
        base, to = f.at(f.x, o * f.length * f.inner, own.ctype), o * f.inner

        def column(
            i: SSAValue, mask: SSAValue | None, base: SSAValue = base, to: SSAValue = to
        ) -> None:
            best, place = (
                f.var(elements, f.load(elements, base, i, mask=mask)),
                f.var(ints, f.const(0, ints)),
            )
            with f.loop(1, f.length) as j:
                x, known = f.load(elements, base, j * f.inner + i, mask=mask), best.get()
                wins = x.compare(better, known)
                if own.floating:
                    wins = wins & known.compare("ord", known)
                best.set(f.select(wins, x, known))
                place.set(f.select(wins, f.splat(f.trunc(j, "i32"), ints), place.get()))
            f.store(best.get(), f.values, to + i, mask=mask)
            f.store(f.extend(place.get(), wide), f.index, to + i, mask=mask)

        f.vector_loop(f.inner, width, column)
    f.ret()


def _build(name: str) -> str:
    module = Module()
    for dtype, ctype in KINDS.items():
        own = KeyType(ctype)
        for side in ("largest", "smallest"):
            _emit_first(module, f"{side}.{dtype}", own, side == "largest")
            _emit_across(module, f"{side}_across.{dtype}", own, side == "largest")
        _emit_sort(module, f"sort.{dtype}", own)
    return module.text(name)


_SIGNATURES = {"largest": "paaaiiiiiiaii", "sort": "paaaiiiiiiaii", "largest_across": "paaaiiii"}
_SIGNATURES |= {name.replace("largest", "smallest"): types for name, types in _SIGNATURES.items()}
_lib = jit.NativeLibrary(
    "order",
    _build,
    {f"{name}.{dtype}": types for name, types in _SIGNATURES.items() for dtype in KINDS},
)


def native(name: str, dtype: str = "float32") -> int | None:
    """Return the address of `largest`, `smallest`, their `_across` forms, or `sort`; None for other
    dtypes, or if it cannot be compiled.
    """
    function = getattr(_lib, f"{name}.{dtype}") if dtype in KINDS else None
    return None if function is None else jit.address(function)


_NUMBERS = {way: k for k, way in enumerate(unstable.WAYS)}


def numbers(
    n: int, k: int, inner: int, largest: bool, extreme: bool, how: str = "stable"
) -> tuple[int, ...]:
    """Return arguments of the kernels: sizes, the order, the position of NaN (with `extreme` it
    comes first, also for the smallest element), and the order of equal elements, which for few
    elements is always stable.
    """
    number = unstable.STABLE if how == "sort" and n <= FEW else _NUMBERS[how]
    return n, k, inner, -1 if largest else 0, -1 if largest or extreme else 0, number


def scratch(n: int, team: int, itemsize: int = 4) -> int:
    """Return the bytes of working memory that `sort` needs for `team` threads and elements of
    `itemsize` bytes.
    """
    return 4 * itemsize * n * team


def lines(shape: Sequence[int], dim: int) -> tuple[int, int, int]:
    """Return the number of lines of an array along a dimension, the number of lines per chunk, and
    the number of adjacent lines (the product of the dimensions behind).
    """
    inner = math.prod(shape[dim + 1 :])
    return math.prod(shape[:dim]) * inner, max(1, GRAIN // max(1, shape[dim])), inner


def _kernel(x: np.ndarray, name: str) -> Any:
    """Return the kernel for an array, or None."""
    kind = x.dtype
    if (
        kind not in _NAMES
        or not x.size
        or not x.flags.c_contiguous
        or (x.size >= 1 << 31 and max(x.shape) >= 1 << 31)
    ):
        return None
    return getattr(_lib, f"{name}.{_NAMES[kind]}")


_NAMES = {np.dtype(name): name for name in KINDS}


def first(
    x: np.ndarray, dim: int, k: int, largest: bool, extreme: bool = False, how: str = "stable"
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the `k` largest (or smallest) elements along a dimension in order, and their int64
    positions; None if not supported.

    With `extreme`, NaN is the smallest element, too.
    """
    shape = x.shape
    n = shape[dim]
    kernel = _kernel(x, "largest" if largest else "smallest") if 0 < k <= n and k <= MOST else None
    if kernel is None:
        return None
    values, index = _results(x, dim, k)
    inner = 1 if dim == len(shape) - 1 else math.prod(shape[dim + 1 :])
    team = 1 if x.size <= GRAIN else threads.get_num_threads()  # a single chunk runs on one thread
    room = values if how == "stable" else np.empty(4 * x.itemsize * n * team, np.uint8)
    kernel(
        threads.team(),
        x,
        values,
        index,
        *numbers(n, k, inner, largest, extreme, how),
        room,
        x.size // n,
        GRAIN // n or 1,
    )
    return values, index


def extreme(x: np.ndarray, dim: int, largest: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the largest (or smallest) element along a dimension, which is kept with size one, and
    its first position; NaN wins. Returns None if not supported.
    """
    if not across(x.shape, dim):
        return first(x, dim, 1, largest, True)
    kernel = _kernel(x, "largest_across" if largest else "smallest_across")
    if kernel is None:
        return None
    values, index = _results(x, dim, 1)
    kernel(threads.team(), x, values, index, *across_numbers(x.shape, dim))
    return values, index


def across(shape: Sequence[int], dim: int) -> bool:
    """Return whether there are enough adjacent lines for vectors to run across them."""
    return math.prod(shape[dim + 1 :]) >= 8


def across_numbers(shape: Sequence[int], dim: int) -> tuple[int, ...]:
    """Return arguments of the `_across` kernels."""
    length, inner = shape[dim], math.prod(shape[dim + 1 :])
    return length, inner, math.prod(shape[:dim]), max(1, GRAIN // max(1, length * inner))


def sort(
    x: np.ndarray, dim: int, descending: bool, k: int | None = None, how: str = "stable"
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the elements sorted along a dimension and their int64 positions, or the first `k` of
    both; None if not supported.
    """
    kernel = _kernel(x, "sort")
    if kernel is None:
        return None
    n = x.shape[dim]
    values, index = _results(x, dim, n if k is None else k)
    count, grain, inner = lines(x.shape, dim)
    room = np.empty(scratch(n, threads.get_num_threads(), x.itemsize), np.uint8)
    sizes = numbers(n, n if k is None else k, inner, descending, False, how)
    kernel(threads.team(), x, values, index, *sizes, room, count, grain)
    return values, index


def _results(x: np.ndarray, dim: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    shape = (*x.shape[:dim], k, *x.shape[dim + 1 :])
    return np.empty(shape, x.dtype), np.empty(shape, np.int64)


def few(
    shape: tuple[int, ...], dtype: np.dtype[Any], dim: int, k: int, largest: bool, how: str
) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] | None:
    """Return a form of `first` that is fast for small contiguous arrays, specialized for one shape
    and dtype; None if not supported.
    """
    n = shape[dim]
    if not 0 < k <= n or k > MOST:
        return None
    kernel = getattr(_lib, f"{'largest' if largest else 'smallest'}.{_NAMES[dtype]}")
    if kernel is None:
        return None
    shorter, size = (*shape[:dim], k, *shape[dim + 1 :]), 4 * dtype.itemsize * n
    sizes = numbers(n, k, math.prod(shape[dim + 1 :]), largest, False, how)
    last = math.prod(shape) // n, GRAIN // n or 1

    def run(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, index = np.empty(shorter, dtype), np.empty(shorter, _WHOLE)
        kernel(0, x, values, index, *sizes, np.empty(size, _BYTE), *last)
        return values, index

    return run


_WHOLE, _BYTE = np.dtype(np.int64), np.dtype(np.uint8)
