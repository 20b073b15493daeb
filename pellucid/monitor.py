"""`torch.monitor`: numbers that a program counts, summed up in intervals, and events for those who
registered for them.

>>> import pellucid as torch
>>> from datetime import timedelta
>>> kinds = torch.monitor.Aggregation
>>> events = []
>>> handle = torch.monitor.register_event_handler(events.append)
>>> loss = torch.monitor.Stat("loss", [kinds.MEAN, kinds.COUNT], timedelta(hours=1), 2)
>>> loss.add(2)
>>> loss.add(4)
>>> events[0].name, sorted(events[0].data.items())
('torch.monitor.Stat', [('loss.count', 2.0), ('loss.mean', 3.0)])
>>> torch.monitor.unregister_event_handler(handle)
"""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

__all__ = [
    "Aggregation",
    "Event",
    "EventHandlerHandle",
    "Stat",
    "TensorboardEventHandler",
    "data_value_t",
    "log_event",
    "register_event_handler",
    "unregister_event_handler",
]

data_value_t = str | float | int | bool
STAT_EVENT = "torch.monitor.Stat"
_handlers: dict[EventHandlerHandle, Callable[[Event], None]] = {}  # in the order of registration


class Aggregation(Enum):
    """How a `Stat` sums up its values."""

    VALUE = 0
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6


class Event:
    """Something that happened: a name, a time and values by name."""

    def __init__(
        self, name: str, timestamp: datetime.datetime, data: Mapping[str, data_value_t]
    ) -> None:
        fits = isinstance(name, str) and isinstance(timestamp, datetime.datetime)
        if not fits or not all(isinstance(value, str | float | int) for value in data.values()):
            raise TypeError(
                "__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                "    1. torch._C._monitor.Event(name: str, timestamp: datetime.datetime, data: collections.abc.Mapping[str, data_value_t])\n"
                f"\nInvoked with: {name!r}, {timestamp!r}, {data!r}"
            )
        self.name, self.timestamp = name, timestamp
        self.data = {k: float(v) if isinstance(v, bool) else v for k, v in data.items()}


class EventHandlerHandle:
    """What `unregister_event_handler` takes."""


def register_event_handler(callback: Callable[[Event], None]) -> EventHandlerHandle:
    """Call a function with each event from here on."""
    handle = EventHandlerHandle()
    _handlers[handle] = callback
    return handle


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """The reverse of `register_event_handler`."""
    _handlers.pop(handler, None)


def log_event(event: Event) -> None:
    """Give an event to all who registered."""
    for callback in list(_handlers.values()):
        callback(event)


class Stat:
    """Sums up values over windows of time, and logs an event at the end of each.

    Args:
        name: its values are called `name.mean` and so on.
        aggregations: what is told of the values.
        window_size: how long a window is. It ends with the first use after that time.
        max_samples: a window with so many values is logged at once, and takes no more.
    """

    def __init__(
        self,
        name: str,
        aggregations: Sequence[Aggregation],
        window_size: datetime.timedelta,
        max_samples: int = 2**63 - 1,
    ) -> None:
        self.name = name
        self._kinds, self._limit = list(aggregations), max_samples
        self._size = window_size.total_seconds()
        self._lock = threading.RLock()  # a handler may ask
        self._values: list[float] = []
        self._before: list[float] = []
        self._window, self._logged = self._now(), -1

    def _now(self) -> int:
        return int(time.time() // self._size)

    def add(self, v: float) -> None:
        """Add a value, unless this window has been logged."""
        value = float(v)
        with self._lock:
            self._log_if_due()
            if self._logged != self._now():
                self._values.append(value)
                self._log_if_due()

    def get(self) -> dict[Aggregation, float]:
        """What the last window came to; zeros before there was one."""
        with self._lock:
            self._log_if_due()
            return self._summed()

    @property
    def count(self) -> int:
        """How many values this window has."""
        with self._lock:
            self._log_if_due()
            return len(self._values)

    def _log_if_due(self) -> None:
        window = self._now()
        due = window != self._window or len(self._values) >= self._limit
        if due and self._logged != window:
            self._log()
            self._window = self._logged = window

    def _log(self) -> None:
        self._before, self._values = self._values, []
        if self._before:
            told = {f"{self.name}.{kind.name.lower()}": v for kind, v in self._summed().items()}
            log_event(Event(STAT_EVENT, datetime.datetime.now(), told))

    def _summed(self) -> dict[Aggregation, float]:
        of = self._before
        known = {
            Aggregation.MEAN: sum(of) / max(len(of), 1),
            Aggregation.COUNT: float(len(of)),
            Aggregation.SUM: float(sum(of)),
            Aggregation.MAX: max(of, default=0.0),
            Aggregation.MIN: min(of, default=0.0),
        }
        return {kind: known[kind] for kind in self._kinds if kind in known}

    def __del__(self) -> None:
        if getattr(self, "_values", None):
            self._log()


class TensorboardEventHandler:
    """Writes the values of `Stat` as scalars to a SummaryWriter of TensorBoard."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def __call__(self, event: Event) -> None:
        if event.name == STAT_EVENT:
            for name, value in event.data.items():
                self._writer.add_scalar(name, value, walltime=event.timestamp.timestamp())
