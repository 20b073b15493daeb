"""Iterators that are used again after they have given all they had."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from ...events import OptimizerInfo, Step
from ...rule import Rule
from ..source.places import Place, tree, walk

_FUNCTIONS = frozenset("filter map zip enumerate reversed".split())
_METHODS = frozenset("parameters named_parameters buffers named_buffers".split())
"""Functions of Python's and methods of modules whose result can be gone through once."""
_ENDLESS = ("cycle(", "count(", "repeat(")
_TOLD = re.compile(r"optim|clip_grad", re.IGNORECASE)
"""Calls for which another rule says what becomes of an iterator that has ended."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module, ast.ClassDef)


class ExhaustedIterator(Rule):
    """What `filter`, `map`, `zip` or a generator gives is empty when it is gone through again."""

    slug = "exhausted-iterator"
    id = "PL914"
    severity = "error"
    summary = "an exhausted iterator is used again"

    def __init__(self) -> None:
        self._made: list[OptimizerInfo] = []
        self._steps = 0

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """An optimizer goes through what it is given."""
        self._made.append(event)

    def on_step(self, event: Step) -> None:
        """Something is trained."""
        self._steps += 1

    def finish(self) -> None:
        """Look at the source: who else uses them."""
        if self._steps < 2:
            return
        told: set[Any] = set()
        for info in self._made[:16]:
            for place, name, again in given_away(info.site):
                if place not in told:
                    told.add(place)
                    self._tell(place, name, again, f"{info.class_name} has exhausted it")
        for file in self.session.recorder.files(self.session.script):
            for place, name, again in in_each_round(file):
                if place not in told:
                    told.add(place)
                    self._tell(place, name, again, "the first round of the loop exhausts it")

    def _tell(self, place: Place, name: str, again: Place, who: str) -> None:
        self.report(
            place,
            f"`{name}` is an iterator and can be consumed only once: {who}, so it is empty when "
            "it is used again.",
            evidence={"used_again_at": str(again)},
            fix=f"keep a list: `{name} = list(...)`",
        )


def _once(root: ast.AST, value: ast.expr | None) -> bool:
    """Whether an expression makes something that can be gone through once, and that ends. A method
    that the file defines itself may give a list.
    """
    if isinstance(value, (ast.GeneratorExp, ast.Call)) and any(
        word in ast.unparse(value) for word in _ENDLESS
    ):
        return False
    if isinstance(value, ast.GeneratorExp):
        return True
    function = value.func if isinstance(value, ast.Call) else None
    if isinstance(function, ast.Name):
        known, name = function.id in _FUNCTIONS, function.id
    elif isinstance(function, ast.Attribute):
        known, name = function.attr in _METHODS, function.attr
    else:
        return False
    return known and not any(isinstance(n, ast.FunctionDef) and n.name == name for n in walk(root))


def _inside(scope: ast.AST) -> Iterator[ast.AST]:
    """All that is in a scope, without the functions and classes in it."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SCOPES):
            waiting.extend(ast.iter_child_nodes(node))


def _bindings(scope: Any, name: str) -> list[tuple[int, ast.expr | None]]:
    """(line, value) of all that binds a name or an attribute in a scope; None where the value is
    not one expression.
    """
    found: list[tuple[int, ast.expr | None]] = []
    for node in scope:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            if ast.unparse(node.targets[0]) == name:
                found.append((node.lineno, node.value))
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            if ast.unparse(node) == name and node.lineno not in {line for line, _ in found}:
                found.append((node.lineno, None))
        if isinstance(node, ast.arg) and node.arg == name:
            found.append((node.lineno, None))
    lines = {line for line, value in found if value is not None}
    return [(line, v) for line, v in found if v is not None or line not in lines]


def given_away(site: Any) -> Iterator[tuple[Place, str, Place]]:
    """(where an iterator is made, its name, where it is used again) of what the call that made an
    optimizer was given by name.
    """
    root = tree(site.file) if site is not None else None
    call = site.call._node if root is not None and site.call is not None else None
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if root is None or not isinstance(given, (ast.Name, ast.Attribute)):
        return
    name = ast.unparse(given)
    around = [
        n for n in walk(root) if isinstance(n, _SCOPES[:3]) and _covers(n, site.line) or n is root
    ]
    scope: Any = max(around, key=lambda n: getattr(n, "lineno", 0))
    nodes = list(_inside(scope))
    if name.startswith("self."):
        owners = [n for n in walk(root) if isinstance(n, ast.ClassDef)]
        owner = [n for n in owners if _covers(n, site.line)]
        if not owner:
            return
        nodes = list(ast.walk(max(owner, key=lambda n: n.lineno)))
    elif isinstance(given, ast.Attribute):
        return
    bindings = _bindings(nodes, name)
    if len(bindings) != 1 or not _once(root, bindings[0][1]) or bindings[0][0] > site.line:
        return
    own = {id(n) for n in _inside(scope)}
    last = call.end_lineno or site.line
    uses = [
        n
        for n in nodes
        if isinstance(n, (ast.Name, ast.Attribute))
        and isinstance(n.ctx, ast.Load)
        and ast.unparse(n) == name
        and (n.lineno > last or id(n) not in own)
    ]
    elsewhere = {
        id(part)
        for n in nodes
        if isinstance(n, ast.Call) and _TOLD.search(ast.unparse(n.func))
        for part in ast.walk(n)
    }
    if uses and not any(id(n) in elsewhere for n in uses):
        again = min(uses, key=lambda n: n.lineno)
        yield Place(site.file, bindings[0][0]), name, Place(site.file, again.lineno)


def _covers(node: Any, line: int) -> bool:
    return bool(getattr(node, "lineno", 0) <= line <= (getattr(node, "end_lineno", 0) or 0))


def in_each_round(file: str) -> Iterator[tuple[Place, str, Place]]:
    """The same of iterators that are made before a loop, and gone through to the end in each of its
    rounds.
    """
    root = tree(file)
    if root is None:
        return
    scopes = [n for n in walk(root) if isinstance(n, _SCOPES[:3])]
    for scope in scopes:
        nodes = list(_inside(scope))
        for loop in nodes:
            if not isinstance(loop, (ast.For, ast.While)) or _single(loop):
                continue
            for inner in _inside(loop):
                if not isinstance(inner, ast.For) or not isinstance(inner.iter, ast.Name):
                    continue
                name = inner.iter.id
                bindings = _bindings([*ast.walk(scope)], name)
                if len(bindings) != 1 or not _once(root, bindings[0][1]):
                    continue
                if bindings[0][0] < loop.lineno and not _left(inner) and not _left(loop):
                    yield Place(file, bindings[0][0]), name, Place(file, inner.lineno)


def _single(loop: ast.For | ast.While) -> bool:
    return isinstance(loop, ast.For) and ast.unparse(loop.iter) in ("range(1)", "[0]")


def _left(loop: ast.For | ast.While) -> bool:
    """Whether a loop may end early."""
    return any(isinstance(n, (ast.Break, ast.Return, ast.Raise)) for n in ast.walk(loop))
