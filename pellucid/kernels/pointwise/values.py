"""Values with NumPy's dtypes while IR is written: arithmetic, conversions and elementary functions
of vectors.

A `Num` has operators as an array has, and behaves as one: operands that are Python numbers take its
dtype, integers wrap around, results in float16 and bfloat16 are rounded after each operation (they
are held, and computed, in float32), bools add by `or`.
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
    """Bytes of an element in memory, by dtype."""
    return BYTES[MEMORY[kind]]


def is_float(kind: str) -> bool:
    """Whether a dtype is floating point, of two bytes included."""
    return kind in ("float32", "float64", "float16", "bfloat16")


def is_half(kind: str) -> bool:
    """Whether a dtype is a two-byte float."""
    return kind in ("float16", "bfloat16")


def numpy_dtype(kind: str) -> np.dtype[Any]:
    """NumPy's dtype of a name; ml_dtypes' for bfloat16."""
    return np.dtype(ml_dtypes.bfloat16) if kind == "bfloat16" else np.dtype(kind)


class Num:
    """A value of the dtype `kind`; `value` is its register."""

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
        """Where equal; false where one is NaN."""
        return self._compare("eq", other)

    def ne(self, other: Any) -> Num:
        """Where not equal; true where one is NaN."""
        return self._compare("ne", other)

    def isnan(self) -> Num:
        """Where NaN."""
        return Num(self.make, self.value.compare("uno", self.value), "bool")


class Weak(Num):
    """A number known at run time: it takes the dtype of the arrays that it meets, as a Python
    number does.
    """

    __slots__ = ()


class Maker:
    """Makes values of `width` lanes in the function `f`."""

    def __init__(self, f: Function, width: int) -> None:
        self.f, self.width = f, width

    def ctype(self, kind: str) -> str:
        """The LLVM type of a register with elements of a dtype."""
        return vector(REGISTER[kind], self.width)

    def number(self, value: Any, kind: str) -> Num:
        """A Python number; floats are rounded to the dtype, integers wrap around."""
        dtype = numpy_dtype(kind)
        with np.errstate(all="ignore"):
            try:
                made = np.asarray(value, dtype)
            except (OverflowError, ValueError):
                made = np.asarray(value).astype(dtype)
        plain = float(made) if is_float(kind) else int(made)
        return Num(self, self.f.const(plain, self.ctype(kind)), kind)

    def cast(self, x: Any, kind: str) -> Num:
        """`x.astype(kind)`; Python numbers as well."""
        if not isinstance(x, Num):
            return self.number(x, kind)
        return x if x.kind == kind else Num(self, convert(self.f, x.value, x.kind, kind), kind)

    def rounded(self, value: SSAValue, kind: str) -> Num:
        """A result in float32 that stands for a two-byte float."""
        return Num(self, _round(self.f, value, kind) if is_half(kind) else value, kind)

    def wide(self, x: Num) -> Num:
        """Two-byte floats as float32, others as they are."""
        return Num(self, x.value, "float32") if is_half(x.kind) else x

    # Functions as NumPy has them.

    def where(self, condition: Num, yes: Any, no: Any) -> Num:
        """`yes` where the condition holds, else `no`."""
        kind = yes.kind if isinstance(yes, Num) else no.kind
        yes, no = self.cast(yes, kind), self.cast(no, kind)
        return Num(
            self, self.f.select(self.cast(condition, "bool").value, yes.value, no.value), kind
        )

    def maximum(self, x: Any, y: Any) -> Num:
        """The larger one, of equals the second; NaN where one of the two is NaN."""
        return self._extreme(x, y, "gt")

    def minimum(self, x: Any, y: Any) -> Num:
        """The smaller one, of equals the second; NaN where one of the two is NaN."""
        return self._extreme(x, y, "lt")

    def _extreme(self, x: Any, y: Any, how: str) -> Num:
        if not isinstance(x, Num):
            x, y, how = y, x, how[0] + "e"  # of equals, -0.0 and 0.0 say, the second
        if not is_float(x.kind):
            return self.where(x._compare(how, y), x, y)
        if isinstance(y, Num) or y != y:
            y = self.cast(y, x.kind)
            return self.where(x._compare(how, y) | x.isnan(), x, y)
        # Against a number: "or unordered" takes NaN along, in one comparison.
        number = self.cast(y, x.kind)
        return self.where(Num(self, x.value.compare("u" + how, number.value), "bool"), x, number)

    def abs(self, x: Num) -> Num:
        """The absolute value."""
        if is_float(x.kind):
            return Num(self, self.f.fabs(x.value), x.kind)
        return x if x.kind.startswith("u") or x.kind == "bool" else self.where(x < 0, -x, x)

    def _plain(self, name: str, x: Num) -> Num:
        return self.rounded(self.f.intrinsic(name, x.value.ctype, x.value), x.kind)

    def sqrt(self, x: Num) -> Num:
        """The square root."""
        return self._plain("sqrt", x)

    def floor(self, x: Num) -> Num:
        """Rounded down; integers as they are."""
        return self._plain("floor", x) if is_float(x.kind) else x

    def ceil(self, x: Num) -> Num:
        """Rounded up; integers as they are."""
        return self._plain("ceil", x) if is_float(x.kind) else x

    def trunc(self, x: Num) -> Num:
        """Rounded towards zero; integers as they are."""
        return self._plain("trunc", x) if is_float(x.kind) else x

    def rint(self, x: Num) -> Num:
        """Rounded to the nearest whole number, halves to even; integers as they are."""
        return self._plain("rint", x) if is_float(x.kind) else x

    def copysign(self, x: Num, y: Num) -> Num:
        """The size of `x` with the sign of `y`."""
        return Num(self, self.f.copysign(x.value, y.value), x.kind)

    def function(self, name: str, *args: Num) -> Num:
        """An elementary function: generated code for floats where there is some, in double
        otherwise, by generated code or the C library.
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
    """`fmod`. Up to a quotient of 2**51, what its product with y leaves of x is exact in one fused
    step; the quotient is one too large where it was rounded up to a whole number. Other lanes are
    the C library's.
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
    """A register of one dtype as a register of another, as `astype` does it."""
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
    """Towards zero; beyond the range what x86 processors give, as NumPy does there (C leaves it
    open).
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
    """Doubles as floats with the last bit set where something was lost, so that another rounding
    sees it.
    """
    count = lanes(x.ctype)
    near = f.trunc(x, vector("float", count))
    back = f.extend(near, x.ctype)
    bits = f.bitcast(near, vector("i32", count))
    bits = f.select(f.fabs(back).compare("ogt", f.fabs(x)), bits - 1, bits)
    return f.bitcast(f.select(back.compare("one", x), bits | 1, bits), near.ctype)


def _round(f: Function, x: SSAValue, kind: str) -> SSAValue:
    """A float32 register rounded to a two-byte float, as float32."""
    return unpack(f, pack(f, x, kind), kind)


def _upper(f: Function, bits: SSAValue) -> SSAValue:
    """The upper half of 32 bits."""
    return f.emit(f"lshr {bits.ctype} {bits.name}, {f.const(16, bits.ctype).name}", bits.ctype)


def pack(f: Function, x: SSAValue, kind: str, exact: bool = False) -> SSAValue:
    """Registers as they lie in memory; `exact` says that two-byte floats need no rounding."""
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
    """The registers for what lies in memory."""
    count = lanes(x.ctype)
    if kind == "bool":
        return x.compare("ne", 0)
    if kind == "float16":
        return f._convert("fpext", f.bitcast(x, vector("half", count)), vector("float", count))
    if kind == "bfloat16":
        return f.bitcast(f._convert("zext", x, vector("i32", count)) << 16, vector("float", count))
    return x


class Mask(NamedTuple):
    """Lanes of a last, partial vector: an IR mask, and how many they are where that is known."""

    value: SSAValue
    known: int | None


def static_mask(f: Function, width: int, count: int) -> Mask:
    """The first `count` lanes."""
    ones = ", ".join(f"i1 {'true' if i < count else 'false'}" for i in range(width))
    return Mask(SSAValue(f, f"<{ones}>", vector("i1", width)), count)


def store(
    f: Function, value: SSAValue, pointer: SSAValue, index: SSAValue | int, mask: Mask | None
) -> None:
    """Write the lanes of a mask."""
    if mask is not None and mask.known == 1 and lanes(value.ctype) > 1:
        # Not through a mask: of a truncated vector LLVM (22, on x86) would store the lane as wide
        # as it was before.
        kind = element(value.ctype)
        f.store(f.emit(f"extractelement {value.ctype} {value.name}, i32 0", kind), pointer, index)
    else:
        f.store(value, pointer, index, mask=None if mask is None else mask.value)


def each_vector(
    f: Function, count: int, width: int, body: Callable[[Any, Mask | None], None]
) -> None:
    """`body(index, mask)` for vectors over 0..count, a number known now."""
    whole = count - count % width
    if whole:
        with f.loop(0, whole, width) as i:
            body(i, None)
    if count - whole:
        body(f.const(whole, "i64"), static_mask(f, width, count - whole))


def available(kind: str) -> bool:
    """Whether registers of this dtype can be made here."""
    if kind == "float16" and target.available() and target.host().arch == "x86":
        return "+f16c" in target.host().features.split(",")
    return kind in REGISTER


inf, nan = math.inf, math.nan
