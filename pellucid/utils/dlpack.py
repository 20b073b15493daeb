"""`torch.utils.dlpack`: tensors shared with other libraries without a copy."""

from __future__ import annotations

from ..core.public import FUNCTIONS

from_dlpack = FUNCTIONS["torch"]["from_dlpack"]
to_dlpack = FUNCTIONS["torch"]["to_dlpack"]

__all__ = ["from_dlpack", "to_dlpack"]
