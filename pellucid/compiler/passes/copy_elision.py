"""Write results directly to where a concatenation needs them, for example the gradients of query,
key and value into one array.

A kernel that can store rows with any stride can store them inside a larger array. The concatenation
is then free.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from itertools import accumulate

from ...ir import Buffer, Instruction, Program, Value
from ...ir.program import ITEMSIZE
from .context import Context

# Gradient rules whose native code can store results with any strides, as long as rows are
# contiguous.
STRIDED = {"scaled_dot_product_attention_vjp"}


def elide_copies(program: Program, context: Context) -> Program:
    """Remove concatenations whose parts can all be computed in place."""
    # buffers that are used outside of the program
    needed = {v.buffer for v in (*program.inputs, *program.outputs)}
    made = list(program.instructions)
    for i in program.instructions:
        if i.kind == "op" and i.op == "cat" and i.outputs[0].whole:
            moved = _moved(made, i, needed)
            if moved is not None:
                made = [moved.get(r, r) for r in made if r is not i]
    return program.but(made)


def _moved(
    made: Sequence[Instruction], cat: Instruction, needed: Container[Buffer]
) -> dict[Instruction, Instruction] | None:
    """The instructions that compute a concatenation's parts, changed to store into it. None if they
    cannot.
    """
    out, dim = cat.outputs[0], cat.params.get("dim", 0)
    parts = [v for v in cat.inputs if isinstance(v, Value)]
    if (
        len(parts) != len(cat.inputs)
        or not isinstance(dim, int)
        or any(len(v.shape) != len(out.shape) for v in parts)
    ):
        return None
    # buffer of each part -> (the part, its byte offset in the result)
    places: dict[Buffer, tuple[Value, int]] = {}
    for v, start in zip(parts, accumulate((v.shape[dim] for v in parts), initial=0), strict=False):
        if (
            v.buffer.kind != "temp"
            or v.buffer in needed
            or not v.whole
            or not v.size
            or v.dtype != out.dtype
            or v.buffer in places
        ):
            return None
        places[v.buffer] = v, start * out.strides[dim]
    makers: dict[Instruction, Instruction] = {}
    for r in made:
        if r is cat:
            continue
        if any(v.buffer in places for v in (*r.reads(), *r.writes)):
            return None
        mine = [v for v in r.outputs if v.buffer in places]
        if not mine:
            continue
        if r.kind != "rule" or r.op not in STRIDED:
            return None
        there: dict[Value, Value] = {}
        for v in mine:
            mapped = _mapped(v, *places.pop(v.buffer), out) if v.buffer in places else None
            if mapped is None:
                return None
            there[v] = mapped
        if len(there) != len(mine):
            return None
        rule, values, forward = r.record
        record = rule, [there.get(v, v) for v in values], forward
        makers[r] = replace(r, outputs=tuple(there.get(v, v) for v in r.outputs), record=record)
    return None if places else makers


def _mapped(v: Value, part: Value, start: int, out: Value) -> Value | None:
    """The value `v`, a view of the whole value `part`, as a view of the part of `out` that starts
    at `start`. None if no strides describe it.
    """
    if v.offset or v.nbytes != part.nbytes or v.strides[-1:] != (ITEMSIZE[v.dtype],):
        return None
    strides = []
    for n, s in zip(v.shape, v.strides, strict=True):
        # The dimension of `part` that contains these elements.
        d = next(
            (
                d
                for d, m in enumerate(part.strides)
                if n == 1 or (0 < m <= s and s % m == 0 and s * n <= m * part.shape[d])
            ),
            None,
        )
        if d is None:
            return None
        strides.append(s // part.strides[d] * out.strides[d] if n > 1 else s)
    return Value(out.buffer, v.dtype, v.shape, tuple(strides), out.offset + start)
