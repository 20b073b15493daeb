"""Reading the user's source: does the value of one statement reach another statement of the same function, through its variables?

This closes the one gap that watching leaves: arithmetic on Python numbers and NumPy arrays, which the engine never sees.
"""

from __future__ import annotations

import ast
import linecache
from types import CodeType
from typing import Any

from ..core import source


def _statements(code: CodeType) -> list[ast.stmt]:
    """The simple statements of a function (or of the module) in the order of lines, those of inner functions left out."""
    text = "".join(linecache.getlines(code.co_filename))
    try:
        tree: Any = ast.parse(text)
    except SyntaxError:
        return []
    if code.co_name != "<module>":
        inside = (n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and n.name == code.co_name)
        tree = next((n for n in inside if code.co_firstlineno in {n.lineno, *(d.lineno for d in n.decorator_list)}), None)
        if tree is None:
            return []
    found, waiting = [], list(tree.body)
    while waiting:
        statement = waiting.pop()
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        blocks = [part for name in ("body", "orelse", "finalbody") for part in getattr(statement, name, [])]
        blocks += [part for handler in getattr(statement, "handlers", []) for part in handler.body]
        if blocks:
            waiting += blocks
        else:
            found.append(statement)
    return sorted(found, key=lambda s: s.lineno)


def _names(tree: ast.AST, kind: type) -> set[str]:
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, kind)}


def carried(start: source.Site | None, end: source.Site | None) -> list[str] | None:
    """The variables that carry a value from the statement at `start` to the one at `end`, first to last; None when none do.

    Statements are followed in the order of their lines, once; a variable that gets another value carries no more.
    """
    if start is None or end is None or start[0] is not end[0]:
        return None
    first, last = source.describe(start), source.describe(end)
    if first is None or last is None or first.line > last.line:
        return None
    carriers: set[str] = set()
    order: list[str] = []
    for statement in _statements(start[0]):
        begin, finish = statement.lineno, statement.end_lineno or statement.lineno
        if finish < first.line:
            continue
        here = begin <= first.line <= finish
        used = _names(statement, ast.Load)
        if begin <= last.line <= finish:
            return order if here or used & carriers else None
        targets = _names(statement, ast.Store)
        if here or used & carriers or (isinstance(statement, ast.AugAssign) and targets & carriers):
            order += sorted(targets - carriers)
            carriers |= targets
        else:
            carriers -= targets
    return None
