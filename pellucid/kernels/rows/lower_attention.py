"""Lowerings of attention: the kernel that eager execution uses, or separate products if the weights
are requested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...ir import Instruction, Value
from ...ir.program import row_major
from ...llvm.emit import types_of
from ..lowered import (
    OTHER,
    LoweringContext,
    Native,
    compact,
    dense,
    gradients,
    places,
    room,
    steps,
    strided,
    team,
    value_of,
)
from ..matmul import call as matmul
from ..matmul.product import Product
from ..pointwise.loop import Access, Loop, PointwiseOp, Reduce, Write
from ..schedule import Address, Schedule
from . import attention


def _rows_serve(*values: Any) -> bool:
    for v in values:
        if (
            not isinstance(v, Value)
            or v.dtype != "float32"
            or len(v.shape) != 4
            or not v.size
            or any(s % 4 for s in v.strides)
        ):
            return False
        if (v.shape[3] > 1 and v.strides[3] != 4) or (
            v.shape[2] > 1 and v.strides[2] < 4 * v.shape[3]
        ):
            return False
    return True


def _bias_of(x: Any, shape: tuple[int, ...]) -> Value | None:
    """Return the bias that is added to the scores (batch, heads, queries, keys), with four
    dimensions; None if it is not supported.
    """
    if (
        not isinstance(x, Value)
        or x.dtype != "float32"
        or len(x.shape) > 4
        or any(s % 4 for s in x.strides)
    ):
        return None
    extra = 4 - len(x.shape)
    bias = replace(x, shape=(1,) * extra + x.shape, strides=(0,) * extra + x.strides)
    return bias if all(own in (1, n) for own, n in zip(bias.shape, shape, strict=True)) else None


def _bias_at(
    ex: LoweringContext, schedule: Schedule, bias: Value, keys: int
) -> tuple[Address, list[int]]:
    """Return the address of the bias with contiguous rows of all keys, and its first three strides.
    It is copied if its layout is another one.
    """
    if bias.shape[3] == keys and (bias.strides[3] == 4 or keys == 1) and min(bias.strides) >= 0:
        return ex.place(bias, schedule), list(steps(bias)[:3])
    whole = (*bias.shape[:3], keys)
    to, copy = row_major(whole, 4), room(schedule, math.prod(whole))
    loop = Loop(
        whole,
        (Access("float32", steps(bias)),),
        (),
        (),
        (Write(("in", 0), Access("float32", tuple(s // 4 for s in to))),),
    )
    schedule.loop(loop, [ex.place(bias, schedule), copy], title="mask " + "x".join(map(str, whole)))
    return copy, [0 if n == 1 else s // 4 for n, s in zip(whole[:3], to[:3], strict=True)]


def _one_head(v: Value) -> Value:
    return replace(
        v, shape=(v.shape[0], 1, *v.shape[1:]), strides=(v.strides[0], 0, *v.strides[1:])
    )


def _attention(
    i: Instruction,
    ex: LoweringContext,
    backward: bool,
    operands: Sequence[Value | None],
    lse: Value,
    causal: bool,
    scale: float,
    bias: Any,
) -> Native | str:
    # without heads: handled as a single head
    if all(o is None or len(o.shape) == 3 for o in operands):
        operands = [None if o is None else _one_head(o) for o in operands]
        if len(lse.shape) != 2 or not lse.contiguous:
            return OTHER  # the eager rule saved the weights
        shape = (lse.shape[0], 1, lse.shape[1])
        lse = replace(lse, shape=shape, strides=row_major(shape, 4))
        bias = _one_head(bias) if isinstance(bias, Value) and len(bias.shape) == 3 else bias
    q, k, v = operands[:3]
    others = [o for o in operands if o is not None]
    if q is None or k is None or v is None or not _rows_serve(*others) or not dense(lse):
        return OTHER
    if not (q.shape[:2] == k.shape[:2] == v.shape[:2] and k.shape[2] == v.shape[2]):
        return OTHER
    if lse.shape != q.shape[:3]:
        return OTHER  # the eager rule saved the weights
    function, gemm = attention.native("backward" if backward else "forward"), matmul.gemm_address()
    if function is None or gemm is None or q.shape[3] != k.shape[3]:
        return OTHER
    sizes = (*q.shape[:3], v.shape[2], q.shape[3], v.shape[3])
    added = None if bias is None else _bias_of(bias, sizes[:4])
    if bias is not None and added is None:
        return OTHER
    each = attention.per_thread(q.shape[2], v.shape[2], backward)
    strides = []
    for o in operands:
        strides += (
            [0, 0, 0]
            if o is None
            else [0 if n == 1 else s // 4 for n, s in zip(o.shape[:3], o.strides[:3], strict=True)]
        )

    def emit(schedule: Schedule) -> None:
        scratch, at = room(schedule, each * team(ex)), Address("kept", schedule.keep(gemm))
        arrays = places(ex, schedule, *operands)
        if added is not None:
            arrays[3], strides[9:12] = _bias_at(ex, schedule, added, sizes[3])
        numbers = attention.numbers(sizes, causal, scale, backward)
        title = "attention" + " backward" * backward + " of " + "x".join(map(str, q.shape))
        schedule.native(
            function,
            ["team", *arrays, ex.place(lse, schedule), at, scratch, *strides, *numbers],
            title,
        )

    flops = 2 * math.prod(sizes) // (1 + causal) * (5 if backward else 2) // max(sizes[5], 1)
    return Native(emit, "attention" + " backward" * backward, sum(o.nbytes for o in others), flops)


def _attention_by_weights(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower attention whose weights are saved, as in the array function without a kernel: scores,
    their softmax, the weighted sum of the values.
    """
    q, k, v, bias = i.inputs
    out, weights, causal = i.outputs[0], i.extras[0], bool(i.params["causal"])
    dtype, lead, rows, columns = q.dtype, q.shape[:-2], q.shape[-2], k.shape[-2]
    ctype = types_of("float32 float64").get(dtype, "")
    if not ctype or not out.size or not weights.size or not q.size:
        return OTHER
    if not strided(q, k, v, dtype=dtype) or not dense(out, weights, dtype=dtype):
        return OTHER
    if not lead == k.shape[:-2] == v.shape[:-2] or q.shape[-1] != k.shape[-1]:
        return OTHER
    if bias is not None and not (strided(bias, dtype=dtype) and len(bias.shape) <= len(q.shape)):
        return OTHER
    batch, depth, width = math.prod(lead), q.shape[-1], v.shape[-1]
    scores = Product(
        rows, columns, depth, (depth, 1), (1, depth), columns,
        ((batch, rows * depth, columns * depth, rows * columns),), ctype=ctype,
    )  # fmt: skip
    sums = Product(
        rows, width, columns, (columns, 1), (width, 1), width,
        ((batch, rows * columns, columns * width, rows * width),), ctype=ctype,
    )  # fmt: skip
    if scores.served() is None or sums.served() is None:
        return OTHER
    shape = (*lead, rows, columns)
    whole, last = Access(dtype, row_major(shape, 1)), len(shape) - 1
    line = Access(dtype, (*row_major(shape[:-1], 1), 0))
    reads, scored = (
        [whole],
        [PointwiseOp("mul", (("in", 0), ("const", float(i.params["scale"]))), dtype)],
    )
    given: list[Any] = []
    if causal:
        reads.append(Access("bool", (*(0,) * len(lead), columns, 1)))
        seen = ("in", len(reads) - 1)
        less = ("const", -math.inf)
        scored.append(PointwiseOp("where", (seen, ("step", len(scored) - 1), less), dtype))
        given.append(np.tri(rows, columns, 0, bool))
    if bias is not None:
        reads.append(Access(dtype, (*(0,) * (len(shape) - len(bias.shape)), *steps(bias))))
        added = (("step", len(scored) - 1), ("in", len(reads) - 1))
        scored.append(PointwiseOp("add", added, dtype))
        given.append(bias)
    made = ("step", len(scored) - 1)
    first = Loop(
        shape, tuple(reads), (), tuple(scored), (Write(made, whole),),
        (Reduce("max", made, (last,), line, dtype),),
    )  # fmt: skip
    # A query that sees no key has no weights: nothing is subtracted if the largest score is -inf.
    powers = (
        PointwiseOp("eq", (("in", 1), ("const", -math.inf)), "bool"),
        PointwiseOp("where", (("step", 0), ("const", 0.0), ("in", 1)), dtype),
        PointwiseOp("sub", (("in", 0), ("step", 1)), dtype),
        PointwiseOp("exp", (("step", 2),), dtype),
    )
    second = Loop(
        shape, (whole, line), (), powers, (Write(("step", 3), whole),),
        (Reduce("sum", ("step", 3), (last,), line, dtype),),
    )  # fmt: skip
    shares = (
        PointwiseOp("eq", (("in", 1), ("const", 0.0)), "bool"),
        PointwiseOp("where", (("step", 0), ("const", 1.0), ("in", 1)), dtype),
        PointwiseOp("div", (("in", 0), ("step", 1)), dtype),
    )
    third = Loop(shape, (whole, line), (), shares, (Write(("step", 2), whole),))
    title = "attention of " + "x".join(map(str, q.shape))

    def emit(schedule: Schedule) -> None:
        at_q, at_k, at_v = (compact(ex, schedule, x) for x in (q, k, v))
        to, p = ex.place(out, schedule), ex.place(weights, schedule)
        tops, totals = (room(schedule, batch * rows, dtype) for _ in range(2))
        others = [
            ex.place(x, schedule) if isinstance(x, Value) else Address("kept", schedule.keep(x))
            for x in given
        ]
        schedule.product(scores, at_q, at_k, p, title=f"scores of the {title}")
        schedule.loop(first, [p, *others, p, tops], title=f"largest scores of the {title}")
        schedule.loop(second, [p, tops, p, totals], title=f"powers of the {title}")
        schedule.loop(third, [p, totals, p], title=f"weights of the {title}")
        schedule.product(sums, p, at_v, to, title=title)

    moved = q.nbytes + k.nbytes + v.nbytes + out.nbytes + 6 * weights.nbytes
    return Native(emit, "attention", moved, 2 * weights.size * (depth + width + 4))


def scaled_dot_product_attention(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower attention to one call, or to separate products if the weights are saved."""
    q, k, v, bias = i.inputs
    if len(i.extras) != 1:
        return OTHER
    if i.extras[0].shape == (*q.shape[:-1], k.shape[-2]):
        return _attention_by_weights(i, ex)
    operands = (q, k, v, None, i.outputs[0])
    return _attention(
        i, ex, False, operands, i.extras[0], bool(i.params["causal"]), i.params["scale"], bias
    )


def scaled_dot_product_attention_vjp(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the gradient of attention to one call."""
    q, k, v, bias, *_, extra = (value_of(x) for x in i.params["s"])
    extras, g = extra.instruction.extras, value_of(i.params["g"])
    grads = gradients(i)
    if len(extras) != 1 or any(v is None for v in grads[:3]) or grads[3] is not None:
        return OTHER
    params = i.params["params"]
    operands = (q, k, v, None, g, *grads[:3])
    return _attention(
        i, ex, True, operands, extras[0], bool(params["causal"]), params["scale"], bias
    )
