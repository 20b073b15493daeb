"""The dynamically quantized linear layer."""

from __future__ import annotations

from typing import Any

from ......dtypes import NAMED_ONLY
from ......errors import UnsupportedError
from ...modules.linear import Linear as _Linear
from ...modules.utils import observed, operators, quantize_weight


class Linear(_Linear):
    """A linear layer of floats that are rounded to bytes, with a weight of bytes and a float
    result.
    """

    _version = 4
    _OP = "linear_dynamic"

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias_: bool = True,
        dtype: Any = NAMED_ONLY["qint8"],
    ) -> None:
        super().__init__(in_features, out_features, bias_, dtype)
        self.version = 4

    def forward(self, x: Any) -> Any:
        return getattr(operators, self._OP)(x, self._packed_params._packed_params, True)

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        text = f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._packed_params.dtype}"
        return f"{text}, qscheme={self.weight().qscheme()}"

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
        self.version = local_metadata.get("version", None)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of an `nn.Linear` with a qconfig."""
        if type(mod).__name__ == "LinearReLU" or not hasattr(mod, "in_features"):
            config = mod.qconfig
            mod = mod[0]
        else:
            config = mod.qconfig
        if config is None or config.weight is None:
            raise AssertionError("Input float module must have qconfig with a weight observer")
        observer = (
            mod.weight_fake_quant
            if hasattr(mod, "weight_fake_quant")
            else observed(mod.weight, config)
        )
        if observer.dtype is not NAMED_ONLY["qint8"]:
            raise UnsupportedError(
                f"dynamic quantisation to {observer.dtype} is not supported; torch.qint8 is"
            )
        made = cls(mod.in_features, mod.out_features, dtype=observer.dtype)
        made.set_weight_bias(quantize_weight(mod.weight.float(), observer), mod.bias)
        return made
