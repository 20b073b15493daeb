"""`torch.mps` on a machine without it: questions are answered (there is no device), everything that
needs one refuses.
"""

from __future__ import annotations

from typing import Any, NoReturn


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing: there is no generator of a device to seed."""


def manual_seed_all(seed: int) -> None:
    """Nothing: there is no generator of a device to seed."""


def empty_cache() -> None:
    """Nothing: there is no memory of a device."""


def synchronize(device: Any = None) -> None:
    """Not supported, since there is no such device: always raises an error."""
    raise RuntimeError("PyTorch is not linked with support for mps devices")


def set_device(device: Any) -> None:
    """Not supported, since there is no such device: always raises an error."""
    raise RuntimeError("PyTorch is not linked with support for mps devices")


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(f"Cannot execute {name}() without MPS backend.")


def current_allocated_memory() -> int:
    """Not supported, since there is no such device: always raises an error."""
    _refuse("getCurrentAllocatedMemory")


def driver_allocated_memory() -> int:
    """Not supported, since there is no such device: always raises an error."""
    _refuse("getDriverAllocatedMemory")


def recommended_max_memory() -> int:
    """Not supported, since there is no such device: always raises an error."""
    _refuse("getRecommendedMaxMemory")


def set_per_process_memory_fraction(fraction: float) -> None:
    """Not supported, since there is no such device: always raises an error."""
    _refuse("setMemoryFraction")


def get_rng_state() -> Any:
    """Not supported, since there is no such device: always raises an error."""
    _refuse("getDefaultGenerator")


def set_rng_state(new_state: Any) -> None:
    """Not supported, since there is no such device: always raises an error."""
    _refuse("getDefaultGenerator")


def seed() -> None:
    """Not supported, since there is no such device: always raises an error."""
    _refuse("getDefaultGenerator")
