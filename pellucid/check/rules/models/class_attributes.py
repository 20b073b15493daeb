"""Lists and dictionaries of a class that all of its instances fill."""

from __future__ import annotations

import ast
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any

from ...events import Step
from ...rule import Rule
from ..source.places import Place, function_around, scopes, tree, walk

_SHARED = frozenset(
    "registry registered instances cache caches shared all known common global pool defaults default config configs plugins".split()
)
"""Words in the name of an attribute that is meant for all instances."""
_EMPTY = ("[]", "{}", "list()", "dict()", "set()", "deque()")
_FILLING = frozenset(
    "append extend insert update add setdefault clear pop popleft appendleft".split()
)


class ClassAttributeShared(Rule):
    """A list in the body of a class, which `self.values.append(...)` fills for all instances."""

    slug = "class-attribute-shared"
    id = "PL512"
    severity = "error"
    summary = "all instances of a class fill the same list or dictionary"

    def __init__(self) -> None:
        self._steps = 0
        self._told: set[Any] = set()

    def on_step(self, event: Step) -> None:
        """Look at the objects that there are."""
        self._steps += 1
        if self._steps in (2, 8, 32):
            self._look()

    def finish(self) -> None:
        """Once more: what is filled at the end of an epoch."""
        self._look()

    def _look(self) -> None:
        recorder = self.session.recorder
        found: dict[Any, dict[int, Any]] = {}  # by class and attribute: the objects that use it
        given: dict[Any, dict[int, Any]] = {}  # the same by class and argument
        for scope, _ in scopes(recorder, self.session.script):
            for thing in list(scope.values()):
                for part in _parts(thing):
                    for kind, name in self._shared(part):
                        found.setdefault((kind, name), {})[id(part)] = part
                    for key in self._defaults(part):
                        given.setdefault(key, {})[id(part)] = part
        for (kind, name), objects in given.items():
            place = default_of(kind, name) if len(objects) > 1 else None
            if place is not None and place not in self._told:
                self._told.add(place)
                self.report(
                    place,
                    f"the default of `{name}` is created once, when the class is defined, and "
                    f"{len(objects)} objects of {kind.__name__} share it: what one adds, all of "
                    "them see.",
                    evidence={"class": kind.__name__, "objects": len(objects)},
                    fix=(
                        f"use `{name}=None`, and create a new one in `__init__`: `[] if {name} "
                        f"is None else {name}`"
                    ),
                )
        for (kind, name), objects in found.items():
            if len(objects) < 2 or (kind, name) in self._told:
                continue
            place = defined(kind, name)
            if place is not None:
                self._told.add((kind, name))
                self.report(
                    place,
                    f"`{name}` belongs to the class {kind.__name__}, and `self.{name}` of each "
                    f"of its {len(objects)} objects is the same: what one adds, all of them see.",
                    evidence={"class": kind.__name__, "objects": len(objects)},
                    fix=f"assign `self.{name} = ...` in `__init__`",
                )

    def _defaults(self, thing: Any) -> list[tuple[type, str]]:
        """Arguments of its `__init__` whose default, which is not empty, an object has kept."""
        kind = type(thing)
        function = vars(kind).get("__init__")
        code = getattr(function, "__code__", None)
        if code is None or self.session.recorder.is_library(code.co_filename):
            return []
        names = code.co_varnames[: code.co_argcount]
        held = list(function.__defaults__ or ())
        pairs = [*zip(names[len(names) - len(held) :], held, strict=True)]
        pairs += (function.__kwdefaults__ or {}).items()
        own = [id(value) for value in getattr(thing, "__dict__", {}).values()]
        return [
            (kind, name)
            for name, value in pairs
            if isinstance(value, (list, dict, set, deque)) and value and id(value) in own
            if not set(name.strip("_").split("_")) & _SHARED
        ]

    def _shared(self, thing: Any) -> list[tuple[type, str]]:
        """Attributes of its classes that an object does not have itself, and that are not empty."""
        kind = type(thing)
        if kind.__module__ == "builtins" or isinstance(thing, type):
            return []
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        if file is None or self.session.recorder.is_library(file):
            return []
        own = getattr(thing, "__dict__", {})
        return [
            (c, name)
            for c in kind.__mro__[:-1]
            for name, held in list(vars(c).items())
            if type(held) in (list, dict, set)
            and held
            and name not in own
            and not name.startswith("__")
            and not name.isupper()
            and not set(name.strip("_").split("_")) & _SHARED
        ]


def _parts(thing: Any, depth: int = 2) -> Iterator[Any]:
    """A thing, or what stands in lists, tuples and dictionaries."""
    if type(thing) in (list, tuple, dict) and len(thing) <= 64 and depth:
        for part in list(thing.values() if type(thing) is dict else thing):
            yield from _parts(part, depth - 1)
    else:
        yield thing


def default_of(kind: Any, name: str) -> Place | None:
    """Where the default of an argument of `__init__` is written, if it is written empty."""
    code = kind.__init__.__code__
    function = function_around(code.co_filename, code.co_firstlineno, code.co_firstlineno)
    if function is None:
        return None
    arguments = function.args
    names = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(names[len(names) - len(arguments.defaults) :], arguments.defaults, strict=True)]
    pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d]
    for argument, default in pairs:
        if argument.arg == name and ast.unparse(default).rpartition(".")[2] in _EMPTY:
            return Place(code.co_filename, default.lineno)
    return None


def defined(kind: type, name: str) -> Place | None:
    """Where the body of a class makes a list that its methods fill by `self`."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    root = tree(file) if file else None
    for node in walk(root) if root is not None else ():
        if not isinstance(node, ast.ClassDef) or node.name != kind.__name__:
            continue
        lines = [
            s.lineno
            for s in node.body
            if isinstance(s, (ast.Assign, ast.AnnAssign))
            and any(
                isinstance(t, ast.Name) and t.id == name
                for t in (s.targets if isinstance(s, ast.Assign) else [s.target])
            )
        ]
        if lines and filled(node, f"self.{name}"):
            return Place(str(file), lines[0])
    return None


def filled(body: ast.ClassDef, target: str) -> bool:
    """Whether methods change a list, and none gives the object its own."""
    changed = False
    for node in ast.walk(body):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            changed |= node.func.attr in _FILLING and ast.unparse(node.func.value) == target
        elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            for goal in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if ast.unparse(goal) == target:
                    return False
                changed |= isinstance(goal, ast.Subscript) and ast.unparse(goal.value) == target
    return changed
