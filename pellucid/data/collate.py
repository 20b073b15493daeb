"""Combine samples into batches."""

from __future__ import annotations

import contextlib
import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core import observe
from ..core.public import FUNCTIONS
from ..core.tensor import Tensor, make_tensor
from ..errors import ArgumentTypeError, OperationError

_torch = FUNCTIONS["torch"]
# Makes the memory of a batch; a worker process puts its own allocator here, whose memory the main
# process shares.
allocate: list[Callable[..., np.ndarray]] = [np.empty]
# Arrays of text and of objects, by their dtype's `str`: they cannot become tensors.
np_str_obj_array_pattern = re.compile(r"[SaUO]")
_REFUSED = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_convert(data: Any) -> Any:
    """Converts NumPy arrays and numbers in `data` to tensors, and leaves everything else unchanged.

    >>> import pellucid as torch
    >>> import numpy as np
    >>> torch.utils.data.default_convert({"x": np.array([1, 2]), "name": "a"})
    {'x': tensor([1, 2]), 'name': 'a'}
    """
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return (
            data if np_str_obj_array_pattern.search(data.dtype.str) else _torch["as_tensor"](data)
        )
    return rebuild(
        data,
        lambda: {k: default_convert(v) for k, v in data.items()},
        lambda: [default_convert(d) for d in data],
    )


def rebuild(
    like: Any, mapping: Callable[[], dict[Any, Any]], items: Callable[[], list[Any]]
) -> Any:
    """Converted contents in the type of the container `like`; `like` itself when it is none."""
    kind: Any = type(like)
    if isinstance(like, Mapping):
        values = mapping()
        try:
            if isinstance(like, MutableMapping):
                clone: Any = copy.copy(like)
                clone.update(values)
                return clone
            return kind(values)
        except TypeError:  # a mapping that cannot be made from one
            return values
    if isinstance(like, tuple) and hasattr(like, "_fields"):
        return kind(*items())
    if isinstance(like, tuple):
        return items()
    if isinstance(like, Sequence) and not isinstance(like, (str, bytes)):
        elements = items()
        try:
            if isinstance(like, MutableSequence):
                clone = copy.copy(like)
                for i, element in enumerate(elements):
                    clone[i] = element
                return clone
            return kind(elements)
        except TypeError:
            return elements
    return like


def collate(batch: Any, *, collate_fn_map: dict[Any, Any] | None = None) -> Any:
    """Combine samples by the functions of a table of types; containers are combined element by
    element.

    Raises:
        TypeError: a type that is not in the table. RuntimeError: lists of unequal lengths.
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        function = collate_fn_map.get(kind)
        if function is None:
            function = next((f for t, f in collate_fn_map.items() if isinstance(first, t)), None)
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        return rebuild(
            first,
            lambda: {
                k: collate([d[k] for d in batch], collate_fn_map=collate_fn_map) for k in first
            },
            list,
        )
    if not isinstance(first, Sequence):
        hint = "__getitem__ returned None: is a `return` missing?" if batch[0] is None else None
        raise ArgumentTypeError(_REFUSED.format(kind), hint=hint)
    if not (isinstance(first, tuple) and hasattr(first, "_fields")):
        size = len(first)
        if set(map(len, batch)) != {size}:
            raise OperationError("each element in list of batch should be of equal size")
    columns = list(zip(*batch))
    return rebuild(
        first, dict, lambda: [collate(column, collate_fn_map=collate_fn_map) for column in columns]
    )


def _joined(arrays: list[Any]) -> np.ndarray | None:
    """Plain arrays of one shape and dtype in one new array; None where they are not that, or are
    empty.
    """
    first = arrays[0]
    if set(map(type, arrays)) != {np.ndarray} or not first.size:
        return None
    if not first.ndim:
        same = [a.item() for a in arrays if a.dtype is first.dtype and not a.ndim]
        return np.array(same, first.dtype) if len(same) == len(arrays) else None
    try:
        if set(map(len, arrays)) != {len(first)}:
            return None
        out = allocate[0]((len(arrays), *first.shape), first.dtype)
        # One call joins them much faster than `stack`; what differs in dtype or in another
        # dimension is refused.
        np.concatenate(arrays, out=out.reshape(-1, *first.shape[1:]), casting="no")
    except (TypeError, ValueError):
        return None
    return out


def _batch(array: np.ndarray, samples: Any = ()) -> Tensor:
    result = make_tensor(array)
    if observe.observers:
        observe.notify("created", result, samples)
    return result


def collate_tensor_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    """Tensors of one shape stacked along a new first dimension."""
    arrays = [t._array for t in batch if isinstance(t, Tensor) and not t._rg]
    out = _joined(arrays) if len(arrays) == len(batch) else None
    return _torch["stack"](batch, 0) if out is None else _batch(out, batch)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """NumPy arrays of one shape stacked into a tensor."""
    if np_str_obj_array_pattern.search(batch[0].dtype.str):
        raise ArgumentTypeError(_REFUSED.format(batch[0].dtype))
    _torch["as_tensor"](batch[0])  # refuses dtypes that tensors do not have
    arrays = [b for b in batch if b.flags.c_contiguous]
    out = _joined(arrays) if len(arrays) == len(batch) else None
    if out is not None:
        return _batch(out)
    return collate([_torch["as_tensor"](b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    """NumPy numbers as a tensor."""
    return _torch["as_tensor"](batch)


def collate_float_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    """Python floats as a float64 tensor."""
    if set(map(type, batch)) == {float}:
        return _batch(np.array(batch, np.float64))
    return _torch["tensor"](batch, dtype=dtypes.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    """Python ints as a tensor."""
    if set(map(type, batch)) == {int}:
        with contextlib.suppress(OverflowError):  # which `tensor` explains
            return _batch(np.array(batch, np.int64))
    return _torch["tensor"](batch)


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Strings as they are."""
    return batch


default_collate_fn_map: dict[Any, Any] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """Combines a list of samples into a batch: stacks tensors and arrays, converts numbers to
    tensors, and handles containers element by element.

    Example:
        >>> default_collate([(1, 2.0), (3, 4.0)])
        [tensor([1, 3]), tensor([2., 4.], dtype=torch.float64)]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
