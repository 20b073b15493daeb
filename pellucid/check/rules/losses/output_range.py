"""Predictions that an activation holds in a range which the targets leave."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import VIEWS, Op, Value, ancestors, lineage
from ...rule import Rule, cause_site
from ..values.units import last_activation

RANGES = {
    "relu": (0.0, np.inf),
    "relu6": (0.0, 6.0),
    "softplus": (0.0, np.inf),
    "exp": (0.0, np.inf),
    "sigmoid": (0.0, 1.0),
    "hardsigmoid": (0.0, 1.0),
    "softmax": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
    "hardtanh": (-1.0, 1.0),
}
"""Activations and what they can give."""

BOUNDED = frozenset("sigmoid hardsigmoid softmax tanh".split())
"""Those that `label-range` tells of."""
_BEYOND = 0.1  # of the targets
_TIMES = 3


class OutputRange(Rule):
    """A regression whose last layer is an activation that cannot give many of the targets."""

    slug = "output-range"
    id = "PL219"
    severity = "error"
    summary = "the last activation cannot reach the targets"
    ops = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "sub")
    supersedes = ("loss-at-chance",)
    covered = ("dead-units",)

    def __init__(self) -> None:
        self._seen: dict[Any, list[int]] = {}  # by place: how often seen, how often beyond

    def on_op(self, op: Op) -> None:
        """A distance between predictions and targets."""
        given, target = op.args.get("input"), op.args.get("target", op.args.get("other"))
        if not isinstance(given, Value) or not isinstance(target, Value) or not op.grad_enabled:
            return
        if op.name == "sub" and target.requires_grad:
            given, target = target, given
        if not given.requires_grad or target.requires_grad or given.shape != target.shape:
            return
        if target.numel < 4 or target.producer is not None and target.producer.name == "detach":
            return
        made = _activation(given)
        if made is None or made.name in BOUNDED and op.name != "sub":
            return
        site = cause_site(made)
        seen = self._seen.setdefault(site, [0, 0])
        if seen[0] >= 2 * _TIMES:
            return
        array = target.numpy()
        if array is None or array.dtype.kind != "f":
            return
        low, high = RANGES[made.name]
        spread = float(array.max() - array.min()) or 1.0
        if not np.isfinite(spread):
            return
        margin = 0.05 * min(spread, high - low)
        beyond = float(np.mean((array < low - margin) | (array > high + margin)))
        seen[0] += 1
        seen[1] += beyond >= _BEYOND
        if seen[1] == _TIMES and seen[0] == _TIMES and site is not None:
            place = last_activation(self.session.recorder, made, _calls(made))
            reach = "below 0" if high == np.inf else f"outside of {low:g} to {high:g}"
            self.report(
                place,
                f"the predictions end with {made.name}, and {beyond:.0%} of the targets are {reach}: no weights can reach them.",
                evidence={
                    "activation": made.name,
                    "targets": [float(array.min()), float(array.max())],
                    "loss": str(op.site),
                },
                fix="leave the last activation out, or scale the targets into its range",
                covers=[place],
            )


def _calls(made: Op) -> int:
    """How many places call the module of an activation on the way to its result."""
    call = made.module
    if call is None or made.direct:
        return 1
    before = (op.module for op in ancestors([*made.inputs], 500) if op.module is not None)
    return len({call.site, *(other.site for other in before if other.module is call.module)})


def _activation(value: Value) -> Op | None:
    made = next(iter(lineage(value, frozenset())), None)
    for _ in range(6):
        if made is None or made.name in RANGES:
            return made
        if made.name not in VIEWS or not made.inputs or made.name in ("data", "detach"):
            return None
        made = made.inputs[0].producer
    return None
