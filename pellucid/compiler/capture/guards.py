"""Guards: things that must be unchanged since a function was traced. They can be queried as
objects, and become lines of a generated check.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np
from numpy import ndarray

from ...core.tensor import Tensor
from ...nn.modules.module import Module

SCALARS = (bool, int, float, complex, str, bytes, type(None), type(...), range)
MISSING = object()
# the keys in `Tensor._x`
LEAF_HOOKS = ("hooks", "acc_pre_hooks", "acc_post_hooks", "post_accumulate")


def _look_up(holder: Any, key: Any) -> Any:
    return holder[key]


# For each kind of guard: a function that reads the current value, and the source of the same in a
# generated check.
_KINDS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "item": (_look_up, "{h}[{k}]"),
    "attr": (getattr, "getattr({h}, {k})"),
    "cell": (lambda holder, key: holder.cell_contents, "{h}.cell_contents"),
    # of a learning-rate schedule, which makes a new list at each step
    "rate": (lambda holder, key: holder["_last_lr"][key], "{h}['_last_lr'][{k}]"),
    "len": (lambda holder, key: len(holder), "len({h})"),
    "keys": (lambda holder, key: [*holder], "[*{h}]"),
    "names": (lambda holder, key: [*holder.__dict__], "[*{h}.__dict__]"),
    "values": (lambda holder, key: [*map(id, holder.values())], "[*map(id, {h}.values())]"),
    "contents": (lambda holder, key: holder, "{h}"),
    "called": (lambda holder, key: holder(), "{h}()"),
    "context": (lambda holder, key: holder.get(MISSING), "{h}.get(MISSING)"),
}
# kinds compared by ==, because their values always have the same type
_COMPARED = ("len", "keys", "names", "values")


class Guard:
    """One thing that must be unchanged: an item, attribute or cell of `holder`, its length, its
    keys or its contents.
    """

    __slots__ = ("expected", "holder", "key", "kind", "path", "same")

    def __init__(
        self, kind: str, holder: Any, key: Any, expected: Any, path: str, same: bool = False
    ) -> None:
        self.kind = kind  # one of _KINDS
        self.holder = holder
        self.key = key
        self.expected = expected
        self.path = path
        self.same = same  # whether it must be the same object; otherwise an equal one suffices

    def now(self) -> Any:
        """The current value; MISSING if there is none."""
        try:
            return _KINDS[self.kind][0](self.holder, self.key)
        except Exception:  # gone, or an accessor raised
            return MISSING

    def renewed(self) -> Guard:
        """This guard, or one for the current value if that is a number of another type."""
        now = self.now()
        if not self.of_a_number or type(now) is type(self.expected):
            return self
        return Guard(self.kind, self.holder, self.key, now, self.path, self.same)

    def set(self, value: Any) -> None:
        """Temporarily put another value in this place."""
        if self.kind == "item":
            self.holder[self.key] = value
        elif self.kind == "cell":
            self.holder.cell_contents = value
        elif self.kind == "rate":
            rates = self.holder["_last_lr"]
            # not in place, because the step may return the list
            self.holder["_last_lr"] = [*rates[: self.key], value, *rates[self.key + 1 :]]
        elif isinstance(self.holder, Module):
            # bypasses `__setattr__`, because the change is temporary
            self.holder.__dict__[self.key] = value
        elif isinstance(self.holder, (type, ModuleType, threading.local)):
            setattr(self.holder, self.key, value)
        else:  # bypass a `__setattr__` of its class
            object.__setattr__(self.holder, self.key, value)

    @property
    def of_a_number(self) -> bool:
        """Whether the place holds a float or int and can be written to."""
        plain = all(
            type(v) in (float, np.float64) or type(v) is int and abs(v) < 1 << 62
            for v in (self.now(), self.expected)
        )
        return (
            plain
            and self.kind in ("item", "cell", "attr", "rate")
            and not isinstance(self.holder, MappingProxyType)
        )

    @property
    def of_tensors(self) -> bool:
        """Whether the place holds a tensor that is not a parameter, or a tuple or dictionary of
        such. It may then hold another one at each call.
        """
        return self.kind in ("item", "cell", "attr") and _of_tensors(self.now())

    @property
    def by_identity(self) -> bool:
        """Whether only the identical object is accepted."""
        return self.same or self.expected is None or isinstance(self.expected, bool)

    def holds(self) -> bool:
        """Whether the value is unchanged."""
        value = self.now()
        if value is self.expected:
            return True
        if self.same:
            return False
        if isinstance(self.expected, ndarray):
            return _same_array(value, self.expected)
        try:
            return type(value) is type(self.expected) and _equal(value, self.expected)
        except Exception:  # if the comparison fails, it is not the same object
            return False

    def difference(self, place: int, scope: dict[str, Any]) -> str:
        """The source of an expression that is true if the value has changed. The objects it refers
        to are added to `scope`, under names with the number `place`.
        """
        expected, simple = self.expected, self.by_identity
        own = type(self) is not Guard or isinstance(expected, ndarray)
        if not simple and own and self.kind == "contents":
            scope[f"g{place}"] = self
            return f"not g{place}.holds()"
        scope[f"h{place}"], scope[f"k{place}"], scope[f"e{place}"] = self.holder, self.key, expected
        if self.kind == "context":
            scope["MISSING"] = MISSING
        if (
            self.kind in ("len", "keys")
            and not expected
            and type(self.holder) in (dict, list, OrderedDict)
        ):
            return f"h{place}"  # the most common case in modules: an empty table
        if self.kind == "values" and (by_key := self._by_key(place, scope)):
            return by_key
        read = self.source(f"h{place}", f"k{place}")
        if simple:
            return f"{read} is not e{place}"
        if self.kind in _COMPARED:
            return f"{read} != e{place}"
        if self.kind == "contents":  # the same object, compared with its former contents
            return f"not (h{place} == e{place})"
        if isinstance(expected, (float, complex)) and (expected == 0 or expected != expected):
            scope[f"g{place}"] = self
            return f"({read} is not e{place} and not g{place}.holds())"
        scope[f"c{place}"] = type(expected)
        return f"((v := {read}) is not e{place} and (type(v) is not c{place} or v != e{place}))"

    def _by_key(self, place: int, scope: dict[str, Any]) -> str:
        """As `difference`, for the values of a small dictionary: looking each one up takes a third
        of listing their identities. Empty for others, and after a change.
        """
        table = self.holder
        small = type(table) is dict and 0 < len(table) <= 6
        if not small or not all(type(key) is str for key in table) or not self.holds():
            return ""
        scope[f"e{place}"] = [*table]  # also in this order
        found = []
        for n, (key, value) in enumerate(table.items()):
            scope[f"k{place}_{n}"], scope[f"e{place}_{n}"] = key, value
            found.append(f"h{place}[k{place}_{n}] is not e{place}_{n}")
        return " or ".join([f"[*h{place}] != e{place}", *found])

    def source(self, holder: str, key: str) -> str:
        """The source that reads the current value; `holder` and `key` are variable names."""
        name = isinstance(self.key, str) and self.key.isidentifier()
        source = "{h}.{name}" if self.kind == "attr" and name else _KINDS[self.kind][1]
        return source.format(h=holder, k=key, name=self.key)

    def __str__(self) -> str:
        shown = (
            self.expected if isinstance(self.expected, SCALARS) else type(self.expected).__name__
        )
        if self.kind == "len":
            return f"len({self.path}) == {shown!r}"
        if self.kind in ("keys", "names"):
            return f"names in {self.path}"
        if self.kind in ("values", "contents"):
            return f"contents of {self.path}"
        return f"{self.path} {'is' if self.same else '=='} {shown!r}"


class Absent(Guard):
    """Names that must remain absent from the globals of a function, so that they refer to builtins,
    or from the builtins.
    """

    __slots__ = ("names",)

    def __init__(self, holder: dict[str, Any], names: frozenset[str], path: str) -> None:
        super().__init__("len", holder, None, len(holder), path)
        self.names = names

    def holds(self) -> bool:
        """Whether the names are still absent."""
        if len(self.holder) != self.expected:  # the number of globals has changed, so look
            if not self.names.isdisjoint(self.holder):
                return False
            self.expected = len(self.holder)
        return True

    def difference(self, place: int, scope: dict[str, Any]) -> str:
        """The source of the test in a generated check."""
        scope[f"g{place}"], scope[f"h{place}"] = self, self.holder
        return f"(len(h{place}) != g{place}.expected and not g{place}.holds())"

    def __str__(self) -> str:
        return f"{self.path} without {', '.join(sorted(self.names))}"


class TensorHooks(Guard):
    """The hooks on a tensor, which run when its gradient is computed. Registering and removing
    hooks increments `state.structure`.
    """

    __slots__ = ()

    def __init__(self, holder: Tensor, path: str) -> None:
        super().__init__("contents", holder, None, hooks_of(holder), path)

    def now(self) -> Any:
        """The tensor's current hooks."""
        return hooks_of(self.holder)

    def __str__(self) -> str:
        return f"hooks on {self.path}"


class Opaque(Guard):
    """An object whose state cannot be inspected, such as an iterator. A step that uses it cannot be
    repeated.
    """

    __slots__ = ()

    def __init__(self, holder: Any, path: str) -> None:
        super().__init__("contents", holder, None, holder, path, True)

    def __str__(self) -> str:
        if isinstance(self.holder, ndarray):
            return f"an array of {self.holder.nbytes:,} bytes, too many to compare at each call: pass it as a tensor"
        return f"whose state ({type(self.holder).__name__}) a program cannot repeat: pass what it yields as an argument"


class Lent(Opaque):
    """An object that is only reachable through a weak reference. A program would keep it alive, so
    it may be used only if the program holds it anyway.
    """

    __slots__ = ()

    def __str__(self) -> str:
        kind = type(self.holder).__name__
        return f"to which ({kind}) a weak reference leads, so it may go at any time: hold it where the step sees it"


def hooks_of(t: Tensor) -> tuple[Any, ...]:
    """The hooks on a leaf tensor."""
    return () if t._x is None else hooks_in(t._x)


def hooks_in(rare: dict[str, Any]) -> tuple[Any, ...]:
    """The hooks in a tensor's dictionary `_x`."""
    return tuple([hook for name in LEAF_HOOKS for hook in rare.get(name, {}).values()])


def _of_tensors(value: Any) -> bool:
    if type(value) is tuple or isinstance(value, tuple) and hasattr(value, "_fields"):
        return any(map(_of_tensors, value)) and all(
            _of_tensors(v) or isinstance(v, SCALARS) for v in value
        )
    if type(value) is dict:
        held = value.values()
        return any(map(_of_tensors, held)) and all(
            _of_tensors(v) or isinstance(v, (bool, str, type(None))) for v in held
        )
    return type(value) is Tensor


def _same_array(value: Any, expected: ndarray) -> bool:
    if (
        type(value) is not type(expected)
        or value.shape != expected.shape
        or value.dtype != expected.dtype
    ):
        return False
    return bool(value.tobytes() == expected.tobytes())


def _equal(a: Any, b: Any) -> bool:
    """Equality in the sense of a program: NaN equals NaN, and -0.0 differs from 0.0."""
    if isinstance(a, complex):
        return _equal(a.real, b.real) and _equal(a.imag, b.imag)
    if isinstance(a, float) and (a == 0 or a != a):
        return a == b and math.copysign(1.0, a) == math.copysign(1.0, b) or a != a and b != b
    return bool(a == b)


def changed(guards: Iterable[Guard]) -> list[Guard]:
    """The guards that do not hold."""
    return [g for g in guards if not g.holds()]


def put_back(guards: Iterable[Guard]) -> bool:
    """Restore the guarded values where places were overwritten or containers have grown. Returns
    False, without any change, if something else has happened.
    """
    found = changed(guards)
    for g in found:
        now = g.now()
        grown = g.kind in ("len", "keys") and isinstance(g.holder, (list, deque, dict))
        if now is MISSING or not grown and g.kind not in ("item", "cell", "attr"):
            return False
        if grown and (
            now < g.expected if g.kind == "len" else now[: len(g.expected)] != g.expected
        ):
            return False
    for g in found:
        if g.kind == "len":
            while len(g.holder) > g.expected:
                g.holder.pop()
        elif g.kind == "keys":
            for key in [*g.holder][len(g.expected) :]:
                del g.holder[key]
        else:
            g.set(g.expected)
    return not changed(found)
