"""`torch.nn.quantized.dynamic`: another name of `torch.ao.nn.quantized.dynamic`."""

from __future__ import annotations

from ..._lent import borrowed

__getattr__ = borrowed("quantized.dynamic")
