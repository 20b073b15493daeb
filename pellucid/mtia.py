"""`torch.mtia` on a machine without it: questions are answered (there is no device), everything that
needs one refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_bf16_supported() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def memory_stats(device: Any = None) -> dict[str, Any]:
    """No figures: there is no memory of a device."""
    return {}


def memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing: there is no generator of a device to seed."""


def manual_seed_all(seed: int) -> None:
    """Nothing: there is no generator of a device to seed."""


def seed() -> None:
    """Nothing: there is no generator of a device to seed."""


def seed_all() -> None:
    """Nothing: there is no generator of a device to seed."""


def init() -> NoReturn:
    """Not supported, since there is no such device: always raises an error."""
    raise AssertionError("Torch not compiled with MTIA enabled.")


def _refusing(name: str, inner: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"Cannot execute {inner}() without MTIA backend.")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Not supported, since there is no such device: always raises an error."
    return refuse


current_device = _refusing("current_device", "getCurrentDevice")
current_stream = _refusing("current_stream", "getCurrentDevice")
synchronize = _refusing("synchronize", "getCurrentDevice")
get_device_capability = _refusing("get_device_capability", "getCurrentDevice")
set_device = _refusing("set_device", "setCurrentDevice")
empty_cache = _refusing("empty_cache", "emptyCache")
