"""The quantized linear layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....core.tensor import make_tensor
from .....dtypes import NAMED_ONLY
from .....nn.modules.module import Module
from .....quantized import _empty_affine_quantized
from .utils import (
    WeightedQuantizedModule,
    activation_parameters,
    number,
    observed,
    operators,
    quantize_weight,
    scalar,
)


class LinearPackedParams(Module):
    """A weight and a bias, packed; they stand in a state_dict as one pair."""

    _version = 3

    def __init__(self, dtype: Any = NAMED_ONLY["qint8"]) -> None:
        super().__init__()
        if dtype is not NAMED_ONLY["qint8"]:
            raise RuntimeError("Unsupported dtype on dynamic quantized linear!")
        self.dtype = dtype
        self.set_weight_bias(
            _empty_affine_quantized([1, 1], scale=1, zero_point=0, dtype=dtype), None
        )

    def set_weight_bias(self, weight: Any, bias: Any) -> None:
        """Pack another weight and bias."""
        self._packed_params = operators.linear_prepack(weight, bias)

    def _weight_bias(self) -> Any:
        return operators.linear_unpack(self._packed_params)

    def forward(self, x: Any) -> Any:
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_params"] = self._weight_bias()

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: Any,
        unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:
        version = local_metadata.get("version", None)
        if version is None or version < 2:
            self.dtype = NAMED_ONLY["qint8"]
        else:
            self.dtype = state_dict.pop(prefix + "dtype")
        if version is None or version < 3:
            self.set_weight_bias(state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias"))
        else:
            self.set_weight_bias(*state_dict.pop(prefix + "_packed_params"))
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    def __repr__(self) -> str:
        return repr(self._weight_bias())


class Linear(WeightedQuantizedModule):
    """A linear layer of quantized tensors, with a quantized result.

    Args:
        in_features, out_features: the sizes.
        bias_: whether there is a bias.
    """

    _version = 3
    _OP = "linear"

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias_: bool = True,
        dtype: Any = NAMED_ONLY["qint8"],
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        bias = make_tensor(np.zeros(out_features, np.float32)) if bias_ else None
        weight = _empty_affine_quantized(
            [out_features, in_features], scale=1, zero_point=0, dtype=dtype
        )
        self._packed_params = LinearPackedParams(dtype)
        self._packed_params.set_weight_bias(weight, bias)
        self.scale: Any = 1.0
        self.zero_point: Any = 0

    def _get_name(self) -> str:
        return "QuantizedLinear"

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, scale={self.scale}, zero_point={self.zero_point}, "
            f"qscheme={self.weight().qscheme()}"
        )

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    def forward(self, x: Any) -> Any:
        return getattr(operators, self._OP)(
            x, self._packed_params._packed_params, self.scale, self.zero_point
        )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = scalar(self.scale)
        destination[prefix + "zero_point"] = scalar(self.zero_point, np.int64)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: Any,
        unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:
        self.scale = float(number(state_dict.pop(prefix + "scale")))
        self.zero_point = int(number(state_dict.pop(prefix + "zero_point")))
        version = local_metadata.get("version", None)
        if version is None or version == 1:
            weight, bias = state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias")
            state_dict.update(
                {prefix + "_packed_params.weight": weight, prefix + "_packed_params.bias": bias}
            )
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    def _weight_bias(self) -> Any:
        return self._packed_params._weight_bias()

    def weight(self) -> Any:
        """The quantized weight."""
        return self._weight_bias()[0]

    def bias(self) -> Any:
        """The bias, or None."""
        return self._weight_bias()[1]

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Pack another weight and bias."""
        self._packed_params.set_weight_bias(w, b)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of a module that was prepared and has seen data, or was trained with
        fake quantization.
        """
        if hasattr(mod, "weight_fake_quant"):
            observer = mod.weight_fake_quant
            if not use_precomputed_fake_quant:
                observer(mod.weight)
            scale, zero_point = activation_parameters(mod)
        else:
            scale, zero_point = activation_parameters(mod)
            # fused, not for training
            if type(mod).__name__ == "LinearReLU" or not hasattr(mod, "weight"):
                mod = mod[0]
            observer = observed(mod.weight, mod.qconfig)
        made = cls(mod.in_features, mod.out_features, dtype=observer.dtype)
        made.set_weight_bias(quantize_weight(mod.weight.float(), observer), mod.bias)
        made.scale, made.zero_point = scale, zero_point
        return made
