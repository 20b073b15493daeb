"""Memory that grows: tensors without graphs that are kept from every step."""

from __future__ import annotations

import ast
import gc
import sys
from typing import Any

from ..events import Op, Read, Step, Value
from ..names import locals_of
from ..rule import Rule
from .places import Place, tree


class MemoryGrowth(Rule):
    """Tensors without graphs that are kept from every step and never used again."""

    slug = "memory-growth"
    id = "PL702"
    severity = "warning"
    summary = "memory grows with every step"

    STEPS = 10
    ELEMENTS = 256

    def __init__(self) -> None:
        self._later: set[int] = set()  # tensors that a later step has used
        self._found: dict[Any, tuple[Any, dict[str, Any], set[int]]] = {}
        self._batches: list[int] = []

    def on_op(self, op: Op) -> None:
        """A value of an earlier step is used."""
        for value in op.inputs:
            if value.step < op.step and not value.is_leaf | (value.producer is None):
                self._later.add(value.id)
            elif value.step < op.step and not value.requires_grad:
                self._later.add(value.id)

    def on_read(self, event: Read) -> None:
        """A value of an earlier step is read."""
        if event.value.step < event.step:
            self._later.add(event.value.id)

    def on_step(self, event: Step) -> None:
        """Values of many steps that are all still there."""
        n = event.number
        if n + 1 < self.STEPS or n % 5 and n & (n - 1):
            return
        parameters = {v.id for v in event.optimizer.params()}
        for site, values in grown(self.session.recorder, False).items():
            if site in self._found:
                continue
            values = [v for v in values if v.id not in parameters and v.id not in self._later]
            steps = {v.step for v in values}
            if len(steps) < max(self.STEPS - 1, 0.8 * n) or sum(v.numel for v in values) < self.ELEMENTS * len(steps):
                continue
            found = kept_in(values[0], self.session.recorder)
            if found is None:
                continue
            place, name = found
            size = sum(v.numel * v.itemsize for v in values)
            evidence = {
                "container": name, "tensors": len(values), "bytes": size, "bytes_per_step": size // len(steps), "made_at": site, "step": n,
            }  # fmt: skip
            self._found[site] = place or values[0].producer.site, evidence, {v.id for v in values}

    def finish(self) -> None:
        """What nobody has looked at again."""
        for site, evidence, ids in self._found.values():
            if ids & self._later:
                continue
            name = evidence["container"] or "a container"
            self.report(
                site,
                f"{name} grows with every step: {evidence['tensors']} tensors of {evidence['bytes']} bytes after {evidence['step'] + 1} steps, "
                "and nothing uses them.",
                evidence=evidence,
                fix="keep what is needed only: a number per step, a `collections.deque(maxlen=...)`, or clear it after each epoch",
            )


def grown(recorder: Any, with_graph: bool) -> dict[str, list[Value]]:
    """Living tensors of steps before the last, by the place where they were made."""
    found: dict[str, list[Value]] = {}
    for value in list(recorder.values.values()):
        op = value.producer
        if op is None or value.step >= recorder.step or value.requires_grad is not with_graph or value.is_leaf and with_graph:
            continue
        if op.site is None or value.tensor is None or op.name == "grad" or op.name in ("empty", "zeros") and op.module is not None:
            continue
        found.setdefault(str(op.site), []).append(value)
    return {site: values for site, values in found.items() if len(values) >= 3}


def kept_in(value: Value, recorder: Any) -> tuple[Any, str | None] | None:
    """(the line that puts a value there, the container's name) of the list, dict or deque of the user's that holds it; None: there is none."""
    tensor = value.tensor
    holders = [
        h for h in gc.get_referrers(tensor) if type(h).__name__ in ("list", "dict", "deque", "tuple", "set") and not _is_scope(h)
    ]
    del tensor
    for holder in holders:
        kind = type(holder).__name__
        inner = holder
        if kind in ("tuple", "dict") and len(holder) < 8:  # a record in a list
            outer = [
                h for h in gc.get_referrers(holder) if type(h).__name__ in ("list", "deque") and len(h) >= 3 and h is not holders
            ]
            if outer:
                inner = outer[0]
            elif kind == "tuple":
                continue
        if len(inner) < 3:
            continue
        bound = getattr(inner, "maxlen", None)
        if bound is not None and bound <= 64:
            continue
        name = _name_of(inner, recorder)
        if name is None:
            continue
        place = _puts(name, recorder, value)
        return place, name
    return None


def _is_scope(thing: Any) -> bool:
    return isinstance(thing, dict) and ("__name__" in thing or "__builtins__" in thing)


def _name_of(container: Any, recorder: Any) -> str | None:
    """The variable, attribute or key that a container is held by."""
    for scope in gc.get_referrers(container):
        inside = scope if isinstance(scope, dict) else getattr(scope, "__dict__", None)
        if isinstance(inside, dict):
            for key, held in list(inside.items()):
                if held is container and isinstance(key, str) and not key.startswith("_"):
                    return key
    frame: Any = sys._getframe(1)
    while frame is not None:
        if not recorder.is_library(frame.f_code.co_filename):
            for key, held in locals_of(frame).items():
                if held is container:
                    return key
        frame = frame.f_back
    return None


def _puts(name: str, recorder: Any, value: Value) -> Any:
    """The line with `<name>.append(...)`, `<name>[...] = ...` or `<name> += [...]`."""
    made = value.producer.site if value.producer is not None else None
    files = [made.file] if made is not None else []
    for site in [recorder.last_site]:
        if site is not None and site.file not in files:
            files.append(site.file)
    for file in files:
        root = tree(file)
        for node in ast.walk(root) if root is not None else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr in ("append", "appendleft", "extend", "add", "insert", "setdefault", "update") and _ends(
                    node.func.value, name
                ):
                    return Place(file, node.lineno)
            elif isinstance(node, ast.Assign) and any(isinstance(t, ast.Subscript) and _ends(t.value, name) for t in node.targets):
                return Place(file, node.lineno)
            elif isinstance(node, ast.AugAssign) and _ends(node.target, name):
                return Place(file, node.lineno)
    return None


def _ends(node: ast.expr, name: str) -> bool:
    if isinstance(node, ast.Subscript):
        return _ends(node.value, name) or getattr(node.slice, "value", None) == name
    return isinstance(node, ast.Name) and node.id == name or isinstance(node, ast.Attribute) and node.attr == name
