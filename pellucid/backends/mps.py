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


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Not supported: there is no such device to be on."""
    raise RuntimeError("Cannot execute isOnMacOSorNewer() without MPS backend.")
