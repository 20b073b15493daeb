"""The order in which PyTorch leaves equal elements: introspective sorting and selection.

PyTorch's `sort`, `topk`, `kthvalue` and `mode` promise nothing about the order of equal elements,
but it is determined: they compare and exchange as the GNU C++ standard library does. Sources:
Musser, "Introspective sorting and selection algorithms", 1997 (quicksort with the median of three
down to runs of 16, heapsort where it degenerates, insertion sort for the rest), and for `kthvalue`
Hoare, "FIND", 1961, with the median of three.

`arranged` is the definition, on lists. `emit` emits the same as native code for the items of
`order`, of which only the keys are compared.

    >>> arranged([1] * 17, 17, "sort")
    [8, 16, 15, 14, 13, 12, 11, 10, 9, 0, 7, 6, 5, 4, 3, 2, 1]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...llvm.emit import Function, Module, SSAValue, Var
from . import FEW

# the results that can be requested; "choice" is the k-th element alone
WAYS = (
    "stable",
    "sort",
    "top",
    "top unordered",
    "choice",
)
STABLE, SORT, TOP, UNORDERED, CHOICE = range(len(WAYS))  # the same as numbers, for native code
# if k is at least this many times smaller than the whole, the first k are kept in a heap
PARTIAL = 64


# ---- on lists -----------------------------------------------------------------------------------
def arranged(keys: Sequence[Any], k: int, how: str) -> list[int]:
    """Return the positions of elements in PyTorch's order, given keys without NaN. Only the first k
    are meaningful.
    """
    line, n = _Line(keys), len(keys)
    if how == "sort":
        line.sort(0, n)
    elif how == "choice":
        line.choose(k - 1)
    elif k * PARTIAL <= n:
        line.heap_select(0, k, n)
        line.heap_sort(0, k)
    elif k:
        line.nth(0, k - 1, n)
        if how == "top":
            line.sort(0, k - 1)
    return [place for _, place in line.items]


def _depth(n: int) -> int:
    return 2 * (n.bit_length() - 1)


class _Line:
    """Elements with their positions while they are being arranged; ranges are [first, last)."""

    def __init__(self, keys: Sequence[Any]) -> None:
        self.items = [(key, place) for place, key in enumerate(keys)]

    def less(self, i: int, j: int) -> bool:
        return self.items[i][0] < self.items[j][0]

    def swap(self, i: int, j: int) -> None:
        self.items[i], self.items[j] = self.items[j], self.items[i]

    def insert(self, first: int, last: int) -> None:
        items = self.items
        for i in range(first + 1, last):
            item = items[i]
            while i > first and item[0] < items[i - 1][0]:
                items[i] = items[i - 1]
                i -= 1
            items[i] = item

    def partition(self, first: int, last: int) -> int:
        a, b, c = first + 1, first + (last - first) // 2, last - 1
        if not self.less(a, b):
            a, b = b, a
        self.swap(first, b if self.less(b, c) else c if self.less(a, c) else a)
        i, j = first + 1, last
        while True:
            while self.less(i, first):
                i += 1
            j -= 1
            while self.less(first, j):
                j -= 1
            if i >= j:
                return i
            self.swap(i, j)
            i += 1

    def sort(self, first: int, last: int) -> None:
        ranges = [(first, last, _depth(last - first))] if last > first else []
        while ranges:
            begin, end, depth = ranges.pop()
            while end - begin > FEW:
                if not depth:
                    self.heap_select(begin, end, end)
                    self.heap_sort(begin, end)
                    break
                depth -= 1
                cut = self.partition(begin, end)
                ranges.append((cut, end, depth))
                end = cut
        self.insert(first, last)

    def nth(self, first: int, place: int, last: int) -> None:
        depth = _depth(last - first)
        while last - first > 3:
            if not depth:
                self.heap_select(first, place + 1, last)
                self.swap(first, place)
                return
            depth -= 1
            cut = self.partition(first, last)
            first, last = (cut, last) if cut <= place else (first, cut)
        self.insert(first, last)

    def sift(self, first: int, hole: int, n: int, item: Any) -> None:
        """Insert an item into a heap of n whose place `hole` is free."""
        items, top, child = self.items, hole, hole
        while child < (n - 1) // 2:
            child = 2 * child + 2
            if self.less(first + child, first + child - 1):
                child -= 1
            items[first + hole], hole = items[first + child], child
        if n % 2 == 0 and child == (n - 2) // 2:
            items[first + hole], hole = items[first + 2 * child + 1], 2 * child + 1
        while hole > top and items[first + (hole - 1) // 2][0] < item[0]:
            items[first + hole], hole = items[first + (hole - 1) // 2], (hole - 1) // 2
        items[first + hole] = item

    def pop(self, first: int, last: int, to: int) -> None:
        item, self.items[to] = self.items[to], self.items[first]
        self.sift(first, 0, last - first, item)

    def heap_select(self, first: int, middle: int, last: int) -> None:
        for parent in reversed(range((middle - first) // 2)):
            self.sift(first, parent, middle - first, self.items[first + parent])
        for i in range(middle, last):
            if self.less(i, first):
                self.pop(first, middle, i)

    def heap_sort(self, first: int, last: int) -> None:
        for end in range(last - 1, first, -1):
            self.pop(first, end, end)

    def choose(self, place: int) -> None:
        low, high = 0, len(self.items) - 1
        while high > low + 1:
            self.swap(low + (high - low) // 2, low + 1)
            for i, j in ((low + 1, high), (low, high), (low + 1, low)):
                if self.less(j, i):
                    self.swap(i, j)
            i, j = low + 1, high
            while True:
                i += 1
                while self.less(i, low):
                    i += 1
                j -= 1
                while self.less(low, j):
                    j -= 1
                if j < i:
                    break
                self.swap(i, j)
            self.swap(low, j)
            low, high = (i if j <= place else low), (j - 1 if j >= place else high)
        if high == low + 1 and self.less(high, low):
            self.swap(low, high)


# ---- as native code -----------------------------------------------------------------------------
class SortFunctions(NamedTuple):
    """Names of functions on items: `whole(items, n, k, how)` does what `arranged` does; the others
    are parts of it.
    """

    whole: str
    heap_select: str
    heap_sort: str
    sift: str


def emit(module: Module, item: str) -> SortFunctions:
    """Emit the functions for items of a type, unless the module has them, and return their names."""
    made = SortFunctions(*[f"{part}_{item}" for part in SortFunctions._fields])
    if all(f.name != made.whole for f in module.functions):
        _Code(module, item).whole(made.whole)
    return made


class _Code:
    """Emits the methods of `_Line` as functions, each once; they call each other by name."""

    def __init__(self, module: Module, item: str) -> None:
        self.module, self.item, self.bits = module, item, int(item[1:]) // 2
        for part in (self.insert, self.partition, self.sift, self.heap_select, self.heap_sort):
            part(self.function(part.__name__, _PARAMS[part.__name__]))
        self.sort(self.function("sort", "first last"))
        self.nth(self.function("nth", "first place last"))
        self.choose(self.function("choose", "n place"))

    def function(self, name: str, params: str) -> Function:
        kinds = {p: self.item if p == "what" else "i64" for p in params.split()}
        returns = "i64" if name == "partition" else "void"
        f = self.module.function(f"{name}_{self.item}", returns, True, items="ptr", **kinds)
        f.scalar = f.noinline = True
        return f

    def call(self, f: Function, name: str, *args: SSAValue | int) -> SSAValue | None:
        values = [a if isinstance(a, SSAValue) else f.const(a, "i64") for a in args]
        returns = "i64" if name == "partition" else "void"
        return f.call(f"{name}_{self.item}", f.items, *values, returns=returns)

    def load(self, f: Function, i: SSAValue) -> SSAValue:
        return f.load(self.item, f.items, i)

    def key(self, f: Function, what: SSAValue) -> SSAValue:
        return f.trunc(what >> self.bits, f"i{self.bits}")

    def less(self, f: Function, i: SSAValue, j: SSAValue) -> SSAValue:
        return self.key(f, self.load(f, i)).compare("slt", self.key(f, self.load(f, j)))

    def swap(self, f: Function, i: SSAValue, j: SSAValue) -> None:
        a, b = self.load(f, i), self.load(f, j)
        f.store(b, f.items, i)
        f.store(a, f.items, j)

    def walk(self, f: Function, at: Var, step: int, pivot: SSAValue) -> None:
        """Emit a loop that moves `at` while elements are on their side of the pivot."""
        with f.loop_while() as go_on:
            key = self.key(f, self.load(f, at.get()))
            go_on(key.compare("slt" if step > 0 else "sgt", pivot))
            at.set(at.get() + step)

    def insert(self, f: Function) -> None:
        with f.loop(f.first + 1, f.last) as i:
            what, at = self.load(f, i), f.var("i64", i)
            key = self.key(f, what)
            with f.loop_while() as go_on:
                here = at.get()
                before = self.load(f, f.larger(here - 1, f.first))
                go_on(here.compare("sgt", f.first) & key.compare("slt", self.key(f, before)))
                f.store(before, f.items, here)
                at.set(here - 1)
            f.store(what, f.items, at.get())
        f.ret()

    def partition(self, f: Function) -> None:
        a, b, c = f.first + 1, f.first + (f.last - f.first) // 2, f.last - 1
        way = self.less(f, a, b)
        a, b = f.select(way, a, b), f.select(way, b, a)
        rest = f.select(self.less(f, a, c), c, a)
        self.swap(f, f.first, f.select(self.less(f, b, c), b, rest))
        pivot = self.key(f, self.load(f, f.first))
        i, j = f.var("i64", f.first + 1), f.var("i64", f.last)
        with f.loop_while() as go_on:
            self.walk(f, i, 1, pivot)
            j.set(j.get() - 1)
            self.walk(f, j, -1, pivot)
            go_on(i.get().compare("slt", j.get()))
            self.swap(f, i.get(), j.get())
            i.set(i.get() + 1)
        f.ret(i.get())

    def sift(self, f: Function) -> None:
        key, child, hole = self.key(f, f.what), f.var("i64", f.hole), f.var("i64", f.hole)
        with f.loop_while() as go_on:
            go_on(child.get().compare("slt", (f.n - 1) // 2))
            right = child.get() * 2 + 2
            left = self.less(f, f.first + right, f.first + right - 1)
            child.set(f.select(left, right - 1, right))
            f.store(self.load(f, f.first + child.get()), f.items, f.first + hole.get())
            hole.set(child.get())
        even = (f.n % 2).compare("eq", 0)
        with f.when(even & child.get().compare("eq", (f.n - 2) // 2)):
            last = child.get() * 2 + 1
            f.store(self.load(f, f.first + last), f.items, f.first + hole.get())
            hole.set(last)
        with f.loop_while() as go_on:
            here = hole.get()
            parent = f.larger(here - 1, 0) // 2
            above = self.load(f, f.first + parent)
            go_on(here.compare("sgt", f.hole) & self.key(f, above).compare("slt", key))
            f.store(above, f.items, f.first + here)
            hole.set(parent)
        f.store(f.what, f.items, f.first + hole.get())
        f.ret()

    def pop(self, f: Function, n: SSAValue, to: SSAValue) -> None:
        what = self.load(f, to)
        f.store(self.load(f, f.first), f.items, to)
        self.call(f, "sift", f.first, 0, n, what)

    def heap_select(self, f: Function) -> None:
        n = f.middle - f.first
        with f.loop(0, n // 2) as k:
            parent = n // 2 - 1 - k
            self.call(f, "sift", f.first, parent, n, self.load(f, f.first + parent))
        with f.loop(f.middle, f.last) as i, f.when(self.less(f, i, f.first)):
            self.pop(f, n, i)
        f.ret()

    def heap_sort(self, f: Function) -> None:
        with f.loop(0, f.last - f.first - 1) as k:
            end = f.last - 1 - k
            self.pop(f, end - f.first, end)
        f.ret()

    def depth(self, f: Function, n: SSAValue) -> SSAValue:
        zeros = f.emit(f"call i64 @llvm.ctlz.i64(i64 {n.name}, i1 false)", "i64")
        self.module.declarations.add("declare i64 @llvm.ctlz.i64(i64, i1)")
        return (63 - zeros) * 2

    def sort(self, f: Function) -> None:
        stack, height = f.buffer("i64", 3 * 132), f.var("i64", 0)

        def push(*values: SSAValue) -> None:
            for k, value in enumerate(values):
                f.store(value, stack, height.get() + k)
            height.set(height.get() + 3)

        with f.when((f.last - f.first).compare("sgt", FEW)):
            push(f.first, f.last, self.depth(f, f.last - f.first))
        begin, end, depth = (f.var("i64") for _ in range(3))
        with f.loop_while() as go_on:
            go_on(height.get().compare("sgt", 0))
            height.set(height.get() - 3)
            for k, var in enumerate((begin, end, depth)):
                var.set(f.load("i64", stack, height.get() + k))
            with f.loop_while() as still:
                still((end.get() - begin.get()).compare("sgt", FEW))

                def by_heap() -> None:
                    self.call(f, "heap_select", begin.get(), end.get(), end.get())
                    self.call(f, "heap_sort", begin.get(), end.get())
                    end.set(begin.get())

                def divide() -> None:
                    depth.set(depth.get() - 1)
                    cut = self.call(f, "partition", begin.get(), end.get())
                    assert cut is not None
                    push(cut, end.get(), depth.get())
                    end.set(cut)

                f.branch(depth.get().compare("eq", 0), by_heap, divide)
        self.call(f, "insert", f.first, f.last)
        f.ret()

    def nth(self, f: Function) -> None:
        first, last = f.var("i64", f.first), f.var("i64", f.last)
        depth = f.var("i64", self.depth(f, f.last - f.first))
        with f.loop_while() as go_on:
            go_on((last.get() - first.get()).compare("sgt", 3))

            def by_heap() -> None:
                self.call(f, "heap_select", first.get(), f.place + 1, last.get())
                self.swap(f, first.get(), f.place)
                last.set(first.get())

            def divide() -> None:
                depth.set(depth.get() - 1)
                cut = self.call(f, "partition", first.get(), last.get())
                assert cut is not None
                right = cut.compare("sle", f.place)
                begin, end = first.get(), last.get()
                first.set(f.select(right, cut, begin))
                last.set(f.select(right, end, cut))

            f.branch(depth.get().compare("eq", 0), by_heap, divide)
        self.call(f, "insert", first.get(), last.get())
        f.ret()

    def choose(self, f: Function) -> None:
        low, high = f.var("i64", 0), f.var("i64", f.n - 1)

        def ordered(i: SSAValue, j: SSAValue) -> None:
            with f.when(self.less(f, j, i)):
                self.swap(f, i, j)

        with f.loop_while() as go_on:
            go_on(high.get().compare("sgt", low.get() + 1))
            a, b = low.get(), high.get()
            self.swap(f, a + (b - a) // 2, a + 1)
            for i, j in ((a + 1, b), (a, b), (a + 1, a)):
                ordered(i, j)
            left, right, pivot = f.var("i64", a + 1), f.var("i64", b), self.key(f, self.load(f, a))
            with f.loop_while() as again:
                for var, step in ((left, 1), (right, -1)):
                    var.set(var.get() + step)
                    self.walk(f, var, step, pivot)
                again(right.get().compare("sge", left.get()))
                self.swap(f, left.get(), right.get())
            at = right.get()
            self.swap(f, a, at)
            low.set(f.select(at.compare("sle", f.place), left.get(), a))
            high.set(f.select(at.compare("sge", f.place), at - 1, b))
        with f.when(high.get().compare("eq", low.get() + 1)):
            ordered(low.get(), high.get())
        f.ret()

    def whole(self, name: str) -> None:
        f = self.module.function(name, "void", True, items="ptr", n="i64", k="i64", how="i64")
        f.scalar = f.noinline = True
        zero = f.const(0, "i64")

        def top() -> None:
            def heap() -> None:
                self.call(f, "heap_select", zero, f.k, f.n)
                self.call(f, "heap_sort", zero, f.k)

            def selection() -> None:
                self.call(f, "nth", zero, f.k - 1, f.n)
                with f.when(f.how.compare("eq", TOP)):
                    self.call(f, "sort", zero, f.k - 1)

            f.branch((f.k * PARTIAL).compare("sle", f.n), heap, selection)

        def choice() -> None:
            self.call(f, "choose", f.n, f.k - 1)

        def whole() -> None:
            self.call(f, "sort", zero, f.n)

        def part() -> None:
            f.branch(f.how.compare("eq", CHOICE), choice, top)

        f.branch(f.how.compare("eq", SORT), whole, part)
        f.ret()


_PARAMS = {
    "insert": "first last",
    "partition": "first last",
    "sift": "first hole n what",
    "heap_select": "first middle last",
    "heap_sort": "first last",
}
