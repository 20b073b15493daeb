"""The errors that explain why something cannot be compiled."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from types import CodeType
from typing import Any


class Refusal(Exception):
    """The reason why a function cannot be compiled: one sentence, and the user's line.

    Further attributes help to compile the code around it. `lines` are the lines of the function
    itself where it happened, possibly in functions that they call; `callees` is the code of these
    functions. `path` has the names by which code reaches the object in question. `array` is an
    array of unknown origin, and `variables` are the function's variables that held it.
    """

    def __init__(
        self,
        reason: str,
        site: Any = None,
        lines: Iterable[int | None] = (),
        path: str = "",
        array: Any = None,
    ) -> None:
        self.reason = reason
        self.site = site
        self.lines = {line for line in lines if line is not None}
        self.path = path
        self.array = array
        self.variables: list[str] | None = None  # None if there is no such array
        self.callees: set[CodeType] = set()
        self.transient = False  # whether a later call may succeed
        super().__init__(f"{reason} ({site})" if site is not None else reason)


def refusal_of(error: Exception) -> Refusal:
    """An error as a Refusal. Any other exception is a bug in the compiler; what it could not record
    runs eagerly.
    """
    if isinstance(error, Refusal):
        return error
    said = str(error).splitlines()[0] if str(error) else ""
    return Refusal(
        f"the compiler failed ({type(error).__name__}: {said}), which is a fault of its own: please report it"
    )


def frame_of(code: CodeType | None, frame: Any = None) -> Any:
    """The frame that runs `code`: `frame` (default: the caller's) or one of its callers. None if
    the code is not running there.
    """
    frame = frame or sys._getframe(1)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame


def callees_of(code: CodeType | None, frame: Any = None) -> set[CodeType]:
    """The code objects from `frame` (default: the caller's) up to the frame that runs `code`,
    excluding it. Empty if the code is not running there.
    """
    frame = frame or sys._getframe(1)
    found = set()
    while frame is not None and frame.f_code is not code:
        found.add(frame.f_code)
        frame = frame.f_back
    return set() if frame is None else found


def line_in(code: CodeType | None, frame: Any = None) -> int | None:
    """The current line of `code`, which runs in `frame` (default: the caller's) or in one of its
    callers.
    """
    found = frame_of(code, frame or sys._getframe(1))
    return None if found is None else found.f_lineno


def names_in(path: str) -> list[str]:
    """The names in a path; for example, two in `self.meters['loss']`.

    >>> names_in("self.meters['loss']")
    ['self', 'meters']
    """
    return re.findall(r"[A-Za-z_]\w*", path.partition("['")[0])
