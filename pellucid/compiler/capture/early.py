"""Detect changes made by code that runs ahead of time: the backward of a custom function, when the
gradients of a step are traced before anyone has asked for them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

from ...core.function import Function
from ..trace.watch import LIBRARIES

_CONTAINERS = (list, dict, set, deque)
_HEAP_TYPE = 1 << 9  # the flag of classes defined in Python


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for c in code.co_consts:
        if isinstance(c, CodeType):
            yield from _codes(c)


def _is_library(f: FunctionType) -> bool:
    """Whether a function belongs to this library or Python's own, whose state is not the step's."""
    # not `f.__module__`, which `functools.wraps` sets to that of the function inside
    return str(f.__globals__.get("__name__")).partition(".")[0] in LIBRARIES


class Untouched:
    """A snapshot of the variables and containers that functions can reach by name."""

    def __init__(self, functions: list[Any]) -> None:
        self.names: list[tuple[dict[str, Any], str, Any]] = []
        self.cells: list[tuple[Any, Any]] = []
        self.classes: list[tuple[type, dict[str, Any]]] = []
        self.held: dict[int, tuple[Any, Any]] = {}
        self.functions: set[int] = set()
        for f in functions:
            self._reach(f)

    def _reach(self, f: Any) -> None:
        """Hold what a function can reach, and what the functions can reach that it may call."""
        if isinstance(f, MethodType):
            f = f.__func__
        if not isinstance(f, FunctionType) or id(f) in self.functions:
            return
        self.functions.add(id(f))
        if not _is_library(f):
            for name in {n for code in _codes(f.__code__) for n in code.co_names}:
                if name in f.__globals__:
                    self.names.append((f.__globals__, name, f.__globals__[name]))
                    self._hold(f.__globals__[name])
        for cell in f.__closure__ or ():  # also of decorators
            try:
                self.cells.append((cell, cell.cell_contents))
            except ValueError:  # the cell is empty
                continue
            self._hold(cell.cell_contents)

    def _hold(self, value: Any, inside: bool = False) -> None:
        if isinstance(value, (FunctionType, MethodType)):
            self._reach(value)
        elif isinstance(value, _CONTAINERS):
            self.held[id(value)] = (value, value.copy())
        elif isinstance(value, type):
            if value.__flags__ & _HEAP_TYPE and not issubclass(value, Function):
                self.classes.append((value, dict(vars(value))))
        elif not inside and type(value).__module__ != "builtins":
            own = getattr(value, "__dict__", None)
            if type(own) is dict:
                self.held[id(own)] = (own, own.copy())
                for v in own.values():
                    self._hold(v, inside=True)

    def put_back(self) -> bool:
        """Undo all changes since the snapshot. Returns whether there were any."""
        found = False
        for scope, name, value in self.names:
            if scope.get(name, self) is not value:
                scope[name], found = value, True
        for cell, value in self.cells:
            if cell.cell_contents is not value:
                cell.cell_contents, found = value, True
        for kind, members in self.classes:
            for name, value in members.items():
                if vars(kind).get(name, self) is not value:
                    setattr(kind, name, value)
                    found = True
            for name in [n for n in vars(kind) if n not in members]:
                delattr(kind, name)
                found = True
        for container, before in self.held.values():
            if not _same(container, before):
                found = True
                container.clear()
                (container.extend if hasattr(container, "extend") else container.update)(before)
        return found


def _same(a: Any, b: Any) -> bool:
    if len(a) != len(b):
        return False
    if isinstance(a, dict):
        return all(k in a and a[k] is v for k, v in b.items())
    return a == b if isinstance(a, set) else all(x is y for x, y in zip(a, b, strict=True))


def backwards_of(nodes: list[Any]) -> list[Any]:
    """The user's `backward` functions among the gradient rules of these nodes."""
    kinds = {getattr(node.op, "cls", None) for node in nodes}
    return [c.backward for c in kinds if isinstance(c, type) and issubclass(c, Function)]
