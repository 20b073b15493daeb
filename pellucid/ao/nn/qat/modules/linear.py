"""A linear layer whose weight is rounded while it is trained."""

from __future__ import annotations

from typing import Any

from .....core.public import FUNCTIONS
from .....nn.modules import linear


class Linear(linear.Linear):
    """As `nn.Linear`; `qconfig.weight` makes what rounds the weight."""

    _FLOAT_MODULE = linear.Linear

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight()

    def forward(self, input: Any) -> Any:
        return FUNCTIONS["nn.functional"]["linear"](
            input, self.weight_fake_quant(self.weight), self.bias
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Of a float layer with a qconfig, whose weight it shares."""
        if not getattr(mod, "qconfig", None):
            raise AssertionError("Input float module must have a valid qconfig")
        config = mod.qconfig
        mod = mod[0] if not hasattr(mod, "in_features") else mod
        made = cls(mod.in_features, mod.out_features, bias=mod.bias is not None, qconfig=config)
        made.weight, made.bias = mod.weight, mod.bias
        return made

    def to_float(self) -> Any:
        """The float layer with the trained weight."""
        made: Any = linear.Linear(self.in_features, self.out_features, self.bias is not None)
        made.weight.data = self.weight.detach()
        if self.bias is not None:
            made.bias.data = self.bias.detach()
        made.train(self.training)
        return made
