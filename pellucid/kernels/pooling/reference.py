"""Pooling in plain NumPy: any number of spatial dimensions, any real dtype, always available.

Arrays are ``(N, C, *spatial)``. Besides the values, max pooling returns the flat index of each
maximum in the input's spatial positions (PyTorch's convention), which is all that its gradient
needs. NaN counts as larger than every number.
"""

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from ..convolution.geometry import (
    IntOrSeq,
    PoolGeometry,
    adaptive_windows,
    first_places,
    per_dim,
    pool_geometry,
)
from ..convolution.reference import _accumulator


def max_pool(
    x: np.ndarray,
    kernel_size: IntOrSeq,
    stride: IntOrSeq | None = None,
    padding: IntOrSeq = 0,
    dilation: IntOrSeq = 1,
    ceil_mode: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest value of every window of ``x`` (N, C, *spatial), and its int64 flat index
    in the spatial positions.

    ``stride`` defaults to ``kernel_size``. Padding is never the maximum. Raises RuntimeError if the
    padding is more than half of the kernel.

    >>> values, index = max_pool(np.array([[[3.0, 1.0, 2.0, 5.0]]]), 2)
    >>> values.ravel(), index.ravel()
    (array([3., 5.]), array([0, 3]))
    """
    geo = pool_geometry(x.shape, kernel_size, stride, padding, dilation, ceil_mode)
    padded = _pad(x, geo, _lowest(x.dtype))
    # A window in which all values are the lowest keeps its first position inside the input.
    index = _flat_index(first_places(geo.x, geo.out, geo.stride, geo.pad, geo.dilation), geo)
    index = np.broadcast_to(index, geo.out_shape).copy()
    best = np.full(geo.out_shape, _lowest(x.dtype), x.dtype)
    if not best.size:  # NumPy's masked copy reads an element even if there is none
        return best, index
    for tap in np.ndindex(geo.k):
        value = padded[_tap_slices(geo, tap)]
        wins = (value > best) | (value != value)  # NaN is unequal to itself
        np.copyto(best, value, where=wins)
        positions = [
            np.arange(geo.out[d]) * geo.stride[d] - geo.pad[d] + tap[d] * geo.dilation[d]
            for d in range(len(geo.x))
        ]
        np.copyto(index, np.broadcast_to(_flat_index(positions, geo), geo.out_shape), where=wins)
    return best, index


def max_pool_grad(g: np.ndarray, index: np.ndarray, x_shape: Sequence[int]) -> np.ndarray:
    """Return the gradient of the input of ``max_pool`` (or ``adaptive_max_pool``): ``g`` added up
    at the positions of the maxima.

    >>> max_pool_grad(np.array([[[1.0, 2.0]]]), np.array([[[0, 3]]]), (1, 1, 4)).ravel()
    array([1., 0., 0., 2.])
    """
    planes, size = prod(x_shape[:2]), prod(x_shape[2:])
    acc = _accumulator(g.dtype)
    flat = index.reshape(planes, prod(index.shape[2:])) + np.arange(planes)[:, None] * size
    out = np.zeros(planes * size, acc)
    np.add.at(out, flat.ravel(), g.ravel().astype(acc, copy=False))
    return out.reshape(tuple(x_shape)).astype(g.dtype, copy=False)


def avg_pool(
    x: np.ndarray,
    kernel_size: IntOrSeq,
    stride: IntOrSeq | None = None,
    padding: IntOrSeq = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> np.ndarray:
    """Return the mean of every window of ``x`` (N, C, *spatial).

    The divisor is the window's size clipped to the padded input (without ``count_include_pad``, to
    the input itself), or ``divisor_override``.

    >>> avg_pool(np.array([[[3.0, 1.0, 2.0, 5.0]]]), 2).ravel()
    array([2. , 3.5])
    """
    geo = pool_geometry(x.shape, kernel_size, stride, padding, 1, ceil_mode)
    padded = _pad(x.astype(_accumulator(x.dtype), copy=False), geo, 0)
    total = np.zeros(geo.out_shape, padded.dtype)
    for tap in np.ndindex(geo.k):
        total += padded[_tap_slices(geo, tap)]
    return _divide(total, geo.divisors(count_include_pad, divisor_override)).astype(
        x.dtype, copy=False
    )


def avg_pool_grad(
    g: np.ndarray,
    x_shape: Sequence[int],
    kernel_size: IntOrSeq,
    stride: IntOrSeq | None = None,
    padding: IntOrSeq = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> np.ndarray:
    """Return the gradient of the input of ``avg_pool``, whose shape is ``x_shape``.

    >>> avg_pool_grad(np.array([[[2.0, 4.0]]]), (1, 1, 4), 2).ravel()
    array([1., 1., 2., 2.])
    """
    geo = pool_geometry(x_shape, kernel_size, stride, padding, 1, ceil_mode)
    share = _divide(
        g.astype(_accumulator(g.dtype), copy=False),
        geo.divisors(count_include_pad, divisor_override),
    )
    padded = np.zeros((*geo.x_shape[:2], *geo.padded), share.dtype)
    for tap in np.ndindex(geo.k):
        padded[_tap_slices(geo, tap)] += share
    inner = tuple(slice(p, p + s) for p, s in zip(geo.pad, geo.x, strict=True))
    return np.ascontiguousarray(padded[(..., *inner)]).astype(g.dtype, copy=False)


def adaptive_avg_pool(x: np.ndarray, output_size: IntOrSeq) -> np.ndarray:
    """Return means over windows chosen so that the output has ``output_size``: window i covers
    floor(i*in/out)..ceil((i+1)*in/out).

    >>> adaptive_avg_pool(np.array([[[1.0, 2.0, 3.0]]]), 2).ravel()
    array([1.5, 2.5])
    """
    dims = x.ndim - 2
    out = x.astype(_accumulator(x.dtype), copy=False)
    if output_size in (1, (1,) * dims) and 0 not in x.shape[2:]:
        # With a single window, this is the mean of each plane, which NumPy adds pairwise.
        n = prod(x.shape[2:])
        total = np.add.reduce(out.reshape(*x.shape[:2], n), -1)
        return (total / n).reshape(*x.shape[:2], *(1,) * dims).astype(x.dtype)
    # A window is a box, so its mean can be computed one dimension at a time.
    for d, size in enumerate(per_dim(output_size, dims, "output_size")):
        axis = 2 + d
        windows = adaptive_windows(out.shape[axis], size)
        if out.shape[axis] == size:
            continue
        parts = [
            out[_along(axis, start, stop)].mean(axis, keepdims=True) for start, stop in windows
        ]
        out = np.concatenate(parts, axis) if parts else out[_along(axis, 0, 0)]
    return out.astype(x.dtype) if out.dtype != x.dtype or out is x else out


def adaptive_avg_pool_grad(g: np.ndarray, x_shape: Sequence[int]) -> np.ndarray:
    """Return the gradient of the input of ``adaptive_avg_pool``, whose shape is ``x_shape``.

    >>> adaptive_avg_pool_grad(np.array([[[2.0, 4.0]]]), (1, 1, 3)).ravel()
    array([1., 3., 2.])
    """
    grad = g.astype(_accumulator(g.dtype), copy=False)
    for d in range(len(x_shape) - 2):
        axis = 2 + d
        windows = adaptive_windows(x_shape[axis], grad.shape[axis])
        shape = list(grad.shape)
        shape[axis] = x_shape[axis]
        spread = np.zeros(shape, grad.dtype)
        for i, (start, stop) in enumerate(windows):
            spread[_along(axis, start, stop)] += grad[_along(axis, i, i + 1)] / (stop - start)
        grad = spread
    return grad.astype(g.dtype, copy=False)


def adaptive_max_pool(x: np.ndarray, output_size: IntOrSeq) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest value and its int64 flat index for the windows of ``adaptive_avg_pool``.
    Its gradient is ``max_pool_grad``.

    >>> values, index = adaptive_max_pool(np.array([[[1.0, 4.0, 3.0]]]), 2)
    >>> values.ravel(), index.ravel()
    (array([4., 4.]), array([1, 1]))
    """
    dims = x.ndim - 2
    sizes = per_dim(output_size, dims, "output_size")
    windows = [adaptive_windows(x.shape[2 + d], sizes[d]) for d in range(dims)]
    best = np.empty((*x.shape[:2], *sizes), x.dtype)
    index = np.empty(best.shape, np.int64)
    positions = np.arange(prod(x.shape[2:])).reshape(x.shape[2:])
    for cell in np.ndindex(*sizes):
        box = tuple(slice(*windows[d][cell[d]]) for d in range(dims))
        values = x[(..., *box)]
        values = values.reshape(*x.shape[:2], prod(values.shape[2:]))
        winner = _argmax(values)
        best[(..., *cell)] = np.take_along_axis(values, winner[..., None], -1)[..., 0]
        index[(..., *cell)] = positions[box].ravel()[winner]
    return best, index


def _argmax(values: np.ndarray) -> np.ndarray:
    """Return the first maximum along the last axis, or the last NaN if there is one (the result of
    PyTorch's order of comparisons).
    """
    winner = values.argmax(-1)
    nan = values != values
    if nan.any():
        last = values.shape[-1] - 1 - nan[..., ::-1].argmax(-1)
        winner = np.where(nan.any(-1), last, winner)
    return winner


def _along(axis: int, start: int, stop: int) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, slice(start, stop))


def _lowest(dtype: np.dtype) -> object:
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    if dtype.kind == "b":
        return False
    return dtype.type(-np.inf)


def _flat_index(positions: Sequence[np.ndarray], geo: PoolGeometry) -> np.ndarray:
    flat = np.zeros((1,) * len(geo.x), np.int64)
    for d, position in enumerate(positions):
        shape = [1] * len(geo.x)
        shape[d] = -1
        flat = flat * geo.x[d] + position.reshape(shape)
    return flat


def _pad(x: np.ndarray, geo: PoolGeometry, value: object) -> np.ndarray:
    if geo.padded == geo.x:
        return x
    padded = np.full((*x.shape[:2], *geo.padded), value, x.dtype)
    padded[(..., *(slice(p, p + s) for p, s in zip(geo.pad, geo.x, strict=True)))] = x
    return padded


def _tap_slices(geo: PoolGeometry, tap: tuple[int, ...]) -> tuple[object, ...]:
    return (..., *_starts(geo, tap))


def _starts(geo: PoolGeometry, tap: tuple[int, ...]) -> Iterator[slice]:
    for offset, dilation, stride, out in zip(tap, geo.dilation, geo.stride, geo.out, strict=True):
        start = offset * dilation
        yield slice(start, start + (out - 1) * stride + 1, stride)


def _divide(total: np.ndarray, divisors: np.ndarray) -> np.ndarray:
    if total.dtype.kind == "i":  # rounded towards zero, as in C
        by = divisors.astype(total.dtype)
        return np.sign(total) * np.sign(by) * (np.abs(total) // np.abs(by))
    if total.dtype.kind == "u":
        return total // divisors.astype(total.dtype)
    return total / divisors.astype(total.dtype)
