"""Where a model goes from floats to quantized tensors and back."""

from __future__ import annotations

from typing import Any

from ...nn.modules.module import Module

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class QuantStub(Module):
    """Marks the place where a model quantizes its input after `convert`. Until then it returns its input.

    Args:
        qconfig: how to quantize. Default: None, the configuration of the surrounding module.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> model = torch.nn.Sequential(q.QuantStub(), torch.nn.Linear(2, 2), q.DeQuantStub()).eval()
    >>> model.qconfig = q.default_qconfig
    >>> prepared = q.prepare(model)
    >>> _ = prepared(torch.tensor([[0.0, 1.0]]))  # calibration
    >>> [type(layer).__name__ for layer in q.convert(prepared)]
    ['Quantize', 'Linear', 'DeQuantize']
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class DeQuantStub(Module):
    """Marks the place where a model turns its results into floats after `convert`. Until then it returns its input.
    `QuantStub` has an example.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> model = torch.nn.Sequential(q.QuantStub(), torch.nn.Linear(2, 2), q.DeQuantStub()).eval()
    >>> model.qconfig = q.default_qconfig
    >>> prepared = q.prepare(model)
    >>> _ = prepared(torch.tensor([[0.0, 1.0]]))  # calibration
    >>> [type(layer).__name__ for layer in q.convert(prepared)]
    ['Quantize', 'Linear', 'DeQuantize']
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class QuantWrapper(Module):
    """A module between a `QuantStub` and a `DeQuantStub`, so that it takes and returns floats after `convert`.

    >>> import pellucid as torch
    >>> torch.ao.quantization.QuantWrapper(torch.nn.Linear(2, 2))
    QuantWrapper(
      (quant): QuantStub()
      (dequant): DeQuantStub()
      (module): Linear(in_features=2, out_features=2, bias=True)
    )
    """

    def __init__(self, module: Any) -> None:
        super().__init__()
        config = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(config))
        self.add_module("dequant", DeQuantStub(config))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: Any) -> Any:
        return self.dequant(self.module(self.quant(X)))
