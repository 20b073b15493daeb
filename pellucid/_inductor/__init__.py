"""Names of PyTorch's `torch._inductor` that scripts use: its settings, which are kept and change nothing."""

from . import config

__all__ = ["config"]
