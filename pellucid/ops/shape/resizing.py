"""Resizing of the memory under tensors: `storage.resize_`.

NumPy cannot move the memory of existing arrays, so the tensors get arrays over the new memory. A
tensor whose elements do not all fit keeps its shape, but every element reads the start of the
memory, until it is large enough again. Programs use this to free memory with `resize_(0)` and
restore it later.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy import ndarray

from ..._living import living
from ...arrays.numpy_cpu import address, check_resizable, owner
from ...core.tensor import Tensor

_PLACE = (
    # key in a tensor's rare attributes: strides and offset in bytes, while its elements do not fit
    "place_in_storage"
)
_ROOM = 16  # minimum number of bytes: an element of the largest dtype


def resized(held: ndarray, size: int, known: Any) -> ndarray:
    """Memory of `size` bytes with what `held` begins with, where all tensors lie that lay in `held`.

    Args:
        held: the array that owns the memory.
        size: the number of bytes.
        known: a tensor that lies there, or None.

    Raises:
        RuntimeError: the memory is an array's of the user's.
    """
    check_resizable(held)
    fresh: ndarray = np.ndarray((size,), np.uint8, bytearray(max(size, _ROOM)))
    kept = min(size, held.nbytes)
    fresh[:kept] = np.ndarray((held.nbytes,), np.uint8, held.ravel("K").view(np.uint8))[:kept]
    # `held` is known to the storage, to here and the caller, and to what asks
    alone = known is not None and sys.getrefcount(held) <= 4
    for tensor in [known] if alone else _lying_in(held):
        _move(tensor, held, fresh)
    return fresh


def _lying_in(held: ndarray) -> list[Tensor]:
    return [x for x in living(Tensor) if type(x._array) is ndarray and owner(x._array) is held]


def _move(tensor: Tensor, held: ndarray, fresh: ndarray) -> None:
    a = tensor._array
    place = (tensor._x or {}).pop(_PLACE, None)
    strides, start = place or (a.strides, address(a) - address(held) if a.size else 0)
    ends = [(n - 1) * step for n, step in zip(a.shape, strides, strict=True)]
    if a.size and start + sum(ends) + a.itemsize > fresh.nbytes:
        tensor.extra()[_PLACE] = strides, start
        strides, start = (0,) * a.ndim, 0
        room = np.ndarray((_ROOM,), np.uint8, fresh.base)
        tensor._array = _on(room, fresh, a.shape, a.dtype)
        return
    tensor._array = np.ndarray(a.shape, a.dtype, fresh, start, strides)


def _on(room: ndarray, fresh: ndarray, shape: tuple[int, ...], kind: Any) -> ndarray:
    """Return an array every element of which is the start of `room`, and whose base is `fresh`,
    which may have no bytes.
    """

    class Place:
        base = fresh
        __array_interface__ = {
            "version": 3,
            "data": room.__array_interface__["data"],
            "shape": shape,
            "strides": (0,) * len(shape),
            "typestr": f"|V{kind.itemsize}",
        }

    return np.asarray(Place()).view(kind)
