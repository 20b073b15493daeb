"""The engine that moves the data: MPI's nonblocking operations, polled, so that a wait can end
with an error.

A task is a generator that yields MPI requests. The caller that waits for it advances it; a
thread advances the tasks that nobody waits for. The tasks of a channel (a group's communicators)
run one after the other in the order of their calls, which is the same on every rank. Before a
collective moves data, its ranks compare fingerprints of it: MPI itself would mix up the data of
calls that do not match.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from ...core import source
from ...errors import UnsupportedError
from ..job.stores import DistBackendError
from ..job.watch import SLOW, Watch, place
from .shared import Board, Meeting

_MASK = (1 << 62) - 1
_ENDED_GRACE = 2.0  # seconds in which what a rank sent before it left may still arrive
_LOST_GRACE = 0.3

Steps = Generator[Any, None, Any]


class Staged:
    """Steps that begin with data which the ranks find when they meet to compare their calls."""

    def fill(self) -> None:
        """Put the data there."""
        raise NotImplementedError

    def __iter__(self) -> Any:
        raise NotImplementedError


class CollectiveCall:
    """What a rank calls: what is compared, and what errors say."""

    __slots__ = ("facts", "group", "name", "number", "site")

    def __init__(self, name: str, facts: tuple[Any, ...], site: Any) -> None:
        self.name, self.facts, self.site = name, facts, site
        self.number, self.group = 0, ""

    @property
    def line(self) -> str:
        """The line of the user's program."""
        line = source.describe(self.site)
        return "an unknown line" if line is None else place(line.file, line.line)

    def words(self) -> str:
        """The call with what it is about."""
        return f"{self.name}({', '.join(str(fact) for fact in self.facts if fact is not None)})"

    def __str__(self) -> str:
        return f"{self.name} number {self.number} of {self.group} at {self.line}"


_digests: dict[tuple[Any, ...], int] = {}


def _digest(call: CollectiveCall) -> int:
    key = (call.name, *call.facts)
    found = _digests.get(key)
    if found is None:
        text = repr((call.name, [str(fact) for fact in call.facts])).encode()
        found = _digests[key] = int.from_bytes(
            hashlib.blake2b(text, digest_size=8).digest(), "little"
        )
    return (found + call.number * 0x9E3779B97F4A7C15) & _MASK


class Task:
    """A collective or a message under way."""

    __slots__ = (
        "begun",
        "call",
        "channel",
        "done",
        "error",
        "finished",
        "request",
        "result",
        "steps",
        "timeout",
        "warned",
    )

    def __init__(
        self, channel: Channel, call: CollectiveCall, steps: Steps, timeout: float
    ) -> None:
        self.channel, self.call, self.steps, self.timeout = channel, call, steps, timeout
        self.request: Any = None
        self.done = self.warned = False
        self.error: BaseException | None = None
        self.result: Any = None
        self.begun = time.monotonic()
        self.finished: list[Callable[[], None]] = []


class Channel:
    """The communicators of a group, and its tasks.

    Args:
        engine: whose.
        comm: MPI's communicator for data.
        side: another one, for fingerprints.
        ranks: the ranks in the world, in the group's order.
        title: what errors call the group.
    """

    def __init__(self, engine: Engine, comm: Any, side: Any, ranks: list[int], title: str) -> None:
        self.engine, self.comm, self.side, self.ranks, self.title = engine, comm, side, ranks, title
        self.rank, self.size = comm.rank, comm.size
        self.queue: deque[Task] = deque()
        self.messages: list[Task] = []  # point to point: not in order with the collectives
        self.count = 0
        self.error: BaseException | None = None
        self.board: Board | None = None  # where the ranks meet, if all are on this machine


class Engine:
    """All channels of this process, and the lock around MPI."""

    def __init__(self, mpi: Any, watch: Watch) -> None:
        self.mpi, self.watch = mpi, watch
        self.lock = threading.RLock()
        self.channels: list[Channel] = []
        self.last: CollectiveCall | None = None
        self._thread: threading.Thread | None = None
        self._pending = threading.Event()
        self.closed = self.forked = False
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        """In a process that was forked from this rank: MPI is not to be used there, and the
        connection is the rank's alone.
        """
        self.forked = True
        self.lock = threading.RLock()  # a thread of the rank may have held it
        self.watch.forget()

    def _check_fork(self) -> None:
        if self.forked:
            raise UnsupportedError(
                "torch.distributed: this process was forked from a rank; MPI cannot be used in it"
            )

    # ---- starting ----------------------------------------------------------------------------
    def collective(
        self,
        channel: Channel,
        call: CollectiveCall,
        steps: Steps | Staged,
        timeout: float,
        compared: bool = True,
    ) -> Task:
        """Put a collective at the end of its channel's queue and begin with it."""
        self._check_fork()
        with self.lock:
            if channel.error is not None:
                error = DistBackendError(
                    f"{call.name} on {channel.title}, in which an earlier collective failed"
                )
                error.__cause__ = channel.error
                raise error
            channel.count += 1
            call.number, call.group = channel.count, channel.title
            self.last = call
            task = Task(
                channel,
                call,
                self._compared(channel, call, steps) if compared else iter(steps),
                timeout,
            )
            channel.queue.append(task)
            self._advance(channel)
        return task

    def message(self, channel: Channel, call: CollectiveCall, steps: Steps, timeout: float) -> Task:
        """Begin to send or to receive."""
        self._check_fork()
        with self.lock:
            call.group = channel.title
            self.last = call
            task = Task(channel, call, steps, timeout)
            channel.messages.append(task)
            self._advance(channel)
        return task

    def _compared(self, channel: Channel, call: CollectiveCall, steps: Steps | Staged) -> Steps:
        """The steps, after all ranks have found that they call the same."""
        if channel.board is not None:
            if isinstance(steps, Staged):
                steps.fill()
            yield channel.board.here(_digest(call))
            if not channel.board.agreed():
                raise self._mismatch(channel, call)
        elif channel.size > 1:
            mine = _digest(call)
            extremes = np.array([mine, -mine], np.int64)
            yield channel.side.Iallreduce(self.mpi.IN_PLACE, extremes, self.mpi.MAX)
            if extremes[0] != -extremes[1]:
                raise self._mismatch(channel, call)
        return (yield from steps)

    def _mismatch(self, channel: Channel, call: CollectiveCall) -> BaseException:
        record = {
            "name": call.name,
            "words": call.words(),
            "line": call.line,
            "number": call.number,
        }
        key = f"{channel.title}/{channel.count}/{call.number}"
        found = self.watch.exchange(key, record, channel.ranks)
        groups: dict[str, list[int]] = {}
        for rank, said in sorted(found.items()):
            groups.setdefault(f"{said['words']} at {said['line']}", []).append(rank)
        lines = [
            f"    rank{'s' if len(r) > 1 else ''} {', '.join(map(str, r))}: {words}"
            for words, r in groups.items()
        ]
        return DistBackendError(
            f"Detected mismatch between collectives on ranks: collective number {call.number} of {channel.title} is\n"
            + "\n".join(lines)
        )

    # ---- driving on --------------------------------------------------------------------------
    def _advance(self, channel: Channel) -> bool:
        """Drive the tasks of a channel as far as they go; True if one moved."""
        moved = False
        while channel.queue and self._step(channel.queue[0]):
            moved = True
            if channel.queue[0].done:
                self._over(channel.queue.popleft())
        for task in list(channel.messages):
            moved = self._step(task) or moved
            if task.done:
                channel.messages.remove(task)
                self._over(task)
        return moved

    def _step(self, task: Task) -> bool:
        """One test and, if the request is complete, the steps up to the next one."""
        try:
            if task.request is not None:
                if task.request is not True and not task.request.Test():
                    return False
            task.request = next(task.steps)
            return task.request is not True  # True: nothing to test, ask again later
        except StopIteration as end:
            task.result, task.done = end.value, True
        except BaseException as error:
            self._fail(task, error)
        return True

    def _fail(self, task: Task, error: BaseException) -> None:
        if not isinstance(error, (RuntimeError, ValueError, TypeError)) or isinstance(
            error, self.mpi.Exception
        ):
            text = getattr(error, "error_string", str(error))
            error = DistBackendError(f"{task.call}: {text}")
        task.error, task.done = error, True
        task.steps.close()
        if task in task.channel.queue:
            task.channel.error = error

    def _over(self, task: Task) -> None:
        if task.error is not None and task.channel.error is task.error:
            for later in task.channel.queue:
                later.error, later.done = task.error, True
            task.channel.queue.clear()
        for callback in task.finished:
            callback()
        task.finished.clear()

    def progress(self) -> bool:
        """Drive all channels; True if something moved."""
        with self.lock:
            moved = False
            for channel in self.channels:
                if channel.queue or channel.messages:
                    moved = self._advance(channel) or moved
            return moved

    def wait(self, task: Task, timeout: float | None = None) -> None:
        """Drive until the task is done.

        Raises:
            what the task failed with; DistBackendError: a rank is gone, or the time is over.
        """
        limit = task.timeout if timeout is None else timeout
        begin, idle = time.monotonic(), 0
        while not task.done:
            if self.progress():
                idle = 0
                continue
            idle += 1
            if idle < 20:
                continue
            head = task.channel.queue[0].request if task.channel.queue else None
            if isinstance(head, Meeting):
                head.sleep(0.002 if idle < 40 else 0.02)
                idle = max(idle, 500)
            elif idle < 500:
                os.sched_yield()
            else:
                time.sleep(min(0.001, 0.00002 * (idle - 499)))
            if idle % 16 == 0 or idle > 500:
                self._look(task, begin, limit, timeout is not None)
        if task.error is not None:
            raise task.error

    def _look(self, task: Task, begin: float, limit: float, asked: bool) -> None:
        """End a task that cannot come to its end."""
        now = time.monotonic()
        error: BaseException | None = None
        for loss in list(self.watch.losses.values()):
            if loss.ended and not loss.final and task.call.name == "init_process_group":
                continue  # it may come back
            if loss.rank in task.channel.ranks and now - max(loss.when, task.begun) > (
                _ENDED_GRACE if loss.ended else _LOST_GRACE
            ):
                error = DistBackendError(f"{task.call}: {loss}")
                break
        else:
            if self.watch.broken and now - task.begun > 1.0:
                error = DistBackendError(
                    f"{task.call}: the server of the job is gone, so nobody knows which ranks are left"
                )
            elif now - begin > limit:
                waited = f"Timed out waiting {round(limit * 1000)}ms for {task.call}"
                error = DistBackendError(f"{waited}. {self._whom(task)}")
            elif not task.warned and now - begin > SLOW and limit > 2 * SLOW:
                task.warned = True
                import sys

                print(
                    f"[rank {self.watch.rank}] {task.call} waits for {now - begin:.0f} s. {self._whom(task)}",
                    file=sys.stderr,
                    flush=True,
                )
        if error is not None:
            with self.lock:
                if not task.done:
                    self._fail(task, error)
                    if task in task.channel.queue:
                        task.channel.queue.remove(task)
                        self._over(task)
                    elif task in task.channel.messages:
                        task.channel.messages.remove(task)
                        self._over(task)

    def _whom(self, task: Task) -> str:
        others = [rank for rank in task.channel.ranks if rank != self.watch.rank]
        found = self.watch.ask_where(others)
        here = f"{task.call.name} number {task.call.number} of {task.call.group}"
        said = []
        for rank in others:
            if rank not in found and rank in self.watch.losses:
                said.append(str(self.watch.losses[rank]))
                continue
            text = found.get(
                rank, "does not answer (stopped, or its interpreter is busy in foreign code)"
            )
            if here not in text:
                said.append(f"rank {rank} {'is ' if rank in found else ''}{text}")
        return "Meanwhile " + "; ".join(said or ["all ranks are in it"])

    # ---- the thread --------------------------------------------------------------------------
    def in_background(self) -> None:
        """Have a thread drive what nobody waits for."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._drive, name="distributed progress", daemon=True
            )
            self._thread.start()
        self._pending.set()

    def _drive(self) -> None:
        while not self.closed:
            self._pending.wait()
            # Whoever began with it mostly waits for it soon. A second thread that computes in
            # Python, as reductions in shared memory do, makes the first wait for the interpreter at
            # each step; MPI's own need to be asked often.
            near = all(channel.board is not None or not channel.queue for channel in self.channels)
            pause = 0.002 if near else 0.0002
            time.sleep(10 * pause)
            idle = 0
            while not self.closed:
                with self.lock:
                    tasks = [
                        task
                        for channel in self.channels
                        for task in [*channel.queue, *channel.messages]
                    ]
                    if not tasks:
                        self._pending.clear()
                        break
                if self.progress():
                    idle = 0
                else:
                    idle += 1
                    if idle > 200 and idle % 64 == 0:
                        for task in tasks:
                            self._look(task, task.begun, task.timeout, False)
                time.sleep(pause if idle < 1000 else 0.002)

    def position(self) -> str:
        """This rank's last collective, for others."""
        return (
            f"its last one: {self.last}" if self.last is not None else "before its first collective"
        )
