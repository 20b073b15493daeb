"""Arguments and results: nested containers as hashable descriptions, which can be rebuilt with
other tensors or numbers.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import gc
import itertools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Container, Iterator
from types import CellType, SimpleNamespace
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ...devices import device
from ..trace.numbers import NUMBERS, is_read
from ..trace.watch import has_more

# typed as Any, because type checkers reject a class as a lookup key
class_of: Callable[[Any], Any] = type

#: Classes of which most values are; a description holds them as they are.
PLAIN = frozenset((str, int, bool, type(None), bytes))


@functools.lru_cache(1024)
def fields_of(kind: type) -> tuple[str, ...] | None:
    """The names of the fields of a dataclass; None for other classes."""
    if not dataclasses.is_dataclass(kind):
        return None
    return tuple([f.name for f in dataclasses.fields(kind)])


def members(value: Any) -> dict[str, Any] | None:
    """The contents of a dataclass object: its fields and further attributes. None for other
    objects.
    """
    names = fields_of(class_of(value))
    if names is None:
        return None
    held = {name: getattr(value, name) for name in names if hasattr(value, name)}
    return held | getattr(value, "__dict__", {})


def with_members(value: Any, held: dict[str, Any]) -> Any:
    """A copy of a dataclass object with other contents. `__init__` and `__post_init__` are not
    called.
    """
    made = copy.copy(value)
    for name, v in held.items():
        object.__setattr__(made, name, v)
    return made


def _holds_more(value: Any) -> bool:
    """Whether a container has attributes other than plain values. Such attributes are not visited."""
    held = getattr(value, "__dict__", None)
    return (
        bool(held)
        and fields_of(class_of(value)) is None
        and any(type(v) not in PLAIN for v in vars(value).values())
    )


def flatten(value: Any, found: list[Tensor], new: Callable[[Any], bool] | None = None) -> Any:
    """A hashable description of a nested argument or result; its tensors are appended to `found`.

    `new` tells which records (`is_record`) the call created; the tensors inside these are found as
    well.
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
    if isinstance(value, (tuple, list, dict)) and _holds_more(value):
        return ("object", Same(value))
    if isinstance(value, tuple):
        return (type(value), *[flatten(v, found, new) for v in value])
    if isinstance(value, list):
        return ("list", *[flatten(v, found, new) for v in value])
    if isinstance(value, dict):
        return (type(value), *[(k, flatten(v, found, new)) for k, v in value.items()])
    if (held := members(value)) is not None:
        return (kind, *[(name, flatten(v, found, new)) for name, v in held.items()])
    if isinstance(value, (bool, int, float, complex, str, bytes, type(None), np.generic)):
        return (type(value), float.__repr__(value) if isinstance(value, float) else value)
    if new is not None and new(value):
        return (type(value), *[(k, flatten(v, found, new)) for k, v in vars(value).items()])
    if isinstance(value, device):
        return ("device", value)
    return ("object", Same(value))


def numbers_in(structure: Any, found: list[Any] | None = None) -> list[Any]:
    """The floats and ints in a description made by `flatten`, in order."""
    found = [] if found is None else found
    if isinstance(structure, tuple):
        if len(structure) == 2 and structure[0] in NUMBERS:
            found.append(structure[0](structure[1]))
        else:
            for s in structure:
                numbers_in(s, found)
    return found


def masked(structure: Any, places: Any, count: Iterator[int] | None = None) -> Any:
    """The description without the values of the numbers at some positions, or of all numbers if
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
    """Replace the floats and ints at some positions (counted as in `numbers_in`) of the arguments.

    Lists, dictionaries and dataclasses that contain such a number are copied. `copies` collects
    triples of the original, the copy and its contents.
    """
    if type(value) in NUMBERS:
        return change(value) if next(count) in places else value
    if is_read(value) or isinstance(value, Tensor):
        return value
    held = _contents(value)
    if held is None:
        return value
    made = {k: lifted(v, places, change, count, copies) for k, v in held.items()}
    if all(v is held[k] for k, v in made.items()):
        return value
    if isinstance(value, tuple):
        parts = made.values()
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, list):
        other: Any = [*made.values()]
    elif isinstance(value, dict):
        other = copy.copy(value)
        for k, v in made.items():
            other[k] = v
    else:
        other = with_members(value, made)
    copies.append((value, other, made))
    return other


def _contents(value: Any) -> dict[Any, Any] | None:
    """A container's contents by index, key or name; None if it is not a container."""
    if isinstance(value, (tuple, list)):
        return dict(enumerate(value))
    return dict(value) if isinstance(value, dict) else members(value)


def carried_back(copies: list[Any], result: Any) -> Any:
    """Apply changes that were made to the copies of `lifted` to the originals, and put the
    originals where the copies were stored; returns the result with the originals in it.
    """
    originals = {id(made): value for value, made, _ in copies}
    back = lambda v: originals.get(id(v), v)
    for value, made, before in copies:
        now = _contents(made) or {}
        if [*now] == [*before] and all(v is before[k] for k, v in now.items()):
            continue
        held = {k: back(v) for k, v in now.items()}
        if isinstance(value, list):
            value[:] = held.values()
        elif isinstance(value, dict):
            value.clear()
            value.update(held)
        else:
            for name in before.keys() - now.keys():
                object.__delattr__(value, name)
            for name, v in held.items():
                if v is not before.get(name, copies):
                    object.__setattr__(value, name, v)
    if copies:
        for holder in gc.get_referrers(*[made for _, made, _ in copies]):
            _put(holder, back)
    return _mapped(result, back)


def _put(holder: Any, back: Callable[[Any], Any]) -> None:
    """Replace objects inside a dictionary, a list or a closure cell."""
    if type(holder) is dict:
        for key, v in [*holder.items()]:
            if (other := back(v)) is not v:
                holder[key] = other
    elif type(holder) is list:
        for k, v in enumerate(holder):
            holder[k] = back(v)
    elif type(holder) is CellType:
        holder.cell_contents = back(holder.cell_contents)


def _mapped(value: Any, back: Callable[[Any], Any]) -> Any:
    """A result with some objects replaced, also inside tuples."""
    if not isinstance(value, tuple):
        return back(value)
    parts = [_mapped(v, back) for v in value]
    if all(a is b for a, b in zip(parts, value, strict=True)):
        return value
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


class Same:
    """Wraps an object so that it only equals itself. Keeps the object alive, so that its id stays
    unique.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


class TensorSlot:
    """A placeholder for a tensor in the structure of a result."""

    leaf: Any  # the tensor, until its index is known

    def __init__(self, place: int) -> None:
        self.place = place


class Record:
    """A placeholder for a new object that consists of its class and its attributes."""

    def __init__(self, kind: type, held: dict[str, Any]) -> None:
        self.kind = kind
        self.held = held


_SIZE = type("", (), {}).__basicsize__


def is_record(value: Any) -> bool:
    """Whether a user's object consists of its class and attributes only, so that another one can be
    made from these.
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
    """Whether objects of a class consist of their attributes only."""
    return (
        kind.__new__ is object.__new__
        and kind.__basicsize__ == _SIZE
        and not hasattr(kind, "__del__")
        and all(not has_more(c) and not vars(c).get("__slots__") for c in kind.__mro__)
    )


def _same_kind(value: Any) -> Any:
    """An empty list or dictionary of the same class, with the same attributes. The class is not
    called, since its constructor may not take the items.
    """
    kind: Any = type(value)
    made = kind.__new__(kind)
    if isinstance(value, defaultdict):
        made.default_factory = value.default_factory
    if hasattr(value, "__dict__"):
        made.__dict__.update(vars(value))
    return made


def rebuild(
    value: Any,
    place: Callable[[Any], Any],
    new: Callable[[Any], bool] | None = None,
    kept: Container[int] = (),
) -> Any:
    """A result with the same structure but other tensors, and with Records for the objects that are
    `new`, as in `flatten`. Objects whose id is in `kept` stay as they are.
    """
    if type(value) in PLAIN or id(value) in kept:
        return value
    if isinstance(value, (Tensor, TensorSlot)) or is_read(value):
        return place(value)
    if type(value) is Record:
        made = (
            object.__new__(value.kind) if value.kind is not SimpleNamespace else SimpleNamespace()
        )
        made.__dict__.update([(k, rebuild(v, place, new, kept)) for k, v in value.held.items()])
        return made
    if isinstance(value, tuple):
        parts = [rebuild(v, place, new, kept) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, list):
        parts = [rebuild(v, place, new, kept) for v in value]
        if type(value) is list:
            return parts
        made = _same_kind(value)
        list.extend(made, parts)
        return made
    if isinstance(value, dict):
        names = fields_of(class_of(value))
        held = {k: rebuild(v, place, new, kept) for k, v in value.items()}
        # the outputs of transformers are both dictionary and dataclass; passing fields by name is
        # faster than pairs
        if names is not None and held.keys() <= set(names):
            return type(value)(**held)
        if type(value) is dict or isinstance(value, OrderedDict):
            return type(value)(held.items())
        made = _same_kind(value)
        dict.update(made, held)
        return made
    if (own := members(value)) is not None:
        return with_members(value, {name: rebuild(v, place, new, kept) for name, v in own.items()})
    if new is not None and new(value):
        return Record(
            type(value), {k: rebuild(v, place, new, kept) for k, v in vars(value).items()}
        )
    return value


def without_reads(value: Any, kept: set[int]) -> Any:
    """A result with plain numbers in place of watched ones. Lists and dictionaries stay the same
    objects, since the step may have stored them elsewhere, too; those in `kept`, a set that grows,
    are left alone.
    """
    if id(value) in kept or isinstance(value, Tensor):
        return value
    if is_read(value):
        return value.plain
    if type(value) in (list, dict, OrderedDict):
        kept.add(id(value))
        for key, v in [*(enumerate(value) if type(value) is list else value.items())]:
            if (now := without_reads(v, kept)) is not v:
                value[key] = now
        return value
    if type(value) is tuple:
        parts = tuple([without_reads(v, kept) for v in value])
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else parts
    return rebuild(value, lambda t: t if isinstance(t, Tensor) else t.plain, None, kept)
