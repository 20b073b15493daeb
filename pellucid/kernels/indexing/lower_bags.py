"""Bags of rows (`embedding_bag` with offsets) in a schedule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir import Instruction, Value
from ..lowered import OTHER, Native, compact, value_of
from ..schedule import Schedule
from . import embedding_bag as kernels
from .lower import plain, refusal


def _whole(*values: Any) -> bool:
    return plain(*values) and all(v.dtype == "int64" for v in values)


def check_offsets(i: Instruction, ex: Any) -> Native | str:
    """The first bag begins at the beginning, and none behind the indices."""
    starts, size = map(value_of, i.params["args"])
    function = kernels.native("offsets")
    if function is None or not _whole(starts) or not starts.size:
        return OTHER

    def emit(schedule: Schedule) -> None:
        schedule.require(function, [compact(ex, schedule, starts), starts.size, size], refusal(i, ex), "check of offsets")

    return Native(emit, "check of offsets", starts.nbytes, starts.size)


def bags(i: Instruction, ex: Any) -> Native | str:
    """The bag of each index, and how many each bag has."""
    starts, index, padding, _ = map(value_of, i.params["args"])
    bag, counts = i.record[1]
    function = kernels.native("bags", counts.dtype)
    if function is None or not _whole(starts, index) or not starts.size or not index.size:
        return OTHER

    def emit(schedule: Schedule) -> None:
        places = [*(compact(ex, schedule, v) for v in (starts, index)), ex.place(bag, schedule), ex.place(counts, schedule)]
        numbers = (starts.size, index.size, -1 if padding is None else padding)
        schedule.native(function, [*places, *numbers], f"bags of {index.size} indices")

    return Native(emit, "bags", starts.nbytes + 3 * bag.nbytes, bag.size)


def winners(i: Instruction, ex: Any) -> Native | str:
    """Where the largest elements of each bag stand."""
    rows, bag, count = map(value_of, i.params["args"])
    winner, filled = i.record[1]
    function = kernels.native("winners", rows.dtype) if isinstance(rows, Value) else None
    if function is None or not plain(rows) or not _whole(bag) or not rows.size or not count:
        return OTHER
    size, columns = rows.shape

    def emit(schedule: Schedule) -> None:
        best = schedule.room(count * columns * rows.nbytes // rows.size)
        places = [compact(ex, schedule, rows), compact(ex, schedule, bag), best, *(ex.place(v, schedule) for v in (winner, filled))]
        numbers = (size, count, columns, columns, kernels.share(size, columns))
        schedule.native(function, ["team", *places, *numbers], f"largest of {count} bags")

    return Native(emit, "largest of bags", rows.nbytes + winner.nbytes, rows.size)


LOWERINGS: dict[str, Callable[[Instruction, Any], Native | str]] = {
    "_check_offsets": check_offsets, "_bags": bags, "_winners": winners,
}  # fmt: skip
