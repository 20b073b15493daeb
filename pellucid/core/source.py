"""The user's source line of an operation, stored as (code, instruction) and resolved on demand."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import NamedTuple

from .. import config, errors
from ..llvm import frames
from .display import notebook

# Frames of these folders (the package and Python's own modules), and of installed packages, are not
# the user's.
_CORE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(_CORE) + os.sep
_ROOTS = (PACKAGE, os.path.dirname(os.path.abspath(os.__file__)) + os.sep)
_INSTALLED = tuple(f"{os.sep}{folder}{os.sep}" for folder in ("site-packages", "dist-packages"))
_library: dict[str, bool] = {}

Site = tuple[CodeType, int]


class Line(NamedTuple):
    """A line of a source file."""

    file: str
    line: int
    function: str
    text: str

    def __str__(self) -> str:
        return notebook.place(self.file, self.line) + (f"  {self.text}" if self.text else "")


def is_library(filename: str) -> bool:
    """Whether a file belongs to this package (not its examples or tests), to Python itself or to an
    installed package.
    """
    if filename not in _library:
        path = os.path.abspath(filename)
        _library[filename] = (
            path.startswith(_ROOTS)
            or filename.startswith("<frozen")
            or any(folder in path for folder in _INSTALLED)
        )
    return _library[filename]


# `user_frame(depth)` returns the innermost frame outside of libraries, searching from `depth`
# frames up (at least 1) from the caller's frame; None if there is none.
user_frame: Callable[..., FrameType | None] = frames.walker(
    _library, is_library, lambda made: globals().update(user_frame=made)
)


def capture(depth: int = 2) -> Site | None:
    """The user's current position as (code, instruction); None if `config.sources` is off. The
    frame itself is not kept, because it would keep its local variables alive.
    """
    frame = user_frame(depth) if config.sources else None
    return None if frame is None else (frame.f_code, frame.f_lasti)


def describe(site: Site | None) -> Line | None:
    """File, line, function and text of a captured position."""
    if site is None:
        return None
    code, instruction = site
    # Only the one line that is needed is looked up, and nothing is cached: libraries call `hasattr`
    # thousands of times, and each failure describes an error.
    line = next(
        (line for _, end, line in code.co_lines() if end > instruction and line is not None),
        code.co_firstlineno,
    )
    text = linecache.getline(code.co_filename, line).strip()
    return Line(code.co_filename, line, code.co_qualname, text)


def stack_text(depth: int = 2) -> str:
    """The user's call stack as text, innermost frame last. Nodes keep it in anomaly mode only."""
    import traceback

    frame = user_frame(depth)
    return "".join(traceback.format_stack(frame)) if frame is not None else ""


def _raised_at() -> Line | None:
    """The user's line that led to an error that the library is raising; None if the user's own code
    creates the error.
    """
    return describe(capture(3)) if is_library(sys._getframe(2).f_code.co_filename) else None


errors.locate = _raised_at
