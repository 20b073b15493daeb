"""`torch.ao`: quantization of models."""

from __future__ import annotations

from . import nn as nn
from . import quantization as quantization

__all__ = ["nn", "quantization"]
