"""Rounding to quantized numbers and back, within floats, with a straight-through gradient.
Quantization-aware training uses it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.primitive import defop
from ...core.public import public
from ...core.tensor import Tensor
from ...errors import IndexOutOfRangeError, OperationError, UnsupportedError
from .._rules import constant, require_tensor


def _forward(
    xp: Any, input: Any, *, scale: Any, zero_point: Any, low: int, high: int, **_: Any
) -> tuple[Any, Any]:
    """Quantize and convert back. The product with the reciprocal is rounded before the zero point
    is added, which decides how halves are rounded.
    """
    kind = input.dtype
    wide = input if kind in (np.float32, np.float64) else input.astype(np.float32)
    steps = xp.rint(wide * (np.float32(1) / scale).astype(wide.dtype)) + zero_point.astype(
        wide.dtype
    )
    kept = xp.fmin(xp.fmax(steps, wide.dtype.type(low)), wide.dtype.type(high))
    return ((kept - zero_point.astype(wide.dtype)) * scale.astype(wide.dtype)).astype(kind), (
        steps >= low
    ) & (steps <= high)


fake_quantize_op = defop(
    "fake_quantize",
    "input",
    forward=_forward,
    aux=True,
    vjp={"input": lambda F, g, aux: F.where(constant(F, aux), g, 0)},
    aval=lambda x, **_: x,
    grad_name="FakeQuantizePerTensorAffineCachemask",
    variant=lambda n: (n.params["node"], (0,)),
)

_NODE = "FakeQuantizePer{}AffineCachemask{}Backward0"


def _fake(input: Any, scale: Any, zero_point: Any, low: int, high: int, node: str) -> Tensor:
    x = require_tensor(input, "fake_quantize")
    if x._array.dtype.kind not in "fV":
        raise UnsupportedError(
            f"\"fake_quantize_tensor_cachemask_kernel_type_handling\" not implemented for '{x.dtype.scalar_type_name}'"
        )
    if low > high:
        raise OperationError("`quant_min` should be less than or         equal to `quant_max`.")
    if zero_point.dtype.kind == "i" and ((zero_point < low) | (zero_point > high)).any():
        raise OperationError("`zero_point` must be between `quant_min` and `quant_max`.")
    made: Tensor = fake_quantize_op.call(
        x, scale=scale, zero_point=zero_point, low=int(low), high=int(high), node=node
    )
    return made


@public()
def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """(clamp(round(x / scale) + zero_point, quant_min, quant_max) - zero_point) * scale; the
    gradient is that of x within the limits.

    Args:
        scale, zero_point: numbers, or tensors of one element.

    Raises:
        RuntimeError: limits in the wrong order, or a zero point outside of them.

    >>> import pellucid as torch
    >>> torch.fake_quantize_per_tensor_affine(torch.tensor([0.26, 99.0]), 0.1, 0, 0, 255)
    tensor([ 0.3000, 25.5000])
    """
    given = isinstance(scale, Tensor)
    s = np.float32(scale._array.reshape(-1)[0] if given else scale)
    z = np.asarray(
        zero_point._array.reshape(-1)[0] if isinstance(zero_point, Tensor) else zero_point
    )
    return _fake(
        input, s, z, quant_min, quant_max, _NODE.format("Tensor", "TensorQparams" if given else "")
    )


@public()
def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """As `fake_quantize_per_tensor_affine`, with a scale and a zero point for each slice along
    `axis`.

    >>> import pellucid as torch
    >>> x, zeros = torch.tensor([[0.26], [0.26]]), torch.zeros(2, dtype=torch.int32)
    >>> torch.fake_quantize_per_channel_affine(x, torch.tensor([0.1, 0.5]), zeros, 0, 0, 255)
    tensor([[0.3000],
            [0.5000]])
    """
    x, s, z = (
        require_tensor(input, "fake_quantize_per_channel_affine")._array,
        scale._array,
        zero_point._array,
    )
    if s.dtype != np.float32:
        raise OperationError(f"Scale must be Float, found {scale.dtype.scalar_type_name}")
    if z.dtype.kind == "i" and z.dtype != np.int32:
        raise OperationError(
            f"Zero-point must be Int32, Float or Half, found {zero_point.dtype.scalar_type_name}"
        )
    if s.ndim != 1 or z.ndim != 1 or len(s) != len(z):
        raise OperationError(
            "scale and zero-point need to have the same dimensions"
            if s.ndim == z.ndim == 1
            else "scale should be a 1-D tensor"
        )
    if not -x.ndim <= axis < x.ndim:
        raise IndexOutOfRangeError(
            f"Dimension out of range (expected to be in range of [{-x.ndim}, {x.ndim - 1}], but got {axis})"
        )
    if x.shape[axis] != len(s):
        raise OperationError(
            "dimensions of scale and zero-point are not consistent with input tensor"
        )
    shape = [1] * x.ndim
    shape[axis] = -1
    return _fake(
        input, s.reshape(shape), z.reshape(shape), quant_min, quant_max, _NODE.format("Channel", "")
    )
