"""Latent variables whose noise is scaled with what the loss takes for a variance."""

from __future__ import annotations

import re

from ...events import VIEWS, Backward, Op, Value, ancestors, lineage, made_by
from ...rule import Rule
from .origin import Repeated

TIMES = 3  # losses
LOOKS = 8  # by place of a backward
_DEVIATION = re.compile(r"(^|[^a-z])(std|stds|sigma|stddev|deviation|scale)$", re.I)
_NOISE = frozenset("randn randn_like normal normal_".split())
_SAME = VIEWS - {"getitem", "select", "narrow", "chunk", "split"}


class VarianceAsDeviation(Rule):
    """`mean + exp(v) * noise` beside a divergence with `1 + v - mean**2 - exp(v)`: there exp(v) is
    the variance.
    """

    slug = "variance-as-deviation"
    id = "PL218"
    severity = "error"
    summary = "noise is scaled with a variance instead of a standard deviation"
    ops = ("gaussian_nll_loss", "add")

    def __init__(self) -> None:
        self._repeated = Repeated(looks=16, times=TIMES)

    def on_op(self, op: Op) -> None:
        """A loss that takes a variance; a sum of data and noise."""
        if op.name == "gaussian_nll_loss":
            self._likelihood(op)
        elif len(op.inputs) == 2 and all(
            v.producer is not None and v.producer.name == "mul" for v in op.inputs
        ):
            self._mixed(op)

    def _likelihood(self, op: Op) -> None:
        given = op.args.get("var")
        call = op.module.site.call if op.module is not None and op.module.site is not None else None
        if op.direct:
            text = op.written("var")
        else:
            text = call.arguments[2] if call is not None and len(call.arguments) > 2 else None
        if not isinstance(given, Value) or text is None or not _DEVIATION.search(text):
            return
        site = op.module.site if op.module is not None and not op.direct else op.site
        if self._repeated.due(site) and self._repeated.again(site):
            self.report(
                site,
                f"this loss expects a variance, and gets `{text}`, a standard deviation by its name.",
                evidence={"given": text, "shape": list(given.shape)},
                fix=f"give it the square: `{text} ** 2`",
            )

    def _mixed(self, op: Op) -> None:
        """`a * x + (1 - a) * noise` with a product of (1 - beta): the roots of both are the factors."""
        factors = []
        noise = False
        for value in op.inputs:
            made = value.producer
            if made is None or len(made.inputs) != 2 or op.output is None:
                return
            drawn = [_is_drawn(v) for v in made.inputs]
            one = made.inputs[1 if drawn[0] else 0]
            if any(drawn):
                noise = True
            else:
                one = min(made.inputs, key=lambda v: v.numel)
            factors.append(one)
        kept, other = (
            [o.name for o in lineage(f, VIEWS | {"sub", "rsub", "sqrt", "pow"}, 12)]
            for f in factors
        )
        roots = {"sqrt", "pow"}
        if not noise or "cumprod" not in kept or "cumprod" not in other:
            return
        rooted = [bool(roots & {*names}) for names in (kept, other)]
        if all(rooted) or not ("sub" in kept) != ("sub" in other):
            return
        if any(rooted) and self._repeated.due(op.site) and self._repeated.again(op.site):
            place = op.inputs[rooted.index(False)].producer
            self.report(
                place.site if place is not None else op.site,
                "only one of the two factors that mix data and noise has its square root, and the other is a variance: the result has another "
                "variance in every step.",
                evidence={"shape": list(op.inputs[0].shape), "mixed_at": op.site},
                fix="`a.sqrt() * x + (1 - a).sqrt() * noise`",
            )
        elif not any(rooted) and self._repeated.due(op.site) and self._repeated.again(op.site):
            self.report(
                op.site,
                "data and noise are mixed with the variances `a` and `1 - a` instead of standard deviations: the result has a variance far below "
                "one.",
                evidence={"shape": list(op.inputs[0].shape)},
                fix="`a.sqrt() * x + (1 - a).sqrt() * noise`",
            )

    def on_backward_begin(self, event: Backward) -> None:
        """A loss with a divergence of a latent variable."""
        if self.count("looked", event.site) > LOOKS:
            return
        graph = list(ancestors(event.roots, limit=20_000))
        if not any(o.name == "exp" for o in graph):
            return
        variances = {v.number: op for op in graph for v in _in_divergence(op)}
        for op in graph if variances else ():
            self._uniform(op)
        for op in graph if variances else ():
            made = _scales_noise(op)
            if made is None or made.inputs[0].number not in variances:
                continue
            if self.count("seen", made.site) == TIMES:
                self.report(
                    made.site,
                    "exp(v) is used as the standard deviation of the noise here, but as the "
                    "variance in the loss's divergence.",
                    evidence={
                        "noise_at": op.site,
                        "divergence_at": variances[made.inputs[0].number].site,
                        "shape": list(made.inputs[0].shape),
                    },
                    fix="take the square root of the variance: `std = torch.exp(0.5 * logvar)`",
                )

    def _uniform(self, op: Op) -> None:
        """Noise of a latent variable that is drawn between 0 and 1."""
        if op.name != "mul" or len(op.inputs) != 2:
            return
        for noise, scale in (op.inputs, op.inputs[::-1]):
            made = noise.producer
            if (
                made is not None
                and made.name in ("rand", "rand_like")
                and _exponential(scale) is not None
                and self._repeated.due(made.site)
                and self._repeated.again(made.site)
            ):
                self.report(
                    made.site,
                    f"the noise of this latent variable comes from {made.name}, which draws between 0 and 1; its divergence in the loss is that "
                    "of a normal variable.",
                    evidence={"scaled_at": op.site, "shape": list(noise.shape)},
                    fix="draw it with `torch.randn_like(std)`",
                )


def _exponential(value: Value) -> Op | None:
    """The `exp` that a value is the result of."""
    made = made_by(value, _SAME)
    return made if made is not None and made.name == "exp" and made.inputs else None


def _scales_noise(op: Op) -> Op | None:
    """The `exp` whose result is multiplied with drawn noise."""
    if op.name not in ("mul", "addcmul"):
        return None
    factors = [v for v in op.inputs if not _is_drawn(v)]
    if len(factors) == len(op.inputs):
        return None
    return next((made for v in factors if (made := _exponential(v)) is not None), None)


def _is_drawn(value: Value) -> bool:
    made = made_by(value, _SAME)
    return made is not None and made.name in _NOISE and not value.requires_grad


def _in_divergence(op: Op) -> list[Value]:
    """Each v of a sum that has v and exp(v) in it with opposite signs and the same factor, and a
    square: of a normal variable's divergence from the standard one, written with a variance.
    """
    if op.name not in ("add", "sub"):
        return []
    plain: dict[int, tuple[Value, int]] = {}
    powers: dict[int, int] = {}
    square = False
    for value, sign in _addends(op):
        made = value.producer
        if made is not None and made.name == "exp":
            powers[made.inputs[0].number] = sign
        elif made is not None and (made.name in ("pow", "square") or _is_square(made)):
            square = True
        else:
            plain[value.number] = value, sign
    return [
        v for number, (v, sign) in plain.items() if square and powers.get(number, sign) == -sign
    ]


def _is_square(op: Op) -> bool:
    return op.name == "mul" and len(op.inputs) == 2 and op.inputs[0].number == op.inputs[1].number


def _addends(op: Op) -> list[tuple[Value, int]]:
    """(value, sign) of what is added and subtracted."""
    found: list[tuple[Value, int]] = []
    waiting = [(op, 1)]
    while waiting and len(found) < 32:
        current, sign = waiting.pop()
        alpha = current.args.get("alpha", 1)
        for name, own in (("input", 1), ("other", -1 if current.name == "sub" else 1)):
            value = current.args.get(name)
            if not isinstance(value, Value) or alpha != 1:
                continue
            made = value.producer
            if made is not None and made.name in ("add", "sub") and not made.inplace:
                waiting.append((made, sign * own))
            else:
                found.append((value, sign * own))
    return found
