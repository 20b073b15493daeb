"""Find whether a line runs on some ranks only: inside an `if`, or after a `return`, whose condition
reads the rank.
"""

from __future__ import annotations

import ast
import linecache
import re
from functools import lru_cache
from typing import Any

from ...core.display.notebook import is_notebook, source_of

_WORDS = re.compile(
    r"(^|_)(rank|is_main|main_process|is_master|master|is_chief|is_rank0|is_local_main)", re.I
)
_SIZES = re.compile(r"(world_size|num_replicas|ranks$)", re.I)


@lru_cache(maxsize=64)
def _tree(file: str) -> ast.Module | None:
    try:
        return ast.parse(
            source_of(file) if is_notebook(file) else "".join(linecache.getlines(file))
        )
    except (SyntaxError, OSError, ValueError):
        return None


def reads_rank(test: ast.AST, known: frozenset[str] = frozenset()) -> bool:
    """Whether an expression depends on the rank, by the names in it."""
    for node in ast.walk(test):
        name = (
            node.id
            if isinstance(node, ast.Name)
            else node.attr
            if isinstance(node, ast.Attribute)
            else None
        )
        if name is not None and (name in known or _WORDS.search(name) and not _SIZES.search(name)):
            return True
        if isinstance(node, ast.Constant) and node.value in ("RANK", "LOCAL_RANK"):
            return True
    return False


@lru_cache(maxsize=64)
def _known(file: str) -> frozenset[str]:
    """Names and attributes that are assigned a value which depends on the rank as a truth value:
    `main = rank == 0`.
    """
    tree = _tree(file)
    found: set[str] = set()
    for node in ast.walk(tree) if tree is not None else ():
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, (ast.Compare, ast.BoolOp, ast.UnaryOp))
            and reads_rank(node.value)
        ):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.add(target.id)
                elif isinstance(target, ast.Attribute):
                    found.add(target.attr)
    return frozenset(found)


def condition(file: str, line: int) -> tuple[int, str] | None:
    """(line, text) of the condition on the rank that decides whether a line runs; None where there
    is none.

    The test is of an `if`, a `while` or a conditional expression around the line, or of an earlier
    `if` of the same block that leaves it.
    """
    tree = _tree(file)
    if tree is None:
        return None
    known = _known(file)
    path = _path(tree, line)
    if isinstance(path[-1], ast.stmt):
        found = _within(path[-1], line, known)
        if found is not None:
            return found.lineno, ast.unparse(found)
    for k in range(len(path) - 2, -1, -1):
        node, inner = path[k], path[k + 1]
        if isinstance(node, (ast.If, ast.While)) and reads_rank(node.test, known):
            return node.lineno, ast.unparse(node.test)
        for block in ("body", "orelse", "finalbody"):
            statements = getattr(node, block, None)
            if isinstance(statements, list) and inner in statements:
                for earlier in statements[: statements.index(inner)]:
                    leaves = isinstance(earlier, ast.If) and isinstance(
                        earlier.body[-1], (ast.Return, ast.Continue, ast.Break, ast.Raise)
                    )
                    if leaves and reads_rank(earlier.test, known):
                        return earlier.lineno, ast.unparse(earlier.test)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            break  # who calls the function stands in the chain of callers
    return None


def _within(statement: ast.stmt, line: int, known: frozenset[str]) -> ast.expr | None:
    """The condition inside a statement: `main and f()`, `f() if main else None`."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return None

    def calls(node: ast.AST) -> bool:
        return any(
            isinstance(n, ast.Call) and n.lineno <= line <= (n.end_lineno or n.lineno)
            for n in ast.walk(node)
        )

    for node in ast.walk(statement):
        if (
            isinstance(node, ast.IfExp)
            and reads_rank(node.test, known)
            and (calls(node.body) or calls(node.orelse))
        ):
            return node.test
        if isinstance(node, ast.BoolOp):
            for k, value in enumerate(node.values[:-1]):
                if reads_rank(value, known) and any(calls(later) for later in node.values[k + 1 :]):
                    return value
    return None


def _path(tree: ast.AST, line: int) -> list[ast.AST]:
    """The statements around a line, the outermost first."""
    path: list[ast.AST] = [tree]
    while True:
        for child in ast.iter_child_nodes(path[-1]):
            if not isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
                continue
            first, last = _lines(child)
            if first <= line <= last:
                path.append(child)
                break
        else:
            return path


def _lines(node: Any) -> tuple[int, int]:
    """First and last line of a statement, decorators included."""
    if isinstance(node, ast.match_case):
        return node.pattern.lineno, node.body[-1].end_lineno or node.body[-1].lineno
    decorators = [d.lineno for d in getattr(node, "decorator_list", ())]
    return min([node.lineno, *decorators]), node.end_lineno or node.lineno
