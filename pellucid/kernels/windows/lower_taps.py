"""Interpolation and adaptive average pooling in a schedule: weighted sums along one dimension after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...ir import Instruction, Ref, Value
from ..lowered import OTHER, Native, compact, dense, room
from ..schedule import Place, Schedule
from . import taps
from .taps import Table


def _sums(i: Instruction, ex: Any, x: Value, steps: Sequence[tuple[int, Table, tuple[int, ...]]]) -> Native | str:
    """The kernel for each dimension; what lies between two is working memory."""
    out = i.outputs[0]
    if x.dtype != "float32" or any(s % 4 for s in x.strides) or not dense(out) or not x.size or not out.size or not steps:
        return OTHER
    if steps[-1][2] != out.shape or any(taps.native(n) is None for n in (1, 2)):
        return OTHER

    def emit(schedule: Schedule) -> None:
        at, shape = compact(ex, schedule, x), x.shape
        for k, (axis, table, after) in enumerate(steps):
            to = ex.place(out, schedule) if k == len(steps) - 1 else room(schedule, math.prod(after))
            held = [Place("kept", schedule.keep(a)) for a in (table.counts, table.index, table.weights)]
            function = taps.native(math.prod(shape[axis + 1 :]))
            title = f"{i.op}: {'x'.join(map(str, shape))} to {'x'.join(map(str, after))}"
            schedule.native(function, ["team", at, to, *held, *taps.numbers(shape, axis, table)], title)  # type: ignore[arg-type]
            at, shape = to, after

    moved, flops = x.nbytes + out.nbytes, 0
    for _, table, after in steps:
        flops += 2 * int(table.counts.mean()) * math.prod(after)
    return Native(emit, f"{i.op} of {'x'.join(map(str, x.shape))}", moved, flops)


def resample(i: Instruction, ex: Any) -> Native | str:
    """Interpolation along one dimension, or its gradient."""
    x, params = i.inputs[0], i.params
    arrays = [ex.contents.get(v.value.buffer) if isinstance(v, Ref) else v for v in (params["index"], params["weight"])]
    if arrays[0] is None or isinstance(params["weight"], Ref) and arrays[1] is None:
        return "weights that another call may change"
    table = taps.make_table(arrays[0], arrays[1], params["size"])
    if i.op == "resample_axis_back":
        table = table.transposed
    return _sums(i, ex, x, [(params["axis"] % len(x.shape), table, i.outputs[0].shape)])


def adaptive(i: Instruction, ex: Any) -> Native | str:
    """Means of windows that cover the input, or their gradient."""
    x, out = i.inputs[0], i.outputs[0]
    back = i.op == "adaptive_avg_pool_grad"
    large, small = (out, x) if back else (x, out)
    return _both_ways(i, ex, x, taps.adaptive_tables(large.shape[2:], small.shape[2:]), back)


def _both_ways(i: Instruction, ex: Any, x: Value, tables: Sequence[Table], back: bool) -> Native | str:
    if back:
        tables = [t.transposed for t in tables]
    return _sums(i, ex, x, taps.sequence(x.shape, tables))


LOWERINGS: dict[str, Callable[[Instruction, Any], Native | str]] = {
    "resample_axis": resample, "resample_axis_back": resample,
}  # fmt: skip
