"""Quantized tensors: integers with a scale and a zero point.

>>> import pellucid as torch
>>> q = torch.quantize_per_tensor(torch.tensor([0.0, 0.26, 99.0]), scale=0.1, zero_point=10, dtype=torch.quint8)
>>> q.int_repr().tolist(), q.dequantize().tolist()[0]
([10, 13, 255], 0.0)
"""

from __future__ import annotations

from . import _functions, _methods, arithmetic, operators
from ._create import _empty_affine_quantized as _empty_affine_quantized
from ._create import _empty_per_channel_affine_quantized as _empty_per_channel_affine_quantized
from ._create import _make_per_channel_quantized_tensor as _make_per_channel_quantized_tensor
from ._create import _make_per_tensor_quantized_tensor as _make_per_tensor_quantized_tensor
from ._create import quantize_per_channel as quantize_per_channel
from ._create import quantize_per_tensor as quantize_per_tensor
from ._create import quantize_per_tensor_dynamic as quantize_per_tensor_dynamic
from ._create import rebuilt as rebuilt
from ._methods import dense_dequantize as dense_dequantize
from ._tensor import QuantizedTensor as QuantizedTensor
from ._tensor import wrapped as wrapped

__all__ = ["_functions", "_methods", "arithmetic", "operators"]
