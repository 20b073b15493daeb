"""`torch.cpu.amp`: the older names of `torch.amp` for one device type; they warn, as PyTorch's do."""

from __future__ import annotations

from .autocast_mode import autocast as autocast
from .grad_scaler import GradScaler as GradScaler

__all__ = ["autocast", "GradScaler"]
