"""Quantized embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....core.tensor import make_tensor
from .....dtypes import NAMED_ONLY
from .....nn.modules.module import Module
from .....quantized import _empty_per_channel_affine_quantized
from .utils import observed, operators, quantize_weight


class EmbeddingPackedParams(Module):
    """The packed rows."""

    _version = 1

    def __init__(
        self, num_embeddings: int, embedding_dim: int, dtype: Any = NAMED_ONLY["quint8"]
    ) -> None:
        super().__init__()
        if dtype is not NAMED_ONLY["quint8"]:
            raise NotImplementedError(
                f"Unsupported dtype on quantized embedding! Supports quint8, not {dtype}"
            )
        self.dtype = dtype
        ones, zeros = (make_tensor(np.full(num_embeddings, v, np.float32)) for v in (1, 0))
        self.set_weight(
            _empty_per_channel_affine_quantized(
                [num_embeddings, embedding_dim], scales=ones, zero_points=zeros, axis=0, dtype=dtype
            )
        )

    def set_weight(self, weight: Any) -> None:
        """Pack other rows."""
        self._packed_weight = operators.embedding_bag_prepack(weight)

    def _weight(self) -> Any:
        return operators.embedding_bag_unpack(self._packed_weight)

    def forward(self, x: Any) -> Any:
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_weight"] = self._weight()

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
        self.dtype = state_dict.pop(prefix + "dtype")
        self.set_weight(state_dict.pop(prefix + "_packed_weight"))
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    def __repr__(self) -> str:
        return repr(self._weight())


class Embedding(Module):
    """As `nn.Embedding`, with rows of bytes.

    Args:
        num_embeddings, embedding_dim: the number of rows and their length.
    """

    _version = 1

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        dtype: Any = NAMED_ONLY["quint8"],
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.dtype = num_embeddings, embedding_dim, dtype
        self._packed_params = EmbeddingPackedParams(num_embeddings, embedding_dim, dtype)
        if _weight is not None:
            self.set_weight(_weight)

    def forward(self, indices: Any) -> Any:
        return operators.embedding_byte(self._packed_params._packed_weight, indices)

    def _get_name(self) -> str:
        return "QuantizedEmbedding"

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    def extra_repr(self) -> str:
        return (
            f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, dtype={self._packed_params.dtype}, "
            f"qscheme={self.weight().qscheme()}"
        )

    def set_weight(self, w: Any) -> None:
        """Pack other rows."""
        self._packed_params.set_weight(w)

    def weight(self) -> Any:
        """The quantized rows."""
        return self._packed_params._weight()

    @classmethod
    def _quantized(cls, mod: Any, use_precomputed_fake_quant: bool) -> Any:
        if hasattr(mod, "weight_fake_quant"):
            observer = mod.weight_fake_quant
            if not use_precomputed_fake_quant:
                observer(mod.weight)
        else:
            config = getattr(mod, "qconfig", None)
            if config is None or config.weight is None:
                raise AssertionError(
                    "a quantized embedding needs a qconfig with an observer of the weight, float_qparams_weight_only_qconfig"
                )
            observer = observed(mod.weight, config)
        if observer.qscheme.name != "per_channel_affine_float_qparams":
            raise AssertionError(
                "Embedding quantization is only supported with float_qparams_weight_only_qconfig."
            )
        return quantize_weight(mod.weight.float(), observer)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of an `nn.Embedding` with a qconfig."""
        weight = cls._quantized(mod, use_precomputed_fake_quant)
        made = cls(mod.num_embeddings, mod.embedding_dim, dtype=weight.dtype)
        made.set_weight(weight)
        return made


class EmbeddingBag(Embedding):
    """As `nn.EmbeddingBag` that sums, with rows of bytes."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "sum",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        dtype: Any = NAMED_ONLY["quint8"],
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, _weight=_weight, dtype=dtype)
        if mode != "sum":
            raise NotImplementedError(
                f"a quantized EmbeddingBag sums; mode={mode!r} is not supported"
            )
        self.mode, self.include_last_offset, self.pruned_weights = mode, include_last_offset, False

    def forward(
        self,
        indices: Any,
        offsets: Any = None,
        per_sample_weights: Any = None,
        compressed_indices_mapping: Any = None,
    ) -> Any:
        return operators.embedding_bag_byte(
            self._packed_params._packed_weight,
            indices,
            offsets,
            False,
            0,
            self.pruned_weights,
            per_sample_weights,
            compressed_indices_mapping,
            self.include_last_offset,
        )

    def _get_name(self) -> str:
        return "QuantizedEmbeddingBag"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of an `nn.EmbeddingBag` with a qconfig."""
        weight = cls._quantized(mod, use_precomputed_fake_quant)
        made = cls(
            mod.num_embeddings,
            mod.embedding_dim,
            mode=mod.mode,
            include_last_offset=mod.include_last_offset,
            dtype=weight.dtype,
        )
        made.set_weight(weight)
        return made
