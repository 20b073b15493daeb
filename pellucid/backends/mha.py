"""The switch of `nn.MultiheadAttention`'s fast path: a setting that is kept. The path's results are
the ordinary ones.

>>> import pellucid as torch
>>> torch.backends.mha.get_fastpath_enabled()
True
"""

from __future__ import annotations

_enabled = True


def get_fastpath_enabled() -> bool:
    """What `set_fastpath_enabled` was called with last."""
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Keep the setting."""
    global _enabled
    _enabled = value
