"""Arm's KleidiAI, which Pellucid does not use.

>>> import pellucid as torch
>>> torch.backends.kleidiai.is_available()
False
"""

from __future__ import annotations


def is_available() -> bool:
    """Whether the library is there: it is not."""
    return False
