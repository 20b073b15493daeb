"""Event files: a queue in front of a file that TensorBoard reads while it grows."""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time
import weakref
from pathlib import Path
from typing import Any, BinaryIO

from . import _wire as wire

_count = itertools.count()


class FileWriter:
    """Appends events to one new file of a folder.

    Events wait in memory until there are `max_queue` of them, or `flush_secs` have passed when one
    is added; `flush` and `close`, and the end of the process, write what is left. Threads may share
    a writer.
    """

    def __init__(
        self, log_dir: Any, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = ""
    ) -> None:
        self.folder = Path(os.fspath(log_dir))
        self.folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(_count)}{filename_suffix}"
        self.path = self.folder / name
        self._max_queue = max_queue
        self._flush_secs = flush_secs
        self._queue: list[bytes] = []
        self._lock = threading.Lock()
        self._last = time.monotonic()
        self._file: BinaryIO = open(self.path, "ab")
        self._finish = weakref.finalize(self, _finish, self._file, self._queue)
        self.add_event(
            wire.text(3, "brain.Event:2")
            + wire.data(10, wire.text(1, "pellucid.utils.tensorboard"))
        )
        self.flush()

    def get_logdir(self) -> str:
        return str(self.folder)

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Add an Event: its other fields encoded, or a message of the tensorboard package."""
        fields = event if isinstance(event, bytes) else event.SerializeToString()
        if not self._finish.alive:
            raise ValueError(f"this event file has been closed: {self.path}")
        # Of a field that is there twice, the second one counts.
        fields += wire.double(1, time.time() if walltime is None else walltime)
        if step is not None:
            fields += wire.integer(2, int(step))
        with self._lock:
            self._queue.append(wire.record(fields))
            due = (
                len(self._queue) > self._max_queue
                or time.monotonic() - self._last >= self._flush_secs
            )
        if due:
            self.flush()

    def add_summary(
        self, summary: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Add a summary: encoded, or a message of the tensorboard package."""
        encoded = summary if isinstance(summary, bytes) else summary.SerializeToString()
        self.add_event(wire.data(5, encoded), global_step, walltime)

    def add_graph(self, graph_profile: tuple[Any, Any], walltime: float | None = None) -> None:
        """Add a graph and what a run of it took: messages GraphDef and RunMetadata of the
        tensorboard package.
        """
        graph, profile = graph_profile
        self.add_event(wire.data(4, graph.SerializeToString()), None, walltime)
        tagged = wire.text(1, "step1") + wire.data(2, profile.SerializeToString())
        self.add_event(wire.data(14, tagged), None, walltime)

    def add_onnx_graph(self, graph: Any, walltime: float | None = None) -> None:
        """Add a graph, a message GraphDef."""
        self.add_event(wire.data(4, graph.SerializeToString()), None, walltime)

    def flush(self) -> None:
        """Hand what is waiting to the operating system."""
        if not self._finish.alive:
            return
        with self._lock:
            _write(self._file, self._queue)
            self._last = time.monotonic()

    def close(self) -> None:
        with self._lock:
            self._finish()


def _write(file: BinaryIO, queue: list[bytes]) -> None:
    file.write(b"".join(queue))
    queue.clear()
    file.flush()


def _finish(file: BinaryIO, queue: list[bytes]) -> None:
    _write(file, queue)
    file.close()
