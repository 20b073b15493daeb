"""Latent variables whose noise is scaled with what the loss takes for a variance."""

from __future__ import annotations

from ...events import VIEWS, Backward, Op, Site, Value, ancestors, lineage
from ...rule import Rule

TIMES = 3  # losses
LOOKS = 8  # by place of a backward
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
    ops = ()

    def __init__(self) -> None:
        self._looked: dict[Site | None, int] = {}
        self._seen: dict[Site | None, int] = {}

    def on_backward_begin(self, event: Backward) -> None:
        """A loss with a divergence of a latent variable."""
        looked = self._looked[event.site] = self._looked.get(event.site, 0) + 1
        if looked > LOOKS:
            return
        graph = list(ancestors(event.roots, limit=20_000))
        if not any(o.name == "exp" for o in graph):
            return
        variances = {v.number: op for op in graph for v in _in_divergence(op)}
        for op in graph if variances else ():
            made = _scales_noise(op)
            if made is None or made.inputs[0].number not in variances:
                continue
            count = self._seen[made.site] = self._seen.get(made.site, 0) + 1
            if count == TIMES:
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


def _exponential(value: Value) -> Op | None:
    """The `exp` that a value is the result of."""
    made = next((o for o in lineage(value, _SAME, 4) if o.name not in _SAME), None)
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
    made = next((o for o in lineage(value, _SAME, 4) if o.name not in _SAME), None)
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
