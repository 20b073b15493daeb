"""Notebooks as programs: the code cells form one file, and its lines are displayed as lines of
cells.
"""

from __future__ import annotations

import ast
import json
import linecache
import re
import traceback
from bisect import bisect_right
from collections.abc import Callable
from typing import Any

_cells: dict[str, list[int]] = {}  # path -> the first line of each code cell

# magics after which the rest of the cell is Python
_SAME_CELL = re.compile(r"%%(time|timeit|capture|prun|check|explain)\b")
_SHELL = re.compile(
    r"(?P<indent>\s*)(?:(?P<target>[\w, ]+)=\s*)?(?:[%!]|\?)|(?P<help>\s*)[\w.]+\?+\s*$"
)


def is_notebook(path: str) -> bool:
    """Whether a path names a notebook."""
    return path.endswith(".ipynb")


def source_of(path: str) -> str:
    """The code cells of a notebook, concatenated. Registers their lines with `linecache`, so that
    tracebacks can show them.

    IPython's own lines (`%matplotlib inline`, `!pip install`) do nothing, and a cell in another
    language is left empty.

    Raises:
        OSError: it cannot be read.
        SyntaxError: it is not a notebook.
    """
    with open(path, encoding="utf-8") as file:
        try:
            cells = json.load(file)["cells"]
            texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        except (ValueError, KeyError, TypeError):
            raise SyntaxError(f"{path} is not a notebook in nbformat 4") from None
    lines: list[str] = []
    starts = []
    for text in texts:
        starts.append(len(lines) + 1)
        lines += _plain(text).split("\n")
    joined = "\n".join(lines) + "\n"
    _cells[path] = starts
    linecache.cache[path] = (len(joined), None, joined.splitlines(keepends=True), path)
    return joined


def _plain(text: str) -> str:
    """A cell's text as Python, with the same number of lines."""
    if text.startswith("%%"):
        if _SAME_CELL.match(text) is None:
            return "\n" * text.count("\n")
        text = "#" + text
    try:
        ast.parse(text)
        return text
    except SyntaxError:
        return "\n".join(_line(line) for line in text.split("\n"))


def _line(line: str) -> str:
    found = _SHELL.match(line)
    if found is None:
        return line
    if found["target"]:
        return f"{found['indent']}{found['target']}= None  # {line.strip()}"
    return f"{found['indent'] or found['help'] or ''}pass  # {line.strip()}"


def cell_of(file: str, line: int) -> tuple[int | None, int]:
    """The number of the code cell (from 1) that holds a line, and the line within it. (None, line)
    for a file that is not a notebook.
    """
    starts = _cells.get(file)
    if starts is None:
        return None, line
    cell = max(bisect_right(starts, line), 1)
    return cell, line - starts[cell - 1] + 1


# Set in IPython: maps a cell's file name to ("Cell", "In[3]"), and other file names to None.
cell_name: Callable[[str], tuple[str, str] | None] | None = None


def place(file: str, line: int, shown: str | None = None) -> str:
    """The text for a place: `train.py:12`, `lesson.ipynb: cell 3, line 4` or `cell In[3], line 4`.
    `shown` is a shorter path to print.
    """
    named = cell_name(file) if cell_name is not None else None
    if named is not None:
        return f"cell {named[1]}, line {line}"
    cell, line = cell_of(file, line)
    return (
        f"{shown or file}:{line}" if cell is None else f"{shown or file}: cell {cell}, line {line}"
    )


def traceback_of(error: BaseException, frames: Any) -> str:
    """A traceback that shows places in a notebook by their cells."""
    shown = traceback.TracebackException(type(error), error, frames)
    waiting = [shown]
    while waiting:
        current = waiting.pop()
        for k, entry in enumerate(current.stack):
            cell, line = cell_of(entry.filename, entry.lineno or 1)
            if cell is not None:
                current.stack[k] = traceback.FrameSummary(
                    f"{entry.filename}, cell {cell}", line, entry.name, line=entry.line
                )
        waiting += [e for e in (current.__cause__, current.__context__) if e is not None]
    return "".join(shown.format())
