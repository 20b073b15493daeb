"""From a call to a version: trace the call, analyze what it did (`call`, `leaving`), and bind the
program to memory.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from typing import Any

from numpy import ndarray

from ...core.streams.generator import Generator
from ...core.tape import count
from ...core.tensor import Tensor, version_of
from ...errors import pass_on
from ...ir import Buffer, Instruction, Program
from ...llvm.lengths import Lengths
from ..capture import replaced
from ..capture.checking import checker, split, unpacker
from ..capture.earlier import Earlier
from ..capture.environment import CapturedEnvironment
from ..capture.graph_breaks import body_of
from ..capture.guards import Guard, hooks_of
from ..capture.side_effect_tracker import SideEffectTracker
from ..capture.side_effects import Again, written_by
from ..capture.structure import TensorSlot, flatten, masked, numbers_in, rebuild, without_reads
from ..capture.tensor_attributes import TensorAttributes
from ..capture.witness import Witness
from ..trace.arrays import memory_of, numpy_dtype
from ..trace.communication import PHASE
from ..trace.numbers import is_read, settle
from ..trace.refusal import Refusal, refusal_of
from ..trace.tracer import Tracer
from .admission import Admission, flags, form_of
from .call import TraceOutcome, writes_of
from .execute import Executable, executable
from .leaving import Leaving, Part
from .memory import Arena, Storage
from .node import hooks_above
from .results import New, Number, Results, direct
from .side_effects import SideEffects, Undoing, buffers_of
from .version import Backward, Code, Version


def trace_call(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    whole: bool = False,
    lift: frozenset[int] = frozenset(),
    watched: Sequence[Guard] = (),
    may_watch: bool = True,
    drifting: Container[int] = (),
    arena: Arena | None = None,
    lengths: Lengths | None = None,
) -> TraceOutcome:
    """Call `function`, and make a version from what it does.

    Args:
        function, args, kwargs: the call.
        whole: refuse what a value decides.
        lift: which of the numbers among the arguments may be others at each call.
        watched: what may be others besides, in attributes, globals and the like: numbers, tensors,
            and lists that are appended to.
        may_watch: whether more such places may be asked for.
        drifting: tensors that may have other memory at each call, by identity.
        arena: where temporaries lie; None: the version has memory of its own.
        lengths: code of versions for other sizes, which this one may share.
    """
    tracing = _Tracing(function, args, kwargs, lift, watched, may_watch, drifting, arena, lengths)
    try:
        tracing.trace(whole)
        return tracing.traced
    finally:
        tracer: Tracer | None = tracing.__dict__.get("tracer")
        if tracer is not None:
            settle(tracer.living_numbers())
            tracer.forget()
        # break reference cycles, which would keep the call's values alive until a garbage
        # collection
        tracing.__dict__.clear()


class _Tracing(Leaving):
    """Traces a call and turns it into a version."""

    def trace(self, whole: bool) -> None:
        """Make the call, and the version."""
        replaced.watch()
        tensors, traced = self.tensors, self.traced
        environment = self.environment = CapturedEnvironment(
            self.function, self.args, self.kwargs, self.places, self.logs
        )
        tracer = self.tracer = Tracer(environment, whole)
        tracer.compares_types = environment.compares_types
        leaves = {id(t): t for t in environment.found}
        leaves.update((id(t), t) for t in tensors)
        earlier = tracer.earlier = Earlier(leaves, environment)
        self._declare()
        body = body_of(self.function)
        tracer.root = None if body is None else body.__code__
        witness = self.witness = tracer.witness = Witness(
            tracer.root, {id(t) for t in tensors}, self.replaced
        )
        self.changes = tracer.changes = SideEffectTracker(
            environment, tracer, [*self.watched, *self.logs], self.places
        )
        streams = environment.drawn()
        tracer.began = count()
        # Weak references, so that a gradient which the call clears can be freed.
        versions = [(weakref.ref(t), writes_of(t)) for t in (*tensors, *environment.found)]
        hooks = [(t, hooks_above(t), hooks_of(t)) for t in tensors if t._rg]
        attributes = TensorAttributes([*tensors, *environment.found])
        try:
            self._call()
        except TypeError as error:
            self._again(error, streams)
            return
        self.writes = {id(t): writes_of(t) - n for ref, n in versions if (t := ref()) is not None}
        if flags() != self.flags:
            tracer.refuse(
                "the step changes a mode or a setting of the library for good", witness.entry
            )
        if environment.drawn() != streams:
            tracer.refuse(
                "the step draws random numbers past this library, which a program could not repeat",
                witness.entry,
            )
        traced.uses_graphs = witness.uses_graphs
        try:
            if tracer.refusal is not None:
                traced.refusal = self._placed(tracer.refusal)
                return
            self._settle(earlier)
            if witness.asks_for_graphs and any(t._node is not None for t in tensors):
                raise Refusal(
                    "the step looks at the graph of an argument, another one at each call",
                    witness.entry,
                )
            if any((hooks_above(t), hooks_of(t)) != (above, own) for t, above, own in hooks):
                raise Refusal(
                    "the step registers a hook on a tensor that others made, another one at each call",
                    witness.entry,
                )
            self.marks = attributes.settle(traced.result, self.guards, environment, witness)
            self._find_changes()
            self._name_outputs()
            traced.version = self._version()
        except Refusal as refusal:
            # Without the traceback, whose frames refer to this object.
            refusal.callees |= witness.callees
            traced.refusal = refusal.with_traceback(None)
            traced.found = refusal.places if isinstance(refusal, Again) else []
            traced.transient |= refusal.transient
        except Exception as error:
            # a bug in the compiler: the call itself has been made, and later calls can run eagerly
            traced.refusal = refusal_of(error)
            pass_on(error)
        finally:
            found: list[Any] = []
            flatten(traced.result, found)
            if any(map(is_read, found)):
                # what was there before is returned as it is
                kept = self.environment.containers | self.environment.guarded.keys()
                traced.result = without_reads(traced.result, kept)

    # ---- the version ---------------------------------------------------------------------------------------
    def _version(self) -> Version:
        """Build the version."""
        tracer, program = self.tracer, self.tracer.program
        program.verify()
        forward = program.instructions[: self.split]
        self.moving, self.moving_buffers = self._moving()
        dynamic = [
            self.inputs[group[0]].buffer for group in self.sharing.groups
        ] + self.moving_buffers
        self.drift = self._drifting(dynamic)
        dynamic += [b for _, b in self.drift]
        read = {v.buffer for i in program.instructions for v in i.reads()} | {
            v.buffer for v in program.outputs
        }
        computed = [c for c in tracer.computed if c.buffer in read]
        dynamic += [c.buffer for c in computed]
        made_forward = {v.buffer for i in forward for v in i.made() if v.buffer.kind == "temp"}
        kept = [
            sorted(made_forward & _temporaries(backward), key=lambda b: b.number)
            for backward in (program.instructions[part.start : part.end] for part in self.parts)
        ]
        left = [v for _, v in self.gradients if v is not None] + [v for _, v in self.moved]
        leaving = buffers_of(self.outputs) + [v.buffer for v in left]
        self.external = {b: a for b, a in tracer.external.items() if b not in dynamic}
        storage = Storage(
            tracer.contents, self.external, tracer.roots, arena=self.arena, lengths=self.lengths
        )
        wanted = dict.fromkeys(itertools.chain(leaving, *kept))
        values = [o.value for o in self.outputs if type(o) is New] + left
        run = executable(program.part(forward, dynamic, wanted, values), storage)
        effects = SideEffects(
            self.changes.effects, self.changes.calls, self.outputs, tracer.partial
        )
        decides, effects.undoing = self._undoing(forward, dynamic, run)
        halves = [
            self._half(program, part, dynamic, buffers, storage)
            for part, buffers in zip(self.parts, kept, strict=True)
        ]
        written = {v.buffer for i in program.instructions for v in i.writes}
        # How many writes each one counts; a write to `x.data` does not count.
        overwrites = [
            (k, self.writes[id(self.tensors[k])])
            for k, v in enumerate(self.inputs)
            if v.buffer in written
        ]
        admission = self._admission([k for k, _ in overwrites], written)
        held = [t for t, _ in (*admission.state, *self.drift, *self.moved) if isinstance(t, Tensor)]
        counted = {id(version_of(t)): (t, self.writes.get(id(t), 0)) for t in held}
        code = Code(
            program,
            run,
            halves,
            self.moving,
            computed,
            overwrites,
            [(t, n) for t, n in counted.values() if n],
            self._accumulated(),
            decides,
        )
        admission.state += run.holders
        self._check(admission)
        skeleton = rebuild(
            self.traced.result, lambda t: TensorSlot(self.slots[id(t)]), self._is_new
        )
        single = isinstance(skeleton, TensorSlot) and skeleton.place == 0
        results = Results(
            self.outputs,
            skeleton,
            single,
            self.gradients,
            self.grad_writes,
            self.moved,
            self.asked,
            self.detached,
            self._bases(),
            run.memory,
            {},
        )
        plain = (
            admission.checked
            and (admission.bare or admission.unpack is not None)
            and not (
                halves and (self.moved or self.asked or self.gradients or self.moving or self.drift)
            )
            and all(isinstance(who, Tensor) for who in self.moving)
        )
        plain = plain and all(
            type(o) is Number
            and not halves
            or type(o) is New
            and o.inference is None
            and not (halves and o.spent)
            for o in self.outputs
        )
        given = len(self.inputs) + len(self.moving) + len(computed)
        saved = set(itertools.chain(*kept))
        return Version(
            admission,
            results,
            effects,
            code,
            direct(results, given, code.written, saved) if plain else None,
        )

    def _moving(self) -> tuple[list[Any], list[Buffer]]:
        """The gradients that existed at the start, and may be other arrays at each call: whose they
        are, and their buffers.
        """
        there = {id(g._array): who for who, g in self.grads_before if g is not None}
        found = [
            (there[id(a)], b)
            for b, a in self.tracer.external.items()
            if b.kind == "state" and id(a) in there
        ]
        return [who for who, _ in found], [b for _, b in found]

    def _accumulated(self) -> list[tuple[Any, int]]:
        """(who, number of writes) for gradients that existed at the start and were written to."""
        found = [(who, self.writes.get(id(g), 0)) for who, g in self.grads_before]
        return [(who, n) for who, n in found if n]

    def _drifting(self, dynamic: list[Buffer]) -> list[tuple[Tensor, Buffer]]:
        """Tensors whose memory is replaced between calls (`teacher.data = average`). They are
        passed to the program at each call, provided that nothing else shares their memory.
        """
        moved = {id(t) for t in self.to_move}
        found: list[tuple[Tensor, Buffer]] = []
        for buffer, array in self.tracer.external.items():
            t = self._holder(array)
            if (
                t is None
                or id(t) not in self.drifting
                and id(t) not in moved
                or buffer.kind != "state"
                or buffer in dynamic
            ):
                continue
            there = self.started.get(id(t)) is array
            if there and t._view is None and self.shared[id(memory_of(array))] == 1:
                found.append((t, buffer))
        return found

    def _undoing(
        self, forward: list[Instruction], dynamic: list[Buffer], run: Executable
    ) -> tuple[bool, Undoing | None]:
        """Whether the program branches on values, and what must be undone if a call's decisions
        differ or if a call with side effects fails. None: nothing to undo.
        """
        last = max((k for k, i in enumerate(forward) if i.kind == "decide"), default=None)
        done = forward[:last] if last is not None else []
        for i in done:
            if i.phase == PHASE:
                site = forward[last].site if last is not None else i.site
                raise Refusal(
                    "the step decides with a tensor's value after other processes have taken part in it",
                    site,
                )
            if i.kind == "call":
                found = [a for a in i.params["args"] if isinstance(a, Generator)]
                if (
                    not found
                    and not (i.outputs or i.writes)
                    and i.record[0] not in self.tracer.checks
                ):
                    raise Refusal(f"the step decides with a tensor's value after {i.op}", i.site)
                if i.op == "_update_group":
                    later = [
                        d.site.line
                        for d in forward[done.index(i) :]
                        if d.kind == "decide" and d.site is not None
                    ]
                    raise Refusal(
                        "the step decides with a tensor's value after an optimizer's update",
                        i.site,
                        later,
                    )
        if self.changes.effects or self.changes.calls:
            done = list(dict.fromkeys([*done, *run.before_failure()]))
        streams, written, states = written_by(done)
        if last is None and not (streams or written or states):
            return False, None
        arrays = [self.external[b] for b in written if b in self.external]
        places = [dynamic.index(b) for b in written if b not in self.external]
        return last is not None, Undoing(streams, arrays, places, states)

    def _half(
        self,
        program: Program,
        part: Part,
        given: list[Buffer],
        kept: list[Buffer],
        storage: Storage,
    ) -> Backward:
        backward = program.instructions[part.start : part.end]
        made = dict.fromkeys(v.buffer for v in part.returned)
        # The forward arena may hold values that backward reads.
        storage = replace(storage, arena=None if self.arena is None else self.arena.backward)
        before = [*given, *kept, *[v.buffer for v in part.seeds]]
        there = {*before, *[v.buffer for i in backward for v in i.made()]}
        reading = {v.buffer for i in backward for v in i.reads()}
        if any(b.kind == "temp" and b not in there for b in reading | {*made}):
            raise Refusal("the gradients of its results share what one of them computes")
        run = executable(program.part(backward, before, made, part.returned), storage)
        read: list[Any] = [k for k, v in enumerate(self.inputs) if v.buffer in reading]
        state = [(t, a) for a in self.external.values() for t in [self._holder(a)] if t is not None]
        read += [t for t, a in state if any(self.external.get(b) is a for b in reading)]
        read += [t for t, b in self.drift if b in reading]
        read += [who for who, v in self.moved if v.buffer in reading]
        results = [
            k for k, o in enumerate(self.outputs) if type(o) is New and o.value.buffer in reading
        ]
        return Backward(
            run,
            kept,
            part.seeds,
            [(v.shape, numpy_dtype(v.dtype)) for v in part.seeds],
            part.results,
            part.wanted,
            part.reached,
            part.returned,
            read,
            results,
            part.keeps,
            part.guards,
        )

    def _bases(self) -> dict[Buffer, Any]:
        """Buffer -> who owns the memory, for buffers in which results may lie."""
        based: dict[Buffer, Any] = {v.buffer: k for k, v in enumerate(self.inputs)}
        based.update(
            (b, t) for b, a in self.external.items() for t in [self._holder(a)] if t is not None
        )
        based.update((b, t) for t, b in self.drift)
        return based

    def _admission(self, overwritten: list[int], written: Container[Buffer]) -> Admission:
        """The Admission, except for optimizer state and the generated check."""
        state = [(t, a) for a in self.external.values() for t in [self._holder(a)] if t is not None]
        # Tensors that share this memory must continue to, because values are identified by address.
        roots, known = {id(memory_of(a)) for a in self.external.values()}, {id(t) for t, _ in state}
        beside = [t for t in self.environment.found if type(t._array) is ndarray]
        state += [
            (t, t._array) for t in beside if id(memory_of(t._array)) in roots and id(t) not in known
        ]
        guarded = {id(t) for t, _ in (*state, *self.drift)}
        # other tensors are looked up again at each call
        same = {id(g.expected) for g in self.guards}
        seldom, always = split(self.guards, [m for m, _ in self.environment.modules])
        return Admission(
            kind=masked(self.structure, None),
            numbers=numbers_in(self.structure),
            structure=masked(self.structure, self.lift) if self.lift else self.structure,
            lift=self.lift,
            signature=self.signature,
            count=self.count,
            marks=self.marks,
            pinned=self.pinned,
            alike=self.alike,
            sharing=self.sharing,
            overwritten=overwritten,
            flags=self.flags,
            guards=self.guards,
            seldom=seldom,
            always=always,
            asks_types=self.witness.loads("type"),
            watched=self.watched,
            count_of_numbers=self.tracer.count,
            places=self.places,
            places_key=self.places_key,
            state=state,
            drift=[(t, form_of(t)) for t, _ in self.drift],
            drift_overwritten=[t for t, b in self.drift if b in written],
            forms=[(t, form_of(t)) for t in beside if id(t) in same - guarded],
            requires_grad=[],
            grads=self.grads_before,
            grads_overwritten=[
                who for who, b in zip(self.moving, self.moving_buffers, strict=True) if b in written
            ],
            kept=self.environment.kept,
            own_roots=set(),
        )

    def _check(self, a: Admission) -> None:
        """Complete the Admission with the generated check."""
        a.own_roots = {id(memory_of(array)) for _, array in a.state}
        held = [t for t, _ in (*a.state, *a.drift, *a.forms)]
        a.requires_grad = [
            (t, t._rg) for t in held if t._rg or t.is_leaf and t.dtype.is_floating_point
        ]
        if any(
            k in a.overwritten or id(memory_of(self.tensors[k]._array)) in a.own_roots
            for k, *_ in a.alike
        ):
            self._refuse_sharing()
        a.bare = (
            not self.kwargs
            and all(isinstance(x, Tensor) for x in self.args)
            and len(self.args) == self.count
        )
        given = (self.args, self.kwargs) if self.kwargs else self.args
        a.unpack = None if a.bare else unpacker(flatten(given, []), self.lift)
        a.named = bool(self.kwargs)
        a.check = checker(a, self.tensors)
        needed = [who for who, g in a.grads if g is not None]
        of_arguments = any(type(who) is int for who in (*needed, *[w for w, _ in self.gradients]))
        a.checked = a.check is not None and not (
            a.sharing.shared or self.asked or of_arguments or a.drift or self.moved or a.alike
        )


def _temporaries(instructions: list[Instruction]) -> set[Buffer]:
    """The temporaries that instructions read or write."""
    return {
        v.buffer for i in instructions for v in (*i.reads(), *i.made()) if v.buffer.kind == "temp"
    }
