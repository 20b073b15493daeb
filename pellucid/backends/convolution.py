"""Convolution and pooling of the NumPy backend: generated kernels where they apply, the NumPy reference elsewhere.

Arrays are ``(N, C, *spatial)``, weights ``(O, C // groups, *kernel)``; see `conv_reference` and `pool_reference` for each
function's meaning. Kernels take float32; two-byte floats are computed in float32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from pellucid.backends import conv_reference, pool_reference
from pellucid.codegen.conv_geometry import IntOrSeq, per_dim
from pellucid.codegen.target import available

__all__ = [
    "adaptive_avg_pool",
    "adaptive_avg_pool_grad",
    "adaptive_max_pool",
    "avg_pool",
    "avg_pool_grad",
    "conv",
    "conv_input_grad",
    "conv_weight_grad",
    "max_pool",
    "max_pool_grad",
]

Padding = int | Sequence[int | Sequence[int]]
_FLOAT32 = np.dtype(np.float32)


def _short(dtype: np.dtype) -> bool:
    """float16, bfloat16 and narrower."""
    return dtype.itemsize <= 2 and (dtype.kind == "f" or dtype.name.startswith(("bfloat", "float8")))


def _in_float32(function: Callable, arrays: tuple[np.ndarray, ...], *args: Any) -> np.ndarray | None:
    """`function` in float32 for arrays of two-byte floats, rounded to their dtype; None where it does not apply."""
    dtype = np.result_type(*arrays)
    if dtype == _FLOAT32:
        return function(*(a.astype(_FLOAT32, copy=False) for a in arrays), *args)
    if not _short(dtype):
        return None
    made = function(*(a.astype(_FLOAT32) for a in arrays), *args)
    return None if made is None else made.astype(dtype)


def conv(
    x: np.ndarray,
    w: np.ndarray,
    stride: IntOrSeq = 1,
    padding: Padding = 0,
    dilation: IntOrSeq = 1,
    groups: int = 1,
    bias: np.ndarray | None = None,
) -> np.ndarray:
    """Cross-correlation of ``x`` and ``w``, plus ``bias`` (O,) where given; padding takes ``(before, after)`` pairs too.

    >>> conv(np.ones((1, 1, 4), np.float32), np.ones((1, 1, 2), np.float32)).ravel()
    array([2., 2., 2.], dtype=float32)
    """
    if available():
        from pellucid.codegen import conv as kernels

        arrays = (x, w) if bias is None else (x, w, bias)
        made = _in_float32(
            lambda x, w, bias=None: kernels.conv(x, w, stride, padding, dilation, groups, bias),
            arrays,
        )
        if made is not None:
            return made
    made = conv_reference.conv(x, w, stride, padding, dilation, groups)
    return made if bias is None else _add_bias(made, bias)


def conv_input_grad(
    g: np.ndarray,
    w: np.ndarray,
    x_shape: Sequence[int],
    stride: IntOrSeq = 1,
    padding: Padding = 0,
    dilation: IntOrSeq = 1,
    groups: int = 1,
    bias: np.ndarray | None = None,
) -> np.ndarray:
    """Gradient of ``conv`` in an input of shape ``x_shape``; with ``bias`` (x_shape[1],) a transposed convolution.

    >>> conv_input_grad(np.ones((1, 1, 4)), np.ones((1, 1, 2)), (1, 1, 5)).ravel()
    array([1., 2., 2., 2., 1.])
    """
    if available():
        from pellucid.codegen import conv as kernels

        arrays = (g, w) if bias is None else (g, w, bias)
        made = _in_float32(
            lambda g, w, bias=None: kernels.conv_input_grad(g, w, x_shape, stride, padding, dilation, groups, bias),
            arrays,
        )
        if made is not None:
            return made
    made = conv_reference.conv_input_grad(g, w, x_shape, stride, padding, dilation, groups)
    return made if bias is None else _add_bias(made, bias)


def conv_weight_grad(
    g: np.ndarray,
    x: np.ndarray,
    w_shape: Sequence[int],
    stride: IntOrSeq = 1,
    padding: Padding = 0,
    dilation: IntOrSeq = 1,
    groups: int = 1,
) -> np.ndarray:
    """Gradient of ``conv`` in a weight of shape ``w_shape``.

    >>> conv_weight_grad(np.ones((1, 1, 4)), np.arange(5.0).reshape(1, 1, 5), (1, 1, 2)).ravel()
    array([ 6., 10.])
    """
    args = (w_shape, stride, padding, dilation, groups)
    if available():
        from pellucid.codegen import conv as kernels

        made = _in_float32(kernels.conv_weight_grad, (g, x), *args)
        if made is not None:
            return made
    return conv_reference.conv_weight_grad(g, x, *args)


def _add_bias(out: np.ndarray, bias: np.ndarray) -> np.ndarray:
    out += bias.reshape(-1, *(1,) * (out.ndim - 2)).astype(out.dtype, copy=False)
    return out


def max_pool(
    x: np.ndarray,
    kernel_size: IntOrSeq,
    stride: IntOrSeq | None = None,
    padding: IntOrSeq = 0,
    dilation: IntOrSeq = 1,
    ceil_mode: bool = False,
    index_dtype: Any = np.int64,
) -> tuple[np.ndarray, np.ndarray]:
    """Largest value of every window and its flat index; int32 indices serve where only the gradient needs them.

    >>> max_pool(np.array([[[3.0, 1.0, 2.0, 5.0]]]), 2)[1].ravel()
    array([0, 3])
    """
    args = (kernel_size, stride, padding, dilation, ceil_mode)
    if available() and (x.dtype == _FLOAT32 or _short(x.dtype)):
        from pellucid.codegen import pool as kernels

        made = kernels.max_pool(x.astype(_FLOAT32, copy=False), *args, index_dtype)
        if made is not None:
            return made[0].astype(x.dtype, copy=False), made[1]
    best, index = pool_reference.max_pool(x, *args)
    return best, index.astype(index_dtype, copy=False)


def max_pool_grad(g: np.ndarray, index: np.ndarray, x_shape: Sequence[int]) -> np.ndarray:
    """Gradient of ``max_pool`` and ``adaptive_max_pool`` in an input of shape ``x_shape``.

    >>> max_pool_grad(np.array([[[1.0, 2.0]]]), np.array([[[0, 3]]]), (1, 1, 4)).ravel()
    array([1., 0., 0., 2.])
    """
    if available():
        from pellucid.codegen import pool as kernels

        made = _in_float32(lambda g: kernels.max_pool_grad(g, index, x_shape), (g,))
        if made is not None:
            return made
    return pool_reference.max_pool_grad(g, index, x_shape)


def avg_pool(
    x: np.ndarray,
    kernel_size: IntOrSeq,
    stride: IntOrSeq | None = None,
    padding: IntOrSeq = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> np.ndarray:
    """Mean of every window of ``x``.

    >>> avg_pool(np.array([[[3.0, 1.0, 2.0, 5.0]]]), 2).ravel()
    array([2. , 3.5])
    """
    args = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    if available():
        from pellucid.codegen import pool as kernels

        made = _in_float32(kernels.avg_pool, (x,), *args)
        if made is not None:
            return made
    return pool_reference.avg_pool(x, *args)


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
    """Gradient of ``avg_pool`` in an input of shape ``x_shape``.

    >>> avg_pool_grad(np.array([[[2.0, 4.0]]]), (1, 1, 4), 2).ravel()
    array([1., 1., 2., 2.])
    """
    args = (x_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    if available():
        from pellucid.codegen import pool as kernels

        made = _in_float32(kernels.avg_pool_grad, (g,), *args)
        if made is not None:
            return made
    return pool_reference.avg_pool_grad(g, *args)


def _even_windows(x_shape: Sequence[int], output_size: IntOrSeq) -> tuple[int, ...] | None:
    """The common window size where the windows of adaptive pooling do not overlap."""
    sizes = per_dim(output_size, len(x_shape) - 2, "output_size")
    if any(out < 1 or size % out for size, out in zip(x_shape[2:], sizes, strict=True)):
        return None
    return tuple(size // out for size, out in zip(x_shape[2:], sizes, strict=True))


def adaptive_avg_pool(x: np.ndarray, output_size: IntOrSeq) -> np.ndarray:
    """Mean over windows chosen so that the output has ``output_size``.

    >>> adaptive_avg_pool(np.array([[[1.0, 2.0, 3.0]]]), 2).ravel()
    array([1.5, 2.5])
    """
    windows = _even_windows(x.shape, output_size)
    if windows == tuple(x.shape[2:]) and x.dtype.kind in "fc" and x.dtype.itemsize > 2:
        # One window: a mean of each plane, which NumPy adds pairwise.
        return x.reshape(*x.shape[:2], -1).mean(-1).reshape(*x.shape[:2], *(1,) * len(windows))
    if windows is not None and (x.dtype == _FLOAT32 or _short(x.dtype)):
        return avg_pool(x, windows)
    return pool_reference.adaptive_avg_pool(x, output_size)


def adaptive_avg_pool_grad(g: np.ndarray, x_shape: Sequence[int]) -> np.ndarray:
    """Gradient of ``adaptive_avg_pool`` in an input of shape ``x_shape``.

    >>> adaptive_avg_pool_grad(np.array([[[2.0, 4.0]]]), (1, 1, 3)).ravel()
    array([1., 3., 2.])
    """
    windows = _even_windows(x_shape, g.shape[2:])
    if windows == tuple(x_shape[2:]) and g.dtype.kind in "fc":
        return np.broadcast_to(g / g.dtype.type(prod(windows)), tuple(x_shape)).copy()
    if windows is not None and (g.dtype == _FLOAT32 or _short(g.dtype)):
        return avg_pool_grad(g, x_shape, windows)
    return pool_reference.adaptive_avg_pool_grad(g, x_shape)


def adaptive_max_pool(x: np.ndarray, output_size: IntOrSeq, index_dtype: Any = np.int64) -> tuple[np.ndarray, np.ndarray]:
    """Largest value, and its flat index, over the windows of ``adaptive_avg_pool``.

    >>> adaptive_max_pool(np.array([[[1.0, 4.0, 3.0]]]), 2)[0].ravel()
    array([4., 4.])
    """
    windows = _even_windows(x.shape, output_size)
    if windows is not None:
        return max_pool(x, windows, index_dtype=index_dtype)
    best, index = pool_reference.adaptive_max_pool(x, output_size)
    return best, index.astype(index_dtype, copy=False)
