"""NumPy's names of arguments, which PyTorch's functions take for their own ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

NUMPY_NAMES = {"a": "input", "x": "input", "x1": "input", "x2": "other", "axis": "dim", "keepdims": "keepdim"}


def renamed(function: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments, those with NumPy's names under the function's own ones, where it has them.

    Raises:
        TypeError: an argument is given under both names.
    """
    if NUMPY_NAMES.keys().isdisjoint(given):
        return given
    names = inspect.signature(function).parameters
    own = {old: new for old, new in NUMPY_NAMES.items() if old not in names and new in names}
    for old, new in own.items():
        if old in given and new in given:
            raise TypeError(f"{function.__name__}() received both {old!r} and {new!r}")
    return {own.get(name, name): value for name, value in given.items()}
