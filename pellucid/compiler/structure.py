"""Nested arguments and results: their structure apart from their tensors."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from .numbers import is_read


def flatten(value: Any, found: list[Tensor]) -> Any:
    """A hashable description of a nested argument or result; its tensors are appended to `found`."""
    if is_read(value):
        found.append(value)
        return ("number", len(found) - 1)
    if isinstance(value, Tensor):
        for k, t in enumerate(found):
            if t is value:
                return ("again", k)
        found.append(value)
        return ("tensor", len(found) - 1)
    if isinstance(value, tuple):
        return (type(value), *[flatten(v, found) for v in value])
    if isinstance(value, list):
        return ("list", *[flatten(v, found) for v in value])
    if isinstance(value, dict):
        return (type(value), *[(k, flatten(v, found)) for k, v in value.items()])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return (type(value), *[(f.name, flatten(getattr(value, f.name), found)) for f in dataclasses.fields(value)])
    if isinstance(value, (bool, int, float, complex, str, bytes, type(None), np.generic)):
        return (type(value), repr(value) if isinstance(value, float) else value)
    return ("object", Same(value))


class Same:
    """An object that only itself equals, kept alive so that no other gets its identity."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


class Slot:
    """Stands for a tensor in the structure of a result."""

    def __init__(self, place: int) -> None:
        self.place = place


def rebuild(value: Any, place: Callable[[Tensor], Any]) -> Any:
    """A result of the same structure with other tensors."""
    if isinstance(value, (Tensor, Slot)) or is_read(value):
        return place(value)
    if isinstance(value, tuple):
        made = [rebuild(v, place) for v in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if isinstance(value, list):
        return [rebuild(v, place) for v in value]
    if isinstance(value, dict):
        made = [(k, rebuild(v, place)) for k, v in value.items()]
        return type(value)(made)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **{f.name: rebuild(getattr(value, f.name), place) for f in dataclasses.fields(value)})
    return value
