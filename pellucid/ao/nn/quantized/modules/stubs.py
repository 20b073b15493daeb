"""The borders between floats and quantized tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....core.tensor import make_tensor
from .....nn.modules.module import Module
from .....nn.modules.pooling import MaxPool2d as _MaxPool2d
from .....quantized import quantize_per_tensor


class Quantize(Module):
    """Quantizes its input.

    Args:
        scale, zero_point, dtype: as for `quantize_per_tensor`.
    """

    def __init__(self, scale: Any, zero_point: Any, dtype: Any, factory_kwargs: Any = None) -> None:
        super().__init__()
        self.register_buffer("scale", make_tensor(np.asarray([scale], np.float32)))
        self.register_buffer("zero_point", make_tensor(np.asarray([zero_point], np.int64)))
        self.dtype = dtype

    def forward(self, X: Any) -> Any:
        return quantize_per_tensor(X, float(self.scale), int(self.zero_point), self.dtype)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Of a stub whose observer has seen data."""
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        return Quantize(float(scale), int(zero_point), mod.activation_post_process.dtype)

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"


class DeQuantize(Module):
    """Gives the floats that its input stands for."""

    def forward(self, Xq: Any) -> Any:
        return Xq.dequantize()

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Of a stub."""
        return DeQuantize()


class MaxPool2d(_MaxPool2d):
    """As `nn.MaxPool2d`, of quantized tensors."""

    def _get_name(self) -> str:
        return "QuantizedMaxPool2d"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Of an `nn.MaxPool2d`."""
        return MaxPool2d(
            mod.kernel_size,
            mod.stride,
            mod.padding,
            mod.dilation,
            mod.return_indices,
            mod.ceil_mode,
        )
