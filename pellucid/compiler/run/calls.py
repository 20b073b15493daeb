"""Calls of a traced version: whether it may serve one, and what leaves it."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import memmove, string_at
from sys import getrefcount
from typing import Any

import numpy as np
from numpy import empty, ndarray

from ...api.settings import SETTINGS
from ...backends.numpy_cpu import address
from ...core.bind import wrap
from ...core.inplace import replay_tensor
from ...core.interpret import thread
from ...core.modes import local, no_grad, state
from ...core.primitive import TENSORS
from ...core.tensor import Tensor, make_tensor, version_of
from ...dtypes import get_default_dtype
from ...errors import pass_on
from ...ir import Value
from ...kernels.random.twister import SIZE
from ...ops.shape.storage import as_strided
from ..capture.effects import restore, saved
from ..capture.guards import hooks_in
from ..capture.structure import flatten, masked, numbers_in, rebuild
from ..trace.arrays import memory_of, numpy_dtype, owner
from .execute import Diverged, look, plain
from .node import freed, record

STREAM = 4 * (SIZE + 1)  # bytes of a random stream: its words, and the position of the next one
STALE: Any = object()  # an optimizer's options or counters of steps ask for another update
FAILED: Any = object()  # it raised and was undone: eager execution raises in its place


def signature(tensors: list[Tensor]) -> tuple[Any, ...]:
    """What the program depends on of its tensor arguments."""
    return tuple(
        [(type(t), t._array.shape, t._array.dtype, t._array.strides, t._rg, t._node is None, _kept(t._x)) for t in tensors]
    )


def _kept(rare: dict[str, Any] | None) -> tuple[Any, ...]:
    """What a program depends on among the rare things that a tensor has: hooks, being made in inference mode, keeping its gradient."""
    made = () if rare is None else (*hooks_in(rare), bool(rare.get("inference")), bool(rare.get("retains")))
    return made if any(made) else ()


def flags() -> tuple[Any, ...]:
    """The modes that a program depends on."""
    kind, modes = get_default_dtype(), len(local.function_modes)
    own = (local.grad, local.inference, thread.stack.key, local.device, modes)
    return (*own, kind, *SETTINGS.values())


def same_place(t: Tensor, other: Tensor) -> bool:
    """Whether two tensors are one piece of memory, looked at alike and with one counter of writes."""
    a, b = t._array, other._array
    if a is not b and (
        type(b) is not ndarray or (a.shape, a.strides, a.dtype) != (b.shape, b.strides, b.dtype) or address(a) != address(b)
    ):
        return False
    return version_of(t) is version_of(other)


OTHER_TENSORS = "a tensor argument of another shape, dtype, layout or requires_grad"


def differing(now: tuple[Any, ...], before: tuple[Any, ...]) -> str:
    """Which tensor arguments are others, by their signatures, in words."""
    told = []
    for k, (one, other) in enumerate(zip(now, before, strict=False)):
        shown = [f"{s[2]} {list(s[1])}" for s in (one, other)]
        if shown[0] != shown[1]:
            told.append(f"tensor {k} is {shown[0]}, was {shown[1]}")
        elif one != other:
            what = "requires_grad" if one[4] != other[4] else "strides" if one[3] != other[3] else "kind"
            told.append(f"tensor {k} differs in {what}")
    return ", ".join(told[:3])


class Calls:
    """The part of a version that serves calls."""

    # ---- calling -----------------------------------------------------------------------------------
    def why_not(self, structure: Any, tensors: list[Tensor]) -> str | None:
        """What differs from the call that was traced; None when the program serves this call."""
        if (masked(structure, self.lift) if self.lift else structure) != self.structure_key:
            return "other arguments"
        if self.checked and self._fits(tuple(tensors)):
            return None
        if self.places:
            tensors = [*tensors]
            if flatten([g.now() for g in self.places], tensors) != self.places_key:
                self.culprit = self.places[0]
                return f"{', '.join(g.path for g in self.places[:3])} changed"
        if signature(tensors) != self.signature:
            return OTHER_TENSORS
        if any(t.__dict__ and not self.marks.isdisjoint(t.__dict__) for t in tensors) if self.marks else False:
            return "an argument has attributes of its own"
        if flags() != self.flags:
            return "another grad mode, autocast, default dtype or setting of the library"
        for g in self.guards:
            if not g.holds():
                self.culprit = g
                return f"{g.path} changed"
        for g in self.watched:
            if type(g.now()) is not type(g.expected):
                return f"{g.path} changed"
        for k, t, kind in self.alike:
            if not same_place(tensors[k], t) or (t._rg, t._node is None) != kind:
                return "an argument shares no memory any more with a tensor that the step also reaches otherwise"
        for k, t in self.pinned:
            if tensors[k] is not t:
                return "an argument is another tensor than one that the step also reaches otherwise"
        self.drifted = [t for t, a in self.state if t._array is not a]
        if self.drifted:
            return "a tensor has other memory"
        moved = [t._array for t, _ in self.drift]
        for a, (_, form) in zip(moved, self.drift, strict=True):
            if type(a) is not ndarray or (a.shape, a.dtype, a.strides) != form:
                return "a tensor has memory of another form"
        for t, rg in self.flags_of_state:
            if t._rg != rg:
                return "requires_grad of a tensor changed"
        for who, g in self.grads_before:
            t = tensors[who] if type(who) is int else who
            if (t._grad is None) != (g is None):
                return "a gradient that was there is gone, or the reverse"
            if g is not None and (t._grad._array.shape, t._grad._array.strides) != (g._array.shape, g._array.strides):  # type: ignore[union-attr]
                return "a gradient is laid out otherwise"
        changing = [tensors[k]._array for k, _ in self.overwrites]
        changing += [(tensors[t] if type(t) is int else t)._grad._array for t in self.moving_written]
        if any(not (a.flags.writeable or owner(a).flags.writeable) for a in changing):
            return "a tensor that the step writes to is in memory that is read-only"
        arrays = [t._array for t in tensors]
        if any(id(memory_of(a)) in self.own_roots for a in (*arrays, *moved)):
            return "an argument shares memory with a parameter"
        if moved and self.overwrites and not {id(memory_of(a)) for a in moved}.isdisjoint(id(memory_of(a)) for a in arrays):
            return "an argument shares memory with a tensor that has been given other memory"
        if not self.sharing.fits(arrays) or self.overwrites and self.sharing.overlaps(arrays):
            return "arguments share memory in another way"
        return None

    def admits(self, args: tuple[Any, ...]) -> bool:
        """Whether `why_not` would find nothing, as far as the generated check tells; False for kinds of calls that it does not serve."""
        return self.checked and self.bare and self._fits(args)

    def _fits(self, args: tuple[Any, ...]) -> bool:
        """What the generated check tells of arguments that are tensors."""
        arrays = self.check(args)  # type: ignore[misc]
        if arrays is None or any(id(memory_of(a)) in self.own_roots for a in arrays):
            return False
        return not (self.overwrites and len(arrays) > 1 and _overlap(arrays))

    def quick(self, args: tuple[Any, ...]) -> Any:
        """The result of an everyday call, NotImplemented when another version, or eager, must answer."""
        given: Any = ()
        if not self.bare:
            found = self.unpack(args)  # type: ignore[misc]
            if found is None:
                return NotImplemented
            args, given = found
        arrays = self.check(args)  # type: ignore[misc]
        if arrays is None:
            return NotImplemented
        roots = self.own_roots
        views = 0
        for a in arrays:
            if id(a) in roots or a.base is not None and id(memory_of(a)) in roots:
                return NotImplemented
            views += a.base is not None
        if views and self.overwrites and len(arrays) > 1 and _overlap(arrays):
            return NotImplemented
        if not self._lock.acquire(blocking=False):
            return NotImplemented
        try:
            if not self.simple:
                return self._quick_with_changes(args, arrays, given)
            run = self.run
            for prepare in run.before:
                if not prepare():
                    return NotImplemented
            fresh = self._memory(arrays)
            for step in run.steps:
                step(arrays)
        finally:
            self._lock.release()
        if self.overwrites:
            tensors = self._given(list(args)) if self.places else args
            for k, n in self.overwrites:
                version_of(tensors[k]).count += n
        out = self._made(arrays, fresh)
        return out[0] if self.single else rebuild(self.skeleton, lambda slot: out[slot.place])

    def _memory(self, arrays: list[Any]) -> list[Any]:
        """Add memory for what leaves; returns the gradients that are new."""
        reused = self.reused
        fresh = []
        for k, (shape, kind, t) in enumerate(self.layout):
            if t is not None:
                held = reused[k]
                # A gradient's memory is used again when nobody but the parameter and this version knows it.
                if held is not None and t._grad is held[0] and getrefcount(held[0]) == 3 and getrefcount(held[1]) == 3:
                    arrays.append(held[1])
                    continue
                made = empty(shape, kind)
                fresh.append((k, t, wrap(made), made))
            else:
                made = empty(shape, kind)
            arrays.append(made)
        return fresh

    def _made(self, arrays: list[Any], fresh: list[Any], numbers: Any = (), known: Any = None) -> list[Any]:
        """Results, after gradients and counters."""
        self.hits += 1
        for t in self.removed:
            t._grad = None
        for k, t, grad, made in fresh:
            t._grad = grad
            self.reused[k] = (grad, made)
        for version, n in self.counters:
            version.count += n
        out: list[Any] = []
        for k, spent, number in self.leaving:
            if number is not None:
                now = None if known is None else known[len(out)]
                if now is None and len(out) not in self.late_outputs:
                    now = number([numbers[-1 - i] if i < 0 else plain(arrays[i]) for i in k])
                out.append(now)
                continue
            t = wrap(arrays[k])
            if spent is not None:
                t._node = spent
                t._rg = True
            out.append(t)
        return out

    def _quick_with_changes(self, args: tuple[Any, ...], arrays: list[Any], given: tuple[Any, ...]) -> Any:
        """`quick`, with numbers that the call is given, decisions and effects; where it fails, or decides otherwise, the slower way shall."""
        numbers = [*given, *[g.now() for g in self.watched]]
        numbers += [None] * (self.count_of_numbers - len(numbers))
        held = saved(self.tables) if self.tables else ()
        undo = None
        known: list[Any] = [None] * len(self.outputs)
        try:
            if self.starting:
                self._begin(numbers, known)
            ready = self.run.ready()
            if ready:
                arrays += self._computed(numbers)
                fresh = self._memory(arrays)
                undo = None if self.undone is None else self._undoer(arrays)
                for step in self.run.steps:
                    step(arrays)
        except Exception as error:
            pass_on(error)  # what the call has done stays, as if it were eager: a second attempt would do it twice
            if undo is not None:
                undo()
            restore(held)
            return NotImplemented
        if not ready:
            restore(held)
            return NotImplemented
        if self.overwrites:
            tensors = self._given(list(args))
            for k, n in self.overwrites:
                version_of(tensors[k]).count += n
        out = self._made(arrays, fresh, numbers, known)
        if self.changing:
            self._follow(numbers, out, lambda v: arrays[self.position_of[v.buffer]])
        return out[0] if self.single else rebuild(self.skeleton, lambda slot: out[slot.place])

    def __call__(self, tensors: list[Tensor], structure: Any) -> Any:
        """The result of a call that `why_not` admitted; NotImplemented while another thread is inside, STALE where updates are others,
        FAILED where it raised, and has been undone.
        """
        if not self._lock.acquire(blocking=False):
            return NotImplemented
        try:
            tensors = self._given(tensors)
            held = saved(self.tables) if self.tables else ()
            numbers = self._numbers(structure)
            made: list[Any] = [None] * len(self.outputs)
            try:
                env = self._run(tensors, numbers, made)
            except Exception as error:
                if not self.changing:
                    raise
                pass_on(error)
                restore(held)
                return FAILED
            if env is STALE or env is FAILED or isinstance(env, Diverged):
                restore(held)
                return env
            extras = dict(self.run.extras) if self.run_back is not None else {}
            self.hits += 1
            self._leave(tensors, numbers, env, extras, made)
        finally:
            self._lock.release()
        return rebuild(self.skeleton, lambda t: made[t.place])

    def _given(self, tensors: list[Tensor]) -> list[Tensor]:
        """The tensors among the arguments, and those at places whose tensors are others at each call."""
        if self.places:
            tensors = [*tensors]
            flatten([g.now() for g in self.places], tensors)
        return tensors

    def _numbers(self, structure: Any) -> list[Any]:
        """The numbers that the call is given."""
        if not self.count_of_numbers:
            return []
        numbers = numbers_in(structure) if self.lift else []
        found = [*[numbers[k] for k in sorted(self.lift)], *[g.now() for g in self.watched]]
        return found + [None] * (self.count_of_numbers - len(found))

    def _run(self, tensors: list[Tensor], numbers: list[Any], made: list[Any]) -> Any:
        """Run the program, after what comes before it: its memory; STALE, or a Diverged."""
        if self.starting:
            try:
                self._begin(numbers, made)
            except Exception as error:
                pass_on(error)
                return FAILED
        if not self.run.ready():
            return STALE
        given = [
            *self.sharing.given([t._array for t in tensors]),
            *[(tensors[t] if type(t) is int else t)._grad._array for t in self.moving],
            *[t._array for t, _ in self.drift],
        ]
        if self.computed:
            try:
                given += self._computed(numbers)
            except ArithmeticError as error:
                return Diverged(error)
        return self.run(given) if self.undone is None else self._attempt(given)

    def _computed(self, numbers: list[Any]) -> list[ndarray]:
        """What the program is given of numbers."""
        return [np.asarray(f([numbers[k] for k in ks]), kind) for _, f, ks, kind in self.computed]

    def _begin(self, numbers: list[Any], made: list[Any]) -> None:
        """Options that the step sets before its optimizer reads them, and schedules that are stepped before it."""
        self._number(self.given_outputs, numbers, made, True)
        for effect in self.early:
            effect(made)
        for call in self.first_calls:
            call(made)
            for k, g, kind in call.reads:
                numbers[k] = g.now()
                if type(numbers[k]) is not kind:
                    raise TypeError(f"{g.path} is of another type than it was")
        for compute, ks in self.partial:
            compute([numbers[k] for k in ks])
        if self.first_calls:
            self._number(self.given_outputs, numbers, made)

    def _number(self, outputs: list[int], numbers: list[Any], made: list[Any], known: bool = False) -> None:
        """Make results of numbers alone; with `known`, those of numbers that are known by now."""
        for k in outputs:
            _, terms, compute, _ = self.outputs[k]
            values = [numbers[v] for v in terms]
            if not known or all(v is not None for v in values):
                made[k] = compute(values)

    def _leave(self, tensors: list[Tensor], numbers: list[Any], env: list[Any], extras: Any, made: list[Any]) -> None:
        """Gradients, results and effects."""

        def memory(value: Value) -> ndarray:
            read = self.readers.get(value)
            if read is None:
                read = self.readers[value] = self._reader(value)
            return read(env)  # type: ignore[no-any-return]

        for k in self.asked:
            tensors[k]._rg = True
        for who, value in self.gradients:
            t = tensors[who] if type(who) is int else who
            t._grad = None if value is None else make_tensor(memory(value))
        counters = {
            id(v): (v, n) for t, n in [*self.written, *[(tensors[k], n) for k, n in self.overwrites]] for v in [version_of(t)]
        }
        for version, n in counters.values():  # arguments that share memory may share their counter
            version.count += n
        late = self.late_outputs
        for k, output in enumerate(self.outputs):
            if output[0] == "argument":
                made[k] = tensors[output[1]]
            elif output[0] == "state":
                made[k] = output[1]
            elif output[0] == "view":  # with its base's graph: a write to one counts in the other's gradient
                base = tensors[output[1]] if isinstance(output[1], int) else output[1]
                made[k] = replay_tensor(TENSORS, base, output[2])
            elif output[0] == "number":
                if k not in late and made[k] is None:
                    made[k] = output[2]([numbers[v] if type(v) is int else plain(memory(v)) for v in output[1]])
            else:
                base = self.based.get(output[1].buffer) if not output[2] else None
                array = memory(output[1])
                if base is None:
                    made[k] = make_tensor(array)
                else:
                    base = tensors[base] if isinstance(base, int) else base
                    made[k] = _view(base.detach() if base._rg and k in self.detached else base, array)
        if self.seeds:
            self._join(made, tensors, env, extras)
        for output, t in zip(self.outputs, made, strict=True):
            if output[0] == "new" and output[3]:
                freed(t, output[3])
        if self.changing:
            self._follow(numbers, made, memory)

    def _reader(self, value: Value) -> Callable[[list[Any]], Any]:
        """A function from the memory of a call to the array of a value."""
        if value.buffer not in self.run.changing:
            array = self.run.array(value)
            return lambda env: array
        k, get, whole = self.run.changing[value.buffer], self.run.getter(value), value.whole

        def read(env: list[Any]) -> ndarray:
            block = env[k]
            return look(block, value) if whole and block.dtype == np.uint8 and block.ndim == 1 else get(env)  # type: ignore[no-any-return]

        return read

    def _follow(self, numbers: list[Any], made: list[Any], memory: Any) -> None:
        """What the step changes in Python after its program."""
        before = state.structure
        for stage, effects in enumerate(self.staged):
            for effect in effects:
                effect(made)
            if stage == len(self.late_calls):
                break
            call = self.late_calls[stage]
            call(made)
            for k, g, _ in call.reads:
                numbers[k] = g.now()
            for k in self.late_outputs:
                terms = self.outputs[k][1]
                if all(type(v) is not int or numbers[v] is not None for v in terms):
                    made[k] = self.outputs[k][2]([numbers[v] if type(v) is int else plain(memory(v)) for v in terms])
        # What it stored in modules are its own inputs: no reason to compare all that counts.
        if self.bumps and self.check is not None and self.check.seen[0] == before and state.structure == before + self.bumps:
            self.check.seen[0] = state.structure

    def _attempt(self, given: list[ndarray]) -> Any:
        """Run a program that decides with values; a Diverged, with everything as it was, where one falls otherwise."""
        undo = self._undoer(given)
        try:
            return self.run(given)
        except Diverged as diverged:
            undo()
            return diverged
        except Exception as error:
            pass_on(error)
            if self.changing:
                undo()
            raise

    def _undoer(self, given: list[ndarray]) -> Callable[[], None]:
        """A function that makes random streams and memory what they are now."""
        streams, arrays, places, tables = self.undone
        states = [(string_at(g._state, STREAM), g.normal, g._float_normal) for g in streams]
        arrays = [*arrays, *[given[k] for k in places], *[t._array for s in tables for t in s.values() if isinstance(t, Tensor)]]
        before = [a.copy() for a in arrays]

        def undo() -> None:
            for g, (words, normal, float_normal) in zip(streams, states, strict=True):
                with g._lock:
                    memmove(g._state, words, STREAM)
                    g.normal, g._float_normal = normal, float_normal
            for a, b in zip(arrays, before, strict=True):
                np.copyto(a, b)

        return undo

    def _join(self, made: list[Tensor], tensors: list[Tensor], env: list[Any], extras: Any) -> None:
        """Make the results that require grad the results of one node, whose gradient rule is the program's second half."""
        roots = [t for o, t in zip(self.outputs, made, strict=True) if o[0] == "new" and o[2] and not o[3]]
        leaves = [tensors[t] if isinstance(t, int) else t for t in self.wanted]
        read = [tensors[t] if isinstance(t, int) else t for t in self.read_back]
        read += [made[k] for k in self.read_results]
        saved = env[: len(self.run.dynamic)] + [env[self.run.changing[b]] for b in self.saved]
        record(self, roots, leaves, read, saved, extras)

    def back(self, saved: list[Any], extras: Any, seeds: list[ndarray | None]) -> list[ndarray | None]:
        """Run the second half; no gradient for what only results come from that got none."""
        run = self.run_back
        assert run is not None
        with self._lock:
            before = dict(run.extras)
            run.extras.update(extras)
            given = [
                np.zeros(v.shape, numpy_dtype(v.dtype)) if s is None else np.ascontiguousarray(s)
                for s, v in zip(seeds, self.seeds, strict=True)
            ]
            env = run([*saved, *given])
            run.extras.update(before)
        if not self.back_readers:
            self.back_readers = [run.getter(v) for v in self.returned]
        return [
            read(env) if any(seeds[k] is not None for k in reached) else None
            for read, reached in zip(self.back_readers, self.reached, strict=True)
        ]


def _view(base: Tensor, array: ndarray) -> Tensor:
    """A result that looks into an argument's or a parameter's memory, as a view of it: a write to one counts for the other."""
    size = array.itemsize
    if array.dtype != base._array.dtype or any(step % size or step < 0 for step in array.strides):
        return wrap(array)
    start = base.storage_offset() + (address(array) - address(base._array)) // size
    with no_grad():
        return as_strided(base, array.shape, [step // size for step in array.strides], start)


def _overlap(arrays: list[ndarray]) -> bool:
    return any(np.may_share_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k])
