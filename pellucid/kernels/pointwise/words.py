"""The words of `ir.formula` as native code: the `m` with which formulas are called to emit code for
one vector of elements.

Words have the meaning of NumPy's functions for each dtype, so that every result is rounded where
the eager engine rounds it. If `llvm.math` has code for an operation in float32, it replaces the
formula.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ...ir.formula import FORMULAS, Formula
from ...llvm import math as functions
from ...llvm import math64 as doubles
from ...llvm.c_library import C_FUNCTIONS
from .values import REGISTER, Maker, Num, is_float, itemsize, numpy_dtype

__all__ = ["Words"]


class Words(Maker):
    """The `m` of formulas for native code. A word that is not one of its methods is an elementary
    function or the formula of another operation.
    """

    def named(self, name: str, *values: Num, **numbers: Any) -> Any:
        """Return what the operation `name` computes."""
        return self.computed(name, FORMULAS[name], *values, **numbers)

    def computed(self, name: str, formula: Formula, *values: Any, **numbers: Any) -> Any:
        """Return what a formula computes, from the code that replaces it if there is some."""
        own = {"float": functions.FUNCTIONS, "double": doubles.FUNCTIONS}
        if isinstance(values[0], Num) and name in own.get(REGISTER[values[0].kind], ()):
            return self.function(name, *values)
        return formula.function(self, *values, **numbers)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in C_FUNCTIONS or name in doubles.FUNCTIONS:
            return functools.partial(self.function, name)
        if name in FORMULAS:
            return functools.partial(self.named, name)
        raise AttributeError(name)

    # ---- arithmetic ---------------------------------------------------------------------------
    def add(self, x: Num, y: Num) -> Num:
        """`x + y`."""
        return x + y

    def subtract(self, x: Num, y: Num) -> Num:
        """`x - y`."""
        return x - y

    def multiply(self, x: Num, y: Num) -> Num:
        """`x * y`."""
        return x * y

    def true_divide(self, x: Num, y: Num) -> Num:
        """`x / y`."""
        return x / y

    def negative(self, x: Num) -> Num:
        """`-x`."""
        return -x

    def absolute(self, x: Num) -> Num:
        """Return the absolute value."""
        return self.abs(x)

    def square(self, x: Num) -> Num:
        """`x * x`."""
        return x * x

    def reciprocal(self, x: Num) -> Num:
        """`1 / x`."""
        return 1 / x

    def fma(self, x: Num, y: Num, z: Num) -> Num:
        """Return x * y + z, rounded once."""
        return Num(self, self.f.fma(x.value, y.value, z.value), x.kind)

    def fmax(self, x: Num, y: Num) -> Num:
        """Return the larger value; if one is NaN, the other one."""
        return self.where((x >= y) | self.isnan(y), x, y)

    def fmin(self, x: Num, y: Num) -> Num:
        """Return the smaller value; if one is NaN, the other one."""
        return self.where((x <= y) | self.isnan(y), x, y)

    def real_sign(self, x: Num) -> Num:
        """Return -1, 0 or 1; 0 for NaN."""
        if x.kind == "bool":
            return x
        below = self.number(0 if x.kind.startswith("u") else -1, x.kind)
        return self.where(x > 0, 1, self.where(x < 0, below, self.number(0, x.kind)))

    complex_sign = real_sign

    # ---- division with remainder -------------------------------------------------------------
    def _integers(self, op: str, x: Num, y: Num) -> Num:
        """Emit an instruction on integers; "div" and "rem" are signed or unsigned according to the
        dtype.
        """
        op = ("u" if x.kind.startswith("u") else "s") + op if op in ("div", "rem") else op
        ctype = x.value.ctype
        return Num(self, self.f.emit(f"{op} {ctype} {x.value.name}, {y.value.name}", ctype), x.kind)

    def _whole(self, x: Num, y: Num) -> tuple[Num, Num]:
        """Return a divisor for which the processor's division is defined, and where it replaces -1
        (x / -1 overflows for one x).
        """
        minus = y.eq(-1) if not y.kind.startswith("u") else self.number(False, "bool")
        return self.where(minus, self.number(1, y.kind), y), minus

    def fmod(self, x: Num, y: Num) -> Num:
        """Return the remainder with the sign of `x`."""
        if is_float(x.kind):
            return self.function("fmod", x, y)
        safe, minus = self._whole(x, y)
        return self.where(minus, self.number(0, x.kind), self._integers("rem", x, safe))

    def remainder(self, x: Num, y: Num) -> Num:
        """Return the remainder with the sign of `y`."""
        if is_float(x.kind):
            rest = self.function("fmod", x, y)
            moved = self.where((y < 0) ^ (rest < 0), rest + y, rest)
            zero = self.copysign(self.number(0, x.kind), y)
            return self.where(y.eq(0), rest, self.where(rest.eq(0), zero, moved))
        safe, minus = self._whole(x, y)
        rest = self._integers("rem", x, safe)
        if x.kind.startswith("u"):
            return rest
        moved = self.where(rest.ne(0) & ((rest < 0) ^ (safe < 0)), rest + safe, rest)
        return self.where(minus, self.number(0, x.kind), moved)

    def floor_divide(self, x: Num, y: Num) -> Num:
        """Return the quotient, rounded down."""
        if is_float(x.kind):
            rest = self.function("fmod", x, y)
            exact = (x - rest) / y
            exact = self.where(rest.ne(0) & ((y < 0) ^ (rest < 0)), exact - 1.0, exact)
            low = self.floor(exact)
            low = self.where(exact - low > 0.5, low + 1.0, low)
            low = self.where(exact.eq(0), self.copysign(self.number(0, x.kind), x / y), low)
            return self.where(y.eq(0), x / y, low)
        safe, minus = self._whole(x, y)
        quotient = self._integers("div", x, safe)
        if x.kind.startswith("u"):
            return quotient
        rest = x - quotient * safe
        quotient = self.where(rest.ne(0) & ((rest < 0) ^ (safe < 0)), quotient - 1, quotient)
        return self.where(minus, -x, quotient)

    def trunc_divide(self, x: Num, y: Num) -> Num:
        """Return the quotient, rounded towards zero."""
        if is_float(x.kind):
            return self.trunc(x / y)
        safe, minus = self._whole(x, y)
        quotient = self._integers("div", x, safe)
        return quotient if x.kind.startswith("u") else self.where(minus, -x, quotient)

    # ---- rounding -----------------------------------------------------------------------------
    def round_half_even(self, x: Num) -> Num:
        """Round to the nearest whole number, halves to even."""
        return self.rint(x)

    def frac(self, x: Num) -> Num:
        """Return `x` without its whole part, with the sign of `x`."""
        return x - self.trunc(x)

    # ---- bits ---------------------------------------------------------------------------------
    def bitwise_and(self, x: Num, y: Num) -> Num:
        """`x & y`."""
        return x & y

    def bitwise_or(self, x: Num, y: Num) -> Num:
        """`x | y`."""
        return x | y

    def bitwise_xor(self, x: Num, y: Num) -> Num:
        """`x ^ y`."""
        return x ^ y

    def invert(self, x: Num) -> Num:
        """`~x`."""
        return ~x

    def left_shift(self, x: Num, y: Num) -> Num:
        """`x << y`."""
        return self._shift(x, y, "shl")

    def right_shift(self, x: Num, y: Num) -> Num:
        """Return `x >> y`, which keeps the sign."""
        return self._shift(x, y, "lshr" if x.kind.startswith("u") else "ashr")

    def _shift(self, x: Num, y: Num, op: str) -> Num:
        bits, zero = 8 * itemsize(x.kind), self.number(0, x.kind)
        inside = (y < bits) & (y >= 0) if not y.kind.startswith("u") else y < bits
        made = self._integers(op, x, self.where(inside, y, self.number(0, y.kind)))
        return self.where(
            inside, made, self.where(x < 0, self.number(-1, x.kind), zero) if op == "ashr" else zero
        )

    # ---- comparisons and logic ----------------------------------------------------------------
    def equal(self, x: Num, y: Num) -> Num:
        """Return where the values are equal; false where one is NaN."""
        return x.eq(y)

    def not_equal(self, x: Num, y: Num) -> Num:
        """Return where the values differ; true where one is NaN."""
        return x.ne(y)

    def less(self, x: Num, y: Num) -> Num:
        """`x < y`."""
        return x < y

    def less_equal(self, x: Num, y: Num) -> Num:
        """`x <= y`."""
        return x <= y

    def greater(self, x: Num, y: Num) -> Num:
        """`x > y`."""
        return x > y

    def greater_equal(self, x: Num, y: Num) -> Num:
        """`x >= y`."""
        return x >= y

    def logical_and(self, x: Num, y: Num) -> Num:
        """Return where neither is zero."""
        return self.cast(x, "bool") & self.cast(y, "bool")

    def logical_or(self, x: Num, y: Num) -> Num:
        """Return where at least one is not zero."""
        return self.cast(x, "bool") | self.cast(y, "bool")

    def logical_xor(self, x: Num, y: Num) -> Num:
        """Return where exactly one is not zero."""
        return self.cast(x, "bool") ^ self.cast(y, "bool")

    def logical_not(self, x: Num) -> Num:
        """Return where the value is zero."""
        return ~self.cast(x, "bool")

    def isnan(self, x: Num) -> Num:
        """Return where the value is NaN; integers never are."""
        return x.isnan() if is_float(x.kind) else self.number(False, "bool")

    def isinf(self, x: Num) -> Num:
        """Return where the value is infinite; integers never are."""
        return self.abs(x).eq(math.inf) if is_float(x.kind) else self.number(False, "bool")

    def isfinite(self, x: Num) -> Num:
        """Return where the value is neither NaN nor infinite; integers always are finite."""
        return self.abs(x) < math.inf if is_float(x.kind) else self.number(True, "bool")

    def signbit(self, x: Num) -> Num:
        """Return where the sign bit is set, also for -0.0."""
        if is_float(x.kind):
            return self.copysign(self.number(1, x.kind), x) < 0
        return self.number(False, "bool") if x.kind.startswith("u") or x.kind == "bool" else x < 0

    def largest(self, x: Num) -> Num:
        """Return the largest finite number of the dtype."""
        limits = ml_dtypes.finfo if is_float(x.kind) else np.iinfo
        return self.number(1 if x.kind == "bool" else limits(numpy_dtype(x.kind)).max, x.kind)

    # ---- elementary functions -----------------------------------------------------------------
    def pow(self, x: Num, y: Num | float) -> Num:
        """`x ** y`."""
        if not is_float(x.kind):
            if isinstance(y, Num) or int(y) != y or not 0 <= y <= 64:
                raise NotImplementedError(
                    "powers of integers with exponents that are not small constants"
                )
            made = self.number(1, x.kind)
            for bit in bin(int(y))[2:]:
                made = made * made
                made = made * x if bit == "1" else made
            return made
        if not isinstance(y, Num):
            # The exponents that NumPy handles specially. As in PyTorch, float16 is rounded once,
            # bfloat16 after each product.
            cubed = self.wide(x) if x.kind == "float16" else x
            simple = {
                0: lambda: self.number(1, x.kind),
                0.5: lambda: self.sqrt(x),
                1: lambda: x,
                2: lambda: x * x,
            }
            simple |= {3: lambda: cubed * cubed * cubed, -1: lambda: 1 / x}
            simple[-0.5] = lambda: 1 / self.sqrt(self.wide(x))
            if x.kind == "bfloat16":
                simple[-2] = lambda: 1 / (x * x)
            if y in simple:
                return simple[y]()
        return self.function("pow", x, self.cast(y, x.kind))

    def logaddexp(self, x: Num, y: Num) -> Num:
        """Return `log(exp(x) + exp(y))`, without overflow."""
        gap = x - y
        top = self.where(gap > 0, x, y)
        made = top + self.log1p(self.exp(-self.abs(gap)))
        made = self.where(x.eq(y), x + math.log(2.0), made)
        return self.where(gap.isnan() & x.ne(y), gap, made)

    def xlogy(self, x: Num, y: Num) -> Num:
        """Return `x * log(y)`, 0 where `x` is 0."""
        return self._times("log", x, y)

    def xlog1py(self, x: Num, y: Num) -> Num:
        """Return `x * log1p(y)`, 0 where `x` is 0."""
        return self._times("log1p", x, y)

    def _times(self, name: str, x: Num, y: Num) -> Num:
        zero = x.eq(0) & ~self.isnan(y)
        return self.where(
            zero,
            self.number(0, x.kind),
            x * self.function(name, self.where(zero, self.number(1, y.kind), y)),
        )

    def heaviside(self, x: Num, values: Num) -> Num:
        """Return 0 below zero and for NaN, 1 above, `values` at zero."""
        return self.where(
            x.eq(0), values, self.where(x > 0, self.number(1, x.kind), self.number(0, x.kind))
        )
