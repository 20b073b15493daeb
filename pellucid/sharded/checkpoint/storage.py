"""Files of a checkpoint: each rank writes the pieces that it is asked to, one after the other; rank
0 writes `.metadata` last.

Source: PyTorch's `torch.distributed.checkpoint.filesystem`, whose format this is.
"""

from __future__ import annotations

import io
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import OperationError, UnsupportedError
from ...serialization import load as load_file
from ...serialization import save as save_file
from . import metadata as form
from .metadata import Metadata, MetadataIndex, StorageMeta, _StorageInfo

_VERSION = "1.0.0"


class Item(NamedTuple):
    """Something to write: a piece of a tensor, or an object."""

    key: MetadataIndex
    value: Any


class StorageWriter:
    """Where `save` writes. `FileSystemWriter` is the one there is.

    >>> from pellucid.distributed import checkpoint as dcp
    >>> isinstance(dcp.FileSystemWriter("run7"), dcp.StorageWriter)
    True
    """


class StorageReader:
    """Where `load` reads. `FileSystemReader` is the one there is.

    >>> from pellucid.distributed import checkpoint as dcp
    >>> isinstance(dcp.FileSystemReader("run7"), dcp.StorageReader)
    True
    """


class FileSystemWriter(StorageWriter):
    """Writes a checkpoint into a folder.

    Args:
        path: the folder, which is created.
        single_file_per_rank, sync_files, thread_count, per_thread_copy_ahead,
            cache_staged_state_dict: accepted; there is one file for each rank.
        overwrite: replace an existing checkpoint.

    >>> import pellucid as torch
    >>> import os, tempfile
    >>> from pellucid.distributed import checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     writer = dcp.FileSystemWriter(f"{folder}/step3")
    ...     _ = dcp.save({"w": torch.ones(2)}, storage_writer=writer, no_dist=True)
    ...     print(sorted(os.listdir(f"{folder}/step3")))
    ['.metadata', '__0_0.distcp']
    """

    def __init__(
        self,
        path: Any,
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        _extensions: Any = None,
        serialization_format: Any = None,
    ) -> None:
        if _extensions or getattr(serialization_format, "name", "TORCH_SAVE") != "TORCH_SAVE":
            raise UnsupportedError(
                "torch.distributed.checkpoint: FileSystemWriter writes torch.save's format only, without extensions"
            )
        self.path, self.sync_files, self.overwrite = Path(path), sync_files, overwrite
        self.save_id = str(uuid.uuid4())

    @property
    def checkpoint_id(self) -> Any:
        """The folder."""
        return self.path

    def begin(self) -> None:
        """Make the folder.

        Raises:
            RuntimeError: a checkpoint is there, and is not to be overwritten.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        if (self.path / ".metadata").exists() and not self.overwrite:
            raise OperationError("Checkpoint already exists and self.overwrite=False.")

    def write(self, rank: int, items: Sequence[Item]) -> dict[MetadataIndex, _StorageInfo]:
        """Write a rank's items; returns where they are."""
        found: dict[MetadataIndex, _StorageInfo] = {}
        if not items:
            return found
        name = f"__{rank}_0.distcp"
        with open(self.path / name, "wb") as file:
            for item in items:
                begin = file.tell()
                packed = io.BytesIO()
                save_file(item.value, packed)
                file.write(packed.getbuffer())
                found[item.key] = _StorageInfo(name, begin, file.tell() - begin)
            file.flush()
            if self.sync_files:
                os.fsync(file.fileno())
        return found

    def finish(self, metadata: Metadata, found: dict[MetadataIndex, _StorageInfo]) -> None:
        """Write `.metadata`, which makes the checkpoint complete."""
        metadata.storage_data, metadata.version = found, _VERSION
        metadata.storage_meta = StorageMeta(str(self.path), self.save_id)
        temporary = self.path / ".metadata.tmp"
        with open(temporary, "wb") as file:
            file.write(form.written(metadata))
            file.flush()
            if self.sync_files:
                os.fsync(file.fileno())
        os.replace(temporary, self.path / ".metadata")


class FileSystemReader(StorageReader):
    """Reads a checkpoint from a folder. Objects in it are read without running code from the files.

    Args:
        path: the folder.

    >>> import pellucid as torch
    >>> import tempfile
    >>> from pellucid.distributed import checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"w": torch.ones(2, 3)}, checkpoint_id=folder, no_dist=True)
    ...     print(dcp.FileSystemReader(folder).read_metadata().state_dict_metadata["w"].size)
    torch.Size([2, 3])
    """

    def __init__(self, path: Any, **other: Any) -> None:
        self.path = Path(path)

    @property
    def checkpoint_id(self) -> Any:
        """The folder."""
        return self.path

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """What the checkpoint holds.

        Raises:
            FileNotFoundError: there is no `.metadata`, so no complete checkpoint.
                pickle.UnpicklingError: it is damaged.
        """
        return form.read((self.path / ".metadata").read_bytes())

    def read(self, info: _StorageInfo) -> Any:
        """The tensor or object at a place.

        Raises:
            RuntimeError: the place is outside of the checkpoint. pickle.UnpicklingError: the object
                needs code from the file.
        """
        name, begin, length = info.relative_path, info.offset, info.length
        if type(name) is not str or os.path.basename(name) != name or name in ("", ".", ".."):
            raise OperationError(
                f"the checkpoint names the file {name!r}, which is not one of its own"
            )
        if type(begin) is not int or type(length) is not int or begin < 0 or length < 0:
            raise OperationError(
                f"the checkpoint names impossible bytes {begin!r} to {length!r} of {name}"
            )
        if getattr(info, "transform_descriptors", None):
            raise NotImplementedError(
                f"torch.distributed.checkpoint: transformed files ({info.transform_descriptors}) are not supported"
            )
        with open(self.path / name, "rb") as file:
            if begin + length > os.fstat(file.fileno()).st_size:
                raise OperationError(
                    f"the checkpoint's file {name} is shorter than its .metadata says"
                )
            file.seek(begin)
            data = file.read(length)
        return load_file(io.BytesIO(data), map_location="cpu", weights_only=True)


def placed(storage: Any, index: MetadataIndex) -> _StorageInfo:
    """Where something lies.

    Raises:
        RuntimeError: the checkpoint does not say.
    """
    found = storage.get(index) if isinstance(storage, dict) else None
    if not isinstance(found, _StorageInfo):
        raise OperationError(
            f"the checkpoint does not say where {index.fqn} at {index.offset} lies"
        )
    return found
