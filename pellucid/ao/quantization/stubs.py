"""Where a model goes from floats to quantized tensors and back."""

from __future__ import annotations

from typing import Any

from ...nn.modules.module import Module


class QuantStub(Module):
    """Where a model's input is quantized once the model is converted; until then it gives its input
    back.

    Args:
        qconfig: how; otherwise that of the modules around it.
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class DeQuantStub(Module):
    """Where a model's output becomes floats again once the model is converted; until then it gives
    its input back.
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class QuantWrapper(Module):
    """A module between the two stubs."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        config = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(config))
        self.add_module("dequant", DeQuantStub(config))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: Any) -> Any:
        return self.dequant(self.module(self.quant(X)))
