"""Modes, which intercept every operator in a `with` block."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from . import level
from .overload import OpOverload


class TorchDispatchMode:
    """Context manager whose `__torch_dispatch__` is called in place of every operator inside the
    block.

    Inside of it, operators go to the modes further out, then to the types of the arguments, and are
    computed at the end. Autograd has been passed: nothing is recorded there.
    """

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key: Any = None) -> None:
        self._entered = 0

    def __torch_dispatch__(
        self, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """What is called: an operator, the types of arguments that handle operators themselves, and
        the arguments.
        """
        raise NotImplementedError

    def __enter__(self) -> Any:
        level.enter_mode(self)
        return self

    def __exit__(self, *exc: object) -> None:
        level.exit_mode()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return wrapped

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """A mode of this class, to be entered."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether it is one of the library's own."""
        return False

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Whether it is not told of what a compiler does."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """The mode that changes nothing."""

    def __torch_dispatch__(
        self, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))
