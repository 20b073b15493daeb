"""Find where a number or a name passed to a call was written: through variables, parameters,
defaults, attributes, dictionaries and command-line defaults, in the source of the call's own
file.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any

from .places import Place, tree, walk

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DEPTH = 12


def written_at(site: Any, keyword: str, position: int, value: float | None = None) -> Place | None:
    """The line at which an argument's value is written or computed; None when that is the call's
    own, or not certain.

    Args:
        site: the place of a call.
        keyword: the parameter's name.
        position: its place among the positional arguments.
        value: what the call got: a number that is written differently is not taken.
    """
    tracer, call = _tracer(site)
    if tracer is None or not isinstance(call, ast.Call):
        return None
    given = _argument(call, keyword, position)
    return None if given is None else tracer.place(given, value)


def value_at(file: str, root: ast.Module, expression: ast.expr) -> Place | None:
    """The line at which the value of an expression of a file is written; None when that is its own,
    or not certain.
    """
    return _Tracer(file, root).place(expression, None)


def divided_at(site: Any) -> Place | None:
    """The only line with a division, a logarithm or a root among those that compute what a call
    gets; None when there is none, or several.
    """
    tracer, call = _tracer(site)
    if tracer is None or not isinstance(call, ast.Call) or not call.args:
        return None
    lines: set[int] = set()
    waiting: list[ast.AST] = [call.args[0]]
    seen: set[int] = set()
    while waiting and len(seen) < 200:
        expression = waiting.pop()
        if id(expression) in seen:
            continue
        seen.add(id(expression))
        for n in ast.walk(expression):
            if isinstance(n, ast.BinOp) and isinstance(n.op, (ast.Div, ast.Pow)):
                lines |= set() if _number(n.right) is not None else {n.lineno}
            elif isinstance(n, ast.Call):
                name = n.func.attr if isinstance(n.func, ast.Attribute) else ast.unparse(n.func)
                lines |= {n.lineno} if name in _PARTIAL else set()
                waiting += tracer.returns(name)
            elif isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
                waiting += tracer.before(n)
    return Place(site.file, lines.pop()) if len(lines) == 1 else None


_PARTIAL = frozenset("log log2 log10 log1p sqrt divide true_divide power reciprocal arccos".split())


def called_at(site: Any) -> Place | None:
    """The line that chooses what a call calls: the name of an activation in a configuration,
    `getattr(nn, kind)()`; None when the call says so itself."""
    tracer, call = _tracer(site)
    if tracer is None or not isinstance(call, ast.Call) or isinstance(call.func, ast.Attribute):
        return None
    return tracer.place(call.func, None)


def defaulted(site: Any) -> Place | None:
    """The default of an argument that decides in an `if` around a place; None where the program
    writes what decides itself.
    """
    root = tree(site.file)
    around = (
        [
            n
            for n in walk(root)
            if isinstance(n, ast.If)
            and n.body[0].lineno <= site.line <= (n.body[-1].end_lineno or 0)
        ]
        if root is not None
        else []
    )
    if root is None or not around or not isinstance(around[-1].test, (ast.Name, ast.Attribute)):
        return None
    found = _Tracer(site.file, root)._trace(around[-1].test, _DEPTH)
    defaults = [
        d
        for n in walk(root)
        if isinstance(n, ast.arguments)
        for d in (*n.defaults, *n.kw_defaults)
        if d is not None
    ]
    if isinstance(found, ast.expr) and any(found is d for d in defaults):
        return Place(site.file, found.lineno)
    return None


def factor_at(site: Any) -> Place | None:
    """Where the factor of a manual update is written: `lr` of `w -= lr * w.grad`."""
    root = tree(site.file)
    for node in walk(root) if root is not None else ():
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Mult)
            and node.lineno == site.line
        ):
            plain = [
                x
                for x in (node.left, node.right)
                if isinstance(x, (ast.Name, ast.Attribute, ast.Subscript))
                and "grad" not in ast.unparse(x)
            ]
            if len(plain) == 1:
                return _Tracer(site.file, root).place(plain[0], None)
    return None


def number_called(files: list[str], value: float, name: Any) -> Place | None:
    """The only line of some files that writes a number under a name that matches a pattern:
    `lr=0.1`, `{"lr": 0.1}`, `add_argument("--lr", default=0.1)`; None when there is none, or
    several."""
    found: set[tuple[str, int]] = set()

    def note(file: str, title: Any, node: ast.expr | None) -> None:
        number = _number(node) if node is not None else None
        if (
            isinstance(title, str)
            and name.match(title.lstrip("-").replace("-", "_"))
            and isinstance(number, (int, float))
        ):
            if node is not None and math.isclose(number, value, rel_tol=1e-9):
                found.add((file, node.lineno))

    for file in files:
        for n in walk(tree(file) or ast.Module([], [])):
            if isinstance(n, ast.Assign):
                for target in n.targets:
                    note(file, getattr(target, "id", getattr(target, "attr", None)), n.value)
            elif isinstance(n, ast.AnnAssign):
                note(file, getattr(n.target, "id", None), n.value)
            elif isinstance(n, ast.Dict):
                for k, v in zip(n.keys, n.values, strict=True):
                    note(file, getattr(k, "value", None), v)
            elif isinstance(n, ast.arguments):
                named = [*n.posonlyargs, *n.args]
                for a, d in zip(named[len(named) - len(n.defaults) :], n.defaults, strict=True):
                    note(file, a.arg, d)
                for a, default in zip(n.kwonlyargs, n.kw_defaults, strict=True):
                    note(file, a.arg, default)
            elif isinstance(n, ast.Call):
                for keyword in n.keywords:
                    note(file, keyword.arg, keyword.value)
                if getattr(n.func, "attr", "") == "add_argument":
                    for flag in n.args:
                        for keyword in n.keywords:
                            note(
                                file,
                                _number(flag) if keyword.arg == "default" else None,
                                keyword.value,
                            )
    return Place(*found.pop()) if len(found) == 1 else None


def _tracer(site: Any) -> tuple[_Tracer | None, Any]:
    call = getattr(site, "call", None)
    root = tree(site.file) if call is not None else None
    if root is None:
        return None, None
    tracer = _Tracer(site.file, root)
    node = call._node
    for known in walk(root):  # the same node in the tree that is walked here
        if isinstance(known, type(node)) and _extent(known) == _extent(node):
            return tracer, known
    return None, None


def _extent(node: Any) -> tuple[int, int, int, int]:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def _argument(call: ast.Call, keyword: str, position: int) -> ast.expr | None:
    for k in call.keywords:
        if k.arg == keyword:
            return k.value
    given = call.args
    return (
        given[position]
        if position < len(given)
        and not any(isinstance(a, ast.Starred) for a in given[: position + 1])
        else None
    )


def _number(node: ast.AST) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError):
        return None


class _Tracer:
    """Follows an expression of one file to where its value is written."""

    def __init__(self, file: str, root: ast.Module) -> None:
        self.file = file
        self.root = root
        self.imported = {
            (a.asname or a.name).partition(".")[0]
            for n in walk(root)
            if isinstance(n, (ast.Import, ast.ImportFrom))
            for a in n.names
        }
        self.parents: dict[ast.AST, ast.AST] = {
            child: node for node in walk(root) for child in ast.iter_child_nodes(node)
        }

    def place(self, expression: ast.expr, value: float | None) -> Place | None:
        """The line, unless it is the expression's own."""
        found = self._trace(expression, _DEPTH)
        if (
            found is None
            or found is expression
            or getattr(found, "lineno", None) in (None, expression.lineno)
        ):
            return None
        number = _number(found)
        if (
            value is not None
            and isinstance(number, (int, float))
            and not math.isclose(number, value, rel_tol=1e-6)
        ):
            return None
        return Place(self.file, found.lineno)  # type: ignore[attr-defined]

    def _trace(self, node: ast.AST, depth: int) -> ast.AST | None:
        if depth == 0:
            return None
        if isinstance(node, ast.Name):
            return self._name(node, depth)
        if isinstance(node, ast.Attribute):
            owner = node.value
            while isinstance(owner, ast.Attribute):
                owner = owner.value
            if isinstance(owner, ast.Name) and owner.id in self.imported:
                return node  # `nn.ReLU`: written here
            return self._attribute(node, depth)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, depth)
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in ("float", "int", "str") and len(node.args) == 1:
                return self._trace(node.args[0], depth - 1)
            if name == "getattr" and len(node.args) >= 2:
                return self._trace(node.args[1], depth - 1)
        return node

    def returns(self, name: str) -> list[ast.AST]:
        """What the functions of the file with that name give back."""
        return [
            r.value
            for f in ast.walk(self.root)
            if isinstance(f, ast.FunctionDef) and f.name == name
            for r in ast.walk(f)
            if isinstance(r, ast.Return) and r.value is not None
        ]

    def before(self, node: ast.Name) -> list[ast.AST]:
        """What a name was given before, in its function or outside of any."""
        scope = self._scope(node)
        assigned = self._assigned(scope or self.root, node.id)
        return [value for value in assigned if getattr(value, "lineno", 0) < node.lineno]

    def _scope(self, node: ast.AST) -> ast.AST | None:
        found = self.parents.get(node)
        while found is not None and not isinstance(found, _SCOPES):
            found = self.parents.get(found)
        return found

    def _name(self, node: ast.Name, depth: int) -> ast.AST | None:
        scope = self._scope(node)
        while True:
            assigned = [
                value
                for value in self._assigned(scope or self.root, node.id)
                if getattr(value, "lineno", 0) <= node.lineno
            ]
            if assigned:
                return self._trace(assigned[-1], depth - 1)
            if scope is None:
                return None
            if isinstance(scope, _SCOPES) and node.id in _parameters(scope):
                return self._parameter(scope, node.id, depth)
            scope = self._scope(scope)

    def _assigned(self, scope: ast.AST, name: str) -> list[ast.AST]:
        """The values that are assigned to a name in one scope, in order."""
        found: list[ast.AST] = []
        for node in ast.walk(scope):
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                inside = self._scope(node)
                if inside is not (None if isinstance(scope, ast.Module) else scope):
                    continue
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Name) and target.id == name:
                        found.append(node.value)
                    elif (
                        isinstance(target, ast.Tuple)
                        and isinstance(node.value, ast.Tuple)
                        and len(target.elts) == len(node.value.elts)
                    ):
                        found += [
                            v
                            for t, v in zip(target.elts, node.value.elts, strict=True)
                            if isinstance(t, ast.Name) and t.id == name
                        ]
        return sorted(found, key=lambda n: getattr(n, "lineno", 0))

    def _parameter(self, function: Any, name: str, depth: int) -> ast.AST | None:
        """What a parameter gets: from the only call in the file, or by default."""
        called = getattr(function, "name", None)
        owner = self.parents.get(function)
        if called == "__init__" and isinstance(owner, ast.ClassDef):
            called = owner.name
        names = [n for n in _parameters(function) if n not in ("self", "cls")]
        if called is None:
            return None
        given: list[ast.expr | None] = []
        for node in ast.walk(self.root):
            if isinstance(node, ast.Call):
                title = (
                    node.func.id
                    if isinstance(node.func, ast.Name)
                    else getattr(node.func, "attr", None)
                )
                if title == called:
                    given.append(_argument(node, name, names.index(name)))
        calls = [g for g in given if g is not None]
        if len(calls) == 1 and len(given) == 1:
            return self._trace(calls[0], depth - 1)
        traced = {id(t): t for g in calls if (t := self._trace(g, depth - 1)) is not None}
        default = _default(function, name)
        if not calls:
            return default
        return (
            next(iter(traced.values())) if len(traced) == 1 and len(calls) == len(given) else None
        )

    def _attribute(self, node: ast.Attribute, depth: int) -> ast.AST | None:
        name = node.attr
        keywords: list[ast.expr] = []
        for n in ast.walk(self.root):
            if isinstance(n, ast.Call):
                title = ast.unparse(n.func).rpartition(".")[2]
                keywords += [
                    k.value
                    for k in n.keywords
                    if k.arg == name
                    and (title[:1].isupper() and title not in _OPTIMIZERS or title == "replace")
                ]
                if title == "add_argument" and any(
                    _number(a) in (f"--{name}", f"--{name.replace('_', '-')}") for a in n.args
                ):
                    keywords += [k.value for k in n.keywords if k.arg == "default"]
        fields = [n.value for n in self._fields(name)]
        own = [
            n.value
            for n in ast.walk(self.root)
            if isinstance(n, ast.Assign)
            and any(isinstance(t, ast.Attribute) and t.attr == name for t in n.targets)
        ]
        own = [
            value
            for value in own
            if value.lineno <= node.lineno or self._scope(value) is not self._scope(node)
        ]
        for found in (keywords, own, fields):
            traced = {
                id(t): t for value in found if (t := self._trace(value, depth - 1)) is not None
            }
            if len(traced) == 1:
                return next(iter(traced.values()))
            if found:
                return None
        return None

    def _fields(self, name: str) -> Iterator[Any]:
        for n in ast.walk(self.root):
            if isinstance(n, ast.ClassDef):
                for statement in n.body:
                    if (
                        isinstance(statement, ast.AnnAssign)
                        and statement.value is not None
                        and ast.unparse(statement.target) == name
                    ):
                        yield statement
                    elif isinstance(statement, ast.Assign) and any(
                        ast.unparse(t) == name for t in statement.targets
                    ):
                        yield statement

    def _subscript(self, node: ast.Subscript, depth: int) -> ast.AST | None:
        key = node.slice
        if isinstance(key, ast.Slice):
            return self._trace(node.value, depth - 1)
        if not isinstance(key, ast.Constant):
            return self._trace(key, depth - 1)
        found: list[ast.expr] = []
        for n in ast.walk(self.root):
            if isinstance(n, ast.Dict):
                found += [
                    v
                    for k, v in zip(n.keys, n.values, strict=True)
                    if isinstance(k, ast.Constant) and k.value == key.value
                ]
            elif isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "dict":
                found += [k.value for k in n.keywords if k.arg == key.value]
        return self._trace(found[0], depth - 1) if len(found) == 1 else None


_OPTIMIZERS = frozenset(
    "SGD Adam AdamW Adagrad Adadelta Adamax NAdam RAdam RMSprop Rprop LBFGS ASGD SparseAdam Adafactor".split()
)


def _parameters(function: Any) -> list[str]:
    a = function.args
    return [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs)]


def _default(function: Any, name: str) -> ast.expr | None:
    a = function.args
    positional = [x.arg for x in (*a.posonlyargs, *a.args)]
    if name in positional:
        place = positional.index(name) - (len(positional) - len(a.defaults))
        return a.defaults[place] if place >= 0 else None
    names = [x.arg for x in a.kwonlyargs]
    return a.kw_defaults[names.index(name)] if name in names else None
