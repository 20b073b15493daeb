"""Values that are computed again in the backward instead of being kept for it: what an element-wise operation made of an operand that
the backward reads anyway, element by element. The loop that reads it there makes the value once more, so nothing else is read.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from typing import Any

from ..ir import Buffer, Instruction, Value
from .fuse import Node, node_of

LEAST = 1 << 16  # bytes: less is not worth a second computation
PURE = ("op", "copy")


def recomputed(
    instructions: Sequence[Instruction], needed: Container[Buffer], number_of: Callable[[Value], Any]
) -> list[Instruction]:
    """The same program, in which such values die at the end of the forward. `needed` are temporaries that somebody else reads."""
    made = list(instructions)
    written = {v.buffer for i in made for v in i.writes}
    for i in instructions:
        if i.phase == "backward" or i.kind != "op" or len(i.outputs) != 1 or i.extras or i.hands_on:
            continue
        out = i.outputs[0]
        values = [x for x in i.inputs if isinstance(x, Value)]
        if out.buffer.kind != "temp" or out.buffer.size < LEAST or out.buffer in needed or out.buffer in written or not out.whole:
            continue
        if len(values) != 1 or values[0].buffer in written or not values[0].whole or values[0].buffer.kind == "constant":
            continue
        if (
            isinstance(node := node_of(i, number_of), Node)
            and not (node.reduction or node.move)
            and len(node.args) == len(i.inputs)
        ):
            _again(made, i, values[0], number_of)
    return made


def _again(made: list[Instruction], i: Instruction, x: Value, number_of: Callable[[Value], Any]) -> None:
    """Compute the result of `i` once more where the backward first reads its operand `x`, if all who read the result can wait for that."""
    out = i.outputs[0]
    late = [k for k, r in enumerate(made) if r.phase == "backward" and any(v.buffer is out.buffer for v in r.reads())]
    anchor = next((k for k, r in enumerate(made) if r.phase == "backward" and _reads_along(r, x, out.shape, number_of)), None)
    if not late or anchor is None or any(made[k].kind != "op" or not _by_input(made[k], out.buffer) for k in late):
        return
    end = anchor + 1  # of what will be one loop
    while end < len(made) and end not in late and _goes_over(made[end], out.shape, number_of):
        end += 1
    early = [k for k in late if k < anchor]
    for k in early:
        # What is moved behind that loop may not be missed before, nor may its operands change.
        mine, theirs = made[k], made[k + 1 : end]
        stores = {v.buffer for v in mine.made()}
        if mine.writes or any(v.buffer in stores for r in theirs for v in (*r.reads(), *r.made())):
            return
        reads = {v.buffer for v in mine.reads()}
        if any(r.kind not in PURE or any(v.buffer in reads for v in r.made()) for r in theirs):
            return
    buffer = Buffer("temp", out.buffer.size, out.buffer.number)
    copy = replace(out, buffer=buffer)
    readers = {k: _with(made[k], out.buffer, buffer) for k in late}
    again = replace(i, outputs=(copy,), phase="backward")
    made[:] = [
        *(r for k, r in enumerate(made[: anchor + 1]) if k not in early),
        again,
        *made[anchor + 1 : end],
        *(readers[k] for k in early),
        *(readers.get(k, r) for k, r in enumerate(made[end:], end)),
    ]


def _reads_along(r: Instruction, x: Value, shape: tuple[int, ...], number_of: Callable[[Value], Any]) -> bool:
    return any(isinstance(v, Value) and v.same_place(x) for v in r.inputs) and _goes_over(r, shape, number_of)


def _goes_over(r: Instruction, shape: tuple[int, ...], number_of: Callable[[Value], Any]) -> bool:
    node = node_of(r, number_of)
    return isinstance(node, Node) and node.shape == shape and not node.reduction


def _by_input(r: Instruction, buffer: Buffer) -> bool:
    """Whether an instruction reads a buffer as an operand, not inside its parameters."""
    count = sum(v.buffer is buffer for v in r.reads())
    return count == sum(isinstance(v, Value) and v.buffer is buffer for v in r.inputs)


def _with(r: Instruction, old: Buffer, new: Buffer) -> Instruction:
    return replace(r, inputs=tuple(replace(v, buffer=new) if isinstance(v, Value) and v.buffer is old else v for v in r.inputs))
