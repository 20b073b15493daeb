"""Operations on meta tensors: shape, dtype and strides of the result, without data."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.meta import MetaArray
from ..errors import DeviceError, UnsupportedError
from ..shapes import broadcast_shapes
from .primitive import Primitive

asarray = np.asarray
NUMBERS = (bool, int, float, complex, np.number, np.bool_)


def run_on_meta(op: Primitive, arrays: list[Any], meta: list[bool], params: dict[str, Any]) -> Any:
    """The result without data."""
    sized = [a for a in arrays if a is not None and not isinstance(a, NUMBERS)]
    if not all(m or a.ndim == 0 for m, a in zip(meta, sized, strict=True)):
        raise DeviceError(
            "Expected all tensors to be on the same device, but found at least two devices, meta and cpu!", op=op.name
        )
    avals = [None if a is None or isinstance(a, NUMBERS) else (tuple(a.shape), a.dtype) for a in arrays]
    if op.aval is not None:
        result = op.aval(*avals, **params)
        if op.view:  # its refusals were PyTorch's; the strides come from the view itself
            result = _view_of_nothing(op, arrays[0], params)
    elif op.elementwise:
        shape = broadcast_shapes(*[a[0] for a in avals if a is not None])
        kind = next(a[1] for a in avals if a is not None)
        result = (shape, np.dtype(bool) if op.promote == "compare" else kind)
    elif op.view:
        result = _view_of_nothing(op, arrays[0], params)
    else:
        result = _probe(op, arrays, params)
    if op.outputs != 1:
        return [MetaArray(*aval) for aval in result]
    return MetaArray(*result)


def _view_of_nothing(op: Primitive, array: MetaArray, params: dict[str, Any]) -> Any:
    """Shape, dtype and strides of a view of an array without data: a view never reads, so one byte can stand for the memory."""
    phantom = np.lib.stride_tricks.as_strided(np.empty(1, array.dtype), array.shape, array.strides)
    result = op.numpy_forward(phantom, **params)
    if op.outputs != 1:
        return [(r.shape, r.dtype, r.strides) for r in result]
    return result.shape, result.dtype, result.strides


PROBE_LIMIT = 1 << 24


def _probe(op: Primitive, arrays: list[Any], params: dict[str, Any]) -> Any:
    """Shape and dtype from a run on zeros, for operations whose record has no `aval` rule and whose arguments are not huge."""
    total = sum(a.size for a in arrays if type(a) is MetaArray)
    if total > PROBE_LIMIT:
        raise UnsupportedError(f"{op.name} on meta tensors of {total} elements: its record has no shape rule")
    real = [np.zeros(a.shape, a.dtype) if type(a) is MetaArray else a for a in arrays]
    result = op.numpy_forward(*real, **params)
    if op.aux:
        result = result[0]
    if op.outputs != 1:
        return [(np.shape(r), asarray(r).dtype) for r in result]
    return (np.shape(result), asarray(result).dtype)
