"""Sizes of ragged dimensions."""

from __future__ import annotations

import itertools
from typing import Any

from ..api.symbols import SymInt
from ..core.tensor import Tensor
from ..errors import ArgumentValueError, OperationError

_numbers = itertools.count(1)


class NestedInt(SymInt):
    """The size of a ragged dimension, at least 2: equal to itself alone, times whole numbers;
    prints as `j1`.
    """

    def __new__(cls, *args: Any) -> NestedInt:
        return object.__new__(cls)

    def __init__(self, number: int, times: int = 1) -> None:
        self.number, self.times = number, times

    def __mul__(self, other: int) -> NestedInt:
        return NestedInt(self.number, self.times * other)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NestedInt) and (self.number, self.times) == (
            other.number,
            other.times,
        )

    def __hash__(self) -> int:
        return hash((self.number, self.times))

    def __ge__(self, other: Any) -> bool:
        if isinstance(other, NestedInt) and other.number == self.number:
            return self.times >= other.times
        if isinstance(other, int) and other <= 2:
            return True
        raise ArgumentValueError("ge: relation is indeterminate")

    def __gt__(self, other: Any) -> bool:
        if isinstance(other, NestedInt):
            return not other >= self
        return self >= other + 1

    def __lt__(self, other: Any) -> bool:
        return not self >= other

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __repr__(self) -> str:
        return f"j{self.number}" if self.times == 1 else f"{self.times}*j{self.number}"

    def __int__(self) -> int:
        raise OperationError(
            f"{self} is the size of a ragged dimension: it differs from component to component"
        )

    __index__ = __int__


def symbol(offsets: Tensor) -> NestedInt:
    """The ragged size that these offsets stand for."""
    known = offsets.__dict__.get("_nested_int")
    if known is None:
        known = offsets.__dict__["_nested_int"] = NestedInt(next(_numbers))
    return known
