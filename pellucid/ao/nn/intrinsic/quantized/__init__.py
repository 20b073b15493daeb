"""`torch.ao.nn.intrinsic.quantized`: fused modules of quantized tensors."""

from __future__ import annotations

from . import dynamic as dynamic
from . import modules as modules
from .modules import BNReLU2d as BNReLU2d
from .modules import BNReLU3d as BNReLU3d
from .modules import ConvReLU1d as ConvReLU1d
from .modules import ConvReLU2d as ConvReLU2d
from .modules import ConvReLU3d as ConvReLU3d
from .modules import LinearReLU as LinearReLU

__all__ = ["BNReLU2d", "BNReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU"]
