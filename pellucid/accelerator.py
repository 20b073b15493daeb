"""`torch.accelerator` without one: questions are answered (there is none), everything that needs
one refuses.
"""

from __future__ import annotations

from functools import partial

from ._absent import refusing
from .errors import DeviceError

_NONE = "Cannot access accelerator device when none is available."


def is_available() -> bool:
    """False.

    >>> import pellucid as torch
    >>> torch.accelerator.is_available()
    False
    """
    return False


def device_count() -> int:
    """0.

    >>> import pellucid as torch
    >>> torch.accelerator.device_count()
    0
    """
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """None.

    >>> import pellucid as torch
    >>> torch.accelerator.current_accelerator() is None
    True
    """
    return None


for _name in (
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_index",
    "empty_cache",
    "get_memory_info",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
):
    globals()[_name] = refusing(_name, partial(DeviceError, _NONE, op=f"torch.accelerator.{_name}"))
