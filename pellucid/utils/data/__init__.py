"""`torch.utils.data`."""

from ...api.attach import suggest_names as _suggest_names
from ...data import BatchSampler as BatchSampler
from ...data import ChainDataset as ChainDataset
from ...data import ConcatDataset as ConcatDataset
from ...data import DataLoader as DataLoader
from ...data import Dataset as Dataset
from ...data import DistributedSampler as DistributedSampler
from ...data import IterableDataset as IterableDataset
from ...data import Progress as Progress
from ...data import RandomSampler as RandomSampler
from ...data import Sampler as Sampler
from ...data import SequentialSampler as SequentialSampler
from ...data import StackDataset as StackDataset
from ...data import Subset as Subset
from ...data import SubsetRandomSampler as SubsetRandomSampler
from ...data import TensorDataset as TensorDataset
from ...data import WeightedRandomSampler as WeightedRandomSampler
from ...data import default_collate as default_collate
from ...data import default_convert as default_convert
from ...data import get_worker_info as get_worker_info
from ...data import progress as progress
from ...data import random_split as random_split
from ...data.loading.fetch import _DatasetKind as _DatasetKind
from ...data.pipes import branches as _branches
from ...data.pipes import by_key as _map_pipes
from ...data.pipes import files as _file_pipes
from ...data.pipes.base import DataChunk as DataChunk
from ...data.pipes.base import DFIterDataPipe as DFIterDataPipe
from ...data.pipes.base import IterDataPipe as IterDataPipe
from ...data.pipes.base import MapDataPipe as MapDataPipe
from ...data.pipes.base import functional_datapipe as functional_datapipe
from . import _utils as _utils
from . import dataloader as dataloader
from . import datapipes as datapipes
from . import dataset as dataset
from . import distributed as distributed
from . import graph as graph
from . import graph_settings as graph_settings
from . import sampler as sampler

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DFIterDataPipe",
    "DataChunk",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterDataPipe",
    "IterableDataset",
    "MapDataPipe",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "_DatasetKind",
    "default_collate",
    "default_convert",
    "functional_datapipe",
    "get_worker_info",
    "random_split",
]

_suggest_names(__name__)
