"""Weights of samples and of classes that do the opposite of what they are for."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ...events import LoaderInfo, Op, Site, Value
from ...rule import Rule
from ..source.places import assigned_before, chosen

CLEARLY = 1.5  # times as many rows
ROWS = 64  # labels that a loss has seen before it is judged


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
                f"the sampler has {weights.size} weights and the data set {rows} rows: only the first {weights.size} rows are "
                "ever drawn.",
                evidence={"weights": int(weights.size), "rows": rows},
                fix="one weight for each row: `class_weights[labels]`",
            )
            return
        labels = labels_of(info.dataset, self.session.engine)
        if labels is None or labels.size != rows or weights.size != rows:
            return
        kinds, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        if not 2 <= kinds.size <= 1000:
            return
        of_class = np.array([weights[codes == k][0] for k in range(kinds.size)])
        if np.allclose(of_class[codes], weights) and inverted(of_class, counts):
            call = site.call if isinstance(site, Site) else None
            written = call.argument("weights", ["weights"], False) if call is not None else None
            self.report(
                (assigned_before(site, written) if written else None) or site,
                f"the sampler draws the frequent classes more often still: weights {shown(of_class)} for classes with "
                f"{shown(counts)} rows.",
                evidence={"weights": of_class[:8], "rows": counts[:8], "sampler": site},
                fix="weights that are the inverse of the counts: `1.0 / counts`",
            )


class ClassWeightsInverted(Rule):
    """Class weights of a loss that are large for the frequent classes."""

    slug = "class-weights-inverted"
    id = "PL215"
    severity = "error"
    summary = "the class weights of a loss favor the frequent classes"
    ops = ("cross_entropy", "nll_loss", "binary_cross_entropy_with_logits")

    def __init__(self) -> None:
        # by id of the weights: how often each class was seen
        self._counts: dict[int, tuple[Any, Any]] = {}
        self._done: set[int] = set()

    def on_op(self, op: Op) -> None:
        """A loss with weights."""
        binary = op.name == "binary_cross_entropy_with_logits"
        weights, target = op.args.get("pos_weight" if binary else "weight"), op.args.get("target")
        if (
            not op.grad_enabled
            or not isinstance(weights, Value)
            or not isinstance(target, Value)
            or weights.id in self._done
            or weights.requires_grad
        ):
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
        ref, counts = self._counts.get(weights.id, (None, None))
        if ref is None or ref() is not weights.tensor:
            ref, counts = weakref.ref(weights.tensor), np.zeros(classes, np.int64)
        counts = counts + np.bincount(labels, minlength=classes)[:classes]
        self._counts[weights.id] = ref, counts
        if counts.sum() < max(ROWS, 8 * classes) or op.step < 2:
            return
        self._done.add(weights.id)
        wrong = odds(float(given.reshape(-1)[0]), counts) if binary else inverted(given, counts)
        if wrong:
            name = "pos_weight" if binary else "weight"
            self.report(
                chosen(self.session.recorder, op),
                f"`{name}` {shown(given.reshape(-1))} is large where there are many rows already: the classes seen so far have "
                f"{shown(counts)} rows.",
                evidence={"weights": given.reshape(-1)[:8], "rows": counts[:8], "loss": op.site},
                fix="negatives over positives" if binary else "the inverse of the counts",
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
