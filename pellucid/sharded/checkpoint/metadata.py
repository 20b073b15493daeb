"""What a checkpoint's `.metadata` says: for each tensor its shape, dtype and pieces, and where each
piece lies.

It is a pickle with the names of PyTorch's classes. The reader builds these classes and plain
containers; a file that names anything else is refused, so a hostile one runs no code.

Source: PyTorch's `torch.distributed.checkpoint.metadata`.
"""

from __future__ import annotations

import dataclasses
import enum
import io
import pickle
from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...devices import Size
from ...serialization._pickle import Unpickler
from ...serialization._restricted import SafeUnpickler, UnpicklingError, key
from ...serialization._write import Pickler


@dataclasses.dataclass
class ChunkStorageMetadata:
    """A stored piece of a tensor: where it begins, and its shape.

    >>> import pellucid as torch
    >>> from pellucid.distributed.checkpoint import ChunkStorageMetadata
    >>> lower = ChunkStorageMetadata(offsets=torch.Size([2, 0]), sizes=torch.Size([2, 4]))
    >>> torch.ones(4, 4)[lower.offsets[0] :].shape == lower.sizes
    True
    """

    offsets: Any
    sizes: Any


class _MEM_FORMAT_ENCODING(enum.Enum):  # noqa: N801 (PyTorch's name)
    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


_FORMATS = (dtypes.contiguous_format, dtypes.channels_last, dtypes.preserve_format)


@dataclasses.dataclass
class TensorProperties:
    """The dtype of a stored tensor. The other fields exist for PyTorch's format only.

    >>> import pellucid as torch
    >>> from pellucid.distributed.checkpoint import TensorProperties
    >>> TensorProperties(dtype=torch.float16).dtype
    torch.float16
    """

    dtype: Any = dataclasses.field(default_factory=dtypes.get_default_dtype)
    layout: Any = dtypes.strided
    requires_grad: bool = False
    memory_format: Any = dtypes.contiguous_format
    pin_memory: bool = False

    def __getstate__(self) -> Any:
        code = _MEM_FORMAT_ENCODING(_FORMATS.index(self.memory_format))
        return self.dtype, self.layout, self.requires_grad, code, self.pin_memory

    def __setstate__(self, state: Any) -> None:
        if type(state) is not tuple or len(state) != 5 or not isinstance(state[0], dtypes.dtype):
            raise UnpicklingError("a checkpoint's .metadata has TensorProperties of another form")
        self.dtype, self.layout, self.requires_grad, code, self.pin_memory = state
        self.memory_format = _FORMATS[code.value if isinstance(code, _MEM_FORMAT_ENCODING) else 0]

    @staticmethod
    def create_from_tensor(tensor: Any) -> TensorProperties:
        """Those of a tensor."""
        return TensorProperties(tensor.dtype, requires_grad=tensor.requires_grad)


@dataclasses.dataclass
class TensorStorageMetadata:
    """A tensor in a checkpoint: its properties, its shape and its pieces.

    >>> import pellucid as torch
    >>> import tempfile
    >>> from pellucid.distributed import checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"w": torch.ones(2, 3)}, checkpoint_id=folder, no_dist=True)
    ...     saved = dcp.FileSystemReader(folder).read_metadata().state_dict_metadata["w"]
    >>> saved.size, saved.properties.dtype, len(saved.chunks)
    (torch.Size([2, 3]), torch.float32, 1)
    """

    properties: TensorProperties
    size: Any
    chunks: list[ChunkStorageMetadata]


@dataclasses.dataclass
class BytesStorageMetadata:
    """An entry of a checkpoint that is not a tensor.

    >>> from pellucid.distributed.checkpoint import BytesStorageMetadata
    >>> BytesStorageMetadata()
    BytesStorageMetadata()
    """


@dataclasses.dataclass
class StorageMeta:
    """Where and by which call a checkpoint was written.

    >>> from pellucid.distributed.checkpoint import StorageMeta
    >>> StorageMeta(checkpoint_id="run7").checkpoint_id
    'run7'
    """

    checkpoint_id: Any = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Metadata:
    """The contents of a checkpoint's `.metadata` file: what it holds, and in which files.

    >>> import pellucid as torch
    >>> import tempfile
    >>> from pellucid.distributed import checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"w": torch.ones(2, 3)}, checkpoint_id=folder, no_dist=True)
    ...     metadata = dcp.FileSystemReader(folder).read_metadata()
    >>> for index, place in metadata.storage_data.items():
    ...     print(index.fqn, tuple(index.offset), place.relative_path)
    w (0, 0) __0_0.distcp
    """

    state_dict_metadata: dict[str, Any]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: Any = None
    version: str | None = None


@dataclasses.dataclass(frozen=True)
class MetadataIndex:
    """The key of a stored piece: the tensor's name, and where the piece begins in the tensor.

    >>> from pellucid.distributed.checkpoint import MetadataIndex
    >>> MetadataIndex("layer.weight", (0, 0)) == MetadataIndex("layer.weight", (0, 0), index=3)
    True
    """

    fqn: str
    offset: Any = None
    index: int | None = dataclasses.field(hash=False, compare=False, default=None)

    def __init__(
        self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None
    ) -> None:
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "index", index)
        object.__setattr__(self, "offset", None if offset is None else Size(offset))


@dataclasses.dataclass
class _StorageInfo:
    """Where a piece lies: file, first byte, number of bytes."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if v is not None}


_HERE = "torch.distributed.checkpoint.metadata"
_FILES = "torch.distributed.checkpoint.filesystem"
_CLASSES = {
    (_HERE, cls.__name__): cls
    for cls in (
        ChunkStorageMetadata,
        TensorProperties,
        TensorStorageMetadata,
        BytesStorageMetadata,
        StorageMeta,
        Metadata,
        MetadataIndex,
    )
} | {(_FILES, "_StorageInfo"): _StorageInfo}
_MODULES: dict[Any, str] = {cls: module for (module, _), cls in _CLASSES.items()} | {
    _MEM_FORMAT_ENCODING: _HERE
}
_KNOWN = frozenset(map(id, _CLASSES.values()))


def _path(*parts: Any) -> str:
    """`pathlib.PosixPath`: as text."""
    if not all(type(part) is str for part in parts):
        raise UnpicklingError("a path consists of texts")
    return "/".join(parts).replace("//", "/")


def _code(*args: Any) -> _MEM_FORMAT_ENCODING:
    if len(args) != 1 or args[0] not in (0, 1, 2):
        raise UnpicklingError("an unknown memory format")
    return _MEM_FORMAT_ENCODING(args[0])


_CALLED: dict[tuple[str, str], Any] = {(_HERE, "_MEM_FORMAT_ENCODING"): _code} | {
    ("pathlib", kind): _path
    for kind in ("PosixPath", "PurePosixPath", "WindowsPath", "PureWindowsPath")
}
_FUNCTIONS = frozenset(map(id, _CALLED.values()))


class Reader(SafeUnpickler):
    """Builds the classes of this file, and what tensors' files may hold."""

    def find_class(self, module: str, name: str) -> Any:
        module = module.replace("pathlib._local", "pathlib")
        return (
            _CLASSES.get((module, name))
            or _CALLED.get((module, name))
            or super().find_class(module, name)
        )

    def load_reduce(self) -> None:
        if id(self.stack[-2]) in _FUNCTIONS:
            args = self._arguments()
            self.stack[-1] = self.stack[-1](*args)
        else:
            super().load_reduce()

    def load_newobj(self) -> None:
        cls = self.stack[-2]
        if id(cls) in _KNOWN:
            if self._arguments():
                raise UnpicklingError(f"{cls.__name__} is made without arguments")
            self.stack[-1] = object.__new__(cls)
        else:
            super().load_newobj()

    def load_build(self) -> None:
        target = self.stack[-2]
        if id(type(target)) not in _KNOWN:
            super().load_build()
            return
        state = self.stack.pop()
        if isinstance(target, TensorProperties):
            target.__setstate__(state)
            return
        fields = {f.name for f in dataclasses.fields(target)}
        if type(state) is not dict or not fields >= state.keys():
            raise UnpicklingError(f"{type(target).__name__} has other fields")
        vars(target).update(state)

    def load_setitems(self) -> None:
        items = self.pop_mark()
        if any(isinstance(items[k], MetadataIndex) for k in range(0, len(items), 2)):
            for k in range(0, len(items), 2):
                _checked(items[k])
            self._dict("SETITEMS").update(zip(items[::2], items[1::2], strict=True))
            return
        target = self._dict("SETITEMS")
        for k in range(0, len(items), 2):
            target[key(items[k])] = items[k + 1]

    def load_setitem(self) -> None:
        value, name = self.stack.pop(), self.stack.pop()
        if isinstance(name, MetadataIndex):
            _checked(name)
        self._dict("SETITEM")[name if isinstance(name, MetadataIndex) else key(name)] = value

    dispatch = type(SafeUnpickler.dispatch)(SafeUnpickler.dispatch)
    # PyTorch writes these files in Python's own protocol, not in that of `torch.save`
    for _operation in (
        pickle.PROTO,
        pickle.FRAME,
        pickle.MEMOIZE,
        pickle.STACK_GLOBAL,
        pickle.SHORT_BINUNICODE,
        pickle.BINUNICODE8,
        pickle.BINBYTES,
        pickle.SHORT_BINBYTES,
        pickle.BINBYTES8,
        pickle.LONG4,
        pickle.POP,
        pickle.POP_MARK,
    ):
        dispatch[_operation[0]] = Unpickler.dispatch[_operation[0]]
    for _operation, _handler in (
        (pickle.REDUCE, load_reduce),
        (pickle.NEWOBJ, load_newobj),
        (pickle.BUILD, load_build),
        (pickle.SETITEMS, load_setitems),
        (pickle.SETITEM, load_setitem),
    ):
        dispatch[_operation[0]] = _handler


def _checked(index: Any) -> None:
    """Refuse a key that is not complete."""
    values = vars(index) if isinstance(index, MetadataIndex) else {}
    if type(values.get("fqn")) is not str or not isinstance(
        values.get("offset"), (Size, type(None))
    ):
        raise UnpicklingError("a MetadataIndex of another form")


class Writer(Pickler):
    """Writes the classes of this file under PyTorch's names."""

    def save_global(self, obj: Any, name: str | None = None) -> Any:
        module = _MODULES.get(obj) if isinstance(obj, type) else None
        if module is not None:
            return self._write_global(obj, module, obj.__name__)
        return super().save_global(obj, name)

    def save_type(self, obj: Any) -> Any:
        return self.save_global(obj)

    dispatch = dict(Pickler.dispatch)
    dispatch[type(save_global)] = save_global
    dispatch[type] = save_type


def written(metadata: Metadata) -> bytes:
    """The bytes of `.metadata`."""
    file = io.BytesIO()
    Writer(file, 2).dump(metadata)
    return file.getvalue()


def read(data: bytes) -> Metadata:
    """What `.metadata` says.

    Raises:
        pickle.UnpicklingError: the bytes are something else, or name something that a checkpoint
            has no use for.
    """
    try:
        made = Reader(io.BytesIO(data)).load()
    except (IndexError, EOFError, TypeError, ValueError, KeyError, AttributeError) as error:
        raise UnpicklingError(
            f"a checkpoint's .metadata is damaged: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(made, Metadata) or not isinstance(
        getattr(made, "state_dict_metadata", None), dict
    ):
        raise UnpicklingError(f"a checkpoint's .metadata holds Metadata, not {type(made).__name__}")
    return made
