"""One pass over a DataLoader."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.streams.generator import Generator
from ...core.tensor import make_tensor
from ...errors import ArgumentTypeError, warn
from ..pipes.base import IterDataPipe, MapDataPipe
from ..pipes.graph import apply_random_seed, apply_sharding
from ..sampler import draw_seed
from .fetch import _DatasetKind


def _share_dist_seed(generator: Any, pg: Any) -> int:
    """A random int64 from the generator; in a process group, that of rank 0."""
    seed = draw_seed(generator)
    if pg is None or not hasattr(pg, "rank"):
        return seed
    from ... import distributed as dist

    shared = make_tensor(np.array(seed, np.int64))
    dist.broadcast(shared, src=0, group=pg)
    return int(shared._array)


def seed_pipes(dataset: Any, shared_seed: int) -> None:
    """Seed the random pipes of a pipeline; all processes with the same seed draw alike."""
    apply_random_seed(dataset, Generator().manual_seed(shared_seed))


class _BaseDataLoaderIter:
    """One pass over a DataLoader."""

    def __init__(self, loader: Any) -> None:
        self._dataset = loader.dataset
        self._shared_seed: int | None = None
        self._pg: Any = None  # ranks share the seed of pipes through a process group of its own
        self._world_size, self._rank = 1, 0
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)):
            from ... import distributed as dist

            if dist.is_available() and dist.is_initialized():
                self._world_size, self._rank = dist.get_world_size(), dist.get_rank()
                if isinstance(self._dataset, IterDataPipe):
                    self._pg = dist.new_group(backend="gloo")
        self._seed_pipes(loader)
        self._dataset_kind = loader._dataset_kind
        self._auto_collation = loader._auto_collation
        self._collate_fn = loader.collate_fn
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._timeout = loader.timeout
        # The order of draws is PyTorch's: first the pipes' seed, the workers' seed, then, when the first batch is
        # asked for, the sampler's own.
        if getattr(loader, "pin_memory", False):
            warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used."
            )
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = draw_seed(loader.generator)
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._num_yielded = 0

    def __iter__(self) -> Any:
        return self

    def _reset(self, loader: Any) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._seed_pipes(loader)

    def _seed_pipes(self, loader: Any) -> None:
        """Seeds for pipes that are random, the same in all workers and ranks."""
        if isinstance(self._dataset, IterDataPipe):
            self._shared_seed = _share_dist_seed(loader.generator, self._pg)
            seed_pipes(self._dataset, self._shared_seed)

    def _next_data(self) -> Any:
        """The next batch; defined by the subclass."""
        raise NotImplementedError(f"{type(self).__name__} does not define _next_data")

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        if (
            self._IterableDataset_len_called is not None
            and self._dataset_kind == _DatasetKind.Iterable
            and self._num_yielded > self._IterableDataset_len_called
        ):
            text = (
                f"Length of IterableDataset {self._dataset} was reported to be {self._IterableDataset_len_called}(when accessing len(dataloader)), "
                f"but {self._num_yielded} samples have been fetched. "
            )
            if self._num_workers > 0:
                text += (
                    "For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset replica at "
                    "each worker. Please see https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
                )
            warn(text)
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise ArgumentTypeError(f"{type(self).__name__} cannot be pickled")


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        assert self._timeout == 0, "_SingleProcessDataLoaderIter requires timeout == 0"
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)):
            apply_sharding(self._dataset, self._world_size, self._rank)
        self._fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
        )

    def _next_data(self) -> Any:
        return self._fetcher.fetch(next(self._sampler_iter))
