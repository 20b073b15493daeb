"""Embeddings whose rows are rounded while they are trained."""

from __future__ import annotations

from typing import Any

from .....core.public import FUNCTIONS
from .....nn.modules import sparse


class Embedding(sparse.Embedding):
    """As `nn.Embedding`; `qconfig.weight` makes what rounds the rows."""

    def __init__(self, *args: Any, qconfig: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight()

    def forward(self, input: Any) -> Any:
        return FUNCTIONS["nn.functional"]["embedding"](
            input,
            self.weight_fake_quant(self.weight),
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Of a float layer with a qconfig, whose rows it shares."""
        made = cls(
            mod.num_embeddings,
            mod.embedding_dim,
            mod.padding_idx,
            mod.max_norm,
            mod.norm_type,
            mod.scale_grad_by_freq,
            mod.sparse,
            qconfig=mod.qconfig,
        )
        made.weight = mod.weight
        return made


class EmbeddingBag(sparse.EmbeddingBag):
    """As `nn.EmbeddingBag`; `qconfig.weight` makes what rounds the rows."""

    def __init__(self, *args: Any, qconfig: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight()

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        return FUNCTIONS["nn.functional"]["embedding_bag"](
            input,
            self.weight_fake_quant(self.weight),
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Of a float layer with a qconfig, whose rows it shares."""
        made = cls(
            mod.num_embeddings,
            mod.embedding_dim,
            mod.max_norm,
            mod.norm_type,
            mod.scale_grad_by_freq,
            mod.mode,
            mod.sparse,
            include_last_offset=mod.include_last_offset,
            padding_idx=mod.padding_idx,
            qconfig=mod.qconfig,
        )
        made.weight = mod.weight
        return made
