"""Sizes that follow from the dynamic sizes of a program's inputs.

A program is traced at several sizes. Where a number differs between the traces, `solve` finds how
it follows from the sizes of the inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..api.symbols import SymInt

Point = Mapping[str, int]  # a size for each name
DIVISORS = (2, 3, 4, 5, 6, 7, 8, 16, 32, 64)


@dataclass(frozen=True)
class Expression:
    """`(factor * product of names + offset) // divisor`.

    >>> str(Expression(2, ("n", "t"), -1)), Expression(1, ("n",), 1, 2).at({"n": 6})
    ('2*n*t - 1', 3)
    """

    factor: int
    names: tuple[str, ...]
    offset: int = 0
    divisor: int = 1

    def at(self, sizes: Point) -> int:
        """The number for given sizes."""
        made = self.factor
        for name in self.names:
            made *= sizes[name]
        return (made + self.offset) // self.divisor

    def __str__(self) -> str:
        text = "*".join([*([str(self.factor)] if self.factor != 1 else []), *self.names])
        if self.offset:
            text += f" {'+' if self.offset > 0 else '-'} {abs(self.offset)}"
        if self.divisor == 1:
            return text
        return f"(({text})//{self.divisor})" if self.offset else f"({text}//{self.divisor})"


def solve(seen: Sequence[int], points: Sequence[Point]) -> Expression | None:
    """How a number that was seen at points follows from their sizes; None if no `Expression` gives
    it everywhere.

    >>> solve([4, 6, 14], [{"n": 2}, {"n": 3}, {"n": 7}])
    Expression(factor=2, names=('n',), offset=0, divisor=1)
    """
    names = list(points[0]) if points else []
    for name in names:
        found = _affine(seen, points, (name,))
        if found is not None:
            return found
    for i, name in enumerate(names):
        for other in names[i:]:
            found = _affine(seen, points, (name, other))
            if found is not None:
                return found
    if len(points) < 5:
        return None  # too few to tell quotients apart
    for name in names:
        for divisor in DIVISORS:
            for factor in (1, 2, 3):
                for offset in range(-divisor * 2, divisor * 2 + 1):
                    found = Expression(factor, (name,), offset, divisor)
                    if all(found.at(p) == n for p, n in zip(points, seen, strict=True)):
                        return found
    return None


def _affine(
    seen: Sequence[int], points: Sequence[Point], names: tuple[str, ...]
) -> Expression | None:
    at = [Expression(1, names).at(p) for p in points]
    other = next((k for k in range(1, len(at)) if at[k] != at[0]), None)
    if other is None:
        return None
    factor, rest = divmod(seen[other] - seen[0], at[other] - at[0])
    found = Expression(factor, names, seen[0] - factor * at[0])
    fits = not rest and factor and all(found.at(p) == n for p, n in zip(points, seen, strict=True))
    return found if fits else None


class Symbol(SymInt):
    """A size that depends on the sizes of the inputs, as the nodes of a graph show it: its
    expression, and the number that it was in the example.
    """

    def __new__(cls, *args: Any) -> Any:
        return object.__new__(cls)

    def __init__(self, expr: Any, hint: int) -> None:
        self.expr, self.hint = expr, hint

    @property
    def node(self) -> Symbol:
        """What PyTorch's code asks for the expression and the hint."""
        return self

    def __repr__(self) -> str:
        return str(self.expr)

    def __int__(self) -> int:
        return self.hint

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, Symbol) else self.hint == other

    def __hash__(self) -> int:
        return hash(str(self.expr))


def renamed(found: Expression, words: Mapping[str, str]) -> Expression:
    """The expression in other names."""
    names = tuple([words.get(name, name) for name in found.names])
    return Expression(found.factor, names, found.offset, found.divisor)


class ValueRanges:
    """The smallest and the largest value of a size.

    >>> ValueRanges(2, None), 3 in ValueRanges(2, 4)
    (VR[2, int_oo], True)
    """

    def __init__(self, lower: int, upper: int | None) -> None:
        self.lower, self.upper = lower, upper

    def __contains__(self, value: int) -> bool:
        return value >= self.lower and (self.upper is None or value <= self.upper)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ValueRanges) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {'int_oo' if self.upper is None else self.upper}]"
