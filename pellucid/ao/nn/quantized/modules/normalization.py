"""Norms over parts of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....core.tensor import make_tensor
from .....nn.modules import instancenorm, normalization
from .utils import activation_parameters, number, operators


class _Scaled:
    """What has a scale and a zero point of its result, as buffers."""

    def _scaled(self: Any, weight: Any, bias: Any, scale: float, zero_point: int) -> None:
        self.weight, self.bias = weight, bias
        self.register_buffer("scale", make_tensor(np.asarray(scale, np.float32)))
        self.register_buffer("zero_point", make_tensor(np.asarray(zero_point, np.int64)))

    @property
    def _to(self: Any) -> tuple[float, int]:
        return float(number(self.scale)), int(number(self.zero_point))

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"


class LayerNorm(_Scaled, normalization.LayerNorm):
    """As `nn.LayerNorm`, of quantized tensors."""

    def __init__(
        self,
        normalized_shape: Any,
        weight: Any,
        bias: Any,
        scale: float,
        zero_point: int,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine)
        self._scaled(weight, bias, scale, zero_point)

    def forward(self, input: Any) -> Any:
        return operators.layer_norm(
            input, self.normalized_shape, self.weight, self.bias, self.eps, *self._to
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Of an `nn.LayerNorm` that was prepared."""
        return cls(
            mod.normalized_shape,
            mod.weight,
            mod.bias,
            *activation_parameters(mod),
            mod.eps,
            mod.elementwise_affine,
        )


class GroupNorm(_Scaled, normalization.GroupNorm):
    """As `nn.GroupNorm`, of quantized tensors."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        weight: Any,
        bias: Any,
        scale: float,
        zero_point: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_groups, num_channels, eps, affine)
        self._scaled(weight, bias, scale, zero_point)

    def forward(self, input: Any) -> Any:
        return operators.group_norm(
            input, self.num_groups, self.weight, self.bias, self.eps, *self._to
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Of an `nn.GroupNorm` that was prepared."""
        return cls(
            mod.num_groups,
            mod.num_channels,
            mod.weight,
            mod.bias,
            *activation_parameters(mod),
            mod.eps,
            mod.affine,
        )


def _instance_norm(base: Any, name: str) -> Any:
    class Norm(_Scaled, base):
        def __init__(
            self,
            num_features: int,
            weight: Any,
            bias: Any,
            scale: float,
            zero_point: int,
            eps: float = 1e-5,
            momentum: float = 0.1,
            affine: bool = False,
            track_running_stats: bool = False,
            device: Any = None,
            dtype: Any = None,
        ) -> None:
            super().__init__(num_features, eps, momentum, affine, track_running_stats)
            self._scaled(weight, bias, scale, zero_point)

        def forward(self, input: Any) -> Any:
            return operators.instance_norm(input, self.weight, self.bias, self.eps, *self._to)

        @classmethod
        def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
            """Of a norm that was prepared."""
            return cls(
                mod.num_features,
                mod.weight,
                mod.bias,
                *activation_parameters(mod),
                mod.eps,
                mod.affine,
            )

    Norm.__name__ = Norm.__qualname__ = name
    Norm.__doc__ = f"As `nn.{name}`, of quantized tensors."
    return Norm


InstanceNorm1d = _instance_norm(instancenorm.InstanceNorm1d, "InstanceNorm1d")
InstanceNorm2d = _instance_norm(instancenorm.InstanceNorm2d, "InstanceNorm2d")
InstanceNorm3d = _instance_norm(instancenorm.InstanceNorm3d, "InstanceNorm3d")
