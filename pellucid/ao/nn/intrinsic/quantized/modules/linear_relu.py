"""A linear layer and a ReLU of quantized tensors."""

from __future__ import annotations

from ....quantized.modules.linear import Linear


class LinearReLU(Linear):
    """A linear layer and a ReLU."""

    _OP = "linear_relu"

    def _get_name(self) -> str:
        return "QuantizedLinearReLU"
