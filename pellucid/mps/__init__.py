"""`torch.mps` on a machine without it: questions are answered (there is no device), everything that
needs one refuses.
"""

from __future__ import annotations

from .._absent import (
    device_count,
    empty_cache,
    is_available,
    manual_seed,
    refusing,
)
from . import profiler
from .event import Event

__all__ = [
    "Event",
    "compile_shader",
    "load_metallib",
    "current_allocated_memory",
    "device_count",
    "driver_allocated_memory",
    "empty_cache",
    "get_rng_state",
    "is_available",
    "manual_seed",
    "profiler",
    "recommended_max_memory",
    "seed",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "synchronize",
]


def _unlinked() -> Exception:
    return RuntimeError("PyTorch is not linked with support for mps devices")


synchronize = refusing("synchronize", _unlinked)


def _without(name: str) -> Exception:
    return RuntimeError(f"Cannot execute {name}() without MPS backend.")


current_allocated_memory = refusing(
    "current_allocated_memory", lambda: _without("getCurrentAllocatedMemory")
)
driver_allocated_memory = refusing(
    "driver_allocated_memory", lambda: _without("getDriverAllocatedMemory")
)
recommended_max_memory = refusing(
    "recommended_max_memory", lambda: _without("getRecommendedMaxMemory")
)
set_per_process_memory_fraction = refusing(
    "set_per_process_memory_fraction", lambda: _without("setMemoryFraction")
)
get_rng_state = refusing("get_rng_state", lambda: _without("getDefaultGenerator"))
set_rng_state = refusing("set_rng_state", lambda: _without("getDefaultGenerator"))
seed = refusing("seed", lambda: _without("getDefaultGenerator"))
compile_shader = refusing("compile_shader", lambda: RuntimeError("MPS is not available"))
load_metallib = refusing("load_metallib", lambda: RuntimeError("MPS is not available"))
