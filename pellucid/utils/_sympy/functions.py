"""Operations on integers and floats that sympy lacks or simplifies too far: division that rounds down,
remainders, shifts, rounding, and maxima.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import sympy
from sympy import S
from sympy.core.numbers import equal_valued
from sympy.functions.elementary.miscellaneous import Max as _Max
from sympy.functions.elementary.miscellaneous import Min as _Min
from sympy.printing.precedence import PRECEDENCE

from .numbers import int_oo

__all__ = [
    "CeilDiv",
    "CeilToInt",
    "CleanDiv",
    "FloatPow",
    "FloatTrueDiv",
    "FloorDiv",
    "FloorToInt",
    "Identity",
    "IntTrueDiv",
    "IsNonOverlappingAndDenseIndicator",
    "LShift",
    "Mod",
    "ModularIndexing",
    "PowByNatural",
    "PythonMod",
    "RShift",
    "RoundDecimal",
    "RoundToInt",
    "ToFloat",
    "TruncToFloat",
    "TruncToInt",
    "Where",
]

Max, Min = _Max, _Min


def fuzzy_eq(x: bool | None, y: bool | None) -> bool | None:
    """Whether two answers agree; None where one is not known."""
    return None if x is None or y is None else x == y


def _ints(*values: Any) -> bool:
    return all(isinstance(x, sympy.Integer) for x in values)


def _quotient(base: Any, divisor: Any) -> Any:
    """The exact quotient of integer expressions, or None."""
    made = sympy.cancel(base / divisor)
    if made.is_integer and sympy.denom(sympy.together(made)) == 1:
        return made
    return None


class FloorDiv(sympy.Function):
    """`base // divisor`, rounded down as in Python."""

    nargs = (2,)
    precedence: int = 35
    is_integer = True

    @property
    def base(self) -> Any:
        """What is divided."""
        return self.args[0]

    @property
    def divisor(self) -> Any:
        """What it is divided by."""
        return self.args[1]

    def _sympystr(self, printer: Any) -> str:
        level = PRECEDENCE["Atom"] - 0.5
        return f"({printer.parenthesize(self.base, level)}//{printer.parenthesize(self.divisor, level)})"

    @classmethod
    def eval(cls, base: Any, divisor: Any) -> Any:
        if divisor.is_zero:
            raise ZeroDivisionError("division by zero")
        if base in (int_oo, -int_oo) or base.is_infinite and base.is_extended_real:
            if divisor in (int_oo, -int_oo) or divisor.is_infinite:
                return S.NaN
            return base if divisor.is_extended_positive else -base
        if base.is_zero:
            return S.Zero
        if equal_valued(divisor, 1):
            return base
        if equal_valued(divisor, -1):
            return -base
        if _ints(base, divisor):
            return sympy.Integer(int(base) // int(divisor))
        if isinstance(base, FloorDiv):
            return FloorDiv(base.args[0], base.args[1] * divisor)
        if isinstance(divisor, sympy.Integer):
            whole: list[Any] = []
            rest: list[Any] = []
            for term in sympy.Add.make_args(base):
                part = _quotient(term, divisor)
                (rest if part is None else whole).append(term if part is None else part)
            if whole:
                kept = sympy.Add(*rest)
                return sympy.Add(*whole) + (FloorDiv(kept, divisor) if rest else 0)
        try:
            common = sympy.gcd(base, divisor)
            if not equal_valued(common, 1) and common.is_number is not None:
                over, under = sympy.cancel(base / common), sympy.cancel(divisor / common)
                if equal_valued(under, 1):
                    return over
                return FloorDiv(over, under)
        except sympy.PolynomialError:
            pass
        return None

    def _eval_is_nonnegative(self) -> bool | None:
        signs = [x.is_nonnegative for x in self.args[:2]]
        return True if all(signs) else None


class CleanDiv(FloorDiv):
    """`base // divisor` where the division leaves no rest."""


class _ToInt(sympy.Function):
    """A float as an integer, in one of the ways to round."""

    is_integer = True
    rounded: Callable[[float], int]

    @classmethod
    def eval(cls, number: Any) -> Any:
        if number in (sympy.oo, int_oo):
            return int_oo
        if number in (-sympy.oo, -int_oo):
            return -int_oo
        if isinstance(number, sympy.Integer):
            return number
        if isinstance(number, sympy.Number):
            return sympy.Integer(cls.rounded(float(number)))
        return None


class FloorToInt(_ToInt):
    """The largest integer that is not above a float."""

    rounded = staticmethod(math.floor)


class TruncToInt(_ToInt):
    """A float without its fraction, as an integer."""

    rounded = staticmethod(math.trunc)


class RoundToInt(_ToInt):
    """The integer next to a float, the even one of two."""

    rounded = staticmethod(round)


class CeilToInt(sympy.Function):
    """The smallest integer that is not below a float."""

    is_integer = True

    @classmethod
    def eval(cls, number: Any) -> Any:
        if isinstance(number, sympy.Number) and number.is_finite:
            return sympy.Integer(math.ceil(float(number)))
        return None


class CeilDiv(sympy.Function):
    """`base / divisor`, rounded up."""

    is_integer = True

    def __new__(cls, base: Any, divisor: Any, evaluate: Any = None) -> Any:
        base, divisor = sympy.sympify(base), sympy.sympify(divisor)
        if sympy.gcd(base, divisor) == divisor:
            return CleanDiv(base, divisor)
        return FloorDiv(base + (divisor - 1), divisor)


class ModularIndexing(sympy.Function):
    """`(base // divisor) % modulus`, of an index that is not negative."""

    nargs = (3,)
    is_integer = True
    precedence: int = 35

    @classmethod
    def eval(cls, base: Any, divisor: Any, modulus: Any) -> Any:
        if base.is_zero or equal_valued(modulus, 1):
            return S.Zero
        if _ints(base, divisor, modulus):
            return sympy.Integer(int(base) // int(divisor) % int(modulus))
        if not equal_valued(divisor, 1):
            try:
                common = sympy.gcd(base, divisor)
                if not equal_valued(common, 1):
                    return ModularIndexing(
                        sympy.cancel(base / common), sympy.cancel(divisor / common), modulus
                    )
            except sympy.PolynomialError:
                pass
        if isinstance(base, sympy.Add):
            period, kept = modulus * divisor, []
            negative = any(
                isinstance(term, sympy.Mul)
                and term.args[0].is_negative
                or isinstance(term, sympy.Integer)
                and term < 0
                for term in base.args
            )
            if not negative:
                kept = [term for term in base.args if _quotient(term, period) is None]
                if len(kept) < len(base.args):
                    return ModularIndexing(sympy.Add(*kept), divisor, modulus)
        if isinstance(base, FloorDiv):
            return ModularIndexing(base.args[0], base.args[1] * divisor, modulus)
        return None

    def _eval_is_nonnegative(self) -> bool | None:
        return True


class Where(sympy.Function):
    """One of two expressions, by a condition."""

    nargs = (3,)
    precedence: int = 35

    @classmethod
    def eval(cls, c: Any, p: Any, q: Any) -> Any:
        return p if c == sympy.true else q if c == sympy.false else None

    def _eval_is_integer(self) -> bool | None:
        return True if self.args[1].is_integer and self.args[2].is_integer else None

    def _eval_is_nonnegative(self) -> bool | None:
        return True if self.args[1].is_nonnegative and self.args[2].is_nonnegative else None


class PythonMod(sympy.Function):
    """`p % q`, of the divisor's sign as in Python."""

    nargs = (2,)
    is_integer = True
    precedence: int = 35

    @classmethod
    def eval(cls, p: Any, q: Any) -> Any:
        if q.is_zero:
            raise ZeroDivisionError("Modulo by zero")
        if p.is_zero or p in (q, -q) or equal_valued(q, 1):
            return S.Zero
        if q.is_Number and p.is_Number:
            return p % q
        if _quotient(p, q) is not None:
            return S.Zero
        if p.is_number is False and (p < q) == True and p.is_nonnegative:  # noqa: E712 (sympy)
            return p
        return None

    def _eval_is_nonnegative(self) -> bool | None:
        return True if self.args[1].is_positive else None

    def _eval_is_nonpositive(self) -> bool | None:
        return True if self.args[1].is_negative else None


class Mod(sympy.Function):
    """`p % q` of integers that are not negative."""

    nargs = (2,)
    precedence: int = 35
    is_integer = is_nonnegative = True

    @classmethod
    def eval(cls, p: Any, q: Any) -> Any:
        if q.is_zero:
            raise ZeroDivisionError("Modulo by zero")
        if p.is_zero or p in (q, -q) or equal_valued(q, 1):
            return S.Zero
        if q.is_Number and p.is_Number:
            for number in (p, q):
                if number < 0:
                    raise AssertionError(number)
            return p % q
        if _quotient(p, q) is not None:
            return S.Zero
        return None


class LShift(sympy.Function):
    """`base << shift`."""

    is_integer = True

    @classmethod
    def eval(cls, base: Any, shift: Any) -> Any:
        if shift < 0:
            raise ValueError("negative shift count")
        return base * 2**shift


class RShift(sympy.Function):
    """`base >> shift`."""

    is_integer = True

    @classmethod
    def eval(cls, base: Any, shift: Any) -> Any:
        if shift < 0:
            raise ValueError("negative shift count")
        return FloorDiv(base, 2**shift)


class PowByNatural(sympy.Function):
    """An integer to an integer power that is not negative."""

    is_integer = True
    precedence: int = 50

    @classmethod
    def eval(cls, base: Any, exp: Any) -> Any:
        if isinstance(exp, sympy.Integer):
            return base**exp if exp >= 0 else None
        if isinstance(base, sympy.Integer) and base == 1:
            return S.One
        return None


class FloatPow(sympy.Function):
    """A float to a float power."""

    is_real = True

    @classmethod
    def eval(cls, base: Any, exp: Any) -> Any:
        if isinstance(base, sympy.Number) and isinstance(exp, sympy.Number):
            return sympy.Float(float(base) ** float(exp))
        return None


class FloatTrueDiv(sympy.Function):
    """The quotient of floats."""

    is_real = True
    precedence: int = 35

    @classmethod
    def eval(cls, base: Any, divisor: Any) -> Any:
        if divisor.is_zero:
            raise ZeroDivisionError("division by zero")
        if isinstance(base, sympy.Number) and isinstance(divisor, sympy.Number):
            return sympy.Float(float(base) / float(divisor))
        return None


class IntTrueDiv(sympy.Function):
    """The quotient of integers as a float."""

    is_real = True
    precedence: int = 35

    @classmethod
    def eval(cls, base: Any, divisor: Any) -> Any:
        if divisor.is_zero:
            raise ZeroDivisionError("division by zero")
        if _ints(base, divisor):
            return sympy.Float(int(base) / int(divisor))
        return None


class TruncToFloat(sympy.Function):
    """A float without its fraction."""

    is_real = True

    @classmethod
    def eval(cls, number: Any) -> Any:
        if isinstance(number, sympy.Number) and number.is_finite:
            return sympy.Float(math.trunc(float(number)))
        return None


class RoundDecimal(sympy.Function):
    """A float rounded to so many digits."""

    is_real = True

    @classmethod
    def eval(cls, number: Any, ndigits: Any) -> Any:
        if isinstance(number, sympy.Number) and isinstance(ndigits, sympy.Integer):
            return sympy.Float(round(float(number), int(ndigits)))
        return None


class ToFloat(sympy.Function):
    """An integer as a float."""

    is_real = True

    @classmethod
    def eval(cls, number: Any) -> Any:
        if number in (sympy.oo, -sympy.oo):
            return number
        if isinstance(number, sympy.Integer):
            return sympy.Float(int(number))
        if number is int_oo:
            return sympy.oo
        if number is -int_oo:
            return -sympy.oo
        return None


class Identity(sympy.Function):
    """An expression that is not simplified further."""

    precedence: int = 10

    def _sympystr(self, printer: Any) -> str:
        return f"({printer.doprint(self.args[0])})"

    def __repr__(self) -> str:
        return f"Identity({self.args[0]})"

    def _eval_is_real(self) -> bool | None:
        return bool(self.args[0].is_real) or None

    def _eval_is_integer(self) -> bool | None:
        return bool(self.args[0].is_integer) or None

    def _eval_expand_identity(self, **hints: Any) -> Any:
        return self.args[0]


class IsNonOverlappingAndDenseIndicator(sympy.Function):
    """1 where sizes and strides are those of memory without gaps, else 0."""

    is_integer = True

    @classmethod
    def eval(cls, *args: Any) -> Any:
        if len(args) % 2 or not _ints(*args):
            return None
        half = len(args) // 2
        expected = 1
        for stride, size in sorted(zip(args[half:], args[:half], strict=True)):
            if size == 1:
                continue
            if stride != expected:
                return S.Zero
            expected *= size
        return S.One
