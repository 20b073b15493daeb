"""Contexts that are decorators, too (`torch.utils._contextlib`)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """The function, each call of which runs inside of a context: an object, or what a call of `ctx`
    makes.
    """
    make = ctx if callable(ctx) and not hasattr(ctx, "__enter__") else lambda: ctx
    if inspect.isgeneratorfunction(func):

        @functools.wraps(func)
        def generator(*args: Any, **kwargs: Any) -> Any:
            inner = func(*args, **kwargs)
            send: Any = None
            while True:
                with make():
                    try:
                        value = inner.send(send)
                    except StopIteration as stop:
                        return stop.value
                send = yield value

        return generator

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with make():
            return func(*args, **kwargs)

    return wrapped


class _DecoratorContextManager:
    """Base class of contexts that decorate: each call runs in a fresh `clone()`."""

    def __call__(self, orig_func: Callable[..., Any]) -> Callable[..., Any]:
        return context_decorator(self.clone, orig_func)

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError

    def clone(self) -> Any:
        """A context as this one."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """A context that decorates with and without brackets."""

    def __new__(cls, orig_func: Any = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)
