"""Losses with the wrong sign: what should grow is made small, or the other way round."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...events import VIEWS, Backward, Op, OptimizerInfo, Site, Value, ancestors, lineage, made_by
from ...rule import Rule
from ..labels.labels import BINARY, CLASS_LOSSES, REGRESSION
from ..source.places import Place, function_around, tree

TIMES = 3  # losses
LOOKS = 16

_LOSSES = frozenset((*CLASS_LOSSES, *BINARY, *REGRESSION, "kl_div", "gaussian_nll_loss"))
_LINEAR = VIEWS | {"mean", "sum", "stack", "cat", "nanmean", "minimum", "maximum", "min", "max"}
_GOOD = re.compile(r"reward|return|advantage|(^|[^a-z])(adv|gae|ret|rets|rtg)s?([^a-z]|$)", re.I)
_BAD = re.compile(
    r"cost|regret|penalt|loss_of|baseline\s*-|value\w*\s*-\s*(ret|rew)|-\s*(ret|rew|adv)\w*\b(?!\s*\.)",
    re.I,
)
_SAMPLES = frozenset("sample multinomial bernoulli normal rsample".split())


class _Term:
    """What is added to a loss, with its sign, and what it is multiplied by."""

    __slots__ = ("at", "outer", "sign", "value", "weights")

    def __init__(
        self, value: Value, sign: int, at: Op | None, weights: tuple[tuple[Op, Value | float], ...]
    ) -> None:
        self.value = value
        self.sign = sign
        self.at = at  # where its sign was turned last
        self.weights = weights
        self.outer: Op | None = None  # where the sign of a whole part of the loss is turned


class LossSign(Rule):
    """A loss whose minimum is the worst model: a minus that is missing, or one too many."""

    slug = "loss-sign"
    id = "PL212"
    severity = "error"
    summary = "a loss with the wrong sign"
    supersedes = ("loss-at-chance", "exploding-gradient", "lr-absurd")
    ops = (
        "log_prob",
        "entropy",
        "kl_divergence",
        "triplet_margin_loss",
        "maximum",
        "max",
        "minimum",
        "min",
        "cross_entropy",
    )

    def __init__(self) -> None:
        # by number of a Value: what of a distribution it is, and whether it is about a sample
        self._told: dict[int, tuple[str, bool]] = {}
        self._optimizers: list[OptimizerInfo] = []
        self._seen: dict[Any, list[Any]] = {}  # by kind and place: how often, what to say
        self._lowest: dict[int, Op] = {}  # the smaller sides of quantile losses, by number
        self._signs: dict[str, set[int]] = {}  # by kind of a loss of the library: its signs

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """Two may want the opposite of each other."""
        self._optimizers.append(event)

    def on_op(self, op: Op) -> None:
        """A distribution was asked for something; a loss of two sides."""
        if op.name == "triplet_margin_loss":
            self._triplet(op)
            return
        if op.name == "cross_entropy":
            self._distances(op)
            return
        if op.name in ("maximum", "max", "minimum", "min"):
            if len(op.inputs) == 2 and op.grad_enabled:
                self._quantile(op)
            return
        result, value = op.args.get("result"), op.args.get("value")
        if not isinstance(result, Value):
            return
        if len(self._told) > 4096:
            self._told.clear()
        drawn = isinstance(value, Value) and (
            value.requires_grad
            or any(o.name in _SAMPLES for o in lineage(value, VIEWS | {"stack", "cat"}, 60))
        )
        self._told[result.number] = op.name, drawn

    def _triplet(self, op: Op) -> None:
        """Whether what is called negative is given as the positive, and the other way round."""
        call = op.site.call if op.direct and op.site is not None else None
        if op.module is not None and op.module.site is not None:
            call = op.module.site.call
        given = call.arguments if call is not None else []
        site = op.module.site if op.module is not None else op.site
        if len(given) < 3 or site is None:
            return
        positive, negative = (_called(site, text) for text in given[1:3])
        if (positive, negative) == ("negative", "positive"):
            self._note(
                "triplet",
                site,
                f"`{given[1]}` is given as the positive and `{given[2]}` as the negative: samples of other classes are pulled together",
                {"call": site.text},
                "criterion(anchor, positive, negative)",
            )

    def _quantile(self, op: Op) -> None:
        """`max(q * e, (q - 1) * e)` with e = prediction - target: the quantile 1 - q."""
        made = [v.producer for v in op.inputs]
        if op.site is None or not all(m is not None and m.name == "mul" for m in made):
            return
        if not re.search(r"\b([\w.\[\]]+) \* (\w+), ?\(\1 - 1(\.0)?\) \* \2\b", op.site.text):
            return
        error = made[0].inputs[-1].producer if made[0] is not None else None
        if error is None or error.name != "sub" or len(error.inputs) != 2:
            return
        if op.name.startswith("min"):
            if not re.search(r"-\s*[\w.]*min(imum)?\(", op.site.text):
                self._lowest[op.number] = op
                while len(self._lowest) > 64:
                    self._lowest.pop(next(iter(self._lowest)))
            return
        if error.inputs[0].requires_grad and not error.inputs[1].requires_grad:
            self._note(
                "quantile",
                error.site,
                "this difference is prediction - target, but the quantile loss needs target - prediction: with this sign it learns the quantile 1 - "
                "q",
                {"loss": op.site.text},
                "`error = target - prediction`",
            )

    def _distances(self, op: Op) -> None:
        """Cross entropy makes the score of the right class the largest: a distance as it is."""
        scores = op.args.get("input")
        if not isinstance(scores, Value) or not scores.requires_grad:
            return
        made = next((o for o in lineage(scores, _OF_DISTANCES, 10) if o.name == "cdist"), None)
        if made is None or any(
            _negative(o) for o in lineage(scores, _OF_DISTANCES | {"neg"}, 10) if o is not made
        ):
            return
        self._note(
            "distances",
            op.site,
            "distances are the scores of this cross entropy as they are, so training makes the distance to the right class the largest",
            {"distances_at": str(made.site)},
            "take the negative distances: `F.cross_entropy(-distance, labels)`",
        )

    def on_backward_begin(self, event: Backward) -> None:
        """The terms of a loss."""
        if event.how != "backward" or len(event.roots) != 1 or event.roots[0].numel != 1:
            return
        if self.count("looked", event.site) > LOOKS:
            return
        turned = -1 if any(g.get("maximize") for o in self._optimizers for g in o.groups) else 1
        root = event.roots[0]
        passed: dict[int, int] = {}
        terms = list(terms_of(root, self._told, passed))
        self._standard(terms, turned, root)
        policy = self._weighted(terms, turned)
        self._likelihood(terms, turned, root)
        self._entropy(terms, turned, policy)
        self._divergence(terms, passed, turned)
        self._overlap(terms, turned)
        graph = list(ancestors([root], limit=2000))
        self._below(graph, passed, turned)
        self._clipped(graph, passed, turned)
        self._scale(graph, terms, passed, turned)

    # ---- kinds of terms --------------------------------------------------------------------------
    def _standard(self, terms: list[_Term], turned: int, root: Value) -> None:
        """Losses of the library that are made large."""
        for term in terms:
            made = term.value.producer
            if made is None or made.name not in _LOSSES or term.weights:
                continue
            sign = term.sign * turned
            self._signs.setdefault(made.name, set()).add(sign)
            if sign > 0 or not any(
                o.module is not None and o.grad_enabled for o in ancestors([term.value], limit=400)
            ):
                continue
            where = self._optimizers[-1] if turned < 0 and self._optimizers else term.at
            self._note(
                "standard",
                where.site if where is not None else None,
                f"this maximizes the loss: {made.name} has a minus here"
                if turned > 0
                else f"this optimizer maximizes the loss {made.name}, because it has maximize=True",
                {"loss": str(made.site), "name": made.name},
                "remove the minus" if turned > 0 else "remove `maximize=True`",
            )

    def _weighted(self, terms: list[_Term], turned: int) -> bool:
        """`log_prob * advantage`; whether there is such a term."""
        found = False
        for term in terms:
            told = self._told.get(term.value.number)
            chosen = told is not None and told[0] == "log_prob" or _of_choices(term.value)
            if not chosen or not term.weights:
                continue
            found = True
            op, _ = term.weights[-1]
            text = op.site.text if op.site is not None else ""
            if term.sign * turned < 0 or _BAD.search(text) or not _named(term.weights):
                continue
            self._note(
                "policy",
                op.site,
                "minimizing this loss makes rewarded actions less likely: it multiplies their log-probability by a reward or "
                "advantage, without a minus",
                {"line": text},
                "put a minus in front: `-(log_prob * advantage).mean()`",
            )
        return found

    def _likelihood(self, terms: list[_Term], turned: int, root: Value) -> None:
        """Log-probabilities of data that are made small."""
        found = [
            t
            for t in terms
            if not t.weights
            and (
                self._told.get(t.value.number) == ("log_prob", False)
                or _of_labels(t.value)
                or _of_pairs(t.value)
            )
        ]
        if not found or any(t.sign * turned < 0 for t in found):
            return
        made = root.producer
        self._note(
            "likelihood",
            made.site if made is not None else None,
            "this loss is the log-sigmoid of a difference of scores, without a minus: training makes the better score the smaller one"
            if _of_pairs(found[0].value)
            else "this loss is the log-probability of the data, without a minus: training makes the data less likely",
            {"terms": len(found)},
            "put a minus in front: `-logsigmoid(better - worse).mean()`"
            if _of_pairs(found[0].value)
            else "put a minus in front: `-log_prob.mean()`",
        )

    def _entropy(self, terms: list[_Term], turned: int, policy: bool) -> None:
        """The entropy of a policy, which is to stay large."""
        if not policy:
            return
        for term in terms:
            told = self._told.get(term.value.number)
            if told is None or told[0] != "entropy" or term.sign * turned < 0:
                continue
            at = term.at
            self._note(
                "entropy",
                (at.site if at is not None else None)
                or (term.value.producer and term.value.producer.site),
                "this adds the policy's entropy to the loss, so training reduces it and the policy stops exploring",
                {},
                "subtract it: `loss = policy_loss - beta * entropy`",
            )

    def _divergence(self, terms: list[_Term], passed: dict[int, int], turned: int) -> None:
        """A KL divergence that is made large."""
        for term in terms:
            told = self._told.get(term.value.number)
            if told is not None and told[0] == "kl_divergence" and term.sign * turned < 0:
                self._far(term)
        for term in terms:
            op = term.value.producer
            if op is None or op.name != "exp" or term.sign * turned > 0:
                continue
            logarithm = passed.get(op.inputs[0].number)
            squares = any(_square(t.value) and t.sign == term.sign for t in terms)
            if logarithm == -term.sign and squares:
                self._far(term)
                break

    def _far(self, term: _Term) -> None:
        at = term.outer or term.at
        self._note(
            "divergence",
            at.site if at is not None else None,
            "this subtracts a KL divergence from the loss, so training makes it larger and larger",
            {},
            "add it: `loss = reconstruction + beta * kl`, with `kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum()`",
        )

    def _overlap(self, terms: list[_Term], turned: int) -> None:
        """A share of overlap, `2 * (p * t).sum() / (p.sum() + t.sum())`, that is made small."""
        for term in terms:
            op = term.value.producer
            if op is None or op.name != "div" or len(op.inputs) != 2 or term.weights:
                continue
            if term.sign * turned < 0 or not all(v.requires_grad for v in op.inputs):
                continue
            both = [o for o in lineage(op.inputs[0], _OF_SUMS, 12) if o.name == "mul"]
            sums = [o for o in lineage(op.inputs[1], _OF_SUMS, 12) if o.name == "sum"]
            parts = {o.inputs[0].number for o in sums}
            for product in both:
                hot = [v for v in product.inputs if v.requires_grad]
                if len(product.inputs) == 2 and len(hot) == 1 and hot[0].number in parts:
                    self._note(
                        "overlap",
                        _returned(op.site) or op.site,
                        "this loss is the overlap of prediction and target, without a minus: training makes the overlap small",
                        {"overlap_at": str(product.site)},
                        "`1 - dice`, or `-dice`",
                    )
                    break

    def _below(self, graph: list[Op], passed: dict[int, int], turned: int) -> None:
        """`min(q * e, (q - 1) * e)` is never above zero: the larger the error, the smaller it is."""
        for op in graph if self._lowest else ():
            out = op.output
            if op.number in self._lowest and out is not None:
                if passed.get(out.number, 0) * turned > 0:
                    self._note(
                        "below",
                        op.site,
                        "this quantile loss takes the smaller of its two sides, which is never above zero: training makes the error large",
                        {"loss": op.site.text if op.site is not None else ""},
                        "`torch.max(q * error, (q - 1) * error)`",
                    )
                return

    def _clipped(self, graph: list[Op], passed: dict[int, int], turned: int) -> None:
        """`-max(ratio * adv, clipped * adv)`: the larger of the two is never held back."""
        for op in graph:
            if op.name not in ("min", "minimum", "max", "maximum") or len(op.inputs) != 2:
                continue
            sides = [_clamped_ratio(v) for v in op.inputs]
            out = op.output
            if out is None or sides[0] is None or sides[1] is None:
                continue
            (one, negative, held), (other, _, held_too) = sides
            if one != other or held == held_too or out.number not in passed:
                continue
            if (passed[out.number] * turned > 0) != bool(negative):
                continue  # the sign of the whole is another question
            if op.name.startswith("max") != bool(negative):
                self._note(
                    "clipped",
                    op.site,
                    "this loss takes the larger of the clipped and the unclipped objective, so the clipping never limits an update",
                    {"operation": op.name},
                    "`-torch.min(ratio * adv, clipped * adv)`, or `torch.max(-ratio * adv, -clipped * adv)`",
                )

    def _scale(
        self, graph: list[Op], terms: list[_Term], passed: dict[int, int], turned: int
    ) -> None:
        """exp(s) scales what the loss makes small, and s itself is added: both are smallest where s
        is minus infinity.
        """
        scales: dict[int, tuple[Op, Op]] = {}
        for op in graph:
            if op.name != "mul" or len(op.inputs) != 2:
                continue
            for one, other in (op.inputs, op.inputs[::-1]):
                made = one.producer
                if made is None or made.name != "exp" or not one.requires_grad:
                    continue
                if other.requires_grad or not _noise(other):
                    scales[made.inputs[0].number] = op, made
        if not scales:
            return
        for term in terms:
            op, made = scales.get(term.value.number, (None, None))
            if op is None or made is None or term.sign * turned < 0 or term.weights:
                continue
            product = op.output
            if product is None or passed.get(product.number, 1) * turned < 0:
                continue
            weighs = product.number in passed  # a weight of the loss; else data are scaled
            if not weighs and not _squared(product, graph):
                continue
            self._note(
                "scale",
                made.site if weighs or term.at is None else term.at.site,
                "exp(s) multiplies a term that this loss minimizes, and s itself is added with the same sign: both fall with s, without a limit",
                {"scaled_at": str(op.site)},
                "give one of the two a minus: `exp(-s) * loss + s` for a log-variance, `-log_det` for a flow that multiplies by exp(s)",
            )

    # ---- telling ---------------------------------------------------------------------------------
    def _note(self, kind: str, site: Any, message: str, evidence: dict[str, Any], fix: str) -> None:
        held = self._seen.setdefault((kind, site), [0, message, evidence, fix, -1])
        if held[4] != self.step:
            held[4] = self.step
            held[0] += 1

    def finish(self) -> None:
        """What was so in all the losses."""
        for (kind, site), (count, message, evidence, fix, _) in self._seen.items():
            if count < TIMES or site is None:
                continue
            if kind == "standard":
                others = len({o.site for o in self._optimizers}) > 1
                if others or self._signs.get(evidence["name"]) != {-1}:
                    continue
            self.report(
                site,
                message + ".",
                evidence=evidence,
                fix=fix,
                severity="warning" if kind in ("policy", "entropy", "divergence") else None,
            )


# ---- the terms of a loss -------------------------------------------------------------------------
def terms_of(root: Value, told: dict[int, Any], passed: dict[int, int]) -> Iterator[_Term]:
    """What a loss is a sum of, as far as that is linear; the signs of all values on the way are
    put into `passed`, by number. Values in `told` are not taken apart.
    """
    waiting: list[_Term] = [_Term(root, 1, None, ())]
    seen: set[int] = set()
    while waiting and len(seen) < 400:
        term = waiting.pop()
        value = term.value
        op = value.producer
        passed.setdefault(value.number, term.sign)
        if value.number in told or op is None or not op.inputs or op.name in _LOSSES:
            yield term
            continue
        if op.number in seen:
            continue
        seen.add(op.number)
        parts = list(_parts(op, term))
        for part in parts:
            whole = part.sign != term.sign and value.numel == 1
            part.outer = op if whole and term.outer is None else term.outer
        if not parts:
            yield term
        waiting += parts


def _parts(op: Op, term: _Term) -> Iterator[_Term]:
    if op.name in ("add", "sub"):
        for key, side in (("input", 1), ("other", -1 if op.name == "sub" else 1)):
            value = op.args.get(key)
            alpha = op.args.get("alpha", 1) if key == "other" else 1
            if isinstance(value, Value) and value.requires_grad:
                sign = side * _sign(alpha)
                yield _Term(
                    value, term.sign * sign, op if sign < 0 else term.at or op, term.weights
                )
    elif op.name == "neg":
        yield _Term(op.inputs[0], -term.sign, op, term.weights)
    elif op.name in ("mul", "div"):
        first, other = op.args.get("input"), op.args.get("other")
        hot = [v for v in (first, other) if isinstance(v, Value) and v.requires_grad]
        if len(hot) != 1 or op.name == "div" and hot[0] is not first:
            return
        cold = other if hot[0] is first else first
        if isinstance(cold, (int, float)):
            own = cold in (-1, 1) or op.name == "div" or not _is_choice(hot[0])
            sign = _sign(cold) if own else 1
            weights = term.weights if own else (*term.weights, (op, cold))
            yield _Term(hot[0], term.sign * sign, op if sign < 0 else term.at, weights)
        elif isinstance(cold, Value):
            turned = cold.producer is not None and cold.producer.name == "neg"
            positive = _never_negative(cold)
            weights = term.weights if positive else (*term.weights, (op, cold))
            yield _Term(
                hot[0], -term.sign if turned else term.sign, op if turned else term.at, weights
            )
    elif op.name in ("min", "minimum", "max", "maximum"):
        if op.args.get("dim") is None:
            for v in op.inputs:
                if v.requires_grad and len(op.inputs) == 2:
                    yield _Term(v, term.sign, term.at, term.weights)
    elif op.name in _LINEAR:
        if op.name in ("gather", "getitem", "index_select", "take_along_dim") and _of_labels(
            term.value
        ):
            return
        for v in op.inputs:
            if v.requires_grad:
                yield _Term(v, term.sign, term.at, term.weights)
    elif op.name == "exp" and op.inputs[0].producer is not None:
        made = op.inputs[0].producer
        if made.name == "sub" and term.weights and made.inputs[0].requires_grad:
            yield _Term(made.inputs[0], term.sign, term.at, term.weights)  # a ratio
    elif op.name == "clamp" and term.weights:
        yield _Term(op.inputs[0], term.sign, term.at, term.weights)


_SIDES = {
    "positive": re.compile(r"(^|[^a-z])pos(itive)?s?([^a-z]|$)", re.I),
    "negative": re.compile(r"(^|[^a-z])neg(ative)?s?([^a-z]|$)", re.I),
}


def _called(site: Site, text: str) -> str | None:
    """Whether an argument is called positive or negative, or what it was made of."""
    for _ in range(2):
        found = [side for side, words in _SIDES.items() if words.search(text)]
        if found:
            return found[0] if len(found) == 1 else None
        if not text.isidentifier():
            return None
        text = _assigned(site, text)
    return None


def _assigned(site: Site, name: str) -> str:
    """What was assigned to a variable last before a place in the same function."""
    scope = function_around(site.file, site.line) or tree(site.file)
    best: tuple[int, str] = (0, "")
    for node in ast.walk(scope) if scope is not None else ():
        if not isinstance(node, ast.Assign) or node.lineno >= site.line:
            continue
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            for part, value in pairs:
                if isinstance(part, ast.Name) and part.id == name and node.lineno > best[0]:
                    best = node.lineno, ast.unparse(value)
    return best[1]


_OF_SUMS = VIEWS | frozenset("add sub mul sum clamp".split())
_OF_DISTANCES = frozenset("pow square div mul view reshape squeeze unsqueeze sqrt".split())


def _negative(op: Op) -> bool:
    """Whether an operation turns the sign, or may."""
    if op.name == "neg":
        return True
    numbers = [v for k in ("input", "other") if isinstance(v := op.args.get(k), (int, float))]
    return op.name in ("mul", "div") and (len(op.inputs) > 1 or any(n < 0 for n in numbers))


def _clamped_ratio(value: Value) -> tuple[int, int, bool] | None:
    """(number of a ratio, how often the sign is turned, whether it is clamped) of `ratio * adv`."""
    waiting, turned = [value], 0
    for _ in range(8):
        made = waiting.pop(0).producer if waiting else None
        if made is None:
            continue
        if made.name == "clamp" and made.inputs[0].producer is not None:
            if made.inputs[0].producer.name == "exp":
                return made.inputs[0].number, turned % 2, True
        elif made.name == "exp" and made.output is not None:
            return made.output.number, turned % 2, False
        elif made.name == "neg":
            turned += 1
            waiting += made.inputs
        elif made.name == "mul":
            turned += sum(
                isinstance(n, (int, float)) and n < 0
                for n in (made.args.get("input"), made.args.get("other"))
            )
            waiting += made.inputs
    return None


def _noise(value: Value) -> bool:
    made = made_by(value)
    return made is not None and made.name in ("randn", "randn_like", "normal", "normal_")


def _squared(value: Value, graph: list[Op]) -> bool:
    """Whether a loss is made of the squares of what a value is a part of."""
    after = {value.number}
    for op in sorted(graph, key=lambda op: op.number):
        if not any(v.number in after for v in op.inputs):
            continue
        if op.name == "square" or op.name == "pow" and op.args.get("exponent") == 2:
            return True
        out = op.output
        if out is not None and op.name in (*_SUMS, *VIEWS):
            after.add(out.number)
    return False


_SUMS = ("add", "sub", "cat", "stack", "mul")


def _sign(number: Any) -> int:
    return -1 if isinstance(number, (int, float)) and number < 0 else 1


def _never_negative(value: Value) -> bool:
    """Whether a factor is a count, a mask or a weight, not a reward."""
    array = value.numpy()
    return (
        array is not None
        and array.size > 0
        and bool(np.isin(array, (0, 1)).all() or array.size == 1 and array.reshape(-1)[0] > 0)
    )


def _is_choice(value: Value) -> bool:
    """Whether a value may be the log-probability of a choice."""
    return any(
        o.name in ("log_softmax", "logsumexp", "log", "log_prob") or o.name == "gather"
        for o in lineage(value, VIEWS | {"neg", "sub"}, 12)
    )


def _picked(value: Value) -> Op | None:
    """The operation that picks one log-probability of each row."""
    for op in lineage(value, frozenset("squeeze reshape view flatten".split()), 6):
        if op.name in ("gather", "getitem", "take_along_dim") and len(op.inputs) > 1:
            rows = op.inputs[0]
            if any(o.name == "log_softmax" for o in lineage(rows, VIEWS, 6)) or any(
                o.name == "log" and any(p.name == "softmax" for p in lineage(o.inputs[0], VIEWS, 6))
                for o in lineage(rows, VIEWS, 6)
                if o.inputs
            ):
                return op
    return None


def _drawn(op: Op) -> bool:
    return any(
        o.name in _SAMPLES or o.name in ("argmax", "topk")
        for v in op.inputs[1:]
        for o in lineage(v, VIEWS | {"stack", "cat"}, 30)
    )


def _of_labels(value: Value) -> bool:
    """Whether a value is the log-probability of each label."""
    op = _picked(value)
    return op is not None and not _drawn(op)


def _of_pairs(value: Value) -> bool:
    """Whether a value is the log-sigmoid of the difference of two scores."""
    op = value.producer
    if op is not None and op.name == "log" and op.inputs[0].producer is not None:
        op = op.inputs[0].producer
        if op.name != "sigmoid":
            return False
    elif op is None or op.name not in ("logsigmoid", "log_sigmoid"):
        return False
    return any(
        o.name == "sub" and len(o.inputs) == 2 and all(v.requires_grad for v in o.inputs)
        for o in lineage(op.inputs[0], VIEWS | {"mul", "div"}, 6)
    )


def _of_choices(value: Value) -> bool:
    return _picked(value) is not None


def _named(weights: tuple[tuple[Op, Value | float], ...]) -> bool:
    """Whether a weight is called a reward, a return or an advantage where it is used."""
    for op, weight in weights:
        name = weight.name if isinstance(weight, Value) else None
        text = op.site.text.removeprefix("return ") if op.site is not None else ""
        if name is not None and _GOOD.search(name) or _GOOD.search(text):
            return True
    return False


def _returned(site: Site | None) -> Place | None:
    """The last line that returns something of the function around a place, if that is no training."""
    function = function_around(site.file, site.line) if site is not None else None
    if site is None or function is None or ".backward(" in ast.unparse(function):
        return None
    lines = [n.lineno for n in ast.walk(function) if isinstance(n, ast.Return)]
    return Place(site.file, max(lines)) if lines else None


def _square(value: Value) -> bool:
    op = value.producer
    if op is None:
        return False
    if op.name == "mul" and len(op.inputs) == 2:
        return op.inputs[0].number == op.inputs[1].number
    return op.name == "square" or op.name == "pow" and op.args.get("exponent") == 2
