"""What a program says and never does: a comparison that is never or always true, a counter that
nobody counts, a seed that nobody reads.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..source.places import walk

_LAYERS = re.compile(r"(torch\.)?nn\.[A-Z]\w+$")
_MODULES = re.compile(r"\.(named_)?(modules|children)\(\)$")
_COUNTS = re.compile(
    r"^(global_|self\.)?_?(step|steps|iteration|iter|it|n_iter|n_steps|global_step|step_count|current_step|updates)$"
)
_SEED = re.compile(r"seed")
_SEEDS = re.compile(r"manual_seed|random\.seed|seed_everything|set_seed|default_rng")
Found = tuple[int, str, str]


def never_instances(root: ast.Module) -> Iterator[Found]:
    """`if module is nn.Linear` and `module == nn.Linear` of the modules of a model, and a name that
    is looked for in lower case in a class name.
    """
    for loop, names in _over_modules(root):
        for node in ast.walk(loop):
            if not isinstance(node, ast.Compare) or len(node.ops) != 1:
                continue
            left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
            if isinstance(node.ops[0], (ast.Is, ast.Eq, ast.In)) and left in names:
                kinds = node.comparators[0]
                several = (
                    kinds.elts if isinstance(kinds, (ast.Tuple, ast.List, ast.Set)) else [kinds]
                )
                if several and all(_LAYERS.match(ast.unparse(k)) for k in several):
                    yield (
                        node.lineno,
                        f"`{ast.unparse(node)}` is never true: `{left}` is a module and `{right}` a class, so the code below never runs.",
                        f"`isinstance({left}, {right})`",
                    )
            if isinstance(node.left, ast.Call) and isinstance(node.left.func, ast.Name):
                if node.left.func.id == "type" and isinstance(node.comparators[0], ast.Constant):
                    if isinstance(node.comparators[0].value, str):
                        yield (
                            node.lineno,
                            f"`{ast.unparse(node)}` is never true: a type never equals a string, so the code below never runs.",
                            f"`type({ast.unparse(node.left.args[0])}).__name__ == {right}`",
                        )


def _over_modules(root: ast.Module) -> Iterator[tuple[ast.AST, set[str]]]:
    """Loops over the modules of a model, and functions that are applied to them; with the names of
    the modules.
    """
    applied = {
        ast.unparse(a)
        for n in walk(root)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "apply"
        for a in n.args
    }
    for node in walk(root):
        if isinstance(node, ast.For) and _MODULES.search(ast.unparse(node.iter)):
            yield node, {t.id for t in ast.walk(node.target) if isinstance(t, ast.Name)}
        elif isinstance(node, ast.FunctionDef) and node.args.args:
            if node.name in applied or f"self.{node.name}" in applied:
                yield node, {node.args.args[-1].arg}


def always_true(root: ast.Module) -> Iterator[Found]:
    """`if "stem" or "body" in name:`, whose first text is true by itself."""
    for node in walk(root):
        if not isinstance(node, (ast.If, ast.IfExp, ast.comprehension)):
            continue
        tests = node.ifs if isinstance(node, ast.comprehension) else [node.test]
        for test in tests:
            if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.Or):
                continue
            text = next(
                (
                    v
                    for v in test.values
                    if isinstance(v, ast.Constant) and isinstance(v.value, str) and v.value
                ),
                None,
            )
            other = next((v for v in test.values if isinstance(v, ast.Compare)), None)
            if text is not None and other is not None:
                right = ast.unparse(other)
                each = (
                    f"`{ast.unparse(text)} in {ast.unparse(other.comparators[-1])} or ...`"
                    if isinstance(other.ops[-1], ast.In)
                    else f"`{ast.unparse(other.left)} in (...)`"
                )
                yield (
                    test.lineno,
                    f"this condition is always true: `{ast.unparse(text)}` is a text of its own beside `{right}` and counts as true.",
                    f"write the whole comparison for each text: {each}",
                )


def constant_counters(root: ast.Module) -> Iterator[Found]:
    """`beta = min(1.0, step / warm)` in a training loop, where nobody counts `step`."""
    for scope in (n for n in walk(root) if isinstance(n, (ast.FunctionDef, ast.Module))):
        own = list(_own(scope))
        stores: dict[str, list[ast.AST]] = {}
        for node in own:
            for name in _stored(node):
                stores.setdefault(name, []).append(node)
        shared = {n for s in own if isinstance(s, (ast.Global, ast.Nonlocal)) for n in s.names}
        elsewhere = {
            name
            for s in walk(root)
            if isinstance(s, (ast.Global, ast.Nonlocal))
            for name in s.names
        }
        for name, where in stores.items():
            start = where[0]
            if not _COUNTS.match(name) or len(where) != 1 or name in shared | elsewhere:
                continue
            if not _begins_at_zero(start, name):
                continue
            first = getattr(start, "lineno", 0)
            for loop in (n for n in own if isinstance(n, (ast.For, ast.While))):
                if loop.lineno < first or not _trains(loop):
                    continue
                use = next((u for u in ast.walk(loop) if _ramps(u, name)), None)
                if use is not None:
                    yield (
                        getattr(use, "lineno", loop.lineno),
                        f"`{name}` is set to 0 before the loop and never incremented, so `{ast.unparse(use)}` has the same value in every step.",
                        f"`{name} += 1` at the end of each step",
                    )
                    break


def _own(scope: ast.FunctionDef | ast.Module) -> Iterator[ast.AST]:
    """The nodes of a scope, without those of the functions in it."""
    waiting: list[ast.AST] = list(scope.body)
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)


def _stored(node: ast.AST) -> Iterator[str]:
    targets: list[ast.AST] = []
    if isinstance(node, ast.Assign):
        targets = list(node.targets)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For, ast.NamedExpr)):
        targets = [node.target]
    elif isinstance(node, ast.With):
        targets = [i.optional_vars for i in node.items if i.optional_vars is not None]
    elif isinstance(node, ast.comprehension):
        targets = [node.target]
    for target in targets:
        yield from (t.id for t in ast.walk(target) if isinstance(t, ast.Name))


def _begins_at_zero(node: ast.AST, name: str) -> bool:
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return False
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=False))
    else:
        pairs = [(target, value)]
    return any(
        isinstance(t, ast.Name)
        and t.id == name
        and isinstance(v, ast.Constant)
        and v.value == 0
        and not isinstance(v.value, bool)
        for t, v in pairs
    )


def _trains(loop: ast.AST) -> bool:
    return any(
        isinstance(n, ast.Call) and getattr(n.func, "attr", "") in ("step", "backward")
        for n in ast.walk(loop)
    )


def _ramps(node: ast.AST, name: str) -> bool:
    """Whether an expression is to change with the counter: `step / total`, `step * rate`."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, (ast.Div, ast.Mult, ast.Pow))
        and any(
            isinstance(side, ast.Name)
            and side.id == name
            or isinstance(side, ast.BinOp)
            and isinstance(side.op, ast.Add)
            and isinstance(side.left, ast.Name)
            and side.left.id == name
            for side in (node.left, node.right)
        )
    )


def unread_seeds(root: ast.Module) -> Iterator[Found]:
    """A seed for each run that nobody reads, where a constant one is set: all runs are the same."""
    for scope in walk(root):
        names: list[str] = []
        if isinstance(scope, ast.FunctionDef):
            names = [
                a.arg for a in (*scope.args.args, *scope.args.kwonlyargs) if _SEED.search(a.arg)
            ]
        elif isinstance(scope, ast.For):
            names = [
                t.id
                for t in ast.walk(scope.target)
                if isinstance(t, ast.Name) and _SEED.search(t.id)
            ]
        for name in names:
            body = [n for part in scope.body for n in ast.walk(part)]  # type: ignore[attr-defined]
            if any(isinstance(n, ast.Name) and n.id == name for n in body):
                continue
            for call in (n for n in body if isinstance(n, ast.Call)):
                if _SEEDS.search(ast.unparse(call.func)) and len(call.args) == 1:
                    if isinstance(call.args[0], ast.Constant):
                        yield (
                            call.lineno,
                            f"`{ast.unparse(call)}` sets a constant seed and ignores `{name}`, so different seeds give the same result.",
                            f"`{ast.unparse(call.func)}({name})`",
                        )
                        break
