"""Recurrent layers and attention that run over the samples, because they take the axis of the
samples for time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import ARITHMETIC, Batch, Op, Value, ancestors
from ...rule import Rule, cause_site
from ..source.origins import written_at

RECURRENT = ("lstm", "gru", "rnn")
ATTENTION = "multi_head_attention_forward"
LOSSES = (
    "cross_entropy",
    "nll_loss",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
)
TIMES = 3  # steps

_SWAPS = frozenset("transpose t T mT permute movedim".split())
_SHAPED = frozenset("view reshape flatten unflatten view_as reshape_as".split())
_SAME = frozenset(
    "embedding linear float to double contiguous clone detach dropout layer_norm relu gelu tanh sigmoid add sub mul div "
    "cuda cpu pin_memory requires_grad_ type leaky_relu elu silu normalize long".split()
)


class BatchFirst(Rule):
    """`nn.LSTM(...)` without `batch_first=True` on batches whose first axis counts the samples."""

    slug = "batch-first"
    id = "PL112"
    severity = "error"
    summary = "a recurrent layer or attention runs over the samples instead of time"
    supersedes = ("loss-at-chance",)
    ops = (*RECURRENT, ATTENTION, "getitem", "select", *LOSSES)

    def __init__(self) -> None:
        # by id of what a default collate function has put together: its axis 0 counts samples
        self._collated: dict[int, None] = {}
        self._counts: dict[Any, tuple[int, int]] = {}  # by place: the last step, how many of them
        self._other: set[Any] = set()  # places where something else was seen as well
        # by number of a layer's call: its axes of time and of samples
        self._layers: dict[int, tuple[Op, int, int]] = {}

    def on_batch(self, event: Batch) -> None:
        """A batch of a loader."""
        loader = event.loader.loader
        collate = getattr(loader, "collate_fn", None)
        if getattr(collate, "__name__", "") != "default_collate":
            return
        if len(self._collated) > 256:
            self._collated.clear()
        for value in event.values:
            self._collated[value.id] = None

    def on_op(self, op: Op) -> None:
        """A layer, what is taken of its result, or a loss."""
        if not op.grad_enabled:
            return
        if op.name in LOSSES:
            self._in_loss(op)
        elif op.name in ("getitem", "select"):
            self._taken(op)
        else:
            self._layer(op)

    def _layer(self, op: Op) -> None:
        attention = op.name == ATTENTION
        x = op.args.get("query") if attention else op.args.get("input")
        if not isinstance(x, Value) or x.ndim != 3:
            return
        first = not attention and bool(op.arg("batch_first", False))
        time, samples = (1, 0) if first else (0, 1)
        if len(self._layers) > 64:
            self._layers.clear()
        self._layers[op.number] = op, time, samples
        if x.shape[samples] < 2 or x.shape[time] < 2:
            return
        found = self._samples_of(x)
        if found is None:
            return
        if found == time:
            self._count(
                op, x, f"dim {time} of its input {list(x.shape)} for time, but that is the batch"
            )
        else:
            self._other.add(_made_at(op))

    def _samples_of(self, value: Value) -> int | None:
        """Which axis of a value certainly counts samples."""
        axes: list[int | None] = list(range(value.ndim))  # of each axis of `value`: which one now
        for _ in range(60):
            if value.id in self._collated:
                return axes.index(0) if 0 in axes else None
            op = value.producer
            if op is None or not op.inputs:
                return None
            before = op.inputs[0]
            if op.name == "embedding":
                before = next((v for v in op.inputs if not v.is_floating_point), before)
            elif op.name in ARITHMETIC:
                before = next((v for v in op.inputs if v.shape == value.shape), before)
            if op.name == "pad_sequence":
                at = 0 if op.arg("batch_first", False) else 1
                return axes.index(at) if at in axes else None
            if _picks_samples(op):
                return axes.index(0) if 0 in axes else None
            moved = _before(op, before, value)
            if moved is None:
                return None
            axes = [None if a is None else moved[a] for a in axes]
            value = before
        return None

    def _taken(self, op: Op) -> None:
        """`out[:, -1]` of a layer whose axis 1 counts samples, `out[-1]` where axis 0 does."""
        value = op.args.get("input")
        made = value.producer if isinstance(value, Value) else None
        if made is None or made.number not in self._layers or not isinstance(value, Value):
            return
        layer, _, samples = self._layers[made.number]
        if layer.name == ATTENTION and value.index:
            return
        at = samples if value.index == 0 else 1 if value.ndim == 3 else None
        if at is None or value.shape[at] < 2:
            return
        if _last_of(op) == at:
            self._count(
                layer,
                value,
                f"dim {at} of its result {list(value.shape)} for the batch, and only its last entry is used",
                op,
            )
        else:
            self._other.add((op.site, "last"))

    def _in_loss(self, op: Op) -> None:
        """Labels of as many samples as the layer takes for steps in time."""
        scores, target = op.args.get("input"), op.args.get("target")
        if (
            not self._layers
            or not isinstance(scores, Value)
            or not isinstance(target, Value)
            or scores.ndim > 2
            or not target.ndim
        ):
            return
        rows = target.shape[0]
        for made in ancestors([scores], limit=300):
            held = self._layers.get(made.number)
            if held is None:
                continue
            layer, time, samples = held
            x = layer.args.get("query") or layer.args.get("input")
            if not isinstance(x, Value) or x.shape[samples] < 2:
                return
            if scores.shape[0] == rows == x.shape[time] != x.shape[samples]:
                if target.ndim > 1 and target.shape[-1] == x.shape[samples]:
                    return  # one number of every sample at every step
                self._count(
                    layer,
                    x,
                    f"dim {time} of its input {list(x.shape)} for time, but the loss has {rows} labels, one per entry",
                )
            elif scores.shape[0] == x.shape[samples]:
                self._other.add(_made_at(layer))
            return

    def _count(self, layer: Op, value: Value, why: str, taken: Op | None = None) -> None:
        site: Any = _made_at(layer)
        first = bool(layer.arg("batch_first", False))
        if taken is not None and first:
            site = taken.site
        step, count = self._counts.get(site, (-1, 0))
        if step == layer.step:
            return
        count += 1
        self._counts[site] = layer.step, count
        if (
            count != TIMES
            or site in self._other
            or taken is not None
            and (taken.site, "last") in self._other
        ):
            return
        if taken is not None and first:
            fix = "with batch_first=True time is axis 1: `out[:, -1]`"
        elif first:
            fix = "leave out `batch_first=True`, or pass batches with the samples on axis 0"
        else:
            fix = "create the layer with `batch_first=True`"
        self.report(
            site,
            f"this {layer.name.upper() if layer.name in RECURRENT else 'attention'} takes {why}: it runs over the samples of a batch, "
            "and every sample depends on the others.",
            evidence={"shape": list(value.shape), "batch_first": first, "called_at": layer.site},
            fix=fix,
        )


def _made_at(layer: Op) -> Any:
    """Where a layer was made; of one that another one has copied, the original."""
    call = layer.module
    if layer.direct or call is None or call.made is not None:
        return cause_site(layer)
    while call is not None and call.made is None:
        call = call.parent
    made = call.made if call is not None else None
    if made is None:
        return layer.site
    return written_at(made, "encoder_layer", 0) or made


def _picks_samples(op: Op) -> bool:
    """Whether rows are picked by numbers in no order, as samples are; those of a window are not."""
    if op.name not in ("getitem", "index_select") or len(op.inputs) != 2:
        return False
    index = op.inputs[1]
    whole = op.args.get("index")
    if (
        op.name == "index_select"
        and op.args.get("dim") != 0
        or op.name == "getitem"
        and isinstance(whole, tuple)
    ):
        return False
    if index.ndim != 1 or index.is_floating_point or index.dtype == "bool":
        return False
    numbers = index.numpy()
    if numbers is None or numbers.size < 3:
        return False
    steps = np.diff(numbers)
    return bool((steps != steps[0]).any())


def _before(op: Op, before: Value, after: Value) -> list[int | None] | None:
    """Of each axis of a result, which axis of the operand it is; None where that is not known."""
    n = after.ndim
    if op.name in _SWAPS:
        return _turned(op, n)
    if op.name == "getitem":
        return _indexed(op, n)
    if op.name in ("unsqueeze", "squeeze"):
        if op.name == "unsqueeze" and isinstance(dim := op.args.get("dim"), int):
            at = dim % n
            return [None if k == at else k - (k > at) for k in range(n)]
        dim = op.args.get("dim")
        if op.name == "squeeze" and isinstance(dim, int):
            at = dim % before.ndim
            return [k + (k >= at and n < before.ndim) for k in range(n)]
        return None
    if op.name in _SHAPED:
        found: list[int | None] = []
        for k in range(n):
            same = before.shape[: k + 1] == after.shape[: k + 1]
            found.append(k if same else None)
        return found
    if op.name in _SAME or before.shape == after.shape:
        return [k if k < before.ndim else None for k in range(n)]
    if op.name in ("cat", "concat"):
        return [
            k if before.ndim == n and before.shape[k] == after.shape[k] else None for k in range(n)
        ]
    return None


def _turned(op: Op, n: int) -> list[int | None] | None:
    order: list[int | None] = list(range(n))
    if op.name == "permute":
        dims = op.args.get("dims")
        if not isinstance(dims, (tuple, list)) or len(dims) != n:
            return None
        return [int(d) % n for d in dims]
    if op.name == "movedim":
        return None
    if op.name in ("T", "t"):
        return order[::-1]
    first, second = (
        (op.args.get("dim0"), op.args.get("dim1")) if op.name == "transpose" else (-2, -1)
    )
    if not isinstance(first, int) or not isinstance(second, int):
        return None
    first, second = first % n, second % n
    order[first], order[second] = second, first
    return order


def _indexed(op: Op, n: int) -> list[int | None] | None:
    """Slices and whole numbers only."""
    index = op.args.get("index")
    parts = list(index) if isinstance(index, tuple) else [index]
    order: list[int | None] = []
    at = 0
    for part in parts:
        if isinstance(part, slice):
            order.append(at)
            at += 1
        elif type(part) is int:
            at += 1
        elif part is None:
            order.append(None)
        else:
            return None
    while len(order) < n:
        order.append(at)
        at += 1
    return order


def _last_of(op: Op) -> int | None:
    """The axis of which only the last is taken, when that is all that is done."""
    if op.name == "select":
        return op.args.get("dim") if op.args.get("index") == -1 else None
    index = op.args.get("index")
    parts = list(index) if isinstance(index, tuple) else [index]
    numbers = [k for k, part in enumerate(parts) if type(part) is int]
    if len(numbers) != 1 or parts[numbers[0]] != -1:
        return None
    return numbers[0] if all(isinstance(p, (slice, int)) for p in parts) else None
