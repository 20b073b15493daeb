"""`torch.signal`: windows of signal processing."""

from . import windows as windows

__all__ = ["windows"]
