"""Use Pellucid with other libraries: as `torch`, for code that imports `torch`."""

from pellucid.interop.torch_alias import as_torch as as_torch

__all__ = ["as_torch"]
