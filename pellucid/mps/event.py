"""`torch.mps.event`: there is no device whose work has points in time."""

from __future__ import annotations

from .._absent import dummy_class as _dummy_class


def _without() -> Exception:
    return RuntimeError("Cannot execute acquireEvent() without MPS backend.")


Event = _dummy_class("Event", __name__, _without)
