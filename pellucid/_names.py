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


class Plain:
    """The parameters of a function that take a truth value, a number or a text, and the classes
    that they take without a question.

    It is read when the function is first called; a call that it finds nothing doubtful in needs no
    signature of PyTorch's.
    """

    __slots__ = ("first", "function", "keywords", "names", "path", "places")

    def __init__(self, function: Callable[..., Any], path: str = "") -> None:
        self.function: Callable[..., Any] | None = function  # None: it was read
        self.path = path  # where PyTorch has the function: "Tensor.narrow_copy"
        self.names: dict[str, set[type]] = _UNREAD
        self.places: list[tuple[int, set[type]]] = []
        # the first of them: fewer arguments than this, all by place, need no look
        self.first = -1
        self.keywords: dict[tuple[str, ...], bool] = {}  # of calls, and what `own` said of them

    def _read(self) -> None:
        inner = inspect.unwrap(self.function) if self.function is not None else None
        code = getattr(inner, "__code__", None)
        annotations = getattr(inner, "__annotations__", {})
        self.names = {
            name: set(_CLASSES[kind])
            for name, kind in annotations.items()
            if kind in _CLASSES and name != "return"
        }
        order = code.co_varnames[: code.co_argcount] if code is not None else ()
        self.places = [(k, self.names[name]) for k, name in enumerate(order) if name in self.names]
        self.function = None
        if describe is not None and self.path and not self.names:
            self.names, self.places = describe(self.path)
        self.first = self.places[0][0] if self.places else 1 << 30

    def own(self, kwargs: dict[str, Any]) -> bool:
        """Whether the keywords of a call need no look: none is `out`, or may be NumPy's name."""
        names = tuple(kwargs)
        known = self.keywords.get(names)
        if known is None:
            known = "out" not in kwargs and NUMPY_NAMES.keys().isdisjoint(kwargs)
            if len(self.keywords) < 64:
                self.keywords[names] = known
        return known

    def doubtful(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[tuple[set[type], Any]]:
        """The arguments of other classes, with the classes that are known."""
        if self.names is _UNREAD:
            self._read()
        found = []
        for k, kinds in self.places:
            if k >= len(args):
                break
            if args[k].__class__ not in kinds:
                found.append((kinds, args[k]))
        if kwargs:
            known = self.names
            for name, value in kwargs.items():
                if name in known and value.__class__ not in known[name]:
                    found.append((known[name], value))
        return found


# The classes that PyTorch's signatures of a function take, by name and by place, for functions that
# do not say it themselves; `api.messages.facts` puts itself here.
Described = tuple[dict[str, set[type]], list[tuple[int, set[type]]]]
describe: Callable[[str], Described] | None = None
_UNREAD: dict[str, set[type]] = {"": set()}
_CLASSES: dict[str, tuple[type, ...]] = {
    "bool": (bool,), "int": (int,), "float": (float, int), "str": (str,),
}  # fmt: skip
_CLASSES |= {f"{kind} | None": (*found, type(None)) for kind, found in _CLASSES.items()}


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
