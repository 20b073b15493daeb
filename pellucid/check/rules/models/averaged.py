"""Moving averages of weights that leave something out: new values that go nowhere, statistics of
batch norm.
"""

from __future__ import annotations

import ast
import weakref
from typing import Any

import numpy as np

from ...events import Loaded, Op, Site, Value
from ..source.places import Place, tree, walk
from .averages import Trained, mixture

TIMES = 3  # steps
BATCHES = 8  # that the trained model has seen meanwhile
APART = 0.1  # difference of the means, in standard deviations
PAIRS = 8  # places of averages


class _Pair:
    """An average and the model it is of."""

    __slots__ = ("began", "model", "pointer", "site", "steps")

    def __init__(self, site: Site, pointer: int, model: Any) -> None:
        self.site = site
        self.pointer = pointer  # where a parameter of the average is
        self.model = weakref.ref(model)
        self.steps: set[int] = set()
        # by path of a batch norm: its mean, and how many batches the model had seen
        self.began: dict[str, tuple[list[float], int]] = {}


class AverageIncomplete(Trained):
    """An average of a model's weights that is not the average of the model."""

    slug = "average-incomplete"
    id = "PL514"
    severity = "error"
    summary = "a moving average of weights never changes, or leaves out batch norm's statistics"
    ops = ("lerp", "add", "sub", "batch_norm")

    def __init__(self) -> None:
        super().__init__()
        self._lost: dict[Site, set[int]] = {}  # by place: steps in which a mixture went nowhere
        self._pairs: dict[Site, _Pair | None] = {}
        self._loaded: dict[int, Site] = {}  # by id of a parameter: where it was loaded
        self._met: set[int] = set()  # ids of averages whose first mixture was looked at
        self._fresh = False  # told of an average without statistics

    def on_op(self, op: Op) -> None:
        """A mixture of two tensors; batch norm with the statistics of an average."""
        if op.name == "batch_norm":
            if not op.arg("training"):
                if self._pairs:
                    self._evaluated(op)
                self._of_library(op)
            return
        if op.site is None or op.output is None or op.output.requires_grad or not self.trained:
            return
        mixed = mixture(op)
        if mixed is None:
            return
        one, other, _ = mixed
        if one.shape != other.shape or self.is_trained(one) == self.is_trained(other):
            return
        old, new = (other, one) if self.is_trained(one) else (one, other)
        if self._loaded and new.id in self._loaded and old.id not in self._met:
            self._before_the_load(old, new)
        if op.inplace:
            self._kept(op.site, old, new)
        elif op.direct:
            steps = self._lost.setdefault(op.site, set())
            steps.add(op.step)
            if len(steps) == TIMES and (name := bound_again(op.site)) is not None:
                self.report(
                    op.site,
                    f"the new average is only assigned to the loop variable `{name}` and then "
                    "discarded: the averaged weights never change.",
                    evidence={"shape": list(old.shape), "steps": len(steps)},
                    fix=f"write into the tensor: `{name}.copy_(...)`, or `{name}.lerp_(weights, 1 - decay)`",
                )

    def on_loaded(self, event: Loaded) -> None:
        """Which parameters have been loaded."""
        recorder = self.session.recorder
        if event.site is not None and len(self._loaded) < 10_000:
            for p in event.module.parameters():
                self._loaded[recorder.value(p).id] = event.site

    def _before_the_load(self, old: Value, new: Value) -> None:
        """An average that began with what the model had before it was loaded."""
        self._met.add(old.id)
        average, weights = old.tensor, new.numpy()
        held = None if average is None else self.session.recorder.value(average)
        begun = held.numpy() if held is not None and held.id not in self._loaded else None
        if begun is None or weights is None or weights.ndim < 2 or begun.shape != weights.shape:
            return
        if np.linalg.norm(begun - weights) > 0.5 * np.linalg.norm(weights) > 0:
            self.report(
                self._loaded[new.id],
                "the model is loaded here, but its average was copied before: the average starts from the weights that the model had before loading.",
                evidence={"shape": list(new.shape)},
                fix="load first and copy the model for the average afterwards, or load the average from the checkpoint, too",
            )

    def _kept(self, site: Site, old: Value, new: Value) -> None:
        pair = self._pairs.get(site)
        if pair is None and site not in self._pairs and len(self._pairs) < PAIRS:
            tensor, model = old.tensor, self._owner(new)
            pair = None
            if tensor is not None and model is not None:
                pair = _Pair(site, tensor.data_ptr(), model)
            self._pairs[site] = pair
        if pair is not None and len(pair.steps) < TIMES:
            pair.steps.add(self.step)

    def _owner(self, value: Value) -> Any:
        """The model whose parameter a value is."""
        tensor = value.tensor
        for root in self.session.recorder.names.roots() if tensor is not None else ():
            if any(p.data_ptr() == tensor.data_ptr() for p in root.parameters()):
                return root
        return None

    def _evaluated(self, op: Op) -> None:
        call = op.module
        layer = call.module if call is not None else None
        whole = call.root.module if call is not None else None
        if layer is None or whole is None or getattr(layer, "running_mean", None) is None:
            return
        for pair in self._pairs.values():
            model = pair.model() if pair is not None else None
            if pair is None or model is None or model is whole or len(pair.steps) < TIMES:
                continue
            if any(p.data_ptr() == pair.pointer for p in whole.parameters()):
                self._compare(op, pair, layer, whole, model)

    def _of_library(self, op: Op) -> None:
        """An `AveragedModel`, which averages parameters, with the statistics of the last model."""
        call = op.module
        whole = call.root if call is not None else None
        if call is None or whole is None or whole.class_name != "AveragedModel" or self._fresh:
            return
        layer, average = call.module, whole.module
        if layer is None or average is None or getattr(average, "use_buffers", True):
            return
        if getattr(layer, "running_mean", None) is None or int(average.n_averaged) < 2:
            return
        now = layer.running_mean.tolist()
        if not any(
            m is not layer and type(m) is type(layer) and m.running_mean.tolist() == now
            for m in self.session.recorder.names.alive()
            if getattr(m, "running_mean", None) is not None
        ):
            return
        self._fresh = True
        self.report(
            whole.site,
            f"the weights are the average of {int(average.n_averaged)} models, but the batch norms have the statistics of the last model, whose "
            "activations are different.",
            evidence={"averaged": int(average.n_averaged), "evaluated_at": op.site},
            fix="before the evaluation: `torch.optim.swa_utils.update_bn(loader, averaged_model)`",
        )

    def _compare(self, op: Op, pair: _Pair, layer: Any, whole: Any, model: Any) -> None:
        path = next((p for p, m in whole.named_modules() if m is layer), "")
        theirs = dict(model.named_modules()).get(path)
        if theirs is None or getattr(theirs, "running_mean", None) is None:
            return
        now, seen = layer.running_mean.tolist(), int(theirs.num_batches_tracked)
        fresh = not int(layer.num_batches_tracked) and not any(now)
        mean, before = pair.began.setdefault(path, (now, 0 if fresh else seen))
        if now != mean or seen - before < BATCHES:
            return
        far = np.abs(np.array(now) - np.array(theirs.running_mean.tolist()))
        if (far > APART * np.sqrt(np.array(theirs.running_var.tolist()))).any():
            pair.steps, self._pairs[pair.site] = set(), None
            self.report(
                _loop(pair.site) or pair.site,
                "only the parameters are averaged: the running statistics of its batch norm "
                f"({path}) are still those from the time of the copy, and the evaluation uses "
                "them.",
                evidence={"layer": path, "evaluated_at": op.site, "largest": float(far.max())},
                fix="copy the buffers, too: `for a, b in zip(average.buffers(), model.buffers()): a.copy_(b)`",
            )


def _loop_around(site: Site) -> ast.For | None:
    root = tree(site.file)
    found = [
        n
        for n in (walk(root) if root is not None else ())
        if isinstance(n, ast.For) and n.lineno <= site.line <= (n.end_lineno or 0)
    ]
    return max(found, key=lambda n: n.lineno, default=None)


def _loop(site: Site) -> Place | None:
    """The loop over parameters that a place is in."""
    loop = _loop_around(site)
    if loop is None or "parameters()" not in ast.unparse(loop.iter):
        return None
    return Place(site.file, loop.lineno)


def bound_again(site: Site) -> str | None:
    """The variable of the innermost loop that the statement at a place binds to something new, if
    nothing in the loop reads it after that.
    """
    loop = _loop_around(site)
    if loop is None:
        return None
    own = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    for node in loop.body:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        goal = node.targets[0]
        if node.lineno <= site.line <= (node.end_lineno or 0) and isinstance(goal, ast.Name):
            after = [
                n
                for n in ast.walk(loop)
                if isinstance(n, ast.Name)
                and n.id == goal.id
                and isinstance(n.ctx, ast.Load)
                and n.lineno > (node.end_lineno or 0)
            ]
            return goal.id if goal.id in own and not after else None
    return None
