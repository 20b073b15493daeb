"""Types and modes that take over functions (`torch.overrides`)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from .api import attach, overriding
from .core.tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "enable_reentrant_dispatch", "get_default_nowrap_functions", "get_overridable_functions",
    "handle_torch_function", "has_torch_function", "is_tensor_like", "is_tensor_method_or_property", "resolve_name",
    "wrap_torch_function",
]  # fmt: skip

DisableTorchFunctionSubclass = overriding.DisableTorchFunctionSubclass
DisableTorchFunction = overriding.DisableTorchFunction


class TorchFunctionMode:
    """Context manager whose `__torch_function__` is called in place of every public function and method inside the block.

    >>> import pellucid as torch
    >>> class Log(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     _ = torch.ones(2).exp()
    ones
    exp
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        overriding.enter_mode(self)
        return self

    def __exit__(self, *exc: object) -> None:
        overriding.exit_mode(self)


class BaseTorchFunctionMode(TorchFunctionMode):
    """The mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments, or a mode, takes over functions."""
    return bool(overriding.overloaded(relevant_args)) or bool(overriding.local.function_modes)


def has_torch_function_unary(arg: Any) -> bool:
    """`has_torch_function((arg,))`."""
    return has_torch_function((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function(args)`."""
    return has_torch_function(args)


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function through `__torch_function__` of the arguments' types.

    Raises:
        TypeError: all of them returned NotImplemented.
    """
    values = overriding.overloaded(relevant_args)
    types = tuple(type(v) for v in values)
    modes = overriding.local.function_modes
    if modes:
        return overriding.dispatch(public_api, public_api, args, kwargs)
    for value in values:
        result = value.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: {list(types)}")


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """Decorator: the function is taken over by the types of the arguments that `dispatcher(*args, **kwargs)` returns."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """True for a tensor and for what defines `__torch_function__`."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """True for a method of Tensor and for the getter of a property."""
    if getattr(func, "__name__", "") == "__get__":
        return True
    return any(func is value for value in vars(Tensor).values())


def get_default_nowrap_functions() -> set[Any]:
    """The getters whose results keep their type."""
    return {vars(Tensor)[name].__get__ for name in ("grad", "grad_fn") if name in vars(Tensor)}


def get_overridable_functions() -> dict[Any, list[Any]]:
    """The public functions that can be taken over, by namespace."""
    return {space: list(table.values()) for space, table in attach.FUNCTIONS.items()}


def resolve_name(f: Any) -> str | None:
    """The public name of a function or method, such as `torch.Tensor.add`; None for another."""
    if getattr(f, "__name__", "") == "__get__":
        owner = f.__self__
        return next((f"torch.Tensor.{k}.__get__" for k, v in vars(Tensor).items() if v is owner), None)
    for space, table in attach.FUNCTIONS.items():
        for name, value in table.items():
            if f == value:
                return f"torch.{name}" if space == "torch" else f"torch.{space}.{name}"
    return next((f"torch.Tensor.{k}" for k, v in vars(Tensor).items() if v is f), None)


class enable_reentrant_dispatch:  # noqa: N801 (PyTorch's name)
    """Context manager that changes nothing: `__torch_function__` may be entered again at any time here."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass
