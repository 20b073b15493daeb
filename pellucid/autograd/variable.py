"""`torch.autograd.variable`: the old name of a tensor that records operations."""

from __future__ import annotations

from ..core.tensor import Tensor as Variable

__all__ = ["Variable"]
