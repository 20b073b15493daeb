"""Older names of `torch.library` (`torch._custom_ops`)."""

from __future__ import annotations

from .library import get_ctx as get_ctx
from .library import impl_abstract as impl_abstract
