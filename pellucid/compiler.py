"""`torch.compile` and `torch.compiler`: accepted, and honest about it: this version runs what it is given, eagerly.

Functions return what they return without it, so scripts run unchanged; nothing is traced, fused or cached across operations. Single
operations run as native kernels either way.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, TypeVar

from .nn.modules.module import Module

__all__ = [
    "EagerCompileWarning", "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
    "get_default_backend", "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_default_backend",
    "set_stance",
]  # fmt: skip

T = TypeVar("T")
_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile", "aot_eager_then_compile")
_state: dict[str, Any] = {"backend": "inductor", "warned": False}


class EagerCompileWarning(UserWarning):
    """`torch.compile` was called, and runs eagerly. Silence it with
    `warnings.simplefilter("ignore", torch.compiler.EagerCompileWarning)`.
    """


class OptimizedModule(Module):
    """What `compile` makes of a module: the module itself is `_orig_mod`, and does the work.

    Attributes are those of the module; the names in `state_dict()` begin with `_orig_mod.`, as PyTorch's do.
    """

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._orig_mod = mod
        self.train(mod.training)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._orig_mod(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._orig_mod, name)

    def __len__(self) -> int:
        return len(self._orig_mod)  # type: ignore[arg-type]


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """Return a function or module that runs `model` eagerly; says so once, with an `EagerCompileWarning`.

    All options of PyTorch are accepted and, but for `disable`, change nothing. Without `model` it returns a decorator.

    Raises:
        RuntimeError: for an unknown mode, or for mode and options together.
        TypeError: when `model` cannot be called.

    Example:
        >>> import pellucid as torch, warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", torch.compiler.EagerCompileWarning)
        ...     double = torch.compile(lambda x: 2 * x)
        >>> double(torch.ones(2))
        tensor([2., 2.])
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    if model is None:
        return lambda later: compile(later, disable=disable)
    if not callable(model):
        raise TypeError(f"torch.compile takes a function or a module, not {type(model).__name__}")
    if disable:
        return model
    if not _state["warned"]:
        _state["warned"] = True
        warnings.warn(
            "torch.compile: this version runs the function eagerly; results are the same, nothing is fused across operations. "
            "This is said once; it is a torch.compiler.EagerCompileWarning.",
            EagerCompileWarning,
            stacklevel=2,
        )
    if isinstance(model, Module):
        return OptimizedModule(model)
    if isinstance(model, type):
        return model

    @functools.wraps(model)
    def eager(*args: Any, **kwargs: Any) -> Any:
        return model(*args, **kwargs)

    eager._torchdynamo_orig_callable = model  # type: ignore[attr-defined]
    return eager


# ---- marks on functions ------------------------------------------------------------------------
def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Return the function as it is (or a decorator that does): it is never compiled."""
    return (lambda later: later) if fn is None else fn


def allow_in_graph(fn: T) -> T:
    """Return the function as it is."""
    return fn


def assume_constant_result(fn: T) -> T:
    """Return the function as it is; it runs at every call."""
    return fn


# ---- state -------------------------------------------------------------------------------------
def is_compiling() -> bool:
    """False: nothing is ever traced here."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """Forget compiled code, of which there is none; `compile` will warn again."""
    _state.update(warned=False, backend="inductor")


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The backends there are: none but running eagerly.

    >>> list_backends()
    ['eager']
    """
    return ["eager"]


def set_default_backend(backend: str | Callable[..., Any] | None) -> None:
    """Remember the name; every backend runs eagerly here."""
    _state["backend"] = "inductor" if backend is None else backend


def get_default_backend() -> str | Callable[..., Any]:
    """The name last given to `set_default_backend`."""
    return _state["backend"]


def cudagraph_mark_step_begin() -> None:
    """Do nothing: there are no CUDA graphs."""


class set_stance(ContextDecorator):  # noqa: N801
    """Accept a stance towards recompilation, as a call, a block or a decorator; everything runs eagerly in all of them.

    Raises:
        RuntimeError: for an unknown stance.
    """

    def __init__(self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None) -> None:
        if stance not in _STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}'")
        self.stance = stance

    def __enter__(self) -> set_stance:
        return self

    def __exit__(self, *error: object) -> None:
        return None
