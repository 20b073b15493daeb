"""`torch.cuda.memory`: there is no memory of a device. Questions are answered with 0, and what
would use or change it refuses.
"""

from __future__ import annotations

from collections import OrderedDict as _OrderedDict
from collections.abc import Iterator as _Iterator
from contextlib import contextmanager as _contextmanager
from typing import Any as _Any

from .._absent import dummy_class as _dummy_class
from .._absent import refusing as _refusing
from ..errors import no_cuda as _no_cuda
from ..errors import warn as _warn


def empty_cache() -> None:
    """Nothing: there is no memory of a device."""


def memory_allocated(device: _Any = None) -> int:
    """0.

    >>> import pellucid as torch
    >>> torch.cuda.memory_allocated()
    0
    """
    return 0


def max_memory_allocated(device: _Any = None) -> int:
    """0."""
    return 0


def memory_reserved(device: _Any = None) -> int:
    """0."""
    return 0


def max_memory_reserved(device: _Any = None) -> int:
    """0."""
    return 0


def reset_peak_memory_stats(device: _Any = None) -> None:
    """Nothing: there is no memory of a device."""


def reset_max_memory_allocated(device: _Any = None) -> None:
    """Nothing: there is no memory of a device. Deprecated: use `reset_peak_memory_stats`."""
    _resets("reset_max_memory_allocated")


def reset_max_memory_cached(device: _Any = None) -> None:
    """Nothing: there is no memory of a device. Deprecated: use `reset_peak_memory_stats`."""
    _resets("reset_max_memory_cached")


def memory_cached(device: _Any = None) -> int:
    """0. Deprecated: use `memory_reserved`."""
    _renamed("memory_cached", "memory_reserved")
    return 0


def max_memory_cached(device: _Any = None) -> int:
    """0. Deprecated: use `max_memory_reserved`."""
    _renamed("max_memory_cached", "max_memory_reserved")
    return 0


def _renamed(old: str, new: str) -> None:
    _warn(f"`torch.cuda.{old}` has been renamed to `torch.cuda.{new}`", FutureWarning)


def _resets(name: str) -> None:
    _warn(
        f"torch.cuda.{name} now calls torch.cuda.reset_peak_memory_stats, which resets /all/ peak memory stats.",
        FutureWarning,
    )


def memory_stats(device: _Any = None) -> _OrderedDict[str, _Any]:
    """No figures.

    >>> import pellucid as torch
    >>> len(torch.cuda.memory_stats())
    0
    """
    return _OrderedDict()


def memory_stats_as_nested_dict(device: _Any = None) -> dict[str, _Any]:
    """No figures."""
    return {}


def host_memory_stats() -> _OrderedDict[str, _Any]:
    """No figures: no memory of the host is pinned for a device."""
    return _OrderedDict()


def host_memory_stats_as_nested_dict() -> dict[str, _Any]:
    """No figures."""
    return {}


def list_gpu_processes(device: _Any = None) -> str:
    """The sentence PyTorch gives where NVIDIA's library is missing."""
    return "pynvml module not found, please install nvidia-ml-py"


def caching_allocator_enable(value: bool = True) -> None:
    """Nothing: there is no allocator of a device."""


@_contextmanager
def caching_allocator_disabled() -> _Iterator[None]:
    """Not supported, since there is no such device: entering it raises an error."""
    raise _no_cuda()
    yield


@_contextmanager
def use_mem_pool(pool: _Any, device: _Any = None) -> _Iterator[None]:
    """Not supported, since there is no such device: entering it raises an error."""
    raise _no_cuda()
    yield


for _name in (
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "change_current_allocator",
    "get_allocator_backend",
    "get_per_process_memory_fraction",
    "mem_get_info",
    "memory_snapshot",
    "memory_summary",
    "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_host_memory_stats",
    "set_per_process_memory_fraction",
):
    globals()[_name] = _refusing(_name, _no_cuda)
MemPool = _dummy_class("MemPool", __name__)


class CUDAPluggableAllocator:
    """Not supported, since there is no such device: always raises an error."""

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        raise _no_cuda()


_record_memory_history = _refusing("_record_memory_history", _no_cuda)
_snapshot = _refusing("_snapshot", _no_cuda)
_dump_snapshot = _refusing("_dump_snapshot", _no_cuda)
_set_allocator_settings = _refusing("_set_allocator_settings", _no_cuda)
