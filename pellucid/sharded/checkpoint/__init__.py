"""`torch.distributed.checkpoint`: checkpoints that many ranks write and read together, each its
part.
"""

from .metadata import BytesStorageMetadata as BytesStorageMetadata
from .metadata import ChunkStorageMetadata as ChunkStorageMetadata
from .metadata import Metadata as Metadata
from .metadata import MetadataIndex as MetadataIndex
from .metadata import StorageMeta as StorageMeta
from .metadata import TensorProperties as TensorProperties
from .metadata import TensorStorageMetadata as TensorStorageMetadata
from .metadata import _StorageInfo as _StorageInfo
from .saving import CheckpointException as CheckpointException
from .saving import DefaultLoadPlanner as DefaultLoadPlanner
from .saving import DefaultSavePlanner as DefaultSavePlanner
from .saving import LoadPlanner as LoadPlanner
from .saving import SavePlanner as SavePlanner
from .saving import async_save as async_save
from .saving import dcp_to_torch_save as dcp_to_torch_save
from .saving import load as load
from .saving import load_state_dict as load_state_dict
from .saving import save as save
from .saving import save_state_dict as save_state_dict
from .saving import torch_save_to_dcp as torch_save_to_dcp
from .storage import FileSystemReader as FileSystemReader
from .storage import FileSystemWriter as FileSystemWriter
from .storage import StorageReader as StorageReader
from .storage import StorageWriter as StorageWriter
