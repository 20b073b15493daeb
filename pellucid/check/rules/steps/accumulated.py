"""Gradients of several batches that are added up for one step, where each loss is a mean over its
own batch: the sum is as many times too large.
"""

from __future__ import annotations

import ast
from typing import Any

from ...events import (
    VIEWS,
    Backward,
    Batch,
    HookAdded,
    Op,
    OptimizerInfo,
    Site,
    Step,
    Value,
    ancestors,
)
from ...rule import Rule
from ..data.batches import MEAN_LOSSES
from ..source.places import function_around, tree

GROUPS = 3  # steps, each of several batches, before it is judged


class _Held:
    """The backward calls at one place since the last step."""

    __slots__ = ("batches", "groups", "mean", "parted", "site", "size")

    def __init__(self, site: Site) -> None:
        self.site = site
        self.batches = 0
        self.groups = 0  # steps that came after more than one of them
        self.size = 0  # batches of each of these
        self.mean: Op | None = None
        # by number of a `chunk` or `split`: which part of it the last batch is made of
        self.parted: dict[int, int] = {}


class AccumulationNotScaled(Rule):
    """Backward runs several times for one step, each on a mean over its batch."""

    slug = "accumulation-not-scaled"
    id = "PL315"
    severity = "warning"
    summary = "accumulated gradients of several batches are not averaged"
    ops = ("div", "mul", "foreach_div", "foreach_mul")

    def __init__(self) -> None:
        self._held: dict[Site, _Held] = {}
        self._loaders: dict[
            int, int
        ] = {}  # batches that a loader has given since the last backward
        self._scaled = False  # the program scales gradients itself
        # places whose batches are parts of one batch, or come from one loader
        self._micro: set[Site] = set()

    def on_op(self, op: Op) -> None:
        """A gradient is scaled where it is."""
        made = op.inputs[0].producer if op.inputs else None
        if op.inplace and made is not None and made.name == "grad" or op.name.startswith("foreach"):
            self._scaled = True

    def on_hook(self, event: HookAdded) -> None:
        """A hook of a tensor may scale its gradient."""
        if isinstance(event.owner, self.session.engine.Tensor):
            self._scaled = True

    def on_batch(self, event: Batch) -> None:
        """A batch for the next backward."""
        self._loaders[event.loader.number] = self._loaders.get(event.loader.number, 0) + 1

    def on_backward(self, event: Backward) -> None:
        """A loss of a batch."""
        batches, self._loaders = self._loaders, {}
        if (
            self._scaled
            or event.site is None
            or event.how != "backward"
            or event.create_graph
            or len(event.roots) != 1
        ):
            return
        held = self._held.get(event.site)
        if held is None:
            held = self._held[event.site] = _Held(event.site)
        mean = unscaled_mean(event.roots[0])
        onto = any(a.onto for a in event.accumulated)
        if mean is None or onto != (held.batches > 0):
            held.batches = -(1 << 30)  # scaled, or there is something else in it: not this time
            return
        parted = _parted(mean)
        if any(parted.get(number, part) != part for number, part in held.parted.items()):
            self._micro.add(event.site)
        held.mean, held.parted = mean, parted
        held.batches += 1
        if held.batches > 1 and 1 in batches.values():
            self._micro.add(event.site)

    def on_step(self, event: Step) -> None:
        """How many batches went into it."""
        for held in self._held.values():
            size, held.batches, held.parted = held.batches, 0, {}
            if size < 2:
                held.groups = 0 if size == 1 and held.groups < GROUPS else held.groups
                continue
            held.groups = held.groups + 1 if size == held.size else 1
            held.size = size
            if held.groups == GROUPS:
                self._judge(held, event)

    def _judge(self, held: _Held, event: Step) -> None:
        if self._scaled or event.closure or held.mean is None:
            return
        if not _counted(held.site, event.site) and held.site not in self._micro:
            return
        if _divides(event.optimizer):
            return
        count = held.size
        self.report(
            held.site,
            f"each step of {event.optimizer.name or 'the optimizer'} uses the sum of the "
            f"gradients of {count} batches, although each loss is a mean over its batch "
            f"({held.mean.name}): the gradient is {count} times that of one batch of {count} "
            "times the size.",
            evidence={"batches": count, "loss_at": held.mean.site, "step_at": event.site},
            fix=f"divide the loss by the number of batches: `(loss / {count}).backward()`",
        )


def unscaled_mean(root: Value) -> Op | None:
    """The mean over a batch that a loss is, with nothing but sums between; None where a factor is
    on the way, or the loss is no mean.
    """
    waiting, mean = [root], None
    for _ in range(24):
        if not waiting:
            break
        value = waiting.pop()
        op = value.producer
        if op is None or not value.requires_grad:
            continue
        if op.name in MEAN_LOSSES and op.args.get("reduction") == "mean":
            mean = mean or op
        elif op.name == "mean" and op.inputs and op.inputs[0].ndim and op.inputs[0].shape[0] > 1:
            mean = mean or op
        elif op.name in ("div", "mul") and any(v.numel == 1 for v in op.inputs[:1]):
            return None
        elif op.name in ("add", "sub") or op.name in VIEWS:
            waiting.extend(v for v in op.inputs if v.numel == 1)
    return mean


def _parted(mean: Op) -> dict[int, int]:
    """Which parts a mean is made of, by number of the operations that parted a batch."""
    return {
        v.producer.number: v.index
        for op in (mean, *ancestors(mean.inputs, 200))
        for v in op.inputs
        if v.producer is not None and v.producer.name in _PARTS
    }


_PARTS = ("chunk", "split", "tensor_split")


def _counted(backward: Site, step: Site | None) -> bool:
    """Whether a step is in a branch of the loop that the backward is in, which is counted:
    `if (i + 1) % 4 == 0:`.
    """
    if step is None or step.code is not backward.code:
        return False
    function: Any = function_around(backward.file, backward.line) or tree(backward.file)
    loops = [
        n for n in ast.walk(function) if isinstance(n, (ast.For, ast.While))
        and n.lineno <= backward.line <= (n.end_lineno or 0)
    ]  # fmt: skip
    return any(
        isinstance(n, ast.If)
        and n.lineno <= step.line <= (n.end_lineno or 0)
        and not n.lineno <= backward.line <= (n.end_lineno or 0)
        and any(isinstance(part, (ast.Mod, ast.Eq, ast.GtE)) for part in ast.walk(n.test))
        for loop in loops
        for n in ast.walk(loop)
    )


def _divides(info: OptimizerInfo) -> bool:
    """Whether the learning rate is divided where the optimizer is made."""
    call = info.site.call if info.site is not None else None
    return call is not None and "/" in call.text
