"""Optimizers of the program's own whose steps leave every parameter as it is."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ...events import Step
from ..source.places import Place, tree, walk

_FEWEST = 4  # steps that were looked at


class _Idle:
    """Where the `step` of an optimizer is written, its class, its parameters at its first step, and
    in how many later ones that were looked at they were the same.
    """

    __slots__ = ("first", "kind", "place", "steps")

    def __init__(self, place: Place, kind: str) -> None:
        self.place, self.kind = place, kind
        self.first: dict[int, Any] = {}
        self.steps = 0


class Unmoved:
    """Looks at what the steps of such optimizers add to their parameters."""

    def __init__(self, session: Any) -> None:
        self._session = session
        # by number of an optimizer; None where one has moved something
        self._idle: dict[int, _Idle | None] = {}

    def step(self, event: Step) -> None:
        """One has ended."""
        info = event.optimizer
        if info.number not in self._idle and info.optimizer is not None:
            place = self._written_at(info.optimizer)
            self._idle[info.number] = None if place is None else _Idle(place, info.class_name)
        held = self._idle.get(info.number)
        if held is None or not event.before or not all(info.lrs()):
            return
        if not held.first:
            held.first = {key: a.copy() for key, a in event.before.items()}
        values = [v for v in info.params() if v.gradient is not None]
        gradients = [g for v in values if (g := v.grad()) is not None]
        if not all(np.array_equal(v.numpy(), held.first.get(v.id)) for v in values):
            self._idle[info.number] = None
        elif any(g.any() for g in gradients):
            held.steps += 1

    def _written_at(self, optimizer: Any) -> Place | None:
        """Where the program gives a parameter's name to something else in `step`, else where `step`
        begins; None of a library's optimizer.
        """
        names = [kind.__name__ for kind in type(optimizer).__mro__]
        for file in self._session.recorder.files(self._session.script):
            root = tree(file)
            for node in walk(root) if root is not None else ():
                if isinstance(node, ast.ClassDef) and node.name in names:
                    for method in node.body:
                        if isinstance(method, ast.FunctionDef) and method.name == "step":
                            return Place(file, _rebound(method) or method.lineno)
        return None

    def found(self) -> list[tuple[Place, str, int]]:
        """(place, class, steps) of those that never moved anything."""
        held = [h for h in self._idle.values() if h is not None]
        return [(h.place, h.kind, h.steps) for h in held if h.steps >= _FEWEST]


def _rebound(function: ast.FunctionDef) -> int | None:
    """The line in a loop that gives the loop's own name a value made of it: `p = p - lr * p.grad`."""
    for loop in ast.walk(function):
        names = (
            {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
            if isinstance(loop, ast.For)
            else set()
        )
        for node in ast.walk(loop) if names else ():
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                if name in names and any(
                    isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.value)
                ):
                    return node.lineno
    return None
