"""From a call to a version: trace the call, judge what it did, and bind the program to memory."""

from __future__ import annotations

import itertools
import weakref
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy import ndarray

from ...core import reverse
from ...core.bind import wrap
from ...core.interpret import playing, thread
from ...core.modes import local
from ...core.streams.generator import Generator
from ...core.tape import count
from ...core.tensor import InferenceVersion, Tensor, version_of
from ...devices import device, layout, memory_format
from ...dtypes import dtype
from ...errors import GraphError, facts_of, pass_on
from ...ir import Buffer, Instruction, Program, Value
from ..capture.checking import checker, split, unpacker
from ..capture.earlier import Earlier
from ..capture.environment import CapturedEnvironment
from ..capture.graph_breaks import body_of
from ..capture.guards import Guard, Opaque, changed
from ..capture.side_effect_tracker import SideEffectTracker
from ..capture.side_effects import Again, Growing, written_by
from ..capture.structure import (
    Slot,
    carried_back,
    flatten,
    is_record,
    lifted,
    masked,
    numbers_in,
    rebuild,
)
from ..capture.tensor_attributes import TensorAttributes
from ..capture.witness import Witness
from ..trace.arrays import memory_of
from ..trace.communication import PHASE
from ..trace.control_flow import Later
from ..trace.numbers import is_read, settle
from ..trace.refusal import Refusal, refusal_of
from ..trace.tracer import Tracer
from .admission import Admission, flags, same_place, signature
from .execute import Executable, executable
from .memory import Arena, Storage
from .node import below, has_hooks, is_spent, place_of, view_of
from .results import Given, New, Number, Output, Results, ViewOf, direct
from .sharing import Sharing
from .side_effects import SideEffects, Undoing, buffers_of
from .version import Backward, Code, Version


@dataclass(slots=True, eq=False)
class Traced:
    """What a traced call gave: its result, and a version, or why there is none."""

    result: Any = None
    version: Version | None = None
    refusal: Refusal | None = None
    transient: bool = False  # the next call may be compiled
    quiet: bool = False  # nothing is wrong: a call of another kind may be compiled
    # whether the call changes what is another one at each call, and so cannot do without
    sets_inputs: bool = False
    # places that should be inputs at the next call
    found: list[Guard] = field(default_factory=list)
    uses_graphs: set[int] | None = field(
        default_factory=set
    )  # lines at which more is done with graphs than to call `backward`; None: any


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
) -> Traced:
    """Call `function`, and make a version of what it does.

    Args:
        function, args, kwargs: the call.
        whole: refuse what a value decides.
        lift: which of the numbers among the arguments may be others at each call.
        watched: what may be others besides, in attributes, globals and the like: numbers, tensors,
            and lists that are appended to.
        may_watch: whether more such places may be asked for.
        drifting: tensors that may have other memory at each call, by identity.
        arena: where temporaries lie; None: the version has memory of its own.
    """
    tracing = _Tracing(function, args, kwargs, lift, watched, may_watch, drifting, arena)
    try:
        tracing.trace(whole)
        return tracing.traced
    finally:
        tracer: Tracer | None = tracing.__dict__.get("tracer")
        if tracer is not None:
            settle(tracer.living_numbers())
            tracer.forget()
        # whose parts refer to each other: the values of the call would live until a collection
        tracing.__dict__.clear()


class _Tracing:
    """A call that is being traced, and then judged."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        lift: frozenset[int],
        watched: Sequence[Guard],
        may_watch: bool,
        drifting: Container[int],
        arena: Arena | None,
    ) -> None:
        self.traced = Traced()
        self.function, self.args, self.kwargs = function, args, kwargs
        self.lift = lift
        self.logs = [g for g in watched if isinstance(g, Growing)]
        self.watched = [g for g in watched if not isinstance(g, Growing) and g.of_a_number]
        self.places = [g for g in watched if not isinstance(g, Growing) and not g.of_a_number]
        self.may_watch = may_watch
        self.drifting = drifting
        self.arena = arena
        self.flags = flags()
        # The tensors of the call: those among the arguments, then those at places.
        self.tensors: list[Tensor] = []
        self.structure = flatten((args, kwargs), self.tensors)
        self.count = len(self.tensors)
        self.places_key = flatten([g.now() for g in self.places], self.tensors)
        self.positions = {id(t): k for k, t in enumerate(self.tensors)}
        self.signature = signature(self.tensors)

    # ---- the call --------------------------------------------------------------------------------------
    def trace(self, whole: bool) -> None:
        """Make the call, and the version."""
        tensors, traced = self.tensors, self.traced
        environment = self.environment = CapturedEnvironment(
            self.function, self.args, self.kwargs, self.places, self.logs
        )
        tracer = self.tracer = Tracer(environment, whole)
        leaves = {id(t): t for t, _ in environment.tensors.values()}
        leaves.update((id(t), t) for t in tensors)
        earlier = tracer.earlier = Earlier(leaves, environment)
        self._declare()
        body = body_of(self.function)
        tracer.root = None if body is None else body.__code__
        witness = self.witness = tracer.witness = Witness(tracer.root)
        self.changes = tracer.changes = SideEffectTracker(
            environment, tracer, [*self.watched, *self.logs], self.places
        )
        streams = environment.drawn()
        tracer.began = count()
        # Weakly: a gradient that the call clears is to be let go.
        versions = [(weakref.ref(t), _writes(t)) for t in (*tensors, *environment.found)]
        attributes = TensorAttributes([*tensors, *environment.found])
        try:
            self._call()
        except TypeError as error:
            self._again(error)
            return
        self.writes = {id(t): _writes(t) - n for ref, n in versions if (t := ref()) is not None}
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
            self.marks = attributes.settle(traced.result, self.guards, environment, witness)
            self._find_changes()
            self._name_outputs()
            traced.version = self._version()
        except Refusal as refusal:
            # Without the traceback, whose frames refer to this object.
            refusal.callees |= witness.callees
            traced.refusal = refusal.with_traceback(None)
            traced.found = refusal.places if isinstance(refusal, Again) else []
            traced.transient |= getattr(refusal, "transient", False)
        except Exception as error:
            # a fault of the compiler's: the call itself has been made, and later ones can be made
            # eagerly
            traced.refusal = refusal_of(error)
            pass_on(error)
        finally:
            found: list[Any] = []
            flatten(traced.result, found)
            if any(map(is_read, found)):
                traced.result = rebuild(
                    traced.result, lambda t: t if isinstance(t, Tensor) else t.plain
                )

    def _declare(self) -> None:
        """The arguments, as inputs of the program."""
        tracer, tensors = self.tracer, self.tensors
        if not self.environment.complete:
            tracer.refuse("the function can reach too many objects to watch", None)
        if any(type(t._array) is not ndarray for t in tensors):
            tracer.refuse("an argument has no data, or is of a custom kind")
            return
        arrays = [t._array for t in tensors]
        self.sharing = Sharing(arrays)
        if self.sharing.strange:
            tracer.refuse("two arguments share memory that is not a tensor's")
        self.inputs = self.sharing.declare(tracer, arrays)

    def _call(self) -> None:
        tracer, changes = self.tracer, self.changes
        copies: list[Any] = []
        given: Any = (self.args, self.kwargs)
        if self.lift:
            given = lifted(given, self.lift, tracer.number_given, itertools.count(), copies)
        try:
            with changes.following(), tracer.active(), self.witness.watching(), _uncast():
                self.traced.result = self.function(*given[0], **given[1])
        finally:
            carried_back(copies)
            del given, copies
            self.traced.sets_inputs = bool(changes.moved or self.logs) or any(
                p.now() is not start for p, start in zip(self.places, changes.at_start, strict=True)
            )

    def _again(self, error: TypeError) -> None:
        """A TypeError during tracing: where it may be one of a watched number's, and nothing has
        happened yet, the call is made without.
        """
        tracer = self.tracer
        happened = any(
            i.kind == "call" or any(v.buffer.kind != "temp" for v in i.writes)
            for i in tracer.program.instructions
        )
        if not tracer.numbers or happened or changed(self.environment.guards()):
            raise error
        self.traced.refusal = Refusal(
            "the step hands a tensor's value to code that takes plain numbers alone"
        )
        self.traced.result = self.function(*self.args, **self.kwargs)

    def _placed(self, refusal: Refusal) -> Refusal:
        """A refusal of the call with the lines that it is about, or one of what cannot be seen."""
        refusal.lines |= {line for *_, line in self.witness.impure if line is not None}
        refusal.callees |= self.witness.callees
        if refusal.variables is not None:
            hidden = next(
                (g for g in self.environment.relevant(self.witness) if isinstance(g, Opaque)), None
            )
            if hidden is not None:
                return self._unseen(hidden)
        return refusal

    # ---- what it did besides computing -------------------------------------------------------------------
    def _settle(self, earlier: Earlier) -> None:
        """Find what the call did besides computing: gradients left behind, and changes that a
        replay would not make.
        """
        environment, witness, tracer = self.environment, self.witness, self.tracer
        if witness.lost:
            raise Refusal(
                "the step sets a profile function, and could not be watched", witness.entry
            )
        if witness.impure:
            call, site, _ = witness.impure[0]
            raise Refusal(
                f"the step {call}, which a program could not repeat",
                site,
                [line for *_, line in witness.impure],
            )
        if witness.read is not None:
            raise Refusal(
                f"{witness.read[0]} looks at values to decide what to do",
                witness.read[1],
                [witness.read[2]],
            )
        if tracer.begun and not witness.asks_for_state and not environment.views:
            environment.begin(tracer.begun)
        if not witness.asks_for_state:
            environment.idle(tracer.stepped)
        guards = self.guards = environment.relevant(witness)
        hidden = next((g for g in guards if isinstance(g, Opaque)), None)
        if hidden is not None:
            raise self._unseen(hidden)
        self.grad_changes = earlier.changes(tracer.cleared)
        self.asked = [self.positions.get(id(t), -1) for t in earlier.asked]
        if -1 in self.asked:  # the next call finds it so
            self.traced.transient = True
            raise Refusal("the step changes requires_grad of a tensor")
        if witness.asks_for_gradients:  # whether there is one may decide what is done
            earlier.ask(tracer.needs_grad, tracer.cleared)
        self.grads_before = [
            (self._who(t), g) for t, g in earlier.read(tracer.needs_grad, tracer.external)
        ]

    def _unseen(self, hidden: Opaque) -> Refusal:
        """What is said of something whose state cannot be seen."""
        return Refusal(
            f"the step uses `{hidden.path}`, {hidden}", self.witness.entry, path=hidden.path
        )

    def _find_changes(self) -> None:
        """Find what the call changed in Python, and what of that its program's calls do again."""
        now: list[Tensor] = []
        same = flatten((self.args, self.kwargs), now) == self.structure
        if (
            not same
            or len(now) != self.count
            or any(a is not b for a, b in zip(now, self.tensors, strict=False))
        ):
            self.traced.sets_inputs = True
            raise Refusal("the step changes an argument", self.witness.entry)
        aliased = self.environment.aliased
        # Arguments that the code can also come to otherwise: they must be these again.
        self.pinned = [(k, t) for k, t in enumerate(self.tensors) if id(t) in aliased]
        self._keep_apart({k for k, _ in self.pinned})
        self.guards = self.changes.finish(
            self.guards, self.traced.result, self.witness, self.may_watch
        )

    def _keep_apart(self, pinned: set[int]) -> None:
        """Refusal where a tensor that is another one at each call shares memory with one that the
        step also comes to otherwise.
        """
        reached: dict[int, list[Tensor]] = {}
        for t in self.environment.reached:
            reached.setdefault(id(memory_of(t._array)), []).append(t)
        self.alike: list[tuple[int, Tensor, Any]] = []
        for k, t in enumerate(self.tensors):
            shared = [
                o
                for o in reached.get(id(memory_of(t._array)), ())
                if np.may_share_memory(t._array, o._array)
            ]
            if k < self.count and shared and k not in pinned:
                # As `{name: p.detach() for name, p in model.named_parameters()}`: one tensor by two
                # names, as long as it stays so.
                self.alike += [(k, o, (o._rg, o._node is None)) for o in shared]
                if not all(same_place(t, o) for o in shared):
                    self._refuse_sharing()
            others = [g for g in self.guards if g.same and g.expected is t and g.of_tensors]
            if k >= self.count and others and not shared and self.may_watch:
                raise Again(others)
            if k >= self.count and (shared or k in pinned):
                self.traced.transient = True
                raise Refusal(
                    "a tensor that the step replaces is known by two names", self.witness.entry
                )

    def _refuse_sharing(self) -> None:
        self.traced.quiet = True
        raise Refusal(
            "an argument shares memory with a tensor that the step also reaches otherwise"
        )

    # ---- what leaves it ------------------------------------------------------------------------------------
    def _name_outputs(self) -> None:
        """Name the values that leave: results, and gradients."""
        tracer, program = self.tracer, self.tracer.program
        found: list[Tensor] = []
        opened: set[int] = set()
        shape = flatten(self.traced.result, found, lambda v: self._opens(v, opened))
        if not all(self._stays(v) for v in _objects(shape)):
            raise Refusal("the step returns an object that is not a tensor, number or container")
        for leaf in self.changes.leaves():
            if all(leaf is not t for t in found):
                found.append(leaf)
        for number in tracer.living_numbers():
            if not number.settled and all(number is not t for t in found):
                raise Refusal("the step keeps a tensor's value as a number", number.site)
        self.known: dict[int, Output] = {
            id(t): Given(t) for t, _ in self.environment.tensors.values()
        }
        self.known.update((id(t), Given(k)) for k, t in enumerate(self.tensors))
        self.outputs: list[Output] = []
        self.detached: set[int] = set()
        self.differentiable: list[Tensor] = []
        self.slots: dict[int, int] = {}
        for t in found:
            self.slots[id(t)] = len(self.outputs)
            self.outputs.append(self._output(t))
        self.changes.bind(self.slots)
        self.gradients: list[tuple[Any, Value | None]] = []
        for t, g in self.grad_changes:
            value = None
            if g is not None:
                value = tracer.value(g._array, "a gradient")
                if value.buffer.kind != "temp" or not value.whole:
                    value = self._copied(value)
                program.outputs.append(value)
            self.gradients.append((self._who(t), value))
        self.split = len(program.instructions)
        self.seeds: list[Value] = []
        self.wanted: list[Any] = []
        self.reached: list[list[int]] = []
        self.returned: list[Value | None] = []
        if self.differentiable:
            self._trace_backward()

    def _is_new(self, value: Any) -> bool:
        """Whether a call can make an object of a result again: it is its class and its attributes,
        and was not there before.
        """
        return is_record(value) and not self.changes.known(value)

    def _opens(self, value: Any, opened: set[int]) -> bool:
        """`_is_new`; Refusal where copies would not be what the object is."""
        if not self._is_new(value):
            return False
        if id(value) in opened:
            raise Refusal("the step returns an object twice, or one that holds itself")
        opened.add(id(value))
        held: list[Any] = []
        flatten([*vars(value).values()], held)
        if any(is_read(v) for v in held):
            raise Refusal("the step returns an object that keeps a tensor's value as a number")
        return True

    @staticmethod
    def _stays(value: Any) -> bool:
        """Whether a result holds the same object at each call: a word of the library, or a class."""
        return (
            isinstance(value, (dtype, device, layout, memory_format))
            or isinstance(value, type)
            and "<locals>" not in value.__qualname__
        )

    def _output(self, t: Any) -> Output:
        """How a number or tensor of the call leaves it."""
        tracer, program = self.tracer, self.tracer.program
        if is_read(t):
            return Number([self._term(*term) for term in t.terms], t.compute)
        known = self.known.get(id(t))
        if known is not None:
            return known
        value = tracer.value(t._array, "the result")
        if value.buffer.kind in ("input", "state") and not has_hooks(t):
            view = view_of(t, [*self.tensors, *[t for t, _ in self.environment.tensors.values()]])
            if view is not None and all(
                v.buffer is not value.buffer for i in program.instructions for v in i.writes
            ):
                return ViewOf(self._who(view[0]), view[1])
        if t.is_inference() is not local.inference:
            raise Refusal(
                "the step returns a tensor of another inference mode than the one around it"
            )
        if value.buffer.kind == "constant":
            value = self._copied(value)
        program.outputs.append(value)
        made = New(value, t._rg, t._rg and is_spent(t))
        if made.joins:
            self.differentiable.append(t)
        if t._view is None or not t._view.base._rg:
            self.detached.add(len(self.outputs))
        return made

    def _who(self, t: Tensor) -> Any:
        """A tensor of the call: an argument by its position, since it is another one at the next
        call; state as it is.
        """
        return self.positions.get(id(t), t)

    def _term(self, value: Any, after: Any) -> Any:
        """What a number that leaves is made of: one that the call is given, by its position, or
        what the program computes.
        """
        if isinstance(value, Later):
            return value.position
        given = self.tracer.given.get(value.buffer)
        return self._kept_number(value, after) if given is None else given

    def _kept_number(self, value: Value, after: Any) -> Value:
        """Memory that still holds, at the end of the call, the number that was read when `after`
        had run.
        """
        program = self.tracer.program
        later = (
            program.instructions[program.instructions.index(after) + 1 :]
            if after is not None
            else program.instructions
        )
        if (
            value.buffer.kind != "temp"
            or not value.whole
            or any(v.buffer is value.buffer for i in later for v in i.writes)
        ):
            copy = self._copied(value)
            place = len(program.instructions) - len(later) if after is not None else 0
            program.instructions.insert(place, program.instructions.pop())
            value = copy
        program.outputs.append(value)
        return value

    def _copied(self, value: Value) -> Value:
        program = self.tracer.program
        made = program.value(program.buffer("temp", max(value.nbytes, 1)), value.dtype, value.shape)
        program.add("copy", (value,), (made,), kind="copy")
        return made

    # ---- its second half -----------------------------------------------------------------------------------
    def _trace_backward(self) -> None:
        """The gradients of the results with respect to arguments and state, as the second half of
        the program.
        """
        tracer, outs = self.tracer, self.differentiable
        leaves = [t for t in self.tensors if t._rg]
        leaves += [
            t
            for t in {id(t): t for t in self.environment.found}.values()
            if t._rg and all(t is not o for o in leaves)
        ]
        if not leaves:
            raise Refusal(
                "the result requires grad through a tensor that is no argument and not found from one"
            )
        if any(t.is_leaf for t in outs):
            raise Refusal("the step returns a tensor that it has made require grad")
        seeds = []
        for k, t in enumerate(outs):
            if has_hooks(t):
                raise Refusal("the step leaves a graph with hooks behind")
            seed = wrap(np.ones(t._array.shape, t._array.dtype))
            self.seeds.append(
                tracer.declare(seed._array, "input", f"g{k}" if len(outs) > 1 else "g")
            )
            seeds.append(seed)
        got = self._gradients(outs, leaves, seeds)
        if got is None:
            return
        if tracer.refusal is not None:
            raise tracer.refusal
        found_below = [below(t, {place_of(leaf) for leaf in leaves}) for t in outs]
        for t, g in zip(leaves, got, strict=True):
            if g is not None:
                self.wanted.append(self._who(t))
                self.reached.append(
                    [k for k, found in enumerate(found_below) if place_of(t) in found]
                )
                value = tracer.value(g._array, "a gradient")
                if (
                    value.buffer.kind != "temp"
                    or not value.whole
                    or value in tracer.program.outputs
                ):
                    value = self._copied(value)
                tracer.program.outputs.append(value)
                self.returned.append(value)

    def _gradients(self, outs: list[Tensor], leaves: list[Tensor], seeds: list[Tensor]) -> Any:
        """Gradients of `outs` in `leaves`, traced; None where there can be none, which is what
        eager says to a caller who asks for them.
        """
        tracer, environment = self.tracer, self.environment
        tracer.phase = "backward"
        tracer.outside = True  # an argument may have been computed from the parameters, too
        tracer.changed = lambda: bool(changed(environment.guards()))
        # A checkpoint computes again what it computed, and writes again (running statistics): not
        # yet, nobody has asked for gradients.
        written = {v.buffer for i in tracer.program.instructions[: self.split] for v in i.writes}
        before = [
            (tracer.external[b], tracer.external[b].copy()) for b in written if b in tracer.external
        ]
        try:
            with tracer.active(), _uncast(off=True):
                return reverse.grad(
                    outs, leaves, seeds, retain_graph=True, create_graph=False, allow_unused=True
                )
        except Refusal:
            raise
        except Exception as error:
            pass_on(error)
            known = facts_of(error)
            # the caller may never ask for gradients
            if known is None or known.kind is not GraphError:
                raise Refusal(f"its gradient raises {type(error).__name__}") from error
            # What eager says to a caller who asks for gradients, too: the step overwrote what they
            # need.
            if len(outs) > 1:  # some of them may have gradients
                raise Refusal(
                    f"the gradient of one of its results raises {type(error).__name__}"
                ) from error
            del tracer.program.instructions[self.split :]
            told = error.with_traceback(None)
            self.outputs = [
                replace(o, spent=told) if type(o) is New and o.joins else o for o in self.outputs
            ]
            self.seeds, self.differentiable = [], []
            return None
        finally:
            for array, held in before:
                array[...] = held

    # ---- the version ---------------------------------------------------------------------------------------
    def _version(self) -> Version:
        """The records of a version."""
        tracer, program = self.tracer, self.tracer.program
        program.verify()
        forward, backward = program.instructions[: self.split], program.instructions[self.split :]
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
        used_backward = {
            v.buffer for i in backward for v in (*i.reads(), *i.made()) if v.buffer.kind == "temp"
        }
        kept = sorted(made_forward & used_backward, key=lambda b: b.number)
        leaving = buffers_of(self.outputs) + [v.buffer for _, v in self.gradients if v is not None]
        self.external = {b: a for b, a in tracer.external.items() if b not in dynamic}
        storage = Storage(tracer.contents, self.external, tracer.roots, arena=self.arena)
        run = executable(program.part(forward, dynamic, dict.fromkeys([*leaving, *kept])), storage)
        effects = SideEffects(
            self.changes.effects, self.changes.calls, self.outputs, tracer.partial
        )
        decides, effects.undoing = self._undoing(forward, dynamic, run)
        half = None
        if self.seeds:
            assert not [
                v
                for i in backward
                for v in i.reads()
                if v.buffer in leaving and v.buffer not in kept
            ]
            half = self._second_half(program, backward, [*dynamic, *kept], kept, storage)
        written = {v.buffer for i in program.instructions for v in i.writes}
        # How often each counts as overwritten: a write to `x.data` does not count.
        overwrites = [
            (k, self.writes[id(self.tensors[k])])
            for k, v in enumerate(self.inputs)
            if v.buffer in written
        ]
        admission = self._admission([k for k, _ in overwrites], written)
        counted = {id(version_of(t)): (t, self.writes.get(id(t), 0)) for t, _ in admission.state}
        code = Code(
            program,
            run,
            half,
            self.moving,
            computed,
            overwrites,
            [(t, n) for t, n in counted.values() if n],
            decides,
        )
        admission.state += run.holders
        self._check(admission)
        skeleton = rebuild(self.traced.result, lambda t: Slot(self.slots[id(t)]), self._is_new)
        single = isinstance(skeleton, Slot) and skeleton.place == 0
        results = Results(
            self.outputs,
            skeleton,
            single,
            self.gradients,
            self.asked,
            self.detached,
            self._bases(),
            run.memory,
            {},
        )
        plain = (
            admission.checked
            and (admission.bare or admission.unpack is not None)
            and half is None
            and not self.moving
        )
        plain = plain and all(type(o) in (New, Number) for o in self.outputs)
        given = len(self.inputs) + len(computed)
        return Version(
            admission,
            results,
            effects,
            code,
            direct(results, given, code.written) if plain else None,
        )

    def _moving(self) -> tuple[list[Any], list[Buffer]]:
        """Gradients that existed at the start, another array at each call: of whom, and their
        buffers.
        """
        there = {id(g._array): who for who, g in self.grads_before if g is not None}
        found = [
            (there[id(a)], b)
            for b, a in self.tracer.external.items()
            if b.kind == "state" and id(a) in there
        ]
        return [who for who, _ in found], [b for _, b in found]

    def _drifting(self, dynamic: list[Buffer]) -> list[tuple[Tensor, Buffer]]:
        """Tensors that have had other memory at other calls (`teacher.data = average`) are given to
        the program at each call, as long as it only reads them and nobody else looks into their
        memory.
        """
        written = {v.buffer for i in self.tracer.program.instructions for v in i.writes}
        roots = Counter(
            id(memory_of(t._array)) for t in self.environment.found if type(t._array) is ndarray
        )
        found: list[tuple[Tensor, Buffer]] = []
        for buffer, array in self.tracer.external.items():
            t = self._holder(array)
            if (
                t is None
                or id(t) not in self.drifting
                or buffer.kind != "state"
                or buffer in written
                or buffer in dynamic
            ):
                continue
            if t._array is array and t._view is None and roots[id(memory_of(array))] == 1:
                found.append((t, buffer))
        return found

    def _undoing(
        self, forward: list[Instruction], dynamic: list[Buffer], run: Executable
    ) -> tuple[bool, Undoing | None]:
        """Whether the program decides with values; and what a call whose decisions fall otherwise
        has done by then, and must undo. So must one that changes Python objects, and fails. None:
        there is nothing to undo.
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

    def _second_half(
        self,
        program: Program,
        backward: list[Instruction],
        given: list[Buffer],
        kept: list[Buffer],
        storage: Storage,
    ) -> Backward:
        made = dict.fromkeys(v.buffer for v in self.returned if v is not None)
        # What forward has handed on may lie in its arena.
        storage = replace(storage, arena=None if self.arena is None else self.arena.backward)
        run = executable(
            program.part(backward, [*given, *[v.buffer for v in self.seeds]], made), storage
        )
        reading = {v.buffer for i in backward for v in i.reads()}
        read: list[Any] = [k for k, v in enumerate(self.inputs) if v.buffer in reading]
        state = [(t, a) for a in self.external.values() for t in [self._holder(a)] if t is not None]
        read += [t for t, a in state if any(self.external.get(b) is a for b in reading)]
        read += [t for t, b in self.drift if b in reading]
        results = [
            k for k, o in enumerate(self.outputs) if type(o) is New and o.value.buffer in reading
        ]
        return Backward(
            run, kept, self.seeds, self.wanted, self.reached, self.returned, read, results
        )

    def _bases(self) -> dict[Buffer, Any]:
        """In whose memory results may lie."""
        based: dict[Buffer, Any] = {v.buffer: k for k, v in enumerate(self.inputs)}
        based.update(
            (b, t) for b, a in self.external.items() for t in [self._holder(a)] if t is not None
        )
        based.update((b, t) for t, b in self.drift)
        return based

    def _admission(self, overwritten: list[int], written: Container[Buffer]) -> Admission:
        """When calls are served; without the state of updates, and the check."""
        state = [(t, a) for a in self.external.values() for t in [self._holder(a)] if t is not None]
        # What looks into the same memory must go on doing so: values are known by where they lie.
        roots, known = {id(memory_of(a)) for a in self.external.values()}, {id(t) for t, _ in state}
        beside = [t for t in self.environment.found if type(t._array) is ndarray]
        state += [
            (t, t._array) for t in beside if id(memory_of(t._array)) in roots and id(t) not in known
        ]
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
            drift=[(t, (t._array.shape, t._array.dtype, t._array.strides)) for t, _ in self.drift],
            requires_grad=[],
            grads=self.grads_before,
            grads_overwritten=[
                who for who, b in zip(self.moving, self.moving_buffers, strict=True) if b in written
            ],
            kept=self.environment.kept,
            own_roots=set(),
        )

    def _check(self, a: Admission) -> None:
        """How all that is compared, once it is complete."""
        a.own_roots = {id(memory_of(array)) for _, array in a.state}
        held = [t for t, _ in (*a.state, *a.drift)]
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
        a.unpack = None if self.kwargs or a.bare else unpacker(flatten(self.args, []), self.lift)
        a.check = checker(a, self.tensors)
        of_arguments = any(type(who) is int for who, _ in (*self.gradients, *a.grads))
        a.checked = a.check is not None and not (
            a.sharing.shared or self.asked or of_arguments or a.drift or a.alike
        )

    def _holder(self, array: ndarray) -> Tensor | None:
        found = self.environment.tensors.get(id(array))
        return None if found is None else found[0]


@contextmanager
def _uncast(off: bool = False) -> Iterator[None]:
    """Autocast around the call as it is, but with nothing cast so far, or switched off: what was
    cast before is unknown to a program.
    """
    around = thread.stack.autocast
    with playing("autocast", None if off or around is None else around.anew()):
        yield


def _writes(t: Tensor) -> int:
    """How often a tensor has been overwritten; nobody counts that of tensors of inference mode."""
    version = t._ver
    return 0 if version is None or type(version) is InferenceVersion else version.count


def _objects(shape: Any) -> Iterator[Any]:
    """What in a description is neither a tensor nor a number nor a container."""
    if isinstance(shape, tuple):
        if len(shape) == 2 and shape[0] == "object":
            yield shape[1].value
        for s in shape:
            yield from _objects(s)
