"""A DataLoader's worker process, and how it returns batches: large arrays in shared memory, the
rest as bytes.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import pickle
import queue
import random
import shutil
import sys
import threading
import traceback
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...api.settings import set_num_threads
from ...core.streams.generator import manual_seed
from ...core.tensor import Tensor, make_tensor
from .. import collate
from ..pipes.graph import apply_sharding
from .blocks import Lease, Mapped, MappedBlock, Place, Pool
from .fetch import _DatasetKind
from .iterators import seed_pipes

CHECK_SECONDS = 5.0  # how often a worker looks whether its parent is alive


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Number of this worker, number of all, its seed, and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Information about the current worker process: `id`, `num_workers`, `seed`, `dataset`; None in
    the main process.

    >>> import pellucid as torch
    >>> torch.utils.data.get_worker_info() is None  # in the main process
    True
    """
    return _worker_info


class KeyErrorMessage(str):
    """Text that KeyError shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Failure:
    """An exception with its traceback as text, to be raised again in the main process."""

    def __init__(self, where: str) -> None:
        kind, value, trace = sys.exc_info()
        self.kind: Any = kind
        self.text = "".join(traceback.format_exception(kind, value, trace))
        self.where = where

    def reraise(self) -> None:
        """Raise an exception of the same type whose text holds the worker's traceback."""
        text: str = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        if self.kind is KeyError:
            text = KeyErrorMessage(text)
        try:
            error = self.kind(text)
        except Exception:  # a type that is made from other arguments
            raise RuntimeError(text) from None
        raise error


class ManagerWatchdog:
    """Tells a worker process whether the process that started it is alive."""

    def __init__(self) -> None:
        self.manager_pid = os.getppid()
        self.manager_dead = False

    def is_alive(self) -> bool:
        """Whether it is."""
        self.manager_dead = self.manager_dead or os.getppid() != self.manager_pid
        return not self.manager_dead


@dataclass(frozen=True)
class StreamEnded:
    """A worker's stream has no more samples."""

    worker_id: int


@dataclass(frozen=True)
class Resume:
    """Sent to persistent workers at the start of another pass, with the seed of its pipes."""

    shared_seed: int | None


_IterableDatasetStopIteration, _ResumeIteration = StreamEnded, Resume


class _Leases(threading.local):
    """The blocks of the message that this thread is reading."""

    held: dict[int, Lease]


_leases = _Leases()


def _array_at(
    number: int, offset: int, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...]
) -> np.ndarray:
    return _leases.held[number].array(offset, dtype, shape, strides)


class _Pickler(pickle.Pickler):
    """Writes of large arrays where they lie, instead of their values."""

    def __init__(self, file: Any, pool: Pool) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.pool = pool
        self.sent: dict[int, MappedBlock] = {}

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is Tensor and not obj._rg and type(obj._array) is np.ndarray and not vars(obj):
            return make_tensor, (obj._array,)  # an ordinary pickle would hold a copy
        place: Place | None = self.pool.place(obj, self.sent) if type(obj) is np.ndarray else None
        return NotImplemented if place is None else (_array_at, place)


def packed(value: Any, pool: Pool) -> bytes:
    """A message, with its large arrays in blocks of the pool."""
    file = io.BytesIO()
    pickler = _Pickler(file, pool)
    try:
        pickler.dump(value)
    except BaseException:
        for block in pickler.sent.values():
            block.lent = False
        raise
    return pickle.dumps((pool.facts(pickler.sent), file.getvalue()), pickle.HIGHEST_PROTOCOL)


def unpacked(message: bytes, mapped: Mapped) -> Any:
    """The value of a message; its large arrays lie in the worker's blocks."""
    facts, content = pickle.loads(message)
    _leases.held = mapped.leases(facts)
    try:
        return pickle.loads(content)
    finally:
        _leases.held = {}


def numpy_seed(base_seed: int, worker_id: int) -> np.ndarray:
    """The seed of NumPy's global generator in a worker: four 32-bit words of a SeedSequence."""
    mask = 0xFFFFFFFF
    return np.random.SeedSequence([worker_id, base_seed & mask, base_seed >> 32, 0]).generate_state(
        4
    )


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """`numpy_seed` as numbers, under PyTorch's name."""
    return [int(word) for word in numpy_seed(base_seed, worker_id)]


def shard_pipes(init_fn: Any, world_size: int, rank: int, worker_id: int) -> None:
    """Let the pipes of this worker take its share: of `world_size` times the number of workers, so
    that the ranks' shares differ by one sample at most. Then what the user wants done.
    """
    assert _worker_info is not None
    apply_sharding(
        _worker_info.dataset, _worker_info.num_workers * world_size, worker_id * world_size + rank
    )
    if init_fn is not None:
        init_fn(worker_id)


def worker_loop(
    kind: int,
    dataset: Any,
    indices: Any,
    results: Any,
    done: Any,
    auto_collation: bool,
    collate_fn: Any,
    drop_last: bool,
    base_seed: int,
    shared_seed: int | None,
    init_fn: Any,
    worker_id: int,
    num_workers: int,
    folder: str | None,
) -> None:
    """Load batches until told to stop, or until the parent is gone."""
    global _worker_info
    # which may be gone before this process asks the system for it
    known = multiprocessing.parent_process()
    parent = os.getppid() if known is None or known.pid is None else known.pid
    pool = Pool(folder)
    collate.allocate[0] = pool.new_array
    where = f"in DataLoader worker process {worker_id}"
    try:
        set_num_threads(1)
        seed = base_seed + worker_id
        random.seed(seed)
        manual_seed(seed)
        np.random.seed(numpy_seed(base_seed, worker_id))
        if shared_seed is not None:
            seed_pipes(dataset, shared_seed)
        _worker_info = WorkerInfo(worker_id, num_workers, seed, dataset)
        failure = fetcher = None

        def start() -> Any:
            return _DatasetKind.create_fetcher(kind, dataset, auto_collation, collate_fn, drop_last)

        try:
            if init_fn is not None:
                init_fn(worker_id)
            fetcher = start()
        except Exception:
            failure = Failure(where)
        ended = False
        while os.getppid() == parent:
            try:
                task = indices.get(timeout=CHECK_SECONDS)
            except queue.Empty:
                continue
            if task is None:
                break
            if isinstance(task, Resume):
                ended = False
                try:
                    if task.shared_seed is not None:
                        seed_pipes(dataset, task.shared_seed)
                    fetcher = start()
                except Exception:
                    failure = Failure(where)
                results.send_bytes(packed((task, None), pool))
                continue
            if done.is_set() or ended:
                continue
            number, index, returned = task
            pool.take_back(returned)
            data: Any
            if failure is not None:
                data, failure = failure, None
            else:
                try:
                    assert fetcher is not None
                    data = fetcher.fetch(index)
                except StopIteration:
                    if kind != _DatasetKind.Iterable:
                        data = Failure(where)
                    else:
                        data, ended = StreamEnded(worker_id), True
                except Exception:
                    data = Failure(where)
            try:
                message = packed((number, data), pool)
            except Exception:
                message = packed((number, Failure(where)), pool)
            data = None  # the batch is the main process's now
            results.send_bytes(message)
    except (KeyboardInterrupt, BrokenPipeError, EOFError):
        pass  # the main process is ending, or has ended
    finally:
        results.close()
        if folder is not None and os.getppid() != parent:  # nobody else removes what is left there
            shutil.rmtree(folder, ignore_errors=True)
