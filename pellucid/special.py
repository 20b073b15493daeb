"""`torch.special`: special functions."""

from __future__ import annotations

from .api import attach as _attach

_attach.publish(globals(), "special")
