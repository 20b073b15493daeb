"""The functions of the program behind hooks: which one changed a gradient, and at which line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

from ..core import source
from ..core.tape import Node
from ..core.tensor import Tensor

BEFORE = ("tensor_hooks", "pre_hooks")  # those that see a node's gradient before it is used
AFTER = ("post_hooks",)
OF_LEAVES = ("hooks", "acc_pre_hooks", "acc_post_hooks", "post_accumulate")


def hook_of(
    place: Node | Tensor, kinds: Iterable[str], returns: Mapping[CodeType, source.Site]
) -> source.Site | None:
    """Where the last of the program's hooks of some kinds on a node or a leaf returned; None without
    any.
    """
    tables = (place.ext if isinstance(place, Node) else place._x) or {}
    codes = [c for kind in kinds if kind in tables for c in _codes(tables[kind])]
    return _end_of(codes[-1], returns) if codes else None


def _codes(hooks: Any) -> list[CodeType]:
    """The program's functions that a table of hooks leads to."""
    found: list[CodeType] = []
    waiting: list[Any] = [hooks]
    for x in waiting:  # which grows
        if len(waiting) > 256:
            break
        if isinstance(x, (list, tuple, dict)):
            waiting.extend(x.values() if isinstance(x, dict) else x)
        elif isinstance(x, partial):
            waiting.append(x.func)
        elif isinstance(x, MethodType) and source.is_library(x.__func__.__code__.co_filename):
            # how modules call their hooks: the first list that the method reads has them
            held = (getattr(x.__self__, name, None) for name in x.__func__.__code__.co_names)
            lists = [part for part in held if isinstance(part, list) and all(map(callable, part))]
            waiting.append(next((part for part in lists if part), ()))
        elif isinstance(x, MethodType):
            found.append(x.__func__.__code__)
        elif isinstance(x, FunctionType) and source.is_library(x.__code__.co_filename):
            waiting.extend(
                c.cell_contents for c in x.__closure__ or () if callable(c.cell_contents)
            )
        elif isinstance(x, FunctionType):
            found.append(x.__code__)
        elif isinstance(call := vars(type(x)).get("__call__"), FunctionType):
            if not source.is_library(call.__code__.co_filename):
                found.append(call.__code__)
    return found


def _end_of(code: CodeType, returns: Mapping[CodeType, source.Site]) -> source.Site:
    """Where a function returned, as noted, else its end."""
    return returns.get(code) or (code, len(code.co_code) - 2)
