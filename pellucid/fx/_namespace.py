"""Names of variables in a graph and in the code made from it."""

from __future__ import annotations

import builtins
import importlib
import keyword
import re
from typing import Any, NamedTuple

from .. import _pytree as pytree
from . import _pytree

_HOME = __name__.partition(".")[0]


class _CustomBuiltin(NamedTuple):
    """A name that all generated code may use, and the import statement that gives it in a file."""

    import_str: str
    obj: Any


_custom_builtins: dict[str, _CustomBuiltin] = {}


def _register_custom_builtin(name: str, import_str: str, obj: Any) -> None:
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)


def _register_all() -> None:
    torch = importlib.import_module(_HOME)
    _register_custom_builtin("inf", "from math import inf", float("inf"))
    _register_custom_builtin("nan", "from math import nan", float("nan"))
    _register_custom_builtin("NoneType", "NoneType = type(None)", type(None))
    _register_custom_builtin("torch", "import torch", torch)
    _register_custom_builtin("device", "from torch import device", torch.device)
    _register_custom_builtin("fx_pytree", "import torch.fx._pytree as fx_pytree", _pytree)
    _register_custom_builtin("pytree", "import torch.utils._pytree as pytree", pytree)


_register_all()


class _Namespace:
    """Gives out names that are unique, are no keywords, and do not hide builtins.

    >>> from pellucid.fx._namespace import _Namespace
    >>> names = _Namespace()
    >>> [names.create_name(name, None) for name in ("x", "x", "a.b", "sum", "1st")]
    ['x', 'x_1', 'a_b', 'sum_1', '_1st']
    """

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """A free name like `candidate`; the same one again for the same object (None: nobody's)."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = re.sub("[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = re.fullmatch(r"(.*)_(\d+)", candidate)
        base, number = (match[1], int(match[2])) if match else (candidate, 0)
        if candidate in self._used_names or self._is_illegal_name(candidate, obj):
            number = self._base_count.get(base, number)
            while candidate in self._used_names or self._is_illegal_name(candidate, obj):
                number += 1
                candidate = f"{base}_{number}"
        self._base_count[base] = max(number, self._base_count.get(base, 0))
        self._used_names.add(candidate)
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Remember whose name it is."""
        if obj in self._obj_to_name:
            raise AssertionError("obj is already associated")
        self._obj_to_name[obj] = name

    def _is_illegal_name(self, name: str, obj: Any) -> bool:
        if name in keyword.kwlist:
            return True
        if name in builtins.__dict__:
            return obj is not builtins.__dict__[name]
        return name in _custom_builtins and obj is not _custom_builtins[name].obj

    def _rename_object(self, obj: Any, name: str) -> None:
        if obj not in self._obj_to_name:
            raise AssertionError(f"Object {obj} is not in _obj_to_name")
        self._obj_to_name[obj] = name
        self._used_names.add(name)


def _is_magic(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _snake_case(name: str) -> str:
    """`AdaptiveAvgPool2d` as `adaptive_avg_pool2d`."""
    return re.sub(
        r"(?<=[a-z0-9])([A-Z])|(?<=[A-Z])([A-Z])(?=[a-z])", lambda m: "_" + m[0], name
    ).lower()
