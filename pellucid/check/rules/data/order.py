"""Batches in an order that hurts: all of one class after all of another, and states of a recurrent
network that are handed from one shuffled batch to the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import VIEWS, Backward, Batch, LoaderInfo, Op, Site, Value, lineage
from ...rule import Rule, distinct

CLASSES = 3  # different labels
BATCHES = 4  # of a pass
TIMES = 3  # steps
_STATES = VIEWS | {"detach", "clone", "stack", "cat"}


class ClassesInOrder(Rule):
    """A loader that does not shuffle, over rows that are sorted by their labels."""

    slug = "classes-in-order"
    id = "PL905"
    severity = "error"
    summary = "training batches are sorted by class"
    supersedes = ("loss-at-chance", "dead-units")

    def __init__(self) -> None:
        # by number of a loader: labels of its first pass, by position in the batch
        self._labels: dict[int, dict[int, list[Any]]] = {}
        self._loaders: dict[int, LoaderInfo] = {}
        self._last: dict[int, int] = {}  # by number of a loader: the step of its last batch
        self._trained: dict[int, int] = {}  # by the same: backward calls right after a batch
        self._now: int | None = None

    def on_batch(self, event: Batch) -> None:
        """Labels of the first pass of a loader that keeps the order."""
        loader = event.loader
        self._now = loader.number
        if loader.shuffle or event.epoch or event.position > 256 or len(self._loaders) > 16:
            return
        self._loaders[loader.number] = loader
        held = self._labels.setdefault(loader.number, {})
        for k, value in enumerate(event.values[:4]):
            if value.ndim == 1 and not value.is_floating_point and value.dtype != "bool":
                array = value.numpy()
                if array is not None:
                    held.setdefault(k, []).append(array.copy())

    def on_backward(self, event: Backward) -> None:
        """Training on the last batch."""
        if self._now is not None:
            self._trained[self._now] = self._trained.get(self._now, 0) + 1
            self._now = None

    def finish(self) -> None:
        """Sorted labels of loaders that a model was trained with."""
        for number, held in self._labels.items():
            loader = self._loaders[number]
            for parts in held.values():
                if len(parts) < BATCHES or self._trained.get(number, 0) < BATCHES:
                    continue
                labels = np.concatenate(parts)
                kinds = distinct(labels)
                if (
                    not CLASSES <= kinds.size <= labels.size // 4
                    or (np.diff(labels) < 0).any()
                    and (np.diff(labels) > 0).any()
                ):
                    continue
                self.report(
                    loader.site,
                    f"this loader does not shuffle, and its {labels.size} rows are sorted by "
                    f"their labels: each batch has one or two of {kinds.size} classes, so the "
                    "model forgets the others.",
                    evidence={"rows": int(labels.size), "classes": int(kinds.size)},
                    fix="`DataLoader(..., shuffle=True)` for training",
                )
                break


class StateCarriedOver(Rule):
    """The state of a recurrent network goes from one batch of shuffled samples to the next."""

    slug = "state-carried-over"
    id = "PL906"
    severity = "error"
    summary = "the state of a recurrent network is carried over to unrelated samples"
    ops = ("lstm", "gru", "rnn")

    def __init__(self) -> None:
        self._shuffled: dict[int, LoaderInfo] = {}  # by id of a batch's tensor
        self._counts: dict[Site | None, list[int]] = {}  # by place: steps

    def on_batch(self, event: Batch) -> None:
        """A batch of samples in no order."""
        if event.loader.shuffle:
            if len(self._shuffled) > 256:
                self._shuffled.clear()
            for value in event.values:
                self._shuffled[value.id] = event.loader

    def on_op(self, op: Op) -> None:
        """A recurrent layer that begins with a state of an earlier step."""
        x, states = op.args.get("input"), op.args.get("hx")
        if not op.grad_enabled or not isinstance(x, Value) or not self._shuffled:
            return
        given = states if isinstance(states, (list, tuple)) else [states]
        earlier = next((s for v in given if (s := _earlier(v, op)) is not None), None)
        loader = self._loader(x)
        if earlier is None or loader is None:
            return
        site = op.module.root.site if op.module is not None else op.site
        steps = self._counts.setdefault(site, [])
        if op.step in steps:
            return
        steps.append(op.step)
        if len(steps) == TIMES:
            self.report(
                site,
                f"this {op.name} starts from the hidden state of the previous batch, but the "
                "loader shuffles, so that state belongs to other samples.",
                evidence={"layer": op.site, "loader": loader.site, "step": op.step},
                fix="start each batch without a hidden state (or reset it), or keep the order of the samples",
            )

    def _loader(self, value: Value) -> LoaderInfo | None:
        if value.id in self._shuffled:
            return self._shuffled[value.id]
        through = VIEWS | {"embedding", "linear", "mul", "add", "sub", "div", "dropout"}
        for op in lineage(value, through, 30):
            for v in op.inputs:
                if v.id in self._shuffled:
                    return self._shuffled[v.id]
        return None


def _earlier(value: Any, op: Op) -> Op | None:
    """The call of the same layer, in an earlier step, that a state is from."""
    if isinstance(value, (list, tuple)):
        return next((s for v in value if (s := _earlier(v, op)) is not None), None)
    if not isinstance(value, Value):
        return None
    for made in lineage(value, _STATES, 12):
        if made.name == op.name and made.site == op.site and made.step < op.step:
            return made
    return None
