"""Apple's Metal Performance Shaders, which Pellucid does not use.

>>> import pellucid as torch
>>> torch.backends.mps.is_available()
False
"""

from __future__ import annotations


def is_available() -> bool:
    """Whether the library is there: it is not."""
    return False


def is_built() -> bool:
    """Whether this build can use it: it cannot."""
    return False
