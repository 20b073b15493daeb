"""Lowerings of normalization, embedding, softmax and cross entropy: calls of the kernels that eager
execution uses, on the memory of the compiled step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import IndexOutOfRangeError
from ...ir import Extra, Instruction, Value, ValueRef
from ...ir.program import ITEMSIZE
from ..indexing import embedding
from ..indexing import lower as indexing
from ..lowered import (
    OTHER,
    Handed,
    InFloat32,
    Lowering,
    LoweringContext,
    Native,
    compact,
    copied,
    dense,
    gradients,
    places,
    room,
    strided,
    value_of,
)
from ..pointwise.loop import Access, Loop, PointwiseOp, Reduce, Write
from ..schedule import Address, Schedule
from ..windows import lower as windows
from . import channel_norm, norm, softmax
from .lower_attention import scaled_dot_product_attention, scaled_dot_product_attention_vjp


# ---- layer and RMS norm -----------------------------------------------------------------------------
def layer_norm(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower layer and RMS norm to one call. The statistics go to the memory that the gradient rule
    reads.
    """
    x, weight, bias = i.inputs
    shape, centered = tuple(i.params["shape"]), bool(i.params["centered"])
    columns = math.prod(shape)
    function = norm.native("layer_norm", x.dtype)
    if (
        function is None
        or not columns
        or not x.size
        or x.shape[len(x.shape) - len(shape) :] != shape
    ):
        return OTHER
    if not dense(x, weight, bias, i.outputs[0], *i.extras, dtype=x.dtype) or (
        weight is None and bias is not None
    ):
        return OTHER
    rows = x.size // columns
    if len(i.extras) not in (0, 1 + centered) or any(e.size != rows for e in i.extras):
        return OTHER

    def emit(schedule: Schedule) -> None:
        statistics = places(ex, schedule, *i.extras) or [
            room(schedule, rows, x.dtype) for _ in range(1 + centered)
        ]
        mean, rstd = statistics if centered else (None, statistics[0])
        arrays = places(ex, schedule, x, weight, bias, i.outputs[0])
        numbers = (columns, float(i.params["eps"]), int(centered), rows, norm.grain_of(columns))
        schedule.native(
            function, ["team", *arrays, mean, rstd, *numbers], f"layer norm of {rows}x{columns}"
        )

    return Native(emit, f"layer norm of {rows} rows", 8 * x.size, 8 * x.size)


def layer_norm_vjp(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the gradient to one call, followed by the sums of the partial gradients of weight and
    bias.
    """
    x, weight = (value_of(v) for v in i.params["s"][:2])
    statistics, g = i.params["s"][3].instruction.extras, value_of(i.params["g"])
    params = i.params["params"]
    centered, columns = bool(params["centered"]), math.prod(params["shape"])
    gx, gw, gb = gradients(i)
    if len(statistics) != 1 + centered or not isinstance(x, Value) or not isinstance(g, Value):
        return OTHER
    function, kind = norm.native("layer_norm_backward", x.dtype), x.dtype
    if function is None or not x.size or g.shape != x.shape:
        return OTHER
    if not dense(x, weight, gx, gw, gb, *statistics, dtype=kind) or not strided(g, dtype=kind):
        return OTHER
    rows = x.size // columns
    chunks = -(-rows // norm.ROWS_A_PARTIAL)

    def emit(schedule: Schedule) -> None:
        mean, rstd = (None, statistics[0]) if not centered else statistics
        out = ex.place(gx, schedule) if gx is not None else room(schedule, x.size, kind)
        partial = None
        if weight is not None:
            partial = room(schedule, 2 * chunks * columns, kind)
            schedule.zero(partial, 2 * ITEMSIZE[kind] * chunks * columns)
        arrays = [compact(ex, schedule, g), *places(ex, schedule, x, weight, mean, rstd)]
        grain = max(1, norm.grain_of(columns) // norm.ROWS_A_PARTIAL)
        numbers = (columns, rows, int(centered), chunks, grain)
        schedule.native(
            function,
            ["team", *arrays, out, partial, *numbers],
            f"layer norm backward of {rows}x{columns}",
        )
        for k, v in enumerate((gw, gb)):
            if v is not None and partial is not None:
                read = Access(kind, (2 * columns, 1))
                add = Reduce("sum", ("in", 0), (0,), Access(kind, (0, 1)), kind)
                loop = Loop((chunks, columns), (read,), (), (), (), (add,))
                schedule.loop(
                    loop, [partial.at(ITEMSIZE[kind] * k * columns), ex.place(v, schedule)]
                )

    if weight is None and (gw is not None or gb is not None):
        return OTHER
    return Native(emit, f"layer norm backward of {rows} rows", 12 * x.size, 15 * x.size)


# ---- batch norm -------------------------------------------------------------------------------------
def _channels(x: Value) -> tuple[int, int, int]:
    return x.shape[0], x.shape[1], math.prod(x.shape[2:])


@dataclass(frozen=True)
class _Turned:
    """The layout of images of few pixels with channels last, where each pixel is a row."""

    batch: int
    channels: int
    inner: int
    dtype: str

    def copied(
        self, schedule: Schedule, source: Address, target: Address, back: bool = False
    ) -> None:
        planes = (self.channels * self.inner, 1, self.inner)
        last = (self.inner * self.channels, self.channels, 1)
        read, write = (last, planes) if back else (planes, last)
        shape = (self.batch, self.inner, self.channels)
        copied(schedule, shape, source, Access(self.dtype, read), target, Access(self.dtype, write))


def _side_by_side(x: Value) -> tuple[_Turned | None, tuple[int, int, int]]:
    """Return how the operands of a batch norm must be laid out first (None if they need not), and
    the sizes that the kernel is called with. Another layout is needed for images of few pixels.
    """
    sizes = _channels(x)
    if channel_norm.wide(*sizes):
        return None, sizes
    batch, channels, inner = sizes
    return _Turned(*sizes, x.dtype), (batch * inner, channels, 1)


def batch_norm(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower batch norm to one call. Running statistics are updated by another instruction."""
    x, weight, bias = i.inputs
    if (
        not dense(x, weight, bias, i.outputs[0], *i.extras, dtype=x.dtype)
        or len(i.extras) != 2
        or len(x.shape) < 2
        or not x.size
    ):
        return OTHER
    kind, turned, sizes = x.dtype, *_side_by_side(x)
    made = channel_norm.native("batch_norm", *sizes, kind)
    if made is None:
        return OTHER
    function, tasks, grain = made

    def emit(schedule: Schedule) -> None:
        source, to = places(ex, schedule, x, i.outputs[0])
        read, written = source, to
        if turned:
            read, written = (room(schedule, x.size, kind) for _ in range(2))
            turned.copied(schedule, source, read)
        affine = places(ex, schedule, weight, bias)
        arrays = [read, *affine, written, *places(ex, schedule, *i.extras), None, None]
        numbers = (*sizes, float(i.params["eps"]), 0.0, tasks, grain)
        title = "batch norm of " + "x".join(map(str, x.shape))
        schedule.native(function, ["team", *arrays, *numbers], title)
        if turned:
            turned.copied(schedule, written, to, back=True)

    return Native(emit, "batch norm", 8 * x.size, 8 * x.size)


def batch_norm_vjp(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the gradient of batch norm to one call."""
    x, weight = (value_of(v) for v in i.params["s"][:2])
    statistics, g = i.params["s"][3].instruction.extras, value_of(i.params["g"])
    gx, gw, gb = gradients(i)
    if (
        len(statistics) != 2
        or not isinstance(x, Value)
        or not isinstance(g, Value)
        or g.shape != x.shape
        or not x.size
    ):
        return OTHER
    kind = x.dtype
    if (
        not dense(x, weight, gx, gw, gb, *statistics, dtype=kind)
        or not strided(g, dtype=kind)
        or len(x.shape) < 2
    ):
        return OTHER
    turned, sizes = _side_by_side(x)
    made = channel_norm.native("batch_norm_backward", *sizes, kind)
    if made is None:
        return OTHER
    function, tasks, grain = made

    def emit(schedule: Schedule) -> None:
        arrays = [compact(ex, schedule, g), *places(ex, schedule, x, weight, *statistics)]
        rooms = [
            room(schedule, n, kind) if v is None else ex.place(v, schedule)
            for v, n in ((gx, x.size), (gw, sizes[1]), (gb, sizes[1]))
        ]
        to = rooms[0]
        if turned:
            rooms[0] = room(schedule, x.size, kind)
            for k in range(2):
                laid = room(schedule, x.size, kind)
                turned.copied(schedule, arrays[k], laid)
                arrays[k] = laid
        title = "batch norm backward of " + "x".join(map(str, x.shape))
        schedule.native(function, ["team", *arrays, *rooms, *sizes, tasks, grain], title)
        if turned and gx is not None:
            turned.copied(schedule, rooms[0], to, back=True)

    return Native(emit, "batch norm backward", 20 * x.size, 15 * x.size)


def move_by_saved(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the update of running statistics from those of the batch: the mean, and 1 / rstd^2 -
    eps in double, as in the eager rule.
    """
    running, mean, rstd, shape, momentum, eps = i.params["args"]
    mean, rstd = value_of(mean), value_of(rstd)
    targets = [value_of(r) for r in running]
    if (
        None in (mean, rstd)
        or None in targets
        or not isinstance(mean, Value)
        or mean.dtype not in ("float32", "float64")
    ):
        return OTHER
    kind = mean.dtype
    if not dense(mean, rstd, *targets, dtype=kind) or mean.size != shape[1]:
        return OTHER
    count = math.prod(shape) // max(shape[1], 1)
    ratio, keep = count / max(count - 1, 1), float(np.dtype(kind).type(1 - momentum))
    steps = (
        PointwiseOp("mul", (("in", 0), ("const", keep)), kind),
        PointwiseOp("mul", (("in", 1), ("const", float(momentum))), kind),
        PointwiseOp("add", (("step", 0), ("step", 1)), kind),
        PointwiseOp("cast", (("in", 2),), "float64"),
        PointwiseOp("mul", (("step", 3), ("step", 3)), "float64"),
        PointwiseOp("div", (("const", 1.0), ("step", 4)), "float64"),
        PointwiseOp("sub", (("step", 5), ("const", float(eps))), "float64"),
        PointwiseOp("mul", (("step", 6), ("const", ratio)), "float64"),
        PointwiseOp("mul", (("step", 7), ("const", float(momentum))), "float64"),
        PointwiseOp("cast", (("step", 8),), kind),
        PointwiseOp("mul", (("in", 3), ("const", keep)), kind),
        PointwiseOp("add", (("step", 10), ("step", 9)), kind),
    )
    each = Access(kind, (1,))
    loop = Loop(
        (shape[1],), (each,) * 4, (), steps, (Write(("step", 2), each), Write(("step", 11), each))
    )

    def emit(schedule: Schedule) -> None:
        values = (targets[0], mean, rstd, targets[1], *targets)
        schedule.loop(
            loop, places(ex, schedule, *values), title=f"running statistics of {shape[1]} channels"
        )

    return Native(emit, "running statistics", 24 * shape[1], 12 * shape[1])


# ---- embedding --------------------------------------------------------------------------------------
def _refusal(i: Instruction, ex: LoweringContext) -> Callable[[], None]:
    """Return a function that runs the check again in Python, on the arrays of the call that was
    refused, which raises its error.
    """

    def refuse() -> None:
        given = ex.tree(i.params)(ex.refused)
        i.record[0](*given["args"], **given["kwargs"])

    return refuse


def _out_of_range() -> None:
    raise IndexOutOfRangeError("index out of range in self", op="embedding")


def _good_index(index: Any) -> bool:
    return isinstance(index, Value) and index.dtype == "int64" and index.contiguous


def check_rows(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the check that all indices are in the table."""
    _, index, rows = i.params["args"]
    index, function = value_of(index), embedding.native("inside")
    if function is None or not _good_index(index):
        return indexing.check_rows(i, ex)

    def emit(schedule: Schedule) -> None:
        schedule.require(
            function,
            [ex.place(index, schedule), index.size, rows],
            _refusal(i, ex),
            f"check of {index.size} indices",
        )

    return Native(emit, "check of indices", index.nbytes, index.size)


def embedding_rows(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower an embedding. The indices are checked again, since memory is read at them."""
    table, index = i.inputs[0], value_of(i.params["index"])
    out = i.outputs[0]
    inside, function = embedding.native("inside"), embedding.native("gather_float")
    if (
        inside is None
        or function is None
        or not dense(table, out)
        or len(table.shape) != 2
        or not _good_index(index)
        or not out.size
    ):
        return indexing.rows(i, ex)
    columns = table.shape[1]

    def emit(schedule: Schedule) -> None:
        at = ex.place(index, schedule)
        schedule.require(
            inside,
            [at, index.size, table.shape[0]],
            _out_of_range,
            f"check of {index.size} indices",
        )
        arrays = [ex.place(table, schedule), at, ex.place(out, schedule)]
        grain = max(1, embedding.GRAIN // columns)
        schedule.native(
            function,
            ["team", *arrays, columns, index.size, grain],
            f"embedding of {index.size}x{columns}",
        )

    return Native(emit, "embedding", 2 * out.nbytes + index.nbytes, 0)


def embedding_grad(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the gradient of an embedding: rows added to a table of zeros, in order."""
    g, index, rows = i.inputs[0], value_of(i.params["index"]), i.params["rows"]
    out = i.outputs[0]
    inside, function = embedding.native("inside"), embedding.native("scatter_float")
    if (
        inside is None
        or function is None
        or not dense(g, out)
        or not _good_index(index)
        or not g.size
        or g.shape[:-1] != index.shape
    ):
        return indexing.rows_grad(i, ex)
    columns = g.shape[-1]

    def emit(schedule: Schedule) -> None:
        at, where = ex.place(index, schedule), ex.place(out, schedule)
        schedule.require(
            inside, [at, index.size, rows], _out_of_range, f"check of {index.size} indices"
        )
        schedule.zero(where, out.nbytes)
        numbers = (index.size, columns, -1, columns, embedding.share(g.size, columns))
        schedule.native(
            function,
            ["team", ex.place(g, schedule), at, where, *numbers],
            f"embedding backward of {g.size} values",
        )

    return Native(emit, "embedding backward", 2 * g.nbytes + out.nbytes, g.size)


# ---- softmax, means over images ----------------------------------------------------------------------
def softmax_rows(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower softmax or its logarithm over the last dimension."""
    x, out, dim = i.inputs[0], i.outputs[0], i.params.get("dim")
    if (
        not softmax.available()
        or not dense(x, out)
        or not x.shape
        or not x.size
        or len(i.outputs) != 1
    ):
        return OTHER
    if (
        not isinstance(dim, int)
        or dim % len(x.shape) != len(x.shape) - 1
        or set(i.params) - {"dim"}
    ):
        return OTHER
    columns = x.shape[-1]
    rows = x.size // columns
    function = softmax.native(i.op)

    def emit(schedule: Schedule) -> None:
        numbers = (columns, rows, softmax.grain(columns))
        schedule.native(
            function,
            ["team", ex.place(x, schedule), ex.place(out, schedule), *numbers],
            f"{i.op} of {rows}x{columns}",
        )

    return Native(emit, f"{i.op} of {rows} rows", 8 * x.size, 10 * x.size)


def _kind(x: Any) -> str:
    """Return float64 for a value of that dtype, else float32."""
    return "float64" if isinstance(x, Value) and x.dtype == "float64" else "float32"


def average(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower an adaptive average pooling to size one: the mean of each plane."""
    x, out = i.inputs[0], i.outputs[0]
    kind = _kind(x)
    if (
        not dense(x, out, dtype=kind)
        or not x.size
        or len(x.shape) < 3
        or out.size != math.prod(x.shape[:2])
    ):
        return windows.adaptive(i, ex)
    planes, size = math.prod(x.shape[:2]), math.prod(x.shape[2:])
    mean = Reduce("mean", ("in", 0), (1,), Access(kind, (1, 0)), kind)
    loop = Loop((planes, size), (Access(kind, (size, 1)),), (), (), (), (mean,))

    def emit(schedule: Schedule) -> None:
        schedule.loop(
            loop,
            [ex.place(x, schedule), ex.place(out, schedule)],
            title=f"means of {planes} planes",
        )

    return Native(emit, "means of planes", x.nbytes, x.size)


def average_grad(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower its gradient: the gradient of each plane divided by its size, for all elements of the
    plane.
    """
    g, out = i.inputs[0], i.outputs[0]
    kind = _kind(g)
    if (
        not dense(g, out, dtype=kind)
        or not out.size
        or len(out.shape) < 3
        or g.size != math.prod(out.shape[:2])
    ):
        return windows.adaptive(i, ex)
    planes, size = g.size, math.prod(out.shape[2:])
    step = PointwiseOp("div", (("in", 0), ("const", float(size))), kind)
    loop = Loop(
        (planes, size),
        (Access(kind, (1, 0)),),
        (),
        (step,),
        (Write(("step", 0), Access(kind, (size, 1))),),
    )

    def emit(schedule: Schedule) -> None:
        schedule.loop(
            loop,
            [ex.place(g, schedule), ex.place(out, schedule)],
            title=f"gradient of {planes} means",
        )

    return Native(emit, "gradient of means", out.nbytes, out.size)


def _aux(arrays: list[np.ndarray]) -> Any:
    return ("kernel", *arrays) if len(arrays) == 2 else ("kernel", None, *arrays)


# Convert what the native code of an operation saves to the form that its gradient rule expects.
_REALS = {"float32": "float", "float64": "double"}


def cross_entropy(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the mean or sum over rows, with what its gradient needs, and the check of the classes."""
    x, target = i.inputs[0], i.params["target"].value
    reduction = i.params["reduction"]
    if reduction not in ("mean", "sum") or not i.extras or not softmax.available():
        return "a reduction or layout that only the eager kernel serves"
    rows, columns = x.shape
    memory, kind, size = i.extras[0].buffer, x.dtype, ITEMSIZE[x.dtype]
    if kind not in _REALS or not strided(x, dtype=kind):
        return "a layout that only the eager kernel serves"
    if not (target.contiguous and target.dtype == "int64" and memory.size == 4 * size * rows):
        return "a layout that only the eager kernel serves"
    bad = np.zeros(2, np.int64)
    ignore = i.params["ignore_index"]

    def emit(schedule: Any) -> None:
        losses = ex.place(Value(memory, kind, (rows,), (size,), 0), schedule)
        schedule.cross_entropy(
            compact(ex, schedule, x),
            ex.place(target, schedule),
            losses,
            ex.place(i.outputs[0], schedule),
            bad,
            rows,
            columns,
            ignore,
            reduction == "mean",
            lambda: _refuse(bad, columns),
            _REALS[kind],
        )

    return Native(emit, f"cross entropy of {rows} rows", 4 * rows * columns, 5 * rows * columns)


def _refuse(bad: np.ndarray, classes: int) -> None:
    raise softmax.class_out_of_range(bad, classes)


def cross_entropy_vjp(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the gradient of the logits."""
    s, params, g = i.params["s"], i.params["params"], i.params["g"]
    extra = next((e for e in s if isinstance(e, Extra)), None)
    if (
        extra is None
        or not isinstance(g, ValueRef)
        or g.value.size != 1
        or g.value.dtype not in _REALS
        or not softmax.available()
    ):
        return "a gradient of another form"
    x = s[0].value
    target = params["target"].value
    kind = g.value.dtype
    if not (
        strided(x, dtype=kind) and target.contiguous and len(i.outputs) == 1 and i.outputs[0].whole
    ):
        return "a layout that only the eager kernel serves"
    rows, columns = x.shape
    saved = extra.instruction.extras
    sizes = [v.size for v in saved]
    if sizes not in ([2 * rows], [2 * rows, rows]) or any(
        v.dtype != kind or not v.contiguous for v in saved
    ):
        return "a gradient whose forward is not native"
    sums, used = saved if len(saved) == 2 else (saved[0], None)
    scaled = np.zeros(1, kind)

    def emit(schedule: Any) -> None:
        schedule.cross_entropy_backward(
            compact(ex, schedule, x),
            ex.place(target, schedule),
            ex.place(sums, schedule),
            ex.place(g.value, schedule),
            ex.place(i.outputs[0], schedule),
            None if used is None else ex.place(used, schedule),
            scaled,
            rows,
            columns,
            params["ignore_index"],
            _REALS[kind],
        )

    return Native(
        emit, f"cross entropy backward of {rows} rows", 8 * rows * columns, 5 * rows * columns
    )


HANDED: dict[str, Handed] = {
    "cross_entropy": lambda arrays: ("kernel", (arrays[0], arrays[1] if len(arrays) > 1 else None)),
    "layer_norm": _aux,
    "batch_norm": _aux,
    "scaled_dot_product_attention": lambda arrays: ("kernel", *arrays),
}

LOWERINGS: dict[str, Lowering] = {
    "cross_entropy": InFloat32(cross_entropy),
    "cross_entropy_vjp": InFloat32(cross_entropy_vjp),
    "layer_norm": InFloat32(layer_norm),
    "layer_norm_vjp": InFloat32(layer_norm_vjp),
    "batch_norm": InFloat32(batch_norm),
    "batch_norm_vjp": InFloat32(batch_norm_vjp),
    "_move_by_saved": InFloat32(move_by_saved),
    "scaled_dot_product_attention": InFloat32(scaled_dot_product_attention),
    "scaled_dot_product_attention_vjp": InFloat32(scaled_dot_product_attention_vjp),
    "_check_rows": check_rows,
    "_check_bag_rows": check_rows,
    "_check_summed_rows": check_rows,
    "embedding": embedding_rows,
    "embedding_grad": embedding_grad,
    "softmax": InFloat32(softmax_rows),
    "log_softmax": InFloat32(softmax_rows),
    "adaptive_avg_pool": InFloat32(average),
    "adaptive_avg_pool_grad": InFloat32(average_grad),
}
