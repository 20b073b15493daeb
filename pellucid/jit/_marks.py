"""TorchScript's decorators and predicates, such as `ignore` and `is_scripting`. They change
nothing here.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from ..futures import Future

T = TypeVar("T")


def is_scripting() -> bool:
    """False: code runs as Python, scripted or not.

    >>> is_scripting()
    False
    """
    return False


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Return the function as it is; with options, a decorator that does.

    >>> @ignore
    ... def f(): return 1
    >>> f()
    1
    """
    return drop if callable(drop) else lambda fn: fn


def unused(fn: T) -> T:
    """Return the function as it is."""
    return fn


def _drop(fn: T) -> T:
    """Return the function as it is."""
    return fn


def export(fn: T) -> T:
    """Return the method as it is."""
    return fn


def interface(obj: T) -> T:
    """Return the class as it is."""
    return obj


def script_method(fn: T) -> T:
    """Return the method as it is."""
    return fn


def _overload(func: T) -> T:
    """Return the function as it is: Python runs the last definition of a name, which is the
    implementation.
    """
    return func


def _overload_method(func: T) -> T:
    """Return the method as it is: see `_overload`."""
    return func


def annotate(the_type: Any, the_value: T) -> T:
    """Return the value.

    Args:
        the_type: the type that TorchScript would give it; not looked at.

    >>> import pellucid as torch
    >>> torch.jit.annotate(list[int], [1, 2])
    [1, 2]
    """
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Python's isinstance, which also looks into `list[int]`, `dict[str, int]`, `tuple[int, str]`
    and `Optional[int]`.

    >>> isinstance([1, 2], list[int]), isinstance([1, "a"], list[int])
    (True, False)
    """
    from ._types import holds

    targets: tuple[Any, ...] = (
        target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    )
    return any(holds(obj, target) for target in targets)


class Attribute(NamedTuple):
    """A value with its TorchScript type."""

    value: Any
    type: Any


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    """Call the function at once, as PyTorch does outside of TorchScript; `wait` gives its result.

    >>> wait(fork(max, 3, 5))
    5
    """
    future: Future[T] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[T]) -> T:
    """The result of `fork`."""
    return future.wait()


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Run the block: a scripted function runs as Python either way."""
    yield


@contextmanager
def fuser(name: str) -> Iterator[None]:
    """Run the block: `torch.compile` is what fuses here."""
    if name not in ("fuser0", "fuser1", "fuser2", "fuser3"):
        raise Exception(f"unrecognized fuser option (name: {name})")
    yield


@contextmanager
def strict_fusion() -> Iterator[None]:
    """Run the block: `torch.compile` is what fuses here."""
    yield


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Accept a strategy; there is nothing that follows it. Returns it."""
    return strategy


def enable_onednn_fusion(enabled: bool) -> None:
    """Accept the setting; there is nothing that follows it."""


def onednn_fusion_enabled() -> bool:
    """False."""
    return False


def last_executed_optimized_graph() -> Any:
    """None: nothing is executed but Python."""
    return None
