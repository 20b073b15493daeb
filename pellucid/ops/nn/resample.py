"""Resampling of images: interpolate.

Interpolation along each dimension is a small matrix: every output reads a few inputs with fixed weights. Forward applies the
matrices, backward their transposes, so all modes share one operation.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import config
from ...backends.native import kernels
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import public
from ...core.tensor import Tensor
from ...core.tracing import constant
from ...errors import ArgumentValueError, OperationError, UnsupportedError
from .._rules import require_tensor

_F32 = np.dtype(np.float32)


def _apply_taps(xp: Any, x: Any, *, axis: int, index: Any, weight: Any, size: int) -> Any:
    """Sum over taps t of x[index[o, t]] * weight[o, t] along an axis."""
    if type(x) is np.ndarray and x.dtype is _F32 and config.kernels:
        made = kernels.windows.taps.apply(x, axis, kernels.windows.taps.make_table(index, weight, size))
        if made is not None:
            return made
    out = None
    shape = [1] * x.ndim
    shape[axis] = -1
    for t in range(index.shape[1]):
        part = xp.take(x, index[:, t], axis)
        if weight is not None:
            part = part * weight[:, t].astype(x.dtype).reshape(shape)
        out = part if out is None else out + part
    return out


def _apply_taps_back(xp: Any, g: Any, *, axis: int, index: Any, weight: Any, size: int) -> Any:
    """The transpose: every output's gradient goes back to its taps."""
    if type(g) is np.ndarray and g.dtype is _F32 and config.kernels:
        made = kernels.windows.taps.apply(g, axis, kernels.windows.taps.make_table(index, weight, size).transposed)
        if made is not None:
            return made
    g = xp.moveaxis(g, axis, -1)
    matrix = xp.zeros((index.shape[0], size), g.dtype if g.dtype.itemsize > 2 else np.float32)
    rows = np.arange(index.shape[0])
    for t in range(index.shape[1]):
        np.add.at(matrix, (rows, index[:, t]), 1 if weight is None else weight[:, t])
    out = xp.matmul(g.astype(matrix.dtype, copy=False), matrix).astype(g.dtype, copy=False)
    return xp.moveaxis(out, -1, axis)


def _onnx_resample_axis(c: Any) -> Any:
    """Every output reads a few places with fixed weights: a Gather for each, as the engine does."""
    index, axis = c.array(c.p["index"]), int(c.p["axis"])
    c.fixed([c.shape()[axis]])
    weight = None if c.p["weight"] is None else c.array(c.p["weight"])
    shape = [1] * len(c.shape())
    shape[axis] = len(index)
    out = ""
    for tap in range(index.shape[1]):
        part = c.emit("Gather", c[0], c.const(index[:, tap].astype(np.int64)), axis=axis)
        if weight is not None:
            part = c.emit("Mul", part, c.const(weight[:, tap].astype(c.dtype).reshape(shape)))
        out = c.emit("Add", out, part) if out else part
    return out


taps_op = defop(
    "resample_axis",
    "input",
    forward=_apply_taps,
    vjp={
        "input": lambda F, g, axis, index, weight, size: F.resample_axis_back(g, axis=axis, index=index, weight=weight, size=size)
    },
    jvp="linear",
    grad_name="UpsampleLinear1D",
    onnx=_onnx_resample_axis,
)

defop(
    "resample_axis_back",
    "grad",
    forward=_apply_taps_back,
    vjp={"grad": lambda F, g, axis, index, weight, size: F.resample_axis(g, axis=axis, index=index, weight=weight, size=size)},
    jvp="linear",
)


def _source(out: int, size: int, scale: float | None, align: bool, clamp: bool) -> np.ndarray:
    """The input position of each output position."""
    i = np.arange(out, dtype=np.float64)
    if align:
        return i * ((size - 1) / (out - 1)) if out > 1 else np.zeros(out)
    step = 1.0 / scale if scale is not None and scale > 0 else size / out
    at = (i + 0.5) * step - 0.5
    return np.maximum(at, 0) if clamp else at


@functools.lru_cache(maxsize=128)
def _taps(
    mode: str, out: int, size: int, scale: float | None, align: bool, antialias: bool
) -> tuple[np.ndarray, np.ndarray | None]:
    """(outputs, taps) input indices and weights along one dimension."""
    if mode in ("nearest", "nearest-exact"):
        step = np.float32(1.0 / scale if scale is not None and scale > 0 else size / out)
        i = np.arange(out, dtype=np.float32)
        at = np.floor((i + np.float32(0.5)) * step) if mode == "nearest-exact" else np.floor(i * step)
        return np.minimum(at.astype(np.int64), size - 1)[:, None], None
    if antialias:
        return _antialias_taps(mode, out, size, scale, align)
    if mode == "cubic":
        at = _source(out, size, scale, align, False)
        low = np.floor(at).astype(np.int64)
        t = at - low
        index = np.clip(low[:, None] + np.arange(-1, 3), 0, size - 1)
        return index, _cubic_weights(t, -0.75)
    at = _source(out, size, scale, align, True)
    low = np.minimum(np.floor(at).astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    t = np.clip(at - low, 0.0, 1.0)
    return np.stack([low, high], 1), np.stack([1 - t, t], 1)


def _cubic_weights(t: np.ndarray, a: float) -> np.ndarray:
    """Keys' cubic convolution kernel at distances 1 + t, t, 1 - t, 2 - t."""

    def near(d: np.ndarray) -> np.ndarray:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: np.ndarray) -> np.ndarray:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return np.stack([far(1 + t), near(t), near(1 - t), far(2 - t)], -1)


def _antialias_taps(mode: str, out: int, size: int, scale: float | None, align: bool) -> tuple[np.ndarray, np.ndarray]:
    """A filter as wide as the reduction, so that every input counts."""
    if align:
        step = (size - 1) / (out - 1) if out > 1 else 0.0
    else:
        step = 1.0 / scale if scale is not None and scale > 0 else size / out
    reach = 2.0 if mode == "cubic" else 1.0
    support = reach * step if step >= 1 else reach
    inverse = 1.0 / step if step >= 1 else 1.0
    centers = step * (np.arange(out) + 0.5)
    first = np.maximum((centers - support + 0.5).astype(np.int64), 0)
    last = np.minimum((centers + support + 0.5).astype(np.int64), size)
    width = int((last - first).max())
    index = first[:, None] + np.arange(width)
    d = np.abs((index - centers[:, None] + 0.5) * inverse)
    if mode == "cubic":
        a = -0.5
        weight = np.where(d < 1, ((a + 2) * d - (a + 3)) * d * d + 1, np.where(d < 2, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a, 0))
    else:
        weight = np.maximum(1 - d, 0)
    weight = np.where(index < last[:, None], weight, 0)
    weight = weight / weight.sum(1, keepdims=True)
    return np.minimum(index, size - 1), weight


_DIMS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}


@public(namespace="nn.functional")
def interpolate(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    """Resample `(N, C, *spatial)` to a size or by a factor.

    Args:
        mode: "nearest", "nearest-exact", "linear" (3-d input), "bilinear", "bicubic" (4-d), "trilinear" (5-d), "area".
        align_corners: corner pixels are matched instead of the outer edges of the corner pixels.
        antialias: for "bilinear" and "bicubic": average over all inputs when shrinking.

    Raises:
        ValueError: neither or both of size and scale_factor, or a mode that does not fit. NotImplementedError: an input of another
            number of dimensions.

    >>> import pellucid as torch
    >>> torch.nn.functional.interpolate(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    x = require_tensor(input, "interpolate")
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ArgumentValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
            )
    elif mode in _DIMS:
        align_corners = bool(align_corners)
    n = x.ndim - 2
    shape = x._array.shape
    if size is not None and scale_factor is not None:
        raise ArgumentValueError("only one of size or scale_factor should be defined")
    scales: list[float] | None = None
    if size is not None:
        if isinstance(size, (list, tuple)):
            if len(size) != n:
                raise ArgumentValueError(
                    "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
                    f"{list(shape[2:])} and output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and output "
                    "size in (o1, o2, ...,oK) format."
                )
            out = [int(s) for s in size]
        else:
            out = [int(size)] * n  # type: ignore[arg-type]
    elif scale_factor is not None:
        if isinstance(scale_factor, (list, tuple)):
            if len(scale_factor) != n:
                raise ArgumentValueError(
                    "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of "
                    f"{list(shape[2:])} and scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
                    "format and scale_factor in (s1, s2, ...,sK) format."
                )
            scales = [float(s) for s in scale_factor]
        else:
            scales = [float(scale_factor)] * n  # type: ignore[arg-type]
        out = [math.floor(s * f) for s, f in zip(shape[2:], scales, strict=True)]
    else:
        raise ArgumentValueError("either size or scale_factor should be defined")
    if recompute_scale_factor:
        if size is not None:
            raise ArgumentValueError("recompute_scale_factor is not meaningful with an explicit size.")
        scales = None
    if antialias and not (mode in ("bilinear", "bicubic") and x.ndim == 4):
        raise ArgumentValueError("Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input")
    if mode == "area" and x.ndim in (3, 4, 5):
        return F.adaptive_avg_pool(x, output_size=tuple(out))
    if mode in ("nearest", "nearest-exact") and x.ndim in (3, 4, 5):
        kind = mode
    elif mode in _DIMS and x.ndim == _DIMS[mode]:
        kind = "cubic" if mode == "bicubic" else "linear"
    elif mode in _DIMS and x.ndim in (3, 4, 5):
        raise UnsupportedError(f"Got {x.ndim}D input, but {mode} mode needs {_DIMS[mode]}D input")
    else:
        raise UnsupportedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{x.ndim}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact (got {mode})"
        )
    if any(o <= 0 for o in out) or any(s <= 0 for s in shape[2:]):
        names = "DHW"[3 - n :]
        told = [f"({', '.join(f'{d}: {s}' for d, s in zip(names, sizes, strict=True))})" for sizes in (shape[2:], out)]
        raise OperationError(f"Input and output sizes should be greater than 0, but got input {told[0]} output {told[1]}")
    if not shape[1]:
        raise OperationError(f"Non-empty {x.ndim}D data tensor expected but got a tensor with sizes {list(shape)}")
    result = x
    for d in range(n):
        axis = 2 + d
        if out[d] == shape[axis] and (scales is None or scales[d] == 1.0):
            continue
        index, weight = _taps(kind, out[d], shape[axis], None if scales is None else scales[d], bool(align_corners), antialias)
        constant(index)
        if weight is not None:
            constant(weight)
        result = taps_op.call(result, axis=axis, index=index, weight=weight, size=shape[axis])
    if x._array.dtype.kind == "u" and result._array.dtype != x._array.dtype:
        result = F.cast(result, dtype=x._array.dtype)
    return result.clone() if result is x else result


def _deprecated(name: str, **fixed: Any) -> None:
    def function(
        input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None
    ) -> Tensor:
        warnings.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", UserWarning, stacklevel=2)
        return interpolate(input, size, scale_factor, **({"mode": mode, "align_corners": align_corners} | fixed))

    function.__name__ = name
    function.__doc__ = "Old name of `interpolate`."
    public(namespace="nn.functional")(function)


_deprecated("upsample")
_deprecated("upsample_nearest", mode="nearest", align_corners=None)
_deprecated("upsample_bilinear", mode="bilinear", align_corners=True)
