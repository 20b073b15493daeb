"""Arguments of layers, losses and optimizers with which they do nothing of what they are for."""

from __future__ import annotations

from typing import Any

from ...events import Op, OptimizerInfo
from ...rule import Rule, cause_site
from ..source.origins import written_at

_SMOOTHED = 0.9  # of a label that is spread over all classes
_DROPPED = 0.95
_DECAYED = 1.0  # weight decay that is added to gradients
_DECOUPLED = 0.1  # learning rate times weight decay, where the weights themselves shrink by it


class ArgumentAbsurd(Rule):
    """A layer that keeps nothing, an activation that is the identity, labels that say nothing."""

    slug = "argument-absurd"
    id = "PL606"
    severity = "error"
    summary = "with its arguments a layer, loss or optimizer does nothing of what it is for"
    ops = ("cross_entropy", "dropout", "leaky_relu")
    supersedes = ("loss-at-chance", "lr-absurd", "same-mask", "vanishing-gradient")

    def __init__(self) -> None:
        self._told: set[Any] = set()

    def on_op(self, op: Op) -> None:
        """A layer or a loss."""
        if not op.grad_enabled:
            return
        if op.name == "cross_entropy":
            smoothing = op.arg("label_smoothing", 0.0)
            if isinstance(smoothing, (int, float)) and smoothing >= _SMOOTHED:
                self._tell(
                    op,
                    "label_smoothing",
                    9,
                    smoothing,
                    f"label_smoothing={smoothing:g} spreads {smoothing:.0%} of each label over all classes: the loss hardly depends on the labels.",
                    "label_smoothing is the part that is taken from the label, usually 0.1",
                )
        elif op.name == "dropout":
            p = op.arg("p", 0.5)
            if op.arg("training", True) and isinstance(p, (int, float)) and p >= _DROPPED:
                self._tell(
                    op,
                    "p",
                    0 if not op.direct else 1,
                    p,
                    f"dropout with p={p:g} sets {p:.0%} of its input to zero in training: what follows learns from nearly nothing.",
                    "p is the part that is dropped, not the part that is kept",
                )
        else:
            slope = op.arg("negative_slope", 0.01)
            if isinstance(slope, (int, float)) and slope == 1:
                self._tell(
                    op,
                    "negative_slope",
                    0 if not op.direct else 1,
                    slope,
                    f"leaky_relu with a negative slope of {slope!r} gives back its input: the layers around it are one linear layer.",
                    "the first argument of LeakyReLU is the slope; write inplace=True by name",
                )

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """An optimizer: its groups."""
        for group in event.groups:
            decay = group.get("weight_decay", 0.0)
            lr = group.get("lr", 0.0)
            betas = group.get("betas")
            if not isinstance(decay, (int, float)) or not isinstance(lr, (int, float)):
                continue
            decoupled = event.class_name == "AdamW" or bool(group.get("decoupled_weight_decay"))
            if decoupled and lr * decay >= _DECOUPLED:
                self._optimizer(
                    event,
                    "weight_decay",
                    decay,
                    f"with weight_decay={decay:g} and lr={lr:g} each step takes {lr * decay:.0%} from every weight: "
                    "they go to zero whatever the loss says.",
                    "usual values are between 0 and 0.1",
                )
            elif not decoupled and decay >= _DECAYED and lr > 0:
                self._optimizer(
                    event,
                    "weight_decay",
                    decay,
                    f"weight_decay={decay:g} is added to the gradients as {decay:g} times the weights: it outweighs the gradients of the loss.",
                    "usual values are between 0 and 0.01",
                )
            if isinstance(betas, (tuple, list)) and len(betas) == 2 and betas[0] > betas[1]:
                self._optimizer(
                    event,
                    "betas",
                    None,
                    f"betas={tuple(betas)}: the gradients are averaged for longer than their squares, so that a sudden large gradient is not damped.",
                    "the first is for the gradients and the second for their squares: betas=(0.9, 0.999)",
                )

    def _optimizer(
        self, event: OptimizerInfo, keyword: str, value: float | None, message: str, fix: str
    ) -> None:
        place = written_at(event.site, keyword, 99, value) or event.site
        if place is not None and place.key not in self._told:
            self._told.add(place.key)
            self.report(
                place,
                message,
                evidence={"argument": keyword, "optimizer": event.class_name},
                fix=fix,
            )

    def _tell(
        self, op: Op, keyword: str, position: int, value: float, message: str, fix: str
    ) -> None:
        site = cause_site(op)
        place = (written_at(site, keyword, position, value) if site is not None else None) or site
        if place is not None and place.key not in self._told:
            self._told.add(place.key)
            self.report(
                place, message, evidence={"argument": keyword, "value": float(value)}, fix=fix
            )
