"""Plans of loops: the order and merging of dimensions, tiles, tasks for threads, and where
reductions are accumulated.

Everything depends on the loop's shape and strides alone, never on the number of threads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from .values import itemsize

TILE = 1024  # number of columns whose sums are accumulated in the first-level cache
# largest number of columns that are summed in separate memory beside rows; more are summed in the
# result's memory
LINE = 8192
TASK = 32768  # least number of elements of a cheap loop in a task, which take some microseconds
MOST_TASKS = 64  # largest number of tasks with separate partial results
MOST_PARTIAL = 1 << 20  # largest number of elements in all partial results
# largest cost of an element for which operands are transposed in registers, in squares of as many
# rows as a vector has lanes
TURNED_WORK = 16
ENOUGH_TASKS = 8  # if one dimension gives fewer tasks, the next one is tried


@dataclass
class Operand:
    """The memory that a loop reads or writes: `start` and strides count elements; `reduced` marks
    dimensions that are reduced.
    """

    kind: str
    strides: list[int]
    reduced: list[bool] = field(default_factory=list)
    start: int = 0


@dataclass
class LoopPlan:
    """The plan of a loop, with dimensions from the outermost to the innermost, which is processed
    in vectors.

    Attributes:
        sizes: of the dimensions; the last one is that of a tile where `tile` is set.
        tile: the dimension that counts tiles of the innermost one, None without tiles.
        inner: the whole innermost dimension's size.
        split: the dimension that is cut into tasks, after enumeration of those before it.
        rows: iterations of `split` in a task.
        tasks: their number.
        runs: for each reduction the dimension from which on (but for the innermost one, where it is
            kept) all are reduced.
        row_level: the first dimension of rows that are taken in several passes; beyond the last one
            where there are none.
        turned: the reads that are contiguous along the next-to-innermost dimension instead: taken
            in square tiles.
        row: for each reduction whether the innermost dimension is reduced.
        gathered: for each reduction whether partial results are combined in memory at the end.
        slots: for each reduction how many partial results there are.
    """

    sizes: list[int]
    reads: list[Operand]
    writes: list[Operand]
    reduces: list[Operand]
    tile: int | None = None
    inner: int = 1
    split: int = 0
    rows: int = 0
    tasks: int = 1
    runs: list[int] = field(default_factory=list)
    row: list[bool] = field(default_factory=list)
    gathered: list[bool] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)
    turned: list[int] = field(default_factory=list)
    row_level: int = 99

    @property
    def operands(self) -> list[Operand]:
        """All arrays of the loop: read ones, written ones, then reductions."""
        return self.reads + self.writes + self.reduces

    @property
    def last(self) -> int:
        """The index of the innermost dimension."""
        return len(self.sizes) - 1

    def kept(self, k: int) -> list[tuple[int, int]]:
        """Return (size, stride in the result) of the dimensions that reduction `k` keeps; tiles and
        the dimension inside them count as one.
        """
        o = self.reduces[k]
        dims = [
            (n, s)
            for d, (n, s, r) in enumerate(zip(self.sizes, o.strides, o.reduced))
            if not r and d not in (self.tile, self.last)
        ]
        return dims if o.reduced[-1] else [*dims, (self.inner, o.strides[-1])]

    def slot_strides(self, k: int) -> list[int]:
        """Return the strides of a dense partial result of reduction `k`, for every dimension."""
        o, strides, size = self.reduces[k], [0] * len(self.sizes), 1
        if not o.reduced[-1]:
            strides[-1], size = 1, self.inner
            if self.tile is not None:
                strides[self.tile] = self.sizes[-1]
        for d in reversed(range(self.last)):
            if not o.reduced[d] and d != self.tile:
                strides[d] = size
                size *= self.sizes[d]
        return strides

    def slot_size(self, k: int) -> int:
        """Return the number of elements in a dense partial result of reduction `k`."""
        return math.prod(n for n, _ in self.kept(k))


def make_plan(
    shape: tuple[int, ...],
    reads: list[Operand],
    writes: list[Operand],
    reduces: list[Operand],
    work: int,
    width: int,
    row: int | None = None,
) -> LoopPlan:
    """Return the plan for a loop without empty dimensions. `work` is the approximate cost of an
    element in plain operations.

    `row` is a reduction whose result is used in the loop: its dimensions become the inner ones, and
    are never cut into tasks.
    """
    plan = LoopPlan(list(shape), reads, writes, reduces)
    for o in reads + writes:
        o.reduced = [False] * len(shape)
    within = reduces[row].reduced if row is not None else [False] * len(shape)
    single = [all(r for r, inside in zip(o.reduced, within) if inside) for o in reduces]
    _pick(plan, [d for d, n in enumerate(shape) if n > 1])
    _flip(plan)
    weights = {id(o): itemsize(o.kind) * (2 if o in writes else 1) for o in reads + writes}

    def inside(d: int) -> bool:
        return row is not None and reduces[row].reduced[d]

    def cost(d: int) -> tuple[bool, int, int]:
        return inside(d), -sum(abs(o.strides[d]) * weights[id(o)] for o in reads + writes), d

    _pick(plan, sorted(range(len(plan.sizes)), key=cost))
    _merge(plan)
    if reduces and plan.sizes:
        # Dimensions that are kept become outer ones, so that reductions are complete sooner.
        _pick(
            plan,
            [
                *sorted(
                    range(plan.last), key=lambda d: (inside(d), sum(o.reduced[d] for o in reduces))
                ),
                plan.last,
            ],
        )
        _merge(plan)
    if not plan.sizes or (row is not None and not reduces[row].reduced[-1]):
        # Rows of one element.
        plan.sizes.append(1)
        for o in reads + writes + reduces:
            o.strides.append(0)
            o.reduced.append(False)
        for o, alone in zip(reduces, single, strict=True):
            o.reduced[-1] = alone or row is None
    if row is not None:
        plan.row_level = reduces[row].reduced.index(True)
    plan.inner = plan.sizes[-1]
    plan.row = [o.reduced[-1] for o in reduces]
    plan.runs = [_run(o.reduced) for o in reduces]
    if row is None:
        _tile(plan)
    elif plan.inner > LINE:
        plan.runs = [
            run if in_row else plan.last for run, in_row in zip(plan.runs, plan.row, strict=True)
        ]
    if (
        not reduces
        and len(plan.sizes) > 1
        and min(plan.sizes[-2:]) >= width > 1
        and work <= TURNED_WORK
    ):
        plan.turned = [
            k for k, o in enumerate(reads) if o.strides[-2] == 1 and abs(o.strides[-1]) > 1
        ]
    _cut(plan, work, width)
    return plan


def _pick(plan: LoopPlan, order: list[int]) -> None:
    plan.sizes = [plan.sizes[d] for d in order]
    for o in plan.operands:
        o.strides, o.reduced = [o.strides[d] for d in order], [o.reduced[d] for d in order]


def _flip(plan: LoopPlan) -> None:
    """Reverse the dimensions in which most operands have negative strides."""
    for d, n in enumerate(plan.sizes):
        signs = [o.strides[d] for o in plan.operands]
        if sum(s < 0 for s in signs) > sum(s > 0 for s in signs):
            for o in plan.operands:
                o.start += (n - 1) * o.strides[d]
                o.strides[d] = -o.strides[d]


def _merge(plan: LoopPlan) -> None:
    """Merge adjacent dimensions that are contiguous for every operand."""
    d = 0
    while d + 1 < len(plan.sizes):
        n = plan.sizes[d + 1]
        if all(
            o.strides[d] == o.strides[d + 1] * n and o.reduced[d] == o.reduced[d + 1]
            for o in plan.operands
        ):
            plan.sizes[d] *= n
            del plan.sizes[d + 1]
            for o in plan.operands:
                del o.strides[d], o.reduced[d]
        else:
            d += 1


def _run(reduced: list[bool]) -> int:
    d = len(reduced) if reduced[-1] else len(reduced) - 1
    while d > 0 and reduced[d - 1]:
        d -= 1
    return d


def _tile(plan: LoopPlan) -> None:
    """Split columns that are reduced over rows into tiles."""
    runs = [run for run, row in zip(plan.runs, plan.row) if not row and run < plan.last]
    if not runs or plan.inner <= TILE:
        return
    at = min(runs)
    plan.tile = at
    plan.sizes = [*plan.sizes[:at], -(-plan.inner // TILE), *plan.sizes[at:-1], TILE]
    for o in plan.operands:
        o.strides.insert(at, o.strides[-1] * TILE)
        o.reduced.insert(at, o.reduced[-1])
    plan.runs = [_run(o.reduced) for o in plan.reduces]


def _cut(plan: LoopPlan, work: int, width: int) -> None:
    """Cut one dimension into tasks that are large enough for a thread."""
    total = math.prod(plan.sizes)
    wanted = max(1024, TASK * 8 // max(8, work))
    plan.rows, before, best = plan.sizes[0], 1, 1
    for d, n in enumerate(plan.sizes):
        columns = d == plan.last and not all(plan.row)
        if (
            total < 2 * wanted
            or columns
            or d == plan.row_level
            or (d and any(o.reduced[d - 1] for o in plan.reduces))
        ):
            break
        rows = max(1, -(-wanted * before * n // total))
        cuts_sums = any(o.reduced[d] for o in plan.reduces)
        if cuts_sums:
            rows = max(rows, -(-n // MOST_TASKS))
        if plan.turned and d == plan.last - 1:
            rows = -(-rows // width) * width
        if d == plan.last:
            rows = _even(n, -(-rows // (4 * width)), 4 * width)
        tasks = before * -(-n // rows)
        small = (
            not cuts_sums
            or tasks * max(map(plan.slot_size, range(len(plan.reduces)))) <= MOST_PARTIAL
        )
        if tasks > best and small:
            best, plan.split, plan.rows, plan.tasks = tasks, d, rows, tasks
        if tasks >= ENOUGH_TASKS:
            break
        before *= n
    for o, run, row in zip(plan.reduces, plan.runs, plan.row):
        above = any(o.reduced[:run])
        cut = plan.tasks > 1 and any(o.reduced[: plan.split + 1])
        adjacent = row or run < plan.last
        plan.gathered.append(above or cut or not adjacent)
        plan.slots.append(plan.tasks if cut else 1)


def _even(n: int, units: int, unit: int) -> int:
    """Return `units * unit`, or somewhat more if that divides `n`."""
    for more in range(units, 2 * units + 1):
        if n % (more * unit) == 0:
            return more * unit
    return units * unit


def bytes_of(shape: tuple[int, ...], operands: list[Any]) -> int:
    """Return the number of bytes that (dtype, strides) operands touch in one pass, counting
    repeated elements once.
    """
    return sum(
        itemsize(kind) * math.prod(n for n, s in zip(shape, strides) if s)
        for kind, strides in operands
    )
