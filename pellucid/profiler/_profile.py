"""`profile`: when to record, and what to do with the recording."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import ContextDecorator
from enum import Enum
from pathlib import Path
from typing import Any, Self

from ..errors import warn
from ._record import MOST_EVENTS, Event, Recorder, recorders
from ._table import EventList, FunctionEventAvg


class ProfilerAction(Enum):
    """What the profiler does during a step: nothing, warming up, recording, or recording and then saving the trace. `schedule` returns
    functions that choose one for each step.

    >>> import pellucid as torch
    >>> [action.name for action in torch.profiler.ProfilerAction]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE']
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerActivity(Enum):
    """The kinds of activity that can be recorded. Only the CPU has any here.

    >>> import pellucid as torch
    >>> from pellucid.profiler import ProfilerActivity, profile
    >>> a = torch.ones(2, 2)
    >>> with profile(activities=[ProfilerActivity.CPU]) as recorded:
    ...     _ = (a @ a).exp()
    >>> [(event.key, event.count) for event in recorded.key_averages()]
    [('aten::matmul', 1), ('aten::exp', 1)]
    """

    CPU = 0
    XPU = 1
    CUDA = 2
    MTIA = 3
    HPU = 4
    PrivateUse1 = 5


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """The activities that can be recorded on this machine.

    >>> supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """Whether PyTorch's recorder (Kineto) is available: always False, since Pellucid records by itself.

    >>> import pellucid as torch
    >>> torch.profiler.kineto_available()
    False
    """
    return False


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """Return a function from the number of a step to what is done in it.

    After `skip_first` steps come cycles of `wait` steps of nothing, `warmup` steps of nothing that
    counts, and `active` recorded ones; `repeat` cycles, or without end when it is 0. With
    `skip_first_wait` the first cycle does not wait.

    Raises:
        AssertionError: for a negative number, or no active step.

    Example:
        >>> plan = schedule(wait=0, warmup=1, active=2, repeat=1)
        >>> [plan(step).name for step in range(4)]
        ['WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got {wait=} (need >= 0), {warmup=} (need >= 0), {active=} (need > 0), "
            f"{repeat=} (need >= 0), {skip_first=} (need >= 0)."
        )
    if warmup == 0:
        warn("Profiler won't be using warmup, this can skew profiler results")
    cycle = wait + warmup + active

    def schedule_fn(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        if repeat > 0 and step // cycle >= repeat:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == cycle - 1 else ProfilerAction.RECORD

    return schedule_fn


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


class record_function(ContextDecorator):  # noqa: N801
    """Name a part of the program in the profile: a block, or a function decorated with it. Costs
    nothing without a profiler.

    Example:
        >>> import pellucid as torch
        >>> with profile() as prof, record_function("my part"):
        ...     _ = torch.ones(2) + 1
        >>> [row.key for row in prof.key_averages()]
        ['aten::add', 'my part']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._open: list[list[tuple[Recorder, Event]]] = []

    def __enter__(self) -> Self:
        self._open.append([(recorder, recorder.enter(self.name, "user")) for recorder in recorders])
        return self

    def __exit__(self, *error: object) -> None:
        for recorder, event in reversed(self._open.pop()):
            recorder.leave(event)

    def _recreate_cm(self) -> record_function:
        return record_function(self.name, self.args)


def tensorboard_trace_handler(
    dir_name: str,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[profile], None]:
    """Return a function for `profile(on_trace_ready=...)` that writes each trace into a folder.

    Args:
        dir_name: the folder, which is created if necessary.
        worker_name: the beginning of the files' names. Default: the names of the host and of the process.
        use_gzip: compress the files. Default: False.
        use_python_export: accepted.

    >>> import pellucid as torch
    >>> import os, tempfile
    >>> from pellucid.profiler import profile, tensorboard_trace_handler
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with profile(on_trace_ready=tensorboard_trace_handler(folder, "worker0")):
    ...         _ = torch.ones(2) + 1
    ...     print([name.partition(".")[0] for name in os.listdir(folder)])
    ['worker0']
    """

    def handler(prof: profile) -> None:
        folder = Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        prof.export_chrome_trace(
            str(folder / f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}")
        )

    return handler


class profile:  # noqa: N801
    """Record which operations ran, how long each took, and on which shapes.

    Args:
        activities: accepted as in PyTorch; only CPU activity can be recorded.
        schedule: what to do in each step, see `schedule`; without it everything is recorded.
        on_trace_ready: called with the profiler after each recorded cycle, and at the end.
        record_shapes: note the shapes of the inputs.
        profile_memory: add up the bytes of new results (what is freed is not seen; views take
            nothing).
        with_stack: note the user's call stack of every event. Slow.
        with_modules: let modules be events, too.

    Times are those of this process's Python thread between entering and leaving an operation, the
    profiler's own share included. At most a million events are kept for a cycle.

    Example:
        >>> import pellucid as torch
        >>> x = torch.ones(3, requires_grad=True)
        >>> with torch.profiler.profile(record_shapes=True) as prof:
        ...     (x * x).exp().backward(torch.ones(3))
        >>> sorted(row.key for row in prof.key_averages())
        ['ExpBackward0', 'MulBackward0', 'aten::exp', 'aten::mul']
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        wanted = set(activities) if activities is not None else supported_activities()
        if use_cuda or ProfilerActivity.CUDA in wanted:
            warn("CUDA is not available, disabling CUDA profiling")
        if with_flops:
            warn(
                "with_flops is not supported: the table has no column of floating-point operations",
            )
        if not wanted:
            raise AssertionError("No valid profiler activities found")
        self.activities = wanted
        self.schedule = schedule or _always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.step_num = 0
        self.current_action = ProfilerAction.NONE
        self._running: Recorder | None = None
        self._done: Recorder | None = None
        self._step: record_function | None = None
        self._metadata: dict[str, Any] = {}

    # ---- when ----------------------------------------------------------------------------------
    def start(self) -> None:
        """Begin with step 0."""
        self.current_action = self.schedule(self.step_num)
        if self.current_action in _RECORDING:
            self._begin()
        self._begin_step()

    def step(self) -> None:
        """Say that the next step begins."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE or self.current_action not in _RECORDING:
            self._end(save=before is ProfilerAction.RECORD_AND_SAVE)
        if self.current_action in _RECORDING and self._running is None:
            self._begin()
        self._begin_step()

    def stop(self) -> None:
        """End the recording, and hand over what there is."""
        self._end_step()
        self._end(save=True)
        self.current_action = ProfilerAction.NONE

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _begin(self) -> None:
        self._running = Recorder(
            self.record_shapes, self.profile_memory, self.with_stack, self.with_modules
        )
        self._running.start()

    def _end(self, save: bool) -> None:
        if self._running is None:
            return
        self._running.stop()
        self._done, self._running = self._running, None
        if self._done.dropped:
            warn(
                f"the profiler keeps {MOST_EVENTS} events; {self._done.dropped} later ones are missing. Record fewer steps.",
            )
        if save and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _begin_step(self) -> None:
        if self.record_steps:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    # ---- what ----------------------------------------------------------------------------------
    def events(self) -> EventList:
        """The events of the cycle that was recorded last, in the order in which they ended."""
        recorder = self._done or self._running
        if recorder is None:
            raise AssertionError("Profiler must be initialized before getting events")
        return EventList(recorder.events, self.profile_memory, self.with_stack)

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events added up by name; `.table()` shows them."""
        return self.events().key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        return self.events().total_average()

    def export_chrome_trace(self, path: Any) -> None:
        """Write the trace as JSON for Perfetto; compressed when the name ends in .gz."""
        self.events().export_chrome_trace(path, self._metadata)

    def export_stacks(self, path: Any, metric: str = "self_cpu_time_total") -> None:
        """Write the call stacks for a flame graph; needs `with_stack=True`."""
        if not self.with_stack:
            raise ValueError("export_stacks needs a profile that was recorded with with_stack=True")
        self.events().export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Put a text into the trace file."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Put a value, given as JSON text, into the trace file."""
        self._metadata[key] = json.loads(value)

    def __str__(self) -> str:
        return self.key_averages().table()
