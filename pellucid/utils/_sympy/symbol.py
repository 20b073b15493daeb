"""Names of symbols by what they stand for."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import Any

import sympy


class SymT(Enum):
    """What a symbol stands for."""

    SIZE = auto()
    FLOAT = auto()
    UNBACKED_INT = auto()
    UNBACKED_FLOAT = auto()
    TMP = auto()
    INDIRECT = auto()
    PRECOMPUTED_SIZE = auto()
    INDEX = auto()
    R0_INDEX = auto()
    R1_INDEX = auto()
    TEMPLATE_INDEX = auto()
    XBLOCK = auto()
    YBLOCK = auto()
    ZBLOCK = auto()
    VIEW = auto()
    HALIDE = auto()


prefix_str = {
    SymT.SIZE: "s",
    SymT.UNBACKED_INT: "u",
    SymT.FLOAT: "zf",
    SymT.UNBACKED_FLOAT: "zuf",
    SymT.TMP: "tmp",
    SymT.PRECOMPUTED_SIZE: "ps",
    SymT.INDEX: "i",
    SymT.R0_INDEX: "r0_",
    SymT.R1_INDEX: "r1_",
    SymT.TEMPLATE_INDEX: "idx",
    SymT.XBLOCK: "x",
    SymT.YBLOCK: "y",
    SymT.ZBLOCK: "z",
    SymT.INDIRECT: "indirect",
    SymT.VIEW: "view",
    SymT.HALIDE: "h",
}


def make_symbol(prefix: SymT, idx: int, **kwargs: Any) -> sympy.Symbol:
    """The symbol of a kind with a number."""
    return sympy.Symbol(f"{prefix_str[prefix]}{idx}", **kwargs)


def symbol_is_type(sym: sympy.Basic, prefix: SymT | Iterable[SymT]) -> bool:
    """Whether a symbol is of one of the kinds."""
    if not isinstance(sym, sympy.Symbol):
        raise AssertionError("expected sympy.Symbol")
    kinds = (prefix,) if isinstance(prefix, SymT) else tuple(prefix)
    return sym.name.lower().startswith(tuple(prefix_str[kind] for kind in kinds))


def free_symbol_is_type(e: sympy.Expr, prefix: SymT | Iterable[SymT]) -> bool:
    """Whether one of the symbols of an expression is of one of the kinds."""
    return any(symbol_is_type(symbol, prefix) for symbol in e.free_symbols)
