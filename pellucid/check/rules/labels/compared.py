"""Labels that are compared with scores, numbers with their logarithms, and several labels of one row for a loss that wants one."""

from __future__ import annotations

import numpy as np

from ...events import VIEWS, Op, Value, lineage, made_by
from ...rule import Rule, cause_site
from ..losses.origin import Repeated
from ..source.places import Place, tree
from .scalers import scaled_back_by_another

LARGEST = 1 << 20
APART = 10  # times the half of the range of what a model has learned
OF_EACH = 8  # numbers
_LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
_INVERSES = {
    "log": "prediction.exp()",
    "log1p": "prediction.expm1()",
    "log2": "prediction.exp2()",
    "log10": "10**prediction",
}
_PICKS = ("max", "amax", "topk", "min", "sort", "kthvalue")


class ScoresCompared(Rule):
    """Class labels are compared with the scores of a model, which never equal them."""

    slug = "scores-compared"
    id = "PL222"
    severity = "error"
    summary = "predictions are compared with something else than what they predict"
    ops = ("eq", "sub", *_LOSSES)

    def __init__(self) -> None:
        self._repeated = Repeated(looks=12, times=3)
        self._scaled = _Scaled(self)

    def finish(self) -> None:
        """Predictions that are scaled back with the numbers of the inputs."""
        for file in self.session.recorder.files(self.session.script) if self.step else ():
            root = tree(file)
            for line, used, right in scaled_back_by_another(root) if root is not None else ():
                self.report(
                    Place(file, line),
                    f"the predictions are scaled back with `{used}`, which was fitted to the inputs, but the targets were scaled with `{right}`.",
                    evidence={"scaler": used},
                    fix=f"`{right}.inverse_transform(...)`",
                )

    def on_op(self, op: Op) -> None:
        """Two tensors are compared."""
        if op.name != "eq":
            self._scaled.see(op)
            return
        if (
            len(op.inputs) != 2
            or op.inputs[0].shape != op.inputs[1].shape
            or not self._repeated.due(op.site)
        ):
            return
        scores, labels = op.inputs if op.inputs[0].is_floating_point else op.inputs[::-1]
        if (
            labels.is_floating_point
            or not scores.is_floating_point
            or not 4 <= scores.numel <= LARGEST
        ):
            return
        values, classes = scores.numpy(), labels.numpy()
        if values is None or classes is None or classes.dtype.kind not in "iu":
            return
        if (values == np.floor(values)).mean() > 0.1 or not self._repeated.again(op.site):
            return
        picked = next((o for o in lineage(scores, VIEWS, 8) if o.name in _PICKS), None)
        self.report(
            op.site if picked is None else cause_site(picked),
            "class labels are compared with scores, which are no whole numbers, so they are never equal"
            + (
                f": `{picked.name}` returns the values and their indices, and these are the values."
                if picked
                else "."
            ),
            evidence={"compared_at": str(op.site), "shape": list(scores.shape)},
            fix="compare the classes: `scores.argmax(dim) == labels`",
        )


class _Scaled:
    """Predictions of what was put on another scale for training, compared with numbers as they were."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._repeated = Repeated(looks=24, times=1)
        self._taught, self._looked = Repeated(looks=64, times=1), Repeated(looks=8, times=1)
        # by id of a tensor of numbers: the module that learned a function of them, which, where
        self._learned: dict[int, tuple[str, str, Op]] = {}
        # by the path of a module that a loss has taught: the range of its targets
        self._ranges: dict[str, tuple[float, float]] = {}

    def see(self, op: Op) -> None:
        """A difference, or a loss."""
        first, second = (
            op.args.get(k) for k in ("input", "other" if op.name == "sub" else "target")
        )
        if not isinstance(first, Value) or not isinstance(second, Value) or first.ndim < 1:
            return
        if op.grad_enabled and first.requires_grad:
            self._teaches(op, first, second)
            made = made_by(second)
            module = _module(first)
            if made is None or module is None or second.requires_grad or len(self._learned) > 16:
                return
            if made.name in _INVERSES:
                self._learned.update(
                    dict.fromkeys(_bases(made.inputs[0]), (module, made.name, made))
                )
        elif not first.requires_grad and not second.requires_grad:
            for one, other in ((first, second), (second, first)):
                if not self._as_logarithms(op, one, other):
                    self._apart(op, one, other)

    def _as_logarithms(self, op: Op, one: Value, other: Value) -> bool:
        """Whether a model has learned the logarithms of the numbers that its prediction is compared
        with.
        """
        module = _module(one)
        found = {i: self._learned[i] for i in _bases(other) if i in self._learned}
        if module is None or not found:
            return False
        learned, name, made = next(iter(found.values()))
        if learned == module and self._repeated.due(op.site) and self._repeated.again(op.site):
            self._rule.report(
                op.site,
                f"the model has learned the {name} of these numbers, but its predictions are compared with the numbers themselves.",
                evidence={"learned_at": made.site, "shape": list(one.shape)},
                fix=f"bring both to the same scale first: `{_INVERSES[name]}`",
            )
        return learned == module

    def _teaches(self, op: Op, scores: Value, target: Value) -> None:
        """Note between which numbers the targets of a model are."""
        module = _module(scores) if op.name in _LOSSES else None
        if module is None or target.requires_grad or target.numel > LARGEST:
            return
        if not self._taught.due(op.site) or len(self._ranges) > 16:
            return
        array = target.numpy()
        if array is not None and array.size and np.isfinite(array).all():
            low, high = self._ranges.get(module, (np.inf, -np.inf))
            self._ranges[module] = min(low, float(array.min())), max(high, float(array.max()))

    def _apart(self, op: Op, one: Value, other: Value) -> None:
        """Whether a prediction is where the targets were, and what it is compared with is not."""
        module = _module(one)
        held = self._ranges.get(module) if module is not None else None
        if held is None or one.shape != other.shape or not OF_EACH <= one.numel <= LARGEST:
            return
        if op.module is not None and op.name == "sub" or not self._looked.due(op.site):
            return
        middle, half = (held[0] + held[1]) / 2, (held[1] - held[0]) / 2
        predicted, numbers = one.numpy(), other.numpy()
        if predicted is None or numbers is None or not half or predicted.dtype.kind != "f":
            return
        if not np.isfinite(numbers).all() or abs(predicted.mean() - middle) > 3 * half:
            return
        if max(abs(float(numbers.mean()) - middle), float(numbers.std())) > APART * half:
            if self._looked.again(op.site):
                self._rule.report(
                    op.site,
                    f"the model has learned targets between {held[0]:.3g} and {held[1]:.3g}, but its predictions are compared here with numbers "
                    f"around {float(numbers.mean()):.3g}, which have another scale.",
                    evidence={"learned": list(held), "shape": list(one.shape)},
                    fix="bring both to the same scale first: `prediction * std + mean`",
                )


def _module(value: Value) -> str | None:
    """The path of the model whose result a value is, as it is."""
    made = made_by(value)
    return made.module.root.path if made is not None and made.module is not None else None


def _bases(value: Value) -> set[int]:
    """The tensors that a value is cut from."""
    return {value.id, *(v.id for o in lineage(value, VIEWS, 12) for v in o.inputs[:1])}


class SeveralLabels(Rule):
    """Cross entropy, which makes the classes compete, where several of them hold at once."""

    slug = "several-labels-softmax"
    id = "PL223"
    severity = "error"
    summary = "cross entropy is given rows in which several classes are true"
    ops = ("cross_entropy",)

    def __init__(self) -> None:
        self._repeated = Repeated(looks=12, times=3)

    def on_op(self, op: Op) -> None:
        """A loss with a target of the shape of the scores."""
        scores, target = op.args.get("input"), op.args.get("target")
        if (
            not isinstance(scores, Value)
            or not isinstance(target, Value)
            or target.ndim != 2
            or not target.is_floating_point
            or target.requires_grad
            or target.shape[1] < 3
            or not 8 <= target.numel <= LARGEST
            or not self._repeated.due(op.site)
        ):
            return
        table = target.numpy()
        if table is None or not np.isin(table, (0, 1)).all():
            return
        if table.shape[0] == table.shape[1] and (table == table.T).all():
            return  # which rows belong together
        several = float((table.sum(1) > 1).mean())
        if several >= 0.1 and self._repeated.again(op.site):
            self.report(
                cause_site(op),
                f"in {several:.0%} of the rows several classes are true, and this loss makes them compete: the softmax gives all of them "
                "together a probability of one.",
                evidence={"loss_at": str(op.site), "rows": len(table), "with_several": several},
                fix="use `nn.BCEWithLogitsLoss()`, and `scores.sigmoid() > 0.5` for predictions",
            )
