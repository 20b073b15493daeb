"""`torch.mtia` on a machine without it: questions are answered (there is no device), everything that
needs one refuses.
"""

from __future__ import annotations

from ._absent import (
    device_count,
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
    "current_device",
    "current_stream",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "init",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "memory_allocated",
    "memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "synchronize",
]


def is_bf16_supported() -> bool:
    """False."""
    return False


init = refusing("init", lambda: AssertionError("Torch not compiled with MTIA enabled."))


def _without(name: str) -> Exception:
    return RuntimeError(f"Cannot execute {name}() without MTIA backend.")


current_device = refusing("current_device", lambda: _without("getCurrentDevice"))
current_stream = refusing("current_stream", lambda: _without("getCurrentDevice"))
synchronize = refusing("synchronize", lambda: _without("getCurrentDevice"))
get_device_capability = refusing("get_device_capability", lambda: _without("getCurrentDevice"))
set_device = refusing("set_device", lambda: _without("setCurrentDevice"))
empty_cache = refusing("empty_cache", lambda: _without("emptyCache"))
