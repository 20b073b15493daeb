"""Layers whose weights are rounded while they are trained."""

from __future__ import annotations

from .conv import Conv1d as Conv1d
from .conv import Conv2d as Conv2d
from .conv import Conv3d as Conv3d
from .embedding_ops import Embedding as Embedding
from .embedding_ops import EmbeddingBag as EmbeddingBag
from .linear import Linear as Linear

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Embedding", "EmbeddingBag", "Linear"]
