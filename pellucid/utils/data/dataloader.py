"""`torch.utils.data.dataloader`."""

from ...data.collate import default_collate as default_collate
from ...data.collate import default_convert as default_convert
from ...data.dataloader import DataLoader as DataLoader
from ...data.iterators import _BaseDataLoaderIter as _BaseDataLoaderIter
from ...data.iterators import _SingleProcessDataLoaderIter as _SingleProcessDataLoaderIter
from ...data.worker import get_worker_info as get_worker_info
