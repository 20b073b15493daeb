"""What stops gradients: values that backward needs and that were overwritten, and places where the
graph is cut.
"""

from __future__ import annotations

import ast
import re
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...events import (
    Backward,
    Failure,
    ModuleCall,
    Op,
    OptimizerInfo,
    Read,
    Site,
    Step,
    Value,
    Written,
    ancestors,
)
from ...rule import Rule, cause_site
from ..memory.graphs import carried
from ..source.places import Place, function_around, member_place
from .gradients import is_empty
from .terms import (
    FLAT,
    NumbersRead,
    arguments_of,
    cold_terms,
    cut_in,
    is_hot,
    is_loss,
    off_at,
    returned_at,
)

# ---- in-place writes -------------------------------------------------------------------------------------------------
_SAME_MEMORY = frozenset(
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


def family(value: Value, through: frozenset[str] = _SAME_MEMORY) -> int:
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
        self._looked: dict[Any, int] = {}
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
            if made is None or made.name not in _SAME_MEMORY or not made.inputs:
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
                f"{_shown(op.name)} writes to `{name}`, a leaf that requires a gradient: autograd does not allow it, because its gradient is "
                "for the current value.",
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
        looked = self._looked[event.site] = self._looked.get(event.site, 0) + 1
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


# ---- cuts ------------------------------------------------------------------------------------------------------------
_THROUGH = _SAME_MEMORY | {
    "data",
    "cpu",
    "to",
    "float",
    "double",
    "half",
    "clone",
    "numpy",
    "requires_grad",
    "type",
}
_MADE = frozenset(
    """tensor as_tensor from_numpy asarray Tensor FloatTensor DoubleTensor new_tensor full full_like scalar_tensor new_full Variable
    fill copy setitem Parameter""".split()
)
DRAWN = frozenset("sample normal bernoulli multinomial poisson".split())
_CHECKPOINTS = ("CheckpointFunction", "_Reentrant", "Reentrant")
_LOOKS = 3  # backward calls of each line that are looked at, then every 2**k-th


class _Cut(NamedTuple):
    """A place where a graph ends on the way from parameters to a loss: `how` it is cut, and the
    parameters before it.
    """

    site: Any
    how: str
    leaves: dict[int, Value]
    name: str | None
    shape: tuple[int, ...]
    loss: Site | None


def leaves_before(values: list[Value], limit: int = 20_000) -> dict[int, Value]:
    """The leaves that want gradients, by id, from which values are made without a cut in between."""
    waiting, seen, found = list(values), set(), {}
    while waiting and limit > 0:
        v = waiting.pop()
        if v.number in seen or not v.requires_grad:
            continue
        seen.add(v.number)
        limit -= 1
        if v.is_leaf:
            found[v.id] = v
        elif v.producer is not None:
            waiting.extend(v.producer.inputs)
    return found


class GradientCut(Rule):
    """Parameters that are trained never get a gradient, because the graph is cut between them and
    the loss.
    """

    slug = "gradient-cut"
    id = "PL307"
    severity = "error"
    summary = "the graph is cut between parameters and the loss"
    covered = ("step-without-backward", "param-unused")

    def __init__(self) -> None:
        self._cuts: dict[Any, _Cut] = {}  # by place
        self._fed: set[int] = set()
        # by id of a parameter behind a cut: steps of its optimizer
        self._waited: dict[int, int] = {}
        self._reads: deque[tuple[Read, dict[int, Value]]] = deque(maxlen=64)
        self._read_at: dict[Any, int] = {}
        self._looked: dict[Any, int] = {}
        self._optimizers = False
        self._backwards = 0
        self._steps: dict[Any, set[int]] = {}  # places of steps: the parameters stepped on
        self._numbers = NumbersRead()
        # in the graph of the backward that runs
        self._doubted: list[tuple[Any, str, Value, dict[int, Value]]] = []
        # checkpoints without a graph before them, and what is trained in them
        self._again: dict[int, tuple[Op, list[Any]]] = {}
        self._lost: set[int] = set()  # parameters of which a loss was made that no backward ran on
        # by place: backward calls in which nothing has arrived behind it
        self._flat: dict[Any, int] = {}
        # places where `autograd.grad` was called without `create_graph`
        self._bare: set[Any] = set()

    # ---- what has left the graph as a number or an array ---------------------------------------------------------------
    def on_read(self, read: Read) -> None:
        """Parameters behind a number or an array."""
        if read.how in ("repr", "format", "bool"):
            return
        value = read.value
        for _ in range(16):
            if (
                is_hot(value)
                or value.producer is None
                or value.producer.name not in _THROUGH
                or not value.producer.inputs
            ):
                break
            value = value.producer.inputs[0]
        if not is_hot(value):
            return
        if read.how != "int":
            self._numbers.add(read)
        seen = self._read_at[read.site] = self._read_at.get(read.site, 0) + 1
        if seen <= 4 * _LOOKS or seen & (seen - 1) == 0:
            self._reads.append((read, leaves_before([value])))

    # ---- the way from a loss back --------------------------------------------------------------------------------------
    def on_backward_begin(self, event: Backward) -> None:
        """Cuts in what a loss is made of."""
        if event.how == "grad" and not event.create_graph and event.site is not None:
            self._bare.add(event.site.key)
        looked = self._looked[event.site] = self._looked.get(event.site, 0) + 1
        if looked <= _LOOKS or looked & (looked - 1) == 0:
            for cut in self._find(event.roots, event.site):
                held = self._cuts.get(cut.site)
                if held is not None:
                    cut.leaves.update(held.leaves)
                self._cuts[cut.site] = cut
            self._doubts(event.roots)
            self._drawn(event.roots)
        if looked <= 8:
            self._terms(event)

    def _terms(self, event: Backward) -> None:
        """What is added to the loss as a number: it changes the loss and no gradient."""
        for root in event.roots:
            if root.numel != 1 or not is_hot(root):
                continue
            terms = list(cold_terms(root))
            if not terms:
                continue
            passed = {
                v.number
                for o in ancestors([root])
                if (o.output is None or o.output.requires_grad)
                for v in o.inputs
            }
            for op, term in terms:
                if isinstance(term, Value) and (slope := self._slope(term)) is not None:
                    site, source = slope.site, term
                    how = "is made of gradients that `autograd.grad` computes without a graph"
                elif isinstance(term, Value):
                    cut = cut_in(term)
                    if cut is None or cut[1].is_leaf:
                        continue
                    # a loss of its own that is computed without a graph is meant to teach, though
                    # what it is computed of comes to the whole loss another way, too
                    whole = not cut[0].grad_enabled and is_loss(term)
                    if cut[1].number in passed and not whole:
                        continue
                    (site, how), source = _where(cut[0]), cut[1]
                else:
                    read = self._numbers.source(op, term, self.step)
                    if read is None or read.value.number in passed:
                        continue
                    site, source = read.site, read.value
                    how = (
                        "passes through NumPy"
                        if read.how in ("numpy", "array")
                        else f"is turned into a plain number by `{read.how}`"
                    )
                key = site, "term"
                self._flat[key] = self._flat.get(key, 0) + 1
                if self._flat[key] == _LOOKS:
                    self.report(
                        site,
                        f"a term of the loss {how} here: it changes the loss but no gradient, so nothing learns from it.",
                        evidence={
                            "added_at": str(op.site),
                            "backward": str(event.site),
                            "shape": list(source.shape),
                        },
                        fix=_way_on(how),
                    )

    def _slope(self, term: Value) -> Op | None:
        """The gradients that a term is made of and that no gradient flows into: a penalty on them."""
        made = (
            op for op in ancestors([term], limit=200) if op.name == "grad" and op.site is not None
        )
        return next((op for op in made if op.site.key in self._bare), None) if self._bare else None

    def _drawn(self, roots: tuple[Value, ...]) -> None:
        """Samples that a trained layer takes in: of a loss that leads to what they were drawn from
        by another way (a divergence), too.
        """
        graph = list(ancestors(roots, limit=5000))
        for o in graph:
            out = o.output
            if (
                o.name not in ("sample", "normal")
                or out is None
                or not out.is_floating_point
                or o.name == "sample"
                and out.requires_grad
            ):
                continue
            hot = [v for v in o.inputs if is_hot(v) and not v.is_leaf]
            users = [u for u in graph if any(v.producer is o for v in u.inputs)]
            layers = [
                u
                for u in users
                if u.name in ("linear", "conv1d", "conv2d", "matmul", "addmm")
                and any(is_hot(v) for v in u.inputs)
            ]
            likely = any(
                v.requires_grad and not v.is_leaf and v.producer is not o
                for u in users
                for v in u.inputs
            )  # its log_prob, or a way around it
            if not hot or not layers or likely:
                continue
            site, how = _where(o)
            count = self._flat[site] = self._flat.get(site, 0) + 1
            leaves = leaves_before(hot)
            if count == _LOOKS and leaves and leaves.keys() & self._fed:
                self._tell(
                    _Cut(site, how, leaves, _first_name(leaves), hot[0].shape, None),
                    leaves,
                    "and no gradient flows back through it",
                    (),
                )

    def _doubts(self, roots: tuple[Value, ...]) -> None:
        """Operations of which it shows in the backward whether anything comes through."""
        self._doubted.clear()
        custom = self.session.recorder.custom
        graph = list(ancestors(roots))
        for o in graph:
            if o.name in FLAT and not o.inplace:
                for v in o.inputs[:1]:
                    if is_hot(v) and (leaves := leaves_before([v])):
                        around = _way_around(o, v, graph)
                        how = f"goes through `{o.name}`, whose derivative is zero everywhere"
                        place = cause_site(o) if around is None else cause_site(around)
                        self._doubted.append(
                            (
                                place,
                                how if around is None else f"{how}, and the path around it is cut",
                                v,
                                leaves,
                            )
                        )
            elif o.name in custom:
                given = arguments_of(o)
                for k, v in enumerate(given):
                    if isinstance(v, Value) and v.requires_grad and (leaves := leaves_before([v])):
                        place = returned_at(custom[o.name], k) or o.site
                        self._doubted.append(
                            (place, f"gets no gradient from the backward of `{o.name}`", v, leaves)
                        )

    def _settle(self, event: Backward) -> None:
        """Whether all that lies behind a doubtful operation has got nothing, while something else
        has.
        """
        if not any(not is_empty(a.value) for a in event.accumulated[:50]):
            return
        explained: set[int] = set()  # what lies behind an operation nearer to the loss
        places = set()
        for place, how, value, leaves in sorted(self._doubted, key=lambda d: -d[2].number):
            if any(not is_empty(v) for v in leaves.values()) or leaves.keys() <= explained:
                continue
            explained.update(leaves)
            if place in places:
                continue
            places.add(place)
            count = self._flat[place] = self._flat.get(place, 0) + 1
            if count == _LOOKS:
                self._tell(
                    _Cut(place, how, leaves, _first_name(leaves), value.shape, event.site),
                    leaves,
                    "and nothing arrives",
                    (),
                )

    def _find(self, roots: tuple[Value, ...], loss: Site | None) -> list[_Cut]:
        graph = sorted(ancestors(roots), key=lambda o: o.number)
        any_hot = any(is_hot(v) for v in roots)
        found: dict[Any, _Cut] = {}
        # by number of an operation: whether its result takes part without a graph
        last: dict[int, int] = {}
        for v in (*roots, *(v for o in graph for v in o.inputs)):
            if v.producer is not None and not is_hot(v):
                last[v.producer.number] = 1
        for o in graph:
            if (
                o.number not in last
                or o.name == "grad"
                or o.inplace
                and o.inputs
                and o.inputs[0].is_leaf
            ):
                continue  # a gradient; a parameter's first values
            hot = [v for v in o.inputs if is_hot(v)]
            leaves = leaves_before(hot)
            if leaves and not (any_hot and _frozen(o, hot[0])):
                site, how = _where(o)
                self._add(found, _Cut(site, how, leaves, _first_name(leaves), hot[0].shape, loss))
        for o in graph if self._reads else ():
            if o.step != self.step:
                continue
            new = [
                v
                for v in o.inputs
                if v.producer is None and v.step == o.step and not v.requires_grad and v.numel > 1
            ]
            if not new and self._known(o):
                continue
            for read, leaves in reversed(self._reads):
                if read.number < o.number and read.step == o.step and leaves:
                    if _enters(o, read, not any_hot) or any(_is_copy(v, read) for v in new):
                        how = (
                            "passes through NumPy"
                            if read.how in ("numpy", "array")
                            else f"is turned into plain numbers by `{read.how}`"
                        )
                        self._add(
                            found,
                            _Cut(
                                read.site,
                                how,
                                dict(leaves),
                                _first_name(leaves),
                                read.value.shape,
                                loss,
                            ),
                        )
                        break
        return list(found.values())

    def _known(self, o: Op) -> bool:
        return o.name not in _MADE and not any(isinstance(a, float) for a in o.args.values())

    def _add(self, found: dict[Any, _Cut], cut: _Cut) -> None:
        held = found.get(cut.site)
        if held is None:
            found[cut.site] = cut
        else:
            held.leaves.update(cut.leaves)

    def on_backward(self, event: Backward) -> None:
        """Who gets gradients."""
        self._backwards += 1
        self._fed.update(a.value.id for a in event.accumulated)
        for op, modules in self._again.values():
            if modules:
                self._recomputed(op, modules, event)
        self._again.clear()
        if self.session.recorder.copies_within:
            self._copied(event)
        if self.session.recorder.hooked and self._backwards < 64:
            self._stopped()
        if self._doubted:
            self._settle(event)
            self._doubted.clear()

    def on_op(self, op: Op) -> None:
        """Gradients asked for with `autograd.grad`; a part that is computed again in the backward,
        if that comes so far.
        """
        if op.name == "grad":
            self._fed.update(v.id for v in op.inputs)
        elif op.grad_enabled and not any(v.requires_grad for v in op.inputs):
            part = op.args.get("input")
            self._again[op.number] = op, [p for p in _trained_in(part) if p.requires_grad]

    ops = ("grad", *_CHECKPOINTS)

    def _recomputed(self, op: Op, held: list[Any], event: Backward) -> None:
        """Reentrant checkpoints whose inputs have no graph: their backward is never called."""
        if any(o is op for o in ancestors(event.roots)):
            value = self.session.recorder.value
            leaves = {v.id: v for p in held if (v := value(p)).id not in self._fed}
            count = self._flat[op.site] = self._flat.get(op.site, 0) + 1
            if leaves and count == _LOOKS:
                self._tell(
                    _Cut(
                        op.site,
                        "is checkpointed reentrantly, and none of the inputs requires a gradient,",
                        leaves,
                        _first_name(leaves),
                        (),
                        event.site,
                    ),
                    leaves,
                    "so its backward never runs",
                    (),
                )

    def _copied(self, event: Backward) -> None:
        """Layers that are copied in every forward: the copies get the gradients, and are thrown
        away.
        """
        recorder = self.session.recorder
        for a in event.accumulated:
            tensor = a.value.tensor
            place = (
                recorder.copied(tensor)
                if tensor is not None and id(tensor) in recorder.copies_within and not a.onto
                else None
            )
            if place is None or self._flat.get(("copy", place), -1) == event.number:
                continue
            self._flat["copy", place] = event.number
            count = self._flat[place] = self._flat.get(place, 0) + 1
            if count == _LOOKS:
                self.report(
                    place,
                    "a layer is copied here in every forward: the copy gets the gradient and is discarded, so the layer itself never learns.",
                    evidence={"shape": list(a.value.shape), "backward": str(event.site)},
                    fix="use the layer itself; you can call it several times without a copy",
                )

    def _stopped(self) -> None:
        """Hooks that return nothing but zeros."""
        for key, hooked in self.session.recorder.hooked.items():
            if hooked.factor != 0.0 or hooked.hook is None:
                continue
            place = _hook_line(hooked.hook) or hooked.site
            name = f"hook {key}" if hooked.leaf else str(place)
            count = self._flat[name] = self._flat.get(name, 0) + 1
            if count == _LOOKS:
                self.report(
                    place,
                    "a gradient hook returns only zeros here: nothing before it learns.",
                    evidence={"registered_at": str(hooked.site), "backward_calls": count},
                    fix="return None (or the gradient) to leave it unchanged",
                )

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """What is trained is what an optimizer has."""
        self._optimizers = True

    def on_step(self, event: Step) -> None:
        """Parameters behind a cut at whose optimizer's steps there is nothing to do."""
        if not self._cuts:
            return
        values = event.optimizer.params()
        for v in values:
            if v.id not in self._fed:
                self._waited[v.id] = self._waited.get(v.id, 0) + 1
        if event.site not in self._steps:
            self._steps[event.site] = {v.id for v in values}
            self._left_out({v.id for v in values if v.id not in self._fed})

    def _left_out(self, wanted: set[int]) -> None:
        """Parameters that another number beside the loss leads to, without a cut: what is missing
        is its backward.
        """
        recorder = self.session.recorder
        cut = {
            v.number
            for op in recorder.ops_of_step()
            if op.output is None or not is_hot(op.output)
            for v in op.inputs
        }
        # what goes on to the loss as a number is told where it is cut
        cut.update(read.value.number for read, _ in self._reads)
        for value in tuple(recorder.values.values()):
            if (
                value.numel == 1
                and value.number not in cut
                and is_hot(value)
                and not value.is_leaf
                and value.tensor is not None
            ):
                self._lost |= wanted & leaves_before([value]).keys()

    def on_error(self, failure: Failure) -> None:
        """A loss without any graph."""
        op = failure.op
        if (
            op is None
            or op.name != "backward"
            or "does not require grad" not in str(failure.exception)
        ):
            return
        cuts = self._find(op.inputs, op.site)
        for cut in cuts[-1:]:
            self._tell(cut, cut.leaves, "so backward fails", (op.site,))

    def finish(self) -> None:
        """Parameters that never got a gradient although what they made took part in a loss."""
        for cut in self._cuts.values():
            waited = {
                i: v for i, v in cut.leaves.items() if i not in self._fed and i not in self._lost
            }
            if self._optimizers:
                waited = {i: v for i, v in waited.items() if self._waited.get(i, 0) >= 2}
            elif self._backwards < 2:
                continue
            explicit = "detach" in cut.how and any(
                other is not cut
                and "detach" not in other.how
                and other.leaves.keys() >= waited.keys()
                for other in self._cuts.values()
            )
            # beside another cut, a detach is meant: one term of several
            if waited and not explicit:
                idle = [site for site, ids in self._steps.items() if not ids & self._fed]
                self._tell(cut, waited, "and they never get a gradient", tuple(idle))

    def _tell(
        self, cut: _Cut, leaves: dict[int, Value], result: str, covers: tuple[Any, ...]
    ) -> None:
        one = f"`{cut.name}`" if cut.name is not None else "a parameter"
        others = len(leaves) - 1
        whose = one + (f" (and {others} other parameter{'s' * (others > 1)})" if others else "")
        self.report(
            cut.site,
            f"the graph between {whose} and the loss is cut here: the value {cut.how}, {result}.",
            evidence={
                "shape": list(cut.shape),
                "parameters": len(leaves),
                "parameter": cut.name,
                "backward": str(cut.loss),
                "step": self.step,
            },
            fix=_way_on(cut.how),
            covers=(*covers, *_places(self.session.recorder, leaves)),
        )


def _way_around(flat: Op, value: Value, graph: list[Op]) -> Op | None:
    """The detach that cuts what was to carry the gradient past an operation without one: in
    `q + (x - x.detach()).detach()`, and in `q + (x - q).detach()`, where x and q have changed
    places."""
    results = {flat.number}
    for op in reversed(graph):  # from the oldest on
        if any(v.producer is not None and v.producer.number in results for v in op.inputs):
            if op.name in _THROUGH and op.name != "detach":
                results.add(op.number)
            elif op.name in ("add", "sub"):
                for other in op.inputs:
                    made = other.producer
                    if (
                        made is not None
                        and made.name == "detach"
                        and made.inputs
                        and is_hot(made.inputs[0])
                    ):
                        before = ancestors([made.inputs[0]], limit=20)
                        if any(v.number == value.number for o in before for v in o.inputs):
                            return made
    return None


def _trained_in(part: Any) -> list[Any]:
    """The parameters of a module that was handed over, or of that whose method it is."""
    held = part.value if type(part).__name__ == "Foreign" else None
    owner = getattr(held, "__self__", held)
    return list(owner.parameters()) if hasattr(owner, "parameters") else []


def _hook_line(code: Any) -> Any:
    """The line of a hook that says what becomes of the gradient: its only `return`."""
    function = function_around(code.co_filename, code.co_firstlineno, code.co_firstlineno)
    returns = (
        [n for n in ast.walk(function) if isinstance(n, ast.Return)] if function is not None else []
    )
    return Place(code.co_filename, returns[0].lineno) if len(returns) == 1 else None


def _first_name(leaves: dict[int, Value]) -> str | None:
    first = min(leaves.values(), key=lambda v: v.id)
    return first.name


def _places(recorder: Any, leaves: dict[int, Value]) -> list[Any]:
    """Where the parameters are registered: what other rules say of them there is a symptom."""
    found = []
    for value in leaves.values():
        path = value.parameter
        for root in recorder.names.roots() if path is not None else ():
            inner = next((n for n, p in root.named_parameters() if p is value.tensor), None)
            if inner is not None:
                found += [member_place(recorder, root, inner), recorder.names.site_of(root)]
    return found


def _where(op: Op) -> tuple[Any, str]:
    """(place, what happens) of an operation that takes values with a graph and gives one without."""
    call = op.module
    if op.name in ("detach", "data"):
        return cause_site(op), f"is cut off by `{'.data' if op.name == 'data' else 'detach()'}`"
    if op.name in DRAWN:
        return cause_site(op), f"is only used to sample with `{op.name}`, which has no derivative,"
    if not op.grad_enabled:
        outer = call
        while outer is not None and outer.parent is not None and not outer.parent.grad_enabled:
            outer = outer.parent
        site = outer.site if outer is not None and not outer.grad_enabled else op.site
        for at in (op.site, *_outwards(call)):
            place = off_at(at.file, at.line, at.code.co_name) if at is not None else None
            if place is not None:
                return place, "is computed without a graph (`no_grad`)"
        return site, "is computed without a graph (`no_grad`)"
    if op.name in _MADE:
        return cause_site(op), "is copied into a new tensor without a graph"
    return cause_site(op), f"is turned into integers or booleans by `{op.name}`"


def _outwards(call: ModuleCall | None) -> Iterator[Site | None]:
    while call is not None and not call.grad_enabled:
        yield call.site
        call = call.parent


def _frozen(op: Op, value: Value) -> bool:
    """Whether what is cut off was computed by a part of the model in eval mode: not to be trained."""
    made = op if not op.grad_enabled else value.producer
    return made is not None and made.module is not None and not made.module.training


def _enters(op: Op, read: Read, nothing_else: bool) -> bool:
    """Whether an operation may take in what was read: it makes a tensor of an array or a number, or
    has the very number as an argument.

    Where nothing else leads from parameters to the loss, any number will do: what was read may have
    been computed with meanwhile.
    """
    if nothing_else and op.name in _MADE and not any(v.requires_grad for v in op.inputs[1:]):
        return True
    if read.how in ("numpy", "array", "tolist"):
        return op.name in _MADE and not any(
            isinstance(v, Value) for k, v in op.args.items() if k != "input" or op.name != "setitem"
        )
    if op.name in _MADE and any(_has(a, read.result) for a in op.args.values()):
        return True
    return read.result is not None and any(
        isinstance(a, float) and a == read.result for a in op.args.values()
    )


def _is_copy(value: Value, read: Read) -> bool:
    """Whether a tensor of unknown origin, as `torch.Tensor(numbers)` makes one, has the numbers
    that were read before.
    """
    if (
        read.how not in ("numpy", "array", "tolist")
        or value.shape != read.value.shape
        or value.number < read.number
    ):
        return False
    now, then = value.numpy(), read.value.numpy()
    return now is None or then is None or bool(np.array_equal(now, then))


def _has(argument: Any, number: Any) -> bool:
    if isinstance(argument, (list, tuple)):
        return any(_has(a, number) for a in argument)
    return isinstance(argument, (int, float)) and argument == number


def _way_on(how: str) -> str:
    if "detach" in how or ".data" in how:
        return "remove the cut, or give the optimizer only what should be trained"
    if "no_grad" in how:
        return "move the trained computation out of `torch.no_grad()`"
    if "used to sample" in how:
        return (
            "sample with `rsample()` or `mean + std * torch.randn_like(std)`; "
            "for discrete choices use F.gumbel_softmax, or weight the loss by log_prob"
        )
    if "derivative is zero" in how:
        return "use a smooth replacement, or a straight-through gradient: `x + (x.round() - x).detach()`"
    if "backward of" in how:
        return "return the gradient of this argument from `backward` instead of None or zeros"
    if "autograd.grad" in how:
        return "pass `create_graph=True` to `torch.autograd.grad`"
    if "NumPy" in how or "plain number" in how:
        return "use tensors throughout: torch has the same operations under almost the same names"
    if "new tensor" in how:
        return "use the tensor itself, or `torch.stack` of several"
    return "use a smooth replacement where gradients must flow (softmax or sigmoid instead of argmax and comparisons)"
