"""What the profiler writes down, and how it gets to see it.

While a recorder runs, it is an observer, which the engine tells of each operation, backward node
and module when it begins and when it is over. So a duration is the time between the two, as
`perf_counter_ns` has it, with the cost of looking (a few microseconds an operation) inside.
Operations take the general path while they are watched, and are slower than without a profiler; the
ratios of large operations are right, the sum of many small ones is too large.

Optimizers say only that a step is over: its event begins where the thread's previous event ended.

Memory is what results take: the bytes of new arrays, views not counted. What is freed is not seen.
"""

from __future__ import annotations

import sys
import threading
from functools import cache
from time import perf_counter_ns
from typing import Any

from ..core import observe
from ..core.display import words
from ..core.source import is_library
from ..core.tensor import Tensor

MOST_EVENTS = 1_000_000


@cache
def operator_name(op: Any) -> str:
    """How PyTorch's profiler calls an operation: `aten::sum`; operations that PyTorch does not have
    go by their own name.
    """
    for name in (op.title, op.name, f"linalg_{op.name}", f"special_{op.name}"):
        if words.schema_words(name):
            return f"aten::{name}"
    return str(op.name)


class Event:
    """One thing that took time on one thread. Times are in nanoseconds of `perf_counter_ns`."""

    __slots__ = (
        "category",
        "children_memory",
        "children_ns",
        "end_ns",
        "memory",
        "name",
        "parent",
        "shapes",
        "stack",
        "start_ns",
        "thread",
    )

    def __init__(self, name: str, category: str, thread: int, parent: Event | None) -> None:
        self.name = name
        self.category = category
        self.thread = thread
        self.parent = parent
        self.shapes: list[list[int]] = []
        self.stack: list[str] = []
        self.memory = 0
        self.children_ns = 0
        self.children_memory = 0
        self.start_ns = self.end_ns = 0

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns

    @property
    def self_ns(self) -> int:
        return max(0, self.duration_ns - self.children_ns)

    # PyTorch's names, in microseconds and bytes.
    @property
    def key(self) -> str:
        return self.name

    @property
    def cpu_time_total(self) -> float:
        return self.duration_ns / 1e3

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        return self.self_ns / 1e3

    @property
    def cpu_memory_usage(self) -> int:
        return self.memory

    @property
    def self_cpu_memory_usage(self) -> int:
        return self.memory - self.children_memory

    @property
    def input_shapes(self) -> list[list[int]]:
        return self.shapes

    @property
    def cpu_parent(self) -> Event | None:
        return self.parent

    def __repr__(self) -> str:
        return f"<Event {self.name} {self.cpu_time_total:.3f}us>"


class _Thread(threading.local):
    def __init__(self) -> None:
        self.open: list[Event] = []
        self.last_ns = 0


class Recorder:
    """Collects events of all threads between `start` and `stop`."""

    def __init__(
        self,
        shapes: bool = False,
        memory: bool = False,
        stacks: bool = False,
        modules: bool = False,
    ) -> None:
        self.with_shapes = shapes
        self.with_memory = memory
        self.with_stacks = stacks
        self.with_modules = modules
        self.events: list[Event] = []
        self.dropped = 0
        self.start_ns = self.end_ns = 0
        self._thread = _Thread()

    def start(self) -> None:
        with _lock:
            recorders.append(self)
        observe.add_observer(self)
        self.start_ns = perf_counter_ns()

    def stop(self) -> None:
        if self not in recorders:  # ended before, by `autograd._disable_profiler`
            return
        self.end_ns = perf_counter_ns()
        observe.remove_observer(self)
        with _lock:
            recorders.remove(self)

    # ---- ranges --------------------------------------------------------------------------------
    def enter(self, name: str, category: str) -> Event:
        thread = self._thread
        event = Event(
            name, category, threading.get_ident(), thread.open[-1] if thread.open else None
        )
        if self.with_stacks:
            event.stack = user_stack()
        thread.open.append(event)
        event.start_ns = perf_counter_ns()
        return event

    def leave(self, event: Event) -> None:
        now = perf_counter_ns()
        thread = self._thread
        while thread.open and thread.open.pop() is not event:
            pass  # ranges inside it that were never left end with it, unrecorded
        self._finish(event, now)

    def _finish(self, event: Event, now: int) -> None:
        event.end_ns = self._thread.last_ns = now
        parent = event.parent
        if parent is not None:
            parent.children_ns += event.duration_ns
            parent.children_memory += event.memory
            parent.memory += event.memory
        if len(self.events) < MOST_EVENTS:
            self.events.append(event)
        else:
            self.dropped += 1

    def describe(self, event: Event, inputs: Any, outputs: Any, new: bool) -> None:
        """Fill in what the options ask for."""
        if self.with_shapes:
            event.shapes = [list(x.shape) if isinstance(x, Tensor) else [] for x in inputs]
        if self.with_memory and new:
            event.memory += sum(
                _bytes(x) for x in (outputs if isinstance(outputs, (tuple, list)) else (outputs,))
            )

    # ---- events of the engine ------------------------------------------------------------------
    def operation_enter(self, op: Any, args: Any) -> None:
        self.enter(operator_name(op), "operation")

    def operation_exit(self, op: Any, args: Any, outputs: Any) -> None:
        self._over("operation", args, outputs, not op.view)

    def node_enter(self, node: Any) -> None:
        self.enter(node.name(), "backward")

    def node_exit(self, node: Any, grad_inputs: Any) -> None:
        # Gradients that are recorded come from operations, events of their own.
        self._over(
            "backward",
            (),
            grad_inputs,
            not any(isinstance(g, Tensor) for g in grad_inputs or ()) and not node.op.view,
        )

    def _over(self, category: str, inputs: Any, outputs: Any, new: bool) -> None:
        """What began last of a category is over; nothing when that was before the recorder started."""
        for event in reversed(self._thread.open):
            if event.category == category:
                self.describe(event, inputs, outputs, new)
                self.leave(event)
                break

    def module_enter(self, module: Any, name: str, args: Any, kwargs: Any) -> None:
        if self.with_modules:
            self.enter(
                f"nn.Module: {type(module).__name__}" + (f" ({name})" if name else ""), "module"
            )

    def module_exit(self, module: Any, name: str, result: Any) -> None:
        if self.with_modules:
            self._over("module", (), None, False)

    def optimizer_step(self, optimizer: Any) -> None:
        thread = self._thread
        name = f"Optimizer.step#{type(optimizer).__name__}.step"
        event = Event(
            name, "optimizer", threading.get_ident(), thread.open[-1] if thread.open else None
        )
        floor = event.parent.start_ns if event.parent is not None else self.start_ns
        event.start_ns = max(thread.last_ns, floor)
        self._finish(event, perf_counter_ns())


def _bytes(value: Any) -> int:
    array = value._array if isinstance(value, Tensor) else value
    return int(getattr(array, "nbytes", 0))


def user_stack() -> list[str]:
    """The user's frames, innermost first."""
    frame: Any = sys._getframe(1)
    found = []
    while frame is not None:
        code = frame.f_code
        if not is_library(code.co_filename):
            found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return found


recorders: list[Recorder] = []
_lock = threading.Lock()
