"""Find the call at an instruction, and the source of its arguments."""

from __future__ import annotations

import ast
import functools
import linecache
from types import CodeType


@functools.lru_cache(maxsize=4096)
def position(code: CodeType, lasti: int) -> tuple[int, int, int, int]:
    """(line, column, end line, end column) of the expression that an instruction belongs to; lines
    from 1, columns in bytes from 0.
    """
    wanted = lasti // 2
    for index, (line, end_line, column, end_column) in enumerate(code.co_positions()):
        if index == wanted:
            first = line or code.co_firstlineno
            return first, column or 0, end_line or first, end_column or 0
    return code.co_firstlineno, 0, code.co_firstlineno, 0


class CallExpression:
    """A call, operator or subscript as it is written."""

    def __init__(self, node: ast.AST, text: str) -> None:
        self._node = node
        self._text = text
        self._segments: dict[int, str] = {}  # by id of a node: cutting one out of a file takes long

    def _segment(self, node: ast.AST) -> str:
        found = self._segments.get(id(node))
        if found is None:
            found = self._segments[id(node)] = " ".join(
                (ast.get_source_segment(self._text, node) or ast.unparse(node)).split()
            )
        return found

    @property
    def text(self) -> str:
        """The whole expression on one line."""
        return self._segment(self._node)

    @property
    def function(self) -> str | None:
        """What is called: `F.mse_loss`, `self.net`; None for an operator."""
        return self._segment(self._node.func) if isinstance(self._node, ast.Call) else None

    @property
    def receiver(self) -> str | None:
        """What the method is called on: `x` in `x.softmax(1)`; None for a call of a plain name."""
        node = self._node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return self._segment(node.func.value)
        return None

    @property
    def arguments(self) -> list[str]:
        """The positional arguments; of an operator the operands."""
        node = self._node
        if isinstance(node, ast.Call):
            return [self._segment(a) for a in node.args]
        if isinstance(node, ast.BinOp):
            return [self._segment(node.left), self._segment(node.right)]
        if isinstance(node, ast.UnaryOp):
            return [self._segment(node.operand)]
        if isinstance(node, ast.Compare):
            return [self._segment(node.left), *(self._segment(c) for c in node.comparators)]
        if isinstance(node, ast.Subscript):
            return [self._segment(node.value), self._segment(node.slice)]
        if isinstance(node, ast.AugAssign):
            return [self._segment(node.target), self._segment(node.value)]
        return []

    @property
    def keywords(self) -> dict[str, str]:
        """The keyword arguments."""
        if not isinstance(self._node, ast.Call):
            return {}
        return {k.arg: self._segment(k.value) for k in self._node.keywords if k.arg is not None}

    def argument(self, name: str, order: list[str], method: bool) -> str | None:
        """The expression given for a parameter, when the parameters are `order`; of a method the
        receiver is the first.
        """
        if name in self.keywords:
            return self.keywords[name]
        given = self.arguments
        if method and isinstance(self._node, ast.Call):
            given = [self.receiver or "", *given]
        place = order.index(name) if name in order else len(given)
        if place >= len(given) or any(text.startswith("*") for text in given[: place + 1]):
            return None
        return given[place]


_KINDS = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.AugAssign)


@functools.lru_cache(maxsize=64)
def _tree(filename: str, lines: int) -> tuple[dict[tuple[int, int, int, int], ast.AST], str]:
    text = "".join(linecache.getlines(filename))
    found: dict[tuple[int, int, int, int], ast.AST] = {}
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return found, text
    for node in ast.walk(tree):
        if isinstance(node, _KINDS):
            found.setdefault(
                (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0), node
            )
    return found, text


@functools.lru_cache(maxsize=4096)
def call_at(code: CodeType, lasti: int) -> CallExpression | None:
    """The call, operator or subscript that an instruction belongs to, or None."""
    where = position(code, lasti)
    nodes, text = _tree(code.co_filename, len(linecache.getlines(code.co_filename)))
    node = nodes.get(where)
    return None if node is None else CallExpression(node, text)
