"""Scores, probabilities and log-probabilities, each where another is wanted."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..events import VIEWS, Backward, Failure, Op, Site, Value, ancestors, lineage
from ..rule import Rule, cause_site
from .losses_origin import SOFTMAXES, Origin, Sampled, origin
from .places import handed_in


class NllWithoutLogSoftmax(Rule):
    """`nll_loss` takes log-probabilities and applies nothing itself: with scores it has no minimum, with probabilities a weak one."""

    slug = "nll-without-log-softmax"
    id = "PL202"
    severity = "error"
    summary = "NLL loss on scores or on probabilities"
    ops = ("nll_loss", "nll_loss2d")

    def __init__(self) -> None:
        self._waiting: list[tuple[Site | None, str, dict[str, Any]]] = []
        self._settled: set[Site | None] = set()
        self._sampled = Sampled()

    def on_op(self, op: Op) -> None:
        """The input comes from a softmax, or from a layer, and is not normalised."""
        if op.site in self._settled or not self._sampled.due(op.site):
            return
        given = op.args.get("input")
        found = origin(given)
        if found is None or not isinstance(given, Value):
            return
        if found.kind == "logs":
            inner = origin(found.op.inputs[0]) if found.op.name == "log" and found.op.inputs else found
            if (inner is not None and inner.kind == "sigmoid" or found.op.name == "logsigmoid") and not _is_normalised(given):
                self._settled.add(op.site)
                self.report(
                    op.site,
                    f"{op.name} gets the logarithm of sigmoids, which do not sum to one over the classes: nothing pushes the other classes down.",
                    evidence={"made_by": found.op.name, "loss": str(op.site), "shape": list(given.shape)},
                    fix="use cross_entropy on the scores (or log_softmax in the place of sigmoid and log)",
                )
            return
        if found.kind in ("softmax", "log of scores"):
            made, probabilities = found.op, found.kind == "softmax"
            self.report(
                cause_site(made),
                f"{op.name} gets probabilities: its input comes out of {made.name}, and the loss takes no logarithm itself."
                if probabilities
                else f"{op.name} gets the logarithm of raw scores: no softmax lies between the layer and the log.",
                evidence={"made_by": made.name, "loss": str(op.site), "shape": list(given.shape)},
                fix="make it log_softmax (`nn.LogSoftmax(dim=1)`), or give the scores themselves to cross_entropy",
            )
            return
        if found.kind != "scores" or _is_normalised(given):
            return
        made = found.op
        evidence = {"made_by": made.name, "at": str(made.site), "shape": list(given.shape), "loss": _number(op.output)}
        self._waiting.append((op.site, made.name, evidence))

    def on_backward_begin(self, event: Backward) -> None:
        """`nll_loss(scores) + logsumexp(scores)` is cross entropy by hand; anything else is reported."""
        picked = _picked_scores(event.roots[0]) if len(event.roots) == 1 else None
        if picked is not None and picked.site not in self._settled:
            self._settled.add(picked.site)
            self.report(
                picked.site,
                "the loss is the negative score of the right class alone: no softmax makes the others fall, so it falls below zero without end.",
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

    def _tell(self, site: Site | None, made: str, evidence: dict[str, Any]) -> None:
        self.report(
            site,
            f"nll_loss gets raw scores, straight from {made}: it takes log-probabilities and applies no softmax itself, "
            "so the loss can fall below zero without end.",
            evidence=evidence,
            fix="use cross_entropy (`nn.CrossEntropyLoss`), or end the model with log_softmax over the classes",
        )


def _picked_scores(root: Value) -> Op | None:
    """The operation that picks one score per row, when a loss is their mean with a minus sign and nothing else."""
    value, negative = root, False
    for _ in range(8):
        op = value.producer
        if op is None or not op.inputs:
            return None
        if op.name in ("gather", "getitem"):
            index = op.args.get("index")
            picks = op.name == "gather" or isinstance(index, tuple) and len(index) == 2 and all(_is_index(i) for i in index)
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


def _is_normalised(value: Value, axis: int | None = None) -> bool:
    """Whether exp(value) sums to one over the class axis, which is 1, or 0 of a vector."""
    array = value.numpy()
    if array is None:
        return True
    axis = (1 if array.ndim > 1 else 0) if axis is None else axis
    sums = np.exp(np.minimum(array.astype(np.float64), 50.0)).sum(axis)
    return bool(np.mean(np.abs(sums - 1) < 0.01) > 0.5)


class SigmoidBeforeBce(Rule):
    """`binary_cross_entropy_with_logits` applies the sigmoid itself; after another one the probabilities stay between 0.5 and 0.73."""

    slug = "sigmoid-before-bce-logits"
    id = "PL203"
    severity = "error"
    summary = "the output of a sigmoid is given to BCE with logits"
    ops = ("binary_cross_entropy_with_logits",)

    def on_op(self, op: Op) -> None:
        """The input is a sigmoid's result."""
        scores = op.args.get("input")
        found = origin(scores)
        if found is None or found.kind != "sigmoid" or found.op.output is not None and found.op.output.numel < scores.numel // 2:
            return
        made = found.op
        self.report(
            cause_site(made),
            "binary_cross_entropy_with_logits gets the output of a sigmoid. It applies the sigmoid itself, so here it is applied twice.",
            evidence={"sigmoid": str(made.site), "loss": str(op.site), "shape": list(scores.shape)},
            fix="leave the sigmoid out of the training path and apply it only where probabilities are shown",
        )


class LogitsAsProbs(Rule):
    """Raw scores where a function reads its argument as probabilities or as their logarithms."""

    slug = "logits-as-probs"
    id = "PL204"
    severity = "error"
    summary = "raw scores where probabilities are wanted"
    ops = (
        "binary_cross_entropy", "kl_div", "multinomial", "bernoulli", "ctc_loss", "cross_entropy", "binary_cross_entropy_with_logits",
        "gt", "ge", "lt", "le", "round", "mul",
    )  # fmt: skip

    def __init__(self) -> None:
        self._scores: set[Any] = set()  # the same of cross entropy
        self._logits: set[int] = set()  # ids of modules, or numbers of operations, whose scores BCE-with-logits gets
        self._thresholds: list[tuple[Any, Site | None, str, dict[str, Any]]] = []
        self._seen: dict[Site | None, int] = {}
        self._entered = 0

    def on_op(self, op: Op) -> None:
        """An argument that should be probabilities is not."""
        name = op.name
        if name in ("gt", "ge", "lt", "le", "round"):
            self._threshold(op)
            return
        if name == "mul":
            self._entropy(op)
            return
        if name == "cross_entropy":
            found = origin(op.args.get("input"))
            if found is not None and found.kind == "scores":
                self._scores.add(_who(found))
        if name == "binary_cross_entropy_with_logits":
            found = origin(op.args.get("input"))
            if found is not None and found.kind == "scores":
                self._logits.add(_who(found))
        self._wanted(op, failed=False)

    def on_error(self, failure: Failure) -> None:
        """Such a call may also raise, when a score is out of range."""
        if failure.op is not None and failure.op.name in self.ops:
            self._wanted(failure.op, failed=True)

    def _wanted(self, op: Op, failed: bool) -> None:
        for argument, what in _PROBABILITIES.get(op.name, ()):
            value = op.args.get(argument)
            if not isinstance(value, Value) or not value.is_floating_point:
                continue
            if what == "probabilities" and op.name == "kl_div" and op.args.get("log_target"):
                what = "log-probabilities"
            found = origin(value)
            if found is None:
                continue
            if found.kind == "logs" and what == "probabilities":
                given = "log-probabilities"
            elif found.kind == "scores" and (found.linear or failed):
                given = "raw scores"
            else:
                continue
            if op.name in ("multinomial", "bernoulli") and not failed and given == "raw scores":
                continue  # nothing below zero: weights perhaps
            if given == "raw scores" and what == "log-probabilities" and _is_normalised(value, -1):
                continue
            function, fix = _FIXES.get((op.name, argument), ("", ""))
            if given == "log-probabilities":
                fix = "give it `.exp()` of them" + (", or `log_target=True`" if op.name == "kl_div" else "")
            self.report(
                op.site,
                f"{op.name} wants {what} as {argument} and gets {given}: "
                f"{op.written(argument) or 'it'} comes straight from {found.op.name}.",
                evidence={
                    "argument": argument,
                    "made_by": found.op.name,
                    "at": str(found.op.site),
                    **_range(value),
                    "raised": failed,
                },
                fix=fix or function,
            )

    # ---- decisions at one half -----------------------------------------------------------------------------------------
    def _threshold(self, op: Op) -> None:
        value = op.args.get("input")
        limit = op.args.get("other")
        if not isinstance(value, Value):
            return
        likely = isinstance(limit, float) and 0.5 <= limit < 1
        if op.name != "round" and not likely or self._entered > 4096:
            return
        if self._seen.get(op.site, 0) >= 20:
            return
        self._seen[op.site] = self._seen.get(op.site, 0) + 1
        found = origin(value)
        if found is not None and found.kind == "scores":
            if limit != 0.5 and op.name != "round" and (value.producer is None or value.producer.name not in ("max", "amax")):
                return
            self._entered += 1
            written = op.written("input") or "the scores"
            self._thresholds.append((_who(found), op.site, written, {"operation": op.name, "limit": limit, **_range(value)}))

    def _entropy(self, op: Op) -> None:
        """`p * log(p)` of raw scores."""
        if len(op.inputs) != 2:
            return
        for p, logs in (op.inputs, op.inputs[::-1]):
            made = logs.producer
            if made is None or made.name != "log" or not made.inputs or p.shape != logs.shape:
                continue
            first, second = origin(p), origin(made.inputs[0])
            if (
                first is not None
                and second is not None
                and first.kind == second.kind == "scores"
                and first.op is second.op
                and first.linear
            ):
                self.report(
                    op.site,
                    f"this is p * log(p), but p are raw scores: they come straight from {first.op.name}.",
                    evidence={"made_by": first.op.name, "at": str(first.op.site), **_range(p)},
                    fix="apply softmax first, and take the logarithm with log_softmax",
                )

    def finish(self) -> None:
        """Scores that were compared with one half and are trained as logits."""
        for who, site, written, evidence in self._thresholds:
            if who in self._scores and evidence["limit"] != 0.5 and evidence["operation"] != "round":
                self.report(
                    site,
                    f"{written} is compared with {evidence['limit']:g} as if it were a probability, but these are raw scores: they are "
                    "trained with cross_entropy.",
                    evidence=evidence,
                    fix="take `softmax(dim=-1)` of the scores first",
                )
            elif who in self._logits:
                how = "rounded" if evidence["operation"] == "round" else "compared with 0.5"
                self.report(
                    site,
                    f"{written} is {how} as if it were a probability, but it is a logit: the loss is binary_cross_entropy_with_logits, "
                    "for which one half lies at 0.",
                    evidence=evidence,
                    fix=f"decide with `{written} > 0`, or take `torch.sigmoid({written})` first",
                )


_PROBABILITIES: dict[str, tuple[tuple[str, str], ...]] = {
    "binary_cross_entropy": (("input", "probabilities"), ("target", "probabilities")),
    "binary_cross_entropy_with_logits": (("target", "probabilities"),),
    "cross_entropy": (("target", "probabilities"),),
    "kl_div": (("input", "log-probabilities"), ("target", "probabilities")),
    "ctc_loss": (("log_probs", "log-probabilities"),),
    "multinomial": (("input", "probabilities"),),
    "bernoulli": (("input", "probabilities"),),
}

_FIXES = {
    ("binary_cross_entropy", "input"): (
        "",
        "use binary_cross_entropy_with_logits (`nn.BCEWithLogitsLoss`), or apply a sigmoid first",
    ),
    ("binary_cross_entropy", "target"): ("", "apply a sigmoid to the target scores"),
    ("binary_cross_entropy_with_logits", "target"): ("", "apply a sigmoid to the target scores"),
    ("cross_entropy", "target"): ("", "apply softmax to the target scores"),
    ("kl_div", "input"): ("", "apply log_softmax to the scores first"),
    ("kl_div", "target"): ("", "apply softmax to the scores first"),
    ("ctc_loss", "log_probs"): ("", "apply log_softmax over the symbols first"),
    ("multinomial", "input"): ("", "apply softmax to the scores first"),
    ("bernoulli", "input"): ("", "apply a sigmoid to the scores first"),
}


def _who(found: Origin) -> Any:
    """The same for all scores that one layer makes."""
    call = found.op.module
    module = call.module if call is not None and not found.op.direct else None
    return id(module) if module is not None else found.op.site


def _range(value: Value) -> dict[str, Any]:
    array = value.numpy()
    if array is None or not array.size:
        return {"shape": list(value.shape)}
    return {"shape": list(value.shape), "min": float(array.min()), "max": float(array.max())}


class ProbsAsLogits(Rule):
    """Probabilities where a function takes raw scores (or logarithms) and squashes them itself."""

    slug = "probs-as-logits"
    id = "PL205"
    severity = "error"
    summary = "probabilities where raw scores are wanted"
    ops = (
        "binary_cross_entropy_with_logits", "cross_entropy", "softmax", "log_softmax", "gumbel_softmax", "sigmoid", "logsigmoid", "kl_div",
        "ctc_loss", "logsumexp", "multi_margin_loss", "multilabel_soft_margin_loss", "gt", "lt", "ge",
    )  # fmt: skip

    def on_op(self, op: Op) -> None:
        """The input is a softmax's or a sigmoid's result."""
        if op.name in ("gt", "lt", "ge"):
            limit, value = op.args.get("other"), op.args.get("input")
            if isinstance(limit, (int, float)) and not limit and op.direct and isinstance(value, Value):
                self._always(op, value)
            return
        name = op.name
        if name == "logsumexp" and op.direct:
            return  # only as a part of Categorical(logits=...) and the like
        argument = "log_probs" if name == "ctc_loss" else "input"
        value = op.args.get(argument)
        found = origin(value)
        if found is None or not found.probabilities or not isinstance(value, Value):
            return
        if found.scaled and name not in ("softmax", "log_softmax"):
            return
        made, softmax = found.op, found.kind == "softmax"
        if name == "binary_cross_entropy_with_logits" and not softmax or name == "cross_entropy" and softmax:
            return  # rules of their own
        if name in ("softmax", "log_softmax", "gumbel_softmax") and not _same_axis(found, op, value):
            return
        if name in ("sigmoid", "logsigmoid") and softmax or made.output is not None and made.output.numel * 2 <= value.numel:
            return
        logs = name in ("kl_div", "ctc_loss")
        wanted = "log-probabilities" if logs else "raw scores"
        repeated = name in ("softmax", "log_softmax", "gumbel_softmax", "sigmoid", "logsigmoid")
        target = "a distribution with `logits=`" if name == "logsumexp" else name
        # What is squashed once too often is the second call; for a loss the squashing itself has to go, or become its logarithm.
        site = cause_site(op) if repeated else op.site if name == "logsumexp" else cause_site(made)
        if repeated and op.direct:
            site = handed_in(self.session.recorder, op, argument, made) or site
        self.report(
            site,
            f"{target} wants {wanted} and gets probabilities: its input comes out of {made.name}.",
            evidence={"squashed_by": made.name, "squashed_at": str(made.site), "used_at": str(op.site), "shape": list(value.shape)},
            fix=f"use log_{made.name} instead of {made.name}" if logs and made.name in ("softmax",)
            else "take the logarithm first" if logs
            else "pass the probabilities as `probs=`, or the scores as `logits=`" if name == "logsumexp"
            else f"squash once: leave out either this {name} or the {made.name} before" if repeated
            else f"give {name} the scores, without the {made.name}",
        )  # fmt: skip

    def _always(self, op: Op, value: Value) -> None:
        """The result of a sigmoid compared with zero: the limit of a logit, which no probability is below."""
        found = origin(value)
        if found is not None and found.kind == "sigmoid" and not found.scaled:
            self.report(
                op.site,
                f"{op.written('input') or 'a probability'} is compared with 0, but it comes out of a sigmoid, which is above 0 always.",
                evidence={"sigmoid": str(found.op.site), **_range(value)},
                fix="compare the probability with 0.5, or the scores with 0",
            )


def _same_axis(found: Origin, op: Op, value: Value) -> bool:
    """Whether a second softmax goes over the axis of the first, as far as that can be seen."""
    made = found.op
    if made.name in ("exp", "div"):
        return True
    first, second = made.args.get("dim"), op.args.get("dim", -1)
    if made.name == "gumbel_softmax" or not isinstance(first, int) or not isinstance(second, int):
        return made.name != "gumbel_softmax" and first == second
    return first % value.ndim == second % value.ndim and (made.output is None or made.output.ndim == value.ndim)


class SoftmaxWrongDim(Rule):
    """A softmax over the batch, over time, or over an axis of one."""

    slug = "softmax-wrong-dim"
    id = "PL206"
    severity = "error"
    summary = "softmax over the wrong axis"
    ops = (
        "nll_loss", "gather", "getitem", "argmax", "max", "topk", "matmul", "bmm", "einsum", "softmax", "log_softmax", "softmin", "mul", "sum",
        "kl_div",
        "mse_loss", "l1_loss", "smooth_l1_loss", "binary_cross_entropy",
    )  # fmt: skip

    def __init__(self) -> None:
        self._single: dict[int, tuple[Site | None, str, list[int], int]] = {}
        self._sampled = Sampled()
        self._both: set[Any] = set()  # (id of the scores, axis) of every softmax
        self._doubted: list[tuple[int, int, Op, str, str]] = []

    def on_op(self, op: Op) -> None:
        """See which axis the probabilities are used along."""
        name = op.name
        if name in ("softmax", "log_softmax", "softmin"):
            self._over_one(op)
            value = op.args.get("input")
            if isinstance(value, Value):
                if len(self._both) > 4096:
                    self._both.clear()
                self._both.add((value.number, _axis(op)))
        elif name == "nll_loss":
            self._in_loss(op)
        elif name in ("argmax", "max", "topk"):
            self._chosen(op)
        elif name in ("mse_loss", "l1_loss", "smooth_l1_loss", "binary_cross_entropy"):
            self._beside_rows(op)
        elif name in ("matmul", "bmm"):
            self._attention(op)
        elif name == "einsum":
            self._einsum(op)
        elif name == "kl_div":
            self._compared(op)
        elif name == "sum":
            self._weighted(op)
        elif op.inputs:
            self._picked(op)

    # ---- an axis of one -------------------------------------------------------------------------------------------------
    def _over_one(self, op: Op) -> None:
        value, axis = op.args.get("input"), _axis(op)
        if not isinstance(value, Value) or axis is None or value.shape[axis] != 1 or value.numel == 1:
            return
        made = next((o for o in lineage(value, _THROUGH) if o.name in ("linear", "addmm", "matmul")), None)
        out = made.output if made is not None else None
        if made is None or made.name != "linear" or not op.grad_enabled:
            return
        if axis == value.ndim - 1 and (out is None or out.shape[-1] == 1):
            self.report(
                cause_site(op),
                f"{op.name} over an axis of one element (dim={op.args.get('dim')} of {list(value.shape)}) gives "
                f"{'1' if op.name == 'softmax' else '0'} everywhere, whatever the input.",
                evidence={"dim": op.args.get("dim"), "shape": list(value.shape), "made_by": str(made.site)},
                fix="for one score per row use a sigmoid; for weights over positions use the axis of the positions",
            )

    # ---- losses and choices ---------------------------------------------------------------------------------------------
    def _in_loss(self, op: Op) -> None:
        value = op.args.get("input")
        if (
            not isinstance(value, Value)
            or value.ndim < 2
            or value.shape[0] < 2
            or value.shape[1] < 2
            or not self._sampled.due(op.site)
        ):
            return
        made = next((o for o in lineage(value, _THROUGH) if o.name in ("log_softmax", "softmax")), None)
        passed = list(lineage(value, _THROUGH))
        if made is None or made.name == "softmax" and not any(o.name == "log" for o in passed):
            return
        if any(_mixes(o) for o in passed) or _is_normalised(value):
            return
        self._tell(made, f"nll_loss reads classes along dim 1 of {list(value.shape)}, along which these do not sum to one", op)

    def _compared(self, op: Op) -> None:
        value = op.args.get("input")
        if isinstance(value, Value) and value.ndim == 2:
            self._along(op, value, 1, "kl_div compares rows")

    def _chosen(self, op: Op) -> None:
        value, dim = op.args.get("input"), op.args.get("dim")
        if isinstance(value, Value) and isinstance(dim, int) and value.ndim:
            self._along(op, value, dim % value.ndim, f"{op.name} chooses along dim {dim}")

    def _beside_rows(self, op: Op) -> None:
        """Targets that sum to one along an axis."""
        value, target = op.args.get("input"), op.args.get("target")
        if not isinstance(value, Value) or not isinstance(target, Value) or value.shape != target.shape or value.ndim != 2:
            return
        made, at = traced(value, 0)
        if (
            made is None
            or at != 0
            or made.name == "log_softmax"
            or _axis(made) not in (0, 1)
            or not self._sampled.due((op.site, "rows"))
        ):
            return
        array, axis = target.numpy(), 1 - int(_axis(made) or 0)
        if array is not None and np.all(np.abs(array.sum(axis) - 1) < 1e-3) and np.any(np.abs(array.sum(1 - axis) - 1) > 1e-2):
            self._along(op, value, axis, f"the targets of {op.name} sum to one along dim {axis}")

    def _picked(self, op: Op) -> None:
        """`p[range, y]` and `p.gather(1, y)` pick classes."""
        value = op.args.get("input")
        if not isinstance(value, Value) or value.ndim < 2:
            return
        if op.name == "gather":
            axis = op.args.get("dim")
        elif op.name == "getitem":
            index = op.args.get("index")
            if not (isinstance(index, tuple) and len(index) == 2 and all(_is_index(i) for i in index)):
                return
            axis = 1
        else:
            return
        if isinstance(axis, int):
            self._along(op, value, axis % value.ndim, f"classes are picked along dim {axis % value.ndim}")

    def _along(self, op: Op, value: Value, axis: int, use: str) -> None:
        """The softmax was over another axis than it is used along."""
        if value.ndim < 2 or not self._sampled.due(op.site):
            return
        made, at = traced(value, axis)
        if made is None or at is None:
            return
        over = _axis(made)
        scores = made.args.get("input")
        if over is None or over == at or not isinstance(scores, Value) or scores.shape[at] < 2 or scores.shape[over] < 2:
            return
        self._doubted.append((scores.number, at, made, use, str(op.site)))
        self._settle()

    # ---- weights --------------------------------------------------------------------------------------------------------
    def _attention(self, op: Op) -> None:
        """`softmax(q @ k.T) @ v` sums over the last axis of the weights."""
        weights = op.args.get("input")
        if not isinstance(weights, Value) or weights.ndim < 2:
            return
        made, at = traced(weights, weights.ndim - 1, turned=False)
        if made is None or at is None:
            return
        over = _axis(made)
        scores = made.args.get("input")
        if over is None or over == at or not isinstance(scores, Value) or not _of_two_activations(scores):
            return
        self._doubted.append((scores.number, at, made, "the weighted sum goes over the last axis", str(op.site)))
        self._settle()

    def _einsum(self, op: Op) -> None:
        """The same, written as `einsum("bqk,bkd->bqd", weights, v)`."""
        given = [x for v in op.args.values() for x in (v if isinstance(v, (tuple, list)) else (v,))]
        equation = next((x for x in given if isinstance(x, str)), "")
        if "->" not in equation or len(op.inputs) != 2:
            return
        terms, result = equation.replace(" ", "").split("->")
        for term, weights in zip(terms.split(","), op.inputs, strict=False):
            summed = [k for k, letter in enumerate(term) if letter not in result]
            if len(summed) != 1 or len(term) != weights.ndim or "." in term:
                continue
            made, at = traced(weights, summed[0], turned=False)
            over, scores = (None, None) if made is None else (_axis(made), made.args.get("input"))
            if (
                made is None
                or at is None
                or over is None
                or over == at
                or not isinstance(scores, Value)
                or not _of_two_activations(scores)
            ):
                continue
            self._doubted.append((scores.number, at, made, "the weighted sum goes over another axis", str(op.site)))
            self._settle()

    def _weighted(self, op: Op) -> None:
        """`(weights * values).sum(dim)`: weights over the batch."""
        value, dim = op.args.get("input"), op.args.get("dim")
        if not op.direct and isinstance(value, Value) and isinstance(dim, int) and value.ndim == 2 and op.module is None:
            self._along(op, value, dim % value.ndim, f"the distribution made of it goes along dim {dim}")
            return
        product = value.producer if isinstance(value, Value) else None
        if product is None or product.name != "mul" or not isinstance(dim, int) or len(product.inputs) != 2 or value.ndim < 2:
            return
        for weights in product.inputs:
            if weights.ndim != value.ndim:
                continue
            made, at = traced(weights, dim % value.ndim)
            if made is None or at is None:
                continue
            over, scores = _axis(made), made.args.get("input")
            if over != 0 or at == 0 or not isinstance(scores, Value) or scores.shape[at] < 2 or scores.shape[0] < 2:
                continue
            learned = next((o for o in lineage(scores, _THROUGH) if o.name == "linear"), None)
            if learned is not None:
                self._doubted.append((scores.number, at, made, f"the weighted sum goes over dim {dim}", str(op.site)))
                self._settle()

    def _settle(self) -> None:
        """Report, unless the same scores are also put through a softmax over the other axis (matching in both directions)."""
        doubted, self._doubted = self._doubted, []
        for number, at, made, use, where in doubted:
            if (number, at) not in self._both:
                self._tell(made, use, None, where)

    def _tell(self, made: Op, use: str, loss: Op | None, where: str = "") -> None:
        value = made.args.get("input")
        shape = list(value.shape) if isinstance(value, Value) else []
        dim = made.args.get("dim")
        self.report(
            cause_site(made),
            f"{made.name} goes over dim {_axis(made)} of {shape}{' (no dim is given)' if dim is None else ''}, but {use}.",
            evidence={"dim": dim, "shape": shape, "used_at": where or str(loss.site if loss is not None else None)},
            fix=f"normalise over the classes or positions that belong together: another `dim` for {made.name} (often -1)",
        )


_THROUGH = VIEWS | {"dropout", "clamp", "masked_fill", "mul", "div", "log", "add", "neg", "mean"}


def _axis(op: Op) -> int | None:
    """The axis, counted from the front, that a softmax goes over."""
    value, dim = op.args.get("input"), op.args.get("dim")
    if not isinstance(value, Value) or value.ndim == 0:
        return None
    if dim is None:
        return 0 if value.ndim in (0, 1, 3) else 1
    return dim % value.ndim if isinstance(dim, int) else None


def _is_index(thing: Any) -> bool:
    return isinstance(thing, Value) and "int" in thing.dtype or isinstance(thing, (list, range))


def _mixes(op: Op) -> bool:
    """A view that may not only put leading axes together."""
    if op.name not in ("view", "reshape", "view_as", "unflatten", "sum", "mean"):
        return False
    given, made = (op.inputs[0] if op.inputs else None), op.output
    return given is None or made is None or given.shape[-1:] != made.shape[-1:] or made.ndim > given.ndim


def _of_two_activations(scores: Value) -> bool:
    """Scores that are products of two things that the model computed: queries and keys."""
    for op in lineage(scores, VIEWS | {"mul", "div", "masked_fill", "add", "where", "dropout"}):
        if op.name in ("matmul", "bmm", "einsum", "baddbmm") and len(op.inputs) >= 2:
            return all(v.requires_grad and not v.is_leaf and not _leaf_view(v) for v in op.inputs[-2:])
    return False


def _leaf_view(value: Value) -> bool:
    op = value.producer
    return op is not None and op.name in VIEWS and bool(op.inputs) and (op.inputs[0].is_leaf or _leaf_view(op.inputs[0]))


def traced(value: Value, axis: int, turned: bool = True) -> tuple[Op | None, int | None]:
    """The softmax that a value comes from, and which axis of it `axis` of the value is; (None, None) where that is not certain."""
    at = axis
    for _ in range(30):
        op = value.producer
        if op is None:
            break
        name = op.name
        if name in SOFTMAXES or name == "log_softmax":
            return op, at
        if not op.inputs:
            break
        before = op.inputs[0]
        if name in ("transpose", "t", "T", "mT"):
            if not turned:
                break
            first, second = (op.args.get("dim0"), op.args.get("dim1")) if name == "transpose" else (-2, -1)
            if not isinstance(first, int) or not isinstance(second, int) or name == "T" and value.ndim != 2:
                break
            first, second = first % value.ndim, second % value.ndim
            at = second if at == first else first if at == second else at
        elif name == "permute":
            dims = op.args.get("dims")
            if not turned or not isinstance(dims, (tuple, list)) or not all(isinstance(d, int) for d in dims):
                break
            at = dims[at] % before.ndim
        elif name == "unsqueeze":
            new = op.args.get("dim")
            if not isinstance(new, int) or at == new % value.ndim:
                break
            at -= at > new % value.ndim
        elif name == "squeeze" and isinstance(op.args.get("dim"), int):
            at += at >= op.args["dim"] % before.ndim if before.ndim > value.ndim else 0
        elif name == "getitem":
            index = op.args.get("index")
            index = index if isinstance(index, tuple) else (index,)
            if not all(i is None or i is Ellipsis or i == slice(None) for i in index) or index.count(Ellipsis) or None not in index:
                break
            place = index.index(None)
            if index.count(None) != 1 or at == place:
                break
            at -= at > place
        elif name in (
            "dropout",
            "to",
            "float",
            "double",
            "half",
            "bfloat16",
            "clone",
            "contiguous",
            "detach",
            "clamp",
            "masked_fill",
            "log",
            "neg",
        ) or (name in ("mul", "div", "add", "sub") and len(op.inputs) == 1):
            if before.shape != value.shape:
                break
        elif before.shape != value.shape or name not in VIEWS:
            break
        value = before
    return None, None
