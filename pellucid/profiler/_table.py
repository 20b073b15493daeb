"""Events summed by name, as a list that prints as a table."""

from __future__ import annotations

import gzip
import json
import os
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from ._record import Event

_TIMES = {"s": 1e-6, "ms": 1e-3, "us": 1.0}


class FunctionEventAvg:
    """All events of one name (and one shape, one place): times in microseconds, memory in bytes."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = 0
        self.self_cpu_memory_usage = 0
        self.device_time_total = self.self_device_time_total = 0.0
        self.device_memory_usage = self.self_device_memory_usage = 0
        self.input_shapes: Any = []
        self.stack: list[str] = []

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total / self.count if self.count else 0.0

    device_time = 0.0

    def add(self, event: Event) -> None:
        self.count += 1
        # An event inside another of the same name is within that one's total already.
        parent = event.parent
        while parent is not None and parent.name != event.name:
            parent = parent.parent
        if parent is None:
            self.cpu_time_total += event.cpu_time_total
            self.cpu_memory_usage += event.cpu_memory_usage
        self.self_cpu_time_total += event.self_cpu_time_total
        self.self_cpu_memory_usage += event.self_cpu_memory_usage

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={duration(self.self_cpu_time_total)} "
            f"cpu_time={duration(self.cpu_time)} count={self.count} input_shapes={self.input_shapes}>"
        )


class EventList(list[Any]):
    """Events or averages of events."""

    def __init__(
        self, items: Iterable[Any] = (), profile_memory: bool = False, with_stack: bool = False
    ) -> None:
        super().__init__(items)
        self._profile_memory = profile_memory
        self._with_stack = with_stack

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all events together, each counted once."""
        return sum(item.self_cpu_time_total for item in self)

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """Add the events up by name, and by input shapes or by the innermost frames of the stack
        where asked.
        """
        groups: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = str(event.shapes) if group_by_input_shapes else ""
            stack = tuple(event.stack[:group_by_stack_n])
            group = groups.get((event.name, shapes, stack))
            if group is None:
                group = groups[event.name, shapes, stack] = FunctionEventAvg(event.name)
                group.input_shapes = event.shapes if group_by_input_shapes else ""
                group.stack = list(stack)
            group.add(event)
        return EventList(groups.values(), self._profile_memory, group_by_stack_n > 0)

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The list as text, one line for each entry.

        Args:
            sort_by: `cpu_time`, `cpu_time_total`, `self_cpu_time_total`, `cpu_memory_usage`,
                `self_cpu_memory_usage` or `count`, largest first; None keeps the order. Names of
                accelerators (`cuda_time_total`) sort by zeros.
            row_limit: lines at most; a negative number for all.
            time_unit: "s", "ms" or "us" for all times; by default each has the unit that reads
                best.

        Raises:
            AttributeError: for another `sort_by`.
        """
        rows = [
            row
            for row in self
            if not (top_level_events_only and getattr(row, "parent", None) is not None)
        ]
        if not rows:
            return ""
        if sort_by is not None:
            by = sort_by.replace("cuda", "device").replace("xpu", "device").replace("hpu", "device")
            rows.sort(key=lambda row: getattr(row, by), reverse=True)
        total = self.self_cpu_time_total or 1.0
        columns = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
        columns += ["CPU Mem", "Self CPU Mem"] * self._profile_memory + ["# of Calls"]
        shapes = any(row.input_shapes for row in rows)
        columns += ["Input Shapes"] * shapes + ["Source Location"] * self._with_stack
        lines = []
        for row in rows if row_limit < 0 else rows[:row_limit]:
            cells = [
                shortened(row.key, max_name_column_width),
                f"{row.self_cpu_time_total / total:.2%}",
                duration(row.self_cpu_time_total, time_unit),
                f"{row.cpu_time_total / total:.2%}",
                duration(row.cpu_time_total, time_unit),
                duration(row.cpu_time, time_unit),
            ]
            if self._profile_memory:
                cells += [size(row.cpu_memory_usage), size(row.self_cpu_memory_usage)]
            cells.append(str(getattr(row, "count", 1)))
            if shapes:
                cells.append(shortened(str(row.input_shapes), max_shapes_column_width))
            if self._with_stack:
                cells.append(
                    shortened(
                        row.stack[0] if row.stack else "", max_src_column_width, keep_end=True
                    )
                )
            lines.append(cells)
        return (
            _layout(columns, lines, header)
            + f"\nSelf CPU time total: {duration(self.self_cpu_time_total, time_unit)}\n"
        )

    def __str__(self) -> str:
        return self.table()

    # ---- files ---------------------------------------------------------------------------------
    def export_chrome_trace(self, path: Any, metadata: dict[str, Any] | None = None) -> None:
        """Write a trace for Perfetto or chrome://tracing; compressed when the name ends in .gz."""
        pid = os.getpid()
        first = min((event.start_ns for event in self), default=0)
        names = {event.thread for event in self}
        entries: list[dict[str, Any]] = [
            {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "pellucid"}}
        ]
        entries += [
            {
                "ph": "M",
                "name": "thread_name",
                "pid": pid,
                "tid": thread,
                "args": {"name": f"thread {thread}"},
            }
            for thread in sorted(names)
        ]
        for event in self:
            args: dict[str, Any] = {}
            if event.shapes:
                args["Input Dims"] = event.shapes
            if event.memory:
                args["Bytes"] = event.memory
            if event.stack:
                args["Call stack"] = ";".join(event.stack)
            entries.append(
                {
                    "ph": "X",
                    "cat": _CATEGORIES[event.category],
                    "name": event.name,
                    "pid": pid,
                    "tid": event.thread,
                    "ts": (event.start_ns - first) / 1e3,
                    "dur": event.duration_ns / 1e3,
                    "args": args,
                }  # fmt: skip
            )
        whole = {
            "schemaVersion": 1,
            "displayTimeUnit": "ms",
            **(metadata or {}),
            "traceEvents": entries,
        }
        opened = gzip.open if str(path).endswith(".gz") else open
        with opened(path, "wt", encoding="utf-8") as file:
            json.dump(whole, file)

    def export_stacks(self, path: Any, metric: str = "self_cpu_time_total") -> None:
        """Write call stacks with their times in microseconds, a line each, as flame graphs take
        them.
        """
        if metric not in ("self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total"):
            raise ValueError(
                f"metric should be one of: {['self_cpu_time_total', 'self_cuda_time_total', 'self_xpu_time_total']}"
            )
        times: dict[str, int] = defaultdict(int)
        if metric == "self_cpu_time_total":
            for event in self:
                if event.stack:
                    frames = [
                        frame.replace(" ", "_").replace(";", ":") for frame in reversed(event.stack)
                    ]
                    times[";".join([*frames, event.name.replace(" ", "_")])] += int(
                        event.self_cpu_time_total
                    )
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{stack} {time}\n" for stack, time in times.items() if time > 0)


_CATEGORIES = {
    "operation": "cpu_op",
    "backward": "cpu_op",
    "module": "python_function",
    "user": "user_annotation",
    "optimizer": "cpu_op",
}


def _layout(columns: list[str], lines: list[list[str]], header: str | None) -> str:
    widths = [
        max(len(column), *(len(line[i]) for line in lines)) for i, column in enumerate(columns)
    ]
    rule = "  ".join("-" * width for width in widths)
    text = [
        "  ".join(cell.rjust(width) for cell, width in zip(cells, widths))
        for cells in (columns, *lines)
    ]
    top = [header.center(len(rule)).rstrip()] if header else []
    return "\n".join([*top, rule, text[0], rule, *text[1:], rule])


def duration(microseconds: float, unit: str | None = None) -> str:
    """Microseconds as text with a unit.

    >>> duration(12.3456), duration(12345.6), duration(12345.6, "s")
    ('12.346us', '12.346ms', '0.012s')
    """
    if unit is None:
        unit = "s" if microseconds >= 1e6 else "ms" if microseconds >= 1e3 else "us"
    return f"{microseconds * _TIMES[unit]:.3f}{unit}"


def size(count: int) -> str:
    """Bytes as text with a unit.

    >>> size(60), size(3 << 20)
    ('60 B', '3.00 MB')
    """
    for power, unit in ((30, "GB"), (20, "MB"), (10, "KB")):
        if abs(count) >= 1 << power:
            return f"{count / (1 << power):.2f} {unit}"
    return f"{count} B"


def shortened(text: str, width: int, keep_end: bool = False) -> str:
    if width <= 0 or len(text) <= width:
        return text
    return "..." + text[3 - width :] if keep_end else text[: width - 3] + "..."
