"""`torch.autograd.function`: custom operations and their context."""

from __future__ import annotations

from typing import Any

from ..core.function import Function as Function
from ..core.function import FunctionCtx as FunctionCtx
from ..core.function import InplaceFunction as InplaceFunction
from ..core.function import once_differentiable as once_differentiable
from ..errors import warn

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]

BackwardCFunction = FunctionCtx


def _saved_variables(ctx: Any) -> tuple[Any, ...]:
    """The older name of `saved_tensors`."""
    warn(
        "'saved_variables' is deprecated; use 'saved_tensors'",
        DeprecationWarning,
    )
    return ctx.saved_tensors


FunctionCtx.saved_variables = property(_saved_variables)  # type: ignore[attr-defined]


def _legacy(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(
        "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with "
        "static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
    )


setattr(Function, "__call__", _legacy)  # noqa: B010


def _made(self: Any, *args: Any, **kwargs: Any) -> None:
    FunctionCtx.__init__(self)
    warn(
        f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on "
        "the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
        DeprecationWarning,
    )


setattr(Function, "__init__", _made)  # noqa: B010
