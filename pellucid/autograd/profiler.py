"""Which operations ran, how often and for how long (`torch.autograd.profiler`).

The engine tells its observers when an operation has finished. An operation's time here is what passed in the profiled thread since
the event before it, so Python code between operations counts with the operation that follows.

>>> import pellucid as torch
>>> from pellucid.autograd import profiler
>>> with profiler.profile() as seen:
...     _ = (torch.ones(3) * 2).sum()
>>> sorted(row.key for row in seen.key_averages())
['mul', 'sum_all']
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

from ..core.modes import ContextDecorator
from ..core.observe import add_observer, remove_observer

__all__ = ["EventAverage", "EventList", "profile", "record_function"]


class EventAverage:
    """One operation's calls together; times in microseconds."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = 0.0

    @property
    def self_cpu_time_total(self) -> float:
        """The same: operations do not contain each other here."""
        return self.cpu_time_total

    @property
    def cpu_time(self) -> float:
        """Per call."""
        return self.cpu_time_total / max(self.count, 1)

    def __repr__(self) -> str:
        return f"<EventAverage key={self.key} count={self.count} cpu_time_total={self.cpu_time_total:.1f}us>"


class EventList:
    """Rows of a profile, the most expensive first."""

    def __init__(self, rows: list[EventAverage]) -> None:
        self.rows = rows

    def __iter__(self) -> Iterator[EventAverage]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, k: int) -> EventAverage:
        return self.rows[k]

    def total_average(self) -> EventAverage:
        """All rows together."""
        total = EventAverage("Total")
        for row in self.rows:
            total.count += row.count
            total.cpu_time_total += row.cpu_time_total
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, **_: Any) -> str:
        """A table in text; `sort_by`: "cpu_time_total", "self_cpu_time_total", "cpu_time" or "count"."""
        rows = self.rows if sort_by is None else sorted(self.rows, key=lambda r: -float(getattr(r, sort_by)))
        total = self.total_average().cpu_time_total or 1.0
        width = max([len(r.key) for r in rows], default=4)
        lines = [f"{'Name':<{width}}  {'CPU %':>7}  {'CPU total':>12}  {'CPU avg':>10}  {'# of Calls':>10}"]
        for row in rows[:row_limit] if row_limit > 0 else rows:
            lines.append(
                f"{row.key:<{width}}  {100 * row.cpu_time_total / total:6.1f}%  {row.cpu_time_total:10.1f}us  {row.cpu_time:8.1f}us  "
                f"{row.count:>10}"
            )
        return "\n".join(lines)

    __str__ = table


class profile:  # noqa: N801 (PyTorch's name)
    """Context manager that counts and times the operations of this thread, backward's included.

    Args:
        enabled: False does nothing. Other keywords of PyTorch's profiler are accepted.
    """

    def __init__(self, enabled: bool = True, **_: Any) -> None:
        self.enabled = enabled
        self.rows: dict[str, EventAverage] = {}
        self.thread = 0
        self.last = 0

    def __enter__(self) -> profile:
        if self.enabled:
            self.thread = threading.get_ident()
            add_observer(self)
            self.last = time.perf_counter_ns()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.enabled:
            remove_observer(self)

    def _count(self, name: str) -> None:
        if threading.get_ident() != self.thread:
            return
        now = time.perf_counter_ns()
        row = self.rows.get(name)
        if row is None:
            row = self.rows[name] = EventAverage(name)
        row.count += 1
        row.cpu_time_total += (now - self.last) / 1000
        self.last = now

    # What the engine calls.
    def operation(self, op: Any, inputs: Any, params: Any, outputs: Any) -> None:
        """An operation ran."""
        self._count(op.name)

    def inplace(self, name: str, tensor: Any, inputs: Any) -> None:
        """A tensor was overwritten."""
        self._count(name)

    def backward_node(self, node: Any, grad_output: Any, grad_inputs: Any) -> None:
        """A gradient rule ran."""
        self._count(node.name())

    def key_averages(self, *_: Any, **__: Any) -> EventList:
        """One row per operation."""
        return EventList(sorted(self.rows.values(), key=lambda r: -r.cpu_time_total))

    def total_average(self) -> EventAverage:
        """All operations together."""
        return self.key_averages().total_average()

    def table(self, *args: Any, **kwargs: Any) -> str:
        """`key_averages().table(...)`."""
        return self.key_averages().table(*args, **kwargs)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all operations."""
        return self.total_average().cpu_time_total

    def export_chrome_trace(self, path: str) -> None:
        """Refused: single events are not kept."""
        raise NotImplementedError("profile.export_chrome_trace: only totals per operation are kept")


class record_function(ContextDecorator):  # noqa: N801 (PyTorch's name)
    """Context manager and decorator that names a part of a program; profiles here show operations only."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args

    def clone(self) -> record_function:
        return record_function(self.name, self.args)

    def __enter__(self) -> record_function:
        return self

    def __exit__(self, *exc: object) -> None:
        pass
