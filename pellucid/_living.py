"""What is alive in the process, found through the garbage collector.

Among what the collector knows are objects of every library: proxies of what is gone, classes whose
`__getattr__` imports a module, instances that are half made. Nothing here runs code of theirs.
`isinstance` would: it asks an object for its `__class__`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any, TypeVar

T = TypeVar("T")


def living(kind: type[T]) -> list[T]:
    """The objects of a class or of its subclasses that are alive."""
    return [x for x in gc.get_objects() if issubclass(type(x), kind)]


def attributes(x: object) -> dict[str, Any]:
    """The dictionary of an object's own attributes, empty when it has none."""
    if not type(x).__dictoffset__:  # as most objects have none
        return {}
    try:
        found = object.__getattribute__(x, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


def with_attributes() -> Iterator[tuple[Any, dict[str, Any]]]:
    """The objects that are alive and have attributes of their own, each with these."""
    for x in gc.get_objects():
        own = attributes(x)
        if own:
            yield x, own


def modules() -> list[tuple[Any, dict[str, Any]]]:
    """The neural networks' modules that are alive, each with its attributes."""
    return [
        (m, own)
        for m, own in with_attributes()
        if isinstance(own.get("_parameters"), dict) and isinstance(own.get("_modules"), dict)
    ]
