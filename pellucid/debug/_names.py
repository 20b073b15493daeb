"""Follow a value through the user's source: does it reach another statement, through variables,
attributes, lists and calls?

This closes the one gap of watching: arithmetic on Python numbers and NumPy arrays, which the engine
never sees.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import linecache
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from ..core import source

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ROUNDS = 12
# Methods that put their argument into the object they are called on.
STORING = {
    "append",
    "extend",
    "add",
    "insert",
    "update",
    "setdefault",
    "put",
    "fill",
    "itemset",
    "appendleft",
    "write",
}


@lru_cache(maxsize=64)
def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except SyntaxError:
        return None


def tree_of(filename: str) -> ast.Module | None:
    """The syntax tree of a source file that Python knows the text of."""
    return _parsed("".join(linecache.getlines(filename)))


class _Scope:
    """A function, or the module itself, of one file."""

    def __init__(self, file: str, node: Any) -> None:
        self.file, self.node = file, node
        self.name: str = getattr(node, "name", "<module>")
        arguments = getattr(node, "args", None)
        self.params = (
            [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
            if arguments is not None
            else []
        )
        self.keywords = [a.arg for a in arguments.kwonlyargs] if arguments is not None else []
        self.local = {
            n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        } | set(self.params)


class _Flow:
    """Which names, attributes and results hold something of the starting value; grows until nothing
    is added.
    """

    def __init__(
        self, files: Iterable[str], start: source.Line, goals: set[tuple[str, int]]
    ) -> None:
        self.start, self.goals = start, goals
        self.scopes: list[_Scope] = []
        self.imported: set[str] = set()
        for file in files:
            tree = tree_of(file)
            if tree is not None:
                self.imported |= {
                    (n.asname or n.name).partition(".")[0]
                    for n in ast.walk(tree)
                    if isinstance(n, ast.alias)
                }
                self.scopes += [
                    _Scope(file, n)
                    for n in ast.walk(tree)
                    if isinstance(n, (*_FUNCTIONS, ast.Module))
                ]
        self.by_name: dict[str, list[_Scope]] = {}
        for scope in self.scopes:
            self.by_name.setdefault(scope.name, []).append(scope)
        self.attributes: set[str] = set()
        self.returns: set[str] = set()
        self.globals: set[tuple[str, str]] = set()
        self.entry: dict[int, set[str]] = {}  # names that hold it when a function is entered
        self.order: list[str] = []
        self.hit = False

    def run(self) -> list[str] | None:
        for _ in range(_ROUNDS):
            before = self._size()
            for scope in self.scopes:
                held = set(self.entry.get(id(scope.node), ()))
                if scope.name == "<module>":
                    held |= {name for file, name in self.globals if file == scope.file}
                self._block(scope, scope.node.body, held)
                if self.hit:
                    return self.order
            if self._size() == before:
                return None
        return None

    def _size(self) -> int:
        return (
            len(self.attributes)
            + len(self.returns)
            + len(self.globals)
            + sum(map(len, self.entry.values()))
        )

    # ---- statements --------------------------------------------------------------------------
    def _block(self, scope: _Scope, body: list[Any], held: set[str]) -> None:
        for statement in body:
            if isinstance(statement, _FUNCTIONS):
                inner = self.entry.setdefault(id(statement), set())
                inner |= held - {a.arg for a in statement.args.args}
                continue
            if isinstance(statement, ast.ClassDef):
                self._block(scope, statement.body, held)
                continue
            blocks = [
                getattr(statement, part)
                for part in ("body", "orelse", "finalbody")
                if getattr(statement, part, None)
            ]
            blocks += [handler.body for handler in getattr(statement, "handlers", [])]
            blocks += [case.body for case in getattr(statement, "cases", [])]
            if not blocks:
                self._simple(scope, statement, held)
                continue
            heads = [
                n for part, n in ast.iter_fields(statement) if part in ("iter", "test", "subject")
            ]
            heads += [item.context_expr for item in getattr(statement, "items", [])]
            for head in heads:
                if self._tainted(scope, head, held):
                    self._check(scope, head)
                    for target in [
                        getattr(statement, "target", None),
                        *(i.optional_vars for i in getattr(statement, "items", [])),
                    ]:
                        if target is not None:
                            self._store(scope, target, held)
            for _ in range(2 if isinstance(statement, (ast.For, ast.While, ast.AsyncFor)) else 1):
                for block in blocks:
                    self._block(scope, block, held)
                if self.hit:
                    return

    def _simple(self, scope: _Scope, statement: Any, held: set[str]) -> None:
        here = scope.file == self.start.file and statement.lineno <= self.start.line <= (
            statement.end_lineno or statement.lineno
        )
        value = getattr(statement, "value", statement)
        tainted = here or (value is not None and self._tainted(scope, value, held))
        targets = list(getattr(statement, "targets", [])) or (
            [statement.target] if hasattr(statement, "target") else []
        )
        if isinstance(statement, ast.AugAssign):
            tainted = tainted or self._tainted(scope, statement.target, held)
        for call in (n for n in ast.walk(statement) if isinstance(n, ast.Call)):
            self._call(scope, call, held, here)
        if tainted:
            self._check(scope, statement)
            for target in targets:
                self._store(scope, target, held)
            if isinstance(statement, ast.Return) or isinstance(value, (ast.Yield, ast.YieldFrom)):
                self._add(self.returns, scope.name)
        else:
            for target in targets:
                for n in ast.walk(target):
                    if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
                        held.discard(n.id)

    def _check(self, scope: _Scope, node: Any) -> None:
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        self.hit = self.hit or any((scope.file, line) in self.goals for line in lines)

    def _add(self, table: set[Any], item: Any) -> None:
        if item not in table:
            table.add(item)
            name = item[1] if isinstance(item, tuple) else item
            if name not in self.order:
                self.order.append(name)

    def _store(self, scope: _Scope, target: Any, held: set[str]) -> None:
        while isinstance(target, (ast.Subscript, ast.Starred)):
            target = target.value
        if isinstance(target, ast.Name):
            self._add(held, target.id)
            declared = any(
                isinstance(s, (ast.Global, ast.Nonlocal)) and target.id in s.names
                for s in ast.walk(scope.node)
            )
            if scope.name == "<module>" or declared:
                self._add(self.globals, (scope.file, target.id))
        elif isinstance(target, ast.Attribute):
            self._add(self.attributes, target.attr)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self._store(scope, part, held)

    # ---- expressions -------------------------------------------------------------------------
    def _tainted(self, scope: _Scope, tree: Any, held: set[str]) -> bool:
        for n in ast.walk(tree):
            if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Load, ast.Store)):
                if n.id in held or (n.id not in scope.local and (scope.file, n.id) in self.globals):
                    return True
            elif isinstance(n, ast.Attribute) and n.attr in self.attributes:
                return True
            elif isinstance(n, ast.Call) and _callee(n) in self.returns:
                return True
            elif (
                isinstance(n, ast.Call)
                and "forward" in self.returns
                and _callee(n) not in self.by_name
            ):
                if isinstance(n.func, ast.Name) or (
                    isinstance(n.func, ast.Attribute) and _callee(n) not in STORING
                ):
                    if self._may_be_module(n):
                        return True
        return False

    def _may_be_module(self, call: ast.Call) -> bool:
        """`model(x)` and `self.block(x)` may run a forward; `torch.relu(x)`, `print(x)` and what
        was imported do not.
        """
        function = call.func
        if isinstance(function, ast.Name) and (
            hasattr(builtins, function.id) or function.id in self.imported
        ):
            return False
        root = function
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        return isinstance(function, ast.Name) or (
            isinstance(root, ast.Name) and root.id in ("self", "model", "net")
        )

    def _call(self, scope: _Scope, call: ast.Call, held: set[str], here: bool) -> None:
        name = _callee(call)
        arguments = [(None, a) for a in call.args] + [(k.arg, k.value) for k in call.keywords]
        tainted = [
            (k, word)
            for k, (word, a) in enumerate(arguments)
            if (here and self._is_start(a)) or self._tainted(scope, a, held)
        ]
        if not tainted:
            return
        if isinstance(call.func, ast.Attribute) and name in STORING:
            self._store(scope, call.func.value, held)
            return
        known = self.by_name.get(name or "", [])
        if not known and self._may_be_module(call):
            known = [*self.by_name.get("forward", []), *self.by_name.get("__call__", [])]
        if not known and name and name[:1].isupper():
            known = self.by_name.get("__init__", [])
        for target in known:
            params = (
                target.params[1:] if target.params[:1] in (["self"], ["cls"]) else target.params
            )
            inner = self.entry.setdefault(id(target.node), set())
            for k, word in tainted:
                for p in [word] if word in (*params, *target.keywords) else params[k : k + 1]:
                    self._add(inner, p)

    def _is_start(self, tree: Any) -> bool:
        return tree.lineno <= self.start.line <= (tree.end_lineno or tree.lineno)


def _callee(call: ast.Call) -> str | None:
    function = call.func
    return (
        function.id
        if isinstance(function, ast.Name)
        else function.attr
        if isinstance(function, ast.Attribute)
        else None
    )


def _switches_off(tree: Any) -> bool:
    """`torch.no_grad()`, `inference_mode()`, `set_grad_enabled(False)`, with or without the call."""
    call = tree if isinstance(tree, ast.Call) else None
    function = tree.func if isinstance(tree, ast.Call) else tree
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name == "set_grad_enabled":
        return bool(
            call
            and call.args
            and isinstance(call.args[0], ast.Constant)
            and call.args[0].value is False
        )
    on = call is not None and call.args and getattr(call.args[0], "value", None) is False
    return name in ("no_grad", "inference_mode") and not on


@lru_cache(maxsize=256)
def _blocks(text: str) -> tuple[tuple[int, int, int | None], ...]:
    """First and last line of each block and each decorated function in which gradients are switched
    off; of a function its decorator's.
    """
    tree = _parsed(text)
    found: list[tuple[int, int, int | None]] = []
    for n in ast.walk(tree) if tree is not None else ():
        if isinstance(n, (ast.With, ast.AsyncWith)) and any(
            _switches_off(item.context_expr) for item in n.items
        ):
            found.append((n.body[0].lineno, n.end_lineno or n.lineno, None))
        elif isinstance(n, _FUNCTIONS):
            found += [
                (n.lineno, n.end_lineno or n.lineno, d.lineno)
                for d in n.decorator_list
                if _switches_off(d)
            ][:1]
        if isinstance(n, (ast.Module, *_FUNCTIONS)):  # off here, on again there
            switches = sorted((c for c in _own(n) if _is_switch(c)), key=lambda c: c.lineno)
            found += [
                (a.lineno + 1, b.lineno, None)
                for a, b in itertools.pairwise(switches)
                if _switches_off(a) and not _switches_off(b)
            ]
    return tuple(found)


_SWITCHING = ("no_grad", "inference_mode", "set_grad_enabled")


def without_gradients(stack: Iterable[source.Site]) -> source.Line | None:
    """The line of the innermost of some positions that stands in a block that switches gradients
    off; of a decorated function its decorator. Where there is none, the statement that
    switches them off for what follows.
    """
    lines = [line for site in stack if (line := source.describe(site)) is not None]
    if not lines:  # gradients were on
        return None
    for line in lines:
        blocks = _blocks("".join(linecache.getlines(line.file)))
        around = [block for block in blocks if block[0] <= line.line <= block[1]]
        if around:
            decorator = max(around)[2]
            return line if decorator is None else _at(line, decorator)
    found: list[tuple[int, bool, int, source.Line]] = []
    elsewhere = user_files(*(line.file for line in lines))[len({line.file for line in lines}) :]
    for line in [*lines, *(source.Line(file, 0, "", "") for file in elsewhere)]:
        text = "".join(linecache.getlines(line.file))
        if not any(name in text for name in _SWITCHING):
            continue  # a program may have hundreds of files: few are parsed
        within = _managers(text, line.line) if line.line else set()
        for rank, number, function in _switches(text):
            if function in within:  # a context manager of the program's: what it is for
                return None
            if rank or function or number < line.line:
                late = number > line.line
                found.append((rank, late, number if late else -number, _at(line, number)))
    return min(found)[3] if found else None


def user_files(*first: str) -> list[str]:
    """The files of the program that are loaded, after those given."""
    loaded = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return list(
        dict.fromkeys([*first, *(file for file in loaded if file and not source.is_library(file))])
    )


def _at(line: source.Line, number: int) -> source.Line:
    return line._replace(line=number, text=linecache.getline(line.file, number).strip())


def _managers(text: str, line: int) -> set[str]:
    """What the `with` statements around a line call."""
    tree = _parsed(text)
    return {
        _callee(item.context_expr) or ""
        for n in (ast.walk(tree) if tree is not None else ())
        if isinstance(n, (ast.With, ast.AsyncWith)) and n.lineno <= line <= (n.end_lineno or 0)
        for item in n.items
        if isinstance(item.context_expr, ast.Call)
    }


@lru_cache(maxsize=256)
def _switches(text: str) -> tuple[tuple[int, int, str], ...]:
    """Statements that switch gradients off for what follows: (rank, line, function or class), the most
    certain with the lowest rank. A function, or the module, that leaves them off; a context manager that
    is entered by a call; a generator that yields inside its block; a function that an error may leave
    before it switches them on again.
    """
    tree = _parsed(text)
    if tree is None:
        return ()
    found: list[tuple[int, int, str]] = []
    inside: dict[ast.AST, str] = {}  # the class of each method
    for c in ast.walk(tree):
        if isinstance(c, ast.ClassDef):
            inside.update((n, c.name) for n in c.body)
    for scope in [tree, *(n for n in ast.walk(tree) if isinstance(n, _FUNCTIONS))]:
        own = list(_own(scope))
        name = inside.get(scope, getattr(scope, "name", ""))
        switches = [n for n in own if isinstance(n, ast.Expr) and _is_switch(n.value)]
        off = [n for n in switches if _switches_off(n.value)]
        if off:
            last = max(switches, key=lambda n: n.lineno)
            entered = getattr(scope, "name", "") == "__enter__"
            left = last in off and not entered
            found.append((0 if left else 3, (last if left else off[-1]).lineno, name))
        unknown = [
            n
            for n in switches
            if not any(isinstance(a, ast.Constant) for a in getattr(n.value, "args", ()))
        ]
        if not off and unknown:  # with a value that only the run knows
            found.append((4, unknown[0].lineno, name))
        named = {
            ast.unparse(t)
            for n in own
            if isinstance(n, ast.Assign) and _switches_off(n.value)
            for t in n.targets
        }
        for n in own:
            called = getattr(n, "func", None)
            if isinstance(called, ast.Attribute) and called.attr == "__enter__":
                if _switches_off(called.value) or ast.unparse(called.value) in named:
                    found.append((1, n.lineno, name))
            elif isinstance(called, ast.Attribute) and called.attr == "enter_context":
                if any(_switches_off(a) for a in n.args):
                    found.append((1, n.lineno, name))
            elif isinstance(n, (ast.With, ast.AsyncWith)):
                yields = any(isinstance(y, (ast.Yield, ast.YieldFrom)) for y in ast.walk(n))
                if yields and any(_switches_off(item.context_expr) for item in n.items):
                    found.append((2, n.lineno, name))
    return tuple(found)


def _own(scope: Any) -> Iterator[Any]:
    """The nodes of a function or module, without those of functions inside of it."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        n = waiting.pop()
        yield n
        if not isinstance(n, _FUNCTIONS):
            waiting.extend(ast.iter_child_nodes(n))


def _is_switch(tree: Any) -> bool:
    return isinstance(tree, ast.Call) and _callee(tree) == "set_grad_enabled"


def assignments(name: str) -> list[source.Line]:
    """The statements of the program that give a variable or an attribute a value."""
    found = []
    for file in user_files():
        tree = tree_of(file)
        for n in ast.walk(tree) if tree is not None else ():
            targets = getattr(n, "targets", [getattr(n, "target", None)])
            if isinstance(n, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and any(
                ast.unparse(part) == name
                for target in targets
                for part in getattr(target, "elts", [target])
            ):
                found.append(source.Line(file, n.lineno, "", ""))
    return found


def carried(
    start: source.Site | None, goals: Iterable[source.Site | source.Line]
) -> list[str] | None:
    """The names that carry a value from the statement at `start` to one of the goals, first to
    last; None when none do.

    Within a function statements are followed in their order, and a variable that gets another value
    carries no more; between functions the value goes through arguments, results, attributes and
    globals, by their names alone.
    """
    first = source.describe(start)
    described = (g if isinstance(g, source.Line) else source.describe(g) for g in goals)
    lines = [line for line in described if line is not None]
    if first is None or not lines:
        return None
    files = dict.fromkeys([first.file, *(line.file for line in lines)])
    return _Flow(files, first, {(line.file, line.line) for line in lines}).run()
