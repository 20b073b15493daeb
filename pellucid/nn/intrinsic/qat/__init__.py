"""`torch.nn.intrinsic.qat`: another name of `torch.ao.nn.intrinsic.qat`."""

from __future__ import annotations

from ..._lent import borrowed

__getattr__ = borrowed("intrinsic.qat")
