"""Masks that leave what they hide in a softmax: a score of zero is no weight of zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import VIEWS, Op, Value
from ...rule import Rule

_LOOKS = 3  # at each place
_WEAK = 0.2  # of the weight of what is not hidden
_BETWEEN = VIEWS | {"div", "add", "sub", "mul", "dropout"}


class MaskWithoutEffect(Rule):
    """Scores are set to zero, or to another number near the others, before a softmax."""

    slug = "mask-without-effect"
    id = "PL915"
    severity = "error"
    summary = "masked scores keep their weight in a softmax"
    ops = ("mul", "masked_fill", "where", "softmax", "log_softmax")

    def __init__(self) -> None:
        self._looks: dict[Any, int] = {}
        self._masked: dict[int, tuple[Any, str, float, Any]] = {}
        self._told: set[Any] = set()

    def on_op(self, op: Op) -> None:
        """Scores are masked, or become weights."""
        if op.name in ("softmax", "log_softmax"):
            if self._masked:
                self._weights(op)
            return
        if op.inplace and op.name != "masked_fill" or not op.grad_enabled:
            return
        out = op.output
        if out is None or out.ndim < 2 or not out.requires_grad or not out.is_floating_point:
            return
        if self._looks.get(op.site, 0) >= _LOOKS:
            return
        found = _hidden(op)
        if found is None:
            return
        self._looks[op.site] = self._looks.get(op.site, 0) + 1
        self._masked[op.number] = (op.site, *found)
        if len(self._masked) > 16:
            del self._masked[min(self._masked)]

    def _weights(self, op: Op) -> None:
        value = op.inputs[0] if op.inputs else None
        for _ in range(6):
            made = value.producer if value is not None else None
            if made is None or not made.inputs:
                return
            if made.number in self._masked:
                self._judge(op, made)
                return
            if made.name not in _BETWEEN:
                return
            value = made.inputs[0]

    def _judge(self, op: Op, made: Op) -> None:
        site, how, number, mask = self._masked.pop(made.number)
        out = op.output
        array = out.numpy() if out is not None else None
        if array is None or site in self._told or out is None:
            return
        if op.name == "log_softmax":
            array = np.exp(array)
        try:
            hidden = np.broadcast_to(mask, array.shape)
        except ValueError:
            return
        if not hidden.any() or hidden.all():
            return
        weight, other = float(array[hidden].mean()), float(array[~hidden].mean())
        if weight < _WEAK * other:
            return
        self._told.add(site)
        self.report(
            site,
            f"{how} before a softmax: a score of {number:g} gets a weight of exp({number:g}), and what the mask hides "
            f"still has {weight / other:.0%} of the weight of what it shows, on average.",
            evidence={
                "weight_of_hidden": weight,
                "weight_of_others": other,
                "softmax": str(op.site),
            },
            fix='scores.masked_fill(mask, float("-inf")) before the softmax',
        )


def _hidden(op: Op) -> tuple[str, float, Any] | None:
    """(what is done, the score that hidden places get, where they are) of an operation that masks."""
    if op.name == "mul":
        both = [op.args.get("input"), op.args.get("other")]
        masks = [v for v in both if isinstance(v, Value) and not v.requires_grad and v.numel > 3]
        if len(masks) != 1 or len(op.inputs) != 2:
            return None
        array = masks[0].numpy()
        if array is None or not np.isin(array, (0, 1)).all() or array.all() or not array.any():
            return None
        made = masks[0].producer
        if made is not None and made.name in ("bernoulli", "dropout"):
            return None
        return "scores are multiplied by a mask of 0 and 1", 0.0, array == 0
    if op.name == "masked_fill":
        given = op.args.get("args", ())
        mask, number = given if len(given) == 2 else (op.args.get("mask"), op.args.get("value"))
    else:
        mask, number = op.args.get("condition"), op.args.get("other")
        if isinstance(number, Value) or not isinstance(op.args.get("input"), Value):
            return None
    if not isinstance(mask, Value) or not isinstance(number, (int, float)) or number < -20:
        return None
    array = mask.numpy()
    if array is None or array.dtype != bool:
        return None
    return (
        f"masked scores are set to {number:g}",
        float(number),
        array if op.name == "masked_fill" else ~array,
    )
