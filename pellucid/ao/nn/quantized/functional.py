"""`torch.ao.nn.quantized.functional`: functions of quantized tensors."""

from __future__ import annotations

from typing import Any

from ....core.public import FUNCTIONS
from .modules.utils import operators

__all__ = [
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "avg_pool2d",
    "avg_pool3d",
    "clamp",
    "conv1d",
    "conv2d",
    "conv3d",
    "elu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "interpolate",
    "leaky_relu",
    "linear",
    "max_pool1d",
    "max_pool2d",
    "upsample",
]

_DENSE = FUNCTIONS["nn.functional"]


def linear(
    input: Any,
    weight: Any,
    bias: Any = None,
    scale: float | None = None,
    zero_point: int | None = None,
) -> Any:
    """`input @ weight.T + bias` of quantized tensors."""
    scale = input.q_scale() if scale is None else scale
    zero_point = input.q_zero_point() if zero_point is None else zero_point
    return operators.linear(input, operators.linear_prepack(weight, bias), scale, zero_point)


def _convolution(dims: int) -> Any:
    def convolve(
        input: Any,
        weight: Any,
        bias: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        scale: float = 1.0,
        zero_point: int = 0,
        dtype: Any = None,
    ) -> Any:
        if padding_mode != "zeros":
            raise NotImplementedError("Only zero-padding is supported!")
        how = [
            tuple(v) if isinstance(v, (tuple, list)) else (v,) * dims
            for v in (stride, padding, dilation)
        ]
        packed = getattr(operators, f"conv{dims}d_prepack")(weight, bias, *how, groups)
        return getattr(operators, f"conv{dims}d")(input, packed, scale, zero_point)

    convolve.__name__ = f"conv{dims}d"
    convolve.__doc__ = f"As `nn.functional.conv{dims}d`, of quantized tensors."
    return convolve


conv1d, conv2d, conv3d = (_convolution(_dims) for _dims in (1, 2, 3))


def hardswish(input: Any, scale: float, zero_point: int) -> Any:
    """As `nn.functional.hardswish`."""
    return operators.hardswish(input, scale, zero_point)


def elu(input: Any, scale: float, zero_point: int, alpha: float = 1.0) -> Any:
    """As `nn.functional.elu`."""
    return operators.elu(input, scale, zero_point, alpha)


def leaky_relu(
    input: Any,
    negative_slope: float = 0.01,
    inplace: bool = False,
    scale: float | None = None,
    zero_point: int | None = None,
) -> Any:
    """As `nn.functional.leaky_relu`, with a scale of its own where one is given."""
    if scale is not None and zero_point is not None:
        return operators.leaky_relu(input, negative_slope, inplace, scale, zero_point)
    return _DENSE["leaky_relu"](input, negative_slope, inplace)


def _checked(name: str) -> Any:
    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        if not input.is_quantized:
            raise ValueError(f"Input to 'quantized.{name}' must be quantized!")
        return FUNCTIONS["torch" if name == "clamp" else "nn.functional"][name](
            input, *args, **kwargs
        )

    function.__name__ = name
    function.__doc__ = f"As `nn.functional.{name}`, of quantized tensors."
    return function


avg_pool2d, avg_pool3d, adaptive_avg_pool2d, adaptive_avg_pool3d = map(
    _checked, ("avg_pool2d", "avg_pool3d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
)
max_pool1d, max_pool2d, interpolate, hardtanh, hardsigmoid, clamp = map(
    _checked, ("max_pool1d", "max_pool2d", "interpolate", "hardtanh", "hardsigmoid", "clamp")
)
upsample = interpolate
