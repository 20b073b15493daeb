"""Values that backward needs and that were overwritten in place."""

from __future__ import annotations

import re
import weakref
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from ...events import Backward, Failure, Op, Read, Site, Step, Value, Written, ancestors
from ...rule import Rule, cause_site
from ..memory.graphs import carried

SAME_MEMORY = frozenset(
    """view reshape flatten unflatten squeeze unsqueeze transpose permute t T mT H mH movedim swapaxes expand expand_as view_as contiguous
    detach getitem select narrow chunk split unbind tensor_split as_strided ravel diagonal real unfold""".split()
)
_OVERWRITTEN = re.compile(
    r"\[[\w.]*Tensor \[([\d, ]*)\]\].* is at version (\d+); expected version (\d+)"
)
_SAVES_RESULT = frozenset(
    "relu sigmoid tanh exp sqrt rsqrt softmax log_softmax reciprocal tan expm1 elu selu norm".split()
)
_SAVES_BOTH = frozenset(
    "mul div matmul mm bmm linear conv1d conv2d conv3d einsum addmm baddbmm mse_loss atan2 dot mv outer".split()
)
_SAVES_INPUT = frozenset(
    "pow log log1p log2 log10 sin cos abs square silu gelu softplus layer_norm batch_norm group_norm prod std var leaky_relu mish erf "
    "hardtanh relu6 smooth_l1_loss huber_loss l1_loss cosine_similarity".split()
)
_SHOWN = {
    "setitem": "an assignment to an index",
    "add": "+=",
    "sub": "-=",
    "mul": "*=",
    "div": "/=",
    "relu": "relu in place",
}


class _Write(NamedTuple):
    """An in-place operation: `version` is the write counter before it."""

    number: int
    name: str
    version: int
    family: int
    shape: tuple[int, ...]
    site: Site | None
    seen: Site | None
    text: str | None
    hidden: str  # through what, where backward does not notice: `.data`


def family(value: Value, through: frozenset[str] = SAME_MEMORY) -> int:
    """The `id` of the tensor whose memory a value is a view of, itself perhaps."""
    for _ in range(64):
        made = value.producer
        if made is None or made.name not in through or not made.inputs or made.inplace:
            break
        value = made.inputs[0]
    return value.id


class InplaceBreaksBackward(Rule):
    """Backward needs values of the forward pass; one was overwritten in place before backward came."""

    slug = "inplace-breaks-backward"
    id = "PL306"
    severity = "error"
    summary = "a value that backward needs is overwritten"

    def __init__(self) -> None:
        self._writes: deque[_Write] = deque(maxlen=4096)
        self._steps: deque[tuple[int, Site | None, str]] = deque(maxlen=8)
        self._hidden = False
        # (weak reference to an array, a tensor of the same memory)
        self._shared: deque[tuple[Any, Value]] = deque(maxlen=16)

    def on_read(self, event: Read) -> None:
        """`h.detach().numpy()` is the same memory."""
        if event.array is not None:
            self._shared.append((event.array, event.value))

    def on_write(self, event: Written) -> None:
        """The program writes into an array that is the memory of a tensor: backward does not
        notice.
        """
        for ref, value in self._shared:
            array = ref()
            if array is not None and event.target.size and np.may_share_memory(array, event.target):
                text = event.site.text if event.site is not None else None
                name = "setitem" if not event.inplace or event.value is None else "the write"
                self._hidden = True
                self._writes.append(
                    _Write(
                        event.number,
                        name,
                        value.version,
                        family(value),
                        value.shape,
                        event.site,
                        event.site,
                        text,
                        "an array of its memory",
                    )
                )
                return

    def on_op(self, op: Op) -> None:
        """Writes are remembered."""
        if op.name == "from_numpy" and op.output is not None:
            given = next((a.value for a in op.args.values() if type(a).__name__ == "Foreign"), None)
            if given is not None:
                self._shared.append((weakref.ref(given), op.output))
        if not op.inplace or not op.inputs or op.name in ("data", "requires_grad"):
            return
        target = op.inputs[0]
        made = target.producer
        for _ in range(8):
            if made is None or made.name not in SAME_MEMORY or not made.inputs:
                break
            made = made.inputs[0].producer
        hidden = made is not None and made.name == "data" and not made.inplace
        if hidden and made is not None and made.inputs:
            target = made.inputs[0]
            if target.is_leaf and not target.requires_grad:
                return
            self._hidden = True
        text = op.site.text if op.site is not None and op.direct else None
        self._writes.append(
            _Write(
                op.number,
                op.name,
                target.version,
                family(target),
                op.inputs[0].shape,
                cause_site(op),
                op.site,
                text,
                "`.data`" if hidden else "",
            )  # fmt: skip
        )

    def on_step(self, event: Step) -> None:
        """Optimizers write parameters."""
        self._steps.append(
            (self.session.recorder.count, event.site, event.optimizer.name or "optimizer")
        )

    # ---- refused -----------------------------------------------------------------------------------------------------
    def on_error(self, failure: Failure) -> None:
        """A backward that finds a value overwritten, or a write that is refused at once."""
        op, text = failure.op, str(failure.exception)
        if op is None:
            return
        if op.name in ("backward", "grad"):
            found = _OVERWRITTEN.search(text)
            if found is not None and carried(op, self.step) == (None, None):
                shape = tuple(int(n) for n in found[1].replace(" ", "").split(",") if n)
                self._explain(op, shape, int(found[3]))
        elif "in-place operation" in text and "leaf" in text.lower() and op.inputs:
            name = op.written("input") or op.inputs[0].name or "it"
            self.report(
                cause_site(op),
                f"{_shown(op.name)} writes to `{name}`, a leaf that requires a gradient, which autograd does not allow: its "
                "gradient is for the current value.",
                evidence={"operation": op.name, "shape": list(op.inputs[0].shape)},
                fix="do updates inside `with torch.no_grad():`; to compute with changed values, create a new tensor",
            )
        elif "modified inplace" in text and op.inputs:
            self.report(
                cause_site(op),
                f"{_shown(op.name)} writes to one of several views created by one operation, which autograd does not allow.",
                evidence={"operation": op.name, "shape": list(op.inputs[0].shape)},
                fix="use the out-of-place form",
            )

    def _explain(self, backward: Op, shape: tuple[int, ...], expected: int) -> None:
        graph = list(ancestors(backward.inputs))
        families = {family(v) for o in graph for v in (*o.inputs, *o.outputs)}
        oldest = min((o.number for o in graph), default=0)
        writes = [w for w in self._writes if w.number > oldest and w.family in families]
        found = [w for w in writes if w.version == expected] or [
            w for w in writes if w.version > expected
        ]
        exact = [w for w in found if w.shape == shape] or found
        updated = [s for s in self._steps if s[0] > oldest]
        if exact:
            write = exact[-1]
            self.report(
                write.site,
                f"{_shown(write.name)} overwrites a value of shape {list(shape)} that an earlier operation saved for backward, "
                "and backward fails.",
                evidence={
                    "operation": write.name,
                    "shape": list(shape),
                    "backward": str(backward.site),
                },
                fix=_repair(write),
            )
        elif updated:
            _, site, name = updated[-1]
            self.report(
                site,
                f"`{name}.step()` changes parameters that a backward after it still needs: its loss was computed with the old ones.",
                evidence={"shape": list(shape), "backward": str(backward.site)},
                fix="call `backward()` on all losses that were computed with these parameters before the step, or recompute the later "
                "loss again after it",
            )

    # ---- not noticed: through .data ----------------------------------------------------------------------------------
    def on_backward_begin(self, event: Backward) -> None:
        """Values that were written through `.data` after an operation had saved them: backward uses
        the wrong numbers.
        """
        if not self._hidden:
            return
        looked = self.count("looked", event.site)
        hidden = [w for w in self._writes if w.hidden]
        if looked > 64 or not hidden:
            return
        graph = list(ancestors(event.roots))
        saved: dict[int, int] = {}
        for o in graph:
            for v in _saved(o):
                saved[family(v)] = min(o.number, saved.get(family(v), o.number))
        for write in hidden:
            if write.number > saved.get(write.family, write.number):
                self.report(
                    write.site,
                    f"{_shown(write.name)} changes a value through {write.hidden} after an operation saved it for backward: autograd does not "
                    "notice, and gradients are computed with the wrong numbers.",
                    evidence={
                        "operation": write.name,
                        "shape": list(write.shape),
                        "backward": str(event.site),
                        "step": self.step,
                    },
                    fix=_repair(write),
                )


def _saved(op: Op) -> list[Value]:
    """What an operation keeps for its backward."""
    if not op.grad_enabled:
        return []
    if op.name in _SAVES_RESULT:
        return [v for v in op.outputs if v.requires_grad]
    if op.name in _SAVES_BOTH:
        return [
            v
            for v in op.inputs[:2]
            if any(w.requires_grad for w in op.inputs if w is not v) or op.inputs.count(v) > 1
        ]
    return [v for v in op.inputs[:1] if v.requires_grad] if op.name in _SAVES_INPUT else []


def _shown(name: str) -> str:
    return _SHOWN.get(name, f"{name} in place")


def _repair(write: _Write) -> str:
    """How to write it without overwriting."""
    if write.hidden.startswith("an array"):
        return "`.numpy()` does not copy: write into a copy, `.numpy().copy()`, or make a new array"
    if write.name == "setitem":
        return "do not write into a tensor that is part of the graph: collect the parts in a list and `torch.stack` them, or use `torch.where`"
    if (
        write.text is not None
        and (found := re.match(r"([\w.\[\]]+)\s*([-+*/@]|//|\*\*)=\s*(.+?)\s*(#.*)?$", write.text))
        is not None
    ):
        return f"make a new tensor: `{found[1]} = {found[1]} {found[2]} {found[3]}`"
    if write.text is None:
        return "leave out `inplace=True`"
    way = f" and without {write.hidden}" if write.hidden else ""
    return f"use the out-of-place form, `{write.name}` instead of `{write.name}_`{way}"
