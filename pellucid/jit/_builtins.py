"""Which operator of `aten` a function is, under the names of `torch.jit._builtins`."""

from __future__ import annotations

import sys
from typing import Any

from .._ops import ops as _ops

_builtin_table: dict[int, str] = {}  # filled when first asked for


def _get_builtin_table() -> dict[int, str]:
    """The names of operators, by the identities of the functions.

    >>> import pellucid as torch
    >>> _get_builtin_table()[id(torch.add)]
    'aten::add'
    """
    if not _builtin_table:
        library: Any = sys.modules[__name__.partition(".")[0]]
        for place in (library, library.nn.functional, library._C._nn):
            for name, function in vars(place).items():
                if callable(function) and not isinstance(function, type):
                    if hasattr(_ops.aten, name):
                        _builtin_table[id(function)] = f"aten::{name}"
    return _builtin_table


def _find_builtin(fn: Any) -> str | None:
    """The operator that a function is; None for others."""
    return _get_builtin_table().get(id(fn))


def _register_builtin(fn: Any, op: str) -> None:
    """Have a function stand for an operator."""
    _get_builtin_table()[id(fn)] = op
