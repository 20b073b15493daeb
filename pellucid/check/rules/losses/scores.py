"""What each loss expects: logits, probabilities or log-probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import ARITHMETIC, VIEWS, Op, Value
from ...rule import Rule
from ..source.places import chosen, note_caller
from .origin import Sampled, origin


def made_by(
    value: Value, names: frozenset[str], through: frozenset[str] = VIEWS, depth: int = 40
) -> Op | None:
    """The operation among `names` whose result a value is: possibly viewed, scaled or shifted by a
    number, joined or averaged with others that are such results, too. None when something else has
    been mixed in.

    A product with another tensor (attention, gates of experts) is something else; so is a sum with
    anything but another such result.
    """
    op = value.producer
    if op is None or depth == 0:
        return None
    if op.name in names:
        return op
    if op.name in through or op.name in ("clamp", "dropout", "nan_to_num"):
        return made_by(op.inputs[0], names, through, depth - 1) if op.inputs else None
    if op.name in ARITHMETIC:
        large = [v for v in op.inputs if v.numel > 1]
        if len(large) == 1:
            return made_by(large[0], names, through, depth - 1)
        found = [made_by(v, names, through, depth - 1) for v in large] if op.name == "add" else []
        return found[0] if found and all(found) else None
    if op.name in ("cat", "stack", "where"):
        parts = [v for v in op.inputs if v.dtype != "bool"]
        found = [made_by(v, names, through, depth - 1) for v in parts]
        return found[0] if found and all(found) else None
    # of an ensemble: the last axis stays
    if op.name == "mean" and op.inputs and op.output is not None:
        whole = op.inputs[0]
        if (
            op.arg("dim") is not None
            and whole.ndim > 2
            and op.output.shape[-1:] == whole.shape[-1:]
        ):
            return made_by(whole, names, through, depth - 1)
    return None


class SoftmaxBeforeCrossEntropy(Rule):
    """`cross_entropy` takes logits and applies log-softmax itself; after a softmax the gradients
    are small and wrong.
    """

    slug = "softmax-before-ce"
    id = "PL201"
    severity = "error"
    summary = "the output of a softmax is given to cross entropy"
    covered = ("softmax-wrong-dim",)
    ops = ("cross_entropy", "softmax")

    def __init__(self) -> None:
        self._asked: dict[int, Any] = {}
        self._looks: dict[Any, list[bool]] = {}
        self._sampled = Sampled()

    def on_op(self, op: Op) -> None:
        """The input comes from a softmax over the class axis."""
        if op.name == "softmax":
            note_caller(self.session.recorder, op, self._asked)
            return
        scores = op.args.get("input")
        if not isinstance(scores, Value):
            return
        made = made_by(scores, SOFTMAX)
        if made is None:
            found = origin(scores)  # written out: exp(x) / exp(x).sum()
            if found is None or found.kind != "softmax" or found.op.name not in ("div", "exp"):
                self._look(op, scores)
                return
            made = found.op
        self.report(
            self._asked.get(made.number) or chosen(self.session.recorder, made),
            f"cross_entropy gets probabilities: its input is the output of {_called(made)}. It applies log-softmax itself, "
            "so here softmax is applied twice.",
            evidence={"softmax": str(made.site), "loss": str(op.site), "shape": list(scores.shape)},
            fix="give cross_entropy the logits: remove the softmax from the training path, and apply it only where probabilities are "
            "shown",
            covers=[made.site],
        )

    def _look(self, op: Op, scores: Value) -> None:
        """Scores of which it is not known how they were made: whether they are probabilities."""
        classes = scores.shape[1] if scores.ndim > 1 else 0
        if (
            classes < 2
            or not scores.requires_grad
            or len(self._looks.get(op.site, ())) > 2
            or not self._sampled.due(op.site)
        ):
            return
        array = scores.numpy()
        if array is None or not array.size:
            return
        rows = (
            bool((array >= 0).all())
            and bool(np.all(np.abs(array.sum(1) - 1) < 1e-4))
            and bool((array.max(1) < 0.999).any())
        )
        looks = self._looks.setdefault(op.site, [])
        looks.append(rows)
        if len(looks) == 3 and all(looks):
            made = scores.producer
            while made is not None and made.name in VIEWS and made.inputs:
                made = made.inputs[0].producer
            by_hand = made is not None and made.name == "div" and len(made.inputs) == 2
            self.report(
                made.site if by_hand and made is not None else op.site,
                "cross_entropy gets probabilities: in every row its input sums to one. It applies log-softmax itself, to what should be raw scores.",
                evidence={"loss": str(op.site), "shape": list(scores.shape)},
                fix="use nll_loss on the logarithm of the probabilities, or give cross_entropy the scores",
            )


SOFTMAX = frozenset({"softmax", "softmin", "gumbel_softmax"})


def _called(made: Op) -> str:
    """What made the probabilities, in words."""
    return {"div": "a softmax written out", "exp": "the exponential of log-probabilities"}.get(
        made.name, made.name
    )
