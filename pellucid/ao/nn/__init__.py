"""`torch.ao.nn`: modules that quantization puts in the place of others."""

from __future__ import annotations

from . import intrinsic as intrinsic
from . import qat as qat
from . import quantized as quantized

__all__ = ["intrinsic", "qat", "quantized"]
