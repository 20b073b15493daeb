"""The errors that explain why something cannot be compiled."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from types import CodeType
from typing import Any


class Refusal(Exception):
    """Why a function cannot be compiled: one sentence, and the user's line.

    Besides, for compiling what is around: `lines`, those of the function itself where it happened,
    perhaps in what they call, `callees`, the code of what they call on the way there, and `path`,
    names by which code comes to what it is about; `array` is one that comes from elsewhere, and
    `variables` are those of the function that held it.
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
        self.variables: list[str] | None = None  # None where it is about no such array
        self.callees: set[CodeType] = set()
        self.transient = False  # whether a later call may be compiled
        super().__init__(f"{reason} ({site})" if site is not None else reason)


def refusal_of(error: Exception) -> Refusal:
    """The refusal that an error is, or that a fault of the compiler's makes: what it could not
    write down runs eagerly.
    """
    if isinstance(error, Refusal):
        return error
    said = str(error).splitlines()[0] if str(error) else ""
    return Refusal(
        f"the compiler failed ({type(error).__name__}: {said}), which is a fault of its own: please report it"
    )


def frame_of(code: CodeType | None, frame: Any = None) -> Any:
    """The frame in which code runs: this one (the caller's), or one around it; None where it does
    not run there.
    """
    frame = frame or sys._getframe(1)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame


def callees_of(code: CodeType | None, frame: Any = None) -> set[CodeType]:
    """The code that runs in a frame (the caller's) and in those around it, up to that of `code`;
    none where that does not run there.
    """
    frame = frame or sys._getframe(1)
    found = set()
    while frame is not None and frame.f_code is not code:
        found.add(frame.f_code)
        frame = frame.f_back
    return set() if frame is None else found


def line_in(code: CodeType | None, frame: Any = None) -> int | None:
    """The line at which code that runs in a frame (the caller's), or around it, is now."""
    found = frame_of(code, frame or sys._getframe(1))
    return None if found is None else found.f_lineno


def names_in(path: str) -> list[str]:
    """The names by which code comes to something: two of `self.meters['loss']`.

    >>> names_in("self.meters['loss']")
    ['self', 'meters']
    """
    return re.findall(r"[A-Za-z_]\w*", path.partition("['")[0])
