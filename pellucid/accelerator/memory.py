"""`torch.accelerator.memory`: there is no memory of a device."""

from __future__ import annotations

from functools import partial as _partial

from .._absent import refusing as _refusing
from ..errors import DeviceError as _DeviceError

_NONE = "Cannot access accelerator device when none is available."

for _name in (
    "empty_cache",
    "empty_host_cache",
    "get_memory_info",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
):
    globals()[_name] = _refusing(
        _name, _partial(_DeviceError, _NONE, op=f"torch.accelerator.{_name}")
    )
