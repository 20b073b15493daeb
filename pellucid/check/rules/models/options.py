"""Arguments of layers, losses and optimizers with which they do nothing of what they are for."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np

from ...events import ModuleCall, Op, OptimizerInfo, SchedulerStep, Site, Value, made_by
from ...rule import Rule, cause_site
from ..source.origins import written_at

_SMOOTHED = 0.9  # of a label that is spread over all classes
_DROPPED = 0.95
_DECAYED = 1.0  # weight decay that is added to gradients
_DECOUPLED = 0.1  # learning rate times weight decay, where the weights themselves shrink by it
# of the weights that plain SGD takes away per step, once its momentum has added them up
_PULLED = 0.1
_MOMENTUM = 0.01  # one that averages nothing
_MASKED = frozenset("masked_fill where add".split())
_POSITIVE = frozenset("exp softplus square".split())
# arguments that are called the same wherever they are computed, and that are no sizes
_NAMED = frozenset(
    "weight_decay momentum dampening nesterov padding dropout batch_first bidirectional padding_idx eps betas".split()
)


class ArgumentAbsurd(Rule):
    """A layer that keeps nothing, an activation that is the identity, labels that say nothing."""

    slug = "argument-absurd"
    id = "PL606"
    severity = "error"
    summary = "an argument of a layer, a loss or an optimizer defeats its purpose"
    ops = (
        "cross_entropy",
        "dropout",
        "leaky_relu",
        "clamp",
        "alpha_dropout",
        "feature_alpha_dropout",
        "poisson_nll_loss",
        "softmax",
        "scaled_dot_product_attention",
    )
    supersedes = ("loss-at-chance", "lr-absurd", "same-mask", "vanishing-gradient")

    def __init__(self) -> None:
        self._told: set[Any] = set()
        self._made: set[Site] = set()  # where layers are made that were looked at
        self._metrics: dict[Any, list[float]] = {}  # by place: what a plateau schedule was given

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
                    f"dropout with p={p:g} sets {p:.0%} of its input to zero in training, so hardly any signal reaches the next layer.",
                    "p is the part that is dropped, not the part that is kept",
                )
        elif op.name == "clamp":
            self._bounds(op)
        elif op.name in ("alpha_dropout", "feature_alpha_dropout"):
            self._never_on(op)
        elif op.name == "poisson_nll_loss":
            self._rate(op)
        elif op.name in ("softmax", "scaled_dot_product_attention"):
            self._sharp(op)
        else:
            slope = op.arg("negative_slope", 0.01)
            if isinstance(slope, (int, float)) and slope == 1:
                self._tell(
                    op,
                    "negative_slope",
                    0 if not op.direct else 1,
                    slope,
                    f"leaky_relu with a negative slope of {slope!r} returns its input unchanged: the layers around it compute a single linear map.",
                    "the first argument of LeakyReLU is the slope; write inplace=True by name",
                )

    def _bounds(self, op: Op) -> None:
        """`ratio.clamp(1 + eps, 1 - eps)`: every element becomes the upper bound."""
        low, high = op.args.get("min"), op.args.get("max")
        if isinstance(low, (int, float)) and isinstance(high, (int, float)) and low > high:
            self._at(
                op.site,
                f"clamp has a lower bound of {low:g} and an upper one of {high:g}: every element becomes {high:g}, and no gradient passes.",
                {"min": float(low), "max": float(high)},
                "the lower bound comes first: clamp(low, high)",
            )

    def _never_on(self, op: Op) -> None:
        """`F.alpha_dropout(x, p)`: unlike `F.dropout`, this one is off unless it is told to be on."""
        call = op.site.call if op.site is not None else None
        if (
            not op.direct
            or call is None
            or op.args.get("training")
            or not op.arg("p", 0.5)
            or op.module is None
            or not op.module.training
            or op.written("training") is not None
        ):
            return
        self._at(
            op.site,
            f"{op.name} drops nothing here: its `training` argument is False by default, even in train mode.",
            {"p": float(op.arg("p", 0.5))},
            f"F.{op.name}(x, p, training=self.training)",
        )

    def _rate(self, op: Op) -> None:
        """A rate that is positive by an exp or a softplus, given as the logarithm of one."""
        rate = op.args.get("input")
        if not isinstance(rate, Value) or not op.arg("log_input", True):
            return
        made = made_by(rate)
        if made is not None and made.name in _POSITIVE:
            self._at(
                cause_site(op),
                f"poisson_nll_loss expects the logarithm of the rate but gets the result of {made.name}, and takes exp of it once more.",
                {"rate_at": made.site},
                f"`log_input=False`, or no {made.name} before the loss",
            )

    def _sharp(self, op: Op) -> None:
        """Scores of attention that are multiplied by the root of the size, or by the size."""
        if op.name == "softmax":
            made = made_by(op.inputs[0], _MASKED)
            if made is None or made.name not in ("mul", "div") or len(made.inputs) != 1:
                return
            number = made.args.get("other")
            number = made.args.get("input") if isinstance(number, Value) else number
            product = made.inputs[0].producer
            if made.name == "div" and isinstance(number, (int, float)) and number:
                number = 1 / number
            site = made.site
        else:
            number, product, site = op.args.get("scale"), op, cause_site(op)
        if not isinstance(number, (int, float)) or number <= 1.5 or product is None:
            return
        sides = product.inputs[:2]
        if product.name not in ("matmul", "bmm", "scaled_dot_product_attention") or any(
            v.ndim < 3 or not v.requires_grad for v in sides
        ):
            return
        size = sides[0].shape[-1]
        whole = {size * k for k in (1, *sides[0].shape[1:-1])}  # with the heads put together
        if not any(abs(number - n) < 1e-6 * n for w in whole for n in (w, w**0.5)):
            return
        rows = sides[0].numpy()
        if rows is None or np.allclose((rows * rows).sum(-1), 1, rtol=1e-3):
            return  # of unit length: their products are small
        self._at(
            site,
            f"the scores of this attention are multiplied by {number:.3g}: their softmax selects a single position and has no gradient for the "
            "others.",
            {"factor": float(number), "size": size},
            "divide by the square root of the size: `q @ k.transpose(-2, -1) / math.sqrt(d)`",
        )

    def _at(self, site: Any, message: str, evidence: dict[str, Any], fix: str) -> None:
        if site is not None and site.key not in self._told:
            self._told.add(site.key)
            self.report(site, message, evidence=evidence, fix=fix)

    def on_scheduler_step(self, event: SchedulerStep) -> None:
        """`scheduler.step(epoch)` of a schedule that waits for a metric to get better."""
        given = event.given
        if event.scheduler != "ReduceLROnPlateau" or given is None or event.site is None:
            return
        seen = self._metrics.setdefault(event.site, [])
        seen.append(float(given))
        if len(seen) == 4 and seen == [seen[0] + k for k in range(4)] and seen[0] in (0.0, 1.0):
            self._at(
                event.site,
                f"ReduceLROnPlateau is given {', '.join(f'{n:g}' for n in seen)}, ...: this is the number of the epoch, not a metric. It never "
                "improves, so the learning rate keeps falling.",
                {"given": seen},
                "`scheduler.step(val_loss)`",
            )

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """An optimizer: its groups."""
        self._by_place(event.site, type(event.optimizer))
        for group in event.groups:
            self._momentum(event, group)
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
                    f"with weight_decay={decay:g} and lr={lr:g} each step removes {lr * decay:.0%} of every weight: they go to zero, whatever the "
                    "loss is.",
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
                    f"betas={tuple(betas)}: the gradients are averaged over more steps than their squares, so a sudden large gradient is not damped.",
                    "the first is for the gradients and the second for their squares: betas=(0.9, 0.999)",
                )

    def on_module_enter(self, call: ModuleCall) -> None:
        """A layer is called for the first time."""
        if call.made is not None and call.made not in self._made:
            self._made.add(call.made)
            self._by_place(call.made, type(call.module))

    def _by_place(self, site: Site | None, kind: type) -> None:
        """`SGD(params, lr, momentum, weight_decay)`: by its place the last one is the dampening."""
        call = site.call if site is not None else None
        if call is None or (call.function or "").rpartition(".")[2] != kind.__name__:
            return
        try:
            names = [*inspect.signature(kind).parameters]
        except (TypeError, ValueError):
            return
        for own, text in zip(names, call.arguments, strict=False):
            written = re.search(r"(\w+)['\"\]]*$", text)
            if text.startswith("*"):
                return
            given = written[1].lower().strip("_") if written is not None else ""
            if given in _NAMED and given in names and given != own and own not in call.keywords:
                self._at(
                    site,
                    f"`{text}` is passed to {kind.__name__} at the position of `{own}`, so it sets `{own}`, and `{given}` keeps its default.",
                    {"argument": own, "given": text},
                    f"pass it by name: `{given}={text}`",
                )

    def _momentum(self, event: OptimizerInfo, group: dict[str, Any]) -> None:
        """Plain SGD: a momentum that averages nothing, a decay at another place, or one that outweighs
        every gradient.
        """
        momentum, decay, lr = (group.get(k) for k in ("momentum", "weight_decay", "lr"))
        if event.class_name != "SGD" or not all(
            isinstance(x, (int, float)) for x in (momentum, decay, lr)
        ):
            return
        call = event.site.call if event.site is not None else None
        given = call.arguments if call is not None else []
        given = [] if any(text.startswith("*") for text in given) else given
        dampening = group.get("dampening", 0)
        if 0 < momentum < _MOMENTUM:
            place = " The third argument of SGD is its momentum" if len(given) > 2 else ""
            if len(given) > 3:
                place += f", and the fourth, {dampening:g} here, its dampening"
            self._optimizer(
                event,
                "momentum",
                momentum,
                f"momentum={momentum:g} hardly averages anything.{place}{'.' if place else ''}",
                "pass `momentum=` and `weight_decay=` by name"
                if len(given) > 2
                else "usual values are between 0.8 and 0.99",
            )
        elif 0 < dampening < _MOMENTUM <= momentum and len(given) > 3:
            self._optimizer(
                event,
                "dampening",
                dampening,
                f"{dampening:g} is passed to SGD as its fourth argument, which is the dampening. Such a small dampening has no effect, and the "
                "weight decay keeps its default.",
                f"pass it by name: `weight_decay={dampening:g}`",
            )
        elif momentum < 1 and decay < _DECAYED and lr * decay / (1 - momentum) >= _PULLED:
            self._optimizer(
                event,
                "weight_decay",
                decay,
                f"with weight_decay={decay:g}, lr={lr:g} and momentum={momentum:g} the weights lose {min(1, lr * decay / (1 - momentum)):.0%} of "
                "their size per step: they go to zero, whatever the loss is.",
                "usual values are between 0 and 0.01",
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
