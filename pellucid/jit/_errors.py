"""Errors of scripted functions: Python's exceptions, translated to TorchScript's classes and
messages.
"""

from __future__ import annotations

import inspect
import linecache
import types
import typing
from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor


class Error(RuntimeError):
    """What running TorchScript raises.

    >>> import pellucid as torch
    >>> issubclass(torch.jit.Error, RuntimeError)
    True
    """

    __module__ = __package__


_NAMES: dict[Any, str] = {
    inspect.Parameter.empty: "Tensor",
    Tensor: "Tensor",
    None: "NoneType",
    type(None): "NoneType",
}


def _type_name(kind: Any) -> str:
    """A type as TorchScript's schemas write it: `Optional[Tensor]` is `Tensor?`, `List[int]` is
    `int[]`.
    """
    if isinstance(kind, typing.Hashable) and kind in _NAMES:
        return _NAMES[kind]
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType) and len(parts) == 2 and type(None) in parts:
        return _type_name(next(part for part in parts if part is not type(None))) + "?"
    if origin is list:
        return f"{_type_name(parts[0])}[]"
    if origin is dict:
        return f"Dict({_type_name(parts[0])}, {_type_name(parts[1])})"
    if origin is tuple:
        return f"({', '.join(map(_type_name, parts))})"
    return str(getattr(kind, "__name__", kind))


def _declaration(fn: Callable[..., Any], owner: Any) -> str:
    """The schema of a function, as PyTorch's errors quote it."""
    signature = inspect.signature(fn)
    try:
        hints = typing.get_type_hints(fn)
    except Exception:  # names that cannot be looked up stay as they are written
        hints = {}
    words = [] if owner is None else [f"__torch__.{owner.original_name} self"]
    for name, parameter in signature.parameters.items():
        kind = hints.get(name, parameter.annotation)
        default = "" if parameter.default is parameter.empty else f"={parameter.default}"
        words.append(f"{_type_name(kind)} {name}{default}")
    return f"{fn.__name__}({', '.join(words)}) -> {_type_name(hints.get('return', signature.return_annotation))}"


def _misfit(
    fn: Callable[..., Any], owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> str | None:
    """PyTorch's sentence about arguments that do not fit the function, if they do not."""
    try:
        signature = inspect.signature(fn)
        signature.bind(*args, **kwargs)
    except TypeError:
        pass
    except ValueError:  # no signature
        return None
    else:
        return None
    parameters = signature.parameters
    declaration, extra = _declaration(fn, owner), 0 if owner is None else 1
    if len(args) > len(parameters):
        return (
            f"{fn.__name__}() expected at most {len(parameters) + extra} argument(s) but received {len(args) + len(kwargs) + extra} "
            f"argument(s). Declaration: {declaration}"
        )
    for place, (name, parameter) in enumerate(parameters.items()):
        if place >= len(args) and name not in kwargs and parameter.default is parameter.empty:
            return f"{fn.__name__}() is missing value for argument '{name}'. Declaration: {declaration}"
    name = next((name for name in kwargs if name not in list(parameters)[len(args) :]), "")
    return f"Unknown keyword argument '{name}' for operator '{fn.__name__}'. Schema: {declaration}"


def translated(
    error: Exception,
    fn: Callable[..., Any],
    owner: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> RuntimeError:
    """What TorchScript raises where the function's Python raised `error`.

    Args:
        owner: the scripted module whose `forward` was called, or None.
    """
    if isinstance(error, TypeError):
        text = _misfit(fn, owner, args, kwargs)
        if text is not None:
            return RuntimeError(text)
    trace, frames = error.__traceback__, []
    while trace is not None:
        frames.append((trace.tb_frame.f_code, trace.tb_lineno))
        trace = trace.tb_next
    file = fn.__code__.co_filename if hasattr(fn, "__code__") else None
    code, number = next(
        (frame for frame in reversed(frames) if frame[0].co_filename == file), frames[-1]
    )
    line = linecache.getline(code.co_filename, number).rstrip()
    marks = " " * (len(line) - len(line.lstrip())) + "~" * len(line.lstrip()) + " <--- HERE"
    kind = (
        "RuntimeError: AssertionError"
        if isinstance(error, AssertionError)
        else f"{type(error).__module__}.{type(error).__name__}"
    )
    return Error(
        "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript (most recent call last):\n"
        f'  File "{code.co_filename}", line {number}, in {code.co_name}\n{line}\n{marks}\n{kind}: {error}\n'
    )
