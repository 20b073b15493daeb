"""`torch.utils.hooks`: what registering a hook returns."""

from __future__ import annotations

import warnings
from typing import Any

from ..core.tape import RemovableHandle as RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Any) -> Any:
    """Mark a hook that is expected to be lost when its tensor is saved: no warning about it."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn of each hook on a tensor, since hooks are not saved."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be "
                "serialized.  If this is expected, you can "
                "decorate the function with @torch.utils.hooks.unserializable_hook "
                "to suppress this warning",
                stacklevel=2,
            )
