"""Expand operations that are defined as formulas of others, so that loops can fuse them with their
surroundings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...backends.halves import native_products
from ...core.primitive import PRIMITIVES
from ...ir import Instruction, Program, Value
from ...ir.program import ITEMSIZE, row_major
from .context import Context
from .fuse import product_of


class Formula:
    """What stands for an instruction, in order."""

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
        """A new value: an operation's result, by default of the shape and dtype of its first
        operand.
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
        """The last step: its result is the instruction's."""
        outputs = self.i.outputs if out is None else (out,)
        self.made.append(
            replace(
                self.i, op=op, inputs=inputs, outputs=outputs, params=params, record=PRIMITIVES[op]
            )
        )

    def reduced(self, op: str, x: Value, dims: tuple[int, ...]) -> Value:
        """A reduction that keeps its dimensions, with size one."""
        shape = [1 if d in dims else n for d, n in enumerate(x.shape)]
        return self.new(op, x, shape=shape, dim=dims, keepdim=True)


def _dims(i: Instruction) -> tuple[int, ...]:
    """The dimensions that a reduction goes over."""
    dim, ndim = i.params["dim"], len(i.inputs[0].shape)
    dims = range(ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    return tuple(sorted(d % ndim for d in dims))


def _norm(f: Formula, x: Value) -> bool:
    order, dims, keepdim = f.i.params["ord"], _dims(f.i), f.i.params["keepdim"]
    shape = f.i.outputs[0].shape
    if order == 2 and math.prod(x.shape[d] for d in dims) == 1:  # whose square might overflow
        order = 1
    if order == 2:
        total = f.new("sum", f.new("mul", x, x), shape=shape, dim=dims, keepdim=keepdim)
        f.give("sqrt", total)
    elif order in (1, math.inf, -math.inf):
        f.give(
            {1: "sum", math.inf: "amax"}.get(order, "amin"),
            f.new("abs", x),
            dim=dims,
            keepdim=keepdim,
        )
    elif order == 0:
        hits = f.new("cast", f.new("ne", x, 0, dtype="bool"), dtype=x.dtype, shape=x.shape)
        f.give("sum", replace(hits, dtype=x.dtype), dim=dims, keepdim=keepdim)
    else:
        powers = f.new("pow", f.new("abs", x), float(order))
        f.give("pow", f.new("sum", powers, shape=shape, dim=dims, keepdim=keepdim), 1 / order)
    return True


def _logsumexp(f: Formula, x: Value) -> bool:
    dims, out = _dims(f.i), f.i.outputs[0]
    top = f.reduced("amax", x, dims)
    # Infinite ones stay as they are: nothing is taken out of their lines.
    top = f.new(
        "where", f.new("isfinite", top, dtype="bool"), top, 0.0, shape=top.shape, dtype=x.dtype
    )
    total = f.reduced("sum", f.new("exp", f.new("sub", x, top)), dims)
    flat = [
        replace(v, shape=out.shape, strides=row_major(out.shape, ITEMSIZE[v.dtype]))
        for v in (f.new("log", total), top)
    ]
    f.give("add", *flat)
    return True


def _softmax(f: Formula, x: Value) -> bool:
    dim = f.i.params["dim"]
    if (
        set(f.i.params) - {"dim"}
        or dim == len(x.shape) - 1
        and x.dtype == "float32"
        and x.contiguous
    ):
        return False  # rows have a kernel
    away = f.new("sub", x, f.reduced("amax", x, (dim,)))
    powers = f.new("exp", away)
    total = f.reduced("sum", powers, (dim,))
    if f.i.op == "softmax":
        f.give("div", powers, total)
    else:
        f.give("sub", away, f.new("log", total))
    return True


def _variance(f: Formula, x: Value) -> bool:
    dims, out, correction = _dims(f.i), f.i.outputs[0], f.i.params["correction"]
    left = math.prod(x.shape[d] for d in dims) - correction
    if left <= 0:
        return False
    if x.dtype == "float32":  # squares in double: they neither overflow nor vanish
        x = f.new("cast", x, dtype="float64")
    away = f.new("sub", x, f.reduced("mean", x, dims))
    squares = f.new("mul", away, away)
    total = f.new("sum", squares, shape=out.shape, dim=dims, keepdim=f.i.params["keepdim"])
    last = (
        ("div", total, float(left))
        if f.i.op == "var"
        else ("sqrt", f.new("div", total, float(left)))
    )
    if total.dtype == out.dtype:
        f.give(*last)
    else:
        f.give("cast", f.new(*last), dtype=np.dtype(out.dtype))
    return True


def _linear(f: Formula, x: Value) -> bool:
    """Rows with gaps between them are copied first: a product goes over all rows as one matrix."""
    if len(x.shape) < 3 or x.contiguous:
        return _laid_out(f)
    f.give("linear", f.new("clone", x), *f.i.inputs[1:])
    return True


def _readable(v: Value) -> bool:
    """Whether a product reads a matrix, or stack of them, as it lies: along rows or columns without
    gaps, and repeats nothing.
    """
    ends = [(n, s) for n, s in zip(v.shape[-2:], v.strides[-2:], strict=True) if n > 1]
    return all(s > 0 for _, s in ends) and (len(ends) < 2 or ITEMSIZE[v.dtype] in v.strides[-2:])


def _laid_out(f: Formula) -> bool:
    """Operands of a product that no kernel reads as they lie are copied first."""
    values = f.i.inputs
    if isinstance(product_of(f.i), tuple) or not all(isinstance(v, Value) for v in values):
        return False
    fits = [v.contiguous if len(v.shape) < 2 else _readable(v) for v in values]
    if all(fits):
        return False
    f.give(
        f.i.op, *[v if good else f.new("clone", v) for v, good in zip(values, fits, strict=True)]
    )
    return True


def _truth(f: Formula, x: Value) -> bool:
    """all, any and count_nonzero of numbers: of those that are not 0."""
    hits = f.new("ne", x, 0, dtype="bool")
    if f.i.op == "count_nonzero":
        shape = f.i.outputs[0].shape
        counted = f.new("cast", hits, dtype="int64", shape=x.shape)
        f.give("sum", counted, dim=_dims(f.i), keepdim=len(shape) == len(x.shape))
    else:
        f.give(f.i.op, hits, **f.i.params)
    return True


def _counted(f: Formula, x: Value) -> bool:
    """The sum of booleans or narrow integers, which is one of int64."""
    if f.i.outputs[0].dtype != "int64":
        return False
    f.give(f.i.op, f.new("cast", x, dtype="int64", shape=x.shape), **f.i.params)
    return True


def _masked(f: Formula, x: Value) -> bool:
    """A number put where a mask is true."""
    _, value, *masks = f.i.inputs
    if (
        f.i.params["accumulate"]
        or tuple(f.i.params["spec"]) != (True,)
        or len(masks) != 1
        or masks[0].dtype != "bool"
    ):
        return False
    if not isinstance(value, Value) or value.size != 1 or value.dtype != x.dtype:
        return False
    mask, rest = masks[0], len(x.shape) - len(masks[0].shape)
    wide = replace(mask, shape=(*mask.shape, *(1,) * rest), strides=(*mask.strides, *(0,) * rest))
    f.give("where", wide, replace(value, shape=(), strides=()), x)
    return True


def _vectors(f: Formula, x: Value) -> bool:
    """Products with vectors, as those with matrices of one row or column."""
    y, out = f.i.inputs[1], f.i.outputs[0]
    if not isinstance(y, Value) or x.dtype != y.dtype:
        return False
    if min(len(x.shape), len(y.shape)) != 1:
        return _laid_out(f)
    rows, columns = len(x.shape) == 1, len(y.shape) == 1
    a = replace(x, shape=(1, *x.shape), strides=(0, *x.strides)) if rows else x
    b = replace(y, shape=(*y.shape, 1), strides=(*y.strides, 0)) if columns else y
    shape = list(out.shape)
    if rows:
        shape.insert(len(shape) - (not columns), 1)
    if columns:
        shape.append(1)
    made = replace(out, shape=tuple(shape), strides=row_major(tuple(shape), ITEMSIZE[out.dtype]))
    f.give("matmul", a, b, out=made)
    return True


def _apart(v: Value, dim: int) -> Value:
    """With a dimension of size one."""
    return replace(
        v,
        shape=(*v.shape[:dim], 1, *v.shape[dim:]),
        strides=(*v.strides[:dim], 0, *v.strides[dim:]),
    )


def _cdist(f: Formula, x: Value) -> bool:
    y, out, p = f.i.inputs[1], f.i.outputs[0], f.i.params["p"]
    if not isinstance(y, Value) or not y.size or y.dtype != x.dtype:
        return False
    ndim = len(x.shape)
    if f.i.params["by_products"]:
        last = (ndim - 1,)
        xx, yy = (f.reduced("sum", f.new("mul", v, v), last) for v in (x, y))
        yy = replace(
            yy,
            shape=(*yy.shape[:-2], 1, yy.shape[-2]),
            strides=(*yy.strides[:-2], 0, yy.strides[-2]),
        )
        turned = replace(
            y,
            shape=(*y.shape[:-2], *y.shape[:-3:-1]),
            strides=(*y.strides[:-2], *y.strides[:-3:-1]),
        )
        products = f.new("matmul", x, turned, shape=out.shape)
        squares = f.new("sub", f.new("add", xx, yy, shape=out.shape), f.new("mul", products, 2.0))
        f.give("sqrt", f.new("maximum", squares, 0.0))
        return True
    away = f.new("sub", _apart(x, ndim - 1), _apart(y, ndim - 2), shape=(*out.shape, x.shape[-1]))
    if p == 0:
        f.give(
            "sum",
            f.new("cast", f.new("ne", away, 0, dtype="bool"), dtype=x.dtype, shape=away.shape),
            dim=(ndim,),
            keepdim=False,
        )
    elif p == 2:
        f.give(
            "sqrt",
            f.new("sum", f.new("mul", away, away), shape=out.shape, dim=(ndim,), keepdim=False),
        )
    elif p in (1, math.inf):
        f.give("sum" if p == 1 else "amax", f.new("abs", away), dim=(ndim,), keepdim=False)
    else:
        powers = f.new("pow", f.new("abs", away), p)
        f.give("pow", f.new("sum", powers, shape=out.shape, dim=(ndim,), keepdim=False), 1 / p)
    return True


_FORMULAS: dict[str, Callable[[Formula, Value], bool]] = {
    "vector_norm": _norm,
    "logsumexp": _logsumexp,
    "softmax": _softmax,
    "log_softmax": _softmax,
    "var": _variance,
    "std": _variance,
    "linear": _linear,
    "all": _truth,
    "any": _truth,
    "count_nonzero": _truth,
    "matmul": _vectors,
    "index_put": _masked,
    "cdist": _cdist,
    "sum": _counted,
    "sum_all": _counted,
}
# Of the first operand; float32 and float64 for all others.
_KINDS = {
    **dict.fromkeys(("sum", "sum_all"), ("bool", "int32")),
    **dict.fromkeys(("linear", "matmul"), ("float32", "float64", "bfloat16", "float16")),
}


# Of two-byte floats they are computed in float32 and rounded once.
_IN_FLOAT32 = frozenset(
    "sum sum_all sum_to mean mean_all amax amin max_all min_all prod vector_norm logsumexp softmax log_softmax var std".split()
)


def _in_float32(i: Instruction, program: Program) -> list[Instruction]:
    """The instruction, or with casts around it that loops take up."""
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
    product = i.op in ("matmul", "linear") and not native_products(np.dtype(x.dtype))
    if not product and (i.op not in _IN_FLOAT32 or len(i.inputs) != 1):
        return [i]
    f, out = Formula(i, program), i.outputs[0]
    wide = [
        f.new("cast", v, dtype="float32") if isinstance(v, Value) and v.dtype == x.dtype else v
        for v in i.inputs
    ]
    made = program.value(program.buffer("temp", 4 * math.prod(out.shape)), "float32", out.shape)
    f.made.append(replace(i, inputs=tuple(wide), outputs=(made,)))
    f.give("cast", made, dtype=np.dtype(x.dtype))
    return f.made


def expand_formulas(program: Program, context: Context) -> Program:
    """The same program with formulas in the place of such operations on floats, and of sums of
    booleans and int32.
    """
    made: list[Instruction] = []
    for i in [part for whole in program.instructions for part in _in_float32(whole, program)]:
        rule = (
            _FORMULAS.get(i.op)
            if i.kind == "op" and not i.hands_on and len(i.outputs) == 1
            else None
        )
        x = i.inputs[0] if rule is not None else None
        kinds = _KINDS.get(i.op, ("float32", "float64"))
        if rule is not None and isinstance(x, Value) and x.dtype in kinds and x.shape and x.size:
            formula = Formula(i, program)
            if (
                i.outputs[0].dtype in (x.dtype, "bool", "int64")
                and i.outputs[0].contiguous
                and rule(formula, x)
            ):
                made += formula.made
                continue
        made.append(i)
    return program.but(made)
