"""`torch.mtia` on a machine without it: questions are answered (there is no device), everything that
needs one refuses.
"""

from __future__ import annotations

import contextlib
from typing import Any

from ._absent import (
    device_count,
    dummy_class,
    is_available,
    is_initialized,
    manual_seed,
    manual_seed_all,
    max_memory_allocated,
    memory_allocated,
    memory_stats,
    refusing,
    seed,
    seed_all,
)

__all__ = [
    "MTIAGraph",
    "attach_out_of_memory_observer",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "graph",
    "graph_pool_handle",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "memory_allocated",
    "memory_stats",
    "record_memory_history",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "snapshot",
    "stream",
    "synchronize",
]


def is_bf16_supported() -> bool:
    """False."""
    return False


def get_rng_state_all() -> list[Any]:
    """No state."""
    return []


def set_rng_state(new_state: Any, device: Any = "mtia") -> None:
    """Nothing: there is no generator of a device to set."""


def set_rng_state_all(new_states: Any) -> None:
    """Nothing: there is no generator of a device to set."""


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing: there is no memory of a device."""


def record_memory_history(
    enabled: str | None = "all", stacks: str = "python", max_entries: int = 0
) -> None:
    """Nothing: there is no memory of a device."""


def attach_out_of_memory_observer(observer: Any) -> None:
    """Nothing: no memory of a device runs out."""


class device(contextlib.nullcontext[None]):  # noqa: N801 (PyTorch's name)
    """Context manager that changes nothing: there is no device."""

    def __init__(self, device: Any) -> None:
        super().__init__()


init = refusing("init", lambda: AssertionError("Torch not compiled with MTIA enabled."))


def _without(name: str) -> Exception:
    return RuntimeError(f"Cannot execute {name}() without MTIA backend.")


current_device = refusing("current_device", lambda: _without("getCurrentDevice"))
current_stream = refusing("current_stream", lambda: _without("getCurrentDevice"))
synchronize = refusing("synchronize", lambda: _without("getCurrentDevice"))
get_device_capability = refusing("get_device_capability", lambda: _without("getCurrentDevice"))
set_device = refusing("set_device", lambda: _without("setCurrentDevice"))
empty_cache = refusing("empty_cache", lambda: _without("emptyCache"))
default_stream = refusing("default_stream", lambda: _without("getCurrentDevice"))
get_device_properties = refusing("get_device_properties", lambda: _without("getCurrentDevice"))
stream = refusing("stream", lambda: _without("getCurrentDevice"))
set_stream = refusing("set_stream", lambda: _without("getCurrentDevice"))
get_rng_state = refusing(
    "get_rng_state", lambda: AssertionError("Torch not compiled with MTIA enabled.")
)
initial_seed = refusing(
    "initial_seed", lambda: AssertionError("Torch not compiled with MTIA enabled.")
)
snapshot = refusing("snapshot", lambda: _without("memorySnapshot"))
graph_pool_handle = refusing("graph_pool_handle", lambda: _without("graphPoolHandle"))
MTIAGraph = dummy_class("MTIAGraph", __name__, lambda: _without("getCurrentDevice"))
graph = refusing("graph", lambda: _without("getCurrentDevice"))
Event = dummy_class("Event", __name__)
Stream = dummy_class("Stream", __name__)
StreamContext = dummy_class("StreamContext", __name__)
