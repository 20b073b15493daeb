"""Lines of the user's source without an event: where an attribute was assigned, where something was
added to a list.
"""

from __future__ import annotations

import ast
import functools
import linecache
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ....api.messages.written import tree as tree
from ....api.messages.written import walk as walk
from ....core.display.notebook import place
from ...events import Op, Site
from ...recording.names import locals_of
from ...rule import cause_site


class Place:
    """A line of the source; stands in for a `Site`."""

    __slots__ = ("file", "line")

    def __init__(self, file: str, line: int) -> None:
        self.file = file
        self.line = line

    @property
    def key(self) -> tuple[str, int]:
        """(file, line)."""
        return self.file, self.line

    @property
    def text(self) -> str:
        """The line without indentation."""
        return linecache.getline(self.file, self.line).strip()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return place(self.file, self.line)


def assignments(
    file: str, target: str, first: int = 1, last: int = 1 << 30
) -> Iterator[ast.Assign | ast.AnnAssign | ast.AugAssign]:
    """The statements between two lines that assign to `target` ("self.fc", "model")."""
    root = tree(file)
    for node in walk(root) if root is not None else ():
        if isinstance(node, ast.Assign):
            targets = [
                t
                for x in node.targets
                for t in (x.elts if isinstance(x, (ast.Tuple, ast.List)) else [x])
            ]
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)) and node.value is not None:
            targets = [node.target]
        else:
            continue
        if first <= node.lineno <= last and any(ast.unparse(t) == target for t in targets):
            yield node


@functools.lru_cache(maxsize=64)
def _functions(root: ast.Module) -> list[tuple[int, ast.FunctionDef]]:
    """(first line, decorators included; function) of every function of a file."""
    return [
        (min([node.lineno, *[d.lineno for d in node.decorator_list]]), node)
        for node in walk(root)
        if isinstance(node, ast.FunctionDef)
    ]


def function_around(file: str, line: int, first: int | None = None) -> ast.FunctionDef | None:
    """The innermost function around a line (that begins at line `first`, decorators included, if
    given).
    """
    root = tree(file)
    best: ast.FunctionDef | None = None
    for begins, node in _functions(root) if root is not None else ():
        if (
            first is not None
            and begins == first
            or first is None
            and begins <= line <= (node.end_lineno or 0)
        ):
            best = node if best is None or node.lineno > best.lineno else best
    return best


@functools.lru_cache(maxsize=256)
def _same_for_all(function: ast.FunctionDef) -> bool:
    """Whether a function takes arguments and does the same to whatever it is given."""
    arguments = function.args
    own = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    return (
        function.name != "__init__"
        and bool(own - {"self"})
        and not any(
            isinstance(n, (ast.If, ast.IfExp, ast.Compare, ast.Slice)) for n in ast.walk(function)
        )
    )


def chooser(recorder: Any) -> Any:
    """Where it is chosen what an operation that runs now is done to: the call of the function that
    it stands in, when that function does the same to whatever it is given; else its own place."""
    sites = recorder.callers()
    for site, outer in zip(sites, sites[1:], strict=False):
        function = function_around(site.file, site.line)
        if function is None or not _same_for_all(function) or site.file != outer.file:
            return site
    return sites[-1] if sites else None


class Repeated:
    """Lines that run again and again, and who called them: of a helper that several lines call, the
    call that repeats is what to change.
    """

    def __init__(self) -> None:
        # by place: how often each place outside of its function led to it
        self._callers: dict[Any, dict[Any, int]] = {}
        self._last: dict[Any, list[Any]] = {}

    def add(self, site: Any, stack: list[Any]) -> None:
        """`site` runs now; `stack` are the user's places that led to it, the innermost first."""
        if site is None or site not in stack or len(self._last) > 64:
            return
        stack = self._last[site] = stack[stack.index(site) :]
        for inner, outer in zip(stack, stack[1:], strict=False):
            held = self._callers.setdefault(inner, {})
            held[outer] = held.get(outer, 0) + 1

    def place(self, site: Any) -> Any:
        """The innermost place that led to `site` last and has been called from one place only."""
        for inner in self._last.get(site, [site]):
            if len(self._callers.get(inner, ())) < 2:
                return inner
        return site


def written_to(site: Any) -> str | None:
    """What a statement at a place writes into: `rows` of `rows[i] = x` and of `rows -= x`."""
    root = tree(site.file) if site is not None else None
    for node in walk(root) if root is not None else ():
        if isinstance(node, (ast.Assign, ast.AugAssign)) and node.lineno <= site.line <= (
            node.end_lineno or 0
        ):
            target: Any = node.targets[0] if isinstance(node, ast.Assign) else node.target
            return ast.unparse(target.value if isinstance(target, ast.Subscript) else target)
    return None


def receiver(text: str) -> str:
    """An expression as it is written before a method: an operation stands in parentheses."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return text
    plain = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
    return text if plain else f"({text})"


def assigned_before(site: Any, name: str) -> Place | None:
    """The last line before a place, in the same function, that assigns a variable or attribute;
    None when there is none.
    """
    function = function_around(site.file, site.line)
    first = function.lineno if function is not None else 1
    lines = [node.lineno for node in assignments(site.file, name, first, site.line - 1)]
    return Place(site.file, max(lines)) if lines else None


_PASSES = frozenset(
    "from_numpy tensor as_tensor asarray array float double to cpu astype DataLoader TensorDataset stack copy clone contiguous long "
    "FloatTensor Tensor ascontiguousarray".split()
)


def rows_chosen(site: Any, expression: str | None) -> Place | None:
    """The line that chose the rows of an expression, followed through assignments: of `x[val_rows]`
    the one that makes `val_rows`.
    """
    root = tree(site.file)
    try:
        node: Any = ast.parse(expression or "", mode="eval").body
    except SyntaxError:
        return None
    line, found, numbers = site.line, None, False
    for _ in range(12):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            # whose method it is
            of = node.func.value if isinstance(node.func, ast.Attribute) else None
            if of is not None and (
                name in ("DataLoader", "TensorDataset")
                or ast.unparse(of) in ("torch", "np", "numpy")
            ):
                of = None
            if name not in _PASSES or of is None and not node.args:
                return Place(site.file, line) if numbers else found
            node = node.args[0] if of is None else of
        elif isinstance(node, ast.Subscript):
            found = Place(site.file, line)
            if isinstance(node.slice, (ast.Slice, ast.Tuple, ast.Constant)) or numbers:
                return found
            node, numbers = node.slice, True
        elif isinstance(node, (ast.Name, ast.Attribute)):
            made = _assigned_to(root, site.file, ast.unparse(node), line)
            if made is None:
                return found
            line, node = made
            found = Place(site.file, line) if numbers else found
        else:
            return Place(site.file, line) if numbers else found
    return found


def _assigned_to(
    root: ast.Module | None, file: str, name: str, line: int
) -> tuple[int, ast.expr] | None:
    """(line, value) of the last assignment to a name before a line, in the same function or outside
    of any.
    """
    function = function_around(file, line)
    best: tuple[int, ast.expr] | None = None
    for node in walk(root) if root is not None else ():
        if not isinstance(node, ast.Assign) or node.lineno >= line and function is None:
            continue
        around = function_around(file, node.lineno)
        if (
            around is not None
            and around is not function
            or node.lineno >= line
            and around is function
        ):
            continue
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, (ast.Tuple, ast.List)):
                values = (
                    node.value.elts
                    if isinstance(node.value, ast.Tuple)
                    else [node.value] * len(target.elts)
                )
                pairs = list(zip(target.elts, values, strict=False))
            for part, value in pairs:
                if ast.unparse(part) == name and (best is None or node.lineno > best[0]):
                    best = node.lineno, value
    return best


def uncalled(files: list[str], method: str, owner: str | None = None) -> Place | None:
    """A statement that only names a method and does not call it: `optimizer.step` without the
    parentheses. With `owner` that of a variable or attribute with this name alone."""
    for file in files:
        root = tree(file)
        for node in walk(root) if root is not None else ():
            named = node.value if isinstance(node, ast.Expr) else None
            if isinstance(named, ast.Attribute) and named.attr == method:
                if (
                    owner is None
                    or ast.unparse(named.value).rpartition(".")[2] == owner.rpartition(".")[2]
                ):
                    return Place(file, named.lineno)
    return None


def loop_test(site: Any) -> Place | None:
    """Where a statement on the variable of a loop chooses what it is done to: the `if` around it,
    inside of that loop.
    """
    root = tree(site.file)
    best: tuple[int, ast.AST] | None = None
    for loop in walk(root) if root is not None else ():
        if not isinstance(loop, ast.For) or not loop.lineno <= site.line <= (loop.end_lineno or 0):
            continue
        for node in ast.walk(loop):
            if isinstance(node, ast.If) and node.lineno < site.line <= (node.end_lineno or 0):
                own = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
                if own & {n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)} and (
                    best is None or node.lineno > best[0]
                ):
                    best = node.lineno, node
    return Place(site.file, best[0]) if best is not None else None


def scopes(recorder: Any, script: str) -> list[tuple[dict[str, Any], str]]:
    """(variables, file) of the script, of the functions that run, and of the objects of the user's
    that these hold.
    """
    found: list[tuple[dict[str, Any], str]] = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        if not recorder.is_library(frame.f_code.co_filename):
            found.append((locals_of(frame), frame.f_code.co_filename))
        frame = frame.f_back
    main = sys.modules.get("__main__")
    if main is not None and not any(scope is vars(main) for scope, _ in found):
        found.append((vars(main), script))
    seen: set[int] = set()
    for scope, _ in tuple(found):
        for thing in list(scope.values()):
            inside = getattr(thing, "__dict__", None)
            if (
                isinstance(inside, dict)
                and not isinstance(thing, (type, ModuleType))
                and id(thing) not in seen
                and len(seen) < 200
            ):
                seen.add(id(thing))
                code = getattr(type(thing).__init__, "__code__", None)
                if code is not None and not recorder.is_library(code.co_filename):
                    children = inside.get("_modules")
                    found.append(
                        (
                            {**inside, **children} if isinstance(children, dict) else inside,
                            code.co_filename,
                        )
                    )
    return found


def attribute_place(recorder: Any, owner: Any, name: str) -> Any:
    """Where the class of a module, or of another object, assigns `self.<name>`, else where the child
    was made.
    """
    for kind in type(owner).__mro__:
        code = getattr(vars(kind).get("__init__"), "__code__", None)
        if code is None or recorder.is_library(code.co_filename):
            continue
        root = tree(code.co_filename)
        for node in walk(root) if root is not None else ():
            if (
                isinstance(node, ast.ClassDef)
                and node.name == kind.__name__
                and node.lineno <= code.co_firstlineno <= (node.end_lineno or 0)
            ):
                found = next(
                    assignments(
                        code.co_filename, f"self.{name}", node.lineno, node.end_lineno or 0
                    ),
                    None,
                )
                if found is not None:
                    return Place(code.co_filename, found.lineno)
                for call in ast.walk(node):
                    if (
                        isinstance(call, ast.Call)
                        and isinstance(call.func, ast.Attribute)
                        and call.func.attr
                        in (
                            "register_parameter",
                            "register_buffer",
                            "add_module",
                            "register_module",
                        )
                        and call.args
                        and getattr(call.args[0], "value", None) == name
                    ):
                        return Place(code.co_filename, call.lineno)
    child = getattr(owner, "_modules", {}).get(name)
    if child is not None and not is_users(recorder, child):
        return recorder.names.site_of(child)
    return None


def is_users(recorder: Any, module: Any) -> bool:
    """Whether a module's class is defined in the user's files."""
    code = getattr(type(module).__init__, "__code__", None)
    return code is not None and not recorder.is_library(code.co_filename)


def member_place(recorder: Any, root: Any, path: str) -> Any:
    """Where the child or parameter at a path below a root ("blocks.0.fc.weight") was put there, as
    deep as a line is known.
    """
    parts = path.split(".")
    owner, best = root, None
    for part in parts:
        found = attribute_place(recorder, owner, part)
        if found is not None:
            best = found
        owner = owner._modules.get(part)
        if owner is None:
            break
    return best


def loop_without(recorder: Any, root: Any, path: str) -> Any:
    """Of the last of several layers in a list: the loop that goes over the others,
    `zip(self.convs, self.norms)` where there are fewer norms, or `self.convs[:-1]`."""
    parts = path.split(".")
    at = next((k for k, part in enumerate(parts) if part.isdigit() and k), None)
    if at is None or int(parts[at]) == 0:
        return None
    owner = root.get_submodule(".".join(parts[: at - 1]))
    code = getattr(type(owner).forward, "__code__", None)
    if code is None or recorder.is_library(code.co_filename):
        return None
    function, name = (
        function_around(code.co_filename, code.co_firstlineno + 1, code.co_firstlineno),
        f"self.{parts[at - 1]}",
    )
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, (ast.For, ast.comprehension)):
            zipped = [
                n
                for n in ast.walk(node.iter)
                if isinstance(n, ast.Call)
                and getattr(n.func, "id", "") == "zip"
                and len(n.args) > 1
            ]
            cut = [
                n
                for n in ast.walk(node.iter)
                if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Slice)
            ]
            given = [ast.unparse(a) for z in zipped for a in z.args] + [
                ast.unparse(c.value) for c in cut
            ]
            if name in given:
                return Place(code.co_filename, node.iter.lineno)
    return None


def twin_place(recorder: Any, root: Any, path: str) -> Any:
    """Of a member that `forward` leaves out: the line that uses another one of its kind and size a
    second time, `self.norm1(x)` where `self.norm2(x)` was meant; None when there is none.
    """
    parts = path.split(".")
    for k, name in enumerate(parts):
        owner = root.get_submodule(".".join(parts[:k]))
        code = getattr(type(owner).forward, "__code__", None)
        if code is None or recorder.is_library(code.co_filename) or name not in owner._modules:
            continue
        own, shapes = owner._modules[name], _shapes(owner._modules[name])
        twins = [
            n
            for n, m in owner._modules.items()
            if n != name and type(m) is type(own) and _shapes(m) == shapes
        ]
        function = function_around(code.co_filename, code.co_firstlineno + 1, code.co_firstlineno)
        used: dict[str, list[int]] = {}
        for node in ast.walk(function) if function is not None else ():
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
                used.setdefault(node.attr, []).append(node.lineno)
        doubled = [n for n in twins if len(used.get(n, ())) == 2]
        if name not in used and len(doubled) == 1:
            lines = sorted(used[doubled[0]])
            order = list(owner._modules)
            later = order.index(name) > order.index(doubled[0])
            return Place(code.co_filename, lines[-1] if later else lines[0])
    return None


def _shapes(module: Any) -> list[Any]:
    return [tuple(p.shape) for p in module.parameters()] if module is not None else []


def overridden(recorder: Any, root: Any, path: str) -> bool:
    """Whether a member is a base class's own, whose forward uses it, and the class of the module
    has a forward that leaves it out: it was meant.
    """
    parts = path.split(".")
    for k in range(len(parts)):
        owner = root.get_submodule(".".join(parts[:k]))
        kind = type(owner)
        bases = [b for b in kind.__mro__[1:] if "forward" in vars(b)]
        code = getattr(vars(kind).get("forward"), "__code__", None)
        if code is None or recorder.is_library(code.co_filename):
            continue
        for base in bases:
            other, made = (
                getattr(vars(base).get("forward"), "__code__", None),
                getattr(vars(base).get("__init__"), "__code__", None),
            )
            if other is None or made is None or recorder.is_library(other.co_filename):
                continue
            if (
                parts[k] in other.co_names
                and parts[k] in made.co_names
                and parts[k] not in code.co_names
            ):
                return True
    return False


def birthplace(recorder: Any, value: Any) -> Any:
    """Where a parameter got the values that training began with: the line that drew, scaled or
    loaded it, else the one that made it.
    """
    written = recorder.filled.get(value.id)
    if written is not None and written.site is not None:
        return written.site
    if value.producer is not None and value.producer.site is not None:
        return value.producer.site
    tensor = value.tensor
    for module in recorder.names.alive():
        for name, p in module._parameters.items():
            if p is tensor and tensor is not None:
                return (
                    attribute_place(recorder, module, name)
                    if is_users(recorder, module)
                    else recorder.names.site_of(module)
                )
    return None


def given(recorder: Any, value: Any) -> Any:
    """The line on which the program gave a parameter values of its own, in the place of those that
    its module began with; None when it has not, or when they were loaded."""
    written = recorder.filled.get(value.id)
    if written is None or written.site is None or written.site in recorder.names.sites:
        return None
    call = written.site.call
    return (
        None
        if call is not None and "load" in (call.function or "")
        else recorder.fillers.get(value.id, written.site)
    )


def handed_in(recorder: Any, op: Any, argument: str, made: Any) -> Any:
    """Where the function in which an operation stands was called, if it was given what the
    operation gets, which was made outside of it.
    """
    if op.site is None or made.site is None or made.site.code is op.site.code:
        return None
    written, code = op.written(argument), op.site.code
    names = (
        {n.id for n in ast.walk(ast.parse(written, mode="eval")) if isinstance(n, ast.Name)}
        if written
        else set()
    )
    own = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) - {"self"}
    if not names & own:
        return None
    return called_from(code, recorder)


def dropped_at(op: Op, loss: Op | None = None) -> Any:
    """The line that throws a result away: `loss, _ = f(...)`, where it was made in f or in a model
    that is called so; the line of the loss, where the result has a name that nothing there reads.
    """
    sites = [op.site] if op.site is not None else []
    call = op.module
    while call is not None:
        sites += [call.site] if call.site is not None else []
        call = call.parent
    for site in sites:
        root = tree(site.file)
        for node in walk(root) if root is not None else ():
            if not isinstance(node, ast.Assign):
                continue
            names = {
                e.id
                for t in node.targets
                if isinstance(t, ast.Tuple)
                for e in t.elts
                if isinstance(e, ast.Name)
            }
            ignored = {name for name in names if name.startswith("_")}
            if not names or not ignored and (loss is None or loss.site is None):
                continue
            here = node.lineno <= site.line <= (node.end_lineno or 0)
            called = {
                getattr(c.func, "attr", getattr(c.func, "id", None))
                for c in ast.walk(node.value)
                if isinstance(c, ast.Call)
            }
            if not here and site.code.co_name not in called:
                continue
            if ignored:
                return Place(site.file, node.lineno)
            scope = function_around(site.file, node.lineno)
            if loss is not None and loss.site is not None and loss.site.file == site.file:
                near = function_around(site.file, loss.site.line) is scope
                inside: ast.AST | None = scope if scope is not None else root
                if near and inside is not None and names - _names_read(inside):
                    return loss.site
    return op.site


def _names_read(scope: ast.AST) -> set[str]:
    """The names that a function, or a whole file, reads."""
    return {
        n.id for n in ast.walk(scope) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }


def chosen(recorder: Any, op: Op) -> Any:
    """The line to change when an operation should not be there, `cause_site`; of a module whose
    class was handed to the function that made it, the call of that function."""
    module = (
        op.module.module
        if op.module is not None and not op.direct and op.module.made is not None
        else None
    )
    return (recorder.names.chosen_at(module) if module is not None else None) or cause_site(op)


def ended_at(recorder: Any, code: Any) -> Place | None:
    """The last `return` of a function of the program's; None for one of the library, or without
    source.
    """
    if code is None or recorder.is_library(code.co_filename):
        return None
    function = function_around(code.co_filename, code.co_firstlineno, code.co_firstlineno)
    inner = (
        {
            id(n)
            for f in ast.walk(function)
            if f is not function and isinstance(f, ast.FunctionDef)
            for n in ast.walk(f)
        }
        if function
        else set()
    )
    lines = (
        [n.lineno for n in ast.walk(function) if isinstance(n, ast.Return) and id(n) not in inner]
        if function is not None
        else []
    )
    return Place(code.co_filename, max(lines)) if lines else None


def left_early(site: Any, name: str) -> Place | None:
    """The `return` of a function that gives back what is made at a place, in a branch of its own,
    where another one goes on with a function of that name: `if self.training: return z`, before
    `return z.log_softmax(-1)`."""
    function = function_around(site.file, site.line)
    returns = (
        [n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]
        if function is not None
        else []
    )
    with_it = [n for n in returns if name in ast.unparse(n)]
    others = [n for n in returns if n not in with_it and n.lineno >= site.line]
    return Place(site.file, others[0].lineno) if with_it and len(others) == 1 else None


def aliased(site: Any) -> Any:
    """Where what a call calls was given arguments beforehand: `make = partial(Categorical, None)`
    of `make(scores)`; else the place itself.
    """
    call = getattr(site, "call", None)
    name = (call.function or "") if call is not None else ""
    found = [
        node.lineno
        for node in (assignments(site.file, name) if name else ())
        if isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).rpartition(".")[2] == "partial"
    ]
    return Place(site.file, found[0]) if len(found) == 1 else site


def called_from(code: Any, recorder: Any) -> Any:
    """The user's place from which the running function with this code was called, or None."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    frame = frame.f_back if frame is not None else None
    while frame is not None and recorder.is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return Site(frame.f_code, frame.f_lasti) if frame is not None else None


_SAYS_PROBABILITIES = re.compile(r"proba?s?($|_)|predict|probabilit")


def promised(found: Any) -> Any:
    """Where a function whose name promises probabilities calls the model that made scores, if it
    gives them back as they are.
    """
    call = found.op.module
    site = call.root.site if call is not None else None
    return (
        site
        if site is not None
        and _SAYS_PROBABILITIES.search(site.code.co_name)
        and "return" in site.text
        else None
    )


@functools.lru_cache(maxsize=256)
def asked_for(site: Site) -> bool:
    """Whether an argument of the function that a line stands in decides that it runs:
    `if probabilities:`, `... if squash else ...`.
    """
    function = function_around(site.file, site.line)
    if function is None:
        return False
    own = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)} - {"self"}
    for node in ast.walk(function):
        if isinstance(node, (ast.If, ast.IfExp)) and node.lineno <= site.line <= (
            node.end_lineno or 0
        ):
            if isinstance(node.test, ast.Name) and node.test.id in own:
                chosen = node.body if isinstance(node.body, list) else [node.body]
                return any(part.lineno <= site.line <= (part.end_lineno or 0) for part in chosen)
    return False


def note_caller(recorder: Any, op: Any, held: dict[int, Any]) -> None:
    """Remember, by number of the operation, who called the function that squashes scores, when its
    name promises probabilities: then the call is what has to go, not the squashing."""
    site = op.site
    if site is None or not op.direct:
        return
    asked = asked_for(site)
    if not asked and not _SAYS_PROBABILITIES.search(site.code.co_name):
        return
    if len(held) > 256:
        held.clear()
    caller = called_from(site.code, recorder)
    # not a hook, which no line calls
    if caller is not None and (asked or site.code.co_name in caller.text):
        held[op.number] = caller


def replaced_method(recorder: Any, name: str, values: list[Any]) -> Place | None:
    """Where the program's own class of a model with these parameters defines a method in the place
    of the library's, without calling that; None where it does not.
    """
    wanted = {id(t) for v in values if (t := v.tensor) is not None}
    for module in recorder.names.alive():
        code = getattr(getattr(type(module), name, None), "__code__", None)
        if code is None or recorder.is_library(code.co_filename):
            continue
        asked = {"grad", name, "_zero_grads"} & set(code.co_names)
        if not asked and any(id(p) in wanted for p in module.parameters()):
            return Place(code.co_filename, code.co_firstlineno)
    return None


def use_of_helper(made: Any, used: Any) -> Place | None:
    """The call of a helper, when other lines call it, too: where `used` is, or before it in the same
    function. `made` is a line of the helper that is right for the others; None where it serves one.
    """
    if made is None or used is None or made.code is used.code or made.file != used.file:
        return None
    helper, root = function_around(made.file, made.line), tree(made.file)
    scope = function_around(used.file, used.line) or root
    if helper is None or root is None or helper.name == "forward" or helper is scope:
        return None
    calls = [
        n for n in walk(root)
        if isinstance(n, ast.Call) and ast.unparse(n.func).rpartition(".")[2] == helper.name
    ]  # fmt: skip
    own = {id(n) for n in ast.walk(scope)}
    before = [n for n in calls if id(n) in own and n.lineno <= used.line]
    at = [n for n in before if n.lineno <= used.line <= (n.end_lineno or 0)] or before
    whole = len({n.lineno for n in calls}) > 1
    return Place(used.file, at[0].lineno) if whole and len(at) == 1 else None


def overridden_call(recorder: Any, name: str) -> Place | None:
    """Where a class of the program's defines a method in the place of one that calls `name`, and
    does not call it: that of an object whose method is running.
    """
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        owner = (
            locals_of(frame).get("self")
            if code.co_varnames[:1] == ("self",) and not recorder.is_library(code.co_filename)
            else None
        )
        kinds = type(owner).__mro__[:-1] if owner is not None else ()
        for kind in kinds:
            for method, held in vars(kind).items():
                theirs = getattr(held, "__code__", None)
                own = getattr(getattr(type(owner), method, None), "__code__", None)
                if theirs is None or own is None or own is theirs:
                    continue
                if name in theirs.co_names and not {name, "super"} & set(own.co_names):
                    return Place(own.co_filename, own.co_firstlineno)
        frame = frame.f_back
    return None
