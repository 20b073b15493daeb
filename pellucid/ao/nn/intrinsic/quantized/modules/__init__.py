"""Fused modules of quantized tensors."""

from __future__ import annotations

from .bn_relu import BNReLU2d as BNReLU2d
from .bn_relu import BNReLU3d as BNReLU3d
from .conv_relu import ConvReLU1d as ConvReLU1d
from .conv_relu import ConvReLU2d as ConvReLU2d
from .conv_relu import ConvReLU3d as ConvReLU3d
from .linear_relu import LinearReLU as LinearReLU
