"""Intel's Math Kernel Library, which Pellucid does not use.

>>> import pellucid as torch
>>> torch.backends.mkl.is_available()
False
"""

from __future__ import annotations


def is_available() -> bool:
    """Whether the library is there: it is not."""
    return False
