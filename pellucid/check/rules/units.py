"""Units that never answer, and gradients that shrink or grow on their way through the layers or through time."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..events import VIEWS, Backward, Op, Site, Step, Value, ancestors, lineage
from ..rule import Rule, cause_site

CONVOLUTIONS = frozenset("conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d".split())
LAYERS = CONVOLUTIONS | {"linear", "matmul", "mm", "addmm", "bmm"}
RECURRENT = frozenset({"rnn", "lstm", "gru", "rnn_cell", "lstm_cell", "gru_cell"})
BETWEEN = VIEWS | frozenset(
    "batch_norm layer_norm group_norm instance_norm rms_norm add dropout dropout1d dropout2d max_pool1d max_pool2d avg_pool1d avg_pool2d "
    "adaptive_avg_pool1d adaptive_avg_pool2d".split()
)
LOOKED_AT = 1 << 16


def looked_at(step: int, numel: int = LOOKED_AT + 1) -> bool:
    """Whether values of so many elements are read in this step: small ones always, others in the first three and at powers of two."""
    return numel <= LOOKED_AT or step < 3 or step & (step - 1) == 0


def weight_of(op: Op) -> Value | None:
    """The trained matrix of a layer: a leaf among the operands that wants a gradient."""
    if op.name in RECURRENT:
        params = op.args.get("params") or []
        return params[0] if params else None  # that of the input: what arrives at the first time step is in its gradient
    return next((v for v in op.inputs if v.ndim >= 2 and v.requires_grad and v.is_leaf), None)


class _Unit:
    """Which units of a layer answered to some input, in the last steps that were looked at."""

    __slots__ = ("looks", "op", "rows", "weight")

    def __init__(self, op: Op, weight: Value) -> None:
        self.op = op
        self.weight = weight
        self.looks: list[tuple[int, Any]] = []
        self.rows = 0


class DeadUnits(Rule):
    """A ReLU whose input is negative for every row passes neither values nor gradients, and cannot come back."""

    slug = "dead-units"
    id = "PL604"
    severity = "warning"
    summary = "most units of a layer are zero for all inputs"
    ops = ("relu", "relu6", "clamp", "clamp_min", "threshold", "hardtanh")
    supersedes = ("loss-at-chance",)

    LOOKS = 6
    SHARE = 0.75  # half of the units are off for all inputs where the bias outweighs a signal that has become small
    NARROW = 16  # units; of narrower layers all must be off
    ROWS = 64

    def __init__(self) -> None:
        self._layers: dict[Any, _Unit] = {}

    def on_op(self, op: Op) -> None:
        """Which units are on."""
        out, x = op.output, op.args.get("input")
        if out is None or not out.requires_grad or not isinstance(x, Value) or out.ndim < 2 or not looked_at(self.step, out.numel):
            return
        if (
            op.name in ("clamp", "clamp_min")
            and op.args.get("min") != 0
            or op.arg("threshold", 0) != 0
            or op.arg("min_val", 0) != 0
        ):
            return
        layer = next((o for o in lineage(x, BETWEEN, 40) if o.name in LAYERS), None)
        weight = weight_of(layer) if layer is not None else None
        if layer is None or weight is None:
            return
        inplace = op.inplace or not x.alive
        array = (out if inplace else x).numpy()
        if array is None:
            return
        axis = 1 if layer.name in CONVOLUTIONS and array.ndim > 2 else array.ndim - 1
        on = ~((array <= 0) if inplace else (array < 0)).all(axis=tuple(i for i in range(array.ndim) if i != axis))
        key = (op.site, op.module.path if op.module is not None else None, weight.id, len(on))
        held = self._layers.get(key)
        if held is None:
            held = self._layers[key] = _Unit(op, weight)
        if held.looks and held.looks[-1][0] == self.step:
            held.looks[-1] = (self.step, held.looks[-1][1] | on)
        else:
            held.looks = [*held.looks[1 - self.LOOKS :], (self.step, on)]
        held.rows = array.size // len(on)

    def finish(self) -> None:
        """Layers that ended with most units off."""
        for held in self._layers.values():
            looks = held.looks
            if len(looks) < min(self.LOOKS, 4) or held.rows * len(looks) < self.ROWS:
                continue
            on = np.logical_or.reduce([mask for _, mask in looks])
            dead = int((~on).sum())
            if dead <= self.SHARE * len(on) or len(on) < self.NARROW and dead < len(on):
                continue
            op = held.op
            name = held.weight.name
            self.report(
                cause_site(op),
                f"{dead} of {len(on)} units of this {op.name} are zero for every input of the last {len(looks)} steps that were looked "
                f"at{' (the layer is ' + name + ')' if name else ''}: they pass no gradient, so they stay so.",
                evidence={
                    "dead": dead, "units": len(on), "rows_per_step": held.rows, "steps": [s for s, _ in looks],
                    "layer": name, "called_at": op.site,
                },
                fix="look for what pushes the layer's input below zero: a bias that begins far below zero, inputs that are not scaled, or "
                "a learning rate that is too large; nn.LeakyReLU or nn.GELU keep a gradient there",
            )  # fmt: skip


class _Layer:
    """A layer as it was used in one forward: for each trained matrix the size of what went in."""

    __slots__ = ("count", "name", "number", "positions", "size", "site", "weight")

    def __init__(self, op: Op, weight: Value) -> None:
        self.name = op.name
        self.number = op.number
        self.site = op.site
        self.weight = weight
        self.size = 0.0
        self.positions = 1
        self.count = 1


class _Flow(Rule):
    """Measures the gradient that arrives at each layer's result.

    The gradient of a layer's matrix is what arrives times what went in, so its size over that of the input tells what arrived.
    """

    MINIMUM = 5  # layers

    def __init__(self) -> None:
        self._made: dict[int, _Layer] = {}  # by number of the operation, of this step
        self._step = -1
        self._seen: list[list[float]] = []
        self._told = False

    def _watch(self, op: Op) -> None:
        if self._told or not op.grad_enabled or not looked_at(self.step):
            return
        if self._step != self.step or len(self._made) > 5000:
            self._step = self.step
            self._made.clear()
        weight = weight_of(op)
        if weight is None or not op.inputs:
            return
        x = next((v for v in op.inputs if v is not weight), None)
        array = x.numpy() if x is not None and x.is_floating_point else None
        if array is None or not array.size:
            return
        layer = self._made[op.number] = _Layer(op, weight)
        layer.size = _size(array)
        if op.name in CONVOLUTIONS and op.output is not None:
            layer.positions = int(np.prod(op.output.shape[2:]))
        elif op.name in ("rnn", "lstm", "gru"):
            layer.count = max(array.shape[:2]) if array.ndim == 3 else array.shape[0]

    def _arrived(self, event: Backward) -> tuple[list[tuple[_Layer, float]], list[tuple[_Layer, float]]]:
        """(layer, gradient that arrives at it), from the input to the loss, of those that this backward reached, each matrix once; and of
        these the chain: layers that everything from the first to the last goes through, no branches beside others."""
        made = sorted(ancestors(event.roots), key=lambda op: op.number)
        got = {a.value.id for a in event.accumulated}
        layers: dict[int, _Layer] = {}
        bits: dict[int, int] = {}  # by number of the operation: which layers are before it, its own included
        before: dict[int, int] = {}
        for op in made:
            mask = 0
            for v in op.inputs:
                if v.producer is not None:
                    mask |= bits.get(v.producer.number, 0)
            layer = self._made.get(op.number)
            if layer is not None and layer.weight.id in got:
                first = layers.setdefault(layer.weight.id, layer)
                if first is not layer:
                    first.count += 1
                    first.size = max(first.size, layer.size)
                else:
                    before[layer.weight.id] = mask
                mask |= 1 << list(layers).index(layer.weight.id)
            bits[op.number] = mask
        found, chain, order = [], [], list(layers)
        for k, (key, layer) in enumerate(layers.items()):
            gradient = layer.weight.grad()
            size = _size(gradient) if gradient is not None and layer.size else 0.0
            if not np.isfinite(size) or size == 0:
                return [], []
            found.append((layer, size / layer.size / layer.positions**0.5))
            others = (before[other] >> k & 1 or before[key] >> i & 1 for i, other in enumerate(order) if i != k)
            if layer.count == 1 and all(others):
                chain.append(found[-1])
        return found, chain


def _one_step(op: Op) -> bool:
    """Whether a selection takes a single time step: `states[:, -1]`."""
    index = op.args.get("index")
    return isinstance(index, int) or isinstance(index, tuple) and any(isinstance(i, int) for i in index)


def _size(array: Any) -> float:
    """Root of the mean square."""
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.mean(np.square(array, dtype=np.float64))))


def _trend(sizes: list[float], factor: float) -> bool:
    """Whether sizes change by `factor` from last to first, little by little and not in one place."""
    logs = np.log10(sizes)
    steps = (logs[:-1] - logs[1:]) * np.sign(np.log10(factor))
    total = steps.sum()
    return bool(total >= abs(np.log10(factor)) and (steps > 0).mean() >= 0.7 and steps.max() <= 0.6 * total)


def _numbers(sizes: list[float]) -> list[float]:
    return [float(f"{s:.3g}") for s in sizes]


class VanishingGradient(_Flow):
    """What arrives at the first layers is orders of magnitude less than at the last."""

    slug = "vanishing-gradient"
    id = "PL603"
    severity = "warning"
    summary = "gradients shrink by orders of magnitude through layers or time"
    ops = (*LAYERS, "rnn")
    supersedes = ("loss-at-chance", "dead-units")

    FACTOR = 1e-4
    TIMES, THROUGH_TIME = 40, 1e-6  # of an nn.RNN of which only the last state is used

    def __init__(self) -> None:
        super().__init__()
        self._times: dict[int, tuple[int, float]] = {}  # by number of the operation: time steps, what is left over them
        self._late = 0

    def on_op(self, op: Op) -> None:
        """A layer."""
        if op.name == "rnn":
            if not self._told and op.grad_enabled and looked_at(self.step):
                self._recurrence(op)
        else:
            self._watch(op)

    def _recurrence(self, op: Op) -> None:
        """How much of a gradient at the last state of an nn.RNN arrives at the first: the derivatives of its steps, multiplied."""
        module, out, params = op.module.module if op.module is not None else None, op.output, op.args.get("params") or []
        if module is None or out is None or out.ndim != 3 or len(params) < 2 or module.num_layers != 1 or module.bidirectional:
            return
        states, matrix = out.numpy(), params[1].numpy()
        if states is None or matrix is None:
            return
        states = states.swapaxes(0, 1) if module.batch_first else states
        if len(states) < self.TIMES:
            return
        relu = module.nonlinearity == "relu"
        flowing = np.ones(states.shape[1:], dtype=np.float64)
        with np.errstate(all="ignore"):
            for state in states[:0:-1]:
                flowing = (flowing * ((state > 0) if relu else 1 - np.square(state, dtype=np.float64))) @ matrix
        left = _size(flowing)
        if 0 < left < self.THROUGH_TIME:
            self._times[op.number] = (len(states), left)

    def _through_time(self, event: Backward) -> None:
        made = list(ancestors(event.roots))
        for op in made:
            held = self._times.get(op.number)
            if held is None:
                continue
            used = [(o, v) for o in made for v in o.inputs if v.producer is op and v.index == 0]
            if any(o.name not in ("getitem", "select") or not _one_step(o) for o, _ in used):
                continue
            self._late += 1
            if self._late >= 2:
                self._told = True
                times, left = held
                name = op.module.path if op.module is not None else "the RNN"
                self.report(
                    event.site,
                    f"the gradient shrinks through time: {left:.1e} of what is at the last state of {name} arrives at the first, "
                    f"{times} steps before it.",
                    evidence={
                        "layer": name,
                        "time_steps": times,
                        "left": float(f"{left:.3g}"),
                        "step": event.step,
                        "called_at": op.site,
                    },
                    fix="use nn.LSTM or nn.GRU, which carry a state through time, or shorter sequences",
                )
                break
        self._times.clear()

    def on_backward(self, event: Backward) -> None:
        """The gradients by layer."""
        if self._times and not self._told:
            self._through_time(event)
        if self._told or not self._made or self._step != self.step or not event.accumulated:
            return
        _, found = self._arrived(event)
        sizes = [s for _, s in found]
        if len(found) < self.MINIMUM or not _trend(sizes, self.FACTOR):
            self._seen.clear()
            return
        self._seen.append(sizes)
        if len(self._seen) < 2:
            return
        self._told = True
        first, last = found[0][0].weight.name, found[-1][0].weight.name
        self.report(
            event.site,
            f"the gradient shrinks from layer to layer: {sizes[0] / sizes[-1]:.1e} of what is at {last} arrives at {first}, "
            f"{len(found)} layers before it.",
            evidence={"arrives": _numbers(sizes), "layers": [layer.weight.name for layer, _ in found], "step": event.step},
            fix="use activations that do not saturate (ReLU, GELU) with weights scaled for them (nn.init.kaiming_normal_), "
            "normalisation between layers, or residual connections",
        )


class ExplodingGradient(_Flow):
    """What arrives at the first layers, or at a recurrent matrix, is orders of magnitude more than at the last layer."""

    slug = "exploding-gradient"
    id = "PL602"
    severity = "warning"
    summary = "gradients grow by orders of magnitude through layers or time"
    ops = (*LAYERS, *RECURRENT)
    supersedes = ("loss-at-chance",)

    FACTOR = 1e4
    TIMES = 8  # uses of a matrix in one forward that make it recurrent

    def __init__(self) -> None:
        super().__init__()
        self._candidate: tuple[Site | None, str, str, dict[str, Any], Any, float] | None = None
        self._count = 0

    def on_op(self, op: Op) -> None:
        """A layer."""
        self._watch(op)

    def on_backward(self, event: Backward) -> None:
        """The gradients by layer, before anything clips them."""
        self._candidate = None
        if self._told or not self._made or self._step != self.step or not event.accumulated:
            return
        found, chain = self._arrived(event)
        if len(found) < 2:
            return
        recurrent = [(layer, s) for layer, s in found[:-1] if layer.count >= self.TIMES]
        deep = len(chain) >= self.MINIMUM and _trend([s for _, s in chain], self.FACTOR)
        found = chain if deep else found
        sizes = [s for _, s in found]
        names = [layer.weight.name for layer, _ in found]
        evidence = {"arrives": _numbers(sizes), "layers": names, "step": event.step}
        if deep:
            message = (
                f"the gradient grows from layer to layer: {sizes[0] / sizes[-1]:.1e} times what is at {names[-1]} arrives at {names[0]}, "
                f"{len(found)} layers before it."
            )
            fix = "scale the weights for their width (nn.init.kaiming_normal_, nn.init.xavier_normal_), or normalise between layers"
            self._candidate = (event.site, message, fix, evidence, weakref.ref(found[0][0].weight), _norm(found[0][0].weight))
        elif recurrent and max(s for _, s in recurrent) > self.FACTOR * sizes[-1]:
            layer, size = max(recurrent, key=lambda k: k[1])
            message = (
                f"the gradient grows through time: {size / sizes[-1]:.1e} times what is at {names[-1]} arrives at {layer.weight.name}, "
                f"over {layer.count} time steps."
            )
            fix = (
                "clip gradients between backward and step, `nn.utils.clip_grad_norm_(model.parameters(), 1.0)`, "
                "and begin with a smaller recurrent matrix"
            )
            self._candidate = (event.site, message, fix, evidence, weakref.ref(layer.weight), _norm(layer.weight))

    def on_step_begin(self, event: Step) -> None:
        """They are used as they are: nobody has clipped them."""
        if self._candidate is None:
            return
        site, message, fix, evidence, weight, norm = self._candidate
        self._candidate = None
        value = weight()
        if value is None or _norm(value) < 0.5 * norm:
            return
        self._count += 1
        if self._count >= 2:
            self._told = True
            self.report(site, message, evidence=evidence, fix=fix)


def _norm(value: Value) -> float:
    gradient = value.grad()
    return 0.0 if gradient is None else _size(gradient)
