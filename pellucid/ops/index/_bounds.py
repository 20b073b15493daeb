"""Bounds checks of positions in an index, and their offsets in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from ... import config, shapes
from ...arrays.meta import MetaArray
from ...arrays.native import kernels, native_code_runs
from ...core.display.packing import packed_as
from ...core.primitive import TENSORS as F
from ...core.tensor import Tensor
from ...errors import DtypeError, IndexOutOfRangeError, OperationError
from .._rules import require_tensor

FEW = 2048  # up to this many positions, native code is at least as fast as NumPy


def inside(index: Any, size: int) -> bool:
    """Return whether all positions are in 0 ... size-1."""
    if not index.size or type(index) is MetaArray:  # a description has no positions
        return True
    if index.size <= FEW and native_code_runs() and type(index) is ndarray and config.kernels:
        found = kernels.indexing.along.inside(index, size)
        if found is not None:
            return bool(found)
    if index.size <= 32:
        few = index.ravel().tolist() if index.ndim != 1 else index.tolist()
        return min(few) >= 0 and max(few) < size
    if 0 in index.strides:  # look at each repeated position once
        index = index[tuple(slice(None if step else 1) for step in index.strides)]
    if index.dtype == np.int64:  # read as unsigned numbers, negative ones are greater than any size
        return bool(np.maximum.reduce(index.view(np.uint64), axis=None) < size)
    return bool(index.min() >= 0 and index.max() < size)


def first_outside(index: Any, low: int, high: int) -> int:
    """The first position, in C order, that is below `low` or not below `high`."""
    return int(index[(index < low) | (index >= high)].flat[0])


def bounded(index: Any, size: int, dim: int, error: Any = OperationError, where: str = "") -> None:
    """Refuse positions outside 0 ... size-1."""
    if not inside(index, size):
        raise error(
            f"{where}index {first_outside(index, 0, size)} is out of bounds for dimension {dim} with size {size}"
        )


def places(shape: tuple[int, ...], index: ndarray, dim: int) -> ndarray:
    """Flat positions, in a C-ordered array of `shape`, of the elements that `index` picks along
    `dim`.
    """
    strides = shapes.contiguous_strides(shape)
    flat: Any = index.astype(np.int64, copy=False) * strides[dim]
    for d, size in enumerate(index.shape):
        if d != dim and size > 1:
            flat = flat + (np.arange(size) * strides[d]).reshape(
                (size,) + (1,) * (index.ndim - 1 - d)
            )
    return flat


def vectors(*arrays: Any) -> list[Any]:
    """Scalars as vectors of one element (views, so that writes reach them)."""
    return [np.asarray(a).reshape(1) if a.ndim == 0 else a for a in arrays]


def bounded_line(index: Any, size: int) -> None:
    """`bounded` in PyTorch's words for `index_reduce`, and for `index_add` of vectors."""
    if not inside(index, size):
        raise IndexOutOfRangeError("index out of range in self")


INDEX_DTYPES = frozenset({np.dtype(np.int64), np.dtype(np.int32)})


def index_of(x: Tensor, dim: int, index: Any, name: str) -> tuple[int, Tensor]:
    """Dimension and index tensor of a gather or scatter, checked but for the positions."""
    require_tensor(index, name, "index", 3)
    dim = shapes.normalize_dim(dim, x._array.ndim)
    if index._array.dtype not in INDEX_DTYPES:
        if index._array.size == 0:
            return dim, packed_as(F.cast(index, dtype=np.dtype(np.int64)), index)
        shown = "gather" if name == "gather" else "scatter"
        raise DtypeError(f"{shown}(): Expected dtype int32/int64 for index")
    return dim, index
