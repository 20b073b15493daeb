"""`torch.nn.qat`: another name of `torch.ao.nn.qat`."""

from __future__ import annotations

from .._lent import borrowed

__getattr__ = borrowed("qat")
