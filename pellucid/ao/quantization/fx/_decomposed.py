"""Quantization as operators on plain tensors of whole numbers: `torch.ops.quantized_decomposed`,
defined when this module is imported.

>>> import pellucid as torch
>>> import pellucid.ao.quantization.fx._decomposed
>>> ops = torch.ops.quantized_decomposed
>>> q = ops.quantize_per_tensor(torch.tensor([0.0, 0.26]), 0.1, 2, -128, 127, torch.int8)
>>> q, ops.dequantize_per_tensor(q, 0.1, 2, -128, 127, torch.int8)
(tensor([2, 5], dtype=torch.int8), tensor([0.0000, 0.3000]))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .... import dtypes as _d
from ....core.public import FUNCTIONS
from ....core.tensor import Tensor
from ....library import Library

quantized_decomposed_lib = Library("quantized_decomposed", "DEF")
_F = FUNCTIONS["torch"]
_LIMITS = {
    _d.uint8: (0, 2**8 - 1),
    _d.int8: (-(2**7), 2**7 - 1),
    _d.uint16: (0, 2**16 - 1),
    _d.int16: (-(2**15), 2**15 - 1),
    _d.int32: (-(2**31), 2**31 - 1),
}
_RANGE = "int quant_min, int quant_max, ScalarType dtype"


def _operator(schema: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Define an operator that the function computes."""
    quantized_decomposed_lib.define(schema)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        name = schema.partition("(")[0]
        quantized_decomposed_lib.impl(name, function, "CompositeExplicitAutograd")
        return function

    return register


def _checked(low: Any, high: Any, dtype: _d.dtype) -> None:
    """Refuse limits that the dtype does not hold."""
    if dtype not in _LIMITS:
        raise ValueError(f"Unsupported dtype: {dtype}")
    least, most = _LIMITS[dtype]
    if low < least:
        raise AssertionError(
            f"quant_min out of bounds for dtype, quant_min_lower_bound: {least} quant_min: {low}"
        )
    if high > most:
        raise AssertionError(
            f"quant_max out of bounds for dtype, quant_max_upper_bound: {most} quant_max: {high}"
        )


def _floats(input: Tensor, wide: bool = False) -> Tensor:
    """The numbers as float32, which quantization starts from."""
    if input.dtype in (_d.float16, _d.bfloat16) or (wide and input.dtype is _d.float64):
        input = input.to(_d.float32)
    if input.dtype is not _d.float32:
        raise AssertionError(
            f"Expecting input to have dtype torch.float32, but got dtype: {input.dtype}"
        )
    return input


def _of(input: Tensor, dtype: _d.dtype) -> None:
    if input.dtype is not dtype:
        raise AssertionError(f"Expecting input to have dtype: {dtype}, but got {input.dtype}")


def _one(*values: Tensor) -> None:
    for value in values:
        if value.numel() != 1:
            raise AssertionError(
                f"Expecting scale tensor to be one element, but received : {value.numel()}"
            )


def _along(values: Tensor, axis: int, ndim: int) -> Tensor:
    """One number for each index of a dimension, to broadcast with the tensor."""
    return values.reshape([-1 if dim == axis % ndim else 1 for dim in range(ndim)])


@_operator(f"quantize_per_tensor(Tensor input, float scale, int zero_point, {_RANGE}) -> Tensor")
def quantize_per_tensor(
    input: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: _d.dtype
) -> Tensor:
    """Round to the nearest multiple of a scale, counted from a zero point."""
    input = _floats(input)
    _checked(quant_min, quant_max, dtype)
    steps = (input * (1.0 / scale)).round() + zero_point
    return steps.clamp(quant_min, quant_max).to(dtype)


@_operator(
    f"quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, {_RANGE}) -> Tensor"
)
def quantize_per_tensor_tensor(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: _d.dtype,
) -> Tensor:
    """`quantize_per_tensor` with its numbers in tensors."""
    _one(scale, zero_point)
    return quantize_per_tensor(input, scale.item(), zero_point.item(), quant_min, quant_max, dtype)


@_operator(
    "quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, "
    "Tensor quant_min, Tensor quant_max, ScalarType dtype) -> Tensor"
)
def quantize_per_tensor_tensor2(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quant_min: Tensor,
    quant_max: Tensor,
    dtype: _d.dtype,
) -> Tensor:
    """`quantize_per_tensor` with its numbers and limits in tensors."""
    _one(scale, zero_point)
    numbers = [value.item() for value in (scale, zero_point, quant_min, quant_max)]
    return quantize_per_tensor(input, *numbers, dtype)


@_operator(
    f"dequantize_per_tensor(Tensor input, float scale, int zero_point, {_RANGE}, *, "
    "ScalarType? out_dtype=None) -> Tensor"
)
def dequantize_per_tensor(
    input: Tensor,
    scale: Any,
    zero_point: Any,
    quant_min: Any,
    quant_max: Any,
    dtype: _d.dtype,
    *,
    out_dtype: _d.dtype | None = None,
) -> Tensor:
    """The reverse of `quantize_per_tensor`."""
    _of(input, dtype)
    if dtype not in _LIMITS:
        raise ValueError(f"Unsupported dtype in dequantize_per_tensor: {dtype}")
    return (input.to(out_dtype or _d.float32) - zero_point) * scale


_DEQUANTIZED = "*, ScalarType? out_dtype=None) -> Tensor"


@_operator(
    f"dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, {_RANGE}, {_DEQUANTIZED}"
)
@_operator(
    "dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, "
    f"Tensor quant_min, Tensor quant_max, ScalarType dtype, {_DEQUANTIZED}"
)
def dequantize_per_tensor_tensor(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quant_min: Any,
    quant_max: Any,
    dtype: _d.dtype,
    *,
    out_dtype: _d.dtype | None = None,
) -> Tensor:
    """`dequantize_per_tensor` with its numbers in tensors."""
    _one(scale, zero_point)
    return dequantize_per_tensor(
        input,
        scale.item(),
        zero_point.item(),
        quant_min,
        quant_max,
        dtype,
        out_dtype=out_dtype,
    )


@_operator(
    "choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)"
)
def choose_qparams_tensor(
    input: Tensor, qmin: int, qmax: int, eps: float, dtype: _d.dtype
) -> tuple[Tensor, Tensor]:
    """The scale and zero point that cover the numbers and zero."""
    low, high = (
        limit.clamp(*ends) for limit, ends in zip(_ends(input, dtype), _SIDES, strict=True)
    )
    scale = ((high - low) / float(qmax - qmin)).clamp(min=eps)
    zero = (qmin - (low / scale).round().to(_d.int32)).clamp(qmin, qmax)
    return scale.to(_d.float64), zero.to(_d.int64)


@_operator(
    "choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)"
)
def choose_qparams_symmetric_tensor(
    input: Tensor, qmin: int, qmax: int, eps: float, dtype: _d.dtype
) -> tuple[Tensor, Tensor]:
    """The scale that covers the numbers on both sides of zero, and the zero point in the middle."""
    low, high = _ends(input, dtype)
    reach = _F["maximum"](-low.clamp(max=0), high.clamp(min=0))
    scale = (reach / (float(qmax - qmin) / 2)).clamp(min=eps)
    middle = 128 if dtype is _d.uint8 else 0
    return scale.to(_d.float64), _F["full_like"](scale, middle, dtype=_d.int64)


_SIDES: tuple[tuple[Any, Any], ...] = ((None, 0), (0, None))


def _ends(input: Tensor, dtype: _d.dtype) -> tuple[Tensor, Tensor]:
    input = _floats(input)
    if dtype not in _LIMITS:
        raise AssertionError(
            f"Expecting target dtype to be one of {_LIMITS.keys()}, but got: {dtype}"
        )
    low, high = _F["aminmax"](input)
    return low.reshape(1), high.reshape(1)


@_operator(
    f"quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, {_RANGE}) -> Tensor"
)
def quantize_per_channel(
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: _d.dtype,
) -> Tensor:
    """`quantize_per_tensor` with other numbers for each index of a dimension."""
    input = _floats(input)
    _in_range(axis, input.ndim)
    _checked(quant_min, quant_max, dtype)
    factors = _along(1.0 / scales, axis, input.ndim)
    steps = (input * factors.to(input.dtype)).round() + _along(zero_points, axis, input.ndim)
    return steps.clamp(quant_min, quant_max).to(dtype)


def _in_range(axis: int, ndim: int) -> None:
    if axis >= ndim:
        raise AssertionError(f"Expecting axis to be < {ndim}")


@_operator(
    f"dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, {_RANGE}, {_DEQUANTIZED}"
)
def dequantize_per_channel(
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: _d.dtype,
    *,
    out_dtype: _d.dtype | None = None,
) -> Tensor:
    """The reverse of `quantize_per_channel`."""
    _of(input, dtype)
    _in_range(axis, input.ndim)
    _checked(quant_min, quant_max, dtype)
    made = input.to(out_dtype or _d.float32)
    if zero_points is not None:
        made = made - _along(zero_points, axis, input.ndim).to(made.dtype)
    # the scales keep their digits where the result has fewer
    return (made * _along(scales, axis, input.ndim)).to(made.dtype)


@_operator("choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
def choose_qparams_per_token(input: Tensor, dtype: _d.dtype) -> tuple[Tensor, Tensor]:
    """A scale for each row, so that its largest number becomes 127; zero points of zero."""
    if dtype is not _d.int8:
        raise Exception(f"unsupported dtype in choose_qparams_per_token: {dtype}")
    scales = input.abs().amax(-1, keepdim=True)
    if scales.dtype is _d.float16:
        scales = scales.float()
    scales = scales.clamp(min=1e-5).div(2**7 - 1)
    return scales, _F["zeros_like"](scales)


@_operator(
    "choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)"
)
def choose_qparams_per_token_asymmetric(input: Tensor, dtype: _d.dtype) -> tuple[Tensor, Tensor]:
    """A scale and a zero point for each row, which cover its numbers and zero in int8."""
    qmin, qmax = -128, 127
    low = input.amin(-1, keepdim=True).clamp(max=0)
    high = input.amax(-1, keepdim=True).clamp(min=0)
    scale = ((high - low) / float(qmax - qmin)).clamp(min=2.0**-23)
    below, above = qmin + low / scale, qmax + high / scale
    zero = _F["where"](below + above > 0, qmin - low / scale, qmax - high / scale)
    return scale.to(_d.float64), zero.clamp(qmin, qmax).round().to(_d.int64)


@_operator(
    f"quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, {_RANGE}) -> Tensor"
)
def quantize_per_token(
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: _d.dtype,
) -> Tensor:
    """`quantize_per_tensor` with other numbers for each row."""
    _checked(quant_min, quant_max, dtype)
    steps = input.mul(1.0 / scales).add(zero_points).round()
    return steps.clamp(quant_min, quant_max).to(dtype)


@_operator(
    f"dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, {_RANGE}, ScalarType output_dtype) -> Tensor"
)
def dequantize_per_token(
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: _d.dtype,
    output_dtype: _d.dtype = _d.float32,
) -> Tensor:
    """The reverse of `quantize_per_token`."""
    return ((input - zero_points) * scales).to(output_dtype)


@_operator("convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor")
def convert_element_type(input: Tensor, dtype: _d.dtype) -> Tensor:
    """The elements in another dtype; compilers that fuse operations leave it alone."""
    return input.to(dtype)
