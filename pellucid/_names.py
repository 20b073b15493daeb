"""Alternative argument names that functions accept, such as NumPy's `axis`, and `out`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

NUMPY_NAMES = {
    "a": "input",
    "x": "input",
    "x1": "input",
    "x2": "other",
    "axis": "dim",
    "keepdims": "keepdim",
}


# How names begin that tools ask a module for (pytest, unittest, inspect): a module that has every
# name for its own does not have those.
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


class _Missing:
    """What stands in a short entry for an argument that was not given."""

    def __repr__(self) -> str:
        return "<not given>"


MISSING: Any = _Missing()


class Calls:
    """Calls of a public function that PyTorch's signatures take, by the classes of their arguments.

    A call like one that was taken needs no signature; `errors.admit` looks at the others. The key
    of a call has the classes of the positional arguments, then the names and the classes of the
    others.

    Attributes:
        path: where PyTorch has the function: "Tensor.narrow_copy".
        known: False for a key whose calls are taken; where lists are among the arguments, their
            places: the classes of their first items decide. Keys with those classes are in it, too.
        first: how many arguments by place are tensors; these need no look, since the function fails
            by itself where it gets anything else. -1: not read yet.
        left: how many more calls there are before the function gets a short entry.
    """

    FEW = 200
    __slots__ = ("first", "keywords", "known", "left", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.known: dict[tuple[Any, ...], Any] = {}
        self.first = -1 if path else 1 << 30
        self.left = self.FEW
        self.keywords: dict[tuple[str, ...], bool] = {}  # of calls, and what `own` said of them

    def own(self, kwargs: dict[str, Any]) -> bool:
        """Whether the keywords of a call need no look: none is `out`, or may be NumPy's name."""
        names = tuple(kwargs)
        known = self.keywords.get(names)
        if known is None:
            known = "out" not in kwargs and NUMPY_NAMES.keys().isdisjoint(kwargs)
            if len(self.keywords) < 64:
                self.keywords[names] = known
        return known


class WithOut(inspect.Signature):
    """The signature of a function with `out=` added; read when somebody asks, not for every
    function at every start.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __getattr__(self, name: str) -> Any:
        # Signature's own two slots, which are empty so far.
        if name not in ("_parameters", "_return_annotation"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        signature = inspect.signature(self._function)
        parameters = list(signature.parameters.values())
        where = len(parameters) - (
            1 if parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD else 0
        )
        parameters.insert(
            where, inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)
        )
        super().__init__(parameters, return_annotation=signature.return_annotation)
        return getattr(self, name)

    def __reduce__(self) -> Any:
        return WithOut, (self._function,)
