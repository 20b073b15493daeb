"""Sigmoid-like activations: logsigmoid, hardsigmoid, hardswish, softsign, glu."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....arrays.halves import HALVES
from ....core.primitive import TENSORS as F
from ....core.public import public
from ....core.tape import titled
from ....core.tensor import Tensor
from ....core.transforms.whole import one_node
from ....errors import OperationError
from ....shapes import normalize_dim
from ..._rules import require_tensor
from ._shared import activation, in_place, require_floating

logsigmoid_op = activation(
    "log_sigmoid",
    lambda m, x: m.minimum(x, 0) - m.log1p(m.exp(-m.abs(x))),
    lambda F, g, x: g * F.sigmoid(-x),
    lies="",
    traits="saturates",
    overload="log_sigmoid_forward",
    title="logsigmoid",
    packs=(lambda input: [input, np.exp(-abs(input))], lambda kept: {"input": kept[0]}),
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
    return logsigmoid_op.call(require_floating(input, "log_sigmoid_cpu"))


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
    x = require_floating(input, "hardsigmoid_cpu")
    return in_place(hardsigmoid, "hardsigmoid_", x) if inplace else hardsigmoid_op.call(x)


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
    x = require_floating(input, "hardswish_cpu")
    return in_place(hardswish, "hardswish_", x) if inplace else hardswish_op.call(x)


@public(namespace="nn.functional")
def softsign(input: Tensor) -> Tensor:
    """Softsign, `input / (1 + |input|)`.

    >>> import pellucid as torch
    >>> torch.nn.functional.softsign(torch.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    return require_tensor(input, "softsign") / (input.abs() + 1)


@public(namespace="nn.functional")
@one_node("Glu", "input", "input")
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
    require_floating(x, "glu_cpu")
    first, second = x.narrow(dim, 0, size // 2), x.narrow(dim, size // 2, size // 2)
    if x._array.dtype not in HALVES:
        made = first * second.sigmoid()
    else:  # compute in float32 and round once
        wide = [F.cast(part, dtype=np.dtype(np.float32)) for part in (first, second)]
        made = F.cast(wide[0] * wide[1].sigmoid(), dtype=x._array.dtype)
    return titled(made, "Glu", of=(x,), dim=dim)
