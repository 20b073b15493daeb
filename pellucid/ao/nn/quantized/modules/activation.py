"""Activations with a scale of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....core.tensor import make_tensor
from .....nn.modules import activation as dense
from .....nn.modules.module import Module
from .utils import activation_parameters, number, operators


class ReLU6(dense.ReLU):
    """min(max(x, 0), 6)."""

    def forward(self, input: Any) -> Any:
        return operators.relu6(input, self.inplace)

    def _get_name(self) -> str:
        return "QuantizedReLU6"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Of an `nn.ReLU6`."""
        return ReLU6(mod.inplace)


class _Scaled(Module):
    """What has a scale and a zero point of its result, as buffers."""

    def __init__(self, scale: float, zero_point: int) -> None:
        super().__init__()
        self.register_buffer("scale", make_tensor(np.asarray(scale, np.float32)))
        self.register_buffer("zero_point", make_tensor(np.asarray(zero_point, np.int64)))

    @property
    def _to(self) -> tuple[float, int]:
        return float(number(self.scale)), int(number(self.zero_point))

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"


class Hardswish(_Scaled):
    """As `nn.Hardswish`, of quantized tensors."""

    def forward(self, input: Any) -> Any:
        return operators.hardswish(input, *self._to)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Of an `nn.Hardswish` that was prepared."""
        return Hardswish(*activation_parameters(mod))


class ELU(Module):
    """As `nn.ELU`, of quantized tensors."""

    def __init__(self, scale: float, zero_point: int, alpha: float = 1.0) -> None:
        super().__init__()
        self.scale, self.zero_point, self.alpha = scale, zero_point, alpha

    def forward(self, input: Any) -> Any:
        return operators.elu(input, self.scale, self.zero_point, self.alpha)

    def _get_name(self) -> str:
        return "QuantizedELU"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Of an `nn.ELU` that was prepared."""
        return ELU(*activation_parameters(mod), mod.alpha)


class LeakyReLU(_Scaled):
    """As `nn.LeakyReLU`, of quantized tensors."""

    def __init__(
        self, scale: float, zero_point: int, negative_slope: float = 1e-2, inplace: bool = False
    ) -> None:
        super().__init__(scale, zero_point)
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Any) -> Any:
        return operators.leaky_relu(input, self.negative_slope, self.inplace, *self._to)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Of an `nn.LeakyReLU` that was prepared."""
        return cls(*activation_parameters(mod), mod.negative_slope, mod.inplace)


class Sigmoid(Module):
    """As `nn.Sigmoid`, of quantized tensors."""

    def __init__(self, output_scale: float, output_zero_point: int) -> None:
        super().__init__()
        self.output_scale, self.output_zero_point = output_scale, output_zero_point

    def forward(self, input: Any) -> Any:
        return operators.sigmoid(input, self.output_scale, self.output_zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Of an `nn.Sigmoid` that was prepared."""
        return cls(*activation_parameters(mod))


class Softmax(Module):
    """As `nn.Softmax`, of quantized tensors."""

    def __init__(self, dim: int | None = None, scale: float = 1.0, zero_point: int = 0) -> None:
        super().__init__()
        self.dim, self.scale, self.zero_point = dim, scale, zero_point

    def forward(self, input: Any) -> Any:
        return operators.softmax(
            input, -1 if self.dim is None else self.dim, self.scale, self.zero_point
        )

    def _get_name(self) -> str:
        return "QuantizedSoftmax"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Of an `nn.Softmax` that was prepared."""
        return Softmax(mod.dim, *activation_parameters(mod))
