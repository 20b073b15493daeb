"""`torch.signal.windows`."""

from __future__ import annotations

from ..api import attach as _attach

_attach.publish(globals(), "signal.windows")
