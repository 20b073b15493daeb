"""`torch.torch_version`: the type of version numbers."""

from __future__ import annotations

from .interop.torch_alias import TorchVersion as TorchVersion

__all__ = ["TorchVersion"]
