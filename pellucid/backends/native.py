"""The generated kernels, imported when first used so that `import pellucid` stays fast."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import config


class _Package:
    """A package whose modules are imported at their first use: `kernels.convolution.call` is that module of `pellucid.kernels`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by inspect and doctest of every object
            raise AttributeError(name)
        module = importlib.import_module(f"{self._name}.{name}", __package__)
        made = _Package(module.__name__) if hasattr(module, "__path__") else module
        setattr(self, name, made)
        return made


kernels = _Package("..kernels")
sparing = [0]  # how many want no kernel compiled for what they compute by operations only once
_spared: dict[str, int] = {}  # elements that NumPy has computed instead of a kernel, by its name
_WORTH = 1 << 21  # elements that NumPy computes in about the time in which a kernel is compiled


@contextmanager
def compiling_little() -> Iterator[None]:
    """Inside the block kernels that are not there yet are not compiled for few elements: what runs here by operations runs once."""
    sparing[0] += 1
    try:
        yield
    finally:
        sparing[0] -= 1


def enabled() -> bool:
    """False when generated kernels are switched off (`PELLUCID_KERNELS=0`); NumPy then computes everything."""
    return config.kernels


def spared(name: str, elements: int) -> bool:
    """Whether NumPy is to compute so many elements instead of a kernel that is not there yet: inside `compiling_little`, until it has
    computed as many as take the time of compiling it.
    """
    if not sparing[0] or _spared.get(name, 0) + elements > _WORTH:
        return False
    _spared[name] = _spared.get(name, 0) + elements
    return True


_F32 = np.dtype(np.float32)
SMALL = 64  # elements below which a kernel call is not worth its fixed cost


def fused(name: str, *arrays: Any, least: int = SMALL) -> Callable[..., Any] | None:
    """The element-wise kernel `name`, when it serves these arrays (float32, `least` elements or more)."""
    x = arrays[-1]
    if x.size < least or type(x) is not np.ndarray or x.dtype is not _F32 or not config.kernels:
        return None
    return activation(name, x.size)


def activation(name: str, elements: int) -> Callable[..., Any] | None:
    """The element-wise kernel `name` for so many elements; None where NumPy serves."""
    made = vars(kernels.pointwise.activations)
    if name not in made and name not in _COSTLY and spared(name, elements):
        return None
    kernel: Callable[..., Any] | None = made[name] if name in made else getattr(kernels.pointwise.activations, name)
    return kernel


_COSTLY = frozenset({"erf", "gelu", "gelu_backward", "gelu_slope", "gelu_slope_backward", "mish", "mish_backward"})  # for NumPy
