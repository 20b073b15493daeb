"""Gradient scaling under the older name for one device type."""

from __future__ import annotations

from ...amp import older

GradScaler = older.scaler_for("cuda")
