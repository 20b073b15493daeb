"""`torch.cpu`: the processor asked in the words of accelerators. There is one device, and its work
is done when a call returns.

>>> import pellucid as torch
>>> torch.cpu.device_count(), torch.cpu.current_device()
(1, 'cpu')
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import amp as amp

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


class Stream:
    """The order of calls; nothing runs beside it."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Returns at once."""

    def record_event(self) -> Event:
        """An event that has happened."""
        return Event()

    def wait_event(self, event: Any) -> None:
        """Returns at once."""


class Event:
    """A point in the order of calls, which has always been reached."""

    def __init__(self, enable_timing: bool = False) -> None:
        self.enable_timing = enable_timing

    def query(self) -> bool:
        """True."""
        return True

    def record(self, stream: Any = None) -> None:
        """Returns at once."""

    def synchronize(self) -> None:
        """Returns at once."""

    def wait(self, stream: Any = None) -> None:
        """Returns at once."""


_default = Stream()


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """ "cpu"."""
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing: there is one device."""


def synchronize(device: Any = None) -> None:
    """Returns at once: nothing is pending."""


def current_stream(device: Any = None) -> Stream:
    """The stream that every call runs on."""
    return _default


@contextmanager
def stream(stream: Any) -> Iterator[None]:
    """A context in which calls run as they always do."""
    yield


StreamContext = stream
