"""Storages, objects for the memory under tensors, which count bytes, and their older form, which
counts elements.
"""

from __future__ import annotations

import math
import os
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy import ndarray

from ... import dtypes
from ...arrays.affine import held
from ...arrays.meta import MetaArray
from ...arrays.numpy_cpu import address, owner
from ...arrays.shared_memory import map_of, new_map
from ...core.public import FUNCTIONS
from ...core.tensor import Tensor
from ...errors import (
    ArgumentTypeError,
    ArgumentValueError,
    IndexOutOfRangeError,
    MissingAttributeError,
    OperationError,
    UnsupportedError,
    no_pinned,
    type_name,
    warn_once,
)
from .resizing import resized


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


_NEW_UNTYPED = """torch.UntypedStorage() received an invalid combination of arguments - got ({given}), but expected one of:
 * (*, int allocator = None, torch.device device = None)
 * (int size, *, int allocator = None, torch.device device = None)
 * (object sequence, *, int allocator = None, torch.device device = None)
"""


def _checked_size(nbytes: int) -> int:
    if nbytes < 0:
        raise OperationError(
            "[enforce fail at alloc_cpu.cpp:98] ((ptrdiff_t)nbytes) >= 0. alloc_cpu() seems to have been called with negative number: "
            f"{nbytes + 2**64}"
        )
    return nbytes


def _bytes_of(values: Any) -> ndarray:
    """Return the bytes of a storage from a sequence of numbers."""
    said = "torch.UntypedStorage(): "
    if not isinstance(values, Sequence) and not hasattr(values, "__getitem__"):
        raise OperationError(f"{said}Expected a sequence type, but got {type_name(values)}")
    kind = type_name(values)
    for value in values:
        if not isinstance(value, int):
            raise OperationError(
                f"{said}tried to construct a storage from a sequence ({kind}), but one of the items was of type {type_name(value)} "
                "instead of int"
            )
    return np.array([value & 255 for value in values], np.uint8)


class _NamesItself:
    """Base of both kinds of storage. Errors give their full name."""

    __slots__ = ()

    def get_device(self) -> int | None:
        """None: the memory is the host's."""
        return None

    def is_pinned(self, device: Any = "cuda") -> bool:
        """False: memory is not pinned."""
        return False

    def to(self, *, device: Any, non_blocking: bool = False) -> Any:
        """The storage itself, on the CPU."""
        if dtypes.device(device).type != "cpu":
            raise OperationError(f"PyTorch is not linked with support for {device} devices")
        return self

    def __getattr__(self, name: str) -> Any:
        raise MissingAttributeError(
            f"'torch.storage.{type(self).__name__}' object has no attribute '{name}'"
        )


class UntypedStorage(_NamesItself, StorageBase):
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

    __slots__ = ("__weakref__", "_filename", "_keep", "_owner", "_tensor")
    _filename: str | None

    def __init__(self, *args: Any, device: Any = None) -> None:
        if len(args) > 1:
            raise ArgumentTypeError(_NEW_UNTYPED.format(given=", ".join(map(type_name, args))))
        given: Any = args[0] if args else 0
        if isinstance(given, int):
            given = np.empty(_checked_size(given), np.uint8)
        elif not hasattr(given, "nbytes") or isinstance(given, UntypedStorage):
            given = _bytes_of(given)
        self._filename = None
        self._tensor: weakref.ref[Any] | None = None
        if device is not None and dtypes.device(device).type == "meta":
            given = MetaArray((given.nbytes,), np.dtype(np.uint8))
        self._owner = given

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
    def under(cls, tensor: Any, owner: Any) -> UntypedStorage:
        """The storage of a tensor whose memory `owner` has: the same object as long as somebody
        knows it.
        """
        made = _OF_TENSORS.get(id(owner))
        if made is None or made._owner is not owner:
            made = _OF_TENSORS[id(owner)] = cls(owner)
        if made._tensor is None or made._tensor() is None:
            made._tensor = weakref.ref(tensor)
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
        return self._filename

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> ndarray:
        return np.array(self._bytes(), dtype, copy=copy)

    def untyped(self) -> UntypedStorage:
        """The storage itself, which counts bytes."""
        return self

    def _bytes(self) -> ndarray:
        array = self._owner
        if type(array) is not ndarray:
            raise UnsupportedError("Not available for 'meta' device type")
        if not array.flags.c_contiguous:
            array = array.transpose(sorted(range(array.ndim), key=lambda d: -array.strides[d]))
        return array.reshape(-1).view(np.uint8)

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

    def is_shared(self) -> bool:
        """Whether other processes can share the memory; see `Tensor.share_memory_`."""
        return map_of(self._owner) is not None

    def share_memory_(self) -> UntypedStorage:
        """Move the memory, and the tensor that lies in it, to where other processes can see it.

        Raises:
            RuntimeError, NotImplementedError: `Tensor.share_memory_` cannot move the tensor.
        """
        tensor = None if self._tensor is None else self._tensor()
        if tensor is not None and not self.is_shared():
            self._owner = owner(tensor.share_memory_()._array)
        elif not self.is_shared():
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
        """Another number of bytes, the first of which stay, under all tensors that lie in them.

        Raises:
            RuntimeError: the memory is that of a NumPy array.
        """
        if not isinstance(size, int):
            raise OperationError(f"resize_ expects an int, but got {type_name(size)}")
        if _checked_size(size) != self.nbytes():
            known = None if self._tensor is None else self._tensor()
            self._owner = resized(self._owner, size, known)
            _OF_TENSORS[id(self._owner)] = self
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

    def _part(self, index: Any, kind: Callable[[str], Exception]) -> slice | None:
        """The slice that an index is; None for a number."""
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise OperationError(
                    f"Trying to slice with a step of {index.step}, but only a step of 1 is supported"
                )
            return index
        if not isinstance(index, int):
            raise kind(f"can't index a torch.UntypedStorage with {type_name(index)}")
        return None

    def __getitem__(self, index: Any) -> Any:
        raw = self._bytes()
        part = self._part(index, TypeError)
        return int(raw[_place(index, len(raw))]) if part is None else UntypedStorage(raw[part])

    def __setitem__(self, index: Any, value: Any) -> None:
        part = self._part(index, RuntimeError)
        if not isinstance(value, int):
            raise OperationError(
                f"can only set storage content with a int types, but got {type_name(value)} instead"
            )
        raw = self._bytes()
        if part is None and not -len(raw) <= index < len(raw):
            raise OperationError("out of bounds")
        raw[index] = value & 255

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte."""
        if not isinstance(value, int):
            raise OperationError(f"fill_ expects int, but got {type_name(value)}")
        self._bytes()[:] = value & 255
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool | None = False) -> UntypedStorage:
        """Take the bytes of another storage of the same size."""
        if not isinstance(source, (UntypedStorage, TypedStorage)):
            raise ArgumentTypeError(
                f"copy_(): argument 'src' (position 1) must be torch.Storage, not {type_name(source)}"
            )
        if self.nbytes() != source.nbytes():
            raise OperationError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        self._bytes()[:] = source.untyped()._bytes()
        return self

    def new(self) -> UntypedStorage:
        """An empty storage."""
        return UntypedStorage()

    def byteswap(self, dtype: dtypes.dtype) -> None:
        """Turn the bytes of each element of `dtype` around."""
        if not isinstance(dtype, dtypes.dtype):
            raise OperationError(f"expected torch.dtype, but got {type(dtype)}")
        part = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        raw = self._bytes()
        if len(raw) % dtype.itemsize:
            raise OperationError(f"the length of data is not a multiple of {dtype.itemsize}")
        raw[:] = raw.reshape(-1, part)[:, ::-1].reshape(-1)

    def _to(self, kind: dtypes.dtype) -> TypedStorage:
        return TypedStorage(UntypedStorage(self._bytes().astype(held(kind))), kind)

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


_OF_TENSORS: weakref.WeakValueDictionary[int, UntypedStorage] = weakref.WeakValueDictionary()


def _place(index: int, size: int) -> int:
    if not -size <= index < size:
        raise IndexOutOfRangeError(f"index {index} out of range for storage of size {size}")
    return index


def _listed(storage: Any) -> str:
    """Return the elements, one on each line, and a description."""
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


class TypedStorage(_NamesItself):
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

    is_sparse = False

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
                np.empty(_checked_size(values * item.itemsize) // item.itemsize, item)
                if isinstance(values, int)
                else _elements_of(values, item),
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
        wrong = ""
        if wrap_storage is None and not isinstance(given, (int, Sequence)):
            wrong = f"Argument type not recognized: {_shown(given)}"
        if wrap_storage is not None and not isinstance(wrap_storage, UntypedStorage):
            wrong = (
                f"Argument 'wrap_storage' must be UntypedStorage, but got {_shown(wrap_storage)}"
            )
        if wrong:
            raise ArgumentTypeError(_NEW.format(name=f"<class 'torch.{name}'>") + wrong)
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
        self._check_index(index)
        return self._elements()[_place(index, self.size())].item()

    def _check_index(self, index: Any) -> None:
        if not isinstance(index, int):
            raise OperationError(
                f"can't index a <class 'torch.storage.TypedStorage'> with {_shown(index)}"
            )

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, slice):
            self._check_index(index)
            if not -self.size() <= index < self.size():
                raise IndexOutOfRangeError(
                    f"index {index} is out of bounds for dimension 0 with size {self.size()}"
                )
        self._assign(index, value)

    def _assign(self, index: Any, value: Any) -> None:
        if isinstance(value, (str, bytes, list, tuple)) or value is None:
            raise ArgumentTypeError(f"can't assign a {type_name(value)} to a {self.dtype.cpu_name}")
        self._elements()[index] = value._elements() if isinstance(value, TypedStorage) else value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element."""
        self._assign(slice(None), value)
        return self

    def copy_(self, source: TypedStorage, non_blocking: bool | None = None) -> TypedStorage:
        """Take the bytes of another storage of the same size."""
        self._untyped.copy_(source, non_blocking)  # type: ignore[arg-type]
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
            name = f"{self.dtype.scalar_type_name}Storage"
            return f"torch.{name}" if name in FUNCTIONS["torch"] else "torch.storage.TypedStorage"
        kind = dtype if isinstance(dtype, dtypes.dtype) else getattr(dtype, "tensor_dtype", None)
        if kind is None:
            names = {f"torch.{k.scalar_type_name}Storage": k for k in dtypes.ALL}
            if dtype not in names:
                raise OperationError(f"invalid type: {dtype!r}")
            kind = names[dtype]
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


def _shown(value: Any) -> str:
    """Return the class of a value as PyTorch's errors show it."""
    name = "torch.Tensor" if isinstance(value, Tensor) else type_name(value)
    return f"<class '{name}'>"


def _elements_of(values: Any, item: Any) -> ndarray:
    """Return the elements of a storage from a sequence of numbers."""
    if isinstance(values, (str, bytes)):
        raise ArgumentTypeError(f"new(): invalid data type '{type(values).__name__}'")
    for value in values if isinstance(values, Sequence) else ():
        if isinstance(value, (str, bytes)) or value is None:
            raise ArgumentTypeError(f"must be real number, not {type_name(value)}")
    return np.array(values, item)


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
        raise ArgumentValueError(  # PyTorch's message swaps the numbers, too
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
    def convert(self: Any) -> TypedStorage:
        return self._to(kind)

    convert.__name__ = name
    convert.__doc__ = f"The elements as {kind!r}."
    return convert


_CONVERSIONS = (
    "double float64 float float32 half float16 bfloat16 bfloat16 long int64 int int32 short int16 char int8 byte uint8 bool bool "
    "complex_double complex128 complex_float complex64"
).split()
_FLOAT8 = [k.name for k in dtypes.ALL if k.is_float8 and "e8m0" not in k.name]
for _name, _kind in zip(
    [*_CONVERSIONS[::2], *_FLOAT8], [*_CONVERSIONS[1::2], *_FLOAT8], strict=True
):
    for _class in (TypedStorage, UntypedStorage):
        setattr(_class, _name, _conversion(_name, dtypes.BY_NAME[_kind]))
TypedStorage.__module__ = UntypedStorage.__module__ = "pellucid.storage"
