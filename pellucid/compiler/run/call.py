"""The call that is traced: its arguments and its side effects, including those that a program
cannot repeat.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy import ndarray

from ...core.interpret import playing, thread
from ...core.tensor import InferenceVersion, Tensor
from ...ir import Value
from ...llvm.lengths import Lengths
from ..capture.earlier import Earlier
from ..capture.environment import CapturedEnvironment
from ..capture.guards import Guard, Opaque, put_back
from ..capture.side_effect_tracker import SideEffectTracker
from ..capture.side_effects import Again, Growing, Replaced
from ..capture.structure import carried_back, flatten, lifted
from ..capture.witness import Witness
from ..trace.arrays import memory_of
from ..trace.numbers import Read
from ..trace.refusal import Refusal
from ..trace.tracer import Tracer
from .admission import flags, same_place, signature
from .memory import Arena
from .sharing import Sharing
from .version import Version

_WATCHED = re.compile(rf"\b{Read.__name__}\b")
_NUMBERS = re.compile(rf"\b({Read.__name__}|float|int|bool|complex)\b")


OTHER_MEMORY = "the step replaces the memory of a tensor (.data =, set_, resize_)"


@dataclass(slots=True, eq=False)
class TraceOutcome:
    """The outcome of a traced call: its result, and either a version or the reason why there is
    none.
    """

    result: Any = None
    version: Version | None = None
    refusal: Refusal | None = None
    transient: bool = False  # whether the next call may succeed
    quiet: bool = False  # whether this is no cause for alarm: another kind of call may be compiled
    # whether the call changes its own inputs, so that they cannot be treated as fixed
    sets_inputs: bool = False
    # places that should become inputs at the next call
    found: list[Guard] = field(default_factory=list)
    uses_graphs: set[int] | None = field(
        default_factory=set
    )  # lines that use graphs for more than calling `backward`; None: unknown lines


class TracedCall:
    """A call that is being traced."""

    environment: CapturedEnvironment
    tracer: Tracer
    witness: Witness
    changes: SideEffectTracker

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
        lengths: Lengths | None,
    ) -> None:
        self.traced = TraceOutcome()
        self.function, self.args, self.kwargs = function, args, kwargs
        self.lift = lift
        self.logs = [g for g in watched if isinstance(g, Growing)]
        self.replaced = [g for g in watched if isinstance(g, Replaced)]
        rest = [g for g in watched if not isinstance(g, (Growing, Replaced))]
        self.watched = [g for g in rest if g.of_a_number]
        self.places = [g for g in rest if not g.of_a_number]
        self.may_watch = may_watch
        self.drifting = drifting
        self.arena = arena
        self.lengths = lengths
        self.flags = flags()
        # The tensors of the call: the arguments, then those at places.
        self.tensors: list[Tensor] = []
        self.structure = flatten((args, kwargs), self.tensors)
        self.count = len(self.tensors)
        self.places_key = flatten([g.now() for g in self.places], self.tensors)
        self.positions = {id(t): k for k, t in enumerate(self.tensors)}
        self.signature = signature(self.tensors)

    def _declare(self) -> None:
        """Declare the arguments as inputs of the program."""
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
        seen = self.environment.seen
        if any(seen.get(id(value)) is value for value, _, _ in copies):
            given, copies = (self.args, self.kwargs), []
            tracer.refuse("an argument with a number that changes is also reached otherwise")
        try:
            with changes.following(), tracer.active(), self.witness.watching(), _uncast():
                self.traced.result = self.function(*given[0], **given[1])
        finally:
            del given
            self.traced.result = carried_back(copies, self.traced.result)
            del copies
            self.traced.sets_inputs = bool(changes.moved or self.logs) or any(
                p.now() is not start for p, start in zip(self.places, changes.at_start, strict=True)
            )

    def _again(self, error: TypeError, streams: Any) -> None:
        """Handle a TypeError during tracing. If a watched number may have caused it, and nothing
        irreversible has happened, make the call again without watched numbers.

        The error's text names the number's type, or the type it imitates. In the latter case, the
        function itself may have raised it, so the call must not have drawn random numbers or
        printed anything, which would then happen twice.
        """
        instructions = self.tracer.program.instructions
        quiet = (
            self.tracer.refusal is None  # recording was not stopped
            and not self.witness.impure
            and all(i.phase != "random" for i in instructions)
            and self.environment.drawn() == streams
        )
        happened = any(
            i.kind == "call" or any(v.buffer.kind != "temp" for v in i.writes) for i in instructions
        )
        if (
            not (_NUMBERS if quiet else _WATCHED).search(str(error))
            or not self.tracer.numbers
            or happened
            or not put_back(self.environment.guards())
        ):
            raise error
        self.traced.refusal = Refusal(
            "the step hands a tensor's value to code that takes plain numbers alone"
        )
        self.traced.result = self.function(*self.args, **self.kwargs)

    def _placed(self, refusal: Refusal) -> Refusal:
        """Add to a refusal the lines that it concerns. If it is about an array of unknown origin,
        and the code used an object whose state is hidden, refuse that object instead.
        """
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
        """Determine what the call did besides computing: the gradients it left, and changes that a
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
        # The former memory of the tensors, and how many of them shared it.
        self.started = earlier.arrays
        self.shared = Counter(
            id(memory_of(a)) for a in earlier.arrays.values() if type(a) is ndarray
        )
        self.to_move = earlier.moved
        for t in earlier.moved:
            value = tracer.lookup(t._array) if type(t._array) is ndarray else None
            if value is None or value.buffer.kind not in ("temp", "constant"):
                raise Refusal(OTHER_MEMORY)
        self.asked = [self.positions.get(id(t), -1) for t in earlier.asked]
        if -1 in self.asked:  # the next call will find it changed
            self.traced.transient = True
            raise Refusal("the step changes requires_grad of a tensor")
        if earlier.asked:
            left: list[Any] = []
            flatten(self.traced.result, left)
            asked = set(map(id, earlier.asked))
            if any(
                t._view is not None and t._node is None and id(t._view.base) in asked
                for t in left
                if isinstance(t, Tensor)
            ):
                raise Refusal("the step returns a view from before requires_grad_() of its base")
        if witness.asks_for_gradients:  # the code may branch on whether a gradient exists
            earlier.ask(tracer.needs_grad, tracer.cleared)
        self.grads_before = [
            (self._who(t), g) for t, g in earlier.read(tracer.needs_grad, tracer.external)
        ]

    def _unseen(self, hidden: Opaque) -> Refusal:
        """The refusal for an object whose state cannot be inspected."""
        return Refusal(
            f"the step uses `{hidden.path}`, {hidden}", self.witness.entry, path=hidden.path
        )

    def _find_changes(self) -> None:
        """Determine what the call changed in Python, and which of these changes the program's calls
        will repeat.
        """
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
        # Arguments that the code can also reach another way must be the same tensors at each call.
        self.pinned = [(k, t) for k, t in enumerate(self.tensors) if id(t) in aliased]
        self._keep_apart({k for k, _ in self.pinned})
        self.guards = self.changes.finish(
            self.guards, self.traced.result, self.witness, self.may_watch
        )

    def _keep_apart(self, pinned: set[int]) -> None:
        """Raise Refusal if a tensor that differs at each call shares memory with one that the step
        also reaches another way.
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
                # As in `{name: p.detach() for name, p in model.named_parameters()}`: two names of
                # one tensor. This is accepted as long as it remains so.
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

    def _who(self, t: Tensor) -> Any:
        """A tensor of the call as a "who": an argument by its position, since it differs at the
        next call; state as the tensor itself.
        """
        return self.positions.get(id(t), t)

    def _copied(self, value: Value) -> Value:
        program = self.tracer.program
        made = program.value(program.buffer("temp", max(value.nbytes, 1)), value.dtype, value.shape)
        program.add("copy", (value,), (made,), kind="copy")
        return made

    def _holder(self, array: ndarray) -> Tensor | None:
        found = self.environment.tensors.get(id(array))
        return None if found is None else found[0]


@contextmanager
def _uncast(off: bool = False) -> Iterator[None]:
    """Inside the block, autocast is as around it but with an empty cast cache, or off: a program
    does not know earlier casts.
    """
    around = thread.stack.autocast
    with playing("autocast", None if off or around is None else around.anew()):
        yield


def writes_of(t: Tensor) -> int:
    """How often a tensor has been overwritten; 0 for inference tensors, which are not counted."""
    version = t._ver
    return 0 if version is None or type(version) is InferenceVersion else version.count
