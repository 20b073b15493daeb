"""Recompute values in backward instead of keeping them: element-wise results of an operand that
backward reads anyway. The loop that reads the operand computes the value again, so no additional
memory is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...ir import Buffer, Instruction, Program, Value, formula
from ...kernels.pointwise.steps import costly
from .context import Context
from .fuse import Member, member_of

LEAST = 1 << 16  # bytes; smaller values are not worth a second computation
# Expensive functions whose gradient computes the expensive part anyway; the loop recognizes that
# both are equal.
SHARED = {"gelu", "silu"}


def recompute_cheap(program: Program, context: Context) -> Program:
    """Recompute such values, so that they are dead at the end of the forward pass."""
    instructions, number_of = program.instructions, context.number_of
    # buffers that are used outside of the program
    needed = {v.buffer for v in (*program.inputs, *program.outputs)}
    made = list(instructions)
    written = {v.buffer for i in made for v in i.writes}
    later = {v.buffer for i in made if i.phase == "backward" for v in i.reads()}
    makers = {v.buffer: i for i in made for v in i.outputs}
    for i in instructions:
        if i.phase == "backward" or i.kind != "op" or len(i.outputs) != 1 or i.extras or i.hands_on:
            continue
        if i.op not in formula.FORMULAS or costly(i.op) and i.op not in SHARED:
            continue
        out, values = i.outputs[0], [x for x in i.inputs if isinstance(x, Value)]
        if (
            out.buffer not in later
            or out.buffer.size < LEAST
            or out.buffer in needed
            or out.buffer in written
            or not out.whole
        ):
            continue
        if (
            len(values) != 1
            or values[0].buffer not in later
            or values[0].buffer in written
            or not values[0].whole
        ):
            continue
        node = member_of(i, number_of)
        if (
            not isinstance(node, Member)
            or node.reduction
            or node.move
            or len(node.args) != len(i.inputs)
        ):
            continue
        # If a loop computes the operand, it would compute this result as well.
        maker = makers.get(values[0].buffer)
        if maker is None or not isinstance(member_of(maker, number_of), Member):
            _again(program, made, i, values[0], number_of)
    return program.but(made)


def _again(
    program: Program,
    made: list[Instruction],
    i: Instruction,
    x: Value,
    number_of: Callable[[Value], Any],
) -> None:
    """Compute the result of `i` again where backward first reads its operand `x`, if all readers of
    the result can wait until then.
    """
    out = i.outputs[0]
    late = [
        k
        for k, r in enumerate(made)
        if r.phase == "backward" and any(v.buffer is out.buffer for v in r.reads())
    ]
    anchor = next(
        (
            k
            for k, r in enumerate(made)
            if r.phase == "backward" and _reads_along(r, x, out.shape, number_of)
        ),
        None,
    )
    if anchor is None or any(not _by_input(made[k], out.buffer) for k in late):
        return
    end = anchor + 1  # the end of what will become one loop
    while end < len(made) and _goes_over(made[end], out.shape, number_of):
        end += 1
    early = [k for k in late if k < anchor]
    for k in early:
        # An instruction that moves behind the loop must not be needed earlier, and its operands
        # must not change.
        mine, theirs = made[k], made[k + 1 : end]
        stores, reads = {v.buffer for v in mine.made()}, {v.buffer for v in mine.reads()}
        for r in theirs:
            if r.kind not in ("op", "copy") or any(
                v.buffer in stores or v.buffer in reads for v in r.made()
            ):
                return
            if any(v.buffer in stores for v in r.reads()):
                return
    buffer = program.buffer("temp", out.buffer.size)
    readers = {k: _with(made[k], out.buffer, buffer) for k in late}
    made[:] = [
        *(r for k, r in enumerate(made[:anchor]) if k not in early),
        replace(i, outputs=(replace(out, buffer=buffer),), phase="backward", again=True),
        *(readers.get(k, r) for k, r in enumerate(made[anchor:end], anchor)),
        *(readers[k] for k in early),
        *(readers.get(k, r) for k, r in enumerate(made[end:], end)),
    ]


def _reads_along(
    r: Instruction, x: Value, shape: tuple[int, ...], number_of: Callable[[Value], Any]
) -> bool:
    return any(isinstance(v, Value) and v.same_place(x) for v in r.inputs) and _goes_over(
        r, shape, number_of
    )


def _goes_over(r: Instruction, shape: tuple[int, ...], number_of: Callable[[Value], Any]) -> bool:
    node = member_of(r, number_of)
    return isinstance(node, Member) and node.shape == shape and not node.reduction


def _by_input(r: Instruction, buffer: Buffer) -> bool:
    """Whether an instruction reads a buffer only as an operand, and could read another one instead."""
    if r.kind != "op" or r.extras or r.hands_on or r.writes:
        return False
    count = sum(v.buffer is buffer for v in r.reads())
    return count == sum(isinstance(v, Value) and v.buffer is buffer for v in r.inputs)


def _with(r: Instruction, old: Buffer, new: Buffer) -> Instruction:
    return replace(
        r,
        inputs=tuple(
            replace(v, buffer=new) if isinstance(v, Value) and v.buffer is old else v
            for v in r.inputs
        ),
    )
