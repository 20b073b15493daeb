"""PyTorch's terms for a node: its name, the inputs it shows, and the names of its saved values.
They follow from the record.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from ..primitive import Primitive
from ..tape import Node


@functools.cache
def with_rules(op: Primitive, count: int) -> tuple[int, ...]:
    """The arguments that have a gradient rule."""
    if not isinstance(op.vjp, dict):
        return tuple(range(count))
    last = len(op.args) - 1
    return tuple([k for k in range(count) if op.args[min(k, last)] in op.vjp])


def face(node: Node) -> tuple[str, tuple[int, ...]]:
    """The node's full name, and the positions of the inputs that it shows."""
    op = node.op
    found = op.grad_name if op.variant is None else op.variant(node)
    name, places = (found, None) if isinstance(found, str) else found
    return name, with_rules(op, len(node.inputs)) if places is None else places


# a function that loads `aten.schema`, which knows PyTorch's operators; set by the root package
LENT: list[Callable[[], Any]] = []


def schema_words(name: str) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """For each overload of one of PyTorch's operators, the names of its tensors and numbers, and
    those of its other arguments. Empty if there is no such operator.
    """
    found: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
        LENT[0]().words(name) if LENT else ()
    )
    return found


@functools.cache
def _schema_words(name: str, op: Primitive, params: tuple[str, ...]) -> dict[str, int | str]:
    """PyTorch's names for the saved values of a node, derived from the operator's schema: name ->
    the position of an argument, or the name of a parameter. Empty if there is no such operator, or
    if the record orders its arguments differently.
    """
    stem = re.sub("(?<=[a-z])(?=[A-Z])", "_", name.partition("Backward")[0]).lower()
    known = schema_words(stem) or schema_words(f"_{stem}")
    if not known:
        return {}
    inputs, others = max(
        known, key=lambda o: (len({*o[1]} & {*params}), -abs(len(o[0]) - len(op.args)))
    )
    found: dict[str, int | str] = dict(zip(inputs, range(len(op.args)), strict=False))
    words = [w for w in (*inputs[len(op.args) :], *others) if w not in params]
    rest = [p for p in params if p not in (*inputs, *others)]
    if len(words) == len(rest) < 3:  # more than two might come in another order
        found |= dict(zip(words, rest, strict=True))
    return found | {p: p for p in params if p not in rest}


def words_of(node: Node) -> dict[str, int | str]:
    """PyTorch's names for a node's saved values. Empty if the node shows its arguments in another
    order, or not all of them.
    """
    name, places = face(node)
    found = _schema_words(name, node.op, tuple(node.params))
    inputs = sum(isinstance(place, int) for place in found.values())
    own = node.op.variant is None or isinstance(node.op.variant(node), str)
    fits = inputs == len(node.op.args) and places == tuple(sorted(places))
    return found if own or fits else {}
