"""Gradient clipping in a schedule."""

from __future__ import annotations

import numpy as np

from ...ir import Instruction
from ..lowered import OTHER, Executable, Lowering, Native, dense, value_of
from ..schedule import Place, Schedule
from . import clip


def total_norm(i: Instruction, ex: Executable) -> Native | str:
    """The 2-norm of all arrays together."""
    arrays, p = i.params["args"]
    values = [value_of(a) for a in arrays]
    out = i.record[1][0]
    add, root = clip.native("add_squares"), clip.native("root")
    if add is None or root is None or p != 2.0 or not dense(*values, out) or None in values:
        return OTHER

    def emit(schedule: Schedule) -> None:
        total = Place("kept", schedule.keep(np.zeros(1, np.float64)))
        schedule.zero(total, 8)
        for v in values:
            schedule.native(
                add, [ex.place(v, schedule), v.size, total], f"squares of {v.size} values"
            )
        schedule.native(root, [total, ex.place(out, schedule)], "their root")

    size = sum(v.size for v in values)
    return Native(emit, f"norm of {len(values)} gradients", 4 * size, 2 * size)


def scale(i: Instruction, ex: Executable) -> Native | str:
    """All arrays times limit / norm, where that is less than 1."""
    arrays, norm, limit = i.params["args"]
    values, norm = [value_of(a) for a in arrays], value_of(norm)
    function = clip.native("scale")
    if function is None or not dense(*values, norm) or None in values or norm is None:
        return OTHER

    def emit(schedule: Schedule) -> None:
        at = ex.place(norm, schedule)
        for v in values:
            arguments = ["team", ex.place(v, schedule), at, float(limit), v.size, clip.GRAIN]
            schedule.native(function, arguments, f"scaling of {v.size} values")

    size = sum(v.size for v in values)
    return Native(emit, f"scaling of {len(values)} gradients", 8 * size, size)


def limit(i: Instruction, ex: Executable) -> Native | str:
    """All elements cut at -limit and limit."""
    arrays, most = i.params["args"]
    values = [value_of(a) for a in arrays]
    function = clip.native("limit")
    if function is None or not dense(*values) or None in values:
        return OTHER

    def emit(schedule: Schedule) -> None:
        for v in values:
            arguments = ["team", ex.place(v, schedule), float(most), v.size, clip.GRAIN]
            schedule.native(function, arguments, f"limits of {v.size} values")

    size = sum(v.size for v in values)
    return Native(emit, f"limits of {len(values)} gradients", 8 * size, size)


LOWERINGS: dict[str, Lowering] = {"_total_norm": total_norm, "_scale": scale, "_limit": limit}
