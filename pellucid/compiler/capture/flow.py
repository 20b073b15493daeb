"""Data flow in a function's source: which variables a run of statements reads and sets."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence

# Functions that exhaust a generator argument before they return, so that its variables are read at
# once.
_AT_ONCE = frozenset(
    {
        "all",
        "any",
        "cat",
        "dict",
        "extend",
        "frozenset",
        "join",
        "list",
        "max",
        "min",
        "set",
        "sorted",
        "stack",
        "sum",
        "tuple",
        "update",
    }
)


def head(s: ast.stmt) -> list[ast.AST]:
    """The parts of a statement, without the statements nested in it."""
    if isinstance(s, (ast.Try, ast.FunctionDef, ast.ClassDef)):
        return []
    inner = {id(c) for f in ("body", "orelse", "cases") for c in getattr(s, f, [])}
    return [c for c in ast.iter_child_nodes(s) if id(c) not in inner]


class NameUses(ast.NodeVisitor):
    """How statements use names."""

    def __init__(self) -> None:
        self.loaded: set[str] = set()
        self.times: Counter[str] = Counter()  # how often each name is set
        self.deleted: set[str] = set()
        self.captured: set[str] = set()  # names read later by nested functions
        self.declares = False  # whether there is a `global`, `nonlocal` or `import`
        self.shared: set[str] = set()  # names that a nested function sets
        self.jumps = False  # whether a `break` or `continue` leaves the statement
        self.computes = False  # whether there is any call or operator
        self.words: set[str] = set()  # all names, including attribute names
        self._loops = 0
        self._hidden: list[set[str]] = []  # the variables of enclosing comprehensions and functions

    @property
    def stored(self) -> set[str]:
        """The names that are set."""
        return set(self.times)

    def visit_Name(self, node: ast.Name) -> None:
        self.words.add(node.id)
        if any(node.id in own for own in self._hidden):
            return
        if isinstance(node.ctx, ast.Load):
            self.loaded.add(node.id)
        elif isinstance(node.ctx, ast.Store):
            self.times[node.id] += 1
        else:
            self.deleted.add(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.words.add(node.attr)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self.computes = True
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.GeneratorExp) and name in _AT_ONCE:
                self._comprehension(child)
            else:
                self.visit(child)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.computes = True
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.loaded.add(node.target.id)
        self.generic_visit(node)

    # ---- scopes ----------------------------------------------------------------------------------
    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    ) -> None:
        targets = {
            n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)
        }
        self.visit(node.generators[0].iter)
        self._hidden.append(targets)
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.comprehension):
                self.visit(child)
        for k, g in enumerate(node.generators):
            for part in (*g.ifs, *([g.iter] if k else [])):
                self.visit(part)
        self._hidden.pop()

    visit_ListComp = visit_SetComp = visit_DictComp = _comprehension

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        hidden, self._hidden = self._hidden, []  # `:=` sets a variable of the function
        self.visit(node.target)
        self._hidden = hidden
        self.visit(node.value)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        inner = NameUses()
        inner._hidden = list(self._hidden)
        inner._comprehension(node)
        self._take_in(inner)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node.args, [ast.Expr(node.body)])

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.times[node.name] += 1
        for d in node.decorator_list:
            self.visit(d)
        self._function(node.args, node.body)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.times[node.name] += 1
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        self._function(None, node.body)

    def _function(self, given: ast.arguments | None, body: Sequence[ast.stmt]) -> None:
        inner = NameUses()
        own: set[str] = set()
        if given is not None:
            for d in (*given.defaults, *[d for d in given.kw_defaults if d is not None]):
                self.visit(d)
            every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            own = {a.arg for a in every if a is not None}
        inner._hidden = [*self._hidden, own]
        for s in body:
            inner.visit(s)
        outer = {
            n for s in body for d in ast.walk(s) if isinstance(d, ast.Nonlocal) for n in d.names
        }
        self.shared |= outer
        inner.loaded -= inner.stored - outer
        self._take_in(inner)

    def _take_in(self, inner: NameUses) -> None:
        self.computes |= inner.computes
        self.words |= inner.words
        self.shared |= inner.shared
        self.loaded |= inner.loaded
        self.captured |= inner.loaded | inner.captured

    # ---- statements --------------------------------------------------------------------------------
    def _declared(self, node: ast.stmt) -> None:
        self.declares = True

    visit_Global = visit_Nonlocal = _declared

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        self.declares = True
        self.times.update((a.asname or a.name.partition(".")[0]) for a in node.names)

    visit_ImportFrom = visit_Import

    def visit_For(self, node: ast.For | ast.While) -> None:
        for child in ast.iter_child_nodes(node):
            inside = child in node.body
            self._loops += inside
            self.visit(child)
            self._loops -= inside

    visit_While = visit_For

    def visit_Break(self, node: ast.stmt) -> None:
        self.jumps |= not self._loops

    visit_Continue = visit_Break

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.times[node.name] += 1
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        if node.name:
            self.times[node.name] += 1
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self.times[node.rest] += 1
        self.generic_visit(node)


def read(*nodes: ast.AST) -> NameUses:
    """How these statements or expressions use names."""
    found = NameUses()
    for node in nodes:
        found.visit(node)
    return found


def leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether one of the statements returns from the function."""
    for s in body:
        if isinstance(s, ast.Return):
            return True
        if not isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner = [c for c in ast.walk(s) if isinstance(c, (ast.excepthandler, ast.match_case))]
            blocks = [
                getattr(o, f, []) for o in (s, *inner) for f in ("body", "orelse", "finalbody")
            ]
            if any(leaves(b) for b in blocks if isinstance(b, list)):
                return True
    return False


def after(body: Sequence[ast.stmt], bound: set[str]) -> set[str] | None:
    """The variables that certainly have a value after the statements, if those in `bound` have one
    before. None if control never reaches the end.
    """
    now: set[str] | None = set(bound)
    for s in body:
        assert now is not None
        if isinstance(s, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            return None
        if isinstance(s, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = (
                s.targets
                if isinstance(s, ast.Assign)
                else [s.target]
                if s.value is not None
                else []
            )
            now |= {n for t in targets for n in read(t).stored}
        elif isinstance(s, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)):
            now |= read(s).stored
        elif isinstance(s, ast.If):
            now = _either(after(s.body, now), after(s.orelse, now))
        elif isinstance(s, ast.With):
            inside = now | {
                n for i in s.items if i.optional_vars for n in read(i.optional_vars).stored
            }
            found = after(s.body, inside)
            now = inside if swallows(s) else found
        if now is None:
            return None
        now -= read(s).deleted | {h.name for h in getattr(s, "handlers", []) if h.name}
    return now


def swallows(s: ast.With) -> bool:
    """Whether execution may continue after a `with` statement whose block raised an error."""
    return any(not {"suppress", "raises"}.isdisjoint(read(i.context_expr).words) for i in s.items)


def _either(a: set[str] | None, b: set[str] | None) -> set[str] | None:
    return b if a is None else a if b is None else a & b


def exposed(body: Sequence[ast.stmt], bound: set[str]) -> set[str]:
    """The variables whose earlier values the statements may read, given that those in `bound` are
    already set.
    """
    found: set[str] = set()
    now: set[str] | None = bound
    for s in body:
        if now is None:
            break
        if isinstance(s, ast.If):
            found |= _loads(s.test, now) | exposed(s.body, now) | exposed(s.orelse, now)
        elif isinstance(s, ast.For):
            inside = now | read(s.target).stored
            found |= (
                _loads(s.iter, now)
                | _loads(s.target, now)
                | exposed(s.body, inside)
                | exposed(s.orelse, now)
            )
        elif isinstance(s, ast.While):
            found |= _loads(s.test, now) | exposed(s.body, now) | exposed(s.orelse, now)
        elif isinstance(s, ast.With):
            inside = now
            for i in s.items:
                found |= _loads(i.context_expr, inside)
                inside = inside | (read(i.optional_vars).stored if i.optional_vars else set())
            found |= exposed(s.body, inside)
        elif isinstance(s, ast.Try):
            found |= (
                exposed(s.body, now)
                | exposed(s.orelse, now | (after(s.body, now) or set()))
                | exposed(s.finalbody, now)
            )
            for h in s.handlers:
                found |= (_loads(h.type, now) if h.type else set()) | exposed(
                    h.body, now | ({h.name} if h.name else set())
                )
        else:
            found |= _loads(s, now)
        now = after([s], now)
    return found


def _loads(node: ast.AST, bound: set[str]) -> set[str]:
    names = read(node)
    return (names.loaded | names.deleted) - bound


class Scope:
    """The variables of a function."""

    def __init__(self, tree: ast.FunctionDef) -> None:
        given = tree.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        self.parameters = [a.arg for a in every if a is not None]
        names = read(*tree.body)
        own = [s for s in _statements(tree.body) if isinstance(s, (ast.Global, ast.Nonlocal))]
        self.globals = {n for s in own if isinstance(s, ast.Global) for n in s.names}
        self.nonlocals = {n for s in own if isinstance(s, ast.Nonlocal) for n in s.names}
        self.stored = names.stored
        self.variables = (
            ({*self.parameters} | names.stored | names.deleted) - self.globals - self.nonlocals
        )
        self.captured = names.captured & self.variables
        # A nested function that observes changes of a variable, or makes them, must stay together
        # with the statements that change it.
        times = names.times + Counter(self.parameters)
        in_loops = {
            n
            for s in _statements(tree.body)
            if isinstance(s, (ast.For, ast.While))
            for n in read(s).stored
        }
        changing = (
            {n for n in self.captured if times[n] > 1}
            | self.captured & in_loops
            | names.shared & self.variables
        )
        self.strange = bool(changing)


def _statements(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """All statements, including nested ones, except those inside functions."""
    found: list[ast.stmt] = []
    for s in body:
        found.append(s)
        if not isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for f in ("body", "orelse", "finalbody"):
                found += _statements(getattr(s, f, []))
            for h in (*getattr(s, "handlers", []), *getattr(s, "cases", [])):
                found += _statements(h.body)
    return found
