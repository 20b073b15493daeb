"""Autocast under the older name for one device type."""

from __future__ import annotations

from ...amp import older

autocast = older.autocast_for("cpu")
