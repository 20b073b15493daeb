"""The DataLoader's iterator over worker processes: tasks out through queues, batches back through
pipes.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import shutil
import tempfile
import time
import weakref
from multiprocessing import connection, util
from typing import Any

from ...errors import ArgumentTypeError, ArgumentValueError
from ..pipes.base import IterDataPipe, MapDataPipe
from .blocks import Mapped
from .iterators import _BaseDataLoaderIter
from .worker import Failure, Resume, StreamEnded, shard_pipes, unpacked, worker_loop

_NOTHING = object()  # the result of a task given to a worker whose stream has ended


def find_context(context: Any) -> Any:
    """A multiprocessing context from its name or itself."""
    if isinstance(context, str):
        valid = multiprocessing.get_all_start_methods()
        if context not in valid:
            raise ArgumentValueError(
                f"multiprocessing_context option should specify a valid start method in {valid!r}, but got "
                f"multiprocessing_context={context!r}"
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise ArgumentTypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start method, but got "
            f"multiprocessing_context={context}"
        )
    return context


class _Worker:
    """One worker process seen from the main process."""

    def __init__(self, process: Any, tasks: Any, results: Any) -> None:
        self.process = process
        self.tasks = tasks
        self.results = results
        self.active = True  # its stream has not ended in this pass
        self.mapped = Mapped()

    def give(self, number: int, index: Any) -> None:
        """A task, and with it the blocks that the worker may use again."""
        self.tasks.put((number, index, self.mapped.take_returned()))


def _shut_down(workers: list[_Worker], done: Any, folder: str | None, owner: int) -> None:
    """Stop the workers and remove what they left."""
    if os.getpid() != owner:  # a forked child inherits the iterator but not the workers
        return
    done.set()
    for worker in workers:
        with contextlib.suppress(ValueError, OSError):
            worker.tasks.put(None)
        worker.results.close()  # a worker that is waiting to send gets a broken pipe
    for worker in workers:
        worker.process.join(timeout=5.0)
        if worker.process.is_alive():
            worker.process.terminate()
            worker.process.join()
        worker.tasks.cancel_join_thread()
        worker.tasks.close()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


class MultiProcessIter(_BaseDataLoaderIter):
    """One pass with worker processes; with persistent workers, one pass after the other."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._in_order = loader.in_order
        self._prefetch = loader.prefetch_factor
        self._persistent = loader.persistent_workers
        context = loader.multiprocessing_context or multiprocessing.get_context()
        nameless = hasattr(os, "memfd_create") and os.access(f"/proc/{os.getpid()}/fd", os.R_OK)
        self._folder = None if nameless else tempfile.mkdtemp(prefix="pellucid-")
        self._done = context.Event()
        self._workers: list[_Worker] = []
        self._finish = weakref.finalize(
            self, _shut_down, self._workers, self._done, self._folder, os.getpid()
        )
        init_fn = loader.worker_init_fn
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)):
            init_fn = functools.partial(shard_pipes, init_fn, self._world_size, self._rank)
        for number in range(self._num_workers):
            tasks = context.Queue()
            results, send = context.Pipe(duplex=False)
            # A forked process has it, too: a write that waits would never learn that nobody reads.
            util.register_after_fork(results, type(results).close)
            process = context.Process(
                target=worker_loop,
                args=(
                    self._dataset_kind,
                    self._dataset,
                    tasks,
                    send,
                    self._done,
                    self._auto_collation,
                    self._collate_fn,
                    self._drop_last,
                    self._base_seed,
                    self._shared_seed,
                    init_fn,
                    number,
                    self._num_workers,
                    self._folder,
                ),
                daemon=True,
            )
            process.start()
            send.close()
            self._workers.append(_Worker(process, tasks, results))
        super()._reset(loader)  # PyTorch begins a pass twice, which random streams show
        self._begin()

    def _begin(self) -> None:
        """Nothing asked for yet; then as many batches ahead as wanted."""
        self._sent = self._received = 0
        self._pending: dict[int, _Worker] = {}  # tasks whose results are not here yet
        self._early: dict[int, Any] = {}  # results that are here before their turn
        self._next_worker = 0
        for worker in self._workers:
            worker.active = True
        for _ in range(
            max(1, self._prefetch * self._num_workers) if self._prefetch else self._num_workers
        ):
            self._ask()

    def _reset(self, loader: Any) -> None:
        while self._pending:  # batches of a pass that was given up
            self._receive()
        super()._reset(loader)
        for worker in self._workers:
            worker.tasks.put(Resume(self._shared_seed))
        waiting = {id(worker) for worker in self._workers}
        while waiting:
            worker, (number, _) = self._message()
            if isinstance(number, Resume):
                waiting.discard(id(worker))
        self._begin()

    def _ask(self) -> None:
        """Give the next task to the next worker whose stream goes on."""
        worker = None
        for _ in self._workers:
            candidate = self._workers[self._next_worker]
            self._next_worker = (self._next_worker + 1) % self._num_workers
            if candidate.active:
                worker = candidate
                break
        if worker is None:
            return
        try:
            index = next(self._sampler_iter)
        except StopIteration:
            return
        worker.give(self._sent, index)
        self._pending[self._sent] = worker
        self._sent += 1

    def _message(self) -> tuple[_Worker, Any]:
        """The next message of any worker; RuntimeError when one died or the timeout is over."""
        pipes: dict[Any, _Worker] = {worker.results: worker for worker in self._workers}
        limit = time.monotonic() + self._timeout if self._timeout > 0 else None
        while True:
            left = None if limit is None else max(0.0, limit - time.monotonic())
            ready = connection.wait(list(pipes), left)
            if not ready:
                self._finish()
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
            for pipe in ready:
                worker = pipes[pipe]
                try:
                    return worker, unpacked(worker.results.recv_bytes(), worker.mapped)
                except (EOFError, ConnectionResetError, FileNotFoundError):
                    # the worker has ended, with what it did not hand over
                    worker.process.join(timeout=1.0)
                    pid, code = worker.process.pid, worker.process.exitcode
                    self._finish()
                    raise RuntimeError(
                        f"DataLoader worker (pid(s) {pid}) exited unexpectedly with exit code(s) {code}"
                    ) from None

    def _receive(self) -> int:
        """Take in one result; its number."""
        _, (number, data) = self._message()
        self._pending.pop(number)
        self._early[number] = data
        return number

    def _next_data(self) -> Any:
        while True:
            if self._in_order:
                while self._received not in self._early:
                    if self._received not in self._pending:
                        self._end()
                    self._receive()
                number = self._received
                self._received += 1
            else:
                if not self._early:
                    if not self._pending:
                        self._end()
                    self._receive()
                number = next(iter(self._early))
            data = self._early.pop(number)
            if isinstance(data, StreamEnded):
                worker = self._workers[data.worker_id]
                worker.active = False
                # What it was asked for beyond its end will not come.
                for late in [n for n, w in self._pending.items() if w is worker]:
                    del self._pending[late]
                    self._early[late] = _NOTHING
                self._ask()
                continue
            if data is _NOTHING:
                continue
            self._ask()
            if isinstance(data, Failure):
                data.reraise()
            return data

    def _shutdown_workers(self) -> None:
        """Stop the workers; once is enough. Programs call this that keep persistent workers."""
        self._finish()

    def _end(self) -> None:
        if not self._persistent:
            self._finish()
        raise StopIteration
