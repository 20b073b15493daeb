"""Windows in a schedule: images as columns (unfold), columns added up (fold), the gradient of a tensor's windows; images sampled at
positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...ir import Instruction, Value
from ...ir.program import row_major
from ..lowered import OTHER, Native, compact, copied, served, steps
from ..pointwise.loop import Access
from ..schedule import Schedule
from . import fold as windows
from . import grid


def columns(i: Instruction, ex: Any) -> Native | str:
    """Windows of images as columns, or columns added up."""
    x, out, p = i.inputs[0], i.outputs[0], i.params
    back = i.op == "col2im"
    function = windows.native(x.dtype, back) if isinstance(x, Value) else None
    if function is None or not served(x, out) or x.dtype != out.dtype or not out.contiguous or not x.size or not out.size:
        return OTHER
    n, c, *size = (out if back else x).shape
    w = windows.Windows(tuple(size), p["kernel"], p["dilation"], p["padding"], p["stride"])
    title = f"{i.op} of {n * c} images of {size[0]}x{size[1]}"

    def emit(schedule: Schedule) -> None:
        places = [compact(ex, schedule, x), ex.place(out, schedule)]
        schedule.native(function, ["team", *places, *w.numbers(n * c, back)], title)

    return Native(emit, title, x.nbytes + out.nbytes, x.size if back else 0)


def lines(i: Instruction, ex: Any) -> Native | str:
    """The gradient of a dimension's windows: each line of them is added up as the columns of an image of one row."""
    g, out = i.inputs[0], i.outputs[0]
    dim, size, step = i.params["dim"], i.params["size"], i.params["step"]
    function = windows.native(g.dtype, True) if isinstance(g, Value) else None
    if function is None or not served(g, out) or g.dtype != out.dtype or not out.contiguous or not g.size or not out.shape:
        return OTHER
    inner = math.prod(out.shape[dim + 1 :])
    w = windows.Windows((1, out.shape[dim]), (1, size), (1, 1), (0, 0), (1, step))
    # What comes behind the dimension stands before it in the columns, and in the rows that are made.
    order = (*range(dim), *range(dim + 1, len(out.shape)))
    title = f"{i.op}: {'x'.join(map(str, g.shape))} to {'x'.join(map(str, out.shape))}"

    def moved(shape: tuple[int, ...], turned: tuple[int, ...]) -> tuple[int, ...]:
        """Strides over a shape whose dimensions lie in another order."""
        own = row_major(tuple(shape[d] for d in turned), 1)
        return tuple(own[turned.index(d)] for d in range(len(shape)))

    def emit(schedule: Schedule) -> None:
        turned = schedule.room(g.nbytes)
        write = Access(g.dtype, moved(g.shape, (*order, len(g.shape) - 1, dim)))
        copied(schedule, g.shape, ex.place(g, schedule), Access(g.dtype, steps(g)), turned, write)
        rows = ex.place(out, schedule) if inner == 1 else schedule.room(out.nbytes)
        schedule.native(function, ["team", turned, rows, *w.numbers(out.size // out.shape[dim], True)], title)
        if inner > 1:
            read = Access(out.dtype, moved(out.shape, (*order, dim)))
            copied(schedule, out.shape, rows, read, ex.place(out, schedule), Access(out.dtype, steps(out)))

    return Native(emit, title, g.nbytes + out.nbytes, g.size)


_KINDS = {"grid_sampler_2d": "sample", "grid_sampler_3d": "sample", "grid_image_grad": "image", "grid_positions_grad": "grid"}


def sampled(i: Instruction, ex: Any) -> Native | str:
    """Images at the positions of a grid, and both gradients."""
    values, out, kind = i.inputs, i.outputs[0], _KINDS[i.op]
    if not served(*values, out) or any(v.dtype != out.dtype for v in values) or not out.contiguous:
        return OTHER
    p = i.params
    function = grid.native(kind, grid.Sampling(len(values[0].shape) - 2, p["mode"], p["padding"], p["align"], out.dtype))
    images = {"sample": values[0], "image": out, "grid": values[1]}[kind].shape
    if function is None or not out.size or not all(v.size for v in values) or math.prod(images[2:]) >= 1 << 31:
        return OTHER
    points = math.prod(values[-1].shape[1:-1])
    title = f"{i.op} of {'x'.join(map(str, images))} at {points} positions"

    def emit(schedule: Schedule) -> None:
        places = [*(compact(ex, schedule, v) for v in values), ex.place(out, schedule)]
        schedule.native(function, ["team", *places, *grid.numbers(kind, images, points)], title)

    moved = sum(v.nbytes for v in values) + out.nbytes
    return Native(emit, title, moved, 8 * images[0] * images[1] * points)


LOWERINGS: dict[str, Callable[[Instruction, Any], Native | str]] = {
    "im2col": columns, "col2im": columns, "unfold_grad": lines, **dict.fromkeys(_KINDS, sampled),
}  # fmt: skip
