"""Reading: the archive's records as storages, and two unpicklers, of which the restricted one runs no code of the file."""

from __future__ import annotations

import builtins
import importlib
import io
import mmap as _mmap
import pickle
import struct
import zipfile
from _codecs import encode
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import devices, dtypes
from ..backends.meta import MetaArray
from ..core.tensor import Parameter, Tensor, make_tensor
from ..errors import UnsupportedError
from ..ops.view_storage import TypedStorage, UntypedStorage
from ._names import MAGIC_NUMBER, PROTOCOL_VERSION, STORAGE_TYPES, StorageType

_HOME = __name__.partition(".")[0]
UnpicklingError = pickle.UnpicklingError

SAFE: dict[str, Any] = {}  # allowed by the user, by full name


class Loaded:
    """A storage read from a file, with the element type it was written as."""

    __slots__ = ("array", "dtype", "key", "meta")

    def __init__(self, array: Any, dtype: Any, key: str, meta: bool = False) -> None:
        self.array = array  # bytes
        self.dtype = dtype
        self.key = key
        self.meta = meta


# ---- tensors from storages -------------------------------------------------------------------
def _rebuild_tensor(storage: Any, storage_offset: Any, size: Any, stride: Any, dtype: Any = None) -> Tensor:
    if not isinstance(storage, Loaded):
        raise UnpicklingError(f"a tensor needs a storage, but got {type(storage).__name__}")
    kind = (dtype or storage.dtype).numpy
    sizes, strides = tuple(int(s) for s in size), tuple(int(s) for s in stride)
    offset, item = int(storage_offset), kind.itemsize
    if len(sizes) != len(strides) or any(s < 0 for s in sizes):
        raise RuntimeError(f"mismatch in length of strides and shape: sizes {list(sizes)}, strides {list(strides)}")
    if any(s < 0 for s in strides) or offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset} or strides {list(strides)}")
    last = offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) if 0 not in sizes else offset - 1
    if storage.meta:
        return make_tensor(MetaArray(sizes, kind, tuple(s * item for s in strides)))  # type: ignore[no-any-return]
    if (last + 1) * item > len(storage.array):
        raise RuntimeError(
            f"setStorage: sizes {list(sizes)}, strides {list(strides)}, storage offset {offset}, and itemsize {item} requiring a "
            f"storage size of {(last + 1) * item} are out of bounds for storage of size {len(storage.array)}"
        )
    raw = storage.array
    if 0 in sizes or not len(raw):
        return make_tensor(np.empty(sizes, kind))  # type: ignore[no-any-return]
    return make_tensor(np.ndarray(sizes, kind, raw, offset * item, tuple(s * item for s in strides)))  # type: ignore[no-any-return]


def _rebuild_tensor_v2(
    storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, metadata: Any = None
) -> Tensor:
    return _marked(_rebuild_tensor(storage, offset, size, stride), requires_grad, metadata)


def _rebuild_tensor_v3(
    storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, dtype: Any, metadata: Any = None
) -> Tensor:
    return _marked(_rebuild_tensor(storage, offset, size, stride, dtype), requires_grad, metadata)


def _marked(t: Tensor, requires_grad: Any, metadata: Any) -> Tensor:
    if metadata:
        if metadata.get("conj"):
            np.conjugate(t._array, out=t._array)
        if metadata.get("neg"):
            np.negative(t._array, out=t._array)
    if requires_grad:
        t.requires_grad = True
    return t


def _rebuild_parameter(data: Any, requires_grad: Any, hooks: Any) -> Any:
    return Parameter(data, bool(requires_grad))


def _rebuild_parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Any:
    return _with_state(Parameter(data, bool(requires_grad)), state)


def _rebuild_meta(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    item = dtype.numpy.itemsize
    t: Tensor = make_tensor(MetaArray(tuple(size), dtype.numpy, tuple(s * item for s in stride)))
    return _marked(t, requires_grad, None)


def _rebuild_from_type(function: Any, kind: Any, args: Any, state: Any) -> Any:
    if function not in _REBUILD.values():
        raise UnpicklingError(f"Trying to call reduce for unrecognized function {function}")
    t = function(*args)
    if kind is not Tensor:
        if not (isinstance(kind, type) and issubclass(kind, Tensor)):
            raise UnpicklingError(f"{kind} is no type of tensors")
        t.__class__ = kind
    return _with_state(t, state)


def _with_state(t: Any, state: Any) -> Any:
    attributes = state[0] if isinstance(state, tuple) and state else state
    if isinstance(attributes, dict):
        t.__dict__.update(attributes)
    return t


def _get_layout(name: Any) -> Any:
    """The layout that a file names."""
    found = getattr(devices, str(name).removeprefix("torch."), None)
    if type(found) is not devices.layout:
        raise UnpicklingError(f"{name} is no layout")
    return found


_REBUILD: dict[tuple[str, str], Callable[..., Any]] = {
    ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor_v2,
    ("torch._utils", "_rebuild_tensor_v3"): _rebuild_tensor_v3,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): _rebuild_parameter_with_state,
    ("torch._utils", "_rebuild_meta_tensor_no_storage"): _rebuild_meta,
    ("torch._tensor", "_rebuild_from_type_v2"): _rebuild_from_type,
}
_ALLOWED: dict[tuple[str, str], Any] = {
    **_REBUILD,
    **STORAGE_TYPES,
    ("collections", "OrderedDict"): OrderedDict,
    ("collections", "Counter"): Counter,
    ("torch.nn.parameter", "Parameter"): Parameter,
    ("torch", "Size"): dtypes.Size,
    ("torch", "Tensor"): Tensor,
    ("torch", "device"): dtypes.device,
    ("torch.serialization", "_get_layout"): _get_layout,
    ("_codecs", "encode"): encode,
    ("builtins", "bytearray"): bytearray,
    ("builtins", "set"): set,
    ("builtins", "complex"): complex,
    **{("torch", name): kind for name, kind in dtypes.BY_NAME.items()},
}
_CALLABLE = (
    *_REBUILD.values(),
    _get_layout,
    OrderedDict,
    Counter,
    Parameter,
    dtypes.Size,
    dtypes.device,
    encode,
    bytearray,
    set,
    complex,
)
_BLOCKED = frozenset({"sys", "os", "posix", "nt"})
_OLD_NAMES = {("__builtin__", name): ("builtins", name) for name in ("set", "bytearray", "complex")}


def _find(module: str, name: str) -> Any:
    """What a name in a file stands for here: PyTorch's names are ours."""
    known = _ALLOWED.get((module, name))
    if known is not None:
        return known
    if module == "torch" or module.startswith("torch."):
        module = _HOME + module[len("torch") :]
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


class Unpickler(pickle.Unpickler):
    """Runs whatever the file says: for files of one's own."""

    loader: Any

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _find(module, name)
        except (ImportError, AttributeError):
            return super().find_class(module, name)

    def persistent_load(self, pid: Any) -> Any:
        return self.loader(pid)


class SafeUnpickler(pickle._Unpickler):  # type: ignore[name-defined, misc]
    """Builds tensors and plain containers only; a name that is not on the list, or a call of anything else, is refused."""

    loader: Any

    def find_class(self, module: str, name: str) -> Any:
        module, name = _OLD_NAMES.get((module, name), (module, name))
        path = f"{module}.{name}"
        if module in _BLOCKED:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked.")
        known = _ALLOWED.get((module, name))
        if known is not None:
            return known
        if path in SAFE:
            return SAFE[path]
        if module == "builtins" and path not in SAFE and hasattr(builtins, name):
            path = name if name in SAFE else path
        raise UnpicklingError(
            f"Unsupported global: GLOBAL {path} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{path}])` or the `torch.serialization.safe_globals([{path}])` context manager to "
            "allowlist this global if you trust this class/function."
        )

    def persistent_load(self, pid: Any) -> Any:
        if not isinstance(pid, (tuple, int)):
            raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(pid)}")
        if isinstance(pid, tuple) and pid and _text(pid[0]) != "storage":
            raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {pid[0]}")
        return self.loader(pid)

    dispatch = dict(pickle._Unpickler.dispatch)  # type: ignore[attr-defined]

    def load_reduce(self) -> None:
        args = self.stack.pop()
        function = self.stack[-1]
        if not any(function is f for f in (*_CALLABLE, *SAFE.values())):
            raise UnpicklingError(f"Trying to call reduce for unrecognized function {function}")
        self.stack[-1] = function(*args)

    def load_newobj(self) -> None:
        args = self.stack.pop()
        cls = self.stack.pop()
        if not any(cls is c for c in (Parameter, OrderedDict, Counter, dtypes.Size, *SAFE.values())):
            raise UnpicklingError(
                f"Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got {cls}"
            )
        self.append(cls.__new__(cls, *args))

    def load_build(self) -> None:
        state = self.stack.pop()
        target = self.stack[-1]
        if type(target) is OrderedDict:
            target.__dict__.update(state)
        elif any(type(target) is c for c in SAFE.values() if isinstance(c, type)):
            self.stack.append(state)
            super().load_build()
        else:
            raise UnpicklingError(
                f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got {type(target)}"
            )

    def load_append(self) -> None:
        value = self.stack.pop()
        if type(self.stack[-1]) is not list:
            raise UnpicklingError(f"Can only append to lists, but got {type(self.stack[-1])}")
        self.stack[-1].append(value)

    def load_appends(self) -> None:
        items = self.pop_mark()
        if type(self.stack[-1]) is not list:
            raise UnpicklingError(f"Can only extend lists, but got {type(self.stack[-1])}")
        self.stack[-1].extend(items)

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._dict("SETITEM")[key] = value

    def load_setitems(self) -> None:
        items = self.pop_mark()
        target = self._dict("SETITEMS")
        for k in range(0, len(items), 2):
            target[items[k]] = items[k + 1]

    def _dict(self, word: str) -> Any:
        target = self.stack[-1]
        if type(target) not in (dict, OrderedDict, Counter):
            raise UnpicklingError(f"Can only {word} for dict, collections.OrderedDict, collections.Counter, but got {type(target)}")
        return target

    def _refused(self) -> None:
        raise UnpicklingError("Unsupported operand: the file uses an instruction that tensors and containers do not need")

    for _code, _handler in (
        (pickle.REDUCE, load_reduce), (pickle.NEWOBJ, load_newobj), (pickle.BUILD, load_build), (pickle.APPEND, load_append),
        (pickle.APPENDS, load_appends), (pickle.SETITEM, load_setitem), (pickle.SETITEMS, load_setitems), (pickle.INST, _refused),
        (pickle.OBJ, _refused), (pickle.NEWOBJ_EX, _refused), (pickle.EXT1, _refused), (pickle.EXT2, _refused),
        (pickle.EXT4, _refused), (pickle.PERSID, _refused), (pickle.ADDITEMS, _refused),
        (pickle.NEXT_BUFFER, _refused), (pickle.READONLY_BUFFER, _refused), (pickle.BYTEARRAY8, _refused),
    ):  # fmt: skip
        dispatch[_code[0]] = _handler


def _text(value: Any) -> Any:
    return value.decode("ascii") if isinstance(value, bytes) else value


# ---- where storages go -----------------------------------------------------------------------
def restore(raw: Any, location: str, map_location: Any) -> tuple[Any, bool]:
    """(bytes, whether on meta) of a storage that was saved at a location, by `map_location`."""
    where: Any = location
    if map_location is None:
        pass
    elif isinstance(map_location, dict):
        where = map_location.get(location, location)
    elif isinstance(map_location, (str, dtypes.device)):
        where = str(map_location)
    elif callable(map_location):
        storage = UntypedStorage(raw)
        result = map_location(storage, location)
        if result is not None:
            kept = getattr(result, "_untyped", result)
            return (kept._bytes(), False) if isinstance(kept, UntypedStorage) else (raw, False)
    else:
        raise TypeError(f"map_location must be a device, a string, a dict or a callable, not {type(map_location).__name__}")
    kind = str(where).partition(":")[0]
    if kind == "cpu":
        return raw, False
    if kind == "meta":
        return raw, True
    if kind in ("cuda", "mps", "xpu", "hpu"):
        raise RuntimeError(
            f"Attempting to deserialize object on a {kind.upper()} device but torch.{kind}.is_available() is False. If you are running "
            "on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
        )
    raise RuntimeError(f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {where})")


# ---- the two formats -------------------------------------------------------------------------
class Archive:
    """The records of a ZIP archive."""

    def __init__(self, file: Any, path: str | None, mmap: bool) -> None:
        self.mapped = None
        try:
            self.zip = zipfile.ZipFile(file)
            names = self.zip.namelist()
        except (zipfile.BadZipFile, OSError, ValueError, struct.error, NotImplementedError):
            raise RuntimeError("PytorchStreamReader failed reading zip archive: failed finding central directory") from None
        if not names:
            raise RuntimeError("PytorchStreamReader failed reading zip archive: archive does not contain any files")
        self.prefix = names[0].partition("/")[0]
        self.file = file
        if mmap and path is not None:
            with open(path, "rb") as opened:
                self.mapped = _mmap.mmap(opened.fileno(), 0, access=_mmap.ACCESS_COPY)

    def has(self, name: str) -> bool:
        """Whether there is such a record."""
        return f"{self.prefix}/{name}" in self.zip.NameToInfo

    def info(self, name: str) -> zipfile.ZipInfo:
        """What the directory says about a record."""
        info = self.zip.NameToInfo.get(f"{self.prefix}/{name}")
        if info is None:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found")
        return info

    def read(self, name: str) -> bytes:
        """The bytes of a small record."""
        info = self.info(name)
        try:
            return self.zip.read(info)
        except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
            raise RuntimeError(f"PytorchStreamReader failed reading file {name}: file read failed ({error})") from None

    def storage(self, name: str, nbytes: int) -> np.ndarray:
        """The bytes of a storage, writable: mapped from the file where that was asked for."""
        info = self.info(name)
        if info.file_size < nbytes:
            raise RuntimeError(
                f"PytorchStreamReader failed reading file {name}: the record has {info.file_size} bytes, the storage needs {nbytes}"
            )
        try:
            if self.mapped is not None and info.compress_type == zipfile.ZIP_STORED and nbytes:
                self.zip.fp.seek(info.header_offset)  # type: ignore[union-attr]
                header = self.zip.fp.read(30)  # type: ignore[union-attr]
                name_length, extra_length = struct.unpack("<HH", header[26:30])
                return np.frombuffer(self.mapped, np.uint8, nbytes, info.header_offset + 30 + name_length + extra_length)
            array = np.empty(nbytes, np.uint8)
            with self.zip.open(info) as record:
                view = memoryview(array)  # type: ignore[arg-type]
                filled = 0
                while filled < nbytes:
                    count = record.readinto(view[filled:])  # type: ignore[attr-defined]
                    if not count:
                        raise EOFError("the record ends early")
                    filled += count
                record.read()  # up to the checksum
        except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, ValueError, struct.error) as error:
            raise RuntimeError(f"PytorchStreamReader failed reading file {name}: file read failed ({error})") from None
        return array


def read_zip(file: Any, path: str | None, map_location: Any, weights_only: bool, mmap: bool, options: dict[str, Any]) -> Any:
    """The object in an archive."""
    archive = Archive(file, path, mmap)
    if archive.has("constants.pkl"):
        raise RuntimeError("this is a TorchScript archive, which cannot be loaded: it holds a program, not a checkpoint")
    if archive.has("byteorder") and archive.read("byteorder") not in (b"little",):
        raise ValueError("the file was written on a big-endian machine, which is not supported")
    loaded: dict[str, Loaded] = {}

    def load(pid: Any) -> Any:
        if not isinstance(pid, tuple) or len(pid) < 5:
            raise UnpicklingError(f"a reference to a storage has five entries, but got {pid!r}")
        _, kind, key, location, count = pid[:5]
        key = str(_text(key))
        if not isinstance(kind, StorageType) or not isinstance(count, int) or count < 0 or not key.isalnum():
            raise UnpicklingError(f"a reference to a storage is malformed: {pid!r}")
        known = loaded.get(key)
        if known is None:
            item = 1 if kind.dtype is None else kind.dtype.itemsize
            raw, meta = restore(archive.storage(f"data/{key}", count * item), _text(location), map_location)
            known = loaded[key] = Loaded(raw, kind.dtype, key, meta)
        return known

    return _unpickle(io.BytesIO(archive.read("data.pkl")), load, weights_only, options)


def _with_storages(result: Any) -> Any:
    """The object of a file, with the storages that stand in it by themselves as such."""
    box: list[Any] = [result]
    seen = {id(box)}
    left: list[Any] = [box]
    while left:
        here: Any = left.pop()
        for key, part in here.items() if isinstance(here, dict) else enumerate(here):
            if isinstance(part, Loaded):
                if isinstance(here, tuple):
                    raise UnsupportedError("torch.load(): a storage inside a tuple is not supported")
                here[key] = TypedStorage(UntypedStorage(part.array), part.dtype or dtypes.uint8)
            elif isinstance(part, (dict, list, tuple)) and id(part) not in seen:
                seen.add(id(part))
                left.append(part)
    return box[0]


def _unpickle(file: Any, loader: Any, weights_only: bool, options: dict[str, Any]) -> Any:
    cls = SafeUnpickler if weights_only else Unpickler
    unpickler: Any = cls(file, **options)
    unpickler.loader = loader
    if not weights_only:
        return _with_storages(unpickler.load())
    try:
        return _with_storages(unpickler.load())
    except (UnpicklingError, EOFError, RuntimeError, MemoryError):
        raise
    except Exception as error:  # a malformed file leads anywhere: stack underflow, wrong types, bad text
        raise UnpicklingError(f"the file is damaged: {type(error).__name__}: {error}") from None


def read_legacy(file: Any, map_location: Any, weights_only: bool, options: dict[str, Any]) -> Any:
    """The object in a file from before the ZIP archive."""

    def nothing(pid: Any) -> Any:
        raise UnpicklingError("a storage before the header")

    def plain() -> Any:
        return _unpickle(file, nothing, weights_only, options)

    if plain() != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = plain()
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    plain()  # sizes of C types on the machine that wrote it
    loaded: dict[str, Loaded] = {}

    def load(pid: Any) -> Any:
        if not isinstance(pid, tuple) or len(pid) < 5 or not isinstance(pid[1], StorageType):
            raise UnpicklingError(f"a reference to a storage is malformed: {pid!r}")
        kind, key, location, count = pid[1], str(_text(pid[2])), _text(pid[3]), pid[4]
        view = pid[5] if len(pid) > 5 else None
        if view is not None:
            raise UnpicklingError("views of storages, as PyTorch 0.1 wrote them, are not supported")
        known = loaded.get(key)
        if known is None:
            item = 1 if kind.dtype is None else kind.dtype.itemsize
            remaining = _remaining(file)
            if not isinstance(count, int) or not 0 <= count * item <= remaining:
                raise RuntimeError(f"storage {key} needs {count} elements, more than the file has")
            raw, meta = restore(np.zeros(count * item, np.uint8), location, map_location)
            known = loaded[key] = Loaded(raw, kind.dtype, key, meta)
        return known

    result = _unpickle(file, load, weights_only, options)
    for key in plain():
        storage = loaded.get(str(_text(key)))
        if storage is None:
            raise RuntimeError(f"the file holds a storage {key!r} that nothing refers to")
        header = file.read(8)
        count = struct.unpack("<q", header)[0] if len(header) == 8 else -1
        item = 1 if storage.dtype is None else storage.dtype.itemsize
        if count * item != len(storage.array):
            raise RuntimeError(f"storage {key} has a wrong size: expected {len(storage.array)} bytes, got {count * item}")
        data = file.read(len(storage.array))
        if len(data) != len(storage.array):
            raise RuntimeError(
                f"unexpected EOF, expected {len(storage.array) - len(data)} more bytes. The file might be corrupted."
            )
        storage.array[:] = np.frombuffer(data, np.uint8)
    return result


def _remaining(file: Any) -> int:
    here = file.tell()
    end: int = file.seek(0, io.SEEK_END)
    file.seek(here)
    return end - here
