"""NVIDIA's cuDNN, which Pellucid does not use: its switches can be set, as portable scripts do, and change nothing.

>>> import pellucid as torch
>>> torch.backends.cudnn.deterministic = True
>>> torch.backends.cudnn.is_available()
False
"""

from __future__ import annotations

enabled = True
deterministic = False
benchmark = False
benchmark_limit: int | None = None
allow_tf32 = True


def is_available() -> bool:
    """Whether the library is there: it is not."""
    return False


def version() -> int | None:
    """The library's version: None, since it is not there."""
    return None
