"""Gradients that shrink by orders of magnitude through layers or through time."""

from __future__ import annotations

from typing import Any

from ...events import Backward, Batch, LoaderInfo, Op
from ...rule import cause_site, median
from ..source.places import birthplace
from .flow import (
    CELLS,
    GATED,
    SQUASHING,
    WATCHED,
    Flow,
    Flowing,
    Layer,
    arrived,
    flow_of,
    growth,
    numbers,
)
from .flow_where import forgotten, hard_attention, late, most, one_step, saturated, shares
from .units import looked_at


class VanishingGradient(Flowing):
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
        dataset = event.whole_dataset
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
            fix = "scale the inputs to about -1 to 1 (subtract their mean, divide by their standard deviation), or start with smaller weights"
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

    def _time(self, event: Backward, flow: Flow, made: list[Op], layer: Layer) -> None:
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

    def _depth(self, event: Backward, flow: Flow, made: list[Op], chain: list[Layer]) -> None:
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
        bent = median(acts) if acts else 1.0
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
        elif (soft := [o for o in made if o.name == "softmax" and o.number in numbers_]) and (
            3 * len(soft) >= len(chain)
        ):
            site = cause_site(soft[-1])
            why = "a softmax stands between layers, and its outputs add up to one"
            fix = "use ReLU or GELU between layers; a softmax is for probabilities"
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
