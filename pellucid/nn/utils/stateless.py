"""Call a module with other tensors in place of its own: the names from before `torch.func`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from ...errors import warn
from ...func.modules import reparametrized
from ..modules.module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`module(*args, **kwargs)` with the given tensors, by dotted name, instead of its own.

    Deprecated: use `torch.func.functional_call`.

    Args:
        parameters_and_buffers: tensors by name. Names that are left out keep the module's tensors.
        args: positional arguments; a value that is not a tuple is the only argument.
        tie_weights: a tensor that the module has under several names is replaced under all of them.
        strict: refuse missing and unexpected names.
    """
    warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. "
        "Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def _functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **({} if kwargs is None else kwargs))


def _reparametrize_module(
    module: Module,
    parameters_and_buffers: dict[str, Any],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> AbstractContextManager[None]:
    """Inside the block the module has the given tensors, by dotted name, in place of its own."""
    return reparametrized(module, parameters_and_buffers, tie_weights, strict)
