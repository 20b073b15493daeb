"""Reading: the archive's records as storages, and two unpicklers, of which the restricted one runs
no code of the file.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import mmap as _mmap
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pickle import UnpicklingError
from typing import Any

import numpy as np

from .. import dtypes
from .._files import LIES, bound, record_size, unpack
from ..arrays.meta import MetaArray
from ..ops.shape.storage import TypedStorage, UntypedStorage
from ._names import MAGIC_NUMBER, PROTOCOL_VERSION, StorageType
from ._options import OPTIONS, LoadEndianness
from ._places import default_restore_location
from ._rebuild import Unfilled, forget_sparse, look_at_sparse, shown
from ._restricted import ALLOWED, SafeUnpickler, text

_HOME = __name__.partition(".")[0]


def _find(module: str, name: str) -> Any:
    """What a name in a file stands for here: PyTorch's names are ours."""
    known = ALLOWED.get((module, name))
    if known is not None:
        return known
    if module == "torch" or module.startswith("torch."):
        module = _HOME + module[len("torch") :]
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


class _Plain(pickle.Unpickler):
    """Runs whatever the file says: only for files you trust."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _find(module, name)
        except (ImportError, AttributeError):
            return super().find_class(module, name)


class Unpickler(_Plain):
    """The same, with what stands for storages."""

    loader: Any

    def persistent_load(self, pid: Any) -> Any:
        return self.loader(pid)


# ---- where storages go -----------------------------------------------------------------------
def restore(storage: UntypedStorage, location: Any, map_location: Any) -> UntypedStorage:
    """The storage where `map_location` wants what was saved at a location."""
    location = text(location)
    if type(location) is not str:
        raise UnpicklingError(f"the location of a storage must be a text, but got {type(location)}")
    where: Any = location
    if map_location is None:
        pass
    elif isinstance(map_location, dict):
        where = map_location.get(location, location)
    elif isinstance(map_location, (str, dtypes.device)):
        where = map_location
    elif callable(map_location):
        result = map_location(storage, location)
        if result is not None:
            kept = result.untyped() if isinstance(result, TypedStorage) else result
            if not isinstance(kept, UntypedStorage):
                raise TypeError(
                    f"map_location must return a storage or None, not {type(result).__name__}"
                )
            return kept
    else:
        raise TypeError(
            f"map_location must be a device, a string, a dict or a callable, not {type(map_location).__name__}"
        )
    return default_restore_location(storage, str(where))


def _reference(pid: Any) -> tuple[StorageType, str, Any, int]:
    """(kind, key, location, number of elements) of a reference to a storage."""
    if type(pid) is not tuple or len(pid) not in (5, 6):
        raise UnpicklingError(
            f"a reference to a storage is a tuple of five entries, but got {shown(pid)}"
        )
    _, kind, key, location, count = pid[:5]
    key = text(key)
    if type(key) is int:  # as PyTorch's oldest files have it
        key = str(key)
    if (
        type(kind) is not StorageType
        or type(key) is not str
        or not key.isalnum()
        or type(count) is not int
        or count < 0
    ):
        parts = ", ".join(map(shown, (kind, key, count)))
        raise UnpicklingError(
            f"a reference to a storage needs a storage class, a key and a number of elements, but got {parts}"
        )
    return kind, key, location, count


def _typed(storage: UntypedStorage, kind: StorageType) -> TypedStorage:
    return TypedStorage(storage, kind.dtype or dtypes.uint8)


# ---- the two formats -------------------------------------------------------------------------
_DAMAGED = (zipfile.BadZipFile, *LIES)
# bytes that a compressed record of objects may have at least: each becomes up to a hundred bytes of
# memory
_OBJECTS = 1 << 20


_CORRUPTED = (
    "This is an internal miniz error. If you are seeing this error, there is a high likelihood that your checkpoint file is "
    "corrupted. This can happen if the checkpoint was not saved properly, was transferred incorrectly, or the file was modified "
    "after saving."
)


class Archive:
    """The records of a ZIP archive. What the directory says is not trusted: sizes are held to what
    the file can hold.
    """

    def __init__(self, file: Any, path: str | None, mmap: bool) -> None:
        self.mapped = None
        try:
            self.zip = zipfile.ZipFile(file)
            names = self.zip.namelist()
        except _DAMAGED:
            # the record at the end that says where the directory is has 22 bytes
            short = _size_of(file) < 22
            raise RuntimeError(
                "PytorchStreamReader failed reading zip archive: "
                f"{'not a ZIP archive' if short else 'failed finding central directory'}. {_CORRUPTED}"
            ) from None
        if not names:
            raise RuntimeError(
                "PytorchStreamReader failed reading zip archive: archive does not contain any files"
            )
        if len(set(names)) != len(names):
            raise RuntimeError(
                "PytorchStreamReader failed reading zip archive: several records have the same name"
            )
        self.prefix, slash, _ = names[0].partition("/")
        if not slash:
            raise RuntimeError(
                f"[enforce fail at inline_container.cc:180] . file in archive is not in a subdirectory: {names[0]}"
            )
        self.left = bound(_size_of(file))
        if mmap and path is not None:
            shared = OPTIONS.mmap_flags == _mmap.MAP_SHARED
            with open(path, "r+b" if shared else "rb") as opened:
                access = _mmap.ACCESS_WRITE if shared else _mmap.ACCESS_COPY
                self.mapped = _mmap.mmap(opened.fileno(), 0, access=access)

    def has(self, name: str) -> bool:
        """Whether there is such a record."""
        return f"{self.prefix}/{name}" in self.zip.NameToInfo

    def info(self, name: str, **free: int) -> zipfile.ZipInfo:
        """What the directory says about a record, where that can be."""
        info = self.zip.NameToInfo.get(f"{self.prefix}/{name}")
        if info is None:
            raise RuntimeError(
                f"PytorchStreamReader failed locating file {name}: file not found. {_CORRUPTED}"
            )
        try:
            self.left -= record_size(self.zip, info, **free)
        except ValueError as error:
            raise RuntimeError(f"PytorchStreamReader failed reading file {name}: {error}") from None
        if self.left < 0:
            raise RuntimeError(
                f"PytorchStreamReader failed reading file {name}: the records together are larger than the file can hold"
            )
        return info

    def read(self, name: str) -> bytes:
        """The bytes of a small record."""
        return self._filled(self.info(name, free=_OBJECTS), name).tobytes()

    def storage(self, name: str, count: int, item: int) -> np.ndarray:
        """The bytes of a storage, writable: mapped from the file where that was asked for."""
        info = self.info(name)
        nbytes = count * item
        if not 0 <= info.file_size - nbytes < item:
            raise RuntimeError(
                f"record size ({info.file_size} bytes) does not match expected size ({nbytes} bytes = {nbytes} elements * 1 "
                "bytes/element) for dtype Byte"
            )
        if self.mapped is None or info.compress_type != zipfile.ZIP_STORED or not nbytes:
            return self._filled(info, name)
        try:
            return np.frombuffer(self.mapped, np.uint8, nbytes, self.start(info))
        except _DAMAGED as error:
            raise RuntimeError(
                f"PytorchStreamReader failed reading file {name}: file read failed ({error})"
            ) from None

    def start(self, info: zipfile.ZipInfo) -> int:
        """Where in the file the bytes of a record start."""
        file: Any = self.zip.fp
        file.seek(info.header_offset)
        signature, name_length, extra_length = struct.unpack("<4s22xHH", file.read(30))
        if signature != b"PK\x03\x04":
            raise zipfile.BadZipFile("bad magic number of its header")
        return info.header_offset + 30 + name_length + extra_length

    def _filled(self, info: zipfile.ZipInfo, name: str) -> np.ndarray:
        array = np.empty(info.file_size, np.uint8)
        try:
            unpack(self.zip, info, memoryview(array))
        except _DAMAGED as error:
            if info.compress_type == zipfile.ZIP_STORED and info.CRC == zlib.crc32(
                bytes(len(array))
            ):
                # it was left empty (`skip_data`), and filled later
                file: Any = self.zip.fp
                file.seek(self.start(info))
                return np.frombuffer(bytearray(file.read(len(array))), np.uint8)
            raise RuntimeError(
                f"PytorchStreamReader failed reading file {name}: file read failed ({error})"
            ) from None
        return array


def read_zip(
    file: Any,
    path: str | None,
    map_location: Any,
    weights_only: bool,
    mmap: bool,
    options: dict[str, Any],
) -> Any:
    """The object in an archive."""
    forget_sparse()
    archive = Archive(file, path, mmap)
    _check_version(archive)
    if archive.has("constants.pkl"):
        raise RuntimeError(
            "this is a TorchScript archive, which cannot be loaded: it holds a program, not a checkpoint"
        )
    big = OPTIONS.endianness is LoadEndianness.BIG
    order = archive.read("byteorder") if archive.has("byteorder") else b"big" if big else b"little"
    if order not in (b"little", b"big"):
        raise ValueError(f"Unknown endianness type: {order.decode()}")
    if order == b"big":
        raise ValueError("the file was written on a big-endian machine, which is not supported")
    load = storages(archive, "data", map_location)
    result = _unpickle(io.BytesIO(archive.read("data.pkl")), load, weights_only, options)
    look_at_sparse()
    return result


def _check_version(archive: Archive) -> None:
    """Refuse archives of other versions than PyTorch 2.13 reads."""
    name = ".data/version" if archive.has(".data/version") else "version"
    if not archive.has(name):
        raise RuntimeError(
            'Expected hasRecord("version") to be true, but got false.  (Could this error message be improved?  If so, please report '
            "an enhancement request to PyTorch.)"
        )
    said = archive.read(name).decode("latin-1")
    digits = said.strip()
    if not digits.isdecimal():
        raise RuntimeError(
            f"[enforce fail at inline_container.cc:215] . Couldn't parse the version {said} as Long Long."
        )
    if int(digits) > 10:
        raise RuntimeError(
            f"[enforce fail at inline_container.cc:230] . Attempted to read a PyTorch file with version {digits}, but the maximum "
            "supported version for reading is 10. The version of your PyTorch installation may be too old, please upgrade PyTorch to "
            "latest version to mitigate this issue."
        )


def storages(archive: Archive, folder: str, map_location: Any) -> Callable[[Any], TypedStorage]:
    """What gives the storage of a reference in a pickle, whose bytes are a record of the folder."""
    loaded: dict[str, TypedStorage] = {}

    def load(pid: Any) -> TypedStorage:
        kind, key, location, count = _reference(pid)
        known = loaded.get(key)
        if known is None:
            raw = UntypedStorage(
                archive.storage(
                    f"{folder}/{key}", count, 1 if kind.dtype is None else kind.dtype.itemsize
                )
            )
            known = loaded[key] = _typed(restore(raw, location, map_location), kind)
        return known

    return load


_RAISED = (
    KeyError,
    IndexError,
    LookupError,
    TypeError,
    OverflowError,
    ValueError,
    AttributeError,
    AssertionError,
    struct.error,
)


@cache
def _damaged(kind: type[Exception]) -> type[UnpicklingError]:
    """What PyTorch raises for the same file, by name and text; it is an `UnpicklingError`, too."""
    return type(kind.__name__, (UnpicklingError, kind), {"__module__": kind.__module__})


def _unpickle(file: Any, loader: Any, weights_only: bool, options: dict[str, Any]) -> Any:
    unpickler: Any = (SafeUnpickler if weights_only else Unpickler)(file, **options)
    unpickler.loader = loader
    if not weights_only:
        return unpickler.load()
    with malformed():
        return unpickler.load()


@contextlib.contextmanager
def malformed() -> Iterator[None]:
    """Inside, a file is read that is not trusted. If malformed, it leads anywhere: stack underflow,
    wrong types, bad text.
    """
    try:
        yield
    except (UnpicklingError, EOFError, RuntimeError, MemoryError):
        raise
    except Exception as error:
        kind = next((kind for kind in _RAISED if isinstance(error, kind)), ValueError)
        told = _damaged(kind)(*(error.args if type(error) is kind else (str(error),)))
        told.add_note(f"The file is damaged or hostile: {type(error).__name__} while it was read.")
        raise told from None


class _Reader:
    """A file of which no more is asked for than it has: reading allocates what is asked for."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.end = _size_of(file)
        self.readline = file.readline

    def read(self, count: int) -> bytes:
        if count > 1 << 16 and count > self.end - self.file.tell():
            raise EOFError
        data: bytes = self.file.read(count)
        return data


def read_legacy(file: Any, map_location: Any, weights_only: bool, options: dict[str, Any]) -> Any:
    """The object in a file from before the ZIP archive."""
    forget_sparse()
    reader = _Reader(file)

    def nothing(pid: Any) -> Any:
        raise UnpicklingError("a storage before the header")

    def plain() -> Any:
        if not weights_only:
            return _Plain(file, **options).load()
        return _unpickle(reader, nothing, weights_only, options)

    if plain() != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = plain()
    if type(version) is not int or version != PROTOCOL_VERSION:
        raise RuntimeError(
            f"Invalid protocol version: {shown(version) if type(version) is not int else version}"
        )
    plain()  # sizes of C types on the machine that wrote it
    loaded: dict[str, TypedStorage] = {}
    parts: dict[Any, TypedStorage] = {}
    sizes: dict[str, tuple[int, int]] = {}  # elements, and bytes of each
    total = 0

    def load(pid: Any) -> TypedStorage:
        nonlocal total
        kind, key, location, count = _reference(pid)
        known = loaded.get(key)
        if known is None:
            item = 1 if kind.dtype is None else kind.dtype.itemsize
            total += count * item
            if total > reader.end - file.tell():
                raise RuntimeError(
                    f"storage {key} needs {shown(str(count))} elements, more than the file has"
                )
            sizes[key] = count, item
            raw = restore(Unfilled(np.zeros(count * item, np.uint8)), location, map_location)
            known = loaded[key] = _typed(raw, kind)
        return known if len(pid) < 6 or pid[5] is None else part(known, pid[5])

    def part(whole: TypedStorage, view: Any) -> TypedStorage:
        """A part of a storage, as PyTorch 0.1 wrote it: its key, where it begins, and its size."""
        if not (type(view) is tuple and len(view) == 3 and {type(v) for v in view[1:]} == {int}):
            raise UnpicklingError(
                f"a part of a storage must be (key, offset, size), but got {view!r}"
            )
        key, offset, size = view
        if key not in parts:
            if offset < 0 or size < 0 or offset + size > len(whole):
                raise RuntimeError(f"a part of a storage reaches beyond its {len(whole)} elements")
            item = whole.element_size()
            held = whole.untyped()[offset * item : (offset + size) * item]
            parts[key] = TypedStorage(held, whole.dtype)
        return parts[key]

    result = _unpickle(reader if weights_only else file, load, weights_only, options)
    keys = plain()
    if type(keys) is not list:
        raise UnpicklingError(f"the keys of the storages must be a list, but got {type(keys)}")
    for key in map(text, keys):
        if type(key) is not str or key not in sizes:
            raise RuntimeError(f"the file holds a storage {shown(key)!r} that nothing refers to")
        count, item = sizes.pop(key)
        (found,) = struct.unpack("<q", reader.read(8))
        if found != count:
            raise RuntimeError(
                f"storage {key} has a wrong size: expected {count} elements, got {found}"
            )
        data = file.read(count * item)
        if len(data) != count * item:
            raise RuntimeError(
                f"unexpected EOF, expected {count * item - len(data)} more bytes. The file might be corrupted."
            )
        storage = loaded[key].untyped()
        if type(storage._owner) is not MetaArray:
            storage._bytes()[:] = np.frombuffer(data, np.uint8)
        if type(storage) is Unfilled:
            storage.filled()
    if sizes:
        raise RuntimeError(f"the file lacks the bytes of storage {next(iter(sizes))}")
    look_at_sparse()
    return result


def _size_of(file: Any) -> int:
    here = file.tell()
    end: int = file.seek(0, io.SEEK_END)
    file.seek(here)
    return end
