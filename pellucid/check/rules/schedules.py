"""Learning rates: schedules that step at the wrong time, steps that are far too large or too small."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..events import Backward, OptimizerInfo, SchedulerStep, Site, Step
from ..rule import Rule


class _Schedule:
    """The calls of one scheduler's `step` at one line."""

    __slots__ = ("after_backward", "event")

    def __init__(self, event: SchedulerStep, after_backward: bool) -> None:
        self.event = event
        self.after_backward = after_backward


class SchedulerBeforeOptimizer(Rule):
    """A schedule that is stepped before the optimizer leaves out its first value."""

    slug = "scheduler-before-optimizer"
    id = "PL310"
    severity = "error"
    summary = "the schedule is stepped before the optimizer"

    def __init__(self) -> None:
        self._backward = -1  # number of the last backward
        self._early: dict[tuple[int, Any], SchedulerStep] = {}  # before the optimizer's first step
        self._between: dict[int, SchedulerStep] = {}  # after the last backward, by optimizer
        self._told: set[Any] = set()

    def on_backward(self, event: Backward) -> None:
        """What comes next is to be seen."""
        self._backward = event.number
        self._between.clear()

    def on_scheduler_step(self, event: SchedulerStep) -> None:
        """Where the optimizer stands."""
        info = event.optimizer
        if info is None or event.scheduler == "ReduceLROnPlateau" or _absolute(event.site):
            return
        key = info.number, str(event.site)
        if info.steps == 0:
            if self._backward >= 0:
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

    def _tell(self, early: SchedulerStep, info: OptimizerInfo, when: str, site: Site | None) -> None:
        title = info.name or "optimizer"
        self.report(
            early.site,
            f"{early.scheduler} is stepped here {when}: the first value of the schedule is never used, and all others come one step early.",
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


class LrAbsurd(Rule):
    """An update as large as the weights themselves throws away what they are; one below their rounding changes nothing."""

    slug = "lr-absurd"
    id = "PL311"
    severity = "error"
    summary = "updates far too large or too small for the weights"
    supersedes = ("exploding-gradient", "loss-at-chance")
    symptom_of = ("missing-zero-grad",)
    wants_updates = True

    TOO_LARGE = 1.0  # |update| / |weights|
    TOO_SMALL = 1e-6

    def __init__(self) -> None:
        self._losses: list[float] = []
        self._ratios: dict[int, list[tuple[int, float, float]]] = {}  # by optimizer: (step, ratio, learning rate)
        self._told: set[int] = set()
        self._root = 0.0

    def on_backward(self, event: Backward) -> None:
        """The loss before the step, at the steps that are looked at."""
        root = event.roots[0] if event.roots else None
        if root is not None and root.numel == 1 and event.how == "backward" and _due(self.step):
            array = root.numpy()
            if array is not None:
                self._losses.append(float(np.asarray(array, dtype=np.float64).reshape(())))

    def on_step(self, event: Step) -> None:
        """How far the weights moved."""
        info = event.optimizer
        if not event.before or info.number in self._told:
            return
        rates = [abs(lr) for lr in info.lrs()]
        ratios = []
        for value in info.params():
            before = event.before.get(value.id)
            if before is None or before.ndim < 2 or before.dtype.kind != "f":
                continue
            gradient = value.grad()
            moved = event.update(value)
            if moved is None or gradient is None or not np.any(gradient):
                continue
            if not np.isfinite(gradient).all() and not any(r > self.TOO_LARGE for _, r, _ in self._ratios.get(info.number, ())):
                self._told.add(info.number)  # NaN out of small updates: no matter of the rate
                return
            weights = float(np.linalg.norm(before))
            if weights > 0 or not math.isfinite(weights):
                ratios.append(float(np.linalg.norm(moved)) / weights if math.isfinite(weights) else math.inf)
        if not ratios or not rates:
            return
        ratio = float(np.median([r if math.isfinite(r) else np.inf for r in ratios]))
        seen = self._ratios.setdefault(info.number, [])
        seen.append((info.steps, ratio, max(rates)))
        self._judge(info, seen)

    def _judge(self, info: OptimizerInfo, seen: list[tuple[int, float, float]]) -> None:
        if len(seen) < 3:
            return
        ratios = [r for _, r, _ in seen]
        worse = len(self._losses) > 2 and all(
            not math.isfinite(x) or x > 2 * abs(self._losses[0]) + 1e-6 for x in self._losses[-2:]
        )
        large = sum(r > self.TOO_LARGE for r in ratios)
        steady = max(lr for *_, lr in seen) <= 1.5 * seen[0][2]
        if large and worse:
            self._tell(info, seen, "as large as the weights themselves", "lower")
        elif len(seen) >= 4 and max(ratios) < self.TOO_SMALL and steady and seen[0][2] < 1e-5:
            self._tell(info, seen, "so small that they are lost in rounding or would take millions of steps", "raise")

    def _tell(self, info: OptimizerInfo, seen: list[tuple[int, float, float]], how: str, way: str) -> None:
        self._told.add(info.number)
        rate = seen[0][2]
        self.report(
            info.site,
            f"with a learning rate of {rate:g} the updates of {info.class_name} are {how}.",
            evidence={
                "lr": rate,
                "steps": [n for n, *_ in seen],
                "update_to_weight": [float(f"{r:.3g}") for _, r, _ in seen],
                "losses": [float(f"{x:.4g}") for x in self._losses[-4:]],
            },
            fix=f"{way} the learning rate until an update is about a thousandth of the weights",
        )


def _due(step: int) -> bool:
    return step < 5 or step & (step - 1) == 0
