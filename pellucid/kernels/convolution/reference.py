"""Convolution in plain NumPy: any number of spatial dimensions, any dtype, always available.

It is cross-correlation with PyTorch's layouts: ``x`` is ``(N, C, *spatial)``, ``w`` is ``(O, C //
groups, *kernel)``, ``g`` (a gradient of the output) is ``(N, O, *out)``. ``padding`` is an integer,
one integer per dimension, or ``(before, after)`` pairs. The patches of a block of images are laid
out as columns ("im2col": K. Chellapilla, S. Puri, P. Simard, 2006) and multiplied as one matrix
product per group.
"""

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..matmul import blas
from .geometry import ConvGeometry, IntOrSeq, conv_geometry, input_grad_geometry

Padding = int | Sequence[int | Sequence[int]]

# Largest number of elements in the columns of one block of images: about the size of a second-level
# cache. Larger blocks would only move more memory.
_BLOCK_ELEMENTS = 1 << 20


def conv(
    x: np.ndarray,
    w: np.ndarray,
    stride: IntOrSeq = 1,
    padding: Padding = 0,
    dilation: IntOrSeq = 1,
    groups: int = 1,
) -> np.ndarray:
    """Cross-correlate ``x`` (N, C, *spatial) with ``w`` (O, C // groups, *kernel), giving (N, O,
    *out).

    Raises RuntimeError if the shapes do not match. float16 and bfloat16 are summed in float32.

    >>> conv(np.arange(5.0).reshape(1, 1, 5), np.ones((1, 1, 2))).ravel()
    array([1., 3., 5., 7.])
    """
    geo = conv_geometry(x.shape, w.shape, stride, padding, dilation, groups)
    dtype = np.result_type(x, w)
    acc = _accumulator(dtype)
    x, w = x.astype(acc, copy=False), w.astype(acc, copy=False)
    out = np.empty(geo.out_shape, dtype)
    if _is_depthwise(geo):
        padded = _pad(x, geo)
        total = np.zeros(geo.out_shape, acc)
        for tap in np.ndindex(geo.k):
            total += padded[_tap_slices(geo, tap)] * _per_channel(w, tap, geo)
        out[...] = total
        return out
    weights = w.reshape(geo.groups, geo.o_group, geo.c_group * geo.taps)
    flat = out.reshape(geo.n, geo.groups, geo.o_group, prod(geo.out))
    for block in _blocks(geo):
        flat[block] = blas.matmul(weights, _columns(x[block], geo))
    return out


def conv_input_grad(
    g: np.ndarray,
    w: np.ndarray,
    x_shape: Sequence[int],
    stride: IntOrSeq = 1,
    padding: Padding = 0,
    dilation: IntOrSeq = 1,
    groups: int = 1,
) -> np.ndarray:
    """Return the gradient of the input of shape ``x_shape``, given the output's gradient ``g`` (N,
    O, *out).

    This is also transposed convolution: ``transposed_input_shape`` gives the ``x_shape`` for an
    ``output_padding``.

    >>> conv_input_grad(np.ones((1, 1, 4)), np.ones((1, 1, 2)), (1, 1, 5)).ravel()
    array([1., 2., 2., 2., 1.])
    """
    geo = input_grad_geometry(g.shape, w.shape, x_shape, stride, padding, dilation, groups)
    dtype = np.result_type(g, w)
    acc = _accumulator(dtype)
    g, w = g.astype(acc, copy=False), w.astype(acc, copy=False)
    # Rows beyond the last window (the remainder of the stride) get no gradient; they are part of
    # the padded input's sizes nevertheless.
    before = tuple(max(p[0], 0) for p in geo.pads)
    after = tuple(max(p[1], 0) for p in geo.pads)
    sizes = tuple(b + s + a for b, s, a in zip(before, geo.x, after, strict=True))
    inner = tuple(slice(b, b + s) for b, s in zip(before, geo.x, strict=True))
    out = np.empty(geo.x_shape, dtype)
    add = _add_windows if few_windows(geo) else _add_taps
    for block in _blocks(geo):
        padded = np.zeros((block.stop - block.start, geo.c, *sizes), acc)
        # A negative padding crops the input: the window grid then starts inside the array.
        grid = padded[
            (..., *(slice(b - p[0], None) for b, p in zip(before, geo.pads, strict=True)))
        ]
        add(grid, g[block], w, geo)
        out[block] = padded[(..., *inner)]
    return out


# The measured cost of writing and reading again an element of a column, in multiply-adds.
_COLUMN_COST = 300
# The cost of a NumPy call, in multiply-adds.
_CALL_COST = 250_000


def few_windows(geo: ConvGeometry) -> bool:
    """Return whether it is faster to add up the input gradient window by window.

    Gathering it visits every tap for every position of the input. That is wasted work if the kernel
    is about as large as the input, or larger than the input of a transposed convolution: most taps
    of most positions are then outside of the gradient.

    >>> few_windows(input_grad_geometry((64, 100, 1, 1), (100, 512, 4, 4), (64, 512, 4, 4)))
    True
    >>> few_windows(input_grad_geometry((64, 32, 30, 30), (32, 32, 3, 3), (64, 32, 32, 32)))
    False
    """
    windows = prod(geo.out)
    gathered = geo.n * geo.o * geo.c_group * geo.taps * (prod(geo.x) // prod(geo.stride))
    elements = geo.n * geo.c * geo.taps * windows
    calls = sum(len(_row_chunks(geo, b)) for b in _blocks(geo)) * windows
    return gathered > elements * (geo.o_group + _COLUMN_COST) + calls * _CALL_COST


def _row_chunks(geo: ConvGeometry, block: slice) -> range:
    """Return where chunks of the kernel's first dimension begin, so that the columns of each fit in
    a cache.
    """
    each = (block.stop - block.start) * geo.c * geo.taps // geo.k[0] * prod(geo.out)
    return range(0, geo.k[0], max(1, _BLOCK_ELEMENTS // max(each, 1)))


def _add_windows(grid: np.ndarray, g: np.ndarray, w: np.ndarray, geo: ConvGeometry) -> None:
    """For each position of the gradient, add the kernel, scaled by the gradient, to that position's
    window.
    """
    count, rows = len(g), _row_chunks(geo, slice(0, len(g)))
    by_window = g.reshape(count, geo.groups, geo.o_group, prod(geo.out)).swapaxes(2, 3)
    starts = list(np.ndindex(geo.out))
    for first in rows:
        some = w[:, :, first : first + rows.step]
        k = some.shape[2:]
        flat = some.reshape(geo.groups, geo.o_group, geo.c_group * prod(k))
        columns = blas.matmul(by_window, flat)
        columns = columns.reshape(count, geo.groups, len(starts), geo.c_group, *k)
        for number, position in enumerate(starts):
            begin = [p * s for p, s in zip(position, geo.stride, strict=True)]
            begin[0] += first * geo.dilation[0]
            window = grid[
                (
                    ...,
                    *(
                        slice(b, b + (size - 1) * d + 1, d)
                        for b, size, d in zip(begin, k, geo.dilation, strict=True)
                    ),
                )
            ]
            window += columns[:, :, number].reshape(window.shape)


def _add_taps(grid: np.ndarray, g: np.ndarray, w: np.ndarray, geo: ConvGeometry) -> None:
    """For each tap of the kernel, add the gradient, weighted by the tap, to the positions that the
    tap reads.
    """
    if _is_depthwise(geo):
        for tap in np.ndindex(geo.k):
            grid[_tap_slices(geo, tap)] += g * _per_channel(w, tap, geo)
        return
    count = len(g)
    weights = w.reshape(geo.groups, geo.o_group, geo.c_group * geo.taps).swapaxes(1, 2)
    columns = blas.matmul(weights, g.reshape(count, geo.groups, geo.o_group, prod(geo.out)))
    columns = columns.reshape(count, geo.c, *geo.k, *geo.out)
    for tap in np.ndindex(geo.k):
        grid[_tap_slices(geo, tap)] += columns[(slice(None), slice(None), *tap)]


def conv_weight_grad(
    g: np.ndarray,
    x: np.ndarray,
    w_shape: Sequence[int],
    stride: IntOrSeq = 1,
    padding: Padding = 0,
    dilation: IntOrSeq = 1,
    groups: int = 1,
) -> np.ndarray:
    """Return the gradient of the weight of shape ``w_shape``, given the output's gradient ``g`` and
    the input ``x``.

    >>> conv_weight_grad(np.ones((1, 1, 4)), np.arange(5.0).reshape(1, 1, 5), (1, 1, 2)).ravel()
    array([ 6., 10.])
    """
    geo = conv_geometry(x.shape, w_shape, stride, padding, dilation, groups)
    _check_grad(g, geo)
    dtype = np.result_type(g, x)
    acc = _accumulator(dtype)
    g, x = g.astype(acc, copy=False), x.astype(acc, copy=False)
    if _is_depthwise(geo):
        padded = _pad(x, geo)
        out = np.empty(geo.w_shape, acc)
        axes = (0, *range(2, 2 + len(geo.x)))
        for tap in np.ndindex(geo.k):
            out[(slice(None), 0, *tap)] = (g * padded[_tap_slices(geo, tap)]).sum(axes)
        return out.astype(dtype, copy=False)
    total = np.zeros((geo.groups, geo.o_group, geo.c_group * geo.taps), acc)
    for block in _blocks(geo):
        columns = _columns(x[block], geo)
        grads = g[block].reshape(len(columns), geo.groups, geo.o_group, prod(geo.out))
        total += blas.matmul(grads, columns.swapaxes(2, 3)).sum(0)
    return total.reshape(geo.w_shape).astype(dtype, copy=False)


def _accumulator(dtype: np.dtype) -> np.dtype:
    """Return the dtype to sum in: float32 for floats of one or two bytes (NumPy does not treat
    bfloat16 and float8 as floats), else the dtype itself.
    """
    if dtype.itemsize <= 2 and (dtype.kind == "f" or dtype.name.startswith(("bfloat", "float8"))):
        return np.dtype(np.float32)
    return dtype


def _check_grad(g: np.ndarray, geo: ConvGeometry) -> None:
    if g.shape != geo.out_shape:
        raise RuntimeError(
            f"Expected grad_output of shape {list(geo.out_shape)}, but got {list(g.shape)}"
        )


def _is_depthwise(geo: ConvGeometry) -> bool:
    return geo.c_group == 1 and geo.o_group == 1 and geo.groups > 1


def _per_channel(w: np.ndarray, tap: tuple[int, ...], geo: ConvGeometry) -> np.ndarray:
    return w[(slice(None), 0, *tap)].reshape(geo.c, *(1,) * len(geo.k))


def _blocks(geo: ConvGeometry) -> Iterator[slice]:
    per_image = max(1, geo.c * geo.taps * prod(geo.out))
    step = max(1, _BLOCK_ELEMENTS // per_image)
    for start in range(0, geo.n, step):
        yield slice(start, min(start + step, geo.n))


def _pad(x: np.ndarray, geo: ConvGeometry) -> np.ndarray:
    """Return ``x`` with zeros around it; a negative padding crops."""
    crop = tuple(
        slice(max(-p[0], 0), s - max(-p[1], 0)) for p, s in zip(geo.pads, geo.x, strict=True)
    )
    x = x[(..., *crop)]
    pads = tuple((max(a, 0), max(b, 0)) for a, b in geo.pads)
    if not any(a or b for a, b in pads):
        return x
    shape = tuple(s + a + b for s, (a, b) in zip(x.shape[2:], pads, strict=True))
    padded = np.zeros((*x.shape[:2], *shape), x.dtype)
    padded[(..., *(slice(a, a + s) for s, (a, _) in zip(x.shape[2:], pads, strict=True)))] = x
    return padded


def _tap_slices(geo: ConvGeometry, tap: tuple[int, ...]) -> tuple[object, ...]:
    """Return the index of the elements of the padded input that kernel position ``tap`` reads, one
    for each output position.
    """
    slices = []
    for offset, dilation, stride, out in zip(tap, geo.dilation, geo.stride, geo.out, strict=True):
        start = offset * dilation
        slices.append(slice(start, start + (out - 1) * stride + 1, stride))
    return (..., *slices)


def _columns(x: np.ndarray, geo: ConvGeometry) -> np.ndarray:
    """Return the patches of ``x`` as (block, groups, C // groups * taps, out positions)."""
    padded = _pad(x, geo)
    count, dims = len(x), len(geo.x)
    steps = padded.strides[2:]
    windows = as_strided(
        padded,
        (count, geo.groups, geo.c_group, *geo.k, *geo.out),
        (
            padded.strides[0],
            padded.strides[1] * geo.c_group,
            padded.strides[1],
            *(steps[i] * geo.dilation[i] for i in range(dims)),
            *(steps[i] * geo.stride[i] for i in range(dims)),
        ),
        writeable=False,
    )
    return windows.reshape(count, geo.groups, geo.c_group * geo.taps, prod(geo.out))
