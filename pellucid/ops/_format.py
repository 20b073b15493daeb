"""Which results keep the memory format of their operands."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .. import shapes
from ..arrays.numpy_cpu import copy, ordered
from ..core import tracing
from ..core.tensor import Tensor


def has_channels_last(a: Any) -> bool:
    """Whether an array is a batch of images or volumes whose channels are closest in memory."""
    if type(a) is not np.ndarray or a.ndim not in (4, 5) or a.flags.c_contiguous:
        return False
    return _grow_from_channels(a.shape, a.strides)


@lru_cache(1024)
def _grow_from_channels(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    # As in PyTorch, the strides must grow in this order, with or without gaps.
    least, near = 0, strides[1]
    for d in (1, *range(len(shape) - 1, 1, -1), 0):
        if not shape[d] or strides[d] < max(least, 1) or (d == 0 and least == near):
            return False
        least = strides[d] * max(shape[d], 1)
    return True


@lru_cache(1024)
def _close_channels(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return the strides, in bytes, of a contiguous channels-last array."""
    return tuple([s * itemsize for s in shapes.channels_last_strides(shape)])


def in_format(result: Tensor, *inputs: Tensor) -> Tensor:
    """The result, with its channels closest in memory where those of one of the inputs are, and in
    rows otherwise: what PyTorch's layers of images do.

    The values are those that the operation made, copied once: there is no kernel for this order of
    memory.
    """
    for x in inputs:
        if x._array.flags.c_contiguous if type(x._array) is np.ndarray else True:
            continue
        if (
            has_channels_last(x._array)
            and type(a := result._array) is np.ndarray
            and a.ndim in (4, 5)
        ):
            if a.size and a.strides != _close_channels(a.shape, a.itemsize):
                made = copy(a.transpose(shapes.moved(a.ndim, 1, -1)), "C")
                _relaid(result, made.transpose(shapes.moved(a.ndim, -1, 1)))
            return result
        return in_rows(result)
    return result


def in_order_of(result: Tensor, like: Tensor) -> Tensor:
    """The result with its dimensions in the order in memory that those of `like` have, whose last one
    is to be the closest; else in rows.
    """
    a, b = result._array, like._array
    if type(a) is not np.ndarray or type(b) is not np.ndarray or not a.size:
        return result
    last = b.ndim - 1
    order = tuple(range(last + 1))
    if b.strides[last] == b.itemsize and min(b.strides) > 0:
        order = (*sorted(range(last), key=lambda d: -b.strides[d]), last)
    rows = a.transpose(order)
    if not rows.flags.c_contiguous:
        made = ordered(rows)
        _relaid(result, made.transpose([order.index(d) for d in range(last + 1)]))
    return result


def in_rows(result: Tensor) -> Tensor:
    """The result of a layer whose input is neither in rows nor has its channels closest: in rows."""
    a = result._array
    if type(a) is np.ndarray and not a.flags.c_contiguous:
        _relaid(result, ordered(a))
    return result


def _relaid(result: Tensor, made: np.ndarray) -> None:
    """Replace the array of a result by one that has the same values in another memory layout."""
    if tracing.tracer():
        tracing.tracer().copied(result._array, made)
    result._array, result._view, result._ver = made, None, None
