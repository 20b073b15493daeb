"""The records of a checkpoint's archive, one by one: what readers of large files use that load
tensors when they are needed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sys
import zipfile
from typing import Any

from ..core.tensor import Tensor, make_tensor
from ..dtypes import dtype as dtype_class
from ..dtypes import uint8
from ..ops.shape.storage import UntypedStorage
from ._read import Archive
from ._write import write_record

IDENTIFIER = ".data/serialization_id"


class PyTorchFileReader:
    """Reads the records of a file that :func:`torch.save` wrote, without unpickling anything.

    Args:
        file: a path, or an open file.

    Raises:
        RuntimeError: no such file, or not an archive.

    >>> import io
    >>> import pellucid as torch
    >>> file = io.BytesIO()
    >>> torch.save(torch.ones(2), file)
    >>> reader = torch.PyTorchFileReader(file)
    >>> reader.has_record("data/0"), reader.get_storage_from_record("data/0", 2, torch.float32).untyped_storage().nbytes()
    (True, 8)
    """

    _own: Any = None

    def __init__(self, file: Any) -> None:
        path = os.fspath(file) if isinstance(file, (str, os.PathLike)) else None
        if path is None:
            file.tell()
        else:
            try:
                file = open(path, "rb")  # noqa: SIM115 (closed with the reader)
            except OSError as error:
                number = error.errno or errno.EIO
                raise RuntimeError(
                    f"open file failed because of errno {number} on fopen: {os.strerror(number)}, file path: {path}"
                ) from None
            self._own = file
        self._archive = Archive(file, path, mmap=False)

    def __del__(self) -> None:
        if self._own is not None:
            self._own.close()

    def get_all_records(self) -> list[str]:
        """The names of all records."""
        return [name.partition("/")[2] for name in self._archive.zip.namelist()]

    def has_record(self, name: str) -> bool:
        """Whether there is such a record."""
        return self._archive.has(name)

    def get_record(self, name: str) -> bytes:
        """The bytes of a record."""
        return self._archive.read(name)

    def get_record_size(self, name: str) -> int:
        """How many bytes a record has."""
        return self._archive.info(name).file_size

    def get_record_header_offset(self, name: str) -> int:
        """Where in the file a record's header starts."""
        return self._archive.info(name).header_offset

    def get_record_offset(self, name: str) -> int:
        """Where in the file the bytes of a record start."""
        return self._archive.start(self._archive.info(name))

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Tensor:
        """A tensor without elements whose storage has the bytes of a record."""
        kind = dtype if isinstance(dtype, dtype_class) else uint8
        memory = self._archive.storage(name, numel, kind.itemsize)
        return make_tensor(memory[:0].view(kind.numpy))

    def serialization_id(self) -> str:
        """The number that the writer gave to the contents; empty without one."""
        return self.get_record(IDENTIFIER).decode() if self.has_record(IDENTIFIER) else ""


class PyTorchFileWriter:
    """Writes an archive record by record.

    Args:
        file: a path, or a file that is open for writing.

    >>> import io
    >>> import pellucid as torch
    >>> file = io.BytesIO()
    >>> writer = torch.PyTorchFileWriter(file)
    >>> writer.write_record("notes", b"abc", 3)
    >>> writer.write_end_of_file()
    >>> torch.PyTorchFileReader(file).get_record("notes")
    b'abc'
    """

    def __init__(self, file: Any) -> None:
        path = os.fspath(file) if isinstance(file, (str, os.PathLike)) else None
        self._name = "archive" if path is None else os.path.splitext(os.path.basename(path))[0]
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True)
        self._written: set[str] = set()
        self._sum = hashlib.sha256()
        self._version = 3

    def archive_name(self) -> str:
        """The folder in the archive that all records are in."""
        return self._name

    def get_all_written_records(self) -> set[str]:
        """The names of the records so far."""
        return set(self._written)

    def set_min_version(self, version: int) -> None:
        """Raise the version of the format that the file states."""
        self._version = max(self._version, version)

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Write the first bytes of a storage, of bytes or of a text."""
        if isinstance(data, UntypedStorage):
            data = memoryview(data._bytes())
        elif isinstance(data, str):
            data = data.encode()
        data = memoryview(data).cast("B")[:size]
        if name in self._written:
            raise RuntimeError(f"Tried to serialize file twice: {name}")
        self._written.add(name)
        self._sum.update(name.encode())
        self._sum.update(data)
        write_record(self._zip, self._name, name, data)

    def write_end_of_file(self) -> None:
        """Write the closing records and the directory; then the file can be read."""
        for name, data in (
            (".data/version", f"{self._version}\n".encode()),
            ("byteorder", sys.byteorder.encode()),
            (IDENTIFIER, self.serialization_id().encode()),
        ):
            if name not in self._written:
                write_record(self._zip, self._name, name, data)
        self._zip.close()

    def serialization_id(self) -> str:
        """40 digits made from the contents."""
        return f"{int.from_bytes(self._sum.digest()[:16], 'big'):040d}"
