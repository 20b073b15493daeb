"""Relations solved for one of their symbols."""

from __future__ import annotations

from typing import Any

import sympy

from .functions import FloorDiv

_MIRRORED = {
    sympy.Eq: sympy.Eq,
    sympy.Ne: sympy.Ne,
    sympy.Ge: sympy.Le,
    sympy.Gt: sympy.Lt,
    sympy.Le: sympy.Ge,
    sympy.Lt: sympy.Gt,
}
INEQUALITY_TYPES = (sympy.Gt, sympy.Ge, sympy.Lt, sympy.Le)


def mirror_rel_op(type: type) -> type | None:
    """The relation with its sides exchanged."""
    return _MIRRORED.get(type)


def try_solve(
    expr: sympy.Basic, thing: sympy.Basic, trials: int = 5, floordiv_inequality: bool = True
) -> tuple[sympy.Rel, sympy.Expr] | None:
    """A relation with `thing` alone on its left, and its right side; None where none is found."""
    if mirror_rel_op(type(expr)) is None or not isinstance(expr, sympy.Rel):
        return None
    for whole in (expr, _turned(expr)):
        if not whole.lhs.has(thing) or whole.rhs.has(thing):
            continue
        made: Any = whole
        for _ in range(trials):
            step = _step(made, thing, floordiv_inequality)
            if step == made:
                break
            made = step
        if isinstance(made, sympy.Rel) and made.lhs == thing:
            return made, made.rhs
    return None


def _turned(relation: Any) -> Any:
    return _MIRRORED[type(relation)](relation.rhs, relation.lhs, evaluate=False)


def _step(relation: Any, thing: Any, floordiv: bool) -> Any:
    """The relation with one part of its left side brought to the right."""
    kind, left, right = type(relation), relation.lhs, relation.rhs
    if isinstance(left, sympy.Add):
        moved = [term for term in left.args if not term.has(thing)]
        if moved:
            total = sympy.Add(*moved)
            return kind(left - total, right - total, evaluate=False)
    if isinstance(left, sympy.Mul):
        factor = sympy.Mul(*[part for part in left.args if not part.has(thing)])
        if factor != 1 and factor.is_nonzero and (kind in (sympy.Eq, sympy.Ne) or factor.is_real):
            if kind in INEQUALITY_TYPES and not (factor.is_positive or factor.is_negative):
                return relation
            kind = _MIRRORED[kind] if factor.is_negative else kind
            return kind(left / factor, right / factor, evaluate=False)
    if isinstance(left, FloorDiv) and floordiv and left.divisor.is_positive:
        if not (right.is_integer and left.divisor.is_integer):
            return relation
        over, under = left.args
        if kind is sympy.Lt:
            return sympy.Lt(over, right * under, evaluate=False)
        if kind is sympy.Le:
            return sympy.Lt(over, (right + 1) * under, evaluate=False)
        if kind is sympy.Ge:
            return sympy.Ge(over, right * under, evaluate=False)
        if kind is sympy.Gt:
            return sympy.Ge(over, (right + 1) * under, evaluate=False)
    return relation
