"""`torch.xpu` on a machine without it: questions are answered (there is no device), everything that
needs one refuses.
"""

from __future__ import annotations

import contextlib
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


def is_current_stream_capturing() -> bool:
    """Not supported, since there is no such device: always raises an error."""
    raise RuntimeError("Tried to instantiate dummy base class _xpu_isCurrentStreamCapturing")


def manual_seed(seed: int) -> None:
    """Nothing: there is no generator of a device to seed."""


def manual_seed_all(seed: int) -> None:
    """Nothing: there is no generator of a device to seed."""


def empty_cache() -> None:
    """Nothing: there is no memory of a device."""


def synchronize(device: Any = None) -> None:
    """Not supported, since there is no such device: always raises an error."""
    raise RuntimeError("PyTorch is not linked with support for xpu devices")


def set_device(device: Any) -> None:
    """Not supported, since there is no such device: always raises an error."""
    raise RuntimeError("PyTorch is not linked with support for xpu devices")


def _refuse() -> NoReturn:
    raise AssertionError("Torch not compiled with XPU enabled")


def init() -> None:
    """Not supported, since there is no such device: always raises an error."""
    _refuse()


def current_device() -> int:
    """Not supported, since there is no such device: always raises an error."""
    _refuse()


def current_stream(device: Any = None) -> Any:
    """Not supported, since there is no such device: always raises an error."""
    _refuse()


def get_device_name(device: Any = None) -> str:
    """Not supported, since there is no such device: always raises an error."""
    _refuse()


def get_device_capability(device: Any = None) -> dict[str, Any]:
    """Not supported, since there is no such device: always raises an error."""
    _refuse()


def get_device_properties(device: Any = None) -> Any:
    """Not supported, since there is no such device: always raises an error."""
    _refuse()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Not supported, since there is no such device: always raises an error."""
    _refuse()


def get_rng_state(device: Any = "xpu") -> Any:
    """Not supported, since there is no such device: always raises an error."""
    _refuse()


def get_rng_state_all() -> list[Any]:
    """No states: there is no device."""
    return []


def set_rng_state(new_state: Any, device: Any = "xpu") -> None:
    """Nothing: there is no generator of a device to set."""


def set_rng_state_all(new_states: Any) -> None:
    """Nothing: there is no generator of a device to set."""


def seed() -> None:
    """Nothing: there is no generator of a device to seed."""


def seed_all() -> None:
    """Nothing: there is no generator of a device to seed."""


def memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """0."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """0."""
    return 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Not supported, since there is no such device: always raises an error."""
    _refuse()


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


def memory_stats(device: Any = None) -> dict[str, Any]:
    """No figures: there is no memory of a device."""
    return {}
