"""The order of elements along a dimension, with equal elements in the order that PyTorch leaves
them in.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import config
from ...arrays.halves import HALVES, narrowed, widened
from ...arrays.native import SMALL, kernels
from ...arrays.numpy_extra import comparable
from ...arrays.scatter import take_few
from ...errors import OperationError
from ...kernels.ordering import FEW


def order_of(x: Any, dim: int, descending: bool) -> Any:
    """Indices that sort `x` along `dim`, equals in their order; NaN last, or first when descending."""
    if not descending:
        return comparable(x).argsort(dim, kind="stable")
    # Sort the reversed array and read the result backwards, so that equal elements keep their
    # order.
    backwards = (slice(None),) * dim + (slice(None, None, -1),)
    return (x.shape[dim] - 1) - comparable(x)[backwards].argsort(dim, kind="stable")[backwards]


def places(x: np.ndarray, dim: int, k: int, largest: bool, how: str) -> np.ndarray:
    """Where the first `k` in order along `dim` stand, with equals as PyTorch leaves them.

    `how` is what it was asked for: one of `kernels.ordering.unstable.WAYS`.
    """
    if how == "stable" or how == "sort" and x.shape[dim] <= FEW:
        order = order_of(x, dim, largest)
        return order if k == x.shape[dim] else order[(*[slice(None)] * dim, slice(k))]
    if k == 0 or x.size == 0:
        return np.empty((*x.shape[:dim], k, *x.shape[dim + 1 :]), np.int64)
    keys = np.ascontiguousarray(_whole_numbers(x))
    made = _by_kernel(keys, dim, k, largest, how) if config.kernels else None
    if made is not None:
        return made[1]
    lines = np.moveaxis(keys, dim, -1)
    found = np.empty((*lines.shape[:-1], k), np.int64)
    for at in np.ndindex(lines.shape[:-1]):
        # NaN counts as the largest number, and NaNs as equal.
        ranks = np.unique(lines[at], return_inverse=True)[1].reshape(-1)
        found[at] = kernels.ordering.unstable.arranged(
            (-ranks if largest else ranks).tolist(), k, how
        )[:k]
    return np.ascontiguousarray(np.moveaxis(found, -1, dim))


def _by_kernel(x: np.ndarray, dim: int, k: int, largest: bool, how: str) -> Any:
    order = kernels.ordering.order
    if how == "top" and k <= order.MOST:
        return order.first(x, dim, k, largest, how=how)
    return order.sort(x, dim, largest, k, how)


def _whole_numbers(x: np.ndarray) -> np.ndarray:
    """Return numbers with the same order in a dtype that has a kernel."""
    if x.dtype in HALVES:
        return x.astype(np.float32)
    if x.dtype == np.uint64:
        return (x ^ np.uint64(1 << 63)).view(np.int64)
    if x.dtype.kind in "biu" and x.dtype.itemsize < 4:
        return x.astype(np.int32)
    return x.astype(np.int64) if x.dtype == np.uint32 else x


def ordered(xp: Any, x: Any, dim: int, k: int, largest: bool, how: str) -> Any:
    """(values, places) of the first `k` in order."""
    shape = x.shape
    if not shape:
        return x.copy(), np.zeros((), np.int64)
    if type(x) is not np.ndarray:
        order = xp.from_host(places(xp.to_host(x), dim, k, largest, how))
        return xp.take_along_axis(x, order, dim), order
    if how == "top" or how == "top unordered" or x.size >= SMALL or shape[dim] > FEW:
        if x.dtype in HALVES and x.size >= SMALL:  # float32 preserves their order
            values, order = ordered(xp, widened(x), dim, k, largest, how)
            return narrowed(values, x.dtype), order
        made = _by_kernel(x, dim, k, largest, how) if k and config.kernels else None
        if made is not None:
            return made
    order = places(x, dim, k, largest, how)
    return take_few(x, order, dim), order


def check_fractions(q: np.ndarray, name: str) -> None:
    if not ((q >= 0) & (q <= 1)).all():
        raise OperationError(f"{name}() q values must be in the range [0, 1]")


def quantile_spots(
    values: np.ndarray, q: np.ndarray, interpolation: str, ignore_nan: bool
) -> tuple[np.ndarray, ...]:
    """Where the quantiles of ordered lines lie: the places below and above, the part of the way
    between them, the last place that counts, and the place below as a float.
    """
    n = values.shape[-1]
    nan = values != values
    if ignore_nan:
        last = np.maximum(n - nan.sum(-1, keepdims=True) - 1, 0)
    else:
        last = np.where(nan.any(-1, keepdims=True), -1, n - 1)
    spots = np.clip(q.reshape((-1,)) * last.astype(values.dtype), 0, None)
    if not ignore_nan:
        # in a line with NaN, the last element is NaN
        spots = np.where(last < 0, values.dtype.type(n - 1), spots)
    if interpolation == "lower":
        spots = np.floor(spots)
    elif interpolation == "higher":
        spots = np.ceil(spots)
    elif interpolation == "nearest":
        spots = np.round(spots)
    start = np.floor(spots)
    part = np.full_like(spots, 0.5) if interpolation == "midpoint" else spots - start
    return (
        start.astype(np.int64),
        np.ceil(spots).astype(np.int64),
        part,
        last.astype(values.dtype),
        start,
    )
