"""Functions of functions (`torch._higher_order_ops`)."""

from __future__ import annotations

from .associative_scan import associative_scan as associative_scan
from .scan import scan as scan

__all__ = ["associative_scan", "scan"]
