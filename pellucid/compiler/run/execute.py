"""Run a program: memory is bound once; then each call runs the items in order, without tensors and
without a graph.

Temporaries live in an arena. Results, gradients and values needed by a later backward get new
memory at each call. An instruction without native code calls its operation's array function and
copies the result into place.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from struct import Struct
from typing import Any

from numpy import ndarray

from ...errors import warn
from ...ir import Instruction, Program, Value
from ...kernels.schedule import Address, Schedule, aligned, share
from ...llvm import jit, target, threads
from ..lower.halves import widened
from ..lower.table import LOWERINGS
from ..lower.updates import KINDS, counters_of, update_of
from ..passes import PASSES, WITHOUT_CODE, run_passes
from ..passes.context import Context
from ..passes.fuse import Item, loop_of
from ..passes.memory import joined, least, lifetimes, plan, replaced, stored_by
from .memory import Memory, Storage
from .python_calls import in_python
from .raising import placed

Action = Callable[[list[Any]], None]  # runs a part of a program on the memory of a call


class Executable:
    """A program bound to memory and compiled.

    With `apart`, each item is a separate step on copies of the optimizer's state, for measurements.
    `failure` is the reason if native code could not be made; such an executable cannot run.
    """

    def __init__(
        self, program: Program, storage: Storage, native: bool = True, apart: bool = False
    ) -> None:
        self.program, self.apart = program, apart
        self.memory = Memory(program, storage)
        self.contents = storage.contents
        self.failure: str | None = None
        # ---- what is done before each call, and what it needs
        # functions that compute and check numbers; False: the program must be made again
        self.before: list[Callable[[], bool]] = []
        # tensors of the optimizer's state with the arrays they must have
        self.holders: list[tuple[Any, ndarray]] = []
        # copies of generators by id of the original, for measurements
        self.own: dict[int, Any] = {}
        # ---- what runs
        self.steps: list[Action] = []
        self.schedules: list[Schedule] = []  # the native ones among them
        self.refused: list[Any] = []  # the memory of a call that a kernel aborted
        self.failing = -1  # index of the last item that may raise
        self._kept: list[Any] = []  # objects that native code needs alive
        self._counted: set[int] = set()  # ids of the step counters of the updates so far
        native = native and target.available() and jit.fastcall_works()
        try:
            self.planned = run_passes(
                program, Context(self.number_of, self.lower), PASSES if native else WITHOUT_CODE
            )
            self._bind()
        except Exception as error:
            if not native:
                raise
            self.failure = (
                f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            )

    @property
    def items(self) -> list[Item]:
        """The items, in order."""
        return self.planned.items or []

    def after_each_pass(self) -> list[tuple[str, Program]]:
        """Run the passes once more and return pairs of a pass's name and the program after it."""
        found: list[tuple[str, Program]] = []
        again = copy.copy(self)
        again._counted, again.before, again.own = set(), [], {}
        run_passes(
            self.program,
            Context(
                again.number_of, again.lower, lambda name, program: found.append((name, program))
            ),
        )
        return found

    def _bind(self) -> None:
        """Assign memory to all values, and compile the native code."""
        self.loops = {item: loop_of(item) for item in self.items if item.kind == "loop"}
        lives = lifetimes((item.instructions for item in self.items), stored_by(self.items))
        self.lives: dict[Any, tuple[int, int]] = {
            b: life for b, life in lives.items() if b not in self.memory.changing
        }
        parts = self._parts()
        schedules = [part for part, _ in parts if isinstance(part, Schedule)]
        self._plan(schedules)
        if not self.apart:
            share(schedules)
        for part, updates in parts:
            self.steps.append(
                self._native(part, updates) if isinstance(part, Schedule) else self.eager(part)
            )

    def _plan(self, schedules: Sequence[Schedule]) -> None:
        """Lay out temporaries and kernel workspace in the arena."""
        rooms = {room: (room.first, room.last) for part in schedules for room in part.rooms}
        places = {} if self.apart else replaced(self.items, self.loops, self.lives)
        lives, roots = joined({**self.lives, **rooms}, places)
        offsets, self.arena_bytes = plan(lives)
        self.least_bytes = least(lives)
        self.lives.update(rooms)
        shared = None if self.apart else self.memory.storage.arena
        self.memory.lay(
            aligned(self.arena_bytes) if shared is None else shared.take(self.arena_bytes),
            {thing: offsets[root] for thing, root in roots.items()},
        )
        for part in schedules:
            part.lay(self.memory.offsets, self.memory.arena)

    # ---- instructions ----------------------------------------------------------------------------
    def _parts(self) -> list[tuple[Any, list[tuple[int, Any]]]]:
        """Split the program into instructions that run in Python, and schedules between them. Each
        schedule comes with its optimizer updates and the position of their numbers.
        """
        parts: list[tuple[Any, list[tuple[int, Any]]]] = []
        for k, item in enumerate(self.items):
            if item.kind == "eager":
                if item.instructions[0].kind in ("op", "call", "rule"):
                    self.failing = k
                parts.append((item.instructions[0], []))
                continue
            if not parts or self.apart or not isinstance(parts[-1][0], Schedule):
                parts.append((Schedule(len(self.memory.changing)), []))
            schedule, updates = parts[-1]
            schedule.item = k
            refusals = len(schedule.refusals)
            self._emit(item, schedule, updates)
            if len(schedule.refusals) > refusals:
                self.failing = k
        return parts

    def before_failure(self) -> list[Instruction]:
        """The instructions that have run when the last item that may raise has run."""
        return [i for item in self.items[: self.failing + 1] for i in item.instructions]

    def eager(self, i: Instruction) -> Action:
        """A function that runs an instruction in Python, on the memory of a call."""
        return in_python(i, self.memory)

    def tree(self, params: Any) -> Callable[[list[Any]], Any]:
        """A function that returns parameters with arrays in place of references, given the memory
        of a call.
        """
        return self.memory.tree(params)

    def lower(self, i: Instruction) -> Any:
        """Native code for an instruction that is neither a loop nor a product, or the reason why
        there is none.
        """
        rule = LOWERINGS.get(i.op)
        if i.kind == "decide":
            return "a decision with a value"
        if i.kind == "call" and rule is None:
            update, counted = update_of(i), counters_of(i)
            if not isinstance(update, str) and self._counted & counted:
                update = "a second update by the same optimizer: its numbers follow from the first"
            self._counted |= counted
            return update
        if rule is None:
            return "no native code"
        made = rule(i, self)
        wide = widened(rule, i, self) if isinstance(made, str) else made
        return made if isinstance(wide, str) else wide

    def number_of(self, v: Value) -> Any:
        """The number if `v` is a constant of one element (possibly expanded), otherwise None."""
        array = self.contents.get(v.buffer)
        if array is None or array.size != 1 or array.dtype.kind not in "fiub":
            return None
        return array.item() if v.size and v.dtype == array.dtype.name else None

    # ---- native code -------------------------------------------------------------------------------
    def ends(self, v: Value, schedule: Schedule) -> bool:
        """Whether no item after the present one reads a temporary, so that it may store its results
        there.
        """
        return not self.apart and self.lives.get(v.buffer, (0, -1))[1] == schedule.item

    def place(self, v: Value, schedule: Schedule) -> Address:
        """The address of a value, for a schedule."""
        k = self.memory.changing.get(v.buffer)
        if k is not None:
            return Address("given", k, v.offset - self.memory.first.get(v.buffer, 0))
        if v.buffer in self.lives:
            return schedule.share(v.buffer).at(v.offset)
        return Address("kept", schedule.keep(self.memory.block(v.buffer)), v.offset)

    def _emit(self, item: Item, schedule: Schedule, updates: list[tuple[int, Any]]) -> None:
        """Add an item's calls to a schedule."""
        if item.kind == "loop":
            loop, values = self.loops[item]
            title = f"loop {'x'.join(map(str, item.shape)) or 'scalar'}: " + ", ".join(
                i.op for i in item.instructions
            )
            schedule.loop(loop, [self.place(v, schedule) for v in values], title=title)
        elif item.kind == "product":
            product, a, b, bias = item.product
            out = item.instructions[0].outputs[0]
            left, right, to = (self.place(v, schedule) for v in (a, b, out))
            schedule.product(
                product, left, right, to, None if bias is None else self.place(bias, schedule)
            )
        elif item.kind == "native":
            before = len(schedule.refusals)
            item.product.emit(schedule)
            schedule.refusals[before:] = [
                _named(refuse, item.instructions[0]) for refuse in schedule.refusals[before:]
            ]
        else:
            update = item.product.copy() if self.apart else item.product
            at = schedule.number(update.count)
            arrays = [
                [
                    self.place(p, schedule),
                    self.place(g, schedule),
                    *[Address("kept", schedule.keep(s[k])) for s in update.states],
                ]
                for k, (p, g) in enumerate(zip(update.params, update.grads, strict=True))
            ]
            schedule.update(update.rule, arrays, [p.size for p in update.params], at, update.kind)
            for k, scalars in enumerate(
                update.scalars, start=at + update.count - len(update.scalars)
            ):
                schedule.put(
                    [Address("kept", schedule.keep(c)) for c in scalars], k, KINDS[scalars[0].dtype]
                )
            updates.append((at, update))
            self.holders += update.holders

    def _native(self, schedule: Schedule, updates: list[tuple[int, Any]]) -> Action:
        """Compile a schedule to a single function."""
        run = schedule.compile("a compiled step", self.memory.storage.lengths)
        if run is None:
            raise RuntimeError("its native code could not be compiled")
        self.schedules.append(schedule)
        held = run.numbers
        for at, update in updates:
            self.before.append(_filler(held, at, update.count, update.numbers))
        native, where, places, team = run.native, run.where, run.places, threads.team
        self._kept.append(run)
        refusals, streams = schedule.refusals, sorted(schedule.streams, key=id)

        used = run.used
        every = len(used) == schedule.given

        def step(env: list[Any]) -> None:
            status = native(team(), where, places, *(env if every else [env[k] for k in used]))
            if status:
                self.refused = env
                refusals[status - 1]()

        def drawing(env: list[Any]) -> None:
            with ExitStack() as held:
                for stream in streams:
                    held.enter_context(stream.lock)
                step(env)

        def drawing_one(env: list[Any]) -> None:
            with streams[0].lock:
                step(env)

        return drawing_one if len(streams) == 1 else drawing if streams else step

    def ready(self) -> bool:
        """Compute the numbers that a call needs. False if the optimizer's options require another
        program.
        """
        return all(prepare() for prepare in self.before)

    def __call__(self, given: list[ndarray]) -> list[Any]:
        """Run once. Returns the memory of the call: the given arrays and the new ones."""
        env = given
        env += self.memory.leaving()
        for step in self.steps:
            step(env)
        return env


def executable(program: Program, storage: Storage) -> Executable:
    """Bind a program to memory. If its native code cannot be made, it runs without, and a warning
    says so once.
    """
    made = Executable(program, storage)
    if made.failure is None:
        return made
    if made.failure not in _warned:
        _warned.add(made.failure)
        warn(
            f"a compiled step runs without native code of its own: {made.failure}",
            RuntimeWarning,
        )
    return Executable(program, storage, native=False)


_warned: set[str] = set()


def _filler(numbers: ndarray, at: int, count: int, make: Callable[[], Any]) -> Callable[[], bool]:
    pack = Struct(f"={count}d").pack_into  # a third of the cost of assigning a tuple to an array
    where = 8 * at

    def fill() -> bool:
        made = make()
        if made is None:
            return False
        pack(numbers, where, *made)
        return True

    return fill


def _named(refuse: Callable[[], None], i: Instruction) -> Callable[[], None]:
    """A kernel's refusal, with the operation's line added to its error."""

    def refusal() -> None:
        try:
            refuse()
        except Exception as error:
            raise placed(error, i) from None

    return refusal
