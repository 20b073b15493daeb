"""NNPACK, which Pellucid does not use.

>>> import pellucid as torch
>>> torch.backends.nnpack.is_available()
False
"""

from __future__ import annotations


def is_available() -> bool:
    """Whether the library is there: it is not."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Take the setting; it was off.

    >>> set_flags(True)
    (False,)
    """
    return (False,)
