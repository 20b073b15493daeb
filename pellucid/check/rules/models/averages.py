"""Averages of weights that take nearly all of the new ones, and weight decay for the wrong group."""

from __future__ import annotations

import ast
from typing import Any

from ...events import VIEWS, Op, OptimizerInfo, Site, Step, Value, lineage
from ...rule import Rule, cause_site
from ..source.places import Place, function_around, tree, walk

_SAME = VIEWS | {"detach", "data", "clone", "to"}
LARGE = 0.75  # of the new weights: an average that forgets at once
TIMES = 6  # steps


class Trained(Rule):
    """A rule that knows which parameters are trained."""

    def __init__(self) -> None:
        self.trained: set[int] = set()  # ids of parameters that an optimizer steps

    def on_step(self, event: Step) -> None:
        """What is trained."""
        if event.optimizer.steps < 3:
            self.trained.update(v.id for v in event.optimizer.params())

    def is_trained(self, value: Value) -> bool:
        """Whether a value is such a parameter, or its elements."""
        if value.id in self.trained:
            return True
        return any(
            v.id in self.trained
            for o in lineage(value, _SAME, 8)
            if o.name in _SAME
            for v in o.inputs[:1]
        )


def follows(op: Op) -> tuple[int, int] | None:
    """(id of a leaf, id of another one that it is a moving average of), where an operation writes
    the average into the leaf.
    """
    mixed = mixture(op) if op.inplace and not op.grad_enabled else None
    if mixed is None:
        return None
    one, other = (_leaf_of(v) for v in mixed[:2])
    into = _leaf_of(op.inputs[0])
    if one is None or other is None or into is None or one.id == other.id:
        return None
    return (one.id, other.id) if into.id == one.id else (other.id, one.id)


def _leaf_of(value: Value) -> Value | None:
    """The leaf that wants a gradient and whose elements a value is."""
    for _ in range(6):
        if value.is_leaf and value.requires_grad:
            return value
        made = value.producer
        if made is None or not made.inputs or made.name not in ("data", "detach", "mul", "clone"):
            return None
        value = made.inputs[0]
    return None


class AverageSwapped(Trained):
    """A moving average of trained weights whose two factors are exchanged."""

    slug = "average-swapped"
    id = "PL510"
    severity = "error"
    summary = "a moving average of weights has its factors swapped"
    ops = ("lerp", "add", "sub")

    def __init__(self) -> None:
        super().__init__()
        # by place: the factor of the new weights, and the steps in which it was that
        self._held: dict[Site | None, tuple[float, list[int]]] = {}
        self._steps: list[int] = []  # recorded ones
        # by place and tensor: what trained weights are drawn to, and the steps in which they were
        self._drawn: dict[tuple[Site, int], tuple[Any, set[int]]] = {}

    def on_step(self, event: Step) -> None:
        """What is trained."""
        super().on_step(event)
        self._steps = [*self._steps[-63:], event.number]

    def on_op(self, op: Op) -> None:
        """A mixture of two tensors."""
        if op.output is None:
            return
        if op.inplace and not op.grad_enabled and self.trained and self.is_trained(op.inputs[0]):
            self._backwards(op)
            return
        if op.output.requires_grad:
            return
        if not self.trained or op.site in self._held and self._held[op.site][0] < 0:
            return
        mixed = mixture(op)
        if mixed is None:
            return
        old, new, factor = mixed
        if not LARGE < factor < 1 or not self.is_trained(new) or self.is_trained(old):
            return
        if old.shape != new.shape:
            return
        known, steps = self._held.get(op.site, (factor, []))
        if abs(known - factor) > 1e-6:
            steps = []  # a factor that grows, as in the first steps of some averages
        if steps[-1:] != [op.step]:
            steps = [*steps[-TIMES:], op.step]
        self._held[op.site] = factor, steps
        if len(steps) >= TIMES and steps[-1] - steps[-TIMES] < 2 * TIMES:
            self._held[op.site] = -1.0, []
            self.report(
                op.site,
                f"each step keeps {1 - factor:.3g} of the average and takes {factor:.3g} of the "
                "new weights, so it averages hardly anything: the two factors are swapped.",
                evidence={"kept": 1 - factor, "new": factor, "shape": list(new.shape)},
                fix=f"keep the larger part: `average.lerp_(weights, {1 - factor:.3g})`",
            )

    def _backwards(self, op: Op) -> None:
        """Weights that an optimizer moves, drawn back each time to a network that never changes."""
        mixed = mixture(op)
        if mixed is None or not self.is_trained(mixed[0]) or self.is_trained(mixed[1]):
            return
        trained, still, factor = mixed
        now = still.numpy() if 0 < factor <= 0.5 and trained.shape == still.shape else None
        if now is None or still.parameter is None or still.numel > 1 << 16 or op.site is None:
            return
        key = op.site, still.id
        begun, steps = self._drawn.get(key, (now.copy(), set()))
        steps.add(op.step)
        self._drawn[key] = begun, steps
        if len(steps) == TIMES and (begun == now).all() and op.site not in self._held:
            self._held[op.site] = -1.0, []
            self.report(
                _call_of_helper(op.site) or cause_site(op),
                f"each step draws the trained weights {factor:.3g} of the way to a network that never changes: the average runs backwards.",
                evidence={"factor": factor, "shape": list(trained.shape)},
                fix="write into the average or target network, and read the trained one: exchange the two",
            )


def _call_of_helper(site: Site) -> Place | None:
    """The only call of the function at a place when it is given both networks: there they are
    exchanged.
    """
    helper, root = function_around(site.file, site.line), tree(site.file)
    names = [a.arg for a in helper.args.args if a.arg != "self"] if helper is not None else []
    if helper is None or root is None or len(names) < 2:
        return None
    lines = [
        n.lineno
        for n in walk(root)
        if isinstance(n, ast.Call) and ast.unparse(n.func).rpartition(".")[2] == helper.name
    ]
    return Place(site.file, lines[0]) if len(lines) == 1 else None


def mixture(op: Op) -> tuple[Value, Value, float] | None:
    """(old, new, factor of the new) of `(1 - factor) * old + factor * new`, however it is written."""
    inputs = op.inputs
    if op.name == "lerp":
        factor = op.args.get("weight")
        if len(inputs) == 2 and isinstance(factor, (int, float)):
            return inputs[0], inputs[1], float(factor)
        return None
    if len(inputs) != 2:
        return None
    sign = 1.0 if op.name == "add" else -1.0
    alpha = op.args.get("alpha", 1)
    if not isinstance(alpha, (int, float)):
        return None
    (first, a), (second, b) = scaled(inputs[0]), scaled(inputs[1])
    b *= sign * float(alpha)
    made = second.producer
    if a == 1 and made is not None and made.name == "sub" and len(made.inputs) == 2:
        left, right = made.inputs  # old + factor * (new - old)
        if b > 0 and right.id == inputs[0].id:
            return inputs[0], left, b
        if b < 0 and left.id == inputs[0].id:
            return inputs[0], right, -b
        return None
    if min(a, b) <= 0 or abs(a + b - 1) > 1e-6:
        return None
    # of the two it is the caller's to say which is trained: the one with the larger factor here
    return (first, second, b) if b > a else (second, first, a)


def scaled(value: Value) -> tuple[Value, float]:
    """What a value is a multiple of, and the factor."""
    made = value.producer
    if made is not None and made.name == "mul" and len(made.inputs) == 1:
        factor = made.args.get("other")
        if not isinstance(factor, (int, float)):
            factor = made.args.get("input")
        if isinstance(factor, (int, float)):
            return made.inputs[0], float(factor)
    return value, 1.0


class DecayGroupsSwapped(Rule):
    """Weight decay for biases and norms alone, and none for the weights."""

    slug = "decay-groups-swapped"
    id = "PL511"
    severity = "error"
    summary = "weight decay is applied to biases and norms instead of the weights"

    def __init__(self) -> None:
        self._looked: set[int] = set()

    def on_step_begin(self, event: Step) -> None:
        """An optimizer's first step: its groups are complete."""
        info = event.optimizer
        if info.number not in self._looked:
            self._looked.add(info.number)
            self._look(info)

    def _look(self, info: OptimizerInfo) -> None:
        decayed: list[Any] = []
        free: list[Any] = []
        for group in info.groups:
            (decayed if group.get("weight_decay") else free).extend(group["params"])
        if len(decayed) < 2 or not free or any(p.ndim > 1 for p in decayed):
            return
        weights = [p for p in free if p.ndim > 1]
        if not weights:
            return
        place = self._groups(info)
        self.report(
            place or info.site,
            f"weight decay applies to {len(decayed)} parameters, all of them biases and scales, "
            f"and not to the {len(weights)} weight matrices: the groups are swapped.",
            evidence={
                "decayed": [list(p.shape) for p in decayed[:5]],
                "not_decayed": [list(p.shape) for p in weights[:5]],
                "optimizer": info.site,
            },
            fix="put the weights (`p.ndim > 1`) into the group with weight decay",
        )

    def _groups(self, info: OptimizerInfo) -> Place | None:
        """Where the groups are written: the first dictionary with a weight decay."""
        files = self.session.recorder.files(self.session.script)
        for file in files if info.site is None else dict.fromkeys((info.site.file, *files)):
            root = tree(file)
            lines = [
                node.lineno
                for node in (walk(root) if root is not None else ())
                if isinstance(node, ast.Dict)
                and {"params", "weight_decay"} <= {_key(k) for k in node.keys}
            ]
            if lines:
                return Place(file, min(lines))
        return None


def _key(node: Any) -> Any:
    return node.value if isinstance(node, ast.Constant) else None
