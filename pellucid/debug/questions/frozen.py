"""What was computed from a parameter and went into the loss as a constant: the gradient lacks its
part.
"""

from __future__ import annotations

from ...core.primitive import PRIMITIVES
from ...core.tensor import Tensor
from .._names import carried
from ..watching import Term, Watch
from .missing import cut, first_cut
from .result import Explanation
from .steps import NotedStep


def frozen_term(t: Tensor, name: str, notes: Watch | None) -> Explanation | None:
    """A summand of the last loss that was computed from `t` and left the graph before it was added."""
    number = notes.known(t) if notes is not None else None
    if notes is None or number is None or not notes.terms:
        return None
    calls = [call for call in notes.whole_calls() if call.accumulates]
    for term in reversed(notes.terms) if calls else ():
        way = notes.way(term.total, set(calls[-1].roots))
        if way is None or not all(map(_adds_up, way)):
            continue
        steps = _from(number, term, notes)
        step = first_cut(steps) if steps is not None else None
        if steps is not None and step is not None:
            found = cut(step, name, steps, f"a term of the loss that was computed from {name}")
            found.text = f"{name} has a gradient, but a part is missing: {found.text}"
            return found
    return None


def _from(number: int, term: Term, notes: Watch) -> list[NotedStep] | None:
    """The steps from a value to a summand, as noted or by the source of the program."""
    if term.number is not None:
        way = notes.way(number, {term.number})
        if way is not None:
            return way
    goals = [] if term.site is None else [term.site]
    for step in reversed(notes.exits(number)):
        if step.kind.startswith("through-n") and carried(step.site, goals) is not None:
            return [*(notes.way(number, set(step.inputs)) or []), step]
    return None


def _adds_up(step: NotedStep) -> bool:
    """Whether an operation only sums up, scales or moves what it is given."""
    record = PRIMITIVES.get(step.name)
    return step.kind == "op" and (record is None or record.jvp == "linear" or step.name in _SCALES)


_SCALES = ("mul", "div")
