"""The fused modules."""

from __future__ import annotations

from .fused import *  # noqa: F403
from .fused import __all__ as __all__
