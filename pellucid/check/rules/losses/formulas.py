"""Losses whose parts are right and whose formula is not: arguments, factors or sums in each other's
place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import VIEWS, Op, Value, made_by
from ...rule import Rule, cause_site, distinct
from .origin import Repeated

LARGEST = 1 << 20
KEPT = 4096  # results of log_prob
_SAME = VIEWS - {"gather", "getitem", "index_select", "roll", "flip", "repeat", "tile"}
_FILLED = frozenset("scatter setitem index_fill index_put masked_fill where add".split())


_ASYMMETRIC = (
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "poisson_nll_loss",
    "gaussian_nll_loss",
)
"""Losses that are another function of the target than of the prediction."""
_BETWEEN = ("input", "target")
_LIBRARY = frozenset(
    (*_ASYMMETRIC, "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "kl_div")
)


class LossFormula(Rule):
    """`kl_div` with its arguments swapped, `p**gamma` for `(1 - p)**gamma`, a sum of log-probabilities
    for the logarithm of a sum, padding that a mask makes zero and the mean still counts.
    """

    slug = "loss-formula"
    id = "PL224"
    severity = "error"
    summary = "a loss differs from the formula that it is named after"
    covered = ("label-range", "logits-as-probs")
    ops = (
        *_ASYMMETRIC,
        "kl_div",
        "cross_entropy",
        "mul",
        "sum",
        "mean",
        "log_prob",
        "clamp",
        "sub",
        "add",
    )

    def __init__(self) -> None:
        self._repeated = Repeated(looks=12, times=3)
        # by number of a divergence: the temperature of its teacher, and what squashed the scores
        self._warm: dict[int, tuple[float, Op, Op]] = {}
        self._logs: dict[int, None] = {}  # numbers of log-probabilities of distributions

    def on_op(self, op: Op) -> None:
        """A loss of the library, or a part of one by hand."""
        if op.name == "log_prob":
            if len(self._logs) > KEPT:
                self._logs.clear()
            self._logs[op.args["result"].number] = None
            self._greedy(op)
        elif op.grad_enabled and op.inputs and (out := op.output) is not None and out.requires_grad:
            # each looks at how the operands were made first, and reads numbers last
            _LOOKS[op.name](self, op)

    def _greedy(self, op: Op) -> None:
        """The log-probability of the action that is the most probable one already."""
        value, result = op.args.get("value"), op.args["result"]
        made = value.producer if isinstance(value, Value) else None
        if made is None or made.name not in ("argmax", "max") or not result.requires_grad:
            return
        if made.inputs and made.inputs[0].requires_grad:
            self._tell(
                op,
                made.site,
                "the policy always takes its most probable action, and the loss is the log-probability of that: without sampling it never tries "
                "another one, and the gradient only makes it more probable or less.",
                {"log_prob_at": op.site},
                "`action = dist.sample()` while training",
            )

    def _tell(self, op: Op, site: Any, message: str, evidence: dict[str, Any], fix: str) -> None:
        """Report what was so some times at one place."""
        if self._repeated.due(op.site) and self._repeated.again(op.site):
            self.report(site, message, evidence={**evidence, "computed_at": op.site}, fix=fix)

    # ---- divergences -----------------------------------------------------------------------------
    def _divergence(self, op: Op) -> None:
        scores, target = op.args.get("input"), op.args.get("target")
        if not isinstance(scores, Value) or not isinstance(target, Value):
            return
        if target.requires_grad and not scores.requires_grad:
            if not op.args.get("log_target"):
                self._tell(
                    op,
                    cause_site(op),
                    "the target of this kl_div are the probabilities of the trained model, and its input the constant ones: this is the divergence "
                    "in the other direction.",
                    {"input": op.written("input"), "target": op.written("target")},
                    "`F.kl_div(student.log_softmax(1), teacher.softmax(1), reduction='batchmean')`",
                )
            return
        student, teacher = _squashed(scores, "log_softmax"), _squashed(target, "softmax")
        if student is None or teacher is None or target.requires_grad:
            return
        warm, plain = _scaled(teacher.inputs[0]), _scaled(student.inputs[0])
        if warm is not None and warm > 1 and plain is None and op.output is not None:
            self._warm = {op.output.number: (warm, student, teacher)}

    def _cooled(self, op: Op) -> None:
        """The factor of a temperature that only the teacher has: `kl_div(...) * T * T`."""
        warm, student, teacher = self._warm.pop(op.inputs[0].number)
        number = op.args.get("other")
        number = op.args.get("input") if isinstance(number, Value) else number
        if not isinstance(number, (int, float)) or number not in (warm, warm * warm):
            return
        self._tell(
            op,
            student.site,
            f"the teacher's scores are divided by a temperature of {warm:g}, and the student's are not: the student learns the flattened "
            "probabilities as its own.",
            {"temperature": warm, "teacher_at": teacher.site},
            "divide both by the temperature: `F.log_softmax(student / T, dim=1)`",
        )

    def _swapped(self, op: Op) -> None:
        """`loss(labels, predictions)`."""
        scores, target = op.args.get("input"), op.args.get("target")
        if isinstance(scores, Value) and isinstance(target, Value):
            if target.requires_grad and not scores.requires_grad:
                site = op.site if op.direct or op.module is None else op.module.site
                self.report(
                    site,
                    f"{op.name} gets the labels as its prediction and the model's output as its target. With the arguments swapped, it is a "
                    "different function.",
                    evidence={"input": op.written("input"), "target": op.written("target")},
                    fix="the prediction comes first: `loss(model(x), y)`",
                    covers=[op.site, site],
                )

    def _labels(self, op: Op) -> None:
        """Smoothed labels that the library's own loss is given."""
        target, scores = op.args.get("target"), op.args.get("input")
        if isinstance(target, Value) and isinstance(scores, Value) and target.is_floating_point:
            if target.shape == scores.shape and not target.requires_grad and target.ndim == 2:
                self._targets(op, target, 1)

    # ---- products --------------------------------------------------------------------------------
    def _product(self, op: Op) -> None:
        if op.inputs[0].number in self._warm:
            self._cooled(op)
        if len(op.inputs) != 2:
            return
        for one, other in (op.inputs, op.inputs[::-1]):
            made = one.producer
            if made is None:
                continue
            if made.name in ("pow", "mul", "neg") and other.requires_grad:
                self._focal(op, one, other)
            elif not one.requires_grad and other.shape == one.shape and one.ndim >= 2:
                soft = _squashed(other, "log_softmax")
                if soft is not None:
                    self._targets(op, one, soft.arg("dim"))

    def _focal(self, op: Op, weight: Value, log: Value) -> None:
        """`p**gamma * log(p)`: the factor of a focal loss is small where p is large."""
        power = _power(weight)
        if power is None or power.inputs[0].shape != log.shape or log.numel > LARGEST:
            return
        exponent = power.args.get("exponent")
        if not isinstance(exponent, (int, float)) or exponent <= 0 or not power.direct:
            return
        p, logs = power.inputs[0].numpy(), log.numpy()
        if p is None or logs is None or logs.size < 4 or not (p < 1).any():
            return
        if not ((logs <= 0).all() or (logs >= 0).all()):
            return
        if np.allclose(np.exp(-np.abs(logs)), p, rtol=1e-3, atol=1e-6):
            self._tell(
                op,
                op.site,
                f"the loss of each sample is multiplied by p**{exponent:g}, where p is the probability of its class: samples that are "
                "classified well count most.",
                {"exponent": exponent},
                "the factor of a focal loss is `(1 - p) ** gamma`",
            )

    def _targets(self, op: Op, table: Value, axis: Any) -> None:
        """Smoothed labels by hand whose rows do not add up to one."""
        if not isinstance(axis, int) or not 8 <= table.numel <= LARGEST:
            return
        made = table.producer
        if made is None or made.name not in _FILLED or not self._repeated.due(op.site):
            return
        rows = table.numpy()
        if rows is None or rows.dtype.kind != "f" or (rows <= 0).any():
            return
        sums = rows.sum(axis)
        total = float(sums.flat[0])
        if abs(total - 1) > 0.05 and np.allclose(sums, total, rtol=1e-3):
            if len(distinct(rows)) <= 2 and self._repeated.again(op.site):
                self.report(
                    made.site,
                    f"these smoothed labels do not sum to 1: each row sums to {total:.3g}, of which its own class gets {float(rows.max()):.3g}.",
                    evidence={"sum": total, "shape": list(table.shape), "computed_at": op.site},
                    fix="make each row sum to one: `1 - eps` for the class itself, `eps / (n - 1)` for each of the others",
                )

    # ---- sums and means --------------------------------------------------------------------------
    def _sum(self, op: Op) -> None:
        """`(log_weights + log_p).sum(1)`: the weights of a mixture belong under a logsumexp."""
        axis, made = op.args.get("dim"), op.inputs[0].producer
        if isinstance(axis, (list, tuple)) and len(axis) == 1:
            axis = axis[0]
        if made is None or made.name != "add" or len(made.inputs) != 2 or not isinstance(axis, int):
            return
        for one, other in (made.inputs, made.inputs[::-1]):
            weights = _squashed(one, "log_softmax")
            if weights is None or other.number not in self._logs or one.shape != other.shape:
                continue
            along = weights.arg("dim")
            if isinstance(along, int) and along % one.ndim == axis % one.ndim:
                self._tell(
                    op,
                    op.site,
                    "the log-probabilities of a mixture's components are summed, which multiplies the components: every component must then explain "
                    "every sample.",
                    {"weights_at": weights.site},
                    "`torch.logsumexp(log_weights + log_prob, dim)`",
                )
                return

    def _mean(self, op: Op) -> None:
        """`(error * mask).mean()` with a mask of lengths."""
        made = op.inputs[0].producer
        if op.args.get("dim") is not None or made is None or made.name != "mul":
            return
        for mask, error in (made.inputs, made.inputs[::-1]) if len(made.inputs) == 2 else ():
            if (
                mask.requires_grad
                or not error.requires_grad
                or mask.shape != error.shape
                or mask.ndim != 2
                or not 32 <= mask.numel <= LARGEST
                or not self._repeated.due(op.site)
            ):
                continue
            compared = made_by(mask)
            if compared is None or compared.name not in ("lt", "gt", "le", "ge", "ne"):
                continue
            rows = mask.numpy()
            if rows is None or not np.isin(rows, (0, 1)).all():
                continue
            lengths = rows.sum(1)
            if (np.diff(rows.astype(np.int8), axis=1) > 0).any() or len(distinct(lengths)) < 3:
                continue
            share = float(rows.mean())
            if share < 0.9 and self._repeated.again(op.site):
                self.report(
                    op.site,
                    f"the mask makes the loss of the padding zero, but the mean still counts it: {1 - share:.0%} of the elements are padding. A "
                    "batch of short sequences counts less than one of long ones.",
                    evidence={"masked_at": made.site, "share": share},
                    fix="divide by the number of real steps: `(error * mask).sum() / mask.sum()`",
                    severity="warning",
                )
            return

    def _twice(self, op: Op) -> None:
        """`lam * ce(out, y) + (1 - lam) * ce(out, y)`: the second one was meant for other labels."""
        made = [_loss_of(v) for v in op.inputs]
        if len(made) != 2 or made[0] is None or made[1] is None or made[0] is made[1]:
            return
        first, second = made
        pairs = [(first.args.get(k), second.args.get(k)) for k in _BETWEEN]
        if first.name == second.name and all(
            isinstance(a, Value) and isinstance(b, Value) and a.number == b.number for a, b in pairs
        ):
            self._tell(
                op,
                op.site,
                "two terms of this loss are the same loss of the same scores and labels, so their sum is only a multiple of one of them.",
                {"first_at": first.site, "loss": first.name},
                "give the second term its own labels: `lam * ce(out, y) + (1 - lam) * ce(out, y[order])`",
            )

    # ---- exponents -------------------------------------------------------------------------------
    def _reversed(self, op: Op) -> None:
        """`exp(old - new)` that is clipped around one: the ratio of a policy gradient, upside down."""
        made = turned_ratio(op)
        if made is not None:
            self._tell(
                op,
                made.site,
                "this ratio is inverted: it divides the old probabilities by the new ones. It falls when an action becomes more probable, so the "
                "loss makes good actions rare.",
                {"clipped_at": op.site},
                "`ratio = torch.exp(new_log_prob - old_log_prob)`",
            )

    def _complement(self, op: Op) -> None:
        """`1 - exp(loss)`: the probability of the label is `exp(-loss)`."""
        made = grown_probability(op)
        if made is not None:
            self._tell(
                op,
                made.site,
                "this is exp of a loss, which is at least 1. The probability of the label, for `1 - p`, is exp of the negative loss.",
                {"used_at": op.site},
                "`pt = torch.exp(-loss)`",
            )


_LOOKS: dict[str, Any] = {
    **dict.fromkeys(_ASYMMETRIC, LossFormula._swapped),
    "kl_div": LossFormula._divergence,
    "cross_entropy": LossFormula._labels,
    "mul": LossFormula._product,
    "sum": LossFormula._sum,
    "mean": LossFormula._mean,
    "clamp": LossFormula._reversed,
    "sub": LossFormula._complement,
    "add": LossFormula._twice,
}


def _loss_of(value: Value) -> Op | None:
    """The loss that a value is, times a number perhaps."""
    made = value.producer
    if made is not None and made.name in ("mul", "div") and len(made.inputs) == 1:
        made = made.inputs[0].producer
    return made if made is not None and made.name in _LIBRARY else None


def _squashed(value: Value, name: str) -> Op | None:
    """The softmax or log_softmax that a value is, seen through views."""
    found = made_by(value, _SAME)
    return found if found is not None and found.name == name else None


def _scaled(value: Value) -> float | None:
    """The number that scores are divided by; None when they are as they were computed."""
    made = value.producer
    if made is None or made.name not in ("div", "mul"):
        return None
    number = made.args.get("other")
    if isinstance(number, Value):
        return 0.0  # by something else
    if not isinstance(number, (int, float)) or number == 0:
        number = made.args.get("input")
    if not isinstance(number, (int, float)) or number == 0:
        return 0.0
    return float(number) if made.name == "div" else 1 / float(number)


def _power(value: Value) -> Op | None:
    """The power among the factors of a value."""
    waiting = [value]
    for _ in range(6):
        made = waiting.pop().producer if waiting else None
        if made is None:
            continue
        if made.name == "pow":
            return made
        if made.name in ("mul", "neg"):
            waiting += made.inputs
    return None


# ---- exponents with the wrong sign ------------------------------------------------------------
_NEGATIVE_LOGS = frozenset(
    "cross_entropy nll_loss binary_cross_entropy binary_cross_entropy_with_logits".split()
)
_SUMMED = VIEWS | {"sum", "mean"}


def around_one(op: Op) -> bool:
    """Whether the bounds of a clamp are numbers on both sides of one."""
    low, high = op.args.get("min"), op.args.get("max")
    return isinstance(low, (int, float)) and isinstance(high, (int, float)) and 0 <= low < 1 < high


def turned_ratio(op: Op) -> Op | None:
    """The difference or quotient that a clipped ratio is made of, when what has gradients is taken
    away, or divided by.
    """
    ratio = op.args.get("input")
    if not isinstance(ratio, Value) or not around_one(op):
        return None
    found = made_by(ratio)
    if found is not None and found.name == "exp":
        found = made_by(found.inputs[0], _SUMMED)
        wanted = "sub"
    else:
        wanted = "div"
    if found is None or found.name != wanted or len(found.inputs) != 2:
        return None
    old, new = found.inputs
    return found if new.requires_grad and not old.requires_grad else None


def grown_probability(op: Op) -> Op | None:
    """The `exp` of a loss that is taken away from one."""
    other = op.args.get("other")
    if op.args.get("input") != 1 or not isinstance(other, Value):
        return None
    made = made_by(other)
    if made is None or made.name != "exp" or not made.inputs:
        return None
    inner = made_by(made.inputs[0])
    return made if inner is not None and inner.name in _NEGATIVE_LOGS else None
