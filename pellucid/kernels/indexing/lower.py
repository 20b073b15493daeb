"""Lowerings of indexing: reading, storing and adding at positions given by index arrays, for
operands of any strides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir import Instruction, Value
from ...ir.program import ITEMSIZE
from ..lowered import OTHER, Lowering, LoweringContext, Native, compact, steps, value_of
from ..pointwise.loop import Access, Loop, Write
from ..schedule import Address, Schedule
from . import embedding, embedding_bag, gather_scatter
from .gather_scatter import Index, Pick

_WHOLE = ("int64", "int32")


def plain(*values: Any) -> bool:
    """Return whether these are values whose strides are multiples of their element size."""
    return all(
        isinstance(v, Value) and not any(s % ITEMSIZE[v.dtype] for s in v.strides) for v in values
    )


def refusal(i: Instruction, ex: LoweringContext) -> Callable[[], None]:
    """Return a function that runs the instruction again in Python, on the arrays of the call that
    was refused, which raises its error.
    """

    def refuse() -> None:
        ex.eager(i)(ex.refused)
        raise RuntimeError(f"{i.op} refused positions that its array function takes")

    return refuse


def copy(schedule: Schedule, ex: LoweringContext, origin: Value, target: Value) -> None:
    """Schedule a copy of a value to another of the same shape."""
    loop = Loop(
        target.shape,
        (Access(origin.dtype, steps(origin)),),
        (),
        (),
        (Write(("in", 0), Access(target.dtype, steps(target))),),
    )
    schedule.loop(
        loop,
        [ex.place(origin, schedule), ex.place(target, schedule)],
        title="copy of " + "x".join(map(str, target.shape)),
    )


def check(
    schedule: Schedule,
    at: Address,
    shape: tuple[int, ...],
    index: Index,
    refuse: Callable[[], None],
) -> None:
    """Schedule a check that leaves the schedule if a position is out of range."""
    symbol = schedule.function(
        "check",
        (shape, index),
        lambda module, name: gather_scatter.emit_check(module, name, shape, index),
    )
    schedule.require(symbol, [at], refuse, "check of positions")


def pick(
    schedule: Schedule,
    p: Pick,
    table: Address,
    values: Address,
    indices: Sequence[Address],
    title: str,
) -> None:
    """Schedule a pick whose positions have been checked."""
    p = p.merged()
    if p.kind == "add" and p.dtype == "float32" and len(p.shape) == 2 and len(p.indices) == 1:
        index, (rows, columns) = p.indices[0], p.shape
        known = embedding.native("scatter_float")
        if (
            known is not None and index.strides == (1, 0) and index.dtype == "int64" and not index.wrap and index.step == columns
            and p.table == (0, 1) and p.values == (columns, 1)
        ):  # fmt: skip
            # For rows of a table there is a kernel in which threads share the columns.
            own = (rows, columns, -1, columns, embedding.share(p.size, columns))
            schedule.native(known, ["team", values, indices[0], table, *own], title)
            return
    symbol = schedule.function(p.kind, p, lambda module, name: gather_scatter.emit(module, name, p))
    numbers = (p.shape[0], gather_scatter.grain(p)) if p.shape else (1, 1)
    schedule.native(
        symbol, ["team" if p.shared else None, table, values, *indices, *numbers], title
    )


def along(index: Value, shape: tuple[int, ...], dim: int, table: Value, wrap: bool) -> Index:
    """Return the index array for one dimension of a table, when the shape of the pick is that of
    `index`.
    """
    return Index(
        index.dtype,
        steps(index),
        table.shape[dim],
        table.strides[dim] // ITEMSIZE[table.dtype],
        wrap,
    )


def native(
    i: Instruction,
    ex: LoweringContext,
    p: Pick,
    table: Value,
    values: Value,
    indices: Sequence[Value],
    base: Value | None | str = None,
) -> Native | str:
    """Lower a pick. `base` is what the table is initialized with: nothing (None), "zeros", or the
    elements of a value.
    """
    out = i.outputs[0]
    if not gather_scatter.serves(p) or not p.size or not out.size:
        return OTHER
    if isinstance(base, Value) and (
        base.dtype != out.dtype or base.shape != out.shape or out.dtype.startswith("complex")
    ):
        return OTHER
    title = f"{i.op} of {'x'.join(map(str, p.shape))}"

    def emit(schedule: Schedule) -> None:
        places = [ex.place(v, schedule) for v in indices]
        for at, index in zip(places, p.indices, strict=True):
            check(schedule, at, p.shape, index, refusal(i, ex))
        if base == "zeros":
            schedule.zero(ex.place(out, schedule), out.nbytes)
        elif isinstance(base, Value):
            copy(schedule, ex, base, out)
        pick(schedule, p, ex.place(table, schedule), ex.place(values, schedule), places, title)

    moved = p.size * ITEMSIZE[p.dtype] * (2 if p.kind in ("take", "put") else 3)
    return Native(
        emit,
        title,
        moved + sum(v.nbytes for v in indices) + (out.nbytes if base is not None else 0),
        0,
    )


def _without(strides: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return (*strides[:dim], 0, *strides[dim + 1 :])


# ---- along one dimension, element by element ---------------------------------------------------------
def gather(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower gather, and take_along (in which negative positions count from the end)."""
    x, index = i.inputs
    out, dim = i.outputs[0], i.params["dim"]
    if (
        not plain(x, index, out)
        or index.dtype not in _WHOLE
        or not x.shape
        or len(index.shape) != len(x.shape)
        or out.shape != index.shape
    ):
        return OTHER
    if i.op == "take_along" and _elsewhere(x.shape, dim) != _elsewhere(index.shape, dim):
        return "an index that is broadcast"
    where = along(index, index.shape, dim, x, i.op == "take_along")
    p = Pick("take", x.dtype, index.shape, _without(steps(x), dim), steps(out), (where,))
    return native(i, ex, p, x, out, [index])


def _elsewhere(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return (*shape[:dim], *shape[dim + 1 :])


_KINDS = {"scatter": "put", "scatter_add": "add", "put_along": "put"}
_REDUCED = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}


def scatter(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower scatter, scatter_add, and scatter_reduce that includes the old values."""
    x, index, source = i.inputs
    out, dim = i.outputs[0], i.params["dim"]
    if (
        not plain(x, index, source, out)
        or index.dtype not in _WHOLE
        or not x.shape
        or len(index.shape) != len(x.shape)
    ):
        return OTHER
    if source.dtype != x.dtype or len(source.shape) not in (0, len(x.shape)):
        return OTHER
    kind = _KINDS.get(i.op) or _REDUCED.get(i.params["reduce"], "")
    if not kind or not i.params.get("include_self", True) or len(i.outputs) != 1:
        return "a reduction that only the eager kernel serves"
    where = along(index, index.shape, dim, out, False)
    values = steps(source) if source.shape else (0,) * len(x.shape)
    p = Pick(kind, x.dtype, index.shape, _without(steps(out), dim), values, (where,))
    return native(i, ex, p, out, source, [index], x)


def put_along(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower zeros with values added at positions along a dimension; with `unique` they are stored
    instead.
    """
    source, index = i.inputs
    out, dim = i.outputs[0], i.params["dim"]
    if (
        not plain(source, index, out)
        or index.dtype not in _WHOLE
        or not out.shape
        or index.shape != source.shape
        or not out.whole
    ):
        return OTHER
    if len(index.shape) != len(out.shape) or _elsewhere(out.shape, dim) != _elsewhere(
        index.shape, dim
    ):
        return "an index that is broadcast"
    kind = "put" if i.params["unique"] else "add"
    where = along(index, index.shape, dim, out, True)
    p = Pick(kind, out.dtype, index.shape, _without(steps(out), dim), steps(source), (where,))
    return native(i, ex, p, out, source, [index], "zeros")


# ---- slices along one dimension -----------------------------------------------------------------------
def _line(index: Value, shape: tuple[int, ...], dim: int, table: Value) -> Index:
    """Return the index array for a vector of positions along one dimension of the pick's shape."""
    step = steps(index)[0] if index.shape else 0
    strides = tuple(step if d == dim else 0 for d in range(len(shape)))
    return Index(
        index.dtype, strides, table.shape[dim], table.strides[dim] // ITEMSIZE[table.dtype], False
    )


def index_select(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the selection of slices at positions."""
    x, index = i.inputs
    out, dim = i.outputs[0], i.params["dim"]
    if (
        not plain(x, index, out)
        or index.dtype not in _WHOLE
        or not x.shape
        or len(out.shape) != len(x.shape)
    ):
        return OTHER
    p = Pick(
        "take",
        x.dtype,
        out.shape,
        _without(steps(x), dim),
        steps(out),
        (_line(index, out.shape, dim, x),),
    )
    return native(i, ex, p, x, out, [index])


def index_add(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower a copy with slices added (for index_copy: stored) at positions."""
    x, index, source = i.inputs
    out, dim = i.outputs[0], i.params["dim"]
    if (
        not plain(x, index, source, out)
        or index.dtype not in _WHOLE
        or not x.shape
        or len(source.shape) != len(x.shape)
    ):
        return OTHER
    if i.params.get("alpha", 1) != 1 or source.dtype != x.dtype:
        return "a factor that only the eager kernel serves"
    kind = "put" if i.op == "index_copy" else "add"
    p = Pick(
        kind,
        x.dtype,
        source.shape,
        _without(steps(out), dim),
        steps(source),
        (_line(index, source.shape, dim, out),),
    )
    return native(i, ex, p, out, source, [index], x)


def index_fill(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower a copy with one number stored at positions."""
    x, index, value = i.inputs
    out, dim = i.outputs[0], i.params["dim"]
    if (
        not plain(x, index, value, out)
        or index.dtype not in _WHOLE
        or not x.shape
        or value.shape
        or value.dtype != x.dtype
    ):
        return OTHER
    shape = (*x.shape[:dim], index.size, *x.shape[dim + 1 :])
    where = _line(index, shape, dim, out)
    where = Index(where.dtype, where.strides, where.size, where.step, True)
    p = Pick("put", x.dtype, shape, _without(steps(out), dim), (0,) * len(shape), (where,))
    return native(i, ex, p, out, value, [index], x)


# ---- x[i, :, j] ----------------------------------------------------------------------------------------
def _advanced(
    shape: tuple[int, ...], table: Value, indices: Sequence[Value], spec: Sequence[bool]
) -> tuple[Any, Any] | None:
    """Return the table's strides over the result's shape, and the index arrays with their strides
    over it; None for masks.
    """
    if any(v.dtype not in _WHOLE for v in indices):
        return None
    dims = [d for d, here in enumerate(spec) if here]
    picked = np.broadcast_shapes(*[v.shape for v in indices])
    rest = [d for d in range(len(table.shape)) if d not in dims]
    together = dims == list(range(dims[0], dims[0] + len(dims)))
    first = dims[0] if together else 0
    if len(shape) != len(rest) + len(picked):
        return None
    own = steps(table)
    strides = [own[d] for d in rest]
    made = []
    for d, v in zip(dims, indices, strict=True):
        inner = (*(0,) * (len(picked) - len(v.shape)), *steps(v))
        over = (*(0,) * first, *inner, *(0,) * (len(rest) - first))
        made.append(
            Index(v.dtype, over, table.shape[d], table.strides[d] // ITEMSIZE[table.dtype], True)
        )
    return (*strides[:first], *(0,) * len(picked), *strides[first:]), tuple(made)


def index(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the selection of elements at index arrays."""
    x, *indices = i.inputs
    out = i.outputs[0]
    if not plain(x, out, *indices):
        return OTHER
    found = _advanced(out.shape, x, indices, i.params["spec"])
    if found is None:
        return "a mask"
    return native(
        i, ex, Pick("take", x.dtype, out.shape, found[0], steps(out), found[1]), x, out, indices
    )


def index_grad(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower zeros with values added at index arrays."""
    g, *indices = i.inputs
    out = i.outputs[0]
    if not plain(g, out, *indices) or not out.whole or g.dtype != out.dtype:
        return OTHER
    found = _advanced(g.shape, out, indices, i.params["spec"])
    if found is None:
        return "a mask"
    return native(
        i, ex, Pick("add", g.dtype, g.shape, found[0], steps(g), found[1]), out, g, indices, "zeros"
    )


def index_put(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower a copy with values stored, or added, at index arrays. The values are broadcast to the
    shape of the selection.
    """
    x, values, *indices = i.inputs
    out, spec = i.outputs[0], i.params["spec"]
    if (
        not plain(x, values, out, *indices)
        or any(v.dtype not in _WHOLE for v in indices)
        or values.dtype != x.dtype
    ):
        return OTHER
    dims = [d for d, here in enumerate(spec) if here]
    picked = np.broadcast_shapes(*[v.shape for v in indices])
    rest = [n for d, n in enumerate(x.shape) if d not in dims]
    first = dims[0] if dims == list(range(dims[0], dims[0] + len(dims))) else 0
    shape = (*rest[:first], *picked, *rest[first:])
    found = _advanced(shape, out, indices, spec)
    extra = len(shape) - len(values.shape)
    if found is None or extra < 0:
        return OTHER
    kind = "add" if i.params["accumulate"] else "put"
    p = Pick(kind, x.dtype, shape, found[0], (*(0,) * extra, *steps(values)), found[1])
    return native(i, ex, p, out, values, indices, x)


# ---- rows of a table -----------------------------------------------------------------------------------
def rows(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower an embedding whose table or index has gaps."""
    table, at, out = i.inputs[0], value_of(i.params["index"]), i.outputs[0]
    if not plain(table, at, out) or at.dtype not in _WHOLE or len(table.shape) != 2:
        return OTHER
    where = Index(
        at.dtype, (*steps(at), 0), table.shape[0], table.strides[0] // ITEMSIZE[table.dtype], False
    )
    p = Pick(
        "take",
        table.dtype,
        out.shape,
        (*(0,) * len(at.shape), steps(table)[1]),
        steps(out),
        (where,),
    )
    return native(i, ex, p, table, out, [at])


def rows_grad(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the gradient of an embedding whose arrays have gaps."""
    g, at, out = i.inputs[0], value_of(i.params["index"]), i.outputs[0]
    if (
        not plain(g, at, out)
        or at.dtype not in _WHOLE
        or not out.whole
        or g.shape[:-1] != at.shape
        or g.dtype != out.dtype
    ):
        return OTHER
    where = Index(at.dtype, (*steps(at), 0), out.shape[0], out.shape[1], False)
    p = Pick(
        "add",
        g.dtype,
        g.shape,
        (*(0,) * len(at.shape), 1 if out.shape[1] > 1 else 0),
        steps(g),
        (where,),
    )
    return native(i, ex, p, out, g, [at], "zeros")


def check_rows(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the check that all indices are in the table, for an index with gaps."""
    _, at, count = i.params["args"]
    at = value_of(at)
    if not plain(at) or at.dtype not in _WHOLE or not at.size:
        return OTHER

    def emit(schedule: Schedule) -> None:
        where = Index(at.dtype, steps(at), count, 1, False)
        check(schedule, ex.place(at, schedule), at.shape, where, refusal(i, ex))

    return Native(emit, "check of indices", at.nbytes, at.size)


def check_fits(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the check that all positions of index arrays are in range, before anything is written.
    Shapes and dtypes have been checked when the program was made.
    """
    x, values, indices, spec = i.params["args"]
    x, indices, values = value_of(x), [value_of(v) for v in indices], value_of(values)
    if (
        len(indices) == 1
        and getattr(indices[0], "dtype", "") == "bool"
        and getattr(values, "size", 0) == 1
    ):
        return Native(lambda schedule: None, "a mask and a number, which fit", 0, 0)
    if (
        not plain(*indices)
        or any(v.dtype not in _WHOLE or not v.size for v in indices)
        or not isinstance(x, Value)
    ):
        return "a mask"
    sizes = [n for n, here in zip(x.shape, spec, strict=False) if here]

    def emit(schedule: Schedule) -> None:
        for v, n in zip(indices, sizes, strict=True):
            check(
                schedule,
                ex.place(v, schedule),
                v.shape,
                Index(v.dtype, steps(v), n, 1, True),
                refusal(i, ex),
            )

    return Native(
        emit, "check of indices", sum(v.nbytes for v in indices), sum(v.size for v in indices)
    )


# ---- bags of rows (`embedding_bag` with offsets) ---------------------------------------------------------
def _whole(*values: Any) -> bool:
    return plain(*values) and all(v.dtype == "int64" for v in values)


def check_offsets(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the check that the first bag begins at 0, and that no bag begins behind the indices."""
    starts, size = map(value_of, i.params["args"])
    function = embedding_bag.native("offsets")
    if function is None or not _whole(starts) or not starts.size:
        return OTHER

    def emit(schedule: Schedule) -> None:
        schedule.require(
            function,
            [compact(ex, schedule, starts), starts.size, size],
            refusal(i, ex),
            "check of offsets",
        )

    return Native(emit, "check of offsets", starts.nbytes, starts.size)


def bags(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the computation of the bag of each index, and of the size of each bag."""
    starts, index, padding, _ = map(value_of, i.params["args"])
    bag, counts = i.record[1]
    function = embedding_bag.native("bags", counts.dtype)
    if function is None or not _whole(starts, index) or not starts.size or not index.size:
        return OTHER

    def emit(schedule: Schedule) -> None:
        places = [
            *(compact(ex, schedule, v) for v in (starts, index)),
            ex.place(bag, schedule),
            ex.place(counts, schedule),
        ]
        numbers = (starts.size, index.size, -1 if padding is None else padding)
        schedule.native(function, [*places, *numbers], f"bags of {index.size} indices")

    return Native(emit, "bags", starts.nbytes + 3 * bag.nbytes, bag.size)


def winners(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the search for the largest elements of each bag."""
    rows, bag, count = map(value_of, i.params["args"])
    winner, filled = i.record[1]
    function = embedding_bag.native("winners", rows.dtype) if isinstance(rows, Value) else None
    if function is None or not plain(rows) or not _whole(bag) or not rows.size or not count:
        return OTHER
    size, columns = rows.shape

    def emit(schedule: Schedule) -> None:
        best = schedule.room(count * columns * rows.nbytes // rows.size)
        places = [
            compact(ex, schedule, rows),
            compact(ex, schedule, bag),
            best,
            *(ex.place(v, schedule) for v in (winner, filled)),
        ]
        numbers = (size, count, columns, columns, embedding_bag.share(size, columns))
        schedule.native(function, ["team", *places, *numbers], f"largest of {count} bags")

    return Native(emit, "largest of bags", rows.nbytes + winner.nbytes, rows.size)


LOWERINGS: dict[str, Lowering] = {
    "gather": gather,
    "take_along": gather,
    "scatter": scatter,
    "scatter_add": scatter,
    "scatter_reduce": scatter,
    "put_along": put_along,
    "index_select": index_select,
    "index_add": index_add,
    "index_copy": index_add,
    "index_fill": index_fill,
    "index": index,
    "index_grad": index_grad,
    "index_put": index_put,
    "_check_fits": check_fits,
    "_check_offsets": check_offsets,
    "_bags": bags,
    "_winners": winners,
}
