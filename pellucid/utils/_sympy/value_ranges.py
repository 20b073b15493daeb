"""Bounds of expressions from the bounds of their symbols."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import sympy
from sympy.logic.boolalg import Boolean, BooleanAtom

from . import functions as f
from .numbers import int_oo, is_infinite


class ValueRangeError(RuntimeError):
    """A lower bound is above the upper one."""


def simple_sympify(e: Any) -> Any:
    """A number or a truth value as sympy's."""
    if isinstance(e, bool):
        return sympy.true if e else sympy.false
    if isinstance(e, int):
        return sympy.Integer(e)
    if isinstance(e, float):
        return sympy.oo if e == math.inf else -sympy.oo if e == -math.inf else sympy.Float(e)
    if isinstance(e, (sympy.Number, BooleanAtom)) or is_infinite(e):
        return e
    raise AssertionError(f"not simple sympy type {type(e)}: {e}")


def sympy_generic_le(lower: Any, upper: Any) -> bool:
    """Whether a bound is not above another; False is before True."""
    if isinstance(lower, sympy.Expr):
        return bool(lower <= upper)
    return not (lower == sympy.true and upper == sympy.false)


class ValueRanges:
    """The values from `lower` to `upper`, both included.

    >>> from pellucid.utils._sympy.value_ranges import ValueRanges
    >>> ValueRanges(1, 5) & ValueRanges(3, 9)
    VR[3, 5]
    """

    __slots__ = ("is_bool", "is_float", "is_int", "lower", "upper")

    def __init__(self, lower: Any, upper: Any) -> None:
        lower, upper = simple_sympify(lower), simple_sympify(upper)
        if isinstance(lower, sympy.Integer) and upper is sympy.oo:
            upper = int_oo
        if isinstance(upper, sympy.Integer) and lower is -sympy.oo:
            lower = -int_oo
        self.lower, self.upper = lower, upper
        try:
            if not sympy_generic_le(lower, upper):
                raise ValueRangeError(f"Invalid ranges [{lower}:{upper}]")
        except TypeError as error:
            raise TypeError(f"Could not compare {lower} <= {upper}") from error
        self.is_bool = isinstance(lower, Boolean)
        whole = (sympy.Integer, type(int_oo), type(-int_oo))
        self.is_int = not self.is_bool and (isinstance(lower, whole) or isinstance(upper, whole))
        self.is_float = not self.is_bool and not self.is_int

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {self.upper}]"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ValueRanges)
            and bool(self.lower == other.lower)
            and bool(self.upper == other.upper)
        )

    def __hash__(self) -> int:
        return hash((self.lower, self.upper))

    def __contains__(self, x: Any) -> bool:
        return ValueRanges.wrap(x).issubset(self)

    def boolify(self) -> ValueRanges:
        """The truth values that it may be."""
        if self.is_bool:
            return self
        if self == ValueRanges.unknown():
            return ValueRanges.unknown_bool()
        raise AssertionError(f"not bool like, {self}")

    def issubset(self, other: ValueRanges) -> bool:
        """Whether all its values are among the other's."""
        if other in (self.unknown_int(), self.unknown()):
            return True
        return sympy_generic_le(other.lower, self.lower) and sympy_generic_le(
            self.upper, other.upper
        )

    def tighten(self, other: ValueRanges) -> ValueRanges:
        """The values in both."""
        return self & other

    def __and__(self, other: ValueRanges) -> ValueRanges:
        if other in (ValueRanges.unknown(), ValueRanges.unknown_int()):
            return self
        if self in (ValueRanges.unknown(), ValueRanges.unknown_int()):
            return other
        if self.is_bool:
            return ValueRanges(
                sympy.Or(self.lower, other.lower), sympy.And(self.upper, other.upper)
            )
        return ValueRanges(sympy.Max(self.lower, other.lower), sympy.Min(self.upper, other.upper))

    def __or__(self, other: ValueRanges) -> ValueRanges:
        if self.is_bool:
            return ValueRanges(
                sympy.And(self.lower, other.lower), sympy.Or(self.upper, other.upper)
            )
        return ValueRanges(sympy.Min(self.lower, other.lower), sympy.Max(self.upper, other.upper))

    def is_singleton(self) -> bool:
        """Whether it is one value."""
        return bool(self.lower == self.upper)

    @staticmethod
    def unknown() -> ValueRanges:
        """Every number."""
        return ValueRanges(-sympy.oo, sympy.oo)

    @staticmethod
    def unknown_int() -> ValueRanges:
        """Every integer."""
        return ValueRanges(-int_oo, int_oo)

    @staticmethod
    def unknown_bool() -> ValueRanges:
        """Both truth values."""
        return ValueRanges(sympy.false, sympy.true)

    @staticmethod
    def wrap(arg: Any) -> ValueRanges:
        """The range of one value; a range as it is."""
        if isinstance(arg, ValueRanges):
            return arg
        return ValueRanges(arg, arg)

    @staticmethod
    def increasing_map(x: Any, fn: Callable[[Any], Any]) -> ValueRanges:
        """Of a function that grows."""
        x = ValueRanges.wrap(x)
        return ValueRanges(fn(x.lower), fn(x.upper))

    @staticmethod
    def decreasing_map(x: Any, fn: Callable[[Any], Any]) -> ValueRanges:
        """Of a function that falls."""
        x = ValueRanges.wrap(x)
        return ValueRanges(fn(x.upper), fn(x.lower))

    @staticmethod
    def monotone_map(x: Any, fn: Callable[[Any], Any]) -> ValueRanges:
        """Of a function that only grows or only falls."""
        x = ValueRanges.wrap(x)
        ends = fn(x.lower), fn(x.upper)
        return ValueRanges(sympy.Min(*ends), sympy.Max(*ends))

    @staticmethod
    def convex_min_zero_map(x: Any, fn: Callable[[Any], Any]) -> ValueRanges:
        """Of a function that falls up to zero, where it is 0, and grows from there."""
        x = ValueRanges.wrap(x)
        if 0 in x:
            upper = sympy.Max(fn(x.lower), fn(x.upper))
            return ValueRanges(upper - upper if not is_infinite(upper) else 0, upper)
        return ValueRanges.monotone_map(x, fn)

    @staticmethod
    def coordinatewise_increasing_map(x: Any, y: Any, fn: Callable[[Any, Any], Any]) -> ValueRanges:
        """Of a function of two arguments that grows in both."""
        x, y = ValueRanges.wrap(x), ValueRanges.wrap(y)
        return ValueRanges(fn(x.lower, y.lower), fn(x.upper, y.upper))

    @classmethod
    def coordinatewise_monotone_map(
        cls, x: Any, y: Any, fn: Callable[[Any, Any], Any]
    ) -> ValueRanges:
        """Of a function of two arguments that is monotone in each."""
        x, y = cls.wrap(x), cls.wrap(y)
        corners = [fn(a, b) for a in (x.lower, x.upper) for b in (y.lower, y.upper)]
        return ValueRanges(min(corners), max(corners))


def _times(a: Any, b: Any) -> Any:
    return sympy.S.Zero if a == 0 or b == 0 else a * b


class SymPyValueRangeAnalysis:
    """The bounds of each operation from those of its arguments."""

    @staticmethod
    def constant(value: Any, dtype: Any = None) -> ValueRanges:
        """Of a constant."""
        return ValueRanges.wrap(value)

    @staticmethod
    def add(a: Any, b: Any) -> ValueRanges:
        """Of a sum."""
        return ValueRanges.coordinatewise_increasing_map(a, b, operator.add)

    @staticmethod
    def mul(a: Any, b: Any) -> ValueRanges:
        """Of a product."""
        return ValueRanges.coordinatewise_monotone_map(a, b, _times)

    @staticmethod
    def floordiv(a: Any, b: Any) -> ValueRanges:
        """Of a quotient rounded down."""
        a, b = ValueRanges.wrap(a), ValueRanges.wrap(b)
        if 0 in b:
            return ValueRanges.unknown_int()
        return ValueRanges.coordinatewise_monotone_map(a, b, f.FloorDiv)

    @staticmethod
    def truediv(a: Any, b: Any) -> ValueRanges:
        """Of a quotient."""
        a, b = ValueRanges.wrap(a), ValueRanges.wrap(b)
        if 0 in b or any(map(is_infinite, (a.lower, a.upper, b.lower, b.upper))):
            return ValueRanges.unknown()
        return ValueRanges.coordinatewise_monotone_map(a, b, f.FloatTrueDiv)

    int_truediv = truediv

    @staticmethod
    def mod(a: Any, b: Any) -> ValueRanges:
        """Of a remainder."""
        a, b = ValueRanges.wrap(a), ValueRanges.wrap(b)
        if a.is_singleton() and b.is_singleton() and b.lower != 0:
            return ValueRanges.wrap(a.lower % b.lower)
        limit = sympy.Max(abs(b.lower), abs(b.upper)) - 1
        low = sympy.S.Zero if a.lower >= 0 else sympy.Max(a.lower, -limit)
        high = sympy.Min(a.upper, limit) if a.upper >= 0 else sympy.S.Zero
        return ValueRanges(low, high)

    @staticmethod
    def python_mod(a: Any, b: Any) -> ValueRanges:
        """Of Python's remainder."""
        a, b = ValueRanges.wrap(a), ValueRanges.wrap(b)
        if a.is_singleton() and b.is_singleton() and b.lower != 0:
            return ValueRanges.wrap(a.lower % b.lower)
        if b.is_singleton() and b.lower > 0:
            return ValueRanges(0, b.lower - 1)
        limit = sympy.Max(abs(b.lower), abs(b.upper)) - 1
        return ValueRanges(-limit, limit)

    @classmethod
    def modular_indexing(cls, a: Any, b: Any, c: Any) -> ValueRanges:
        """Of an index that is divided and wrapped."""
        return cls.mod(cls.floordiv(a, b), c)

    @staticmethod
    def pow_by_natural(a: Any, b: Any) -> ValueRanges:
        """Of a power."""
        a, b = ValueRanges.wrap(a), ValueRanges.wrap(b)
        if b.is_singleton() and b.lower >= 0 and not is_infinite(b.lower):
            power = b.lower
            if power % 2 == 0:
                return ValueRanges.convex_min_zero_map(a, lambda x: x**power)
            return ValueRanges.increasing_map(a, lambda x: x**power)
        if a.lower >= 1:
            return ValueRanges.coordinatewise_increasing_map(a, b, operator.pow)
        return ValueRanges.unknown_int()

    @staticmethod
    def minimum(a: Any, b: Any) -> ValueRanges:
        """Of the lesser of two."""
        return ValueRanges.coordinatewise_increasing_map(a, b, sympy.Min)

    @staticmethod
    def maximum(a: Any, b: Any) -> ValueRanges:
        """Of the greater of two."""
        return ValueRanges.coordinatewise_increasing_map(a, b, sympy.Max)

    @staticmethod
    def abs(x: Any) -> ValueRanges:
        """Of an absolute value."""
        return ValueRanges.convex_min_zero_map(x, operator.abs)

    @staticmethod
    def not_(a: Any) -> ValueRanges:
        """Of a negation."""
        return ValueRanges.decreasing_map(ValueRanges.wrap(a).boolify(), sympy.Not)

    @staticmethod
    def and_(a: Any, b: Any) -> ValueRanges:
        """Of both."""
        return ValueRanges.coordinatewise_increasing_map(a, b, sympy.And)

    @staticmethod
    def or_(a: Any, b: Any) -> ValueRanges:
        """Of one of two."""
        return ValueRanges.coordinatewise_increasing_map(a, b, sympy.Or)

    @staticmethod
    def lt(a: Any, b: Any) -> ValueRanges:
        """Of `a < b`."""
        a, b = ValueRanges.wrap(a), ValueRanges.wrap(b)
        if a.upper < b.lower:
            return ValueRanges.wrap(sympy.true)
        if a.lower >= b.upper:
            return ValueRanges.wrap(sympy.false)
        return ValueRanges.unknown_bool()

    @classmethod
    def gt(cls, a: Any, b: Any) -> ValueRanges:
        """Of `a > b`."""
        return cls.lt(b, a)

    @classmethod
    def le(cls, a: Any, b: Any) -> ValueRanges:
        """Of `a <= b`."""
        return cls.not_(cls.gt(a, b))

    @classmethod
    def ge(cls, a: Any, b: Any) -> ValueRanges:
        """Of `a >= b`."""
        return cls.not_(cls.lt(a, b))

    @staticmethod
    def eq(a: Any, b: Any) -> ValueRanges:
        """Of `a == b`."""
        a, b = ValueRanges.wrap(a), ValueRanges.wrap(b)
        if a.is_singleton() and b.is_singleton() and a.lower == b.lower:
            return ValueRanges.wrap(sympy.true)
        if a.lower > b.upper or b.lower > a.upper:
            return ValueRanges.wrap(sympy.false)
        return ValueRanges.unknown_bool()

    @classmethod
    def ne(cls, a: Any, b: Any) -> ValueRanges:
        """Of `a != b`."""
        return cls.not_(cls.eq(a, b))

    @staticmethod
    def where(a: Any, b: Any, c: Any) -> ValueRanges:
        """Of one of two, by a condition."""
        return ValueRanges.wrap(b) | ValueRanges.wrap(c)

    @staticmethod
    def identity(a: Any) -> ValueRanges:
        """As it is."""
        return ValueRanges.wrap(a)


_ANALYSIS: dict[Any, Callable[..., ValueRanges]] = {
    sympy.Add: SymPyValueRangeAnalysis.add,
    sympy.Mul: SymPyValueRangeAnalysis.mul,
    sympy.Pow: SymPyValueRangeAnalysis.pow_by_natural,
    f.PowByNatural: SymPyValueRangeAnalysis.pow_by_natural,
    f.FloorDiv: SymPyValueRangeAnalysis.floordiv,
    f.CleanDiv: SymPyValueRangeAnalysis.floordiv,
    f.IntTrueDiv: SymPyValueRangeAnalysis.int_truediv,
    f.FloatTrueDiv: SymPyValueRangeAnalysis.truediv,
    f.Mod: SymPyValueRangeAnalysis.mod,
    f.PythonMod: SymPyValueRangeAnalysis.python_mod,
    f.ModularIndexing: SymPyValueRangeAnalysis.modular_indexing,
    f.Where: SymPyValueRangeAnalysis.where,
    f.Identity: SymPyValueRangeAnalysis.identity,
    sympy.Max: SymPyValueRangeAnalysis.maximum,
    sympy.Min: SymPyValueRangeAnalysis.minimum,
    sympy.Abs: SymPyValueRangeAnalysis.abs,
    sympy.And: SymPyValueRangeAnalysis.and_,
    sympy.Or: SymPyValueRangeAnalysis.or_,
    sympy.Not: SymPyValueRangeAnalysis.not_,
    sympy.Eq: SymPyValueRangeAnalysis.eq,
    sympy.Ne: SymPyValueRangeAnalysis.ne,
    sympy.Lt: SymPyValueRangeAnalysis.lt,
    sympy.Le: SymPyValueRangeAnalysis.le,
    sympy.Gt: SymPyValueRangeAnalysis.gt,
    sympy.Ge: SymPyValueRangeAnalysis.ge,
    **{
        kind: lambda x, kind=kind: ValueRanges.increasing_map(x, kind)
        for kind in (
            f.ToFloat,
            f.TruncToInt,
            f.TruncToFloat,
            f.RoundToInt,
            f.CeilToInt,
            f.FloorToInt,
        )
    },
}
_SEVERAL = (sympy.Add, sympy.Mul, sympy.Max, sympy.Min, sympy.And, sympy.Or)


def bound_sympy(expr: Any, ranges: dict[sympy.Symbol, ValueRanges] | None = None) -> ValueRanges:
    """The bounds of an expression; a symbol without bounds has those of its assumptions."""
    if isinstance(expr, (sympy.Number, BooleanAtom)) or is_infinite(expr):
        return ValueRanges.wrap(expr)
    if isinstance(expr, sympy.Symbol):
        known = (ranges or {}).get(expr)
        return _assumed(expr) if known is None else known
    rule = _ANALYSIS.get(type(expr))
    if rule is None:
        return ValueRanges.unknown_int() if expr.is_integer else ValueRanges.unknown()
    return _applied(rule, expr, [bound_sympy(arg, ranges) for arg in expr.args])


def _applied(rule: Any, expr: Any, parts: Iterable[ValueRanges]) -> ValueRanges:
    first, *rest = parts
    if not isinstance(expr, _SEVERAL):
        return rule(first, *rest)
    for part in rest:
        first = rule(first, part)
    return first


def _assumed(symbol: sympy.Symbol) -> ValueRanges:
    """The bounds that a symbol's assumptions give."""
    if not symbol.is_integer:
        low = sympy.S.Zero if symbol.is_nonnegative else -sympy.oo
        return ValueRanges(low, sympy.oo)
    low = 1 if symbol.is_positive else 0 if symbol.is_nonnegative else -int_oo
    return ValueRanges(low, int_oo)
