"""`torch.Stream` and `torch.Event`: an order of calls on any device, and a point in it. On the
processor calls are done when they return, so nothing is ever pending.
"""

from __future__ import annotations

from typing import Any

from ..devices import device as Device
from ..errors import DeviceError

__all__ = ["Event", "Stream"]

_NUMBERS = {"cpu": 0, "meta": 8}


def _device(given: Any) -> Device:
    place = Device("cpu" if given is None else given)
    if place.type not in _NUMBERS:
        raise DeviceError(f"PyTorch is not linked with support for {place.type} devices")
    return place


def _no_events(place: Device) -> RuntimeError:
    return RuntimeError(f"{place.type} backend doesn't support events.")


class Stream:
    """An order of calls on a device. On the processor there is one.

    Args:
        device: "cpu" or "meta"; the processor, if it is left out.
        priority: nothing competes, so it has no effect.

    >>> import pellucid as torch
    >>> stream = torch.Stream(device="cpu")
    >>> stream
    torch.Stream device_type=cpu, device_index=-1, stream_id=0
    >>> stream.query()
    True
    """

    __module__ = "pellucid"
    stream_id = 0
    device_index = -1

    def __init__(self, device: Any = None, *, priority: int = 0) -> None:
        self.device = _device(device)

    @property
    def device_type(self) -> int:
        """The number of the kind of device; the processor's is 0."""
        return _NUMBERS[self.device.type]

    def query(self) -> bool:
        """True: no call is pending."""
        return True

    def synchronize(self) -> None:
        """Returns at once."""

    def wait_event(self, event: Any) -> None:
        """Returns at once."""

    def wait_stream(self, stream: Any) -> None:
        """Refused, as the processor records no events."""
        raise _no_events(self.device)

    def record_event(self, event: Any = None) -> Event:
        """Refused, as the processor records no events."""
        raise _no_events(self.device)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.device.type == other.device.type

    def __hash__(self) -> int:
        return hash((self.device.type, self.stream_id))

    def __repr__(self) -> str:
        return f"torch.Stream device_type={self.device.type}, device_index=-1, stream_id=0"


class Event:
    """A point in an order of calls. The processor does not record any, as calls are done when they
    return.

    Args:
        device: "cpu" or "meta"; the processor, if it is left out.
        enable_timing: what `elapsed_time` asks for.
        blocking, interprocess: nothing waits, so they have no effect.

    >>> import pellucid as torch
    >>> torch.Event("cpu").query()
    True
    """

    __module__ = "pellucid"
    event_id = 0

    def __init__(
        self,
        device: Any = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> None:
        self.device = _device(device)
        self._timed = bool(enable_timing)

    def query(self) -> bool:
        """True: no call is pending."""
        return True

    def synchronize(self) -> None:
        """Returns at once."""

    def wait(self, stream: Any = None) -> None:
        """Returns at once."""

    def record(self, stream: Any = None) -> None:
        """Refused, as the processor records no events."""
        raise _no_events(self.device)

    def elapsed_time(self, end_event: Event) -> float:
        """Refused: neither event was recorded."""
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        raise ValueError("Both events must be recorded before calculating elapsed time.")

    def __repr__(self) -> str:
        kind = self.device.type
        return f"torch.Event device_type={kind}, device_index=-1, event_flag={self._timed:d}, event_id=0"
