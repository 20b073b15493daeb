"""Leaks that the source shows: rows that are drawn twice, a series that is scaled before it is cut.
What NumPy does to arrays is not recorded.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from ..source.places import Place, tree, walk

TRAIN = re.compile(r"(^|[^a-z])(\w*_)?x?(tr|trn|train|training)([^a-z]|$)", re.IGNORECASE)
HELD_OUT = re.compile(
    r"(^|[^a-z])(\w*_)?x?(va|val|valid|validation|te|tst|test|testing|dev|holdout|heldout)([^a-z]|$)",
    re.IGNORECASE,
)
_DRAWS = ("choice", "permutation", "randperm", "sample")


def leaks_written(recorder: Any, script: str) -> Iterator[tuple[Place, dict[str, Any]]]:
    """(place, what to report) of each of them."""
    for file in recorder.files(script) if recorder.step else ():
        root = tree(file)
        for now, before in drawn_twice(root) if root is not None else ():
            yield (
                Place(file, max(now.lineno, before.lineno)),
                {
                    "message": "the rows for training and those for evaluation are each drawn from all rows, so both have many of them.",
                    "evidence": {"training": ast.unparse(before), "evaluation": ast.unparse(now)},
                    "fix": "draw once, and split: `order = rng.permutation(n); train, test = order[:k], order[k:]`",
                },
            )
        for statement in scaled_before_cut(root) if root is not None else ():
            yield (
                Place(file, statement.lineno),
                {
                    "message": "all rows are scaled with statistics of all rows before the split into training and evaluation rows: the "
                    "evaluation rows influence how the training rows are scaled.",
                    "evidence": {"statement": ast.unparse(statement)},
                    "fix": "split first, compute mean and standard deviation from the training rows, and use them for both",
                    "severity": "warning",
                },
            )


def _scopes(root: ast.Module) -> Iterator[list[ast.stmt]]:
    """The blocks that run one statement after another: of the file, and of its functions."""
    yield root.body
    for node in walk(root):
        if isinstance(node, ast.FunctionDef):
            yield node.body


def drawn_twice(root: ast.Module) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    """(held-out rows, training rows) that are each drawn from all rows, so that they have some in
    common.
    """
    for block in _scopes(root):
        draws: list[tuple[str, str, ast.stmt]] = []
        for statement in block:
            if (
                isinstance(statement, ast.Assign)
                and len(statement.targets) == 1
                and isinstance(statement.targets[0], ast.Name)
                and (of := _population(statement.value)) is not None
            ):
                draws.append((statement.targets[0].id, of, statement))
        held = [d for d in draws if HELD_OUT.search(d[0]) and not TRAIN.search(d[0])]
        train = [d for d in draws if TRAIN.search(d[0])]
        for name, of, statement in held:
            for other, from_, before in train:
                if of == from_ and _rows_of(block, name) & _rows_of(block, other):
                    yield statement, before


def _population(value: ast.expr) -> str | None:
    """What rows are drawn from, where an expression is such a draw, or a part of one."""
    while isinstance(value, ast.Subscript) or _is_conversion(value):
        value = value.value if isinstance(value, ast.Subscript) else value.func.value  # type: ignore[attr-defined]
    if not isinstance(value, ast.Call) or not value.args:
        return None
    name = getattr(value.func, "attr", getattr(value.func, "id", ""))
    if name not in _DRAWS or any(k.arg in ("p", "generator") for k in value.keywords):
        return None
    return ast.unparse(value.args[0])


def _is_conversion(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in ("tolist", "numpy", "long", "astype", "sort")
    )


def _rows_of(block: list[ast.stmt], name: str) -> set[str]:
    """What is indexed with a variable."""
    return {
        ast.unparse(n.value)
        for statement in block
        for n in ast.walk(statement)
        if isinstance(n, ast.Subscript)
        and any(isinstance(i, ast.Name) and i.id == name for i in ast.walk(n.slice))
    }


def scaled_before_cut(root: ast.Module) -> Iterator[ast.stmt]:
    """`x = (x - x.mean()) / x.std()`, of which `x[:n]` is for training and `x[n:]` is not."""
    for block in _scopes(root):
        for k, statement in enumerate(block):
            if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
                continue
            target = statement.targets[0]
            if isinstance(target, ast.Name) and _is_scaled(statement.value):
                parts = [list(_cuts(s, target.id)) for s in block[k + 1 :]]
                ends = {
                    e for s, cuts in zip(block[k + 1 :], parts, strict=True)
                    for kind, e in cuts if kind == "to" and TRAIN.search(ast.unparse(s))
                }  # fmt: skip
                begins = {
                    e for s, cuts in zip(block[k + 1 :], parts, strict=True)
                    for kind, e in cuts if kind == "from" and HELD_OUT.search(ast.unparse(s))
                }  # fmt: skip
                if ends & begins:
                    yield statement


def _is_scaled(value: ast.expr) -> bool:
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Div):
        return False
    top, below = value.left, value.right
    if not isinstance(top, ast.BinOp) or not isinstance(top.op, ast.Sub):
        return False
    name = ast.unparse(top.left)
    statistic = re.compile(
        rf"^\(?({re.escape(name)}\.(mean|std|min|max)|np\.(mean|std|min|max)\({re.escape(name)})"
    )
    return (
        isinstance(top.left, ast.Name)
        and bool(statistic.match(ast.unparse(top.right)))
        and bool(statistic.match(ast.unparse(below)))
        and not re.search(r"(axis|dim)=\(?(1|-1)|\((1|-1)[,)]", ast.unparse(value))
    )


def _cuts(statement: ast.stmt, name: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(statement):
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name)
            and node.value.id == name
            and isinstance(part := node.slice, ast.Slice)
            and part.step is None
            and (part.lower is None) != (part.upper is None)
        ):
            yield (
                ("to", ast.unparse(part.upper)) if part.upper else ("from", ast.unparse(part.lower))
            )
