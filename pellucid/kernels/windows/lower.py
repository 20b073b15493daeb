"""Lowerings of windows: unfold, fold, the gradient of a tensor's windows, grid sampling, and
interpolation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...ir import Instruction, Value, ValueRef
from ...ir.program import row_major
from ..lowered import (
    OTHER,
    InFloat32,
    Lowering,
    LoweringContext,
    Native,
    compact,
    copied,
    dense,
    room,
    served,
    steps,
)
from ..pointwise.loop import Access
from ..schedule import Address, Schedule
from . import fold as windows
from . import grid, taps
from .taps import Table


def columns(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower windows of images as columns, or columns added up."""
    x, out, p = i.inputs[0], i.outputs[0], i.params
    back = i.op == "col2im"
    function = windows.native(x.dtype, back) if isinstance(x, Value) else None
    if (
        function is None
        or not served(x, out)
        or x.dtype != out.dtype
        or not out.contiguous
        or not x.size
        or not out.size
    ):
        return OTHER
    n, c, *size = (out if back else x).shape
    w = windows.Windows(tuple(size), p["kernel"], p["dilation"], p["padding"], p["stride"])
    title = f"{i.op} of {n * c} images of {size[0]}x{size[1]}"

    def emit(schedule: Schedule) -> None:
        places = [compact(ex, schedule, x), ex.place(out, schedule)]
        schedule.native(function, ["team", *places, *w.numbers(n * c, back)], title)

    return Native(emit, title, x.nbytes + out.nbytes, x.size if back else 0)


def lines(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the gradient of a dimension's windows: each line of them is added up like the columns
    of an image with one row.
    """
    g, out = i.inputs[0], i.outputs[0]
    dim, size, step = i.params["dim"], i.params["size"], i.params["step"]
    function = windows.native(g.dtype, True) if isinstance(g, Value) else None
    if (
        function is None
        or not served(g, out)
        or g.dtype != out.dtype
        or not out.contiguous
        or not g.size
        or not out.shape
    ):
        return OTHER
    inner = math.prod(out.shape[dim + 1 :])
    w = windows.Windows((1, out.shape[dim]), (1, size), (1, 1), (0, 0), (1, step))
    # The dimensions behind this one come before it in the columns, and in the resulting rows.
    order = (*range(dim), *range(dim + 1, len(out.shape)))
    title = f"{i.op}: {'x'.join(map(str, g.shape))} to {'x'.join(map(str, out.shape))}"

    def moved(shape: tuple[int, ...], turned: tuple[int, ...]) -> tuple[int, ...]:
        """Return strides over a shape whose dimensions are permuted in memory."""
        own = row_major(tuple(shape[d] for d in turned), 1)
        return tuple(own[turned.index(d)] for d in range(len(shape)))

    def emit(schedule: Schedule) -> None:
        turned = schedule.room(g.nbytes)
        write = Access(g.dtype, moved(g.shape, (*order, len(g.shape) - 1, dim)))
        copied(schedule, g.shape, ex.place(g, schedule), Access(g.dtype, steps(g)), turned, write)
        rows = ex.place(out, schedule) if inner == 1 else schedule.room(out.nbytes)
        schedule.native(
            function, ["team", turned, rows, *w.numbers(out.size // out.shape[dim], True)], title
        )
        if inner > 1:
            read = Access(out.dtype, moved(out.shape, (*order, dim)))
            copied(
                schedule,
                out.shape,
                rows,
                read,
                ex.place(out, schedule),
                Access(out.dtype, steps(out)),
            )

    return Native(emit, title, g.nbytes + out.nbytes, g.size)


_KINDS = {
    "grid_sampler_2d": "sample",
    "grid_sampler_3d": "sample",
    "grid_image_grad": "image",
    "grid_positions_grad": "grid",
}


def sampled(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower images sampled at the positions of a grid, and both gradients."""
    values, out, kind = i.inputs, i.outputs[0], _KINDS[i.op]
    if not served(*values, out) or any(v.dtype != out.dtype for v in values) or not out.contiguous:
        return OTHER
    p = i.params
    function = grid.native(
        kind,
        grid.Sampling(len(values[0].shape) - 2, p["mode"], p["padding"], p["align"], out.dtype),
    )
    images = {"sample": values[0], "image": out, "grid": values[1]}[kind].shape
    if (
        function is None
        or not out.size
        or not all(v.size for v in values)
        or math.prod(images[2:]) >= 1 << 31
    ):
        return OTHER
    points = math.prod(values[-1].shape[1:-1])
    title = f"{i.op} of {'x'.join(map(str, images))} at {points} positions"

    def emit(schedule: Schedule) -> None:
        places = [*(compact(ex, schedule, v) for v in values), ex.place(out, schedule)]
        schedule.native(function, ["team", *places, *grid.numbers(kind, images, points)], title)

    moved = sum(v.nbytes for v in values) + out.nbytes
    return Native(emit, title, moved, 8 * images[0] * images[1] * points)


# ---- weighted sums along one dimension after the other: interpolation, adaptive average pooling ---------------
def _sums(
    i: Instruction,
    ex: LoweringContext,
    x: Value,
    steps: Sequence[tuple[int, Table, tuple[int, ...]]],
    out: Value | None = None,
) -> Native | str:
    """Lower weighted sums along one dimension after the other, with working memory in between.
    `out` is another view of the result.
    """
    out = out or i.outputs[0]
    if (
        not served(x, out)
        or not dense(out, dtype=x.dtype)
        or not x.size
        or not out.size
        or not steps
    ):
        return OTHER
    if steps[-1][2] != out.shape or any(taps.native(x.dtype, n) is None for n in (1, 2)):
        return OTHER

    def emit(schedule: Schedule) -> None:
        at, shape = compact(ex, schedule, x), x.shape
        for k, (axis, table, after) in enumerate(steps):
            to = (
                ex.place(out, schedule)
                if k == len(steps) - 1
                else room(schedule, math.prod(after), x.dtype)
            )
            held = [Address("kept", schedule.keep(a)) for a in table.arrays(x.dtype)]
            function = taps.native(x.dtype, math.prod(shape[axis + 1 :]))
            assert function is not None
            title = f"{i.op}: {'x'.join(map(str, shape))} to {'x'.join(map(str, after))}"
            schedule.native(
                function, ["team", at, to, *held, *taps.numbers(shape, axis, table)], title
            )
            at, shape = to, after

    moved, flops = x.nbytes + out.nbytes, 0
    for _, table, after in steps:
        flops += 2 * int(table.counts.mean()) * math.prod(after)
    return Native(emit, f"{i.op} of {'x'.join(map(str, x.shape))}", moved, flops)


def resample(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower interpolation along one dimension, or its gradient."""
    x, params = i.inputs[0], i.params
    arrays = [
        ex.contents.get(v.value.buffer) if isinstance(v, ValueRef) else v
        for v in (params["index"], params["weight"])
    ]
    if arrays[0] is None or isinstance(params["weight"], ValueRef) and arrays[1] is None:
        return "weights that another call may change"
    table = taps.make_table(arrays[0], arrays[1], params["size"])
    if i.op == "resample_axis_back":
        table = table.transposed
    out, axis = i.outputs[0], params["axis"] % len(x.shape)
    if len(out.shape) == 4 and not out.contiguous:  # channels_last order
        x, out, axis = _pixels(x), _pixels(out), (0, 3, 1, 2)[axis]
    return _sums(i, ex, x, [(axis, table, out.shape)], out)


def _pixels(x: Value) -> Value:
    """Return a view of images with channels last."""
    shape, strides = (tuple([v[d] for d in (0, 2, 3, 1)]) for v in (x.shape, x.strides))
    return replace(x, shape=shape, strides=strides)


def adaptive(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower means of windows that cover the input, or their gradient."""
    x, out = i.inputs[0], i.outputs[0]
    back = i.op == "adaptive_avg_pool_grad"
    large, small = (out, x) if back else (x, out)
    return _both_ways(i, ex, x, taps.adaptive_tables(large.shape[2:], small.shape[2:]), back)


def _both_ways(
    i: Instruction, ex: LoweringContext, x: Value, tables: Sequence[Table], back: bool
) -> Native | str:
    if back:
        tables = [t.transposed for t in tables]
    return _sums(i, ex, x, taps.sequence(x.shape, tables))


LOWERINGS: dict[str, Lowering] = {
    "im2col": columns, "col2im": columns, "unfold_grad": lines, **dict.fromkeys(_KINDS, sampled),
    "resample_axis": InFloat32(resample), "resample_axis_back": InFloat32(resample),
}  # fmt: skip
