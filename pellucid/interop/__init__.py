"""Pellucid beside other libraries: under PyTorch's name for scripts and libraries that say `import torch`."""

from pellucid.interop.torch_alias import as_torch as as_torch

__all__ = ["as_torch"]
