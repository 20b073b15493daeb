"""`torch.utils.hooks`: what registering a hook returns."""

from __future__ import annotations

from ..core.tape import RemovableHandle as RemovableHandle

__all__ = ["RemovableHandle"]
