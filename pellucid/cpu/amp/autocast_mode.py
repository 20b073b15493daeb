"""Autocast under the older name for one device type."""

from __future__ import annotations

from ...amp import older

__all__ = ["autocast"]

autocast = older.autocast_for("cpu")
