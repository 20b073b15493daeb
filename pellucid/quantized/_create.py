"""Functions that quantize: PyTorch's `quantize_per_tensor` and similar functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..arrays.affine import (
    FLOAT_PARAMETERS,
    LIMITS,
    PER_CHANNEL,
    PER_TENSOR,
    STORED,
    QuantizedArray,
    Scheme,
    choose,
    quantize,
)
from ..core.tensor import Tensor, make_tensor
from ..errors import ArgumentTypeError, OperationError, warn_once
from ._tensor import is_quantized, refuse, wrapped


def _name_of(dtype: Any) -> str:
    if not isinstance(dtype, dtypes.dtype):
        raise ArgumentTypeError(f"argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    if dtype.name not in STORED:
        raise OperationError(
            f"ScalarType {dtype.scalar_type_name} is not supported in new_qtensor."
        )
    return dtype.name


def _floats(input: Any, function: str) -> Any:
    if not isinstance(input, Tensor):
        raise ArgumentTypeError(
            f"{function}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    if is_quantized(input):
        raise refuse(function)
    if input._array.dtype != np.float32:
        raise OperationError(
            f"Quantize only works on Float Tensor, got {input.dtype.scalar_type_name}"
        )
    return input._array


def _check_zero_point(zero_point: int, name: str, function: str) -> None:
    low, high = LIMITS[name]
    if zero_point > high:
        raise OperationError(f"{function} zero_point {zero_point} is above upper bound.")
    if zero_point < low:
        raise OperationError(f"{function} zero_point {zero_point} is below lower bound.")


def _warn_of_removal() -> None:
    warn_once(
        "torch.quantize_per_tensor, torch.quantize_per_channel and other quantized tensor creation functions that produce tensors with "
        "dtype torch.quint8, torch.qint8, and torch.qint32 are deprecated and will be removed in a future PyTorch release. Please see "
        "https://github.com/pytorch/pytorch/issues/184982 for more information."
    )


def quantize_per_tensor(input: Any, scale: Any, zero_point: Any, dtype: Any) -> Any:
    """A float32 tensor as integers round(x / scale) + zero_point, halves to even, within the limits
    of `dtype`.

    Args:
        input: the tensor, or a list of tensors with a scale and a zero point for each.
        scale, zero_point: numbers, or tensors of one.
        dtype: `torch.quint8`, `torch.qint8` or `torch.qint32`.

    Raises:
        RuntimeError: another dtype than float32, or a zero point out of range.

    >>> import pellucid as torch
    >>> torch.quantize_per_tensor(torch.tensor([-1.0, 0.26]), 0.1, 10, torch.quint8)
    tensor([-1.0000,  0.3000], size=(2,), dtype=torch.quint8,
           quantization_scheme=torch.per_tensor_affine, scale=0.1, zero_point=10)
    """
    _warn_of_removal()
    if isinstance(input, (list, tuple)):
        scales, zeros = scale.tolist(), zero_point.tolist()
        return tuple(
            [
                quantize_per_tensor(x, s, z, dtype)
                for x, s, z in zip(input, scales, zeros, strict=True)
            ]
        )
    scale = scale.item() if isinstance(scale, Tensor) else scale
    zero_point = zero_point.item() if isinstance(zero_point, Tensor) else zero_point
    values, name = _floats(input, "quantize_per_tensor"), _name_of(dtype)
    _check_zero_point(int(zero_point), name, "quantize_tensor_per_tensor_affine")
    return wrapped(quantize(values, name, Scheme.of(scale, zero_point)))


def quantize_per_tensor_dynamic(input: Any, dtype: Any, reduce_range: bool) -> Any:
    """As `quantize_per_tensor`, with the scale and the zero point that cover the tensor's values.

    >>> import pellucid as torch
    >>> torch.quantize_per_tensor_dynamic(torch.tensor([-1.0, 1.55]), torch.quint8, False).q_zero_point()
    100
    """
    _warn_of_removal()
    values, name = _floats(input, "quantize_per_tensor_dynamic"), _name_of(dtype)
    if name == "qint32":
        raise OperationError("dtype QInt32 not supported")
    low, high = (values.min(), values.max()) if values.size else (0.0, 0.0)
    scale, zero_point = choose(float(low), float(high), name, reduce_range)
    return wrapped(quantize(values, name, Scheme.of(scale, zero_point)))


def quantize_per_channel(input: Any, scales: Any, zero_points: Any, axis: int, dtype: Any) -> Any:
    """A float32 tensor quantized with a scale and a zero point for each slice along `axis`.

    Args:
        scales, zero_points: one-dimensional tensors. Zero points that are not integers stand for
            themselves: q = x / scale + zero_point.

    >>> import pellucid as torch
    >>> q = torch.quantize_per_channel(torch.ones(2, 1), torch.tensor([0.5, 0.25]), torch.tensor([0, 0]), 0, torch.qint8)
    >>> q.int_repr().tolist()
    [[2], [4]]
    """
    _warn_of_removal()
    values, name = _floats(input, "quantize_per_channel"), _name_of(dtype)
    scheme = channel_scheme(scales, zero_points, axis)
    if not 0 <= axis < values.ndim:
        raise OperationError(
            f"Channel axis out of range in per channel affine quantization. Got: {axis}Expected: [0, {values.ndim})"
        )
    if len(scheme.scale) != values.shape[axis]:
        raise OperationError(
            f"length of scales must equal to channel, expected {values.shape[axis]} got, {len(scheme.scale)}"
        )
    for zero_point in () if scheme.kind is FLOAT_PARAMETERS else scheme.zero_point.tolist():
        _check_zero_point(zero_point, name, "quantize_tensor_per_channel_affine")
    return wrapped(quantize(values, name, scheme))


def channel_scheme(scales: Any, zero_points: Any, axis: int, copy: bool = True) -> Scheme:
    """The scheme of two tensors; without a copy, on their memory, which of an old file is not
    filled yet.
    """
    s, z = scales._array, zero_points._array
    if s.ndim != 1 or z.ndim != 1:
        raise OperationError(
            "scale tensor must have dimension 1"
            if s.ndim != 1
            else "zero_points tensor must have dimension 1"
        )
    if len(s) != len(z):
        raise OperationError("number of elements in scales and zero_points must match")
    if z.dtype.kind == "f":
        return Scheme(
            FLOAT_PARAMETERS,
            s.astype(np.float32, copy=copy),
            z.astype(np.float32, copy=copy),
            int(axis),
        )
    return Scheme(
        PER_CHANNEL, s.astype(np.float64, copy=copy), z.astype(np.int64, copy=copy), int(axis)
    )


_QUANTIZED = {
    np.dtype(np.uint8): "quint8",
    np.dtype(np.int8): "qint8",
    np.dtype(np.int32): "qint32",
}


def _name_of_ints(input: Any) -> str:
    name = _QUANTIZED.get(input._array.dtype)
    if name is None:
        raise OperationError(
            f'"make_per_tensor_quantized_tensor" not implemented for {input.dtype.scalar_type_name!r}'
        )
    return name


def _make_per_tensor_quantized_tensor(input: Any, scale: float, zero_point: int) -> Any:
    """A quantized tensor of these integers.

    >>> import pellucid as torch
    >>> torch._make_per_tensor_quantized_tensor(torch.tensor([1, 3], dtype=torch.uint8), 0.5, 1).dequantize()
    tensor([0., 1.])
    """
    return wrapped(
        QuantizedArray(input._array.copy(), _name_of_ints(input), Scheme.of(scale, zero_point))
    )


def _make_per_channel_quantized_tensor(input: Any, scale: Any, zero_point: Any, axis: int) -> Any:
    """A quantized tensor of these integers, with a scale and a zero point for each slice along
    `axis`.
    """
    return wrapped(
        QuantizedArray(
            input._array.copy(), _name_of_ints(input), channel_scheme(scale, zero_point, axis)
        )
    )


def _empty_affine_quantized(
    *size: Any,
    dtype: Any,
    scale: float = 1,
    zero_point: int = 0,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
) -> Any:
    """A quantized tensor of zero integers; PyTorch's is not initialized."""
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    name = _name_of(dtype)
    return wrapped(
        QuantizedArray(np.zeros(shape, STORED[name]), name, Scheme.of(scale, zero_point))
    )


def _empty_per_channel_affine_quantized(
    *size: Any,
    scales: Any,
    zero_points: Any,
    axis: int,
    dtype: Any,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
) -> Any:
    """As `_empty_affine_quantized`, with a scale and a zero point for each slice along `axis`."""
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    name = _name_of(dtype)
    return wrapped(
        QuantizedArray(
            np.zeros(shape, STORED[name]), name, channel_scheme(scales, zero_points, axis)
        )
    )


def rebuilt(integers: Any, name: str, parameters: tuple[Any, ...]) -> Any:
    """What a file says: integers as they lie in their storage, the scheme and its parameters, all
    of them checked.
    """
    if parameters[0] is PER_TENSOR:
        if (
            len(parameters) != 3
            or type(parameters[1]) is not float
            or type(parameters[2]) is not int
        ):
            raise OperationError("a tensor with one scale needs a float and an int")
        return wrapped(
            QuantizedArray(integers._array, name, Scheme.of(parameters[1], parameters[2]))
        )
    if parameters[0] not in (PER_CHANNEL, FLOAT_PARAMETERS):
        raise OperationError(f"Can't deserialize quantized tensor with qscheme {parameters[0]}")
    if len(parameters) != 4 or type(parameters[3]) is not int:
        raise OperationError(
            "a tensor with scales for its channels needs them, zero points and an axis"
        )
    parts = [p if isinstance(p, Tensor) else make_tensor(np.asarray(p)) for p in parameters[1:3]]
    if any(type(p._array) is not np.ndarray or p._array.dtype.kind not in "fi" for p in parts):
        raise OperationError("scales and zero points must be numbers")
    scheme = channel_scheme(parts[0], parts[1], parameters[3], False)
    shape = integers._array.shape
    if not 0 <= scheme.axis < len(shape) or len(scheme.scale) != shape[scheme.axis]:
        raise OperationError(
            f"length of scales must equal to channel, expected {shape}, got {len(scheme.scale)}"
        )
    return wrapped(QuantizedArray(integers._array, name, scheme))
