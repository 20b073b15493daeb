"""Sums, means, products, maxima, minima, any and all over adjacent axes for every dtype, norms of
floats, and variances of float32 (all of C-contiguous arrays).

Two-byte floats are read as they are, summed in float32 and double, and rounded once. An array is
regarded as (outer, length, inner) and reduced over `length`. Each lane sums at most 128 terms in a
row in float before the sum continues in double. Large reductions are cut into chunks that depend on
the shape only, so results do not depend on the number of threads. Maxima and minima of NaN are NaN.
Every function returns None if it does not support its arguments.
"""

from __future__ import annotations

import functools
import math as pymath
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...llvm import jit, target, threads
from ...llvm.emit import (
    BYTES,
    MEMORY,
    REGISTER,
    Function,
    Module,
    SSAValue,
    Var,
    element,
    lanes,
    vector,
)
from .values import available, is_float, numpy_dtype, pack, unpack

__all__ = ["all", "amax", "amin", "any", "mean", "nansum", "norm", "prod", "sum", "var"]

_F32 = np.dtype(np.float32)
Axes = int | tuple[int, ...] | None
CHUNK = 1 << 16  # number of elements of a row that form a separate piece
SUM_TERMS = 32  # number of terms of a row that each partial sum takes in float
SUM_ROWS = 128  # number of rows summed in float
UNROLL = 4


PARTS = {"complex64": "float32", "complex128": "float64"}  # dtypes of the parts of complex numbers
_KEPT = ("max", "min")  # their result has the dtype of the elements
_TRUTH = ("any", "all")
_NARROW = 1 << 14  # number of terms for which integers of one or two bytes are summed in 32 bits


class ReductionType:
    """How vectors of a dtype are loaded, reduced and stored. Two-byte floats are float32 in
    registers, integers are summed in 64 bits (those of one and two bytes in 32 bits at first),
    complex numbers are reduced part by part.
    """

    def __init__(self, dtype: str, name: str = "sum") -> None:
        self.parts = 2 if dtype in PARTS else 1
        self.dtype = dtype = PARTS.get(dtype, dtype)
        self.memory, self.floating = MEMORY[dtype], is_float(dtype)
        self.terms = SUM_TERMS
        if self.floating:
            self.scalar, self.total = REGISTER[dtype], "double"
        elif name in _KEPT or name in _TRUTH:
            self.scalar = self.total = self.memory
        else:
            narrow = name == "sum" and BYTES[self.memory] < 4
            self.scalar, self.total = "i32" if narrow else "i64", "i64"
            self.terms = _NARROW
        self.unsigned = dtype.startswith("u") or dtype == "bool"
        self.width = target.host().vector_bits // (8 * BYTES[self.scalar])
        self.vector, self.totals = (vector(c, self.width) for c in (self.scalar, self.total))

    def at(self, f: Function, pointer: SSAValue, index: SSAValue) -> SSAValue:
        """Return the address of an element, or of a part of a complex number."""
        return f.at(pointer, index, self.memory)

    def load(
        self,
        f: Function,
        pointer: SSAValue,
        index: SSAValue,
        mask: SSAValue | None = None,
        other: float = 0,
    ) -> SSAValue:
        """Load a vector, with `other` in the lanes outside the mask."""
        if self.memory == self.scalar:
            return f.load(self.vector, pointer, index, mask=mask, other=other)
        read = f.load(vector(self.memory, self.width), pointer, index, mask=mask)
        if self.floating:
            read = unpack(f, read, self.dtype)
        else:
            read = f._convert("zext" if self.unsigned else "sext", read, self.vector)
        return read if mask is None or not other else f.select(mask, read, other)

    def store(
        self,
        f: Function,
        value: SSAValue,
        pointer: SSAValue,
        index: SSAValue,
        mask: SSAValue | None = None,
    ) -> None:
        """Round a wider value (a scalar or a vector) and store it."""
        if self.floating and value.ctype != "i8":
            value = f.trunc(value, vector(self.scalar, lanes(value.ctype)))
            value = pack(f, value, self.dtype)
        f.store(value, pointer, index, mask=mask)

    def better(self, f: Function, name: str) -> Callable[[SSAValue, SSAValue], SSAValue]:
        """Return a function for the larger or smaller of two vectors, which must not contain NaN if
        they are floats.
        """
        if self.unsigned:
            how = "ugt" if name == "max" else "ult"
            return lambda a, b: f.select(a.compare(how, b), a, b)
        return f.larger if name == "max" else f.smaller

    def worst(self, name: str) -> float:
        """Return the value than which every element is at least as good."""
        if self.floating:
            return -pymath.inf if name == "max" else pymath.inf
        if self.dtype == "bool":
            return int(name == "min")
        info = np.iinfo(self.dtype)
        return info.min if name == "max" else info.max

    def true(self, v: SSAValue) -> SSAValue:
        """Return which lanes are not zero."""
        return v.compare("une" if self.floating else "ne", 0)

    def folded(self, f: Function, v: SSAValue, combine: Callable[..., SSAValue]) -> list[SSAValue]:
        """Combine the lanes of a vector; real and imaginary parts separately."""
        if self.parts == 1:
            return [f.fold(v, combine)]
        return [f.fold(part, combine) for part in _split(f, v)]


def _split(f: Function, v: SSAValue) -> list[SSAValue]:
    """Separate interleaved real and imaginary parts."""
    if lanes(v.ctype) == 2:
        return [_lanes(f, v, part, 1) for part in (0, 1)]
    return [f.shuffle(v, v, list(range(part, lanes(v.ctype), 2))) for part in (0, 1)]


def _joined(f: Function, parts: list[SSAValue]) -> SSAValue:
    n = lanes(parts[0].ctype)
    if n == 1:
        pair = vector(parts[0].ctype, 2)
        return f.shuffle(f.splat(parts[0], pair), f.splat(parts[1], pair), [0, 2])
    return f.shuffle(parts[0], parts[1], [k // 2 + k % 2 * n for k in range(2 * n)])


def _pairwise(values: list[Any], combine: Callable[[Any, Any], Any]) -> Any:
    while len(values) > 1:
        values = [combine(a, b) for a, b in zip(values[::2], values[1::2])]
    return values[0]


# Rows: inner == 1. A piece [start, stop) of a row is reduced to one total for each part.


def _sum_piece(
    f: Function, k: ReductionType, x: SSAValue, length: SSAValue, term=None
) -> list[SSAValue]:
    kind, width = k.vector, k.width
    totals = [f.var(k.total, 0) for _ in range(k.parts)]
    parts = [f.var(kind) for _ in range(UNROLL)]
    block = k.terms * UNROLL * width
    with f.loop(0, length, block) as start:
        here = k.at(f, x, start)
        count = f.smaller(length - start, block)
        for part in parts:
            part.set(0)
        whole = count - count % (width * UNROLL)

        def add(part, i: SSAValue, mask: SSAValue | None, here=here) -> None:
            v = k.load(f, here, i, mask)
            v = v if term is None else term(v)
            part.set(part.get() + (v if mask is None else f.select(mask, v, 0)))

        with f.loop(0, whole, width * UNROLL) as i:
            for u, part in enumerate(parts):
                add(part, i + u * width, None)
        with f.loop(whole, count, width) as i:
            add(parts[0], i, f.tail_mask(count - i, width))
        sums = [part.get() for part in parts]
        if not k.floating:  # the final sums of narrow integers need more bits
            sums = [f.extend(value, k.totals) for value in sums]
        sums = k.folded(f, _pairwise(sums, _plus), _plus)
        for total, value in zip(totals, sums):
            total.set(total.get() + f.extend(value, k.total))
    return [total.get() for total in totals]


def _plus(a: SSAValue, b: SSAValue) -> SSAValue:
    return a + b


def _times(a: list[SSAValue], b: list[SSAValue]) -> list[SSAValue]:
    """Multiply numbers of one part or two."""
    if len(a) == 1:
        return [a[0] * b[0]]
    return [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]


def _number(f: Function, v: SSAValue) -> SSAValue:
    """Replace NaN by 0."""
    return f.select(v.compare("uno", v), f.const(0.0, v.ctype), v)


def _factors(
    f: Function, k: ReductionType, x: SSAValue, i: SSAValue, mask: SSAValue | None = None
) -> list[SSAValue]:
    """Load elements as they are multiplied, part by part, with ones in the lanes outside the mask."""
    v = f.extend(k.load(f, x, i, mask, 1), k.totals)
    if k.parts == 1:
        return [v]
    real, imag = _split(f, v)
    if mask is not None:
        imag = f.select(_split(f, mask)[1], imag, 0)
    return [real, imag]


def _ones(f: Function, k: ReductionType) -> list[Var]:
    held = vector(k.total, k.width // k.parts)
    return [f.var(held, f.const(int(part == 0), held)) for part in range(k.parts)]


def _multiply(product: list[Var], by: list[SSAValue]) -> None:
    for part, value in zip(product, _times([part.get() for part in product], by)):
        part.set(value)


def _flush(f: Function, k: ReductionType, products: list[list[Var]]) -> None:
    """Replace doubles that have lost digits to underflow by zeros. They are far below what numbers
    of four bytes and fewer can represent, and the processor takes a hundred times as long for each
    product of such numbers.
    """
    if not k.floating or k.dtype == "float64":
        return
    for product in products:
        for part in product:
            v = part.get()
            none = f.copysign(f.const(0.0, v.ctype), v)
            part.set(f.select(f.fabs(v).compare("olt", 2.0**-1022), none, v))


def _product_piece(f: Function, k: ReductionType, x: SSAValue, length: SSAValue) -> list[SSAValue]:
    """Emit the product, computed in double."""
    width = k.width
    products = [_ones(f, k) for _ in range(UNROLL)]
    whole = length - length % (width * UNROLL)
    block = SUM_TERMS * UNROLL * width
    with f.loop(0, whole, block) as start:
        with f.loop(start, f.smaller(start + block, whole), width * UNROLL) as i:
            for u, product in enumerate(products):
                _multiply(product, _factors(f, k, x, i + u * width))
        _flush(f, k, products)
    with f.loop(whole, length, width) as i:
        _multiply(products[0], _factors(f, k, x, i, f.tail_mask(length - i, width)))
    values = _pairwise([[part.get() for part in product] for product in products], _times)
    while (n := lanes(values[0].ctype)) > 1:
        values = _times(*[[_lanes(f, v, at, n // 2) for v in values] for at in (0, n // 2)])
    return values


def _lanes(f: Function, v: SSAValue, first: int, count: int) -> SSAValue:
    """Return adjacent lanes of a vector; a scalar for one lane."""
    if count > 1:
        return f.shuffle(v, v, list(range(first, first + count)))
    return f.emit(f"extractelement {v.ctype} {v.name}, i32 {first}", element(v.ctype))


def _extreme_piece(
    f: Function, k: ReductionType, x: SSAValue, length: SSAValue, name: str
) -> list[SSAValue]:
    """Emit the largest or smallest element, or NaN if there is one (as a double for floats)."""
    kind, width = k.vector, k.width
    better, worst = k.better(f, name), k.worst(name)
    best = [f.var(kind, worst) for _ in range(UNROLL)]
    bad = f.var(vector("i1", width), 0)
    whole = length - length % (width * UNROLL)
    with f.loop(0, whole, width * UNROLL) as i:
        vectors = [k.load(f, x, i + u * width) for u in range(UNROLL)]
        for part, v in zip(best, vectors):
            part.set(better(v, part.get()))
        if k.floating:
            # One comparison detects NaN in either of two vectors.
            bad.set(
                bad.get()
                | vectors[0].compare("uno", vectors[1])
                | vectors[2].compare("uno", vectors[3])
            )
    with f.loop(whole, length, width) as i:
        v = k.load(f, x, i, f.tail_mask(length - i, width), worst)
        best[0].set(better(v, best[0].get()))
        if k.floating:
            bad.set(bad.get() | v.compare("uno", v))
    found = f.fold(_pairwise([part.get() for part in best], better), better)
    if not k.floating:
        return [found]
    nan = _bits(f, bad.get()).compare("ne", 0)
    return [f.extend(f.select(nan, f.const(pymath.nan, k.scalar), found), "double")]


def _bits(f: Function, flags: SSAValue) -> SSAValue:
    return f.bitcast(flags, f"i{lanes(flags.ctype)}")


def _truth_piece(
    f: Function, k: ReductionType, x: SSAValue, length: SSAValue, name: str
) -> list[SSAValue]:
    """Emit whether any element, or all of them, are not zero, as a byte."""
    width, start = k.width, int(name == "all")
    flags = [f.var(vector("i1", width), start) for _ in range(UNROLL)]
    whole = length - length % (width * UNROLL)

    def gather(flag: Var, v: SSAValue) -> None:
        flag.set(flag.get() & k.true(v) if start else flag.get() | k.true(v))

    with f.loop(0, whole, width * UNROLL) as i:
        for u, flag in enumerate(flags):
            gather(flag, k.load(f, x, i + u * width))
    with f.loop(whole, length, width) as i:
        gather(flags[0], k.load(f, x, i, f.tail_mask(length - i, width), start))
    met = _pairwise([flag.get() for flag in flags], lambda a, b: a & b if start else a | b)
    bits = _bits(f, met)
    answer = bits.compare("eq", -1) if start else bits.compare("ne", 0)
    return [f._convert("zext", answer, "i8")]


def _store(
    f: Function, k: ReductionType, values: list[SSAValue], p: SSAValue, root: bool = False
) -> None:
    def rounded() -> None:
        for part, value in enumerate(values):
            if value.ctype == "double":
                value = f.sqrt(value) if root else value * f.scale
            k.store(f, value, f.out, p * k.parts + part)

    def whole() -> None:
        for part, value in enumerate(values):
            f.store(value, f.out, p * k.parts + part)

    f.branch(f.direct.compare("ne", 0), rounded, whole)


def _piece(
    f: Function, k: ReductionType, name: str, x: SSAValue, length: SSAValue
) -> list[SSAValue]:
    if name in _KEPT:
        return _extreme_piece(f, k, x, length, name)
    if name in _TRUTH:
        return _truth_piece(f, k, x, length, name)
    if name == "prod":
        return _product_piece(f, k, x, length)
    terms = {"norm": lambda v: v * v, "nansum": lambda v: _number(f, v)}
    return _sum_piece(f, k, x, length, terms.get(name))


def _build_rows(dtype: str, name: str) -> str:
    """Emit a kernel that reduces pieces of rows, with rows * pieces iterations.

    `out` receives a total for each piece, to be combined by `finish`; or, if `direct` says that
    rows are not cut into pieces, the scaled result. Lengths count the parts of complex numbers.
    """
    module, k = Module(), ReductionType(dtype, name)
    if name in ("finish", "finish_norm"):
        _finish(module, k, name)
        return module.text(name)
    numbers = {"length": "i64", "pieces": "i64", "size": "i64", "scale": "double", "direct": "i64"}
    pointers = ("x", "mean", "out") if name == "deviations" else ("x", "out")
    f = threads.parallel_export(module, name, dict.fromkeys(pointers, "ptr") | numbers)
    with f.loop(f.begin, f.end) as p:
        row = p / f.pieces
        start = p % f.pieces * f.size
        stop = f.smaller(start + f.size, f.length)
        at = k.at(f, f.x, row * f.length + start)
        if name == "deviations":  # the sum of squared deviations from each row's mean
            m = f.splat(f.load(k.scalar, f.mean, row), k.vector)
            made = _sum_piece(f, k, at, stop - start, lambda v: (v - m) * (v - m))
        else:
            made = _piece(f, k, name, at, stop - start)
        _store(f, k, made, p, name == "norm")
    f.ret()
    return module.text(name)


def _finish(module: Module, k: ReductionType, name: str) -> None:
    """Emit the function that combines the pieces of floats, scales and rounds."""
    f = module.function(name, x="ptr", out="ptr", rows="i64", pieces="i64", scale="double")
    with f.loop(0, f.rows) as r:
        total = f.var("double", 0.0)
        with f.loop(0, f.pieces) as p:
            total.set(total.get() + f.load("double", f.x, r * f.pieces + p))
        k.store(
            f, f.sqrt(total.get()) if name == "finish_norm" else total.get() * f.scale, f.out, r
        )
    f.ret()


# Columns: inner > 1. A task is a block of columns with the same outer index.


def _build_columns(dtype: str, name: str) -> str:
    module, k = Module(), ReductionType(dtype, name)
    width = k.width
    pointers = ["x", "mean", "out"] if name == "deviations" else ["x", "out"]
    sizes = {"length": "i64", "inner": "i64", "blocks": "i64", "scale": "double"}
    f = threads.parallel_export(module, name, dict.fromkeys(pointers, "ptr") | sizes)
    wide = UNROLL * width
    with f.loop(f.begin, f.end) as task:
        outer, first = task / f.blocks, task % f.blocks * wide
        x = k.at(f, f.x, outer * f.length * f.inner + first)
        place = outer * f.inner + first
        left = f.inner - first

        def full() -> None:
            _columns(f, k, name, x, place, [None] * UNROLL)

        def partial() -> None:
            _columns(
                f,
                k,
                name,
                x,
                place,
                [f.tail_mask(f.larger(left - u * width, 0), width) for u in range(UNROLL)],
            )

        f.branch(left.compare("sge", wide), full, partial)
    f.ret()
    return module.text(name)


def _columns(
    f: Function,
    k: ReductionType,
    name: str,
    x: SSAValue,
    place: SSAValue,
    masks: list[SSAValue | None],
) -> None:
    kind, width = k.vector, k.width
    offsets = [u * width for u in range(UNROLL)]
    if name in _KEPT:
        better, worst = k.better(f, name), k.worst(name)
        best = [f.var(kind, worst) for _ in offsets]
        with f.loop(0, f.length) as row:
            for part, offset, mask in zip(best, offsets, masks):
                v, old = k.load(f, x, row * f.inner + offset, mask), part.get()
                new = better(v, old)
                if k.floating:
                    kept = f.select(old.compare("uno", old), old, new)
                    new = f.select(v.compare("uno", v), v, kept)
                part.set(new)
        for part, offset, mask in zip(best, offsets, masks):
            k.store(f, part.get(), f.out, place + offset, mask)
        return
    if name in _TRUTH:
        flags = [f.var(vector("i1", width), int(name == "all")) for _ in offsets]
        with f.loop(0, f.length) as row:
            for flag, offset, mask in zip(flags, offsets, masks):
                true = k.true(k.load(f, x, row * f.inner + offset, mask))
                flag.set(flag.get() & true if name == "all" else flag.get() | true)
        for flag, offset, mask in zip(flags, offsets, masks):
            made = f._convert("zext", flag.get(), vector("i8", width))
            f.store(made, f.out, place + offset, mask=mask)
        return
    if name == "prod":
        products = [_ones(f, k) for _ in offsets]
        with f.loop(0, f.length, SUM_TERMS) as start:
            with f.loop(start, f.smaller(start + SUM_TERMS, f.length)) as row:
                for product, offset, mask in zip(products, offsets, masks):
                    _multiply(product, _factors(f, k, x, row * f.inner + offset, mask))
            _flush(f, k, products)
        for product, offset, mask in zip(products, offsets, masks):
            values = [part.get() for part in product]
            value = values[0] if k.parts == 1 else _joined(f, values)
            k.store(f, value, f.out, place + offset, mask)
        return
    totals = [f.var(k.totals, 0) for _ in offsets]
    parts = [f.var(kind) for _ in offsets]
    means = None
    if name == "deviations":
        means = [k.load(f, f.mean, place + offset, mask) for offset, mask in zip(offsets, masks)]
    with f.loop(0, f.length, SUM_ROWS) as start:
        for part in parts:
            part.set(0)
        with f.loop(start, f.smaller(start + SUM_ROWS, f.length)) as row:
            for u, (part, offset, mask) in enumerate(zip(parts, offsets, masks)):
                v = k.load(f, x, row * f.inner + offset, mask)
                if means is not None:
                    v = (v - means[u]) * (v - means[u])
                elif name == "norm":
                    v = v * v
                elif name == "nansum":
                    v = _number(f, v)
                part.set(part.get() + v)
        for total, part in zip(totals, parts):
            total.set(total.get() + f.extend(part.get(), k.totals))
    for total, offset, mask in zip(totals, offsets, masks):
        value = total.get()
        if k.floating:
            value = f.sqrt(value) if name == "norm" else value * f.splat(f.scale, k.totals)
        k.store(f, value, f.out, place + offset, mask)


@functools.cache
def _libraries(dtype: str) -> tuple[jit.NativeLibrary, jit.NativeLibrary]:
    """Return the kernels that reduce rows and those that reduce columns."""
    plain = ("sum", "norm", "nansum", "prod", *_KEPT, *_TRUTH)
    rows = {
        **dict.fromkeys(plain, "paaiiidiii"),
        "deviations": "paaaiiidiii",
        "finish": "aaiid",
        "finish_norm": "aaiid",
    }
    columns = {**dict.fromkeys(plain, "paaiiidii"), "deviations": "paaaiiidii"}
    return (
        jit.NativeLibrary(
            f"row reductions of {dtype}", functools.partial(_build_rows, dtype), rows
        ),
        jit.NativeLibrary(
            f"column reductions of {dtype}", functools.partial(_build_columns, dtype), columns
        ),
    )


FLOATS = ("float32", "float64", "float16", "bfloat16")
WHOLE = ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "bool")
KINDS = {numpy_dtype(k): k for k in (*FLOATS, *WHOLE)} | {np.dtype(k): k for k in PARTS}


# The entries.


@functools.lru_cache(1024)
def arranged(
    shape: tuple[int, ...], axis: Axes
) -> tuple[int, int, int, tuple[int, ...], tuple[int, ...]] | None:
    """Regard a contiguous array of a shape as (before, reduced, after). Returns these three sizes,
    and the result's shape without and with the reduced dimensions; None if the reduced dimensions
    are not adjacent or do not exist.
    """
    ndim = len(shape)
    if axis is None:
        return 1, pymath.prod(shape), 1, (), (1,) * ndim
    if type(axis) is tuple and len(axis) == 1:
        axis = axis[0]
    if isinstance(axis, int):
        low = axis + ndim if axis < 0 else axis
        high = low + 1
    else:
        axes = sorted({a + ndim if a < 0 else a for a in axis})
        if not axes or axes[-1] - axes[0] != len(axes) - 1:
            return None
        low, high = axes[0], axes[-1] + 1
    if low < 0 or high > ndim:
        return None
    before, after = shape[:low], shape[high:]
    length = shape[low] if high == low + 1 else pymath.prod(shape[low:high])
    kept = (*before, *(1,) * (high - low), *after)
    return pymath.prod(before), length, pymath.prod(after), before + after, kept


def _grain(work: int) -> int:
    return (CHUNK // 4) // work or 1 if work else CHUNK // 4


@functools.cache
def _kind(dtype: np.dtype[Any], name: str) -> tuple[ReductionType, Any, Any]:
    """Return how a reduction handles a dtype, the dtype of its totals and that of its results."""
    kind = ReductionType(KINDS[dtype], name)
    if name in _TRUTH:
        return kind, np.dtype(np.uint8), np.dtype(np.bool_)
    if kind.floating:
        return kind, np.dtype(np.float64), dtype
    wide = dtype if name in _KEPT else np.dtype(np.int64)
    return kind, wide, wide


_COMBINED = {"max": np.max, "min": np.min, "any": np.max, "all": np.min, "prod": np.prod}


class _Prepared(NamedTuple):
    """How an array of one shape is reduced.

    Attributes:
        kernel: the native function; not for long rows, which are cut into pieces.
        shape, dtype: the result's.
        first, last: the kernel's numbers before and after the scale.
        outer, length: rows, and elements of each.
    """

    kernel: Any
    shape: tuple[int, ...]
    dtype: Any
    first: tuple[int, ...]
    last: tuple[int, ...]
    outer: int
    length: int


@functools.lru_cache(1024)
def _plan(
    name: str, dtype: np.dtype[Any], shape: tuple[int, ...], axis: Axes, keepdims: bool
) -> _Prepared | None:
    """Return how to reduce arrays of this dtype and shape; None if not supported."""
    known = KINDS.get(dtype)
    if known is None or not available(PARTS.get(known, known)):
        return None
    layout = arranged(shape, axis)
    kernel = layout and getattr(_libraries(known)[layout[2] != 1], name)
    if layout is None or kernel is None:
        return None
    outer, length, inner, short, kept = layout
    kind, _, made = _kind(dtype, name)
    first: tuple[int, ...]
    last: tuple[int, ...]
    if inner == 1:
        terms = length * kind.parts
        kernel = kernel if terms < 2 * CHUNK else None
        first, last = (terms, 1, terms or 1), (1, outer, _grain(terms))
    else:
        inner *= kind.parts
        wide = UNROLL * kind.width
        blocks = -(-inner // wide)
        first, last = (length, inner, blocks), (outer * blocks, _grain(length * wide))
    return _Prepared(kernel, kept if keepdims else short, made, first, last, outer, length)


def _planned(name: str, x: np.ndarray, axis: Axes, keepdims: bool) -> _Prepared | None:
    return _plan(name, x.dtype, x.shape, axis, keepdims) if x.flags.c_contiguous else None


def _reduce(name: str, x: np.ndarray, mean: tuple, plan: _Prepared, scale: float) -> np.ndarray:
    kernel, shape, dtype, first, last, outer, length = plan
    out = np.empty(shape, dtype)
    if kernel is None:
        _in_pieces(name, x, mean, out, outer, length, scale)
    else:
        kernel(threads.team(), x, *mean, out, *first, scale, *last)
    return out


def _in_pieces(
    name: str, x: np.ndarray, mean: tuple, out: np.ndarray, outer: int, length: int, scale: float
) -> None:
    """Reduce long contiguous rows, in pieces."""
    library = _libraries(KINDS[x.dtype])[0]
    kind, total, _ = _kind(x.dtype, name)
    length *= kind.parts
    pieces = -(-length // CHUNK)
    wide = total if kind.parts == 1 else np.dtype(np.complex128)
    partial = np.empty((outer, pieces), wide)
    getattr(library, name)(
        threads.team(), x, *mean, partial, length, pieces, CHUNK, 1.0, 0, outer * pieces, 1
    )
    if name in _COMBINED:
        out[...] = _COMBINED[name](partial, axis=1).reshape(out.shape)
    elif not kind.floating or kind.parts == 2:
        made = np.add.reduce(partial, 1)
        out[...] = (made * scale if kind.floating else made).reshape(out.shape)
    else:
        (library.finish_norm if name == "norm" else library.finish)(
            partial, out, outer, pieces, scale
        )


def _of_floats(name: str, x: np.ndarray, axis: Axes, keepdims: bool) -> np.ndarray | None:
    plan = _planned(name, x, axis, keepdims) if x.dtype.kind in "fV" else None
    return plan and _reduce(name, x, (), plan, 1.0)


def sum(x: np.ndarray, axis: Axes = None, keepdims: bool = False) -> np.ndarray | None:
    """Return the sum over an axis, adjacent axes or everything; integers are summed in int64."""
    plan = _planned("sum", x, axis, keepdims)
    return plan and _reduce("sum", x, (), plan, 1.0)


def norm(x: np.ndarray, axis: Axes = None, keepdims: bool = False) -> np.ndarray | None:
    """Return the root of the sum of squares."""
    return _of_floats("norm", x, axis, keepdims)


def nansum(x: np.ndarray, axis: Axes = None, keepdims: bool = False) -> np.ndarray | None:
    """Return the sum of the elements that are not NaN."""
    return _of_floats("nansum", x, axis, keepdims)


def prod(x: np.ndarray, axis: Axes = None, keepdims: bool = False) -> np.ndarray | None:
    """Return the product, computed in double and rounded once; integers are multiplied in int64."""
    plan = _planned("prod", x, axis, keepdims)
    return plan and _reduce("prod", x, (), plan, 1.0)


def mean(x: np.ndarray, axis: Axes = None, keepdims: bool = False) -> np.ndarray | None:
    """Return the mean of floats or complex numbers; NaN if there are no elements."""
    plan = _planned("sum", x, axis, keepdims) if x.dtype.kind in "fVc" else None
    # Without elements: 0 * NaN.
    return plan and _reduce("sum", x, (), plan, 1.0 / plan.length if plan.length else pymath.nan)


def var(
    x: np.ndarray, axis: Axes = None, correction: float = 1, keepdims: bool = False
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the variance with the divisor `length - correction` (at least 0), and the mean,
    computed in two passes.
    """
    plan = _planned("sum", x, axis, keepdims) if x.dtype is _F32 else None
    away = _planned("deviations", x, axis, keepdims) if plan is not None else None
    if plan is None or away is None:
        return None
    length = plan.length
    average = _reduce("sum", x, (), plan, 1.0 / length if length else pymath.nan)
    divisor = max(0.0, length - correction)
    scale = 1.0 / divisor if divisor else pymath.inf  # inf * 0 is NaN
    return _reduce("deviations", x, (average,), away, scale), average


def _extreme(name: str, x: np.ndarray, axis: Axes, keepdims: bool) -> np.ndarray | None:
    plan = _planned(name, x, axis, keepdims) if x.dtype.kind != "c" else None
    if plan is None or plan.length == 0:  # the caller raises the error for a maximum of no elements
        return None
    return _reduce(name, x, (), plan, 1.0)


def amax(x: np.ndarray, axis: Axes = None, keepdims: bool = False) -> np.ndarray | None:
    """Return the largest element, or NaN if there is one; None if there are no elements."""
    return _extreme("max", x, axis, keepdims)


def amin(x: np.ndarray, axis: Axes = None, keepdims: bool = False) -> np.ndarray | None:
    """Return the smallest element, or NaN if there is one; None if there are no elements."""
    return _extreme("min", x, axis, keepdims)


def any(x: np.ndarray, axis: Axes = None, keepdims: bool = False) -> np.ndarray | None:
    """Return whether any element is not zero, for real numbers."""
    return _truth("any", x, axis, keepdims)


def all(x: np.ndarray, axis: Axes = None, keepdims: bool = False) -> np.ndarray | None:
    """Return whether no element is zero, for real numbers."""
    return _truth("all", x, axis, keepdims)


def _truth(name: str, x: np.ndarray, axis: Axes, keepdims: bool) -> np.ndarray | None:
    plan = _planned(name, x, axis, keepdims) if x.dtype.kind != "c" else None
    return plan and _reduce(name, x, (), plan, 1.0)
