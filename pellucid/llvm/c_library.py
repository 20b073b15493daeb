"""Calls from native code to the C library's functions of doubles."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from . import jit
from .emit import Function, SSAValue, lanes

__all__ = ["C_FUNCTIONS", "through_c"]

# The C functions by NumPy's names for them.
C_FUNCTIONS = {
    **{
        n: n
        for n in (
            "exp",
            "exp2",
            "expm1",
            "log",
            "log2",
            "log10",
            "log1p",
            "erf",
            "erfc",
            "pow",
            "hypot",
            "sin",
            "cos",
            "tan",
        )
    },
    **{n: n for n in ("tanh", "sinh", "cosh")},
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "arctan2": "atan2",
    "fmod": "fmod",
}


def name_c_functions(library: Any, prefix: str) -> bool:
    """Make the functions of a C library available to native code under `prefix` plus their names.

    Returns False, and defines nothing, if the library lacks one of them.
    """
    try:
        found = {
            symbol: ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value
            for symbol in set(C_FUNCTIONS.values())
        }
    except AttributeError:
        return False
    for symbol, where in found.items():
        jit.define(prefix + symbol, where or 0)
    return True


# On Windows the linker does not search the C library, so its functions are registered under names
# with a prefix of our own.
PREFIX = "pellucid_c_" if sys.platform == "win32" else ""
HAS_C_FUNCTIONS = not PREFIX or name_c_functions(ctypes.CDLL("ucrtbase"), PREFIX)


def through_c(f: Function, name: str, *args: SSAValue) -> SSAValue:
    """Emit a call of the C function for NumPy's `name`; of vectors, one call for each lane."""
    symbol = PREFIX + C_FUNCTIONS[name]
    f.module.declarations.add(f"declare double @{symbol}({', '.join(['double'] * len(args))})")
    count = lanes(args[0].ctype)
    if count == 1:
        return f.emit(
            f"call double @{symbol}({', '.join('double ' + a.name for a in args)})", "double"
        )
    result = f.const(0, args[0].ctype)
    for i in range(count):
        each = [f.emit(f"extractelement {a.ctype} {a.name}, i32 {i}", "double") for a in args]
        one = f.emit(
            f"call double @{symbol}({', '.join('double ' + a.name for a in each)})", "double"
        )
        result = f.emit(
            f"insertelement {result.ctype} {result.name}, double {one.name}, i32 {i}", result.ctype
        )
    return result
