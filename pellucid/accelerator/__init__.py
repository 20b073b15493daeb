"""`torch.accelerator` without one: questions are answered (there is none), everything that needs
one refuses.
"""

from __future__ import annotations

from functools import partial

from .._absent import refusing
from ..errors import DeviceError
from . import memory
from .memory import _NONE


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
    "Graph",
    "get_device_capability",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
):
    globals()[_name] = refusing(_name, partial(DeviceError, _NONE, op=f"torch.accelerator.{_name}"))
globals().update({name: each for name, each in vars(memory).items() if not name.startswith("_")})
