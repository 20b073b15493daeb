"""Add to positions of an array that may repeat, as gradients of indexing need, without `np.add.at`
where that is slow.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy import ndarray

from .halves import HALVES, narrowed, widened
from .native import enabled, kernels, native_code_runs

KERNEL_SIZE = 2048  # from so many values on, a generated kernel is used
FEW = 64  # up to so many values, NumPy's one-by-one addition is as fast as any other way
_INT64 = np.dtype(np.int64)
ROWS_SIZE = 256  # the limit of KERNEL_SIZE for adding rows, for which NumPy must sort them


def add_rows(out: ndarray, rows: ndarray, values: ndarray) -> None:
    """`out[rows[i]] += values[i]` for all i; repeated rows accumulate.

    Args:
        out: (R, D), written to.
        rows: (n,) integers in 0 ... R-1.
        values: (n, D).
    """
    n = rows.size
    if n == 0 or values.size == 0:
        return
    kind = out.dtype.kind
    wide = out.shape[1]
    if values.size >= ROWS_SIZE and _in_float32(out, values):
        total = widened(out)
        add_rows(total, rows, widened(values))
        out[...] = narrowed(total, out.dtype)
        return
    if (
        values.size >= ROWS_SIZE
        and wide > 1
        and kind == "f"
        and out.dtype.itemsize >= 4
        and enabled()
    ):
        index = np.ascontiguousarray(rows, np.int64)
        if (
            kernels.indexing.embedding.scatter_add_rows(
                np.ascontiguousarray(values), index, out.shape[0], out=out
            )
            is not None
        ):
            return
    if wide == 1 or n * wide <= 64:
        _add_elements(out, rows, values, wide)
        return
    order = rows.argsort(kind="stable")
    ordered = rows[order]
    new = np.empty(n, bool)
    new[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    starts = np.flatnonzero(new)
    if starts.size == n:
        out[rows] += values
        return
    if starts.size * 4 < n or kind in "V":
        sums = _sums_of_runs(values[order], starts, out.dtype)
        out[ordered[starts]] += sums
    else:
        # Few repetitions: add the first occurrence of each row, then the second, and so on. No row
        # repeats within such a turn.
        rank = np.arange(n) - np.repeat(starts, np.diff(starts, append=n))
        for turn in range(int(rank.max()) + 1):
            chosen = order[rank == turn]
            out[rows[chosen]] += values[chosen]


def _in_float32(out: ndarray, values: ndarray) -> bool:
    """Whether to add two-byte floats in a float32 copy that is rounded once. Not if only a small
    part of the elements changes.
    """
    return out.dtype in HALVES and values.dtype is out.dtype and values.size * 4 >= out.size


def _sums_of_runs(values: ndarray, starts: ndarray, dtype: Any) -> ndarray:
    if dtype.kind == "V" or dtype == np.float16:
        return np.add.reduceat(values.astype(np.float32), starts, axis=0).astype(dtype)
    return np.add.reduceat(values, starts, axis=0)


def _add_elements(out: ndarray, rows: ndarray, values: ndarray, wide: int) -> None:
    flat = out.reshape(-1)
    if (
        not np.shares_memory(flat, out, 1) and flat.size
    ):  # pragma: no cover (callers pass contiguous arrays)
        raise ValueError("add_rows needs an array whose rows follow each other")
    places = rows if wide == 1 else (rows[:, None] * wide + np.arange(wide)).reshape(-1)
    amounts = values.reshape(-1)
    if flat.dtype.kind == "b":
        np.logical_or.at(flat, places, amounts)
    else:
        np.add.at(flat, places, amounts.astype(flat.dtype, copy=False))


def leading(
    shape: tuple[int, ...], index: tuple[Any, ...]
) -> tuple[list[int], tuple[int, ...], ndarray]:
    """The dimensions that an advanced index selects from, the shape of the selection, and its flat
    positions within these dimensions.

    Args:
        index: a NumPy index of full slices, integer arrays and boolean arrays.
    """
    dims: list[int] = []
    picks: list[ndarray] = []
    dim = 0
    for item in index:
        if isinstance(item, slice):
            dim += 1
        elif item.dtype == bool:
            picks += item.nonzero()
            dims += range(dim, dim + item.ndim)
            dim += item.ndim
        else:
            picks.append(item)
            dims.append(dim)
            dim += 1
    flat: Any = 0
    for d, pick in zip(dims, picks, strict=True):
        size = shape[d]
        low = pick.min(initial=0)
        if low < -size or pick.max(initial=-1) >= size:
            raise IndexError(
                f"index {low if low < -size else pick.max()} is out of bounds for axis {d} with size {size}"
            )
        place = pick + (pick < 0) * size if low < 0 else pick
        flat = flat * size + place
    return dims, flat.shape, flat.reshape(-1)


# up to so many elements, NumPy's one-by-one addition is faster than preparing another way
_FEW = 256


def add_at(out: ndarray, index: tuple[Any, ...], values: ndarray) -> None:
    """`out[index] += values`; repeated positions accumulate. `values` broadcasts to the shape of
    the selection.
    """
    if len(index) == 1 and index[0].dtype == bool:
        out[index] += values
        return
    kind = out.dtype
    if values.size <= _FEW and kind is values.dtype and kind.char in "fdlq":
        np.add.at(out, index, values)
        return
    picks = index[0]
    if (
        len(index) == 1 == picks.ndim
        and out.ndim > 1
        and out.flags.c_contiguous
        and values.shape == (picks.size, *out.shape[1:])
        and picks.min(initial=0) >= 0
        and picks.max(initial=-1) < len(out)
    ):  # rows, as for the nodes of a graph network
        width = math.prod(out.shape[1:])
        rows = np.ascontiguousarray(values).reshape(picks.size, width)
        add_rows(out.reshape(-1, width) if width else out.reshape(len(out), 0), picks, rows)
        return
    dims, picked, flat = leading(out.shape, index)
    rest = [d for d in range(out.ndim) if d not in dims]
    adjacent = dims == list(range(dims[0], dims[0] + len(dims))) and _together(index)
    where = dims[0] if adjacent else 0
    tail = tuple(out.shape[d] for d in rest)
    full = (*tail[:where], *picked, *tail[where:])
    values = np.broadcast_to(values, full)
    if where and picked:
        values = np.moveaxis(
            values, tuple(range(where, where + len(picked))), tuple(range(len(picked)))
        )
    rows = int(np.prod([out.shape[d] for d in dims], dtype=np.int64))
    width = int(np.prod(tail, dtype=np.int64))
    front = out.transpose(*dims, *rest)
    inplace = front.flags.c_contiguous
    table = (
        front.reshape(rows, width) if inplace else np.ascontiguousarray(front).reshape(rows, width)
    )
    add_rows(
        table,
        flat,
        np.ascontiguousarray(values).reshape(-1, width) if width else values.reshape(len(flat), 0),
    )
    if not inplace:
        front[...] = table.reshape(front.shape)


def _together(index: tuple[Any, ...]) -> bool:
    """Whether the arrays in an index are adjacent."""
    seen = ended = False
    for item in index:
        if isinstance(item, slice):
            ended = seen
        elif ended:
            return False
        else:
            seen = True
    return True


def _pays(index: ndarray, least: int = KERNEL_SIZE) -> bool:
    """Whether a kernel pays off: for at least `least` positions, or any number if native code is
    loaded already.
    """
    return enabled() and (index.size >= least or native_code_runs() and index.size > 0)


def _alike(x: ndarray, index: ndarray, dim: int) -> bool:
    """Whether the shapes differ in `dim` only, and the array is C-contiguous."""
    return (
        x.flags.c_contiguous
        and x.shape[:dim] == index.shape[:dim]
        and x.shape[dim + 1 :] == index.shape[dim + 1 :]
    )


@functools.lru_cache(maxsize=512)
def _starts(shape: tuple[int, ...], picked: tuple[int, ...], dim: int) -> tuple[ndarray, int]:
    """For an index of shape `picked` into a C-contiguous array of `shape`: the flat positions with
    index 0 along `dim`, and the stride along `dim`.
    """
    at: Any = np.zeros((1,) * len(shape), np.int64)
    step = dim_step = 1
    for d in range(len(shape) - 1, -1, -1):
        if d == dim:
            dim_step = step
        else:
            at = at + (np.arange(picked[d]) * step).reshape(-1, *(1,) * (len(shape) - 1 - d))
        step *= shape[d]
    # adding arrays of equal shape takes NumPy a third of the time of broadcasting
    if math.prod(picked) <= 256:
        at = at + np.zeros(picked, np.int64)
    return at, dim_step


@functools.lru_cache(maxsize=512)
def _aligned(
    shape: tuple[int, ...], picked: tuple[int, ...], dim: int
) -> tuple[ndarray, int] | None:
    """As `_starts` if the shapes differ in `dim` only; otherwise None."""
    same = (
        len(shape) == len(picked)
        and shape[:dim] == picked[:dim]
        and shape[dim + 1 :] == picked[dim + 1 :]
    )
    return _starts(shape, picked, dim) if same else None


def take_few(x: ndarray, index: ndarray, dim: int) -> ndarray:
    """`np.take_along_axis` for an index without negative positions, at a quarter of the cost for
    few elements.
    """
    way = short_way(x, index, dim)
    return np.take_along_axis(x, index, dim) if way is None else take_by(x, index, way)


def short_way(x: ndarray, index: ndarray, dim: int) -> tuple[ndarray, int] | None:
    """The second argument of `take_by` for few elements. None for many elements, or if the shapes
    differ in other dimensions than `dim`.
    """
    if index.size > 4096 or x.size > 4096 and not x.flags.c_contiguous:
        return None
    return _aligned(x.shape, index.shape, dim)


def take_by(x: ndarray, index: ndarray, way: tuple[ndarray, int]) -> ndarray:
    """The elements at non-negative positions along a dimension; `way` is from `short_way`."""
    starts, step = way
    return x.take(index + starts if step == 1 else index * step + starts)


def put_few(out: ndarray, index: ndarray, values: ndarray, dim: int) -> None:
    """`np.put_along_axis` into a new, C-ordered array, for an index without negative positions."""
    few = index.size <= 4096 and index.shape == values.shape and out.flags.c_contiguous
    known = _aligned(out.shape, index.shape, dim) if few else None
    if known is None:
        np.put_along_axis(out, index, values, dim)
    else:
        starts, step = known
        out.reshape(-1)[index * step + starts] = values


def few_places(
    out: ndarray, index: ndarray, values: ndarray, dim: int, most: int = FEW
) -> ndarray | None:
    """The flat positions of at most `most` elements in a C-contiguous array. None if the general
    way must be used.
    """
    if (
        index.size > most
        or values.ndim
        and values.shape != index.shape
        or index.ndim != out.ndim
        or not out.ndim
        or not out.flags.c_contiguous
    ):
        return None
    starts, step = _starts(out.shape, index.shape, dim)
    return index + starts if step == 1 else index * step + starts


def expanded_line(index: ndarray, dim: int) -> ndarray | None:
    """The positions along `dim` of an index that is expanded in all other dimensions, such as
    `index.view(-1, 1).expand_as(x)`. None for other indices.
    """
    if index.ndim < 2 or any(
        step and size > 1
        for d, (step, size) in enumerate(zip(index.strides, index.shape, strict=True))
        if d != dim
    ):
        return None
    return index[(*(0,) * dim, slice(None), *(0,) * (index.ndim - 1 - dim))]


def gather_along(x: ndarray, index: ndarray, dim: int) -> ndarray | None:
    """`np.take_along_axis` in native code, or None. Raises IndexError for a position out of range."""
    if not _pays(index):
        return None
    line = expanded_line(index, dim) if index.size > FEW and _alike(x, index, dim) else None
    if line is not None:
        if line.min() < 0:
            raise IndexError("index out of range in self")
        return x.take(line, dim)
    return kernels.indexing.along.gather_along(x, _in_order(index), dim)


def _in_order(index: ndarray) -> ndarray:
    """The index as a contiguous int64 array, which native code requires."""
    if index.dtype is _INT64 and index.flags.c_contiguous:
        return index
    return np.ascontiguousarray(index, np.int64)


def scatter_along(out: ndarray, index: ndarray, values: ndarray, dim: int, add: bool) -> bool:
    """`np.put_along_axis`, or sums, in native code. Returns False if it was not done. Raises
    IndexError for a position out of range.
    """
    if (
        values.shape != index.shape
        or values.dtype != out.dtype
        or not _pays(index, FEW if add else KERNEL_SIZE)
    ):
        return False
    if add and index.size >= FEW and _in_float32(out, values):
        total = widened(out)
        if not scatter_along(total, index, widened(values), dim, True):
            return False
        out[...] = narrowed(total, out.dtype)
        return True
    if add and dim == 0 and index.size > FEW and _alike(out, index, dim):
        line = expanded_line(index, dim)
        if line is not None:
            width = math.prod(out.shape[1:])
            done = kernels.indexing.embedding.scatter_add_rows(
                np.ascontiguousarray(values).reshape(-1, width),
                np.ascontiguousarray(line, np.int64),
                len(out),
                out=out.reshape(-1, width),
            )
            if done is not None:
                return True
    amounts = np.ascontiguousarray(values)
    return bool(kernels.indexing.along.scatter_along(out, _in_order(index), amounts, add, dim))
