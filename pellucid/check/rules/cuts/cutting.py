"""Places where the graph is cut between parameters and the loss."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from ...events import (
    VIEWS,
    Backward,
    Failure,
    Op,
    OptimizerInfo,
    Read,
    Site,
    Step,
    Value,
    ancestors,
    lineage,
)
from ...numbers import number_of
from ...rule import Rule, cause_site
from ..models.averages import follows
from ..source.places import Place, use_of_helper
from ..steps.gradients import is_empty
from .cut_where import (
    MADE,
    THROUGH,
    enters,
    feeds,
    first_name,
    hook_line,
    in_eval_mode,
    is_copy,
    registered_at,
    trained_in,
    way_around,
    way_on,
    where_cut,
)
from .judged import Judged, judged
from .looked_up import cancelled, looked_up
from .stepwise import cut_each_step
from .terms import FLAT, NumbersRead, arguments_of, cold_terms, cut_in, is_hot, is_loss, returned_at

_SCALED = VIEWS | {"mul", "div", "clamp", "to", "clone"}
_CHECKPOINTS = ("CheckpointFunction",)
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
    read: Any = None  # the operation whose result was read as a number


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
        self._optimizers = False
        self._backwards = 0
        self._steps: dict[Any, set[int]] = {}  # places of steps: the parameters stepped on
        self._numbers = NumbersRead()
        # in the graph of the backward that runs
        self._doubted: list[tuple[Any, str, Value, dict[int, Value]]] = []
        # checkpoints without a graph before them, and what is trained in them
        self._again: dict[int, tuple[Op, list[Any]]] = {}
        self._lost: set[int] = set()  # parameters of which a loss was made that no backward ran on
        self._copied_in: dict[Any, int] = {}  # by place of a copy: the last backward call
        # parameters behind a term of the loss that was told of: with it they would learn
        self._behind_terms: set[int] = set()
        self._judged: list[Judged] = []  # in the loss whose step is to come
        # by place of a backward call: what the step after it moves
        self._moved: dict[Any, set[int]] = {}
        self._last: Site | None = None  # the backward call before the next step
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
                or value.producer.name not in THROUGH
                or not value.producer.inputs
            ):
                break
            value = value.producer.inputs[0]
        if not is_hot(value):
            return
        if read.how != "int":
            self._numbers.add(read)
        seen = self.count("read_at", read.site)
        if seen <= 4 * _LOOKS or seen & (seen - 1) == 0:
            self._reads.append((read, leaves_before([value])))

    # ---- the way from a loss back --------------------------------------------------------------------------------------
    def on_backward_begin(self, event: Backward) -> None:
        """Cuts in what a loss is made of."""
        if event.how == "grad" and not event.create_graph and event.site is not None:
            self._bare.add(event.site.key)
        # what the loss reaches may be another thing once the program has done something new
        place = event.site, self.session.recorder.rest.changes
        looked = self.count("looked", place)
        if looked <= _LOOKS or looked & (looked - 1) == 0:
            for cut in self._find(event.roots, event.site):
                held = self._cuts.get(cut.site)
                if held is not None:
                    cut.leaves.update(held.leaves)
                self._cuts[cut.site] = cut
            self._doubts(event.roots)
            self._steps_cut(event)
            self._drawn(event.roots)
            self._nearest(event.roots)
            self._judged = list(judged(event.roots, leaves_before))
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
                site: Any
                if isinstance(term, Value) and (slope := self._slope(term)) is not None:
                    site, source = slope.site, term
                    how = "uses gradients that `autograd.grad` computes without a graph"
                elif isinstance(term, Value):
                    cut = cut_in(term)
                    penalty = cut is not None and _of_weights(cut, term)
                    if cut is None or cut[1].is_leaf and not penalty:
                        continue
                    # a loss of its own that is computed without a graph is meant to teach, though
                    # what it is computed of comes to the whole loss another way, too
                    whole = not cut[0].grad_enabled and is_loss(term)
                    if cut[1].number in passed and not whole and not penalty:
                        continue
                    (site, how), source = where_cut(cut[0]), cut[1]
                    site = _of_a_helper(cut[0], site, term) or site
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
                if self.count("term", key) == _LOOKS:
                    self._behind_terms.update(leaves_before([source]))
                    self.report(
                        site,
                        f"a term of the loss {how} here: it changes the loss but no gradient, so nothing learns from it.",
                        evidence={
                            "added_at": str(op.site),
                            "backward": str(event.site),
                            "shape": list(source.shape),
                        },
                        fix=way_on(how),
                    )

    def _steps_cut(self, event: Backward) -> None:
        """A state that loses its graph at each step."""
        cuts = cut_each_step(list(ancestors(event.roots, limit=5000)))
        before = (
            leaves_before([cuts[-1].inputs[0]]) if cuts else {}
        )  # a sample's steps train nothing
        learns = any(v.parameter is not None for v in before.values())
        if learns and self.count("stepwise", cuts[0].site) == _LOOKS:
            site, how = where_cut(cuts[-1])
            self.report(
                site,
                f"the state {how} at each of {len(cuts)} steps: gradients only reach the last step, so the model cannot learn what to keep from "
                "earlier ones.",
                evidence={"steps": len(cuts), "backward": str(event.site)},
                fix="keep the graph within a sequence, and detach the state between sequences: once per backward()",
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
            site, how = where_cut(o)
            leaves = leaves_before(hot)
            if self.count("cut", site) == _LOOKS and leaves and leaves.keys() & self._fed:
                self._tell(
                    _Cut(site, how, leaves, first_name(leaves), hot[0].shape, None),
                    leaves,
                    "and no gradient flows back through it",
                    (),
                )

    def _nearest(self, roots: tuple[Value, ...]) -> None:
        """Rows of a table, the nearest ones, that a trained layer takes in: nothing of what it
        learns gets to what they were compared with.
        """
        graph = list(ancestors(roots, limit=5000))
        for op, passed, other in cancelled(graph):
            leaves = leaves_before([passed])
            if (
                self.count("cancelled", op.site) == _LOOKS
                and leaves
                and not leaves.keys() & leaves_before([other]).keys()
            ):
                self._bypassed(
                    op,
                    passed,
                    leaves,
                    "`x + (q - x)` has the value of q, and the two gradients of x cancel: no gradient reaches",
                    "use a straight-through estimator: `x + (q - x).detach()`",
                )
        found = looked_up(graph)
        if found is None:
            return
        op, compared, taken = found
        leaves = leaves_before([compared])
        if not leaves or leaves.keys() & leaves_before(taken).keys():
            return
        if self.count("looked up", op.site) == _LOOKS:
            self._bypassed(
                op,
                compared,
                leaves,
                "the nearest codebook rows replace the encoder's output here, and no gradient flows through this look-up to",
                "use a straight-through estimator: `quantized = z + (quantized - z).detach()`",
            )

    def _bypassed(
        self, op: Op, value: Value, leaves: dict[int, Value], told: str, fix: str
    ) -> None:
        """Report an operation that replaces a value, and what is before it gets no gradient."""
        self.report(
            op.site,
            f"{told} {first_name(leaves) or 'the parameters'} and others before it.",
            evidence={"shape": list(value.shape), "parameters": len(leaves)},
            fix=fix,
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
                        how = f"goes through `{o.name}`, whose derivative is zero everywhere"
                        beside = way_around(o, v, graph)
                        if beside is not None:
                            how += ", and the path around it is cut"
                        elif (beside := _cancelled_beside(o, graph)) is not None:
                            how += ", and the path around it cancels itself"
                        self._doubted.append((cause_site(beside or o), how, v, leaves))
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
            if self.count("settled", place) == _LOOKS:
                self._tell(
                    _Cut(place, how, leaves, first_name(leaves), value.shape, event.site),
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
            if leaves and not (any_hot and in_eval_mode(o, hot[0])):
                site, how = where_cut(o)
                self._add(found, _Cut(site, how, leaves, first_name(leaves), hot[0].shape, loss))
        guessed: dict[Any, _Cut] = {}
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
            reads = [
                (read, leaves)
                for read, leaves in reversed(self._reads)
                if read.number < o.number and read.step == o.step and leaves
            ]
            written = [held for held in reads if feeds(held[0], o)]
            for read, leaves in written or reads:
                if written or enters(o, read, not any_hot) or any(is_copy(v, read) for v in new):
                    how = (
                        "passes through NumPy"
                        if read.how in ("numpy", "array")
                        else f"is turned into plain numbers by `{read.how}`"
                    )
                    shape, first = read.value.shape, first_name(leaves)
                    cut = _Cut(
                        read.site, how, dict(leaves), first, shape, loss, read.value.producer
                    )
                    self._add(found if written else guessed, cut)
                    break
        known = {i for cut in found.values() for i in cut.leaves}
        for cut in guessed.values():
            if not cut.leaves.keys() <= known:
                self._add(found, cut)
        return list(found.values())

    def _known(self, o: Op) -> bool:
        return o.name not in MADE and not any(isinstance(a, float) for a in o.args.values())

    def _add(self, found: dict[Any, _Cut], cut: _Cut) -> None:
        held = found.get(cut.site)
        if held is None:
            found[cut.site] = cut
        else:
            held.leaves.update(cut.leaves)

    def on_backward(self, event: Backward) -> None:
        """Who gets gradients."""
        self._backwards += 1
        self._last = event.site
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
        if op.name in ("add", "lerp"):
            # an average of other parameters learns from them, not from a gradient
            if op.inplace and (pair := follows(op)) is not None:
                self._fed.add(pair[0])
        elif op.name == "grad":
            self._fed.update(v.id for v in op.inputs)
        elif op.grad_enabled and not any(v.requires_grad for v in op.inputs):
            part = op.args.get("input")
            self._again[op.number] = op, [p for p in trained_in(part) if p.requires_grad]

    ops = ("grad", *_CHECKPOINTS, "add", "lerp")

    def _recomputed(self, op: Op, held: list[Any], event: Backward) -> None:
        """Reentrant checkpoints whose inputs have no graph: their backward is never called."""
        if any(o is op for o in ancestors(event.roots)):
            value = self.session.recorder.value
            leaves = {v.id: v for p in held if (v := value(p)).id not in self._fed}
            count = self.count("computed again", op.site)
            if leaves and count == _LOOKS:
                self._tell(
                    _Cut(
                        op.site,
                        "is checkpointed reentrantly, and none of the inputs requires a gradient,",
                        leaves,
                        first_name(leaves),
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
                if tensor is not None and number_of(tensor) in recorder.copies_within and not a.onto
                else None
            )
            if place is None or self._copied_in.get(place) == event.number:
                continue
            self._copied_in[place] = event.number
            if self.count("copied", place) == _LOOKS:
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
            place = hook_line(hooked.hook) or hooked.site
            name = f"hook {key}" if hooked.leaf else str(place)
            if self.count("hooked", name) == _LOOKS:
                self.report(
                    place,
                    "a gradient hook returns only zeros here: nothing before it learns.",
                    evidence={"registered_at": str(hooked.site), "backward_calls": _LOOKS},
                    fix="return None (or the gradient) to leave it unchanged",
                )

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """What is trained is what an optimizer has."""
        self._optimizers = True

    def on_step(self, event: Step) -> None:
        """Parameters behind a cut at whose optimizer's steps there is nothing to do."""
        if self._judged:
            self._unguided({v.id for v in event.optimizer.params()})
        if not self._cuts:
            return
        values = event.optimizer.params()
        if self._last not in self._moved:
            self._moved[self._last] = {v.id for v in values}
        for v in values:
            if v.id not in self._fed:
                self._waited[v.id] = self._waited.get(v.id, 0) + 1
        if event.site not in self._steps:
            self._steps[event.site] = {v.id for v in values}
            self._left_out({v.id for v in values if v.id not in self._fed})

    def _unguided(self, stepped: set[int]) -> None:
        """A step after a loss in which a model judges samples, and cannot tell what they were drawn
        from: that alone is stepped on.
        """
        found, self._judged = self._judged, []
        for drawn, value, source, judge in found:
            if not source & stepped or judge & stepped:
                continue
            site, how = where_cut(drawn)
            if self.count("alone", site) == _LOOKS:
                leaves = {i: v for i, v in leaves_before([value]).items() if i in source}
                self._tell(
                    _Cut(site, how, leaves, first_name(leaves), value.shape, None),
                    leaves,
                    "and no gradient of the model that judges it flows back",
                    (),
                )

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
                and not _is_element(value)
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
            explicit = "detach" in cut.how and (
                waited.keys() <= self._behind_terms
                or any(
                    other is not cut
                    and "detach" not in other.how
                    and other.leaves.keys() >= waited.keys()
                    for other in self._cuts.values()
                )
            )
            # beside another cut, a detach is meant: one term of several
            if waited and not explicit and not self._of_others(cut, waited):
                idle = [site for site, ids in self._steps.items() if not ids & self._fed]
                self._tell(cut, waited, "and they never get a gradient", tuple(idle))

    def _of_others(self, cut: _Cut, waited: dict[int, Value]) -> bool:
        """Whether the loss is there for other parameters, which its step moves, and another one for
        these.
        """
        return not waited.keys() & self._moved.get(cut.loss, waited.keys()) and any(
            other.leaves.keys() & waited.keys() & self._moved.get(other.loss, set())
            for other in self._cuts.values()
        )

    def _tell(
        self, cut: _Cut, leaves: dict[int, Value], result: str, covers: tuple[Any, ...]
    ) -> None:
        one = f"`{cut.name}`" if cut.name is not None else "a parameter"
        others = len(leaves) - 1
        whose = one + (f" (and {others} other parameter{'s' * (others > 1)})" if others else "")
        self.report(
            cut.site,
            f"the graph between {whose} and the loss is cut here: the value {cut.how.rstrip(',')}, {result}.",
            evidence={
                "shape": list(cut.shape),
                "parameters": len(leaves),
                "parameter": cut.name,
                "backward": str(cut.loss),
                "step": self.step,
            },
            fix=way_on(cut.how),
            covers=(
                *covers,
                *registered_at(self.session.recorder, leaves),
                *([cut.site, cut.read.site] if cut.read is not None else []),
            ),
        )


def _is_element(value: Value) -> bool:
    """Whether a number is one of several, as a loop over rows has it."""
    made = value.producer
    return made is not None and made.name in VIEWS and any(v.numel > 1 for v in made.inputs[:1])


def _cancelled_beside(flat: Op, graph: list[Op]) -> Op | None:
    """The `x + (q - x)` of a q that comes from an operation without a derivative: the gradient of x
    is cancelled by that of -x, since the difference is not detached.
    """
    for op, _, left in cancelled(graph):
        if any(o is flat for o in lineage(left, _SCALED, 12)):
            return op
    return None


def _of_weights(cut: tuple[Op, Value], term: Value) -> bool:
    """Whether a term is made of cut-off matrices of parameters alone: a penalty on them."""
    if cut[0].name not in ("data", "detach") or not cut[1].is_leaf or cut[1].ndim < 2:
        return False
    made = [v for o in ancestors([term], limit=200) for v in o.inputs if v.numel > 1]
    return all(v.requires_grad or v.producer is not None for v in made)


def _of_a_helper(cut: Op, site: Any, term: Value) -> Place | None:
    """The call of the helper that cuts, when other lines use it, too, as those that evaluate do."""
    if cut.site is None or site is not cut.site or not cut.direct:
        return None
    behind = [
        o for o in ancestors([term], limit=200)
        if o.number > cut.number and o.site is not None and o.site.code is not cut.site.code
    ]  # fmt: skip
    return use_of_helper(cut.site, min(behind, key=lambda o: o.number).site) if behind else None
