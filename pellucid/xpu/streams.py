"""`torch.xpu.streams`: there is no device that works beside the program."""

from __future__ import annotations

from .._absent import dummy_class as _dummy_class

Event = _dummy_class("Event", __name__)
Stream = _dummy_class("Stream", __name__)
