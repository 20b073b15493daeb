"""Arguments bound to the parameters of functions and modules (`torch.fx.operator_schemas`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from .._ops import ops
from ..api.origins import torch_name
from ._compatibility import compatibility

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
]


@compatibility(is_backward_compatible=False)
class ArgsKwargsPair(NamedTuple):
    """Positional and keyword arguments, all parameters in them."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@compatibility(is_backward_compatible=False)
def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """The signatures of a function of the library, in a list; None for another.

    Args:
        op: the function.
        return_schemas: return (signatures, None) instead: there are no schemas of TorchScript here.
    """
    signatures = None
    if torch_name(op) is not None:
        try:
            signatures = [inspect.signature(op)]
        except (TypeError, ValueError):
            signatures = None
    return (signatures, None) if return_schemas else signatures


@compatibility(is_backward_compatible=False)
def check_for_mutable_operation(
    target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Refuse a function that writes to its arguments.

    Raises:
        RuntimeError: `target` writes to an argument: `torch.relu_`, or a function with `out=`.
    """
    schema = _mutable_schema(target, args, kwargs)
    if schema is not None:
        raise RuntimeError(
            f"Tried to trace mutable operation {schema}. FX only supports functional code, so operations that mutate operands "
            "in-place (e.g. via `out` arguments) are not supported"
        )


def _mutable_schema(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The schema of a call that writes to its arguments; None where it does not, or where several
    schemas fit, as in PyTorch.
    """
    name = torch_name(target)
    if name is None or not name.startswith("torch.") or name.count(".") != 1:
        return None
    operator = getattr(ops.aten, name.removeprefix("torch."), None)
    schemas = [getattr(operator, key)._schema for key in operator.overloads()] if operator else []
    fitting = [schema for schema in schemas if _fits(schema, args, kwargs)]
    return fitting[0] if len(fitting) == 1 and fitting[0].is_mutable else None


def _fits(schema: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the arguments can be bound to a schema's."""
    names = [argument.name for argument in schema.arguments]
    positional = [argument.name for argument in schema.arguments if not argument.kwarg_only]
    given = {*positional[: len(args)], *kwargs}
    needed = {argument.name for argument in schema.arguments if not argument.has_default_value()}
    return len(args) <= len(positional) and needed <= given <= set(names)


@compatibility(is_backward_compatible=False)
def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call bound to the function's parameters, defaults filled in.

    Args:
        target: a function of the library.
        args, kwargs: what it is called with.
        arg_types, kwarg_types: accepted; a function has one signature here.
        normalize_to_only_use_kwargs: give all of them by keyword.

    Returns:
        The arguments, or None where the function is not the library's or the arguments do not fit.

    >>> import pellucid as torch
    >>> from pellucid.fx.operator_schemas import normalize_function
    >>> normalize_function(torch.nn.functional.relu, ("x",), normalize_to_only_use_kwargs=True)
    ArgsKwargsPair(args=(), kwargs={'input': 'x', 'inplace': False})
    """
    if torch_name(target) is None:
        return None
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return None
    return _bound(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


@compatibility(is_backward_compatible=False)
def normalize_module(
    root: Any,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call of a submodule bound to the parameters of its `forward`, where it is
    one of `torch.nn`.

    Raises:
        RuntimeError: there is no such submodule.
    """
    try:
        submodule = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize node with target {target} but root did not have that target!"
        ) from error
    name = torch_name(type(submodule))
    if name is None or not name.startswith("torch.nn."):
        return None
    return _bound(
        inspect.signature(submodule.forward), args, kwargs or {}, normalize_to_only_use_kwargs
    )


def _bound(
    signature: inspect.Signature, args: Any, kwargs: Any, by_name: bool
) -> ArgsKwargsPair | None:
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            return None
    try:
        given = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    given.apply_defaults()
    count = 0 if by_name else len(args)
    items = list(given.arguments.items())
    return ArgsKwargsPair(tuple(value for _, value in items[:count]), dict(items[count:]))
