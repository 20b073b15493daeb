"""Reductions in generated loops: the types of their partial results, and how these become results."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...llvm.emit import Function, SSAValue, lanes, vector
from .plan import LoopPlan
from .values import (
    MEMORY,
    Maker,
    Mask,
    Num,
    each_vector,
    is_float,
    is_half,
    numpy_dtype,
    pack,
    store,
    unpack,
)

__all__ = ["Gather", "combine_slots", "fill", "gather_of", "write_empty"]


class Gather(NamedTuple):
    """How a reduction accumulates: the dtypes of partial results in vectors, of totals and of the
    result, and the number of terms.
    """

    kind: str
    part: str
    total: str
    dtype: str
    terms: int

    def identity(self, m: Maker, kind: str) -> Num:
        """Return the neutral element; for sums of floats it is -0, since -0 + 0 is 0."""
        return m.number(_identity(self.kind, kind), kind)

    def combine(self, m: Maker, a: Num, b: Num) -> Num:
        """Combine two partial results."""
        if self.kind in ("sum", "mean"):
            return a + b
        if self.kind == "prod":
            return a * b
        if self.kind in ("max", "min"):
            return m.maximum(a, b) if self.kind == "max" else m.minimum(a, b)
        return a | b if self.kind == "any" else a & b

    def fold(self, one: Maker, x: Num) -> Num:
        """Combine the lanes to a scalar."""
        f, kind = one.f, x.kind
        if self.kind not in ("max", "min") or not is_float(kind) or lanes(x.value.ctype) == 1:
            return Num(
                one,
                f.fold(
                    x.value,
                    lambda a, b: self.combine(one, Num(one, a, kind), Num(one, b, kind)).value,
                ),
                kind,
            )
        # NaN is detected once, separately from the comparisons.
        best = f.fold(x.value, f.larger if self.kind == "max" else f.smaller)
        bits = f"i{lanes(x.value.ctype)}"
        found = f.bitcast(x.isnan().value, bits)
        return Num(
            one, f.select(found.compare("ne", 0), one.number(math.nan, kind).value, best), kind
        )

    def final(self, m: Maker, total: Num) -> Num:
        """Convert the total of all terms to the result in the reduction's dtype; a mean is divided
        here.
        """
        return m.cast(total / float(self.terms) if self.kind == "mean" else total, self.dtype)


def gather_of(kind: str, dtype: str, count: int) -> Gather:
    """Return how to accumulate. Sums of float32 and two-byte floats continue in double; integers
    are summed in 64 bits.
    """
    if kind in ("any", "all"):
        return Gather(kind, "bool", "bool", dtype, count)
    if kind in ("max", "min"):
        held = "float32" if is_half(dtype) else dtype
        return Gather(kind, held, held, dtype, count)
    if not is_float(dtype):
        return Gather(kind, "int64", "int64", dtype, count)
    return Gather(
        kind,
        "float64" if dtype == "float64" or kind == "prod" else "float32",
        "float64",
        dtype,
        count,
    )


def _identity(kind: str, dtype: str) -> Any:
    if kind in ("max", "min"):
        worst = -math.inf if kind == "max" else math.inf
        if is_float(dtype):
            return worst
        if dtype == "bool":
            return kind == "min"
        info = np.iinfo(numpy_dtype(dtype))
        return info.min if kind == "max" else info.max
    return {"sum": -0.0, "mean": -0.0, "prod": 1, "any": False, "all": True}[kind]


def combine_slots(
    f: Function, plan: LoopPlan, k: int, g: Gather, scratch: SSAValue, out: SSAValue, width: int
) -> None:
    """Emit the combination of the partial results of reduction `k`, in their order, and the store
    of the result.
    """
    kept = plan.kept(k) or [(1, 0)]
    size = plan.slot_size(k)
    dims, strides = [], 1
    for n, s in reversed(kept):
        dims.append((n, strides, s))
        strides *= n
    (n, _, stride), outer = dims[0], dims[1:][::-1]

    def vectors(at: SSAValue | int, place: SSAValue | int, m: Maker, mask: Mask | None) -> None:
        kind = vector(MEMORY[g.total], m.width)
        total = f.var(m.ctype(g.total), g.identity(m, g.total).value)
        with f.loop(0, plan.slots[k]) as p:
            value = Num(
                m,
                unpack(
                    f,
                    f.load(kind, scratch, p * size + at, mask=None if mask is None else mask.value),
                    g.total,
                ),
                g.total,
            )
            total.set(g.combine(m, Num(m, total.get(), g.total), value).value)
        store(f, pack(f, g.final(m, Num(m, total.get(), g.total)).value, g.dtype), out, place, mask)

    def nest(dims: list[tuple[int, int, int]], at: Any, place: Any) -> None:
        if dims:
            (count, step, out_step), *rest = dims
            with f.loop(0, count) as i:
                nest(rest, i * step + at, i * out_step + place)
        elif stride == 1 and n >= width > 1:
            each_vector(
                f, n, width, lambda i, mask: vectors(i + at, i + place, Maker(f, width), mask)
            )
        else:
            with f.loop(0, n) as i:
                vectors(i + at, i * stride + place, Maker(f, 1), None)

    nest(outer, 0, 0)


def fill(f: Function, where: SSAValue, count: int, g: Gather, width: int) -> None:
    """Emit stores of the neutral element to the memory of partial results."""
    m = Maker(f, width)
    start = pack(f, g.identity(m, g.total).value, g.total)
    each_vector(f, count, width, lambda i, mask: store(f, start, where, i, mask))


def write_empty(f: Function, kept: list[tuple[int, int]], g: Gather, out: SSAValue) -> None:
    """Emit a store of the result of a reduction over no elements."""
    one = Maker(f, 1)
    nothing = one.number(0, g.total) if g.kind in ("sum", "mean") else g.identity(one, g.total)
    value = pack(f, g.final(one, nothing).value, g.dtype)

    def nest(dims: list[tuple[int, int]], place: Any) -> None:
        if not dims:
            f.store(value, out, place)
            return
        with f.loop(0, dims[0][0]) as i:
            nest(dims[1:], i * dims[0][1] + place)

    nest(kept, 0)
