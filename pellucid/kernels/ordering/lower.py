"""Lowerings of sorting, extremes with their positions, and running sums."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...ir import Instruction, Value
from ...ir.program import ITEMSIZE
from ..lowered import (
    OTHER,
    InFloat32,
    Lowering,
    LoweringContext,
    Native,
    compact,
    copied,
    room,
    row_major,
    served,
    steps,
    team,
    value_of,
)
from ..pointwise.loop import Access
from ..schedule import Address, Schedule
from . import order, scan, search, select


def _serves(x: Any, *out: Any) -> bool:
    """Return whether `x` is a value with dimensions for which there are kernels, and the results
    are contiguous.
    """
    good = (
        isinstance(x, Value)
        and x.dtype in order.KINDS
        and x.shape
        and x.size
        and not any(s % ITEMSIZE[x.dtype] for s in x.strides)
    )
    return (
        bool(good)
        and max(x.shape) < 1 << 31
        and all(v.contiguous and v.dtype in (x.dtype, "int64") for v in out)
    )


def _in_memory(dim: int, *values: Any) -> tuple[Any, ...]:
    """Return the dimension and the values, with dimensions permuted so that the first result is in
    C order. Lines along a dimension do not depend on the order of the other dimensions.
    """
    out = values[1]
    if out.contiguous or not isinstance(values[0], Value):
        return dim, *values
    found = sorted(range(len(out.shape)), key=lambda d: -out.strides[d])
    return found.index(dim), *[
        replace(
            v,
            shape=tuple([v.shape[d] for d in found]),
            strides=tuple([v.strides[d] for d in found]),
        )
        for v in values
    ]


def _ordered(i: Instruction, ex: LoweringContext, dim: int, k: int, largest: bool) -> Native | str:
    """Lower the first `k` elements in order, with their positions: by selection if they are few,
    else by sorting.
    """
    dim, x, values, index = _in_memory(dim % len(i.inputs[0].shape), i.inputs[0], *i.outputs)
    how = i.params["how"]
    few = 0 < k <= order.MOST and i.op != "sort" and how != "top unordered"
    name = ("largest" if largest else "smallest") if few else "sort"
    function = order.native(name, x.dtype)
    if function is None or not _serves(x) or not values.size:
        return OTHER
    n = x.shape[dim]
    count, grain, inner = order.lines(x.shape, dim)

    def emit(schedule: Schedule) -> None:
        results = [
            ex.place(v, schedule) if v.contiguous else schedule.room(v.nbytes)
            for v in (values, index)
        ]
        arrays = [compact(ex, schedule, x), *results]
        sizes: list[Any] = [*order.numbers(n, k, inner, largest, False, how)]
        sizes.append(schedule.room(order.scratch(n, team(ex), ITEMSIZE[x.dtype])))
        schedule.native(
            function, ["team", *arrays, *sizes, count, grain], f"{i.op} of {count} lines of {n}"
        )
        for v, made in zip((values, index), results, strict=True):
            # a converted copy of two-byte floats is contiguous, the positions may not be
            if not v.contiguous:
                read, write = Access(v.dtype, row_major(v.shape, 1)), Access(v.dtype, steps(v))
                copied(schedule, v.shape, made, read, ex.place(v, schedule), write)

    return Native(emit, f"{i.op} of {count} lines", x.nbytes + values.nbytes + index.nbytes, 0)


def sort(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower a sort."""
    x = i.inputs[0]
    if not isinstance(x, Value) or not x.shape:
        return OTHER
    return _ordered(i, ex, i.params["dim"], x.shape[i.params["dim"]], bool(i.params["descending"]))


def topk(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the selection of the first few in order."""
    x = i.inputs[0]
    if not isinstance(x, Value) or not x.shape:
        return OTHER
    return _ordered(i, ex, i.params["dim"], i.params["k"], bool(i.params["largest"]))


def kth(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the selection of the k-th element along a dimension: the last of the first k, in the
    order in which PyTorch arranges them.
    """
    x, k = i.inputs[0], i.params["k"]
    if not isinstance(x, Value) or not x.shape or not _serves(x, *i.outputs):
        return OTHER
    function, dim = order.native("sort", x.dtype), i.params["dim"] % len(x.shape)
    if function is None:
        return OTHER
    n = x.shape[dim]
    count, grain, inner = order.lines(x.shape, dim)
    title = f"{i.op} of {count} lines of {n}"

    def emit(schedule: Schedule) -> None:
        first = [schedule.room(count * k * ITEMSIZE[out.dtype]) for out in i.outputs]
        sizes: list[Any] = [*order.numbers(n, k, inner, False, False, "choice")]
        sizes.append(schedule.room(order.scratch(n, team(ex), ITEMSIZE[x.dtype])))
        schedule.native(
            function, ["team", compact(ex, schedule, x), *first, *sizes, count, grain], title
        )
        for out, found in zip(i.outputs, first, strict=True):
            last = found.at((k - 1) * inner * ITEMSIZE[out.dtype])
            read, write = Access(out.dtype, (k * inner, 1)), Access(out.dtype, (inner, 1))
            copied(schedule, (count // inner, inner), last, read, ex.place(out, schedule), write)

    return Native(emit, title, x.nbytes + 12 * count, x.size)


def extreme(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower max, min, argmax and argmin along a dimension, or argmax and argmin of all elements."""
    x, dim, largest = i.inputs[0], i.params["dim"], "max" in i.op
    if not _serves(x, *i.outputs):
        return OTHER
    shape = x.shape
    if dim is None:
        shape, dim = (x.size,), 0
    dim %= len(shape)
    across = order.across(shape, dim)
    name = ("largest" if largest else "smallest") + "_across" * across
    function, n = order.native(name, x.dtype), shape[dim]
    if function is None:
        return OTHER
    count, grain, inner = order.lines(shape, dim)
    numbers = (
        order.across_numbers(shape, dim) if across else order.numbers(n, 1, inner, largest, True)
    )

    def emit(schedule: Schedule) -> None:
        values = (
            room(schedule, count, x.dtype)
            if len(i.outputs) == 1
            else ex.place(i.outputs[0], schedule)
        )
        arrays = [compact(ex, schedule, x), values, ex.place(i.outputs[-1], schedule)]
        rest = [] if across else [values, count, grain]
        schedule.native(
            function, ["team", *arrays, *numbers, *rest], f"{i.op} of {count} lines of {n}"
        )

    return Native(emit, f"{i.op} of {count} lines", x.nbytes + 12 * count, x.size)


def chosen(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower median and nanmedian along a dimension, or of all elements, whose position is not
    needed.
    """
    x, values, name = i.inputs[0], i.outputs[0], i.op.removesuffix("_all")
    function = select.native(x.dtype) if isinstance(x, Value) else None
    if (
        function is None
        or not x.shape
        or not x.size
        or any(s % ITEMSIZE[x.dtype] for s in x.strides)
    ):
        return OTHER
    if not all(out.contiguous for out in i.outputs):
        return OTHER
    shape, dim = ((x.size,), 0) if name != i.op else (x.shape, i.params["dim"] % len(x.shape))
    n, size = shape[dim], ITEMSIZE[x.dtype]
    numbers = select.numbers(shape, dim, name)
    title = f"{i.op} of {x.size // n} lines of {n}"

    def emit(schedule: Schedule) -> None:
        room = schedule.room(select.scratch(n, size, team(ex)))
        index = (
            ex.place(i.outputs[1], schedule)
            if len(i.outputs) > 1
            else schedule.room(8 * (x.size // n))
        )
        arrays = [compact(ex, schedule, x), ex.place(values, schedule), index, room]
        schedule.native(function, ["team", *arrays, *numbers], title)

    return Native(emit, title, 3 * x.nbytes + sum(out.nbytes for out in i.outputs), 4 * x.size)


def places(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower searchsorted and bucketize."""
    sequences, values, right, *_ = map(value_of, i.params["args"])
    out = i.record[1][0]
    if not all(
        isinstance(v, Value) and v.size and not any(s % ITEMSIZE[v.dtype] for s in v.strides)
        for v in (sequences, values)
    ):
        return OTHER
    length, each = sequences.shape[-1], values.shape[-1] if len(sequences.shape) > 1 else 0
    function = search.native(sequences.dtype)
    if function is None or values.dtype != sequences.dtype or not out.contiguous:
        return OTHER
    title = f"places of {values.size} values among {length}"

    def emit(schedule: Schedule) -> None:
        arrays = [
            compact(ex, schedule, sequences),
            compact(ex, schedule, values),
            ex.place(out, schedule),
        ]
        given = search.numbers(length, each, bool(right), out.dtype == "int64", values.size)
        schedule.native(function, ["team", *arrays, *given], title)

    return Native(
        emit,
        title,
        sequences.nbytes + values.nbytes + out.nbytes,
        4 * values.size * length.bit_length(),
    )


def running(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower running sums and products."""
    return _running(i, ex, i.op, [i.inputs[0]], i.params["dim"])


def cumprod_vjp(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the gradient of running products."""
    x, made = (value_of(v) for v in i.params["s"][:2])
    return _running(
        i, ex, "cumprod_backward", [x, made, value_of(i.params["g"])], i.params["params"]["dim"]
    )


def _running(
    i: Instruction, ex: LoweringContext, name: str, values: list[Any], dim: int
) -> Native | str:
    out = i.outputs[0]
    if len(i.outputs) != 1 or not out.shape or not out.size or not served(*values, out):
        return OTHER
    if any(v.dtype != values[0].dtype for v in values):
        return OTHER
    shape = out.shape
    dim %= len(shape)
    function = scan.native(name, shape, dim, values[0].dtype)
    if function is None:
        return OTHER

    def emit(schedule: Schedule) -> None:
        arrays: list[Address] = [compact(ex, schedule, v) for v in values]
        numbers = scan.numbers(name, shape, dim)
        to = ex.place(out, schedule) if out.contiguous else schedule.room(out.nbytes)
        schedule.native(
            function, ["team", *arrays, to, *numbers], f"{i.op} of {'x'.join(map(str, shape))}"
        )
        if not out.contiguous:
            read, write = Access(out.dtype, row_major(shape, 1)), Access(out.dtype, steps(out))
            copied(schedule, shape, to, read, ex.place(out, schedule), write)

    return Native(emit, i.op, sum(v.nbytes for v in values) + out.nbytes, out.size)


def running_extreme(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower running extremes with their positions."""
    x, dim = i.inputs[0], i.params["dim"]
    if not (served(x, *i.outputs) and x.shape and x.size and all(v.contiguous for v in i.outputs)):
        return OTHER
    dim %= len(x.shape)
    function = scan.native(i.op, x.shape, dim, x.dtype)
    if function is None:
        return OTHER

    def emit(schedule: Schedule) -> None:
        arrays = [compact(ex, schedule, x), *[ex.place(out, schedule) for out in i.outputs]]
        numbers = scan.numbers(i.op, x.shape, dim)
        schedule.native(
            function, ["team", *arrays, *numbers], f"{i.op} of {'x'.join(map(str, x.shape))}"
        )

    return Native(emit, i.op, x.nbytes + sum(out.nbytes for out in i.outputs), x.size)


LOWERINGS: dict[str, Lowering] = {
    "sort": InFloat32(sort),
    "topk": InFloat32(topk),
    "kthvalue": InFloat32(kth),
    "max_dim": InFloat32(extreme),
    "min_dim": InFloat32(extreme),
    "argmax": InFloat32(extreme),
    "argmin": InFloat32(extreme),
    "cumsum": running,
    "cumprod": running,
    "cummax": running_extreme,
    "cummin": running_extreme,
    "cumprod_vjp": cumprod_vjp,
    "median": InFloat32(chosen),
    "nanmedian": chosen,
    "median_all": chosen,
    "nanmedian_all": chosen,
    "_places": places,
}
