"""Making tensors from Python data and other libraries' arrays: tensor, as_tensor, from_numpy, DLPack, the Tensor constructor."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.meta import MetaArray
from ..core import observe
from ..core.modes import local
from ..core.public import METHODS, public
from ..core.tensor import Tensor, make_tensor, set_requires_grad
from ..core.tracing import constant, tracer
from ..errors import ArgumentTypeError, ArgumentValueError, DeviceError, OperationError, warn_once


def check_device(where: Any) -> dtypes.device:
    """The device that a `device=` argument names; refuses those that are not there."""
    if where is None:
        return local.device if local.device is not None else _CPU
    wanted = where if isinstance(where, dtypes.device) else dtypes.device(where)
    if wanted.type in ("cpu", "meta"):
        return wanted
    if wanted.type == "cuda":
        raise AssertionError("Torch not compiled with CUDA enabled")
    raise DeviceError(f"PyTorch is not linked with support for {wanted.type} devices", hint="this build computes on the CPU")


_CPU = dtypes.device("cpu")
_INTS, _FLOATS = {int}, {float}


def _has_tensor(data: Any) -> bool:
    return any(isinstance(x, Tensor) or (isinstance(x, (list, tuple)) and _has_tensor(x)) for x in data)


def _numbers_only(data: Any) -> bool:
    return all(_numbers_only(x) for x in data) if isinstance(data, (list, tuple)) else isinstance(data, (bool, int, float, complex))


def _plain(data: Any) -> Any:
    """Nested sequences with tensors in them as nested sequences of numbers."""
    if isinstance(data, Tensor):
        return data._array if data._array.ndim else data._array[()]
    if isinstance(data, (list, tuple)):
        return [_plain(x) for x in data]
    return data


def _check_lengths(data: Any, depth: int = 0) -> None:
    """PyTorch's error for a ragged nested list."""
    if not isinstance(data, (list, tuple)) or not data:
        return
    lengths = [len(x) if isinstance(x, (list, tuple, np.ndarray)) else None for x in data]
    first = lengths[0]
    for k, n in enumerate(lengths):
        if n != first:
            if first is None:
                raise ArgumentTypeError(f"must be real number, not {type(data[k]).__name__}")
            if n is None:
                raise ArgumentTypeError("not a sequence")
            raise ArgumentValueError(f"expected sequence of length {first} at dim {depth + 1} (got {n})")
    for x in data:
        _check_lengths(x, depth + 1)


def _scan(data: Any) -> Any:
    """The first number in nested sequences."""
    while isinstance(data, (list, tuple)):
        if not data:
            return None
        data = data[0]
    return data


def to_array(data: Any, dtype: dtypes.dtype | None) -> np.ndarray:
    """A new array of Python data by PyTorch's rules: floats take the default type, ints int64."""
    if type(data) is list and dtype is None:  # most calls: a list of numbers of one type
        kinds = set(map(type, data))
        if kinds == _INTS:
            with contextlib.suppress(OverflowError):  # told in PyTorch's words below
                return np.array(data, np.int64)
        elif kinds == _FLOATS:
            return np.array(data, dtypes.get_default_dtype().numpy)
    if isinstance(data, np.ndarray):
        if data.dtype not in dtypes.BY_NUMPY:
            if data.dtype.kind in "iufbc" and not data.dtype.isnative:
                raise ArgumentValueError(
                    "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
                    "currently not supported."
                )
            raise ArgumentTypeError(
                f"can't convert np.ndarray of type numpy.{data.dtype.name if data.dtype.kind != 'O' else 'object_'}. The only "
                "supported types are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, "
                "uint16, uint8, and bool."
            )
        return data.astype(dtype.numpy if dtype is not None else data.dtype, copy=True)
    if isinstance(data, (np.number, np.bool_)):
        return np.array(data, dtype.numpy if dtype is not None else data.dtype)
    if isinstance(data, (list, tuple)):
        if _has_tensor(data):
            data = _plain(data)
        elif data and any(isinstance(x, np.ndarray) for x in data):
            data = np.array(data) if len({getattr(x, "shape", None) for x in data}) == 1 else data
            if isinstance(data, np.ndarray):
                return to_array(data, dtype)
    elif not isinstance(data, (bool, int, float, complex)):
        if hasattr(data, "__array__") or hasattr(data, "__array_interface__"):
            return to_array(np.asarray(data), dtype)
        if hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, (str, bytes, dict)):
            return to_array([data[i] for i in range(len(data))], dtype)
        if isinstance(data, (str, bytes)):
            raise ArgumentTypeError("new(): invalid data type 'str'")
        raise ArgumentTypeError(f"Could not infer dtype of {type(data).__name__}")
    try:
        array = np.array(data)
    except OverflowError:
        raise
    except ValueError:
        _check_lengths(data)
        raise
    if array.dtype.kind in "OUS":
        _check_lengths(data)
        first = _scan(data)
        if isinstance(first, (str, bytes)):
            raise ArgumentTypeError("new(): invalid data type 'str'")
        if array.dtype.kind == "O" and isinstance(first, int):
            raise RuntimeError("Overflow when unpacking long long")
        raise ArgumentTypeError(f"Could not infer dtype of {type(first).__name__}")
    if dtype is not None:
        if array.dtype.kind == "c" and not (dtype.is_complex or dtype is dtypes.bool_):
            what = (
                "must be real number, not complex"
                if dtype.is_floating_point
                else "'complex' object cannot be interpreted as an integer"
            )
            raise ArgumentTypeError(what)
        if dtype.is_integral and dtype is not dtypes.bool_ and array.dtype != dtype.numpy:
            _check_integers(array, dtype)
        return array.astype(dtype.numpy)
    first = _scan(data)
    if isinstance(first, (np.number, np.bool_)):
        return array
    kind = array.dtype.kind
    if array.size == 0 and kind == "f" or kind == "f":
        return array.astype(dtypes.get_default_dtype().numpy)
    if kind == "c":
        return array.astype(dtypes.get_default_dtype().to_complex().numpy)
    if kind in "iu":
        if kind == "u":
            raise RuntimeError("Overflow when unpacking long long")
        return array.astype(np.int64)
    return array


def _check_integers(array: np.ndarray, dtype: dtypes.dtype) -> None:
    """Refuse numbers that are no integers of `dtype`; negative ones count back from the end of the range of an unsigned dtype."""
    if array.dtype.kind == "u":  # NumPy's type for what is too large for int64
        raise ArgumentValueError("Overflow when unpacking long long")
    limits = dtypes.iinfo(dtype)
    low = limits.min if dtype.is_signed or array.dtype.kind == "f" else -limits.max
    if array.dtype.kind != "b" and not ((array >= low) & (array <= limits.max)).all():
        raise OperationError(f"value cannot be converted to type {dtype.name} without overflow")


def place(array: np.ndarray, where: dtypes.device) -> Any:
    """The array for a device: itself on the CPU, its description on `meta`."""
    return MetaArray(array.shape, array.dtype) if where.type == "meta" else array


@public()
def tensor(
    data: Any, *, dtype: dtypes.dtype | None = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A new tensor with a copy of `data`.

    Args:
        data: a number, nested lists or tuples of numbers, a NumPy array or scalar, or a tensor.
        dtype: element type; otherwise floats take the default type and ints int64.
        device: "cpu" or "meta".
        requires_grad: record operations on it.
        pin_memory: accepted; there is nothing to pin on a CPU.

    Raises:
        ValueError: nested lists of unequal lengths. TypeError: something that is no number.

    >>> import pellucid as torch
    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    where = check_device(device)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
        array: Any = data._array
        if type(array) is not MetaArray:
            array = array.astype(dtype.numpy if dtype is not None else array.dtype, copy=True)
            array = place(array, where if device is not None else data.device)
    else:
        array = place(to_array(data, dtype), where)
        if tracer() and _numbers_only(data):
            constant(array)
    result = make_tensor(array)
    if requires_grad:
        if not (result.dtype.is_floating_point or result.dtype.is_complex):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        set_requires_grad(result, True)
    if observe.observers:
        observe.notify("made", result, list(_tensors_in(data)))
    return result


def _tensors_in(data: Any) -> Iterator[Tensor]:
    if isinstance(data, Tensor):
        yield data
    elif isinstance(data, (list, tuple)):
        for x in data:
            yield from _tensors_in(x)


@public(names="as_tensor asarray")
def as_tensor(
    data: Any, dtype: dtypes.dtype | None = None, device: Any = None, *, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """`data` as a tensor, sharing memory with a tensor or NumPy array where dtype and device allow it.

    >>> import numpy as np, pellucid as torch
    >>> a = np.zeros(2)
    >>> t = torch.as_tensor(a)
    >>> a[0] = 5
    >>> t
    tensor([5., 0.], dtype=torch.float64)
    """
    if isinstance(data, Tensor):
        result = data.to(device=device, dtype=dtype, copy=bool(copy))
    elif isinstance(data, np.ndarray) and not copy and data.dtype in dtypes.BY_NUMPY:
        result = from_numpy(data)
        if dtype is not None or device is not None or local.device is not None:
            result = result.to(device=check_device(device), dtype=dtype)
    elif hasattr(data, "__dlpack__") and not isinstance(data, (np.number, np.bool_)):
        result = from_dlpack(data)
        if dtype is not None:
            result = result.to(dtype=dtype)
    else:
        result = tensor(data, dtype=dtype, device=device)
    if requires_grad:
        result.requires_grad = True
    return result


@public()
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor that shares the memory of a NumPy array.

    Raises:
        TypeError: not an array, or of a type without a counterpart. ValueError: negative strides.
    """
    if not isinstance(ndarray, np.ndarray):
        raise ArgumentTypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if ndarray.dtype not in dtypes.BY_NUMPY:
        to_array(ndarray, None)
    if any(s < 0 for s in ndarray.strides):
        raise ArgumentValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
            "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
        )
    if not ndarray.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to this "
            "tensor will result in undefined behavior. You may want to copy the array to protect its data or make it writable before "
            "converting it to a tensor. This type of warning will be suppressed for the rest of this program.",
            UserWarning,
            stacklevel=2,
        )
    return make_tensor(ndarray.view(np.ndarray) if type(ndarray) is not np.ndarray else ndarray)


class _Capsule:
    """A DLPack capsule as the object that NumPy wants."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # the CPU


@public()
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares memory with any object that offers `__dlpack__`, or with a DLPack capsule."""
    if isinstance(ext_tensor, Tensor):
        return make_tensor(ext_tensor._array.copy() if copy else ext_tensor._array)
    check_device(device)
    array = np.from_dlpack(_Capsule(ext_tensor) if type(ext_tensor).__name__ == "PyCapsule" else ext_tensor)
    if copy:
        array = array.copy()
    elif not array.flags.writeable:
        # NumPy marks foreign memory read-only; PyTorch's tensors are writable views of it.
        try:
            array.flags.writeable = True
        except ValueError:
            array = array.copy()
    return make_tensor(array)


@public()
def frombuffer(buffer: Any, *, dtype: dtypes.dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d tensor that shares the memory of an object with the buffer protocol.

    Raises:
        ValueError: an offset or count outside the buffer.
    """
    size = memoryview(buffer).nbytes
    if size == 0 or count == 0:
        raise ArgumentValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ArgumentValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1"
        )
    if count < 0 and (size - offset) % dtype.itemsize:
        raise ArgumentValueError(
            f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of element size ({dtype.itemsize})"
        )
    if count > 0 and offset + count * dtype.itemsize > size:
        raise ArgumentValueError(
            f"requested buffer length ({count} * {dtype.itemsize} bytes) after offset ({offset} bytes) must not be greater than actual "
            f"buffer length ({size} bytes)"
        )
    array = np.frombuffer(buffer, dtype.numpy, count, offset)
    if not array.flags.writeable:
        warn_once(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can write to the "
            "underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer to protect its data or make "
            "it writable before converting it to a tensor. This type of warning will be suppressed for the rest of this program."
        )
    result = make_tensor(array)
    if requires_grad:
        set_requires_grad(result, True)
    return result


@public()
def scalar_tensor(
    s: Any,
    *,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A 0-d tensor of the default type."""
    return tensor(s, dtype=dtype or dtypes.get_default_dtype(), device=device, requires_grad=requires_grad)


def _legacy_new(cls: Any, *args: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """`torch.Tensor(...)`: sizes, or data of the default type."""
    check_device(device)
    kind = (dtype or dtypes.get_default_dtype()).numpy
    if not args:
        result = make_tensor(np.empty(0, kind))
    elif len(args) == 1 and isinstance(args[0], Tensor):
        result = args[0].detach()
    elif all(isinstance(a, (int, np.integer)) and not isinstance(a, bool) for a in args):
        if any(a < 0 for a in args):
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(args)}: {list(args)}")
        result = make_tensor(np.empty(tuple(int(a) for a in args), kind))
    elif len(args) == 1 and isinstance(args[0], dtypes.Size):
        result = make_tensor(np.empty(tuple(args[0]), kind))
    elif len(args) == 1 and isinstance(args[0], (list, tuple, np.ndarray)):
        array = to_array(args[0], None)
        result = make_tensor(array.astype(kind))
        if observe.observers:
            observe.notify("made", result, list(_tensors_in(args[0])))
    else:
        raise ArgumentTypeError(
            f"new(): data must be a sequence (got {type(args[0]).__name__})" if len(args) == 1 else
            "new() received an invalid combination of arguments - got (" + ", ".join(type(a).__name__ for a in args) + ")"
        )  # fmt: skip
    if cls is not Tensor:
        result.__class__ = cls
    if requires_grad:
        set_requires_grad(result, True)
    return result


def _no_init(self: Tensor, *args: Any, **kwargs: Any) -> None:
    """Construction is done in `__new__`; subclasses define their own `__init__`."""


Tensor.__new__ = _legacy_new  # type: ignore[method-assign]
METHODS["__init__"] = _no_init


def _make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Any:
    """A tensor of a subclass that shares the data."""
    result = data.detach()
    result.__class__ = cls
    result.requires_grad = require_grad
    return result


Tensor._make_subclass = staticmethod(_make_subclass)  # type: ignore[method-assign]
