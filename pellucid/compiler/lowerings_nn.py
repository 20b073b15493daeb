"""Normalization, attention and embedding in a schedule: calls of the kernels that eager execution uses, on the step's memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..codegen import attention, channel_norm, embedding, matmul, norm, softmax, threads
from ..codegen.loops import Access, Loop, Reduce, Step, Write
from ..codegen.schedule import Place, Schedule
from ..core.primitive import PRIMITIVES
from ..errors import IndexOutOfRangeError
from ..ir import Instruction, Ref, Value
from ..ir.program import refs, row_major
from .lowered import Native

OTHER = "a layout or dtype that only the eager kernel serves"
FLOAT = Access("float32", (1,))


def dense(*values: Any) -> bool:
    """Whether these are contiguous float32 values (or left out)."""
    return all(v is None or (isinstance(v, Value) and v.dtype == "float32" and v.contiguous) for v in values)


def value_of(x: Any) -> Any:
    return x.value if isinstance(x, Ref) else x


def room(schedule: Schedule, floats: int) -> Place:
    """Working memory of an item."""
    return schedule.room(4 * max(floats, 1))


def compact(ex: Any, schedule: Schedule, v: Value) -> Place:
    """Where a float32 value lies without gaps: a copy, if it is a view with gaps."""
    if v.contiguous:
        return ex.place(v, schedule)  # type: ignore[no-any-return]
    copy, strides = room(schedule, v.size), [s // 4 for s in row_major(v.shape, 4)]
    read = Access("float32", tuple(0 if n == 1 else s // 4 for n, s in zip(v.shape, v.strides, strict=True)))
    loop = Loop(v.shape, (read,), (), (), (Write(("in", 0), Access("float32", tuple(strides))),))
    schedule.loop(loop, [ex.place(v, schedule), copy], title=f"copy of {v.size} values")
    return copy


def places(ex: Any, schedule: Schedule, *values: Value | None) -> list[Place | None]:
    return [None if v is None else ex.place(v, schedule) for v in values]


def gradients(i: Instruction) -> list[Value | None]:
    """Where a rule's results go, for each of the operation's inputs."""
    return [v if v in i.outputs else None for v in i.record[1]]


# ---- layer and RMS norm -----------------------------------------------------------------------------
def layer_norm(i: Instruction, ex: Any) -> Native | str:
    """One call; the statistics go to the memory that the gradient reads."""
    x, weight, bias = i.inputs
    shape, centered = tuple(i.params["shape"]), bool(i.params["centered"])
    columns = math.prod(shape)
    function = norm.native("layer_norm")
    if function is None or not columns or not x.size or x.shape[len(x.shape) - len(shape) :] != shape:
        return OTHER
    if not dense(x, weight, bias, i.outputs[0], *i.extras) or (weight is None and bias is not None):
        return OTHER
    rows = x.size // columns
    if len(i.extras) not in (0, 1 + centered) or any(e.size != rows for e in i.extras):
        return OTHER

    def emit(schedule: Schedule) -> None:
        statistics = places(ex, schedule, *i.extras) or [room(schedule, rows) for _ in range(1 + centered)]
        mean, rstd = statistics if centered else (None, statistics[0])
        arrays = places(ex, schedule, x, weight, bias, i.outputs[0])
        numbers = (columns, float(i.params["eps"]), int(centered), rows, norm.grain_of(columns))
        schedule.native(function, ["team", *arrays, mean, rstd, *numbers], f"layer norm of {rows}x{columns}")

    return Native(emit, f"layer norm of {rows} rows", 8 * x.size, 8 * x.size)


def layer_norm_vjp(i: Instruction, ex: Any) -> Native | str:
    """One call, and the sums of the partial gradients of weight and bias."""
    x, weight = (value_of(v) for v in i.params["s"][:2])
    statistics, g = i.params["s"][3].instruction.extras, value_of(i.params["g"])
    params = i.params["params"]
    centered, columns = bool(params["centered"]), math.prod(params["shape"])
    gx, gw, gb = gradients(i)
    function = norm.native("layer_norm_backward")
    if function is None or len(statistics) != 1 + centered or not isinstance(x, Value) or not isinstance(g, Value):
        return OTHER
    if not dense(x, weight, g, gx, gw, gb, *statistics) or not x.size or g.shape != x.shape:
        return OTHER
    rows = x.size // columns
    chunks = -(-rows // norm.ROWS_A_PARTIAL)

    def emit(schedule: Schedule) -> None:
        mean, rstd = (None, statistics[0]) if not centered else statistics
        out = ex.place(gx, schedule) if gx is not None else room(schedule, x.size)
        partial = None
        if weight is not None:
            partial = room(schedule, 2 * chunks * columns)
            schedule.zero(partial, 8 * chunks * columns)
        arrays = places(ex, schedule, g, x, weight, mean, rstd)
        grain = max(1, norm.grain_of(columns) // norm.ROWS_A_PARTIAL)
        numbers = (columns, rows, int(centered), chunks, grain)
        schedule.native(function, ["team", *arrays, out, partial, *numbers], f"layer norm backward of {rows}x{columns}")
        for k, v in enumerate((gw, gb)):
            if v is not None and partial is not None:
                read = Access("float32", (2 * columns, 1))
                add = Reduce("sum", ("in", 0), (0,), Access("float32", (0, 1)), "float32")
                loop = Loop((chunks, columns), (read,), (), (), (), (add,))
                schedule.loop(loop, [partial.at(4 * k * columns), ex.place(v, schedule)])

    if weight is None and (gw is not None or gb is not None):
        return OTHER
    return Native(emit, f"layer norm backward of {rows} rows", 12 * x.size, 15 * x.size)


# ---- batch norm -------------------------------------------------------------------------------------
def _channels(x: Value) -> tuple[int, int, int]:
    return x.shape[0], x.shape[1], math.prod(x.shape[2:])


def batch_norm(i: Instruction, ex: Any) -> Native | str:
    """One call; running statistics are moved by another instruction."""
    x, weight, bias = i.inputs
    if not dense(x, weight, bias, i.outputs[0], *i.extras) or len(i.extras) != 2 or len(x.shape) < 2 or not x.size:
        return OTHER
    sizes = _channels(x)
    made = channel_norm.native("batch_norm", *sizes)
    if made is None:
        return OTHER
    function, tasks, grain = made

    def emit(schedule: Schedule) -> None:
        arrays = places(ex, schedule, x, weight, bias, i.outputs[0], *i.extras, None, None)
        numbers = (*sizes, float(i.params["eps"]), 0.0, tasks, grain)
        schedule.native(function, ["team", *arrays, *numbers], "batch norm of " + "x".join(map(str, x.shape)))

    return Native(emit, "batch norm", 8 * x.size, 8 * x.size)


def batch_norm_vjp(i: Instruction, ex: Any) -> Native | str:
    """One call."""
    x, weight = (value_of(v) for v in i.params["s"][:2])
    statistics, g = i.params["s"][3].instruction.extras, value_of(i.params["g"])
    gx, gw, gb = gradients(i)
    if len(statistics) != 2 or not isinstance(x, Value) or not isinstance(g, Value) or g.shape != x.shape or not x.size:
        return OTHER
    if not dense(x, weight, g, gx, gw, gb, *statistics) or len(x.shape) < 2:
        return OTHER
    sizes = _channels(x)
    made = channel_norm.native("batch_norm_backward", *sizes)
    if made is None:
        return OTHER
    function, tasks, grain = made

    def emit(schedule: Schedule) -> None:
        arrays = places(ex, schedule, g, x, weight, *statistics)
        rooms = [
            room(schedule, n) if v is None else ex.place(v, schedule) for v, n in ((gx, x.size), (gw, sizes[1]), (gb, sizes[1]))
        ]
        title = "batch norm backward of " + "x".join(map(str, x.shape))
        schedule.native(function, ["team", *arrays, *rooms, *sizes, tasks, grain], title)

    return Native(emit, "batch norm backward", 20 * x.size, 15 * x.size)


def move_by_saved(i: Instruction, ex: Any) -> Native | str:
    """Running statistics towards the batch's: mean, and 1 / rstd^2 - eps in double, as the eager rule has it."""
    running, mean, rstd, shape, momentum, eps = i.params["args"]
    mean, rstd = value_of(mean), value_of(rstd)
    targets = [value_of(r) for r in running]
    if not dense(mean, rstd, *targets) or None in (mean, rstd) or None in targets or mean.size != shape[1]:
        return OTHER
    count = math.prod(shape) // max(shape[1], 1)
    ratio, keep = count / max(count - 1, 1), float(np.float32(1 - momentum))
    steps = (
        Step("mul", (("in", 0), ("const", keep)), "float32"),
        Step("mul", (("in", 1), ("const", float(momentum))), "float32"),
        Step("add", (("step", 0), ("step", 1)), "float32"),
        Step("cast", (("in", 2),), "float64"),
        Step("mul", (("step", 3), ("step", 3)), "float64"),
        Step("div", (("const", 1.0), ("step", 4)), "float64"),
        Step("sub", (("step", 5), ("const", float(eps))), "float64"),
        Step("mul", (("step", 6), ("const", ratio)), "float64"),
        Step("mul", (("step", 7), ("const", float(momentum))), "float64"),
        Step("cast", (("step", 8),), "float32"),
        Step("mul", (("in", 3), ("const", keep)), "float32"),
        Step("add", (("step", 10), ("step", 9)), "float32"),
    )
    loop = Loop((shape[1],), (FLOAT,) * 4, (), steps, (Write(("step", 2), FLOAT), Write(("step", 11), FLOAT)))

    def emit(schedule: Schedule) -> None:
        values = (targets[0], mean, rstd, targets[1], *targets)
        schedule.loop(loop, places(ex, schedule, *values), title=f"running statistics of {shape[1]} channels")  # type: ignore[arg-type]

    return Native(emit, "running statistics", 24 * shape[1], 12 * shape[1])


# ---- attention --------------------------------------------------------------------------------------
def _rows_serve(*values: Any) -> bool:
    for v in values:
        if not isinstance(v, Value) or v.dtype != "float32" or len(v.shape) != 4 or not v.size or any(s % 4 for s in v.strides):
            return False
        if (v.shape[3] > 1 and v.strides[3] != 4) or (v.shape[2] > 1 and v.strides[2] < 4 * v.shape[3]):
            return False
    return True


def _attention(
    i: Instruction, ex: Any, backward: bool, operands: Sequence[Value | None], lse: Value, causal: bool, scale: float
) -> Native | str:
    q, k, v = operands[:3]
    others = [o for o in operands if o is not None]
    if not _rows_serve(*others) or not dense(lse) or not (q.shape[:2] == k.shape[:2] == v.shape[:2] and k.shape[2] == v.shape[2]):  # type: ignore[union-attr]
        return OTHER
    assert q is not None and k is not None and v is not None
    if lse.shape != q.shape[:3]:
        return OTHER  # the weights, from the eager rule without a kernel
    function, gemm = attention.native("backward" if backward else "forward"), matmul.gemm_address()
    if function is None or gemm is None or q.shape[3] != k.shape[3]:
        return OTHER
    sizes = (*q.shape[:3], v.shape[2], q.shape[3], v.shape[3])
    each = attention.per_thread(q.shape[2], v.shape[2], backward)
    strides = []
    for o in operands:
        strides += [0, 0, 0] if o is None else [0 if n == 1 else s // 4 for n, s in zip(o.shape[:3], o.strides[:3], strict=True)]

    def emit(schedule: Schedule) -> None:
        team = threads.get_num_threads()
        ex.before.append(lambda: threads.get_num_threads() <= team)  # each thread has room of its own
        scratch, at = room(schedule, each * team), Place("kept", schedule.keep(gemm))
        arrays = places(ex, schedule, *operands)
        numbers = attention.numbers(sizes, causal, scale, backward)
        title = "attention" + " backward" * backward + " of " + "x".join(map(str, q.shape))
        schedule.native(function, ["team", *arrays, ex.place(lse, schedule), at, scratch, *strides, *numbers], title)

    flops = 2 * math.prod(sizes) // (1 + causal) * (5 if backward else 2) // max(sizes[5], 1)
    return Native(emit, "attention" + " backward" * backward, sum(o.nbytes for o in others), flops)


def scaled_dot_product_attention(i: Instruction, ex: Any) -> Native | str:
    """One call, without a mask but the causal one."""
    q, k, v, bias = i.inputs
    if bias is not None or len(i.extras) != 1:
        return OTHER
    operands = (q, k, v, None, i.outputs[0])
    return _attention(i, ex, False, operands, i.extras[0], bool(i.params["causal"]), i.params["scale"])


def scaled_dot_product_attention_vjp(i: Instruction, ex: Any) -> Native | str:
    """One call."""
    q, k, v, bias, *_, extra = (value_of(x) for x in i.params["s"])
    extras, g = extra.instruction.extras, value_of(i.params["g"])
    grads = gradients(i)
    if bias is not None or len(extras) != 1 or any(v is None for v in grads[:3]) or grads[3] is not None:
        return OTHER
    params = i.params["params"]
    operands = (q, k, v, None, g, *grads[:3])
    return _attention(i, ex, True, operands, extras[0], bool(params["causal"]), params["scale"])


# ---- embedding --------------------------------------------------------------------------------------
def _refusal(i: Instruction, ex: Any) -> Callable[[], None]:
    """Runs the check again, in Python, on the arrays of the call that was refused: it raises."""

    def refuse() -> None:
        given = ex.tree(i.params)(ex.refused)
        i.record[0](*given["args"], **given["kwargs"])

    return refuse


def _out_of_range() -> None:
    raise IndexOutOfRangeError("index out of range in self", op="embedding")


def _good_index(index: Any) -> bool:
    return isinstance(index, Value) and index.dtype == "int64" and index.contiguous


def check_rows(i: Instruction, ex: Any) -> Native | str:
    """All indices inside of the table."""
    _, index, rows = i.params["args"]
    index, function = value_of(index), embedding.native("inside")
    if function is None or not _good_index(index):
        return OTHER

    def emit(schedule: Schedule) -> None:
        schedule.require(function, [ex.place(index, schedule), index.size, rows], _refusal(i, ex), f"check of {index.size} indices")

    return Native(emit, "check of indices", index.nbytes, index.size)


def embedding_rows(i: Instruction, ex: Any) -> Native | str:
    """A copy of rows; the indices are checked once more, since memory is read at them."""
    table, index = i.inputs[0], value_of(i.params["index"])
    out = i.outputs[0]
    inside, function = embedding.native("inside"), embedding.native("gather_float")
    if inside is None or not dense(table, out) or len(table.shape) != 2 or not _good_index(index) or not out.size:
        return OTHER
    columns = table.shape[1]

    def emit(schedule: Schedule) -> None:
        at = ex.place(index, schedule)
        schedule.require(inside, [at, index.size, table.shape[0]], _out_of_range, f"check of {index.size} indices")
        arrays = [ex.place(table, schedule), at, ex.place(out, schedule)]
        grain = max(1, embedding.GRAIN // columns)
        schedule.native(function, ["team", *arrays, columns, index.size, grain], f"embedding of {index.size}x{columns}")  # type: ignore[arg-type]

    return Native(emit, "embedding", 2 * out.nbytes + index.nbytes, 0)


def embedding_grad(i: Instruction, ex: Any) -> Native | str:
    """Rows added to a table of zeros, in their order."""
    g, index, rows = i.inputs[0], value_of(i.params["index"]), i.params["rows"]
    out = i.outputs[0]
    inside, function = embedding.native("inside"), embedding.native("scatter_float")
    if inside is None or not dense(g, out) or not _good_index(index) or not g.size or g.shape[:-1] != index.shape:
        return OTHER
    columns = g.shape[-1]

    def emit(schedule: Schedule) -> None:
        at, where = ex.place(index, schedule), ex.place(out, schedule)
        schedule.require(inside, [at, index.size, rows], _out_of_range, f"check of {index.size} indices")
        schedule.zero(where, out.nbytes)
        numbers = (index.size, columns, -1, columns, embedding.share(g.size, columns))
        schedule.native(function, ["team", ex.place(g, schedule), at, where, *numbers], f"embedding backward of {g.size} values")  # type: ignore[arg-type]

    return Native(emit, "embedding backward", 2 * g.nbytes + out.nbytes, g.size)


# ---- concatenation ----------------------------------------------------------------------------------
def cat(i: Instruction, ex: Any) -> Native | str:
    """A copy of each input to its part of the result."""
    out = i.outputs[0]
    values = list(i.inputs)
    dim = i.params.get("dim", 0)
    if not all(isinstance(v, Value) and v.dtype == out.dtype for v in values) or not out.shape or not isinstance(dim, int):
        return OTHER
    dim %= len(out.shape)
    size = max(out.nbytes // max(out.size, 1), 1)
    parts, at = [], 0
    for v in values:
        if i.op == "stack":
            shape = (*v.shape[:dim], 1, *v.shape[dim:])
            strides = (*v.strides[:dim], 0, *v.strides[dim:])
        else:
            shape, strides = v.shape, v.strides
        if len(shape) != len(out.shape) or any(s % size for s in strides):
            return OTHER  # an empty one without dimensions, say
        if v.size:
            parts.append((v, shape, strides, Value(out.buffer, out.dtype, shape, out.strides, out.offset + at * out.strides[dim])))
        at += shape[dim]

    def emit(schedule: Schedule) -> None:
        for v, shape, strides, target in parts:
            read = Access(v.dtype, tuple(0 if n == 1 else s // size for n, s in zip(shape, strides, strict=True)))
            write = Write(("in", 0), Access(v.dtype, tuple(s // size for s in out.strides)))
            places = [ex.place(v, schedule), ex.place(target, schedule)]
            schedule.loop(Loop(shape, (read,), (), (), (write,)), places, title=f"{i.op}: part " + "x".join(map(str, shape)))

    if out.dtype.startswith(("complex", "float8")):
        return OTHER
    return Native(emit, i.op, 2 * out.nbytes, 0)


# ---- softmax, means over images ----------------------------------------------------------------------
def softmax_rows(i: Instruction, ex: Any) -> Native | str:
    """Softmax or its logarithm over the last dimension."""
    x, out, dim = i.inputs[0], i.outputs[0], i.params.get("dim")
    if not softmax.available() or not dense(x, out) or not x.shape or not x.size or len(i.outputs) != 1:
        return OTHER
    if not isinstance(dim, int) or dim % len(x.shape) != len(x.shape) - 1 or set(i.params) - {"dim"}:
        return OTHER
    columns = x.shape[-1]
    rows = x.size // columns
    function = softmax.native(i.op)

    def emit(schedule: Schedule) -> None:
        numbers = (columns, rows, softmax.grain(columns))
        schedule.native(function, ["team", ex.place(x, schedule), ex.place(out, schedule), *numbers], f"{i.op} of {rows}x{columns}")

    return Native(emit, f"{i.op} of {rows} rows", 8 * x.size, 10 * x.size)


def average(i: Instruction, ex: Any) -> Native | str:
    """The mean of each plane: an adaptive average pooling to size one."""
    x, out = i.inputs[0], i.outputs[0]
    if not dense(x, out) or not x.size or len(x.shape) < 3 or out.size != math.prod(x.shape[:2]):
        return OTHER
    planes, size = math.prod(x.shape[:2]), math.prod(x.shape[2:])
    mean = Reduce("mean", ("in", 0), (1,), Access("float32", (1, 0)), "float32")
    loop = Loop((planes, size), (Access("float32", (size, 1)),), (), (), (), (mean,))

    def emit(schedule: Schedule) -> None:
        schedule.loop(loop, [ex.place(x, schedule), ex.place(out, schedule)], title=f"means of {planes} planes")

    return Native(emit, "means of planes", x.nbytes, x.size)


def average_grad(i: Instruction, ex: Any) -> Native | str:
    """Each plane's gradient, divided by its size, for all its elements."""
    g, out = i.inputs[0], i.outputs[0]
    if not dense(g, out) or not out.size or len(out.shape) < 3 or g.size != math.prod(out.shape[:2]):
        return OTHER
    planes, size = g.size, math.prod(out.shape[2:])
    step = Step("div", (("in", 0), ("const", float(size))), "float32")
    loop = Loop((planes, size), (Access("float32", (1, 0)),), (), (step,), (Write(("step", 0), Access("float32", (size, 1))),))

    def emit(schedule: Schedule) -> None:
        schedule.loop(loop, [ex.place(g, schedule), ex.place(out, schedule)], title=f"gradient of {planes} means")

    return Native(emit, "gradient of means", out.nbytes, out.size)


def reshape(i: Instruction, ex: Any) -> Native | str:
    """A copy in the order of the elements, where a view would not do."""
    x, out = i.inputs[0], i.outputs[0]
    size = max(out.nbytes // max(out.size, 1), 1)
    if not isinstance(x, Value) or x.dtype != out.dtype or not out.contiguous or not out.size or any(s % size for s in x.strides):
        return OTHER
    if out.dtype.startswith(("complex", "float8")):
        return OTHER
    read = Access(x.dtype, tuple(0 if n == 1 else s // size for n, s in zip(x.shape, x.strides, strict=True)))
    write = Write(("in", 0), Access(x.dtype, tuple(s // size for s in row_major(x.shape, size))))

    def emit(schedule: Schedule) -> None:
        places = [ex.place(x, schedule), ex.place(out, schedule)]
        schedule.loop(Loop(x.shape, (read,), (), (), (write,)), places, title="reshape of " + "x".join(map(str, x.shape)))

    return Native(emit, "reshape", 2 * out.nbytes, 0)


def embed(i: Instruction, ex: Any) -> Native | str:
    """Zeros with the gradient at the place that a slice looked at."""
    g, out, op, how = i.inputs[0], i.outputs[0], i.params["op"], i.params["how"]
    size = out.nbytes // max(out.size, 1)
    if not isinstance(g, Value) or g.dtype != out.dtype or not out.whole or not g.size or any(s % size for s in g.strides):
        return OTHER
    if any(True for _ in refs(i.params)) or out.dtype.startswith(("complex", "float8", "bfloat")):
        return OTHER
    whole = np.empty(out.shape, out.dtype)
    part = PRIMITIVES[op].numpy_forward(whole, **how)
    if type(part) is not np.ndarray or part.shape != g.shape or not np.may_share_memory(part, whole):
        return OTHER
    reach = 0
    for stride, n in sorted((abs(s), n) for s, n in zip(part.strides, part.shape, strict=True) if n > 1):
        if stride <= reach:
            return "a slice whose elements share memory"
        reach += stride * (n - 1)
    offset = part.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    target = Value(out.buffer, out.dtype, g.shape, part.strides, out.offset + offset)
    read = Access(g.dtype, tuple(0 if n == 1 else s // size for n, s in zip(g.shape, g.strides, strict=True)))
    write = Write(("in", 0), Access(g.dtype, tuple(s // size for s in part.strides)))

    def emit(schedule: Schedule) -> None:
        if g.size < out.size:
            schedule.zero(ex.place(out, schedule), out.nbytes)
        places = [ex.place(g, schedule), ex.place(target, schedule)]
        schedule.loop(Loop(g.shape, (read,), (), (), (write,)), places, title=f"gradient of {op}")

    return Native(emit, f"gradient of {op}", out.nbytes + 2 * g.nbytes, 0)


def _aux(arrays: list[np.ndarray]) -> Any:
    return ("kernel", *arrays) if len(arrays) == 2 else ("kernel", None, *arrays)


# What the native code of an operation leaves in memory, as its gradient rule wants it.
HANDED: dict[str, Callable[[list[np.ndarray]], Any]] = {
    "layer_norm": _aux,
    "batch_norm": _aux,
    "scaled_dot_product_attention": lambda arrays: ("kernel", *arrays),
}

LOWERINGS: dict[str, Callable[[Instruction, Any], Native | str]] = {
    "layer_norm": layer_norm, "layer_norm_vjp": layer_norm_vjp, "batch_norm": batch_norm, "batch_norm_vjp": batch_norm_vjp,
    "_move_by_saved": move_by_saved, "scaled_dot_product_attention": scaled_dot_product_attention,
    "scaled_dot_product_attention_vjp": scaled_dot_product_attention_vjp, "_check_rows": check_rows, "embedding": embedding_rows,
    "embedding_grad": embedding_grad, "softmax": softmax_rows, "log_softmax": softmax_rows, "adaptive_avg_pool": average,
    "adaptive_avg_pool_grad": average_grad, "cat": cat, "stack": cat, "reshape": reshape, "embed": embed,
}  # fmt: skip
