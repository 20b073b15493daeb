"""Engines of quantized operations: whose rounding results have.

>>> import pellucid as torch
>>> torch.backends.quantized.engine
'x86'
"""

from __future__ import annotations

import sys
import types
from typing import Any

from ..arrays.affine import package


class _Module(types.ModuleType):
    @property
    def engine(self) -> str:
        """The engine in use."""
        return str(package().registry.engine.name)

    @engine.setter
    def engine(self, name: str) -> None:
        if name in ("none", "", None):
            raise RuntimeError("quantized engine NoQEngine is not supported")
        if name not in self.supported_engines:
            raise RuntimeError(f"{name} is not a valid value for quantized engine")
        package().registry.engine.name = name

    @property
    def supported_engines(self) -> list[str]:
        """The engines there are."""
        return list(package().registry.ENGINES)


def _take_over(module: Any) -> None:
    module.__class__ = _Module


_take_over(sys.modules[__name__])
