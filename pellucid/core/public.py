"""The registry of public functions: PyTorch's `torch.name`, `Tensor.name`, `nn.functional.name`,
...

`public` registers a function under its names, and `pellucid.api` attaches them. In-place and `out=`
forms are made here from the out-of-place function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from .._names import Calls, WithOut, renamed
from ..errors import admit, retried, shortened
from .display import refusals
from .inplace import check_out, inplace_form, into
from .interpret import playing, thread
from .tensor import Tensor

# namespace ("torch", "linalg", "nn.functional") -> name -> function
FUNCTIONS: dict[str, dict[str, Any]] = {}
METHODS: dict[str, Any] = {}  # Tensor method -> function
PROPERTIES: dict[str, Any] = {}  # Tensor property -> getter

Function = TypeVar("Function", bound=Callable[..., Any])


def public(
    *,
    namespace: str = "torch",
    names: str = "",
    methods: str | None = None,
    inplace: str | None = None,
    out: bool | str | tuple[str, ...] = False,
) -> Callable[[Function], Function]:
    """Register a function under PyTorch's names.

    Args:
        namespace: where the function itself is found: "torch", "linalg", "fft", "special",
            "nn.functional"; several in one string.
        names: its names there when they differ from the function's own (aliases), space-separated.
        methods: names as a Tensor method ("" none); None: none. "=" stands for the function's own
            names.
        inplace: names of in-place methods to make from it ("=": each method name with an
            underscore); the first argument is written.
        out: the namespace function also takes `out=`; "apart": nowhere near the arguments' memory;
            "same", "found" and texts of the function's own: of the result's own dtype, or of one that holds it (see
            `display.refusals.out_rules`); "apart: " before them: both; a tuple: for each result; "computes": its dtype is the
            one to compute in, where no `dtype` is given.
    """

    def register(function: Function) -> Function:
        own = names.split() or [function.__name__]
        if function.__name__ not in own:
            # the name that handlers of `__torch_function__` and printed graphs see
            function.__name__ = own[0]
        for name in own:
            target: Any = function
            for space in sorted(namespace.split(), reverse=True):  # torch's own before nn's
                if out and (space != "nn.functional" or target is function):
                    asked = out if isinstance(out, (tuple, str)) else str(out)
                    target = with_out(function, asked, f"{space}.{name}")
                FUNCTIONS.setdefault(space, {})[name] = target
        method_names = own if methods == "=" else (methods or "").split()
        for name in method_names:
            METHODS[name] = function
        if inplace is not None:
            for name in (
                [m + "_" for m in (method_names or own)] if inplace == "=" else inplace.split()
            ):
                form = inplace_form(function, name)
                METHODS[name] = form
                if namespace.split()[0] == "torch" and not name.startswith("__"):
                    FUNCTIONS["torch"].setdefault(name, form)
        return function

    return register


def method(names: str = "") -> Callable[[Function], Function]:
    """Register a Tensor method that is not also a `torch.` function."""

    def register(function: Function) -> Function:
        for name in names.split() or [function.__name__]:
            METHODS[name] = function
        return function

    return register


def tensor_property(function: Function) -> Function:
    """Register a Tensor property."""
    PROPERTIES[function.__name__] = function
    return function


def with_out(
    function: Function, kind: str | tuple[str, ...] = "", path: str = ""
) -> Callable[..., Any]:
    """`function` with an additional `out=` keyword, which takes one tensor, or a tuple of them for
    several results.
    """

    # the form to call when there are only positional arguments
    positional = getattr(function, "positional", function)
    calls = Calls(path)
    rules = refusals.out_rules(kind)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        calls.left = calls.left - 1 or shortened(wrapper, function, calls)
        if (kwargs or len(args) > calls.first) and calls.known.get(
            key := (*map(type, args), *kwargs, *map(type, kwargs.values()))
            if kwargs
            else (*map(type, args),),
            True,
        ):
            admit(calls, key, args, kwargs)
        try:
            if not kwargs or calls.own(kwargs):
                return (function if kwargs else positional)(*args, **kwargs)
            given = renamed(function, kwargs)
            if "out" not in given:
                return function(*args, **given)
        except Exception as error:
            return retried(wrapper, calls, error, args, kwargs)
        target = refusals.wrapped((given := dict(given)).pop("out"), wrapper.__name__, args)
        if target is None:
            return function(*args, **given)
        if thread.stack.autocast is not None:  # autocast does not apply to calls with `out=`
            return playing("autocast", None)(wrapper)(*args, **kwargs)
        for one in target if isinstance(target, (tuple, list)) else (target,):
            check_out(one, args, rules[0].apart)
        if isinstance(target, Tensor):
            given = refusals.in_dtype(target, args, given, kind, function.__name__)
        try:
            result = getattr(kind, "form", function)(*args, **given)
        except NotImplementedError:
            if isinstance(target, Tensor):
                refusals.outside_graphs(function.__name__, target, *args)
                refusals.check_castable(target, function.__name__, args)
            raise
        refusals.check_outs(function.__name__, rules, target, result, (*args, *given.values()))
        if isinstance(target, Tensor):
            return into(target, result, function.__name__, args if kind == "computes" else ())
        parts = [into(o, r, function.__name__) for o, r in zip(target, result, strict=True)]
        return (
            getattr(type(result), "written", type(result))(*parts)
            if hasattr(result, "_fields")
            else tuple(parts)
        )

    wrapper.__name__ = path.rpartition(".")[2] or function.__name__
    wrapper.__signature__ = WithOut(function)  # type: ignore[attr-defined]
    return wrapper
