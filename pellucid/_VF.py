"""`torch._VF`: PyTorch's functions as its C++ code has them, for code that reaches there; here the
public ones.
"""

from __future__ import annotations

import importlib
from typing import Any

from ._names import ASKED_BY_TOOLS


def __getattr__(name: str) -> Any:
    if name.startswith(ASKED_BY_TOOLS):
        raise AttributeError(f"module 'torch._VF' has no attribute {name!r}", name=name)
    return getattr(importlib.import_module(__package__), name)
