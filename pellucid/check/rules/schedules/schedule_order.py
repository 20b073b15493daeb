"""A schedule that is stepped before its optimizer."""

from __future__ import annotations

from typing import Any

from ...events import Backward, OptimizerInfo, SchedulerStep, Site, Step
from ...rule import Rule


class SchedulerBeforeOptimizer(Rule):
    """A schedule that is stepped before the optimizer leaves out its first value."""

    slug = "scheduler-before-optimizer"
    id = "PL310"
    severity = "error"
    summary = "scheduler.step() runs before optimizer.step()"

    def __init__(self) -> None:
        self._reached: set[int] = set()  # ids of leaves that a backward has given a gradient
        self._early: dict[tuple[int, Any], SchedulerStep] = {}  # before the optimizer's first step
        self._between: dict[int, SchedulerStep] = {}  # after the last backward, by optimizer
        self._told: set[Any] = set()

    def on_backward(self, event: Backward) -> None:
        """What comes next is to be seen."""
        self._reached.update(a.value.id for a in event.accumulated)
        self._between.clear()

    def on_scheduler_step(self, event: SchedulerStep) -> None:
        """Where the optimizer stands."""
        info = event.optimizer
        if info is None or event.scheduler == "ReduceLROnPlateau" or _absolute(event.site):
            return
        key = info.number, str(event.site)
        if info.steps == 0:
            if any(v.id in self._reached for v in info.params()):
                self._between[info.number] = event
            else:
                self._early.setdefault(key, event)
        elif key in self._early:  # the same line again: it is the beginning of a loop
            self._tell(self._early[key], info, "before the first step of the optimizer", None)

    def on_step_begin(self, event: Step) -> None:
        """The first step of an optimizer after its schedule has moved on since the backward."""
        held = self._between.pop(event.optimizer.number, None)
        if held is not None and not event.closure and event.optimizer.steps == 0:
            self._tell(held, event.optimizer, "between backward and the step", event.site)

    def _tell(
        self, early: SchedulerStep, info: OptimizerInfo, when: str, site: Site | None
    ) -> None:
        title = info.name or "optimizer"
        self.report(
            early.site,
            f"{early.scheduler} is stepped here {when}: the first learning rate of the schedule is skipped, and all others come one step early.",
            evidence={
                "first_lr": early.before,
                "lr_of_first_step": early.after,
                "optimizer_steps_before": 0,
                "optimizer": title,
                "used_at": str(site) if site is not None else None,
            },
            fix=f"step the schedule after `{title}.step()`: after each one, or at the end of each epoch",
        )


def _absolute(site: Site | None) -> bool:
    """Whether `step(epoch)` says itself which epoch it means."""
    call = site.call if site is not None else None
    return call is not None and bool(call.arguments or call.keywords)
