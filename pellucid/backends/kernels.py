"""The generated kernels, imported when first used so that `import pellucid` stays fast."""

from __future__ import annotations

import importlib
from types import ModuleType

from .. import config


class _Kernels:
    """`kernels.conv` is the module `codegen.conv`, imported at the first use."""

    def __getattr__(self, name: str) -> ModuleType:
        if name.startswith("__"):  # asked by inspect and doctest of every object
            raise AttributeError(name)
        module = importlib.import_module(f"..codegen.{name}", __package__)
        setattr(self, name, module)
        return module


kernels = _Kernels()


def enabled() -> bool:
    """False when generated kernels are switched off (`PELLUCID_KERNELS=0`); NumPy then computes everything."""
    return config.kernels
