"""Emits the loops of a plan: vectors, rows, and sums in registers, in the first-level cache and in
memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...llvm.emit import Function, SSAValue, vector
from ..matmul.pack import exchanged
from .passes import Passes
from .plan import LoopPlan
from .reduction import Gather
from .steps import compute, costly
from .values import MEMORY, Mask, Num, Weak, pack, static_mask, store, unpack
from .words import Words

__all__ = ["Nest"]

SUM_TERMS = 32  # number of terms that each lane adds in float32 before it continues in double
SUM_ROWS = 128  # number of rows that are added in float32
KEPT = 8192  # largest number of elements in a row whose values are kept for another pass over it
STRAIGHT = 8  # largest number of vectors of a short dimension that is emitted without a loop
BODIES = 16  # largest number of vectors whose computation is emitted separately

Pointers = dict[tuple[str, int], SSAValue]
Fixed = tuple[dict[int, Num], dict[int, Num]]  # by read and by step


class Nest:
    """Emits the body of a loop (one task of it) into `f`.

    `numbers` are the values of the numbers passed at run time, of type double or i64.
    """

    def __init__(
        self,
        f: Function,
        loop: Any,
        plan: LoopPlan,
        gathers: list[Gather],
        numbers: list[SSAValue],
        width: int,
    ) -> None:
        self.f, self.loop, self.plan, self.gathers, self.width = f, loop, plan, gathers, width
        self.m = Words(f, width)
        self.numbers = numbers
        self.strides = {
            **{("r", k): o.strides for k, o in enumerate(plan.reads)},
            **{("w", k): o.strides for k, o in enumerate(plan.writes)},
            **{
                ("a", k): plan.slot_strides(k) if plan.gathered[k] else o.strides
                for k, o in enumerate(plan.reduces)
            },
        }
        self.memory = {
            **{("r", k): MEMORY[o.kind] for k, o in enumerate(plan.reads)},
            **{("w", k): MEMORY[o.kind] for k, o in enumerate(plan.writes)},
            **{
                ("a", k): MEMORY[g.total if plan.gathered[k] else g.dtype]
                for k, g in enumerate(gathers)
            },
        }
        # Reductions along the vectors; over rows of vectors; and (neither of both) vector by vector
        # in memory.
        self.along = [k for k, row in enumerate(plan.row) if row]
        self.columns = [k for k, row in enumerate(plan.row) if not row and plan.runs[k] < plan.last]
        self.scattered = [
            k for k, row in enumerate(plan.row) if not row and plan.runs[k] == plan.last
        ]
        vectors = -(-plan.sizes[-1] // width)
        split = plan.tasks > 1 and plan.split == plan.last
        self.resident = (
            bool(self.columns) and plan.tile is None and vectors <= STRAIGHT and not split
        )
        # How many rows and vectors are emitted together. Cheap computations gain by it; for others
        # it would only increase compile time.
        cost = sum(8 if costly(step.op) else 1 for step in loop.steps)
        self.together = 1  # rows
        if self.columns and not self.along:
            room = (
                (BODIES // vectors if self.resident else 4) if cost <= 8 else 2 if cost <= 16 else 1
            )
            self.together = 4 if room >= 4 else 2 if room >= 2 else 1
        # vectors of a row that are emitted without a loop
        self.straight = BODIES if self.resident else STRAIGHT if cost <= 12 else 1
        # vectors
        self.unroll = 1 if self.together > 1 or cost > 12 else 4 if self.along and cost <= 4 else 2
        self.totals: dict[int, Any] = {}
        self.short: dict[int, Num] = {}
        self.lines: dict[int, Any] = {}
        # Passes over a row: steps that need a row's result come in a later pass.
        self.same = self._same_along_rows()
        self.passes, self.now = (
            Passes(loop, plan.row_level == plan.last and plan.sizes[-1] <= KEPT, self.same),
            0,
        )
        self.results: dict[int, Any] = {}
        self.kept = {i: loop.steps[i].dtype for i in self.passes.kept}
        for i, kind in self.kept.items():
            self.strides["t", i] = [*[0] * plan.last, 1]
            self.memory["t", i] = MEMORY[kind]

    def _same_along_rows(self) -> frozenset[int]:
        """Return the steps whose result is the same for all elements of an innermost row, so that
        they are computed before it.
        """
        found: set[int] = set()
        for i, step in enumerate(self.loop.steps):
            if all(
                which in found
                if what == "step"
                else self.plan.reads[which].strides[-1] == 0
                if what == "in"
                else True
                for what, which in step.args
            ):
                found.add(i)
        return frozenset(found) if self.plan.sizes[-1] > self.width else frozenset()

    # Tasks.

    def task(self, pointers: Pointers, number: SSAValue | None) -> None:
        """Emit all iterations of task `number`; the whole loop if it is None."""
        plan = self.plan
        self.bounds: dict[int, tuple[Any, Any]] = {d: (0, n) for d, n in enumerate(plan.sizes)}
        if number is not None:
            n, d = plan.sizes[plan.split], plan.split
            pieces = -(-n // plan.rows)
            begin = (number % pieces) * plan.rows
            rest = number / pieces
            self.bounds[d] = begin, self.f.smaller(begin + plan.rows, n)
            for e in reversed(range(d)):
                at = rest % plan.sizes[e]
                rest = rest / plan.sizes[e]
                self.bounds[e] = at, at + 1
        room = -(-plan.sizes[-1] // self.width) * self.width
        buffers = {("t", i): self.f.buffer(MEMORY[kind], room) for i, kind in self.kept.items()}
        self._level(0, pointers | buffers, plan.sizes[-1])

    def _moved(self, pointers: Pointers, d: int, by: SSAValue | int) -> Pointers:
        moved = dict(pointers)
        for key, pointer in pointers.items():
            stride = self.strides[key][d]
            if stride and not (isinstance(by, int) and by == 0):
                moved[key] = self.f.at(
                    pointer, by * stride if stride != 1 else by, self.memory[key]
                )
        return moved

    def _level(self, d: int, pointers: Pointers, inner: SSAValue | int) -> None:
        """Emit the dimensions from `d` on. Rows with several passes are iterated over once per
        pass.
        """
        plan = self.plan
        for at in range(self.passes.count) if d == plan.row_level else (self.now,):
            self.now = at
            mine = [k for k, run in enumerate(plan.runs) if run == d and k not in self.scattered]
            mine = [k for k in mine if d < plan.row_level or self.passes.of_reduce[k] == at]
            for k in mine:
                self._begin(k, inner)
            self._walk(d, pointers, inner)
            for k in mine:
                self._end(k, pointers, inner)

    def _walk(self, d: int, pointers: Pointers, inner: SSAValue | int) -> None:
        plan = self.plan
        begin, end = self.bounds[d]
        if d == plan.last:
            if isinstance(end, SSAValue):
                even = plan.sizes[d] % plan.rows == 0
                self._inner([self._moved(pointers, d, begin)], plan.rows if even else end - begin)
            else:
                self._inner([pointers], inner)
        elif d == plan.last - 1 and self.columns:
            self._rows(d, pointers, begin, end, inner)
        elif d == plan.last - 1 and plan.turned:
            self._squares(d, pointers, begin, end)
        else:
            with self.f.loop(begin, end) as i:
                if d == plan.tile:
                    inner = self.f.smaller(plan.inner - i * plan.sizes[-1], plan.sizes[-1])
                self._level(d + 1, self._moved(pointers, d, i), inner)

    # Reductions: beginning and end of a run.

    def _begin(self, k: int, inner: SSAValue | int) -> None:
        g, f, m = self.gathers[k], self.f, self.m
        if k in self.along:
            if self._short(k):
                return
            if k not in self.totals:
                self.totals[k] = f.var(m.ctype(g.total))
            self.totals[k].set(g.identity(m, g.total).value)
            return
        if k not in self.lines:
            self.lines[k] = self._line(g)
        _, totals = self.lines[k]
        self._for_line(inner, lambda at: totals.set(at, g.identity(m, g.total)))

    def _short(self, k: int) -> bool:
        """Return whether a reduction along the vectors covers a single short row, so that there is
        one partial result only.
        """
        plan = self.plan
        split = plan.tile is not None or (plan.tasks > 1 and plan.split == plan.last)
        return (
            plan.runs[k] == plan.last
            and not split
            and plan.sizes[-1] <= SUM_TERMS * self.unroll * self.width
        )

    def _line(self, g: Gather) -> tuple[_Line, _Line]:
        count = -(-self.plan.sizes[-1] // self.width)
        return _Line(self.m, g.part, count, self.resident), _Line(
            self.m, g.total, count, self.resident
        )

    def _for_line(self, inner: SSAValue | int, body: Callable[[Any], None]) -> None:
        """Emit `body(offset)` for each vector of a line, including a partial one."""
        if self.resident:
            for known in range(0, self.plan.sizes[-1], self.width):
                body(known)
            return
        with self.f.loop(0, inner, self.width) as offset:
            body(offset)

    def _end(self, k: int, pointers: Pointers, inner: SSAValue | int) -> None:
        g, f, m = self.gathers[k], self.f, self.m
        where, kind = pointers.get(("a", k)), MEMORY[g.total]
        if k in self.along:
            one = Words(f, 1)
            held = self.short[k] if self._short(k) else Num(m, self.totals[k].get(), g.total)
            total = one.cast(g.fold(one, held), g.total)
            if self.plan.gathered[k]:
                old = Num(one, unpack(f, f.load(kind, pointers["a", k]), g.total), g.total)
                f.store(pack(f, g.combine(one, old, total).value, g.total), pointers["a", k])
            else:
                result = g.final(one, total)
                if k in self.passes.used:
                    if k not in self.results:
                        self.results[k] = f.var(result.value.ctype)
                    self.results[k].set(result.value)
                if where is not None:
                    f.store(pack(f, result.value, g.dtype), where)
            return
        _, totals = self.lines[k]

        def finish(offset: Any, mask: Mask | None) -> None:
            total = totals.get(offset)
            if self.plan.gathered[k]:
                self._add_to_memory(k, pointers["a", k], offset, total, mask)
            else:
                self._store(
                    "a",
                    k,
                    pointers["a", k],
                    offset,
                    pack(f, g.final(m, total).value, g.dtype),
                    mask,
                )

        whole = inner & -self.width
        if self.resident:
            for known in range(0, whole, self.width):
                finish(known, None)
        else:
            with f.loop(0, whole, self.width) as offset:
                finish(offset, None)
        if isinstance(inner, SSAValue):
            with f.when((inner - whole).compare("ne", 0)):
                finish(whole, Mask(f.tail_mask(inner - whole, self.width), None))
        elif inner - whole:
            finish(whole, static_mask(f, self.width, inner - whole))

    def _add_to_memory(
        self, k: int, where: SSAValue, offset: Any, value: Num, mask: Mask | None
    ) -> None:
        g, f, m = self.gathers[k], self.f, self.m
        kind = vector(MEMORY[g.total], self.width)
        guard = None if mask is None else mask.value
        old = Num(m, unpack(f, f.load(kind, where, offset, mask=guard), g.total), g.total)
        store(f, pack(f, g.combine(m, old, value).value, g.total), where, offset, mask)

    # Reductions over rows of vectors.

    def _rows(
        self, d: int, pointers: Pointers, begin: Any, end: Any, inner: SSAValue | int
    ) -> None:
        f = self.f
        many = isinstance(end, SSAValue) or end - begin > SUM_ROWS
        if not many:
            self._block(d, pointers, begin, end, inner)
            return
        with f.loop(begin, end, SUM_ROWS) as first:
            self._block(d, pointers, first, f.smaller(first + SUM_ROWS, end), inner)

    def _block(
        self, d: int, pointers: Pointers, begin: Any, end: Any, inner: SSAValue | int
    ) -> None:
        f, m = self.f, self.m
        active = [
            k
            for k in self.columns
            if self.plan.runs[k] <= d
            and (d < self.plan.row_level or self.passes.of_reduce[k] == self.now)
        ]
        for k in active:

            def begun(
                at: Any, parts: _Line = self.lines[k][0], g: Gather = self.gathers[k]
            ) -> None:
                parts.set(at, g.identity(m, g.part))

            self._for_line(inner, begun)

        def rows(first: Any, count: int) -> None:
            at = [self._moved(pointers, d, first + i if i else first) for i in range(count)]
            if count == 1:
                self._level(d + 1, at[0], inner)
            else:
                self._inner(at, inner)

        together = self.together
        if together == 1:
            with f.loop(begin, end) as i:
                rows(i, 1)
        else:
            whole = end - (end - begin) % together
            with f.loop(begin, whole, together) as i:
                rows(i, together)
            if isinstance(whole, SSAValue) or whole < end:
                with f.loop(whole, end) as i:
                    rows(i, 1)
        for k in active:
            parts, totals = self.lines[k]

            def added(
                at: Any, parts: _Line = parts, totals: _Line = totals, g: Gather = self.gathers[k]
            ) -> None:
                totals.set(at, g.combine(m, totals.get(at), m.cast(parts.get(at), g.total)))

            self._for_line(inner, added)

    # Squares of as many rows as a vector has lanes, for operands that are contiguous along the
    # other dimension.

    def _squares(self, d: int, pointers: Pointers, begin: Any, end: Any) -> None:
        f, width, last = self.f, self.width, self.plan.last
        columns = self.plan.sizes[last]
        whole, across = end - (end - begin) % width, columns - columns % width

        def one_row(i: SSAValue, first: int) -> None:
            self._segment([self._moved(self._moved(pointers, d, i), last, first)], columns - first)

        with f.loop(begin, whole, width) as i:
            with f.loop(0, across, width) as j:
                corner = self._moved(self._moved(pointers, d, i), last, j)
                rows = [self._moved(corner, d, r) for r in range(width)]
                known = [self._fixed(p) for p in rows]
                for k in self.plan.turned:
                    kind = self.plan.reads[k].kind
                    vectors = [
                        f.load(vector(MEMORY[kind], width), self._moved(corner, last, c)["r", k])
                        for c in range(width)
                    ]
                    for fixed, made in zip(known, exchanged(f, vectors), strict=True):
                        fixed[0][k] = Num(self.m, unpack(f, made, kind), kind)
                self._points(rows, known, [0], None, {})
            if across < columns:
                with f.loop(i, i + width) as row:
                    one_row(row, across)
        if isinstance(whole, SSAValue) or whole < end:
            with f.loop(whole, end) as row:
                one_row(row, 0)

    # The innermost dimension.

    def _summed(self) -> list[int]:
        """Return the reductions along the vectors in this pass."""
        return [k for k in self.along if self.passes.of_reduce[k] == self.now]

    def _inner(self, rows: list[Pointers], count: SSAValue | int) -> None:
        """Emit all vectors of one row, or of several rows together."""
        block = SUM_TERMS * self.unroll * self.width
        gathers = [self.gathers[k] for k in self._summed()]
        long = isinstance(count, SSAValue) or count > block
        if not (long and any(g.part == "float32" and g.total == "float64" for g in gathers)):
            self._segment(rows, count)
            return
        # A single body serves all blocks including the last, since each body must be compiled.
        whole = isinstance(count, int) and count % (self.unroll * self.width) == 0
        with self.f.loop(0, count, block) as first:
            self._segment(rows, self.f.smaller(count - first, block), first, whole)

    def _segment(
        self,
        rows: list[Pointers],
        count: SSAValue | int,
        start: SSAValue | int = 0,
        whole: bool = False,
    ) -> None:
        """Emit `count` elements from `start` on. `whole` means that they are a multiple of the
        unrolled vectors.
        """
        f, m, width = self.f, self.m, self.width
        fixed = [self._fixed(p) for p in rows]
        parts = {}
        for k in self._summed():
            g = self.gathers[k]
            several = (
                self.unroll
                if isinstance(count, SSAValue)
                else max(1, min(self.unroll, count // width))
            )
            parts[k] = [f.var(m.ctype(g.part), g.identity(m, g.part).value) for _ in range(several)]

        def points(offsets: list[Any], mask: Mask | None) -> None:
            self._points(rows, fixed, offsets, mask, parts)

        step = width * self.unroll
        if isinstance(count, int):
            vectors, rest = divmod(count, width)
            if vectors * len(rows) <= self.straight:
                for j in range(0, vectors, self.unroll):
                    points(
                        [start + i * width for i in range(j, min(j + self.unroll, vectors))], None
                    )
            else:
                main = vectors // self.unroll * self.unroll
                with f.loop(start, start + main * width, step) as i:
                    points([i + u * width if u else i for u in range(self.unroll)], None)
                for j in range(main, vectors):
                    points([start + j * width], None)
            if rest:
                points([start + vectors * width], static_mask(f, width, rest))
        else:
            end = start + count
            main = end if whole else end - count % step
            with f.loop(start, main, step) as i:
                points([i + u * width if u else i for u in range(self.unroll)], None)
            if not whole:
                with f.loop(main, end, width) as i:
                    points([i], Mask(f.tail_mask(end - i, width), None))
        for k in self._summed():
            g = self.gathers[k]
            values = [Num(m, part.get(), g.part) for part in parts[k]]
            while len(values) > 1:
                values = [
                    *(g.combine(m, a, b) for a, b in zip(values[::2], values[1::2], strict=False)),
                    *values[len(values) & -2 :],
                ]
            if self._short(k):
                self.short[k] = values[0]
                continue
            total = Num(m, self.totals[k].get(), g.total)
            self.totals[k].set(g.combine(m, total, m.cast(values[0], g.total)).value)

    def _fixed(self, pointers: Pointers) -> Fixed:
        """Emit what is loaded and computed once per row: operands that are repeated along it, and
        steps that depend on these alone.
        """
        f, reads = self.f, dict[int, Num]()
        steps: dict[int, Num] = {}
        for k in self.passes.reads[self.now]:
            o = self.plan.reads[k]
            if o.strides[-1] == 0:
                one = unpack(f, f.load(MEMORY[o.kind], pointers["r", k]), o.kind)
                reads[k] = Num(self.m, f.splat(one, self.m.ctype(o.kind)), o.kind)
        for i in self.passes.steps[self.now]:
            if i in self.same:
                steps[i] = self._step(i, reads, steps)
        return reads, steps

    def _points(
        self,
        rows: list[Pointers],
        fixed: list[Fixed],
        offsets: list[Any],
        mask: Mask | None,
        parts: Any,
    ) -> None:
        """Emit loads, computation and stores of some vectors of each row. All loads come before the
        stores, so that results may overwrite operands.
        """
        f, m = self.f, self.m
        inputs = [
            [
                {
                    k: known[0][k] if k in known[0] else self._load(k, p["r", k], offset, mask)
                    for k in self.passes.reads[self.now]
                }
                for offset in offsets
            ]
            for p, known in zip(rows, fixed, strict=True)
        ]
        values = [
            [
                self._computed(given, known[1], p, offset)
                for given, offset in zip(row, offsets, strict=True)
            ]
            for p, known, row in zip(rows, fixed, inputs, strict=True)
        ]
        for p, row in zip(rows, values, strict=True):
            for offset, value in zip(offsets, row, strict=True):
                for k, write in enumerate(
                    self.loop.writes if self.now == self.passes.count - 1 else ()
                ):
                    kind = self.plan.writes[k].kind
                    self._store(
                        "w",
                        k,
                        p["w", k],
                        offset,
                        pack(f, m.cast(value(write.value), kind).value, kind, True),
                        mask,
                    )
        for k, reduce in enumerate(self.loop.reduces):
            if self.passes.of_reduce[k] != self.now:
                continue
            g = self.gathers[k]

            def term(value: Any, reduce: Any = reduce, g: Gather = g) -> Num:
                found = m.cast(value(reduce.value), "bool" if g.part == "bool" else reduce.dtype)
                return m.cast(m.wide(found), g.part)

            if k in self.along:
                for u, value in enumerate(values[0]):
                    one = term(value)
                    if mask is not None:
                        one = Num(
                            m, f.select(mask.value, one.value, g.identity(m, g.part).value), g.part
                        )
                    parts[k][u].set(g.combine(m, one, Num(m, parts[k][u].get(), g.part)).value)
            elif k in self.columns:
                line = self.lines[k][0]
                for u, offset in enumerate(offsets):
                    terms = [term(row[u]) for row in values]
                    while len(terms) > 1:
                        terms = [
                            g.combine(m, a, b) for a, b in zip(terms[::2], terms[1::2], strict=True)
                        ]
                    line.set(offset, g.combine(m, terms[0], line.get(offset)))
            else:
                for p, row in zip(rows, values, strict=True):
                    for offset, value in zip(offsets, row, strict=True):
                        self._add_to_memory(
                            k, p["a", k], offset, m.cast(term(value), g.total), mask
                        )

    def _argument(self, arg: Any, reads: dict[int, Num], steps: dict[int, Num]) -> Any:
        """Return an argument of a step: a value, a number, or None if it is left out."""
        what, which = arg
        if what == "in":
            return reads[which]
        if what == "step":
            return steps[which]
        if what == "reduce":
            kind = self.loop.reduces[which].dtype
            return Num(self.m, self.f.splat(self.results[which].get(), self.m.ctype(kind)), kind)
        if what == "scalar":
            kind = "float64" if self.numbers[which].ctype == "double" else "int64"
            return Weak(self.m, self.f.splat(self.numbers[which], self.m.ctype(kind)), kind)
        return which

    def _step(self, i: int, reads: dict[int, Num], steps: dict[int, Num]) -> Num:
        step = self.loop.steps[i]
        return compute(
            self.m,
            step.op,
            [self._argument(arg, reads, steps) for arg in step.args],
            step.dtype,
            step.params,
        )

    def _computed(
        self, reads: dict[int, Num], fixed: dict[int, Num], pointers: Pointers, offset: Any
    ) -> Callable[[Any], Num]:
        """Emit the steps of this pass for one vector, and return a function that returns the value
        of an argument.
        """
        m, f = self.m, self.f
        done = dict(fixed)
        for i in self.passes.steps[self.now]:
            if i in done:
                continue
            kept = i in self.kept
            if kept and self.passes.first[i] < self.now:
                got = f.load(vector(self.memory["t", i], self.width), pointers["t", i], offset)
                done[i] = Num(m, unpack(f, got, self.kept[i]), self.kept[i])
                continue
            done[i] = self._step(i, reads, done)
            if kept:
                f.store(pack(f, done[i].value, self.kept[i]), pointers["t", i], offset)

        def value(arg: Any) -> Num:
            found = self._argument(arg, reads, done)
            return (
                found
                if isinstance(found, Num)
                else m.number(found, "float64" if isinstance(found, float) else "int64")
            )

        return value

    # Memory.

    def _load(self, k: int, pointer: SSAValue, offset: Any, mask: Mask | None) -> Num:
        o, f = self.plan.reads[k], self.f
        kind, stride = MEMORY[o.kind], o.strides[-1]
        wide = vector(kind, self.width)
        if stride == 1 or self.width == 1:
            got = f.load(
                wide,
                pointer,
                offset * stride if stride != 1 else offset,
                mask=None if mask is None else mask.value,
            )
        elif mask is not None and mask.known is None:
            where = self._addresses(pointer, offset, stride, kind)
            got = f.gather(wide, where, mask.value, align=1)
        else:
            got = f.const(0, wide)
            for i in range(self.width if mask is None else mask.known or 0):
                one = f.load(kind, pointer, (offset + i) * stride)
                got = f.emit(f"insertelement {wide} {got.name}, {kind} {one.name}, i32 {i}", wide)
        return Num(self.m, unpack(f, got, o.kind), o.kind)

    def _store(
        self, what: str, k: int, pointer: SSAValue, offset: Any, value: SSAValue, mask: Mask | None
    ) -> None:
        f, kind = self.f, self.memory[what, k]
        stride = self.strides[what, k][-1]
        if stride == 1 or self.width == 1:
            store(f, value, pointer, offset * stride if stride != 1 else offset, mask)
        elif mask is not None and mask.known is None:
            where = self._addresses(pointer, offset, stride, kind)
            f.scatter(value, where, mask.value, align=1)
        else:
            for i in range(self.width if mask is None else mask.known or 0):
                one = f.emit(f"extractelement {value.ctype} {value.name}, i32 {i}", kind)
                f.store(one, pointer, (offset + i) * stride)

    def _addresses(self, pointer: SSAValue, offset: Any, stride: int, kind: str) -> SSAValue:
        f = self.f
        places = vector("i64", self.width)
        index = (f.iota(places) + f.splat(f.as_value(offset, "i64"), places)) * stride
        return f.emit(
            f"getelementptr {kind}, ptr {pointer.name}, {places} {index.name}",
            vector("ptr", self.width),
        )


class _Line:
    """Accumulators: vectors of one dtype for all columns, in registers or in a buffer."""

    def __init__(self, m: Words, kind: str, count: int, resident: bool) -> None:
        self.m, self.kind = m, kind
        self.memory = vector(MEMORY[kind], m.width)
        if resident:
            self.vars = [m.f.var(self.memory) for _ in range(count)]
        else:
            self.vars, self.buffer = [], m.f.buffer(MEMORY[kind], count * m.width)

    def get(self, offset: Any) -> Num:
        f = self.m.f
        got = (
            self.vars[offset // self.m.width].get()
            if self.vars
            else f.load(self.memory, self.buffer, offset)
        )
        return Num(self.m, unpack(f, got, self.kind), self.kind)

    def set(self, offset: Any, value: Num) -> None:
        f = self.m.f
        held = pack(f, value.value, self.kind)
        if self.vars:
            self.vars[offset // self.m.width].set(held)
        else:
            f.store(held, self.buffer, offset)
