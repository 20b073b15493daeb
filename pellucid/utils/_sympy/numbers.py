"""An infinity among the integers: more than every integer, and less than `sympy.oo`."""

from __future__ import annotations

from typing import Any

import sympy
from sympy.core.decorators import call_highest_priority
from sympy.core.singleton import S

_ONE: dict[type, Any] = {}


class _Infinite(sympy.Number):
    """What the two integer infinities have in common."""

    is_integer = True
    is_extended_real = True
    is_commutative = True
    is_number = True
    is_infinite = False  # so that sums of symbols with it stay integers
    is_finite = True
    is_comparable = True
    is_prime = False
    _op_priority = 100.0
    _sign: int
    __slots__ = ()

    def __new__(cls) -> Any:  # not among sympy's own singletons, where PyTorch has its pair
        if cls not in _ONE:
            _ONE[cls] = sympy.AtomicExpr.__new__(cls)
        return _ONE[cls]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), ()

    def _rank(self) -> int:
        return self._sign

    def __hash__(self) -> int:
        return hash(type(self).__name__)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def _before(self, other: Any) -> bool | None:
        """Whether this is less than another number; None where that is not known."""
        other = sympy.sympify(other)
        if other is S.Infinity:
            return True
        if other is S.NegativeInfinity or other is self:
            return False
        if isinstance(other, _Infinite) or (other.is_number and other.is_real):
            return self._sign < 0
        return None

    def __lt__(self, other: Any) -> Any:
        found = self._before(other)
        return super().__lt__(other) if found is None else sympy.sympify(found)

    def __ge__(self, other: Any) -> Any:
        found = self._before(other)
        return super().__ge__(other) if found is None else sympy.sympify(not found)

    def __gt__(self, other: Any) -> Any:
        found = self._before(other)
        if found is None:
            return super().__gt__(other)
        return sympy.sympify(not found and sympy.sympify(other) is not self)

    def __le__(self, other: Any) -> Any:
        found = self._before(other)
        if found is None:
            return super().__le__(other)
        return sympy.sympify(found or sympy.sympify(other) is self)

    def _signed(self, sign: int) -> Any:
        return IntInfinity() if sign > 0 else NegativeIntInfinity()

    @call_highest_priority("__radd__")
    def __add__(self, other: Any) -> Any:
        other = sympy.sympify(other)
        if other in (S.Infinity, S.NegativeInfinity):
            return other
        if isinstance(other, _Infinite) and other is not self:
            return S.NaN
        return self if other.is_number else sympy.Add(self, other, evaluate=False)

    __radd__ = __add__

    @call_highest_priority("__rsub__")
    def __sub__(self, other: Any) -> Any:
        return self + (-sympy.sympify(other))

    @call_highest_priority("__sub__")
    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    @call_highest_priority("__rmul__")
    def __mul__(self, other: Any) -> Any:
        other = sympy.sympify(other)
        if other.is_zero or other is S.NaN:
            return S.NaN
        if other in (S.Infinity, S.NegativeInfinity):
            return other * self._sign
        if other.is_number:
            return self._signed(
                self._sign
                if other.is_extended_positive or isinstance(other, IntInfinity)
                else -self._sign
            )
        return sympy.Mul(self, other, evaluate=False)

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return self._signed(-self._sign)

    def __abs__(self) -> Any:
        return IntInfinity()

    def _eval_power(self, expt: Any) -> Any:
        if expt.is_extended_positive:
            return self._signed(1 if self._sign > 0 or expt.is_even else -1)
        return S.One if expt.is_zero else S.Zero

    def _as_mpf_val(self, prec: int) -> Any:
        import mpmath.libmp

        return mpmath.libmp.finf if self._sign > 0 else mpmath.libmp.fninf

    def evalf(self, *args: Any, **kwargs: Any) -> Any:
        return S.Infinity if self._sign > 0 else S.NegativeInfinity


class IntInfinity(_Infinite):
    """More than every integer: `int_oo`."""

    is_extended_positive = is_positive = is_nonnegative = is_extended_nonnegative = True
    _sign = 1
    __slots__ = ()

    def _sympystr(self, printer: Any) -> str:
        return "int_oo"


class NegativeIntInfinity(_Infinite):
    """Less than every integer: `-int_oo`."""

    is_extended_negative = is_negative = True
    is_positive = is_nonnegative = False
    _sign = -1
    __slots__ = ()

    def _sympystr(self, printer: Any) -> str:
        return "-int_oo"


int_oo = IntInfinity()


def is_infinite(expr: Any) -> bool:
    """Whether an expression is an infinity, of the integers or of the reals."""
    infinities = (S.Infinity, S.NegativeInfinity, IntInfinity(), NegativeIntInfinity())
    return any(expr is one for one in infinities)
