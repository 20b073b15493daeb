"""Learning rates: schedules in the wrong unit, steps that are far too large or too small."""

from __future__ import annotations

import ast
import math
import re
from typing import Any

import numpy as np

from ...events import (
    Backward,
    LoaderInfo,
    OptimizerInfo,
    Read,
    SchedulerStep,
    Site,
    Step,
    Update,
    Value,
)
from ...rule import Rule, median
from ..source.origins import factor_at, number_called, written_at
from ..source.places import Place, tree, walk
from .divided import AddedUp, DividedAgain
from .units import Units, first_group
from .watched import LossesSeen


class _Rates:
    """What was seen of one group of parameters of an optimizer."""

    __slots__ = ("began", "largest", "later", "seen")

    def __init__(self) -> None:
        # step of the optimizer, update / weights, learning rate
        self.seen: list[tuple[int, float, float]] = []
        self.largest = 0.0  # rate of all steps
        self.began: dict[int, float] = {}  # by id of a matrix: its norm when it was first seen
        # of steps after the losses have grown: (update / weights, weights / weights at first)
        self.later: list[tuple[float, float]] = []


class _Scheduled:
    """A scheduler of an optimizer, the optimizer's first rate, and where the function of a LambdaLR
    returns. All this is read while the scheduler lives.
    """

    __slots__ = ("base", "event", "returned")

    def __init__(self, event: SchedulerStep) -> None:
        self.event = event
        scheduler = event.ref() if event.ref is not None else None
        self.base = max(
            [float(x) for x in getattr(scheduler, "base_lrs", [])] or event.before, default=0.0
        )
        self.returned = _returned(next(iter(getattr(scheduler, "lr_lambdas", [])), None))


class LrAbsurd(Rule):
    """An update as large as the weights themselves throws away what they are; one below their
    rounding changes nothing.
    """

    slug = "lr-absurd"
    id = "PL311"
    severity = "error"
    summary = "updates far too large or too small for the weights"
    supersedes = ("exploding-gradient", "loss-at-chance", "dead-units", "vanishing-gradient")
    symptom_of = ("missing-zero-grad",)
    covered = ("accumulation-not-scaled",)
    wants_updates = True

    TOO_LARGE = 1.0  # |update| / |weights|
    TOO_SMALL = 1e-6
    SLOW = 1e-3  # |update| / |weights|, of a loss that was divided twice
    SETTLED = 0.25  # |update| / |weights|, of later steps of a training that goes well after all
    OUTGROWN = (
        16.0  # |weights| / |weights at first|, of one where updates have replaced the weights
    )
    LOST = 1e-4  # of the first rate is left before half of the steps are done
    ADAPTIVE = ("Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop", "Lion")
    """Optimizers that move each weight by about the learning rate itself, whatever the gradient."""

    def __init__(self) -> None:
        # by optimizer: before the steps that are looked at
        self._losses: dict[int, list[float]] = {}
        self._groups: dict[tuple[int, int], _Rates] = {}  # by optimizer and group
        self._schedules: dict[int, _Scheduled] = {}  # by optimizer
        self._infos: dict[int, OptimizerInfo] = {}
        self._told: set[int] = set()
        self._loss: float | None = None
        # by optimizer: (its step, the largest rate) of each recorded step
        self._rates: dict[int, list[tuple[int, float]]] = {}
        self._curve: dict[int, list[float]] = {}  # by optimizer: the loss of each step
        # losses that have grown, and may come down again
        self._doubted: dict[int, tuple[OptimizerInfo, _Rates, list[float]]] = {}
        self._replayed: dict[
            int, tuple[Any, int, float, int]
        ] = {}  # by optimizer: schedule steps without a step of its own in between
        self._by_hand: dict[Any, _Rates] = {}  # by place of a manual update
        self._divided = DividedAgain()
        self._added = AddedUp()
        self._units = Units()
        self._watched = LossesSeen()

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """Settings with which no training can go well, whatever the gradients."""
        for group in event.groups:
            momentum, decay, rate = (group.get(k) for k in ("momentum", "weight_decay", "lr"))
            if isinstance(momentum, (int, float)) and momentum >= 1:
                self._tell(
                    event,
                    "momentum",
                    2,
                    float(momentum),
                    f"a momentum of {momentum:g} never decays: the updates only add up",
                    "use a momentum below 1, such as 0.9",
                    {},
                )
            elif all(isinstance(x, (int, float)) for x in (decay, rate)) and rate * decay >= 1:
                self._tell(
                    event,
                    "weight_decay",
                    4,
                    float(decay),
                    f"with a learning rate of {rate:g} a weight decay of {decay:g} removes the whole weight in each step",
                    "use a weight decay of 0.01 or less",
                    {},
                )
            betas = group.get("betas")
            if (
                isinstance(betas, (tuple, list))
                and len(betas) == 2
                and 0.99 <= betas[0] > betas[1]
                and info_free(event, self._told)
            ):
                self._tell(
                    event,
                    "betas",
                    2,
                    None,
                    f"with betas of {betas[0]:g} and {betas[1]:g} the gradients are averaged over many more steps than their "
                    "squares, which they are divided by: updates become far too large",
                    "put the smaller one first: betas=(0.9, 0.999)",
                    {},
                )

    def on_backward(self, event: Backward) -> None:
        """The loss before the step, at the steps that are looked at."""
        root = event.roots[0] if event.roots else None
        if root is not None and root.numel == 1 and event.how == "backward":
            self._divided.see(root, event.step)
            self._added.see(root, event.site, event.step)
            array = root.numpy()
            self._loss = (
                None if array is None else float(np.asarray(array, dtype=np.float64).reshape(()))
            )

    def on_scheduler_step(self, event: SchedulerStep) -> None:
        """Which schedule an optimizer has."""
        self._units.stepped(event)
        self._backwards(event)
        if event.optimizer is not None and event.before and event.after:
            site, count, first, step = self._replayed.get(
                event.optimizer.number, (None, 0, event.before[0], -1)
            )
            count, first = (count + 1, first) if step == event.step else (1, event.before[0])
            if site is None or count < 8 or step == event.step:
                kept = event.site if count >= 8 and event.after[0] < 0.1 * first else site
                self._replayed[event.optimizer.number] = kept, count, first, event.step
        if event.optimizer is not None and event.optimizer.number not in self._schedules:
            self._schedules[event.optimizer.number] = _Scheduled(event)

    def on_read(self, event: Read) -> None:
        """A number that a schedule may get."""
        self._watched.read(event)

    def _backwards(self, event: SchedulerStep) -> None:
        """A schedule that waits for the loss to grow."""
        what = self._watched.backwards(event)
        if what is not None and event.optimizer is not None:
            self._told.add(event.optimizer.number)
            mode, other, kind = what
            self.report(
                event.made or event.site,
                f"{event.scheduler} has mode='{mode}' but gets {kind}: each improvement counts "
                "as a bad epoch and lowers the rate.",
                evidence={"stepped_at": event.site, "mode": mode},
                fix=f"mode='{other}'",
            )

    def on_pass(self, event: LoaderInfo) -> None:
        """An epoch."""
        self._units.passed(event)

    def on_step(self, event: Step) -> None:
        """How far the weights moved."""
        info = event.optimizer
        if info.number in self._told:
            if info.number in self._doubted and self._loss is not None:
                self._curve.setdefault(info.number, []).append(self._loss)
                self._afterwards(event, self._doubted[info.number][1])
            return
        self._infos[info.number] = info
        self._units.used(event)
        rates = self._rates.setdefault(info.number, [])
        if len(rates) < 100_000:
            rates.append((info.steps, max((abs(rate) for rate in info.lrs()), default=0.0)))
            if self._loss is not None:
                self._curve.setdefault(info.number, []).append(self._loss)
        for k, group in enumerate(info.groups):
            rate = group.get("lr")
            held = self._groups.get((info.number, k))
            if held is None:
                held = self._groups[info.number, k] = _Rates()
            if rate is not None:
                held.largest = max(held.largest, abs(float(rate)))
        if not event.before:
            return
        losses = self._losses.setdefault(info.number, [])
        if self._loss is not None:
            losses.append(self._loss)
        value = self.session.recorder.value
        for k, group in enumerate(info.groups):
            if group.get("lr") is None:
                continue
            held, ratios = self._groups[info.number, k], []
            for p in group["params"]:
                v = value(p)
                ratio = self._moved(event, v)
                if ratio is None:
                    continue
                held.began.setdefault(v.id, float(np.linalg.norm(event.before[v.id])))
                if math.isnan(ratio) and not any(r > self.TOO_LARGE for _, r, _ in held.seen):
                    # NaN out of small updates: no matter of the rate, unless it grows and grows
                    self._told.add(info.number)
                    if held.seen and abs(float(group["lr"])) > 10 * held.seen[0][2] > 0:
                        self._grown(info, held, abs(float(group["lr"])))
                    return
                ratios.append(math.inf if math.isnan(ratio) else ratio)
            if ratios:
                held.seen.append((info.steps, median(ratios), abs(float(group["lr"]))))
                self._judge(info, held, losses)
                if info.number in self._told:
                    return

    def _grown(self, info: OptimizerInfo, held: _Rates, rate: float) -> None:
        place = self._changed(info)
        if place is not None:
            self.report(
                place,
                f"the learning rate of {info.class_name} has grown from {held.seen[0][2]:g} to {rate:.3g}, and the loss is NaN or Inf.",
                evidence={"steps": [n for n, *_ in held.seen], "lr": [lr for *_, lr in held.seen]},
                fix="let the schedule end at the intended rate or below",
            )

    def _moved(self, event: Step, value: Value) -> float | None:
        """The size of an update by that of the weights; NaN for gradients that are none, None where
        there is nothing to be seen.
        """
        before = event.before.get(value.id)
        if before is None or before.ndim < 2 or before.dtype.kind != "f":
            return None
        gradient, moved = value.grad(), event.update(value)
        if moved is None or gradient is None or not np.any(gradient):
            return None
        if not np.isfinite(gradient).all():
            return math.nan
        weights = float(np.linalg.norm(before))
        if not math.isfinite(weights):
            return math.inf
        return float(np.linalg.norm(moved)) / weights if weights > 0 else None

    def _afterwards(self, event: Step, held: _Rates) -> None:
        """How far the weights of a group move, and have moved, after its losses have grown."""
        found = []
        for v in event.optimizer.params() if event.before else ():
            ratio = self._moved(event, v) if v.id in held.began else None
            if ratio is not None:
                grown = float(np.linalg.norm(event.before[v.id])) / held.began[v.id]
                found.append((math.inf if math.isnan(ratio) else ratio, grown))
        if found:
            held.later.append((max(r for r, _ in found), max(g for _, g in found)))

    def _settled(self, info: OptimizerInfo, held: _Rates) -> bool:
        """Whether only the first updates were large, as the gradients were: those of the last steps
        are small, and the weights are no others. A first loss that was small by chance is none to
        come down to.
        """
        last = held.later[-2:] if info.class_name not in self.ADAPTIVE else []
        return len(last) == 2 and all(r < self.SETTLED and g < self.OUTGROWN for r, g in last)

    def _judge(self, info: OptimizerInfo, held: _Rates, losses: list[float]) -> None:
        seen = held.seen
        if len(seen) < 3 or len(losses) < 3:
            return
        ratios = [r for _, r, _ in seen]
        first = losses[0]
        grown = 2 if len(seen) > 3 else 10
        worse = all(
            not math.isfinite(x) or x > 2 * abs(first) + 1e-6 for x in losses[-2:]
        ) and not losses[-1] <= grown * abs(first)
        stays = len(losses) > 3 and median(ratios) > self.TOO_LARGE and not losses[-1] < 0.7 * first
        if worse and any(r > self.TOO_LARGE for r in ratios) or stays:
            # no rate suits such gradients
            if not any(
                finding.name == "exploding-gradient" for finding, _ in self.session.found.values()
            ):
                if all(math.isfinite(x) and x < 1e3 * abs(first) + 1e3 for x in losses):
                    self._doubted[info.number] = info, held, list(losses)
                else:
                    self._as_large(info, held, losses)
            self._told.add(info.number)

    def _as_large(self, info: OptimizerInfo, held: _Rates, losses: list[float]) -> None:
        message = f"with a learning rate of {held.seen[0][2]:g} the updates of {info.class_name} are as large as the weights themselves"
        added = self._added.found()
        if added is not None and info.class_name not in self.ADAPTIVE:
            place, count = added
            self._told.add(info.number)
            self.report(
                place,
                f"each step adds up the gradients of {count} losses that are means, without a division: they are {count} times as large, "
                f"and the updates of {info.class_name} are as large as the weights themselves.",
                evidence={
                    "lr": held.seen[0][2],
                    "backward_calls": count,
                    "optimizer_at": info.site,
                },
                fix=f"divide each loss by the number of batches in a step: `(loss / {count}).backward()`",
                covers=[place],
            )
            return
        self._rate(info, held, losses, message, "lower")

    def _rate(
        self, info: OptimizerInfo, held: _Rates, losses: list[float], message: str, way: str
    ) -> None:
        seen = held.seen
        if (
            way == "lower"
            and len(seen) > 1
            and seen[-1][2] > 5 * seen[0][2]
            and not any(r > self.TOO_LARGE for _, r, lr in seen if lr < 2 * seen[0][2])
        ):
            place = self._changed(info)
            if place is not None:
                self._told.add(info.number)
                self.report(
                    place,
                    f"the learning rate of {info.class_name} grows from {seen[0][2]:g} to {seen[-1][2]:.3g}, and the updates become as large "
                    "as the weights themselves.",
                    evidence={
                        "steps": [n for n, *_ in seen],
                        "lr": [lr for *_, lr in seen],
                        "update_to_weight": [float(f"{r:.3g}") for _, r, _ in seen],
                    },
                    fix="let the schedule end at the intended rate or below",
                )
                return
        rate = seen[0][2] if seen else held.largest
        evidence = {
            "lr": rate,
            "steps": [n for n, *_ in seen],
            "update_to_weight": [float(f"{r:.3g}") for _, r, _ in seen],
            "losses": [float(f"{x:.4g}") for x in losses[-4:]],
        }
        self._tell(
            info,
            "lr",
            1,
            rate,
            message,
            f"{way} the learning rate until an update is about a thousandth of the weights",
            evidence,
        )

    def _tell(
        self,
        info: OptimizerInfo,
        keyword: str,
        position: int,
        value: float | None,
        message: str,
        fix: str,
        evidence: dict[str, Any],
    ) -> None:
        self._told.add(info.number)
        replayed = self._replayed.get(info.number)
        if keyword == "lr" and replayed is not None and replayed[0] is not None and "raise" in fix:
            self.report(
                replayed[0],
                message
                + f": the schedule is stepped {replayed[1]} times here, and nothing is trained in between.",
                evidence={**evidence, "optimizer_at": info.site},
                fix="load the schedule's state, or step it as often as before; not both, and not once per batch",
            )
            return
        place: Any = (
            info.loaded
            if keyword == "lr" and info.steps and info.number not in self._schedules
            else None
        )
        if place is None and info.site is not None and not _mistaken(info.site, keyword, position):
            place = written_at(info.site, keyword, position, value)
            if (
                place is None
                and keyword == "lr"
                and value is not None
                and not _literal(info.site, keyword, position)
            ):
                place = number_called(
                    self.session.recorder.files(self.session.script), value, _RATE
                )
        self.report(
            place or info.site,
            message + ".",
            evidence={**evidence, "optimizer_at": info.site},
            fix=fix,
        )

    # ---- at the end --------------------------------------------------------------------------------------------------------
    def finish(self) -> None:
        """Rates that were too small all the time, by the optimizer's own setting or by a schedule;
        losses that did not come down again.
        """
        for number, (info, held, losses) in self._doubted.items():
            last = self._curve.get(number, losses)[
                -max(1, len(self._curve.get(number, losses)) // 10) :
            ]
            if not float(np.mean(last)) < 0.7 * losses[0] and not self._settled(info, held):
                self._as_large(info, held, losses)
        for number, info in self._infos.items():
            if number in self._told:
                continue
            self._in_other_units(info)
            if number in self._told:
                continue
            self._scheduled(info, self._schedules.get(number), self._rates.get(number, []))
            if number not in self._told:
                self._too_small_a_loss(info)
            if number not in self._told:
                self._no_rate(info, self._rates.get(number, []))
            if number not in self._told:
                self._no_progress(
                    info, [held for (n, k), held in self._groups.items() if n == number]
                )
            groups = [(k, held) for (n, k), held in self._groups.items() if n == number]
            for k, held in groups if number not in self._told else ():
                ratios = [r for _, r, _ in held.seen]
                if len(ratios) < 4 or max(ratios) >= self.TOO_SMALL or not 0 < held.largest < 1e-5:
                    continue
                which = f" of group {k}" if len(groups) > 1 else ""
                self._rate(
                    info,
                    held,
                    self._losses.get(number, []),
                    f"with a learning rate of {held.largest:.3g}{which} the updates of {info.class_name} are so small that they are lost in "
                    "rounding or would take millions of steps",
                    "raise",
                )
                break

    def _in_other_units(self, info: OptimizerInfo) -> None:
        """A schedule in epochs that is stepped once per batch; one that begins anew."""
        early, anew = self._units.too_early(info), self._units.anew(info)
        alone = self._first_alone(info)
        unfit = self._units.unfit(info)
        if early is not None:
            event, last, steps, passes = early
            self._told.add(info.number)
            self.report(
                event.site,
                f"{event.scheduler} is stepped once per batch but set up for epochs: of {steps} steps in {passes} epochs, step {last} was the "
                "last to change the rate.",
                evidence={"made_at": event.made, "last_change": last, "steps": steps},
                fix="step it once per epoch, outside of the loop over batches",
            )
        elif unfit is not None:
            place, message, evidence, fix = unfit
            self._told.add(info.number)
            self.report(place, message, evidence=evidence, fix=fix)
        elif anew is not None:
            before, after, loaded, steps = anew
            self._told.add(info.number)
            self.report(
                loaded,
                f"the state of {info.class_name} after {steps} steps is loaded here, but the "
                f"schedule starts over: its first step changes the rate from {before:.3g} to "
                f"{after:.3g}.",
                evidence={"lr_before": before, "lr_after": after, "steps": steps},
                fix="save the scheduler's state, too, and load it: `scheduler.load_state_dict(...)`",
                severity="warning",
            )
        elif alone is not None:
            place, rates, largest = alone
            self._told.add(info.number)
            self.report(
                place,
                f"the schedule written here only changes the first of {len(rates)} parameter "
                f"groups: its rate went from {largest[0]:.3g} to {rates[0]:.3g}, while that of "
                f"the others stayed {rates[1]:.3g}.",
                evidence={"rates": rates, "largest": largest, "optimizer_at": info.site},
                fix="set the rate of each group: `for group in optimizer.param_groups:`",
            )

    def _first_alone(self, info: OptimizerInfo) -> tuple[Place, list[float], list[float]] | None:
        """(line, rates now, largest rates) of groups, when the program lowers the rate of the first
        and names no other.
        """
        rates = info.lrs()
        largest = [h.largest for (n, _), h in self._groups.items() if n == info.number]
        if len(rates) < 2 or len(rates) != len(largest) or info.number in self._schedules:
            return None
        kept = all(rate == most > 0 for rate, most in zip(rates[1:], largest[1:], strict=True))
        place = first_group(info.site) if kept and rates[0] < 0.5 * largest[0] else None
        return None if place is None else (place, rates, largest)

    def _too_small_a_loss(self, info: OptimizerInfo) -> None:
        """A mean that is divided by the number of rows once more, before an optimizer whose steps
        are as small as the gradients.
        """
        found = self._divided.found()
        ratios = [
            r for (n, _), held in self._groups.items() if n == info.number for _, r, _ in held.seen
        ]
        if found is None or info.class_name in self.ADAPTIVE or len(ratios) < 4:
            return
        op, rows = found
        if max(ratios) < self.SLOW:
            self._told.add(info.number)
            self.report(
                op.site,
                f"the loss is already a mean over {rows} and is divided by {rows} again, so the updates of {info.class_name} are "
                f"too small: at most {max(ratios):.2g} of the weights.",
                evidence={
                    "divided_by": rows,
                    "update_to_weight": [float(f"{r:.3g}") for r in ratios[:8]],
                    "optimizer_at": info.site,
                },
                fix="divide once: leave out the division, or use `reduction='sum'` with it",
                severity="warning",
            )

    def _no_rate(self, info: OptimizerInfo, rates: list[tuple[int, float]]) -> None:
        """A rate of exactly 0, for ever or for a good part of the run from its beginning."""
        first = next((k for k, (_, rate) in enumerate(rates) if rate), len(rates))
        zeros = 0 if not first else info.steps if first == len(rates) else rates[first - 1][0]
        if zeros < 10 or zeros < 0.2 * info.steps:
            return
        held = self._schedules.get(info.number)
        place = None if held is None else held.returned or self._changed(info)
        message = f"the learning rate of {info.class_name} is 0 in the first {zeros} of {info.steps} steps: they change nothing"
        if place is None:
            self._tell(
                info, "lr", 1, 0.0, message, "set the intended learning rate", {"steps": zeros}
            )
            return
        self._told.add(info.number)
        self.report(
            place,
            message + ".",
            evidence={"steps": zeros, "of": info.steps, "optimizer_at": info.site},
            fix="let the schedule start above 0: `(step + 1) / warmup`, with `/` and not `//`",
        )

    def _no_progress(self, info: OptimizerInfo, groups: list[_Rates]) -> None:
        """All steps together have hardly moved any weight, or the first ones have thrown them away,
        and the loss has not changed.
        """
        seen = [entry for held in groups for entry in held.seen]
        losses = self._curve.get(info.number, [])
        if not seen or len(losses) < 60 or not all(math.isfinite(x) for x in losses):
            return
        third = len(losses) // 3
        first, last = np.array(losses[:third]), np.array(losses[-third:])
        noise = math.sqrt((float(first.var()) + float(last.var())) / third)
        rate = max(lr for *_, lr in seen)
        if float(first.mean() - last.mean()) > max(2.5 * noise, 0.01 * abs(float(first.mean()))):
            return  # it goes down
        held = max(groups, key=lambda g: len(g.seen))
        moved = max(r for _, r, _ in seen) * info.steps
        if moved < 0.01 and 0 < rate <= (2e-5 if info.class_name in self.ADAPTIVE else 1e-5):
            self._rate(
                info,
                held,
                losses,
                f"with a learning rate of {rate:.3g} all {info.steps} steps of {info.class_name} together have moved the weights "
                f"by {moved:.2g} of their size, and the loss is where it was",
                "raise",
            )
        elif (
            info.class_name in self.ADAPTIVE
            and len(early := [r for n, r, _ in held.seen if n < 2]) == 2
            and min(early) > self.TOO_LARGE
        ):
            self._rate(
                info,
                held,
                losses,
                f"with a learning rate of {rate:g} the first updates of {info.class_name} are as large as the weights "
                "themselves, and the loss never recovers",
                "lower",
            )

    def _scheduled(
        self, info: OptimizerInfo, held: _Scheduled | None, seen: list[tuple[int, float]]
    ) -> None:
        rates = [rate for _, rate in seen]
        base = held.base if held is not None else rates[0] if rates else 0.0
        if len(rates) < 10 or base <= 0:
            return
        largest, half, who = (
            max(rates),
            # not every step is recorded: their numbers say which are of the first half
            [rate for n, rate in seen if 2 * n <= info.steps] or rates[:1],
            held.event.scheduler if held is not None else "what is assigned to it here",
        )
        evidence = {
            "first_lr": base,
            "largest": float(f"{largest:.3g}"),
            "last": float(f"{rates[-1]:.3g}"),
            "optimizer_steps": info.steps,
            "stepped_at": held.event.site if held is not None else None,
        }
        if (
            held is not None
            and held.event.scheduler == "LambdaLR"
            and base < 0.5
            and largest <= base * base * 1.001
            and len(set(rates)) > 1
        ):
            self._told.add(info.number)
            self.report(
                held.returned or held.event.made or held.event.site,
                f"the function of LambdaLR returns a rate, at most {largest / base:.3g}, but the result is multiplied by "
                f"the optimizer's rate of {base:g}: "
                f"the rate used is {largest:.3g} at most.",
                evidence=evidence,
                fix="let the function return only the factor: 1 for the full rate",
            )
        elif half[-1] < self.LOST * base and rates[-1] < self.LOST * base and largest >= 0.5 * base:
            place = self._changed(info)
            if place is None:
                return
            if (
                held is not None
                and held.event.scheduler in _BY_EPOCH
                and held.event.site is not None
                and self._units.per_batch(info, held.event.site)
            ):
                # it stands in the loop over batches, and belongs into the one around it
                place = held.event.site
            self._told.add(info.number)
            self.report(
                place,
                f"{who} has reduced the learning rate from {largest:g} to {half[-1]:.3g} before half of the {info.steps} steps were done: the "
                "steps after that change nothing.",
                evidence=evidence,
                fix="step the schedule once per epoch, or give it the number of steps (T_max, step_size, gamma) that it is stepped",
            )

    def _changed(self, info: OptimizerInfo) -> Any:
        """Where the rate is changed: the line that makes the scheduler, or an assignment to a
        group's rate.
        """
        held = self._schedules.get(info.number)
        if held is not None:
            return held.event.made or held.event.site
        root = tree(info.site.file) if info.site is not None else None
        for node in walk(root) if root is not None else ():
            for target in (
                node.targets
                if isinstance(node, ast.Assign)
                else [node.target]
                if isinstance(node, ast.AugAssign)
                else []
            ):
                if (
                    isinstance(target, ast.Subscript)
                    and isinstance(target.slice, ast.Constant)
                    and target.slice.value == "lr"
                ):
                    return Place(info.site.file, target.lineno)
        return None

    def on_update(self, event: Update) -> None:
        """The same of a manual update, `w -= lr * w.grad`."""
        value, op = event.value, event.op
        if not _due(event.step) or value.ndim < 2 or len(op.inputs) < 2 or event.site is None:
            return
        held = self._by_hand.setdefault((event.site, value.id), _Rates())
        moved, now = op.inputs[1].numpy(), value.numpy()
        if moved is None or now is None or self._loss is None or held.largest:
            return
        with np.errstate(all="ignore"):
            ratio = float(np.linalg.norm(moved) / np.linalg.norm(now + moved))
        held.seen.append((event.step, ratio if math.isfinite(ratio) else math.inf, self._loss))
        losses = [loss for *_, loss in held.seen]
        worse = len(losses) > 2 and all(
            not math.isfinite(x) or x > 2 * abs(losses[0]) + 1e-6 for x in losses[-2:]
        )
        if worse and any(r > self.TOO_LARGE / 2 for _, r, _ in held.seen):
            held.largest = 1.0
            self.report(
                factor_at(event.site) or event.site,
                "the manual updates are as large as the weights themselves, and the loss grows.",
                evidence={
                    "update_to_weight": [float(f"{r:.3g}") for _, r, _ in held.seen],
                    "losses": losses,
                    "updated_at": event.site,
                },
                fix="lower the learning rate until an update is about a thousandth of the weights",
            )


_BY_EPOCH = ("ExponentialLR", "StepLR", "MultiStepLR", "MultiplicativeLR", "ReduceLROnPlateau")
_RATE = re.compile(
    r"(\w*_)?(lr|learning_?rate|rate|eta|step_?size|alpha)(_\w+|\d*)$", re.IGNORECASE
)
_OTHER = re.compile(
    r"\w*(decay|wd|momentum|eps|beta|gamma|batch|epochs|steps|dropout)\w*$", re.IGNORECASE
)


def info_free(event: OptimizerInfo, told: set[int]) -> bool:
    """Whether nothing was said of an optimizer yet."""
    return event.number not in told


def _given(site: Site, keyword: str, position: int) -> str | None:
    call = site.call
    if call is None:
        return None
    given = call.arguments
    return call.keywords.get(keyword, given[position] if position < len(given) else None)


def _mistaken(site: Site, keyword: str, position: int) -> bool:
    """Whether a positional argument is called like another one than that in whose place it stands:
    `AdamW(params, cfg.weight_decay)`.
    """
    text = _given(site, keyword, position)
    name = text.split(".")[-1].strip("]'\"") if text is not None else ""
    return keyword == "lr" and bool(_OTHER.match(name)) and not _RATE.match(name)


def _literal(site: Site, keyword: str, position: int) -> bool:
    """Whether the call itself says the number."""
    text = _given(site, keyword, position)
    try:
        return text is not None and isinstance(ast.literal_eval(text), (int, float))
    except (ValueError, SyntaxError):
        return False


def _returned(function: Any) -> Place | None:
    """The line of the first value that a function of the user's gives back."""
    code = getattr(function, "__code__", None)
    root = tree(code.co_filename) if code is not None else None
    for node in walk(root) if root is not None and code is not None else ():
        if isinstance(node, (ast.FunctionDef, ast.Lambda)) and node.lineno == code.co_firstlineno:
            if isinstance(node, ast.Lambda):
                return Place(code.co_filename, node.body.lineno)
            lines = sorted(n.lineno for n in ast.walk(node) if isinstance(n, ast.Return))
            return Place(code.co_filename, lines[0]) if lines else None
    return None


def _due(step: int) -> bool:
    return step < 5 or step & (step - 1) == 0
