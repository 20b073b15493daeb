"""`torch.utils.data.dataloader`."""

from collections.abc import Callable
from typing import Any

from ...data.collate import default_collate as default_collate
from ...data.collate import default_convert as default_convert
from ...data.dataloader import DataLoader as DataLoader
from ...data.loading.fetch import _DatasetKind as _DatasetKind
from ...data.loading.iterators import _BaseDataLoaderIter as _BaseDataLoaderIter
from ...data.loading.iterators import _SingleProcessDataLoaderIter as _SingleProcessDataLoaderIter
from ...data.loading.processes import MultiProcessIter as _MultiProcessingDataLoaderIter
from ...data.loading.worker import get_worker_info as get_worker_info

_collate_fn_t = Callable[[list[Any]], Any]
_worker_init_fn_t = Callable[[int], None]

__all__ = [
    "DataLoader",
    "_BaseDataLoaderIter",
    "_MultiProcessingDataLoaderIter",
    "_SingleProcessDataLoaderIter",
    "default_collate",
    "default_convert",
    "get_worker_info",
]
