"""Resampling of images: interpolate.

Interpolation along each dimension is a small matrix: every output reads a few inputs ("taps") with
fixed weights. Forward applies the matrices, backward their transposes, so all modes share one
operation.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import config
from ...arrays.halves import HALVES, in_float32
from ...arrays.native import REAL, kernels
from ...core.display.examples import of_alias
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import public
from ...core.tape import titled
from ...core.tensor import Tensor
from ...core.tracing import constant
from ...dtypes import channels_last
from ...errors import (
    ArgumentTypeError,
    ArgumentValueError,
    OperationError,
    UnsupportedError,
    warn,
)
from ...shapes import adaptive_pool_shape
from .._few import Few, compiles
from .._format import has_channels_last, in_format
from .._rules import asked_for, require_tensor
from .._samples import cases
from .pool.adaptive import check_fits


def _whole(size: Any) -> bool:
    """Return whether PyTorch accepts a size as an integer."""
    if isinstance(size, Tensor):
        return not (size.dtype.is_floating_point or size.dtype.is_complex)
    return isinstance(size, (int, np.integer))


def _in_layout(kernel: Any, x: np.ndarray, axis: int, *given: Any) -> Any:
    """Call a kernel for contiguous arrays on images that may be channels-last: those are
    transposed, which moves the axis.
    """
    if x.flags.c_contiguous or x.ndim != 4 or not has_channels_last(x):
        return kernel(x, axis, *given)
    made = kernel(x.transpose(0, 2, 3, 1), (0, 3, 1, 2)[axis], *given)
    return None if made is None else made.transpose(0, 3, 1, 2)


def _apply_taps(xp: Any, x: Any, *, axis: int, index: Any, weight: Any, size: int) -> Any:
    """Sum over taps t of x[index[o, t]] * weight[o, t] along an axis."""
    if type(x) is np.ndarray and config.kernels and weight is None and x.size:
        made = _in_layout(kernels.indexing.pieces.picked, x, axis, index[:, 0].copy())
        if made is not None:
            return made
    if x.dtype in HALVES:
        return in_float32(_apply_taps, xp, x, axis=axis, index=index, weight=weight, size=size)
    if type(x) is np.ndarray and config.kernels:
        table = kernels.windows.taps.make_table(index, weight, size)
        made = _in_layout(kernels.windows.taps.apply, x, axis, table)
        if made is not None:
            return made
    out, (index, weight) = None, xp.from_host((index, weight))
    shape = [1] * x.ndim
    shape[axis] = -1
    for t in range(index.shape[1]):
        part = xp.take(x, index[:, t], axis)
        if weight is not None:
            part = part * weight[:, t].astype(x.dtype).reshape(shape)
        out = part if out is None else out + part
    return out


def _apply_taps_back(xp: Any, g: Any, *, axis: int, index: Any, weight: Any, size: int) -> Any:
    """Apply the transpose of `_apply_taps`: add the gradient of every output to its taps."""
    if type(g) is np.ndarray and config.kernels:
        made = kernels.windows.taps.apply(
            g, axis, kernels.windows.taps.make_table(index, weight, size).transposed
        )
        if made is not None:
            return made
    g, (index, weight) = xp.moveaxis(g, axis, -1), xp.from_host((index, weight))
    matrix = xp.zeros((index.shape[0], size), g.dtype if g.dtype.itemsize > 2 else np.float32)
    rows = xp.arange(index.shape[0])
    for t in range(index.shape[1]):
        xp.add.at(matrix, (rows, index[:, t]), 1 if weight is None else weight[:, t])
    out = xp.matmul(g.astype(matrix.dtype, copy=False), matrix).astype(g.dtype, copy=False)
    return xp.moveaxis(out, -1, axis)


def _onnx_resample_axis(c: Any) -> Any:
    """Translate to one Gather for each tap, times its weights, and their sum."""
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
        "input": lambda F, g, axis, index, weight, size: F.resample_axis_back(
            g, axis=axis, index=index, weight=weight, size=size
        )
    },
    jvp="linear",
    grad_name="UpsampleLinear1D",
    onnx=_onnx_resample_axis,
    samples=cases(
        (
            ((2, 4, 3),),
            {
                "axis": 1,
                "index": np.array([[0, 1], [2, 2], [3, 1]]),
                "weight": np.array([[0.5, 0.5], [0.2, 0.8], [1.0, -0.5]]),
                "size": 4,
            },
        )
    ),
)

defop(
    "resample_axis_back",
    "grad",
    forward=_apply_taps_back,
    vjp={
        "grad": lambda F, g, axis, index, weight, size: F.resample_axis(
            g, axis=axis, index=index, weight=weight, size=size
        )
    },
    jvp="linear",
    samples=cases(
        (
            ((2, 3, 3),),
            {
                "axis": 1,
                "index": np.array([[0, 1], [2, 2], [3, 1]]),
                "weight": np.array([[0.5, 0.5], [0.2, 0.8], [1.0, -0.5]]),
                "size": 4,
            },
        )
    ),
)


def _apply_bytes(xp: Any, x: Any, *, axis: int, index: Any, weight: Any, shift: int) -> Any:
    """Compute `_apply_taps` of bytes: integer weights are 2**shift times the real ones, and the sum
    is rounded once.
    """
    index, weight = xp.from_host((index, weight))
    shape = [1] * x.ndim
    shape[axis] = -1
    out = 1 << (shift - 1)
    for t in range(index.shape[1]):
        out = out + xp.take(x, index[:, t], axis).astype(np.int32) * weight[:, t].reshape(shape)
    return xp.clip(out >> shift, 0, 255).astype(np.uint8)


bytes_op = defop("resample_axis_bytes", "input", forward=_apply_bytes)


@functools.lru_cache(maxsize=128)
def _byte_taps(
    mode: str, out: int, size: int, scale: float | None, align: bool, antialias: bool
) -> tuple[np.ndarray, np.ndarray, int]:
    """(outputs, taps) indices, integer weights and their binary digits: as many as leave the
    largest weight in 16 bits with a sign.

    Taps beyond an edge are added to the edge's before they are rounded. Pillow's resampling is the
    source of the rounding.
    """
    index, weight = _taps(mode, out, size, scale, align, antialias)
    assert weight is not None
    merged = np.zeros_like(weight)
    for t in range(weight.shape[1]):  # a repeated index keeps its weight at its first place
        np.add.at(
            merged, (np.arange(len(index)), (index == index[:, t : t + 1]).argmax(1)), weight[:, t]
        )
    shift = 0
    while shift < 22 and int(0.5 + merged.max() * (1 << (shift + 1))) < 1 << 15:
        shift += 1
    return index, np.trunc(merged * (1 << shift) + np.copysign(0.5, merged)).astype(np.int32), shift


def _source(out: int, size: int, scale: float | None, align: bool, clamp: bool) -> np.ndarray:
    """Return the input position of each output position."""
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
    """Return the input indices and weights along one dimension, both of shape (outputs, taps). The
    weights are None if each output is a copy.
    """
    if mode in ("nearest", "nearest-exact"):
        step = np.float32(1.0 / scale if scale is not None and scale > 0 else size / out)
        i = np.arange(out, dtype=np.float32)
        at = (
            np.floor((i + np.float32(0.5)) * step)
            if mode == "nearest-exact"
            else np.floor(i * step)
        )
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
    """Return Keys' cubic convolution kernel at the distances 1 + t, t, 1 - t, 2 - t."""

    def near(d: np.ndarray) -> np.ndarray:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: np.ndarray) -> np.ndarray:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return np.stack([far(1 + t), near(t), near(1 - t), far(2 - t)], -1)


def _antialias_taps(
    mode: str, out: int, size: int, scale: float | None, align: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the taps of a filter as wide as the reduction, so that every input counts."""
    if align:
        step = (size - 1) / (out - 1) if out > 1 else 0.0
    else:
        step = 1.0 / scale if scale is not None and scale > 0 else size / out
    reach = {"cubic": 2.0, "lanczos": 3.0}.get(mode, 1.0)
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
        weight = np.where(
            d < 1,
            ((a + 2) * d - (a + 3)) * d * d + 1,
            np.where(d < 2, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a, 0),
        )
    elif mode == "lanczos":
        weight = np.where(d < 3, np.sinc(d) * np.sinc(d / 3), 0)
    else:
        weight = np.maximum(1 - d, 0)
    weight = np.where(index < last[:, None], weight, 0)
    weight = weight / weight.sum(1, keepdims=True)
    return np.minimum(index, size - 1), weight


_DIMS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}
# modes with antialiasing filters, and with integer weights for bytes
_WIDE = ("bilinear", "bicubic", "lanczos")


def _check_kind(x: Tensor, mode: str, kind: str, antialias: bool) -> None:
    """Refuse dtypes other than floats and, in some modes, bytes."""
    if (
        x.is_floating_point()
        or x._array.dtype == np.uint8
        and (mode in _WIDE or kind.startswith("nearest"))
    ):
        return
    if antialias:
        what = "compute_index_ranges_weights"
    elif (
        mode in ("nearest", "nearest-exact", "bilinear")
        and x.ndim == 4
        and x.is_contiguous(memory_format=channels_last)
    ):
        what = f"upsample_{mode.replace('-', '_')}2d_channels_last"
    else:
        what = f"compute_indices_weights_{kind.replace('-', '_')}"
    raise UnsupportedError(f"\"{what}\" not implemented for '{x.dtype.scalar_type_name}'")


_few = Few()
_NUMBERS = frozenset((type(None), int, float))
_FEW = 4096  # largest result that is picked by `take`


def _resampler(a: np.ndarray, steps: list[dict[str, Any]]) -> Any:
    """Return a function that resamples small contiguous arrays, axis by axis. False if there is no
    fast way, None if there is not yet native code.
    """
    if not steps or not a.flags.c_contiguous or a.dtype not in (*REAL, *HALVES):
        return False
    if all(step["weight"] is None for step in steps):
        by_axis = {step["axis"]: step["index"][:, 0] for step in steps}
        flat = np.zeros((), np.int64)
        for axis, n in list(enumerate(a.shape))[2:]:
            flat = flat[..., None] * n + by_axis.get(axis, np.arange(n))
        lead = (*a.shape[:2], math.prod(a.shape[2:]))
        return (lambda x: x.reshape(lead).take(flat, 2)) if flat.size <= _FEW else False
    if a.dtype in HALVES:
        wide = _resampler(a.astype(np.float32), steps)
        return wide and (lambda x: wide(x.astype(np.float32)).astype(x.dtype))
    windows = kernels.windows.taps
    if any(step["weight"] is None or a.size > _FEW for step in steps):
        return False
    if not compiles():
        return None
    tables = [(s["axis"], windows.make_table(s["index"], s["weight"], s["size"])) for s in steps]

    def run(x: np.ndarray) -> Any:
        for axis, table in tables:
            x = windows.apply(x, axis, table)
        return x

    for axis, table in tables:
        a = windows.apply(a, axis, table)
        if a is None:
            return False
    return run


@public(namespace="nn.functional")
def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resample `(N, C, *spatial)` to a size or by a factor.

    Args:
        input: `(N, C, L)`, `(N, C, H, W)` or `(N, C, D, H, W)`.
        size: spatial sizes of the result, a number or a sequence; or
        scale_factor: factors of the sizes, a number or a sequence. Exactly one of the two is given.
        mode: "nearest", "nearest-exact", "linear" (3-d input), "bilinear", "bicubic", "lanczos"
            (4-d), "trilinear" (5-d), "area". Bytes are resampled in the modes of 4-d input, with
            integer weights and rounding as in Pillow. Default: "nearest".
        align_corners: corner pixels are matched instead of the outer edges of the corner pixels.
            Default: None, which is False.
        recompute_scale_factor: recompute the factor from the rounded sizes. Default: None, which
            is False.
        antialias: for "bilinear", "bicubic" and "lanczos": average over all inputs when shrinking.
            Default: False.

    Returns:
        `(N, C, *size)`; with `scale_factor` each size is floor(size * factor).

    Raises:
        ValueError: neither or both of size and scale_factor, or a mode that does not fit.
            NotImplementedError: an input of another number of dimensions.

    >>> import pellucid as torch
    >>> torch.nn.functional.interpolate(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    asked = (size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
    plain = (size is None or type(size) is int) and type(scale_factor) in _NUMBERS
    if plain and (quick := _few.made(input, *asked)) is not None:
        return quick
    x = require_tensor(input, "interpolate")
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ArgumentValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
            )
    elif mode in _DIMS:
        align_corners = bool(align_corners)
    elif mode == "lanczos" and align_corners:
        raise ArgumentValueError("Lanczos mode does not support align_corners=True")
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
            if not all(map(_whole, size)):
                raise ArgumentTypeError(
                    "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size with types "
                    f"{[type(s) for s in size]}"
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
            raise ArgumentValueError(
                "recompute_scale_factor is not meaningful with an explicit size."
            )
        scales = None
    if antialias and not (mode in _WIDE and x.ndim == 4):
        raise ArgumentValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "area" and x.ndim in (3, 4, 5):
        made = (*x._array.shape[:2], *out)
        check_fits(f"adaptive_avg_pool{x.ndim - 2}d", made, x._array.dtype.itemsize)
        if 0 in x._array.shape[1:]:
            adaptive_pool_shape(f"adaptive_avg_pool{x.ndim - 2}d", x._array.shape, tuple(out))
        return in_format(F.adaptive_avg_pool(x, output_size=tuple(out)), x)
    if mode in ("nearest", "nearest-exact") and x.ndim in (3, 4, 5):
        kind = mode
    elif mode in _DIMS and x.ndim == _DIMS[mode]:
        kind = "cubic" if mode == "bicubic" else "linear"
    elif mode == "lanczos" and x.ndim == 4:
        if not antialias:
            raise ArgumentValueError("Lanczos mode requires antialias=True")
        kind = mode
    elif mode in _DIMS and x.ndim in (3, 4, 5):
        raise UnsupportedError(f"Got {x.ndim}D input, but {mode} mode needs {_DIMS[mode]}D input")
    else:
        raise UnsupportedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{x.ndim}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )
    if any(not -(1 << 63) <= o < 1 << 63 for o in out):
        raise OperationError("value cannot be converted to type int64_t without overflow")
    if any(o <= 0 for o in out) or any(s <= 0 for s in shape[2:]):
        names = "DHW"[3 - n :]
        told = [
            f"({', '.join(f'{d}: {s}' for d, s in zip(names, sizes, strict=True))})"
            for sizes in (shape[2:], out)
        ]
        raise OperationError(
            f"Input and output sizes should be greater than 0, but got input {told[0]} output {told[1]}"
        )
    if not shape[1]:
        raise OperationError(
            f"Non-empty {x.ndim}D data tensor expected but got a tensor with sizes {list(shape)}"
        )
    _check_kind(x, mode, kind, antialias)
    # Round two-byte floats once, not after each dimension.
    half = x._array.dtype in HALVES
    result = F.cast(x, dtype=np.dtype(np.float32)) if half else x
    fixed = x._array.dtype == np.uint8 and mode in _WIDE
    steps = []
    for d in reversed(range(n)) if fixed else range(n):
        axis = 2 + d
        if out[d] == shape[axis] and (scales is None or scales[d] == 1.0):
            continue
        taps = (
            kind,
            out[d],
            shape[axis],
            None if scales is None else scales[d],
            bool(align_corners),
            antialias,
        )
        if fixed:
            index, weight, shift = _byte_taps(*taps)
            result = bytes_op.call(
                result, axis=axis, index=constant(index), weight=constant(weight), shift=shift
            )
            continue
        index, weight = _taps(*taps)
        constant(index)
        if weight is not None:
            constant(weight)
        steps.append({"axis": axis, "index": index, "weight": weight, "size": shape[axis]})
        result = taps_op.call(result, **steps[-1])
    if half:
        result = F.cast(result, dtype=x._array.dtype)
    title = f"Upsample{_TITLES[mode]}{n}D" + "Aa" * antialias
    whole = in_format(
        titled(
            result.clone() if result is x else result,
            title,
            of=(x,),
            output_size=out,
            align_corners=bool(align_corners),
            **_scales_shown(scales, n),
        ),
        x,
    )
    if plain and not fixed:
        _few.remember(x, asked, lambda a: _resampler(a, steps), whole)
    return whole


_TITLES = {
    "nearest": "Nearest",
    "nearest-exact": "NearestExact",
    "linear": "Linear",
    "bilinear": "Bilinear",
    "bicubic": "Bicubic",
    "trilinear": "Trilinear",
    "lanczos": "Lanczos",
}


def _scales_shown(scales: list[float] | None, n: int) -> dict[str, Any]:
    """Return the scale factors under the names that PyTorch's node has for `n` dimensions."""
    words = ["scales"] if n == 1 else ["scales_d", "scales_h", "scales_w"][-n:]
    return {word: None if scales is None else scales[k] for k, word in enumerate(words)}


def _deprecated(name: str, **fixed: Any) -> None:
    def function(
        input: Tensor,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: Any = None,
    ) -> Tensor:
        warn(
            f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.",
            UserWarning,
        )
        asked_for("dim", input)
        return interpolate(
            input, size, scale_factor, **({"mode": mode, "align_corners": align_corners} | fixed)
        )

    function.__name__ = name
    function.__doc__ = of_alias(
        "Deprecated name of :func:`interpolate`: warns (UserWarning), then calls it"
        + (f' with mode="{fixed["mode"]}"' if fixed else "")
        + ".",
        interpolate.__doc__,
    )
    public(namespace="nn.functional")(function)


_deprecated("upsample")
_deprecated("upsample_nearest", mode="nearest", align_corners=None)
_deprecated("upsample_bilinear", mode="bilinear", align_corners=True)
