"""Dead units."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import VIEWS, Backward, Op, OptimizerInfo, Site, Value, lineage
from ...numbers import number_of
from ...rule import Rule, cause_site
from ..source.origins import called_at
from ..source.places import given

CONVOLUTIONS = frozenset(
    "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d".split()
)
LAYERS = CONVOLUTIONS | {"linear", "matmul", "mm", "addmm", "bmm"}
RECURRENT = frozenset({"rnn", "lstm", "gru", "rnn_cell", "lstm_cell", "gru_cell"})
BETWEEN = VIEWS | frozenset(
    "batch_norm layer_norm group_norm instance_norm rms_norm add dropout dropout1d dropout2d max_pool1d max_pool2d avg_pool1d avg_pool2d "
    "adaptive_avg_pool1d adaptive_avg_pool2d".split()
)
NEVER_ABOVE = frozenset({"log_softmax", "logsigmoid"})  # zero
LOOKED_AT = 1 << 16


def looked_at(step: int, numel: int = LOOKED_AT + 1) -> bool:
    """Whether values of so many elements are read in this step: small ones always, others in the
    first three and at powers of two.
    """
    return numel <= LOOKED_AT or step < 3 or step & (step - 1) == 0


def weight_of(op: Op) -> Value | None:
    """The trained matrix of a layer: a leaf among the operands that wants a gradient."""
    if op.name in RECURRENT:
        params = op.args.get("params") or []
        # that of the input: what arrives at the first time step is in its gradient
        return params[0] if params else None
    weight = op.args.get("weight")
    if isinstance(weight, Value):  # the input may be a leaf, too: of a derivative by it
        held = [weight]
    else:
        held = sorted(op.inputs, key=lambda v: type(v.tensor).__name__ != "Parameter")
    return next((v for v in held if v.ndim >= 2 and v.requires_grad and v.is_leaf), None)


class _Unit:
    """Which units of a layer answered to some input, in the last steps that were looked at."""

    __slots__ = ("below", "bias", "final", "first", "looks", "low", "op", "rows", "weight")

    def __init__(self, op: Op, weight: Value) -> None:
        self.op = op
        self.weight = weight
        self.looks: list[tuple[int, Any]] = []
        self.rows = 0
        self.first: Any = None  # which units answered at the first look
        # of the layer, or of a norm after it: one that begins below zero
        self.bias: Value | None = None
        self.below: str | None = None  # the operation before it that gives nothing above zero
        self.low: float = 0  # what is not above it is cut off
        self.final = False  # nothing but the loss comes after the activation


class DeadUnits(Rule):
    """A ReLU whose input is negative for every row passes neither values nor gradients, and cannot
    come back.
    """

    slug = "dead-units"
    id = "PL604"
    severity = "warning"
    summary = "most units of a layer are zero for all inputs"
    ops = (
        "relu",
        "relu6",
        "clamp",
        "clamp_min",
        "threshold",
        "hardtanh",
        "maximum",
        "mul",
        "where",
    )
    supersedes = ("loss-at-chance",)

    LOOKS = 6
    # half of the units are off for all inputs where the bias outweighs a signal that has become
    # small
    SHARE = 0.75
    # units, and the share of those that must be off where there are no more of them
    FEW, MOST = 24, 0.85
    NARROW = 16  # units; of narrower layers all must be off
    ROWS = 64

    def __init__(self) -> None:
        self._layers: dict[Any, _Unit] = {}
        # by `Value.id` of a parameter: where its optimizer was made
        self._owners: dict[int, Site | None] = {}
        self._now: dict[int, _Unit] = {}  # by number of the operation, since the last backward
        self._judged = 0
        # by number of a module: the places that call it
        self._callers: dict[int, set[Site | None]] = {}
        # by place of a ReLU of numbers that cannot be above zero: the steps
        self._flat: dict[Site | None, list[int]] = {}

    def on_op(self, op: Op) -> None:
        """Which units are on."""
        out, x = op.output, op.args.get("input")
        if op.module is not None and not op.direct and len(self._callers) < 1000:
            self._callers.setdefault(number_of(op.module.module), set()).add(op.module.site)
        if op.name in ("maximum", "mul", "where"):
            x = _by_hand(op)
        if (
            out is not None
            and out.requires_grad
            and isinstance(x, Value)
            and op.name in ("relu", "relu6")
            and _never_above(x)
        ):
            steps = self._flat.setdefault(op.site, [])
            if steps[-1:] != [self.step]:
                steps.append(self.step)
        if (
            out is None
            or not out.requires_grad
            or not isinstance(x, Value)
            or out.ndim < 2
            or not looked_at(self.step, out.numel)
        ):
            return
        low = op.args.get("threshold", op.args.get("min_val", op.args.get("min", 0)))
        low = 0 if op.name in ("relu", "relu6", "maximum", "mul", "where") else low
        if not isinstance(low, (int, float)):
            return
        passed = list(lineage(x, BETWEEN | NEVER_ABOVE, 40))
        layer = next((o for o in passed if o.name in LAYERS), None)
        weight = weight_of(layer) if layer is not None else None
        if layer is None or weight is None:
            return
        inplace = op.inplace or not x.alive
        array = (out if inplace else x).numpy()
        if array is None:
            return
        axis = 1 if layer.name in CONVOLUTIONS and array.ndim > 2 else array.ndim - 1
        floor = op.args.get("value", low) if inplace else low
        off = (array <= floor) if inplace else (array < low)
        high = 6.0 if op.name == "relu6" else op.args.get("max_val", op.args.get("max"))
        if isinstance(high, (int, float)):
            off = off | (array >= high)
        on = ~off.all(axis=tuple(i for i in range(array.ndim) if i != axis))
        key = (op.site, op.module.path if op.module is not None else None, weight.id, len(on))
        held = self._layers.get(key)
        if held is None:
            held = self._layers[key] = _Unit(op, weight)
            held.low = low
            held.first = on
            made = next((o.name for o in passed if o.name not in VIEWS), None)
            held.below = made if made in NEVER_ABOVE else None
            biases = [b for o in passed if isinstance(b := o.args.get("bias"), Value)]
            low = [
                b
                for b in biases
                if (a := b.numpy()) is not None and a.size and float(a.mean().real) < 0
            ]
            held.bias = low[0] if low else None
        if held.looks and held.looks[-1][0] == self.step:
            held.looks[-1] = (self.step, held.looks[-1][1] | on)
        else:
            held.looks = [*held.looks[1 - self.LOOKS :], (self.step, on)]
        held.rows = array.size // len(on)
        if self._judged < 3:
            self._now[op.number] = held

    def on_backward_begin(self, event: Backward) -> None:
        """Whether an activation is the last before the loss: no layer comes after it."""
        now, self._now = self._now, {}
        if not now or self._judged >= 3:
            return
        self._judged += 1
        waiting, left = [(v, False) for v in event.roots], 200
        last: dict[
            int, bool
        ] = {}  # by number of the operation: whether a layer comes after it, too
        while waiting and left:
            left -= 1
            value, before_layer = waiting.pop()
            op = value.producer
            if op is None:
                continue
            if op.number in now:
                last[op.number] = last.get(op.number, False) or before_layer
                continue
            behind = before_layer or op.name in LAYERS
            waiting.extend((v, behind) for v in op.inputs if v.requires_grad)
        for number, inner in last.items():
            now[number].final = now[number].final or not inner

    def finish(self) -> None:
        """Layers that ended with most units off, and rectifiers that can give nothing but zeros."""
        for site, steps in self._flat.items():
            if len(steps) >= min(self.LOOKS, 4):
                self.report(
                    site,
                    "the input of this ReLU is the negated output of another ReLU, so it is never above zero: the output "
                    "is zero for every input, and "
                    "no gradient flows back.",
                    evidence={"steps": len(steps), "called_at": site},
                    fix="negate the input of the first ReLU instead of its output",
                )
        for held in self._layers.values():
            looks = held.looks
            if len(looks) < min(self.LOOKS, 4) or held.rows * len(looks) < self.ROWS:
                continue
            on = np.logical_or.reduce([mask for _, mask in looks])
            dead = int((~on).sum())
            share = self.SHARE if len(on) >= self.FEW else self.MOST
            if dead <= share * len(on) or len(on) < self.NARROW and dead < len(on):
                continue
            op = held.op
            name, state = held.weight.name, "zero" if held.low == 0 else "cut off"
            if held.below is not None and dead == len(on):
                self.report(
                    cause_site(op),
                    f"all {dead} units of this {op.name} are zero for every input: the output of {held.below} is never above zero.",
                    evidence={"units": len(on), "layer": name, "called_at": op.site},
                    fix=f"remove the {op.name}, or apply it before {held.below}",
                )
                continue
            self.report(
                self._place(held),
                f"{dead} of {len(on)} units of this {op.name} are {state} for every input of the last {len(looks)} sampled steps"
                f"{' (the layer is ' + name + ')' if name else ''}: they pass no gradient, so they stay that way.",
                evidence={
                    "dead": dead,
                    "units": len(on),
                    "rows_per_step": held.rows,
                    "steps": [s for s, _ in looks],
                    "layer": name,
                    "called_at": op.site,
                    "dead_at_first": int((~held.first).sum()),
                },
                fix="find what pushes the layer's input below zero: a bias that starts far below zero, inputs that are not scaled, or "
                "a learning rate that is too large; nn.LeakyReLU or nn.GELU keep a gradient there",
            )

    def _place(self, held: _Unit) -> Any:
        """Where it began: the line that gave the layer its values, when its units were off from the
        beginning; the optimizer, when they went off in training; else the activation."""
        if held.final:
            call = held.op.module
            calls = self._callers.get(number_of(call.module), ()) if call is not None else ()
            return last_activation(self.session.recorder, held.op, len(calls))
        if held.low != 0 and (~held.first).mean() >= self.SHARE:
            return cause_site(held.op)  # the bound is the unusual thing
        if (~held.first).mean() < self.SHARE:
            return self._owners.get(held.weight.id) or cause_site(held.op)
        recorder = self.session.recorder
        places = (given(recorder, value) for value in (held.bias, held.weight) if value is not None)
        return next((place for place in places if place is not None), None) or cause_site(held.op)

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """Who trains what."""
        for value in event.params():
            self._owners[value.id] = event.site


def last_activation(recorder: Any, op: Op, calls: int) -> Any:
    """The line to change where a model should not end with an activation; `calls` is the number of
    places that call its module.
    """
    site, names = cause_site(op), recorder.names
    if op.module is not None and calls > 1:
        return op.module.site  # one module for several layers: this call is one too many
    # what is wrong is that the last layer has one, too
    several = sum(names.site_of(m) == site for m in names.alive()) > 1
    return site if several else called_at(site) or site


def _never_above(value: Value) -> bool:
    """Whether numbers are the negatives of numbers that are never below zero."""
    signs = 0
    for _ in range(8):
        made = value.producer
        if made is None or not made.inputs:
            return False
        if made.name in ("relu", "relu6", "sigmoid", "softmax", "exp", "square", "abs", "softplus"):
            return signs % 2 == 1
        if made.name == "neg":
            signs += 1
        elif made.name not in VIEWS:
            return False
        value = made.inputs[0]
    return False


def _by_hand(op: Op) -> Value | None:
    """What a ReLU that is written out gets: `maximum(x, 0)`, `x * (x > 0)`, `where(x > 0, x, 0)`."""
    if op.name == "maximum":
        x, other = op.args.get("input"), op.args.get("other")
        made = other.producer if isinstance(other, Value) and not other.requires_grad else None
        return (
            x
            if made is not None
            and made.name in ("zeros", "zeros_like", "new_zeros", "tensor")
            and isinstance(x, Value)
            else None
        )
    for mask in op.inputs:
        made = mask.producer
        if (
            mask.dtype == "bool"
            or op.name == "mul"
            and made is not None
            and made.name in ("float", "to", "type_as")
        ):
            if made is not None and mask.dtype != "bool" and made.inputs:
                made = made.inputs[0].producer
            if (
                made is not None
                and made.name in ("gt", "ge")
                and made.args.get("other") == 0
                and made.inputs
            ):
                x = made.inputs[0]
                others = [v for v in op.inputs if v is not mask and v.number == x.number]
                return x if others else None
    return None
