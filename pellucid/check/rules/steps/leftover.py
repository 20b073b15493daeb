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
        # the last backward, what it was called on, and places where it was a part of the next one
        self._first: tuple[_Pass, tuple[Value, ...]] | None = None
        self._looks = 0
        self._attacks: dict[int, set[int]] = {}  # by number of a backward: inputs that it reached
        self._meant: set[Any] = set()  # pairs of which both optimizers use the second

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """There are several, or there is nothing to look for."""
        self._optimizers.append(event)

    def made(self, gradients: _Pass, event: Backward) -> None:
        """What waits for a step when the next backward runs."""
        if gradients.site is not None and (inputs := self._inputs(event)):
            self._attacks[gradients.number] = inputs
            if len(self._attacks) > 256:
                del self._attacks[next(iter(self._attacks))]
        self._part_of_the_next(gradients, event)
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
        self._attacked(passes, waiting)
        together = next((held for held in waiting if len(held) > 1), None)
        if together is None:
            return
        first, last = together[0], together[-1]
        others = [o for o in self._before.get(first.number, ()) if o is not own]
        if not others or first.site == last.site:
            return
        self._pair(first, last, others[0], event)

    def _part_of_the_next(self, gradients: _Pass, event: Backward) -> None:
        """A loss that backward was called on, and that is a term of the next one: its gradients are
        added once more.
        """
        first, self._first = self._first, (gradients, event.roots)
        if first is None or event.how != "backward" or self._looks > 64:
            return
        self._looks += 1
        before, roots = first
        if before.site is None or before.site == event.site or before.used:
            return
        both = before.leaves & gradients.leaves
        waiting = {p for leaf in both for p in self.fresh.get(leaf, ())}
        if before not in waiting:
            return
        numbers = {v.number for v in roots}
        if any(v.number in numbers for o in _sums(event.roots) for v in o.inputs):
            count = self.count("twice", before.site)
            if count == TIMES:
                self.report(
                    before.site,
                    "the loss of this backward is also a term of the one after it, so its gradients are counted twice in each step.",
                    evidence={"added_to_by": str(event.site), "steps": count},
                    fix="call backward once, on the sum",
                )

    def _inputs(self, event: Backward) -> set[int]:
        """Leaves that a backward reaches, were made in this step and are in no optimizer: an attack
        looks for the direction in which the loss grows.
        """
        found = {
            a.value.id
            for a in event.accumulated
            if a.value.step == self.step and a.value.ndim and a.value.parameter is None
        }
        trained = {v.id for o in self._optimizers for v in o.params()} if found else set[int]()
        return found - trained if trained else set()

    def _attacked(self, passes: list[_Pass], waiting: list[list[_Pass]]) -> None:
        """A step that uses what an attack, a function of its own, has left beside the loss of the
        training.
        """
        for p in passes:
            if p.site is None or not p.read & self._attacks.get(p.number, set()):
                continue
            others = [
                q.site
                for held in waiting
                if p in held
                for q in held
                if q.number not in self._attacks and q.number > p.number
            ]
            if not others or any(s is None or s.code is p.site.code for s in others):
                continue
            count = self.count("left", p.site)
            if count == TIMES:
                self.report(
                    p.site,
                    "this backward is meant for the gradient of the input, but it also leaves gradients in the parameters, which the next step "
                    "uses: each step follows both losses.",
                    evidence={"added_to_by": str(others[-1]), "steps": count},
                    fix="compute only the gradient of the input, `torch.autograd.grad(loss, x)`, or clear the gradients of the parameters afterwards",
                )
            return

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


def _sums(roots: tuple[Value, ...]) -> Iterator[Op]:
    """The operations that add up and weigh the terms of a loss."""
    waiting = list(roots)
    for _ in range(60):
        op = waiting.pop().producer if waiting else None
        if op is not None and op.name in ("add", "sub", "mul", "div", "stack", "sum", "mean"):
            yield op
            waiting += [v for v in op.inputs if v.numel == 1]
        elif not waiting:
            return


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
