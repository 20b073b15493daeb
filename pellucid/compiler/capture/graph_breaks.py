"""Functions that cannot be a single program: they are compiled around the statements that keep
running in Python.

A step that prints, reads the clock or computes in Python with a tensor's value cannot be one
program. The statement that does so runs in Python. Each run of other statements becomes a compiled
function: its arguments are the variables that it reads, its results those that are read later
(`flow.py`). The rest of the function calls them. The source is parsed, the runs are replaced, and
Python compiles the result with the original line numbers, so that errors show the user's code.

If such a statement calls a function or module that contains the offending code, the callee is
compiled in the same way: each call in the statement goes through `_within`, which returns the
function to call.
"""

from __future__ import annotations

import ast
import copy
import dis
import inspect
import linecache
import operator
import re
import types
from collections.abc import Callable
from typing import Any

from ...nn.modules._hooks import global_hooks
from ...nn.modules.container import Sequential
from ...nn.modules.module import Module
from ..trace.refusal import Refusal, names_in
from ..trace.watch import is_own
from .flow import NameUses, Scope, after, exposed, head, leaves, read, swallows
from .witness import loaded

LIMIT = 12  # at most so many lines of a function run in Python; otherwise it is not worth compiling
_NEW: dict[str, Any] = {"type_params": []}  # a field of definitions since Python 3.12
_FUTURE = 0x1FF0000  # flags of `from __future__ import`
# functions that let code see variables whose names it does not mention
_LOOKING = frozenset({"locals", "eval", "exec", "vars", "dir"})
_HELD, _HAS = "_part_of_", "_part_has_"  # prefixes of variable names
_WITHIN = "_within"  # the function through which calls go in a statement that runs in Python
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_OPEN = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def body_of(function: Any) -> Any:
    """The user's function that runs when this one is called: the function of a method, a module's
    `forward`, or the function inside decorators.
    """
    if calls_forward(function):
        function = function.__self__.forward
    function = getattr(function, "__func__", function)
    while isinstance(function, types.FunctionType) and _cell_of(function) is not None:
        function = function.__wrapped__  # type: ignore[attr-defined]
    return function if isinstance(function, types.FunctionType) else None


def calls_forward(function: Any) -> bool:
    """Whether a function is the `__call__` of a module."""
    return getattr(function, "__func__", None) in (Module.__call__, Module._call_impl)


def _cell_of(function: types.FunctionType) -> int | None:
    """The index of the variable in a decorator's closure that holds the decorated function."""
    inner = getattr(function, "__wrapped__", None)
    cells = function.__closure__ or ()
    found = [k for k, c in enumerate(cells) if _content(c) is inner] if inner is not None else []
    return found[0] if len(found) == 1 else None


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        return cell


def rewrapped(function: Any, body: Callable[..., Any]) -> Callable[..., Any]:
    """A function with another body, but bound to the same object and inside the same decorators."""
    bound = getattr(function, "__self__", None)
    if bound is not None:
        if calls_forward(function):
            forward = rewrapped(bound.forward, body)
            return lambda *args, **kwargs: (function if _hooked(bound) else forward)(
                *args, **kwargs
            )
        return types.MethodType(rewrapped(function.__func__, body), bound)
    k = _cell_of(function)
    if k is None:
        return body
    inner = rewrapped(function.__wrapped__, body)
    cells = [types.CellType(inner) if n == k else c for n, c in enumerate(function.__closure__)]
    made = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells),
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _hooked(module: Module) -> bool:
    """Whether calling a module does more than run its `forward`."""
    own = (
        module._forward_pre_hooks,
        module._forward_hooks,
        module._backward_hooks,
        module._backward_pre_hooks,
    )
    return any(own) or bool(global_hooks.present)


class Callees:
    """Replaces the functions and modules that a statement in Python calls. Those in which something
    could not be compiled are replaced by compiled ones with graph breaks of their own.

    A `Sequential` with such a module is called in pieces: that module alone, and the modules before
    and after it as one compiled function each.
    """

    MOST = 64  # at most so many replacements per function

    def __init__(self, compiled: Callable[[Any], Callable[..., Any]]) -> None:
        self.compiled = compiled
        self.troubled: set[types.CodeType] = set()  # code objects in which something was refused
        self.functions: list[Any] = []  # what was compiled
        self.known: dict[Any, tuple[Any, Any]] = {}  # key -> (holder, replacement)

    def __call__(self, function: Any) -> Any:
        holder, key = function, id(function)  # type: tuple[Any, Any]
        if type(function) is types.MethodType:  # a bound method is a new object at each access
            holder, key = function.__self__, (id(function.__self__), function.__func__)
            if not isinstance(holder, Module):
                return function
        elif type(function) is types.FunctionType:
            if function.__closure__:
                return function
        elif not isinstance(function, Module):
            return function
        known = self.known.get(key)
        if known is None or known[0] is not holder:
            if len(self.known) >= self.MOST:
                return function
            known = self.known[key] = holder, self._made(function)
        return function if known[1] is None else known[1]

    def _made(self, function: Any) -> Any:
        """The replacement of a function; None if it stays as it is."""
        if isinstance(function, Module):
            if function._compiled_call_impl is not None:
                return None
            if type(function).forward is Sequential.forward and self._reaches(function):
                return _Chain(function, self)
            function = function.__call__
        return self._compiled(function) if self._in_trouble(function) else None

    def _compiled(self, function: Any) -> Any:
        made = self.compiled(function)
        self.functions.append(made)
        return made

    def _in_trouble(self, function: Any) -> bool:
        body = body_of(function)
        return body is not None and body.__code__ in self.troubled

    def _reaches(self, module: Module) -> bool:
        """Whether something was refused in a module, or in one inside it."""
        return any(self._in_trouble(m.__call__) for m in module.modules())

    def in_turn(self, modules: list[Module]) -> list[Any]:
        """Modules called one after the other, combined into few functions: compiled runs of
        modules, and the modules that are split further.
        """
        found: list[Any] = []
        run: list[Module] = []
        for m in [*modules, None]:
            if m is not None and not self._reaches(m):
                run.append(m)
                continue
            if run:
                found.append(self._compiled(_one_after_the_other(run)))
                run = []
            if m is not None:
                found.append(self(m))
        return found


def _one_after_the_other(modules: list[Module]) -> Callable[[Any], Any]:
    def one_after_the_other(input: Any) -> Any:
        for module in modules:
            input = module(input)
        return input

    return one_after_the_other


class _Chain:
    """A `Sequential` in which runs of modules are compiled together."""

    def __init__(self, module: Any, called: Callees) -> None:
        self.module, self.called = module, called
        self.modules: list[Any] = []
        self.pieces: list[Any] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs or _hooked(self.module):
            return self.module(*args, **kwargs)
        modules = [*self.module._modules.values()]
        if len(modules) != len(self.modules) or any(map(operator.is_not, modules, self.modules)):
            self.modules, self.pieces = modules, self.called.in_turn(modules)
        (input,) = args
        for piece in self.pieces:
            input = piece(input)
        return input


class GraphBreaks:
    """A function whose statements are compiled in runs, around the lines that keep running in
    Python.

    Args:
        function: what is called.
        compiled: makes a function of a run of statements a compiled one; it gets the function, and
            its first and last line.
        called: makes a function that a statement calls a compiled one.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        compiled: Callable[[Any, int, int], Callable[..., Any]],
        called: Callable[[Any], Callable[..., Any]],
    ) -> None:
        self.function = function
        self.compiled = compiled
        self.called = Callees(called)
        self.body = body_of(function)
        self.lines: set[int] = set()  # the lines that run in Python
        # source positions of the refusals, possibly in functions that these lines call
        self.sites: list[Any] = []
        # the compiled runs of the present form, by their lines and variables
        self.made: dict[Any, Any] = {}
        self.runs: dict[Any, Callable[..., Any]] = {}  # the functions by which they are called
        self.text = ""  # the source that Python runs, with calls of the compiled parts
        self.call: Callable[..., Any] | None = None
        # the same functions, by their names in `text`
        self.calls: dict[str, Callable[..., Any]] = {}
        self.before: tuple[dict[Any, Any], ...] = ({}, {})  # `made` and `runs` of the previous form
        self.tree: Any = None

    def cut(self, lines: set[int], callees: set[types.CodeType]) -> bool:
        """Let the statements at these lines run in Python, because of what happens in them or in
        `callees`. Returns False if this changes nothing, or leaves nothing to compile.
        """
        lines = {line for line in lines if self._statement(line)}
        if not lines - self.lines or len(self.lines | lines) > LIMIT:
            return False
        self.lines |= lines
        self.called.troubled |= {c for c in callees if not is_own(c.co_filename)}
        made = self._made()
        module = getattr(self.function, "__self__", None)
        if self.body is Sequential.forward and self.called.troubled:
            self.call = _Chain(module, self.called)
        elif made is not None:
            self.call = rewrapped(self.function, made)
        return self.call is not None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        assert self.call is not None
        return self.call(*args, **kwargs)

    @property
    def parts(self) -> list[Any]:
        """Everything that is compiled: the runs of statements, and the functions that other
        statements call.
        """
        return [*self.made.values(), *self.called.functions]

    def lines_of(self, refusal: Refusal) -> set[int]:
        """The lines of the function at which something was refused, as far as known."""
        if self.body is None or not self._parse():
            return set()
        site = refusal.site
        here = (
            {site.line}
            if site is not None
            and site.file == self.body.__code__.co_filename
            and self._statement(site.line)
            else set()
        )
        if refusal.path and not (here and site.line != self.body.__code__.co_firstlineno):
            here = self._lines_with(refusal.path) or here
        lines = {line for line in refusal.lines if self._statement(line)}
        return self._setting(refusal.variables or [], lines) or lines or here

    def _heads(self) -> list[tuple[int, NameUses]]:
        """For each statement, its line and its use of names, without nested statements."""
        return [
            (s.lineno, read(*head(s)))
            for s in ast.walk(self.tree)
            if isinstance(s, ast.stmt) and s is not self.tree
        ]

    def _setting(self, names: list[str], lines: set[int]) -> set[int]:
        """The lines before `lines` at which the variables were set last."""
        before = [
            [
                line
                for line, own in self._heads()
                if name in own.stored and line <= min(lines, default=0)
            ]
            for name in names
        ]
        return {max(found) for found in before if found} - self.lines

    def _lines_with(self, path: str) -> set[int]:
        """The line of the only statement that uses one of the names in a path, trying the last name
        first. Empty if each name occurs in several statements.
        """
        for name in reversed(names_in(path)):
            found = [line for line, own in self._heads() if name in own.words]
            if len(found) == 1:
                return {*found}
        return set()

    # ---- parsing ---------------------------------------------------------------------------------
    def _statement(self, line: int) -> bool:
        """Whether a line belongs to a statement of the function."""
        return self._parse() and self.tree.body[0].lineno <= line <= self.tree.end_lineno

    def _parse(self) -> bool:
        if self.tree is None:
            self.tree = (self.body is not None and _parsed(self.body)) or False
            if self.tree:
                self.scope = Scope(self.tree)
                if self.scope.strange or not _LOOKING.isdisjoint(loaded(self.body.__code__)):
                    self.tree = False
        return bool(self.tree)

    # ---- writing ---------------------------------------------------------------------------------
    def _made(self) -> Any:
        """The function with its runs replaced by calls; None if no run is worth compiling."""
        self.before, self.runs, self.calls = (self.made, self.runs), {}, {}
        self.made = {}
        tree = self.tree
        parameters = set(self.scope.parameters)
        body = self._block(tree.body, parameters, parameters, set(self.scope.captured), set())
        if not self.made and _WITHIN not in self.calls:
            return None
        fields: dict[str, Any] = {f: getattr(tree, f, []) for f in tree._fields}
        whole = ast.FunctionDef(**fields | {"body": body})
        ast.copy_location(whole, tree)
        self.text = _shown(whole)
        # Declare them as local variables, even if only runs set them.
        body[:0] = [_placed(s, body[0]) for s in _local(self.scope.variables)]
        return self._function(whole, self.calls)

    def _block(
        self,
        body: list[ast.stmt],
        bound: set[str],
        possible: set[str],
        live: set[str],
        barred: set[str],
    ) -> list[ast.stmt]:
        """The statements of a block, with runs replaced by calls.

        Args:
            bound: variables that have a value for certain.
            possible: those that may have one.
            live: those that may be read after the block.
            barred: those that a run must not set.
        """
        out: list[ast.stmt] = []
        run: list[ast.stmt] = []
        start = at = bound
        before = possible
        for k, s in enumerate(body):
            names = read(s)
            rest = exposed(body[k + 1 :], set()) | live
            cut = any(
                line in self.lines for line in range(s.lineno, (s.end_lineno or s.lineno) + 1)
            )
            if cut or names.jumps or names.deleted or names.declares or names.stored & barred:
                out += self._flushed(run, start, before, exposed(body[k:], set()) | live)
                out.append(self._opened(s, at, possible, rest, barred) if cut else s)
                run, before = [], possible | names.stored
            else:
                run.append(s)
            possible = possible | names.stored
            reached = after([s], at)
            if reached is None:  # control does not reach the next statement
                return [*out, *self._flushed(run, start, before, live), *body[k + 1 :]]
            at = reached
            if not run:
                start = at
        return [*out, *self._flushed(run, start, before, live)]

    def _opened(
        self, s: ast.stmt, bound: set[str], possible: set[str], rest: set[str], barred: set[str]
    ) -> ast.stmt:
        """A statement that stays in Python. The blocks of an `if`, `with`, `try` or loop may be
        compiled in part.
        """
        if not isinstance(s, (ast.If, ast.For, ast.While, ast.With, ast.Try)):
            if not self.called.troubled or isinstance(s, _DEFINITIONS):
                return s
            self.calls[_WITHIN] = self.called
            return ast.copy_location(_Within().visit(copy.deepcopy(s)), s)
        made = {f: getattr(s, f) for f in s._fields}
        inside = bound
        if isinstance(s, (ast.For, ast.While)):
            rest = rest | exposed([s], set())  # the next iteration may read them
            possible = possible | read(s).stored
            inside = (
                bound
                - read(s).deleted
                - {h.name for h in ast.walk(s) if isinstance(h, ast.ExceptHandler)}
            )
        if isinstance(s, (ast.For, ast.With)):
            targets = (
                [s.target]
                if isinstance(s, ast.For)
                else [i.optional_vars for i in s.items if i.optional_vars]
            )
            inside = inside | {n for t in targets for n in read(t).stored}
            possible = possible | inside
        if isinstance(s, ast.Try):
            # A run sets its variables only at its end. If it raises, the code that continues must
            # not rely on them.
            others = set().union(
                *[exposed(h.body, set()) for h in s.handlers], exposed(s.finalbody, set())
            )
            falls = any(after(h.body, set()) is not None for h in s.handlers)
            barred = barred | others | (rest if falls else set())
            rest = rest | others | exposed(s.orelse, set())
        if isinstance(s, ast.With) and swallows(s):
            barred = barred | rest
        made["body"] = self._block(s.body, inside, possible, rest, barred)
        if isinstance(s, ast.If):
            made["orelse"] = self._block(s.orelse, bound, possible, rest, barred)
        return ast.copy_location(type(s)(**made), s)

    def _flushed(
        self, run: list[ast.stmt], bound: set[str], possible: set[str], live: set[str]
    ) -> list[ast.stmt]:
        """The statements that replace a run: a call of its compiled function."""
        names = read(*run)
        if not names.computes:
            return run
        if len(run) > 1 and _passes_on(run[-1], names.stored):
            called = self._flushed(run[:-1], bound, possible, exposed(run[-1:], set()))
            return [*called, run[-1]]
        end = after(run, bound)
        variables = self.scope.variables
        results = [] if end is None else sorted(names.stored & live & variables)
        certain = after(run, set())
        arguments = sorted(
            (exposed(run, set()) | (set() if certain is None else {*results} - certain))
            & variables
            & possible
        )
        own = self.scope.parameters[0] if self.scope.parameters else ""
        method = (
            own in arguments
            and getattr(self.function, "__self__", None) is not None
            and own not in self.scope.stored
        )
        if method:  # `self` comes first
            arguments.insert(0, arguments.pop(arguments.index(own)))
        last = run[-1]
        returns = leaves(run[:-1]) or (leaves([last]) and not isinstance(last, ast.Return))
        # A variable that may have no value is passed with a flag that says whether it has one.
        given = [a for a in arguments if a not in bound]
        left = [r for r in results if end is not None and r not in end]
        key = (
            run[0].lineno,
            last.end_lineno,
            run[0].col_offset,
            *map(tuple, (arguments, results, given, left)),
            returns,
        )
        name = f"_part_{len(self.made)}"
        if key in self.before[0]:
            self.made[key], self.runs[key] = [held[key] for held in self.before]
        else:
            self.made[key], self.runs[key] = self._compiled(
                run, (arguments, results, given, left), returns, end is None, method
            )
        self.calls[name] = self.runs[key]
        made = [
            _placed(s, run[0])
            for s in ast.parse(
                _calling(name, (arguments, results, given, left), last, returns)
            ).body
        ]
        for k, s in enumerate(made):
            s.hidden = k < len(given) or k >= len(made) - len(left) or isinstance(s, ast.Delete)  # type: ignore[attr-defined]
        return made

    def _compiled(
        self,
        run: list[ast.stmt],
        variables: tuple[list[str], ...],
        returns: bool,
        ends: bool,
        method: bool,
    ) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """The compiled function of a run, and the function by which to call it. It is a method if
        its first argument is the object to which the original function is bound.
        """
        arguments, results, given, left = variables
        # variables that no earlier statement can have set
        unset = exposed(run, set()) & self.scope.variables - {*arguments}
        body = [
            *_local(unset),
            *ast.parse("".join(f"if not {_HAS}{n}: del {n}\n" for n in given)).body,
        ]
        body = [_placed(s, run[0]) for s in body]
        body += [_Returns().visit(s) for s in map(copy.deepcopy, run)] if returns else run
        if not ends:
            text = "".join(
                f"try:\n  {n}\n  {_HAS}{n} = True\nexcept NameError:\n  {n} = None\n  {_HAS}{n} = False\n"
                for n in left
            )
            values = "".join(f"{n}, " for n in [*results, *[_HAS + n for n in left]]) or "None"
            text += f"return False, ({values})" if returns else f"return {values}"
            body += [_placed(s, run[-1]) for s in ast.parse(text).body]
        if self.scope.globals:
            body.insert(0, ast.copy_location(ast.Global(sorted(self.scope.globals)), run[0]))
        if self.scope.nonlocals:
            body.insert(0, ast.copy_location(ast.Nonlocal(sorted(self.scope.nonlocals)), run[0]))
        every = [ast.arg(a) for a in (*arguments, *[_HAS + n for n in given])]
        head = ast.arguments(posonlyargs=[], args=every, kwonlyargs=[], kw_defaults=[], defaults=[])
        written = ast.FunctionDef(
            name=self.tree.name,
            args=head,
            body=body,
            decorator_list=[],
            returns=None,
            type_comment=None,
            **_NEW,
        )
        ast.copy_location(written, run[0])
        made = self._function(written, {})
        lines = run[0].lineno, run[-1].end_lineno or run[-1].lineno
        if not method:
            function = self.compiled(made, *lines)
            return function, function
        bound = self.function.__self__  # type: ignore[attr-defined]
        function = self.compiled(types.MethodType(made, bound), *lines)
        return function, lambda self, *rest: function(*rest) if self is bound else made(self, *rest)

    def _function(self, tree: ast.FunctionDef, calls: dict[str, Any]) -> types.FunctionType:
        """Make a Python function from a tree, with the globals and the closure of the original."""
        original = self.body
        code = _code(tree, original, list(calls))
        cells = dict(zip(original.__code__.co_freevars, original.__closure__ or (), strict=True))
        cells.update((name, types.CellType(f)) for name, f in calls.items())
        made = types.FunctionType(
            code, original.__globals__, original.__name__, original.__defaults__ if calls else None,
            tuple([cells[n] for n in code.co_freevars]),
        )  # fmt: skip
        made.__kwdefaults__ = original.__kwdefaults__ if calls else None
        made.__qualname__, made.__module__, made.__doc__ = (
            original.__qualname__,
            original.__module__,
            original.__doc__,
        )
        return made


def _passes_on(s: ast.stmt, stored: set[str]) -> bool:
    """Whether a statement returns plain variables, at least one of which the run before it does not
    set. Such a statement stays outside the run, because a list passed through a compiled part would
    come back as a copy.
    """
    if not isinstance(s, ast.Return) or s.value is None:
        return False
    plain = (ast.Name, ast.Tuple, ast.List, ast.Dict, ast.Constant, ast.Load)
    parts = list(ast.walk(s.value))
    return all(isinstance(n, plain) for n in parts) and any(
        isinstance(n, ast.Name) and n.id not in stored for n in parts
    )


def _calling(name: str, variables: tuple[list[str], ...], last: ast.stmt, returns: bool) -> str:
    """The source of statements that call a run's function. They first check whether variables have
    a value, and finally delete those that have none.
    """
    arguments, results, given, left = variables
    text = "".join(
        f"try:\n  {_HELD}{n} = {n}\n  {_HAS}{n} = True\nexcept NameError:\n  {_HELD}{n} = None\n  {_HAS}{n} = False\n"
        for n in given
    )
    passed = [_HELD + a if a in given else a for a in arguments] + [_HAS + n for n in given]
    values = "".join(f"{n}, " for n in [*results, *[_HAS + n for n in left]])
    call = f"{name}({', '.join(passed)})"
    if isinstance(last, ast.Return) and not returns:
        return f"{text}return {call}\n"
    if returns:
        text += f"{name}_result = {call}\nif {name}_result[0]: return {name}_result[1]\n"
        text += (f"{values} = {name}_result[1]\n" if values else "") + f"del {name}_result\n"
    else:
        text += f"{values} = {call}\n" if values else f"{call}\n"
    return (
        text
        + "".join(f"del {_HELD}{n}\n" for n in given)
        + "".join(f"if not {_HAS}{n}: del {n}\n" for n in left)
    )


def _shown(tree: ast.FunctionDef) -> str:
    """The text of a function with the calls of its parts, for display: without the statements that
    handle variables without a value.
    """

    class Shown(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == _WITHIN:
                return super().visit(node.args[0])
            return None if getattr(node, "hidden", False) else super().visit(node)

    text = ast.unparse(Shown().visit(copy.deepcopy(tree)))
    return re.sub(rf"(, )?{_HAS}\w+", "", text.replace(_HELD, "")).replace("(, ", "(")


class _Within(ast.NodeTransformer):
    """Rewrites `f(x)` to `_within(f)(x)`."""

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("super", "print"):
            return node
        name = ast.copy_location(ast.Name(_WITHIN, ast.Load()), node.func)
        called = ast.copy_location(ast.Call(name, [node.func], []), node.func)
        return ast.copy_location(ast.Call(called, node.args, node.keywords), node)

    def visit_Lambda(self, node: Any) -> Any:
        return node


class _Returns(ast.NodeTransformer):
    """Rewrites `return x` to `return (True, x)`, which distinguishes it from reaching the end of
    the run.
    """

    def visit_Return(self, node: ast.Return) -> Any:
        value = node.value or ast.copy_location(ast.Constant(None), node)
        true = ast.copy_location(ast.Constant(True), node)
        return ast.copy_location(
            ast.Return(ast.copy_location(ast.Tuple([true, value], ast.Load()), node)), node
        )

    def visit_FunctionDef(self, node: Any) -> Any:
        return node

    visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = visit_FunctionDef


def _local(names: set[str]) -> list[ast.stmt]:
    """Statements that never run, but make the names local variables."""
    return ast.parse(f"if False:\n  {' = '.join(sorted(names))} = None").body if names else []


def _placed(s: ast.stmt, where: ast.stmt) -> ast.stmt:
    """Give all nodes of a statement the source position of another one."""
    for node in ast.walk(s):
        ast.copy_location(node, where)
    return s


def _parsed(function: types.FunctionType) -> ast.FunctionDef | None:
    """The syntax tree of a function with the line numbers of its file. None if the source is not
    available or is not what was compiled.
    """
    code = function.__code__
    if code.co_flags & _OPEN or code.co_name == "<lambda>":
        return None
    try:
        linecache.checkcache(code.co_filename)
        lines = linecache.getlines(code.co_filename, function.__globals__)
        first = code.co_firstlineno
        lines = inspect.getblock(lines[first - 1 :])
        tree = ast.parse(
            "if 1:\n" + "".join(lines) if lines[0][:1].isspace() else "\n" + "".join(lines)
        )
    except (OSError, SyntaxError, TypeError, IndexError):
        return None
    ast.increment_lineno(tree, first - 2)
    found = next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)), None)
    if found is None or found.name != code.co_name:
        return None
    found.decorator_list, found.returns = [], None
    for a in (
        *found.args.posonlyargs,
        *found.args.args,
        *found.args.kwonlyargs,
        found.args.vararg,
        found.args.kwarg,
    ):
        if a is not None:
            a.annotation = None
    found.args.kw_defaults = [
        d and ast.copy_location(ast.Constant(None), d) for d in found.args.kw_defaults
    ]
    found.args.defaults = [ast.copy_location(ast.Constant(None), d) for d in found.args.defaults]
    try:
        again = _code(found, function, [])
    except (SyntaxError, LookupError, ValueError, StopIteration):
        return None
    return found if _spelled(again) == _spelled(code) else None


def _spelled(code: types.CodeType) -> list[Any]:
    """The instructions of code, line by line, in a form that ignores how Python distinguishes calls
    on imported modules from other calls.
    """
    found: list[Any] = []
    for i in dis.get_instructions(code):
        if i.opname not in ("PUSH_NULL", "PRECALL", "CACHE", "EXTENDED_ARG", "NOP"):
            value = i.argval.co_name if isinstance(i.argval, types.CodeType) else i.argval
            jumps = i.opcode in dis.hasjrel or i.opcode in dis.hasjabs
            found.append(
                (i.opname.replace("LOAD_METHOD", "LOAD_ATTR"), None if jumps else repr(value))
            )
    return [
        *found,
        sorted({line for *_, line in code.co_lines() if line not in (None, code.co_firstlineno)}),
    ]


def _code(tree: ast.FunctionDef, original: types.FunctionType, more: list[str]) -> types.CodeType:
    """Compile a function's tree in the same scope as the original."""
    code = original.__code__
    inner: ast.stmt = tree
    around = code.co_qualname.split(".")[:-1] if hasattr(code, "co_qualname") else []
    if around and around[-1] != "<locals>":  # inside a class, which mangles private names
        inner = ast.ClassDef(
            name=around[-1], bases=[], keywords=[], body=[tree], decorator_list=[], **_NEW
        )
    free = [n for n in code.co_freevars if n != "__class__" or inner is tree] + more
    given = ast.arguments(
        posonlyargs=[], args=[ast.arg(n) for n in free], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    maker = ast.FunctionDef(
        name="maker",
        args=given,
        body=[inner],
        decorator_list=[],
        returns=None,
        type_comment=None,
        **_NEW,
    )
    module = ast.fix_missing_locations(ast.Module([ast.copy_location(maker, tree)], []))
    found = compile(
        module, code.co_filename, "exec", flags=code.co_flags & _FUTURE, dont_inherit=True
    )
    for _ in range(2 if inner is tree else 3):
        found = next(c for c in found.co_consts if isinstance(c, types.CodeType))
    # Restore the qualified name, which Python shows in errors.
    return found.replace(co_qualname=code.co_qualname) if hasattr(code, "co_qualname") else found
