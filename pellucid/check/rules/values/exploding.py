"""Gradients that grow by orders of magnitude through layers or through time."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ...events import Backward, Op, Step, Value, ancestors
from ...recording.values import size
from ...rule import cause_site, median
from ..source.places import birthplace
from .flow import CELLS, WATCHED, Flow, Flowing, Layer, arrived, growth, numbers
from .flow_where import gated, most, shares
from .units import RECURRENT, looked_at


class ExplodingGradient(Flowing):
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
            array.size >= 8 and op.name == "exp" and float(sizes.max()) > self.APART * median(sizes)
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
            count = self.count("huge", op.site)
            leaf = event.accumulated[0].value if event.accumulated else None
            if count >= 3 and leaf is not None and self._candidate is None:
                self._candidate = (
                    op.site,
                    "a product of many factors has overflowed here, and so has its gradient: factors slightly above one are enough.",
                    "limit the factors or their product (`clamp`), multiply fewer factors, or work with logarithms",
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

    def _depth(self, event: Backward, flow: Flow, made: list[Op], chain: list[Layer]) -> None:
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

    def _time(self, event: Backward, flow: Flow, made: list[Op], layers: list[Layer]) -> None:
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
