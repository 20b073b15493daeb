"""What the report page shows besides findings: losses and gradient norms by step, histograms of
parameters, gradients and activations, time and memory by operation and line.

It reads values at every step, so it is collected only for a report.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .events import Backward, ModuleCall, Op, Step, Value, ancestors
from .graph import OpsGraph
from .recording.recorder import Recorder


@dataclass(slots=True)
class Cost:
    """Calls, seconds and bytes of results of one operation on one line."""

    calls: int = 0
    seconds: float = 0.0
    bytes: int = 0


Histogram = tuple[int, list[float], list[int]]
_MOST_BINS = 40


def histogram(step: int, values: np.ndarray) -> Histogram | None:
    """The step, the edges of bins of one width, and how many finite values are in each; None where
    none is finite, or their range is no finite number.

    There are `2 n^(1/3)` bins for n values (the Rice rule), 40 at the most. If all values are one,
    they are in the middle of a narrow range.

    >>> histogram(1, np.array([0.0, 0.1, 0.2, 0.9, 1.0, np.nan]))[2]
    [3, 0, 0, 2]
    """
    finite = np.asarray(values, np.float64)
    finite = finite[np.isfinite(finite)]
    if not finite.size:
        return None
    low, high = float(finite.min()), float(finite.max())
    if low == high:
        low, high = low - 1e-3 * max(abs(low), 1), high + 1e-3 * max(abs(high), 1)
    if not math.isfinite(high - low):
        return None
    bins = min(math.ceil(2 * finite.size ** (1 / 3)), _MOST_BINS)
    counts, edges = np.histogram(finite, bins, (low, high))
    return step, edges.tolist(), counts.tolist()


def _due(step: int) -> bool:
    """Whether histograms are made at a step: at 0 and the powers of two."""
    return step & (step - 1) == 0


def _count(
    found: dict[str, list[Histogram]], name: str, step: int, array: np.ndarray | None
) -> None:
    if array is None or array.dtype.kind not in "fV":  # V: bfloat16 and other small floats
        return
    made = histogram(step, array)
    if made is not None:
        found.setdefault(name, []).append(made)


@dataclass(slots=True)
class Gathered:
    """Plain data for the report page.

    `losses`: (step, value) of every backward call's root. `gradient_norms`: by parameter, (step, L2
    norm) before each optimizer step. `update_ratios`: by parameter, (step, norm of the update /
    norm of the parameter), for the steps at which it was measured. `costs`: by (operation, file,
    line). `learning_rates`: by optimizer, (step, rates of its groups). `histograms` and
    `gradient_histograms`: by parameter, (step, edges of the bins, elements in each), before the
    steps 0, 1, 2, 4, 8 and so on. `activation_histograms`: the same by module without parts, of the
    result of its first call in training.
    """

    losses: list[tuple[int, float]] = field(default_factory=list)
    gradient_norms: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    update_ratios: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    learning_rates: dict[str, list[tuple[int, list[float]]]] = field(default_factory=dict)
    histograms: dict[str, list[Histogram]] = field(default_factory=dict)
    gradient_histograms: dict[str, list[Histogram]] = field(default_factory=dict)
    activation_histograms: dict[str, list[Histogram]] = field(default_factory=dict)
    costs: dict[tuple[str, str, int], Cost] = field(default_factory=dict)
    backward_seconds: float = 0.0
    seconds: float = 0.0
    graph: Any = None


class Measures:
    """Gathers while the program runs."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.data = Gathered()
        self._names: dict[int, tuple[Any, str]] = {}
        self._began = time.perf_counter()
        self._backward = 0.0
        # of the last backward call; its operations are forgotten no sooner than two steps later
        self._root: Value | None = None

    def subscribe(self) -> None:
        """Ask the recorder for what is needed."""
        recorder = self.recorder
        recorder.updates_wanted = True
        recorder.timed = self._timed
        for event in (
            "on_backward_begin",
            "on_backward",
            "on_step_begin",
            "on_step",
            "on_module_exit",
        ):
            recorder.handlers.setdefault(event, []).append(getattr(self, event))

    def gathered(self) -> Gathered:
        """What was gathered."""
        if self._root is not None:
            names = {
                v.id: v.parameter or v.name
                for op in ancestors([self._root])
                for v in op.inputs
                if v.producer is None or v.is_leaf
            }
            self.data.graph = OpsGraph(
                self._root, {id_: name for id_, name in names.items() if name is not None}
            )
            self._root = None
        self.data.seconds = time.perf_counter() - self._began
        return self.data

    def _timed(self, op: Op, seconds: float) -> None:
        key = (op.name, *(op.site.key if op.site is not None else ("", 0)))
        cost = self.data.costs.get(key)
        if cost is None:
            cost = self.data.costs[key] = Cost()
        cost.calls += 1
        cost.seconds += seconds
        for value in op.outputs:
            if value.producer is op:
                cost.bytes += value.numel * value.itemsize

    def on_backward_begin(self, event: Backward) -> None:
        """A backward call begins: its root is the loss."""
        for root in event.roots:
            array = root.numpy() if root.numel == 1 else None
            self._root = root
            if array is not None:
                self.data.losses.append((event.step, float(array.reshape(-1)[0])))
        self._backward = time.perf_counter()

    def on_backward(self, event: Backward) -> None:
        """A backward call has ended."""
        self.data.backward_seconds += time.perf_counter() - self._backward

    def _name(self, value: Any) -> str:
        tensor = value.tensor
        held = self._names.get(id(tensor))
        if held is None or held[0] is not value._ref:
            held = self._names[id(tensor)] = (
                value._ref,
                value.name or f"parameter {len(self._names)} {list(value.shape)}",
            )
        return held[1]

    def on_step_begin(self, event: Step) -> None:
        """Gradients are complete."""
        data, due = self.data, _due(event.number)
        for value in event.optimizer.params():
            gradient = value.grad()
            if due:
                name = self._name(value)
                _count(data.histograms, name, event.number, value.numpy())
                _count(data.gradient_histograms, name, event.number, gradient)
            if gradient is not None:
                norm = float(np.linalg.norm(np.asarray(gradient, np.float64)))
                self.data.gradient_norms.setdefault(self._name(value), []).append(
                    (event.number, norm)
                )

    def on_module_exit(self, call: ModuleCall) -> None:
        """A module has returned."""
        if not (_due(call.step) and call.training and call.grad_enabled and call.outputs):
            return
        module = call.module
        if module is None or next(module.children(), None) is not None:
            return
        name = f"{call.path} ({call.class_name})" if call.path else call.class_name
        counted = self.data.activation_histograms.get(name)
        if counted is None or counted[-1][0] != call.step:
            _count(self.data.activation_histograms, name, call.step, call.outputs[0].numpy())

    def on_step(self, event: Step) -> None:
        """Parameters are updated."""
        name = event.optimizer.name or event.optimizer.class_name
        self.data.learning_rates.setdefault(name, []).append((event.number, event.optimizer.lrs()))
        for value in event.optimizer.params():
            update, before = event.update(value), event.before.get(value.id)
            if update is not None and before is not None:
                size = float(np.linalg.norm(before))
                if size > 0:
                    ratio = float(np.linalg.norm(update)) / size
                    self.data.update_ratios.setdefault(self._name(value), []).append(
                        (event.number, ratio)
                    )
