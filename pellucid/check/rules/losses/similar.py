"""Contrastive losses: similarities of rows that are not of unit length, or of a row with itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import Op, Value, made_by
from ...rule import Rule
from ..source.places import assigned_before
from .unit_length import FLOOR, cosines, least, operands, same_rows, summed_over, turned

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
    ops = ("matmul", "mm", "bmm", "einsum", "cross_entropy", "log_softmax", "logsumexp")
    supersedes = ("loss-at-chance",)

    def on_op(self, op: Op) -> None:
        """Similarities are computed, or become a loss."""
        if not op.grad_enabled:
            return
        if op.name in ("matmul", "mm", "bmm"):
            self._product(op, operands(op) if len(op.inputs) == 2 else [])
        elif op.name == "einsum":
            self._product(op, summed_over(op))
        else:
            self._candidates(op)

    def _product(self, op: Op, sides: list[tuple[Op | None, Any, Value, int]]) -> None:
        if not any(made is not None for made, *_ in sides):
            return
        if op.inputs[0].shape[0] < 4 or not any(v.requires_grad for v in op.inputs):
            return
        for k, (made, axis, value, along) in enumerate(sides):
            if made is None or value.is_leaf or not value.requires_grad:
                continue
            if axis is None and value.ndim > 1 and value.shape[0] > 1:
                if self._again(made.site):
                    self.report(
                        made.site,
                        f"all {value.shape[0]} rows are divided by the norm of the whole tensor, so the rows do not have unit length.",
                        evidence={"shape": list(value.shape), "product": str(op.site)},
                        fix="z / z.norm(dim=-1, keepdim=True)",
                    )
                continue
            other, beside, _, across = sides[1 - k]
            if axis == along or other is None or beside == across or value.ndim > 3:
                continue
            if self._again(made.site):
                self.report(
                    made.site,
                    f"rows are normalized along axis {axis} of {list(value.shape)}, and their products are taken along axis {along}: the vectors "
                    "that are compared do not have unit length.",
                    evidence={"shape": list(value.shape), "product": str(op.site)},
                    fix="normalize along the features: dim=-1",
                )

    def _candidates(self, op: Op) -> None:
        value = op.inputs[0] if op.inputs else None
        if value is not None and op.name in ("cross_entropy", "log_softmax"):
            self._bounded(op, value)
        if value is not None and op.name == "cross_entropy":
            self._twice(op, value)
            self._one_view(op, value)
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
                "each row is among its own candidates. Its similarity with itself is the largest of all, so it dominates the loss.",
                evidence={"rows": rows, "loss": str(op.site)},
                fix='leave the diagonal out: sim.masked_fill(torch.eye(n, dtype=torch.bool), float("-inf"))',
            )

    def _twice(self, op: Op, value: Value) -> None:
        """The first column is the positive, and it stands among the others once more."""
        target = op.args.get("target")
        joined = made_by(value, _SCALES)
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
        kept = turned(product.inputs[1])[0].producer if product is not None else None
        site = kept.site if kept is not None and kept.name == "cat" else joined.site
        if self._again((op.site, "twice")):
            self.report(
                site,
                "the positive key of each row is also among its negatives, so the loss pulls it closer and pushes it away at the same time.",
                evidence={"rows": value.shape[0], "candidates": value.shape[1]},
                fix="put the new keys into the queue after the loss",
            )

    def _bounded(self, op: Op, value: Value) -> None:
        """Cosines as scores: with a small factor their softmax is nearly uniform."""
        if value.ndim < 2 or not value.requires_grad or (op.direct and not op.grad_enabled):
            return
        axis = 1 if op.name == "cross_entropy" else op.args.get("dim")
        classes = value.shape[axis] if isinstance(axis, int) and axis < value.ndim else 0
        found = cosines(value) if classes > 2 else None
        if found is None or abs(found[2]) > 1 or least(found[2], classes) < FLOOR:
            return
        product, scaled, factor = found
        site = scaled.site if scaled is not None else product.site
        if self._again((site, "bounded")):
            self.report(
                site,
                f"the scores of this loss are cosines times {factor:.3g}, so they differ by {2 * abs(factor):.3g} at most: with {classes} "
                f"candidates the loss cannot fall below {least(factor, classes):.0%} of the loss of guessing.",
                evidence={"factor": factor, "candidates": classes, "loss": str(op.site)},
                fix="divide cosines by a temperature such as 0.1, or multiply them by a scale such as 16",
            )

    def _one_view(self, op: Op, value: Value) -> None:
        """The positive of each row is the row itself."""
        target, made = op.args.get("target"), None
        if value.ndim == 2 and value.shape[0] == value.shape[1] >= 4 and value.requires_grad:
            made = _product_of(value)
        if made is None or len(made.inputs) != 2 or not isinstance(target, Value):
            return
        looked = self.count("seen", op.site, "looked")
        labels = target.numpy() if looked <= 8 else None
        if labels is None or labels.shape != (value.shape[0],) or labels.dtype.kind != "i":
            return
        if (labels != np.arange(len(labels))).any() or not same_rows(made):
            return
        site = _views_at(made) or made.site
        if self._again((site, "one view")):
            self.report(
                site,
                "both views of each row are identical, so the positive of a row is the row itself, and the model learns nothing about what two "
                "views have in common.",
                evidence={"rows": value.shape[0], "loss": str(op.site)},
                fix="draw each view separately: view1, view2 = augment(x), augment(x)",
            )

    def _again(self, site: Any) -> bool:
        return self.count("seen", site) == _TIMES


def _views_at(product: Op) -> Any:
    """Where the second view was made, when both went through a model by their names."""
    names = []
    for value in product.inputs:
        made = turned(value)[0].producer
        site = made.module.root.site if made is not None and made.module is not None else None
        call = site.call if site is not None else None
        if call is None or len(call.arguments) != 1:
            return None
        names.append((site, call.arguments[0]))
    (site, one), (_, other) = names
    return site if one == other else assigned_before(site, other)


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
    (a, turned_a), (b, turned_b) = turned(op.inputs[0]), turned(op.inputs[1])
    return a.number == b.number and turned_a != turned_b
