"""Copies of parameters that are none: the same memory under another name."""

from __future__ import annotations

from typing import Any

from ...events import Op, Site, Value
from ...rule import Rule

_KEPT = 256


class SnapshotAliased(Rule):
    """A parameter is compared with, or set back to, what `p.data`, `p.detach()` or a state_dict gave
    before a step: that has been changed by the step, too.
    """

    slug = "snapshot-aliased"
    id = "PL513"
    severity = "error"
    summary = "a kept copy of a parameter is the parameter itself and changes with it"
    covered = ("param-shared",)
    ops = ("sub", "mse_loss", "l1_loss", "dist", "copy", "data", "detach")

    def __init__(self) -> None:
        # by id of what was taken of a parameter: at which step, and where
        self._first: dict[int, tuple[int, Site | None]] = {}
        # by place: what was taken there last, and whether a step came while that was still kept
        self._kept: dict[Site, tuple[int, Value]] = {}
        self._stale: set[Site] = set()
        self._told: set[Any] = set()

    def on_op(self, op: Op) -> None:
        """Two tensors of one size meet: are they the same numbers in the same place?"""
        if op.name in ("data", "detach"):
            self._begun(op)
            return
        if len(op.inputs) != 2:
            return
        one, other = op.inputs
        if one.shape != other.shape or one.id == other.id or not one.numel:
            return
        one, other = (one, other) if one.is_leaf else (other, one)
        leaf = _leaf(one) or _leaf(other)
        if leaf is None:
            return
        held = other if leaf is one or _leaf(one) is leaf else one
        if held is leaf or _computed(held) or _computed(one):
            return
        a, b = one.numpy(), other.numpy()
        if a is None or b is None or not a.size:
            return
        if a.__array_interface__["data"] != b.__array_interface__["data"]:
            return
        if held.id not in self._first and len(self._first) < _KEPT:
            self._first[held.id] = op.step, None
        known = self._first.get(held.id)
        if known is None or op.step <= known[0] and known[1] not in self._stale:
            return
        place = known[1] or op.site
        if place is None or place in self._told:
            return
        self._told.add(place)
        what = "set back to" if op.name == "copy" else "compared with"
        self.report(
            place,
            f"this keeps the memory of a parameter itself instead of a copy: each step changes both, so they are equal when they are {what} each "
            "other later.",
            evidence={"used_at": str(op.site), "shape": list(held.shape)},
            fix="keep a copy: `.detach().clone()`, or copy.deepcopy(model.state_dict())",
            covers=[place],
        )

    def _begun(self, op: Op) -> None:
        """What is taken of a parameter: when, and where."""
        out, of = op.output, op.inputs[0] if op.inputs else None
        if out is None or of is None or op.site is None:
            return
        # of a parameter itself, or of what a state_dict gave
        if not (of.is_leaf and of.requires_grad or op.direct and not _computed(of)):
            return
        self._first[out.id] = op.step, op.site
        if op.direct:
            step, last = self._kept.get(op.site, (op.step, out))
            if step < op.step and last.tensor is not None:
                self._stale.add(op.site)
            if step < op.step or op.site not in self._kept:
                self._kept[op.site] = op.step, out
        if len(self._first) > _KEPT:
            del self._first[next(iter(self._first))]


def _computed(value: Value) -> bool:
    made = value.producer
    return made is not None and made.name not in ("data", "detach") and not made.inplace


def _leaf(value: Value) -> Value | None:
    """The parameter that a value is, or whose data it is."""
    for _ in range(3):
        if value.is_leaf and value.requires_grad:
            return value
        made = value.producer
        if made is None or made.name not in ("data", "detach") or not made.inputs:
            return None
        value = made.inputs[0]
    return None
