"""TorchScript's decorators and predicates, such as `ignore` and `is_scripting`. They change
nothing here.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from ..futures import Future
from ._warnings import deprecated

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
    """Mark a function that TorchScript should not compile; returns it unchanged. In PyTorch a scripted module
    raises an error when it calls such a function; here the function runs.

    >>> import pellucid as torch
    >>> @torch.jit.unused
    ... def log(x):
    ...     return f"mean {x.mean():.1f}"
    >>> log(torch.tensor([1.0, 2.0]))
    'mean 1.5'
    """
    return fn


def _drop(fn: T) -> T:
    """Return the function as it is."""
    return fn


def export(fn: T) -> T:
    """Mark a method for TorchScript; returns it unchanged, since scripted modules keep all of their methods.

    >>> import pellucid as torch
    >>> class Scaler(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x
    ...     @torch.jit.export
    ...     def scale(self, x):
    ...         return x * 10
    >>> torch.jit.script(Scaler()).scale(torch.ones(2))
    tensor([10., 10.])
    """
    return fn


def interface(obj: T) -> T:
    """Mark a class as a TorchScript interface; returns it unchanged.

    >>> import pellucid as torch
    >>> @torch.jit.interface
    ... class Encoder:
    ...     def encode(self, x: torch.Tensor) -> torch.Tensor: ...
    >>> Encoder.__name__
    'Encoder'
    """
    return obj


def script_method(fn: T) -> T:
    """Mark a method of a `ScriptModule` subclass; returns it unchanged.

    >>> import pellucid as torch
    >>> class Doubler(torch.jit.ScriptModule):
    ...     @torch.jit.script_method
    ...     def forward(self, x):
    ...         return x * 2
    >>> Doubler()(torch.ones(1))
    tensor([2.])
    """
    deprecated("script_method")
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
    """A value with its TorchScript type, for attributes of scripted modules. The type is not used here.

    >>> import pellucid as torch
    >>> torch.jit.Attribute(0.5, float).value
    0.5
    """

    value: Any
    type: Any


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    """Call the function at once, as PyTorch does outside of TorchScript; `wait` gives its result.

    >>> wait(fork(max, 3, 5))
    5
    """
    deprecated("fork", "use `torch.compile` instead")
    future: Future[T] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[T]) -> T:
    """Return the result of a call that `fork` started.

    >>> import pellucid as torch
    >>> future = torch.jit.fork(torch.add, torch.ones(2), 1)
    >>> torch.jit.wait(future)
    tensor([2., 2.])
    """
    deprecated("wait", "use `torch.compile` instead")
    return future.wait()


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Accept PyTorch's switch for its graph optimizer. Scripted functions run as Python, with or without it.

    >>> import pellucid as torch
    >>> square = torch.jit.script(lambda x: x * x)
    >>> with torch.jit.optimized_execution(False):
    ...     print(square(torch.tensor(3.0)))
    tensor(9.)
    """
    yield


@contextmanager
def fuser(name: str) -> Iterator[None]:
    """Run the block: `torch.compile` is what fuses here."""
    if name not in ("fuser0", "fuser1", "fuser2", "fuser3"):
        raise Exception(f"unrecognized fuser option (name: {name})")
    yield


@contextmanager
def strict_fusion() -> Iterator[None]:
    """Accept PyTorch's check that a block is fused completely. Nothing is fused in TorchScript here; use
    `torch.compile(fullgraph=True)`.

    >>> import pellucid as torch
    >>> with torch.jit.strict_fusion():
    ...     print(torch.ones(2).exp().log())
    tensor([1.0000, 1.0000])
    """
    yield


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Accept a strategy for PyTorch's fuser and return it. It has no effect here.

    >>> import pellucid as torch
    >>> torch.jit.set_fusion_strategy([("STATIC", 2), ("DYNAMIC", 2)])
    [('STATIC', 2), ('DYNAMIC', 2)]
    """
    return strategy


def enable_onednn_fusion(enabled: bool) -> None:
    """Accept PyTorch's switch for oneDNN Graph. It has no effect here; `onednn_fusion_enabled` remains False.

    >>> import pellucid as torch
    >>> torch.jit.enable_onednn_fusion(True)
    >>> torch.jit.onednn_fusion_enabled()
    False
    """


def onednn_fusion_enabled() -> bool:
    """Whether oneDNN Graph fuses operations: always False, since it is not used here.

    >>> import pellucid as torch
    >>> torch.jit.onednn_fusion_enabled()
    False
    """
    return False


def last_executed_optimized_graph() -> Any:
    """None: nothing is executed but Python."""
    return None
