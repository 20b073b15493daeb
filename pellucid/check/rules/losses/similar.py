"""Contrastive losses: similarities of rows that are not of unit length, or of a row with itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import Op, Value, lineage
from ...rule import Rule

_TURNS = frozenset("T t mT transpose permute swapaxes adjoint".split())
_SCALES = frozenset("div mul add sub clone contiguous float".split())
_TIMES = 2


class SimilarityWrong(Rule):
    """`z @ z.T` of which the diagonal stays among the candidates; rows that were normalized along the
    batch instead of along their features.
    """

    slug = "similarity-wrong"
    id = "PL220"
    severity = "error"
    summary = "similarities of a contrastive loss include each row itself, or are of rows that are not normalized"
    ops = ("matmul", "mm", "cross_entropy", "log_softmax", "logsumexp")
    supersedes = ("loss-at-chance",)

    def __init__(self) -> None:
        self._count: dict[Any, int] = {}

    def on_op(self, op: Op) -> None:
        """Similarities are computed, or become a loss."""
        if not op.grad_enabled:
            return
        if op.name in ("matmul", "mm"):
            self._product(op)
        else:
            self._candidates(op)

    def _product(self, op: Op) -> None:
        if len(op.inputs) != 2 or any(v.ndim != 2 for v in op.inputs):
            return
        a, b = op.inputs
        if a.shape[0] < 4 or not (a.requires_grad or b.requires_grad):
            return
        for value, contracted in ((a, 1), (b, 0)):
            made, axis = _normalized(value)
            if made is None or axis == contracted or not value.requires_grad:
                continue
            other, along = _normalized(b if value is a else a)
            if other is None or along == (0 if value is a else 1):
                continue
            if self._again(made.site):
                self.report(
                    made.site,
                    "rows are normalized along the batch (dim 0), and their products are taken as similarities: each feature has unit length "
                    "over the batch, and the rows have not.",
                    evidence={"shape": list(value.shape), "product": str(op.site)},
                    fix="normalize along the features: dim=-1",
                )

    def _candidates(self, op: Op) -> None:
        value = op.inputs[0] if op.inputs else None
        if value is not None and op.name == "cross_entropy":
            self._twice(op, value)
        if value is None or value.ndim != 2 or value.shape[0] != value.shape[1]:
            return
        rows = value.shape[0]
        if rows < 8 or not value.requires_grad:
            return
        made = _product_of(value)
        if made is None or not _with_itself(made):
            return
        scores = value.numpy()
        if scores is None or not np.isfinite(scores.diagonal()).all():
            return
        if np.mean(scores.argmax(1) == np.arange(rows)) < 0.95:
            return
        if op.name == "cross_entropy":
            target = op.args.get("target")
            labels = target.numpy() if isinstance(target, Value) else None
            if labels is None or labels.shape != (rows,) or labels.dtype.kind != "i":
                return
            if np.mean(labels == np.arange(rows)) > 0.1:
                return
        if self._again(made.site):
            self.report(
                made.site,
                "each row is among its own candidates: its similarity with itself is the largest of all, so the loss is about that one.",
                evidence={"rows": rows, "loss": str(op.site)},
                fix='leave the diagonal out: sim.masked_fill(torch.eye(n, dtype=torch.bool), float("-inf"))',
            )

    def _twice(self, op: Op, value: Value) -> None:
        """The first column is the positive, and it stands among the others once more."""
        target = op.args.get("target")
        joined = next((o for o in lineage(value, _SCALES, 6) if o.name not in _SCALES), None)
        if (
            joined is None
            or joined.name not in ("cat", "hstack")
            or not isinstance(target, Value)
            or value.ndim != 2
            or value.shape[0] < 4
            or not 4 < value.shape[1] <= 4096
            or not joined.inputs
            or joined.inputs[0].shape[1:] != (1,)
        ):
            return
        labels, scores = target.numpy(), value.numpy()
        if labels is None or scores is None or labels.any() or not np.isfinite(scores).all():
            return
        close = np.isclose(scores[:, 1:], scores[:, :1], rtol=1e-5, atol=1e-6)
        if close.any(1).mean() < 0.95 or close.mean() > 0.5:
            return
        made = next((v.producer for v in joined.inputs[1:] if v.producer is not None), None)
        product = _product_of(joined.inputs[1]) or made
        kept = _turned(product.inputs[1])[0].producer if product is not None else None
        site = kept.site if kept is not None and kept.name == "cat" else joined.site
        if self._again((op.site, "twice")):
            self.report(
                site,
                "the positive key of each row is among its negatives as well, so the loss pushes away what it pulls closer.",
                evidence={"rows": value.shape[0], "candidates": value.shape[1]},
                fix="put the new keys into the queue after the loss",
            )

    def _again(self, site: Any) -> bool:
        self._count[site] = self._count.get(site, 0) + 1
        return self._count[site] == _TIMES


def _turned(value: Value) -> tuple[Value, bool]:
    """A value before it was transposed, and whether it was."""
    turned = False
    for _ in range(4):
        made = value.producer
        if made is None or not made.inputs or made.name not in _TURNS:
            break
        value, turned = made.inputs[0], not turned
    return value, turned


def _normalized(value: Value) -> tuple[Op | None, int]:
    """(the operation that scaled to unit length, along which axis of the value as it is now)."""
    before, turned = _turned(value)
    made = before.producer
    if made is None:
        return None, 0
    axis: Any = None
    if made.name == "normalize":
        axis = made.arg("dim", 1)
    elif made.name == "div" and len(made.inputs) == 2:
        below = made.inputs[1].producer
        for _ in range(3):
            if below is not None and below.name in ("add", "clamp", "clamp_min") and below.inputs:
                below = below.inputs[0].producer
        if (
            below is not None
            and below.name in ("norm", "linalg_norm", "linalg_vector_norm", "vector_norm")
            and below.inputs
            and below.inputs[0].number == made.inputs[0].number
        ):
            axis = below.arg("dim")
    if isinstance(axis, (tuple, list)) and len(axis) == 1:
        axis = axis[0]
    if not isinstance(axis, int) or before.ndim != 2:
        return None, 0
    axis %= 2
    return made, 1 - axis if turned else axis


def _product_of(value: Value) -> Op | None:
    for _ in range(6):
        made = value.producer
        if made is None or not made.inputs:
            return None
        if made.name in ("matmul", "mm"):
            return made
        if made.name not in _SCALES:
            return None
        value = next((v for v in made.inputs if v.shape == value.shape), made.inputs[0])
    return None


def _with_itself(op: Op) -> bool:
    (a, turned_a), (b, turned_b) = _turned(op.inputs[0]), _turned(op.inputs[1])
    return a.number == b.number and turned_a != turned_b
