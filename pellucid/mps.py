"""`torch.mps` on a machine without it: questions are answered (there is no device), everything that needs one refuses."""

from __future__ import annotations

from typing import Any


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
    """Refused: there is no device."""
    raise RuntimeError("PyTorch is not linked with support for mps devices")


def set_device(device: Any) -> None:
    """Refused: there is no device."""
    raise RuntimeError("PyTorch is not linked with support for mps devices")
