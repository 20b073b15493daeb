"""`torch.nn.intrinsic`: another name of `torch.ao.nn.intrinsic`."""

from __future__ import annotations

from .._lent import borrowed

__getattr__ = borrowed("intrinsic")
