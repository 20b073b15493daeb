"""`torch.classes`: classes that compiled extensions of PyTorch register. There are none here, and
asking for one says so.

>>> import pellucid as torch
>>> torch.classes.mylib.Thing
Traceback (most recent call last):
    ...
RuntimeError: Tried to instantiate class 'mylib.Thing', but it does not exist! Ensure that it is registered via torch::class_
"""

from __future__ import annotations

import os
import types
from typing import Any, NoReturn

from ._names import ASKED_BY_TOOLS

loaded_libraries: set[str] = set()


class ScriptObject:
    """An object of a TorchScript class. It exists for `isinstance` checks; nothing creates an instance.

    >>> import pellucid as torch
    >>> isinstance(torch.nn.Linear(1, 1), torch.ScriptObject)
    False
    """


class _ClassNamespace(types.ModuleType):
    """The classes of one library."""

    def __init__(self, name: str) -> None:
        super().__init__("torch.classes" + name)
        self.name = name

    def __getattr__(self, attr: str) -> Any:
        if attr.startswith(ASKED_BY_TOOLS):
            raise AttributeError(attr)
        raise RuntimeError(
            f"Tried to instantiate class '{self.name}.{attr}', but it does not exist! Ensure that it is registered via torch::class_"
        )


def load_library(path: str) -> NoReturn:
    """Not supported: a compiled extension is built against PyTorch itself.

    Raises:
        OSError: always.
    """
    raise OSError(f"Could not load this library: {os.fspath(path)}")


def __getattr__(name: str) -> Any:
    if name.startswith(ASKED_BY_TOOLS):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    space = globals()[name] = _ClassNamespace(name)
    return space
