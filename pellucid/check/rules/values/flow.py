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

from ...events import VIEWS, Backward, Batch, LoaderInfo, Op, Step, Value, ancestors
from ...rule import Rule, cause_site
from ..source.places import birthplace
from .flow_where import (
    LARGEST,
    followed,
    forgotten,
    gated,
    hard_attention,
    late,
    most,
    one_step,
    saturated,
    shares,
)
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


class _Layer:
    """A layer as it was used in one forward: for each trained matrix the size of what went in."""

    __slots__ = (
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
        self.uses = [op.number]
        # of a gradient at the last state of a recurrence in one piece, what arrives at the first
        self.left: float | None = None
        self.state: Value | None = None  # its recurrent matrix


class Flow:
    """What the two rules measure together, once per run."""

    def __init__(self, session: Any) -> None:
        self.recorder = session.recorder
        self.made: dict[int, _Layer] = {}  # by number of the operation, of this step
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
        layer = self.made[op.number] = _Layer(op, weight)
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
    def layers(self, event: Backward) -> tuple[list[Op], list[_Layer], list[_Layer]]:
        """All operations in order; the layers that led to a loss, each matrix once, from the input
        on; and of these the chain: of layers beside each other the one at which most arrives."""
        if self._last is not None and self._last[0] == event.number:
            return self._last[1]
        made = sorted(ancestors(event.roots), key=lambda op: op.number)
        got = {a.value.id for a in event.accumulated}
        layers: dict[int, _Layer] = {}
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
                if first is not layer:
                    first.count += 1
                    first.uses.append(op.number)
                    first.last = layer.size
                    first.size = max(first.size, layer.size)
                else:
                    before[layer.weight.id] = mask
                mask |= 1 << list(layers).index(layer.weight.id)
            bits[op.number] = mask
        groups: list[list[tuple[int, _Layer]]] = []  # layers beside each other
        for k, (key, layer) in enumerate(layers.items()):
            if layer.count != 1:
                continue
            if groups and not all(before[key] >> i & 1 for i, _ in groups[-1]):
                groups[-1].append((k, layer))
            else:
                groups.append([(k, layer)])
        chain = [max((layer for _, layer in group), key=arrived) for group in groups]
        self._last = event.number, (made, list(layers.values()), chain)
        return self._last[1]

    def through_time(self, made: list[Op], layer: _Layer) -> float | None:
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

    def where(self, layers: list[_Layer]) -> Any:
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


def size(array: Any) -> float:
    """Root of the mean square."""
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.mean(np.square(array, dtype=np.float64))))


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


class _Flowing(Rule):
    """Measures the gradient that arrives at each layer's result."""

    MINIMUM = 5  # layers
    TIMES = 8  # uses of a matrix in one forward that make it recurrent
    ops = WATCHED

    def on_op(self, op: Op) -> None:
        """A layer, an activation or a factor."""
        flow_of(self.session).watch(op)

    def _measured(
        self, event: Backward
    ) -> tuple[Flow, list[Op], list[_Layer], list[_Layer]] | None:
        flow = flow_of(self.session)
        if not flow.made or flow.step != self.step or not event.accumulated:
            return None
        return flow, *flow.layers(event)


def arrived(layer: _Layer) -> float:
    """The size of the gradient that arrives at a layer's result."""
    gradient = layer.weight.grad()
    return (
        size(gradient) / layer.size / layer.positions**0.5
        if gradient is not None and layer.size
        else 0.0
    )


class ExplodingGradient(_Flowing):
    """What arrives at the first layers, or at a recurrent matrix, is orders of magnitude more than
    at the last layer.
    """

    slug = "exploding-gradient"
    id = "PL602"
    severity = "warning"
    summary = "gradients grow by orders of magnitude through layers or time"
    supersedes = ("loss-at-chance", "dead-units")

    FACTOR = 1e4  # of the gradient alone, estimated;
    EXACT = 1e3  # through a recurrence that was followed element by element; or
    # what a product of many factors may come to, and the largest of several beside the middle one
    PRODUCT, APART = 1e4, 1e4
    # of the values on their way forward and the gradient on its way back, and each of them by more
    # than PART
    BOTH, PART = 3e4, 10

    ops = (*WATCHED, "exp", "prod", "cumprod")

    def __init__(self) -> None:
        # products of many factors that have become huge, in this step
        self._products: list[Op] = []
        self._huge: dict[Any, int] = {}  # by place: in how many steps
        self._candidate: tuple[Any, str, str, dict[str, Any], Any, float] | None = None
        self._told = False

    def on_op(self, op: Op) -> None:
        """Products of many factors, too: `prod`, or the exponential of a sum."""
        if op.name not in ("exp", "prod", "cumprod"):
            super().on_op(op)
            return
        out, x = op.output, op.inputs[0] if op.inputs else None
        if (
            out is None
            or x is None
            or not out.requires_grad
            or not op.direct
            or not looked_at(self.step, out.numel)
        ):
            return
        made = x.producer
        if op.name == "exp":
            if (
                made is None
                or made.name not in ("sum", "cumsum")
                or not made.inputs
                or made.inputs[0].numel < 8 * x.numel
                and made.name == "sum"
            ):
                return
        array = out.numpy()
        if array is None or not array.size or len(self._products) >= 16:
            return
        sizes = np.abs(array)
        apart = (
            array.size >= 8
            and op.name == "exp"
            and float(sizes.max()) > self.APART * float(np.median(sizes))
        )
        if float(sizes.max()) > self.PRODUCT or apart:
            self._products.append(op)

    def _multiplied(self, event: Backward) -> None:
        """Products of many factors that the loss uses as they are: no clamp limits them."""
        products, self._products = self._products, []
        made = list(ancestors(event.roots, limit=5000))
        for op in products:
            users = [o for o in made if any(v.producer is op for v in o.inputs)]
            if not users or any(
                o.name in ("clamp", "clamp_max", "minimum", "min", "log") for o in users
            ):
                continue
            count = self._huge[op.site] = self._huge.get(op.site, 0) + 1
            leaf = event.accumulated[0].value if event.accumulated else None
            if count >= 3 and leaf is not None and self._candidate is None:
                self._candidate = (
                    op.site,
                    "a product of many factors has overflowed here, and so has its gradient: factors slightly above one are enough.",
                    "limit the factors or their product (`clamp`), use a product of few, or work with the logarithm",
                    {"operation": op.name, "step": event.step, "backward_at": event.site},
                    weakref.ref(leaf),
                    _norm(leaf),
                )

    def on_backward(self, event: Backward) -> None:
        """The gradients by layer, before anything clips them."""
        self._candidate = None
        if self._products and not self._told:
            self._multiplied(event)
        measured = None if self._told else self._measured(event)
        if measured is None:
            return
        flow, made, layers, chain = measured
        if self._candidate is not None:
            return
        if len(layers) > 1 or layers and layers[0].count >= self.TIMES:
            self._time(event, flow, made, layers)
        if self._candidate is None and len(chain) >= self.MINIMUM:
            self._depth(event, flow, made, chain)
        if self._candidate is None and layers and (found := gated(flow, made)) is not None:
            grown, times, op = found
            leaf = layers[0].weight
            self._candidate = (
                cause_site(op),
                f"the state is multiplied by a factor above one in each of {times} steps: gradients grow by {grown:.1e} in total.",
                "keep the factor between 0 and 1 (`torch.sigmoid`), or normalize the state in each step",
                {
                    "time_steps": times,
                    "grows": float(f"{grown:.3g}"),
                    "step": event.step,
                    "backward_at": event.site,
                },
                weakref.ref(leaf),
                _norm(leaf),
            )

    def _depth(self, event: Backward, flow: Flow, made: list[Op], chain: list[_Layer]) -> None:
        back, forth = (
            growth([arrived(layer) for layer in chain]),
            1 / growth([layer.size for layer in chain]),
        )
        if not (back > self.FACTOR or min(back, forth) > self.PART and back * forth > self.BOTH):
            return
        gains = [layer.gain for layer in chain]
        names = [layer.weight.name for layer in chain]
        share = most(shares(flow, made, chain), 1)
        site = (
            share.place
            if share is not None
            else flow.where([layer for layer in chain if layer.gain >= 0.5 * max(gains)])
        )
        fix = {
            "factor": "leave the factor out, or choose one that keeps the scale (`/ 2**0.5` after a sum of two)",
            "sum": "divide by the number of terms (the mean of the neighbors), or normalize between layers",
        }.get(
            share.kind if share is not None else "",
            "scale the weights for their width (nn.init.kaiming_normal_, nn.init.xavier_normal_), or normalize between layers",
        )
        first = chain[0].weight
        self._candidate = (
            site or event.site,
            (
                f"the gradient grows from layer to layer: at {names[0]} it is {back:.1e} times as large as at {names[-1]}, "
                f"{len(chain)} layers later, and the activations grow by {forth:.1e} in the forward pass."
            ),
            fix,
            {
                "arrives": numbers([arrived(layer) for layer in chain]),
                "values": numbers([layer.size for layer in chain]),
                "layers": names,
                "gains": numbers(gains),
                "step": event.step,
                "backward_at": event.site,
            },
            weakref.ref(first),
            _norm(first),
        )

    def _time(self, event: Backward, flow: Flow, made: list[Op], layers: list[_Layer]) -> None:
        for layer in layers:
            if layer.count < self.TIMES:
                continue
            matrix, times = layer.weight, layer.count
            left, limit = None, self.FACTOR
            if layer.name in ("rnn", "lstm", "gru"):
                left, matrix = layer.left, layer.state or matrix
            elif len(layer.uses) >= self.TIMES:
                left = flow.through_time(made, layer)
                limit = self.EXACT if flow.exact else limit
                if layer.name in CELLS:
                    matrix = layer.op.args["params"][1]
            after = [
                arrived(other)
                for other in layers
                if other.count < self.TIMES and other.number > layer.uses[-1]
            ]
            back = (
                arrived(layer) / after[-1]
                if after and after[-1] > 0 and left is None and layer.name in RECURRENT
                else 0.0
            )
            if not max((left or 0.0) * self.FACTOR / limit, back) > self.FACTOR:
                continue
            grown = max(left or 0.0, back)
            self._candidate = (
                birthplace(flow.recorder, matrix) or event.site,
                (
                    f"the gradient grows through time: at the first of {times} time steps it is {grown:.1e} times as large as at the last, "
                    f"through {matrix.name or layer.weight.name}."
                ),
                (
                    "start with a recurrent matrix that preserves norms (nn.init.orthogonal_), and clip gradients between backward and step, "
                    "`nn.utils.clip_grad_norm_(model.parameters(), 1.0)`"
                ),
                {
                    "time_steps": times,
                    "grows": float(f"{grown:.3g}"),
                    "matrix": matrix.name,
                    "step": event.step,
                    "backward_at": event.site,
                },
                weakref.ref(matrix),
                _norm(matrix),
            )
            return

    def on_step_begin(self, event: Step) -> None:
        """They are used as they are: nobody has clipped them."""
        if self._candidate is None or self._told:
            return
        site, message, fix, evidence, weight, norm = self._candidate
        self._candidate = None
        value = weight()
        if value is None or _norm(value) < 0.5 * norm:
            return
        self._told = True
        self.report(site, message, evidence=evidence, fix=fix)


def _norm(value: Value) -> float:
    gradient = value.grad()
    return 0.0 if gradient is None else size(gradient)


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


class VanishingGradient(_Flowing):
    """What arrives at the first layers is orders of magnitude less than at the last."""

    slug = "vanishing-gradient"
    id = "PL603"
    severity = "warning"
    summary = "gradients shrink by orders of magnitude through layers or time"
    supersedes = ("loss-at-chance", "dead-units")

    ops = (*WATCHED, "softmax")

    FACTOR = 1e-4
    # time steps, of a recurrence of which only the last state is used
    LONG, THROUGH_TIME = 10, 1e-6
    SHARE = 0.7  # of the steps that were looked at, the last among them

    def __init__(self) -> None:
        self._looks: dict[Any, list[bool]] = {}
        self._losses: dict[Any, list[float]] = {}
        self._found: dict[Any, tuple[Any, str, str, dict[str, Any]]] = {}
        self._loss = float("nan")
        # what the program itself does to gradients: no network gets over it
        self._meant: set[Any] = set()
        # saturated activations of this step, with where their input came in
        self._flat: list[tuple[Op, Any]] = []
        # by number of a loader: the class of its data set
        self._kinds: dict[int, type] = {}
        # ids of the tensors that a loader gave last, and that class
        self._batch: tuple[set[int], type] | None = None

    def on_pass(self, event: LoaderInfo) -> None:
        """Whose samples a loader gives."""
        dataset = event.dataset
        while type(dataset).__name__ == "Subset":
            dataset = dataset.dataset
        self._kinds[event.number] = type(dataset)

    def on_batch(self, event: Batch) -> None:
        """Where inputs come from."""
        if looked_at(self.step) and event.loader.number in self._kinds:
            self._batch = {v.id for v in event.values}, self._kinds[event.loader.number]

    def on_op(self, op: Op) -> None:
        """Activations that are flat for nearly all inputs, too."""
        if op.name == "softmax":
            if op.grad_enabled and looked_at(self.step) and len(self._flat) < 64:
                share, place, enlarged = hard_attention(op)
                if share is not None:
                    self._flat.append((op, place if share > 0.9 else None))
                    if enlarged:
                        self._meant.add(_flat_key(op))
            return
        super().on_op(op)
        if (
            op.name in SQUASHING
            and op.grad_enabled
            and looked_at(self.step)
            and len(self._flat) < 64
        ):
            share, place = saturated(flow_of(self.session), op, self._batch)
            if share is not None:
                self._flat.append((op, place if share > 0.9 else None))

    def on_backward(self, event: Backward) -> None:
        """The gradients by layer."""
        flat, self._flat = self._flat, []
        measured = self._measured(event)
        if measured is None:
            return
        flow, made, layers, chain = measured
        self._loss = _loss(event)
        if flat:
            self._saturated(event, made, flat)
        for layer in layers:
            if layer.name in GATED or layer.count >= self.LONG:
                self._time(event, flow, made, layer)
        if len(chain) >= self.MINIMUM:
            self._depth(event, flow, made, chain)

    def _saturated(self, event: Backward, made: list[Op], flat: list[tuple[Op, Any]]) -> None:
        numbers_ = {op.number for op in made}
        for op, place in flat:
            if op.number not in numbers_:
                continue
            key = _flat_key(op)
            fix = "scale the inputs to about -1 to 1 (subtract their mean, divide by their deviation), or start with smaller weights"
            if op.name == "softmax":
                fix = (
                    "divide the scores by the square root of the head's width: `scores / d ** 0.5`"
                )
            self._look(
                key,
                None
                if place is None
                else (
                    place,
                    f"{op.name} is saturated for nearly every input: the input is so large that its derivative is zero, so no gradient flows back.",
                    fix,
                    {"called_at": op.site, "backward_at": event.site, "step": event.step},
                ),
            )

    def _look(self, key: Any, found: tuple[Any, str, str, dict[str, Any]] | None) -> None:
        self._looks.setdefault(key, []).append(found is not None)
        self._losses.setdefault(key, []).append(self._loss)
        if found is not None:
            self._found.setdefault(key, found)

    def _time(self, event: Backward, flow: Flow, made: list[Op], layer: _Layer) -> None:
        key, matrix = ("time", layer.weight.id), layer.weight
        times, place = layer.count, None
        if layer.name in GATED:
            used = [
                (o, v) for o in made for v in o.inputs if v.producer is layer.op and v.index == 0
            ]
            left = None
            if layer.name not in ("lstm", "gru") or all(one_step(o) for o, _ in used):
                left, times, place = forgotten(flow.recorder, layer)
        elif layer.name == "rnn":
            used = [
                (o, v) for o in made for v in o.inputs if v.producer is layer.op and v.index == 0
            ]
            left, matrix = (
                (layer.left, layer.state or matrix)
                if all(one_step(o) for o, _ in used)
                else (None, matrix)
            )
        elif late(made, layer, flow):
            left = flow.through_time(made, layer)
            if layer.name in CELLS:
                matrix = layer.op.args["params"][1]
        else:
            left = None
        if left is None or not left < self.THROUGH_TIME:
            self._look(key, None)
            return
        self._look(
            key,
            (
                place or birthplace(flow.recorder, matrix) or event.site,
                (
                    f"the gradient shrinks through time: {left:.1e} of the last state's gradient arrives at the first, {times} steps earlier, "
                    f"through {matrix.name or 'the recurrent matrix'}, and only the last state is used."
                ),
                (
                    "start with a recurrent matrix that preserves norms (nn.init.orthogonal_), use nn.LSTM or nn.GRU, "
                    "which carry a state through time, or shorter sequences"
                ),
                {
                    "time_steps": times,
                    "left": float(f"{left:.3g}"),
                    "matrix": matrix.name,
                    "step": event.step,
                    "backward_at": event.site,
                },
            ),
        )

    def _depth(self, event: Backward, flow: Flow, made: list[Op], chain: list[_Layer]) -> None:
        key = ("depth", chain[0].weight.id)
        sizes = [arrived(layer) for layer in chain]
        back = growth(sizes)
        if back >= self.FACTOR and not (
            sizes[0] == 0 and sizes[-1] > 0 and growth([s or 1e-45 for s in sizes]) < self.FACTOR
        ):
            self._look(key, None)
            return
        share = most(shares(flow, made, chain), -1)
        numbers_ = {op.number for op in made if chain[0].number < op.number < chain[-1].number}
        acts = [gain for number, (_, gain) in flow.acts.items() if number in numbers_]
        bent = float(np.median(acts)) if acts else 1.0
        names = [layer.weight.name for layer in chain]
        site, kind = (
            (share.place, share.kind) if share is not None else (flow.where(chain[1:-1]), "")
        )
        if kind == "activation":
            why = f"the derivative of the activation is {bent:.2g} on average"
            fix = "use an activation that does not saturate (ReLU, GELU), normalization between layers, or residual connections"
        elif kind == "factor" and share is not None:
            why, fix = (
                f"each layer multiplies it by {share.factor:.2g}",
                "remove the factor, or add the block's input to its output",
            )
        elif kind == "gradient" and share is not None:
            why, fix = (
                f"in the backward pass each block multiplies it by {share.factor:.2g} here",
                "scale the gradient once, not in each block",
            )
            self._meant.add(key)
        elif kind == "weights" and share is not None and not share.default:
            why = "the weights are so small that each layer passes on only a fraction"
            fix = "initialize the weights for their width and activation: nn.init.kaiming_normal_, nn.init.xavier_normal_"
        else:
            why = "each layer passes on only a part of it"
            fix = "scale the weights for their activation (nn.init.kaiming_normal_), normalize between layers, or add residual connections"
        self._look(
            key,
            (
                site or event.site,
                (
                    f"the gradient shrinks from layer to layer: {back:.1e} of the gradient at {names[-1]} arrives at {names[0]}, {len(chain)} layers "
                    f"before it: {why}."
                ),
                fix,
                {
                    "arrives": numbers(sizes),
                    "layers": names,
                    "gains": numbers([layer.gain for layer in chain]),
                    "slope": float(f"{bent:.3g}"),
                    "step": event.step,
                    "backward_at": event.site,
                },
            ),
        )

    def finish(self) -> None:
        """Gradients that were small from the beginning, and stayed so or left the loss where it
        was: many networks get over it.
        """
        for key, found in self._found.items():
            looks, losses = self._looks[key], self._losses[key]
            # after the first steps, in which the last layer alone learns the mean
            begun = losses[-1 - len(losses) // 2]
            stuck = len(looks) > 3 and losses[-1] > 0.9 * begun > 0
            lasting = looks[-1] and sum(looks) >= self.SHARE * len(looks)
            stuck = stuck or key in self._meant and all(looks) and len(looks) > 4
            if (
                len(looks) >= 2
                and all(looks[:2])
                and (stuck or lasting and (len(looks) <= 4 or losses[-1] > 0.5 * losses[0]))
            ):
                site, message, fix, evidence = found
                self.report(
                    site,
                    message,
                    evidence={
                        **evidence,
                        "looks": len(looks),
                        "of_these": sum(looks),
                        "losses": numbers(losses),
                    },
                    fix=fix,
                )


def _flat_key(op: Op) -> Any:
    return "flat", op.site, op.module.path if op.module is not None else None


def _loss(event: Backward) -> float:
    array = event.roots[0].numpy() if len(event.roots) == 1 and event.roots[0].numel == 1 else None
    return float("nan") if array is None else float(array.reshape(-1)[0])
