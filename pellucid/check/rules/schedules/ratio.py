"""Probability ratios of policy gradients that compare the policy with itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...events import VIEWS, Op, Site, Value, lineage, made_by
from ...rule import Rule
from ..losses.formulas import around_one
from ..losses.origin import Repeated
from ..source.places import assigned_before

_BETWEEN = VIEWS | {"exp", "sum", "mean"}  # from the log-probabilities' difference to the ratio
_ROUNDING = 1e-6
_KEPT = 64  # updates that are remembered for each ratio
_DEPTH = 2000


class _Ratio:
    """What has been seen of the ratio at one place."""

    __slots__ = ("moved", "steps")

    def __init__(self) -> None:
        self.moved = False  # it was once that of an older policy
        # by the samples that it was computed from: the steps
        self.steps: dict[frozenset[tuple[int, int, int]], set[int]] = {}


class RatioAlwaysOne(Rule):
    """The old log-probabilities of a clipped ratio are those of the policy that is updated."""

    slug = "ratio-always-one"
    id = "PL314"
    severity = "error"
    summary = "old log-probabilities are recomputed at each update, so the ratio is always 1"
    ops = ("clamp",)

    def __init__(self) -> None:
        self._ratios: dict[Site, _Ratio] = {}
        self._equal = Repeated(looks=_KEPT, times=4)
        self._apart: set[Site | None] = set()  # places where old and new have differed

    def on_op(self, op: Op) -> None:
        """A ratio is clipped."""
        ratio = op.args.get("input")
        if not isinstance(ratio, Value) or not ratio.requires_grad or op.site is None:
            return
        if not ratio.ndim or ratio.numel < 4 or not around_one(op):
            return
        held = self._ratios.get(op.site)
        if held is not None and held.moved:
            return
        compared = next((o for o in lineage(ratio, _BETWEEN) if o.name in ("sub", "div")), None)
        if compared is None or len(compared.inputs) != 2:
            return
        new, old = compared.inputs
        if new.requires_grad and old.requires_grad and self._itself(compared, op, ratio):
            return
        if not new.requires_grad or old.requires_grad:
            return
        if held is None:
            held = self._ratios[op.site] = _Ratio()
        made = made_by(old)
        values = ratio.numpy()
        if made is None or made.step != op.step or values is None:
            held.moved = True
            return
        if np.abs(values - 1).max() > _ROUNDING:
            held.moved = True
            return
        samples = _samples(new)
        if not samples or len(held.steps) >= _KEPT and samples not in held.steps:
            return
        steps = held.steps.setdefault(samples, set())
        steps.add(op.step)
        # with batches of selected rows each sample has been used once in as many steps
        if len(steps) > 1 and len(steps) * ratio.shape[0] > max(rows for *_, rows in samples):
            self._tell(compared, op, len(steps))

    def _itself(self, compared: Op, clipped: Op, ratio: Value) -> bool:
        """Whether both sides have a gradient and are equal: nothing flows through the ratio."""
        values = ratio.numpy()
        if values is None or np.abs(values - 1).max() > _ROUNDING:
            self._apart.add(compared.site)
        if compared.site in self._apart:
            return False
        if self._equal.again(compared.site):
            self.report(
                self._made_at(compared) or clipped.site,
                "the ratio of new to old probabilities is exactly 1 and has no gradient, because both are the same tensor: the gradients cancel.",
                evidence={"clipped_at": clipped.site, "ratio_at": compared.site},
                fix="compute the old log-probabilities once, without gradients, before the first update of these samples",
            )
        return True

    def _made_at(self, compared: Op) -> Any:
        """The line that made the old log-probabilities."""
        text = compared.written("other")
        if text is not None and text.isidentifier():
            return assigned_before(compared.site, text) or compared.site
        return compared.site

    def _tell(self, compared: Op, clipped: Op, updates: int) -> None:
        self.report(
            self._made_at(compared) or clipped.site,
            "the ratio of new to old probabilities is exactly 1 in each update on the same "
            "samples: the old log-probabilities come from the policy that is being updated, so "
            "clipping has no effect.",
            evidence={"updates": updates, "clipped_at": clipped.site, "ratio_at": compared.site},
            fix="compute the old log-probabilities once, without gradients, before the first update of these samples",
        )


def _with_gradient(value: Value) -> Iterator[Op]:
    """The operations that a value comes from, as far as gradients flow."""
    seen: set[int] = set()
    waiting = [value]
    while waiting and len(seen) < _DEPTH:
        op = waiting.pop().producer
        if op is not None and op.number not in seen:
            seen.add(op.number)
            yield op
            waiting.extend(v for v in op.inputs if v.requires_grad and v.parameter is None)


def _before(value: Value) -> Value | None:
    """What a value is another arrangement of, or rows of."""
    op = value.producer
    if op is None or not op.inputs:
        return None
    if op.name == "broadcast_tensors":  # as PyTorch's distributions call it
        return op.inputs[value.index]
    return op.inputs[0] if op.name in VIEWS else None


def _samples(value: Value) -> frozenset[tuple[int, int, int]]:
    """(id, version, rows) of the tensors without a gradient that a value is computed from; of
    selected rows those of the tensor that they are selected from.
    """
    found = set()
    for op in _with_gradient(value):
        for v in op.inputs:
            if v.requires_grad or not v.ndim or v.parameter is not None:
                continue
            rows = v.shape[0]
            while (before := _before(v)) is not None:
                v = before
                rows = max([rows, *v.shape[:1]])
            found.add((v.id, v.version, rows))
    return frozenset(found)
