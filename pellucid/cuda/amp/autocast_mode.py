"""Autocast under the older name for one device type."""

from __future__ import annotations

from ...amp import older

autocast = older.autocast_for("cuda")
custom_fwd = older.decorator_for("custom_fwd")
custom_bwd = older.decorator_for("custom_bwd")
