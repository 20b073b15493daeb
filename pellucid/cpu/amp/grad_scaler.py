"""Gradient scaling under the older name for one device type."""

from __future__ import annotations

from ...amp import older

__all__ = ["GradScaler"]

GradScaler = older.scaler_for("cpu")
