"""Weights of samples and of classes that do the opposite of what they are for."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ...events import VIEWS, LoaderInfo, Op, Site, Value, lineage
from ...rule import Rule
from ..source.places import assigned_before, chosen

CLEARLY = 1.5  # times as many rows
ROWS = 64  # labels that a loss has seen at least
# and those at which it is judged at once: all, and of each class
MANY_ROWS, OF_EACH = 512, 24
# of the range of the logarithms: what weights in the right order may be off the inverse of the
# counts that were seen, and how far off they must be as they are
NEAR, FAR = 0.12, 0.5


def inverted(weights: Any, counts: Any) -> bool:
    """Whether the weights grow with the counts, about as a power of them."""
    if counts.size < 2 or counts.min() < 1 or weights.min() <= 0:
        return False
    rows, given = np.log(counts.astype(float)), np.log(weights.astype(float))
    if np.ptp(rows) < np.log(CLEARLY):
        return False
    power, offset = np.polyfit(rows, given, 1)
    rest = np.abs(given - power * rows - offset).max()
    return bool(0.4 <= power <= 1.6 and rest <= 0.2 * np.ptp(given))


def out_of_order(weights: Any, counts: Any) -> bool:
    """Whether the weights are the inverse of the counts, but of those of other classes."""
    if counts.size < 3 or counts.min() < 4 or weights.min() <= 0:
        return False
    rows, given = np.log(counts.astype(float)), np.log(weights.astype(float))
    if np.ptp(rows) < np.log(CLEARLY) or np.ptp(given) < np.log(CLEARLY):
        return False

    def spread(logs: Any, power: float) -> float:
        return float(np.ptp(logs + power * rows))

    turned = np.empty_like(given)
    turned[np.argsort(rows)] = np.sort(given)[::-1]
    return any(
        spread(turned, power) <= NEAR * np.ptp(given)
        and spread(given, power) >= FAR * np.ptp(given)
        and spread(given, -power) >= 2 * spread(turned, power)
        for power in (1.0, 0.5)
    )


class SamplerWeights(Rule):
    """`WeightedRandomSampler` with weights of another length than the data, or with the large ones
    for the frequent classes.
    """

    slug = "sampler-weights"
    id = "PL907"
    severity = "error"
    summary = "the weights of a sampler do not balance the classes"

    def on_loader(self, info: LoaderInfo) -> None:
        """A loader is made: look at its sampler."""
        loader = info.loader
        sampler = getattr(loader, "sampler", None)
        if type(sampler).__name__ != "WeightedRandomSampler" or not hasattr(
            info.dataset, "__len__"
        ):
            return
        weights = self.session.engine.array(sampler.weights)
        site = self.session.recorder.parts.get(sampler) or info.site
        if weights is None:
            return
        rows = len(info.dataset)
        if weights.size < rows:
            self.report(
                site,
                f"the sampler has {weights.size} weights and the dataset {rows} rows: only the first {weights.size} rows are "
                "ever drawn.",
                evidence={"weights": int(weights.size), "rows": rows},
                fix="give it one weight per row: `class_weights[labels]`",
            )
            return
        labels = labels_of(info.dataset, self.session.engine)
        if labels is None or labels.size != rows or weights.size != rows:
            return
        kinds, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        if not 2 <= kinds.size <= 1000:
            return
        of_class = np.array([weights[codes == k][0] for k in range(kinds.size)])
        whole = labels_of(info.whole_dataset, self.session.engine)
        if whole is not None and whole.size > rows and not np.allclose(of_class[codes], weights):
            cut = whole[:rows]
            first = {k: weights[cut == k][0] for k in kinds if (cut == k).any()}
            if len(first) > 1 and np.allclose([first.get(k, -1) for k in cut], weights):
                self.report(
                    site,
                    f"these weights belong to the first {rows} rows of the whole dataset, but the samples are other rows of it, so they get the "
                    "wrong weights.",
                    evidence={"rows": rows, "of": int(whole.size), "sampler": site},
                    fix="`class_weights[labels[train_set.indices]]`",
                )
                return
        if np.allclose(of_class[codes], weights) and inverted(of_class, counts):
            call = site.call if isinstance(site, Site) else None
            written = call.argument("weights", ["weights"], False) if call is not None else None
            self.report(
                (assigned_before(site, written) if written else None) or site,
                "the sampler makes frequent classes even more frequent: it has the weights "
                f"{shown(of_class)} for classes with {shown(counts)} rows.",
                evidence={"weights": of_class[:8], "rows": counts[:8], "sampler": site},
                fix="use weights that are the inverse of the counts: `1.0 / counts`",
            )


class _Seen:
    """The weights of a loss, and how often each class was among its labels."""

    __slots__ = ("binary", "counts", "divided", "judged", "place", "ref", "site", "weights")

    def __init__(self, op: Op, tensor: Any, classes: int, place: Any) -> None:
        self.ref = weakref.ref(tensor)
        self.binary = op.name == "binary_cross_entropy_with_logits"
        self.counts = np.zeros(classes, np.int64)
        self.site, self.place = op.site, place
        self.divided: Site | None = None  # where one number was divided by the other
        self.weights: Any = None
        self.judged = False


class ClassWeights(Rule):
    """What rules of class weights have in common: they count the labels that a loss gets."""

    ops = ("cross_entropy", "nll_loss", "binary_cross_entropy_with_logits")

    def __init__(self) -> None:
        self._seen: dict[int, _Seen] = {}  # by id of the weights

    def on_op(self, op: Op) -> None:
        """A loss with weights."""
        binary = op.name == "binary_cross_entropy_with_logits"
        weights, target = op.args.get("pos_weight" if binary else "weight"), op.args.get("target")
        if (
            not op.grad_enabled
            or not isinstance(weights, Value)
            or not isinstance(target, Value)
            or weights.requires_grad
        ):
            return
        held = self._seen.get(weights.id)
        if held is not None and held.judged and held.ref() is weights.tensor:
            return
        given, labels = weights.numpy(), target.numpy()
        if given is None or labels is None or labels.size == 0:
            return
        if binary:
            if given.size != 1 or not np.isin(labels, (0, 1)).all():
                return
            classes, labels = 2, labels.reshape(-1).astype(np.int64)
        else:
            if target.is_floating_point or given.ndim != 1:
                return
            classes, labels = given.size, labels.reshape(-1)
            labels = labels[(labels >= 0) & (labels < classes)]
        if held is None or held.ref() is not weights.tensor:
            place = chosen(self.session.recorder, op)
            held = self._seen[weights.id] = _Seen(op, weights.tensor, classes, place)
            for made in lineage(weights, VIEWS | {"div"}, 8):
                if made.name == "div" and made.direct:
                    held.divided = made.site  # the first one, and not that by their sum
        held.counts += np.bincount(labels, minlength=classes)[:classes]
        held.weights = given.reshape(-1).copy()
        if held.counts.sum() >= MANY_ROWS and held.counts.min() >= OF_EACH and op.step >= 2:
            held.judged = True
            self.judge(held)

    def finish(self) -> None:
        """Losses that have seen fewer labels."""
        for held in self._seen.values():
            if not held.judged and held.counts.sum() >= max(ROWS, 8 * held.counts.size):
                self.judge(held)

    def judge(self, held: _Seen) -> None:
        """Say what is wrong with the weights."""
        raise NotImplementedError


class ClassWeightsInverted(ClassWeights):
    """Class weights of a loss that are large for the frequent classes."""

    slug = "class-weights-inverted"
    id = "PL215"
    severity = "error"
    summary = "the class weights of a loss favor the frequent classes"

    def judge(self, held: _Seen) -> None:
        """Whether they grow with the counts."""
        weights, counts = held.weights, held.counts
        if held.binary:
            wrong = odds(float(weights[0]), counts)
        else:
            wrong = inverted(weights, counts) and not out_of_order(weights, counts)
        if wrong:
            name = "pos_weight" if held.binary else "weight"
            self.report(
                held.divided or held.place,
                f"`{name}` {shown(weights)} is large for classes that have many rows: so far "
                f"the classes have {shown(counts)} rows.",
                evidence={"weights": weights[:8], "rows": counts[:8], "loss": held.site},
                fix="negatives over positives" if held.binary else "the inverse of the counts",
            )


class WeightsOutOfOrder(ClassWeights):
    """Class weights of a loss that fit the counts, but in another order than that of the classes."""

    slug = "weights-out-of-order"
    id = "PL217"
    severity = "error"
    summary = "the class weights of a loss are in the wrong order"

    def judge(self, held: _Seen) -> None:
        """Whether they would fit in another order."""
        weights, counts = held.weights, held.counts
        if not held.binary and out_of_order(weights, counts):
            self.report(
                held.place,
                f"the weights {shown(weights)} are inverse frequencies, but in the wrong order: "
                f"so far the classes 0, 1, ... have {shown(counts)} rows.",
                evidence={"weights": weights[:8], "rows": counts[:8], "loss": held.site},
                fix=(
                    "order the weights by class number: `torch.bincount(labels)` counts in "
                    "that order"
                ),
            )


def odds(weight: float, counts: Any) -> bool:
    """Whether a weight of the positives is about positives over negatives."""
    negative, positive = counts
    if min(counts) < 4:
        return False
    turned = positive / negative
    return max(turned, 1 / turned) >= CLEARLY and abs(np.log(weight / turned)) < 0.2 * abs(
        np.log(turned)
    )


def shown(numbers: Any) -> str:
    """The first few numbers."""
    text = ", ".join(f"{n:.3g}" for n in numbers[:4].tolist())
    return text + (", ..." if numbers.size > 4 else "")


def labels_of(dataset: Any, engine: Any) -> Any:
    """The labels of a data set, where they can be read without fetching samples."""
    if type(dataset).__name__ == "Subset":
        labels = labels_of(dataset.dataset, engine)
        return None if labels is None else labels[np.asarray(dataset.indices)]
    tensors = getattr(dataset, "tensors", None)
    found: Any = tensors[-1] if tensors else None
    for name in ("targets", "labels", "y"):
        found = getattr(dataset, name, None) if found is None else found
    if isinstance(found, engine.Tensor):
        found = engine.array(found)
    elif isinstance(found, list) and all(isinstance(n, int) for n in found[:100]):
        found = np.array(found)
    whole = isinstance(found, np.ndarray) and found.ndim == 1 and found.dtype.kind in "iub"
    return found if whole else None
