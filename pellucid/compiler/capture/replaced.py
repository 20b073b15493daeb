"""Functions of the library that a program has replaced (`torch.relu = mine`), which invalidates
earlier traces.

Comparing the library's functions at each call would be too slow. Instead, its modules report when
an attribute is set.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ...api.settings import SETTINGS, change
from ...core.display.assigned import TensorMeta

_LIBRARY = __name__.partition(".")[0]


class WatchedModule(ModuleType):
    """A module of the library. Functions and classes that have changed since the first trace are in
    `SETTINGS["replaced"]`.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        _note(self, name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        _note(self, name, None)
        super().__delattr__(name)


def watch() -> None:
    """Watch the imported modules of the library, and the methods of tensors."""
    TensorMeta.told = _note
    for name, module in [*sys.modules.items()]:
        if (
            name.startswith(_LIBRARY)
            and type(module) is ModuleType
            and name.partition(".")[0] == _LIBRARY
        ):
            module.__class__ = WatchedModule


_before: dict[tuple[str, str], Any] = {}  # the originals of what has been replaced


def _note(owner: ModuleType | type, name: str, value: Any) -> None:
    place, old = (
        (f"{getattr(owner, '__module__', '')}.{owner.__name__}", name),
        vars(owner).get(name),
    )
    if callable(old) and not isinstance(old, ModuleType) and old is not value:
        _before.setdefault(place, old)
    if place in _before:
        others = {k: v for k, v in SETTINGS["replaced"].items() if k != place}
        change(replaced=others if _before[place] is value else {**others, place: value})
