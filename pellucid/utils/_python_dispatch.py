"""Modes and tensor types that handle operators (`torch.utils._python_dispatch`).

>>> import pellucid as torch
>>> from pellucid.utils._python_dispatch import TorchDispatchMode
>>> class Log(TorchDispatchMode):
...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
...         print(func)
...         return func(*args, **(kwargs or {}))
>>> with Log():
...     _ = torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3), torch.ones(4))
aten.ones.default
aten.ones.default
aten.ones.default
aten.t.default
aten.addmm.default
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..aten import dispatch
from ..aten.modes import BaseTorchDispatchMode as BaseTorchDispatchMode
from ..aten.modes import TorchDispatchMode
from ..aten.overload import OpOverload
from ..core.tensor import Tensor, version_of

__all__ = [
    "TorchDispatchMode",
    "_disable_current_modes",
    "_get_current_dispatch_mode",
    "_get_current_dispatch_mode_stack",
    "_pop_mode_temporarily",
    "autograd_would_have_decomposed",
    "is_in_any_mode_without_ignore_compile_internals",
    "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a mode is active in this thread."""
    return any(include_infra_modes or not m.is_infra_mode() for m in dispatch.thread.modes)


def is_in_any_mode_without_ignore_compile_internals() -> bool:
    """Whether a mode is active that is told of what a compiler does."""
    return any(not m.ignore_compile_internals() for m in dispatch.thread.modes)


def _get_current_dispatch_mode() -> Any:
    """The innermost mode, or None."""
    return dispatch.thread.modes[-1] if dispatch.thread.modes else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The modes, outermost first."""
    return list(dispatch.thread.modes)


def _len_torch_dispatch_stack() -> int:
    return len(dispatch.thread.modes)


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """Inside the block no mode is active."""
    known = list(dispatch.thread.modes)
    with dispatch.only(()):
        yield known


@contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    """Inside the block the innermost mode is not active."""
    mode = dispatch.thread.modes[-1]
    with dispatch.only(dispatch.thread.modes[:-1]):
        yield mode


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a tensor is of a type that can be taken apart into tensors (`__tensor_flatten__`) and
    put together again.
    """
    return (
        isinstance(t, Tensor)
        and type(t) is not Tensor
        and is_traceable_wrapper_subclass_type(type(t))
    )


def is_traceable_wrapper_subclass_type(t: Any) -> bool:
    """As `is_traceable_wrapper_subclass`, of a type."""
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def transform_subclass(
    t: Any, callback: Callable[[str, Any], Any], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """The tensor with `callback(name, inner)` in the place of each of its inner tensors."""
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    made = type(t).__tensor_unflatten__(
        {name: callback(name, getattr(t, name)) for name in names}, context, size, stride
    )
    if tuple(made.shape) != tuple(size):
        raise AssertionError(f"expected size {size}, got {made.shape} after unflatten")
    return made


def autograd_would_have_decomposed(func: OpOverload, flat_args: Any) -> bool:
    """Whether autograd takes an operator apart for arguments that want a gradient."""
    return func._can_decompose() and any(
        isinstance(a, Tensor) and a.requires_grad for a in flat_args
    )


def return_and_correct_aliasing(func: OpOverload, args: Any, kwargs: Any, out: Any) -> Any:
    """What a handler returns so that results share memory with arguments as the operator's schema
    says.

    An argument that is written and returned is returned itself; a view's result shares the write
    counter of its argument.
    """
    schema = func._schema
    given = dict(zip([a.name for a in schema.arguments], args, strict=False)) | (kwargs or {})
    shared = {
        next(iter(a.alias_info.before_set)): given.get(a.name)
        for a in schema.arguments
        if a.alias_info is not None and a.alias_info.before_set
    }
    several = isinstance(out, (tuple, list))
    made = []
    for result, value in zip(
        schema.returns, out if several and len(schema.returns) > 1 else [out], strict=True
    ):
        info = result.alias_info
        source = shared.get(next(iter(info.after_set), "")) if info is not None else None
        if isinstance(source, Tensor) and info is not None and info.is_write:
            made.append(source)
            continue
        if isinstance(source, Tensor):
            for t in value if isinstance(value, (tuple, list)) else [value]:
                if isinstance(t, Tensor) and t is not source:
                    t._ver = version_of(source)
        made.append(value)
    return type(out)(made) if several and len(schema.returns) > 1 else made[0]
