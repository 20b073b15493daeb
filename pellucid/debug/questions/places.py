"""Lines without an event: where a module got its parameter, where a result is lost, where
unfreezing failed.
"""

from __future__ import annotations

import ast
import difflib
import linecache
import re
import sys
from collections.abc import Iterable, Mapping
from types import CodeType
from typing import Any

from ..._living import modules, with_attributes
from ...api.messages.written import tree, walk
from ...core.source import Line, Site, describe, is_library
from ...core.tensor import Parameter, Tensor
from .._names import STORING
from .._names import user_files as user_files

# what functions and exceptions hold
_INSIDE = r"(\.__(kw)?defaults__|'s closure variable |\.__(traceback|context|cause)__).*$"
_REGISTERING = ("register_buffer", "register_parameter", "add_module", "register_module")


def line_of(file: str, number: int, function: str) -> Line:
    """A line of a file, with its text."""
    return Line(file, number, function, linecache.getline(file, number).strip())


def scope_at(file: str, line: int) -> ast.AST | None:
    """The innermost function that a line is part of, else the file's module."""
    root = tree(file)
    nodes = walk(root) if root is not None else ()
    functions = [n for n in nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    around = [f for f in functions if f.lineno <= line <= (f.end_lineno or 0)]
    return max(around, key=lambda f: f.lineno, default=root)


def statements(scope: ast.AST | None) -> list[Any]:
    """The statements of a function or module in their order, without those of functions and classes
    inside of it.
    """
    found: list[Any] = []
    waiting = [*getattr(scope, "body", [])][::-1]
    while waiting:
        n = waiting.pop()
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        found.append(n)
        blocks = [getattr(n, part, []) for part in ("body", "orelse", "finalbody")]
        blocks += [part.body for part in (*getattr(n, "handlers", ()), *getattr(n, "cases", ()))]
        waiting += [one for block in reversed(blocks) for one in reversed(block)]
    return found


def returned_by(code: CodeType, returns: Mapping[CodeType, Site] | None = None) -> Line | None:
    """The line that a function returned from when its last call was noted, else its last one that
    returns or yields something.
    """
    if returns and code in returns:
        return describe(returns[code])
    scope = scope_at(code.co_filename, code.co_firstlineno + 1)
    given = [
        n.lineno
        for n in (ast.walk(scope) if scope is not None else ())
        if isinstance(n, (ast.Return, ast.Yield))
    ]
    return line_of(code.co_filename, max(given), code.co_qualname) if given else None


def stored_at(name: str, files: Iterable[str], made: Line | None = None) -> Line | None:
    """The line that puts something into the container or attribute that `name` leads to:
    `self.values.append(x)` for `meter.values[3]`, also for a variable that is another name of it. Of
    several the one where the value was made.
    """
    # a function that holds it by a default or closure lies itself in a container
    whole = re.sub(_INSIDE, "", name.partition(" in ")[0])
    held = re.sub(r"(\[[^\]]*\])+$", "", whole)
    word = re.split(r"[.\]]", held)[-1]
    for file in files:
        root = tree(file)
        nodes = list(walk(root)) if root is not None else []
        sure = _assigned_to(word, nodes) if "." in held else []
        words = [word] if held == whole else _aliases(word, nodes)
        begun = _beginnings(nodes)
        if held != whole:  # an empty container is no culprit
            sure = [n for n in sure if id(n) not in begun]
        ranked = []
        for n in nodes if held != whole else ():
            into = words_of(_put_into(n))[:1]
            if into and into[0] in words:
                ranked.append((id(n) in begun, words.index(into[0]), n))
        put = [n for _, _, n in sorted(ranked, key=lambda entry: entry[:2])]
        if made is not None and made.file == file:
            sure.sort(key=lambda n: not n.lineno <= made.line <= (n.end_lineno or 0))
        found = [*put[:1], *sure, *(_listed(words, nodes) if held != whole else ())]
        if found:
            return line_of(file, found[0].lineno, "")
    return None


def passed_at(stored: Line, kinds: tuple[type, ...]) -> Line | None:
    """The call that gave what a line stores, where the line stores a parameter of its function and
    the calls in the file pass expressions of some kinds for it: `memory.push(batch[0])`.
    """
    scope = scope_at(stored.file, stored.line)
    if not isinstance(scope, ast.FunctionDef):
        return None
    names = [a.arg for a in scope.args.args if a.arg not in ("self", "cls")]
    put = {
        n.id
        for n in walk(scope)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.lineno == stored.line
    }
    nodes: list[Any] = [*walk(tree(stored.file) or ast.Module([], []))]
    for n in nodes:
        func = getattr(n, "func", None)
        if not isinstance(n, ast.Call) or scope.name not in (
            getattr(func, "attr", None),
            getattr(func, "id", None),
        ):
            continue
        given = [*zip(names, n.args, strict=False), *((k.arg, k.value) for k in n.keywords)]
        if any(word in put and isinstance(value, kinds) for word, value in given):
            return line_of(stored.file, n.lineno, "")
    return None


def put_in_class(kind: type) -> Line | None:
    """The statement of a user's class of containers that puts something into itself:
    `self[key] = value`.
    """
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    root = tree(file) if file and not is_library(file) else None
    for c in walk(root) if root is not None else ():
        if isinstance(c, ast.ClassDef) and c.name == kind.__name__:
            inside: list[Any] = [*walk(c)]
            for n in inside:
                if words_of(_put_into(n))[:1] == ["self"]:
                    return line_of(str(file), n.lineno, "")
    return None


def words_of(place: Any) -> list[str]:
    """The name or attribute that an expression takes a part of, in a list: `rows` of
    `self.rows.setdefault(k, [])[0]`, of a call the names that it is given to.
    """
    while True:
        if isinstance(place, ast.Subscript):
            place = place.value
        elif isinstance(place, ast.Call) and isinstance(place.func, ast.Attribute):
            place = place.func.value
        else:
            break
    if isinstance(place, ast.Call):  # list(rows), sorted(rows)
        return [word for x in place.args for word in words_of(x)]
    word = getattr(place, "attr", getattr(place, "id", None))
    return [word] if isinstance(word, str) else []


def _put_into(n: Any) -> Any:
    """What a node of the source puts something into."""
    if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute):
        return n.func.value if n.func.attr in STORING else None
    if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Subscript):
        return n.targets[0].value
    return n.target if isinstance(n, ast.AugAssign) else None


def _assigned_to(attribute: str, nodes: list[Any]) -> list[Any]:
    """The statements that assign an attribute, those that only begin it last."""
    found = [
        n
        for n in nodes
        if isinstance(n, (ast.Assign, ast.AugAssign))
        for one in (n.targets if isinstance(n, ast.Assign) else [n.target])
        if any(getattr(t, "attr", None) == attribute for t in getattr(one, "elts", [one]))
    ]
    begun = _beginnings(nodes)
    return sorted(found, key=lambda n: id(n) in begun)


def _beginnings(nodes: list[Any]) -> set[int]:
    """The `id`s of the nodes that only begin a value: those of `__init__`, assignments of constants."""
    inits = (n for n in nodes if isinstance(n, ast.FunctionDef) and n.name == "__init__")
    found = {id(n) for f in inits for n in ast.walk(f)}
    return found | {
        id(n) for n in nodes if isinstance(n, ast.Assign) and isinstance(n.value, ast.Constant)
    }


def _aliases(word: str, nodes: list[Any]) -> list[str]:
    """The names and attributes that may lead to the same container, nearest first."""
    given = [
        (t, n.value)
        for n in nodes
        if isinstance(n, ast.Assign)
        for one in n.targets
        for t in getattr(one, "elts", [one])
        if isinstance(t, (ast.Name, ast.Attribute))
    ]
    results = {
        f.name: [n.value for n in ast.walk(f) if isinstance(n, ast.Return)]
        for f in nodes
        if isinstance(f, ast.FunctionDef)
    }
    words = [word]
    for one in words:  # which grows
        for target, value in given:
            into = words_of(target)[0]
            callee = getattr(value, "func", None)
            called = getattr(callee, "attr", getattr(callee, "id", ""))
            parts = results.get(called, [value])
            sources = [w for v in parts for x in getattr(v, "elts", [v]) for w in words_of(x)]
            if into == one:
                words += [w for w in dict.fromkeys(sources) if w not in words]
            elif (
                one in sources
                and into not in words
                and isinstance(value, (ast.Subscript, ast.Call))
            ):
                words.append(into)
        if len(words) > 16:
            break
    return words


def _listed(words: list[str], nodes: list[Any]) -> list[Any]:
    """The statements that make a container with all that is in it."""
    return [
        n
        for n in nodes
        if isinstance(n, ast.Assign)
        and isinstance(n.value, (ast.ListComp, ast.List, ast.Dict, ast.DictComp))
        and getattr(n.value, "elts", getattr(n.value, "keys", True))
        and words_of(n.targets[0])[:1] == words[:1]
    ]


def defined_at(t: Tensor) -> Line | None:
    """The user's line that made a parameter or buffer part of a module."""
    alive = modules()
    parents = {
        id(child): (m, key)
        for m, own in alive
        for key, child in own["_modules"].items()
        if child is not None
    }
    held = next(
        (
            (m, key)
            for m, own in alive
            for table in ("_parameters", "_buffers")
            for key, p in own.get(table, {}).items()
            if p is t
        ),
        None,
    )
    for _ in range(32):
        if held is None:
            break
        found = assigned_in_class(type(held[0]), held[1])
        if found is not None:
            return found
        held = parents.get(id(held[0]))
    return None


def leads_to(line: Line, name: str) -> bool:
    """Whether a line is part of a statement that assigns a variable, or of a function whose result
    such a statement uses.
    """
    root = tree(line.file)
    nodes = list(ast.walk(root)) if root is not None else []
    given = [
        n
        for n in nodes
        if isinstance(n, (ast.Assign, ast.AugAssign, ast.AnnAssign))
        and any(
            ast.unparse(part) == name
            for target in (n.targets if isinstance(n, ast.Assign) else [n.target])
            for part in (target.elts if isinstance(target, ast.Tuple) else [target])
        )
    ]
    if any(n.lineno <= line.line <= (n.end_lineno or 0) for n in given):
        return True
    around = [
        n
        for n in nodes
        if isinstance(n, ast.FunctionDef) and n.lineno <= line.line <= (n.end_lineno or 0)
    ]
    inner = max(around, key=lambda f: f.lineno, default=None)
    return inner is not None and any(
        isinstance(c, ast.Call) and ast.unparse(c.func).split(".")[-1] == inner.name
        for n in given
        for c in ast.walk(n)
    )


def is_lost(line: Line) -> bool:
    """Whether the result of a statement goes nowhere: nobody keeps it, or only a variable that is
    never read.
    """
    root = tree(line.file)
    functions = (
        [n for n in ast.walk(root) if isinstance(n, ast.FunctionDef)] if root is not None else []
    )
    inside = [f for f in functions if f.lineno <= line.line <= (f.end_lineno or 0)]
    scope = max(inside, key=lambda f: f.lineno, default=root)
    for node in ast.walk(scope) if scope is not None else ():
        if isinstance(node, (ast.Expr, ast.Assign)) and node.lineno <= line.line <= (
            node.end_lineno or 0
        ):
            if isinstance(node, ast.Expr):
                return (
                    isinstance(node.value, (ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Compare))
                    or isinstance(node.value, ast.Call)
                    and bool(inside)
                )
            names = {t.id for t in node.targets if isinstance(t, ast.Name)}
            read = (
                {
                    n.id
                    for n in ast.walk(scope)
                    if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
                }
                if scope is not None
                else set()
            )
            return bool(inside and names) and len(names) == len(node.targets) and not names & read
    return False


def unfreezing(t: Tensor, frozen: Line, switched_on: set[tuple[str, int]]) -> Line | None:
    """The line that was to set `requires_grad` to True again, and did nothing: it gives another
    attribute a value, that of a module, or its condition is never true."""
    root = tree(frozen.file)
    parents = (
        {child: node for node in ast.walk(root) for child in ast.iter_child_nodes(node)}
        if root is not None
        else {}
    )
    for node in ast.walk(root) if root is not None else ():
        if (
            isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Attribute)
        ):
            word, value = node.targets[0].attr, node.value
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "requires_grad_"
        ):
            word, value = "requires_grad", node.args[0] if node.args else ast.Constant(True)
        else:
            continue
        if (
            getattr(value, "value", None) is not True
            or (frozen.file, node.lineno) in switched_on
            or node.lineno == frozen.line
        ):
            continue
        misspelt = (
            word != "requires_grad"
            and word in (getattr(t, "__dict__", None) or {})
            and difflib.get_close_matches(word, ["requires_grad"])
        )
        if not misspelt and word != "requires_grad":
            continue
        outer: ast.AST | None = node
        condition = None
        while outer is not None and not isinstance(outer, (ast.FunctionDef, ast.For)):
            condition = outer if isinstance(outer, ast.If) else condition
            outer = parents.get(outer)
        called = not isinstance(outer, ast.FunctionDef) or any(
            isinstance(n, ast.Call)
            and getattr(n.func, "id", getattr(n.func, "attr", None)) == outer.name
            for n in parents
        )
        if called:
            return line_of(
                frozen.file,
                condition.lineno if condition is not None and not misspelt else node.lineno,
                frozen.function,
            )
    return None


def alias_at(frozen: Line) -> Line | None:
    """The assignment that gave a module a second name, `self.teacher = student`, under which a line
    freezes it; None when the name is the module's own.
    """
    root = tree(frozen.file)
    nodes = list(walk(root)) if root is not None else []
    heads = [
        n.iter
        for n in nodes
        if isinstance(n, ast.For) and n.lineno <= frozen.line <= (n.end_lineno or 0)
    ]
    heads += [
        n
        for n in nodes
        if isinstance(n, ast.Call)
        and n.lineno == frozen.line
        and getattr(n.func, "attr", "") == "requires_grad_"
    ]
    names = {
        ast.unparse(c.func.value)
        for head in heads
        for c in ast.walk(head)
        if isinstance(c, ast.Call) and isinstance(c.func, ast.Attribute)
    }
    given = [n for n in nodes if isinstance(n, ast.Assign) and len(n.targets) == 1]
    for n in given:
        if ast.unparse(n.targets[0]) not in names or not isinstance(
            n.value, (ast.Name, ast.Attribute)
        ):
            continue
        other = ast.unparse(n.value)
        made = [m for m in given if m is not n and ast.unparse(m.targets[0]) == other]
        if any(isinstance(m.value, ast.Call) for m in made) or any(
            m is not n and ast.unparse(m.value) == other for m in given
        ):
            return line_of(frozen.file, n.lineno, frozen.function)
    return None


def assigned_in_class(kind: type, attribute: str) -> Line | None:
    """The statement of a class of the user's that assigns `self.<attribute>`, or registers it by
    its name.
    """
    for base in kind.__mro__:
        code: Any = getattr(vars(base).get("__init__"), "__code__", None)
        if code is None or is_library(code.co_filename):
            continue
        root = tree(code.co_filename)
        for node in ast.walk(root) if root is not None else ():
            if not isinstance(node, ast.ClassDef) or not node.lineno <= code.co_firstlineno <= (
                node.end_lineno or 0
            ):
                continue
            for inner in ast.walk(node):
                if isinstance(inner, ast.Assign):
                    flat = [
                        x
                        for t in inner.targets
                        for x in (t.elts if isinstance(t, ast.Tuple) else [t])
                    ]
                    if any(ast.unparse(x) == f"self.{attribute}" for x in flat):
                        return line_of(code.co_filename, inner.lineno, f"{base.__name__}.__init__")
                elif (
                    isinstance(inner, ast.Call)
                    and isinstance(inner.func, ast.Attribute)
                    and inner.func.attr in _REGISTERING
                ):
                    if inner.args and getattr(inner.args[0], "value", None) == attribute:
                        return line_of(code.co_filename, inner.lineno, f"{base.__name__}.__init__")
    return None


_COPIES = (
    "target teacher ema old ref reference frozen momentum copy copied prev previous best snapshot backup initial original slow"
).split()


def second_name(t: Tensor, named_so: bool = False) -> Line | None:
    """The assignment that gave the module which holds a parameter a second name, `target = online`,
    where a copy was meant; with `named_so` only if the name says that it is one.
    """
    if not isinstance(t, Parameter):
        return None
    alive = modules()
    networks = {id(m): own["_modules"] for m, own in alive}
    holding = {id(m) for m, own in alive if any(p is t for p in own["_parameters"].values())}
    parents = holding
    while parents:
        parents = {
            m
            for m, parts in networks.items()
            if m not in holding and any(id(part) in holding for part in parts.values())
        }
        holding |= parents
    owners: list[Any] = []
    for x, own in with_attributes() if holding else ():
        parts = networks.get(id(x))
        names = {**own, **parts} if parts else own
        if not issubclass(type(x), (type, Tensor)) and any(
            id(value) in holding for value in names.values()
        ):
            owners.append(names)
    for file in user_files():
        root = tree(file)
        for n in walk(root) if root is not None else ():
            if not isinstance(n, ast.Assign) or len(n.targets) != 1:
                continue
            new, old = (getattr(x, "attr", getattr(x, "id", "")) for x in (n.targets[0], n.value))
            if not isinstance(n.value, (ast.Name, ast.Attribute)) or new == old:
                continue
            if named_so and not set(_COPIES) & set(re.split(r"_|\d", new.lower())):
                continue
            same = any(id(o.get(new)) in holding and o.get(old) is o[new] for o in owners)
            if same or not named_so and _both_called(n, scope_at(file, n.lineno)):
                return line_of(file, n.lineno, "")
    return None


def _both_called(n: ast.Assign, scope: Any) -> bool:
    """Whether a function calls a network, by what it knows of its parameters, under both names of an
    assignment: its variables are gone.
    """
    if not isinstance(scope, ast.FunctionDef):
        return False
    names = {ast.unparse(n.targets[0]), ast.unparse(n.value)}
    calls = [c.func for c in ast.walk(scope) if isinstance(c, ast.Call)]
    trained = any(
        isinstance(f, ast.Attribute) and f.attr == "parameters" and ast.unparse(f.value) in names
        for f in calls
    )
    return trained and names <= {ast.unparse(f) for f in calls}
