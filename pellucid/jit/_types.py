"""Types with element types, such as `List[int]`, for TorchScript's `isinstance`."""

from __future__ import annotations

import types
import typing
from typing import Any


def holds(obj: Any, target: Any) -> bool:
    """Whether an object is of a type, contents included."""
    if target is None:
        return obj is None
    if target is Any:
        return True
    origin, parts = typing.get_origin(target), typing.get_args(target)
    if origin is None:
        return isinstance(obj, typing.get_origin(target) or target)
    if origin in (typing.Union, types.UnionType):
        return any(holds(obj, part) for part in parts)
    if not isinstance(obj, origin):
        return False
    if not parts:
        return True
    if origin is tuple:
        if len(parts) == 2 and parts[1] is Ellipsis:
            return all(holds(item, parts[0]) for item in obj)
        return len(obj) == len(parts) and all(map(holds, obj, parts))
    if issubclass(origin, dict):
        return all(holds(key, parts[0]) and holds(value, parts[1]) for key, value in obj.items())
    if issubclass(origin, (list, set, frozenset)):
        return all(holds(item, parts[0]) for item in obj)
    return True
