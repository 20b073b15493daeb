"""A linear layer and a ReLU of floats that are rounded to bytes."""

from __future__ import annotations

from .....quantized.dynamic.modules.linear import Linear


class LinearReLU(Linear):
    """A linear layer and a ReLU."""

    _OP = "linear_relu_dynamic"

    def _get_name(self) -> str:
        return "DynamicQuantizedLinearReLU"
