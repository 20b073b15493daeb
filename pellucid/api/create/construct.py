"""Create tensors from Python data and other libraries' arrays: `tensor`, `as_tensor`, `from_numpy`,
DLPack, the Tensor constructor.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np

from ... import dtypes
from ...arrays.halves import converted
from ...arrays.meta import MetaArray
from ...arrays.numpy_cpu import NAMESPACES, lend, with_known_dtype
from ...arrays.sparse.array import SparseArray
from ...core import observe
from ...core.public import METHODS, public
from ...core.tensor import Tensor, make_tensor, set_requires_grad
from ...core.tracing import constant, tracer
from ...errors import (
    ArgumentTypeError,
    ArgumentValueError,
    NeedsValuesError,
    OperationError,
    type_name,
    warn,
    warn_once,
)
from ...llvm import threads
from ...ops.create._factory import check_device, check_memory, want_gradient
from ...ops.shape.storages import TypedStorage
from .dlpack import CONSUMED, shared
from .sequences import dtype_of, numbers_in, shape_of

_CPU = dtypes.device("cpu")
_INTS, _FLOATS = {int}, {float}
_PLAIN = {bool, int, float, complex}
_NUMPYS = (np.ndarray, np.generic)
_NUMBERS = (bool, int, float, complex, np.generic)
_TEXTS = {np.str_, np.bytes_}


def _kinds(data: Any) -> set[Any]:
    """The types of what nested sequences hold; of arrays their dtypes."""
    kinds: set[Any] = set(map(type, data))
    for kind in tuple(kinds):
        if issubclass(kind, (list, tuple)):
            kinds.discard(kind)
            kinds.update(*(_kinds(x) for x in data if type(x) is kind))
        elif issubclass(kind, np.ndarray):
            kinds.discard(kind)
            kinds.update(x.dtype for x in data if type(x) is kind)
    return kinds


def _numbers_only(data: Any) -> bool:
    return (
        all(_numbers_only(x) for x in data)
        if isinstance(data, (list, tuple))
        else isinstance(data, (bool, int, float, complex))
    )


def named(kind: type) -> str:
    """A type's name in messages of interpreters: NumPy's have the module before it."""
    if kind.__module__ == dtypes.dtype.__module__ and kind is not Tensor:  # written in C there
        return f"torch.{'_C.' * (kind.__name__ == 'Generator')}{kind.__name__}"
    return f"numpy.{kind.__name__}" if issubclass(kind, np.generic) else kind.__name__


def check_strides(array: np.ndarray) -> None:
    """Refuse an array in memory that no tensor lies in."""
    if array.flags.forc:
        return
    size = array.dtype.itemsize
    if any(step % size for step in array.strides):
        raise ArgumentValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the memory."
        )
    if any(step < 0 for step in array.strides):
        raise ArgumentValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
            "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
        )


def _of_arrays(
    data: Any, sizes: list[int], kinds: set[Any], dtype: dtypes.dtype | None
) -> np.ndarray | None:
    """The array of nested lists that hold arrays of one shape and nothing else, or None."""
    if not kinds or not all(isinstance(k, np.dtype) and k.kind in "biufc" for k in kinds):
        return None
    kind = reduce(dtypes.promote_types, map(dtypes.from_numpy, kinds))
    if dtype not in (None, kind) and not dtype.is_floating_point or kind.is_complex:
        return None  # numbers are converted, or refused, one by one
    with contextlib.suppress(ValueError):
        array = np.array(data, kind.numpy)
        if list(array.shape) == sizes:
            return array if dtype is None else converted(array, dtype.numpy)
    return None


def _of_python_numbers(data: Any, kinds: set[Any]) -> np.ndarray | None:
    """NumPy's array of nested lists that hold Python numbers alone, or None where they are uneven
    or too large.
    """
    if kinds <= _PLAIN:
        with contextlib.suppress(ValueError):
            array = np.array(data)
            return None if array.dtype.kind == "O" else array
    return None


def to_array(data: Any, dtype: dtypes.dtype | None) -> np.ndarray:
    """A new array of Python data by PyTorch's rules: floats take the default type, ints int64."""
    if type(data) is list and (dtype is None or dtype.is_floating_point or dtype is dtypes.int64):
        kinds = set(map(type, data))  # most calls: a list of numbers of one type
        if kinds == _INTS:
            with contextlib.suppress(OverflowError):  # told in PyTorch's words below
                whole = np.array(data, np.int64)
                return whole if dtype in (None, dtypes.int64) else converted(whole, dtype.numpy)
        elif kinds == _FLOATS and dtype is not dtypes.int64:
            kind = (dtype or dtypes.get_default_dtype()).numpy
            return np.array(data, kind) if dtype is None else converted(np.array(data), kind)
    if isinstance(data, np.ndarray):
        own = dtypes.from_numpy(data.dtype)
        check_strides(data)
        # of plain class: what computes takes no memory-mapped arrays, matrices or masked arrays
        return converted(data.view(np.ndarray), (own if dtype is None else dtype).numpy)
    if isinstance(data, (np.number, np.bool_)):
        return np.array(data, (dtype or dtypes.from_numpy(data.dtype)).numpy)
    if not isinstance(data, (list, tuple, bool, int, float, complex, str, bytes)) and (
        hasattr(data, "__array__") or hasattr(data, "__array_interface__")
    ):
        return to_array(np.asarray(data), dtype)
    sizes = shape_of(data)
    if isinstance(data, list) and data and isinstance(data[0], np.ndarray):
        warn_once(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a single "
            "numpy.ndarray with numpy.array() before converting to a tensor.",
        )
    kinds = _kinds(data) if isinstance(data, (list, tuple)) else {type(data)}
    array = _of_arrays(data, sizes, kinds, dtype)
    if array is not None:
        return array
    array = _of_python_numbers(data, kinds)
    if array is None:
        if dtype is None:
            dtype = dtype_of(data)
        numbers = numbers_in(data, sizes, dtype)
        array = np.array(numbers) if numbers else np.empty(sizes, dtype.numpy)
        if array.dtype.kind == "O":
            if dtype.is_integral:
                raise ArgumentValueError("Overflow when unpacking long long")
            # whole numbers of any size stand for the nearest float
            array = np.array(numbers, np.complex128 if dtype.is_complex else np.float64)
        array = array.reshape(sizes)
    if dtype is not None:
        if array.dtype.kind in "cW" and not (dtype.is_complex or dtype is dtypes.bool_):
            what = (
                "must be real number, not complex"
                if dtype.is_floating_point
                else "'complex' object cannot be interpreted as an integer"
            )
            raise ArgumentTypeError(what)
        if dtype.is_integral and dtype is not dtypes.bool_ and array.dtype != dtype.numpy:
            _check_integers(array, dtype)
        return converted(array, dtype.numpy)
    kind = array.dtype.kind
    if kind == "f":
        return array.astype(dtypes.get_default_dtype().numpy)
    if kind in "cW":
        return array.astype(dtypes.get_default_dtype().to_complex().numpy)
    if kind in "iu":
        if kind == "u":
            raise ArgumentValueError("Overflow when unpacking long long")
        return array.astype(np.int64)
    return array


def _check_integers(array: np.ndarray, dtype: dtypes.dtype) -> None:
    """Refuse numbers that are no integers of `dtype`; negative ones count back from the end of the
    range of an unsigned dtype.
    """
    if array.dtype.kind == "u":  # NumPy's type for what is too large for int64
        raise ArgumentValueError("Overflow when unpacking long long")
    limits = dtypes.iinfo(dtype)
    low = limits.min if dtype.is_signed or array.dtype.kind == "f" else -limits.max
    if array.dtype.kind != "b" and not ((array >= low) & (array <= limits.max)).all():
        raise OperationError(f"value cannot be converted to type {dtype.name} without overflow")


def place(array: np.ndarray, where: dtypes.device) -> Any:
    """The array for a device: itself on the CPU, its description on `meta`."""
    return (
        MetaArray(array.shape, array.dtype)
        if where.type == "meta"
        else NAMESPACES[where.type].from_host(array)
    )


def of_numbers(data: Any, array: Any) -> Any:
    """The array made of `data`, after telling a tracer of it where `data` has numbers alone."""
    return constant(array) if tracer() and _numbers_only(data) else array


@public()
def tensor(
    data: Any,
    *,
    dtype: dtypes.dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Create a tensor with a copy of `data`.

    Args:
        data: a number, nested lists or tuples of numbers, a NumPy array or scalar, or a tensor.
        dtype: the dtype. Default: the default dtype for Python floats, int64 for ints, otherwise
            that of `data`.
        device: "cpu" or "meta". Default: the CPU.
        requires_grad: record operations on it. Default: False.
        pin_memory: not supported; there is no accelerator to pin memory for.

    Raises:
        ValueError: nested lists of unequal lengths. TypeError: something that is not a number.

    >>> import pellucid as torch
    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    where, dtype = check_device(device), dtypes.check_dtype(dtype, "tensor")
    if pin_memory:
        check_memory(None, pin_memory)
    if isinstance(data, Tensor):
        warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning,
        )
        array: Any = data._array
        if type(array) is SparseArray:
            copied = array.astype(dtype.numpy if dtype is not None else array.dtype).tensor()
            return copied.requires_grad_() if requires_grad else copied
        if type(array) is not MetaArray:
            array = converted(array, array.dtype if dtype is None else dtype.numpy)
            array = place(array, where if device is not None else data.device)
    else:
        array = of_numbers(data, place(to_array(data, dtype), where))
        threads.expect(array.size)
    result = make_tensor(array)
    if requires_grad:
        want_gradient(result)
    if observe.observers:
        observe.notify("made", result, list(_tensors_in(data)))
    return result


def _tensors_in(data: Any) -> Iterator[Tensor]:
    if isinstance(data, Tensor):
        yield data
    elif isinstance(data, (list, tuple)):
        for x in data:
            yield from _tensors_in(x)


@public()
def as_tensor(data: Any, dtype: dtypes.dtype | None = None, device: Any = None) -> Tensor:
    """Convert `data` to a tensor. Memory is shared with a tensor or NumPy array where dtype and
    device allow it.

    Args:
        data: numbers, nested lists, a NumPy array or a tensor.
        dtype: the dtype. Default: that of `data`.
        device: where the tensor lives. Default: where `data` lives, or the CPU.

    >>> import numpy as np, pellucid as torch
    >>> a = np.zeros(2)
    >>> t = torch.as_tensor(a)
    >>> a[0] = 5
    >>> t
    tensor([5., 0.], dtype=torch.float64)
    """
    dtype = dtypes.check_dtype(dtype, "as_tensor")
    if isinstance(data, Tensor):
        return data.to(device=device, dtype=dtype)
    if isinstance(data, np.ndarray):
        result = from_numpy(data)
        where = check_device(device)
        if where.type == "cpu" and (dtype is None or dtype is result.dtype):
            return result
        return result.to(device=where, dtype=dtype)
    if hasattr(data, "__dlpack__") and not isinstance(data, _NUMPYS):
        result = from_dlpack(data)
        return result if dtype is None else result.to(dtype=dtype)
    return tensor(data, dtype=dtype, device=device)


@public()
def from_file(
    filename: str,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """`(size,)`: the elements that a file holds, mapped into memory and not read.

    Args:
        shared: writes go to the file, which is made as large as is asked for; otherwise they stay
            in this process.
        dtype: of the elements, the default type when left out.

    Raises:
        RuntimeError: there is no such file, or it is smaller.

    >>> import pellucid as torch, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "data")
    >>> x = torch.from_file(path, shared=True, size=3).fill_(2)
    >>> os.path.getsize(path)
    12
    """
    check_device(device)
    kind = dtype or dtypes.get_default_dtype()
    result = make_tensor(
        TypedStorage.from_file(filename, bool(shared), size, dtype=kind)._elements()
    )
    if requires_grad:
        set_requires_grad(result, True)
    return result


@public()
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor that shares its memory with a NumPy array: changing one changes the other.

    Args:
        ndarray: an array of numbers or bools. Its dtype becomes the tensor's.

    Raises:
        TypeError: not an array, or a dtype without a counterpart. ValueError: negative strides.

    >>> import numpy as np, pellucid as torch
    >>> a = np.zeros(2)
    >>> t = torch.from_numpy(a)
    >>> a[0] = 5
    >>> t
    tensor([5., 0.], dtype=torch.float64)
    """
    if not isinstance(ndarray, np.ndarray):
        raise ArgumentTypeError(
            f"expected np.ndarray (got {type_name(ndarray)})",
            hint="from_numpy shares the memory of a NumPy array; for anything else, use torch.tensor(data)",
        )
    dtypes.from_numpy(ndarray.dtype)  # refuses those that tensors cannot hold
    check_strides(ndarray)
    if not ndarray.flags.writeable:
        warn_once(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to this "
            "tensor will result in undefined behavior. You may want to copy the array to protect its data or make it writable before "
            "converting it to a tensor. This type of warning will be suppressed for the rest of this program.",
            UserWarning,
        )
    threads.expect(ndarray.size)
    result = make_tensor(
        lend(
            with_known_dtype(
                ndarray.view(np.ndarray) if type(ndarray) is not np.ndarray else ndarray
            )
        )
    )
    if observe.observers:
        observe.notify("made", result, [])
    return result


@public()
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares memory with any object that offers `__dlpack__`, or with a DLPack
    capsule.

    >>> import pellucid as torch
    >>> import numpy as np
    >>> a = np.array([1.0, 2.0])
    >>> x = torch.from_dlpack(a)
    >>> a[0] = 5.0
    >>> x
    tensor([5., 2.], dtype=torch.float64)
    """
    if isinstance(ext_tensor, Tensor):
        if type(ext_tensor._array) is SparseArray:
            raise BufferError("Can't export tensors with layout other than torch.strided")
        return make_tensor(ext_tensor._array.copy() if copy else ext_tensor._array)
    check_device(device)
    if type(ext_tensor).__name__ != "PyCapsule" and not hasattr(ext_tensor, "__dlpack__"):
        raise OperationError(CONSUMED)
    array = shared(ext_tensor)
    return make_tensor(array.copy() if copy else array)


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
    """A 0-d tensor of the default type.

    >>> import pellucid as torch
    >>> torch.scalar_tensor(3)
    tensor(3.)
    """
    return tensor(
        s.item() if isinstance(s, Tensor) else s,
        dtype=dtype or dtypes.get_default_dtype(),
        device=device,
        requires_grad=requires_grad,
        pin_memory=pin_memory,
    )


def _no_init(self: Tensor, *args: Any, **kwargs: Any) -> None:
    """Construction is done in `__new__`; subclasses define their own `__init__`."""


METHODS["__init__"] = _no_init


def _make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Any:
    """A tensor of a subclass that shares the data."""
    if not isinstance(data, Tensor):
        raise ArgumentTypeError(
            f"_make_subclass(): argument 'data' (position 2) must be Tensor, not {type_name(data)}"
        )
    result = data.detach()
    if type(result) is not Tensor:
        result = make_tensor(data._array)
    result.__class__ = cls
    set_requires_grad(result, require_grad)
    return _known(result)


def _known(t: Any) -> Any:
    """A tensor of a type that may handle operators: the level of operators is told of it."""
    if not hasattr(type(t), "__torch_dispatch__"):
        return t
    from .. import attach  # which comes after everything that registers

    return attach.LENT["operators"]().live(t)


class WithoutData(MetaArray):
    """In the place of the array of a tensor that is made of others: shape, dtype and strides.
    Unlike a meta tensor's it has a device.
    """

    __slots__ = ("device",)
    device: Any

    def _no_values(self, *args: Any, **kwargs: Any) -> Any:
        raise NeedsValuesError("an array without data cannot be computed with")

    def __getattr__(self, name: str) -> Any:
        raise NeedsValuesError(f"{type(self).__name__!r} object has no attribute {name!r}")

    __hash__ = object.__hash__
    __array_ufunc__ = _no_values  # type: ignore[assignment]
    __array__ = __array_function__ = __getitem__ = __len__ = __iter__ = _no_values
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _no_values
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _no_values
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _no_values
    __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __and__ = __or__ = __xor__ = _no_values
    __neg__ = __invert__ = __abs__ = __bool__ = __int__ = __float__ = __index__ = _no_values


def without_data(
    shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None, device: Any
) -> WithoutData:
    """The place of an array of this shape, NumPy's dtype, and strides in bytes."""
    array = WithoutData(shape, dtype, strides)
    array.device = device
    return array


def _make_wrapper_subclass(
    cls: Any,
    size: Any,
    strides: Any = None,
    storage_offset: Any = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = dtypes.strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: Any = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    **other: Any,
) -> Any:
    """A tensor of a subclass with shape, strides, dtype and device, and without data of its own.

    What operators do with it says `__torch_dispatch__` of the class.

    Raises:
        TypeError: the class has no `__torch_dispatch__`.
    """
    if not hasattr(cls, "__torch_dispatch__"):
        raise ArgumentTypeError(f"{cls.__name__} must define __torch_dispatch__")
    kind = (dtype or dtypes.get_default_dtype()).numpy
    steps = None if strides is None else tuple([int(s) * kind.itemsize for s in strides])
    array = without_data(
        tuple(size), kind, steps, dtypes.device(device) if device is not None else _CPU
    )
    result = make_tensor(array, cls)
    result._rg = bool(requires_grad)
    return _known(result)


Tensor._make_wrapper_subclass = staticmethod(_make_wrapper_subclass)  # type: ignore[method-assign]


def rebuild_wrapper(
    cls: Any,
    size: Any,
    strides: Any,
    dtype: Any,
    device: Any,
    requires_grad: bool,
    attributes: dict[str, Any],
) -> Any:
    """What a pickled tensor that is made of others is rebuilt with."""
    result = _make_wrapper_subclass(
        cls, size, strides, dtype=dtype, device=device, requires_grad=requires_grad
    )
    vars(result).update(attributes)
    return result


Tensor._make_subclass = staticmethod(_make_subclass)  # type: ignore[method-assign]
