"""Elementwise operators, activations, comparisons and matrix products."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

from pellucid import dtypes
from pellucid.core.primitive import PRIMITIVES, TENSORS
from pellucid.core.tensor import make_tensor
from pellucid.nn import functional as F
from pellucid.onnx.writer.read import numpy_type

from .registry import OPERATORS, NodeCall, Operator, T, array_of, kind, like, operator

# Operators that do what one operation does: those that records are exported as, and those of which
# the exporter must look at dtypes.
_DIRECT = {
    op.onnx: name
    for name, op in PRIMITIVES.items()
    if isinstance(op.onnx, str) and hasattr(T, name)
} | {
    "Not": "logical_not",
    "And": "logical_and",
    "Or": "logical_or",
    "Xor": "logical_xor",
    "BitwiseNot": "bitwise_not",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
}


def _direct(name: str) -> Any:
    function = getattr(T, name)
    return lambda c, *xs: function(*xs)


for _op, _name in _DIRECT.items():
    OPERATORS[_op] = Operator(_direct(_name))


def _legacy(c: NodeCall, x: Any, y: Any) -> Any:
    """Before opset 7 the second argument was broadcast by attributes, from `axis` on."""
    if c.opset >= 7 or not c.get("broadcast"):
        return y
    axis = c.get("axis", x.ndim - y.ndim) % max(x.ndim, 1)
    return y.reshape([*y.shape, *[1] * (x.ndim - axis - y.ndim)])


_BINARY = {"Add": T.add, "Sub": T.sub, "Mul": T.mul}


@operator("Add", "Sub", "Mul")
def _arithmetic(c: NodeCall, x: Any, y: Any) -> Any:
    return like(_BINARY[c.op](x, _legacy(c, x, y)), x)


@operator("Div")
def _div(c: NodeCall, x: Any, y: Any) -> Any:
    y = _legacy(c, x, y)
    return like(T.div(x, y), x) if kind(x) in "fc" else T.div(x, y, rounding_mode="trunc")


@operator("Pow")
def _pow(c: NodeCall, x: Any, y: Any) -> Any:
    if kind(x) == "f":
        return like(T.pow(x, y), x)
    return like(T.pow(x.double(), y.double()) if kind(y) == "f" else T.pow(x, y), x)


@operator("Mod")
def _mod(c: NodeCall, x: Any, y: Any) -> Any:
    return like(T.fmod(x, y) if c.get("fmod") else T.remainder(x, y), x)


@operator("Max", "Min")
def _extreme(c: NodeCall, *xs: Any) -> Any:
    return reduce(T.maximum if c.op == "Max" else T.minimum, xs)


@operator("Sum", "Mean")
def _sum(c: NodeCall, *xs: Any) -> Any:
    total = reduce(T.add, xs)
    return total if c.op == "Sum" else total / len(xs)


@operator("IsInf")
def _isinf(c: NodeCall, x: Any) -> Any:
    up, down = c.get("detect_positive", 1), c.get("detect_negative", 1)
    out = T.isinf(x)
    if not up:
        out = T.logical_and(out, x < 0)
    return out if down else T.logical_and(out, x > 0)


@operator("BitShift")
def _shift(c: NodeCall, x: Any, y: Any) -> Any:
    a, b = array_of(x), array_of(y)  # unsigned integers, which have no gradient
    return make_tensor(a << b if c.get("direction") == "LEFT" else a >> b)


@operator("Clip")
def _clip(c: NodeCall, x: Any, low: Any = None, high: Any = None) -> Any:
    if c.opset < 11:
        return (
            T.clamp(x, c.get("min"), c.get("max"))
            if "min" in c.attributes or "max" in c.attributes
            else x
        )
    x = x if low is None else T.maximum(x, low)
    return x if high is None else T.minimum(x, high)


@operator("Cast", "CastLike")
def _cast(c: NodeCall, x: Any, target: Any = None) -> Any:
    dtype = (
        array_of(target).dtype
        if target is not None
        else numpy_type(c.get("to"), "the result of Cast")
    )
    if x._array.dtype == dtype:
        return x
    if np.dtype(dtype) not in dtypes.BY_NUMPY:
        raise c.refuse(f"to {np.dtype(dtype).name}")
    if np.dtype(dtype).name.startswith("float8") and not c.get("saturate", 1):
        raise c.refuse(f"to {dtype} without saturation")
    if np.dtype(dtype).name.startswith("float8"):
        limit = 448.0 if "e4m3" in np.dtype(dtype).name else 57344.0
        x = T.clamp(x, -limit, limit)
    return x.to(dtypes.BY_NUMPY[np.dtype(dtype)])


@operator("BitCast")
def _bitcast(c: NodeCall, x: Any) -> Any:
    return make_tensor(array_of(x).view(numpy_type(c.get("to"), "the result of BitCast")))


# ---- activations -----------------------------------------------------------------------------
@operator("LeakyRelu")
def _leaky_relu(c: NodeCall, x: Any) -> Any:
    return F.leaky_relu(x, c.get("alpha", 0.01))


@operator("PRelu")
def _prelu(c: NodeCall, x: Any, slope: Any) -> Any:
    if c.opset < 7 and slope.ndim == 1 and x.ndim > 1:
        slope = slope.reshape([-1] + [1] * (x.ndim - 2))
    return T.where(x < 0, x * slope, x)


@operator("Elu")
def _elu(c: NodeCall, x: Any) -> Any:
    return F.elu(x, c.get("alpha", 1.0))


@operator("Celu")
def _celu(c: NodeCall, x: Any) -> Any:
    return F.celu(x, c.get("alpha", 1.0))


@operator("Selu")
def _selu(c: NodeCall, x: Any) -> Any:
    alpha, gamma = (
        c.get("alpha", 1.67326319217681884765625),
        c.get("gamma", 1.05070102214813232421875),
    )
    return gamma * F.elu(x, alpha)


@operator("ThresholdedRelu")
def _thresholded(c: NodeCall, x: Any) -> Any:
    return F.threshold(x, c.get("alpha", 1.0), 0.0)


@operator("HardSigmoid")
def _hard_sigmoid(c: NodeCall, x: Any) -> Any:
    return T.clamp(x * c.get("alpha", 0.2) + c.get("beta", 0.5), 0, 1)


@operator("HardSwish")
def _hardswish(c: NodeCall, x: Any) -> Any:
    return F.hardswish(x)


@operator("Softplus")
def _softplus(c: NodeCall, x: Any) -> Any:
    return TENSORS.softplus_of(x)


@operator("Softsign")
def _softsign(c: NodeCall, x: Any) -> Any:
    return F.softsign(x)


@operator("Mish")
def _mish(c: NodeCall, x: Any) -> Any:
    return F.mish(x)


@operator("Gelu")
def _gelu(c: NodeCall, x: Any) -> Any:
    return F.gelu(x, approximate=c.get("approximate", "none"))


@operator("Swish")
def _swish(c: NodeCall, x: Any) -> Any:
    alpha = c.get("alpha", 1.0)
    return F.silu(x) if alpha == 1 else x * T.sigmoid(x * alpha)


@operator("Shrink")
def _shrink(c: NodeCall, x: Any) -> Any:
    bias, limit = c.get("bias", 0.0), c.get("lambd", 0.5)
    zero = T.zeros_like(x)
    return like(T.where(x < -limit, x + bias, T.where(x > limit, x - bias, zero)), x)


@operator("Softmax", "LogSoftmax", "Hardmax")
def _softmax(c: NodeCall, x: Any) -> Any:
    """Over one axis; before opset 13 over all from `axis` on."""
    axis = c.get("axis", -1 if c.opset >= 13 else 1)
    shape = tuple(x.shape)
    if c.opset < 13 and axis % max(x.ndim, 1) != x.ndim - 1:
        axis %= x.ndim
        x = x.reshape([math.prod(shape[:axis]), math.prod(shape[axis:])])
        axis = 1
    if c.op == "Hardmax":
        size = x.shape[axis]
        out = like(T.movedim(F.one_hot(T.argmax(x, axis), size), -1, axis), x)
    else:
        out = (T.softmax if c.op == "Softmax" else T.log_softmax)(x, axis)
    return out if tuple(out.shape) == shape else out.reshape(shape)


# ---- products --------------------------------------------------------------------------------
@operator("Gemm")
def _gemm(c: NodeCall, x: Any, w: Any, b: Any = None) -> Any:
    alpha, beta = c.get("alpha", 1.0), c.get("beta", 1.0)
    x = x.t() if c.get("transA") else x
    if (
        alpha == 1
        and beta == 1
        and c.get("transB")
        and kind(x) == "f"
        and (b is None or b.ndim == 1)
    ):
        return F.linear(x, w, b)
    out = T.matmul(x, w.t() if c.get("transB") else w)
    out = out if alpha == 1 else like(out * alpha, x)
    return out if b is None else out + (b if beta == 1 else like(b * beta, x))


@operator("Einsum")
def _einsum(c: NodeCall, *xs: Any) -> Any:
    return T.einsum(c.get("equation"), *xs)


# ---- random numbers --------------------------------------------------------------------------
@operator("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike")
def _random(c: NodeCall, x: Any = None) -> Any:
    """Numbers from the library's generator; a `seed` in the file is not followed."""
    shape = c.get("shape") if x is None else list(x.shape)
    number = c.get("dtype")
    if number is None:
        dtype = dtypes.float32 if x is None else x.dtype
    else:
        dtype = dtypes.BY_NUMPY[numpy_type(number, f"the result of {c.op}")]
    if "Normal" in c.op:
        return T.randn(shape, dtype=dtype) * c.get("scale", 1.0) + c.get("mean", 0.0)
    low, high = c.get("low", 0.0), c.get("high", 1.0)
    return T.rand(shape, dtype=dtype) * (high - low) + low


@operator("Bernoulli")
def _bernoulli(c: NodeCall, x: Any) -> Any:
    number = c.get("dtype")
    out = T.bernoulli(x)
    return (
        out
        if number is None
        else out.to(dtypes.BY_NUMPY[numpy_type(number, "the result of Bernoulli")])
    )


@operator("Multinomial")
def _multinomial(c: NodeCall, x: Any) -> Any:
    out = T.multinomial(T.softmax(x, -1), c.get("sample_size", 1), replacement=True)
    return out.to(dtypes.BY_NUMPY[numpy_type(c.get("dtype", 6), "the result of Multinomial")])
