"""gelu, silu, mish, softplus."""

from __future__ import annotations

import math
from typing import Any

from .... import dtypes
from ....core.primitive import defop
from ....core.public import public
from ....core.tensor import Tensor
from ....errors import OperationError
from ....ir.formula import Formula
from ..._numbers import fitting
from ..._samples import REAL, elementwise
from ._shared import activation, in_place, require_floating

_SQRT_HALF, _RSQRT_2PI, _TANH_SCALE = (
    math.sqrt(0.5),
    1 / math.sqrt(2 * math.pi),
    math.sqrt(2 / math.pi),
)


def _gelu_slope(m: Any, x: Any) -> Any:
    near = m.minimum(m.maximum(x, -40), 40)  # avoids infinity times zero, which is NaN
    return 0.5 * (1 + m.erf(x * _SQRT_HALF)) + near * (m.exp(near * near * -0.5) * _RSQRT_2PI)


activation(
    "gelu_slope", _gelu_slope, lambda F, g, x: g * ((2 - x * x) * F.exp(x * x * -0.5) * _RSQRT_2PI)
)


def _onnx_gelu(c: Any) -> Any:
    part = c.emit("Add", c.emit("Erf", c.emit("Mul", c[0], c.number(math.sqrt(0.5)))), c.number(1))
    return c.emit("Mul", c.emit("Mul", c[0], c.number(0.5)), part)


gelu_op = activation(
    "gelu",
    lambda m, x: x * (0.5 * (1 + m.erf(x * _SQRT_HALF))),
    lambda F, g, x: g * F.gelu_slope(x),
    traits="saturates",
    onnx=_onnx_gelu,
    shows={"approximate": lambda: "none"},
)


def _tanh_inner(m: Any, x: Any) -> Any:
    return m.tanh((x + x * x * x * 0.044715) * _TANH_SCALE)


def _gelu_tanh_slope(F: Any, g: Any, x: Any) -> Any:
    t = _tanh_inner(F, x)
    return g * (
        0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (_TANH_SCALE * (1 + 3 * 0.044715 * (x * x)))
    )


def _onnx_gelu_tanh(c: Any) -> Any:
    cube = c.emit("Mul", c.emit("Mul", c[0], c[0]), c[0])
    inner = c.emit("Add", c[0], c.emit("Mul", cube, c.number(0.044715)))
    part = c.emit(
        "Add", c.emit("Tanh", c.emit("Mul", inner, c.number(math.sqrt(2 / math.pi)))), c.number(1)
    )
    return c.emit("Mul", c.emit("Mul", c[0], c.number(0.5)), part)


gelu_tanh_op = activation(
    "gelu_tanh",
    lambda m, x: 0.5 * x * (1 + _tanh_inner(m, x)),
    _gelu_tanh_slope,
    grad_name="Gelu",
    traits="saturates",
    title="gelu",
    onnx=_onnx_gelu_tanh,
    aten=lambda A, x: A.gelu(x, approximate="tanh"),
    shows={"approximate": lambda: "tanh"},
)


@public(namespace="nn.functional", out="found")
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """`input * Phi(input)` with the normal distribution function Phi.

    Args:
        input: floating point, any shape.
        approximate: "none", or "tanh" for `0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`.
            Default: "none".

    Source: Hendrycks, Gimpel, "Gaussian Error Linear Units", 2016.

    >>> import pellucid as torch
    >>> torch.nn.functional.gelu(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    x = require_floating(input, "GeluKernelImpl")
    if approximate == "none":
        return gelu_op.call(x)
    if approximate == "tanh":
        return gelu_tanh_op.call(x)
    raise OperationError("approximate argument must be either none or tanh.")


silu_op = activation(
    "silu",
    lambda m, x: x * m.sigmoid(x),
    lambda F, g, x: g * (F.sigmoid(x) * (1 + x * (1 - F.sigmoid(x)))),
    traits="saturates",
    onnx=lambda c: c.emit("Mul", c[0], c.emit("Sigmoid", c[0])),
)


@public(namespace="nn.functional")
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """`input * sigmoid(input)`, also called swish.

    Args:
        input: floating point, any shape.
        inplace: whether to change the input itself. Default: False.

    >>> import pellucid as torch
    >>> torch.nn.functional.silu(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.2689,  0.0000,  0.7311])
    """
    x = require_floating(input, "silu_cpu", complex=True)
    return in_place(silu, "silu_", x) if inplace else silu_op.call(x)


def _softplus(m: Any, x: Any) -> Any:
    """Return log(1 + e^x) without overflow."""
    return m.maximum(x, 0) + m.log1p(m.exp(-m.abs(x)))


softplus_of = defop(
    "softplus_of",
    "input",
    formula=Formula(_softplus),
    vjp={"input": lambda F, g, input: g * F.sigmoid(input)},
    elementwise=True,
    title="softplus",
    onnx="Softplus",
    samples=elementwise(REAL),
)


def _mish_slope(F: Any, g: Any, x: Any) -> Any:
    t = F.tanh(F.softplus_of(x))
    return g * (t + x * F.sigmoid(x) * (1 - t * t))


mish_op = activation(
    "mish",
    lambda m, x: x * m.tanh(_softplus(m, x)),
    _mish_slope,
    traits="saturates",
    onnx=lambda c: c.emit("Mul", c[0], c.emit("Tanh", c.emit("Softplus", c[0]))),
)


@public(namespace="nn.functional")
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Mish activation: `input * tanh(softplus(input))`.

    Args:
        input: any shape, a floating-point dtype.
        inplace: change the input itself. Default: False.

    Source: Misra, "Mish: A Self Regularized Non-Monotonic Activation Function", 2019.

    >>> import pellucid as torch
    >>> torch.nn.functional.mish(torch.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """
    x = require_floating(input, "mish_cpu")
    return in_place(mish, "mish_", x) if inplace else mish_op.call(x)


def _onnx_softplus(c: Any) -> Any:
    beta = float(c.p["beta"])
    scaled = c.emit("Mul", c[0], c.number(beta)) if beta != 1 else c[0]
    soft = c.emit("Softplus", scaled)
    soft = c.emit("Div", soft, c.number(beta)) if beta != 1 else soft
    return c.emit("Where", c.emit("Greater", scaled, c.number(c.p["threshold"])), c[0], soft)


def _most(threshold: float) -> float:
    """Return the threshold; infinity for NaN, as nothing is larger than NaN."""
    return threshold if threshold == threshold else math.inf


softplus_op = activation(
    "softplus",
    lambda m, x, *, beta, threshold: m.where(
        x * beta > threshold, x, _softplus(m, x * beta) / beta
    ),
    lambda F, g, x, beta, threshold: (
        g
        * F.where(
            x * beta > threshold, 1.0, F.sigmoid(F.minimum_number(x * beta, high=_most(threshold)))
        )
    ),
    traits="saturates",
    onnx=_onnx_softplus,
    params={"beta": 2.0, "threshold": 3.0},
)


@public(namespace="nn.functional", out="found")
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * input)) / beta; the identity where beta * input > threshold.

    Args:
        input: floating point, any shape.
        beta: the larger, the closer to `relu`. Default: 1.
        threshold: where the identity begins. Default: 20.

    >>> import pellucid as torch
    >>> torch.nn.functional.softplus(torch.zeros(1))
    tensor([0.6931])
    """
    x = require_floating(input, "softplus_cpu")
    kind = dtypes.float64 if x._array.dtype.char == "d" else dtypes.float32
    return softplus_op.call(
        x, beta=fitting(float(beta), kind), threshold=fitting(float(threshold), kind)
    )
