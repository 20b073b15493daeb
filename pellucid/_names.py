"""Names of arguments that functions have beside their own ones: NumPy's, and `out`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

NUMPY_NAMES = {"a": "input", "x": "input", "x1": "input", "x2": "other", "axis": "dim", "keepdims": "keepdim"}


# How names begin that tools ask a module for (pytest, unittest, inspect): a module that has every name for its own does not have those.
ASKED_BY_TOOLS = ("__", "pytest", "setup", "setUp", "teardown", "tearDown", "load_tests")


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


class WithOut(inspect.Signature):
    """The signature of a function with `out=` added; read when somebody asks, not for every function at every start."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __getattr__(self, name: str) -> Any:
        # Signature's own two slots, which are empty so far.
        if name not in ("_parameters", "_return_annotation"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        signature = inspect.signature(self._function)
        parameters = list(signature.parameters.values())
        where = len(parameters) - (1 if parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD else 0)
        parameters.insert(where, inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
        super().__init__(parameters, return_annotation=signature.return_annotation)
        return getattr(self, name)

    def __reduce__(self) -> Any:
        return WithOut, (self._function,)
