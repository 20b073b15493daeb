"""Pinned memory for batches."""

from __future__ import annotations

import queue
from typing import Any

from ..collate import rebuild


def pin_memory(data: Any, device: Any = None) -> Any:
    """The batch with all its tensors, and whatever else has a method `pin_memory`, in pinned memory.

    Raises:
        RuntimeError: tensors, where there is no accelerator.
    """
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, tuple) and not hasattr(data, "_fields"):
        return type(data)(pin_memory(x, device) for x in data)
    return rebuild(
        data,
        lambda: {key: pin_memory(x, device) for key, x in data.items()},
        lambda: [pin_memory(x, device) for x in data],
    )


def _pin_memory_loop(
    in_queue: Any, out_queue: Any, device_id: Any, done_event: Any, device: Any
) -> None:
    """Pin what a queue brings and hand it on, until told to stop."""
    while not done_event.is_set():
        try:
            number, data = in_queue.get(timeout=5.0)
        except queue.Empty:
            continue
        out_queue.put((number, pin_memory(data, device)))
