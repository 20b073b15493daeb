"""`torch.nn.intrinsic.quantized`: another name of `torch.ao.nn.intrinsic.quantized`."""

from __future__ import annotations

from ..._lent import borrowed

__getattr__ = borrowed("intrinsic.quantized")
