"""A state that is cut off at each of its steps, so that gradients reach the last one alone."""

from __future__ import annotations

from ...events import Op, ancestors
from .terms import is_hot

STEPS = 3


def cut_each_step(graph: list[Op]) -> list[Op]:
    """The cuts of one line, one per step, through which alone what was computed before goes into the
    loss: each takes in what comes from the one before. Nothing where the steps have losses of their own.
    """
    passed = {
        v.number for o in graph if o.output is None or o.output.requires_grad for v in o.inputs
    }
    lines: dict[object, list[Op]] = {}
    for o in graph:
        if (
            o.name in ("detach", "data")
            and o.site is not None
            and o.inputs
            and is_hot(o.inputs[0])
            and not o.inputs[0].is_leaf
            and o.inputs[0].number not in passed
        ):
            lines.setdefault(o.site.key, []).append(o)
    for cuts in lines.values():
        cuts.sort(key=lambda o: o.number)
        if len(cuts) >= STEPS and cuts[0].step == cuts[-1].step:
            older = {o.number for o in cuts[:-1]}
            if any(o.number in older for o in ancestors([cuts[-1].inputs[0]], limit=500)):
                return cuts
    return []
