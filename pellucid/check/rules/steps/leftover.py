"""Gradients that the loss of another optimizer has left behind, as when a GAN's fakes are not
detached.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...events import Backward, Op, OptimizerInfo, Site, Step, Update, Value, ancestors
from .gradients import _Gradients, _Pass

TIMES = 3  # steps


class _Seen:
    """What is known of a pair of backward calls and the optimizer that uses both."""

    __slots__ = ("count", "other", "own", "parameter", "place", "reached")

    def __init__(self, other: OptimizerInfo, own: OptimizerInfo, reached: bool) -> None:
        self.count = 0
        self.other, self.own = other, own
        self.reached = reached  # the second backward reaches the parameters of the other, too
        self.place: Site | None = None
        self.parameter: str | None = None


class LeftoverGradients(_Gradients):
    """A step of one optimizer uses gradients that were computed for the step of another."""

    slug = "leftover-gradients"
    id = "PL305"
    severity = "error"
    summary = "a step uses gradients left over from another optimizer's loss"
    symptom_of = ("missing-zero-grad",)
    supersedes = ("loss-at-chance",)

    def __init__(self) -> None:
        super().__init__()
        self._optimizers: list[OptimizerInfo] = []
        self._roots: dict[int, tuple[Value, ...]] = {}  # by number of a backward
        # by number of a backward: the optimizers that have used it so far, and up to the next one
        self._steps: dict[int, list[OptimizerInfo]] = {}
        self._before: dict[int, list[OptimizerInfo]] = {}
        self._seen: dict[Any, _Seen] = {}
        # second backward calls of pairs, by number: which other optimizer must not use them
        self._doubted: dict[int, Any] = {}
        self._meant: set[Any] = set()  # pairs of which both optimizers use the second

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """There are several, or there is nothing to look for."""
        self._optimizers.append(event)

    def made(self, gradients: _Pass, event: Backward) -> None:
        """What waits for a step when the next backward runs."""
        if len(self._optimizers) < 2:
            return
        for number, steps in self._steps.items():
            self._before.setdefault(number, list(steps))
        self._roots[gradients.number] = event.roots
        self._steps[gradients.number] = []
        if len(self._roots) > 32:
            old = min(self._roots)
            tables: tuple[dict[int, Any], ...]
            tables = (self._roots, self._steps, self._before, self._doubted)
            for table in tables:
                table.pop(old, None)

    def on_step(self, event: Step) -> None:
        """Which backward calls the gradients are from."""
        values, own = event.optimizer.params(), event.optimizer
        waiting = [self.fresh.get(v.id, []) for v in values]
        passes = self.use(values)
        for p in passes:
            if p.number in self._steps:
                self._steps[p.number].append(own)
            key = self._doubted.get(p.number)
            if key is not None and own is self._seen[key].other:
                self._meant.add(key)
        if event.closure or len(passes) < 2:
            return
        together = next((held for held in waiting if len(held) > 1), None)
        if together is None:
            return
        first, last = together[0], together[-1]
        others = [o for o in self._before.get(first.number, ()) if o is not own]
        if not others or first.site == last.site:
            return
        self._pair(first, last, others[0], event)

    def _pair(self, first: _Pass, last: _Pass, other: OptimizerInfo, event: Step) -> None:
        own = event.optimizer
        theirs = {v.id for v in other.params()}
        mine = {v.id: v for v in own.params()}
        if theirs & set(mine):
            return
        reached = bool(theirs & last.leaves)
        key = first.site, last.site, own.number
        seen = self._seen.get(key)
        if seen is None:
            place = next(_fed(self._roots.get(first.number, ()), set(mine), theirs), None)
            if not reached and not any(
                True for _ in _fed(self._roots.get(first.number, ()), theirs, set(mine))
            ):
                return
            seen = self._seen[key] = _Seen(other, own, reached)
            seen.place = _outside(place) if reached and place is not None else None
            value = next((v for k, v in mine.items() if k in first.leaves), None)
            seen.parameter = value.name if value is not None else None
        seen.count += 1
        if reached:
            self._doubted[last.number] = key

    def on_update(self, event: Update) -> None:
        """Used by hand."""
        self.use([event.value])

    def finish(self) -> None:
        """Pairs that came again and again, and whose second backward only one optimizer uses."""
        for key, seen in self._seen.items():
            if seen.count < TIMES or key in self._meant:
                continue
            first, last, _ = key
            own = seen.own.name or seen.own.class_name
            other = seen.other.name or seen.other.class_name
            evidence = {
                "parameter": seen.parameter,
                "left_by": str(first),
                "added_to_by": str(last),
                "steps": seen.count,
            }
            if seen.reached:
                self.report(
                    seen.place or first,
                    f"the loss for {other} also leaves gradients in the parameters of {own}, and nothing clears them before "
                    f"{own} steps: each of its steps follows the other model's loss as well.",
                    evidence=evidence,
                    fix="detach the other model's output, `discriminator(fake.detach())`, or call "
                    f"`{own}.zero_grad()` right before its own backward",
                )
            else:
                self.report(
                    last,
                    f"this backward adds to gradients that the loss for {other} has left in the parameters of {own}: nothing "
                    "clears them in between.",
                    evidence=evidence,
                    fix=f"call `{own}.zero_grad()` right before this backward",
                )


def _fed(roots: tuple[Value, ...], above: set[int], below: set[int]) -> Iterator[Op]:
    """Operations with one of the leaves `below` on something that was made with the leaves
    `above`.
    """
    hot: set[int] = set()
    for op in sorted(ancestors(roots, limit=20_000), key=lambda o: o.number):
        made = any(v.producer is not None and v.producer.number in hot for v in op.inputs)
        if made and any(v.id in below for v in op.inputs):
            yield op
        if made or any(v.id in above for v in op.inputs):
            hot.add(op.number)


def _outside(op: Op) -> Site | None:
    """The line that calls the model that an operation is in."""
    return op.module.root.site if op.module is not None else op.site
