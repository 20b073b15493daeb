"""Read local files, with clear errors. Nothing is downloaded."""

from __future__ import annotations

import gzip
import io
import math
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._files import LIES, bound, record_size, unpack
from ..errors import Kind

# The third byte of an IDX file: its element type, stored with the most significant byte first.
_IDX_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


class DataFileError(ValueError):
    """A data file is damaged, or not what it was taken for."""


class DataFileNotFoundError(FileNotFoundError):
    """A data file is not where it was looked for."""


_damaged = Kind("DataFileError", DataFileError)
_missing = Kind("DataFileNotFoundError", DataFileNotFoundError)


def existing(candidates: Iterable[Any], what: str) -> Path:
    """The first of the paths that exists.

    Raises:
        DataFileNotFoundError: when none does, with all that were tried.
    """
    paths = [Path(os.fspath(path)) for path in candidates]
    for path in paths:
        if path.is_file():
            return path
    raise _missing(
        f"{what} not found",
        notes=tuple(f"looked for {path}" for path in paths),
        hint="files are not downloaded; put them there, or give the folder that holds them",
    )


def contents(path: Path) -> bytes:
    """The bytes of a file, decompressed when it begins as gzip files do."""
    raw = path.read_bytes()
    if raw[:2] != b"\x1f\x8b":
        return raw
    limit = bound(len(raw))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
            found = file.read(limit + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _damaged(
            f"{path} is damaged: {error}",
            hint="the copy or download was probably cut short; get the file again",
        ) from error
    if len(found) > limit:
        raise DataFileError(
            f"{path} expands more than a hundredfold: it is damaged, or made to fill the memory"
        )
    return found


def read_idx(path: str | os.PathLike[str]) -> np.ndarray:
    """Read an IDX file (the format of MNIST and its relatives), plain or compressed with gzip.

    Raises:
        FileNotFoundError: when the file is not there.
        ValueError: when it is not an IDX file, or is shorter or longer than its header says.

    Source: Y. LeCun, C. Cortes, C. Burges, The MNIST database of handwritten digits.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     _ = file.write(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]))
        ...     file.flush()
        ...     read_idx(file.name).tolist()
        [7, 8, 9]
    """
    found = existing([path], "the IDX file")
    raw = contents(found)
    if len(raw) < 4 or raw[:2] != b"\0\0" or raw[2] not in _IDX_TYPES:
        raise DataFileError(
            f"{found} is not an IDX file: it begins with {raw[:4].hex(' ') or 'nothing'}"
        )
    dims = raw[3]
    if dims > 64:
        raise DataFileError(f"{found} is not an IDX file: it has {dims} dimensions")
    start = 4 + 4 * dims
    if len(raw) < start:
        raise DataFileError(
            f"{found} is cut short: {len(raw)} bytes, and its header alone takes {start}"
        )
    shape = struct.unpack(f">{dims}I", raw[4:start])
    kind = np.dtype(_IDX_TYPES[raw[2]])
    expected = start + math.prod(shape) * kind.itemsize
    if len(raw) != expected:
        word = "cut short" if len(raw) < expected else "too long"
        raise DataFileError(
            f"{found} is {word}: shape {list(shape)} takes {expected} bytes, the file has {len(raw)}"
        )
    return np.frombuffer(raw, kind, offset=start).reshape(shape).astype(kind.newbyteorder("="))


def read_npz(path: Path, keys: Sequence[str] | None) -> dict[str, np.ndarray]:
    """Arrays of an NPZ file by name, without objects: all of them, or those with the given names.

    Raises:
        ValueError: it is damaged or no NPZ file, or has no such arrays.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            infos = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            names = list(infos) if keys is None else list(keys)
            missing = [name for name in names if name not in infos]
            if missing:
                raise DataFileError(
                    f"{path} has no array {', '.join(missing)}; it has {', '.join(infos)}"
                )
            return {name: _npy(archive, infos[name]) for name in names}
    except DataFileError:
        raise
    except (zipfile.BadZipFile, *LIES) as error:
        raise DataFileError(f"{path} is damaged or no NPZ file: {error}") from error


def _npy(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """One array. Its header is held to the bytes that follow, before anything of that size is made."""
    raw = bytearray(record_size(archive, info))
    unpack(archive, info, memoryview(raw))
    file = io.BytesIO(raw)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    try:
        version = np.lib.format.read_magic(file)
        shape, by_columns, kind = readers[version](file)
    except (
        ValueError,
        LookupError,
        TypeError,
        SyntaxError,
        MemoryError,
        RecursionError,
        tokenize.TokenError,
    ) as error:
        why = f"{type(error).__name__}: {str(error)[:200]}"
        raise ValueError(f"the header of {info.filename} is no NPY header ({why})") from None
    if kind.hasobject:
        raise ValueError(f"Object arrays cannot be loaded ({info.filename})")
    sizes = [kind.itemsize, *shape]
    if (
        len(shape) > 64
        or any(type(n) is not int or n < 0 for n in shape)
        or math.prod(sizes) != len(raw) - file.tell()
    ):
        raise ValueError(
            f"{info.filename}: shape {list(shape)} of {kind} does not fit {len(raw) - file.tell()} bytes"
        )
    return np.ndarray(shape, kind, raw, file.tell(), order="F" if by_columns else "C")


def text_of(path: str | os.PathLike[str], encoding: str) -> str:
    """A file's text, decompressed where needed; line ends become newlines."""
    found = existing([path], "the text file")
    try:
        text = contents(found).decode(encoding)
    except UnicodeDecodeError as error:
        raise DataFileError(
            f"{found} is not text in {encoding}: {error.reason} at byte {error.start}"
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")
