"""Native code for operations that only copy: parts of arrays to parts of others (concatenation,
padding, repetition, flipping), and triangles.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...arrays import numpy_cpu
from ...core.inplace import replay
from ...core.primitive import PRIMITIVES
from ...ir import Instruction, Value
from ...ir.program import ITEMSIZE, refs, row_major
from ...kernels.lowered import OTHER, Lowering, LoweringContext, Native, served, steps
from ...kernels.pointwise.loop import Access, Loop, PointwiseOp, Write
from ...kernels.pointwise.values import numpy_dtype
from ...kernels.schedule import Address, Schedule

Part = tuple[Value, Value]  # from, to: of one shape


def view(v: Value, shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> Value:
    """The value with another shape and strides in bytes; `offset` is in bytes from its start."""
    return replace(v, shape=tuple(shape), strides=tuple(strides), offset=v.offset + offset)


def copies(
    i: Instruction, ex: LoweringContext, parts: Sequence[Part], fill: float | None = None
) -> Native:
    """Copy parts of values. With `fill`, the result is first filled with a number."""
    out = i.outputs[0]

    def emit(schedule: Schedule) -> None:
        if fill is not None:
            filled(schedule, ex, out, fill)
        for origin, target in parts:
            if origin.size:
                read, write = (
                    Access(origin.dtype, steps(origin)),
                    Access(target.dtype, steps(target)),
                )
                loop = Loop(origin.shape, (read,), (), (), (Write(("in", 0), write),))
                title = f"{i.op}: " + "x".join(map(str, origin.shape))
                schedule.loop(
                    loop, [ex.place(origin, schedule), ex.place(target, schedule)], title=title
                )

    return Native(
        emit, i.op, sum(2 * v.nbytes for v, _ in parts) + (0 if fill is None else out.nbytes), 0
    )


def filled(schedule: Schedule, ex: LoweringContext, out: Value, number: float) -> None:
    """Fill a value with a number."""
    if number == 0 and out.whole:
        schedule.zero(ex.place(out, schedule), out.nbytes)
    else:
        loop = Loop(
            out.shape, (), (), (), (Write(("const", number), Access(out.dtype, steps(out))),)
        )
        schedule.loop(loop, [ex.place(out, schedule)], title=f"{out.size} times {number}")


def cat(i: Instruction, ex: LoweringContext) -> Native | str:
    """Copy each input to its part of the result."""
    out = i.outputs[0]
    values = list(i.inputs)
    dim = i.params.get("dim", 0)
    if (
        not served(out, *values)
        or any(v.dtype != out.dtype for v in values)
        or not out.shape
        or not isinstance(dim, int)
    ):
        return OTHER
    dim %= len(out.shape)
    parts, at = [], 0
    for v in values:
        if i.op == "stack":
            v = view(
                v, (*v.shape[:dim], 1, *v.shape[dim:]), (*v.strides[:dim], 0, *v.strides[dim:])
            )
        if len(v.shape) != len(out.shape):
            return OTHER  # for example an empty tensor with one dimension
        parts.append((v, view(out, v.shape, out.strides, at * out.strides[dim])))
        at += v.shape[dim]
    return copies(i, ex, parts)


def reshape(i: Instruction, ex: LoweringContext) -> Native | str:
    """Copy the elements in order, where a view is impossible."""
    x, out = i.inputs[0], i.outputs[0]
    if not served(x, out) or x.dtype != out.dtype or not out.contiguous or not out.size:
        return OTHER
    return copies(i, ex, [(x, view(out, x.shape, row_major(x.shape, ITEMSIZE[x.dtype])))])


def embed(i: Instruction, ex: LoweringContext) -> Native | str:
    """The gradient of a slice: zeros with the gradient in the sliced part."""
    g, out, op, how = i.inputs[0], i.outputs[0], i.params["op"], i.params["how"]
    if not served(g, out) or g.dtype != out.dtype or not out.whole or not g.size:
        return OTHER
    if any(True for _ in refs(i.params)):
        return OTHER
    whole = np.empty(out.shape, numpy_dtype(out.dtype))
    part = PRIMITIVES[op].numpy_forward(whole, **how)
    if (
        type(part) is not np.ndarray
        or part.shape != g.shape
        or not np.may_share_memory(part, whole)
    ):
        return OTHER
    reach = 0
    for stride, n in sorted(
        (abs(s), n) for s, n in zip(part.strides, part.shape, strict=True) if n > 1
    ):
        if stride <= reach:
            return "a slice whose elements share memory"
        reach += stride * (n - 1)
    offset = part.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return copies(
        i, ex, [(g, view(out, g.shape, part.strides, offset))], 0.0 if g.size < out.size else None
    )


def diagonals(i: Instruction, ex: LoweringContext) -> Native | str:
    """Zeros with the input on a diagonal of new matrices."""
    x, out = i.inputs[0], i.outputs[0]
    if not served(x, out) or x.dtype != out.dtype or not out.whole or not x.size:
        return OTHER
    whole = np.empty(out.shape, numpy_dtype(out.dtype))
    part = PRIMITIVES["diagonal"].numpy_forward(whole, **i.params)
    offset = part.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return copies(i, ex, [(x, view(out, x.shape, part.strides, offset))], 0.0)


def copy_slices(i: Instruction, ex: LoweringContext) -> Native | str:
    """A copy of the base with the part that a chain of views shows replaced."""
    (base, part), out = i.inputs, i.outputs[0]
    if not served(base, part, out) or not base.dtype == part.dtype == out.dtype or not out.whole:
        return OTHER
    if any(True for _ in refs(i.params)):
        return OTHER
    whole = np.empty(out.shape, numpy_dtype(out.dtype))
    looked = replay(numpy_cpu, whole, i.params["chain"])
    if type(looked) is not np.ndarray or not (
        np.may_share_memory(looked, whole) or not looked.size
    ):
        return "a view of another kind"
    if looked.shape != part.shape or any(
        s == 0 and n > 1 for s, n in zip(looked.strides, looked.shape, strict=True)
    ):
        return OTHER
    offset = looked.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    parts = [(base, out)]
    if part.size:
        parts.append((part, view(out, looked.shape, looked.strides, offset)))
    return copies(i, ex, parts)


def pad(i: Instruction, ex: LoweringContext) -> Native | str:
    """The input surrounded by a number; negative padding removes elements."""
    x, out = i.inputs[0], i.outputs[0]
    number, given = i.params["value"], i.params["pad"]
    if not served(x, out) or x.dtype != out.dtype or isinstance(number, complex) or not out.size:
        return OTHER
    before = [0] * len(x.shape)
    for k in range(len(given) // 2):
        before[len(x.shape) - 1 - k] = given[2 * k]
    shape = [
        min(n + min(b, 0), m - max(b, 0))
        for n, m, b in zip(x.shape, out.shape, before, strict=True)
    ]
    if min(shape, default=1) <= 0:
        return copies(i, ex, [], number)
    start = sum(-min(b, 0) * s for b, s in zip(before, x.strides, strict=True))
    first = sum(max(b, 0) * s for b, s in zip(before, out.strides, strict=True))
    part = (view(x, shape, x.strides, start), view(out, shape, out.strides, first))
    return copies(i, ex, [part], None if tuple(shape) == out.shape else number)


def repeat(i: Instruction, ex: LoweringContext) -> Native | str:
    """Repeat the input along each dimension."""
    x, out, counts = i.inputs[0], i.outputs[0], i.params["repeats"]
    if not served(x, out) or not out.size:
        return OTHER
    extra = len(out.shape) - len(x.shape)
    own = zip(
        (*(1,) * extra, *x.shape), (*(0,) * extra, *x.strides), counts, out.strides, strict=True
    )
    dims = [d for n, s, count, to in own for d in ((count, 0, n * to), (n, s, to))]
    shape = [n for n, _, _ in dims]
    return copies(
        i,
        ex,
        [(view(x, shape, [s for _, s, _ in dims]), view(out, shape, [s for _, _, s in dims]))],
    )


def repeat_each(i: Instruction, ex: LoweringContext) -> Native | str:
    """Repeat each slice along a dimension."""
    x, out, count, dim = i.inputs[0], i.outputs[0], i.params["count"], i.params["dim"]
    if not served(x, out) or not out.size or not isinstance(dim, int) or not isinstance(count, int):
        return OTHER
    to = out.strides
    shape = (*x.shape[: dim + 1], count, *x.shape[dim + 1 :])
    strides = (*to[:dim], count * to[dim], to[dim], *to[dim + 1 :])
    return copies(
        i,
        ex,
        [
            (
                view(x, shape, (*x.strides[: dim + 1], 0, *x.strides[dim + 1 :])),
                view(out, shape, strides),
            )
        ],
    )


def flip(i: Instruction, ex: LoweringContext) -> Native | str:
    """Reverse dimensions."""
    x, out, dims = i.inputs[0], i.outputs[0], i.params["dims"]
    if not served(x, out) or not out.size:
        return OTHER
    strides = [-s if d in dims else s for d, s in enumerate(x.strides)]
    last = sum((x.shape[d] - 1) * x.strides[d] for d in set(dims))
    return copies(i, ex, [(view(x, x.shape, strides, last), out)])


def roll(i: Instruction, ex: LoweringContext) -> Native | str:
    """Rotate the elements along dimensions."""
    x, out, shifts, dims = i.inputs[0], i.outputs[0], i.params["shifts"], i.params["dims"]
    if not served(x, out) or not out.size or len(set(dims)) != len(dims) or len(dims) > 3:
        return OTHER
    pieces = []  # per dimension: (source index, target index, count)
    for shift, d in zip(shifts, dims, strict=True):
        n = x.shape[d]
        pieces.append([(0, shift % n, n - shift % n), (n - shift % n, 0, shift % n)])
    parts = []
    for chosen in itertools.product(*pieces):
        shape, start, first = list(x.shape), 0, 0
        for (a, b, count), d in zip(chosen, dims, strict=True):
            shape[d], start, first = count, start + a * x.strides[d], first + b * out.strides[d]
        if math.prod(shape):
            parts.append((view(x, shape, x.strides, start), view(out, shape, out.strides, first)))
    return copies(i, ex, parts)


def triangle(i: Instruction, ex: LoweringContext) -> Native | str:
    """The input on one side of a diagonal, and zeros on the other."""
    x, out = i.inputs[0], i.outputs[0]
    if not served(x, out) or not out.size or x.dtype != out.dtype:
        return OTHER
    mask = np.tri(*x.shape[-2:], i.params["diagonal"] - (i.op == "triu"), dtype=bool)
    if i.op == "triu":
        mask = ~mask
    over = (
        *(0,) * (len(x.shape) - 2),
        x.shape[-1] if x.shape[-2] > 1 else 0,
        1 if x.shape[-1] > 1 else 0,
    )
    step = PointwiseOp("where", (("in", 0), ("in", 1), ("const", 0)), x.dtype)
    write = Write(("step", 0), Access(out.dtype, steps(out)))
    loop = Loop(x.shape, (Access("bool", over), Access(x.dtype, steps(x))), (), (step,), (write,))

    def emit(schedule: Schedule) -> None:
        places = [
            Address("kept", schedule.keep(mask)),
            ex.place(x, schedule),
            ex.place(out, schedule),
        ]
        schedule.loop(loop, places, title=f"{i.op} of " + "x".join(map(str, x.shape)))

    return Native(emit, i.op, 2 * x.nbytes, 0)


LOWERINGS: dict[str, Lowering] = {
    "cat": cat,
    "stack": cat,
    "reshape": reshape,
    "unsafe_view": reshape,
    "embed": embed,
    "copy_slices": copy_slices,
    "diag_embed": diagonals,
    "constant_pad_nd": pad,
    "repeat": repeat,
    "repeat_each": repeat_each,
    "flip": flip,
    "roll": roll,
    "tril": triangle,
    "triu": triangle,
}
