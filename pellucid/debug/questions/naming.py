"""Name objects as the user's program reaches them: variables, attributes, list items, dict entries,
closures.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections import deque
from collections.abc import Callable, Iterator
from types import CellType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ...api.messages.written import call_at
from ...core.primitive import PRIMITIVES
from ...core.source import is_library
from ...core.tape import Node
from ...core.tensor import Tensor

_OBJECTS = 200_000  # how many objects a search looks at
_DEPTH = 8
_ITEMS = 100_000  # how many items of one container
_PLAIN = (
    str,
    bytes,
    int,
    float,
    complex,
    bool,
    type(None),
    type,
    np.ndarray,
    np.generic,
    ModuleType,
    range,
    Node,
)
_STANDARD = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib"))


def argument_text(frame: FrameType | None, function: str) -> str | None:
    """The first argument of the call of `function` that a frame is making, as it is written; None
    when it is longer than a name.
    """
    call = call_at(frame)
    if call is None or not call.args:
        return None
    called = (
        call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    )
    text = ast.unparse(call.args[0])
    short = len(text) <= 60 and isinstance(call.args[0], (ast.Name, ast.Attribute, ast.Subscript))
    return text if called == function and short else None


def _is_users(filename: str | None) -> bool:
    return (
        bool(filename)
        and not is_library(str(filename))
        and not str(filename).startswith((*_STANDARD, "<frozen"))
    )


def namespaces(frame: FrameType | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """(suffix, variables) of the user's running functions, innermost first, then of the user's
    modules.
    """
    seen: set[int] = set()
    while frame is not None:
        if frame.f_locals is not frame.f_globals and _is_users(frame.f_code.co_filename):
            yield (f" in {frame.f_code.co_name}()" if seen else ""), dict(frame.f_locals)
            seen.add(id(frame))
        if (
            _is_users(frame.f_globals.get("__file__") or frame.f_code.co_filename)
            and id(frame.f_globals) not in seen
        ):
            seen.add(id(frame.f_globals))
            yield "", dict(frame.f_globals)
        frame = frame.f_back
    for name, module in list(sys.modules.items()):
        if isinstance(module, ModuleType) and id(vars(module)) not in seen:
            file = getattr(module, "__file__", None)
            if (name == "__main__" or _is_users(file)) and not (file and is_library(file)):
                yield f" in module {name}" if name != "__main__" else "", dict(vars(module))


def members(x: Any) -> Iterator[tuple[str, Any]]:
    """What an object holds, with the text that leads from it there."""
    if isinstance(x, dict):
        for k, (key, value) in enumerate(list(x.items())):
            if k >= _ITEMS:
                return
            yield (
                f"[{key!r}]"
                if isinstance(key, (str, int, float, bool))
                else f"[{type(key).__name__}]",
                value,
            )
        return
    if isinstance(x, (list, tuple, deque)):
        names = getattr(x, "_fields", None)
        for k, value in enumerate(x):
            if k >= _ITEMS:
                return
            yield f".{names[k]}" if names else f"[{k}]", value
        return
    if isinstance(x, (set, frozenset)):
        for value in list(x)[:_ITEMS]:
            yield "{...}", value
        return
    if isinstance(x, MethodType):
        yield ".__self__", x.__self__
        return
    if isinstance(x, FunctionType):
        for k, value in enumerate(x.__defaults__ or ()):
            yield f".__defaults__[{k}]", value
        for name, value in (x.__kwdefaults__ or {}).items():
            yield f".__kwdefaults__[{name!r}]", value
        for name, cell in zip(x.__code__.co_freevars, x.__closure__ or (), strict=False):
            if isinstance(cell, CellType):
                try:
                    yield f"'s closure variable {name}", cell.cell_contents
                except ValueError:
                    continue
        return
    if isinstance(
        x, BaseException
    ):  # its traceback keeps the variables of the functions that failed
        link = x.__traceback__
        while link is not None:
            frame = link.tb_frame
            if frame.f_locals is not frame.f_globals and not is_library(frame.f_code.co_filename):
                for name, value in frame.f_locals.items():
                    yield f".__traceback__'s variable {name} of {frame.f_code.co_name}()", value
            link = link.tb_next
        for name in ("__context__", "__cause__"):
            yield f".{name}", getattr(x, name)
    own = getattr(x, "__dict__", None)
    if isinstance(own, dict):
        tables = [own.get(t) for t in ("_parameters", "_buffers", "_modules")]
        for table in tables:
            if isinstance(table, dict):
                for name, value in list(table.items()):
                    yield (f"[{name}]" if name.isdecimal() else f".{name}"), value
        for name, value in list(own.items()):
            if not (
                isinstance(own.get("_parameters"), dict)
                and name in ("_parameters", "_buffers", "_modules")
            ):
                yield f".{name}", value
    for kind in type(x).__mro__:
        for name in getattr(kind, "__slots__", ()) if not isinstance(x, Tensor) else ():
            if not isinstance(name, str) or name.startswith("__"):
                continue
            try:
                value = getattr(x, name)
            except Exception:  # a slot that is empty, or one whose object has its own opinion of it
                continue
            yield f".{name}", value


def holders(frame: FrameType | None, wanted: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    """(name, object) of the tensors that the user's variables lead to and that are wanted; shorter
    names first.
    """
    seen: set[int] = set()
    waiting: deque[tuple[str, str, Any, int]] = deque()
    for suffix, variables in namespaces(frame):
        for name, value in variables.items():
            if not name.startswith("__") and not isinstance(value, _PLAIN):
                waiting.append((name, suffix, value, 0))
    looked = 0
    while waiting and looked < _OBJECTS:
        name, suffix, x, depth = waiting.popleft()
        if isinstance(x, Tensor):
            if wanted(x):
                yield name + suffix, x
        if id(x) in seen or isinstance(x, FrameType):
            continue
        seen.add(id(x))
        looked += 1
        if depth >= _DEPTH:
            continue
        for step, value in members(x):
            if not isinstance(value, _PLAIN):
                waiting.append((name + step, suffix, value, depth + 1))


def names_of(tensors: list[Tensor], frame: FrameType | None) -> dict[int, str]:
    """The shortest name of each tensor by its id, as far as the user's variables lead to it."""
    wanted = {id(t) for t in tensors}
    found: dict[int, str] = {}
    for name, t in holders(frame, lambda t: id(t) in wanted):
        found.setdefault(id(t), name)
        if len(found) == len(wanted):
            break
    return found


def title(operation: str) -> str:
    """What an operation is called outside of the engine."""
    op = PRIMITIVES.get(operation)
    return operation if op is None else op.title
