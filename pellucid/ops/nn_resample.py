"""Resampling of images: interpolate, grid_sample, affine_grid.

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

from .. import config
from ..backends.kernels import kernels
from ..core import tracing
from ..core.bind import wrap
from ..core.primitive import TENSORS as F
from ..core.primitive import defop
from ..core.public import public
from ..core.tensor import Tensor
from ..core.tracing import constant
from ..errors import ArgumentValueError, OperationError, UnsupportedError
from ._rules import require_tensor

_F32 = np.dtype(np.float32)


def _apply_taps(xp: Any, x: Any, *, axis: int, index: Any, weight: Any, size: int) -> Any:
    """Sum over taps t of x[index[o, t]] * weight[o, t] along an axis."""
    if type(x) is np.ndarray and x.dtype is _F32 and config.kernels:
        made = kernels.taps.apply(x, axis, kernels.taps.make_table(index, weight, size))
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
        made = kernels.taps.apply(g, axis, kernels.taps.make_table(index, weight, size).transposed)
        if made is not None:
            return made
    g = xp.moveaxis(g, axis, -1)
    matrix = xp.zeros((index.shape[0], size), g.dtype if g.dtype.itemsize > 2 else np.float32)
    rows = np.arange(index.shape[0])
    for t in range(index.shape[1]):
        np.add.at(matrix, (rows, index[:, t]), 1 if weight is None else weight[:, t])
    out = xp.matmul(g.astype(matrix.dtype, copy=False), matrix).astype(g.dtype, copy=False)
    return xp.moveaxis(out, -1, axis)


taps_op = defop(
    "resample_axis",
    "input",
    forward=_apply_taps,
    vjp={
        "input": lambda F, g, axis, index, weight, size: F.resample_axis_back(g, axis=axis, index=index, weight=weight, size=size)
    },
    jvp="linear",
    grad_name="UpsampleLinear1D",
    onnx="Resize",
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
        return F.adaptive_avg_pool(x, output_size=tuple(out))  # type: ignore[no-any-return]
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
        raise OperationError(f"Input and output sizes should be greater than 0, but got input {list(shape[2:])} output {out}")
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
    return result.clone() if result is x else result  # type: ignore[attr-defined]


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


# ---- grids --------------------------------------------------------------------------------------
@public(namespace="nn.functional")
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Sampling positions of an affine map, for `grid_sample`.

    Args:
        theta: `(N, 2, 3)` or `(N, 3, 4)`.
        size: `(N, C, H, W)` or `(N, C, D, H, W)` of the target image.

    Source: Jaderberg et al., "Spatial Transformer Networks", 2015.
    """
    t = require_tensor(theta, "affine_grid", "theta")
    if not (t.dtype.is_floating_point):
        raise ArgumentValueError(f"Expected theta to have floating point type, but got {t.dtype}")
    n = len(size) - 2
    if n not in (2, 3):
        raise UnsupportedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {tuple(size)}."
        )
    if t.ndim != 3 or t._array.shape[-2:] != (n, n + 1):
        raise ArgumentValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {tuple(size)}. Got {tuple(t._array.shape)}."
        )
    if min(size) <= 0:
        raise ArgumentValueError(f"Expected non-zero, positive output size. Got {tuple(size)}")
    if align_corners is None:
        align_corners = False
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
            "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
            UserWarning,
            stacklevel=2,
        )
    axes = []
    for s in size[2:]:
        line = np.linspace(-1, 1, s) if s > 1 else np.zeros(1)
        axes.append(line if align_corners else line * (s - 1) / s)
    mesh = np.meshgrid(*axes, indexing="ij")
    base = np.stack([*reversed(mesh), np.ones_like(mesh[0])], -1).reshape(-1, n + 1).astype(t._array.dtype)
    grid = F.matmul(wrap(constant(np.broadcast_to(base, (size[0], *base.shape)).copy())), t.transpose(1, 2))  # type: ignore[attr-defined]
    return grid.reshape(size[0], *size[2:], n)  # type: ignore[no-any-return]


def _unnormalise(at: Any, size: int, align: bool) -> Any:
    return (at + 1) * (0.5 * (size - 1)) if align else ((at + 1) * size - 1) * 0.5


def _reflect(at: Any, twice_low: int, twice_high: int) -> Any:
    """Positions mirrored at the borders until they are inside."""
    if twice_low == twice_high:
        return at * 0.0
    low, span = twice_low / 2, (twice_high - twice_low) / 2
    moved = (at - low).abs()
    extra = moved.remainder(span)
    flips = (moved / span).floor()
    return F.where(flips.remainder(2.0) == 0, extra + low, span - extra + low)


def _position(at: Any, size: int, padding: str, align: bool) -> Any:
    """Input coordinate of a grid value under the padding rule."""
    at = _unnormalise(at, size, align)
    if padding == "reflection":
        at = _reflect(at, 0, 2 * (size - 1)) if align else _reflect(at, -1, 2 * size - 1)
    if padding in ("border", "reflection"):
        at = at.clamp(0, size - 1)
    return at


@public(namespace="nn.functional")
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Values of images at positions in [-1, 1].

    Args:
        input: `(N, C, H, W)` or `(N, C, D, H, W)`.
        grid: `(N, H_out, W_out, 2)` with (x, y), or `(N, D_out, H_out, W_out, 3)` with (x, y, z).
        mode: "bilinear", "nearest" or "bicubic" (4-d only).
        padding_mode: "zeros", "border" or "reflection" for positions outside.

    Returns:
        `(N, C, *grid's spatial sizes)`.
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ArgumentValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ArgumentValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    x, g = require_tensor(input, "grid_sampler"), require_tensor(grid, "grid_sampler", "grid", 2)
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
            "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
            UserWarning,
            stacklevel=2,
        )
    align = bool(align_corners)
    n = x.ndim - 2
    xs, gs = x._array.shape, g._array.shape
    if n not in (2, 3) or g.ndim != x.ndim:
        raise OperationError(
            f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes {list(xs)} and "
            f"grid with sizes {list(gs)}"
        )
    if xs[0] != gs[0]:
        raise OperationError(
            f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes {list(xs)} and grid with sizes {list(gs)}"
        )
    if gs[-1] != n:
        raise OperationError(
            f"grid_sampler(): expected grid to have size {n} in last dimension, but got grid with sizes {list(gs)}"
        )
    if any(s == 0 for s in xs[2:]):
        raise OperationError(f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {list(xs)}")
    if mode == "bicubic" and n != 2:
        raise OperationError("grid_sampler(): bicubic interpolation only supports 4D input")
    size = xs[2:]
    raw = [g[..., n - 1 - d] for d in range(n)]  # type: ignore[index]
    if mode == "bicubic":
        return _bicubic(x, raw, size, padding_mode, align)
    at = [_position(raw[d], size[d], padding_mode, align) for d in range(n)]
    # PyTorch's rule for NaN positions: outside.
    if mode == "nearest":
        return _gather(x, [tracing.effect(_whole, a._array, True)[0] for a in at], (0,) * n, "zeros", align, None)
    low, floats = zip(*[tracing.effect(_whole, a._array, False) for a in at], strict=True)
    total = None
    for corner in np.ndindex((2,) * n):
        weight: Any = None
        for d in range(n):
            part = at[d] - wrap(floats[d])
            part = part if corner[d] else 1 - part
            weight = part if weight is None else weight * part
        value = _gather(x, low, corner, "zeros", align, weight)
        total = value if total is None else total + value  # type: ignore[operator]
    assert total is not None
    return total


def _bicubic(x: Tensor, raw: list[Any], size: Any, padding: str, align: bool) -> Tensor:
    """16 neighbours with Keys' weights; each neighbour's coordinate obeys the padding rule by itself."""
    at = [_unnormalise(raw[d], size[d], align) for d in range(2)]
    low, floats = zip(*[tracing.effect(_whole, a._array, False, None) for a in at], strict=True)
    weights = [_cubic_tensors(at[d] - wrap(floats[d]), -0.75) for d in range(2)]
    total: Any = None
    for i in range(4):
        for j in range(4):
            value = _gather(x, low, (i - 1, j - 1), padding, align, weights[0][i] * weights[1][j])
            total = value if total is None else total + value
    return total  # type: ignore[no-any-return]


def _cubic_tensors(t: Any, a: float) -> list[Any]:
    def near(d: Any) -> Any:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Any) -> Any:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [far(1 + t), near(t), near(1 - t), far(2 - t)]


def _whole(at: np.ndarray, nearest: bool, infinite: float | None = -10.0) -> tuple[np.ndarray, np.ndarray]:
    """Positions rounded (to below, or to the nearest) as int64 and in their own dtype; what is no number lies outside."""
    known = np.nan_to_num(at, nan=-10.0, posinf=infinite, neginf=infinite)
    made = (np.rint(known) if nearest else np.floor(known)).astype(np.int64)
    return made, made.astype(at.dtype)


def _flat_places(
    low: Sequence[np.ndarray], shift: Sequence[int], shape: Sequence[int], padding: str, align: bool
) -> tuple[np.ndarray, np.ndarray]:
    """For every channel the flat position of each neighbour `low + shift` in images of `shape`, and which ones are inside."""
    batch, channels, *size = shape
    inside = np.ones(low[0].shape, bool)
    flat = np.zeros(low[0].shape, np.int64)
    for own, k, s in zip(low, shift, size, strict=True):
        at = own + k
        if padding == "border":
            at = np.clip(at, 0, s - 1)
        elif padding == "reflection":
            twice_low, twice_high = (0, 2 * (s - 1)) if align else (-1, 2 * s - 1)
            at = np.clip(_reflected(at.astype(np.float64), twice_low, twice_high), 0, s - 1).astype(np.int64)
        inside &= (at >= 0) & (at < s)
        flat = flat * s + np.clip(at, 0, s - 1)
    index = np.broadcast_to(flat.reshape(batch, 1, -1), (batch, channels, math.prod(flat.shape[1:])))
    return index.copy(), inside[:, None].copy()


def _reflected(at: np.ndarray, twice_low: int, twice_high: int) -> np.ndarray:
    """`_reflect` of plain positions."""
    if twice_low == twice_high:
        return at * 0.0
    low, span = twice_low / 2, (twice_high - twice_low) / 2
    moved = np.abs(at - low)
    extra = np.remainder(moved, span)
    return np.where(np.floor(moved / span) % 2 == 0, extra + low, span - extra + low)


def _gather(x: Tensor, low: Sequence[np.ndarray], shift: Sequence[int], padding: str, align: bool, weight: Any) -> Tensor:
    """x at the neighbours of positions (0 outside), times a weight: (N, C, *out)."""
    batch, channels = x._array.shape[:2]
    index, inside = tracing.effect(_flat_places, list(low), shift, x._array.shape, padding, align)
    rows = x.reshape(batch, channels, -1)  # type: ignore[attr-defined]
    value = F.take_along(rows, wrap(index), dim=2, unique=False).reshape(batch, channels, *low[0].shape[1:])
    if weight is not None:
        value = value * weight.unsqueeze(1)
    return F.where(wrap(inside), value, 0.0)  # type: ignore[no-any-return]
