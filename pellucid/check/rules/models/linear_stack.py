"""Linear layers that follow one another: together they are one linear layer."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...events import Backward, Op, ancestors
from ...rule import Rule

_THROUGH = frozenset(
    "dropout view reshape flatten unflatten squeeze unsqueeze contiguous clone to float".split()
)


class ActivationMissing(Rule):
    """The result of a linear layer goes into the next one, and nowhere else, without an activation
    between. A narrow layer between two wide ones limits the rank, and is left alone.
    """

    slug = "activation-missing"
    id = "PL607"
    severity = "warning"
    summary = "linear layers follow one another without an activation"
    supersedes = ("loss-at-chance",)

    def __init__(self) -> None:
        self._seen = 0
        self._told: set[Any] = set()

    def on_backward(self, event: Backward) -> None:
        """The first losses: how layers follow one another in them."""
        if event.how != "backward" or self._seen >= 4 or event.create_graph:
            return
        self._seen += 1
        ops = list(ancestors(event.roots, 4000))
        used = Counter(v.number for op in ops for v in op.inputs)
        for second in ops:
            if second.name != "linear" or second.direct:
                continue
            first = self._before(second, used)
            if first is not None:
                self._pair(first, second)

    def _before(self, op: Op, used: Counter[int]) -> Op | None:
        """The linear layer whose result goes into this one alone."""
        if not op.inputs:
            return None
        value = op.inputs[0]
        for _ in range(8):
            made = value.producer
            if made is None or used[value.number] != 1 or not made.inputs:
                return None
            if made.name == "linear":
                return made if not made.direct else None
            if made.name not in _THROUGH:
                return None
            value = made.inputs[0]
        return None

    def _pair(self, first: Op, second: Op) -> None:
        one, two = first.module, second.module
        if one is None or two is None or one.parent is None or one.parent is not two.parent:
            return
        if one.parent.number != two.parent.number or one.path == two.path:
            return
        w, v = first.args["weight"], second.args["weight"]
        inside, outside = w.shape[0], (w.shape[1], v.shape[0])
        if inside < min(outside) or not (w.requires_grad and v.requires_grad) or inside < 2:
            return
        if v.shape[0] == v.shape[1]:  # a projection of the input before layers of one width
            return
        site = one.made if one.parent.class_name == "Sequential" else one.site
        if site is None or site in self._told:
            return
        self._told.add(site)
        self.report(
            site,
            f"the result of {one.path} goes straight into {two.path}: two linear layers without an activation between them compute no more than a "
            "single one.",
            evidence={"first": one.path, "second": two.path, "width": inside},
            fix="put an activation between them, such as nn.ReLU()",
        )
