"""What `torch.mps`, `torch.mtia`, `torch.xpu` and `torch.accelerator` have in common on a machine
without such a device: questions are answered, and everything that needs the device refuses.
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


def device_count() -> int:
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


def empty_cache() -> None:
    """Nothing: there is no memory of a device."""


def memory_stats(device: Any = None) -> dict[str, Any]:
    """No figures: there is no memory of a device."""
    return {}


def memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


def refusing(name: str, error: Callable[[], Exception]) -> Callable[..., Any]:
    """A function `name` that raises `error()`: what it does needs the device."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise error()

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Not supported, since there is no such device: always raises an error."
    return refuse


def dummy_class(name: str, module: str, error: Callable[[], Exception] | None = None) -> type:
    """A class that identifies objects of a device and cannot be made: as PyTorch's dummy base
    classes, unless `error` gives another exception.
    """

    def dummy() -> Exception:
        return RuntimeError(f"Tried to instantiate dummy base class {name}")

    body = {
        "__init__": refusing("__init__", error or dummy),
        "__doc__": "Not supported, since there is no such device: always raises an error.",
        "__module__": module,
    }
    return type(name, (), body)
