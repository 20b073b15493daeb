"""Exponential linear units: elu, selu, celu."""

from __future__ import annotations

from typing import Any

from ....core.public import public
from ....core.tape import titled
from ....core.tensor import Tensor
from ....errors import OperationError
from ..._rules import require_tensor
from ._shared import activation, in_place, in_place_of_slope, require_floating


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
    x = require_floating(input, "elu_cpu")
    if inplace:
        return in_place_of_slope(elu, "elu_", "elu", x, alpha)
    return elu_op.call(x, alpha=float(alpha), scale=1.0, input_scale=1.0)


@public(namespace="nn.functional")
def elu_(input: Tensor, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Tensor:
    """In-place `elu`; `scale` multiplies all values, `input_scale` the exponent of negative ones.

    >>> import pellucid as torch
    >>> torch.nn.functional.elu_(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    if scale == input_scale == 1.0:
        return elu(input, alpha, True)
    x = require_floating(input, "elu_cpu")
    return in_place_of_slope(_scaled_elu, "elu_", "elu", x, alpha, scale, input_scale)


def _scaled_elu(x: Tensor, alpha: float, scale: float, input_scale: float) -> Tensor:
    return elu_op.call(x, alpha=float(alpha), scale=float(scale), input_scale=float(input_scale))


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def _selu(input: Tensor) -> Tensor:
    return elu_op.call(
        require_floating(input, "elu_cpu"), alpha=_SELU_ALPHA, scale=_SELU_SCALE, input_scale=1.0
    )


@public(namespace="torch")
def selu(input: Tensor) -> Tensor:
    """scale * elu(input, alpha) with the constants that keep activations normalized.

    Source: Klambauer et al., "Self-Normalizing Neural Networks", 2017.

    >>> import pellucid as torch
    >>> torch.selu(torch.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
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
    return in_place(_selu, "selu_", require_tensor(input, "selu")) if inplace else _selu(input)


@public(namespace="nn.functional torch")
def selu_(input: Tensor) -> Tensor:
    """In-place `selu`.

    >>> import pellucid as torch
    >>> torch.selu_(torch.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return selu_functional(input, True)


def _celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    if alpha == 0:
        raise OperationError("ZeroDivisionError: alpha cannot be 0 for CELU")
    result: Tensor = elu_op.call(
        require_floating(input, "elu_cpu"), alpha=float(alpha), scale=1.0, input_scale=1.0 / alpha
    )
    return titled(result, "Celu")


@public(namespace="torch")
def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`input` where positive, `alpha * (exp(input / alpha) - 1)` elsewhere. Source: Barron, 2017.

    >>> import pellucid as torch
    >>> torch.celu(torch.tensor([-1.0, 2.0]), alpha=2.0)
    tensor([-0.7869,  2.0000])
    """
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
        return in_place_of_slope(_celu, "celu_", "elu", require_tensor(input, "celu"), alpha)
    return _celu(input, alpha)


@public(namespace="nn.functional torch")
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place `celu`.

    >>> import pellucid as torch
    >>> torch.celu_(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return celu_functional(input, alpha, True)
