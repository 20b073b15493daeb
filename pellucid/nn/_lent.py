"""Old names of modules that live in `torch.ao.nn` now, a layer above; the root lends them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..api.attach import LENT


def borrowed(path: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose names are those of a module of `torch.ao.nn`."""

    def __getattr__(name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        return getattr(LENT["ao.nn"](path), name)

    return __getattr__
