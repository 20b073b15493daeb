"""`torch.return_types`: the tuple types of functions that return several tensors."""

from __future__ import annotations

from .ops.return_types import __getattr__ as __getattr__
