"""Loops over the rewards of a rollout that spans several episodes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..source.places import tree, walk

_BACKWARDS = re.compile(r"reversed\(|\[::-1\]|range\(.*, -1, -1\)")
_REWARD = re.compile(r"rew|(^|[^a-z])rs?([^a-z]|$)", re.I)
_DISCOUNT = re.compile(r"gamma|discount|(^|[^\d.])0?\.9", re.I)
_END = re.compile(r"done|term|trunc|mask|alive|end|cont|finish|over|last", re.I)
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr)


def across_episodes(file: str) -> Iterator[tuple[int, str]]:
    """(line, statement) of returns that are summed backwards over a rollout that resets its
    environment in between, without a look at the ends.
    """
    root = tree(file)
    if root is None or not any(_spans_episodes(n) for n in walk(root)):
        return
    for loop in walk(root):
        if not isinstance(loop, ast.For) or not _BACKWARDS.search(ast.unparse(loop.iter)):
            continue
        if _END.search(ast.unparse(loop)):
            continue  # whatever it does with them
        for node in loop.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name, text = node.targets[0].id, ast.unparse(node.value)
                if (
                    re.search(rf"\b{name}\b", text)
                    and _REWARD.search(text)
                    and _DISCOUNT.search(text)
                    and isinstance(node.value, ast.BinOp)
                    and isinstance(node.value.op, ast.Add)
                ):
                    yield node.lineno, ast.unparse(node)


def _spans_episodes(loop: ast.AST) -> bool:
    """Whether a loop of steps resets its environment at the end of an episode and goes on."""
    if not isinstance(loop, (ast.For, ast.While)):
        return False
    steps = any(
        isinstance(n, ast.Call) and getattr(n.func, "attr", "") == "step" and n.args
        for n in ast.walk(loop)
    )
    for node in loop.body:
        if not isinstance(node, ast.If) or not _END.search(ast.unparse(node.test)) or not steps:
            continue
        calls = [
            getattr(n.func, "attr", getattr(n.func, "id", ""))
            for part in node.body
            for n in ast.walk(part)
            if isinstance(n, ast.Call)
        ]
        plain = all(isinstance(part, _SIMPLE) for part in node.body)
        if plain and "reset" in calls and set(calls) <= {"reset", "append", "item", "float"}:
            return True
    return False
