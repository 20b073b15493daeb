"""Settings of `torch.fx`."""

from __future__ import annotations

disable_progress = True  # taken; nothing shows a progress here
verbose_progress = False
