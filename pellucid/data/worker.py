"""What runs in a worker process of a DataLoader, and how batches travel back: large arrays in shared memory files."""

from __future__ import annotations

import io
import itertools
import mmap
import os
import pickle
import queue
import random
import sys
import traceback
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import config
from ..core.random import manual_seed
from .fetch import FETCHERS

SHARED_FROM = 1 << 15  # bytes of an array that is worth a file of its own
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


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """What a dataset may ask inside a worker process: `id`, `num_workers`, `seed`, `dataset`; None in the main process."""
    return _info


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


@dataclass(frozen=True)
class StreamEnded:
    """A worker's stream has no more samples."""

    worker_id: int


class Resume:
    """Sent to persistent workers at the start of another pass."""


def _attach(path: str, dtype: Any, shape: tuple[int, ...], order: str) -> np.ndarray:
    """The array in a shared memory file, which disappears with the array."""
    with open(path, "r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    os.unlink(path)
    return np.ndarray(shape, dtype, memory, order=order)  # type: ignore[call-overload, no-any-return]


class _Pickler(pickle.Pickler):
    """Puts large arrays into files in shared memory instead of into the stream."""

    def __init__(self, file: Any, folder: str, prefix: str, counter: Any) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.folder, self.prefix, self.counter = folder, prefix, counter

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is not np.ndarray or obj.nbytes < SHARED_FROM or obj.dtype.hasobject:
            return NotImplemented
        order = "F" if obj.flags.f_contiguous and not obj.flags.c_contiguous else "C"
        path = os.path.join(self.folder, f"{self.prefix}-{next(self.counter)}")
        with open(path, "w+b") as file:
            file.truncate(obj.nbytes)
            memory = mmap.mmap(file.fileno(), obj.nbytes)
        np.ndarray(obj.shape, obj.dtype, memory, order=order)[...] = obj  # type: ignore[call-overload]
        return _attach, (path, obj.dtype, obj.shape, order)


def packed(value: Any, folder: str, prefix: str, counter: Any) -> bytes:
    """A batch as bytes and files."""
    file = io.BytesIO()
    _Pickler(file, folder, prefix, counter).dump(value)
    return file.getvalue()


def numpy_seed(base_seed: int, worker_id: int) -> np.ndarray:
    """The seed of NumPy's global generator in a worker: four 32-bit words of a SeedSequence."""
    mask = 0xFFFFFFFF
    return np.random.SeedSequence([worker_id, base_seed & mask, base_seed >> 32, 0]).generate_state(4)


def worker_loop(
    kind: str, dataset: Any, indices: Any, results: Any, done: Any, auto_collation: bool, collate_fn: Any, drop_last: bool,
    base_seed: int, init_fn: Any, worker_id: int, num_workers: int, folder: str,
) -> None:  # fmt: skip
    """Load batches until told to stop, or until the parent is gone."""
    global _info
    parent = os.getppid()
    counter = itertools.count()
    where = f"in DataLoader worker process {worker_id}"
    try:
        config.num_threads = 1
        seed = base_seed + worker_id
        random.seed(seed)
        manual_seed(seed)
        np.random.seed(numpy_seed(base_seed, worker_id))
        _info = WorkerInfo(worker_id, num_workers, seed, dataset)
        failure = fetcher = None

        def start() -> Any:
            return FETCHERS[kind](dataset, auto_collation, collate_fn, drop_last)

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
                    fetcher = start()
                except Exception:
                    failure = Failure(where)
                results.send_bytes(pickle.dumps((task, None)))
                continue
            if done.is_set() or ended:
                continue
            number, index = task
            data: Any
            if failure is not None:
                data, failure = failure, None
            else:
                try:
                    assert fetcher is not None
                    data = fetcher.fetch(index)
                except StopIteration:
                    if kind != "iterable":
                        data = Failure(where)
                    else:
                        data, ended = StreamEnded(worker_id), True
                except Exception:
                    data = Failure(where)
            try:
                message = packed((number, data), folder, str(worker_id), counter)
            except Exception:
                message = pickle.dumps((number, Failure(where)))
            results.send_bytes(message)
    except (KeyboardInterrupt, BrokenPipeError, EOFError):
        pass  # the main process is ending, or has ended
    finally:
        results.close()
