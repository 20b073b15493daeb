"""A linear layer and a ReLU whose weight is rounded while it is trained."""

from __future__ import annotations

from typing import Any

from ....qat.modules.linear import Linear
from ...modules import fused


class LinearReLU(Linear):
    """A linear layer and a ReLU."""

    def forward(self, input: Any) -> Any:
        return super().forward(input).relu()

    def to_float(self) -> Any:
        """The float layers with the trained weight."""
        from ......nn.modules.activation import ReLU

        return fused.LinearReLU(super().to_float(), ReLU())
