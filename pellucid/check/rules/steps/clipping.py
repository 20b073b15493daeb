"""Gradient clipping that clips nothing, or everything: nothing is handed to it, there is nothing to
clip yet, or the gradients are still scaled.
"""

from __future__ import annotations

import inspect
from typing import Any

from ...events import Backward, Called, Cleared, Op, Site, Step, Update, updated_leaf
from ...rule import Rule

CLIPS = ("clip_grad_norm_", "clip_grad_value_")
OFTEN = 3  # calls without effect, and none with one


class ClippingWithoutEffect(Rule):
    """`clip_grad_norm_` of a generator that is used up, after the step, or before the backward."""

    slug = "clipping-without-effect"
    id = "PL312"
    severity = "error"
    summary = (
        "gradients are clipped at a time when clipping has no effect, or repeatedly in one step"
    )
    supersedes = ("lr-absurd", "exploding-gradient")
    ops = ("clamp",)

    def __init__(self) -> None:
        self._fresh: set[int] = set()  # ids of leaves whose gradients no step has used yet
        # by place: calls without and with something to clip; whether its argument was used up
        self._calls: dict[Site, tuple[int, int, bool]] = {}
        self._scaled: Site | None = None  # a backward from a scaled loss, not unscaled since
        self._moved: set[int] = (
            set()
        )  # ids of parameters that were stepped on, and not clamped since
        # by place: weights that were clamped after a step, and again without one
        self._clamps: dict[Site, list[int]] = {}
        self._since: dict[Site, int] = {}  # by place: clips of gradients that were there before
        self._often: dict[Site, int] = {}  # by place: steps before which that was so
        self._added = False  # a backward has added to gradients that were there, since the clip
        self._large: dict[Site, tuple[int, Site]] = {}  # by place: how often clipped while scaled

    def on_call(self, event: Called) -> None:
        """Gradients are clipped."""
        if event.name == "unscale_":
            self._scaled = None
        elif event.name in CLIPS and event.site is not None and self._scaled is not None:
            count, _ = self._large.get(event.site, (0, self._scaled))
            self._large[event.site] = count + 1, self._scaled
        if event.name not in CLIPS or event.site is None:
            return
        given = event.args[0] if event.args else event.kwargs.get("parameters")
        used_up = (
            inspect.isgenerator(given) and inspect.getgeneratorstate(given) == inspect.GEN_CLOSED
        )
        empty, full, _ = self._calls.get(event.site, (0, 0, False))
        nothing = used_up or not self._fresh
        self._calls[event.site] = empty + nothing, full + (not nothing), used_up
        if self._added and event.site in self._since:
            self._since[event.site] += 1
        else:
            self._since[event.site] = 0
        self._added = False

    def on_op(self, op: Op) -> None:
        """Weights are clamped."""
        leaf = updated_leaf(op)
        if leaf is None or op.site is None:
            return
        held = self._clamps.setdefault(op.site, [0, 0])
        held[leaf.id not in self._moved] += 1
        self._moved.discard(leaf.id)

    def on_backward(self, event: Backward) -> None:
        """Gradients are there."""
        self._fresh.update(a.value.id for a in event.accumulated)
        self._added |= any(a.onto for a in event.accumulated)
        made = event.roots[0].producer if event.roots else None
        call = made.site.call if made is not None and made.site is not None else None
        scaled = made is not None and made.name == "mul" and not made.direct
        if (
            scaled
            and call is not None
            and ((call.function or "").endswith(".scale") or _scales(call))
        ):
            self._scaled = event.site

    def on_step(self, event: Step) -> None:
        """Gradients are used."""
        self._scaled = None
        for site, again in self._since.items():
            self._often[site] = self._often.get(site, 0) + (again > 0)
        self._since.clear()
        params = {v.id for v in event.optimizer.params()}
        self._fresh -= params
        if self._clamps or event.number < 2:
            self._moved |= params

    def on_update(self, event: Update) -> None:
        """A gradient is used by hand."""
        self._fresh.discard(event.value.id)

    def on_clear(self, event: Cleared) -> None:
        """Gradients are gone."""
        self._fresh -= {v.id for v in event.values}
        if not self._fresh:
            self._since.clear()
            self._added = False

    def finish(self) -> None:
        """Places that never had anything to clip, or clip what is still scaled."""
        for site, (after, again) in self._clamps.items():
            if again >= 8 and again > after > 0:
                self.report(
                    site,
                    f"these weights are clamped {again + after} times, {again} of them although their optimizer has not stepped since the last "
                    "time: the optimizer that steps trains another network.",
                    evidence={"after_a_step": after, "without_one": again},
                    fix="clamp the weights of the critic, after the critic's step",
                )
        for site, steps in self._often.items():
            if steps >= OFTEN:
                self.report(
                    site,
                    "accumulated gradients are clipped after each batch, so the first batches of a step are scaled down again and again.",
                    evidence={"steps": steps},
                    fix="clip once, right before `optimizer.step()`",
                )
        for site, (count, backward) in self._large.items():
            if count >= OFTEN:
                self.report(
                    site,
                    "gradients are clipped here while they are still scaled by the GradScaler, so the limit is far too small for them.",
                    evidence={"calls": count, "backward": str(backward)},
                    fix="call `scaler.unscale_(optimizer)` before clipping",
                )
        for site, (empty, full, used_up) in self._calls.items():
            if empty < OFTEN or full:
                continue
            if used_up:
                self.report(
                    site,
                    "the parameters to clip are a generator that other code has already exhausted, so nothing is clipped.",
                    evidence={"calls": empty},
                    fix="call `model.parameters()` again, or keep a list: `list(model.parameters())`",
                )
            else:
                self.report(
                    site,
                    "gradients are clipped here before backward computes them, or after the step has used them: each step uses them unclipped.",
                    evidence={"calls": empty},
                    fix="clip between `backward()` and `step()`",
                )


def _scales(call: Any) -> bool:
    """Whether `scaler.scale(loss).backward()` is the call."""
    return ".scale(" in (call.function or "")
