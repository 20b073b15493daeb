"""Samples of a regression whose input contains the target."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

from ...events import VIEWS, Batch, ModuleCall, Op, Site, Value, ancestors, lineage, whole_of
from ...rule import Rule, distinct
from ..losses.origin import Repeated, learned_from
from ..source.places import Place, assigned_before, assignments, function_around, tree, walk
from .corrupted import spoiled_target

LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
STEPS = 3  # in which it was so, and then it is told
LOOKS = 12
ROWS = 8  # of a batch
LENGTH = 4  # time steps, or columns
DISTINCT = 6  # different targets in a batch
LARGE = 1 << 20
_WINDOWS = frozenset("avg_pool1d max_pool1d conv1d".split())
_RUNNING = _WINDOWS | frozenset("cumsum cummax cumprod logcumsumexp".split())
_ALONG = frozenset("div mul add squeeze unsqueeze float contiguous stack cat".split())
_ROLLED = re.compile(r"\.(roll|shift)\((.*, ?)?(shifts=|periods=)?-")


class TargetInInput(Rule):
    """The number to predict is in the input, in every row at the same place."""

    slug = "target-in-input"
    id = "PL913"
    severity = "error"
    summary = "the target is part of the input"
    ops = (*LOSSES, "sub", "binary_cross_entropy", "binary_cross_entropy_with_logits")

    def __init__(self) -> None:
        # what a model was called with last, which may be gone when the loss is computed
        self._given: Any = None
        self._input: Value | None = None
        self._shape: tuple[int, ...] = ()
        self._bases: set[int] = set()
        self._called: Site | None = None
        self._kind: Any = None  # the class of the data set that gave a batch last
        self._loader: Site | None = None
        self._call: ModuleCall | None = None  # the last of a model
        self._batches: set[int] = set()  # ids of the tensors of the last batch
        self._spoiled = Repeated(looks=LOOKS, times=STEPS)

    def on_batch(self, event: Batch) -> None:
        """Whose samples come next."""
        self._kind, self._loader = type(whole_of(event.loader.dataset)), event.loader.site
        self._batches = {v.id for v in event.values}

    def on_module_enter(self, call: ModuleCall) -> None:
        """A model gets its inputs."""
        if call.parent is not None or not call.grad_enabled or not call.inputs:
            return
        x, self._given, self._called = call.inputs[0], None, call.site
        if not x.requires_grad:
            self._call = call  # of no loss, which is a module, too
        looks = self.count("called", call.site)
        self._input = x if looks <= STEPS and not x.requires_grad else None
        if (
            looks <= LOOKS
            and x.is_floating_point
            and not x.requires_grad
            and 2 <= x.ndim <= 3
            and x.shape[0] >= ROWS
            and x.shape[1] >= LENGTH
            and x.numel <= LARGE
        ):
            given = x.numpy()
            self._given = (
                None if given is None else (given if x.ndim == 2 else given[:, -2:]).copy()
            )
            self._shape, self._bases = x.shape, bases(x)

    def on_op(self, op: Op) -> None:
        """A prediction is compared with a target."""
        given, shape = self._given, self._shape
        target = op.args.get("other" if op.name == "sub" else "target")
        scores = op.args.get("input")
        if op.name != "sub" and learned_from(op) is not None:
            self._noise(op)
        if self._input is not None and isinstance(target, Value) and not target.requires_grad:
            self._summed(self._input, target)
        if (
            given is None
            or not isinstance(target, Value)
            or not isinstance(scores, Value)
            or not scores.requires_grad
            or target.requires_grad
            or not op.grad_enabled
            or not target.is_floating_point
            or not 1 <= target.ndim <= 3
            or target.shape[0] != shape[0]
            or target.numel > LARGE
        ):
            return
        wanted = target.numpy()
        if wanted is None:
            return
        at = _visible(given, wanted.reshape(len(wanted), -1), shape[1])
        if at is None or bases(target) & self._bases:
            return
        rolled = None
        if given.ndim == 2 and at < shape[1] - 1:
            rolled = self._rolled()
            if rolled is None:
                return
        if self.count("equal", op.site) == STEPS:
            what = (
                f"column {at} of"
                if given.ndim == 2 and at < shape[1] - 1
                else "the last time step of"
                if given.ndim == 3
                else "the last column of"
            )
            self.report(
                rolled or self._place(op) or self._called or op.site,
                f"in every row the target is {what} the input, so the model sees the value that "
                "it should predict.",
                evidence={
                    "input": list(shape),
                    "target": list(target.shape),
                    "position": at,
                    "called_at": self._called,
                    "loss_at": op.site,
                },
                fix="end the input before the target begins (`series[i : i + n]` and `series[i + n]`), or leave out its column",
            )

    def _noise(self, op: Op) -> None:
        """The noisy input is the target of the model that should take the noise away."""
        if not self._spoiled.due(op.site):
            return
        spoiled = spoiled_target(op, self._call, self._batches)
        if spoiled is not None and self._spoiled.again(op.site):
            self.report(
                op.site if op.direct or op.module is None else op.module.site,
                "the target is the noisy input itself, so the model learns to copy the noise instead of removing it.",
                evidence={"noise_at": spoiled.site, "called_at": self._called},
                fix="use the data from before the noise was added as the target",
            )

    def _summed(self, x: Value, target: Value) -> None:
        """A running sum or a window over the series that the target is cut from, up to the same
        place.
        """
        self._input = None
        cuts = [o for o in lineage(target, VIEWS, 20) if o.name in ("getitem", "narrow", "select")]
        places = {(o.inputs[0].id, repr(o.args.get("index"))): o for o in cuts if o.inputs}
        if not places:
            return
        for cut in ancestors([x], limit=2000):
            if cut.name != "getitem" or not cut.inputs:
                continue
            for made in lineage(cut.inputs[0], _ALONG, 8):
                source = made.inputs[0] if made.name in _RUNNING and made.inputs else None
                if source is None or (source.id, repr(cut.args.get("index"))) not in places:
                    continue
                if made.name in _WINDOWS and not _centered(made):
                    continue
                if self.count("equal", made.site) == STEPS:
                    self.report(
                        made.site,
                        f"this {made.name} includes the value that should be predicted: input and target are taken from the same positions of it "
                        "and of its series.",
                        evidence={"cut_at": cut.site, "shape": list(source.shape)},
                        fix="end it one step earlier: `values.cumsum(1) - values`, or shift it by one",
                    )
                return

    def _rolled(self) -> Place | None:
        """The line that puts later numbers beside earlier ones: `torch.roll(series, -k)`."""
        for file in self.session.recorder.files(self.session.script):
            root = tree(file)
            for node in walk(root) if root is not None else ():
                if isinstance(node, ast.Call) and _ROLLED.search(ast.unparse(node)):
                    name = getattr(node.func, "attr", "")
                    if name in ("roll", "shift"):
                        return Place(file, node.lineno)
        return None

    def _place(self, op: Op) -> Place | None:
        """The line that cuts out the input: in the data set, or where windows are made."""
        code = getattr(getattr(self._kind, "__getitem__", None), "__code__", None)
        if code is not None and not self.session.recorder.is_library(code.co_filename):
            function = function_around(code.co_filename, code.co_firstlineno, code.co_firstlineno)
            found = _cut(code.co_filename, function) if function is not None else None
            if found is not None:
                return _early(code.co_filename, function, found) or found
        for file in self.session.recorder.files(self.session.script):
            root = tree(file)
            found = _cut(file, root, True) if root is not None else None
            if found is not None:
                return _early(file, root, found) or found
        return self._named()

    def _named(self) -> Place | None:
        """Where the inputs of a `TensorDataset` got their values."""
        for file in self.session.recorder.files(self.session.script):
            root = tree(file)
            for node in walk(root) if root is not None else ():
                if (
                    isinstance(node, ast.Call)
                    and ast.unparse(node.func).endswith("TensorDataset")
                    and node.args
                ):
                    name = ast.unparse(node.args[0])
                    made = list(assignments(file, name, 1, node.lineno))
                    if made:
                        return Place(file, made[-1].lineno)
        call = self._called.call if self._called is not None else None
        name = call.arguments[0].partition("[")[0] if call is not None and call.arguments else ""
        return assigned_before(self._called, name) if name.isidentifier() else None


def _centered(op: Op) -> bool:
    """Whether a window over a series gives as many numbers as there are: it looks ahead."""
    out = op.output
    return out is not None and out.shape[-1] == op.inputs[0].shape[-1]


def bases(value: Value) -> set[int]:
    """The tensors that a value is cut from, as far as the program did so itself: `y = x[:, -1]` says
    what is to be learned.
    """
    found = {value.id}
    for op in lineage(value, VIEWS, 20):
        found |= {v.id for v in op.inputs[:1]}
    return found


def _visible(given: Any, wanted: Any, length: int) -> int | None:
    """The place in the input at which the first target stands in every row."""
    first = wanted[:, 0]
    if len(distinct(first)) < DISTINCT or wanted.shape[1] >= length:
        return None
    if given.ndim == 2 and wanted.shape[1] == 1:
        equal = np.flatnonzero((given == first[:, None]).all(0))
        return int(equal[0]) if len(equal) == 1 else None
    last = given[:, -1].reshape(len(given), -1)
    before = given[:, -2].reshape(len(given), -1)
    seen = (last == first[:, None]).all(0) & ~(before == first[:, None]).all(0)
    return length - 1 if seen.any() else None


def _early(file: str, scope: Any, cut: Place) -> Place | None:
    """The line that picks the target one step too early, `series[i + n - 1]` beside
    `series[i : i + n]`.
    """
    picked = {
        ast.unparse(n.value): ast.unparse(n.slice.upper)
        for n in ast.walk(scope)
        if isinstance(n, ast.Subscript)
        and isinstance(n.slice, ast.Slice)
        and n.slice.upper is not None
        and n.lineno == cut.line
    }
    for node in ast.walk(scope):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            end = picked.get(ast.unparse(node.value))
            if end is not None and ast.unparse(node.slice) == f"{end} - 1":
                return Place(file, node.lineno)
    return None


def _cut(file: str, scope: Any, moving: bool = False) -> Place | None:
    """The first statement with a slice in it; if `moving`, one whose end is its beginning and more:
    `series[i : i + n]`.
    """
    lines = [
        n.lineno
        for n in ast.walk(scope)
        if isinstance(n, ast.Slice)
        and n.upper is not None
        and (n.lower is not None or not moving)
        and (
            not moving
            or n.lower is not None
            and isinstance(n.upper, ast.BinOp)
            and ast.unparse(n.lower) in ast.unparse(n.upper)
        )
    ]
    return Place(file, min(lines)) if lines else None
