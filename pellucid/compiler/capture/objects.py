"""Arguments that are user objects containing tensors, such as key-value caches, which a call reads
and changes.

Such a call is compiled as a function of the contents that returns its result and the new contents.
While it is traced, the function gets the objects themselves. A call of the program stores the
changed contents back into them.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from ...core.tensor import Tensor
from ..trace.numbers import is_read
from ..trace.watch import module_of
from .structure import PLAIN, Record, Same, class_of, is_record, members, rebuild, with_members

PLACE = "\0object "  # prefix of the placeholder string for an object, followed by its number
MOST = 512  # at most so many objects per call
_LIBRARIES = sys.stdlib_module_names | {"numpy"}


class TooMuch(ValueError):
    """Contents that cannot be represented."""


class _Now(threading.local):
    """The call that this thread is making."""

    call: Any = None


_now = _Now()


def opens(value: Any) -> bool:
    """Whether the contents of an argument may be treated as arguments: it is an object of a user's
    class that consists of its attributes.
    """
    try:
        return is_record(value) and _own(class_of(value))
    except Exception:  # its class runs its own code on attribute access
        return False


@functools.lru_cache(1024)
def _own(kind: type) -> bool:
    """Whether a class is the user's: not from the standard library or NumPy, except
    `SimpleNamespace`.
    """
    return kind is SimpleNamespace or module_of(kind).partition(".")[0] not in _LIBRARIES


def objects_in(structure: Any) -> list[Any]:
    """The objects in a structure description made by `flatten`."""
    found, waiting = [], [structure]
    while waiting:
        part = waiting.pop()
        if len(part) == 2 and part[0] == "object" and isinstance(part[1], Same):
            found.append(part[1].value)
        else:
            waiting += [p for p in part if type(p) is tuple]
    return found


def with_contents(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `function` as a function of a call's contents. It calls `function` with the call's
    objects, and returns the result and the new contents.
    """

    def call(args: Any, kwargs: Any, contents: Any) -> Any:
        return _now.call.run(function, args, kwargs, contents)

    return call


class CallWithObjects:
    """One call: its objects, lists and dictionaries, and their contents before the call."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.given = args, kwargs
        self.objects: list[Any] = []
        self.index: dict[int, int] = {}
        self.contents: list[Any] = []
        self.tensors = False  # whether objects contain tensors
        # whether the call stored an object where a program would store a copy
        self.escaped = False
        self._ran: Any = None
        self._once: set[int] = set()
        self._depth = 0
        self.args = tuple([self._packed(a) for a in args])
        self.kwargs = {k: self._packed(v) for k, v in kwargs.items()}

    # ---- before the call -------------------------------------------------------------------------------
    def _packed(self, value: Any) -> Any:
        """A value with placeholders for objects, lists and dictionaries, whose contents are noted."""
        if isinstance(value, Tensor):
            self.tensors |= self._depth > 0
            return value
        if type(value) in PLAIN and type(value) is not str:
            return value
        k = self.index.get(id(value))
        if k is not None:
            return f"{PLACE}{k}"
        if type(value) is tuple or isinstance(value, tuple) and hasattr(value, "_fields"):
            made = [self._packed(v) for v in value]
            return tuple(made) if type(value) is tuple else type(value)(*made)
        if type(value) in (list, dict) or opens(value):
            k = len(self.objects)
            if k >= MOST:
                raise TooMuch
            self.index[id(value)] = k
            self.objects.append(value)
            self.contents.append(None)
            if type(value) is list:
                self.contents[k] = ("list", [self._packed(v) for v in value])
            elif type(value) is dict:
                self.contents[k] = ("dict", {name: self._packed(v) for name, v in value.items()})
            else:
                self._depth += 1
                self.contents[k] = (
                    type(value),
                    {name: self._packed(v) for name, v in vars(value).items()},
                )
                self._depth -= 1
            return f"{PLACE}{k}"
        if isinstance(value, str) and value.startswith(PLACE):
            raise TooMuch
        return value

    # ---- the call itself, traced or eager ----------------------------------------------------------------
    def run(self, function: Callable[..., Any], args: Any, kwargs: Any, contents: Any) -> Any:
        """Call the function with the objects. Returns the result and the contents, with
        placeholders for the objects.
        """
        for o, (_, held) in zip(self.objects, contents, strict=True):
            for name, v in [*_items(o, held)]:
                if _reads(v):  # a number that may differ at each call
                    _table(o)[name] = self._back(v)
        given = self.given
        if _reads(args) or _reads(kwargs):
            given = self._back(args), {k: self._back(v) for k, v in kwargs.items()}
        try:
            result = function(*given[0], **given[1])
        except BaseException:
            self._settle()
            raise
        self._ran = result
        self.escaped |= any(
            type(o) is not kind and kind not in ("list", "dict")
            for o, (kind, _) in zip(self.objects, contents, strict=True)
        )
        held = []
        for o in self.objects:
            table = _table(o)
            held.append(
                [self._placed(v) for v in table]
                if type(o) is list
                else {k: self._placed(v) for k, v in table.items()}
            )
        return self._placed(result), held

    def _placed(self, value: Any) -> Any:
        """A value after the call, with placeholders for the call's objects."""
        k = self.index.get(id(value))
        if k is not None:
            return f"{PLACE}{k}"
        if isinstance(value, Tensor) or is_read(value):
            return value
        if isinstance(value, (list, dict)) or is_record(value) and opens(value):
            if id(value) in self._once:
                self.escaped = True  # a program would duplicate it
                return value
            self._once.add(id(value))
        if isinstance(value, tuple):
            made = [self._placed(v) for v in value]
            if all(a is b for a, b in zip(made, value, strict=True)):
                return value
            return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
        if isinstance(value, list):
            return [self._placed(v) for v in value]
        if isinstance(value, dict):
            items = [(k, self._placed(v)) for k, v in value.items()]
            return value if all(v is value[k] for k, v in items) else type(value)(items)
        if (held := members(value)) is not None:
            fields = {name: self._placed(v) for name, v in held.items()}
            same = all(v is held[name] for name, v in fields.items())
            return value if same else with_members(value, fields)
        if is_record(value):  # a new object: a program makes it and its contents again
            self.escaped |= any(
                self._placed(v) is not v and not isinstance(v, list) or self._holds(v)
                for v in vars(value).values()
            )
        return value

    def _holds(self, value: Any) -> bool:
        """Whether a new list contains an object of the call."""
        return (
            id(value) in self.index
            or isinstance(value, list)
            and any(self._holds(v) for v in value)
        )

    def _settle(self) -> None:
        """Replace followed numbers in the objects by plain numbers."""
        for o in self.objects:
            for name, v in [*_items(o, _table(o))]:
                if _reads(v):
                    _table(o)[name] = rebuild(v, lambda t: t if isinstance(t, Tensor) else t.plain)

    # ---- after it ----------------------------------------------------------------------------------------
    def finish(self, result: Any, contents: Any) -> Any:
        """Store the new contents into the objects, and return the call's result."""
        if self._ran is not None:  # the function itself has run and has changed them
            self._settle()
            ran, self._ran = self._ran, None
            return self._back(result) if _reads(ran) else ran
        for o, held in zip(self.objects, contents, strict=True):
            table = _table(o)
            if type(o) is list:
                now = [self._back(v) for v in held]
                if len(now) != len(o) or any(a is not b for a, b in zip(now, o, strict=True)):
                    o[:] = now
                continue
            if [*table] != [*held]:
                for name in [*table]:
                    if name not in held:
                        del table[name]
                if [*table] != [*held][: len(table)]:
                    table.clear()
            for name, v in held.items():
                table[name] = self._back(v)
        return self._back(result)

    def _back(self, value: Any) -> Any:
        """A value with placeholders replaced by the call's objects."""
        kind = class_of(value)
        if kind is str:
            return self.objects[int(value[len(PLACE) :])] if value.startswith(PLACE) else value
        if kind in PLAIN or kind is Tensor:
            return value
        if isinstance(value, tuple):
            made = [self._back(v) for v in value]
            if all(a is b for a, b in zip(made, value, strict=True)):
                return value
            return kind(*made) if hasattr(value, "_fields") else kind(made)
        if kind is list:
            value[:] = [self._back(v) for v in value]
        elif isinstance(value, dict):
            for k, v in [*value.items()]:
                back = self._back(v)
                if back is not v:
                    value[k] = back
        elif (held := members(value)) is not None:
            fields = {name: self._back(v) for name, v in held.items()}
            if any(v is not held[name] for name, v in fields.items()):
                return with_members(value, fields)
        return value


def leaves_copies(form: Any) -> bool:
    """Whether a side effect stores a new container or object, which may hold an object of the call."""
    return (
        isinstance(form, (Record, list, dict))
        or isinstance(form, tuple)
        and any(map(leaves_copies, form))
    )


def _table(o: Any) -> Any:
    return o if type(o) in (list, dict) else o.__dict__


def _items(o: Any, held: Any) -> Iterator[tuple[Any, Any]]:
    return enumerate(held) if type(o) is list else iter(held.items())


def _reads(value: Any) -> bool:
    """Whether a value contains a number that is being followed."""
    if isinstance(value, (tuple, list)):
        return any(map(_reads, value))
    if isinstance(value, dict):
        return any(map(_reads, value.values()))
    return is_read(value)


def call_now(call: CallWithObjects, function: Callable[..., Any]) -> Any:
    """Call a function made by `with_contents` for a given call."""
    before, _now.call = _now.call, call
    try:
        return call.finish(*function(call.args, call.kwargs, call.contents))
    finally:
        _now.call = before
