"""Activation functions. Forward and ordinary backward are one generated kernel each; the formulas
serve every other case.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ...backends.formulas import forward_of
from ...core.bind import wrap
from ...core.inplace import check_writable, overwrite
from ...core.primitive import TENSORS as F
from ...core.primitive import Primitive, defop
from ...core.public import METHODS, public
from ...core.streams import generator as random
from ...core.streams.distributions import exponential, rrelu_noise
from ...core.tape import titled
from ...core.tensor import Tensor
from ...core.tracing import constant
from ...errors import ArgumentValueError, OperationError, UnsupportedError
from ...ir.formula import Formula
from ...shapes import normalize_dim
from .._numbers import fitting
from .._rules import fused_gradient, low_precision, require_tensor
from .._samples import REAL, elementwise
from ..reduce.softmax import log_softmax_op, softmax_along, softmax_op
from ._unary import document


def activation(
    name: str,
    formula: Callable[..., Any],
    slope: Callable[..., Any],
    *,
    kinds: str = "fh",
    saves: str = "input",
    params: dict[str, float] | None = None,
    **fields: Any,
) -> Primitive:
    """Record `name` from its formula and `slope(F, g, input or out, **numbers)`, the gradient in
    operations; each is one kernel, too.

    `params` are numbers to test it with.
    """
    written = Formula(formula, kinds)
    return defop(
        name,
        "input",
        forward=forward_of(name, written, kernel=True),
        formula=written,
        vjp={"input": fused_gradient(name, slope, saves, written.numbers)},
        jvp="elementwise",
        aval=lambda x, **_: x,
        elementwise=True,
        samples=elementwise(REAL, params=(params or {},)),
        **fields,
    )


def _inplace(
    function: Callable[..., Tensor], name: str, x: Tensor, *args: Any, **params: Any
) -> Tensor:
    check_writable(x, name)
    return overwrite(x, function(x, *args, **params), name)


def _inplace_of_slope(
    function: Callable[..., Tensor], name: str, kernel: str, x: Tensor, slope: float
) -> Tensor:
    """`_inplace` of an activation with a slope for negative numbers: backward tells them by the
    sign of the result, so a negative slope has no backward.
    """
    made = _inplace(function, name, x, slope)
    node = made.grad_fn
    if slope < 0 and node is not None:

        def refuse(grads: Any) -> None:
            raise OperationError(
                f"In-place {kernel} backward calculation is triggered with a negative slope which is not supported. This is caused by "
                "calling in-place forward function with a negative slope, please call out-of-place version instead."
            )

        node.register_prehook(refuse)
    return made


def _floating(x: Any, name: str, complex: bool = False) -> Tensor:
    x = require_tensor(x, name)
    if not (x.dtype.is_floating_point or complex and x.dtype.is_complex):
        raise UnsupportedError(
            f"\"{name}\" not implemented for '{x.dtype.scalar_type_name}'", op=name
        )
    return x


# ---- relu ---------------------------------------------------------------------------------------
def _check_relu(x: Any) -> None:
    if x.dtype.kind == "b":
        raise OperationError("Boolean inputs not supported for relu")
    if x.dtype.kind == "c":
        raise UnsupportedError("clamp is not supported for complex types")


relu_op = activation(
    "relu",
    lambda m, x: m.maximum(x, 0),
    lambda F, g, out: F.where(out <= 0, 0.0, g),  # at NaN the gradient passes
    kinds="fhi",
    saves="out",
    check=_check_relu,
    linked="out",
    onnx="Relu",
)
relu = relu_op.call
document(
    relu,
    "Rectified linear unit, `max(input, 0)` of each element. NaN stays NaN.",
    "torch.relu(torch.tensor([-1.0, 2.0]))",
    "tensor([0., 2.])",
)
public(methods="=", inplace="relu_")(relu)


@public(namespace="nn.functional", names="relu")
def relu_functional(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0), element by element; NaN stays.

    Args:
        input: real, any shape.
        inplace: whether to change the input itself. Default: False.

    >>> import pellucid as torch
    >>> torch.nn.functional.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return METHODS["relu_"](input) if inplace else relu(input)


@public(namespace="nn.functional", names="relu_")
def relu_inplace(input: Tensor) -> Tensor:
    """In-place `relu`."""
    return METHODS["relu_"](input)


hardtanh_op = activation(
    "hardtanh",
    lambda m, x, *, low, high: m.minimum(m.maximum(x, low), high),
    lambda F, g, x, low, high: F.where((x <= low) | (x >= high), 0.0, g),
    traits="saturates",
    linked="input",
    onnx=lambda c: c.clipped(c.p["low"], c.p["high"]),
    aten=lambda A, x, *, low, high: A.hardtanh(x, low, high),
    params={"low": -1.0, "high": 0.5},
)


@public(namespace="nn.functional")
def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Limit `input` to [min_val, max_val].

    Args:
        input: any shape, a floating-point dtype.
        min_val, max_val: the limits. Default: -1 and 1.
        inplace: change the input itself. Default: False.

    >>> import pellucid as torch
    >>> torch.nn.functional.hardtanh(torch.tensor([-2.0, 0.5, 2.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    x = require_tensor(input, "hardtanh")
    if min_val > max_val:
        raise ArgumentValueError("min_val cannot be greater than max_val")
    if x._array.dtype.kind == "c":
        raise UnsupportedError("clamp is not supported for complex types")
    if x._array.dtype.kind == "b":
        raise OperationError("Bool inputs not supported for hardtanh")
    if x._array.dtype.kind == "u" and int(min_val) < 0:
        raise OperationError("cannot do hardtanh on an unsigned type with negative limits")
    if inplace:
        return _inplace(hardtanh, "hardtanh_", x, min_val, max_val)
    if x._array.dtype.kind in "iu":
        return x.clamp(int(min_val), int(max_val))
    return hardtanh_op.call(x, low=float(min_val), high=float(max_val))


@public(namespace="nn.functional")
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Rectified linear unit with a limit, `min(max(input, 0), 6)`.

    Args:
        input: any shape, a floating-point dtype.
        inplace: change the input itself. Default: False.

    >>> import pellucid as torch
    >>> torch.nn.functional.relu6(torch.tensor([-1.0, 2.0, 8.0]))
    tensor([0., 2., 6.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


@public(namespace="nn.functional")
def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """In-place `hardtanh`."""
    return hardtanh(input, min_val, max_val, True)


leaky_op = activation(
    "leaky_relu",
    lambda m, x, *, slope: m.where(x > 0, x, x * slope),
    lambda F, g, x, slope: F.where(x > 0, g, g * slope),
    linked="input",
    onnx=lambda c: c.emit("LeakyRelu", c[0], alpha=float(c.p["slope"])),
    aten=lambda A, x, *, slope: A.leaky_relu(x, slope),
    params={"slope": 0.1},
)


@public(namespace="nn.functional")
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """`input` where positive, `negative_slope * input` elsewhere.

    Args:
        input: floating point, any shape.
        negative_slope: the slope for negative elements. Default: 0.01.
        inplace: whether to change the input itself. Default: False.

    >>> import pellucid as torch
    >>> torch.nn.functional.leaky_relu(torch.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    x = _floating(input, "leaky_relu_cpu")
    if inplace:
        return _inplace_of_slope(leaky_relu, "leaky_relu_", "leakyReLu", x, negative_slope)
    return leaky_op.call(x, slope=float(negative_slope))


@public(namespace="nn.functional")
def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """In-place `leaky_relu`."""
    return leaky_relu(input, negative_slope, True)


def _onnx_elu(c: Any) -> Any:
    alpha, scale, input_scale = (float(c.p[w]) for w in ("alpha", "scale", "input_scale"))
    if input_scale == 1 and scale == 1:
        return c.emit("Elu", c[0], alpha=alpha)
    inner = c.emit("Mul", c[0], c.number(input_scale)) if input_scale != 1 else c[0]
    low = c.emit(
        "Mul",
        c.emit("Sub", c.emit("Exp", c.emit("Min", inner, c.number(0))), c.number(1)),
        c.number(alpha * scale),
    )
    return c.emit(
        "Where", c.emit("LessOrEqual", c[0], c.number(0)), low, c.emit("Mul", c[0], c.number(scale))
    )


elu_op = activation(
    "elu",
    lambda m, x, *, alpha, scale, input_scale: m.where(
        x <= 0, (alpha * scale) * m.expm1(x * input_scale), x * scale
    ),
    lambda F, g, x, alpha, scale, input_scale: (
        g
        * F.where(
            x <= 0,
            (alpha * scale * input_scale) * F.exp(F.minimum_number(x, high=0.0) * input_scale),
            scale,
        )
    ),
    traits="saturates",
    onnx=_onnx_elu,
    params={"alpha": 1.5, "scale": 1.1, "input_scale": 0.7},
)

defop(
    "minimum_number",
    "input",
    formula=Formula(lambda m, x, *, high: m.minimum(x, high), "fhib"),
    vjp={"input": lambda g, input, high: g * (input < high)},
    elementwise=True,
    aval=lambda x, high: x,
    title="minimum",
    onnx=lambda c: c.emit("Min", c[0], c.number(c.p["high"])),
    aten=lambda A, x, *, high: A.clamp_max(x, high),
    samples=elementwise(REAL, params=({"high": 0.5},)),
)


@public(namespace="nn.functional")
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` where positive, `alpha * (exp(input) - 1)` elsewhere.

    Args:
        input: floating point, any shape.
        alpha: the negative limit is -alpha. Default: 1.
        inplace: whether to change the input itself. Default: False.

    Source: Clevert, Unterthiner, Hochreiter, "Fast and Accurate Deep Network Learning by
    Exponential Linear Units", 2015.

    >>> import pellucid as torch
    >>> torch.nn.functional.elu(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    x = _floating(input, "elu_cpu")
    if inplace:
        return _inplace_of_slope(elu, "elu_", "elu", x, alpha)
    return elu_op.call(x, alpha=float(alpha), scale=1.0, input_scale=1.0)


@public(namespace="nn.functional")
def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place `elu`."""
    return elu(input, alpha, True)


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def _selu(input: Tensor) -> Tensor:
    return elu_op.call(
        _floating(input, "elu_cpu"), alpha=_SELU_ALPHA, scale=_SELU_SCALE, input_scale=1.0
    )


@public(namespace="torch")
def selu(input: Tensor) -> Tensor:
    """scale * elu(input, alpha) with the constants that keep activations normalized.

    Source: Klambauer et al., "Self-Normalizing Neural Networks", 2017.
    """
    return _selu(input)


@public(namespace="nn.functional", names="selu")
def selu_functional(input: Tensor, inplace: bool = False) -> Tensor:
    """Scaled exponential linear unit, `scale * elu(input, alpha)`, which keeps mean 0 and variance
    1 from layer to layer.

    Args:
        input: any shape, a floating-point dtype.
        inplace: change the input itself. Default: False.

    Source: Klambauer et al., "Self-Normalizing Neural Networks", 2017.

    >>> import pellucid as torch
    >>> torch.nn.functional.selu(torch.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return _inplace(_selu, "selu_", require_tensor(input, "selu")) if inplace else _selu(input)


@public(namespace="nn.functional torch")
def selu_(input: Tensor) -> Tensor:
    """In-place `selu`."""
    return selu_functional(input, True)


def _celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    if alpha == 0:
        raise OperationError("ZeroDivisionError: alpha cannot be 0 for CELU")
    result: Tensor = elu_op.call(
        _floating(input, "elu_cpu"), alpha=float(alpha), scale=1.0, input_scale=1.0 / alpha
    )
    return titled(result, "Celu")


@public(namespace="torch")
def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`input` where positive, `alpha * (exp(input / alpha) - 1)` elsewhere. Source: Barron, 2017."""
    return _celu(input, alpha)


@public(namespace="nn.functional", names="celu")
def celu_functional(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Continuously differentiable exponential linear unit: `input` where positive, otherwise
    `alpha * (exp(input / alpha) - 1)`.

    Args:
        input: any shape, a floating-point dtype.
        alpha: the negative limit is -alpha. Default: 1.
        inplace: change the input itself. Default: False.

    >>> import pellucid as torch
    >>> torch.nn.functional.celu(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    if inplace:
        return _inplace_of_slope(_celu, "celu_", "elu", require_tensor(input, "celu"), alpha)
    return _celu(input, alpha)


@public(namespace="nn.functional torch")
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place `celu`."""
    return celu_functional(input, alpha, True)


# ---- smooth ones --------------------------------------------------------------------------------
_SQRT_HALF, _RSQRT_2PI, _TANH_SCALE = (
    math.sqrt(0.5),
    1 / math.sqrt(2 * math.pi),
    math.sqrt(2 / math.pi),
)


def _gelu_slope(m: Any, x: Any) -> Any:
    near = m.minimum(m.maximum(x, -40), 40)  # infinity times zero is not a number
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
)


@public(namespace="nn.functional", out="found")
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """`input * Phi(input)` with the normal distribution function Phi.

    Args:
        approximate: "tanh" uses 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).

    Source: Hendrycks, Gimpel, "Gaussian Error Linear Units", 2016.

    >>> import pellucid as torch
    >>> torch.nn.functional.gelu(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    x = _floating(input, "GeluKernelImpl")
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
    x = _floating(input, "silu_cpu", complex=True)
    return _inplace(silu, "silu_", x) if inplace else silu_op.call(x)


def _softplus(m: Any, x: Any) -> Any:
    """log(1 + e^x) without overflow."""
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
    x = _floating(input, "mish_cpu")
    return _inplace(mish, "mish_", x) if inplace else mish_op.call(x)


def _onnx_softplus(c: Any) -> Any:
    beta = float(c.p["beta"])
    scaled = c.emit("Mul", c[0], c.number(beta)) if beta != 1 else c[0]
    soft = c.emit("Softplus", scaled)
    soft = c.emit("Div", soft, c.number(beta)) if beta != 1 else soft
    return c.emit("Where", c.emit("Greater", scaled, c.number(c.p["threshold"])), c[0], soft)


softplus_op = activation(
    "softplus",
    lambda m, x, *, beta, threshold: m.where(
        x * beta > threshold, x, _softplus(m, x * beta) / beta
    ),
    lambda F, g, x, beta, threshold: (
        g
        * F.where(x * beta > threshold, 1.0, F.sigmoid(F.minimum_number(x * beta, high=threshold)))
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
    return softplus_op.call(
        _floating(input, "softplus_cpu"), beta=float(beta), threshold=float(threshold)
    )


logsigmoid_op = activation(
    "log_sigmoid",
    lambda m, x: m.minimum(x, 0) - m.log1p(m.exp(-m.abs(x))),
    lambda F, g, x: g * F.sigmoid(-x),
    traits="saturates",
    title="logsigmoid",
    onnx=lambda c: c.emit("Neg", c.emit("Softplus", c.emit("Neg", c[0]))),
    aten=lambda A, x: A.log_sigmoid_forward(x)[0],
)


@public(namespace="nn.functional", out=True)
def logsigmoid(input: Tensor) -> Tensor:
    """Logarithm of the sigmoid, `log(sigmoid(input))`, without underflow.

    >>> import pellucid as torch
    >>> torch.nn.functional.logsigmoid(torch.tensor([-200.0, 0.0]))
    tensor([-200.0000,   -0.6931])
    """
    return logsigmoid_op.call(_floating(input, "log_sigmoid_cpu"))


hardsigmoid_op = activation(
    "hardsigmoid",
    lambda m, x: m.minimum(m.maximum(x + 3, 0), 6) / 6,
    lambda F, g, x: g * ((x > -3) & (x < 3)) / 6.0,
    linked="input",
    traits="saturates",
    onnx=lambda c: c.emit("HardSigmoid", c[0], alpha=1 / 6, beta=0.5),
)


@public(namespace="nn.functional")
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Piecewise linear approximation of the sigmoid: `min(max(input + 3, 0), 6) / 6`.

    Args:
        input: any shape, a floating-point dtype.
        inplace: change the input itself. Default: False.

    Source: Howard et al., "Searching for MobileNetV3", 2019.

    >>> import pellucid as torch
    >>> torch.nn.functional.hardsigmoid(torch.tensor([-4.0, 0.0, 4.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    x = _floating(input, "hardsigmoid_cpu")
    return _inplace(hardsigmoid, "hardsigmoid_", x) if inplace else hardsigmoid_op.call(x)


def _onnx_hardswish(c: Any) -> Any:
    if c.graph.opset >= 14:
        return c.emit("HardSwish", c[0])
    return c.emit("Mul", c[0], c.emit("HardSigmoid", c[0], alpha=1 / 6, beta=0.5))


hardswish_op = activation(
    "hardswish",
    lambda m, x: x * m.minimum(m.maximum(x + 3, 0), 6) / 6,
    lambda F, g, x: F.where(x <= -3, 0.0, F.where(x < 3, g * (x / 3.0 + 0.5), g)),
    traits="saturates",
    onnx=_onnx_hardswish,
)


@public(namespace="nn.functional")
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Piecewise approximation of the swish function: `input * hardsigmoid(input)`.

    Args:
        input: any shape, a floating-point dtype.
        inplace: change the input itself. Default: False.

    Source: Howard et al., "Searching for MobileNetV3", 2019.

    >>> import pellucid as torch
    >>> torch.nn.functional.hardswish(torch.tensor([-4.0, 1.0, 4.0]))
    tensor([-0.0000, 0.6667, 4.0000])
    """
    x = _floating(input, "hardswish_cpu")
    return _inplace(hardswish, "hardswish_", x) if inplace else hardswish_op.call(x)


@public(namespace="nn.functional torch", out="found")
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Hard shrinkage: `input` where |input| > lambd, otherwise 0.

    Args:
        input: any shape, a floating-point dtype.
        lambd: the threshold. Default: 0.5.

    >>> import pellucid as torch
    >>> torch.nn.functional.hardshrink(torch.tensor([-1.0, 0.2, 2.0]))
    tensor([-1.,  0.,  2.])
    """
    x = _floating(input, "hardshrink_cpu")
    return titled(F.where((x >= -lambd) & (x <= lambd), 0.0, x), "Hardshrink", x)


METHODS["hardshrink"] = hardshrink


@public(namespace="nn.functional", out="found")
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Soft shrinkage: move `input` towards zero by `lambd`; 0 where |input| <= lambd.

    Args:
        input: any shape, a floating-point dtype.
        lambd: the distance. Default: 0.5.

    >>> import pellucid as torch
    >>> torch.nn.functional.softshrink(torch.tensor([-1.0, 0.2, 2.0]))
    tensor([-0.5000,  0.0000,  1.5000])
    """
    x = _floating(input, "softshrink_check")
    most = np.finfo(x._array.dtype).max if x._array.dtype.kind == "f" else 3.38953e38
    if not 0 <= lambd <= most:
        raise OperationError(
            f"lambda must be in range [0, {most:g}] for input dtype {x.dtype.scalar_type_name}, but found {lambd:g}"
        )
    moved = F.where(x > lambd, x - lambd, x + lambd)
    inside = (x >= -lambd) & (x <= lambd)
    return titled(F.where(inside, x * 0.0, moved), "Softshrink", x)


@public(namespace="nn.functional")
def tanhshrink(input: Tensor) -> Tensor:
    """Tanh shrinkage, `input - tanh(input)`.

    >>> import pellucid as torch
    >>> torch.nn.functional.tanhshrink(torch.tensor([-1.0, 2.0]))
    tensor([-0.2384,  1.0360])
    """
    return require_tensor(input, "tanhshrink") - input.tanh()


@public(namespace="nn.functional")
def softsign(input: Tensor) -> Tensor:
    """Softsign, `input / (1 + |input|)`.

    >>> import pellucid as torch
    >>> torch.nn.functional.softsign(torch.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    return require_tensor(input, "softsign") / (input.abs() + 1)


@public(namespace="nn.functional")
def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent."""
    return require_tensor(input, "tanh").tanh()


@public(namespace="nn.functional")
def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input))."""
    return require_tensor(input, "sigmoid").sigmoid()


@public(namespace="nn.functional torch")
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Threshold: `input` where it is greater than `threshold`, otherwise `value`.

    Args:
        input: any shape, a real dtype.
        threshold: the threshold.
        value: the replacement.
        inplace: change the input itself. Default: False.

    >>> import pellucid as torch
    >>> torch.nn.functional.threshold(torch.tensor([0.5, 2.0]), 1.0, -1.0)
    tensor([-1.,  2.])
    """
    x = require_tensor(input, "threshold")
    if inplace:
        return _threshold_in_place(x, threshold, value)
    return _threshold(x, threshold, value)


def _threshold_in_place(x: Tensor, level: float, value: float) -> Tensor:
    # of an expanded tensor each element once: a second time changes nothing, and PyTorch takes it
    part = x
    for dim, stride in enumerate(() if x.is_meta else x.stride()):
        if not stride and x._array.shape[dim] > 1:
            part = part.narrow(dim, 0, 1)
    _inplace(_threshold, "threshold_", part, level, value)
    return x


def _threshold(x: Tensor, level: float, value: float) -> Tensor:
    if x.dtype.category == 0 or x.dtype.is_complex:
        raise UnsupportedError(
            f"\"threshold_cpu\" not implemented for '{x.dtype.scalar_type_name}'", op="threshold"
        )
    if x.dtype.is_integral:
        level, value = fitting(level, x.dtype), fitting(value, x.dtype)
    return titled(
        F.where(x <= level, wrap(constant(np.asarray(value, x._array.dtype))), x), "Threshold", x
    )


@public(namespace="nn.functional torch")
def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """In-place `threshold`."""
    return _threshold_in_place(require_tensor(input, "threshold_"), threshold, value)


@public(namespace="nn.functional")
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Gated linear unit: the first half along `dim` times the sigmoid of the second.

    Args:
        input: floating point; the size of `dim` is even, and the result has half of it.
        dim: the dimension that is halved. Default: -1.

    Raises:
        RuntimeError: an odd size.

    Source: Dauphin et al., "Language modeling with gated convolutional networks", 2017.

    >>> import pellucid as torch
    >>> torch.nn.functional.glu(torch.tensor([2.0, 0.0]))
    tensor([1.])
    """
    x = require_tensor(input, "glu")
    if x.ndim == 0:
        raise OperationError("glu does not support scalars because halving size must be even")
    dim = normalize_dim(dim, x.ndim)
    size = x._array.shape[dim]
    if size % 2:
        raise OperationError(f"Halving dimension must be even, but dimension {dim} is size {size}")
    _floating(x, "glu_cpu")
    first, second = x.narrow(dim, 0, size // 2), x.narrow(dim, size // 2, size // 2)
    return titled(first * second.sigmoid(), "Glu")


@public(namespace="nn.functional torch")
@low_precision
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Leaky ReLU with a learned slope: `input` where positive, otherwise `weight * input`.

    Args:
        input: any shape, a floating-point dtype.
        weight: one value, or one for each channel (dimension 1).

    Source: He et al., "Delving Deep into Rectifiers", 2015.

    >>> import pellucid as torch
    >>> torch.nn.functional.prelu(torch.tensor([-1.0, 2.0]), torch.tensor([0.25]))
    tensor([-0.2500,  2.0000])
    """
    x, w = require_tensor(input, "prelu"), require_tensor(weight, "prelu", "weight", 2)
    if w._array.size != 1:
        if x.ndim == 0:
            raise OperationError("Not allow zero-dim input tensor.")
        channels = x._array.shape[1] if x.ndim > 1 else 1
        if w._array.size != channels:
            raise OperationError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {w._array.size} and channel size = "
                f"{channels}."
            )
    if w.ndim > 1:
        raise OperationError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {w.ndim}"
        )
    if w._array.dtype != x._array.dtype:
        raise OperationError(
            "prelu: Type promoting not supported. Got "
            f"{x.dtype.scalar_type_name} and {w.dtype.scalar_type_name}"
        )
    _floating(x, "prelu_cpu")
    if w._array.size != 1 or x.ndim > 0:
        w = w.reshape((1, -1) + (1,) * (x.ndim - 2) if x.ndim > 1 else (-1,))
    else:
        w = w.reshape(())
    return titled(F.where(x > 0, x, w * x), "PreluKernel", x)


METHODS["prelu"] = prelu


def _rrelu(x: Tensor, lower: float, upper: float, training: bool) -> Tensor:
    if not training:
        return leaky_relu(x, (lower + upper) / 2)
    noise = rrelu_noise(random.default_generator, x._array, lower, upper)
    return titled(x * wrap(noise), "RreluWithNoise", x)


@public(namespace="nn.functional torch")
def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """Randomized leaky ReLU. In training, negative slopes are drawn from [lower, upper]; otherwise
    the slope is their mean.

    Args:
        input: any shape, a floating-point dtype.
        lower, upper: the bounds of the slope. Default: 1/8 and 1/3.
        training: draw the slopes. Default: False.
        inplace: change the input itself. Default: False.

    Source: Xu et al., "Empirical Evaluation of Rectified Activations in Convolutional Network",
        2015.

    >>> import pellucid as torch
    >>> torch.nn.functional.rrelu(torch.tensor([-1.0, 2.0]))
    tensor([-0.2292,  2.0000])
    """
    x = _floating(input, "rrelu_with_noise_out_cpu" if training else "leaky_relu_cpu")
    if lower > upper:
        raise OperationError("Lower bound should be less than or equal to the upper bound")
    if inplace and not training:
        return leaky_relu(x, (lower + upper) / 2, True)
    if inplace:
        return _inplace(_rrelu, "rrelu_", x, lower, upper, training)
    return titled(_rrelu(x, lower, upper, training), "RreluWithNoise")


@public(namespace="nn.functional torch")
def rrelu_(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False
) -> Tensor:
    """In-place `rrelu`."""
    return rrelu(input, lower, upper, training, True)


def _with_default_dim(name: str, meaning: str) -> None:
    op, title = (log_softmax_op, name) if name == "log_softmax" else (softmax_op, "softmax")

    def function(
        input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
    ) -> Tensor:
        x = require_tensor(input, name)
        if dim is None:
            warnings.warn(
                f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
                UserWarning,
                stacklevel=_stacklevel - 1,
            )
            dim = 0 if x.ndim in (0, 1, 3) else 1
        return softmax_along(op, title, -x if name == "softmin" else x, dim, dtype)

    function.__name__ = name
    function.__doc__ = f"""{meaning}

    Args:
        input: floating point, any shape (other types with `dtype=`).
        dim: the dimension over which the probabilities sum to 1. Without it a warning says so, and it is 0 for 0, 1 or 3 dimensions,
            else 1.
        dtype: convert to this type first. Default: None.

    >>> import pellucid as torch
    >>> torch.nn.functional.{name}(torch.zeros(2, 5), dim=1).shape
    torch.Size([2, 5])
    """
    public(namespace="nn.functional")(function)


_with_default_dim("softmax", "`exp(x) / sum(exp(x))` along `dim`, computed without overflow.")
_with_default_dim(
    "log_softmax", "`log(softmax(x))` along `dim`, without the loss of precision of the two steps."
)
_with_default_dim("softmin", "`softmax(-x)` along `dim`, which weighs small elements most.")


@public(namespace="nn.functional")
def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """Sample from the Gumbel-softmax distribution: `softmax((logits + Gumbel noise) / tau)`.

    Args:
        logits: unnormalized log-probabilities, any shape.
        tau: the temperature; small values give samples that are nearly one-hot. Default: 1.
        hard: return one-hot vectors, with the gradient of the soft sample. Default: False.
        eps: accepted, without an effect.
        dim: the dimension of the classes. Default: -1.

    Source: Jang, Gu, Poole, "Categorical Reparameterization with Gumbel-Softmax", 2016.

    >>> import pellucid as torch
    >>> torch.nn.functional.gumbel_softmax(torch.zeros(2, 3), hard=True).sum(dim=1)
    tensor([1., 1.])
    """
    x = require_tensor(logits, "gumbel_softmax", "logits")
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", UserWarning, stacklevel=2)
    noise = F.log(wrap(exponential(random.default_generator, x._array.shape, 1.0, x._array.dtype)))
    soft = METHODS["softmax"]((x - noise) / tau, dim)
    if not hard:
        return soft
    best = METHODS["argmax"](soft, dim, keepdim=True)
    onehot = METHODS["scatter"](METHODS["new_zeros"](soft, soft.shape), dim, best, 1.0)
    return onehot - soft.detach() + soft
