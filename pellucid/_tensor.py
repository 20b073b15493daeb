"""The Tensor class where PyTorch defines it (`torch._tensor`)."""

from __future__ import annotations

from .core.tensor import Tensor as Tensor
from .serialization._rebuild import made_of_type as _rebuild_from_type_v2

__all__ = ["Tensor", "_rebuild_from_type_v2"]
