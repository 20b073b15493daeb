"""Weights, masks and focal factors that are applied to a loss after its mean was taken."""

from __future__ import annotations

from typing import Any

from ...events import VIEWS, Backward, Op, Value, lineage
from ...rule import Rule
from ..source.places import chosen

_LOSSES = frozenset(
    "cross_entropy nll_loss binary_cross_entropy binary_cross_entropy_with_logits mse_loss l1_loss smooth_l1_loss huber_loss kl_div "
    "gaussian_nll_loss poisson_nll_loss soft_margin_loss".split()
)
_SUMS = VIEWS | {"sum", "mean", "add", "sub", "mul", "div", "neg", "stack"}


class LossOfAMean(Rule):
    """What belongs to single samples is multiplied with the mean over all of them."""

    slug = "loss-of-a-mean"
    id = "PL214"
    severity = "error"
    summary = "sample weights, a mask or a focal factor are applied to the mean loss"
    ops = ("mul", "exp")

    def __init__(self) -> None:
        # by number of a product: the mean in it
        self._products: dict[int, tuple[Op, Op, Value]] = {}

    def on_op(self, op: Op) -> None:
        """A product with a mean, or the probability that belongs to it."""
        if not op.grad_enabled or not op.inputs:
            return
        if op.name == "exp":
            self._probability(op)
        elif len(op.inputs) == 2:
            for mean, weights in (op.inputs, op.inputs[::-1]):
                if not mean.shape and weights.shape and mean.requires_grad:
                    self._weighted(op, mean, weights)

    def _weighted(self, op: Op, mean: Value, weights: Value) -> None:
        made = reduced(mean)
        if made is None or weights.requires_grad or weights.numel < 2:
            return
        rows = samples(made)
        if rows is None or not of_samples(weights.shape, rows):
            return
        array = weights.numpy()
        if array is None or array.min() == array.max():
            return
        if len(self._products) > 64:
            self._products.clear()
        self._products[op.number] = op, made, weights

    def on_backward_begin(self, event: Backward) -> None:
        """Such a product is a loss."""
        if not self._products:
            return
        products, self._products = self._products, {}
        for root in event.roots:
            for found in lineage(root, _SUMS, 60):
                if found.number not in products:
                    continue
                op, made, weights = products[found.number]
                self.report(
                    chosen(self.session.recorder, made),
                    f"{made.name} returns one number for all samples, which is then multiplied "
                    f"by a tensor of shape {list(weights.shape)}: all samples count equally, "
                    "whatever their weights.",
                    evidence={
                        "loss": made.site,
                        "multiplied_at": op.site,
                        "weights": list(weights.shape),
                    },
                    fix=(
                        'compute one loss per sample (`reduction="none"`), multiply, then take '
                        "the mean"
                    ),
                )

    def _probability(self, op: Op) -> None:
        negative = op.inputs[0]
        made = negative.producer
        if negative.shape or not negative.requires_grad or made is None or made.name != "neg":
            return
        loss = reduced(made.inputs[0]) if made.inputs else None
        rows = samples(loss) if loss is not None else None
        if loss is None or loss.name not in _LOSSES or rows is None:
            return
        self.report(
            chosen(self.session.recorder, loss),
            f"{loss.name} returns one number, the mean over {list(rows)}, and `exp` turns it "
            "into a probability. It is not the probability of any sample, so the focal factor "
            "weights all of them equally.",
            evidence={"loss": loss.site, "probability": op.site},
            fix=('compute one loss per sample (`reduction="none"`), weight it, then take the mean'),
        )


def reduced(value: Value) -> Op | None:
    """The loss or mean over several elements that a number is."""
    for made in lineage(value, VIEWS | {"neg"}, 8):
        if made.name in _LOSSES:
            return made if made.arg("reduction", "mean") != "none" else None
        if made.name in ("mean", "sum"):
            return made if not made.args.get("dim") and made.inputs else None
    return None


def samples(made: Op) -> tuple[int, ...] | None:
    """The shape of the losses of single samples; None where there is only one."""
    target: Any = made.args.get("target")
    of = target if isinstance(target, Value) else made.inputs[0] if made.inputs else None
    if of is None:
        return None
    scores = made.args.get("input")
    if (
        made.name == "cross_entropy"
        and isinstance(scores, Value)
        and of.shape == scores.shape
        and of.is_floating_point
    ):
        return of.shape[:1] + of.shape[2:] if of.shape[:1] > (1,) else None
    return of.shape if of.numel > 1 and of.shape[0] > 1 else None


def of_samples(weights: tuple[int, ...], rows: tuple[int, ...]) -> bool:
    """Whether weights are one for each sample, or of the samples' own shape."""
    trimmed = [n for n in weights if n > 1]
    return trimmed == [n for n in rows if n > 1] or trimmed == [rows[0]]
