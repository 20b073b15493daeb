"""The inputs of NLL and of binary cross entropy with logits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import Backward, Op, Site, Value, ancestors
from ...rule import Rule, cause_site
from ..source.places import chosen, left_early, note_caller
from .by_hand import raw, reduced, weighs_rows
from .origin import Sampled, is_index, is_normalised, origin


def _scored(loss: Op, made: Op) -> Any:
    """The line to change when a loss gets raw scores: the loss where it is a function, and of a
    loss that is a module, whose line of use names neither, the layer in the user's own `forward`
    that the scores leave."""
    site = made.site
    early = left_early(site, "log_softmax") if site is not None else None
    if early is not None:
        return early
    if loss.direct or loss.module is None or made.module is None or site is None:
        return loss.site
    return site if site.code.co_name == "forward" else loss.site


class NllWithoutLogSoftmax(Rule):
    """`nll_loss` takes log-probabilities and applies nothing itself: with scores it has no minimum,
    with probabilities a weak one.
    """

    slug = "nll-without-log-softmax"
    id = "PL202"
    severity = "error"
    summary = "NLL loss on scores or on probabilities"
    ops = ("nll_loss", "nll_loss2d", "mul")

    def __init__(self) -> None:
        # products of raw scores with one-hot labels, since the last backward
        self._weighed: dict[int, Op] = {}
        self._waiting: list[tuple[Any, str, dict[str, Any]]] = []
        self._settled: set[Any] = set()
        self._sampled = Sampled()

    def on_op(self, op: Op) -> None:
        """The input comes from a softmax, or from a layer, and is not normalized."""
        if op.name == "mul":
            if (
                op.grad_enabled
                and op.direct
                and len(self._weighed) < 32
                and op.site not in self._settled
                and self._sampled.due(op.site)
            ):
                weighed = weighs_rows(op)
                if weighed is not None and raw(weighed[0]) is not None:
                    self._weighed[op.number] = op
            return
        if op.site in self._settled or not self._sampled.due(op.site):
            return
        given = op.args.get("input")
        found = origin(given)
        if found is None or not isinstance(given, Value):
            return
        if found.kind == "logs":
            inner = (
                origin(found.op.inputs[0]) if found.op.name == "log" and found.op.inputs else found
            )
            if (
                inner is not None and inner.kind == "sigmoid" or found.op.name == "logsigmoid"
            ) and not is_normalised(given):
                self._settled.add(op.site)
                self.report(
                    op.site,
                    f"{op.name} gets the logarithm of sigmoids, which do not sum to one over the classes: nothing pushes the other classes down.",
                    evidence={
                        "made_by": found.op.name,
                        "loss": str(op.site),
                        "shape": list(given.shape),
                    },
                    fix="use cross_entropy on the scores (or log_softmax instead of sigmoid and log)",
                )
            return
        if found.kind == "log of scores" and is_normalised(given):
            return
        if found.kind in ("softmax", "log of scores"):
            made, probabilities = found.op, found.kind == "softmax"
            self.report(
                cause_site(made),
                f"{op.name} gets probabilities: its input is the output of {made.name}, but the loss does not apply a logarithm."
                if probabilities
                else f"{op.name} gets the logarithm of raw scores: there is no softmax between the layer and the log.",
                evidence={"made_by": made.name, "loss": str(op.site), "shape": list(given.shape)},
                fix="use log_softmax (`nn.LogSoftmax(dim=1)`), or give the scores themselves to cross_entropy",
            )
            return
        if found.kind != "scores" or is_normalised(given):
            return
        made = found.op
        evidence = {
            "made_by": made.name,
            "at": str(made.site),
            "shape": list(given.shape),
            "loss": _number(op.output),
        }
        self._waiting.append((_scored(op, made), made.name, evidence))

    def on_backward_begin(self, event: Backward) -> None:
        """`nll_loss(scores) + logsumexp(scores)` is cross entropy by hand; anything else is
        reported.
        """
        picked = _picked_scores(event.roots[0]) if len(event.roots) == 1 else None
        if self._weighed:
            weighed, self._weighed = self._weighed, {}
            if picked is None and len(event.roots) == 1:
                picked = reduced(event.roots[0], set(weighed))
        if picked is not None and picked.site not in self._settled:
            self._settled.add(picked.site)
            self.report(
                picked.site,
                "the loss is only the negative score of the correct class: no softmax pushes the others down, so it has no lower limit.",
                evidence={"picked_by": picked.name, "loss": _number(event.roots[0])},
                fix="use cross_entropy, or take log_softmax of the scores first",
            )
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        by_hand = any(op.name in ("logsumexp", "exp") for op in ancestors(event.roots, limit=5000))
        for site, made, evidence in waiting:
            self._settled.add(site)
            if not by_hand:
                self._tell(site, made, evidence)

    def finish(self) -> None:
        """Losses that no backward followed."""
        for site, made, evidence in self._waiting:
            if site not in self._settled:
                self._tell(site, made, evidence)

    def _tell(self, site: Any, made: str, evidence: dict[str, Any]) -> None:
        self.report(
            site,
            f"nll_loss gets raw scores, straight from {made}: it expects log-probabilities and does not apply a softmax, "
            "so the loss can fall below zero without limit.",
            evidence=evidence,
            fix="use cross_entropy (`nn.CrossEntropyLoss`), or end the model with log_softmax over the classes",
        )


def _picked_scores(root: Value) -> Op | None:
    """The operation that picks one score per row, when a loss is their mean with a minus sign and
    nothing else.
    """
    value, negative = root, False
    for _ in range(8):
        op = value.producer
        if op is None or not op.inputs:
            return None
        if op.name in ("gather", "getitem"):
            index = op.args.get("index")
            picks = (
                op.name == "gather"
                or isinstance(index, tuple)
                and len(index) == 2
                and all(is_index(i) for i in index)
            )
            found = origin(op.inputs[0]) if picks else None
            plain = (
                found is not None
                and found.kind == "scores"
                and found.linear
                and op.inputs[0].ndim == 2
                and op.inputs[0].requires_grad
            )
            if plain:
                return op if negative else None
            if op.name == "gather" or picks:
                return None
        elif (
            op.name == "neg"
            or op.name in ("mul", "div")
            and len(op.inputs) == 1
            and -1 in (op.args.get("other"), op.args.get("input"))
        ):
            negative = not negative
        elif op.name not in ("mean", "sum", "squeeze", "view", "reshape"):
            return None
        value = op.inputs[0]
    return None


def _number(value: Value | None) -> float | None:
    array = value.numpy() if value is not None and value.numel == 1 else None
    return None if array is None else float(array.reshape(-1)[0])


class SigmoidBeforeBce(Rule):
    """`binary_cross_entropy_with_logits` applies the sigmoid itself; after another one the
    probabilities stay between 0.5 and 0.73.
    """

    slug = "sigmoid-before-bce-logits"
    id = "PL203"
    severity = "error"
    summary = "the output of a sigmoid is given to BCE with logits"
    ops = ("binary_cross_entropy_with_logits", "sigmoid")

    def __init__(self) -> None:
        self._asked: dict[int, Any] = {}
        self._looks: dict[Site | None, list[bool]] = {}
        self._sampled = Sampled()

    def on_op(self, op: Op) -> None:
        """The input is a sigmoid's result."""
        if op.name == "sigmoid":
            note_caller(self.session.recorder, op, self._asked)
            return
        if not op.direct and op.module is None:
            return  # a distribution's, which is given `logits=`
        scores = op.args.get("input")
        found = origin(scores)
        if found is None:
            self._look(op, scores)
        if (
            found is None
            or found.kind != "sigmoid"
            or found.op.output is not None
            and found.op.output.numel < scores.numel // 2
        ):
            return
        made = found.op
        self.report(
            self._asked.get(made.number) or chosen(self.session.recorder, made),
            "binary_cross_entropy_with_logits gets the output of a sigmoid. It applies the sigmoid itself, so here it is applied twice.",
            evidence={"sigmoid": str(made.site), "loss": str(op.site), "shape": list(scores.shape)},
            fix="remove the sigmoid from the training path and apply it only where probabilities are shown",
        )

    def _look(self, op: Op, scores: Any) -> None:
        """Scores of which it is not known how they were made: whether they stay strictly between 0
        and 1.
        """
        if (
            not isinstance(scores, Value)
            or not scores.requires_grad
            or scores.numel < 8
            or not self._sampled.due(op.site)
        ):
            return
        array = scores.numpy()
        between = (
            array is not None
            and bool(((array > 0) & (array < 1)).all())
            and bool(np.ptp(array) > 0)
        )
        self._looks.setdefault(op.site, []).append(
            between and any(o.name == "sigmoid" for o in ancestors([scores], limit=300))
        )

    def finish(self) -> None:
        """Scores that were probabilities at every look."""
        for site, looks in self._looks.items():
            if len(looks) >= 4 and all(looks):
                self.report(
                    site,
                    "binary_cross_entropy_with_logits gets numbers that lie between 0 and 1 in every step and come from sigmoids: probabilities. "
                    "It applies the sigmoid itself, so the result is never below 0.5.",
                    evidence={"looks": len(looks)},
                    fix="use binary_cross_entropy on probabilities, or compute the scores without the sigmoid",
                )
