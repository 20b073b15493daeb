"""Schemas of operators from the annotations of functions."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from .. import dtypes
from ..core.tensor import Tensor
from ..errors import ArgumentValueError

_TYPES: dict[Any, str] = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    dtypes.dtype: "ScalarType",
    dtypes.device: "Device",
    bool | int | float: "Scalar",
}
_LISTS = (list, collections.abc.Sequence)


def _type_text(kind: Any) -> str | None:
    """Return an annotated type as schemas write it; None if schemas have no such type."""
    if isinstance(kind, str):
        return None
    if kind in _TYPES:
        return _TYPES[kind]
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        rest = [part for part in parts if part is not type(None)]
        if len(rest) < len(parts):
            inner = _type_text(rest[0] if len(rest) == 1 else typing.Union[tuple(rest)])  # noqa: UP007
            return None if inner is None or inner.endswith("?") else f"{inner}?"
        return "Scalar" if set(rest) == {bool, int, float} else None
    if origin in _LISTS and len(parts) == 1:
        inner = _type_text(parts[0])
        return None if inner is None or "[" in inner else f"{inner}[]"
    return None


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
) -> str:
    """The schema of an operator from a function's annotations.

    Args:
        prototype_function: a function whose arguments and result are annotated.
        mutates_args: the names of the arguments that it writes to, or "unknown" for all tensors.
        op_name: a name to begin the schema with.

    Raises:
        ValueError: an annotation is missing, or no type of a schema.

    >>> import pellucid as torch
    >>> def f(x: torch.Tensor, n: int = 2) -> torch.Tensor: ...
    >>> infer_schema(f, mutates_args=())
    '(Tensor x, SymInt n=2) -> Tensor'
    """
    signature = inspect.signature(prototype_function)
    try:
        hints = typing.get_type_hints(prototype_function)
    except Exception:
        hints = {}

    def refuse(what: str) -> NoReturn:
        raise ArgumentValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    unknown = mutates_args == "unknown"
    written = set() if isinstance(mutates_args, str) else set(mutates_args)
    if isinstance(mutates_args, str) and not unknown:
        raise ArgumentValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated or the string 'unknown'. "
        )
    words: list[str] = []
    star = False
    for place, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            refuse("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            words.append("*")
            star = True
        if parameter.annotation is parameter.empty:
            refuse(f"Parameter {name} must have a type annotation.")
        kind = _type_text(hints.get(name, parameter.annotation))
        if kind is None:
            refuse(f"Parameter {name} has unsupported type {parameter.annotation}.")
        if name in written or (unknown and kind.startswith("Tensor")):
            if not kind.startswith("Tensor"):
                refuse(
                    f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated"
                )
            kind = f"Tensor(a{place}!){kind.removeprefix('Tensor')}"
        words.append(f"{kind} {name}" + _default(name, parameter, refuse))
    strange = written - set(signature.parameters)
    if strange:
        refuse(
            f"{strange} in mutates_args were not found in the custom op's signature. mutates_args should contain the names of all args "
            "that the custom op mutates, or just the string 'unknown' if you don't know."
        )
    if signature.return_annotation is signature.empty:
        refuse("No return type annotation was provided. Please add one.")
    result = _result_text(hints.get("return", signature.return_annotation), refuse)
    return f"{op_name or ''}({', '.join(words)}) -> {result}"


def _default(name: str, parameter: inspect.Parameter, refuse: Callable[[str], NoReturn]) -> str:
    """Return the default of an argument as a schema writes it."""
    value = parameter.default
    if value is parameter.empty:
        return ""
    if value is None or isinstance(value, (bool, int, float)):
        return f"={value}"
    if isinstance(value, str):
        return f'="{value}"'
    if isinstance(value, (dtypes.dtype, dtypes.device)):
        word = str(value).removeprefix("torch.")
        return f"={word}" if isinstance(value, dtypes.dtype) else f'="{word}"'
    refuse(
        f"Parameter {name} has an unsupported default value type {type(value)}. Please file an issue on GitHub so we can prioritize this."
    )


def _result_text(kind: Any, refuse: Callable[[str], NoReturn]) -> str:
    """Return the result type of a function as a schema writes it."""
    if kind is None or kind is type(None):
        return "()"
    several = typing.get_origin(kind) is tuple
    words = [_type_text(part) for part in (typing.get_args(kind) if several else (kind,))]
    for word, part in zip(words, typing.get_args(kind) if several else (kind,), strict=True):
        if word is None or word not in ("Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar"):
            refuse(f"Return has unsupported type {part}.")
    return (
        f"({', '.join(typing.cast('list[str]', words))})"
        if several and len(words) != 1
        else f"{words[0]}"
    )
