"""Steps of generated loops: which operations a loop may contain, and what each computes for one
vector of elements.

The computation is the operation's formula (`ir.formula`). This module converts the arguments of a
step to what the formula expects, depending on their dtypes.
"""

from __future__ import annotations

from typing import Any

from ...ir.formula import ELEMENTARY, FORMULAS, Formula
from ...llvm.c_library import HAS_C_FUNCTIONS
from .values import Num, Weak, available, is_float, is_half, numpy_dtype
from .words import Words

__all__ = ["compute", "costly", "supports"]

# for integers the divisor must be a constant other than 0
DIVISIONS = ("floor_divide", "trunc_divide", "remainder", "fmod")


def costly(op: str) -> bool:
    """Return whether an operation uses an elementary function, which costs as much as many
    additions.
    """
    return not ELEMENTARY.isdisjoint(FORMULAS[op].words())


def _letter(kind: str) -> str:
    return "b" if kind == "bool" else "h" if is_half(kind) else "f" if is_float(kind) else "i"


def _served(formula: Formula, kind: str) -> bool:
    return _letter(kind) in formula.kinds and available(kind)


def common(kinds: list[str]) -> str | None:
    """Return the dtype in which values of these dtypes are compared; None if it is not supported."""
    kinds = sorted(set(kinds))
    if len(kinds) == 1:
        return kinds[0]
    from ... import dtypes

    made = dtypes.BY_NUMPY[numpy_dtype(kinds[0])]
    for kind in kinds[1:]:
        made = dtypes.promote_types(made, dtypes.BY_NUMPY[numpy_dtype(kind)])
    return made.numpy.name if available(made.numpy.name) else None


def _fractions(given: tuple[Any, ...], kind: str) -> bool:
    """Return whether a float is combined with integers, or a number above 1 with bools. The engine
    would promote the arrays first, with other results.
    """
    if kind == "bool":
        return any(not isinstance(x, str) and x not in (0, 1, None) for x in given)
    return not is_float(kind) and any(
        isinstance(x, float) and not (0 <= x < 128 and x.is_integer()) for x in given
    )


def supports(
    op: str, dtypes_in: tuple[Any, ...], dtype_out: str, params: tuple[tuple[str, Any], ...] = ()
) -> bool:
    """Return whether a step can be generated. `dtypes_in` has for each argument its dtype's name,
    None for a number known at run time, or the number itself for a constant.

    >>> supports("add", ("float32", 2.0), "float32"), supports("erfcx", ("float32",), "float32")
    (True, False)
    >>> supports("floor_divide", ("int64", 3), "int64"), supports("floor_divide", ("int64", "int64"), "int64")
    (True, False)
    """
    formula = FORMULAS.get(op)
    arrays = [k for k in dtypes_in if isinstance(k, str)]
    if (
        formula is None
        or not all(available(k) for k in (*arrays, dtype_out))
        or (costly(op) and not HAS_C_FUNCTIONS)
    ):
        return False
    try:
        if any(
            isinstance(p, complex) or (isinstance(p, float) and not is_float(dtype_out))
            for _, p in params
        ):
            return False
        if formula.args == "compare":
            kind = common(arrays or ["float64"])
            return (
                kind is not None
                and dtype_out == "bool"
                and _served(formula, kind)
                and not _fractions(dtypes_in, kind)
            )
        if formula.args == "own":
            return dtype_out == "bool" and all(_served(formula, k) for k in arrays)
    except TypeError:
        return False
    if _fractions(dtypes_in, dtype_out):
        return False
    if op in DIVISIONS and not is_float(dtype_out):
        return (
            _served(formula, dtype_out)
            and isinstance(dtypes_in[1], (int, float))
            and int(dtypes_in[1]) != 0
        )
    if formula.args == "power" and not is_float(dtype_out):
        other = dtypes_in[1]
        return (
            _served(formula, dtype_out)
            and isinstance(other, int)
            and 0 <= other <= 64
            and isinstance(dtypes_in[0], str)
        )
    return _served(formula, dtype_out)


def _is_number(x: Any) -> bool:
    return not isinstance(x, Num) or isinstance(x, Weak)


def compute(
    m: Words, op: str, args: list[Any], dtype: str, params: tuple[tuple[str, Any], ...]
) -> Num:
    """Return the result of a step. Arguments are `Num`s (`Weak` ones for numbers), Python numbers,
    or None for an optional argument that is left out.
    """
    formula, given = FORMULAS[op], dict(params)
    if formula.args == "compare":
        kind = common([a.kind for a in args if not _is_number(a)] or ["float64"])
        assert kind is not None
        return m.computed(op, formula, *[m.cast(a, kind) for a in args])
    if formula.args == "own":
        return m.computed(
            op, formula, *[a if isinstance(a, Num) else m.number(a, "bool") for a in args], **given
        )
    values = []
    for k, a in enumerate(args):
        if a is None or formula.args == "power" and not isinstance(a, Num):
            # roots are not computed in float16
            powers = a is not None and dtype == "float16" and abs(a) == 0.5
            values.append(m.number(a, "float32") if powers else a)
        elif k in formula.masks:
            values.append(m.cast(a, "bool"))
        elif formula.wide_numbers and is_half(dtype) and _is_number(a):
            values.append(m.cast(a, "float32"))
        else:
            x = m.cast(a, dtype)
            values.append(x if formula.rounds_each else m.wide(x))
    return m.cast(m.computed(op, formula, *values, **given), dtype)
