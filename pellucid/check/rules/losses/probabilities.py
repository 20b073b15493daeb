"""Scores, probabilities and log-probabilities passed to a function that expects another of the
three.
"""

from __future__ import annotations

from typing import Any

from ...events import ORDERS, Backward, Failure, Op, Read, Site, Value, ancestors
from ...numbers import number_of
from ...rule import Rule, cause_site
from ..source.places import aliased, handed_in, note_caller, promised, use_of_helper
from .by_hand import (
    complement,
    entered,
    outside,
    overlap,
    picked_actions,
    picked_probabilities,
    plain,
    raw,
    reduced_to,
    terms,
    valued,
)
from .origin import Origin, Sampled, is_normalised, origin


class LogitsAsProbs(Rule):
    """Raw scores where a function reads its argument as probabilities or as their logarithms."""

    slug = "logits-as-probs"
    id = "PL204"
    severity = "error"
    summary = "raw scores where probabilities are expected"
    ops = (
        "binary_cross_entropy",
        "kl_div",
        "multinomial",
        "bernoulli",
        "ctc_loss",
        "cross_entropy",
        "binary_cross_entropy_with_logits",
        "gt",
        "ge",
        "lt",
        "le",
        "round",
        "mul",
        "distribution",
        "clamp",
        "div",
        "sub",
        "matmul",
        "mv",
        "mse_loss",
        "l1_loss",
        "softmax",
        "log_softmax",
    )

    def __init__(self) -> None:
        self._sampled = Sampled()
        # `1 - p` of raw scores, since the last backward
        self._ones: list[tuple[Op, Value, Origin, Any]] = []
        self._judged = 0
        self._scores: set[Any] = set()  # the same of cross entropy
        # ids of modules, or numbers of operations, whose scores BCE-with-logits gets
        self._logits: set[int] = set()
        self._weights: dict[
            Any, tuple[Any, str, dict[str, Any]]
        ] = {}  # by who made them: numbers that a distribution took for probabilities
        self._squashed: set[Any] = set()  # who made numbers that a softmax took for scores
        # by number of the operation
        self._maybe: dict[int, tuple[Any, Site | None, str, dict[str, Any]]] = {}
        self._reported: list[tuple[Any, Site | None, str, dict[str, Any]]] = []
        self._thresholds: list[tuple[Any, Site | None, str, dict[str, Any]]] = []
        self._seen: dict[Site | None, int] = {}
        self._entered = 0

    def on_op(self, op: Op) -> None:
        """An argument that should be probabilities is not."""
        name = op.name
        if name in ORDERS or name == "round":
            self._threshold(op)
            return
        if name in ("mul", "clamp", "div", "sub", "matmul", "mv", "mse_loss", "l1_loss"):
            if name not in ("clamp", "div") and not any(v.requires_grad for v in op.inputs):
                self._valued_at(op)
            elif name in ("matmul", "mv", "mse_loss", "l1_loss"):
                return
            elif op.grad_enabled and op.direct and self._sampled.due(op.site):
                getattr(self, f"_in_{name}")(op)
            return
        if name in ("softmax", "log_softmax"):
            if self._weights and (found := origin(op.args.get("input"))) is not None:
                self._squashed.add(_layer(found))
            return
        if name == "distribution":
            self._given(op)
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
            if given == "raw scores" and what == "log-probabilities" and is_normalised(value, -1):
                continue
            function, fix = _FIXES.get((op.name, argument), ("", ""))
            if given == "log-probabilities":
                fix = "pass `.exp()` of them" + (
                    ", or `log_target=True`" if op.name == "kl_div" else ""
                )
            self.report(
                op.site,
                f"{op.name} expects {what} as {argument} but gets {given}: "
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

    def _given(self, op: Op) -> None:
        """`Categorical(probs=scores)`, `Bernoulli(scores)`."""
        value = op.args.get("probs")
        found = raw(value)
        if found is None or not isinstance(value, Value):
            found = origin(value) if isinstance(value, Value) and value.requires_grad else None
            if (
                found is not None
                and isinstance(value, Value)
                and outside(value)
                and len(self._weights) < 64
            ):
                self._weights[_layer(found)] = aliased(op.site), op.args["kind"], _range(value)
            return
        self.report(
            aliased(op.site),
            f"{op.args['kind']} expects probabilities as `probs` but gets raw scores: they come straight from {found.op.name}.",
            evidence={"made_by": found.op.name, "at": str(found.op.site), **_range(value)},
            fix="pass the scores as `logits=`",
        )

    # ---- losses written out ---------------------------------------------------------------------------------------------
    def _raw(self, site: Any, found: Origin, what: str, value: Value) -> None:
        self.report(
            site,
            f"{what} reads its input as probabilities, but it gets raw scores: they come straight from {found.op.name}.",
            evidence={"made_by": found.op.name, "at": str(found.op.site), **_range(value)},
            fix="apply a sigmoid (or softmax over the classes) to the scores first",
        )

    def _in_clamp(self, op: Op) -> None:
        """`p.clamp(eps, 1 - eps)`: done to probabilities before their logarithm."""
        low, high, value = op.args.get("min"), op.args.get("max"), op.args.get("input")
        if (
            isinstance(low, float)
            and isinstance(high, float)
            and 0 < low <= 0.02
            and 0.98 <= high < 1
            and isinstance(value, Value)
        ):
            found = raw(value)
            if found is not None and outside(value):
                self._raw(
                    entered(self.session.recorder, op, found.op),
                    found,
                    f"a clamp to [{low:g}, {high:g}]",
                    value,
                )

    def _in_div(self, op: Op) -> None:
        p = overlap(op)
        found = raw(p)
        if (
            p is not None
            and found is not None
            and (outside(p) or outside(p) is None and outside(plain(p)) is not False)
        ):
            self._raw(
                entered(self.session.recorder, op, found.op),
                found,
                "an overlap loss, sum(p * t) / (sum(p) + sum(t)),",
                p,
            )

    def _in_sub(self, op: Op) -> None:
        """`1 - p`; what it is for is seen in the backward."""
        value = op.args.get("other")
        if op.args.get("input") in (1, 1.0) and isinstance(value, Value) and value.requires_grad:
            found = raw(value)
            if found is not None and outside(value) and len(self._ones) < 32:
                site, made = entered(self.session.recorder, op, found.op), plain(value).producer
                if (
                    site is op.site
                    and made is not None
                    and made.name in ("gather", "getitem")
                    and made.direct
                ):
                    site = made.site  # where the scores were picked in the place of probabilities
                self._ones.append((op, value, found, site))

    def on_backward_begin(self, event: Backward) -> None:
        """What a loss has done with raw scores."""
        ones, self._ones = self._ones, []
        if self._judged > 16:
            return
        self._judged += 1
        if ones:
            graph = list(ancestors(event.roots, limit=5000))
            for op, value, found, site in ones:
                how = complement(op, value, graph)
                if how is not None:
                    self._raw(site, found, how, value)
        picked = picked_actions(event.roots[0]) if len(event.roots) == 1 else None
        if picked is not None and not any(
            op.name in ("logsumexp", "log_softmax") for op in terms(event.roots[0])
        ):
            op, found = picked
            self.report(
                op.site,
                f"the loss weights the scores of the sampled actions, straight from {found.op.name}, where their log-probabilities "
                "are expected: without the softmax nothing makes the other actions less likely.",
                evidence={"made_by": found.op.name, "at": str(found.op.site), "picked_by": op.name},
                fix="take `log_softmax(dim=-1)` of the scores before picking, or `Categorical(logits=scores).log_prob(actions)`",
            )

    # ---- decisions at one half -----------------------------------------------------------------------------------------
    def _threshold(self, op: Op) -> None:
        value = op.args.get("input")
        limit = op.args.get("other")
        if isinstance(limit, Value) and isinstance(value, Value):
            self._drawn(op, value, limit)
        if not isinstance(value, Value):
            return
        if (
            isinstance(limit, float)
            and 0.05 < limit < 1
            and value.producer is not None
            and value.producer.name == "cumsum"
        ):
            self._cumulated(op, value)
            return
        likely = isinstance(limit, float) and 0.5 <= limit < 1
        if op.name != "round" and not likely or self._entered > 4096:
            return
        if self._seen.get(op.site, 0) >= 20:
            return
        self._seen[op.site] = self._seen.get(op.site, 0) + 1
        found = origin(value)
        if found is not None and found.kind == "scores":
            if (
                limit != 0.5
                and op.name != "round"
                and (value.producer is None or value.producer.name not in ("max", "amax"))
            ):
                return
            self._entered += 1
            written = op.written("input") or "the scores"
            self._thresholds.append(
                (
                    _who(found),
                    op.site,
                    written,
                    {"operation": op.name, "limit": limit, **_range(value)},
                )
            )

    def _drawn(self, op: Op, first: Value, second: Value) -> None:
        """`rand < p` of raw scores."""
        for draw, p in ((first, second), (second, first)):
            made = plain(draw).producer
            if (
                made is not None
                and made.name in ("rand", "rand_like", "uniform")
                and p.shape == draw.shape
            ):
                found = raw(p)
                if found is not None and outside(p):
                    self._raw(op.site, found, "sampling with `rand < p`", p)

    def _cumulated(self, op: Op, value: Value) -> None:
        """`scores.cumsum(-1) < 0.9`, as in the sampling from a nucleus."""
        made = value.producer
        scores = made.inputs[0] if made is not None and made.inputs else None
        while (
            scores is not None
            and scores.producer is not None
            and scores.producer.name in ("sort", "topk")
            and scores.producer.inputs
        ):
            scores = scores.producer.inputs[0]
        found = raw(scores)
        if found is not None and scores is not None and outside(scores):
            self._raw(op.site, found, "a limit on a cumulative sum", scores)

    def _in_mul(self, op: Op) -> None:
        """`p * log(p)` and `p * log(q)` of raw scores `p`."""
        if len(op.inputs) != 2:
            return
        for p, logs in (op.inputs, op.inputs[::-1]):
            if p.requires_grad or not logs.requires_grad or p.shape != logs.shape or p.ndim < 2:
                continue
            found, other = raw(p), origin(logs)
            if (
                found is not None
                and other is not None
                and other.kind == "logs"
                and other.op.name == "log_softmax"
                and outside(p)
            ):
                self._raw(op.site, found, "cross entropy written out, -sum(p * log(q)),", p)
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

    # ---- numbers that are reported --------------------------------------------------------------------------------------
    def _valued_at(self, op: Op) -> None:
        """Outside of training: a product or a distance that makes sense for probabilities alone."""
        found = valued(op) if self._sampled.due(op.site) else None
        if found is not None:
            if len(self._maybe) > 64:
                self._maybe.pop(next(iter(self._maybe)))
            scores, made, what = found
            site = promised(made) or op.site
            self._maybe[op.number] = (
                _who(made),
                site,
                what,
                {"operation": op.name, **_range(scores)},
            )

    def on_read(self, event: Read) -> None:
        """A number that such an operation is reduced to."""
        number = (
            reduced_to(event.value, self._maybe)
            if self._maybe and event.value.numel <= 4096
            else None
        )
        if number is not None:
            self._reported.append(self._maybe.pop(number))

    def finish(self) -> None:
        """Scores that were compared with one half and are trained as logits."""
        for who, (place, kind, seen) in self._weights.items():
            if who in self._squashed:
                self.report(
                    place,
                    f"{kind} treats its first argument as probabilities, but elsewhere a softmax treats the same numbers as scores: here they are "
                    "only divided by their sum.",
                    evidence=seen,
                    fix="pass the scores as `logits=`",
                )
        for who, site, what, evidence in self._reported:
            classes = what.startswith("the expected value")
            if who in (self._scores if classes else self._logits):
                loss = "cross_entropy" if classes else "binary_cross_entropy_with_logits"
                self.report(
                    site,
                    f"{what} is computed here from raw scores as if they were probabilities: they are trained with {loss}.",
                    evidence=evidence,
                    fix=f"take `{'softmax(dim=-1)' if classes else 'torch.sigmoid'}` of the scores first",
                )
        for who, site, written, evidence in self._thresholds:
            if (
                who in self._scores
                and evidence["limit"] != 0.5
                and evidence["operation"] != "round"
            ):
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
                    "where a probability of 0.5 is a logit of 0.",
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
    return number_of(module) if module is not None else found.op.site


def _layer(found: Origin) -> Any:
    """The same for all numbers that are made of one layer's scores in one way."""
    before = origin(found.op.inputs[0]) if found.kind == "sigmoid" and found.op.inputs else None
    return found.kind, _who(before if before is not None else found)


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
    summary = "probabilities where raw scores are expected"
    ops = (
        "binary_cross_entropy_with_logits",
        "cross_entropy",
        "softmax",
        "log_softmax",
        "gumbel_softmax",
        "sigmoid",
        "logsigmoid",
        "kl_div",
        "ctc_loss",
        "logsumexp",
        "multi_margin_loss",
        "multilabel_soft_margin_loss",
        "gt",
        "lt",
        "ge",
        "sign",
        "distribution",
        "exp",
        "log1p",
        "softplus",
    )

    def __init__(self) -> None:
        # softplus of probabilities, since the last backward
        self._soft: list[tuple[Op, Origin]] = []
        # by number of a softmax: who called the function that promises probabilities
        self._asked: dict[int, Any] = {}

    def on_op(self, op: Op) -> None:
        """The input is a softmax's or a sigmoid's result."""
        if op.name in ("gt", "lt", "ge"):
            limit, value = op.args.get("other"), op.args.get("input")
            if (
                isinstance(limit, (int, float))
                and not limit
                and op.direct
                and isinstance(value, Value)
            ):
                self._always(op, value)
            return
        name = op.name
        if name in ("softmax", "sigmoid"):
            note_caller(self.session.recorder, op, self._asked)
        if name == "sign":
            self._always(op, op.args.get("input"))
            return
        if name in ("exp", "log1p", "softplus"):
            self._by_hand(op)
            return
        if name == "logsumexp" and op.direct:
            return  # only as a part of Categorical(logits=...) and the like
        argument = {
            "ctc_loss": "log_probs",
            "gumbel_softmax": "logits",
            "distribution": "logits",
        }.get(name, "input")
        value = op.args.get(argument)
        found = origin(value)
        if found is None or not found.probabilities or not isinstance(value, Value):
            return
        if found.scaled and name not in ("softmax", "log_softmax"):
            return
        made, softmax = found.op, found.kind == "softmax"
        if (
            name == "binary_cross_entropy_with_logits"
            and not softmax
            or name == "cross_entropy"
            and softmax
        ):
            return  # rules of their own
        if name in ("softmax", "log_softmax", "gumbel_softmax") and not _same_axis(
            found, op, value
        ):
            return
        if (
            name in ("sigmoid", "logsigmoid")
            and softmax
            or made.output is not None
            and made.output.numel * 2 <= value.numel
        ):
            return
        logs = name in ("kl_div", "ctc_loss")
        wanted = "log-probabilities" if logs else "raw scores"
        repeated = name in ("softmax", "log_softmax", "gumbel_softmax", "sigmoid", "logsigmoid")
        target = (
            "a distribution with `logits=`"
            if name == "logsumexp"
            else op.args["kind"]
            if name == "distribution"
            else name
        )
        # What is squashed once too often is the second call; for a loss the squashing itself has to
        # go, or become its logarithm.
        site = (
            cause_site(op)
            if repeated
            else aliased(op.site)
            if name in ("logsumexp", "distribution")
            else (use_of_helper(made.site, op.site) if made.direct and op.direct else None)
            or cause_site(made)
        )
        if repeated and op.direct:
            asked = self._asked.get(made.number)
            handed = handed_in(self.session.recorder, op, argument, made) or site
            elsewhere = (
                asked is not None
                and op.site is not None
                and asked.code not in (op.site.code, getattr(handed, "code", None))
            )
            site = asked if elsewhere and not made.grad_enabled else handed
        self.report(
            site,
            f"{target} expects {wanted} but gets probabilities: its input is the output of {made.name}.",
            evidence={
                "squashed_by": made.name,
                "squashed_at": str(made.site),
                "used_at": str(op.site),
                "shape": list(value.shape),
            },
            fix=f"use log_{made.name} instead of {made.name}"
            if logs and made.name in ("softmax",)
            else "take the logarithm first"
            if logs
            else "pass the probabilities as `probs=`, or the scores as `logits=`"
            if name in ("logsumexp", "distribution")
            else f"apply it only once: remove either this {name} or the earlier {made.name}"
            if repeated
            else f"give {name} the scores, without the {made.name}",
        )

    def _by_hand(self, op: Op) -> None:
        """A ratio of policies made of probabilities, `exp(new - old)`; the stable form of BCE with
        logits, and softplus, of a sigmoid.
        """
        value = op.args.get("input")
        made = value.producer if isinstance(value, Value) else None
        if op.name == "exp":
            if made is None or made.name != "sub" or len(made.inputs) != 2 or not op.direct:
                return
            a, b = made.inputs
            both = [origin(v) for v in (a, b)]
            if a.shape == b.shape and (
                all(o is not None and o.kind == "softmax" and not o.scaled for o in both)
                or picked_probabilities(a)
                and (array := b.numpy()) is not None
                and bool(((array > 0) & (array < 1)).all())
            ):
                self.report(
                    op.site,
                    "exp of a difference is a ratio for log-probabilities only, and these are probabilities.",
                    evidence={"operation": made.name, "subtracted_at": str(made.site), **_range(a)},
                    fix="take log_prob (or log_softmax) of the actions instead of their probabilities",
                )
            return
        inner = value
        for _ in range(4):
            made = inner.producer if isinstance(inner, Value) else None
            if made is None or made.name not in ("exp", "neg", "abs") or not made.inputs:
                break
            inner = made.inputs[0]
        if op.name == "log1p" and inner is value:
            return
        found = origin(inner)
        if (
            found is not None
            and found.kind == "sigmoid"
            and not found.scaled
            and len(self._soft) < 32
        ):
            self._soft.append((op, found))

    def on_backward_begin(self, event: Backward) -> None:
        """Softplus of probabilities as a term of the loss."""
        if not self._soft:
            return
        waiting, self._soft = {op.number: found for op, found in self._soft}, []
        for root in event.roots:
            for op in terms(root):
                found = waiting.get(op.number)
                if found is not None:
                    self.report(
                        cause_site(found.op),
                        f"the loss takes {op.name} of a sigmoid's result: it applies a sigmoid itself and expects raw scores.",
                        evidence={"sigmoid": str(found.op.site), "loss": str(op.site)},
                        fix="remove the sigmoid from the training path",
                    )

    def _always(self, op: Op, value: Any) -> None:
        """The result of a sigmoid compared with zero: the limit of a logit, which no probability is
        below.
        """
        found = origin(value)
        if found is not None and found.kind == "sigmoid" and not found.scaled and op.direct:
            self.report(
                op.site,
                f"{op.written('input') or 'a probability'} is compared with 0, but it comes out of a sigmoid, which is always above 0.",
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
    return first % value.ndim == second % value.ndim and (
        made.output is None or made.output.ndim == value.ndim
    )
