"""Numbers that `item()` gives while a step is traced: they may be returned, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class _Read:
    """What the number classes share: every use of one is told to the tracer."""

    tracer: Any
    value: Any  # of the program
    site: Any  # where it was read


def _told(name: str, base: type) -> Callable[..., Any]:
    original = getattr(base, name)

    def method(self: Any, *args: Any) -> Any:
        self.tracer.refuse("the step computes or decides with a tensor's value as a number")
        return original(self, *args)

    return method


_NAMES = (
    "add sub mul truediv floordiv mod divmod pow radd rsub rmul rtruediv rfloordiv rmod rdivmod rpow neg pos abs lt le gt ge eq ne "
    "bool int float index round trunc floor ceil hash str repr format and or xor rand ror rxor lshift rshift invert"
).split()


def _make(base: type) -> type:
    names = [f"__{n}__" for n in _NAMES if hasattr(base, f"__{n}__")]
    return type(f"Read{base.__name__.title()}", (_Read, base), {name: _told(name, base) for name in names})


ReadFloat, ReadInt = _make(float), _make(int)


def read(value: Any, tracer: Any, place: Any) -> Any:
    """The number, watched; None for a kind of number that cannot be."""
    kind = {float: ReadFloat, int: ReadInt}.get(type(value))
    if kind is None:
        return None
    made = kind(value)
    made.tracer, made.value, made.site = tracer, place, tracer.site()
    return made


def is_read(value: Any) -> bool:
    """True for a number that `read` made."""
    return isinstance(value, _Read)
