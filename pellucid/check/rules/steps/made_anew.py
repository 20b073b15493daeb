"""Optimizers and schedules that are made again and again, and forget each time what they knew."""

from __future__ import annotations

from typing import Any

from ...events import Loaded, LoaderInfo, OptimizerInfo, SchedulerStep
from ...rule import Rule

_TIMES = 3  # that one was made anew
_FEW = 2  # steps in the life of an optimizer


class OptimizerRecreated(Rule):
    """An optimizer with averages of gradients, made anew for the same parameters in each round of a
    loop; a schedule that is made anew and never gets beyond its first step.
    """

    slug = "optimizer-recreated"
    id = "PL317"
    severity = "error"
    summary = "an optimizer or a schedule is created again in each iteration and loses its state"

    def __init__(self) -> None:
        # by place: the last one, what it holds, how often it was made anew, loaders gone through
        self._made: dict[Any, dict[str, Any]] = {}
        self._passes: list[int] = []
        self._schedules: dict[Any, list[Any]] = {}  # by place and optimizer: [ref, steps, rounds]

    def on_pass(self, event: LoaderInfo) -> None:
        """Someone goes through a loader."""
        self._passes.append(event.number)
        del self._passes[:-64]

    def on_loaded(self, event: Loaded) -> None:
        """Other weights: what an optimizer knew does not belong to them."""
        self._made.clear()

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """One more: is it in the place of another?"""
        site, groups = event.site, event.groups
        if site is None or not groups:
            return
        kept = any("betas" in g or "alpha" in g or g.get("momentum", 0) for g in groups)
        ids = tuple(v.id for v in event.params())
        rates = event.lrs()
        passes, self._passes = tuple(self._passes), []
        last = self._made.get(site)
        now = {"info": event, "ids": ids, "rates": rates, "times": 0, "passes": (), "steps": 0}
        self._made[site] = now
        if last is None or not kept or event.class_name == "LBFGS":
            return
        if last["ids"] != ids or last["rates"] != rates or not last["info"].steps:
            return
        steps = last["info"].steps
        few = steps <= _FEW
        epoch = len(passes) == 1 and (last["times"] == 0 or last["passes"] == passes)
        if not few and not (epoch and last["steps"] in (0, steps)):
            return
        now |= {"times": last["times"] + 1, "passes": passes, "steps": steps}
        if now["times"] == _TIMES:
            self.report(
                site,
                f"{event.class_name} is created again for the same parameters after every {f'{steps} steps' if steps > 1 else 'step'}: each time it "
                "loses its averages of the gradients.",
                evidence={"steps_of_each": steps, "times": _TIMES + 1},
                fix="create the optimizer once, before the loop",
            )

    def on_scheduler_step(self, event: SchedulerStep) -> None:
        """A schedule goes on: is it another one than before?"""
        if event.made is None or event.ref is None or event.optimizer is None:
            return
        key = event.made, event.optimizer.number
        known = self._schedules.get(key)
        if known is None:
            self._schedules[key] = [event.ref, 1, 0]
        elif known[0] is event.ref and event.ref() is not None:
            known[1] += 1
        else:
            rounds = known[2] + 1 if known[1] == 1 else 0
            self._schedules[key] = [event.ref, 1, rounds]
            if rounds == _TIMES:
                self.report(
                    event.made,
                    f"{event.scheduler} is created again before each of its steps, so it only ever makes its first step.",
                    evidence={"times": rounds + 1},
                    fix="create the schedule once, before the loop",
                )
