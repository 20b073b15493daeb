"""The profile function that watches the calls of a traced step, and ways to hide calls from it."""

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
    """The module name of a class or function; "" if it has none (classes made by Cython, for
    example, have a descriptor there).
    """
    name = getattr(thing, "__module__", None)
    return name if isinstance(name, str) else ""


# While `torch` refers to this library, its classes claim to be in PyTorch's modules
# (`interop.class_names`).
OWN = ("pellucid", "torch")
LIBRARIES = sys.stdlib_module_names | {*OWN, "numpy"}


def is_ours(kind: type) -> bool:
    """Whether a class is this library's."""
    return module_of(kind).partition(".")[0] in OWN


def is_users(module: ModuleType) -> bool:
    """Whether a module belongs neither to Python, nor to this library, nor to an installed package."""
    if module.__name__.partition(".")[0] in LIBRARIES or module is builtins:
        return False
    file = getattr(module, "__file__", None)
    return file is None or not source.is_library(file)


def builtins_of(names: dict[str, Any]) -> dict[str, Any]:
    """The builtins of code with these globals."""
    found = names.get("__builtins__", builtins)
    return found if isinstance(found, dict) else vars(found)


# Modules of this library whose objects consist of their class and attributes, like users' objects.
_OF_RECORDS = tuple([f"{name}.distributions." for name in OWN])


def has_more(kind: type) -> bool:
    """Whether objects of one of this library's classes may be more than their attributes."""
    return is_ours(kind) and not f"{module_of(kind)}.".startswith(_OF_RECORDS)


class _Watch(threading.local):
    """The profile function that watches this thread's calls while a step is traced."""

    event: Any = None


watch = _Watch()


def unseen(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator of a function that the tracer's profile function need not see: it only runs library
    code, and what it reads is known in other ways. Being watched makes it about twice as slow.
    """
    return wraps(function)(hidden(function))


def hidden(function: Callable[P, R]) -> Callable[P, R]:
    """As `unseen`, for a function that is called once. It does not copy the function's metadata,
    which is slow for a ufunc.
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
