"""One traced version of a function: its program bound to memory, the guards under which it holds, and how results leave it."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
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
from ...errors import GraphError, facts_of, pass_on
from ...ir import Buffer, Value
from ..capture.changes import Changes
from ..capture.checking import checker, split, unpacker
from ..capture.earlier import Earlier
from ..capture.effects import Again, Growing, counts, written_by
from ..capture.environment import Surroundings
from ..capture.graph_breaks import body_of
from ..capture.guards import Guard, Opaque, changed
from ..capture.structure import Slot, carried_back, flatten, lifted, masked, numbers_in, rebuild
from ..capture.witness import Witness
from ..marks import Marks
from ..trace.arrays import memory_of, numpy_dtype
from ..trace.control_flow import Later
from ..trace.numbers import is_read, settle
from ..trace.refusal import Refusal, refusal_of
from ..trace.tracer import Tracer
from .calls import Calls, flags, same_place, signature
from .execute import Storage, executable
from .node import below, has_hooks, is_spent, place_of, spent_slot, view_of
from .sharing import Sharing


# ---- a traced version ------------------------------------------------------------------------------
class Version(Calls):
    """A program for one kind of call."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], whole: bool = False,
        lift: frozenset[int] = frozenset(), watched: Sequence[Guard] = (), may_watch: bool = True,
        drifting: Container[int] = (),
    ) -> None:  # fmt: skip
        self.function = function
        # What may be others, too, in attributes, globals and the like: numbers; tensors; and lists that are appended to.
        logs = [g for g in watched if isinstance(g, Growing)]
        self.watched = [g for g in watched if not isinstance(g, Growing) and g.of_a_number]
        self.places = [g for g in watched if not isinstance(g, Growing) and not g.of_a_number]
        self.may_watch = may_watch
        self.lift = lift  # which of the numbers among the arguments may be others at each call
        self.flags = flags()
        self.refusal: Refusal | None = None
        self.transient = False  # the next call may be compiled
        self.sets_inputs = False  # whether it changes what is another one at each call, and so cannot do without
        self.quiet = False  # nothing is wrong: a call of another kind may be
        self.found: list[Guard] = []  # places that should be inputs at the next call
        self.drifting = drifting  # tensors that may have other memory at each call, by identity
        self.drifted: list[Tensor] = []  # those that had when `why_not` was asked last
        self.hits = 0
        self.uses_graphs = False  # whether its code does more with graphs than to call `backward`
        self.culprit: Guard | None = None  # the guard that did not hold when `why_not` was asked last
        self._lock = threading.Lock()
        try:
            self._trace(args, kwargs, whole, logs)
        finally:
            if hasattr(self, "tracer"):
                settle(self.tracer.living_numbers())
                self.tracer.forget()
                del self.tracer

    # ---- tracing -----------------------------------------------------------------------------------
    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any], whole: bool, logs: list[Any]) -> None:
        tensors: list[Tensor] = []
        structure = flatten((args, kwargs), tensors)
        self.kind_of_call, self.numbers = masked(structure, None), numbers_in(structure)
        self.structure_key = masked(structure, lift) if (lift := self.lift) else structure
        count_of_args = self.count_of_args = len(tensors)
        self.places_key = flatten([g.now() for g in self.places], tensors)
        around = self.around = Surroundings(self.function, args, kwargs, self.places, logs)
        self.signature = signature(tensors)
        self.positions = {id(t): k for k, t in enumerate(tensors)}
        tracer = self.tracer = Tracer(around, whole)
        leaves = {id(t): t for t, _ in around.tensors.values()}
        leaves.update((id(t), t) for t in tensors)
        earlier = tracer.earlier = Earlier(leaves, around)
        if not around.complete:
            tracer.refuse("the function can reach too many objects to watch", None)
        if any(type(t._array) is not ndarray for t in tensors):
            tracer.refuse("an argument has no data, or is of a custom kind")
        else:
            arrays = [t._array for t in tensors]
            self.sharing = Sharing(arrays)
            if self.sharing.strange:
                tracer.refuse("two arguments share memory that is no tensor's")
            self.inputs = self.sharing.declare(tracer, arrays)
        body = body_of(self.function)
        tracer.root = None if body is None else body.__code__
        witness = tracer.witness = Witness(tracer.root)
        changes = tracer.changes = Changes(around, tracer, [*self.watched, *logs], self.places)
        streams = around.drawn()
        tracer.began = count()
        # Weakly: a gradient that the call clears is to be let go.
        versions = [(weakref.ref(t), _writes(t)) for t in (*tensors, *around.found)]
        marks = Marks([*tensors, *around.found])
        try:
            copies: list[Any] = []
            given: Any = (args, kwargs)
            if self.lift:
                given = lifted(given, self.lift, tracer.number_given, itertools.count(), copies)
            try:
                with changes.following(), tracer.active(), witness.watching(), _uncast():
                    self.first = self.function(*given[0], **given[1])
            finally:
                carried_back(copies)
                del given, copies
                self.sets_inputs = bool(changes.moved or logs) or any(
                    p.now() is not start for p, start in zip(self.places, changes.at_start, strict=True)
                )
        except TypeError as error:
            self._again(error, args, kwargs)
            return
        self.writes = {id(t): _writes(t) - n for ref, n in versions if (t := ref()) is not None}
        if flags() != self.flags:
            tracer.refuse("the step changes a mode or a setting of the library for good", witness.entry)
        if around.drawn() != streams:
            tracer.refuse("the step draws random numbers past this library, which a program could not repeat", witness.entry)
        self.refusal = tracer.refusal
        self.uses_graphs = witness.uses_graphs
        try:
            if self.refusal is not None:
                self.refusal.lines |= {line for *_, line in witness.impure if line is not None}
                if self.refusal.variables is not None:
                    hidden = next((g for g in around.relevant(witness) if isinstance(g, Opaque)), None)
                    if hidden is not None:
                        self.refusal = self._unseen(hidden, witness)
                return
            self._settle(around, witness, earlier)
            if witness.asks_for_graphs and any(t._node is not None for t in tensors):
                raise Refusal("the step looks at the graph of an argument, another one at each call", witness.entry)
            self.marks = marks.settle(self.first, self.guards, around, witness)
            self._changes(changes, witness, tensors, count_of_args, structure, args, kwargs)
            self._results(tensors, around)
            self._build(around, tensors, args, kwargs)
            self.skeleton = rebuild(self.first, lambda t: Slot(self.slots[id(t)]))
            self.single = isinstance(self.skeleton, Slot) and self.skeleton.place == 0
            self.program = tracer.program
            del self.around, self.differentiable, self.slots, self.grad_changes, self.changes, self.positions, self.writes
        except Refusal as refusal:
            # Without the traceback, whose frames refer to this object: the values of the step would live until a collection.
            self.refusal = refusal.with_traceback(None)
            self.found = refusal.places if isinstance(refusal, Again) else []
            self.transient |= getattr(refusal, "transient", False)
        except Exception as error:  # a fault of the compiler's: the call itself has been made, and later ones can be made eagerly
            self.refusal = refusal_of(error)
            pass_on(error)
        finally:
            if tracer.numbers:
                self.first = rebuild(self.first, lambda t: t if isinstance(t, Tensor) else t.plain)

    def _again(self, error: TypeError, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A TypeError during tracing: where it may be one of a watched number's, and nothing has happened yet, the call is made without."""
        tracer = self.tracer
        happened = any(i.kind == "call" or any(v.buffer.kind != "temp" for v in i.writes) for i in tracer.program.instructions)
        if not tracer.numbers or happened or changed(self.around.guards()):
            raise error
        self.refusal = Refusal("the step hands a tensor's value to code that takes plain numbers alone")
        self.first = self.function(*args, **kwargs)

    def _settle(self, around: Surroundings, witness: Witness, earlier: Earlier) -> None:
        """Find what the call did besides computing: gradients left behind, and changes that a replay would not make."""
        if witness.lost:
            raise Refusal("the step sets a profile function, and could not be watched", witness.entry)
        if witness.impure:
            call, site, _ = witness.impure[0]
            raise Refusal(f"the step {call}, which a program could not repeat", site, [line for *_, line in witness.impure])
        if witness.read is not None:
            raise Refusal(f"{witness.read[0]} looks at values to decide what to do", witness.read[1])
        if self.tracer.begun and not witness.asks_for_state and not around.views:
            around.begin(self.tracer.begun)
        if not witness.asks_for_state:
            around.idle(self.tracer.stepped)
        guards = self.guards = around.relevant(witness)
        self.asks_types = witness.loads("type")
        hidden = next((g for g in guards if isinstance(g, Opaque)), None)
        if hidden is not None:
            raise self._unseen(hidden, witness)
        self.kept = around.kept  # objects that guards know by their identity
        self.grad_changes = earlier.changes(self.tracer.cleared)
        self.asked = [self.positions.get(id(t), -1) for t in earlier.asked]
        if -1 in self.asked:  # the next call finds it so
            self.transient = True
            raise Refusal("the step changes requires_grad of a tensor")
        if witness.asks_for_gradients:  # where there is none may decide what is done
            earlier.ask(self.tracer.needs_grad, self.tracer.cleared)
        self.grads_before = [(self._who(t), g) for t, g in earlier.read(self.tracer.needs_grad, self.tracer.external)]

    @staticmethod
    def _unseen(hidden: Opaque, witness: Witness) -> Refusal:
        """What is said of something whose state cannot be seen."""
        return Refusal(f"the step uses `{hidden.path}`, {hidden}", witness.entry, path=hidden.path)

    def _changes(
        self, changes: Changes, witness: Witness, tensors: list[Tensor], count: int, structure: Any, args: Any, kwargs: Any
    ) -> None:  # fmt: skip
        """Find what the call changed in Python, and what of that its program's calls do again."""
        now: list[Tensor] = []
        same = flatten((args, kwargs), now) == structure
        if not same or len(now) != count or any(a is not b for a, b in zip(now, tensors, strict=False)):
            self.sets_inputs = True
            raise Refusal("the step changes an argument", witness.entry)
        aliased = self.around.aliased
        # Arguments that the code can also come to otherwise: they must be these again.
        self.pinned = [(k, t) for k, t in enumerate(tensors) if id(t) in aliased]
        self._apart(tensors, count, {k for k, _ in self.pinned}, witness)
        self.guards = changes.finish(self.guards, self.first, witness, self.may_watch)
        self.changes = changes
        self.effects, self.calls = changes.effects, changes.calls
        self.early = [e for e in self.effects if e.stage < 0]
        self.count_of_numbers = self.tracer.count

    def _apart(self, tensors: list[Tensor], count: int, pinned: set[int], witness: Witness) -> None:
        """Refusal where a tensor that is another one at each call shares memory with one that the step also comes to otherwise."""
        reached: dict[int, list[Tensor]] = {}
        for t in self.around.reached:
            reached.setdefault(id(memory_of(t._array)), []).append(t)
        self.alike: list[tuple[int, Tensor, Any]] = []
        for k, t in enumerate(tensors):
            shared = [o for o in reached.get(id(memory_of(t._array)), ()) if np.may_share_memory(t._array, o._array)]
            if k < count and shared and k not in pinned:
                # As `{name: p.detach() for name, p in model.named_parameters()}`: one tensor by two names, as long as it stays so.
                self.alike += [(k, o, (o._rg, o._node is None)) for o in shared]
                if not all(same_place(t, o) for o in shared):
                    self._refuse_sharing()
            others = [g for g in self.guards if g.same and g.expected is t and g.of_tensors]
            if k >= count and others and not shared and self.may_watch:
                raise Again(others)
            if k >= count and (shared or k in pinned):
                self.transient = True
                raise Refusal("a tensor that the step replaces is known by two names", witness.entry)

    def _refuse_sharing(self) -> None:
        self.quiet = True
        raise Refusal("an argument shares memory with a tensor that the step also reaches otherwise")

    def _results(self, tensors: list[Tensor], around: Surroundings) -> None:
        """Name the values that leave: results, and gradients."""
        tracer, program = self.tracer, self.tracer.program
        found: list[Tensor] = []
        shape = flatten(self.first, found)
        if "object" in _kinds(shape):
            raise Refusal("the step returns an object that is no tensor, number or container")
        for leaf in self.changes.leaves():
            if all(leaf is not t for t in found):
                found.append(leaf)
        self.outputs: list[tuple[Any, ...]] = []
        self.detached: set[int] = set()  # which of them may be written to, also where they look into a tensor that requires grad
        known = {id(t): ("argument", k) for k, t in enumerate(tensors)}
        known = {id(t): ("state", t) for t, _ in around.tensors.values()} | known
        bases = [*tensors, *[t for t, _ in around.tensors.values()]]
        self.differentiable: list[Tensor] = []
        self.slots: dict[int, int] = {}
        for number in tracer.living_numbers():
            if not number.settled and all(number is not t for t in found):
                raise Refusal("the step keeps a tensor's value as a number", number.site)
        for t in found:
            self.slots[id(t)] = len(self.outputs)
            if is_read(t):
                terms = [self._term(*term) for term in t.terms]  # type: ignore[attr-defined]
                self.outputs.append(("number", terms, t.compute, False))  # type: ignore[attr-defined]
                continue
            if id(t) in known:
                self.outputs.append(known[id(t)])
                continue
            value = tracer.value(t._array, "the result")
            known_view = view_of(t, bases) if value.buffer.kind in ("input", "state") and not has_hooks(t) else None
            if known_view is not None:
                if all(v.buffer is not value.buffer for i in program.instructions for v in i.writes):
                    self.outputs.append(("view", self._who(known_view[0]), known_view[1]))
                    continue
            if t.is_inference() is not local.inference:
                raise Refusal("the step returns a tensor of another inference mode than the one around it")
            if value.buffer.kind == "constant":
                value = self._copied(value)
            program.outputs.append(value)
            spent = t._rg and is_spent(t)
            if t._rg and not spent:
                self.differentiable.append(t)
            if t._view is None or not t._view.base._rg:
                self.detached.add(len(self.outputs))
            self.outputs.append(("new", value, t._rg, spent))
        self.changes.bind(self.slots)
        self.gradients: list[tuple[Any, Value | None]] = []  # positions among the arguments, or state
        for t, g in self.grad_changes:
            if g is None:
                self.gradients.append((self._who(t), None))
                continue
            value = tracer.value(g._array, "a gradient")
            if value.buffer.kind != "temp" or not value.whole:
                value = self._copied(value)
            program.outputs.append(value)
            self.gradients.append((self._who(t), value))
        self.split = len(program.instructions)
        self.seeds: list[Value] = []
        self.wanted: list[Any] = []  # leaves: positions among the arguments, or state
        self.reached: list[list[int]] = []  # for each of them, the results that come from it
        self.returned: list[Value | None] = []
        if self.differentiable:
            self._trace_backward(tensors, around)

    def _who(self, t: Tensor) -> Any:
        """A tensor of the call: an argument by its position, since it is another one at the next call; state as it is."""
        return self.positions.get(id(t), t)

    def _term(self, value: Any, after: Any) -> Any:
        """What a number that leaves is made of: one that the call is given, by its position, or what the program computes."""
        if isinstance(value, Later):
            return value.position
        given = self.tracer.given.get(value.buffer)
        return self._kept_number(value, after) if given is None else given

    def _kept_number(self, value: Value, after: Any) -> Value:
        """Memory that still holds, at the end of the call, the number that was read when `after` had run."""
        program = self.tracer.program
        later = program.instructions[program.instructions.index(after) + 1 :] if after is not None else program.instructions
        if value.buffer.kind != "temp" or not value.whole or any(v.buffer is value.buffer for i in later for v in i.writes):
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

    def _trace_backward(self, tensors: list[Tensor], around: Surroundings) -> None:
        """The gradients of the results with respect to arguments and state, as the second half of the program."""
        tracer = self.tracer
        leaves = [t for t in tensors if t._rg]
        leaves += [t for t in {id(t): t for t in around.found}.values() if t._rg and all(t is not o for o in leaves)]
        if not leaves:
            raise Refusal("the result requires grad through a tensor that is no argument and not found from one")
        outs = self.differentiable
        if any(t.is_leaf for t in outs):
            raise Refusal("the step returns a tensor that it has made require grad")
        seeds = []
        for k, t in enumerate(outs):
            if has_hooks(t):
                raise Refusal("the step leaves a graph with hooks behind")
            seed = wrap(np.ones(t._array.shape, t._array.dtype))
            self.seeds.append(tracer.declare(seed._array, "input", f"g{k}" if len(outs) > 1 else "g"))
            seeds.append(seed)
        tracer.phase = "backward"
        tracer.outside = True  # an argument may have been computed from the parameters, too
        tracer.changed = lambda: bool(changed(self.around.guards()))
        # A checkpoint computes again what it computed, and writes again (running statistics): not yet, nobody has asked for gradients.
        written = {v.buffer for i in tracer.program.instructions[: self.split] for v in i.writes}
        before = [(tracer.external[b], tracer.external[b].copy()) for b in written if b in tracer.external]
        try:
            with tracer.active(), _uncast(off=True):
                got = reverse.grad(outs, leaves, seeds, retain_graph=True, create_graph=False, allow_unused=True)
        except Refusal:
            raise
        except Exception as error:
            pass_on(error)
            known = facts_of(error)
            if known is None or known.kind is not GraphError:  # the caller may never ask for gradients
                raise Refusal(f"its gradient raises {type(error).__name__}") from error
            # What eager says to a caller who asks for gradients, too: the step overwrote what they need.
            if len(outs) > 1:  # some of them may have gradients
                raise Refusal(f"the gradient of one of its results raises {type(error).__name__}") from error
            del tracer.program.instructions[self.split :]
            told = error.with_traceback(None)
            self.outputs = [(*o[:3], told) if o[0] == "new" and o[2] and not o[3] else o for o in self.outputs]
            self.seeds, self.differentiable = [], []
            return
        finally:
            for array, held in before:
                array[...] = held
        if tracer.refusal is not None:
            raise tracer.refusal
        found_below = [below(t, {place_of(leaf) for leaf in leaves}) for t in outs]
        for t, g in zip(leaves, got, strict=True):
            if g is not None:
                self.wanted.append(self._who(t))
                self.reached.append([k for k, found in enumerate(found_below) if place_of(t) in found])
                value = tracer.value(g._array, "a gradient")
                if value.buffer.kind != "temp" or not value.whole or value in tracer.program.outputs:
                    value = self._copied(value)
                tracer.program.outputs.append(value)
                self.returned.append(value)

    # ---- binding -----------------------------------------------------------------------------------
    def _let_drift(self, dynamic: list[Buffer]) -> None:
        """Tensors that have had other memory at other calls (`teacher.data = average`) are given to the program at each call, as long as
        it only reads them and nobody else looks into their memory.
        """
        external = self.tracer.external
        written = {v.buffer for i in self.tracer.program.instructions for v in i.writes}
        roots = Counter(id(memory_of(t._array)) for t in self.around.found if type(t._array) is ndarray)
        self.drift: list[tuple[Tensor, tuple[Any, ...]]] = []
        self.drift_buffers: list[Buffer] = []
        for buffer, array in external.items():
            t = self._holder(array)
            if (
                buffer.kind == "state"
                and t is not None
                and id(t) in self.drifting
                and buffer not in written
                and buffer not in dynamic
            ):
                if t._array is array and t._view is None and roots[id(memory_of(array))] == 1:
                    self.drift.append((t, (array.shape, array.dtype, array.strides)))
                    self.drift_buffers.append(buffer)
        dynamic += self.drift_buffers

    def _build(self, around: Surroundings, tensors: list[Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        tracer, program = self.tracer, self.tracer.program
        program.verify()
        forward, backward = program.instructions[: self.split], program.instructions[self.split :]
        dynamic = [self.inputs[group[0]].buffer for group in self.sharing.groups]
        gradient_state = {id(g._array): (t, g) for t, g in self.grads_before if g is not None}
        self.moving: list[Any] = []  # gradients that existed at the start: another array at each call
        moving_buffers: list[Buffer] = []
        for buffer, array in tracer.external.items():
            if buffer.kind == "state" and id(array) in gradient_state:
                self.moving.append(gradient_state[id(array)][0])
                dynamic.append(buffer)
                moving_buffers.append(buffer)
        read = {v.buffer for i in program.instructions for v in i.reads()} | {v.buffer for v in program.outputs}
        self._let_drift(dynamic)
        self.computed = [c for c in tracer.computed if c[0] in read]
        self.partial = tracer.partial
        dynamic += [buffer for buffer, *_ in self.computed]
        made_forward = {v.buffer for i in forward for v in i.made() if v.buffer.kind == "temp"}
        used_backward = {v.buffer for i in backward for v in (*i.reads(), *i.made()) if v.buffer.kind == "temp"}
        self.saved = sorted(made_forward & used_backward, key=lambda b: b.number)
        leaving = [o[1].buffer for o in self.outputs if o[0] == "new" and o[1].buffer.kind == "temp"]
        leaving += [v.buffer for o in self.outputs if o[0] == "number" for v in _values(o)]
        leaving += [v.buffer for _, v in self.gradients if v is not None]
        fresh = list(dict.fromkeys([*leaving, *self.saved]))
        external = {b: a for b, a in tracer.external.items() if b not in dynamic}
        storage = Storage(tracer.contents, external, tracer.roots)
        self.run = executable(program.part(forward, dynamic, fresh), storage)
        self.run_back = None
        self.undone = self._undoing(forward, dynamic, external)
        self._plan_changes()
        if self.seeds:
            dynamic_back = [*dynamic, *self.saved, *[v.buffer for v in self.seeds]]
            fresh_back = list(dict.fromkeys(v.buffer for v in self.returned if v is not None))
            crossing = [v.buffer for i in backward for v in i.reads() if v.buffer in leaving and v.buffer not in self.saved]
            assert not crossing
            self.run_back = executable(program.part(backward, dynamic_back, fresh_back), storage)
        reading = {v.buffer for i in backward for v in i.reads()}
        self.read_back: list[Any] = [k for k, v in enumerate(self.inputs) if v.buffer in reading]
        self.state = [(t, a) for a in external.values() for t in [self._holder(a)] if t is not None]
        written = {v.buffer for i in program.instructions for v in i.writes}
        # How often each counts as overwritten: a write to `x.data` does not count.
        self.overwrites = [(k, self.writes[id(tensors[k])]) for k, v in enumerate(self.inputs) if v.buffer in written]
        self.moving_written = [who for who, b in zip(self.moving, moving_buffers, strict=True) if b in written]
        self.based: dict[Buffer, Any] = {v.buffer: k for k, v in enumerate(self.inputs)}  # in whose memory results may lie
        self.based.update((b, t) for b, a in external.items() for t in [self._holder(a)] if t is not None)
        self.read_back += [t for t, a in self.state if any(external.get(b) is a for b in reading)]
        drift = list(zip([t for t, _ in self.drift], self.drift_buffers, strict=True))
        self.based.update((b, t) for t, b in drift)
        self.read_back += [t for t, b in drift if b in reading]
        self.read_results = [k for k, o in enumerate(self.outputs) if o[0] == "new" and o[1].buffer in reading]
        # What looks into the same memory must go on doing so: values are known by where they lie.
        roots, known = {id(memory_of(a)) for a in external.values()}, {id(t) for t, _ in self.state}
        beside = [t for t in around.found if type(t._array) is ndarray]
        self.state += [(t, t._array) for t in beside if id(memory_of(t._array)) in roots and id(t) not in known]
        counted = {id(version_of(t)): (t, self.writes.get(id(t), 0)) for t, _ in self.state}
        self.written = [(t, n) for t, n in counted.values() if n]
        self.state += self.run.holders
        modules = [m for m, _ in around.modules]
        covered, others = self.seldom, self.always = split(self.guards, modules)
        grads = [(t, g) for t, g in self.grads_before if isinstance(t, Tensor)]
        plain = all(t._x is None for t in tensors)  # what may have hooks is compared by `signature`
        self.bare = not kwargs and all(isinstance(a, Tensor) for a in args) and len(args) == self.count_of_args
        self.unpack = None if kwargs or self.bare else unpacker(flatten(args, []), self.lift)
        held = [t for t, _ in (*self.state, *self.drift)]
        rg = self.flags_of_state = [(t, t._rg) for t in held if t._rg or t.is_leaf and t.dtype.is_floating_point]
        self.check = checker(
            tensors, plain, others, covered, self.state, rg, grads, self.count_of_args, (self.places, self.places_key), self.watched,
            self.pinned, self.marks, {k for k, _ in self.overwrites}, {id(t) for t in self.moving_written},
        )  # fmt: skip
        self.own_roots = {id(memory_of(a)) for _, a in self.state}
        targets = {k for k, _ in self.overwrites}
        if any(k in targets or id(memory_of(tensors[k]._array)) in self.own_roots for k, *_ in self.alike):
            self._refuse_sharing()
        self.readers: dict[Value, Callable[[list[Any]], Any]] = {}
        self.back_readers: list[Callable[[list[Any]], Any]] = []
        of_arguments = any(type(who) is int for who, _ in (*self.gradients, *self.grads_before))
        self.checked = self.check is not None and not (
            self.sharing.shared or self.asked or of_arguments or self.drift or self.alike
        )
        self.fast = self._fast_path()
        if self.fast:
            self._plan_quick()

    def _plan_changes(self) -> None:
        """In which order effects and calls that are made again come."""
        self.tables = [t for c in self.calls for t in c.tables] + [e.place.holder for e in self.early]
        self.first_calls = [c for c in self.calls if not c.late]
        self.late_calls = [c for c in self.calls if c.late]
        self.staged = [[e for e in self.effects if e.stage == k] for k in range(len(self.late_calls) + 1)]
        late = {k for c in self.late_calls for k, *_ in c.reads}
        self.late_outputs = [
            k for k, o in enumerate(self.outputs) if o[0] == "number" and any(type(v) is int and v in late for v in o[1])
        ]
        # Known before the program runs.
        self.given_outputs = [
            k for k, o in enumerate(self.outputs)
            if o[0] == "number" and all(type(v) is int for v in o[1]) and k not in self.late_outputs
        ]  # fmt: skip
        self.starting = bool(
            self.first_calls or self.early or self.given_outputs or self.partial
        )  # whether anything comes before the program
        self.bumps = sum(counts(e.place) for e in self.effects)
        self.changing = bool(self.effects or self.calls)
        self.simple = not (self.changing or self.computed or self.undone is not None or self.count_of_numbers or self.decides)

    def _undoing(self, forward: list[Any], dynamic: list[Any], external: dict[Any, ndarray]) -> Any:
        """What a call whose decisions fall otherwise has done by then, and must undo: random streams, arrays, arguments, the state of
        optimizers. So must one that changes Python objects, and fails. None: there is nothing to undo.
        """
        last = max((k for k, i in enumerate(forward) if i.kind == "decide"), default=None)
        self.decides = last is not None
        done = forward[:last] if last is not None else []
        for i in done:
            if i.kind == "call":
                found = [a for a in i.params["args"] if isinstance(a, Generator)]
                if not found and not (i.outputs or i.writes) and i.record[0] not in self.tracer.checks:
                    raise Refusal(f"the step decides with a tensor's value after {i.op}", i.site)
                if i.op == "_update_group":
                    later = [d.site.line for d in forward[done.index(i) :] if d.kind == "decide" and d.site is not None]
                    raise Refusal("the step decides with a tensor's value after an optimizer's update", i.site, later)
        if self.effects or self.calls:
            done = list(dict.fromkeys([*done, *self.run.before_failure()]))
        streams, written, states = written_by(done)
        if last is None and not (streams or written or states):
            return None
        return (
            streams,
            [external[b] for b in written if b in external],
            [dynamic.index(b) for b in written if b not in external],
            states,
        )

    def _plan_quick(self) -> None:
        """What `quick` makes: results and gradients (whose memory may be used again), in the order of `run.fresh`."""
        grad_of = {v.buffer: (v, t) for t, v in self.gradients if v is not None}
        self.layout: list[tuple[Any, Any, Tensor | None]] = []
        position = self.position_of = {}
        start = len(self.inputs) + len(self.computed)
        for b in self.run.fresh:
            value, t = grad_of.get(b, (None, None))
            if value is None:
                value = next((v for o in self.outputs for v in _values(o) if v.buffer is b and v.whole), None)
            if value is None:
                self.fast = False
                return
            position[b] = start + len(self.layout)
            self.layout.append((value.shape, numpy_dtype(value.dtype), t))
        if any(
            o[0] not in ("new", "number") or any(not v.whole or v.buffer not in position for v in _values(o)) for o in self.outputs
        ):
            self.fast = False
            return
        if any(o[0] == "new" and self.layout[position[o[1].buffer] - start][0] != o[1].shape for o in self.outputs):
            self.fast = False  # a result that is another result's memory in another shape
            return
        self.reused: list[Any] = [_held(*laid) for laid in self.layout]  # the gradients of the traced call are filled again
        self.removed = [t for t, v in self.gradients if v is None]
        self.counters = [(version_of(t), n) for t, n in self.written]
        self.leaving = []
        for o in self.outputs:
            if o[0] == "number":
                self.leaving.append(([-1 - v if type(v) is int else position[v.buffer] for v in o[1]], None, o[2]))
            else:
                spent = spent_slot(o[1].shape, numpy_dtype(o[1].dtype), o[3]) if o[3] else None
                self.leaving.append((position[o[1].buffer], spent, None))

    def _fast_path(self) -> bool:
        """True when results are plain: tensors of their own and gradients, nothing that needs a graph."""
        return (
            self.checked
            and (self.bare or self.unpack is not None)
            and self.run_back is None
            and not self.moving
            and all(o[0] in ("new", "number") for o in self.outputs)
        )

    def _holder(self, array: ndarray) -> Tensor | None:
        found = self.around.tensors.get(id(array))
        return None if found is None else found[0]


@contextmanager
def _uncast(off: bool = False) -> Iterator[None]:
    """Autocast around the call as it is, but with nothing cast so far, or switched off: what was cast before is unknown to a program."""
    around = thread.stack.autocast
    with playing("autocast", None if off or around is None else around.anew()):
        yield


def _writes(t: Tensor) -> int:
    """How often a tensor has been overwritten; nobody counts that of tensors of inference mode."""
    version = t._ver
    return 0 if version is None or type(version) is InferenceVersion else version.count


def _held(shape: tuple[int, ...], kind: np.dtype, t: Tensor | None) -> tuple[Tensor, ndarray] | None:
    """A parameter's gradient and its array, where that is memory of its own of such a form."""
    g = None if t is None else t._grad
    if g is None or type(g) is not Tensor or g._rg or g._node is not None:
        return None
    a = g._array
    good = (
        type(a) is ndarray
        and a.base is None
        and a.shape == shape
        and a.dtype == kind
        and a.flags.c_contiguous
        and a.flags.writeable
    )
    return (g, a) if good else None


def _values(output: tuple[Any, ...]) -> list[Value]:
    """The values behind a result that is a tensor of its own, or a number."""
    return [output[1]] if output[0] == "new" else [v for v in output[1] if type(v) is Value] if output[0] == "number" else []


def _kinds(shape: Any) -> set[Any]:
    found = set()
    if isinstance(shape, tuple):
        if shape and shape[0] == "object":
            found.add("object")
        for s in shape:
            found |= _kinds(s)
    return found
