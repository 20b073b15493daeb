"""One traced version of a function: four records, and how they serve a call."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy import ndarray

from ...core.primitive import BackwardPlan
from ...core.tape import Node
from ...core.tensor import OutputSlot, Tensor, count_write, version_of
from ...errors import GraphError, pass_on
from ...ir import Buffer, Program, Value
from ..capture.guards import Guard, changed
from ..capture.side_effects import restore, saved
from ..capture.structure import rebuild
from ..trace.arrays import memory_of
from ..trace.recording import NumberInput
from .admission import Admission, gradient_of, overlap, the_tensor
from .execute import Executable
from .node import ResultEdge, freed, plan_of, record
from .python_calls import Diverged
from .results import Direct, New, Results
from .side_effects import SideEffects


# ---- outcomes ------------------------------------------------------------------------------------------
@dataclass(slots=True, frozen=True, eq=False)
class Declined:
    """Returned in place of a result: the version cannot serve this call, and the call has changed
    nothing.

    With `eager`, the function itself must be called; otherwise another version may serve.
    """

    reason: str
    eager: bool = False


DECISION = "a decision with a value fell otherwise"
OTHER_CALL = Declined("a call that the generated check does not admit")
BUSY = Declined("another thread is inside", eager=True)
FAILED = Declined("it raised, and was undone: eager execution raises in its place", eager=True)
STALE = Declined("an optimizer's options or counters of steps ask for another update")


# ---- what runs -----------------------------------------------------------------------------------------
@dataclass(slots=True, eq=False)
class Backward:
    """One part of the second half of a program: the gradients of one section of the graph below the
    results. It is the gradient rule of one node.

    A "who" is a position among the arguments, a tensor, or a result of the node of another part
    (ResultEdge).
    """

    run: Executable
    saved: list[Buffer]  # temporaries of the first half that it reads
    seeds: list[Value]  # incoming gradients, one per result of the node
    places: list[tuple[Any, Any]]  # their shapes and dtypes
    results: list[tuple[int, int]]  # (output, index of the node's result)
    wanted: list[Any]  # who gets a gradient
    reached: list[list[int]]  # for each of them, the node's results that depend on it
    returned: list[Value]  # the gradients, in that order
    read: list[Any]  # whose values it reads
    read_results: list[int]  # outputs whose values it reads
    keeps: bool  # eager backward would free nothing, so it can be repeated
    guards: list[Guard]  # guards on what the backward of custom functions reads
    # readers of the returned values, created on first use
    readers: list[Any] = field(default_factory=list)
    # of the nodes: shapes and dtypes of the results, and the plan
    form: tuple[list[Any], list[Any], BackwardPlan] = field(init=False)

    def __post_init__(self) -> None:
        shapes, kinds = [shape for shape, _ in self.places], [kind for _, kind in self.places]
        count = len(self.read) + len(self.read_results)
        self.form = shapes, kinds, plan_of(count, self.keeps)

    def __call__(
        self, saved: list[Any], extras: Any, seeds: list[ndarray | None]
    ) -> list[ndarray | None]:
        """The gradients; None for those that only depend on results without a gradient."""
        for g in changed(self.guards):
            raise GraphError(
                f"{g.path} has changed since the compiled function was called, and the backward of a custom function reads it",
                op="CompiledFunctionBackward",
                hint="keep in ctx what backward needs, or run the function without compiling it (torch.compiler.disable)",
            )
        run, held = self.run, self.run.memory.storage.extras
        before = dict(held) if extras else None
        if extras:
            held.update(extras)
        every = True  # result has a gradient
        given = [*saved]
        for s, (shape, kind) in zip(seeds, self.places, strict=True):
            if s is None:
                every = False
                s = np.zeros(shape, kind)
            given.append(s if s.flags.c_contiguous else np.ascontiguousarray(s))
        env = run(given)
        if before is not None:
            held.update(before)
        if not self.readers:
            self.readers = [run.memory.getter(v) for v in self.returned]
        if every:
            return [read(env) for read in self.readers]
        return [
            read(env) if any(seeds[k] is not None for k in reached) else None
            for read, reached in zip(self.readers, self.reached, strict=True)
        ]


@dataclass(slots=True, eq=False)
class Code:
    """The program, bound to memory and compiled, and what each call passes to it: arguments,
    gradients, drifting tensors, numbers.
    """

    program: Program
    run: Executable
    halves: list[Backward]  # the parts of the second half, producers first
    moving: list[Any]  # whose gradients exist at the start
    computed: list[NumberInput]
    overwrites: list[tuple[int, int]]  # (argument, number of writes)
    written: list[tuple[Tensor, int]]  # (tensor of the state, number of writes)
    # (who, number of writes to its existing gradient)
    accumulated: list[tuple[Any, int]]
    decides: bool  # whether the program checks decisions on values

    @property
    def executables(self) -> list[Executable]:
        """The first half, and the parts of the second half in the order in which they run."""
        return [self.run, *[part.run for part in reversed(self.halves)]]

    def numbers(self, numbers: list[Any]) -> list[ndarray]:
        """The number inputs of the program."""
        return [c.array(numbers) for c in self.computed]

    def count_writes(self, tensors: list[Tensor]) -> None:
        """Count the program's writes to arguments and state. Arguments that share memory may share
        a counter, which is then counted once.
        """
        found = [*self.written, *[(tensors[k], n) for k, n in self.overwrites]]
        for version, n in {id(v): (v, n) for t, n in found for v in [version_of(t)]}.values():
            count_write(version, n)


# ---- a version -----------------------------------------------------------------------------------------
class Version:
    """A program for one kind of call."""

    __slots__ = (
        "_gradients",
        "_lock",
        "_simple",
        "admission",
        "code",
        "direct",
        "effects",
        "fast",
        "following",
        "hits",
        "named",
        "results",
    )

    def __init__(
        self,
        admission: Admission,
        results: Results,
        effects: SideEffects,
        code: Code,
        direct: Direct | None,
    ) -> None:
        self.admission = admission
        self.results = results
        self.effects = effects
        self.code = code
        # fast path for the results, or None
        # Whether such a call is the program and nothing else.
        self._simple = not (
            effects.changing
            or code.computed
            or effects.undoing is not None
            or admission.count_of_numbers
            or code.decides
        )
        self.direct = direct = direct if self._simple or not code.halves else None
        # whether `quick` may serve calls without named arguments, and with them
        self.fast = direct is not None and not admission.named
        self.named = direct is not None and admission.named
        self.hits = 0
        # the version that served the call after this version's last one
        self.following: Version | None = None
        arena = code.run.memory.storage.arena
        self._lock = threading.Lock() if arena is None else arena.lock
        # the gradients that the last full call was given, with their arrays, and that memory
        self._gradients: tuple[list[tuple[Tensor, ndarray]], set[int]] | None = None

    # ---- everyday calls --------------------------------------------------------------------------------
    def quick(self, args: tuple[Any, ...]) -> Any:
        """The fast path: the result of a common call, or OTHER_CALL if another version or eager
        execution must serve it. `args` are the positional arguments or, if there are named ones,
        the pair of both.
        """
        admission, direct = self.admission, self.direct
        given: Any = ()
        unpack, check = admission.unpack, admission.check
        if unpack is not None:
            found = unpack(args)
            if found is None:
                return OTHER_CALL
            args, given = found
        arrays = None if check is None else check(args)
        if arrays is None:
            return OTHER_CALL
        roots, overwrites = admission.own_roots, self.code.overwrites
        views = 0
        for a in arrays:
            if id(a) in roots or a.base is not None and id(memory_of(a)) in roots:
                return OTHER_CALL
            views += a.base is not None
        if self.code.moving:
            held = self._held(arrays)
            if held is None:
                return OTHER_CALL
            arrays += held
        if views and overwrites and len(arrays) > 1 and overlap(arrays):
            return OTHER_CALL
        if direct is None or not self._lock.acquire(blocking=False):
            return OTHER_CALL
        try:
            if not self._simple:
                return self._quick_with_changes(args, arrays, given)
            run = self.code.run
            for prepare in run.before:
                if not prepare():
                    return OTHER_CALL
            fresh = direct.memory(arrays)
            for step in run.steps:
                step(arrays)
            halves = self.code.halves
            extras = {**run.memory.storage.extras} if halves else None
        finally:
            self._lock.release()
        tensors = (
            admission.given(list(args)) if admission.places and (overwrites or halves) else args
        )
        for k, n in overwrites:
            count_write(version_of(tensors[k]), n)
        if self.code.accumulated:
            self._count_accumulated(args)
        self.hits += 1
        out = direct.made(arrays, fresh)
        if halves:
            self._join(halves, out, tensors, arrays, extras)
        results = self.results
        return out[0] if results.single else rebuild(results.skeleton, lambda slot: out[slot.place])

    def _quick_with_changes(
        self, args: tuple[Any, ...], arrays: list[Any], given: tuple[Any, ...]
    ) -> Any:
        """As `quick`, with number inputs, decisions and side effects. If it fails or a decision
        differs, the slower path is taken.
        """
        admission, results, effects, code, direct = (
            self.admission,
            self.results,
            self.effects,
            self.code,
            self.direct,
        )
        assert direct is not None
        numbers = admission.padded([*given])
        held = saved(effects.tables) if effects.tables else ()
        undo = None
        known: list[Any] = [None] * len(results.outputs)
        try:
            if effects.starting:
                effects.begin(numbers, known)
            ready = code.run.ready()
            if ready:
                arrays += code.numbers(numbers)
                fresh = direct.memory(arrays)
                undo = None if effects.undoing is None else effects.undoing.undoer(arrays)
                for step in code.run.steps:
                    step(arrays)
        except Exception as error:
            # undo what the call has done, since the next attempt will do it again
            pass_on(error)
            if undo is not None:
                undo()
            restore(held)
            return OTHER_CALL
        if not ready:
            restore(held)
            return OTHER_CALL
        if code.overwrites:
            tensors = admission.given(list(args))
            for k, n in code.overwrites:
                count_write(version_of(tensors[k]), n)
        self._count_accumulated(args)
        self.hits += 1
        out = direct.made(arrays, fresh, numbers, known, effects.late_outputs)
        if effects.changing:
            effects.follow(
                numbers, out, lambda v: arrays[direct.position[v.buffer]], admission.check
            )
        return out[0] if results.single else rebuild(results.skeleton, lambda slot: out[slot.place])

    def _seen(self) -> Any:
        """The gradients that this call was given; None where they share memory, with each other
        or with parameters.
        """
        moving = self.code.moving
        if self.direct is None or not moving:
            return None
        held = [(t._grad, t._grad._array) for t in moving]
        roots = {id(memory_of(a)) for _, a in held}
        apart = len(roots) == len(held) and roots.isdisjoint(self.admission.own_roots)
        return (held, roots) if apart else None

    def _held(self, arrays: list[Any]) -> list[ndarray] | None:
        """The arrays of the gradients that are there, where they are those of the last full call
        and share no memory with the arguments.
        """
        if self._gradients is None:
            return None
        held, roots = self._gradients
        for t, (g, a) in zip(self.code.moving, held, strict=True):
            if t._grad is not g or g._array is not a:
                return None
        if not roots.isdisjoint([id(memory_of(a)) for a in arrays]):
            return None
        return [a for _, a in held]

    def _count_accumulated(self, tensors: Sequence[Any]) -> None:
        """Count what the program has written to gradients that were there."""
        for who, n in self.code.accumulated:
            if (gradient := the_tensor(who, tensors)._grad) is not None:
                count_write(version_of(gradient), n)

    # ---- all calls ---------------------------------------------------------------------------------------
    def __call__(self, tensors: list[Tensor], structure: Any) -> Any:
        """The result of a call that `Admission.why_not` accepted, or a Declined."""
        if not self._lock.acquire(blocking=False):
            return BUSY
        try:
            admission, results, effects, code = (
                self.admission,
                self.results,
                self.effects,
                self.code,
            )
            tensors = admission.given(tensors)
            held = saved(effects.tables) if effects.tables else ()
            numbers = admission.numbers_of(structure)
            made: list[Any] = [None] * len(results.outputs)
            try:
                env = self._run(tensors, numbers, made)
            except Exception as error:
                if not effects.changing:
                    raise
                pass_on(error)
                env = FAILED
            if type(env) is Declined:
                restore(held)
                return env
            extras = dict(code.run.memory.storage.extras) if code.halves else {}
            self.hits += 1
            results.take_gradients(made, tensors)
            self._count_accumulated(tensors)
            self._gradients = self._seen()
            results.leave_gradients(tensors, env)
            results.move(tensors, env)
            code.count_writes(tensors)
            results.make(made, tensors, env, numbers, effects.late_outputs)
            slots = self._join(code.halves, made, tensors, env, extras) if code.halves else {}
            for output, t in zip(results.outputs, made, strict=True):
                if type(output) is New and output.spent:
                    ends = [tensors[e] if isinstance(e, int) else e for e in output.ends]
                    freed(t, output.spent, ends)
            results.make_beside(made, env, slots)
            if effects.changing:
                effects.follow(numbers, made, lambda v: results.read(v, env), admission.check)
        finally:
            self._lock.release()
        return rebuild(results.skeleton, lambda t: made[t.place])

    def _run(self, tensors: list[Tensor], numbers: list[Any], made: list[Any]) -> Any:
        """Run what comes before the program, then the program. Returns its memory, or a Declined."""
        effects, code = self.effects, self.code
        if effects.starting:
            try:
                effects.begin(numbers, made)
            except Exception as error:
                pass_on(error)
                return FAILED
        if not code.run.ready():
            return STALE
        given = [
            *self.admission.sharing.given([t._array for t in tensors]),
            *[gradient_of(t, tensors) for t in code.moving],
            *[t._array for t, _ in self.admission.drift],
        ]
        if code.computed:
            try:
                given += code.numbers(numbers)
            except ArithmeticError as error:
                return Declined(f"{DECISION} ({error})")
        if effects.undoing is None:
            return code.run(given)
        undo = effects.undoing.undoer(given)
        try:
            return code.run(given)
        except Diverged as diverged:
            undo()
            return Declined(f"{DECISION} ({diverged.args[0]})")
        except Exception as error:
            pass_on(error)
            if effects.changing:
                undo()
            raise

    def _join(
        self,
        halves: list[Backward],
        made: list[Any],
        tensors: Sequence[Tensor],
        env: list[Any],
        extras: Any,
    ) -> dict[int, OutputSlot]:
        """Make the outputs that require grad results of new nodes, one for each part of the second
        half, which is its gradient rule. Returns their places in the graph by output index.
        """
        memory = self.code.run.memory
        given, changing = env[: len(memory.dynamic)], memory.changing
        nodes: list[Node] = []
        slots: dict[int, OutputSlot] = {}
        for part in halves:
            inputs: list[Any] = []
            for who in part.wanted:
                kind = type(who)
                if kind is ResultEdge:
                    inputs.append(OutputSlot(nodes[who.part], who.index))
                else:
                    t = tensors[who] if kind is int else who
                    inputs.append(t._node or t)
            read = [tensors[t] if type(t) is int else t for t in part.read]
            if part.read_results:
                read += [made[k] for k in part.read_results]
            kept = [*given, *[env[changing[b]] for b in part.saved]]
            nodes.append(record(self, part, inputs, read, kept, extras))
            for k, index in part.results:
                slots[k] = OutputSlot(nodes[-1], index)
                if made[k] is not None:
                    made[k]._node, made[k]._rg = slots[k], True
        return slots

    def back(
        self, part: Backward, saved: list[Any], extras: Any, seeds: list[ndarray | None]
    ) -> list[ndarray | None]:
        """Run a part of the second half, for a node that `_join` made."""
        with self._lock:
            return part(saved, extras, seeds)
