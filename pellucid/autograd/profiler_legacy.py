"""The profiler before `torch.profiler`, by its old name."""

from __future__ import annotations

from .profiler import profile as profile

__all__ = ["profile"]
