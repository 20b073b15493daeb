"""Writing: objects pickled in protocol 2 under PyTorch's names, each storage a record of its own in
a ZIP archive.
"""

from __future__ import annotations

import ctypes
import hashlib
import io
import os
import pickle
import struct
import sys
import zipfile
from collections import OrderedDict
from typing import Any

import numpy as np

from .. import devices, dtypes
from .._files import replacing
from ..api.attach import LENT
from ..api.create.construct import WithoutData
from ..api.overriding import NoArray
from ..arrays.affine import PER_CHANNEL, QuantizedArray, qscheme
from ..arrays.meta import MetaArray
from ..arrays.numpy_cpu import owner
from ..arrays.sparse.array import SparseArray
from ..core.tensor import Parameter, Tensor, make_tensor
from ..ops.shape.storage import TypedStorage, UntypedStorage
from ._names import (
    GET_LAYOUT,
    JAGGED,
    MAGIC_NUMBER,
    PROTOCOL_VERSION,
    REBUILD_FROM_TYPE,
    REBUILD_JAGGED,
    REBUILD_META,
    REBUILD_NESTED,
    REBUILD_PARAMETER,
    REBUILD_PARAMETER_WITH_STATE,
    REBUILD_QUANTIZED,
    REBUILD_SPARSE,
    REBUILD_TENSOR,
    REBUILD_UNTYPED,
    REBUILD_WRAPPER,
    STORAGE_NAMES,
    Global,
    torch_module,
)
from ._options import OPTIONS
from ._pickle import Pickler as _Pickler

ALIGNMENT = 64


class _Storage:
    """One piece of memory: its bytes, and the number under which it is written."""

    __slots__ = ("keep", "key", "low", "nbytes")

    def __init__(self, key: str, low: int, nbytes: int, keep: Any) -> None:
        self.key = key
        self.low = low
        self.nbytes = nbytes
        self.keep = keep

    def view(self) -> memoryview:
        """The bytes, not copied."""
        if not self.nbytes:
            return memoryview(b"")
        return memoryview((ctypes.c_char * self.nbytes).from_address(self.low)).cast("B")


class _Reference:
    """A storage as seen by a tensor: what the pickle refers to."""

    __slots__ = ("dtype", "storage")

    def __init__(self, storage: _Storage, dtype: Any) -> None:
        self.storage = storage
        self.dtype = dtype


class Pickler(_Pickler):
    """Pickles with PyTorch's names; tensors become references to storages, which are collected."""

    def __init__(
        self, file: Any, protocol: int, legacy: bool = False, module: Any = pickle
    ) -> None:
        super().__init__(file, protocol)
        # another module's pickler (cloudpickle's) says how it takes functions and classes apart
        other: Any = getattr(module, "Pickler", None)
        self.other = other(io.BytesIO(), protocol) if hasattr(other, "reducer_override") else None
        if self.other is not None and hasattr(self.other, "dispatch_table"):
            self.dispatch_table = self.other.dispatch_table
        self.storages: dict[int, _Storage] = {}
        self.types: dict[int, Any] = {}
        self.legacy = legacy

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            return self._tensor(obj)
        return NotImplemented if self.other is None else self.other.reducer_override(obj)

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) is UntypedStorage:
            if self.legacy:
                raise RuntimeError(
                    "the legacy format has no untyped storages; save without _use_new_zipfile_serialization=False"
                )
            obj = _Reference(self._storage(obj._owner), None)
        elif type(obj) is TypedStorage and obj.dtype in STORAGE_NAMES:
            reference = _Reference(self._storage(obj._untyped._owner), obj.dtype)
            self.types.setdefault(reference.storage.low, obj.dtype)
            obj = reference
        if type(obj) is not _Reference:
            return None
        storage, kind = obj.storage, obj.dtype
        if kind is None:
            entry = (
                "storage",
                Global("torch.storage", "UntypedStorage"),
                storage.key,
                "cpu",
                storage.nbytes,
            )
        else:
            entry = (
                "storage",
                Global("torch", STORAGE_NAMES[kind]),
                storage.key,
                "cpu",
                storage.nbytes // kind.itemsize,
            )
        return (*entry, None) if self.legacy else entry

    def save(self, obj: Any, save_persistent_id: bool = True) -> Any:
        kind = type(obj)
        if kind is Global:
            return self._write_global(obj, obj.module, obj.name)
        if kind is dtypes.dtype:
            return self._write_global(obj, "torch", obj.name)
        if kind is qscheme:
            return self._write_global(obj, "torch", obj.name)
        if kind is dtypes.layout:
            return self.save_reduce(GET_LAYOUT, (f"torch.{obj.name}",))
        return super().save(obj, save_persistent_id)

    def save_global(self, obj: Any, name: str | None = None) -> Any:
        if obj is Parameter:
            return self._write_global(obj, "torch.nn.parameter", "Parameter")
        if obj is Tensor:
            return self._write_global(obj, "torch", "Tensor")
        module = torch_module(obj)
        if module is not None:
            return self._write_global(obj, module, name or obj.__qualname__)
        try:
            return super().save_global(obj, name)
        except pickle.PicklingError as error:
            said = str(error)
        # in the words of the pickler that is written in C, which PyTorch uses
        own = name or getattr(obj, "__qualname__", None) or obj.__name__
        if "<locals>" in own.split("."):
            raise AttributeError(f"Can't pickle local object {own!r}")
        home = pickle.whichmodule(obj, own)  # type: ignore[attr-defined]
        if home not in sys.modules:
            raise pickle.PicklingError(f"Can't pickle {obj!r}: import of module {home!r} failed")
        if "not found as" in said:
            said = f"Can't pickle {obj!r}: attribute lookup {own} on {home} failed"
        raise pickle.PicklingError(said)

    dispatch = dict(_Pickler.dispatch)
    dispatch[type(save_global)] = save_global

    def save_type(self, obj: Any) -> Any:
        if obj in (type(None), type(NotImplemented), type(...)):
            return super().save_type(obj)
        return self.save_global(obj)

    dispatch[type] = save_type

    def _write_global(self, obj: Any, module: str, name: str) -> None:
        known = self.memo.get(id(obj))
        if known is not None:
            self.write(self.get(known[0]))
            return
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    def _tensor(self, t: Tensor) -> Any:
        array = t._array
        if hasattr(t, "materialize"):  # no values yet: it says itself what it is made of
            return t.__reduce_ex__(2)
        if type(array) is SparseArray:
            return self._sparse(t, array)
        if type(array) is NoArray:
            return self._nested(t)
        quantized = type(array) is QuantizedArray
        plain = type(t) in (Tensor, Parameter) or quantized
        hooks: OrderedDict[Any, Any] = OrderedDict()
        if type(array) is MetaArray:
            strides = tuple(s // max(array.itemsize, 1) for s in array.strides)
            built: Any = (REBUILD_META, (t.dtype, t.shape, strides, t._rg))
        elif type(array) is WithoutData:
            built = (
                REBUILD_WRAPPER,
                (type(t), t.dtype, tuple(t.shape), t.stride(), 0, t.layout, t.device, t._rg),
            )
        elif quantized:
            built = self._quantized(t, array, hooks)
        else:
            built = self._array(t, array, hooks)
        attributes = {k: v for k, v in vars(t).items() if k != "_is_param"}
        if isinstance(t, Parameter) and (not attributes or type(t) is Parameter):
            data = array.tensor() if quantized else Tensor.__new__(Tensor)
            data._array = array
            self._keep(data)
            if attributes:
                return (REBUILD_PARAMETER_WITH_STATE, (data, t._rg, hooks, attributes))
            return (REBUILD_PARAMETER, (data, t._rg, hooks))
        if plain and not attributes:
            return built
        return (REBUILD_FROM_TYPE, (built[0], type(t), built[1], attributes))

    def _sparse(self, t: Tensor, array: SparseArray) -> Any:
        """A sparse tensor: its indices and values are tensors of their own."""
        parts = [
            make_tensor(a) for a in (array.indices, array.plain, array.values) if a is not None
        ]
        for part in parts:
            self._keep(part)
        flags: tuple[bool, ...] = (array.coalesced,) if array.layout == "coo" else ()
        built = (REBUILD_SPARSE, (t.layout, (*parts, devices.Size(array.shape), *flags)))
        if not isinstance(t, Parameter):
            return built
        data = array.tensor()
        self._keep(data)
        return (REBUILD_PARAMETER, (data, t._rg, OrderedDict()))

    def _nested(self, t: Any) -> Any:
        """A nested tensor: the tensors that it is made of."""
        files = LENT["nested"]()._files
        if type(t) not in files.KINDS:
            return NotImplemented
        parts, attributes = files.parts_of(t)
        self._keep(parts)
        if t.layout.name == "jagged":
            return (REBUILD_FROM_TYPE, (REBUILD_JAGGED, JAGGED, parts, attributes))
        if attributes:
            return (REBUILD_FROM_TYPE, (REBUILD_NESTED, Tensor, parts, attributes))
        return (REBUILD_NESTED, parts)

    def _quantized(self, t: Tensor, array: QuantizedArray, hooks: Any) -> Any:
        """A quantized tensor: its integers in a storage of their own kind, and what they stand for."""
        scheme = array.scheme
        if scheme.per_tensor:
            parameters: tuple[Any, ...] = (scheme.kind, float(scheme.scale), int(scheme.zero_point))
        else:
            parts = make_tensor(scheme.scale), make_tensor(scheme.zero_point)
            for part in parts:
                self._keep(part)
            # Zero points that are not integers tell the other kind of channels.
            parameters = (PER_CHANNEL, *parts, scheme.axis)
        integers = array.ints
        storage = self._storage(owner(integers))
        self.types.setdefault(storage.low, t.dtype)
        offset = (
            (integers.__array_interface__["data"][0] - storage.low) // integers.itemsize
            if integers.size
            else 0
        )
        geometry = (
            offset,
            tuple(int(s) for s in integers.shape),
            tuple(make_tensor(integers).stride()),
        )
        return (
            REBUILD_QUANTIZED,
            (_Reference(storage, t.dtype), *geometry, parameters, t._rg, hooks),
        )

    def _array(self, t: Tensor, array: np.ndarray, hooks: Any) -> Any:
        storage = self._storage(owner(array))
        low = storage.low
        known = self.types.setdefault(low, t.dtype)
        if known is not t.dtype and storage.nbytes:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types"
            )
        item = array.itemsize
        offset = (array.__array_interface__["data"][0] - low) // item if array.size else 0
        sizes = tuple(int(s) for s in array.shape)
        strides = tuple(t.stride())
        if self.legacy and t.dtype not in STORAGE_NAMES:
            raise RuntimeError(
                f"the legacy format has no storage for {t.dtype}; save without _use_new_zipfile_serialization=False"
            )
        if t.dtype in STORAGE_NAMES:
            reference = _Reference(storage, t.dtype)
            return (REBUILD_TENSOR, (reference, offset, sizes, strides, t._rg, hooks))
        return (
            REBUILD_UNTYPED,
            (_Reference(storage, None), offset, sizes, strides, t._rg, hooks, t.dtype),
        )

    def _storage(self, owner: Any) -> _Storage:
        """The piece of memory of an array that owns it."""
        if not isinstance(owner, np.ndarray):
            raise RuntimeError("Cannot save storages without data")
        low, high = np.lib.array_utils.byte_bounds(owner)
        if not owner.size:
            low = high = id(owner)
        storage = self.storages.get(low)
        if storage is None:
            storage = self.storages[low] = _Storage(str(len(self.storages)), low, high - low, owner)
        return storage

    def _keep(self, obj: Any) -> None:
        # The memo goes by identity: what is made here must live as long as the pickler.
        self.__dict__.setdefault("_kept", []).append(obj)


def write_record(archive: zipfile.ZipFile, folder: str, path: str, data: Any) -> None:
    """Write one record, whose bytes start at a multiple of 64."""
    info = zipfile.ZipInfo(f"{folder}/{path}", (1980, 1, 1, 0, 0, 0))
    info.file_size = len(data)
    large = len(data) >= zipfile.ZIP64_LIMIT
    header = 30 + len(info.filename.encode()) + 4 + (20 if large else 0)
    file: Any = archive.fp
    padding = -(file.tell() + header) % ALIGNMENT
    info.extra = struct.pack("<HH", 0x4246, padding) + b"Z" * padding
    with archive.open(info, "w", force_zip64=large) as target:
        target.write(data)


def write_zip(
    obj: Any, file: Any, protocol: int, name: str, byteorder: bool = True, module: Any = pickle
) -> None:
    """Write the archive: data.pkl, one record per storage (aligned to 64 bytes), and the notes that
    PyTorch's readers want.
    """
    buffer = io.BytesIO()
    pickler = Pickler(buffer, protocol, module=module)
    pickler.dump(obj)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:

        def record(path: str, data: Any) -> None:
            write_record(archive, name, path, data)

        record("data.pkl", buffer.getvalue())
        record(".format_version", b"1")
        record(".storage_alignment", str(ALIGNMENT).encode())
        if byteorder:
            record("byteorder", sys.byteorder.encode())
        for storage in pickler.storages.values():
            data = memoryview(bytes(storage.nbytes)) if OPTIONS.skipping else storage.view()
            record(f"data/{storage.key}", data)
        record("version", b"3\n")
        sums = [f"{i.filename.partition('/')[2]}{i.CRC:08x}" for i in archive.infolist()]
        record(".data/serialization_id", _identity(sums))


def _identity(sums: list[str]) -> bytes:
    """Forty digits that are the same for files with the same records."""
    return str(int(hashlib.sha256("".join(sums).encode()).hexdigest(), 16))[-40:].zfill(40).encode()


def write_legacy(obj: Any, file: Any, protocol: int, module: Any = pickle) -> None:
    """Write the format from before the ZIP archive: pickles one after another, then the storages."""
    for header in (
        MAGIC_NUMBER,
        PROTOCOL_VERSION,
        {
            "protocol_version": PROTOCOL_VERSION,
            "little_endian": sys.byteorder == "little",
            "type_sizes": {"short": 2, "int": 4, "long": 4},
        },
    ):
        pickle.dump(header, file, protocol=protocol)
    pickler = Pickler(file, protocol, legacy=True, module=module)
    pickler.dump(obj)
    storages = list(pickler.storages.values())
    pickle.dump([s.key for s in storages], file, protocol=protocol)
    for storage in storages:
        kind = pickler.types[storage.low]
        item = kind.itemsize if kind in STORAGE_NAMES else 1
        file.write(struct.pack("<q", storage.nbytes // item))
        file.write(storage.view())


def write_file(path: str, write: Any) -> None:
    """Call `write(file)` on a file that takes the place of `path` when it is complete."""
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    with replacing(path, sync=True) as file:
        write(file)
