"""`torch.utils.data.dataloader`."""

from collections.abc import Callable
from typing import Any

from ...data.collate import default_collate as default_collate
from ...data.collate import default_convert as default_convert
from ...data.dataloader import DataLoader as DataLoader
from ...data.dataset import Dataset as Dataset
from ...data.dataset import IterableDataset as IterableDataset
from ...data.loading.fetch import _DatasetKind as _DatasetKind
from ...data.loading.iterators import _BaseDataLoaderIter as _BaseDataLoaderIter
from ...data.loading.iterators import _SingleProcessDataLoaderIter as _SingleProcessDataLoaderIter
from ...data.loading.processes import MultiProcessIter as _MultiProcessingDataLoaderIter
from ...data.loading.worker import get_worker_info as get_worker_info
from ...data.loading.worker import shard_pipes as _sharding_worker_init_fn
from ...data.sampler import BatchSampler as BatchSampler
from ...data.sampler import RandomSampler as RandomSampler
from ...data.sampler import Sampler as Sampler
from ...data.sampler import SequentialSampler as SequentialSampler
from ...data.sampler import _InfiniteConstantSampler as _InfiniteConstantSampler

_collate_fn_t = Callable[[list[Any]], Any]
_worker_init_fn_t = Callable[[int], None]

__all__ = [
    "DataLoader",
    "_BaseDataLoaderIter",
    "_MultiProcessingDataLoaderIter",
    "_SingleProcessDataLoaderIter",
    "_sharding_worker_init_fn",
    "default_collate",
    "default_convert",
    "get_worker_info",
]
