"""Inputs or labels that are the same number in every row of every batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import VIEWS, ModuleCall, Op, Site, Value, ancestors, lineage

COMPARISONS = ("gt", "ge", "lt", "le", "eq", "ne")
MAKES = ("from_numpy", "tensor", "as_tensor")
_LOOKS = 48  # of one place
_FEWEST = 8  # looks
_LARGEST = 1 << 18


class Alike:
    """Follows what models are given, what losses compare with, and comparisons that have one answer."""

    def __init__(self, recorder: Any) -> None:
        self._recorder = recorder
        # by place of a comparison: how often looked at, the only answer (None when there are two)
        self._answers: dict[Site, list[Any]] = {}
        self._made: Site | None = None  # where the data set's own code made a tensor last
        # by path of a model: looks, the only row so far (None when there are two), its place
        self._rows: dict[str, list[Any]] = {}
        # by place of a loss: looks, the only label so far (None when there are two), a comparison
        self._labels: dict[Site | None, list[Any]] = {}

    def op(self, op: Op) -> None:
        """A comparison with a number, or a tensor that is made of numbers."""
        if op.name in MAKES:
            if self._recorder.fetching is not None and op.direct:
                self._made = op.site
            return
        if len(op.inputs) != 1 or op.inputs[0].requires_grad or op.site is None:
            return
        held = self._answers.setdefault(op.site, [0, -1])
        out = op.output
        if held[1] is None or held[0] >= _LOOKS or out is None or not 1 < out.numel <= _LARGEST:
            return
        answer = out.numpy()
        if answer is None or answer.dtype.kind != "b":
            return
        held[0] += 1
        if answer.any() != answer.all() or held[1] not in (-1, bool(answer.flat[0])):
            held[1] = None
        else:
            held[1] = bool(answer.flat[0])

    def entered(self, call: ModuleCall) -> None:
        """A model is given a batch."""
        value = call.inputs[0] if call.inputs else None
        if not call.training or not call.grad_enabled or value is None or value.requires_grad:
            return
        if value.ndim < 2 or value.shape[0] < 4 or not value.is_floating_point:
            return
        held = self._rows.setdefault(call.path, [0, -1, None])
        if held[1] is None or held[0] >= _LOOKS or value.numel > _LARGEST:
            return
        if any(op.module is not None for op in ancestors([value], 60)):  # no batch of the data
            held[1] = None
            return
        rows = value.numpy()
        if rows is None:
            return
        rows = rows.reshape(len(rows), -1)
        held[0] += 1
        if (rows[1] != rows[0]).any() or not np.array_equal(rows, rows[:1].repeat(len(rows), 0)):
            held[1] = None
        elif held[0] == 1 or np.array_equal(held[1], rows[0]):
            held[1] = rows[0].copy()
            held[2] = _first_made(value) or self._made or held[2]
        else:
            held[1] = None

    def target(self, op: Op, labels: Any) -> None:
        """A loss compares with labels."""
        held = self._labels.setdefault(op.site, [0, -1, None])
        if held[1] is None or labels.size < 4:
            return
        held[0] += 1
        first = labels.flat[0].item()
        if held[1] not in (-1, first) and held[0] > 1 or (labels != first).any():
            held[1] = None
            return
        held[1] = first
        target = op.args.get("target")
        made = (
            next(
                (
                    o.site
                    for o in lineage(target, VIEWS | {"stack", "cat", *COMPARISONS}, 20)
                    if o.name in COMPARISONS
                ),
                None,
            )
            if isinstance(target, Value)
            else None
        )
        held[2] = made or held[2]

    def found(self) -> tuple[Any, str, dict[str, Any], str] | None:
        """(place, message, evidence, fix) of labels or inputs that are all the same."""
        constant = [
            k for k, v in self._answers.items() if v[0] >= _FEWEST and v[1] in (True, False)
        ]
        for site, (looks, only, made) in self._labels.items():
            if looks < _FEWEST or only is None:
                continue
            place = made if made in constant else None
            place = place or (constant[0] if len(constant) == 1 and made is None else None)
            if place is not None:
                return (
                    place,
                    f"this comparison gives {bool(self._answers[place][1])} for every element of every sample, so all labels are {only:g}.",
                    {"loss": site, "looks": looks},
                    "compare with a number inside the range of the data, such as 0.5 for data between 0 and 1",
                )
        varied = any(v[1] is None for v in self._labels.values())
        for path, (looks, row, made) in self._rows.items():
            if looks >= _FEWEST and isinstance(row, np.ndarray) and made is not None and varied:
                return (
                    made,
                    f"all rows of all batches that {path} gets are the same, while the labels differ: the input contains no information about them.",
                    {"rows": looks, "first": row[:4].tolist()},
                    "look at one sample. Integer division of 8-bit pixels, for example, leaves zeros: use `x / 255` instead of `x // 255`",
                )
        return None


def _first_made(value: Value) -> Site | None:
    """The first of the program's own operations that a value comes from."""
    found = None
    for op in lineage(value, VIEWS | {"stack", "cat", "div", "mul", "sub", "add"}, 60):
        found = op.site if op.direct and op.site is not None else found
    return found
