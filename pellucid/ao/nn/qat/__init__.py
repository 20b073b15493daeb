"""`torch.ao.nn.qat`: layers whose weights are rounded while they are trained."""

from __future__ import annotations

from . import modules as modules
from .modules import Conv1d as Conv1d
from .modules import Conv2d as Conv2d
from .modules import Conv3d as Conv3d
from .modules import Embedding as Embedding
from .modules import EmbeddingBag as EmbeddingBag
from .modules import Linear as Linear
