"""Find the axis of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import ARITHMETIC, Failure, Op, Value
from ...rule import Rule
from ..source.places import receiver
from .labels import BINARY, CLASS_LOSSES, REGRESSION, named

_ALONG = frozenset(
    "dropout contiguous clone detach data cpu to float double half bfloat16 type clamp log_softmax softmax sigmoid relu log exp masked_fill "
    "requires_grad_ long int neg".split()
)


def class_axis(value: Any) -> tuple[int, str] | None:
    """(axis of the classes, name of the operation that put them there), None where that is not
    certain.
    """
    turns: list[tuple[Op, int]] = []
    for _ in range(30):
        if not isinstance(value, Value):
            return None
        op = value.producer
        if op is None or not op.inputs:
            return None
        name, before = op.name, op.inputs[0]
        if name in ("linear", "one_hot"):
            axis: int | None = value.ndim - 1
            break
        if name in (
            "conv1d",
            "conv2d",
            "conv3d",
            "conv_transpose1d",
            "conv_transpose2d",
            "conv_transpose3d",
        ):
            axis = 1 if value.ndim == {"1": 3, "2": 4, "3": 5}[name[-2]] else None
            break
        if name == "einsum":
            axis = _of_weight(op)
            break
        if (
            name == "matmul"
            and len(op.inputs) == 2
            and op.inputs[1].ndim == 2
            and op.inputs[1].is_leaf
            and op.inputs[1].requires_grad
        ):
            axis = value.ndim - 1
            break
        if name in ("transpose", "permute", "t", "T", "mT", "movedim"):
            turns.append((op, value.ndim))
        elif name in ("view", "reshape"):
            if before.shape[-1:] != value.shape[-1:] or not value.shape:
                return None
            inner = class_axis(before)
            if inner is None or inner[0] != before.ndim - 1:
                return None
            axis, name = value.ndim - 1, inner[1]
            break
        elif name in ARITHMETIC:
            if len(op.inputs) != 1:
                return None
        elif name not in _ALONG or before.shape != value.shape:
            return None
        value = before
    else:
        return None
    if axis is None or value.shape[axis] < 2:
        return None
    for op, ndim in reversed(turns):
        axis = _turned(op, axis, ndim) if axis is not None else None
    return None if axis is None else (axis, name)


def _of_weight(op: Op) -> int | None:
    """The axis of an einsum's result that comes out of a trained matrix alone: its letter stands in
    no other operand.
    """
    given = op.args.get("args") or (op.args.get("equation"),)
    equation = given[0] if isinstance(given, (tuple, list)) and given else None
    terms = equation.replace(" ", "").split("->") if isinstance(equation, str) else []
    letters = terms[0].split(",") if len(terms) == 2 and "." not in terms[0] else []
    if len(letters) != 2 or len(op.inputs) != 2:
        return None
    for weight, own, other in zip(op.inputs, letters, letters[::-1], strict=True):
        new = [c for c in terms[1] if c in own and c not in other]
        if weight.is_leaf and weight.requires_grad and weight.ndim == 2 and len(new) == 1:
            return terms[1].index(new[0])
    return None


def _turned(op: Op, axis: int, ndim: int) -> int | None:
    """Where an axis goes."""
    if op.name == "permute":
        dims = op.args.get("dims")
        if not isinstance(dims, (tuple, list)) or not all(isinstance(d, int) for d in dims):
            return None
        return [d % ndim for d in dims].index(axis)
    if op.name == "movedim":
        source, target = op.args.get("source"), op.args.get("destination")
        if not isinstance(source, int) or not isinstance(target, int):
            return None
        order = [k for k in range(ndim) if k != source % ndim]
        order.insert(target % ndim, source % ndim)
        return order.index(axis)
    if op.name == "transpose":
        a, b = op.args.get("dim0"), op.args.get("dim1")
        if not isinstance(a, int) or not isinstance(b, int):
            return None
    elif ndim != 2 and op.name != "mT":
        return None
    else:
        a, b = -2, -1
    a, b = a % ndim, b % ndim
    return b if axis == a else a if axis == b else axis


class ClassDimMisplaced(Rule):
    """Losses look for the classes on axis 1, and `argmax` on the axis that it is told."""

    slug = "class-dim-misplaced"
    id = "PL210"
    severity = "error"
    summary = "the classes are on another axis than the operation expects"
    ops = (*CLASS_LOSSES, *REGRESSION, *BINARY, "mul", "eq", "ne")

    def on_op(self, op: Op) -> None:
        """Shapes that fit by chance."""
        if op.name in CLASS_LOSSES:
            self._in_loss(op)
        elif op.name in ("eq", "ne"):
            self._in_choice(op)
        else:
            self._beside_one_hot(op)

    def on_error(self, failure: Failure) -> None:
        """Shapes that do not fit."""
        op = failure.op
        if op is None or op.name not in self.ops:
            return
        if op.name in ("eq", "ne"):
            self._in_choice(op)
        elif op.name not in CLASS_LOSSES:
            self._beside_one_hot(op)
        else:
            scores, target = op.args.get("input"), op.args.get("target")
            if not isinstance(scores, Value) or not isinstance(target, Value):
                return
            last = scores.ndim >= 3 and target.shape == scores.shape[:-1]
            turned = scores.ndim == 2 and target.shape == scores.shape[1:]
            if not (last or turned) or scores.shape[:1] + scores.shape[2:] == target.shape:
                return
            self._tell(op, scores, target, scores.ndim - 1 if last else 0)

    def _in_loss(self, op: Op) -> None:
        scores, target = op.args.get("input"), op.args.get("target")
        if not isinstance(scores, Value) or not isinstance(target, Value) or scores.ndim < 3:
            return
        found = class_axis(scores)
        if found is None or found[0] == 1:
            return
        axis = found[0]
        if target.shape == scores.shape:
            array = target.numpy()
            if array is None or array.dtype.kind != "f":
                return
            here, there = np.abs(array.sum(axis) - 1).max(), np.abs(array.sum(1) - 1).max()
            if here < 1e-3 < there:
                self._tell(op, scores, target, axis)
        elif scores.shape[1] == scores.shape[axis]:
            self._tell(op, scores, target, axis)

    def _tell(self, op: Op, scores: Value, target: Value, axis: int) -> None:
        name = named(op, "input", "the input")
        given = receiver(name)
        if scores.ndim == 2:
            move = f"`{given}.T`"
        elif axis == scores.ndim - 1:
            move = f"`{given}.transpose(1, 2)`" if scores.ndim == 3 else f"`{given}.movedim(-1, 1)`"
        else:
            move = f"`{given}.movedim({axis}, 1)`"
        self.report(
            op.site,
            f"{op.name} expects the classes on axis 1 of {name}, {list(scores.shape)}, but they are on axis {axis}.",
            evidence={
                "input": list(scores.shape),
                "target": list(target.shape),
                "looked_at": 1,
                "classes_at": axis,
            },
            fix=f"move the classes to axis 1: {move}, or flatten both to one row per label",
        )

    def _in_choice(self, op: Op) -> None:
        """`argmax` over another axis than that of the classes, compared with labels."""
        for chosen, labels in (
            (op.args.get("input"), op.args.get("other")),
            (op.args.get("other"), op.args.get("input")),
        ):
            if not isinstance(chosen, Value) or not isinstance(labels, Value):
                return
            made = chosen.producer
            while (
                made is not None
                and made.inputs
                and (
                    made.name in ("to", "long", "int", "detach", "cpu", "view", "squeeze", "float")
                    or made.name in ("getitem", "reshape", "flatten", "clone", "contiguous")
                    and made.inputs[0].shape == chosen.shape
                )
            ):
                made = made.inputs[0].producer
            if made is None or made.name not in ("argmax", "max", "topk") or labels.numel == 1:
                continue
            scores, dim = made.args.get("input"), made.args.get("dim")
            if isinstance(scores, Value) and dim is None and self._of_all(made, scores, labels, op):
                return
            if not isinstance(scores, Value) or not isinstance(dim, int) or labels.producer is made:
                continue
            found = class_axis(scores)
            if found is None or found[0] == dim % scores.ndim or found[1] == "one_hot":
                continue
            if (
                labels.shape == chosen.shape
                and scores.shape[found[0]] != scores.shape[dim % scores.ndim]
            ):
                continue  # the labels were made for this axis
            self.report(
                made.site,
                f"{made.name} runs along dim {dim} of {list(scores.shape)}, but the classes are on axis {found[0]}: it does not choose a class.",
                evidence={
                    "dim": dim,
                    "shape": list(scores.shape),
                    "classes_at": found[0],
                    "compared_at": str(op.site),
                },
                fix=f"use `dim={found[0]}`",
            )
            return

    def _of_all(self, made: Op, scores: Value, labels: Value, op: Op) -> bool:
        """`argmax()` without an axis gives one place in all the scores of a batch."""
        rows = labels.shape[0] if labels.ndim else 0
        if (
            made.name != "argmax"
            or scores.ndim < 2
            or rows < 2
            or scores.shape[0] != rows
            or labels.is_floating_point
            or labels.dtype == "bool"
            or labels.producer is not None
            and labels.producer.name == "arange"
        ):
            return False
        self.report(
            made.site,
            f"argmax without `dim` returns a single position among all {scores.numel} numbers of {list(scores.shape)}, but it is compared with "
            f"{rows} labels.",
            evidence={
                "shape": list(scores.shape),
                "labels": list(labels.shape),
                "compared_at": str(op.site),
            },
            fix="choose a class for each row: `argmax(dim=1)`",
        )
        return True

    def _beside_one_hot(self, op: Op) -> None:
        a = op.args.get("input")
        b = op.args.get("target", op.args.get("other"))
        if not isinstance(a, Value) or not isinstance(b, Value) or a.ndim != b.ndim or a.ndim < 3:
            return
        first, second = class_axis(a), class_axis(b)
        if (
            first is None
            or second is None
            or first[0] == second[0]
            or (first[1] == "one_hot") == (second[1] == "one_hot")
        ):
            return
        name = (
            (named(op, "target", "") or named(op, "other", "the target"))
            if second[1] == "one_hot"
            else named(op, "input", "it")
        )
        rows, scores = (second[0], first[0]) if second[1] == "one_hot" else (first[0], second[0])
        self.report(
            op.site,
            f"{op.name} combines one-hot rows (classes on axis {rows}) with scores whose classes are on axis {scores}.",
            evidence={
                "input": list(a.shape),
                "other": list(b.shape),
                "one_hot_at": rows,
                "classes_at": scores,
            },
            fix=f"move the classes of the one-hot rows: `{receiver(name)}.movedim({rows}, {scores})`",
        )
