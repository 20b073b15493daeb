"""Samples that a model judges whose judgement is all that is to teach what they were drawn from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...events import VIEWS, Op, Value, ancestors
from .terms import is_hot

_LAYERS = frozenset("linear addmm matmul bilinear".split())
_ADDED = VIEWS | frozenset("neg mean sum add sub minimum min mul div".split())
_DRAWS = frozenset(("sample", "normal"))


class Judged(NamedTuple):
    """A sample without a gradient that a model with leaves of its own takes in."""

    drawn: Op
    value: Value  # of those that it was drawn from, one with a graph
    source: set[int]  # ids of the leaves before it
    judge: set[int]  # ids of the leaves that what was made of it has


def judged(roots: tuple[Value, ...], leaves: Any) -> Iterator[Judged]:
    """The samples behind what is added to a loss as a model gives it: `-critic(sample).mean()`. Of a
    product of two values with a graph, such as a log-probability with an advantage, neither is
    looked at. `leaves` finds the leaves before values.
    """
    for head in _heads(roots):
        own = leaves(list(head.inputs))
        for op in ancestors(head.inputs, limit=1000):
            out = op.output
            if op.name not in _DRAWS or out is None or out.requires_grad:
                continue
            hot = [v for v in op.inputs if is_hot(v) and not v.is_leaf]
            source = leaves(hot)
            if out.is_floating_point and source and not source.keys() & own.keys():
                yield Judged(op, hot[0], set(source), set(own))


def _heads(roots: tuple[Value, ...]) -> Iterator[Op]:
    """The last layers of models whose results are added up to a loss."""
    waiting = [v for v in roots if v.numel == 1]
    seen: set[int] = set()
    while waiting and len(seen) < 200:
        op = waiting.pop().producer
        if op is None or op.number in seen:
            continue
        seen.add(op.number)
        hot = [v for v in op.inputs if is_hot(v)]
        if op.name in _LAYERS:
            yield op
        elif op.name in _ADDED and (op.name not in ("mul", "div") or len(hot) == 1):
            waiting += hot
