"""Operators of `torch.ops.quantized` without weights to pack: arithmetic, activations and
normalization.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.affine import LIMITS, QuantizedArray, Scheme, dequantize, quantize, require_per_tensor
from ..core.modes import no_grad
from ..core.public import FUNCTIONS
from ..core.tensor import make_tensor
from ._functions import _by_table, by_vectors, clamped, rectified, rounded
from ._tensor import like, same_schemes, wrapped
from .registry import OPERATORS, _operator, _quantized


# ---- arithmetic -------------------------------------------------------------------------------------------
def _sum(qa: Any, qb: Any, scale: float, zero_point: int, relu: bool) -> Any:
    a, b = _quantized(qa, "add"), _quantized(qb, "add")
    made = by_vectors(a) + by_vectors(b)
    return wrapped(
        rounded(
            np.maximum(made, np.float32(0)) if relu else made, a.name, Scheme.of(scale, zero_point)
        )
    )


@_operator
def add(qa: Any, qb: Any, scale: float, zero_point: int) -> Any:
    """a + b of what the tensors stand for, quantized."""
    return _sum(qa, qb, scale, zero_point, False)


@_operator
def add_relu(qa: Any, qb: Any, scale: float, zero_point: int) -> Any:
    """As `add`, and what is negative becomes zero."""
    return _sum(qa, qb, scale, zero_point, True)


def _product(qa: Any, qb: Any, scale: float, zero_point: int, relu: bool) -> Any:
    """Of integers, which are exact, scaled at the end."""
    a, b = _quantized(qa, "mul"), _quantized(qb, "mul")
    sa, sb = require_per_tensor(a), require_per_tensor(b)
    exact = (a.ints.astype(np.int32) - sa.zero_point) * (b.ints.astype(np.int32) - sb.zero_point)
    if relu:
        exact = np.maximum(exact, 0)
    factor = np.float32(
        np.float32(sa.scale) * np.float32(sb.scale) * (np.float32(1) / np.float32(scale))
    )
    low, high = LIMITS[a.name]
    made = np.clip(
        np.rint(exact.astype(np.float32) * factor) + np.float32(zero_point), low, high
    ).astype(a.ints.dtype)
    return wrapped(QuantizedArray(made, a.name, Scheme.of(scale, zero_point)))


@_operator
def mul(qa: Any, qb: Any, scale: float, zero_point: int) -> Any:
    """a * b of what the tensors stand for, quantized."""
    return _product(qa, qb, scale, zero_point, False)


@_operator
def mul_relu(qa: Any, qb: Any, scale: float, zero_point: int) -> Any:
    """As `mul`, and what is negative becomes zero."""
    return _product(qa, qb, scale, zero_point, True)


@_operator
def add_scalar(qa: Any, b: float) -> Any:
    """a + b: the zero point moves, or the scale grows where it cannot."""
    a = _quantized(qa, "add_scalar")
    s, z = require_per_tensor(a).scale, require_per_tensor(a).zero_point
    low, high = LIMITS[a.name]
    moved = round(b / s)
    if low <= z - moved <= high:
        return wrapped(QuantizedArray(a.ints.copy(), a.name, Scheme.of(s, z - moved)))
    bounds = [low, high]
    bounds[z - moved > high] = z - moved
    scale = s * (bounds[1] - bounds[0]) / (high - low)
    kept = (low, high)[z - moved > high]
    made = np.rint(
        (a.ints.astype(np.float64) - (z - moved)) * (np.float32(s) / np.float32(scale)) + kept
    )
    return wrapped(
        QuantizedArray(
            np.clip(made, low, high).astype(a.ints.dtype), a.name, Scheme.of(scale, kept)
        )
    )


@_operator
def mul_scalar(qa: Any, b: float) -> Any:
    """a * b: the scale changes; for a negative number integers change sides."""
    a = _quantized(qa, "mul_scalar")
    s, z = require_per_tensor(a).scale, require_per_tensor(a).zero_point
    low, high = LIMITS[a.name]
    if b > 0:
        return wrapped(QuantizedArray(a.ints.copy(), a.name, Scheme.of(s * b, z)))
    if b == 0:
        return wrapped(QuantizedArray(np.zeros_like(a.ints), a.name, Scheme.of(1.0, 0)))
    return wrapped(
        QuantizedArray(
            (high + low - a.ints.astype(np.int64)).astype(a.ints.dtype),
            a.name,
            Scheme.of(-s * b, high + low - z),
        )
    )


def _with_relu(name: str) -> None:
    plain = OPERATORS[name]

    def rectifying(qa: Any, b: Any) -> Any:
        made = plain(qa, b)
        return like(made, rectified(made._array))

    OPERATORS[f"{name}_relu"] = rectifying


_with_relu("add_scalar")
_with_relu("mul_scalar")


@_operator
def cat(qx: Any, dim: int, scale: float | None = None, zero_point: int | None = None) -> Any:
    """Tensors one after the other; each is rounded to the new scale where its own is another one."""
    first = _quantized(qx[0], "cat")
    scale = require_per_tensor(first).scale if scale is None else scale
    zero_point = require_per_tensor(first).zero_point if zero_point is None else zero_point
    scheme = Scheme.of(scale, zero_point)
    if same_schemes(qx) and first.scheme == scheme:
        return like(qx[0], np.concatenate([t._array.ints for t in qx], dim))
    return wrapped(
        quantize(np.concatenate([dequantize(t._array) for t in qx], dim), first.name, scheme)
    )


@_operator
def cat_relu(qx: Any, dim: int, scale: float | None = None, zero_point: int | None = None) -> Any:
    """As `cat`, and what is negative becomes zero."""
    made = cat(qx, dim, scale, zero_point)
    return like(made, rectified(made._array))


@_operator
def matmul(qa: Any, qb: Any, scale: float, zero_point: int) -> Any:
    """a @ b of what the tensors stand for, quantized."""
    a, b = _quantized(qa, "matmul"), _quantized(qb, "matmul")
    made = dequantize(a).astype(np.float64) @ dequantize(b).astype(np.float64)
    return wrapped(quantize(made.astype(np.float32), a.name, Scheme.of(scale, zero_point)))


# ---- activations ------------------------------------------------------------------------------------------
@_operator
def relu6(qx: Any, inplace: bool = False) -> Any:
    """min(max(x, 0), 6)."""
    ints = clamped(_quantized(qx, "relu6"), 0.0, 6.0)
    if inplace:
        qx._array.ints[...] = ints
        return qx
    return like(qx, ints)


def _activation(name: str, function: Callable[..., Any]) -> None:
    """A function of one number with a scale of its own, looked up."""

    def activation(qx: Any, *args: Any, **kwargs: Any) -> Any:
        scale, zero_point, rest = function(*args, **kwargs)
        _quantized(qx, name)
        with no_grad():
            return _by_table(
                qx,
                lambda x: rest(make_tensor(x))._array,
                qx._array.name,
                Scheme.of(scale, zero_point),
                name != "sigmoid",
            )

    OPERATORS[name] = activation


def _functional(name: str) -> Any:
    return FUNCTIONS["nn.functional"][name]


_activation(
    "hardswish",
    lambda output_scale, output_zero_point: (
        output_scale,
        output_zero_point,
        _functional("hardswish"),
    ),
)
_activation(
    "sigmoid",
    lambda output_scale, output_zero_point: (
        output_scale,
        output_zero_point,
        lambda x: x.sigmoid(),
    ),
)
_activation(
    "elu",
    lambda output_scale, output_zero_point, alpha=1.0, scale=1.0, input_scale=1.0: (
        output_scale, output_zero_point, lambda x: _functional("elu")(x, alpha)
    ),
)  # fmt: skip
_activation(
    "leaky_relu",
    lambda negative_slope, inplace, output_scale, output_zero_point: (
        output_scale, output_zero_point, lambda x: _functional("leaky_relu")(x, negative_slope)
    ),
)  # fmt: skip


@_operator
def softmax(qx: Any, dim: int, output_scale: float, output_zero_point: int) -> Any:
    """Softmax of what the tensor stands for, quantized."""
    a = _quantized(qx, "softmax")
    made = _functional("softmax")(make_tensor(dequantize(a)), dim)
    return wrapped(quantize(made._array, a.name, Scheme.of(output_scale, output_zero_point)))


def _normalization(name: str, function: Callable[..., Any]) -> None:
    """A norm of what the tensor stands for."""

    def normalize(input: Any, *args: Any) -> Any:
        *rest, scale, zero_point = args
        a = _quantized(input, name)
        with no_grad():
            made = function(make_tensor(dequantize(a)), *rest)
        return wrapped(quantize(made._array, a.name, Scheme.of(scale, zero_point)))

    OPERATORS[name] = normalize


_normalization("layer_norm", _functional("layer_norm"))
_normalization("group_norm", _functional("group_norm"))
_normalization(
    "instance_norm",
    lambda x, weight, bias, eps: _functional("instance_norm")(
        x, None, None, weight, bias, True, 0.0, eps
    ),
)


def _batch_norm(name: str, relu: bool) -> None:
    def normalize(
        qx: Any,
        weight: Any,
        bias: Any,
        mean: Any,
        var: Any,
        eps: float,
        output_scale: float,
        output_zero_point: int,
    ) -> Any:
        a = _quantized(qx, name)
        with no_grad():
            made = _functional("batch_norm")(
                make_tensor(dequantize(a)), mean, var, weight, bias, False, 0.0, eps
            )._array
        return wrapped(
            quantize(
                np.maximum(made, np.float32(0)) if relu else made,
                a.name,
                Scheme.of(output_scale, output_zero_point),
            )
        )

    OPERATORS[name] = normalize


for _dims in (1, 2, 3):
    _batch_norm(f"batch_norm{_dims}d", False)
    _batch_norm(f"batch_norm{_dims}d_relu", True)
