"""Rows of unit length: which operation has scaled them, along which axis, and what scores of them can
be.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...events import Op, Value

_TURNS = frozenset("T t mT transpose permute swapaxes adjoint".split())
NORMS = ("norm", "linalg_norm", "linalg_vector_norm", "vector_norm")
PRODUCTS = ("matmul", "mm", "bmm", "linear", "cosine_similarity")
_KEPT = frozenset("masked_fill where clone contiguous float view reshape flatten".split())
FLOOR = 0.3  # of the loss of a guess, which the loss cannot fall below


def turned(value: Value) -> tuple[Value, bool]:
    """A value before its last two axes were swapped, and whether they are."""
    swapped = False
    for _ in range(4):
        made = value.producer
        if made is None or not made.inputs or made.name not in _TURNS:
            break
        if made.name == "permute" or value.ndim > 2 and made.name in ("T", "t"):
            break
        if made.name in ("transpose", "swapaxes"):
            axes = made.args.get("dim0"), made.args.get("dim1")
            if {a % value.ndim for a in axes if isinstance(a, int)} != {
                value.ndim - 1,
                value.ndim - 2,
            }:
                break
        value, swapped = made.inputs[0], not swapped
    return value, swapped


def scaled(value: Value) -> tuple[Op | None, Any]:
    """(the operation that has scaled a value to unit length, along which of its axes; None for the
    whole).
    """
    made = value.producer
    if made is None:
        return None, None
    if made.name == "normalize":
        axis = made.arg("dim", 1)
    elif made.name == "div" and len(made.inputs) == 2:
        below = made.inputs[1].producer
        for _ in range(3):
            if below is not None and below.name in ("add", "clamp", "clamp_min") and below.inputs:
                below = below.inputs[0].producer
        if below is None or below.name not in NORMS or not below.inputs:
            return None, None
        if below.inputs[0].number != made.inputs[0].number:
            return None, None
        axis = below.arg("dim")
        if axis is None:
            return made, None
    else:
        return None, None
    if isinstance(axis, (tuple, list)) and len(axis) == 1:
        axis = axis[0]
    return (made, axis % value.ndim) if isinstance(axis, int) and value.ndim else (None, None)


def operands(op: Op) -> list[tuple[Op | None, Any, Value, int]]:
    """Of both operands of a product: what has scaled it, along which axis, the operand before it
    was turned, and the axis that the product goes over.
    """
    found = []
    for k, value in enumerate(op.inputs[:2]):
        before, swapped = turned(value)
        if value.ndim < 2:
            return []
        contracted = value.ndim - 1 if k == 0 or op.name == "linear" else value.ndim - 2
        if swapped:
            contracted = 2 * value.ndim - 3 - contracted
        made, axis = scaled(before)
        found.append((made, axis, before, contracted))
    return found


def summed_over(op: Op) -> list[tuple[Op | None, Any, Value, int]]:
    """The same of an einsum that sums over one letter, which both operands have."""
    given = op.args.get("args") or (op.args.get("equation"),)
    equation = given[0] if isinstance(given, (tuple, list)) and given else None
    terms = equation.replace(" ", "").split("->") if isinstance(equation, str) else []
    letters = terms[0].split(",") if len(terms) == 2 and "." not in terms[0] else []
    if len(letters) != 2 or len(op.inputs) != 2:
        return []
    gone = [c for c in letters[0] if c in letters[1] and c not in terms[1]]
    if len(gone) != 1 or any(len(own) != v.ndim for own, v in zip(letters, op.inputs, strict=True)):
        return []
    return [(*scaled(v), v, own.index(gone[0])) for own, v in zip(letters, op.inputs, strict=True)]


def cosines(value: Value) -> tuple[Op, Op | None, float] | None:
    """(the product, the operation that scaled it last, its factor) of scores that are cosines times
    a number.
    """
    factor, last = 1.0, None
    for _ in range(8):
        made = value.producer
        if made is None or not made.inputs:
            return None
        if made.name in PRODUCTS:
            break
        if made.name in ("mul", "div"):
            number = _number(made)
            if number is None or not number[1]:
                return None
            value, times = number
            factor *= times if made.name == "mul" else 1 / times
            last = last or made
        elif made.name in _KEPT:
            value = next((v for v in made.inputs if v.is_floating_point and v.requires_grad), value)
            if value.producer is made:
                return None
        else:
            return None
    else:
        return None
    if made.name == "cosine_similarity":
        return made, last, factor
    sides = operands(made)
    if len(sides) == 2 and all(o is not None and axis == along for o, axis, _, along in sides):
        return made, last, factor
    return None


def least(factor: float, classes: int) -> float:
    """The smallest cross entropy of scores between minus and plus a factor, of that of a guess."""
    return math.log1p((classes - 1) * math.exp(-2 * abs(factor))) / math.log(classes)


def same_rows(op: Op) -> bool:
    """Whether a product is one of rows with the very same rows."""
    (a, a_turned), (b, b_turned) = turned(op.inputs[0]), turned(op.inputs[1])
    if a.shape != b.shape or a_turned == b_turned:
        return False
    if a.number == b.number:
        return True
    one, other = a.numpy(), b.numpy()
    return one is not None and other is not None and bool(np.array_equal(one, other))


def _number(op: Op) -> tuple[Value, float] | None:
    """(value, number) of a product or quotient with a number."""
    if len(op.inputs) == 1:
        numbers = [
            v
            for k in ("other", "input")
            if isinstance(v := op.args.get(k), (int, float)) and not isinstance(v, bool)
        ]
        return (op.inputs[0], float(numbers[0])) if numbers else None
    for one, other in (op.inputs[:2], op.inputs[1::-1]):
        if one.numel == 1 and other.numel > 1 and (op.name == "mul" or one is op.inputs[1]):
            array = one.numpy()
            return None if array is None else (other, float(array.reshape(-1)[0]))
    return None
