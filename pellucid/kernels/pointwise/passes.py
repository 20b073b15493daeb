"""Passes over a row: a step that uses a reduction of its row comes in a later pass.

For softmax, the first pass finds the maximum, the second computes exp(x - max) and its sum, the
third the quotient. Each pass computes again what it needs, except elementary functions: their
values are stored in the first pass that needs them.
"""

from __future__ import annotations

from typing import Any

from .steps import costly

__all__ = ["Passes"]


class Passes:
    """Which steps, reads and reductions belong to which pass.

    Attributes:
        count: the number of passes.
        used: the reductions whose results are used by steps.
        of_reduce: the pass of each reduction. Results are written in the last pass.
        steps, reads: for each pass what is computed, or taken from memory, in it.
        kept: steps whose values are kept for later passes, if `keep` (but for `fixed` ones, which
            are the same along a row).
        first: the first pass that needs a step.
    """

    def __init__(self, loop: Any, keep: bool = True, fixed: frozenset[int] = frozenset()) -> None:
        of_step: list[int] = []

        def of(arg: Any) -> int:
            what, which = arg
            if what == "reduce":
                return of(loop.reduces[which].value) + 1
            return of_step[which] if what == "step" else 0

        for step in loop.steps:
            of_step.append(max(map(of, step.args), default=0))
        self.used = {k for step in loop.steps for what, k in step.args if what == "reduce"}
        self.used |= {
            which
            for item in (*loop.writes, *loop.reduces)
            for what, which in (item.value,)
            if what == "reduce"
        }
        self.of_reduce = [of(r.value) for r in loop.reduces]
        self.count = 1 + max([*self.of_reduce, *(of(w.value) for w in loop.writes)], default=0)
        roots: list[list[Any]] = [[] for _ in range(self.count)]
        for at, r in zip(self.of_reduce, loop.reduces, strict=True):
            roots[at].append(r.value)
        roots[-1] += [w.value for w in loop.writes]
        needs = [_needed(loop, given, set()) for given in roots]
        self.first = {i: at for at in reversed(range(self.count)) for i in needs[at]}
        often = {i for i in self.first if sum(i in need for need in needs) > 1}
        self.kept = sorted(i for i in often - fixed if keep and costly(loop.steps[i].op))
        self.steps, self.reads = [], []
        for at, given in enumerate(roots):
            there = {i for i in self.kept if self.first[i] < at}
            self.steps.append(sorted(_needed(loop, given, there)))
            args = [
                *given,
                *(a for i in self.steps[-1] if i not in there for a in loop.steps[i].args),
            ]
            self.reads.append(sorted({which for what, which in args if what == "in"}))


def _needed(loop: Any, roots: list[Any], there: set[int]) -> set[int]:
    """Return the steps that these values depend on; those in `there` need nothing further."""
    found: set[int] = set()
    stack = list(roots)
    while stack:
        what, which = stack.pop()
        if what == "step" and which not in found:
            found.add(which)
            if which not in there:
                stack.extend(loop.steps[which].args)
    return found
