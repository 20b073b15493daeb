"""Memory of another size under the tensors that lie in it: `storage.resize_`.

NumPy cannot move memory below arrays, so the tensors get arrays on the new memory. A tensor whose
elements do not all fit keeps its shape and reads the first of them everywhere, until the memory is
large enough again (programs free memory with `resize_(0)` and bring it back later).
"""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
from numpy import ndarray

from ...arrays.numpy_cpu import address, check_resizable, owner
from ...core.tensor import Tensor

_PLACE = (
    "place_in_storage"  # in a tensor's rare things: steps and start in bytes, while they do not fit
)
_ROOM = 16  # bytes that are there at least: an element of the largest dtype


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
    return [
        x
        for x in gc.get_objects()
        if isinstance(x, Tensor) and type(x._array) is ndarray and owner(x._array) is held
    ]


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
    """An array that reads one place everywhere and is `fresh`'s, which may have no bytes at all."""

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
