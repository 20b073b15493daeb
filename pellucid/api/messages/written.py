"""The user's program as it is written: the expression that stands at an instruction, and the tree
of a file.
"""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
from types import CodeType, FrameType


def text_at(code: CodeType, instruction: int) -> str | None:
    """The text of the expression that an instruction belongs to; None where Python or the file does
    not tell.
    """
    places = next(itertools.islice(code.co_positions(), instruction // 2, None), None)
    first, last, start, end = places or (None, None, None, None)
    if first is None or last is None or start is None or end is None:
        return None
    lines = [line.encode() for line in linecache.getlines(code.co_filename)[first - 1 : last]]
    if not lines:
        return None
    lines[-1] = lines[-1][:end]  # columns are counted in bytes
    lines[0] = lines[0][start:]
    return b"".join(lines).decode(errors="ignore").strip()


def call_at(frame: FrameType | None) -> ast.Call | None:
    """The call that a frame is making, as a tree."""
    text = None if frame is None else text_at(frame.f_code, frame.f_lasti)
    try:
        node = ast.parse(text, mode="eval").body if text else None
    except (SyntaxError, ValueError):
        return None
    return node if isinstance(node, ast.Call) else None


def tree(file: str) -> ast.Module | None:
    """The syntax tree of a file; None when it cannot be read."""
    return _parsed(file, len(linecache.getlines(file)))


@functools.lru_cache(maxsize=64)
# a file that has grown since is read again
def _parsed(file: str, lines: int) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None


@functools.lru_cache(maxsize=64)
def walk(root: ast.AST) -> tuple[ast.AST, ...]:
    """What `ast.walk` gives of a tree that nobody changes; made once, since many ask for it."""
    return tuple(ast.walk(root))
