"""One traced version of a function: its program bound to memory, the guards under which it holds, and how results leave it."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from sys import getrefcount
from typing import Any

import numpy as np
from numpy import empty, ndarray

from ..api.settings import SETTINGS
from ..backends.numpy_cpu import address
from ..core import reverse
from ..core.bind import wrap
from ..core.modes import local, no_grad
from ..core.random import Generator
from ..core.tape import Node, count, walk
from ..core.tensor import OutputSlot, Tensor, make_tensor, version_of
from ..dtypes import get_default_dtype
from ..errors import GraphError
from ..ir import Buffer, Value
from ..ops.view_storage import as_strided
from .arrays import numpy_dtype, owner
from .checking import checker, split
from .earlier import Earlier
from .errors import Refusal
from .execute import Diverged, executable, look, plain
from .guards import LEAF_HOOKS, Guard, Opaque, changed, hooks_of
from .node import freed, record, spent_slot
from .numbers import is_read, settle
from .sharing import Sharing
from .structure import Slot, flatten, lifted, masked, numbers_in, rebuild
from .surroundings import Surroundings
from .trace import Tracer
from .witness import Witness


def signature(tensors: list[Tensor]) -> tuple[Any, ...]:
    """What the program depends on of its tensor arguments."""
    return tuple(
        [(type(t), t._array.shape, t._array.dtype, t._array.strides, t._rg, t._node is None, hooks_of(t)) for t in tensors]
    )


def flags() -> tuple[Any, ...]:
    """The modes that a program depends on."""
    kind, modes = get_default_dtype(), len(local.function_modes)
    cast = local.autocast and local.autocast.key
    own = (local.grad, local.inference, cast, len(local.saved_hooks), local.anomaly, local.device, modes)
    return (*own, kind, *SETTINGS.values())


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


STALE: Any = object()  # an optimizer's options or counters of steps ask for another update


# ---- a traced version ------------------------------------------------------------------------------
class Version:
    """A program for one kind of call."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], whole: bool = False,
        lift: frozenset[int] = frozenset(), watched: Sequence[Guard] = (),
    ) -> None:  # fmt: skip
        self.function = function
        self.watched = watched  # numbers in attributes, globals and the like that may be others, too
        self.lift = lift  # which of the numbers among the arguments may be others at each call
        self.flags = flags()
        self.refusal: Refusal | None = None
        self.transient = False  # the next call may be compiled
        self.hits = 0
        self.culprit: Guard | None = None  # the guard that did not hold when `why_not` was asked last
        self._lock = threading.Lock()
        try:
            self._trace(args, kwargs, whole)
        finally:
            settle(self.tracer.living_numbers())
            self.tracer.forget()
            del self.tracer

    # ---- tracing -----------------------------------------------------------------------------------
    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any], whole: bool) -> None:
        tensors: list[Tensor] = []
        structure = flatten((args, kwargs), tensors)
        self.kind_of_call, self.numbers = masked(structure, None), numbers_in(structure)
        self.structure_key = masked(structure, lift) if (lift := self.lift) else structure
        around = self.around = Surroundings(self.function, args, kwargs)
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
        witness = tracer.witness = Witness()
        streams = around.drawn()
        start = count()
        try:
            given = lifted((args, kwargs), self.lift, tracer.number_given, itertools.count()) if self.lift else (args, kwargs)
            put = [(g, g.now(), tracer.number_given(g.now())) for g in self.watched]
            for g, _, number in put:
                g.set(number)
            try:
                with tracer.active(), witness.watching(), _uncast():
                    self.first = self.function(*given[0], **given[1])
            finally:
                for g, plain_number, number in put:
                    if g.now() is number:
                        g.set(plain_number)
                del given, put
                g = number = None
        except TypeError as error:
            self._again(error, args, kwargs)
            return
        if around.drawn() != streams:
            tracer.refuse("the step draws random numbers past this library, which a program could not repeat", witness.entry)
        self.refusal = tracer.refusal
        try:
            if self.refusal is not None:
                return
            self._settle(around, witness, earlier)
            self._results(tensors, around, start)
            self._build(around, tensors, args, kwargs)
            self.skeleton = rebuild(self.first, lambda t: Slot(self.places[id(t)]))
            self.single = isinstance(self.skeleton, Slot) and self.skeleton.place == 0
            self.program = tracer.program
            del self.around, self.differentiable, self.places, self.grad_changes, self.positions
        except Refusal as refusal:
            # Without the traceback, whose frames refer to this object: the values of the step would live until a collection.
            self.refusal = refusal.with_traceback(None)
        except Exception as error:  # a fault of the compiler's: the call itself has been made, and later ones can be made eagerly
            said = str(error).splitlines()[0] if str(error) else ""
            self.refusal = Refusal(
                f"the compiler failed ({type(error).__name__}: {said}), which is a fault of its own: please report it"
            )
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
            call, site = witness.impure[0]
            raise Refusal(f"the step {call}, which a program could not repeat", site)
        if witness.read is not None:
            raise Refusal(f"{witness.read[0]} looks at values to decide what to do", witness.read[1])
        if self.tracer.begun and not witness.asks_for_state and not around.views:
            around.begin(self.tracer.begun)
        if not witness.asks_for_state:
            around.idle(self.tracer.stepped)
        guards = around.relevant(witness)
        self.asks_types = witness.loads("type")
        hidden = next((g for g in guards if isinstance(g, Opaque)), None)
        if hidden is not None:
            raise Refusal(f"the step uses `{hidden.path}`, {hidden}", witness.entry)
        broken = changed(guards)
        if broken:
            self.transient = True
            raise Refusal(f"the step changes {broken[0].path}, which a program would not do", witness.line_of(broken[0]))
        places = {(id(g.holder), g.key) for g in self.watched}
        self.guards = guards = [g for g in guards if g.kind == "len" or (id(g.holder), g.key) not in places]
        self.kept = around.kept  # objects that guards know by their identity
        self.grad_changes = earlier.changes(self.tracer.cleared)
        self.asked = [self.positions.get(id(t), -1) for t in earlier.asked]
        if -1 in self.asked:  # the next call finds it so
            self.transient = True
            raise Refusal("the step changes requires_grad of a tensor")
        if "grad" in witness.users:  # where there is none may decide what is done
            earlier.ask(self.tracer.needs_grad, self.tracer.cleared)
        self.grads_before = [(self._who(t), g) for t, g in earlier.read(self.tracer.needs_grad, self.tracer.external)]

    def _results(self, tensors: list[Tensor], around: Surroundings, start: int) -> None:
        """Name the values that leave: results, and gradients."""
        tracer, program = self.tracer, self.tracer.program
        found: list[Tensor] = []
        shape = flatten(self.first, found)
        if "object" in _kinds(shape):
            raise Refusal("the step returns an object that is no tensor, number or container")
        self.outputs: list[tuple[Any, ...]] = []
        known = {id(t): ("argument", k) for k, t in enumerate(tensors)}
        known = {id(t): ("state", t) for t, _ in around.tensors.values()} | known
        self.differentiable: list[Tensor] = []
        self.places: dict[int, int] = {}
        for number in tracer.living_numbers():
            if not number.settled and all(number is not t for t in found):
                raise Refusal("the step keeps a tensor's value as a number", number.site)
        for t in found:
            self.places[id(t)] = len(self.outputs)
            if is_read(t):
                self.outputs.append(("number", [self._kept_number(*term) for term in t.terms], t.compute, False))  # type: ignore[attr-defined]
                continue
            if id(t) in known:
                self.outputs.append(known[id(t)])
                continue
            value = tracer.value(t._array, "the result")
            if value.buffer.kind == "constant":
                value = self._copied(value)
            program.outputs.append(value)
            spent = t._rg and _freed(t)
            if t._rg and not spent:
                self.differentiable.append(t)
            self.outputs.append(("new", value, t._rg, spent))
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
            self._trace_backward(tensors, around, start)

    def _who(self, t: Tensor) -> Any:
        """A tensor of the call: an argument by its position, since it is another one at the next call; state as it is."""
        return self.positions.get(id(t), t)

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

    def _trace_backward(self, tensors: list[Tensor], around: Surroundings, start: int) -> None:
        """The gradients of the results with respect to arguments and state, as the second half of the program."""
        tracer = self.tracer
        leaves = [t for t in tensors if t._rg]
        leaves += [t for t, _ in around.tensors.values() if t._rg and all(t is not o for o in leaves)]
        if not leaves:
            raise Refusal("the result requires grad through a tensor that is no argument and not found from one")
        outs = self.differentiable
        seeds = []
        for k, t in enumerate(outs):
            if _has_hooks(t):
                raise Refusal("the step leaves a graph with hooks behind")
            seed = wrap(np.ones(t._array.shape, t._array.dtype))
            self.seeds.append(tracer.declare(seed._array, "input", f"g{k}" if len(outs) > 1 else "g"))
            seeds.append(seed)
        tracer.phase = "backward"
        tracer.outside = start  # an argument may have been computed from the parameters, too
        try:
            with tracer.active(), _uncast(off=True):
                got = reverse.grad(outs, leaves, seeds, retain_graph=True, create_graph=False, allow_unused=True)
        except Refusal:
            raise
        except GraphError as error:  # what eager says to a caller who asks for gradients, too: the step overwrote what they need
            del tracer.program.instructions[self.split :]
            told = error.with_traceback(None)
            self.outputs = [(*o[:3], told) if o[0] == "new" and o[2] and not o[3] else o for o in self.outputs]
            self.seeds, self.differentiable = [], []
            return
        except Exception as error:  # the caller may never ask for gradients
            raise Refusal(f"its gradient raises {type(error).__name__}") from error
        if tracer.refusal is not None:
            raise tracer.refusal
        below = [_below(t, {_key(leaf) for leaf in leaves}) for t in outs]
        for t, g in zip(leaves, got, strict=True):
            if g is not None:
                self.wanted.append(self._who(t))
                self.reached.append([k for k, found in enumerate(below) if _key(t) in found])
                value = tracer.value(g._array, "a gradient")
                if value.buffer.kind != "temp" or not value.whole or value in tracer.program.outputs:
                    value = self._copied(value)
                tracer.program.outputs.append(value)
                self.returned.append(value)

    # ---- binding -----------------------------------------------------------------------------------
    def _build(self, around: Surroundings, tensors: list[Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        tracer, program = self.tracer, self.tracer.program
        program.verify()
        forward, backward = program.instructions[: self.split], program.instructions[self.split :]
        dynamic = [self.inputs[group[0]].buffer for group in self.sharing.groups]
        gradient_state = {id(g._array): (t, g) for t, g in self.grads_before if g is not None}
        self.moving: list[Any] = []  # gradients that existed at the start: another array at each call
        for buffer, array in tracer.external.items():
            if buffer.kind == "state" and id(array) in gradient_state:
                self.moving.append(gradient_state[id(array)][0])
                dynamic.append(buffer)
        self.computed = tracer.computed
        dynamic += [buffer for buffer, *_ in self.computed]
        made_forward = {v.buffer for i in forward for v in i.made() if v.buffer.kind == "temp"}
        used_backward = {v.buffer for i in backward for v in (*i.reads(), *i.made()) if v.buffer.kind == "temp"}
        self.saved = sorted(made_forward & used_backward, key=lambda b: b.number)
        leaving = [o[1].buffer for o in self.outputs if o[0] == "new" and o[1].buffer.kind == "temp"]
        leaving += [v.buffer for o in self.outputs if o[0] == "number" for v in o[1]]
        leaving += [v.buffer for _, v in self.gradients if v is not None]
        fresh = list(dict.fromkeys([*leaving, *self.saved]))
        external = {b: a for b, a in tracer.external.items() if b not in dynamic}
        self.run = executable(program, forward, tracer.contents, external, dynamic, fresh, roots=tracer.roots)
        self.run_back = None
        self.undone = self._undoing(forward, dynamic, external)
        if self.seeds:
            dynamic_back = [*dynamic, *self.saved, *[v.buffer for v in self.seeds]]
            fresh_back = list(dict.fromkeys(v.buffer for v in self.returned if v is not None))
            crossing = [v.buffer for i in backward for v in i.reads() if v.buffer in leaving and v.buffer not in self.saved]
            assert not crossing
            self.run_back = executable(
                program, backward, tracer.contents, external, dynamic_back, fresh_back, self.run.extras, roots=tracer.roots
            )
        reading = {v.buffer for i in backward for v in i.reads()}
        self.read_back: list[Tensor | int] = [k for k, v in enumerate(self.inputs) if v.buffer in reading]
        self.state = [(t, a) for a in external.values() for t in [self._holder(a)] if t is not None]
        writes = Counter(v.buffer for i in program.instructions for v in i.writes)
        times = Counter({id(external[b]): n for b, n in writes.items() if b in external})
        self.written = [(t, times[id(a)]) for t, a in self.state if times[id(a)]]
        self.overwrites = [(k, writes[v.buffer]) for k, v in enumerate(self.inputs) if writes[v.buffer]]
        self.based: dict[Buffer, Any] = {v.buffer: k for k, v in enumerate(self.inputs)}  # in whose memory results may lie
        self.based.update((b, t) for b, a in external.items() for t in [self._holder(a)] if t is not None)
        self.read_back += [t for t, a in self.state if any(external.get(b) is a for b in reading)]
        self.state += self.run.holders
        modules = [m for m, _ in around.modules]
        covered, others = self.seldom, self.always = split(self.guards, modules)
        grads = self.grads_before
        plain = not kwargs and all(isinstance(a, Tensor) for a in args) and len({id(a) for a in args}) == len(args)
        plain = plain and len(args) == len(tensors) and not any(t._rg for t in tensors)
        rg = self.flags_of_state = [(t, t._rg) for t, _ in self.state if t._rg or t.is_leaf and t.dtype.is_floating_point]
        plain = plain and local.autocast is None
        self.check = checker(tensors, plain, others, covered, self.state, rg, grads)
        self.own_roots = {id(owner(a)) for _, a in self.state}
        self.fast = self._fast_path()
        if self.fast:
            self._plan_quick()

    def _undoing(self, forward: list[Any], dynamic: list[Any], external: dict[Any, ndarray]) -> Any:
        """What a call whose decisions fall otherwise has done by then, and must undo: random streams, arrays, arguments. None: it has no
        decisions.
        """
        last = max((k for k, i in enumerate(forward) if i.kind == "decide"), default=None)
        if last is None:
            return None
        streams: dict[int, Generator] = {}
        written = set()
        for i in forward[:last]:
            if i.kind == "call":
                found = [a for a in i.params["args"] if isinstance(a, Generator)]
                streams.update((id(g), g) for g in found)
                if not found and not (i.outputs or i.writes) and i.record[0] not in self.tracer.checks:
                    raise Refusal(f"the step decides with a tensor's value after {i.op}", i.site)
                if i.op == "_update_group":
                    raise Refusal("the step decides with a tensor's value after an optimizer's update", i.site)
            written |= {v.buffer for v in i.writes if v.buffer.kind != "temp"}
        return (
            list(streams.values()),
            [external[b] for b in written if b in external],
            [dynamic.index(b) for b in written if b not in external],
        )

    def _plan_quick(self) -> None:
        """What `quick` makes: results and gradients (whose memory may be used again), in the order of `run.fresh`."""
        grad_of = {v.buffer: (v, t) for t, v in self.gradients if v is not None}
        self.layout: list[tuple[Any, Any, Tensor | None]] = []
        position = {}
        for b in self.run.fresh:
            value, t = grad_of.get(b, (None, None))
            if value is None:
                value = next((v for o in self.outputs for v in _values(o) if v.buffer is b and v.whole), None)
            if value is None:
                self.fast = False
                return
            position[b] = len(self.inputs) + len(self.layout)
            self.layout.append((value.shape, numpy_dtype(value.dtype), t))
        if any(not _values(o) or any(not v.whole or v.buffer not in position for v in _values(o)) for o in self.outputs):
            self.fast = False
            return
        if any(o[0] == "new" and self.layout[position[o[1].buffer] - len(self.inputs)][0] != o[1].shape for o in self.outputs):
            self.fast = False  # a result that is another result's memory in another shape
            return
        self.reused: list[Any] = [_held(*laid) for laid in self.layout]  # the gradients of the traced call are filled again
        self.removed = [t for t, v in self.gradients if v is None]
        self.counters = [(version_of(t), n) for t, n in self.written]
        self.leaving = []
        for o in self.outputs:
            if o[0] == "number":
                self.leaving.append(([position[v.buffer] for v in o[1]], None, o[2]))
            else:
                spent = spent_slot(o[1].shape, numpy_dtype(o[1].dtype), o[3]) if o[3] else None
                self.leaving.append((position[o[1].buffer], spent, None))

    def _fast_path(self) -> bool:
        """True when results are plain: tensors of their own and gradients, nothing that needs a graph."""
        return (
            self.check is not None
            and not self.sharing.shared
            and not self.asked
            and not any(type(who) is int for who, _ in (*self.gradients, *self.grads_before))
            and self.run_back is None
            and self.undone is None
            and not self.moving
            and not self.computed
            and all(o[0] in ("new", "number") for o in self.outputs)
        )

    def _holder(self, array: ndarray) -> Tensor | None:
        found = self.around.tensors.get(id(array))
        return None if found is None else found[0]

    # ---- calling -----------------------------------------------------------------------------------
    def why_not(self, structure: Any, tensors: list[Tensor]) -> str | None:
        """What differs from the call that was traced; None when the program serves this call."""
        if (masked(structure, self.lift) if self.lift else structure) != self.structure_key:
            return "other arguments"
        if signature(tensors) != self.signature:
            return OTHER_TENSORS
        if flags() != self.flags:
            return "another grad mode, autocast, default dtype or setting of the library"
        for g in self.guards:
            if not g.holds():
                self.culprit = g
                return f"{g.path} changed"
        for g in self.watched:
            if type(g.now()) is not type(g.expected):
                return f"{g.path} changed"
        for t, a in self.state:
            if t._array is not a:
                return "a tensor has other memory"
        for t, rg in self.flags_of_state:
            if t._rg != rg:
                return "requires_grad of a tensor changed"
        for who, g in self.grads_before:
            t = tensors[who] if type(who) is int else who
            if (t._grad is None) != (g is None):
                return "a gradient that was there is gone, or the reverse"
            if g is not None and (t._grad._array.shape, t._grad._array.strides) != (g._array.shape, g._array.strides):  # type: ignore[union-attr]
                return "a gradient is laid out otherwise"
        arrays = [t._array for t in tensors]
        if any(id(owner(a)) in self.own_roots for a in arrays):
            return "an argument shares memory with a parameter"
        if not self.sharing.fits(arrays) or self.overwrites and self.sharing.overlaps(arrays):
            return "arguments share memory in another way"
        return None

    def quick(self, args: tuple[Any, ...]) -> Any:
        """The result of an everyday call, NotImplemented when another version, or eager, must answer."""
        arrays = self.check(args)  # type: ignore[misc]
        if arrays is None:
            return NotImplemented
        roots = self.own_roots
        views = 0
        for a in arrays:
            if id(a) in roots or a.base is not None and id(owner(a)) in roots:
                return NotImplemented
            views += a.base is not None
        if views and self.overwrites and len(arrays) > 1 and _overlap(arrays):
            return NotImplemented
        if not self._lock.acquire(blocking=False):
            return NotImplemented
        try:
            run = self.run
            for prepare in run.before:
                if not prepare():
                    return NotImplemented
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
            for step in run.steps:
                step(arrays)
        finally:
            self._lock.release()
        self.hits += 1
        for t in self.removed:
            t._grad = None
        for k, t, grad, made in fresh:
            t._grad = grad
            reused[k] = (grad, made)
        for version, n in self.counters:
            version.count += n
        for k, n in self.overwrites:
            version_of(args[k]).count += n
        out = []
        for k, spent, number in self.leaving:
            if number is not None:
                out.append(number([plain(arrays[i]) for i in k]))
                continue
            t = wrap(arrays[k])
            if spent is not None:
                t._node = spent
                t._rg = True
            out.append(t)
        return out[0] if self.single else rebuild(self.skeleton, lambda slot: out[slot.place])

    def __call__(self, tensors: list[Tensor], structure: Any) -> Any:
        """The result of a call that `why_not` admitted; NotImplemented while another thread is inside, STALE where updates are others."""
        if not self._lock.acquire(blocking=False):
            return NotImplemented
        try:
            if not self.run.ready():
                return STALE
            given = [
                *self.sharing.given([t._array for t in tensors]),
                *[(tensors[t] if type(t) is int else t)._grad._array for t in self.moving],
            ]
            if self.computed:
                numbers = numbers_in(structure)
                numbers = [*[numbers[k] for k in sorted(self.lift)], *[g.now() for g in self.watched]]
                try:
                    made_of = [np.asarray(f([numbers[k] for k in ks]), kind) for _, f, ks, kind in self.computed]
                except ArithmeticError as error:
                    return Diverged(error)
                given += made_of
            env = self.run(given) if self.undone is None else self._attempt(given)
            if isinstance(env, Diverged):
                return env
            extras = dict(self.run.extras) if self.run_back is not None else {}
        finally:
            self._lock.release()
        self.hits += 1
        changing = self.run.changing

        def memory(value: Value) -> ndarray:
            if value.buffer in changing:
                block = env[changing[value.buffer]]
                if value.whole and block.dtype == np.uint8 and block.ndim == 1:
                    return look(block, value)
                return self.run.getter(value)(env)
            return self.run.array(value)  # type: ignore[return-value]

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
        made: list[Tensor] = []
        for output in self.outputs:
            if output[0] == "argument":
                made.append(tensors[output[1]])
            elif output[0] == "state":
                made.append(output[1])
            elif output[0] == "number":
                made.append(output[2]([plain(memory(v)) for v in output[1]]))
            else:
                base = self.based.get(output[1].buffer) if not output[2] else None
                array = memory(output[1])
                made.append(make_tensor(array) if base is None else _view(tensors[base] if isinstance(base, int) else base, array))
        if self.seeds:
            self._join(made, tensors, env, extras)
        for output, t in zip(self.outputs, made, strict=True):
            if output[0] == "new" and output[3]:
                freed(t, output[3])
        return rebuild(self.skeleton, lambda t: made[t.place])

    def _attempt(self, given: list[ndarray]) -> Any:
        """Run a program that decides with values; a Diverged, with everything as it was, where one falls otherwise."""
        streams, arrays, places = self.undone
        states = [g.get_state() for g in streams]
        arrays = [*arrays, *[given[k] for k in places]]
        before = [a.copy() for a in arrays]
        try:
            return self.run(given)
        except Diverged as diverged:
            for g, s in zip(streams, states, strict=True):
                g.set_state(s)
            for a, b in zip(arrays, before, strict=True):
                np.copyto(a, b)
            return diverged

    def _join(self, made: list[Tensor], tensors: list[Tensor], env: list[Any], extras: Any) -> None:
        """Make the results that require grad the results of one node, whose gradient rule is the program's second half."""
        roots = [t for o, t in zip(self.outputs, made, strict=True) if o[0] == "new" and o[2] and not o[3]]
        leaves = [tensors[t] if isinstance(t, int) else t for t in self.wanted]
        read = [tensors[t] if isinstance(t, int) else t for t in self.read_back]
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
        return [
            run.getter(v)(env) if any(seeds[k] is not None for k in reached) else None
            for v, reached in zip(self.returned, self.reached, strict=True)
        ]


@contextmanager
def _uncast(off: bool = False) -> Iterator[None]:
    """Autocast around the call as it is, but with nothing cast so far, or switched off: what was cast before is unknown to a program."""
    around = local.autocast
    local.autocast = None if off or around is None else around.anew()
    try:
        yield
    finally:
        local.autocast = around


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


def _key(t: Tensor) -> Any:
    """Where a tensor stands in the graph."""
    edge = t._node
    return (id(edge.node), edge.index) if type(edge) is OutputSlot else id(edge or t)


def _below(t: Tensor, ends: set[Any]) -> set[Any]:
    """The places in the graph that gradients of a tensor come to, no further than those at the ends."""
    stack: list[Any] = [t._node or t]
    found = set()
    while stack:
        edge = stack.pop()
        key = (id(edge.node), edge.index) if type(edge) is OutputSlot else id(edge)
        if edge is not None and key not in found:
            found.add(key)
            node = edge.node if type(edge) is OutputSlot else edge
            if key not in ends and isinstance(node, Node):
                stack.extend(node.inputs)
    return found


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


def _values(output: tuple[Any, ...]) -> list[Value]:
    """The values behind a result that is a tensor of its own, or a number."""
    return [output[1]] if output[0] == "new" else output[1] if output[0] == "number" else []


def _kinds(shape: Any) -> set[Any]:
    found = set()
    if isinstance(shape, tuple):
        if shape and shape[0] == "object":
            found.add("object")
        for s in shape:
            found |= _kinds(s)
    return found


def _freed(t: Tensor) -> bool:
    """True when backward went through the graph of a tensor and freed it."""
    return any(isinstance(n, Node) and n.saved is None for n in walk([t._node]))


def _has_hooks(t: Tensor) -> bool:
    """True when a node or leaf below a tensor has a hook."""
    for n in walk([t._node]):
        held, names = (n.ext, _NODE_HOOKS) if isinstance(n, Node) else (n._x, LEAF_HOOKS)
        if held is not None and not held.keys().isdisjoint(names):
            return True
    return False


_NODE_HOOKS = ("tensor_hooks", "pre_hooks", "post_hooks")
