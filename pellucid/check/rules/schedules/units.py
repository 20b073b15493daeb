"""Schedules that count epochs and are stepped once per batch, or the other way round, and schedules
that begin anew when a run is resumed.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from ...events import LoaderInfo, OptimizerInfo, SchedulerStep, Site, Step
from ..source.places import Place, function_around, tree, walk

_FINITE = ("MultiStepLR", "CosineAnnealingLR")


class Units:
    """Counts the steps of schedules, and the passes of loaders."""

    def __init__(self) -> None:
        self._passes: dict[int, int] = {}  # by loader
        # by optimizer: steps of the schedule, the last one that changed the rate, its event
        self._steps: dict[int, list[Any]] = {}
        self._halves: dict[int, int] = {}  # by optimizer: T_max of its schedule
        # by optimizer: for how many steps its schedule was made, at which one it is
        self._planned: dict[int, tuple[int, int]] = {}
        # by optimizer: rate before and after the first step of a schedule after a resume, where
        self._resumed: dict[int, tuple[float, float, Site | None, int]] = {}
        # by optimizer: after which steps its schedule changes the rate
        self._beyond: dict[int, list[int]] = {}
        self._batches: dict[int, int] = {}  # by loader: of all its passes
        self._used: dict[int, Site | None] = {}  # by optimizer: where it steps

    def used(self, event: Step) -> None:
        """An optimizer steps."""
        self._used.setdefault(event.optimizer.number, event.site)

    def per_batch(self, info: OptimizerInfo, site: Site) -> bool:
        """Whether a schedule is stepped in the loop over batches: there, or in a function that is
        called from it.
        """
        used = self._used.get(info.number)
        held = self._steps.get(info.number)
        if loops(site) > 1 or used is None or held is None:
            return loops(site) > 1
        passes = max(self._passes.values(), default=0)
        several = loops(used) > 1 or info.steps >= 2 * passes >= 4
        return several and 0.9 * info.steps <= held[0] <= info.steps

    def passed(self, loader: LoaderInfo) -> None:
        """A pass begins."""
        self._passes[loader.number] = self._passes.get(loader.number, 0) + 1
        try:
            batches = len(loader.loader)
        except TypeError:  # of a stream
            return
        self._batches[loader.number] = self._batches.get(loader.number, 0) + batches

    def stepped(self, event: SchedulerStep) -> None:
        """A schedule is stepped."""
        info = event.optimizer
        if info is None or not event.before or not event.after:
            return
        held = self._steps.setdefault(info.number, [0, 0, event])
        scheduler = event.ref() if event.ref is not None else None
        if scheduler is not None and hasattr(scheduler, "T_max") and not held[0]:
            self._halves[info.number] = int(scheduler.T_max)
        planned = getattr(scheduler, "total_steps", None) or getattr(scheduler, "T_max", None)
        if planned:
            self._planned[info.number] = int(planned), int(scheduler.last_epoch)
        milestones = getattr(scheduler, "milestones", None) or getattr(scheduler, "step_size", None)
        if milestones and not held[0]:
            several = [milestones] if isinstance(milestones, int) else milestones
            self._beyond[info.number] = sorted(int(m) for m in several if isinstance(m, int))
        held[0] += 1
        if abs(event.after[0] - event.before[0]) > 1e-12 * abs(event.before[0]):
            held[1] = held[0]
        if held[0] == 1 and info.loaded is not None:
            self._resumed[info.number] = (
                event.before[0],
                event.after[0],
                info.loaded,
                _steps_taken(info),
            )

    def too_early(self, info: OptimizerInfo) -> tuple[SchedulerStep, int, int, int] | None:
        """(an event, the last step that changed the rate, all steps, passes) of a schedule that was
        over long before the training, after about as many steps as there were passes.
        """
        held = self._steps.get(info.number)
        passes = max(self._passes.values(), default=0)
        if held is None or held[2].scheduler not in _FINITE:
            return None
        steps, last, event = held
        half = self._halves.get(info.number)
        if half is not None:
            if not self._passes and steps >= 4 * half and loops(event.site) > 1 < half:
                return event, half, steps, half
            last = half  # from there on the rate grows again
            return (event, last, steps, passes) if self._counts(last, steps, passes, 0.9) else None
        if self._counts(last, steps, passes, 0.3):
            return event, last, steps, passes
        return None

    def unfit(self, info: OptimizerInfo) -> tuple[Any, str, dict[str, Any], str] | None:
        """(place, message, evidence, fix) of a schedule of which most never happens: it was made for
        another number of steps than it was stepped.
        """
        held = self._steps.get(info.number)
        if held is None:
            return None
        planned, at = self._planned.get(info.number, (0, 0))
        event = held[2]
        evidence = {"made_at": event.made, "stepped": held[0], "stepped_at": event.site}
        if planned and held[0] == at and 4 * at <= planned:  # else resumed, or another one's
            took = f"{event.scheduler} is set up for {planned} steps and was stepped {at} times, "
            if 0.9 * planned <= info.steps <= 1.1 * planned:
                return (
                    event.site,
                    f"{took}while {info.class_name} took {info.steps} steps: most of the schedule never happens.",
                    {**evidence, "planned": planned},
                    "step it after each step of the optimizer, or give it the number of epochs",
                )
            batches = [n for n in self._batches.values() if 0.9 * planned <= n <= 1.1 * planned]
            if info.steps == at and batches:
                return (
                    event.made or event.site,
                    f"{took}once per step of {info.class_name}, which accumulates {batches[0] // at} batches: most of the schedule never happens.",
                    {**evidence, "planned": planned},
                    "count the steps of the optimizer: batches // accumulation",
                )
        beyond = self._beyond.get(info.number)
        if beyond and held[0] >= 3 and not held[1] and held[0] < beyond[0]:
            if 2 * held[0] <= info.steps and beyond[-1] <= info.steps <= 4 * beyond[-1]:
                written = event.made.text if event.made is not None else ""
                if re.search(r"\*|//|len\(|steps|iter", written) or beyond[0] >= 20 * held[0]:
                    return (
                        event.made or event.site,
                        f"{event.scheduler} first changes the rate after {beyond[0]} steps, and was stepped {held[0]} times, once per epoch.",
                        {**evidence, "milestones": beyond[:8], "optimizer_steps": info.steps},
                        "count epochs where it is stepped once per epoch",
                    )
        return None

    @staticmethod
    def _counts(last: int, steps: int, passes: int, share: float) -> bool:
        """Whether a schedule was over after about as many steps as there were passes."""
        return passes >= 4 and steps >= 4 * passes and share * passes <= last <= passes

    def anew(self, info: OptimizerInfo) -> tuple[float, float, Site | None, int] | None:
        """(rate before, rate after, where the state was loaded, steps before that), when the first
        step of a schedule threw the rate back.
        """
        held = self._resumed.get(info.number)
        if held is None:
            return None
        before, after, _, steps = held
        if steps >= 10 and before > 0 and after > 0 and not 0.5 <= after / before <= 2.0:
            return held
        return None


def loops(site: Site) -> int:
    """In how many loops of its function a place is."""
    root = tree(site.file)
    function = function_around(site.file, site.line)
    return sum(
        isinstance(n, (ast.For, ast.While)) and n.lineno <= site.line <= (n.end_lineno or 0)
        for n in ast.walk(function if function is not None else root)
    )


def first_group(site: Site | None) -> Place | None:
    """The line that sets the rate of the first group of parameters, when no other group's is set:
    `optimizer.param_groups[0]["lr"] = rate`.
    """
    lines = rates_set(site.file) if site is not None else []
    if site is None or not lines or not all(text.endswith("param_groups[0]") for _, text in lines):
        return None
    return Place(site.file, lines[0][0])


def rates_set(file: str) -> list[tuple[int, str]]:
    """The lines that set a learning rate (`group["lr"] = rate`), each with the text of the group."""
    root = tree(file)
    found = []
    for node in walk(root) if root is not None else ():
        if not isinstance(node, (ast.Assign, ast.AugAssign)):
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Subscript) and ast.unparse(target.slice) == "'lr'":
                found.append((node.lineno, ast.unparse(target.value)))
    return found


def _steps_taken(info: OptimizerInfo) -> int:
    """How many steps the state of an optimizer counts."""
    optimizer = info.optimizer
    for state in getattr(optimizer, "state", {}).values():
        step = state.get("step") if isinstance(state, dict) else None
        if step is not None:
            return int(step)
    return 0
