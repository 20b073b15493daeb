"""Batch norms that are not fused with a convolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....core.tensor import make_tensor
from .....nn.modules.batchnorm import BatchNorm2d as _BatchNorm2d
from .....nn.modules.batchnorm import BatchNorm3d as _BatchNorm3d
from .....nn.modules.module import Module
from .utils import activation_parameters, number, operators


def _scaled(module: Any) -> None:
    module.register_buffer("scale", make_tensor(np.asarray(1.0, np.float32)))
    module.register_buffer("zero_point", make_tensor(np.asarray(0, np.int64)))


def _normalize(module: Any, operator: str, x: Any) -> Any:
    return getattr(operators, operator)(
        x,
        module.weight,
        module.bias,
        module.running_mean,
        module.running_var,
        module.eps,
        float(number(module.scale)),
        int(number(module.zero_point)),
    )


def _from_float(cls: Any, mod: Any) -> Any:
    scale, zero_point = activation_parameters(mod)
    if not hasattr(mod, "num_features"):  # fused with relu
        mod = mod[0]
    made = cls(mod.num_features, mod.eps)
    for name in ("weight", "bias", "running_mean", "running_var"):
        setattr(made, name, getattr(mod, name))
    made.scale, made.zero_point = (
        make_tensor(np.asarray(scale, np.float32)),
        make_tensor(np.asarray(zero_point, np.int64)),
    )
    return made


class BatchNorm2d(_BatchNorm2d):
    """As `nn.BatchNorm2d` that is not trained, of quantized tensors."""

    _OP = "batch_norm2d"

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum)
        _scaled(self)

    def forward(self, input: Any) -> Any:
        return _normalize(self, self._OP, input)

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    @classmethod
    def from_float(cls, mod: Module, use_precomputed_fake_quant: bool = False) -> Any:
        """Of a batch norm that was prepared."""
        return _from_float(cls, mod)


class BatchNorm3d(_BatchNorm3d):
    """As `nn.BatchNorm3d` that is not trained, of quantized tensors."""

    _OP = "batch_norm3d"

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum)
        _scaled(self)

    def forward(self, input: Any) -> Any:
        return _normalize(self, self._OP, input)

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    @classmethod
    def from_float(cls, mod: Module, use_precomputed_fake_quant: bool = False) -> Any:
        """Of a batch norm that was prepared."""
        return _from_float(cls, mod)
