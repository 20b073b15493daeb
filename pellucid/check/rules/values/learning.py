"""Detect a loss that does not fall."""

from __future__ import annotations

import functools
import math
import weakref
from typing import Any

import numpy as np

from ...events import (
    VIEWS,
    Backward,
    Batch,
    Glimpse,
    LoaderInfo,
    ModuleCall,
    Op,
    OptimizerInfo,
    Read,
    Site,
    Value,
    Written,
    ancestors,
)
from ...recording.signatures import RANDOM
from ...rule import Rule, cause_site
from ..source.places import birthplace, given
from .alike import COMPARISONS, MAKES, Alike
from .misaligned import apart

_NORMS = ("layer_norm", "group_norm", "instance_norm")
_STEPS_CONSTANT = 10
_STEPS_CHANCE = 50


class _Curve:
    """The losses of one place, and what chance would give there."""

    __slots__ = ("chance", "classes", "fresh", "losses", "name", "site", "steps")

    def __init__(self, site: Site | None, name: str) -> None:
        self.site = site
        self.name = name
        self.losses: list[float] = []
        self.steps: list[int] = []
        self.chance: list[float] = []  # entropy of the labels, for the batches that were looked at
        self.classes = 0
        self.fresh = False  # labels drawn anew in every step


class _Rows:
    """A matrix that began with one number: where it was made, and whether its rows are still alike."""

    __slots__ = ("begun", "moved", "number", "place", "same", "steps")

    def __init__(self, place: Any, begun: int, number: float) -> None:
        self.place, self.begun, self.number = place, begun, number
        self.same = True
        self.steps = 0  # since then, when it was looked at last
        self.moved = False


class LossAtChance(Rule):
    """A loss that is the same in every step, or stays at what guessing gives."""

    slug = "loss-at-chance"
    id = "PL690"
    severity = "warning"
    summary = "the loss stays at chance level or constant"
    symptom_of = ("device-dtype-mixed",)
    ops = (
        "cross_entropy",
        "nll_loss",
        "binary_cross_entropy_with_logits",
        "binary_cross_entropy",
        "mse_loss",
        *MAKES,
        *COMPARISONS,
        *_NORMS,
    )

    def __init__(self) -> None:
        self._curves: dict[tuple[Site | None, int], _Curve] = {}
        # by number of the loss: chance, classes, labels drawn anew
        # by place of the backward call: the only curve that it belongs to, None where there are more
        self._curve_at: dict[Site | None, _Curve | None] = {}
        self._looked: dict[int, tuple[float, int, bool]] = {}
        # by number of a loader: which of its tensors are random labels
        self._loaders: dict[int, list[bool]] = {}
        self._drawn: set[int] = set()
        self._taken: set[int] = set()  # ids of tensors whose numbers were read before training
        self._unrelated: dict[
            int, bool
            # by number of the operation that drew labels: whether the inputs are not made of them
        ] = {}
        self._last = False
        # weak references to arrays that tensors were made of, and to these
        self._memory: list[tuple[Any, Any]] = []
        self._turned: Any = None  # where such an array was shuffled or sorted in place
        # where a norm over one element makes the same number of every input
        self._wiped: Any = None
        self._wiped_steps: set[int] = set()  # the steps in which it did
        self._weightless: Any = None  # where weights of classes were made that are all zero
        self._alike: dict[int, _Rows] = {}  # by `Value.id`
        self._since = 0  # the step at which the last optimizer was made
        self._last_look = 2  # how many steps after it these were looked at last

    @functools.cached_property
    def _same(self) -> Alike:
        return Alike(self.session.recorder)

    def on_module_enter(self, call: ModuleCall) -> None:
        """A model is given a batch."""
        if call.parent is None:
            self._same.entered(call)

    def on_backward(self, event: Backward) -> None:
        """Note the loss that backward is called on."""
        if event.how != "backward" or len(event.roots) != 1 or event.roots[0].numel != 1:
            return
        if not self._last:
            # Concludes after all others: whatever else was found is the likelier cause.
            rules = self.session.rules
            rules.remove(self)
            rules.append(self)
            self._last = True
        root = event.roots[0]
        array = root.numpy()
        if array is None:
            return
        loss = _only_loss(root)
        if event.accumulated:
            self._constant(event)
        op = loss if loss is not None else root.producer
        site = op.site if op is not None else event.site
        # several models may be trained on one line
        key = (site, event.accumulated[0].value.id if event.accumulated else 0)
        curve = self._curves.get(key)
        if curve is None:
            if len(self._curves) >= 20:
                return
            curve = self._curves[key] = _Curve(site, op.name if op is not None else "the loss")
        if self._curve_at.setdefault(event.site, curve) is not curve:
            self._curve_at[event.site] = None
        value = float(array.reshape(-1)[0])
        if len(curve.losses) < 100_000:
            curve.losses.append(value)
            curve.steps.append(event.step)
        looked = self._looked.pop(loss.number, None) if loss is not None else None
        if looked is not None:
            curve.chance.append(looked[0])
            curve.classes = looked[1]
            curve.fresh |= looked[2]

    def on_glimpse(self, event: Glimpse) -> None:
        """The loss of a step that was not recorded."""
        curve = self._curve_at.get(event.site)
        if curve is not None and len(curve.losses) < 100_000:
            curve.losses.append(event.loss)
            curve.steps.append(event.step)

    def _constant(self, event: Backward) -> None:
        """Matrices that begin with the same number everywhere, two or more in a row: no unit ever
        differs from the others.
        """
        age = self.step - self._since
        if len(self._alike) > 64 or age > 2 and not self._alike:
            return
        if age > 2 and age != self._last_look:
            if age < 2 * self._last_look:
                return
            self._last_look = age
        recorder = self.session.recorder
        for a in event.accumulated:
            value, known = a.value, self._alike.get(a.value.id)
            if value.ndim < 2 or value.shape[0] < 2:
                continue
            if age > 2 if known is None else not known.same:
                continue
            array = value.numpy()
            same = array is not None and _rows_alike(array)
            if known is not None:
                known.same, known.steps = same, self.step - known.begun
                known.moved = same and (bool(np.ptp(array)) or float(array.flat[0]) != known.number)
            elif same and not np.ptp(array):
                place = given(recorder, value) or birthplace(recorder, value)
                self._alike[value.id] = _Rows(place, self.step, float(array.flat[0]))

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """What it is given may begin anew."""
        self._since, self._last_look = self.step, 2

    def on_pass(self, event: LoaderInfo) -> None:
        """Labels of a TensorDataset that are random numbers can only be learned by heart."""
        dataset = event.whole_dataset
        tensors = getattr(dataset, "tensors", ())
        values = (
            [self.session.recorder.value(t) for t in tensors]
            if isinstance(tensors, (tuple, list))
            else []
        )
        drawn = [self._by_chance(v, [o for o in values if o is not v], -1) for v in values]
        self._loaders[event.number] = drawn

    def on_batch(self, event: Batch) -> None:
        """Which tensors of the batch are such labels."""
        drawn = self._loaders.get(event.loader.number, [])
        self._drawn = {
            value.id for value, random in zip(event.values, drawn, strict=False) if random
        }

    def on_op(self, op: Op) -> None:
        """What guessing would give: the entropy of the labels in this batch."""
        if op.name in _NORMS:
            if op.grad_enabled and len(self._wiped_steps) < _STEPS_CONSTANT and _over_one(op):
                self._wiped = self._wiped or cause_site(op)
                self._wiped_steps.add(op.step)
            return
        if op.name in COMPARISONS or op.name in MAKES:
            self._same.op(op)
        if op.name in COMPARISONS or op.name in MAKES[1:]:
            return
        if op.name == "from_numpy":
            given = next((a.value for a in op.args.values() if type(a).__name__ == "Foreign"), None)
            if isinstance(given, np.ndarray) and given.ndim and len(self._memory) < 64:
                self._memory.append((weakref.ref(given), given.ndim))
            return
        visits = self.count("visits", op.site)
        target, scores = op.args.get("target"), op.args.get("input")
        if visits > 64 or not isinstance(target, Value) or not isinstance(scores, Value):
            return
        weight = op.args.get("weight")
        if visits == 1 and isinstance(weight, Value) and weight.producer is not None:
            weights = weight.numpy()
            self._weightless = (
                weight.producer.site if weights is not None and not weights.any() else None
            )
        labels = target.numpy()
        if labels is None or not labels.size:
            return
        if op.grad_enabled:
            self._same.target(op, labels)
        if op.name == "mse_loss":  # the mean of the targets is the best guess
            if (
                labels.dtype.kind == "f"
                and labels.ndim
                and len(labels) > 1
                and labels.shape == scores.shape
            ):
                if len(self._looked) > 16:
                    self._looked.clear()
                fresh = self._by_chance(target, [scores], op.step)
                self._looked[op.number] = (
                    float(np.mean(np.var(labels, axis=0, dtype=np.float64))),
                    0,
                    fresh,
                )
            return
        if op.name in ("cross_entropy", "nll_loss"):
            if labels.dtype.kind not in "iu":
                return
            classes = scores.shape[1 if scores.ndim > 1 else 0]
            counts = np.bincount(labels[labels >= 0].reshape(-1).astype(np.int64))
        else:
            if not np.all((labels == 0) | (labels == 1)):
                return
            classes = 2
            counts = np.array([np.sum(labels == 0), np.sum(labels == 1)])
        share = counts[counts > 0] / max(counts.sum(), 1)
        if len(self._looked) > 16:
            self._looked.clear()
        self._looked[op.number] = (
            float(-(share * np.log(share)).sum()),
            classes,
            target.id in self._drawn or self._by_chance(target, [scores], op.step),
        )

    def on_read(self, event: Read) -> None:
        """Numbers that the program takes out of a tensor before it trains: inputs may be made of
        them.
        """
        if event.step == 0 and event.how != "repr" and len(self._taken) < 1000:
            self._taken.add(event.value.id)

    def _by_chance(self, labels: Value, inputs: list[Value], step: int) -> bool:
        """Whether labels are random numbers that no input can tell of: none is made of them."""
        op = _drawn(labels, step)
        if op is None:
            return False
        if op.step or step < 0 and not inputs:
            return True
        known = self._unrelated.get(op.number)
        if known is None:
            out = op.output
            taken = out is not None and out.id in self._taken
            known = not taken and all(o is not op for o in ancestors(inputs, limit=5000))
            self._unrelated[op.number] = known
        return known

    def on_write(self, event: Written) -> None:
        """`rng.shuffle(labels)`, which are the memory of a tensor."""
        if event.value is None and event.inplace and self._turned is None:
            arrays = [a for ref, _ in self._memory if (a := ref()) is not None]
            if (
                len(arrays) > 1
                and any(np.may_share_memory(a, event.target) for a in arrays)
                and event.target.ndim == 1
            ):
                self._turned = event.site

    def _apart(self, file: str) -> Any:
        """Where inputs and labels are put into different orders."""
        return apart(file) or self._turned

    def finish(self) -> None:
        """Judge, when nothing else was found and training went on for a while."""
        if self.session.failure is not None:
            return
        held = [
            (rows.place, rows.moved)
            for rows in self._alike.values()
            if rows.same and rows.steps >= 8 and rows.place is not None
        ]
        alike = [place for place, _ in held]
        if len(alike) >= 2 or any(moved for _, moved in held):
            self.report(
                alike[0],
                "weights start with the same number everywhere, and their rows were still equal at the end: the units of a layer get equal "
                "gradients (or none), so they never become different.",
                evidence={"matrices": len(alike), "steps": self.step},
                fix="initialize the weights randomly: keep the layers' defaults, or use nn.init.kaiming_uniform_; zeros are for biases",
            )
            return
        if any(finding.severity == "error" for finding, _ in self.session.found.values()):
            return
        if len(self._wiped_steps) >= _STEPS_CONSTANT:
            self.report(
                self._wiped,
                "this norm averages over a single number, so the number minus its mean is zero: the output is always the bias, and "
                "no gradient flows back.",
                evidence={"steps": self.step},
                fix="normalize over several numbers: the features before the last layer, not its single output",
            )
            return
        same = self._same.found()
        if same is not None:
            place, message, evidence, fix = same
            self.report(place, message, evidence=evidence, fix=fix)
            return
        for curve in self._curves.values():
            self._judge(curve)

    def _judge(self, curve: _Curve) -> None:
        losses = np.array(curve.losses)
        if (
            losses.size < _STEPS_CONSTANT
            or curve.steps[-1] - curve.steps[0] < _STEPS_CONSTANT - 1
            or not np.all(np.isfinite(losses))
        ):
            return
        size = float(np.abs(losses).max())
        if not size and self._weightless is not None:
            self._tell(
                curve,
                losses,
                "the loss is 0 in every step: all of its class or sample weights are zero.",
                {},
                self._weightless,
            )
            return
        if size > 1e-6 and float(np.ptp(losses)) <= 1e-6 * size:
            self._tell(
                curve,
                losses,
                f"the loss is {losses[0]:.4g} in every one of {losses.size} steps: no trained parameter affects it.",
                {},
            )
            return
        if (
            losses.size < _STEPS_CHANCE
            or len(curve.chance) < 3
            or curve.fresh
            or curve.classes == 1
        ):
            return
        marginal = float(np.mean(curve.chance))
        chance = max(marginal, 0.0)
        if not curve.classes:
            self._judge_guess(curve, losses, chance)
            return
        if chance < 0.5 * math.log(curve.classes):
            return  # nearly one class only
        third = losses.size // 3
        first, last = losses[:third], losses[-third:]
        noise = float(np.sqrt(first.var() / third + last.var() / third))
        drop = float(first.mean() - last.mean())
        # then a loss that falls a little learns by heart
        mixed = self._apart(curve.site.file) if curve.site is not None else None
        if last.mean() < (0.85 if mixed is not None else 0.97) * chance:
            return
        # it came down to chance, and stays there
        flat = last.mean() > 0.998 * chance and _is_flat(last)
        if mixed is None and drop > max(2 * noise, 0.01 * chance) and not flat:
            return
        if last.mean() > 1.25 * max(chance, math.log(curve.classes)):
            return  # far above chance: diverging is another matter
        x = np.arange(losses.size) - (losses.size - 1) / 2
        slope = float((x * (losses - losses.mean())).sum() / (x * x).sum())
        spread = float(np.std(losses - losses.mean() - slope * x)) / math.sqrt(float((x * x).sum()))
        if mixed is None and slope < -3 * spread and drop > 0.002 * chance and not flat:
            return
        self._tell(
            curve,
            losses,
            f"after {losses.size} steps the loss is {last.mean():.4g}, no better than guessing: with these labels guessing gives {chance:.4g}.",
            {"chance": chance, "classes": curve.classes},
        )

    def _judge_guess(self, curve: _Curve, losses: Any, chance: float) -> None:
        """A squared error no better than that of the targets' mean, where inputs and targets are
        ordered apart.
        """
        place = self._apart(curve.site.file) if curve.site is not None else None
        third = losses.size // 3
        first, last = losses[:third], losses[-third:]
        if (
            place is None
            or chance <= 0
            or not 0.9 * chance < last.mean() < 1.5 * chance
            or last.mean() < 0.7 * first.mean()
            and first.mean() < 1.2 * chance
        ):
            return
        self._tell(
            curve,
            losses,
            f"after {losses.size} steps the loss is {last.mean():.4g}, no better than guessing the mean of the targets, which gives {chance:.4g}.",
            {"chance": chance},
        )

    def _tell(
        self, curve: _Curve, losses: Any, message: str, evidence: dict[str, Any], place: Any = None
    ) -> None:
        shown = [float(f"{v:.5g}") for v in losses[np.linspace(0, losses.size - 1, 6).astype(int)]]
        self.report(
            place
            or (
                self._apart(curve.site.file) or self._wiped or curve.site
                if curve.site is not None
                else None
            ),
            message,
            evidence={
                "loss": curve.name,
                "loss_at": curve.site,
                "steps": int(losses.size),
                "losses": shown,
                **evidence,
            },
            fix="check whether the model can overfit a few examples; if not, look at the gradients (`pellucid.explain`), "
            "the initialization, the learning rate, and whether inputs and labels still match",
        )


def _rows_alike(array: Any) -> bool:
    """Whether all rows are the same, but for rounding."""
    return bool(np.abs(array - array[:1]).max(initial=0) <= 1e-5 * np.abs(array).max(initial=0))


def _over_one(op: Op) -> bool:
    """Whether a norm takes the mean of one element each, and gives nothing but its shift."""
    value = op.args.get("input")
    if not isinstance(value, Value) or value.ndim < 2 or value.numel < 2:
        return False
    if op.name == "layer_norm":
        shape = op.args.get("normalized_shape")
        sizes = (
            [shape]
            if isinstance(shape, int)
            else list(shape)
            if isinstance(shape, (tuple, list))
            else [2]
        )
        return all(size == 1 for size in sizes)
    groups = op.args.get("num_groups") if op.name == "group_norm" else value.shape[1]
    return isinstance(groups, int) and groups * value.shape[0] == value.numel


def _is_flat(losses: Any) -> bool:
    """Whether losses do not fall any more."""
    x = np.arange(losses.size) - (losses.size - 1) / 2
    slope = float((x * (losses - losses.mean())).sum() / (x * x).sum())
    return slope * losses.size > -0.002 * float(losses.mean())


def _drawn(value: Value, step: int, limit: int = 200) -> Op | None:
    """The operation that drew labels which are random numbers themselves, or are made of random
    numbers of this step; which rows are drawn does not count."""
    waiting = [(value, True)]
    while waiting and limit > 0:
        limit -= 1
        current, plain = waiting.pop()
        op = current.producer
        if op is None:
            continue
        if op.name in RANDOM and (
            step > 0
            and op.step == step
            or plain
            and op.name in ("randint", "bernoulli", "multinomial")
        ):
            return op
        plain = plain and op.name in VIEWS
        waiting.extend(
            (v, plain)
            for v in (
                op.inputs[:1]
                if op.name in ("getitem", "index_select", "gather", "take")
                else op.inputs
            )
        )
    return None


def _only_loss(root: Value) -> Op | None:
    """The classification loss that the root is, but for a mean of several of the same size; None
    for sums of others.
    """
    value: Value | None = root
    for _ in range(10):
        op = value.producer if value is not None else None
        if op is None:
            return None
        if op.name in LossAtChance.ops:
            return op if op.args.get("reduction") == "mean" else None
        if op.name == "add" and len(op.inputs) == 2:  # (rows + columns) / 2, as of two towers
            both = [_only_loss(v) for v in op.inputs]
            if all(o is not None for o in both) and both[0].name == both[1].name:
                return both[0]
            return None
        halved = op.name in ("div", "mul") and len(op.inputs) == 1
        if op.name not in VIEWS and not halved or not op.inputs:
            return None
        value = op.inputs[0]
    return None
