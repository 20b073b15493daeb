"""Arguments and results: nested containers as hashable descriptions, and rebuilt with other tensors
or numbers.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ...devices import device
from ..trace.numbers import NUMBERS, is_read
from ..trace.watch import is_ours

class_of: Callable[[Any], Any] = type  # to type checkers a class is nothing to look up by

#: Classes of which most values are; a description holds them as they are.
PLAIN = frozenset((str, int, bool, type(None), bytes))


@functools.lru_cache(1024)
def fields_of(kind: type) -> tuple[str, ...] | None:
    """The names of the fields of a dataclass; None for other classes."""
    if not dataclasses.is_dataclass(kind):
        return None
    return tuple([f.name for f in dataclasses.fields(kind)])


def flatten(value: Any, found: list[Tensor], new: Callable[[Any], bool] | None = None) -> Any:
    """A hashable description of a nested argument or result; its tensors are appended to `found`.

    `new` says which objects the call made of nothing but a class and attributes (`is_record`): the
    tensors in those are found, too.
    """
    kind = class_of(value)
    if kind in PLAIN:
        return (kind, value)
    if is_read(value):
        found.append(value)
        return ("number", len(found) - 1)
    if isinstance(value, Tensor):
        for k, t in enumerate(found):
            if t is value:
                return ("again", k)
        found.append(value)
        return ("tensor", len(found) - 1)
    if isinstance(value, tuple):
        return (type(value), *[flatten(v, found, new) for v in value])
    if isinstance(value, list):
        return ("list", *[flatten(v, found, new) for v in value])
    if isinstance(value, dict):
        return (type(value), *[(k, flatten(v, found, new)) for k, v in value.items()])
    if (names := fields_of(kind)) is not None:
        return (kind, *[(name, flatten(getattr(value, name), found, new)) for name in names])
    if isinstance(value, (bool, int, float, complex, str, bytes, type(None), np.generic)):
        return (type(value), float.__repr__(value) if isinstance(value, float) else value)
    if new is not None and new(value):
        return (type(value), *[(k, flatten(v, found, new)) for k, v in vars(value).items()])
    if isinstance(value, device):
        return ("device", value)
    return ("object", Same(value))


def numbers_in(structure: Any, found: list[Any] | None = None) -> list[Any]:
    """The floats and ints in a description that `flatten` made, in order."""
    found = [] if found is None else found
    if isinstance(structure, tuple):
        if len(structure) == 2 and structure[0] in NUMBERS:
            found.append(structure[0](structure[1]))
        else:
            for s in structure:
                numbers_in(s, found)
    return found


def masked(structure: Any, places: Any, count: Iterator[int] | None = None) -> Any:
    """The description without the values of the floats and ints at some places; of all of them, if
    `places` is None.
    """
    count = itertools.count() if count is None else count
    if not isinstance(structure, tuple):
        return structure
    if len(structure) == 2 and structure[0] in NUMBERS:
        k = next(count)
        return (structure[0], "given") if places is None or k in places else structure
    return tuple([masked(s, places, count) for s in structure])


def lifted(
    value: Any, places: Any, change: Callable[[Any], Any], count: Iterator[int], copies: list[Any]
) -> Any:
    """Arguments with other objects at some places of floats and ints, counted as in `numbers_in`;
    lists and dictionaries are noted in `copies`, beside what they are copies of and what they hold.
    """
    if type(value) in NUMBERS:
        return change(value) if next(count) in places else value
    if is_read(value) or isinstance(value, Tensor):
        return value
    if isinstance(value, tuple):
        made = [lifted(v, places, change, count, copies) for v in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if isinstance(value, list):
        items = [lifted(v, places, change, count, copies) for v in value]
        copies.append((value, items, [*items]))
        return items
    if isinstance(value, dict):
        made = [(k, lifted(v, places, change, count, copies)) for k, v in value.items()]
        table = type(value)(made)
        copies.append((value, table, made))
        return table
    if (names := fields_of(class_of(value))) is not None:
        named = {n: lifted(getattr(value, n), places, change, count, copies) for n in names}
        return dataclasses.replace(value, **named)
    return value


def carried_back(copies: list[Any]) -> None:
    """Change the lists and dictionaries that `lifted` copied as their copies were changed."""
    originals = {id(copy): value for value, copy, _ in copies}
    back = lambda v: originals.get(id(v), v)
    for value, copy, before in copies:
        now = [*copy.items()] if isinstance(copy, dict) else copy
        same = len(now) == len(before) and all(
            a is b or isinstance(copy, dict) and a[0] == b[0] and a[1] is b[1]
            for a, b in zip(now, before, strict=True)
        )
        if not same and isinstance(copy, dict):
            held = {k: back(v) for k, v in now}
            value.clear()
            value.update(held)
        elif not same:
            value[:] = [back(v) for v in now]


class Same:
    """An object that only itself equals, kept alive so that no other gets its identity."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


class TensorSlot:
    """Stands for a tensor in the structure of a result."""

    leaf: Any  # the tensor, until it has a place

    def __init__(self, place: int) -> None:
        self.place = place


class Record:
    """Stands for a new object of a class and nothing but its attributes."""

    def __init__(self, kind: type, held: dict[str, Any]) -> None:
        self.kind = kind
        self.held = held


_SIZE = type("", (), {}).__basicsize__


def is_record(value: Any) -> bool:
    """Whether an object of the user's is nothing but its class and its attributes, so that another
    one can be made of those.
    """
    kind = class_of(value)
    if kind is SimpleNamespace:
        return True
    return (
        _of_records(kind)
        and type(getattr(value, "__dict__", None)) is dict
        and not isinstance(value, type)
    )


@functools.lru_cache(1024)
def _of_records(kind: type) -> bool:
    """Whether objects of a class are nothing but their attributes."""
    return (
        kind.__new__ is object.__new__
        and kind.__basicsize__ == _SIZE
        and not hasattr(kind, "__del__")
        and all(not is_ours(c) and not vars(c).get("__slots__") for c in kind.__mro__)
    )


def rebuild(
    value: Any, place: Callable[[Any], Any], new: Callable[[Any], bool] | None = None
) -> Any:
    """A result of the same structure with other tensors, and with Records for the objects that are
    `new`, as in `flatten`.
    """
    if type(value) in PLAIN:
        return value
    if isinstance(value, (Tensor, TensorSlot)) or is_read(value):
        return place(value)
    if type(value) is Record:
        made = (
            object.__new__(value.kind) if value.kind is not SimpleNamespace else SimpleNamespace()
        )
        made.__dict__.update([(k, rebuild(v, place, new)) for k, v in value.held.items()])
        return made
    if isinstance(value, tuple):
        parts = [rebuild(v, place, new) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, list):
        return [rebuild(v, place, new) for v in value]
    names = fields_of(class_of(value))
    if isinstance(value, dict):
        held = {k: rebuild(v, place, new) for k, v in value.items()}
        # results of transformers are both: their classes take fields by name faster than pairs
        named = names is not None and held.keys() <= set(names)
        return type(value)(**held) if named else type(value)(held.items())
    if names is not None:
        return dataclasses.replace(
            value, **{name: rebuild(getattr(value, name), place, new) for name in names}
        )
    if new is not None and new(value):
        return Record(type(value), {k: rebuild(v, place, new) for k, v in vars(value).items()})
    return value
