"""Piecewise linear activations: relu, relu6, hardtanh, leaky_relu, prelu, rrelu, threshold."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....core.bind import wrap
from ....core.primitive import TENSORS as F
from ....core.primitive import defop
from ....core.public import METHODS, public
from ....core.streams import generator as random
from ....core.streams.distributions import rrelu_noise
from ....core.tape import titled
from ....core.tensor import Tensor
from ....core.tracing import constant
from ....core.transforms.drawing import running
from ....core.transforms.whole import in_one_node, one_node
from ....errors import ArgumentValueError, OperationError, UnsupportedError
from ....ir.formula import Formula
from ..._numbers import fitting
from ..._rules import low_precision, require_tensor
from ..._samples import REAL, elementwise
from .._unary import document
from ._shared import activation, in_place, in_place_of_slope, require_floating


def _check_relu(x: Any) -> None:
    if x.dtype.kind == "b":
        raise OperationError("Boolean inputs not supported for relu")
    if x.dtype.kind in "cW":
        raise UnsupportedError("clamp is not supported for complex types")


relu_op = activation(
    "relu",
    lambda m, x: m.maximum(0, x),  # returns the second of equals, so that -0.0 stays
    lambda F, g, out: F.where(out <= 0, 0.0, g),  # the gradient passes at NaN
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
    lambda m, x, *, low, high: m.minimum(high, m.maximum(low, x)),
    lambda F, g, x, low, high: F.where((x <= low) | (x >= high), 0.0, g),
    traits="saturates",
    linked="input",
    onnx=lambda c: c.clipped(c.p["low"], c.p["high"]),
    aten=lambda A, x, *, low, high: A.hardtanh(x, low, high),
    params={"low": -1.0, "high": 0.5},
    shows={"min_val": "low", "max_val": "high"},
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
    if x._array.dtype.kind in "cW":
        raise UnsupportedError("clamp is not supported for complex types")
    if x._array.dtype.kind == "b":
        raise OperationError("Bool inputs not supported for hardtanh")
    if x._array.dtype.kind == "u" and int(min_val) < 0:
        raise OperationError("cannot do hardtanh on an unsigned type with negative limits")
    if inplace:
        return in_place(hardtanh, "hardtanh_", x, min_val, max_val)
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
    """In-place `hardtanh`.

    >>> import pellucid as torch
    >>> torch.nn.functional.hardtanh_(torch.tensor([-2.0, 0.5, 2.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if isinstance(min_val, (int, float)) and isinstance(max_val, (int, float)):
        min_val = min(min_val, max_val)  # the upper bound wins
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
    x = require_floating(input, "leaky_relu_cpu")
    if inplace:
        return in_place_of_slope(leaky_relu, "leaky_relu_", "leakyReLu", x, negative_slope)
    return leaky_op.call(x, slope=float(negative_slope))


@public(namespace="nn.functional")
def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """In-place `leaky_relu`.

    >>> import pellucid as torch
    >>> torch.nn.functional.leaky_relu_(torch.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return leaky_relu(input, negative_slope, True)


@public(namespace="nn.functional")
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


public(out=True)(threshold)


def _threshold_in_place(x: Tensor, level: float, value: float) -> Tensor:
    # Write each element of an expanded tensor once: a second write changes nothing, and PyTorch
    # allows it.
    part = x
    for dim, stride in enumerate(() if x.is_meta else x.stride()):
        if not stride and x._array.shape[dim] > 1:
            part = part.narrow(dim, 0, 1)
    in_place(_threshold, "threshold_", part, level, value)
    return x


@one_node("Threshold", "x", "x")
def _threshold(x: Tensor, level: float, value: float) -> Tensor:
    if x.dtype.category == 0 or x.dtype.is_complex:
        raise UnsupportedError(
            f"\"threshold_cpu\" not implemented for '{x.dtype.scalar_type_name}'", op="threshold"
        )
    if x.dtype.is_integral:
        level, value = fitting(level, x.dtype), fitting(value, x.dtype)
    # compare two-byte numbers with the exact level, not with the level rounded to their dtype
    compared = (
        F.cast(x.detach(), dtype=np.dtype(np.float32))
        if x.dtype.itemsize == 2 and x.dtype.is_floating_point
        else x
    )
    return titled(
        F.where(compared <= level, wrap(constant(np.asarray(value, x._array.dtype))), x),
        "Threshold",
        x,
        of=(x,),
        threshold=level,
    )


@public(namespace="nn.functional torch")
def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """In-place `threshold`.

    >>> import pellucid as torch
    >>> torch.threshold_(torch.tensor([0.5, 2.0]), 1.0, 0.0)
    tensor([0., 2.])
    """
    return _threshold_in_place(require_tensor(input, "threshold_"), threshold, value)


prelu_op = defop(
    "prelu",
    "input weight",
    formula=Formula(lambda m, x, w: m.where(x > 0, x, w * x)),
    vjp={
        "input": lambda F, g, input, weight: F.where(input > 0, g, g * weight),
        # not a product with 0, which is NaN for infinities
        "weight": lambda F, g, input: F.where(input > 0, 0.0, g * input),
    },
    elementwise=True,
    grad_name="PreluKernel",
    linked="input weight",
    onnx="PRelu",
    samples=elementwise(REAL, REAL),
)


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
    if w._array.dtype != x._array.dtype:
        raise OperationError(
            "prelu: Type promoting not supported. Got "
            f"{x.dtype.scalar_type_name} and {w.dtype.scalar_type_name}"
        )
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
    require_floating(x, "prelu_cpu")
    if w._array.size != 1 or x.ndim > 0:
        w = w.reshape((1, -1) + (1,) * (x.ndim - 2) if x.ndim > 1 else (-1,))
    else:
        w = w.reshape(())
    shown = weight if w._array.shape == weight._array.shape else w
    return titled(prelu_op.call(x, w), "PreluKernel", of=(input, shown))


METHODS["prelu"] = prelu


def _rrelu(x: Tensor, lower: float, upper: float, training: bool, generator: Any = None) -> Tensor:
    if random.draw_guards and running() is not None:
        raise OperationError("vmap: we do not yet support aten::rrelu. Please file an issue")
    if not training:
        return leaky_relu(x, (lower + upper) / 2)
    if x.is_meta:  # there are no values for which to draw slopes
        return titled(x.clone(), "RreluWithNoise", x)
    noise = rrelu_noise(generator or random.default_generator, x._array, lower, upper)
    made = in_one_node("RreluWithNoise", "x", "noise x", _sloped, x=x, noise=wrap(noise))
    return titled(made, "RreluWithNoise", x)


def _sloped(x: Tensor, noise: Tensor) -> Tensor:
    return x * noise


def _checked_rrelu(
    input: Tensor, lower: float, upper: float, training: bool, generator: Any, inplace: bool
) -> Tensor:
    if lower > upper and isinstance(input, Tensor):
        raise OperationError("Lower bound should be less than or equal to the upper bound")
    x = require_floating(input, "rrelu_with_noise_out_cpu" if training else "leaky_relu_cpu")
    if inplace and not training:
        return leaky_relu(x, (lower + upper) / 2, True)
    if inplace:
        return in_place(_rrelu, "rrelu_", x, lower, upper, training, generator)
    return titled(
        _rrelu(x, lower, upper, training, generator),
        "RreluWithNoise",
        of=(x,),
        lower=lower,
        upper=upper,
        training=training,
    )


@public(namespace="nn.functional")
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
    return _checked_rrelu(input, lower, upper, training, None, inplace)


@public(names="rrelu")
def _rrelu_of_torch(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Any = None,
) -> Tensor:
    """`nn.functional.rrelu`; slopes come from `generator`.

    >>> import pellucid as torch
    >>> torch.rrelu(torch.tensor([-1.0, 2.0]))
    tensor([-0.2292,  2.0000])
    """
    return _checked_rrelu(input, lower, upper, training, generator, False)


@public(namespace="nn.functional torch")
def rrelu_(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Any = None,
) -> Tensor:
    """In-place `rrelu`.

    >>> import pellucid as torch
    >>> torch.rrelu_(torch.tensor([-1.0, 2.0]), 0.1, 0.3)
    tensor([-0.2000,  2.0000])
    """
    return _checked_rrelu(input, lower, upper, training, generator, True)
