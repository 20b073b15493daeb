"""Running a program: memory is bound once, then each call runs the instructions in order, without tensors and without a graph.

Temporaries live in an arena; what leaves the call (results, gradients) and what a later backward needs gets memory of its own at
each call. An instruction without native code is a call of its operation's array function, whose result is copied to its place.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from struct import Struct
from typing import Any

import numpy as np
from numpy import ndarray

from ...backends.numpy_cpu import address
from ...core.primitive import RAW
from ...ir import Buffer, Extra, Instruction, Program, Value
from ...ir.program import ITEMSIZE, row_major, substitute
from ...kernels.schedule import Place, Schedule, aligned, share
from ...llvm import jit, target, threads
from ...llvm.outputs import offering
from ..lower.table import HANDED, LOWERINGS
from ..lower.updates import update_of
from ..passes import PASSES, WITHOUT_CODE, run_passes
from ..passes.context import Context
from ..passes.fuse import Item, loop_of
from ..passes.memory import joined, least, lifetimes, plan, replaced, stored_by
from ..trace.arrays import bounds, numpy_dtype
from .raising import placed, raised

_strided = np.lib.stride_tricks.as_strided


class Diverged(Exception):
    """A decision fell otherwise than in the call that was traced; it carries the line."""


def plain(array: ndarray) -> Any:
    """The Python number in an array of one element, as `item()` gives it."""
    number = array.item()
    return number if isinstance(number, (bool, int, float, complex)) else float(number)


def look(memory: ndarray, value: Value) -> ndarray:
    """The array of a value in its buffer's memory, given as bytes."""
    return np.ndarray(value.shape, numpy_dtype(value.dtype), memory, value.offset, value.strides)


@dataclass(slots=True)
class Storage:
    """The memory that a program finds: arrays of its constants (`contents`), and of the state that outlives a call (`external`).

    `roots` are the forms, shape and dtype, in which kernels make the arrays of temporaries that have other views. `extras` is what
    instructions have handed to gradient rules, which a forward and its backward share.
    """

    contents: dict[Buffer, ndarray]
    external: dict[Buffer, ndarray]
    roots: dict[Buffer, Any] = field(default_factory=dict)
    extras: dict[Instruction, Any] = field(default_factory=dict)

    def copied(self) -> Storage:
        """The same, with copies of the state."""
        return replace(self, external={b: a.copy() for b, a in self.external.items()}, extras={})


class Executable:
    """A program bound to memory: what `inputs` lie in is given at each call, and what `outputs` lie in is made at each call."""

    def __init__(
        self,
        program: Program,
        storage: Storage,
        native: bool = True,
        apart: bool = False,
    ) -> None:
        self.program = program
        self.storage = storage
        self.contents, self.external, self.extras = storage.contents, storage.external, storage.extras
        self.apart = apart  # each item by itself, and the optimizer's state copied: to be measured
        self.failure: str | None = None
        self.dynamic = [v.buffer for v in program.inputs]
        self.fresh = [v.buffer for v in program.outputs]
        self.changing = {b: k for k, b in enumerate([*self.dynamic, *self.fresh])}
        # Where the first element of what is given lies: arrays may run backwards through their memory.
        self.first = {v.buffer: v.offset for v in program.inputs}
        native = native and target.available() and jit.fastcall_works()
        try:
            self._counted: set[int] = set()  # counters of steps of the updates so far
            self.before: list[Callable[[], bool]] = []  # what is computed, and checked, before a call
            self.own: dict[int, Any] = {}  # copies of random streams, by whose they are: to be measured
            self.planned = run_passes(program, Context(self.number_of, self.lower), PASSES if native else WITHOUT_CODE)
            self._bind()
        except Exception as error:
            if not native:
                raise
            self.failure = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"

    @property
    def items(self) -> list[Item]:
        """What runs, in order."""
        return self.planned.items or []

    def after_each_pass(self) -> list[tuple[str, Program]]:
        """The names of the passes, each with the program as it is after it: they run once more, and nothing else does."""
        found: list[tuple[str, Program]] = []
        again = copy.copy(self)
        again._counted, again.before, again.own = set(), [], {}
        run_passes(self.program, Context(again.number_of, again.lower, lambda name, program: found.append((name, program))))
        return found

    def _bind(self) -> None:
        """Give everything its place, and make the native code."""
        self.failing = -1  # the last item that may raise
        self.loops = {item: loop_of(item) for item in self.items if item.kind == "loop"}
        lives = lifetimes((item.instructions for item in self.items), stored_by(self.items))
        self.lives = {b: life for b, life in lives.items() if b not in self.changing}
        self._static: dict[Buffer, ndarray] = {}
        self._arrays: dict[Value, ndarray] = {}
        self.steps: list[Callable[[list[Any]], None]] = []
        self.holders: list[tuple[Any, ndarray]] = []
        self.schedules: list[Schedule] = []
        self.kept: list[Any] = []
        self.refused: list[Any] = []  # the memory of a call that ended early
        parts = self._parts()
        schedules = [part for part, _ in parts if isinstance(part, Schedule)]
        self._plan(schedules)
        if not self.apart:
            share(schedules)
        for part, updates in parts:
            self.steps.append(self._native(part, updates) if isinstance(part, Schedule) else self.eager(part))

    def _plan(self, schedules: Sequence[Schedule]) -> None:
        """Where temporaries and working memory lie in the arena."""
        rooms = {room: (room.first, room.last) for part in schedules for room in part.rooms}
        places = {} if self.apart else replaced(self.items, self.loops, self.lives)
        lives, roots = joined({**self.lives, **rooms}, places)
        offsets, self.arena_bytes = plan(lives)
        self.least_bytes = least(lives)
        self.offsets = {thing: offsets[root] for thing, root in roots.items()}
        self.lives.update(rooms)
        self.arena = aligned(self.arena_bytes)
        for part in schedules:
            part.lay(self.offsets, self.arena)

    # ---- memory ----------------------------------------------------------------------------------
    def memory(self, buffer: Buffer) -> ndarray:
        """The bytes of a buffer that stays where it is."""
        made = self._static.get(buffer)
        if made is None:
            if buffer in self.contents:
                made = _bytes(self.contents[buffer])
            elif buffer in self.external:
                made = _bytes(self.external[buffer])
            else:
                start = self.offsets[buffer]
                made = self.arena[start : start + buffer.size]
            self._static[buffer] = made
        return made

    def array(self, value: Value) -> ndarray | None:
        """The array of a value, None when it is another one at each call."""
        if value.buffer in self.changing:
            return None
        made = self._arrays.get(value)
        if made is None:
            made = self._arrays[value] = look(self.memory(value.buffer), value)
        return made

    def getter(self, value: Any) -> Callable[[list[Any]], Any]:
        """A function from the memory of the call to the array of a value (or to a number, or what was handed on)."""
        if isinstance(value, Extra):
            instruction, extras = value.instruction, self.extras
            form = HANDED.get(instruction.op)
            if form is None:
                return lambda env: extras[instruction]
            parts = [self.getter(v) for v in instruction.extras]
            # Native code leaves the arrays alone; the gradient rule wants them in its structure.
            return lambda env: extras[instruction] if instruction in extras else form([get(env) for get in parts])
        if not isinstance(value, Value):
            return lambda env: value
        fixed = self.array(value)
        if fixed is not None:
            return lambda env: fixed
        k = self.changing[value.buffer]
        kind, shape, offset, strides = numpy_dtype(value.dtype), value.shape, value.offset, value.strides
        plain = value.whole

        def get(env: list[Any]) -> ndarray:
            memory = env[k]
            if plain and memory.shape == shape and memory.dtype == kind and memory.flags.c_contiguous:
                return memory
            if memory.flags.c_contiguous:
                return ndarray(shape, kind, memory, offset, strides)
            start = _low(memory)
            return _strided(_at(memory, start + offset, kind), shape, strides)

        return get

    def tree(self, params: Any) -> Callable[[list[Any]], Any]:
        """A function from the memory of the call to parameters with arrays in the place of references."""
        getters: list[tuple[Any, Callable[[list[Any]], Any]]] = []
        varies = False

        def find(v: Any) -> Any:
            nonlocal varies
            varies |= isinstance(v, Extra) or v.buffer in self.changing
            getters.append((v, self.getter(v)))
            return None

        substitute(params, find)
        if not getters:
            return lambda env: params
        table = {id(v): get for v, get in getters}
        if not varies:
            fixed = substitute(params, lambda v: table[id(v)]([]))
            return lambda env: fixed
        return lambda env: substitute(params, lambda v: table[id(v)](env))

    # ---- instructions ----------------------------------------------------------------------------
    def _parts(self) -> list[tuple[Any, list[tuple[int, Any]]]]:
        """Instructions that are called one by one, and between them schedules, each with its updates and where their numbers begin."""
        parts: list[tuple[Any, list[tuple[int, Any]]]] = []
        for k, item in enumerate(self.items):
            if item.kind == "eager":
                if item.instructions[0].kind in ("op", "call", "rule"):
                    self.failing = k
                parts.append((item.instructions[0], []))
                continue
            if not parts or self.apart or not isinstance(parts[-1][0], Schedule):
                parts.append((Schedule(len(self.changing)), []))
            schedule, updates = parts[-1]
            schedule.item = k
            refusals = len(schedule.refusals)
            self._emit(item, schedule, updates)
            if len(schedule.refusals) > refusals:
                self.failing = k
        return parts

    def before_failure(self) -> list[Instruction]:
        """What has run by the time when the last item runs that may raise."""
        return [i for item in self.items[: self.failing + 1] for i in item.instructions]

    def eager(self, i: Instruction) -> Callable[[list[Any]], None]:
        """A function from the memory of a call that runs an instruction in Python."""
        return getattr(self, "_" + i.kind)(i)

    def lower(self, i: Instruction) -> Any:
        """Native code for an instruction that is no loop and no product, or why there is none."""
        rule = LOWERINGS.get(i.op)
        if i.kind == "decide":
            return "a decision with a value"
        if i.kind == "call" and rule is None:
            update = update_of(i)
            if not isinstance(update, str):
                counted = {id(c) for scalars in update.scalars for c in scalars}
                if self._counted & counted:
                    return "a second update by the same optimizer: its numbers follow from the first"
                self._counted |= counted
            return update
        return "no native code" if rule is None else rule(i, self)

    def number_of(self, v: Value) -> Any:
        """The number that a constant of one element holds, repeated or not; None for everything else."""
        array = self.contents.get(v.buffer)
        known = array is not None and array.size == 1 and array.dtype.kind in "fiub" and v.size and v.dtype == array.dtype.name
        return array.item() if known else None  # type: ignore[union-attr]

    # ---- native code -------------------------------------------------------------------------------
    def ends(self, v: Value, schedule: Schedule) -> bool:
        """Whether nobody reads a temporary after the present item, which may so write its results there."""
        return not self.apart and self.lives.get(v.buffer, (0, -1))[1] == schedule.item

    def place(self, v: Value, schedule: Schedule) -> Place:
        """Where a value lies, for a schedule."""
        k = self.changing.get(v.buffer)
        if k is not None:
            return Place("given", k, v.offset - self.first.get(v.buffer, 0))
        if v.buffer in self.lives:
            return schedule.share(v.buffer).at(v.offset)
        return Place("kept", schedule.keep(self.memory(v.buffer)), v.offset)

    def _emit(self, item: Item, schedule: Schedule, updates: list[tuple[int, Any]]) -> None:
        """Add the calls of an item to a schedule."""
        if item.kind == "loop":
            loop, values = self.loops[item]
            title = f"loop {'x'.join(map(str, item.shape)) or 'scalar'}: " + ", ".join(i.op for i in item.instructions)
            schedule.loop(loop, [self.place(v, schedule) for v in values], title=title)
        elif item.kind == "product":
            product, a, b, bias = item.product
            out = item.instructions[0].outputs[0]
            left, right, to = (self.place(v, schedule) for v in (a, b, out))
            schedule.product(product, left, right, to, None if bias is None else self.place(bias, schedule))
        elif item.kind == "native":
            before = len(schedule.refusals)
            item.product.emit(schedule)
            schedule.refusals[before:] = [_named(refuse, item.instructions[0]) for refuse in schedule.refusals[before:]]
        else:
            update = item.product.copy() if self.apart else item.product
            at = schedule.number(update.count)
            arrays = [
                [self.place(p, schedule), self.place(g, schedule), *[Place("kept", schedule.keep(s[k])) for s in update.states]]
                for k, (p, g) in enumerate(zip(update.params, update.grads, strict=True))
            ]
            schedule.update(update.rule, arrays, [p.size for p in update.params], at, update.kind)
            for k, scalars in enumerate(update.scalars, start=at + update.count - len(update.scalars)):
                schedule.put([Place("kept", schedule.keep(c)) for c in scalars], k)
            updates.append((at, update))
            self.holders += update.holders

    def _native(self, schedule: Schedule, updates: list[tuple[int, Any]]) -> Callable[[list[Any]], None]:
        """Compile a schedule to one function."""
        run = schedule.compile("a compiled step")
        if run is None:
            raise RuntimeError("its native code could not be compiled")
        self.schedules.append(schedule)
        held = run.numbers  # type: ignore[attr-defined]
        for at, update in updates:
            self.before.append(_filler(held, at, update.count, update.numbers))
        native, where, places, team = run.native, run.where, run.places, threads.team  # type: ignore[attr-defined]
        self.kept.append(run)
        refusals, streams = schedule.refusals, sorted(schedule.streams, key=id)

        used: list[int] = run.used  # type: ignore[attr-defined]
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

    def _op(self, i: Instruction) -> Callable[[list[Any]], None]:
        forward = i.record.numpy_forward
        inputs = [self.getter(v) for v in i.inputs]
        params = self.tree(i.params)
        own = {v.buffer for v in i.outputs}
        outputs = [self.getter(v) for v in i.outputs if v not in i.extras]
        handed = [self.getter(v) if v.buffer in own else None for v in i.extras]
        extras, hands_on, several = self.extras, i.hands_on, i.record.outputs != 1
        offers = self._offers(i)

        def run(env: list[Any]) -> None:
            given, named = [get(env) for get in inputs], params(env)
            try:
                with offering([get(env) for get in offers]):
                    made = forward(*given, **named)
            except Exception as error:
                raise raised(error, i, given, named) from None
            if hands_on:
                made, extra = made
                extras[i] = extra
                if handed:
                    for get, a in zip(handed, _flat(extra), strict=True):
                        if get is not None:
                            _store(get(env), a)
            for get, a in zip(outputs, made if several else (made,), strict=True):
                _put(get(env), a)

        return run

    def _offers(self, i: Instruction) -> list[Callable[[list[Any]], Any]]:
        """The memory of an instruction's results, in the form in which its kernels make arrays."""
        found = {}
        for v in i.outputs:
            known = self.storage.roots.get(v.buffer)
            if (
                known is not None
                and str(known[1]) in ITEMSIZE
                and v.buffer.size == known[1].itemsize * int(np.prod(known[0]))
                and v.buffer.size >= 256
            ):
                found[v.buffer] = self.getter(Value(v.buffer, str(known[1]), known[0], row_major(known[0], known[1].itemsize)))
        return list(found.values())

    def _copy(self, i: Instruction) -> Callable[[list[Any]], None]:
        target, origin = self.getter(i.made()[0]), self.getter(i.inputs[0])
        return lambda env: np.copyto(target(env), origin(env), casting="unsafe")

    _constant = _copy

    def _call(self, i: Instruction) -> Callable[[list[Any]], None]:
        function, returned = i.record
        params = self.tree(i.params)
        results = [self.getter(v) for v in returned]

        def run(env: list[Any]) -> None:
            given = params(env)
            try:
                made = function(*given["args"], **given["kwargs"])
            except Exception as error:
                raise placed(error, i) from None
            for get, a in zip(results, _flat(made, True), strict=True):
                place = get(env)
                if place is not a:
                    _store(place, a)

        return run

    def _decide(self, i: Instruction) -> Callable[[list[Any]], None]:
        holds, site = i.record, i.site
        values = [self.getter(v) for v in i.inputs]

        def run(env: list[Any]) -> None:
            if not holds([plain(get(env)) for get in values]):
                raise Diverged(site)

        return run

    def _rule(self, i: Instruction) -> Callable[[list[Any]], None]:
        rule, places, _ = i.record
        params = self.tree(i.params)
        outputs = [None if v is None or v not in i.outputs else self.getter(v) for v in places]
        backward = rule.backward
        offers = self._offers(i)

        def run(env: list[Any]) -> None:
            given = params(env)
            with offering([get(env) for get in offers]):
                try:
                    made = backward(RAW, given["g"], given["s"], given["params"])
                except Exception as error:
                    raise placed(error, i) from None
            for get, a in zip(outputs, made, strict=True):
                if get is not None:
                    _put(get(env), a)

        return run

    def ready(self) -> bool:
        """Compute the numbers that the call needs; False when an optimizer's options ask for another program."""
        return all(prepare() for prepare in self.before)

    def __call__(self, given: list[ndarray]) -> list[Any]:
        """Run once on the dynamic buffers' arrays; returns those and the fresh ones."""
        env = given
        for b in self.fresh:
            env.append(np.empty(b.size, np.uint8))
        for step in self.steps:
            step(env)
        return env


def executable(program: Program, storage: Storage) -> Executable:
    """A program bound to memory; where its native code cannot be made it runs without, and a warning says so once."""
    made = Executable(program, storage)
    if made.failure is None:
        return made
    if made.failure not in _warned:
        _warned.add(made.failure)
        warnings.warn(f"a compiled step runs without native code of its own: {made.failure}", RuntimeWarning, stacklevel=2)
    return Executable(program, storage, native=False)


_warned: set[str] = set()


def _put(place: ndarray, a: Any) -> None:
    """Store a result, unless the kernel has already done so."""
    if type(a) is ndarray and a.strides == place.strides and a.shape == place.shape and address(a) == address(place):
        return
    _store(place, a)


def _store(place: ndarray, a: Any) -> None:
    """Copy a result, which is never broadcast: one of another shape than in the call that was traced followed from values."""
    if np.shape(a) != place.shape:
        raise RuntimeError(f"a compiled step has a result of shape {np.shape(a)} where it was traced with {place.shape}")
    np.copyto(place, a, casting="unsafe")


def _filler(numbers: ndarray, at: int, count: int, make: Callable[[], Any]) -> Callable[[], bool]:
    pack = Struct(f"={count}d").pack_into  # a third of what storing a tuple in an array costs
    where = 8 * at

    def fill() -> bool:
        made = make()
        if made is None:
            return False
        pack(numbers, where, *made)
        return True

    return fill


def _flat(value: Any, numbers: bool = False) -> list[Any]:
    if type(value) is ndarray:
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [a for v in value for a in _flat(v)]
    return [value] if numbers and isinstance(value, np.generic) else []


def _named(refuse: Callable[[], None], i: Instruction) -> Callable[[], None]:
    """A kernel's refusal with the operation's line."""

    def refusal() -> None:
        try:
            refuse()
        except Exception as error:
            raise placed(error, i) from None

    return refusal


def _bytes(array: ndarray) -> ndarray:
    """The bytes from an array's first address to its last."""
    if array.flags.c_contiguous:
        return array.reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)
    low, high = _extent(array)
    return _strided(_at(array, low, np.dtype(np.uint8)), (high - low,), (1,))


def stretch(array: ndarray, low: int, high: int) -> ndarray:
    """The bytes from one address to another in the memory that an array looks at."""
    return _strided(_at(array, low - array.__array_interface__["data"][0], np.dtype(np.uint8)), (high - low,), (1,))


def _extent(array: ndarray) -> tuple[int, int]:
    low, high = bounds(array)
    start = array.__array_interface__["data"][0]
    return low - start, high - start


def _low(array: ndarray) -> int:
    return _extent(array)[0]


class _Window:
    """Memory at an address, for NumPy, that keeps its owner alive."""

    def __init__(self, owner: ndarray, address: int, kind: np.dtype) -> None:
        self.base = owner
        self.__array_interface__ = {"data": (address, not owner.flags.writeable), "shape": (1,), "typestr": "|u1", "version": 3}


def _at(array: ndarray, shift: int, kind: np.dtype) -> ndarray:
    """A one-element array `shift` bytes from the start of an array."""
    address = array.__array_interface__["data"][0] + shift
    window = _Window(array, address, kind)
    window.__array_interface__["shape"] = (kind.itemsize,)
    return np.asarray(window).view(kind)
