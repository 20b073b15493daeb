"""Array functions of neural networks on NumPy: generated kernels if they apply, otherwise the NumPy
reference.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import config
from ..kernels.convolution import reference as conv_reference
from ..kernels.matmul.blas import SHARED_PRODUCT
from ..kernels.pooling import reference as pool_reference
from .halves import HALVES, converted, in_float32, multiplied, narrowed, native_products
from .native import REAL, kernels

Pads = Sequence[Any]
_F32 = np.dtype(np.float32)
_matmul = np.matmul


def _in_float32(function: Any) -> Any:
    """Decorator: two-byte floats are computed in float32 and rounded once."""

    @functools.wraps(function)
    def either(x: Any, *rest: Any, **params: Any) -> Any:
        if x.dtype.itemsize == 2 and x.dtype in HALVES:
            return in_float32(lambda _, *arrays: function(*arrays, **params), None, x, *rest)
        return function(x, *rest, **params)

    return either


def conv(x: Any, w: Any, bias: Any, stride: Any, padding: Pads, dilation: Any, groups: int) -> Any:
    """Cross-correlation of `(N, C, *spatial)` with `(O, C / groups, *kernel)`, plus a bias `(O,)`
    or None.
    """
    if x.size >= _MANY and x.ndim == 4 and not x.flags.c_contiguous and groups == 1:
        alone = w.shape[2:] == (1, 1) == tuple(stride) and not np.any(padding)
        made = _of_pixels(x, w.reshape(w.shape[:2]), bias) if alone else None
        if made is not None:
            return made
    return _conv(x, w, bias, stride, padding, dilation, groups)


# from so many elements on, 1x1 convolutions of channels_last images are matrix products
_MANY = 1 << 12


def _of_pixels(x: Any, weight: Any, bias: Any) -> Any:
    """A 1x1 convolution of channels_last images: each pixel times a matrix, plus a bias. None for
    other images.
    """
    pixels, kind = x.transpose(0, 2, 3, 1), x.dtype
    if not pixels.flags.c_contiguous or not config.kernels or weight.dtype is not kind:
        return None
    rows = pixels.reshape(-1, x.shape[1])
    if kind is _F32:
        made = kernels.matmul.call.linear(rows, weight, bias)
    elif kind == np.float64:
        made = numpy_matmul(rows, weight.T)
        made = made if bias is None else np.add(made, bias, made)
    else:
        made = kernels.matmul.pairs.linear(rows, weight, bias)
    return made if made is None else made.reshape(*pixels.shape[:3], -1).transpose(0, 3, 1, 2)


@_in_float32
def _conv(x: Any, w: Any, bias: Any, stride: Any, padding: Pads, dilation: Any, groups: int) -> Any:
    if x.dtype in REAL and config.kernels:
        if groups == x.shape[1] > 1 and not x.flags.c_contiguous and type(x) is np.ndarray:
            out = kernels.convolution.depthwise.conv(x, w, bias, stride, padding, dilation)
            if out is not None:
                return out
        out = kernels.convolution.call.conv(x, w, stride, padding, dilation, groups, bias)
        if out is not None:
            return out
    out = conv_reference.conv(x, w, stride, padding, dilation, groups)
    if bias is not None:
        out += bias.reshape(-1, *(1,) * (out.ndim - 2))
    return out


@_in_float32
def conv_input_grad(
    g: Any, w: Any, x_shape: Any, stride: Any, padding: Pads, dilation: Any, groups: int
) -> Any:
    """Gradient of `conv` in its input; also transposed convolution."""
    if g.dtype in REAL and config.kernels:
        out = kernels.convolution.call.conv_input_grad(
            g, w, x_shape, stride, padding, dilation, groups
        )
        if out is not None:
            return out
    return conv_reference.conv_input_grad(g, w, x_shape, stride, padding, dilation, groups)


@_in_float32
def conv_weight_grad(
    g: Any, x: Any, w_shape: Any, stride: Any, padding: Pads, dilation: Any, groups: int
) -> Any:
    """Gradient of `conv` in its weight."""
    if g.dtype in REAL and config.kernels:
        out = kernels.convolution.call.conv_weight_grad(
            g, x, w_shape, stride, padding, dilation, groups
        )
        if out is not None:
            return out
    return conv_reference.conv_weight_grad(g, x, w_shape, stride, padding, dilation, groups)


def _pooled(name: str, x: Any, *args: Any) -> Any:
    """A pooling by a kernel; None if there is none. Large contiguous float32 arrays use the faster
    kernels of `pooling.call`.
    """
    if not config.kernels or type(x) is not np.ndarray:
        return None
    pooling = kernels.pooling
    if (
        x.size > pooling.direct.FEW
        and x.dtype is _F32
        and (x.flags.c_contiguous or not pooling.direct.side_by_side(x))
    ):
        made = getattr(pooling.call, name)(x, *args)
        if made is not None:
            return made
    return getattr(pooling.direct, name)(x, *args)


@_in_float32
def max_pool(
    x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Any, Any]:
    """The largest value of each window, and its flat index in the spatial dimensions of the input."""
    made = _pooled("max_pool", x, kernel, stride, padding, dilation, ceil_mode)
    if made is not None:
        return made
    return pool_reference.max_pool(x, kernel, stride, padding, dilation, ceil_mode)


@_in_float32
def max_pool_grad(g: Any, index: Any, x_shape: Any) -> Any:
    """Gradient of `max_pool`: `g` added at the indices of the maxima."""
    made = _pooled("max_pool_grad", g, index, x_shape)
    if made is not None:
        return made
    return pool_reference.max_pool_grad(g, index, x_shape)


@_in_float32
def avg_pool(
    x: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: Any,
) -> Any:
    """Mean of each window."""
    made = _pooled("avg_pool", x, kernel, stride, padding, ceil_mode, count_include_pad, divisor)
    if made is not None:
        return made
    return pool_reference.avg_pool(
        x, kernel, stride, padding, ceil_mode, count_include_pad, divisor
    )


@_in_float32
def avg_pool_grad(
    g: Any,
    x_shape: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: Any,
) -> Any:
    """Gradient of `avg_pool`."""
    made = _pooled(
        "avg_pool_grad", g, x_shape, kernel, stride, padding, ceil_mode, count_include_pad, divisor
    )
    if made is not None:
        return made
    return pool_reference.avg_pool_grad(
        g, x_shape, kernel, stride, padding, ceil_mode, count_include_pad, divisor
    )


def linear(x: Any, w: Any, b: Any) -> Any:
    """`x @ w.T + b` for x `(..., in)`, w `(out, in)`, b `(out,)` or None."""
    if x.dtype in HALVES:
        made = kernels.matmul.pairs.linear(x, w, b) if x.size and native_products(x.dtype) else None
        return (
            in_float32(lambda _, *arrays: linear(*arrays), None, x, w, b) if made is None else made
        )
    if x.dtype is _F32 and w.dtype is _F32 and w.size > 2048 and x.size > 2048 and config.kernels:
        return kernels.matmul.call.linear(x, w, b)
    out = numpy_matmul(x, w.T)
    if b is not None:
        out += b
    return out


FEW = 256  # up to so many elements, most of an `np.matmul` call is its fixed cost


def by_dot(a: Any, b: Any) -> Any:
    """The product of small vectors or matrices by `ndarray.dot`: the same BLAS call as in
    `np.matmul`, in a third of its time. None for other operands. Two-byte floats are multiplied in
    float32.
    """
    if (
        type(a) is np.ndarray is type(b)
        and a.dtype is b.dtype
        and 0 < a.ndim < 3 > b.ndim > 0
        and a.flags.forc
        and b.flags.forc
        and a.shape[-1] > 1
    ):
        kind = a.dtype
        if kind.char in "fd":
            return a.dot(b)
        if kind in HALVES:
            return a.astype(_F32).dot(b.astype(_F32)).astype(kind)
    return None


def numpy_matmul(a: Any, b: Any) -> Any:
    """`np.matmul`, with two-byte floats multiplied in float32. Small products stay on the calling
    thread.
    """
    made = by_dot(a, b) if a.size <= FEW >= b.size else None
    if made is not None:
        return made
    if a.size * b.shape[-1] < SHARED_PRODUCT and a.dtype in REAL:
        return _matmul(a, b)
    if a.dtype.itemsize <= 2 and a.dtype.kind in "fV":
        made = multiplied(a, b)
        if made is None:
            made = numpy_matmul(converted(a, REAL[0]), converted(b, REAL[0]))
        return narrowed(made, a.dtype)
    return kernels.matmul.blas.matmul(a, b)


adaptive_avg_pool = pool_reference.adaptive_avg_pool
adaptive_avg_pool_grad = pool_reference.adaptive_avg_pool_grad


def adaptive_max_pool(x: Any, output_size: Any) -> tuple[Any, Any]:
    """The largest value of each of the windows that cover the input, and its flat index."""
    if config.kernels and type(x) is np.ndarray:
        made = kernels.pooling.call.adaptive_max_pool(x, output_size) if x.dtype is _F32 else None
        if made is None:
            made = kernels.pooling.adaptive.adaptive_max(
                x, pool_reference.per_dim(output_size, x.ndim - 2, "output_size")
            )
        if made is not None:
            return made
    return pool_reference.adaptive_max_pool(x, output_size)
