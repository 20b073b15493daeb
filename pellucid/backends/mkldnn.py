"""Intel's oneDNN, which Pellucid does not use.

>>> import pellucid as torch
>>> torch.backends.mkldnn.is_available()
False
"""

from __future__ import annotations

# Settings that are kept.
enabled = True
deterministic = False
fp32_precision = "none"


def is_available() -> bool:
    """Whether the library is there: it is not."""
    return False
