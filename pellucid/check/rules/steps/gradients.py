"""Gradients between backward and step: accumulated, cleared, used."""

from __future__ import annotations

import weakref
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from ...events import (
    Backward,
    Cleared,
    Failure,
    Op,
    OptimizerInfo,
    Site,
    Step,
    Update,
    Value,
)
from ...recording.hooks import LIBRARY
from ...rule import Rule
from ..source.places import ended_at, overridden_call, replaced_method, uncalled


class _Used:
    """A gradient as a step used it."""

    __slots__ = ("between", "cleared", "gradient", "last", "stale", "step", "version")

    def __init__(self, gradient: Any, version: int, step: int) -> None:
        self.gradient = weakref.ref(gradient)
        self.version = version
        self.step = step
        self.stale: Site | None = None  # the backward that added to it
        self.last: Site | None = None  # the last that did
        # another optimizer has stepped since: the first was meant for that one
        self.between = False
        # what was cleared before that backward: where, which leaves
        self.cleared: list[tuple[Site | None, set[int]]] = []


class MissingZeroGrad(Rule):
    """Gradients add up from one optimizer step to the next when nobody clears them."""

    slug = "missing-zero-grad"
    id = "PL301"
    severity = "error"
    summary = "gradients accumulate over optimizer steps"
    ops = ("zero", "fill", "mul")

    def __init__(self) -> None:
        self._used: dict[int, _Used] = {}  # by `Value.id` of the parameter
        self._clears: list[tuple[Site | None, set[int]]] = []  # since the last backward
        # a clearing right before the last backward, of nothing that it reaches
        self._wrong: Site | None = None
        # small parameters as they were before a step of an optimizer that is not the library's
        self._before: dict[int, Any] = {}

    def on_op(self, op: Op) -> None:
        """Gradients zeroed through `.data` or `detach()`, which PyTorch does not count as a write."""
        gradient = zeroed(op)
        if gradient is not None:
            for key in [key for key, used in self._used.items() if used.gradient() is gradient]:
                del self._used[key]

    def on_clear(self, event: Cleared) -> None:
        """Cleared gradients count no more."""
        for value in event.values:
            self._used.pop(value.id, None)
        ids = {v.id for v in event.values}
        if self._clears and self._clears[-1][0] == event.site:  # a loop over parameters
            self._clears[-1][1].update(ids)
        else:
            self._clears.append((event.site, ids))
        del self._clears[:-4]

    def on_backward(self, event: Backward) -> None:
        """Gradients added to ones that a step has used."""
        reached = {a.value.id for a in event.accumulated}
        wrong = [site for site, ids in self._clears if not ids & reached]
        self._wrong = wrong[0] if wrong and len(wrong) == len(self._clears) else None
        clears, self._clears = self._clears, []
        version = self.session.engine.version
        for a in event.accumulated:
            used = self._used.get(a.value.id)
            if used is not None:
                used.last = event.site
            if used is None or used.stale is not None:
                continue
            gradient = a.value.gradient
            # One write since the step is this backward's own; with more, or another tensor,
            # somebody has treated the gradient.
            if (
                a.onto
                and gradient is not None
                and self._same(used, gradient)
                and version(gradient) <= used.version + 1
            ):
                used.stale, used.cleared = event.site, clears
            else:
                del self._used[a.value.id]

    def _same(self, used: _Used, gradient: Any) -> bool:
        return used.gradient() is gradient

    def on_step_begin(self, event: Step) -> None:
        """A step that uses a gradient with parts from before the last one; a closure may still
        clear it.
        """
        self._before = _small(event.optimizer)
        if event.closure:
            return
        self._check(
            event.optimizer.params(), event.site, event.optimizer.class_name, event.optimizer.name
        )

    def on_step(self, event: Step) -> None:
        """The gradients are used now."""
        if event.closure:  # its backward has run inside of the step
            self._check(
                event.optimizer.params(),
                event.site,
                event.optimizer.class_name,
                event.optimizer.name,
            )
        before, self._before = self._before, {}
        if before and all(
            np.array_equal(before[v.id], v.numpy())
            for v in event.optimizer.params()
            if v.id in before
        ):
            return  # one that moves on every fifth call only: the gradients are still to be used
        own = {v.id for v in event.optimizer.params()}
        for key, used in self._used.items():
            used.between = used.between or used.stale is not None and key not in own
        for value in event.optimizer.params():
            if event.zeroed:
                self._used.pop(value.id, None)
            else:
                self._note(value)

    def on_update(self, event: Update) -> None:
        """A manual update, `w -= lr * w.grad`."""
        self._check([event.value], event.site, "the update", None)
        self._note(event.value)

    def _note(self, value: Value) -> None:
        gradient = value.gradient
        self._used.pop(value.id, None)
        if gradient is not None:
            self._used[value.id] = _Used(gradient, self.session.engine.version(gradient), self.step)

    def _check(
        self, values: list[Value], site: Site | None, who: str, optimizer: str | None
    ) -> None:
        stale = [
            (v, used)
            for v in values
            if (used := self._used.get(v.id)) is not None and used.stale is not None
        ]
        if not stale:
            return
        value, used = stale[0]
        gradient = value.grad()
        name = value.name
        if optimizer is not None or who != "the update":
            title = optimizer or "optimizer"
            fix = f"call `{title}.zero_grad()` once per step: before `backward()`, or right after `{title}.step()`"
        else:
            fix = f"clear the gradient after each update: `{name or 'w'}.grad = None` (or `.grad.zero_()`)"
        bare = uncalled(self.session.recorder.files(self.session.script), "zero_grad")
        if bare is not None:
            self.report(
                bare,
                f"zero_grad is mentioned here but not called (the parentheses are missing): the gradients of {who} are "
                "never cleared, so each step uses the sum of "
                "all gradients so far.",
                evidence={
                    "step": self.step,
                    "parameters": len(stale),
                    "added_at": str(used.stale),
                    "used_at": str(site),
                },
                fix="call it: `zero_grad()`",
            )
            return
        own_way = replaced_method(self.session.recorder, "zero_grad", values)
        if own_way is not None:
            self.report(
                own_way,
                f"this `zero_grad` overrides the library's method and clears no gradients: those of {who} are never cleared, so each "
                "step uses the sum of all gradients so far.",
                evidence={"step": self.step, "parameters": len(stale), "used_at": str(site)},
                fix="call `super().zero_grad()` in it",
            )
            return
        lost = overridden_call(self.session.recorder, "zero_grad")
        if lost is not None:
            self.report(
                lost,
                f"this method overrides one that clears the gradients, and does not call it: those of {who} are never cleared, so "
                "each step uses the sum of all gradients so far.",
                evidence={"step": self.step, "parameters": len(stale), "used_at": str(site)},
                fix="call the method of the base class with `super()`, or clear the gradients here",
            )
            return
        wrong = self._wrong
        if wrong is not None and wrong != used.stale:
            self.report(
                wrong,
                f"this clears gradients other than those of {who}, which are never cleared, so each step uses the sum of all "
                "gradients so far.",
                evidence={
                    "step": self.step,
                    "parameter": name,
                    "parameters": len(stale),
                    "added_at": str(used.stale),
                    "used_at": str(site),
                },
                fix=fix,
            )
            return
        own, left = {v.id for v in values}, {v.id for v, _ in stale}
        part = next(
            (
                site
                for site, ids in used.cleared
                if site is not None and ids & own and not ids & left
            ),
            None,
        )
        if part is not None and all(not ids & left for _, ids in used.cleared):
            self.report(
                part,
                f"this clears only part of the gradients that {who} uses: those of {name or 'the others'} are never cleared, so each step uses "
                "the sum of all gradients so far.",
                evidence={
                    "step": self.step,
                    "parameter": name,
                    "parameters": len(stale),
                    "of": len(own),
                    "added_at": str(used.stale),
                },
                fix=fix,
            )
            return
        self.report(
            used.last if used.between else used.stale,
            f"this backward adds to gradients that {who} has already used. They are never cleared in between, "
            "so each step uses the sum of all gradients so far.",
            evidence={
                "step": self.step,
                "parameter": name,
                "parameters": len(stale),
                "gradient_norm": float(np.linalg.norm(gradient)) if gradient is not None else None,
                "used_at": str(site),
            },
            fix=fix,
        )


def _small(info: OptimizerInfo) -> dict[int, Any]:
    """Copies of a few parameters with gradients, by `Value.id`; of the program's own optimizers."""
    kind = type(info.optimizer).__module__.partition(".")[0]
    if info.optimizer is None or kind in LIBRARY:
        return {}
    made = (v for v in info.params() if v.gradient is not None)
    small = [v for v in made if v.numpy().size <= 1 << 14]
    held = (v for v in sorted(small, key=lambda v: v.numpy().size) if not is_empty(v))
    return {v.id: v.numpy().copy() for v in islice(held, 4)}


class _Pass:
    """One backward call: where, which leaves it reached, and what became of their gradients."""

    __slots__ = ("leaves", "number", "read", "site", "used")

    def __init__(self, event: Backward) -> None:
        self.site = event.site
        self.number = event.number
        self.leaves = {a.value.id for a in event.accumulated}
        self.read: set[int] = set()  # leaves whose gradient the program has looked at
        self.used = False  # a step or a manual update


def is_empty(value: Value) -> bool:
    """Whether a leaf has no gradient, or one that is all zeros."""
    gradient = value.grad()
    return gradient is None or not np.any(gradient)


def is_clipping(op: Op) -> bool:
    """Whether a gradient is only read to be clipped or unscaled."""
    call = op.site.call if op.site is not None else None
    written = call.function if call is not None else None
    return written is not None and (
        "clip_grad" in written or written.endswith(("unscale_", ".step"))
    )


class _Gradients(Rule):
    """Follows gradients from the backward that made them to the step that uses them or the clearing
    that drops them.
    """

    ops: ClassVar[tuple[str, ...]] = ("grad", "zero", "fill", "mul")

    def __init__(self) -> None:
        self.leaves: dict[int, Value] = {}
        # by id of the leaf: backward calls whose gradients are in it, unused
        self.fresh: dict[int, list[_Pass]] = {}
        # cleared before a use, and where
        self.lost: dict[int, tuple[list[_Pass], Site | None]] = {}

    def on_backward(self, event: Backward) -> None:
        """New gradients."""
        made = _Pass(event)
        for a in event.accumulated:
            self.lost.pop(a.value.id, None)
            self.leaves[a.value.id] = a.value
            if not a.onto:
                self.fresh.pop(a.value.id, None)
            self.fresh.setdefault(a.value.id, []).append(made)
        self.made(made, event)

    def made(self, gradients: _Pass, event: Backward) -> None:
        """A backward has run."""

    def on_op(self, op: Op) -> None:
        """A gradient is read, or zeroed in place."""
        if op.name == "grad":
            if not is_clipping(op):
                for leaf in op.inputs:
                    for p in self.fresh.get(leaf.id, ()):
                        p.read.add(leaf.id)
            return
        gradient = zeroed(op)
        if gradient is not None:
            for leaf in [
                v for v in self.leaves.values() if v.id in self.fresh and v.gradient is gradient
            ]:
                for p in self.fresh[leaf.id]:
                    p.read.discard(leaf.id)
                self.clear([leaf], op.site)

    def on_clear(self, event: Cleared) -> None:
        """Gradients are cleared."""
        self.clear(event.values, event.site)

    def clear(self, values: list[Value], site: Site | None) -> None:
        """What was fresh is lost."""
        dropped = []
        for value in values:
            passes = self.fresh.pop(value.id, None)
            if passes:
                self.lost[value.id] = passes, site
                dropped += [p for p in passes if p not in dropped]
        if dropped:
            self.dropped(dropped, site)

    def dropped(self, passes: list[_Pass], site: Site | None) -> None:
        """Gradients were cleared unused."""

    def use(self, values: list[Value]) -> list[_Pass]:
        """A step or a manual update uses gradients; the backward calls that they are from."""
        used: list[_Pass] = []
        for value in values:
            for p in self.fresh.pop(value.id, ()):
                p.used = True
                if p not in used:
                    used.append(p)
            self.lost.pop(value.id, None)
        return used


def zeroed(op: Op) -> Any:
    """The tensor that an operation fills with zeros in place, itself or through `.data` or
    `detach()`; None when it does not.
    """
    if not op.inplace or not op.inputs:
        return None
    factor = (
        op.args.get("other")
        if op.name == "mul"
        else op.args.get("value")
        if op.name == "fill"
        else 0
        if op.name == "zero"
        else 1
    )
    if not isinstance(factor, (int, float)) or factor != 0:
        return None
    value = op.inputs[0]
    while (
        value.producer is not None
        and value.producer.name in ("data", "detach")
        and value.producer.inputs
    ):
        value = value.producer.inputs[0]
    return value.tensor


class ZeroBetweenBackwardAndStep(_Gradients):
    """Gradients that are cleared after `backward` and before `step` are never used."""

    slug = "zero-between-backward-and-step"
    id = "PL302"
    severity = "error"
    summary = "gradients are cleared after backward, before the step"
    covered = ("step-without-backward",)
    supersedes = ("loss-at-chance",)
    symptom_of = ("param-frozen",)
    wants_updates = True

    def __init__(self) -> None:
        super().__init__()
        self._good: set[int] = set()  # optimizers that have stepped with gradients
        self._bad: dict[int, int] = {}  # by optimizer: steps in a row with cleared gradients
        self._thrown: list[tuple[_Pass, Site | None]] = []  # since the last step
        # by optimizer: steps that cleared their own gradients before they used them
        self._inside: dict[int, int] = {}
        # by place: number of the last step, steps so far
        self._rounds: dict[Any, tuple[int, int]] = {}

    def dropped(self, passes: list[_Pass], site: Site | None) -> None:
        """Remembered until the next step."""
        self._thrown += [(p, site) for p in passes]
        del self._thrown[:-256]

    def on_step_begin(self, event: Step) -> None:
        """A step on nothing, because what there was has been cleared; or on the last of several
        backward calls.
        """
        values, number = event.optimizer.params(), event.optimizer.number
        if event.closure:
            return
        if any(v.id in self.fresh for v in values):
            self._good.add(number)
            self._bad[number] = 0
            self._micro_batches(values, event)
            return
        lost = [
            self.lost[v.id]
            for v in values
            if v.id in self.lost and not any(p.used for p in self.lost[v.id][0])
        ]
        if not lost:
            # the last backward was meant for this step, and has not reached what it moves
            for p in (p for passes in self.fresh.values() for p in passes):
                p.read |= p.leaves
        if not lost or not all(is_empty(v) for v in values):
            return
        self._bad[number] = self._bad.get(number, 0) + 1
        if number not in self._good or self._bad[number] >= 3:
            passes, cleared = lost[0]
            self._tell(passes[-1], cleared, event, "so the step finds none")

    def _micro_batches(self, values: list[Value], event: Step) -> None:
        used = {p for v in values for p in self.fresh.get(v.id, ())}
        sites = {str(p.site) for p in used}
        own = {v.id for v in values}
        for p, cleared in self._thrown:
            if p.used or p.read or p in used or not p.leaves & own:
                continue
            if str(p.site) not in sites and any(p in self.fresh.get(leaf, ()) for leaf in p.leaves):
                # another part of it is still to be used, as of a generator that goes through its
                # critic
                continue
            key = (str(p.site), str(cleared))
            held = self._rounds.get(key, (-1, 0))
            if held[0] != event.number:
                held = self._rounds[key] = (event.number, held[1] + 1)
            # at every step so far: not a batch that is dropped now and then
            if held[1] >= max(2 if str(p.site) in sites else 4, event.optimizer.steps):
                self._tell(
                    p,
                    cleared,
                    event,
                    "so only the last of several backward calls counts for the step",
                )
                return

    def _tell(self, lost: _Pass, cleared: Site | None, event: Step, result: str) -> None:
        title = event.optimizer.name or "optimizer"
        self.report(
            cleared,
            f"gradients are cleared here after backward and before the step that should use them, {result}.",
            evidence={
                "step": self.step,
                "backward": str(lost.site),
                "used_at": str(event.site),
                "parameters": len(lost.leaves),
            },
            fix=f"clear them before `backward()`, or right after `{title}.step()`",
            covers=[event.site, lost.site],
        )

    def on_step(self, event: Step) -> None:
        """Used, or cleared within the step before anything was moved."""
        number = event.optimizer.number
        if event.cleared is not None and not event.closure:
            self._inside[number] = self._inside.get(number, 0) + 1
            lost = [p for v in event.optimizer.params() for p in self.fresh.get(v.id, ())]
            if lost and self._inside[number] == 2:
                self._tell(lost[-1], event.cleared, event, "so the step that runs this finds none")
        self.use(event.optimizer.params())
        self._thrown = [
            (p, s)
            for p, s in self._thrown
            if not p.used and not p.leaves & {v.id for v in event.optimizer.params()}
        ]

    def on_exception(self, failure: Failure) -> None:
        """PyTorch's gradient scaler refuses an optimizer that has no gradients."""
        if "No inf checks were recorded" in str(failure.exception) and self.lost and not self._good:
            passes, cleared = next(iter(self.lost.values()))
            self.report(
                cleared,
                "gradients are cleared here after backward and before the scaler's step, which finds none.",
                evidence={"backward": str(passes[-1].site), "used_at": str(failure.site)},
                fix="clear them before `backward()`, or right after the scaler's `step`",
                covers=[failure.site, passes[-1].site],
            )

    def on_update(self, event: Update) -> None:
        """A manual update with a gradient that was cleared."""
        held = self.lost.get(event.value.id)
        if (
            held is not None
            and event.value.id not in self.fresh
            and is_empty(event.value)
            and event.value.gradient is not None
        ):
            passes, cleared = held
            self.report(
                cleared,
                "gradients are cleared here after backward and before the update that should use them, so it changes nothing.",
                evidence={
                    "step": self.step,
                    "backward": str(passes[-1].site),
                    "used_at": str(event.site),
                    "parameter": event.value.name,
                },
                fix="clear after the update",
                covers=[event.site, passes[-1].site],
            )
        self.use([event.value])


class StepWithoutBackward(_Gradients):
    """An optimizer that steps without gradients changes nothing."""

    slug = "step-without-backward"
    id = "PL303"
    severity = "error"
    summary = "an optimizer steps on parameters that no backward reached"

    def __init__(self) -> None:
        super().__init__()
        self._empty: dict[tuple[int, Any], list[Step]] = {}
        self._good: set[tuple[int, Any]] = set()
        self._last: Site | None = None  # the last backward
        self._reached: dict[int, bool] = {}
        self._told: set[tuple[int, Any]] = set()
        self._some: dict[tuple[int, Any], list[int]] = {}  # steps there, those without gradients
        self._backwards = 0
        self._since: dict[int, int] = {}  # by optimizer: backward calls up to its last step

    def made(self, gradients: _Pass, event: Backward) -> None:
        """The last backward is evidence."""
        self._backwards += 1
        self._last = event.site

    def on_step(self, event: Step) -> None:
        """Whether any parameter had a gradient."""
        values = event.optimizer.params()
        key = (event.optimizer.number, str(event.site))
        wanting = [v for v in values if v.requires_grad]
        if wanting and not event.closure:
            self._now_and_then(key, event, values)
        if wanting and key not in self._good:
            if any(v.id in self.fresh for v in values) or not all(is_empty(v) for v in values):
                self._good.add(key)
            else:
                steps = self._empty.setdefault(key, [])
                steps.append(event)
                if len(steps) == 3:
                    self._tell(key, event, len(wanting))
        self.use(values)

    def _now_and_then(self, key: tuple[int, Any], event: Step, values: list[Value]) -> None:
        """A backward that is left out in some of the steps."""
        some = self._some.setdefault(key, [0, 0])
        some[0] += 1
        before, self._since[key[0]] = self._since.get(key[0], -1), self._backwards
        if before != self._backwards and any(v.gradient is None for v in values if v.requires_grad):
            # a backward has run, be it for another part of the model, and here the step does
            # nothing
            return
        if any(v.id in self.fresh for v in values) or not all(is_empty(v) for v in values):
            return
        some[1] += 1
        if (
            key in self._good
            and key not in self._told
            and some[1] >= 3
            and some[1] >= 0.1 * some[0]
        ):
            self._told.add(key)
            title = event.optimizer.name or "optimizer"
            self.report(
                event.site,
                f"{title} steps here without gradients in {some[1]} of {some[0]} steps: they are cleared, and no backward comes before the step.",
                evidence={
                    "step": event.number,
                    "steps": some[0],
                    "without_gradients": some[1],
                    "last_backward": str(self._last),
                },
                fix=f"call `{title}.step()` only after `backward()`",
            )

    def on_update(self, event: Update) -> None:
        """Used by hand."""
        self.use([event.value])

    def finish(self) -> None:
        """Short programs."""
        good = {number for number, _ in self._good}
        for key, steps in self._empty.items():
            if key[0] not in good:
                self._tell(key, steps[0], 0)

    def _tell(self, key: tuple[int, Any], event: Step, parameters: int) -> None:
        if key in self._told:
            return
        self._told.add(key)
        title = event.optimizer.name or "optimizer"
        bare = uncalled(self.session.recorder.files(self.session.script), "backward")
        if self._last is None:
            seen, fix = (
                "no backward has run at all",
                f"call `loss.backward()` before `{title}.step()`",
            )
        else:
            seen = "no backward has reached its parameters since they were cleared"
            fix = f"call `loss.backward()` before `{title}.step()`, on a loss that is computed from these parameters"
        self.report(
            bare or ended_at(self.session.recorder, event.code) or event.site,
            f"{title} steps and none of its parameters has a gradient: "
            f"{seen}.{' It is mentioned here but not called (the parentheses are missing).' if bare else ''}",
            evidence={
                "step": event.number,
                "parameters": parameters or len(event.optimizer.params()),
                "last_backward": str(self._last),
            },
            fix=fix,
        )
