"""The profile function that watches the calls of a traced step, and the calls that it may ignore."""

from __future__ import annotations

import builtins
import sys
import threading
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from ...core import source
from ...core.source import PACKAGE

P = ParamSpec("P")
R = TypeVar("R")


def is_own(filename: str) -> bool:
    """True for a file of this package."""
    return filename.startswith(PACKAGE)


def module_of(thing: Any) -> str:
    """The module that a class or function names; "" where it names none (classes of Cython's, say,
    have a descriptor in that place).
    """
    name = getattr(thing, "__module__", None)
    return name if isinstance(name, str) else ""


# While `torch` means this library, its classes name PyTorch's modules (`interop.class_names`).
OWN = ("pellucid", "torch")
LIBRARIES = sys.stdlib_module_names | {*OWN, "numpy"}


def is_ours(kind: type) -> bool:
    """Whether a class is this library's."""
    return module_of(kind).partition(".")[0] in OWN


def is_users(module: ModuleType) -> bool:
    """True for a module that is neither Python's, nor this library's, nor an installed package's."""
    if module.__name__.partition(".")[0] in LIBRARIES or module is builtins:
        return False
    file = getattr(module, "__file__", None)
    return file is None or not source.is_library(file)


def builtins_of(names: dict[str, Any]) -> dict[str, Any]:
    """What names mean that stand in the builtins, for code with these globals."""
    found = names.get("__builtins__", builtins)
    return found if isinstance(found, dict) else vars(found)


# Parts of this library whose objects are their class and their attributes, as those of users are.
_OF_RECORDS = tuple([f"{name}.distributions." for name in OWN])


def has_more(kind: type) -> bool:
    """Whether objects of a class of this library may be more than their attributes."""
    return is_ours(kind) and not f"{module_of(kind)}.".startswith(_OF_RECORDS)


class _Watch(threading.local):
    """The profile function with which this thread's calls are watched while a step is traced."""

    event: Any = None


watch = _Watch()


def unseen(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator of a function that a tracer's watch over calls need not see: it and what it calls
    is this library's alone, and what it looks at is known otherwise. Being watched makes it about
    twice as slow.
    """
    return wraps(function)(hidden(function))


def hidden(function: Callable[P, R]) -> Callable[P, R]:
    """As `unseen`, for a function that is called once: nothing that describes it is copied, which
    for a ufunc takes long.
    """

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        event = watch.event
        if event is None:
            return function(*args, **kwargs)
        sys.setprofile(None)
        watch.event = None
        try:
            return function(*args, **kwargs)
        finally:
            watch.event = event
            sys.setprofile(event)

    return call
