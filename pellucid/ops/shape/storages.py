"""The memory under tensors as objects: storages, which count bytes, and their older face, which
counts elements.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy import ndarray

from ... import dtypes
from ...arrays.affine import held
from ...arrays.meta import MetaArray
from ...arrays.numpy_cpu import address
from ...arrays.shared_memory import map_of, new_map
from ...errors import (
    ArgumentTypeError,
    ArgumentValueError,
    OperationError,
    UnsupportedError,
    no_pinned,
    warn_once,
)

_SHARED_BY_TENSORS = (
    "UntypedStorage.resize_: memory that tensors lie in cannot change its size here"
)


def copied(array: Any, memo: dict[Any, Any]) -> Any:
    """A copy of an array that keeps sharing: what is copied with one `memo` and lay in one storage
    lies in one copy.
    """
    if type(array) is MetaArray:
        return MetaArray(array.shape, array.dtype, array.strides)
    known = memo.get(("array", id(array)))
    if known is None:
        known = memo[("array", id(array))] = array.copy("K")
        memo[("keep", id(array))] = array
    return known


class StorageBase:
    """The base class of storages, for `isinstance`.

    >>> import pellucid as torch
    >>> isinstance(torch.zeros(2).untyped_storage(), torch.StorageBase)
    True
    """

    __slots__ = ()


class UntypedStorage(StorageBase):
    """The bytes that a tensor and its views lie in.

    Args:
        owner: the array that owns the memory, a number of bytes, or the bytes.

    >>> import pellucid as torch
    >>> x = torch.arange(6, dtype=torch.float32)
    >>> storage = x.untyped_storage()
    >>> storage.nbytes()  # 6 numbers of 4 bytes
    24
    >>> x[2:].untyped_storage().data_ptr() == storage.data_ptr()  # a view lies in the same memory
    True
    """

    __slots__ = ("_filename", "_keep", "_owner")
    _filename: str

    def __init__(self, owner: Any = 0, *, device: Any = None) -> None:
        if isinstance(owner, int):
            owner = np.empty(owner, np.uint8)
        elif isinstance(owner, (list, tuple)):
            owner = np.array(owner, np.uint8)
        if device is not None and dtypes.device(device).type == "meta":
            owner = MetaArray((owner.nbytes,), np.dtype(np.uint8))
        self._owner = owner

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The bytes of a file, mapped into memory; with `shared`, writes go to the file, which is
        made as large as is asked for.

        Raises:
            RuntimeError: there is no such file, or it is too small.
        """
        path = os.fspath(filename)
        try:
            if shared and (not os.path.exists(path) or os.path.getsize(path) < nbytes):
                with open(path, "ab") as file:
                    file.truncate(nbytes)
            size = os.path.getsize(path)
            if size < nbytes:
                raise OperationError(
                    f"file <{path}> size <{size}> is smaller than the required mapping size <{nbytes}>"
                )
            made = cls(
                np.asarray(np.memmap(path, np.uint8, "r+" if shared else "c", shape=(nbytes,)))
                if nbytes
                else 0
            )
        except OSError as error:
            raise OperationError(
                f"unable to open file <{path}> in read-{'write' if shared else 'only'} mode: {error.strerror} ({error.errno})"
            ) from None
        made._filename = path
        return made

    @classmethod
    def from_buffer(cls, buffer: Any, *args: Any, **kwargs: Any) -> UntypedStorage:
        """A copy of a buffer's bytes; arguments as for `TypedStorage.from_buffer`."""
        return TypedStorage.from_buffer(buffer, *args, **kwargs)._untyped

    @classmethod
    def _new_shared(cls, size: int, *, device: Any = "cpu") -> UntypedStorage:
        made = cls(size)
        return made.share_memory_()

    @property
    def filename(self) -> str | None:
        """The file that the memory is mapped from."""
        return getattr(self, "_filename", None)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> ndarray:
        return np.array(self._bytes(), dtype, copy=copy)

    def untyped(self) -> UntypedStorage:
        """The storage itself, which counts bytes."""
        return self

    def _bytes(self) -> ndarray:
        owner = self._owner
        if type(owner) is not ndarray:
            raise UnsupportedError("a tensor without data has no bytes")
        if not owner.flags.c_contiguous:
            owner = owner.transpose(sorted(range(owner.ndim), key=lambda d: -owner.strides[d]))
        return owner.reshape(-1).view(np.uint8)

    def nbytes(self) -> int:
        """The size in bytes."""
        return int(self._owner.nbytes)

    def pin_memory(self, device: Any = None) -> UntypedStorage:
        """Not supported: there is no accelerator to pin memory for."""
        raise no_pinned()

    size = nbytes

    def __len__(self) -> int:
        return self.nbytes()

    def data_ptr(self) -> int:
        """The address of the first byte; 0 when there is none."""
        return address(self._owner) if type(self._owner) is ndarray and self._owner.size else 0

    @property
    def _cdata(self) -> int:
        return id(self._owner)

    @property
    def device(self) -> Any:
        return dtypes.device("meta" if type(self._owner) is MetaArray else "cpu")

    @property
    def is_cuda(self) -> bool:
        return False

    is_hpu = is_cuda
    is_sparse = is_sparse_csr = False

    def get_device(self) -> int:
        """-1: the memory is the host's."""
        return -1

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of this type; with an argument, the storage itself where it is of that type
        already.

        Raises:
            RuntimeError: another type.
        """
        if dtype is None:
            return "torch.storage.UntypedStorage"
        if dtype in (type(self), "torch.storage.UntypedStorage", "torch.UntypedStorage"):
            return self
        raise OperationError(f"invalid type: {dtype!r}")

    def is_pinned(self, device: Any = "cuda") -> bool:
        """False: memory is not pinned."""
        return False

    def is_shared(self) -> bool:
        """Whether other processes can share the memory; see `Tensor.share_memory_`."""
        return map_of(self._owner) is not None

    def share_memory_(self) -> UntypedStorage:
        """Move memory that no tensor lies in to where other processes can see it.

        Raises:
            NotImplementedError: tensors lie in it; `Tensor.share_memory_` moves those.
        """
        if not self.is_shared():
            fresh = np.frombuffer(new_map(max(self.nbytes(), 1)), np.uint8, self.nbytes())
            fresh[:] = self._bytes()
            self._replace(
                fresh,
                "UntypedStorage.share_memory_: memory that tensors lie in is shared by Tensor.share_memory_()",
            )
        return self

    def _replace(self, fresh: ndarray, refusal: str) -> None:
        """Take other memory, which only a storage can whose memory nobody else looks at."""
        if sys.getrefcount(self._owner) > 2:
            raise UnsupportedError(refusal)
        self._owner = fresh

    def resizable(self) -> bool:
        """Whether the memory may grow: not that of a file."""
        return self.filename is None

    def resize_(self, size: int) -> UntypedStorage:
        """Another number of bytes, the first of which stay.

        Raises:
            NotImplementedError: tensors lie in the memory, which NumPy cannot move below them.
        """
        if size != self.nbytes():
            fresh = np.empty(size, np.uint8)
            kept = min(size, self.nbytes())
            fresh[:kept] = self._bytes()[:kept]
            self._replace(fresh, _SHARED_BY_TENSORS)
        return self

    def element_size(self) -> int:
        """1: a storage counts bytes."""
        return 1

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def tolist(self) -> list[int]:
        """The bytes."""
        return self._bytes().tolist()

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        found = self._bytes()[index]
        return UntypedStorage(found) if isinstance(index, slice) else int(found)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._bytes()[index] = value

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte."""
        self._bytes()[:] = value
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """Take the bytes of another storage of the same size."""
        self._bytes()[:] = source.untyped()._bytes()
        return self

    def clone(self) -> UntypedStorage:
        """A copy with memory of its own."""
        return UntypedStorage(self._bytes().copy())

    def cpu(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> UntypedStorage:
        return UntypedStorage(copied(self._owner, memo))

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return UntypedStorage, (self._bytes().copy(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._owner is self._owner

    def __hash__(self) -> int:
        return id(self._owner)

    def _information(self) -> str:
        return f"[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"

    def __repr__(self) -> str:
        return _listed(self)


def _listed(storage: Any) -> str:
    """The elements, a line each, and what they are."""
    if storage.device.type == "meta":
        return "...\n" + storage._information()
    return (
        " " + "\n ".join(str(value) for value in storage.tolist()) + "\n" + storage._information()
    )


_NEW = """{name}.__new__ received an invalid combination of arguments. Expected one of:
 * no arguments
 * (int size)
 * (Sequence data)
 * (*, UntypedStorage wrap_storage)
"""


def typed_storage_deprecated() -> None:
    """Warn of storages that count elements, once."""
    warn_once(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. This should "
        "only matter to you if you are using storages directly.  To access UntypedStorage directly, use tensor.untyped_storage() "
        "instead of tensor.storage()"
    )


class TypedStorage:
    """A storage that counts elements of a dtype instead of bytes; `UntypedStorage` is the newer form.

    Args:
        values: an untyped storage, a number of elements, or the elements.

    >>> import pellucid as torch
    >>> storage = torch.FloatStorage([1.0, 2.0, 3.0])
    >>> len(storage), storage.dtype
    (3, torch.float32)
    """

    __slots__ = ("__dict__", "_untyped", "dtype")
    _untyped: UntypedStorage

    is_sparse = is_sparse_csr = False

    def __init__(
        self,
        values: Any = 0,
        dtype: dtypes.dtype | None = None,
        *,
        wrap_storage: Any = None,
        device: Any = None,
        _internal: bool = False,
    ) -> None:
        self.dtype = dtype or dtypes.get_default_dtype()
        values = values if wrap_storage is None else wrap_storage
        if isinstance(values, TypedStorage):
            values = values._untyped
        if not isinstance(values, UntypedStorage):
            item = held(self.dtype)
            values = UntypedStorage(
                np.empty(values, item) if isinstance(values, int) else np.array(values, item),
                device=device,
            )
        self._untyped = values

    @classmethod
    def of_old(
        cls, kind: dtypes.dtype, name: str, args: tuple[Any, ...], wrap_storage: Any = None
    ) -> TypedStorage:
        """What `torch.FloatStorage(...)` makes.

        Raises:
            RuntimeError: more than one argument. TypeError: neither a size nor elements.
        """
        if len(args) > 1:
            raise OperationError(
                _NEW.format(name=f"<class 'torch.{name}'>") + "Too many positional arguments"
            )
        given = args[0] if args else 0
        typed_storage_deprecated()
        if wrap_storage is None and not isinstance(
            given, (int, Sequence, ndarray, UntypedStorage, TypedStorage)
        ):
            raise ArgumentTypeError(
                _NEW.format(name=f"<class 'torch.{name}'>")
                + f"Argument type not recognized: <class '{type(given).__name__}'>"
            )
        return cls(given, kind, wrap_storage=wrap_storage)

    def _elements(self) -> ndarray:
        raw = self._untyped._bytes()
        item = self.dtype.itemsize
        return raw[: len(raw) // item * item].view(held(self.dtype))

    @property
    def _cdata(self) -> int:
        return self._untyped._cdata

    def untyped(self) -> UntypedStorage:
        """The storage in bytes."""
        return self._untyped

    @property
    def _untyped_storage(self) -> UntypedStorage:
        return self._untyped

    @property
    def device(self) -> Any:
        return self._untyped.device

    @property
    def is_cuda(self) -> bool:
        return False

    is_hpu = is_cuda

    @property
    def filename(self) -> str | None:
        """The file that the memory is mapped from."""
        return self._untyped.filename

    def size(self) -> int:
        """The number of elements."""
        return self._untyped.nbytes() // self.dtype.itemsize

    _size = size

    def __len__(self) -> int:
        return self.size()

    def nbytes(self) -> int:
        """The size in bytes."""
        return self._untyped.nbytes()

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._untyped.data_ptr()

    def get_device(self) -> int | None:
        """None: the memory is the host's."""
        return None

    def is_pinned(self, device: Any = "cuda") -> bool:
        """False: memory is not pinned."""
        return False

    def pin_memory(self, device: Any = None) -> TypedStorage:
        """Not supported: there is no accelerator to pin memory for."""
        raise no_pinned()

    def is_shared(self) -> bool:
        """Whether other processes can share the memory."""
        return self._untyped.is_shared()

    def share_memory_(self) -> TypedStorage:
        """Move memory that no tensor lies in to where other processes can see it."""
        self._untyped.share_memory_()
        return self

    def resizable(self) -> bool:
        """Whether the memory may grow."""
        return self._untyped.resizable()

    def resize_(self, size: int) -> None:
        """Another number of elements; see `UntypedStorage.resize_`."""
        self._untyped.resize_(size * self.element_size())

    def tolist(self) -> list[Any]:
        """The elements."""
        found = self._elements()
        return (found.astype(np.float32) if found.dtype.kind == "V" else found).tolist()

    def __getitem__(self, index: int) -> Any:
        if isinstance(index, slice):
            raise OperationError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise ArgumentTypeError(
                f"can't index a torch.storage.TypedStorage with {type(index).__name__}"
            )
        return self._elements()[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements()[index] = value._elements() if isinstance(value, TypedStorage) else value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element."""
        self._elements()[:] = value
        return self

    def copy_(self, source: TypedStorage, non_blocking: bool | None = None) -> TypedStorage:
        """Take the elements of another storage of the same size, converted."""
        self._elements()[:] = source._elements()
        return self

    def clone(self) -> TypedStorage:
        """A copy with memory of its own."""
        return TypedStorage(self._untyped.clone(), self.dtype)

    def cpu(self) -> TypedStorage:
        """The storage itself."""
        return self

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The old name of this type of storage; with an argument, a storage of that type."""
        if dtype is None:
            return f"torch.{self.dtype.scalar_type_name}Storage"
        kind = dtype if isinstance(dtype, dtypes.dtype) else getattr(dtype, "tensor_dtype", None)
        if kind is None:
            kind = next(
                k for k in dtypes.BY_NAME.values() if f"torch.{k.scalar_type_name}Storage" == dtype
            )
        return self._to(kind)

    def _to(self, kind: dtypes.dtype) -> TypedStorage:
        return (
            self
            if kind is self.dtype
            else TypedStorage(UntypedStorage(self._elements().astype(kind.numpy)), kind)
        )

    def pickle_storage_type(self) -> str:
        """The name that files give this type: `FloatStorage`."""
        return f"{self.dtype.scalar_type_name}Storage"

    _pickle_storage_type = pickle_storage_type

    @classmethod
    def from_buffer(
        cls,
        buffer: Any,
        byte_order: str | None = None,
        count: int = -1,
        offset: int = 0,
        *,
        dtype: dtypes.dtype | None = None,
    ) -> TypedStorage:
        """The elements that a buffer holds.

        Args:
            byte_order: "native", "little" or "big"; needed for elements of more than a byte.
            count: how many elements, all that follow when -1.
            offset: where they begin, in bytes.

        Raises:
            ValueError: an order or a size that does not fit. RuntimeError: no order for elements of
                several bytes.
        """
        return _from_buffer(dtype or dtypes.get_default_dtype(), buffer, byte_order, count, offset)

    @classmethod
    def from_file(
        cls,
        filename: str,
        shared: bool = False,
        size: int = 0,
        *,
        dtype: dtypes.dtype | None = None,
    ) -> TypedStorage:
        """`size` elements of a file, mapped into memory; see `UntypedStorage.from_file`."""
        kind = dtype or dtypes.get_default_dtype()
        return cls(UntypedStorage.from_file(filename, shared, size * kind.numpy.itemsize), kind)

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        return TypedStorage(self._untyped.__deepcopy__(memo), self.dtype)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return TypedStorage, (self._untyped, self.dtype)

    def _information(self) -> str:
        return f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}]"

    def __repr__(self) -> str:
        return _listed(self)


def _from_buffer(
    kind: dtypes.dtype, buffer: Any, byte_order: str | None, count: int, offset: int
) -> TypedStorage:
    item = kind.numpy.itemsize
    if byte_order is None and item > 1:
        raise OperationError("function missing required argument 'byte_order' (pos 2)")
    if byte_order not in (None, "native", "little", "big"):
        raise ArgumentValueError(
            f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')"
        )
    raw = memoryview(buffer).cast("B")
    if offset < 0 or offset > len(raw):
        raise ArgumentValueError(  # PyTorch's text has the two the other way round, too
            f"offset must be non-negative and no greater than buffer length ({offset}) , but got {len(raw)}"
        )
    if count < 0:
        if (len(raw) - offset) % item:
            raise ArgumentValueError(
                f"buffer size ({len(raw)}) must be a multiple of element size ({item})"
            )
        count = (len(raw) - offset) // item
    if offset + count * item > len(raw):
        raise ArgumentValueError(
            f"buffer has only {len(raw) - offset} elements after offset {offset}, but specified a size of {count}"
        )
    values = np.frombuffer(raw, np.uint8, count * item, offset).copy()
    part = item // 2 if kind.is_complex else item
    if byte_order not in (None, "native", sys.byteorder) and math.prod(values.shape):
        values = values.reshape(-1, part)[:, ::-1].reshape(-1).copy()
    return TypedStorage(UntypedStorage(values.view(kind.numpy)), kind)


def _conversion(name: str, kind: dtypes.dtype) -> Any:
    def convert(self: TypedStorage) -> TypedStorage:
        return self._to(kind)

    convert.__name__ = name
    convert.__doc__ = f"The elements as {kind!r}."
    return convert


for _name, _kind in {
    "double": dtypes.float64,
    "float": dtypes.float32,
    "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "long": dtypes.int64,
    "int": dtypes.int32,
    "short": dtypes.int16,
    "char": dtypes.int8,
    "byte": dtypes.uint8,
    "bool": dtypes.bool_,
    "complex_double": dtypes.complex128,
    "complex_float": dtypes.complex64,
}.items():
    setattr(TypedStorage, _name, _conversion(_name, _kind))
TypedStorage.__module__ = UntypedStorage.__module__ = "pellucid.storage"
