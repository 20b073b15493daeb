"""Numbers of 16 bits: sums and updates that are smaller than their last digit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import Op, Step, Value
from ...rule import Rule, cause_site

SHORT = ("float16", "bfloat16")
SUMS = ("index_add", "scatter_add")


class SixteenBits:
    """Follows sums and weights of 16 bits for a rule."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        # by place and tensor: a sum as it was, in how many visits it stayed
        self._sums: dict[Any, tuple[Any, int]] = {}
        # by tensor: what a sum should be, how many terms
        self._exact: dict[int, tuple[Any, int]] = {}
        self._told: set[Any] = set()
        self.cast: Op | None = None  # of a model to 16 bits
        self._stuck: dict[int, int] = {}  # by optimizer: steps that changed nothing

    def stays(self, op: Op, made: Value) -> None:
        """A sum that no longer changes, since what is added is less than its last digit."""
        target, other = op.args.get("input"), op.args.get("other", op.args.get("end"))
        if (
            not isinstance(target, Value)
            or made.requires_grad
            or made.numel > 1 << 14
            or not isinstance(other, (Value, float, int))
        ):
            return
        added = other.numpy() if isinstance(other, Value) else np.asarray(other)
        now = made.numpy()
        if now is None or added is None:
            return
        key = (op.site, made.id if op.inplace else None)
        before, count = self._sums.get(key, (None, 0))
        if not op.inplace:
            before = target.numpy()
        if before is not None and before.shape == now.shape:
            moved = np.broadcast_to(added - before if op.name == "lerp" else added, now.shape) != 0
            count = (
                count + 1
                if moved.any() and np.sum((before == now) & moved) >= 0.5 * np.sum(moved)
                else 0
            )
        self._sums[key] = (now.copy() if op.inplace else None), count
        self._stayed(op, made, now, count, "the added value")

    def stored(self, op: Op) -> None:
        """A value computed of a tensor of 16 bits in more of them, and stored there again: what it
        changed is less than a last digit.
        """
        target, value = op.args.get("input"), op.args.get("value", op.args.get("src"))
        if (
            not isinstance(target, Value)
            or not isinstance(value, Value)
            or value.dtype not in ("float32", "float64")
            or target.numel > 1 << 14
            or not _is_of(value, target)
        ):
            return
        wanted, now, index = value.numpy(), target.numpy(), op.args.get("index", ())
        place = index.numpy() if isinstance(index, Value) else index
        key = op.site, target.id
        before, count = self._sums.get(key, (None, 0))
        if now is None or wanted is None or place is None:
            return
        if before is not None and before.shape == now.shape:
            try:
                was, holds = before[place], now[place]
                moved = np.broadcast_to(wanted != was, holds.shape)
            except (IndexError, ValueError, TypeError):
                return
            stays = np.sum((was == holds) & moved)
            count = count + 1 if moved.any() and stays >= 0.5 * np.sum(moved) else 0
        self._sums[key] = now.copy(), count
        self._stayed(op, target, now, count, "what it should change")

    def _stayed(self, op: Op, made: Value, now: Any, count: int, what: str) -> None:
        if count == 3 and len(self._sums) < 1000:
            self._rule.report(
                cause_site(op),
                f"{op.name} changes nothing here: {what} is smaller than the last digit of a {made.dtype} number of this size.",
                evidence={
                    "dtype": made.dtype,
                    "shape": list(made.shape),
                    "largest": float(np.abs(now).max()),
                },
                fix="accumulate in float32",
            )

    def drifts(self, op: Op, made: Value) -> None:
        """A sum in 16 bits beside the same sum in 64: after many terms its digits no longer hold
        what is added.
        """
        before = op.inputs[0] if op.inputs else None
        if (
            before is None
            or made.requires_grad
            or not 1 <= made.numel <= 1 << 14
            or made.shape != before.shape
            or before.dtype != made.dtype
        ):
            return
        now = made.numpy()
        key = made.id if op.inplace else before.number
        held = self._exact.pop(key, None)
        total, count = held if held is not None else (None, 0)
        if now is None:
            return
        if total is None:
            total = now.astype(np.float64)
        else:
            added = _added(op, total)
            if added is None:
                return
            total = added
        if len(self._exact) > 64:
            self._exact.clear()
        self._exact[made.id if op.inplace else made.number] = total, count + 1
        if count >= 15 and count + 1 & count == 0:
            size = float(np.abs(total).max())
            digit = {"bfloat16": 2.0**-8, "float16": 2.0**-9}[made.dtype]
            if (
                size
                and np.isfinite(size)
                and float(np.abs(now - total).max()) > 2.5 * digit * size
                and op.site not in self._told
            ):
                self._told.add(op.site)
                self._rule.report(
                    cause_site(op),
                    f"after {count + 1} terms this sum in {made.dtype} is {float(np.abs(now - total).max()) / size:.0%} off: "
                    "the added values are smaller than its last digit.",
                    evidence={"dtype": made.dtype, "shape": list(made.shape), "terms": count + 1},
                    fix="accumulate in float32",
                )

    def step(self, event: Step) -> None:
        """Updates that are rounded away from weights of 16 bits."""
        if not event.before:
            return
        kept = lost = 0
        for v in event.optimizer.params():
            if v.dtype in SHORT and v.ndim > 1:
                moved, gradient = event.update(v), v.grad()
                if moved is not None and gradient is not None:
                    wanted = gradient != 0
                    kept += int(np.sum((moved != 0) & wanted))
                    lost += int(np.sum((moved == 0) & wanted))
        number = event.optimizer.number
        others = (
            sum(
                v.dtype == "float32" and v.ndim > 1 and v.requires_grad
                for v in event.optimizer.params()
            )
            if lost
            else 0
        )
        # beside layers of 32 bits: one that was left over
        if lost > 9 * kept or others and lost > 0.5 * kept:
            self._stuck[number] = count = self._stuck.get(number, 0) + 1
            if count == 3:
                self._rule.report(
                    cause_site(self.cast) if self.cast is not None else event.optimizer.site,
                    f"{'some of ' if others else ''}the weights have 16 bits, and {'many updates are' if others else 'nearly every update is'} "
                    "smaller than their last digit and rounded away.",
                    evidence={
                        "elements_unchanged": lost,
                        "changed": kept,
                        "optimizer": str(event.optimizer.site),
                    },
                    fix="keep the weights in float32 and compute in 16 bits with torch.autocast",
                )


def _is_of(value: Value, target: Value) -> bool:
    """Whether a tensor is among what a value was computed of last."""
    waiting = [value]
    for v in waiting:  # which grows, nearest first
        if v.id == target.id:
            return True
        if len(waiting) < 24 and v.producer is not None:
            waiting.extend(v.producer.inputs)
    return False


def _added(op: Op, total: Any) -> Any:
    """A sum with one more term, in 64 bits."""
    given = op.args.get("args")
    named = (
        dict(zip(("dim", "index", "source"), given, strict=False))
        if isinstance(given, (tuple, list))
        else op.args
    )
    other = named.get("other", named.get("source", named.get("src")))
    array = (
        other.numpy()
        if isinstance(other, Value)
        else np.asarray(other)
        if isinstance(other, (int, float))
        else None
    )
    factor = op.args.get("alpha", 1)
    if array is None or not isinstance(factor, (int, float)):
        return None
    array = factor * array.astype(np.float64)
    if op.name == "add":
        return (
            total + array if np.broadcast_shapes(total.shape, array.shape) == total.shape else None
        )
    index, dim = named.get("index"), named.get("dim")
    places = index.numpy() if isinstance(index, Value) else None
    if places is None or not isinstance(dim, int):
        return None
    total = total.copy()
    if op.name == "index_add":
        np.add.at(np.moveaxis(total, dim, 0), places, np.moveaxis(array, dim, 0))
    else:
        at = list(np.indices(places.shape))
        at[dim] = places
        np.add.at(total, tuple(at), array[tuple(slice(0, n) for n in places.shape)])
    return total
