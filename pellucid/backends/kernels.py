"""The generated kernels, imported when first used so that `import pellucid` stays fast."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

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
tracing = [
    0
]  # above 0 while a call is traced, whose program has code of its own: NumPy serves where a kernel must first be compiled


def enabled() -> bool:
    """False when generated kernels are switched off (`PELLUCID_KERNELS=0`); NumPy then computes everything."""
    return config.kernels


_F32 = np.dtype(np.float32)
SMALL = 64  # elements below which a kernel call is not worth its fixed cost


def fused(name: str, *arrays: Any, least: int = SMALL) -> Callable[..., Any] | None:
    """The element-wise kernel `name`, when it serves these arrays (float32, `least` elements or more)."""
    x = arrays[-1]
    if x.size < least or type(x) is not np.ndarray or x.dtype is not _F32 or not config.kernels:
        return None
    kernel: Callable[..., Any] | None = getattr(kernels.activations, name)
    return kernel
