"""Gradients that shrink or grow by orders of magnitude on their way through the layers or through
time.

Two things are measured in the first three steps and at powers of two. What arrives at the result of
each layer is read off the gradient of its matrix, which is what arrives times what went in. Between
the uses of one matrix in a recurrence no gradient is kept, so there the factors by which each
operation passes on a gradient of independent numbers are multiplied: the root of the mean square of
its derivative.
"""

from __future__ import annotations

import weakref
from collections import Counter
from typing import Any

import numpy as np

from ...events import VIEWS, Backward, Op, Value, ancestors
from ...recording.values import size
from ...rule import Rule
from ..source.places import birthplace
from .flow_where import LARGEST, followed
from .units import CONVOLUTIONS, LAYERS, RECURRENT, looked_at, weight_of

BENT = frozenset(
    "relu relu6 leaky_relu elu selu gelu silu tanh sigmoid hardtanh hardsigmoid softsign tanhshrink clamp".split()
)
SQUASHING = frozenset("sigmoid tanh hardtanh hardsigmoid softsign".split())
GATED = frozenset("lstm gru lstm_cell gru_cell".split())
CELLS = frozenset("rnn_cell gru_cell lstm_cell".split())
SUMS = frozenset("add sub index_add scatter_add scatter_reduce pow square".split())
WATCHED = (*LAYERS, *RECURRENT, *BENT, *SUMS, "mul", "div")
TURNS = VIEWS | {"mul", "div"}


class Layer:
    """A layer as it was used in one forward: for each trained matrix the size of what went in."""

    __slots__ = (
        "again",
        "count",
        "gain",
        "last",
        "left",
        "name",
        "number",
        "op",
        "positions",
        "size",
        "state",
        "uses",
        "weight",
    )

    def __init__(self, op: Op, weight: Value) -> None:
        self.op = op
        self.name = op.name
        self.number = op.number
        self.weight = weight
        self.size = 0.0  # of what went in: the root of the mean square; the largest of all uses
        self.last = 0.0  # of the last use
        self.gain = 1.0  # what a gradient of independent numbers is multiplied by
        self.positions = 1
        self.count = 1
        self.again = False  # a later use gets what an earlier one led to: a recurrence
        self.uses = [op.number]
        # of a gradient at the last state of a recurrence in one piece, what arrives at the first
        self.left: float | None = None
        self.state: Value | None = None  # its recurrent matrix


class Flow:
    """What the two rules measure together, once per run."""

    def __init__(self, session: Any) -> None:
        self.recorder = session.recorder
        self.made: dict[int, Layer] = {}  # by number of the operation, of this step
        # by number of the operation: what it multiplies a gradient by
        self.gains: dict[int, float] = {}
        # products of two results: by number of the operation, then of the factor
        self.crossed: dict[int, dict[int, float]] = {}
        # by number: activations, and the size of their derivative
        self.acts: dict[int, tuple[Op, float]] = {}
        self.scales: dict[int, tuple[Op, float]] = {}
        # sums and powers, and by how much the values grew in them
        self.sums: dict[int, tuple[Op, float]] = {}
        # derivatives of activations, element by element, where a matrix is used again and again
        self.slopes: dict[int, Any] = {}
        self.matrices: dict[
            int, tuple[str, Value, Any]
        ] = {}  # the same of products: the side of the matrix, the other operand, the matrix
        self._used: dict[int, int] = {}  # by id of a matrix: how often it was used in this step
        self.exact = False  # the last recurrence that was looked at was followed element by element
        self.step = -1
        self._seen = -1
        self._last: tuple[int, Any] | None = None  # number of a backward, and its layers

    def watch(self, op: Op) -> None:
        """A layer, an activation or a factor."""
        step = self.recorder.step
        if not op.grad_enabled or op.number <= self._seen or not looked_at(step):
            return
        self._seen = op.number
        if self.step != step or len(self.gains) > 20_000:
            self.step = step
            for held in (
                self.made,
                self.gains,
                self.acts,
                self.scales,
                self.crossed,
                self.sums,
                self.slopes,
                self.matrices,
                self._used,
            ):
                held.clear()
        if op.name in ("mul", "div"):
            self._scaled(op)
        elif op.name in SUMS:
            self._summed(op)
        elif op.name in BENT:
            self._bent(op)
        else:
            self._layer(op)

    def _layer(self, op: Op) -> None:
        weight = trained(op)
        if weight is None or not op.inputs:
            if op.name in ("matmul", "mm", "bmm") and op.direct:
                self._summed(op)  # a sum over neighbors
            return
        x = next((v for v in op.inputs if v is not weight and v.is_floating_point), None)
        array = x.numpy() if x is not None else None
        if array is None or not array.size:
            return
        layer = self.made[op.number] = Layer(op, weight)
        layer.size = layer.last = size(array)
        if op.name in CONVOLUTIONS and op.output is not None:
            layer.positions = int(np.prod(op.output.shape[2:]))
        elif op.name in ("rnn", "lstm", "gru"):
            layer.count = max(array.shape[:2]) if array.ndim == 3 else array.shape[0]
            layer.left, layer.state = recurrence(op)
        layer.gain = self.gains[op.number] = _gain(op, weight)
        uses = self._used[weight.id] = self._used.get(weight.id, 0) + 1
        if uses > 1:
            self._kept(op, weight)

    def _kept(self, op: Op, weight: Value) -> None:
        """What a gradient is multiplied by on its way through one use of a matrix."""
        if op.name == "rnn_cell":
            params, out, module = (
                op.args.get("params") or [],
                op.output,
                op.module.module if op.module is not None else None,
            )
            matrix, y = (
                params[1].numpy() if len(params) > 1 else None,
                out.numpy() if out is not None else None,
            )
            hx = op.args.get("hx") or []
            if (
                matrix is not None
                and y is not None
                and hx
                and module is not None
                and y.size <= LARGEST
            ):
                self.slopes[op.number] = (
                    (y > 0)
                    if getattr(module, "nonlinearity", "tanh") == "relu"
                    else 1 - np.square(y)
                )
                self.matrices[op.number] = "right", hx[0], np.array(matrix)
        elif op.name in ("linear", "matmul", "mm", "addmm"):
            matrices = [
                v
                for v in op.inputs
                if v is weight
                or not v.is_leaf
                and v.producer is not None
                and weight in v.producer.inputs[:1]
            ]
            states = [v for v in op.inputs if v not in matrices and v.ndim >= 2]
            array = matrices[0].numpy() if matrices else None
            if len(states) != 1 or array is None or array.ndim != 2 or array.size > LARGEST:
                return
            first = op.name != "linear" and op.args.get("input") is matrices[0]
            turned = array if op.name == "linear" else array if first else array.T
            self.matrices[op.number] = "left" if first else "right", states[0], np.array(turned)

    def _summed(self, op: Op) -> None:
        """By how much the values grow in a sum or a power."""
        out = op.output
        hot = [v for v in op.inputs if v.requires_grad and v.ndim]
        if out is None or not out.requires_grad or out.ndim < 2 or not hot or not op.direct:
            return
        arrays = [a for v in (out, *hot) if (a := v.numpy()) is not None and a.size]
        if len(arrays) != 1 + len(hot):
            return
        before = max(size(a) for a in arrays[1:])
        if op.name in ("pow", "square"):
            power = op.args.get("exponent", 2)
            factor = (
                abs(float(power)) * before ** (float(power) - 1)
                if isinstance(power, (int, float)) and before
                else 1.0
            )
        else:
            factor = size(arrays[0]) / before if before else 1.0
        self.sums[op.number] = op, factor

    def _scaled(self, op: Op) -> None:
        factor = next(
            (
                a
                for a in (op.args.get("other"), op.args.get("input"))
                if isinstance(a, (int, float))
            ),
            None,
        )
        if factor is not None and len(op.inputs) == 1 and op.inputs[0].requires_grad:
            with np.errstate(all="ignore"):
                gain = (
                    abs(float(factor))
                    if op.name == "mul"
                    else float(np.abs(1 / np.float64(factor)))
                )
        elif len(op.inputs) == 2 and not op.inputs[1].requires_grad and op.inputs[0].requires_grad:
            other = op.inputs[1].numpy()
            if other is None or not other.size:
                return
            gain = size(other) if op.name == "mul" else 1 / max(size(other), 1e-30)
        elif op.name == "mul" and len(op.inputs) == 2 and all(v.requires_grad for v in op.inputs):
            arrays = [v.numpy() for v in op.inputs]
            if all(a is not None and a.size for a in arrays):
                self.crossed[op.number] = {
                    v.number: size(a) for v, a in zip(op.inputs, reversed(arrays), strict=True)
                }
            return
        else:
            return
        self.gains[op.number] = gain
        if op.direct:
            self.scales[op.number] = op, gain

    def _bent(self, op: Op) -> None:
        out, x = op.output, op.args.get("input")
        if out is None or not out.requires_grad or not isinstance(x, Value) or out.ndim < 2:
            return
        y = out.numpy()
        if y is None or not y.size:
            return
        before = (
            x.numpy()
            if op.name not in ("tanh", "sigmoid", "relu") and x.alive and not op.inplace
            else None
        )
        gain = _derivative(op, y.astype(np.float64, copy=False), before)
        self.gains[op.number] = gain
        if (
            self.matrices
            and y.size <= LARGEST
            and op.name in ("tanh", "sigmoid", "relu")
            and len(self.slopes) < 512
        ):
            self.slopes[op.number] = (
                y > 0
                if op.name == "relu"
                else 1 - np.square(y)
                if op.name == "tanh"
                else y * (1 - y)
            )
        self.acts[op.number] = op, gain

    # ---- after backward --------------------------------------------------------------------------------------------------
    def layers(self, event: Backward) -> tuple[list[Op], list[Layer], list[Layer]]:
        """All operations in order; the layers that led to a loss, each matrix once, from the input
        on; and of these the chain: of layers beside each other the one at which most arrives."""
        if self._last is not None and self._last[0] == event.number:
            return self._last[1]
        made = sorted(ancestors(event.roots), key=lambda op: op.number)
        got = {a.value.id for a in event.accumulated}
        layers: dict[int, Layer] = {}
        # by number of the operation: which layers are before it, its own included
        bits: dict[int, int] = {}
        before: dict[int, int] = {}
        for op in made:
            mask = 0
            for v in op.inputs:
                if v.producer is not None:
                    mask |= bits.get(v.producer.number, 0)
            layer = self.made.get(op.number)
            if layer is not None and layer.weight.id in got:
                first = layers.setdefault(layer.weight.id, layer)
                bit = 1 << list(layers).index(layer.weight.id)
                if first is not layer:
                    first.again |= bool(mask & bit)
                    first.count += 1
                    first.uses.append(op.number)
                    first.last = layer.size
                    first.size = max(first.size, layer.size)
                else:
                    before[layer.weight.id] = mask
                mask |= bit
            bits[op.number] = mask
        groups: list[list[tuple[int, Layer]]] = []  # layers beside each other
        for k, (key, layer) in enumerate(layers.items()):
            if layer.again:
                continue
            if groups and not all(before[key] >> i & 1 for i, _ in groups[-1]):
                groups[-1].append((k, layer))
            else:
                groups.append([(k, layer)])
        chain = [max((layer for _, layer in group), key=arrived) for group in groups]
        self._last = event.number, (made, list(layers.values()), chain)
        return self._last[1]

    def through_time(self, made: list[Op], layer: Layer) -> float | None:
        """How much of a gradient at the last use of a matrix arrives at its first; None when the
        uses do not depend on each other.
        """
        first, last = layer.uses[0], layer.uses[-1]
        between = {op.number: op for op in made if first <= op.number <= last}
        if last not in between:
            return None
        exactly = followed(self, between, first, last)
        self.exact = exactly is not None
        if exactly is not None:
            return exactly
        flowing: dict[int, float] = {}
        for v in between[last].inputs:
            if (
                v.producer is not None
                and v.producer.number in between
                and v.producer.number != last
            ):
                flowing[v.producer.number] = 1.0
        for number in sorted(between, reverse=True):
            arriving = flowing.pop(number, 0.0) if number != last else 0.0
            if not arriving:
                continue
            if number == first:
                return arriving**0.5
            passed, crossed = (
                arriving * self.gains.get(number, 1.0) ** 2,
                self.crossed.get(number, {}),
            )
            for v in between[number].inputs:
                made_by = v.producer
                if made_by is not None and made_by.number in between and v.requires_grad:
                    flowing[made_by.number] = (
                        flowing.get(made_by.number, 0.0) + passed * crossed.get(v.number, 1.0) ** 2
                    )
        return None

    def where(self, layers: list[Layer]) -> Any:
        """The line to which most of these layers owe their values."""
        places = [
            place
            for layer in layers
            if (place := birthplace(self.recorder, layer.weight)) is not None
        ]
        if not places:
            return None
        counted = Counter(place.key for place in places)
        best = max(counted.values())
        return next(place for place in places if counted[place.key] == best)


def flow_of(session: Any) -> Flow:
    """The measurements of a run, which both rules share."""
    held = _flows.get(session.recorder)
    if held is None:
        held = _flows[session.recorder] = Flow(session)
    return held


_flows: weakref.WeakKeyDictionary[Any, Flow] = weakref.WeakKeyDictionary()


def trained(op: Op) -> Value | None:
    """The trained matrix of a layer, also when it is turned or scaled on the way (`x @ w.T`)."""
    weight = weight_of(op)
    if weight is not None or op.name in RECURRENT:
        return weight
    for v in op.inputs:
        current = v
        for _ in range(4):
            made = current.producer
            if (
                made is None
                or made.name not in ("t", "T", "mT", "transpose", "permute", "contiguous")
                or not made.inputs
            ):
                break
            current = made.inputs[0]
        if current is not v and current.is_leaf and current.requires_grad and current.ndim >= 2:
            return current
    return None


def _gain(op: Op, weight: Value) -> float:
    """By how much a layer multiplies the size of a gradient of independent numbers that comes from
    behind.
    """
    if op.name in CELLS:
        params = op.args.get("params") or []
        matrix, out = (params[1].numpy() if len(params) > 1 else None), op.output
        if op.name != "rnn_cell" or matrix is None or out is None:
            return 1.0
        module, states = op.module.module if op.module is not None else None, out.numpy()
        slope = 1.0
        if states is not None:
            relu = getattr(module, "nonlinearity", "tanh") == "relu"
            slope = (
                float(np.sqrt(np.mean(states > 0)))
                if relu
                else size(1 - np.square(states, dtype=np.float64))
            )
        return slope * size(matrix) * float(np.sqrt(len(matrix)))
    if op.name in RECURRENT:
        return 1.0
    matrix = weight.numpy()
    if matrix is None or not matrix.size:
        return 1.0
    if op.name in ("matmul", "mm", "bmm", "addmm"):  # x @ w: what goes in is as wide as w has rows
        inner = (
            op.inputs[0].shape[-1] if op.inputs and op.inputs[0] is not weight else matrix.shape[-2]
        )
    else:
        inner = (
            matrix.shape[0]
            if op.name.startswith("conv_transpose")
            else matrix.shape[1] * int(op.arg("groups", 1) or 1)
        )
    return size(matrix) * float(np.sqrt(matrix.size / max(inner, 1)))


def _derivative(op: Op, y: Any, x: Any) -> float:
    """The size of the derivative of an activation over the elements."""
    with np.errstate(all="ignore"):
        if op.name == "tanh":
            return size(1 - y * y)
        if op.name == "sigmoid":
            return size(y * (1 - y))
        if op.name in ("relu", "relu6"):
            return float(np.sqrt(np.mean(y > 0 if op.name == "relu" else (y > 0) & (y < 6))))
        if op.name == "leaky_relu":
            slope = float(op.arg("negative_slope", 0.01))
            return float(np.sqrt(np.mean(np.where(y > 0, 1.0, slope * slope))))
        if op.name in ("hardtanh", "clamp", "hardsigmoid") and x is not None:
            moved = (y == x) if op.name != "hardsigmoid" else np.where((y > 0) & (y < 1), 1 / 6, 0)
            return size(moved)
    return 1.0


def recurrence(op: Op) -> tuple[float | None, Value | None]:
    """How much of a gradient at the last state of an nn.RNN arrives at the first, its steps'
    derivatives multiplied; and the matrix.
    """
    module, out, params = (
        op.module.module if op.module is not None else None,
        op.output,
        op.args.get("params") or [],
    )
    if op.name != "rnn" or module is None or out is None or out.ndim != 3 or len(params) < 2:
        return None, None
    if module.num_layers != 1 or module.bidirectional:
        return None, params[1]
    states, matrix = out.numpy(), params[1].numpy()
    if states is None or matrix is None:
        return None, params[1]
    states = states.swapaxes(0, 1) if module.batch_first else states
    relu = module.nonlinearity == "relu"
    flowing = np.ones(states.shape[1:], dtype=np.float64)
    with np.errstate(all="ignore"):
        for state in states[:0:-1]:
            flowing = (
                flowing * ((state > 0) if relu else 1 - np.square(state, dtype=np.float64))
            ) @ matrix
    return size(flowing), params[1]


def growth(sizes: list[float]) -> float:
    """By what factor sizes change from the last to the first, little by little: from the slope of
    their logarithms, so that one layer that stands out does not decide. 1 when they go up and down.
    """
    if len(sizes) < 3 or not all(np.isfinite(s) and s > 0 for s in sizes):
        return 1.0
    # The last layer has the gradient of the loss itself, which all rows may share: it stands out,
    # and is left out of longer chains.
    logs = np.log10(sizes[:-1] if len(sizes) > 4 else sizes)
    steps = logs[:-1] - logs[1:]
    slope = -float(np.polyfit(np.arange(len(logs)), logs, 1)[0])
    total = abs(float(steps.sum()))
    steady = float((np.sign(steps) == np.sign(slope)).mean()) >= 0.7
    # Blocks of several layers go up and down within each block.
    steady = (
        steady or len(logs) >= 8 and abs(float(np.corrcoef(np.arange(len(logs)), logs)[0, 1])) > 0.9
    )
    if not steady or total == 0 or float(np.abs(steps).max()) > 0.6 * total:
        return 1.0
    return float(10.0 ** (slope * (len(sizes) - 1)))


def numbers(sizes: list[float]) -> list[float]:
    """As they are shown."""
    return [float(f"{s:.3g}") for s in sizes]


class Flowing(Rule):
    """Measures the gradient that arrives at each layer's result."""

    MINIMUM = 5  # layers
    TIMES = 8  # uses of a matrix in one forward that make it recurrent
    ops = WATCHED

    def on_op(self, op: Op) -> None:
        """A layer, an activation or a factor."""
        flow_of(self.session).watch(op)

    def _measured(self, event: Backward) -> tuple[Flow, list[Op], list[Layer], list[Layer]] | None:
        flow = flow_of(self.session)
        if not flow.made or flow.step != self.step or not event.accumulated:
            return None
        return flow, *flow.layers(event)


def arrived(layer: Layer) -> float:
    """The size of the gradient that arrives at a layer's result."""
    gradient = layer.weight.grad()
    return (
        size(gradient) / layer.size / layer.positions**0.5
        if gradient is not None and layer.size
        else 0.0
    )
