"""Run rules over arrays that are not the host's: arrays without data (meta tensors) and those of
another array library.

A rule is given by its operation's record, whose fields tell the result's shape and dtype without
data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DeviceError, UnsupportedError
from ..shapes import broadcast_shapes
from . import numpy_cpu
from .layout import strides_of_result
from .meta import MetaArray
from .numpy_cpu import namespace_of

asarray = np.asarray
NUMBERS = (bool, int, float, complex, np.number, np.bool_)


# The types of the arguments of a rule on the host.
HOST = frozenset((np.ndarray, type(None), bool, int, float, complex))


def _meet(op: Any, arrays: list[Any], place: Any) -> None:
    """Raise PyTorch's error for arrays on different devices. Exceptions are zero-dimensional host
    arrays, and host indices into an array without data.
    """
    for a in arrays:
        if type(a) in HOST - {np.ndarray} or a.device == place:
            continue
        index = place == "meta" and not op.elementwise and a.dtype.kind in "biu"
        if a.device != "cpu" or a.ndim and not index:
            raise DeviceError(
                f"Expected all tensors to be on the same device, but found at least two devices, {place} and {a.device}!",
                op=op.name,
            )


def run_on_device(op: Any, given: list[Any], arrays: list[Any], params: dict[str, Any]) -> Any:
    """Run a rule by the array library that an argument belongs to."""
    first = next(a for a in arrays if type(a) not in HOST)
    xp = namespace_of(first)
    if op.check is not None:
        op.check(*xp.to_host(given), **params)
    if xp is not numpy_cpu:
        _meet(op, arrays, first.device)
        arrays = [xp.from_host(a) if type(a) is np.ndarray else a for a in arrays]
    return op.run_forward(xp, arrays, params)


def run_on_meta(op: Any, arrays: list[Any], params: dict[str, Any]) -> Any:
    """The description of a rule's result, as a MetaArray (or several)."""
    _meet(op, arrays, "meta")
    avals = [
        None if a is None or isinstance(a, NUMBERS) else (tuple(a.shape), a.dtype) for a in arrays
    ]
    if op.aval is not None:
        result = op.aval(*avals, **params)
        if op.view:  # `aval` has raised PyTorch's errors; the strides come from the view itself
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
    if (op.elementwise or op.lies is not None) and len(result) == 2:
        shape, kind = tuple(result[0]), np.dtype(result[1])
        told = strides_of_result(shape, arrays if op.lies is None else [arrays[k] for k in op.lies])
        return MetaArray(shape, kind, tuple([s * kind.itemsize for s in told]))
    return MetaArray(*result)


class _Nothing(np.ndarray):
    """An array of one element that stands for any memory: its views may reach outside."""


def _view_of_nothing(op: Any, array: MetaArray, params: dict[str, Any]) -> Any:
    """Shape, dtype and strides of a view of an array without data. A view never reads, so a single
    element can stand for the memory.
    """
    byte = np.empty(1, array.dtype).view(_Nothing)
    phantom = np.lib.stride_tricks.as_strided(byte, array.shape, array.strides, subok=True)
    result = op.numpy_forward(phantom, **params)
    if op.outputs != 1:
        return [(r.shape, r.dtype, r.strides) for r in result]
    return result.shape, result.dtype, result.strides


PROBE_LIMIT = 1 << 24


def _probe(op: Any, arrays: list[Any], params: dict[str, Any]) -> Any:
    """Shape and dtype of the result, found by a run on zeros. For operations whose record has no
    `aval` rule and arguments that are not huge.
    """
    total = sum(a.size for a in arrays if type(a) is MetaArray)
    if total > PROBE_LIMIT:
        raise UnsupportedError(
            f"{op.name} on meta tensors of {total} elements: its record has no shape rule"
        )
    real = [np.zeros(a.shape, a.dtype) if type(a) is MetaArray else a for a in arrays]
    result = op.numpy_forward(*real, **params)
    if op.aux:
        result = result[0]
    if op.outputs != 1:
        return [(np.shape(r), asarray(r).dtype) for r in result]
    return (np.shape(result), asarray(result).dtype)
