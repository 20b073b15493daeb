"""Functions that a loop makes and keeps, and that look up the loop's variables too late."""

from __future__ import annotations

import ast
from types import CodeType
from typing import Any

from ...events import Op, SchedulerStep, Site
from ...rule import Rule
from ..source.places import Place, tree, walk

_KEEPS = frozenset("append add insert extend setdefault register put".split())
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)
_FUNCTIONS = (ast.FunctionDef, ast.Lambda)


class _Made:
    """A function that a loop makes and puts away: its lines, the loop's, and the variables of the
    loop that it reads.
    """

    __slots__ = ("first", "kept", "last", "loop", "names")

    def __init__(self, node: Any, kept: Any, loop: Any, names: list[str]) -> None:
        self.first, self.last = node.lineno, node.end_lineno or node.lineno
        self.kept = kept.lineno, kept.end_lineno or kept.lineno
        self.loop = loop.lineno, loop.end_lineno or loop.lineno
        self.names = names


class ClosureOfTheLast(Rule):
    """A function that was made in a loop runs after it and reads a variable of the loop: it is the
    last one then, for all of them.
    """

    slug = "closure-of-the-last"
    id = "PL515"
    severity = "error"
    summary = "functions created in a loop all use the loop's last values"

    def __init__(self) -> None:
        self._made: dict[str, list[_Made]] = {}  # by file
        self._seen: set[CodeType] = set()  # that were looked at
        self._late: dict[CodeType, _Made] = {}  # that a loop makes, and nobody has caught yet

    def on_op(self, op: Op) -> None:
        """Something is computed in such a function, once the loop is over."""
        site = op.site
        if site is None or site.code in self._seen:
            return
        code = site.code
        made = self._late.get(code)
        if made is None:
            made = self._function(site)
            if made is None:
                self._seen.add(code)
                return
            self._late[code] = made
        self._ran(made, code, site.file)

    def on_scheduler_step(self, event: SchedulerStep) -> None:
        """A schedule asks its function for the next rate."""
        site = event.made
        for made in self._in(site.file) if site is not None else ():
            if made.kept[0] <= site.line <= made.kept[1]:
                self._ran(made, None, site.file)

    def _ran(self, made: _Made, code: CodeType | None, file: str) -> None:
        around = self.session.recorder.callers()
        if any(
            s.code is not code and s.file == file and made.loop[0] <= s.line <= made.loop[1]
            for s in around
        ):
            return  # the loop still stands at the round that made it
        if code is not None:
            self._seen.add(code)
        name = made.names[0]
        self.report(
            Place(file, made.first),
            f"a loop creates these functions, and each looks up `{name}` when it runs. The loop has "
            "ended by then, so all of them see its last value.",
            evidence={"variables": made.names, "loop": str(Place(file, made.loop[0]))},
            fix=f"bind the value as a default argument: `{name}={name}`",
        )

    def _function(self, site: Site) -> _Made | None:
        line, name = site.code.co_firstlineno, site.code.co_name
        if name.startswith("<") and name != "<lambda>":
            return None
        return next((m for m in self._in(site.file) if m.first <= line <= m.last), None)

    def _in(self, file: str) -> list[_Made]:
        if file not in self._made:
            root = tree(file)
            self._made[file] = [] if root is None else made_in_loops(root)
        return self._made[file]


def made_in_loops(root: Any) -> list[_Made]:
    """The functions of a file that a loop makes and keeps in something that outlives its rounds,
    and that read variables which the loop binds.
    """
    found: list[_Made] = []
    for loop in walk(root):
        if isinstance(loop, ast.For):
            bound = _stored(loop)
            for node in _own(loop):
                for function, kept in _kept(node, loop):
                    names = sorted(_free(function) & bound)
                    if names:
                        found.append(_Made(function, kept, loop, names))
        elif isinstance(loop, _COMPREHENSIONS):
            bound = {n for g in loop.generators for n in _names(g.target)}
            part = loop.value if isinstance(loop, ast.DictComp) else loop.elt
            function = _itself(part)
            names = sorted(_free(function) & bound) if function is not None else []
            if names:
                found.append(_Made(function, part, loop, names))
    return found


def _own(loop: ast.For) -> list[Any]:
    """The statements of a loop's rounds, without those of functions in it."""
    found, waiting = [], list(loop.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            continue
        if isinstance(node, (ast.Assign, ast.Expr)):
            found.append(node)
        waiting += [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.stmt)]
    return found


def _kept(node: Any, loop: ast.For) -> list[tuple[Any, Any]]:
    """The functions that a statement puts away: `fns.append(lambda ...)`, `self.fns[name] = f`."""
    if isinstance(node, ast.Assign):
        goals = [t.value for t in node.targets if isinstance(t, ast.Subscript)]
        values = [node.value] if goals else []
    else:
        call = node.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return []
        if call.func.attr not in _KEEPS:
            return []
        goals, values = [call.func.value], [*call.args, *(k.value for k in call.keywords)]
    stored = {
        ast.unparse(t)
        for n in ast.walk(loop)
        if isinstance(n, ast.Assign)
        for t in n.targets
        if isinstance(t, (ast.Name, ast.Attribute))
    }
    if not goals or any(ast.unparse(g) in stored | set(_names(loop.target)) for g in goals):
        return []  # what each round makes anew
    found = []
    for value in values:
        function: Any = _itself(value)
        if function is None and isinstance(value, ast.Name):
            function = next(
                (n for n in loop.body if isinstance(n, ast.FunctionDef) and n.name == value.id),
                None,
            )
        if function is not None:
            found.append((function, node))
    return found


def _itself(value: Any) -> ast.Lambda | None:
    """The lambda that a value is, perhaps in an object that keeps it: `LambdaLR(opt, lambda ...)`,
    a tuple.
    """
    if isinstance(value, ast.Lambda):
        return value
    parts: list[Any] = []
    if isinstance(value, (ast.Tuple, ast.List)):
        parts = list(value.elts)
    elif isinstance(value, ast.Call):
        name = getattr(value.func, "attr", getattr(value.func, "id", ""))
        parts = [*value.args, *(k.value for k in value.keywords)] if name[:1].isupper() else []
    return next((f for p in parts if (f := _itself(p)) is not None), None)


def _stored(loop: ast.For) -> set[str]:
    """The variables that change from round to round: the loop's own, and those that its body makes
    of them.
    """
    found = set(_names(loop.target))
    for node in ast.walk(loop):
        if isinstance(node, ast.For):
            found |= set(_names(node.target))
    made = [n for n in _own(loop) if isinstance(n, ast.Assign)]
    for _ in range(4):
        for node in made:
            if any(isinstance(n, ast.Name) and n.id in found for n in ast.walk(node.value)):
                found |= {n for t in node.targets for n in _names(t)}
    return found


def _names(target: Any) -> list[str]:
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, (ast.Tuple, ast.List)):
        return [n for part in target.elts for n in _names(part)]
    return _names(target.value) if isinstance(target, ast.Starred) else []


def _free(function: Any) -> set[str]:
    """The names that a function reads when it runs, and does not bind itself."""
    given = function.args
    own = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    own |= {a.arg for a in (given.vararg, given.kwarg) if a is not None}
    body = function.body if isinstance(function.body, list) else [function.body]
    used = [n for part in body for n in ast.walk(part) if isinstance(n, ast.Name)]
    own |= {n.id for n in used if not isinstance(n.ctx, ast.Load)}
    return {n.id for n in used} - own
