"""Expand operations that are defined by formulas of other operations, so that loops can fuse them
with their surroundings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...arrays.halves import native_products
from ...core.primitive import PRIMITIVES
from ...ir import Instruction, Program, Value
from ...ir.program import ITEMSIZE, row_major
from .context import Context
from .fuse import product_of


class Expansion:
    """The instructions that replace one instruction, in order. The `expand` rules of records write
    them.
    """

    def __init__(self, i: Instruction, program: Program) -> None:
        self.i = i
        self.program = program
        self.made: list[Instruction] = []

    def new(
        self,
        op: str,
        *inputs: Any,
        shape: Sequence[int] | None = None,
        dtype: str | None = None,
        **params: Any,
    ) -> Value:
        """Add an operation and return its result, which by default has the shape and dtype of the
        first operand.
        """
        kind, shape = dtype or inputs[0].dtype, inputs[0].shape if shape is None else tuple(shape)
        out = self.program.value(
            self.program.buffer("temp", ITEMSIZE[kind] * math.prod(shape)), kind, tuple(shape)
        )
        if op == "cast":
            params["dtype"] = np.dtype(kind)
        self.give(op, *inputs, out=out, **params)
        return out

    def give(self, op: str, *inputs: Any, out: Value | None = None, **params: Any) -> None:
        """Add the last operation, whose result is that of the replaced instruction."""
        outputs = self.i.outputs if out is None else (out,)
        self.made.append(
            replace(
                self.i, op=op, inputs=inputs, outputs=outputs, params=params, record=PRIMITIVES[op]
            )
        )

    def reduced(self, op: str, x: Value, dims: tuple[int, ...]) -> Value:
        """A reduction that keeps the reduced dimensions with size 1."""
        shape = [1 if d in dims else n for d, n in enumerate(x.shape)]
        return self.new(op, x, shape=shape, dim=dims, keepdim=True)

    @property
    def dims(self) -> tuple[int, ...]:
        """The dimensions over which the instruction reduces."""
        dim, ndim = self.i.params["dim"], len(self.i.inputs[0].shape)
        dims = range(ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
        return tuple(sorted(d % ndim for d in dims))

    @staticmethod
    def floats(x: Value, halves: bool = False) -> bool:
        """Whether loops compute in the dtype of a value: float32, float64 and, with `halves`,
        two-byte floats.
        """
        return x.dtype in ("float32", "float64") or halves and x.dtype in ("bfloat16", "float16")

    @staticmethod
    def reshaped(v: Value, shape: tuple[int, ...]) -> Value:
        """A contiguous value in another shape."""
        return replace(v, shape=shape, strides=row_major(shape, ITEMSIZE[v.dtype]))

    @staticmethod
    def with_one(v: Value, dim: int) -> Value:
        """A value with a dimension of size 1 inserted before `dim`."""
        return replace(
            v,
            shape=(*v.shape[:dim], 1, *v.shape[dim:]),
            strides=(*v.strides[:dim], 0, *v.strides[dim:]),
        )

    @staticmethod
    def turned(v: Value) -> Value:
        """A value with its last two dimensions swapped."""
        return replace(
            v,
            shape=(*v.shape[:-2], *v.shape[:-3:-1]),
            strides=(*v.strides[:-2], *v.strides[:-3:-1]),
        )

    def laid_out(self, x: Value) -> bool:
        """Copy the operands of a matrix product whose strides no kernel can read. Returns False if
        all can be read.
        """
        values = self.i.inputs
        if (
            not self.floats(x, halves=True)
            or isinstance(product_of(self.i), tuple)
            or not all(isinstance(v, Value) for v in values)
        ):
            return False
        fits = [v.contiguous if len(v.shape) < 2 else _readable(v) for v in values]
        if all(fits):
            return False
        read = [v if good else self.new("clone", v) for v, good in zip(values, fits, strict=True)]
        self.give(self.i.op, *read)
        return True


def _readable(v: Value) -> bool:
    """Whether a matrix product can read a matrix, or a stack of them, without a copy: rows or
    columns are contiguous, and nothing is repeated.
    """
    ends = [(n, s) for n, s in zip(v.shape[-2:], v.strides[-2:], strict=True) if n > 1]
    return all(s > 0 for _, s in ends) and (len(ends) < 2 or ITEMSIZE[v.dtype] in v.strides[-2:])


def _in_float32(i: Instruction, program: Program) -> list[Instruction]:
    """The instruction, or the instruction between casts, which loops can fuse: reductions and
    expandable operations on two-byte floats are computed in float32 and rounded once.
    """
    x = i.inputs[0] if i.inputs else None
    if i.kind != "op" or i.hands_on or i.extras or len(i.outputs) != 1:
        return [i]
    if (
        not isinstance(x, Value)
        or x.dtype not in ("bfloat16", "float16")
        or i.outputs[0].dtype != x.dtype
        or not x.size
    ):
        return [i]
    product = "multiplies" in i.record.traits
    if product and native_products(np.dtype(x.dtype)):
        return [i]
    if not product and (len(i.inputs) != 1 or not (i.record.reduces or i.record.expand)):
        return [i]
    e, out = Expansion(i, program), i.outputs[0]
    wide = [
        e.new("cast", v, dtype="float32") if isinstance(v, Value) and v.dtype == x.dtype else v
        for v in i.inputs
    ]
    made = program.value(program.buffer("temp", 4 * math.prod(out.shape)), "float32", out.shape)
    e.made.append(replace(i, inputs=tuple(wide), outputs=(made,)))
    e.give("cast", made, dtype=np.dtype(x.dtype))
    return e.made


def expand_formulas(program: Program, context: Context) -> Program:
    """Replace operations by others where their records define them so."""
    made: list[Instruction] = []
    for i in [part for whole in program.instructions for part in _in_float32(whole, program)]:
        whole = i.kind == "op" and not i.hands_on and len(i.outputs) == 1
        x = i.inputs[0] if whole and i.record.expand is not None else None
        if isinstance(x, Value) and x.shape and x.size:
            expansion = Expansion(i, program)
            if (
                i.outputs[0].dtype in (x.dtype, "bool", "int64")
                and i.outputs[0].contiguous
                and i.record.expand(expansion, x)
            ):
                made += expansion.made
                continue
        made.append(i)
    return program.but(made)
