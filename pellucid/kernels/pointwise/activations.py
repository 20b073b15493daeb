"""Activation functions, forward and backward, and large plain operations, as fused ufuncs of float32.

    >>> from pellucid.kernels.pointwise import activations
    >>> activations.gelu is None or activations.gelu(np.zeros(3, np.float32)).tolist() == [0.0, 0.0, 0.0]
    True

Arguments come in the order of the table below; numbers are passed as numbers: `gelu(x)`, `gelu_backward(g, x)`,
`softplus(x, beta, threshold)`. A name is compiled when it is first used, and is None where that is impossible.
"""

from __future__ import annotations

import math

import numpy as np

from . import ufunc as e

x, y, g, out = map(e.variable, ("x", "y", "g", "out"))
keep = e.mask("keep")
alpha, beta, low, high = map(e.variable, ("alpha", "beta", "low", "high"))

_RSQRT_2_PI = 1 / math.sqrt(2 * math.pi)
_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)


def _softplus(v):
    """log(1 + e^v) without overflow."""
    return e.maximum(v, 0.0) + e.log1p(e.exp(-abs(v)))


_tanh = e.tanh(_SQRT_2_OVER_PI * (x + 0.044715 * (x * x * x)))
_tanh_slope = _SQRT_2_OVER_PI * (1.0 + 3 * 0.044715 * (x * x))
_sigmoid = e.sigmoid(x)
_mish = e.tanh(_softplus(x))
_scaled = beta * x
_hard = e.minimum(e.maximum(x + 3.0, 0.0), 6.0)

EXPRESSIONS: dict[str, tuple[list[e.Expression], list[e.Expression]]] = {
    # NaN is not below zero and passes through `relu` and its backward.
    "relu": ([x], [e.where(x <= 0.0, 0.0, x)]),
    "relu_backward": ([g, x], [e.where(x <= 0.0, 0.0, g)]),
    "leaky_relu": ([x, alpha], [e.where(x > 0.0, x, x * alpha)]),
    "leaky_relu_backward": ([g, x, alpha], [e.where(x > 0.0, g, g * alpha)]),
    "elu": ([x, alpha], [e.where(x <= 0.0, alpha * e.expm1(x), x)]),
    "elu_backward": ([g, x, alpha], [e.where(x <= 0.0, g * alpha * e.exp(x), g)]),
    "gelu": ([x], [e.gelu(x)]),
    "gelu_slope": ([x], [e.gelu_slope(x)]),
    "gelu_slope_backward": ([g, x], [g * ((2.0 - x * x) * e.exp(x * x * -0.5) * _RSQRT_2_PI)]),
    "gelu_backward": ([g, x], [g * e.gelu_slope(x)]),
    "gelu_tanh": ([x], [0.5 * x * (1.0 + _tanh)]),
    "gelu_tanh_backward": ([g, x], [g * (0.5 * (1.0 + _tanh) + 0.5 * x * (1.0 - _tanh * _tanh) * _tanh_slope)]),
    "silu": ([x], [x * _sigmoid]),
    "silu_backward": ([g, x], [g * (_sigmoid * (1.0 + x * (1.0 - _sigmoid)))]),
    "sigmoid": ([x], [_sigmoid]),
    "sigmoid_backward": ([g, out], [g * ((1.0 - out) * out)]),
    "log_sigmoid": ([x], [e.minimum(x, 0.0) - e.log1p(e.exp(-abs(x)))]),
    "log_sigmoid_backward": ([g, x], [g * e.sigmoid(-x)]),
    "tanh": ([x], [e.tanh(x)]),
    "tanh_backward": ([g, out], [g * (1.0 - out * out)]),
    # softplus(x, beta, threshold) is the identity where beta * x exceeds the threshold.
    "softplus": ([x, beta, high], [e.where(_scaled > high, x, _softplus(_scaled) / beta)]),
    "softplus_backward": ([g, x, beta, high], [e.where(_scaled > high, g, g * e.sigmoid(_scaled))]),
    "mish": ([x], [x * _mish]),
    "mish_backward": ([g, x], [g * (_mish + x * _sigmoid * (1.0 - _mish * _mish))]),
    "hardtanh": ([x, low, high], [e.minimum(e.maximum(x, low), high)]),
    "hardtanh_backward": ([g, x, low, high], [e.where((x <= low) | (x >= high), 0.0, g)]),
    "hardsigmoid": ([x], [_hard / 6.0]),
    "hardswish": ([x], [x * _hard / 6.0]),
    "hardswish_backward": ([g, x], [e.where(x <= -3.0, 0.0, e.where(x < 3.0, g * (x / 3.0 + 0.5), g))]),
    # dropout(x, keep, scale): x * 0 keeps NaN where x is NaN or infinite, as a product with a mask of numbers does.
    "dropout": ([x, keep, alpha], [x * e.where(keep, alpha, 0.0)]),
    "bce_with_logits": ([x, y], [(1.0 - y) * x + _softplus(-x)]),
    "bce_with_logits_backward": ([g, x, y], [g * (_sigmoid - y)]),
    "exp": ([x], [e.exp(x)]),
    "expm1": ([x], [e.expm1(x)]),
    "log": ([x], [e.log(x)]),
    "log1p": ([x], [e.log1p(x)]),
    "erf": ([x], [e.erf(x)]),
    "add": ([x, y], [x + y]),
    "subtract": ([x, y], [x - y]),
    "multiply": ([x, y], [x * y]),
    "divide": ([x, y], [x / y]),
    "add_scaled": ([x, y, alpha], [x + alpha * y]),
    "maximum": ([x, y], [e.maximum(x, y)]),
    "minimum": ([x, y], [e.minimum(x, y)]),
    "negative": ([x], [-x]),
    "sqrt": ([x], [e.sqrt(x)]),
    "square": ([x], [x * x]),
    "cube": ([x], [x * x * x]),
    "where": ([keep, x, y], [e.where(keep, x, y)]),
}


def __getattr__(name: str) -> np.ufunc | None:
    if name not in EXPRESSIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = e.make_ufunc(name, *EXPRESSIONS[name], named=True)
    return globals()[name]
