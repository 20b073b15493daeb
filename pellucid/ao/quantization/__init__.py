"""`torch.ao.quantization`: the marks that models carry for it. A model with them runs in floating point; preparing and converting refuse.

>>> import pellucid as torch
>>> torch.ao.quantization.QuantStub()(torch.ones(2))
tensor([1., 1.])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from ...core.tensor import Tensor
from ...errors import UnsupportedError
from ...nn.modules.module import Module


class QuantStub(Module):
    """Where a model's input would be quantised: gives its input back.

    Args:
        qconfig: kept as an attribute.
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        return x


class DeQuantStub(QuantStub):
    """Where a model's output would be converted back: gives its input back."""


class QuantWrapper(Module):
    """A module between the two stubs."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.quant, self.dequant = QuantStub(), DeQuantStub()
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, x: Tensor) -> Any:
        return self.dequant(self.module(self.quant(x)))


class QConfig(NamedTuple):
    """How activations and weights would be observed."""

    activation: Any
    weight: Any


def _refusing(name: str) -> Callable[..., Any]:
    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedError(f"torch.ao.quantization.{name} is not supported: there are no quantised tensors")

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = "Refused: there are no quantised tensors."
    return refused


for _name in (
    "convert", "default_observer", "default_per_channel_weight_observer", "default_weight_observer", "fuse_modules", "fuse_modules_qat",
    "get_default_qat_qconfig", "get_default_qconfig", "prepare", "prepare_qat", "quantize", "quantize_dynamic", "quantize_qat",
):  # fmt: skip
    globals()[_name] = _refusing(_name)
