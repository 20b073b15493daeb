"""The DataLoader."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, cast

from ..errors import ArgumentValueError, warn
from .collate import default_collate, default_convert
from .dataset import Dataset, IterableDataset
from .loading.fetch import _DatasetKind
from .loading.iterators import _SingleProcessDataLoaderIter
from .pipes.base import (
    IterDataPipe,
    MapDataPipe,
    _IterDataPipeSerializationWrapper,
    _MapDataPipeSerializationWrapper,
)
from .pipes.graph import apply_shuffle_settings
from .sampler import BatchSampler, RandomSampler, SequentialSampler, _InfiniteConstantSampler

if TYPE_CHECKING:
    # whose variables may have a default, which type checkers know in every version of Python
    from typing_extensions import TypeVar

    T_co = TypeVar("T_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    T_co = TypeVar("T_co", covariant=True)
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader(Generic[T_co]):
    """Iterates over a dataset in batches, in order or shuffled, in this process or with worker
    processes.

    Args:
        dataset: with `__getitem__` and `__len__`, or an IterableDataset.
        batch_size: samples in a batch; None: samples one by one, as they are.
        shuffle: a new random order in each pass.
        sampler, batch_sampler: the order, or the order in batches, instead.
        num_workers: processes that load; 0: this process does.
        collate_fn: makes a batch of a list of samples.
        pin_memory: accepted; there is no other device to pin memory for.
        drop_last: leave out the last batch when it is shorter.
        timeout: seconds to wait for a worker's batch; 0: no limit.
        worker_init_fn: called in each worker with its number, after seeding.
        multiprocessing_context: "fork", "spawn", "forkserver" or a context.
        generator: the random stream of the shuffling and of the workers' seeds; the default one
            when left out.
        prefetch_factor: batches that each worker loads ahead (2).
        persistent_workers: keep the workers from one pass to the next.
        in_order: give batches in order; otherwise as they come.

    Raises:
        ValueError: arguments that exclude each other.

    Example:
        >>> import pellucid as torch
        >>> for batch in DataLoader(torch.arange(5), batch_size=2):
        ...     print(batch)
        tensor([0, 1])
        tensor([2, 3])
        tensor([4])
    """

    # subclasses of other libraries set `_DataLoader__initialized` to put another sampler in place
    __initialized = False

    def __init__(
        self,
        dataset: Dataset[T_co] | Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ArgumentValueError(
                "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
            )
        if timeout < 0:
            raise ArgumentValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ArgumentValueError(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable multiprocessing, "
                "otherwise set prefetch_factor to None."
            )
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        elif prefetch_factor is not None and prefetch_factor < 0:
            raise ArgumentValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ArgumentValueError("persistent_workers option needs num_workers > 0")
        self.dataset = cast(Any, dataset)
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        if isinstance(dataset, IterDataPipe):
            self.dataset = _IterDataPipeSerializationWrapper(dataset)
        elif isinstance(dataset, MapDataPipe):
            self.dataset = _MapDataPipeSerializationWrapper(dataset)
        self._dataset_kind = (
            _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map
        )
        if self._dataset_kind == _DatasetKind.Iterable:
            if isinstance(dataset, IterDataPipe):
                # Where no pipe shuffles this warns and changes nothing, as PyTorch's loader does.
                apply_shuffle_settings(dataset, shuffle)
            elif shuffle not in (False, None):
                raise ArgumentValueError(
                    f"DataLoader with IterableDataset: expected unspecified shuffle option, but got shuffle={shuffle}"
                )
            for name, value in (("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value is not None:
                    raise ArgumentValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                    )
        if sampler is not None and shuffle:
            raise ArgumentValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ArgumentValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ArgumentValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
            )
        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(cast(Any, dataset), generator=generator)
            else:
                sampler = SequentialSampler(cast(Any, dataset))
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self._IterableDataset_len_called: int | None = None
        self._iterator: Any = None
        self.check_worker_number_rationality()
        self.__initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in _FIXED:
            raise ArgumentValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> Any:
        """How worker processes are started."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            if self.num_workers == 0:
                raise ArgumentValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                    f"num_workers={self.num_workers}"
                )
            from .loading.processes import find_context

            context = find_context(context)
        self._context = context

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def _get_iterator(self) -> Any:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        from .loading.processes import MultiProcessIter

        return MultiProcessIter(self)

    def __iter__(self) -> Iterator[Any]:
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn when there are more workers than processor cores."""
        if not self.num_workers:
            return
        checked = hasattr(os, "sched_getaffinity")
        cores = len(os.sched_getaffinity(0)) if checked else os.cpu_count()
        if cores is None or self.num_workers > cores:
            suggestion = (
                f"Our suggested max number of worker in current system is {cores}{'' if checked else ' (`cpuset` is not taken into account)'}"
                ", which is smaller than what this DataLoader is going to create."
                if cores is not None
                else "DataLoader is not able to compute a suggested max number of worker in current system."
            )
            warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. {suggestion} Please be aware that excessive "
                "worker creation might get DataLoader running slow or even freeze, lower the worker number to avoid potential "
                "slowness/freeze if necessary.",
            )
