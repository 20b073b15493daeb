"""Dropout of quantized tensors, which does nothing: they are not trained."""

from __future__ import annotations

from typing import Any

from .....nn.modules.dropout import Dropout as _Dropout


class Dropout(_Dropout):
    """Gives its input back."""

    def forward(self, input: Any) -> Any:
        return input

    def _get_name(self) -> str:
        return "QuantizedDropout"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Of an `nn.Dropout`."""
        return cls(mod.p, mod.inplace)
