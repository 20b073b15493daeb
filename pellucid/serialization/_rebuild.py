"""What a file may call to make tensors. A file is not trusted: every argument is checked by exact
type before it is used.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

import numpy as np

from .. import devices, dtypes
from ..api.attach import LENT
from ..api.create.construct import _make_wrapper_subclass
from ..arrays.affine import SCHEMES, STORED
from ..arrays.affine import package as quantized_package
from ..arrays.meta import MetaArray
from ..arrays.numpy_cpu import address
from ..arrays.sparse.array import package
from ..core.tensor import Parameter, Tensor, make_tensor
from ..errors import UnsupportedError
from ..ops.shape.storage import TypedStorage, UntypedStorage

_LIMIT = 1 << 63  # PyTorch's sizes are int64


class Unfilled(UntypedStorage):
    """A storage of the old format, where the bytes come after everything that refers to them."""

    __slots__ = ()

    def filled(self: UntypedStorage) -> None:
        """From now on a storage like any other."""
        self.__class__ = UntypedStorage


def integers(value: Any, what: str) -> tuple[int, ...]:
    """The entries of a tuple or list of plain ints that fit 64 bits."""
    if type(value) not in (tuple, list, devices.Size):
        raise TypeError(
            f"set_(): argument '{what}' must be tuple of ints, not {type(value).__name__}"
        )
    for position, n in enumerate(value):
        if type(n) is not int:
            raise TypeError(
                f"set_(): argument '{what}' must be tuple of ints, but found element of type {type(n).__name__} at pos {position}"
            )
        if not -_LIMIT <= n < _LIMIT:
            raise TypeError(
                f"set_(): argument '{what}' failed to unpack the object at pos {position + 1} with error "
                '"Overflow when unpacking long long"'
            )
    return tuple(value)


def _element_type(value: Any) -> dtypes.dtype:
    if type(value) is not dtypes.dtype:
        raise TypeError(
            f"empty(): argument 'dtype' must be torch.dtype, not {type(value).__name__}"
        )
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise RuntimeError("requires_grad must be a bool")
    return value


def _needed(sizes: tuple[int, ...], strides: tuple[int, ...], offset: int) -> int:
    """How many elements of a storage a tensor of this geometry reaches."""
    if any(n < 0 for n in sizes) or math.prod(sizes) >= _LIMIT:
        raise RuntimeError(f"numel: integer multiplication overflow (sizes {list(sizes)})")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if any(s < 0 for s in strides):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(sizes)} and strides={list(strides)}"
        )
    if 0 in sizes:
        return 0
    return offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) + 1


def rebuild_tensor(
    storage: Any, storage_offset: Any, size: Any, stride: Any, dtype: Any = None
) -> Tensor:
    """A tensor of this geometry that lies within a storage."""
    if type(storage) is not TypedStorage:
        raise UnpicklingError(f"a tensor needs a storage, but got {type(storage).__name__}")
    kind = _element_type(storage.dtype if dtype is None else dtype).numpy
    sizes, strides = integers(size, "size"), integers(stride, "stride")
    offset = integers((storage_offset,), "storage_offset")[0]
    if len(sizes) != len(strides):
        raise RuntimeError(f"unequal size length ({len(sizes)}) and stride length ({len(strides)})")
    needed, item, available = (
        _needed(sizes, strides, offset) * kind.itemsize,
        kind.itemsize,
        storage.nbytes(),
    )
    steps = tuple(s * item for s in strides)
    if type(storage.untyped()._owner) is MetaArray:  # there is no memory that could be too small
        return make_tensor(MetaArray(sizes, kind, steps))
    if needed > available:
        raise RuntimeError(
            f"setStorage: sizes {list(sizes)}, strides {list(strides)}, storage offset {offset}, and itemsize {item} requiring a "
            f"storage size of {needed} are out of bounds for storage of size {available}"
        )
    try:
        if not needed:
            return make_tensor(np.empty(sizes, kind))
        # A dimension of one element is never stepped along: its stride may be any number, also one
        # that NumPy has no room for.
        steps = tuple(0 if n == 1 and s >= _LIMIT else s for n, s in zip(sizes, steps, strict=True))
        return make_tensor(
            np.ndarray(sizes, kind, storage.untyped()._bytes(), offset * item, steps)
        )
    except (ValueError, OverflowError) as error:
        # more dimensions, or a larger product of sizes, than NumPy has
        raise RuntimeError(
            f"numel: integer multiplication overflow (sizes {list(sizes)}): {error}"
        ) from None


def rebuild_tensor_v2(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    hooks: Any,
    metadata: Any = None,
) -> Tensor:
    """A tensor with the flags that PyTorch writes beside it; hooks are never restored."""
    return _marked(rebuild_tensor(storage, offset, size, stride), storage, requires_grad, metadata)


def rebuild_tensor_v3(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Tensor:
    """The same with an element type of its own, on a storage of bytes."""
    return _marked(
        rebuild_tensor(storage, offset, size, stride, _element_type(dtype)),
        storage,
        requires_grad,
        metadata,
    )


def _marked(t: Tensor, storage: Any, requires_grad: Any, metadata: Any) -> Tensor:
    if metadata is not None:
        t = _with_flags(t, storage, metadata)
    if _flag(requires_grad):
        t.requires_grad = True
    return t


def _with_flags(t: Tensor, storage: TypedStorage, metadata: Any) -> Tensor:
    """A tensor with the conjugate and negative bits that PyTorch writes for it carried out: there
    are no such bits here.
    """
    if type(metadata) is not dict:
        raise AssertionError(f"expected dict, got {type(metadata).__name__}")
    for key, value in metadata.items():
        if type(key) is not str or type(value) is not bool:
            raise TypeError(
                "_set_tensor_metadata(): incompatible function arguments: the metadata of a tensor are flags by name, not "
                f"{type(key).__name__}: {type(value).__name__}"
            )
    for name, function, wanted in (
        ("conj", np.conjugate, t.is_complex()),
        ("neg", np.negative, t.dtype is not dtypes.bool_),
    ):
        if not metadata.get(name):
            continue
        if not wanted:
            raise RuntimeError(f"a tensor of {t.dtype} cannot have the flag {name!r}")
        if type(storage.untyped()) is Unfilled:
            raise UnsupportedError(
                f"the flag {name!r} of a tensor is not supported in files of the old format"
            )
        array = t._array
        if type(array) is not MetaArray and array.size:
            # On new memory, for other tensors of the storage keep their values; and on what the
            # tensor spans in memory, not on its elements, for a few bytes may be expanded to any
            # size.
            span = (
                sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True))
                // array.itemsize
                + 1
            )
            flat = np.ndarray(
                (span,), array.dtype, array.base, address(array) - address(array.base)
            )
            t = make_tensor(np.ndarray(array.shape, array.dtype, function(flat), 0, array.strides))
    return t


def rebuild_parameter(data: Any, requires_grad: Any, hooks: Any) -> Any:
    """A parameter on a tensor's memory."""
    if not isinstance(data, Tensor):
        raise AttributeError(
            f"'{type(data).__name__}' object has no attribute 'detach': a parameter is made of a tensor"
        )
    if type(requires_grad) is not bool:
        raise TypeError(
            f"_make_subclass(): argument 'require_grad' (position 3) must be bool, not {type(requires_grad).__name__}"
        )
    return Parameter(data, requires_grad)


def rebuild_parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Any:
    """A parameter with attributes of the user's."""
    return _with_state(rebuild_parameter(data, requires_grad, hooks), state)


def rebuild_meta(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    """A tensor without data."""
    kind = _element_type(dtype).numpy
    sizes, strides = integers(size, "size"), integers(stride, "stride")
    if len(sizes) != len(strides):
        raise RuntimeError(
            f"dimensionality of sizes ({len(sizes)}) must match dimensionality of strides ({len(strides)})"
        )
    for n in sizes:
        if n < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {n}: {list(sizes)}"
            )
    if math.prod(sizes) >= _LIMIT:
        raise RuntimeError(f"numel: integer multiplication overflow (sizes {list(sizes)})")
    t: Tensor = make_tensor(MetaArray(sizes, kind, tuple(s * kind.itemsize for s in strides)))
    return _marked(t, None, requires_grad, None)


def rebuild_wrapper(
    kind: Any,
    dtype: Any,
    size: Any,
    stride: Any,
    offset: Any,
    layout: Any,
    device: Any,
    requires_grad: Any,
) -> Tensor:
    """A tensor that is made of others (`_make_wrapper_subclass`): which ones is in its attributes.
    It has no memory of its own.
    """
    if not (
        isinstance(kind, type) and issubclass(kind, Tensor) and hasattr(kind, "__torch_dispatch__")
    ):
        raise TypeError(
            f"cls must be a type (got {shown(kind)}) of tensors with __torch_dispatch__"
        )
    meta = rebuild_meta(dtype, size, stride, False)
    integers((offset,), "storage_offset")
    if (
        type(device) is not devices.device
        or type(layout) is not devices.layout
        or type(requires_grad) is not bool
    ):
        raise TypeError("_make_wrapper_subclass() needs a layout, a device and a bool")
    return _make_wrapper_subclass(
        kind, meta.shape, meta.stride(), dtype=dtype, device=device, requires_grad=requires_grad
    )


def rebuild_quantized(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    parameters: Any,
    requires_grad: Any,
    hooks: Any,
) -> Tensor:
    """A quantized tensor: integers in a storage, and a scheme with its parameters."""
    kind = storage.dtype if type(storage) is TypedStorage else None
    if type(kind) is not dtypes.dtype or kind.name not in STORED:
        raise UnpicklingError("a quantized tensor needs a storage of quantized numbers")
    if type(parameters) is not tuple or not parameters or parameters[0] not in SCHEMES.values():
        raise RuntimeError(
            "Can't deserialize quantized tensor with qscheme "
            + shown(parameters[:1] if parameters else None)
        )
    integers_ = rebuild_tensor(storage, offset, size, stride, dtypes.BY_NUMPY[STORED[kind.name]])
    return quantized_package().rebuilt(integers_, kind.name, parameters)


def rebuild_nested(*parts: Any) -> Tensor:
    """A nested tensor of the strided layout."""
    return LENT["nested"]()._files.rebuild_strided(*parts)


def rebuild_jagged(*parts: Any) -> Tensor:
    """A nested tensor of the jagged layout."""
    return LENT["nested"]()._files.rebuild_jagged(*parts)


class DimRange:
    """What PyTorch's compiler notes on the tensors inside of nested ones; nothing here reads it."""

    __slots__ = ("state",)

    def __init__(self) -> None:
        self.state: tuple[int | None, ...] = ()

    def __setstate__(self, state: Any) -> None:
        if type(state) is not list or not all(n is None or type(n) is int for n in state):
            raise UnpicklingError("the range of a dimension must be a list of numbers")
        self.state = tuple(state)


class _Sparse(threading.local):
    """The sparse tensors of the file that a thread is reading: their indices are looked at when its
    storages are filled.
    """

    made: list[Tensor] = []


_unseen = _Sparse()


def rebuild_sparse(layout: Any, data: Any) -> Tensor:
    """A sparse tensor of tensors and a size; where its indices lie is checked at the end of the
    file.
    """
    if type(layout) is not devices.layout or not layout.name.startswith("sparse_"):
        raise NotImplementedError(
            f"rebuilding sparse tensor for layout {shown(getattr(layout, 'name', layout))}"
        )
    wanted = 2 if layout is devices.sparse_coo else 3
    if type(data) is not tuple or not wanted < len(data) <= wanted + 2 - (wanted == 3):
        raise UnpicklingError(f"a sparse tensor is made of {wanted} tensors and a size")
    parts, size, flag = data[:wanted], integers(data[wanted], "size"), data[wanted + 1 :]
    for part in parts:
        if type(part) is not Tensor or type(part._array) is not np.ndarray:
            raise UnpicklingError(
                f"a sparse tensor is made of dense tensors, not of {type(part).__name__}"
            )
    if any(n < 0 for n in size) or math.prod(size) >= _LIMIT:
        raise RuntimeError(f"numel: integer multiplication overflow (sizes {list(size)})")
    for part in parts[:-1]:
        if part._array.dtype != np.int64 and (wanted == 2 or part._array.dtype != np.int32):
            raise UnpicklingError(
                f"the indices of a sparse tensor are int64 (or int32, compressed), not {part.dtype}"
            )
    parts = tuple([part.detach() for part in parts])
    functions = package()
    if wanted == 2:
        made = functions.sparse_coo_tensor(
            *parts, size, check_invariants=False, is_coalesced=_flag(flag[0]) if flag else None
        )
    else:
        made = functions.sparse_compressed_tensor(
            *parts, size, layout=layout, check_invariants=False
        )
    _unseen.made = [*_unseen.made, made]
    return made


def look_at_sparse() -> None:
    """Check the indices of the sparse tensors that were read."""
    made, _unseen.made = _unseen.made, []
    for t in made:
        package()._create.check_whole(t._array)


def forget_sparse() -> None:
    """Another file begins."""
    _unseen.made = []


def rebuild_from_type(function: Any, kind: Any, args: Any, state: Any) -> Any:
    """A tensor of a type of the user's, with its attributes, as a file asks for it."""
    if not any(function is known for known in REBUILD.values()):
        raise UnpicklingError(f"Trying to call reduce for unrecognized function {shown(function)}")
    return made_of_type(function, kind, args, state)


def made_of_type(function: Any, kind: Any, args: Any, state: Any) -> Any:
    """What a function makes, as a tensor of another type and with its attributes."""
    if function is rebuild_jagged:
        kind = Tensor  # the layout says it, and what PyTorch keeps in attributes is in `args`
        if type(state) is dict:
            own = [name for name in state if type(name) is str and name.startswith("_")]
            state = {name: value for name, value in state.items() if name not in own}
    if not (isinstance(kind, type) and issubclass(kind, Tensor)):
        raise TypeError(f"cls must be a type (got {shown(kind)}) of tensors")
    if type(args) not in (tuple, list):
        raise TypeError(
            f"the arguments of a rebuild function must be a tuple, not {type(args).__name__}"
        )
    t = function(*args)
    if kind is not Tensor and type(t) is not kind:
        t.__class__ = kind
    return _with_state(t, state)


def _with_state(t: Any, state: Any) -> Any:
    """A tensor with the attributes that its user gave it. Those of the class itself are not a
    file's to set.
    """
    slots = None
    if type(state) is tuple:
        if len(state) != 2:
            raise RuntimeError(f"Invalid serialized state: a tuple of {len(state)} entries")
        state, slots = state
    for part in (state, slots):
        if part is None:
            continue
        if type(part) is not dict:
            raise AttributeError(
                f"'{type(part).__name__}' object has no attribute 'items': the state of a tensor is a dict"
            )
        for key, value in part.items():
            if type(key) is not str:
                raise TypeError(f"attribute name must be string, not '{type(key).__name__}'")
            if not (key == "_is_param" and value is True) and (
                hasattr(Parameter, key) or key.startswith("__")
            ):
                raise TypeError(
                    f"attribute '{shown(key)}' of a tensor is not state that a file may set"
                )
        t.__dict__.update(part)
    return t


def get_layout(name: Any) -> Any:
    """The layout that a file names."""
    found = getattr(devices, name.removeprefix("torch."), None) if type(name) is str else None
    if type(found) is not devices.layout:
        raise KeyError(name if type(name) is str else type(name).__name__)
    return found


def shown(value: Any) -> str:
    """A value of a file as error messages show it: in bounded length, and without walking through
    it.
    """
    if type(value) is str:
        return value if len(value) <= 200 else value[:200] + "..."
    if isinstance(value, type) or type(value).__name__ in (
        "function",
        "builtin_function_or_method",
    ):
        return str(value)
    return f"an object of type {type(value).__name__}"


REBUILD: dict[tuple[str, str], Callable[..., Any]] = {
    ("torch._utils", "_rebuild_tensor"): rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): rebuild_tensor_v2,
    ("torch._utils", "_rebuild_tensor_v3"): rebuild_tensor_v3,
    ("torch._utils", "_rebuild_parameter"): rebuild_parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): rebuild_parameter_with_state,
    ("torch._utils", "_rebuild_meta_tensor_no_storage"): rebuild_meta,
    ("torch._utils", "_rebuild_sparse_tensor"): rebuild_sparse,
    ("torch._utils", "_rebuild_qtensor"): rebuild_quantized,
    ("torch._utils", "_rebuild_wrapper_subclass"): rebuild_wrapper,
    ("torch._utils", "_rebuild_nested_tensor"): rebuild_nested,
    ("torch.nested._internal.nested_tensor", "_rebuild_njt"): rebuild_jagged,
    ("torch._tensor", "_rebuild_from_type_v2"): rebuild_from_type,
}
