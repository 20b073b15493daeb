"""Create modules without initializing their parameters."""

from __future__ import annotations

import inspect
from typing import Any

from ..modules.module import Module


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Any:
    """Create a module without initializing its parameters: on `meta` first, then with memory.

    Args:
        module_cls: a class of modules whose constructor takes `device`.
        args, kwargs: arguments for the constructor. `device` is where the module ends up; default
            "cpu".

    Raises:
        RuntimeError: it is not a class of modules, or does not take `device`.

    >>> import pellucid as torch
    >>> torch.nn.utils.skip_init(torch.nn.Linear, 3, 2).weight.shape
    torch.Size([2, 3])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    final = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=final)
