"""`torch.xpu` on a machine without it: questions are answered (there is no device), everything that
needs one refuses.
"""

from __future__ import annotations

import contextlib
from typing import Any

from .._absent import (
    device_count,
    dummy_class,
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
from . import streams

__all__ = [
    "Event",
    "MemPool",
    "Stream",
    "StreamContext",
    "XPUGraph",
    "XPUPluggableAllocator",
    "can_device_access_peer",
    "change_current_allocator",
    "clock_rate",
    "current_device",
    "current_stream",
    "default_generators",
    "device",
    "device_count",
    "device_memory_used",
    "device_of",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "get_per_process_memory_fraction",
    "get_rng_state",
    "get_rng_state_all",
    "get_stream_from_external",
    "graph",
    "graph_pool_handle",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "make_graphed_callables",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_usage",
    "power_draw",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "streams",
    "synchronize",
    "temperature",
    "use_mem_pool",
    "utilization",
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


class StreamContext(contextlib.nullcontext[None]):
    """Context manager that changes nothing for None; a stream of a device cannot be made."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self.stream = stream


def stream(stream: Any) -> StreamContext:
    """A context that changes nothing for None."""
    return StreamContext(stream)


class device_of(device):  # noqa: N801 (PyTorch's name)
    """Context manager that changes nothing for a tensor: none is on such a device."""


def get_arch_list() -> list[str]:
    """No architecture."""
    return []


def get_gencode_flags() -> str:
    """No flags, as there is no architecture."""
    return ""


def memory_snapshot(mempool_id: Any = None) -> list[Any]:
    """No memory of a device."""
    return []


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """No figures: there is no memory of a device."""
    return {}


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
initial_seed = refusing("initial_seed", _not_compiled)
can_device_access_peer = refusing("can_device_access_peer", _not_compiled)
change_current_allocator = refusing("change_current_allocator", _not_compiled)
get_per_process_memory_fraction = refusing("get_per_process_memory_fraction", _not_compiled)
get_stream_from_external = refusing("get_stream_from_external", _not_compiled)
make_graphed_callables = refusing("make_graphed_callables", _not_compiled)
reset_accumulated_memory_stats = refusing("reset_accumulated_memory_stats", _not_compiled)
set_per_process_memory_fraction = refusing("set_per_process_memory_fraction", _not_compiled)
set_stream = refusing("set_stream", _not_compiled)
use_mem_pool = refusing("use_mem_pool", _not_compiled)
graph = refusing("graph", _not_compiled)
clock_rate = refusing(
    "clock_rate", lambda: ImportError("pyzes is required; install it with 'pip install pyzes'.")
)
device_memory_used = refusing(
    "device_memory_used",
    lambda: ImportError("pyzes is required; install it with 'pip install pyzes'."),
)
memory_usage = refusing(
    "memory_usage", lambda: ImportError("pyzes is required; install it with 'pip install pyzes'.")
)
power_draw = refusing(
    "power_draw", lambda: ImportError("pyzes is required; install it with 'pip install pyzes'.")
)
temperature = refusing(
    "temperature", lambda: ImportError("pyzes is required; install it with 'pip install pyzes'.")
)
utilization = refusing(
    "utilization", lambda: ImportError("pyzes is required; install it with 'pip install pyzes'.")
)
graph_pool_handle = refusing(
    "graph_pool_handle",
    lambda: RuntimeError("Tried to instantiate dummy base class _xpu_graph_pool_handle"),
)
Event, Stream = streams.Event, streams.Stream
MemPool = dummy_class("MemPool", __name__)
XPUGraph = dummy_class("XPUGraph", __name__)
XPUPluggableAllocator = dummy_class("XPUPluggableAllocator", __name__, _not_compiled)
default_generators: tuple[Any, ...] = ()
