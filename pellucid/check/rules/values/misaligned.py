"""Find in the source where inputs and labels get different orders, for losses that do not fall."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..source.places import Place, tree, walk

_PARTS = (ast.Slice, ast.Tuple, ast.Subscript)
_PERMUTATIONS = ("randperm", "permutation", "randint", "choice")
_SHUFFLES = ("shuffle", "permutation", "permuted")


def apart(file: str) -> Place | None:
    """The first line of a file that orders two things that belong together each in its own way."""
    root = tree(file)
    if root is None:
        return None
    lines = [
        *_shuffled(root),
        *_alone(root),
        *_indexed(root),
        *_zipped(root),
        *_items(root),
        *_rolled(root),
        *_partly(root),
        *_returned(root),
        *_by_length(root),
    ] or [*_listed(root)]
    return Place(file, min(lines)) if lines else None


def _called(node: ast.AST) -> str:
    return (
        ""
        if not isinstance(node, ast.Call)
        else node.func.attr
        if isinstance(node.func, ast.Attribute)
        else getattr(node.func, "id", "")
    )


def _bodies(root: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in walk(root):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list):
                yield body


def _shuffled(root: ast.AST) -> list[int]:
    """`shuffle(x)` and `shuffle(y)`, one after the other, without a seed between."""
    found = []
    for body in _bodies(root):
        calls = []
        for statement in body:
            value = getattr(statement, "value", None)
            if (
                _called(value) in _SHUFFLES
                and value.args
                and isinstance(value.args[0], (ast.Name, ast.Attribute))
            ):
                calls.append((statement.lineno, ast.unparse(value.args[0])))
            elif "seed" in _called(value) or "set_state" in _called(value):
                calls.clear()
        if len({name for _, name in calls}) >= 2:
            found.append(calls[0][0])
    return found


def _alone(root: ast.AST) -> list[int]:
    """`shuffle(x)` of an array that is cut in the same places as another one, which is not shuffled:
    `x[i : i + n]` and `y[i : i + n]`.
    """
    shuffled: dict[str, int] = {}
    cuts: dict[str, set[str]] = {}
    for node in walk(root):
        if isinstance(node, ast.Call) and _called(node) == "shuffle" and node.args:
            if isinstance(node.args[0], (ast.Name, ast.Attribute)):
                shuffled.setdefault(ast.unparse(node.args[0]), node.lineno)
        elif (
            isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Load)
            and isinstance(node.slice, ast.Slice)
            and not isinstance(node.slice.lower, (ast.Constant, type(None)))
        ):
            cuts.setdefault(ast.unparse(node.slice), set()).add(ast.unparse(node.value))
    return [
        line
        for name, line in shuffled.items()
        if any(name in names and names - shuffled.keys() for names in cuts.values())
    ]


def _indexed(root: ast.AST) -> list[int]:
    """`x[randperm(n)]` and `y[randperm(n)]`, also through two variables."""
    found = []
    for body in _bodies(root):
        made: dict[str, int] = {}
        used: dict[Any, tuple[set[str], int]] = {}
        for statement in body:
            if isinstance(
                statement, (ast.FunctionDef, ast.ClassDef, ast.For, ast.While, ast.If, ast.With)
            ):
                continue
            value = getattr(statement, "value", None)
            if isinstance(statement, ast.Assign) and _called(value) in _PERMUTATIONS:
                made |= {ast.unparse(t): statement.lineno for t in statement.targets}
            for n in ast.walk(statement):
                if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load):
                    key = (
                        ast.unparse(n.slice)
                        if ast.unparse(n.slice) in made
                        else n
                        if _called(n.slice) in _PERMUTATIONS
                        else None
                    )
                    if key is not None:
                        used.setdefault(key, (set(), statement.lineno))[0].add(ast.unparse(n.value))
        groups = [(names, line) for names, line in used.values()]
        if (
            len(groups) >= 2
            and all(len(names) == 1 for names, _ in groups)
            and len(set().union(*[names for names, _ in groups])) >= 2
        ):
            found.append(min(line for _, line in groups))
    return found


def _zipped(root: ast.AST) -> list[int]:
    """`zip(loader_x, loader_y)` of two loaders that shuffle each for itself."""
    loaders = {
        ast.unparse(t)
        for n in walk(root)
        if isinstance(n, ast.Assign)
        and isinstance(n.value, ast.Call)
        and _called(n.value) == "DataLoader"
        and any(
            k.arg == "shuffle" and getattr(k.value, "value", None) is True for k in n.value.keywords
        )
        for t in n.targets
    }
    zips = [n for n in walk(root) if isinstance(n, ast.Call) and _called(n) == "zip"]
    return [n.lineno for n in zips if len({ast.unparse(a) for a in n.args} & loaders) >= 2]


def _items(root: ast.AST) -> list[int]:
    """`return self.x[i], self.y[i + 1]` of a `__getitem__`."""
    found = []
    for function in walk(root):
        if (
            not isinstance(function, ast.FunctionDef)
            or function.name != "__getitem__"
            or len(function.args.args) < 2
        ):
            continue
        index = function.args.args[1].arg
        for n in ast.walk(function):
            if isinstance(n, ast.Return) and isinstance(n.value, ast.Tuple):
                picked = [
                    (ast.unparse(s.value), ast.unparse(s.slice))
                    for e in n.value.elts
                    for s in ast.walk(e)
                    if isinstance(s, ast.Subscript)
                    and not isinstance(s.slice, _PARTS)
                    and index in ast.unparse(s.slice)
                ]
                if (
                    len({key for _, key in picked}) >= 2
                    and len({array for array, _ in picked}) >= 2
                ):
                    found.append(n.lineno)
    return found


def _rolled(root: ast.AST) -> list[int]:
    """Labels that are rolled or flipped alone."""
    names = ("y", "label", "target")
    return [
        n.lineno
        for n in walk(root)
        if isinstance(n, ast.Assign)
        and _called(n.value) in ("roll", "flip", "flipud")
        and any(ast.unparse(t).startswith(names) for t in n.targets)
    ]


def _partly(root: ast.AST) -> list[int]:
    """`TensorDataset(x[order], y)`: a random order for one of several things that belong together."""
    orders = {
        ast.unparse(t)
        for n in walk(root)
        if isinstance(n, ast.Assign) and _called(n.value) in ("randperm", "permutation")
        for t in n.targets
    }
    found = []
    for n in walk(root):
        given = (
            n.args
            if isinstance(n, ast.Call) and _called(n) in ("TensorDataset", "zip", "fit")
            else ()
        )
        ordered = [
            a
            for a in given
            if isinstance(a, ast.Subscript)
            and (ast.unparse(a.slice) in orders or _called(a.slice) in _PERMUTATIONS)
        ]
        if isinstance(n, ast.Call) and ordered and len(ordered) < len(given):
            found.append(n.lineno)
    return found


def _returned(root: ast.AST) -> list[int]:
    """`return x[order], y`, or `x = x[order]`: a random order that only one thing is put into, and that
    is not handed on.
    """
    found = []
    for scope in (root, *(n for n in walk(root) if isinstance(n, ast.FunctionDef))):
        orders = {
            t.id
            for n in _own(scope)
            if isinstance(n, ast.Assign) and _called(n.value) in ("randperm", "permutation")
            for t in n.targets
            if isinstance(t, ast.Name)
        }
        for order in orders:
            uses = [n for n in _own(scope) if isinstance(n, ast.Name) and n.id == order]
            put = [
                n
                for n in _own(scope)
                if isinstance(n, ast.Subscript) and ast.unparse(n.slice) == order
            ]
            if len(put) != 1 or len(uses) != 2:  # made, and used once
                continue
            one = ast.unparse(put[0].value)
            for n in _own(scope):
                value = n.value if isinstance(n, (ast.Assign, ast.Return)) else None
                if value is None or not any(x is put[0] for x in ast.walk(value)):
                    continue
                parts = value.elts if isinstance(value, ast.Tuple) else []
                beside = [ast.unparse(x) for x in parts if isinstance(x, (ast.Name, ast.Attribute))]
                itself = isinstance(n, ast.Assign) and value is put[0]
                if (beside and one not in beside) or (itself and ast.unparse(n.targets[0]) == one):
                    found.append(n.lineno)
    return found


def _own(scope: ast.AST) -> Iterator[Any]:
    """The nodes of a function or module, without those of functions inside."""
    waiting = [*ast.iter_child_nodes(scope)]
    while waiting:
        n = waiting.pop()
        yield n
        if not isinstance(n, (ast.FunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(n)


def _by_length(root: ast.AST) -> list[int]:
    """`batch.sort(key=len)`, `xs = sorted(xs, key=len)`: sequences in another order than what was
    listed beside them.
    """
    found = []
    for n in walk(root):
        if not isinstance(n, ast.Call) or _called(n) not in ("sort", "sorted"):
            continue
        key = next((k.value for k in n.keywords if k.arg == "key"), None)
        if isinstance(key, ast.Lambda) and len(key.args.args) == 1:
            own, text = key.args.args[0].arg, ast.unparse(key.body)
            whole = text in (
                f"len({own})",
                f"{own}.shape[0]",
                f"{own}.size(0)",
                f"-len({own})",
                f"-{own}.shape[0]",
            )
        else:
            whole = isinstance(key, ast.Name) and key.id == "len"
        if whole:
            found.append(n.lineno)
    return found


def _listed(root: ast.AST) -> list[int]:
    """`sorted(names)` and directory listings, which may order files otherwise than their labels."""
    return [
        n.lineno
        for n in walk(root)
        if isinstance(n, ast.Call)
        and _called(n) in ("sorted", "listdir", "glob", "iterdir")
        and not any(k.arg == "key" for k in n.keywords)
    ]
