"""Lowerings of pooling with positions: adaptive max pooling, the positions that pools return, and
values at such positions.
"""

from __future__ import annotations

import math
from typing import Any

from ...ir import Instruction, Value
from ...ir.program import ITEMSIZE
from ..convolution.lower import max_pool_grad, pooled
from ..indexing.gather_scatter import Index, Pick
from ..indexing.lower import native, plain
from ..lowered import (
    OTHER,
    Handed,
    InFloat32,
    Lowering,
    LoweringContext,
    Native,
    compact,
    served,
    steps,
    value_of,
)
from ..schedule import Address, Schedule
from . import adaptive as pool_adaptive


def adaptive(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower adaptive max pooling, with the positions for the gradient."""
    x, out = i.inputs[0], i.outputs[0]
    return _adaptive(
        i, ex, x, out, i.extras[0] if len(i.extras) == 1 else None, tuple(i.params["output_size"])
    )


def adaptive_places(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the positions of adaptive max pooling."""
    x, size = map(value_of, i.params["args"])
    return _adaptive(i, ex, x, None, i.record[1][0], tuple(size))


def _adaptive(
    i: Instruction,
    ex: LoweringContext,
    x: Any,
    out: Value | None,
    index: Value | None,
    size: tuple[int, ...],
) -> Native | str:
    function = pool_adaptive.native(x.dtype) if isinstance(x, Value) else None
    if (
        function is None
        or not served(x)
        or not x.size
        or any(v is not None and not v.contiguous for v in (out, index))
    ):
        return OTHER
    count = math.prod(x.shape[:2]) * math.prod(size)
    if not count:
        return OTHER
    title = f"{i.op} of {'x'.join(map(str, x.shape))}"

    def emit(schedule: Schedule) -> None:
        def place(v: Value | None, item: int) -> Address:
            return schedule.room(count * item) if v is None else ex.place(v, schedule)

        arrays = [compact(ex, schedule, x), place(out, ITEMSIZE[x.dtype]), place(index, 8)]
        schedule.native(function, ["team", *arrays, *pool_adaptive.numbers(x.shape, size)], title)

    return Native(emit, title, x.nbytes + count * (8 + ITEMSIZE[x.dtype]), x.size)


def places(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the positions of `max_pool`, by running its kernel again."""
    x, *window = map(value_of, i.params["args"])
    index = i.record[1][0]
    return pooled(ex, x, None, index, index.shape, window)


def grad(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the gradient of max pooling at given positions: by the kernel of eager execution, or
    for doubles as a sum by index.
    """
    made = max_pool_grad(i, ex)
    g, out, index = i.inputs[0], i.outputs[0], value_of(i.params["index"])
    if (
        isinstance(made, Native)
        or not plain(g, out, index)
        or index.dtype != "int64"
        or not out.whole
        or g.dtype != out.dtype
    ):
        return made
    return _flat(i, ex, "add", out, g, index, "zeros")


def at_places(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower reading values at flat positions of the spatial dimensions, or storing them there
    (`max_unpool`).
    """
    x, out, index = i.inputs[0], i.outputs[0], value_of(i.params["index"])
    put = i.op == "max_unpool"
    table = out if put else x
    if (
        not plain(x, out, index)
        or index.dtype != "int64"
        or not table.contiguous
        or x.dtype != out.dtype
        or not out.whole
    ):
        return OTHER
    return _flat(
        i, ex, "put" if put else "take", table, x if put else out, index, "zeros" if put else None
    )


def _flat(
    i: Instruction,
    ex: LoweringContext,
    kind: str,
    table: Value,
    values: Value,
    index: Value,
    base: str | None,
) -> Native | str:
    """Lower a pick at flat positions of the spatial dimensions of a contiguous table."""
    size, channels = math.prod(table.shape[2:]), table.shape[1]
    strides = (size * channels, size, *(0,) * (len(index.shape) - 2))
    where = Index("int64", steps(index), size, 1, False)
    return native(
        i,
        ex,
        Pick(kind, table.dtype, index.shape, strides, steps(values), (where,)),
        table,
        values,
        [index],
        base,
    )


LOWERINGS: dict[str, Lowering] = {
    "adaptive_max_pool": InFloat32(adaptive),
    "_adaptive_maxima": adaptive_places,
    "_maxima": places,
    "pool_gather": at_places,
    "max_unpool": at_places,
    "max_pool_grad": InFloat32(grad),
}
HANDED: dict[str, Handed] = {"adaptive_max_pool": lambda arrays: arrays[0]}
