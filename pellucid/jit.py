"""`torch.jit`: TorchScript is not here. What marks functions for it leaves them as they are; what would compile or load refuses.

Modules and functions are Python, and run as they are: leave `torch.jit.script` and `torch.jit.trace` out.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Generic, NamedTuple, NoReturn, TypeVar

from .errors import UnsupportedError

__all__ = [
    "Attribute", "Error", "Final", "Future", "ScriptFunction", "ScriptModule", "annotate", "export", "fork", "freeze", "ignore",
    "interface", "is_scripting", "is_tracing", "isinstance", "load", "optimize_for_inference", "optimized_execution", "save",
    "script", "script_if_tracing", "set_fusion_strategy", "strict_fusion", "trace", "trace_module", "unused", "wait",
]  # fmt: skip

T = TypeVar("T")


class Error(RuntimeError):
    """What TorchScript raises; never raised here."""


def _refuse(name: str, instead: str) -> NoReturn:
    raise UnsupportedError(f"torch.jit.{name} is not supported: there is no TorchScript here", hint=instead)


_RUN = "call the function or module itself: it runs as it is, and its single operations are native kernels already"
_STORE = "keep the weights with torch.save(model.state_dict(), path), or the recorded program with torch.export"


# ---- refused -----------------------------------------------------------------------------------
def script(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: there is no TorchScript.

    Raises:
        NotImplementedError: always, with what to do instead.
    """
    _refuse("script", f"remove it; {_RUN}")


def trace(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: see `script`."""
    _refuse("trace", f"remove it; {_RUN}. torch.export records a program")


def trace_module(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: see `script`."""
    _refuse("trace_module", f"remove it; {_RUN}")


def load(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: TorchScript archives hold code that is not Python."""
    _refuse("load", "build the model in Python and load a state_dict with torch.load; write one from the archive in PyTorch")


def save(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: see `load`."""
    _refuse("save", _STORE)


def freeze(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: see `script`."""
    _refuse("freeze", "use model.eval() and torch.inference_mode()")


def optimize_for_inference(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: see `script`."""
    _refuse("optimize_for_inference", "use model.eval() and torch.inference_mode()")


class _Unmakeable:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse(type(self).__name__, _RUN)


class ScriptModule(_Unmakeable):
    """Exists for isinstance checks, which are False."""


class RecursiveScriptModule(ScriptModule):
    """Exists for isinstance checks, which are False."""


class ScriptFunction(_Unmakeable):
    """Exists for isinstance checks, which are False."""


# ---- questions and marks -----------------------------------------------------------------------
def is_scripting() -> bool:
    """False: code runs as Python.

    >>> is_scripting(), is_tracing()
    (False, False)
    """
    return False


def is_tracing() -> bool:
    """False: nothing is traced here."""
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


def export(fn: T) -> T:
    """Return the method as it is."""
    return fn


def interface(obj: T) -> T:
    """Return the class as it is."""
    return obj


def script_if_tracing(fn: T) -> T:
    """Return the function as it is, since nothing is ever traced."""
    return fn


def annotate(the_type: Any, the_value: T) -> T:
    """Return the value."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Python's isinstance, which also takes types such as `list[int]` by their origin."""
    targets: tuple[Any, ...] = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    return builtins.isinstance(obj, tuple(getattr(target, "__origin__", target) for target in targets))


class Attribute(NamedTuple):
    """A value with its TorchScript type."""

    value: Any
    type: Any


# ---- calls that have an eager meaning ----------------------------------------------------------
class Future(Generic[T]):
    """The result of `fork`."""

    def __init__(self, value: T) -> None:
        self._value = value

    def wait(self) -> T:
        return self._value

    def value(self) -> T:
        return self._value

    def done(self) -> bool:
        return True


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    """Call the function at once, as PyTorch does outside of TorchScript; `wait` gives its result.

    >>> wait(fork(max, 3, 5))
    5
    """
    return Future(func(*args, **kwargs))


def wait(future: Future[T]) -> T:
    """The result of `fork`."""
    return future.wait()


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Run the block; there is no TorchScript to optimize."""
    yield


@contextmanager
def strict_fusion() -> Iterator[None]:
    """Run the block; there is no TorchScript to fuse."""
    yield


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Accept a strategy; there is nothing that follows it. Returns it."""
    return strategy
