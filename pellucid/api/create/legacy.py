"""The constructors of old: `torch.Tensor(...)`, `torch.LongTensor(...)` and `x.new(...)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...core import observe
from ...core.bind import keeps_type
from ...core.public import method
from ...core.tensor import Tensor, make_tensor
from ...errors import ArgumentTypeError, OperationError
from ...ops._unset import unset
from ...ops.create._factory import fresh, sizes
from ...ops.shape.storages import TypedStorage, UntypedStorage
from ...ops.shape.view import alias_op
from .construct import _tensors_in, named, of_numbers, to_array

_FORMS = (
    "(*, torch.device device = None)",
    "(torch.Storage storage)",
    "(Tensor other)",
    "(tuple of ints size, *, torch.device device = None)",
    "(object data, *, torch.device device = None)",
)


def made(args: tuple[Any, ...], kwargs: dict[str, Any], kind: dtypes.dtype, exact: bool) -> Tensor:
    """What a constructor of old makes of its arguments: of sizes, a storage, a tensor, or data.

    Args:
        kind: the element type.
        exact: refuse a tensor of another type. A storage of another type is always refused.
    """
    place = kwargs.get("device")
    if place is not None and dtypes.device(place).type != "cpu":
        given = dtypes.device(place).type
        raise OperationError(
            f"legacy constructor expects device type: cpu but device type: {given} was passed"
        )
    named = {name: value for name, value in kwargs.items() if name != "device"}
    if not args and not named:
        return fresh(unset, (0,), kind.numpy)
    name, value = "", None
    if len(args) == 1 and not named:
        value = args[0]
    elif len(named) == 1 and not args:
        name, value = next(iter(named.items()))
    elif named or not _is_size(args[0]):
        raise _refused(args, kwargs)
    if name in ("", "storage") and isinstance(value, (TypedStorage, UntypedStorage)):
        return _of_storage(value, kind)
    if name in ("", "other") and isinstance(value, Tensor):
        return _of_tensor(value, kind, exact)
    if value is None and not name and len(args) > 1 or not name and _is_size(value):
        return _of_sizes(args, kind)
    if isinstance(value, dtypes.Size) and name in ("", "size") or name == "size":
        return _of_sizes((value,), kind)
    if name not in ("", "data"):
        raise _refused(args, kwargs)
    return _of_data(value, kind)


def _is_size(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _refused(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
    from ..messages.signatures import refusal  # read when first needed

    return ArgumentTypeError(refusal("new", list(_FORMS), list(args), kwargs))


def _of_sizes(size: tuple[Any, ...], kind: dtypes.dtype) -> Tensor:
    shape = sizes(size, "new")
    if any(n < 0 for n in shape):
        raise OperationError(
            f"Trying to create tensor with negative dimension {next(n for n in shape if n < 0)}: {list(shape)}"
        )
    return fresh(unset, shape, kind.numpy)


def _of_storage(storage: Any, kind: dtypes.dtype) -> Tensor:
    if isinstance(storage, UntypedStorage):
        storage = TypedStorage(storage, kind)
    elif storage.dtype is not kind:
        raise OperationError(
            f"Expected a Storage of type {kind.scalar_type_name} or an UntypedStorage, but got "
            f"type {storage.dtype.scalar_type_name} for argument 1 'storage'"
        )
    return make_tensor(storage._elements())


_OPTIONS = (
    "TensorOptions(dtype={}, device=cpu, layout=Strided, requires_grad=false (default), "
    "pinned_memory=false (default), memory_format=(nullopt))"
)


def _of_tensor(other: Tensor, kind: dtypes.dtype, exact: bool) -> Tensor:
    if exact and other.dtype is not kind:
        wanted, given = _OPTIONS.format(kind.c_name), _OPTIONS.format(other.dtype.c_name)
        raise ArgumentTypeError(f"expected {wanted} (got {given})")
    return alias_op.call(other)


def _of_data(data: Any, kind: dtypes.dtype) -> Tensor:
    sequence = hasattr(data, "__getitem__") and not isinstance(data, dict)
    if isinstance(data, str):
        raise ArgumentTypeError(f"new(): invalid data type '{named(type(data))}'")
    if not sequence or isinstance(data, np.generic):
        raise ArgumentTypeError(f"new(): data must be a sequence (got {named(type(data))})")
    array = to_array(data, None if isinstance(data, np.ndarray) else kind)
    result = make_tensor(of_numbers(data, array.astype(kind.numpy)))
    if observe.observers:
        observe.notify("made", result, list(_tensors_in(data)))
    return result


def _new(cls: Any, *args: Any, **kwargs: Any) -> Tensor:
    """`torch.Tensor(...)`: sizes, data of the default type, or a view of another tensor."""
    if isinstance(kwargs.get("data"), Tensor):
        kwargs["other"] = kwargs.pop("data")
    result = made(args, kwargs, dtypes.get_default_dtype(), exact=False)
    if cls is not Tensor or keeps_type(type(result)):  # a batched tensor stays one
        result.__class__ = cls
    return result


Tensor.__new__ = _new  # type: ignore[method-assign]


@method()
def new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """A new tensor of this tensor's dtype: of arbitrary values in the given sizes, or with the
    values of a sequence.

    >>> import pellucid as torch
    >>> torch.tensor([1.0]).new([2, 3])
    tensor([2., 3.])
    """
    return made(args, kwargs, self.dtype, exact=True)
