"""`torch.nn.quantized`: another name of `torch.ao.nn.quantized`."""

from __future__ import annotations

from .._lent import borrowed

__getattr__ = borrowed("quantized")
