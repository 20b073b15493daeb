"""Exponents with the wrong sign."""

from __future__ import annotations

from ...events import VIEWS, Op, Value, lineage

_NEGATIVE_LOGS = frozenset(
    "cross_entropy nll_loss binary_cross_entropy binary_cross_entropy_with_logits".split()
)
_SUMMED = VIEWS | {"sum", "mean"}


def around_one(op: Op) -> bool:
    """Whether the bounds of a clamp are numbers on both sides of one."""
    low, high = op.args.get("min"), op.args.get("max")
    return isinstance(low, (int, float)) and isinstance(high, (int, float)) and 0 <= low < 1 < high


def turned_ratio(op: Op) -> Op | None:
    """The difference or quotient that a clipped ratio is made of, when what has gradients is taken
    away, or divided by.
    """
    ratio = op.args.get("input")
    if not isinstance(ratio, Value) or not around_one(op):
        return None
    found = next((o for o in lineage(ratio, VIEWS) if o.name not in VIEWS), None)
    if found is not None and found.name == "exp":
        found = next((o for o in lineage(found.inputs[0], _SUMMED) if o.name not in _SUMMED), None)
        wanted = "sub"
    else:
        wanted = "div"
    if found is None or found.name != wanted or len(found.inputs) != 2:
        return None
    old, new = found.inputs
    return found if new.requires_grad and not old.requires_grad else None


def grown_probability(op: Op) -> Op | None:
    """The `exp` of a loss that is taken away from one."""
    other = op.args.get("other")
    if op.args.get("input") != 1 or not isinstance(other, Value):
        return None
    made = next((o for o in lineage(other, VIEWS, 4) if o.name not in VIEWS), None)
    if made is None or made.name != "exp" or not made.inputs:
        return None
    inner = next((o for o in lineage(made.inputs[0], VIEWS, 4) if o.name not in VIEWS), None)
    return made if inner is not None and inner.name in _NEGATIVE_LOGS else None
