"""Names of `torch.onnx.symbolic_opset14`: functions of PyTorch's older exporter, refused when
called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._names import ASKED_BY_TOOLS
from .symbolic_helper import refusing


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith(ASKED_BY_TOOLS):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return refusing("symbolic_opset14", name)
