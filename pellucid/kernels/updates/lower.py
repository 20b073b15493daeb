"""Lowerings of gradient clipping."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir import Instruction, Value
from ...ir.program import ITEMSIZE
from ..lowered import OTHER, Lowering, LoweringContext, Native, dense, value_of
from ..schedule import Address, Schedule
from . import clip


def _dtype(*values: Any) -> str:
    """Return the common dtype of contiguous values; "" for other values."""
    first = values[0] if values else None
    if None in values or not isinstance(first, Value) or not dense(*values, dtype=first.dtype):
        return ""
    return first.dtype


def total_norm(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the 2-norm of all arrays together; for two-byte floats, the norm of the arrays' norms."""
    arrays, p = i.params["args"]
    values = [value_of(a) for a in arrays]
    out = i.record[1][0]
    dtype = _dtype(*values, out)
    add, root = clip.native("add_squares", dtype), clip.native("root", dtype)
    if add is None or root is None or p != 2.0:
        return OTHER
    size, each = sum(v.size for v in values), ITEMSIZE[dtype]

    def emit(schedule: Schedule) -> None:
        total = Address("kept", schedule.keep(np.zeros(1, np.float64)))
        norms = schedule.room(each * len(values))
        schedule.zero(total, 8)
        for k, v in enumerate(values):
            title = f"squares of {v.size} values"
            schedule.native(add, [ex.place(v, schedule), v.size, total], title)
            if each == 2:
                schedule.native(root, [total, norms.at(each * k)], "their root")
                schedule.zero(total, 8)
        if each == 2:
            schedule.native(add, [norms, len(values), total], "squares of the norms")
        schedule.native(root, [total, ex.place(out, schedule)], "their root")

    return Native(emit, f"norm of {len(values)} gradients", each * size, 2 * size)


def scale(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the multiplication of all arrays by limit / norm if that is less than 1."""
    arrays, norm, limit = i.params["args"]
    return _each(ex, "scale", "scaling", arrays, [value_of(norm)], limit)


def limit(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the clipping of all elements to -limit and limit."""
    arrays, most = i.params["args"]
    return _each(ex, "limit", "limits", arrays, [], most)


def _each(
    ex: LoweringContext, name: str, title: str, arrays: Any, others: list[Any], number: Any
) -> Native | str:
    values = [value_of(a) for a in arrays]
    dtype = _dtype(*values, *others)
    function = clip.native(name, dtype)
    if function is None:
        return OTHER

    def emit(schedule: Schedule) -> None:
        given = [ex.place(v, schedule) for v in others]
        for v in values:
            arguments = ["team", ex.place(v, schedule), *given, float(number), v.size, clip.GRAIN]
            schedule.native(function, arguments, f"{title} of {v.size} values")

    size = sum(v.size for v in values)
    moved = 2 * ITEMSIZE[dtype] * size
    return Native(emit, f"{title} of {len(values)} gradients", moved, size)


LOWERINGS: dict[str, Lowering] = {"_total_norm": total_norm, "_scale": scale, "_limit": limit}
