"""`torch._C._autograd`, as far as libraries ask it."""

from __future__ import annotations

from typing import Any

from ..core.interpret import thread


def _top_saved_tensors_default_hooks(ignore_is_tracing: bool = False) -> Any:
    """The innermost pair of hooks for saved tensors, or None."""
    for interpreter in reversed(thread.stack.all):
        if hasattr(interpreter, "pack_hook"):
            return interpreter.pack_hook, interpreter.unpack_hook
    return None
