"""`torch.xpu` on a machine without it: questions are answered (there is no device), everything that
needs one refuses.
"""

from __future__ import annotations

import contextlib
from typing import Any

from ._absent import (
    device_count,
    empty_cache,
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
    "device",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "synchronize",
]

memory_reserved = memory_allocated
max_memory_reserved = max_memory_allocated


def get_rng_state_all() -> list[Any]:
    """No states: there is no device."""
    return []


def set_rng_state(new_state: Any, device: Any = "xpu") -> None:
    """Nothing: there is no generator of a device to set."""


def set_rng_state_all(new_states: Any) -> None:
    """Nothing: there is no generator of a device to set."""


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def is_tf32_supported() -> bool:
    """False."""
    return False


class device(contextlib.nullcontext[None]):  # noqa: N801 (PyTorch's name)
    """Context manager that changes nothing: there is no device."""

    def __init__(self, device: Any) -> None:
        super().__init__()


def _unlinked() -> Exception:
    return RuntimeError("PyTorch is not linked with support for xpu devices")


def _not_compiled() -> Exception:
    return AssertionError("Torch not compiled with XPU enabled")


synchronize = refusing("synchronize", _unlinked)
set_device = refusing("set_device", _unlinked)
is_current_stream_capturing = refusing(
    "is_current_stream_capturing",
    lambda: RuntimeError("Tried to instantiate dummy base class _xpu_isCurrentStreamCapturing"),
)
init = refusing("init", _not_compiled)
current_device = refusing("current_device", _not_compiled)
current_stream = refusing("current_stream", _not_compiled)
get_device_name = refusing("get_device_name", _not_compiled)
get_device_capability = refusing("get_device_capability", _not_compiled)
get_device_properties = refusing("get_device_properties", _not_compiled)
get_rng_state = refusing("get_rng_state", _not_compiled)
mem_get_info = refusing("mem_get_info", _not_compiled)
reset_peak_memory_stats = refusing("reset_peak_memory_stats", _not_compiled)
