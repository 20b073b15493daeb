"""Hears of each class that a class statement makes, by way of Python's `builtins.__build_class__`.

Decorators in a class body count frames to find the class statement (`overrides` reads its bases
there), so no frame of this file is on the stack while the body runs. `__build_class__` becomes an
object that gives, when it is called, what to call in its place: Python's own function with a
metaclass that is the type the statement would have taken and then tells of the class. A statement
that names a metaclass itself, or has keywords that are known only when it runs, is called from here.
"""

from __future__ import annotations

import builtins
import opcode
import sys
import types
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

_listeners: list[Callable[[type], None]] = []
_build_class = builtins.__build_class__
_UNPACKED = opcode.opmap["CALL_FUNCTION_EX"]
_KEYWORDS = opcode.opmap.get("CALL_KW")  # a call with keywords, from Python 3.13 on
_NAMES = opcode.opmap.get("KW_NAMES")  # what comes before one, until 3.12


def tell(listener: Callable[[type], None]) -> None:
    """Call the listener with each class that a class statement makes from here on."""
    _listeners.append(listener)
    builtins.__build_class__ = _statement


def _made(name: str, bases: tuple[type, ...], members: Any, **keywords: Any) -> Any:
    """Stands as the metaclass of a statement that names none."""
    meta = types.prepare_class(name, bases, keywords)[0] if bases else type
    return _told(meta(name, bases, members, **keywords))


def _prepare(name: str, bases: tuple[type, ...], **keywords: Any) -> Any:
    return types.prepare_class(name, bases, keywords)[1] if bases else {}


_made.__prepare__ = _prepare  # type: ignore[attr-defined]


def _told(made: Any) -> Any:
    if isinstance(made, type):
        for listener in _listeners:
            listener(made)
    return made


def _called(*args: Any, **kwargs: Any) -> Any:
    return _told(_build_class(*args, **kwargs))


_without_metaclass = partial(_build_class, metaclass=_made)


def _has_keywords(frame: FrameType) -> bool:
    """Whether the call that a frame makes has keywords, or may have."""
    code, at = frame.f_code.co_code, frame.f_lasti
    if code[at] in (_UNPACKED, _KEYWORDS):
        return True
    # in 3.11, an instruction of two units is in between
    return _NAMES is not None and (code[at - 2] == _NAMES or code[at - 6] == _NAMES)


class _Statement:
    """`builtins.__build_class__`."""

    @property
    def __call__(self) -> Callable[..., Any]:
        return _called if _has_keywords(sys._getframe(1)) else _without_metaclass


_statement = _Statement()
