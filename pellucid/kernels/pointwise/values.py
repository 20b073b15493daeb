"""Values with NumPy's dtypes during code generation: arithmetic, conversions and elementary
functions of vectors.

A `Num` has the operators of an array and behaves like one. Operands that are Python numbers take
its dtype, integers wrap around, and bools are added by `or`. float16 and bfloat16 are held and
computed in float32, and results are rounded after each operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ...llvm import math as functions
from ...llvm import math64 as doubles
from ...llvm import target
from ...llvm.c_library import through_c
from ...llvm.emit import BYTES, MEMORY, REGISTER, Function, SSAValue, element, lanes, vector

__all__ = ["MEMORY", "Maker", "Num", "Weak", "is_float", "is_half", "itemsize", "numpy_dtype"]


def itemsize(kind: str) -> int:
    """Return the bytes of an element in memory."""
    return BYTES[MEMORY[kind]]


def is_float(kind: str) -> bool:
    """Return whether a dtype is floating point, including those of two bytes."""
    return kind in ("float32", "float64", "float16", "bfloat16")


def is_half(kind: str) -> bool:
    """Return whether a dtype is a two-byte float."""
    return kind in ("float16", "bfloat16")


def numpy_dtype(kind: str) -> np.dtype[Any]:
    """Return NumPy's dtype of this name; for bfloat16, that of ml_dtypes."""
    return np.dtype(ml_dtypes.bfloat16) if kind == "bfloat16" else np.dtype(kind)


class Num:
    """A value of the dtype `kind`, held in the register `value`."""

    __slots__ = ("kind", "make", "value")

    def __init__(self, make: Maker, value: SSAValue, kind: str) -> None:
        self.make, self.value, self.kind = make, value, kind

    def _pair(self, other: Any) -> tuple[SSAValue, SSAValue]:
        return self.value, self.make.cast(other, self.kind).value

    def _made(self, value: SSAValue) -> Num:
        return self.make.rounded(value, self.kind)

    def __add__(self, other: Any) -> Num:
        a, b = self._pair(other)
        return self._made(a | b if self.kind == "bool" else a + b)

    def __sub__(self, other: Any) -> Num:
        a, b = self._pair(other)
        return self._made(a - b)

    def __mul__(self, other: Any) -> Num:
        a, b = self._pair(other)
        return self._made(a & b if self.kind == "bool" else a * b)

    def __truediv__(self, other: Any) -> Num:
        a, b = self._pair(other)
        return self._made(a / b)

    def __radd__(self, other: Any) -> Num:
        return self.make.cast(other, self.kind) + self

    def __rsub__(self, other: Any) -> Num:
        return self.make.cast(other, self.kind) - self

    def __rmul__(self, other: Any) -> Num:
        return self.make.cast(other, self.kind) * self

    def __rtruediv__(self, other: Any) -> Num:
        return self.make.cast(other, self.kind) / self

    def __neg__(self) -> Num:
        return Num(self.make, -self.value, self.kind)

    def __and__(self, other: Any) -> Num:
        a, b = self._pair(other)
        return Num(self.make, a & b, self.kind)

    def __or__(self, other: Any) -> Num:
        a, b = self._pair(other)
        return Num(self.make, a | b, self.kind)

    def __xor__(self, other: Any) -> Num:
        a, b = self._pair(other)
        return Num(self.make, a ^ b, self.kind)

    def __invert__(self) -> Num:
        return self ^ (
            True
            if self.kind == "bool"
            else -1
            if not self.kind.startswith("u")
            else 2 ** (8 * itemsize(self.kind)) - 1
        )

    def _compare(self, how: str, other: Any) -> Num:
        a, b = self._pair(other)
        if is_float(self.kind):
            how = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}[
                how
            ]
        elif how not in ("eq", "ne"):
            how = ("u" if self.kind.startswith("u") or self.kind == "bool" else "s") + how
        return Num(self.make, a.compare(how, b), "bool")

    def __lt__(self, other: Any) -> Num:
        return self._compare("lt", other)

    def __le__(self, other: Any) -> Num:
        return self._compare("le", other)

    def __gt__(self, other: Any) -> Num:
        return self._compare("gt", other)

    def __ge__(self, other: Any) -> Num:
        return self._compare("ge", other)

    def eq(self, other: Any) -> Num:
        """Return where the values are equal; false where one is NaN."""
        return self._compare("eq", other)

    def ne(self, other: Any) -> Num:
        """Return where the values differ; true where one is NaN."""
        return self._compare("ne", other)

    def isnan(self) -> Num:
        """Return where the value is NaN."""
        return Num(self.make, self.value.compare("uno", self.value), "bool")


class Weak(Num):
    """A number known at run time. Like a Python number, it takes the dtype of the arrays that it is
    combined with.
    """

    __slots__ = ()


class Maker:
    """Makes values of `width` lanes in the function `f`."""

    def __init__(self, f: Function, width: int) -> None:
        self.f, self.width = f, width

    def ctype(self, kind: str) -> str:
        """Return the LLVM type of a register with elements of this dtype."""
        return vector(REGISTER[kind], self.width)

    def number(self, value: Any, kind: str) -> Num:
        """Return a Python number as a value; floats are rounded to the dtype, integers wrap around."""
        dtype = numpy_dtype(kind)
        with np.errstate(all="ignore"):
            try:
                made = np.asarray(value, dtype)
            except (OverflowError, ValueError):
                made = np.asarray(value).astype(dtype)
        plain = float(made) if is_float(kind) else int(made)
        return Num(self, self.f.const(plain, self.ctype(kind)), kind)

    def cast(self, x: Any, kind: str) -> Num:
        """Like `x.astype(kind)`, also for Python numbers."""
        if not isinstance(x, Num):
            return self.number(x, kind)
        return x if x.kind == kind else Num(self, convert(self.f, x.value, x.kind, kind), kind)

    def rounded(self, value: SSAValue, kind: str) -> Num:
        """Round a float32 result that represents a two-byte float; other dtypes are unchanged."""
        return Num(self, _round(self.f, value, kind) if is_half(kind) else value, kind)

    def wide(self, x: Num) -> Num:
        """Return two-byte floats as float32, others unchanged."""
        return Num(self, x.value, "float32") if is_half(x.kind) else x

    # Functions with NumPy's names.

    def where(self, condition: Num, yes: Any, no: Any) -> Num:
        """Return `yes` where the condition holds, else `no`."""
        kind = yes.kind if isinstance(yes, Num) else no.kind
        yes, no = self.cast(yes, kind), self.cast(no, kind)
        return Num(
            self, self.f.select(self.cast(condition, "bool").value, yes.value, no.value), kind
        )

    def maximum(self, x: Any, y: Any) -> Num:
        """Return the larger value, the second of equal ones; NaN where either is NaN."""
        return self._extreme(x, y, "gt")

    def minimum(self, x: Any, y: Any) -> Num:
        """Return the smaller value, the second of equal ones; NaN where either is NaN."""
        return self._extreme(x, y, "lt")

    def _extreme(self, x: Any, y: Any, how: str) -> Num:
        if not isinstance(x, Num):
            x, y, how = y, x, how[0] + "e"  # the second of equal values, such as -0.0 and 0.0
        if not is_float(x.kind):
            return self.where(x._compare(how, y), x, y)
        if isinstance(y, Num) or y != y:
            y = self.cast(y, x.kind)
            return self.where(x._compare(how, y) | x.isnan(), x, y)
        # If one is a number, the "or unordered" predicate handles NaN in the same comparison.
        number = self.cast(y, x.kind)
        return self.where(Num(self, x.value.compare("u" + how, number.value), "bool"), x, number)

    def abs(self, x: Num) -> Num:
        """Return the absolute value."""
        if is_float(x.kind):
            return Num(self, self.f.fabs(x.value), x.kind)
        return x if x.kind.startswith("u") or x.kind == "bool" else self.where(x < 0, -x, x)

    def _plain(self, name: str, x: Num) -> Num:
        return self.rounded(self.f.intrinsic(name, x.value.ctype, x.value), x.kind)

    def sqrt(self, x: Num) -> Num:
        """Return the square root."""
        return self._plain("sqrt", x)

    def floor(self, x: Num) -> Num:
        """Round down; integers are unchanged."""
        return self._plain("floor", x) if is_float(x.kind) else x

    def ceil(self, x: Num) -> Num:
        """Round up; integers are unchanged."""
        return self._plain("ceil", x) if is_float(x.kind) else x

    def trunc(self, x: Num) -> Num:
        """Round towards zero; integers are unchanged."""
        return self._plain("trunc", x) if is_float(x.kind) else x

    def rint(self, x: Num) -> Num:
        """Round to the nearest whole number, halves to even; integers are unchanged."""
        return self._plain("rint", x) if is_float(x.kind) else x

    def copysign(self, x: Num, y: Num) -> Num:
        """Return the magnitude of `x` with the sign of `y`."""
        return Num(self, self.f.copysign(x.value, y.value), x.kind)

    def function(self, name: str, *args: Num) -> Num:
        """Return an elementary function: in float32 if there is generated code for it, else in
        double, by generated code or the C library.
        """
        kind, f = args[0].kind, self.f
        if REGISTER[kind] == "float" and name in functions.FUNCTIONS:
            return self.rounded(functions.FUNCTIONS[name](f, *[a.value for a in args]), kind)
        wide = [f.extend(a.value, vector("double", self.width)) for a in args]
        if name in doubles.FUNCTIONS:
            value = doubles.FUNCTIONS[name](f, *wide)
        else:
            value = _rest(f, *wide) if name == "fmod" else through_c(f, name, *wide)
        return self.rounded(f.trunc(value, self.ctype(kind)), kind)


def _rest(f: Function, x: SSAValue, y: SSAValue) -> SSAValue:
    """Emit `fmod`. For quotients up to 2**51, x minus the product of quotient and y is exact in one
    fused step; the quotient is one too large if it has been rounded up to a whole number. For other
    lanes the C library is called.
    """
    kind = x.ctype
    a, b = f.fabs(x), f.fabs(y)
    ratio = a / b
    good = ratio.compare("olt", 2.0**51) & b.compare("olt", math.inf)
    result = f.var(kind)

    def fast() -> None:
        left = f.fma(0.0 - f.intrinsic("trunc", kind, ratio), b, a)
        result.set(f.copysign(f.select(left.compare("olt", 0.0), left + b, left), x))

    def slow() -> None:
        result.set(through_c(f, "fmod", x, y))

    count = lanes(kind)
    if count > 1:
        good = f.intrinsic("vector.reduce.and", "i1", good, overload=f"v{count}i1")
    f.branch(good, fast, slow)
    return result.get()


# Conversions.


def convert(f: Function, x: SSAValue, source: str, wanted: str) -> SSAValue:
    """Convert a register from one dtype to another, as `astype` does."""
    to = vector(REGISTER[wanted], lanes(x.ctype))
    if wanted == "bool":
        return x.compare("une" if is_float(source) else "ne", 0)
    if source == "bool":
        return f._convert("uitofp" if is_float(wanted) else "zext", x, to)
    if is_float(source):
        if not is_float(wanted):
            return _to_integer(f, x, wanted)
        if source == "float64":
            return (
                f.trunc(x, to)
                if wanted == "float32"
                else _round(f, _to_odd(f, x) if wanted == "float16" else f.trunc(x, to), wanted)
            )
        return (
            f.extend(x, to)
            if wanted == "float64"
            else _round(f, x, wanted)
            if is_half(wanted)
            else x
        )
    unsigned = source.startswith("u")
    if is_float(wanted):
        made = f._convert("uitofp" if unsigned else "sitofp", x, to)
        return _round(f, made, wanted) if is_half(wanted) else made
    if itemsize(wanted) < itemsize(source):
        return f.trunc(x, to)
    return f._convert("zext" if unsigned else "sext", x, to)


def _to_integer(f: Function, x: SSAValue, wanted: str) -> SSAValue:
    """Convert to integers, rounding towards zero. Out of range, the result is that of x86
    processors, as in NumPy on these (C leaves it undefined).
    """
    count = lanes(x.ctype)
    bits = 64 if itemsize(wanted) == 8 or wanted == "uint32" else 32
    middle = vector(f"i{bits}", count)
    inside = x.compare("oge", -(2.0 ** (bits - 1))) & x.compare("olt", 2.0 ** (bits - 1))
    safe = f.select(inside, x, 0.0)
    made = f.select(inside, f.to_int(safe, middle), f.const(-(2 ** (bits - 1)), middle))
    if wanted == "uint64":
        high = x.compare("oge", 2.0**63) & x.compare("olt", 2.0**64)
        made = f.select(high, f._convert("fptoui", f.select(high, x, 0.0), middle), made)
    return f.trunc(made, vector(REGISTER[wanted], count))


def _to_odd(f: Function, x: SSAValue) -> SSAValue:
    """Convert doubles to floats with the last bit set if digits were lost (round to odd), so that a
    second rounding is correct.
    """
    count = lanes(x.ctype)
    near = f.trunc(x, vector("float", count))
    back = f.extend(near, x.ctype)
    bits = f.bitcast(near, vector("i32", count))
    bits = f.select(f.fabs(back).compare("ogt", f.fabs(x)), bits - 1, bits)
    return f.bitcast(f.select(back.compare("one", x), bits | 1, bits), near.ctype)


def _round(f: Function, x: SSAValue, kind: str) -> SSAValue:
    """Round a float32 register to a two-byte float, kept as float32."""
    return unpack(f, pack(f, x, kind), kind)


def _upper(f: Function, bits: SSAValue) -> SSAValue:
    """Return the upper half of 32 bits."""
    return f.emit(f"lshr {bits.ctype} {bits.name}, {f.const(16, bits.ctype).name}", bits.ctype)


def pack(f: Function, x: SSAValue, kind: str, exact: bool = False) -> SSAValue:
    """Convert registers to their form in memory. `exact` asserts that two-byte floats need no
    rounding.
    """
    count = lanes(x.ctype)
    words = vector("i16", count)
    if kind == "bool":
        return f._convert("zext", x, vector("i8", count))
    if kind == "float16":
        return f.bitcast(f._convert("fptrunc", x, vector("half", count)), words)
    if kind == "bfloat16":
        bits = f.bitcast(x, vector("i32", count))
        if exact:
            return f.trunc(_upper(f, bits), words)
        near = bits + ((_upper(f, bits) & 1) + 0x7FFF)
        return f.trunc(_upper(f, f.select(x.compare("uno", x), bits | 0x400000, near)), words)
    return x


def unpack(f: Function, x: SSAValue, kind: str) -> SSAValue:
    """Convert elements from their form in memory to registers."""
    count = lanes(x.ctype)
    if kind == "bool":
        return x.compare("ne", 0)
    if kind == "float16":
        return f._convert("fpext", f.bitcast(x, vector("half", count)), vector("float", count))
    if kind == "bfloat16":
        return f.bitcast(f._convert("zext", x, vector("i32", count)) << 16, vector("float", count))
    return x


class Mask(NamedTuple):
    """The lanes of a last, partial vector: an IR mask, and their number if it is known."""

    value: SSAValue
    known: int | None


def static_mask(f: Function, width: int, count: int) -> Mask:
    """Return the mask of the first `count` lanes."""
    ones = ", ".join(f"i1 {'true' if i < count else 'false'}" for i in range(width))
    return Mask(SSAValue(f, f"<{ones}>", vector("i1", width)), count)


def store(
    f: Function, value: SSAValue, pointer: SSAValue, index: SSAValue | int, mask: Mask | None
) -> None:
    """Emit a store of the lanes in a mask."""
    if mask is not None and mask.known == 1 and lanes(value.ctype) > 1:
        # A single lane is stored without a mask: for a truncated vector, LLVM (22, on x86) would
        # store the lane as wide as before truncation.
        kind = element(value.ctype)
        f.store(f.emit(f"extractelement {value.ctype} {value.name}, i32 0", kind), pointer, index)
    else:
        f.store(value, pointer, index, mask=None if mask is None else mask.value)


def each_vector(
    f: Function, count: int, width: int, body: Callable[[Any, Mask | None], None]
) -> None:
    """Emit `body(index, mask)` for vectors over 0..count, where `count` is a constant."""
    whole = count - count % width
    if whole:
        with f.loop(0, whole, width) as i:
            body(i, None)
    if count - whole:
        body(f.const(whole, "i64"), static_mask(f, width, count - whole))


def available(kind: str) -> bool:
    """Return whether this processor supports registers of this dtype."""
    if kind == "float16" and target.available() and target.host().arch == "x86":
        return "+f16c" in target.host().features.split(",")
    return kind in REGISTER


inf, nan = math.inf, math.nan
