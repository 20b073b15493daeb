"""The values that leave a traced call: its results, the gradients that it leaves, and the gradients
of its results, which are the second half of its program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy import ndarray

from ...arrays.numpy_cpu import address
from ...core import reverse
from ...core.bind import wrap
from ...core.modes import local
from ...core.tape import value_at
from ...core.tensor import Tensor
from ...devices import device, layout, memory_format
from ...dtypes import dtype
from ...errors import GraphError, facts_of, pass_on
from ...ir import Value
from ..capture.early import Untouched, backwards_of
from ..capture.guards import Guard, Opaque, changed
from ..capture.side_effect_tracker import containers_in
from ..capture.structure import flatten, is_record
from ..trace.arrays import memory_of
from ..trace.control_flow import LaterNumber
from ..trace.numbers import is_read
from ..trace.refusal import Refusal
from .call import OTHER_MEMORY, TracedCall, _uncast, writes_of
from .node import (
    ResultEdge,
    Section,
    below,
    has_hooks,
    is_spent,
    keeps_all,
    key_of,
    lost,
    place_of,
    sections,
    view_of,
)
from .results import Beside, Given, GradientOf, New, Number, Output, ViewOf


@dataclass(slots=True)
class Part:
    """The second half of a program for one section of the graph. `Backward` documents the fields."""

    start: int  # range of its instructions
    end: int = 0
    keeps: bool = False
    seeds: list[Value] = field(default_factory=list)
    results: list[tuple[int, int]] = field(default_factory=list)
    wanted: list[Any] = field(default_factory=list)
    reached: list[list[int]] = field(default_factory=list)
    returned: list[Value] = field(default_factory=list)
    # guards on what users' backward functions read
    guards: list[Guard] = field(default_factory=list)


_VIEWS = ("grad", "multi", "no_grad")  # kinds of views that a call can recreate


class Leaving(TracedCall):
    """The part of a traced call that determines its outputs."""

    def _name_outputs(self) -> None:
        """Declare the values that leave the call as outputs: results and gradients."""
        tracer, program = self.tracer, self.tracer.program
        self._check_containers()
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
        self.known: dict[int, Output] = {id(t): Given(t) for t in self.environment.found}
        for ref, t in self.environment.gradients:
            if (g := ref()) is not None:
                self.known[id(g)] = GradientOf(self._who(t))
        self.known.update((id(t), Given(k)) for k, t in enumerate(self.tensors))
        self.outputs: list[Output] = []
        self.detached: set[int] = set()
        self.differentiable: list[Tensor] = []
        # views among the results that share memory with other results
        self.views: list[Tensor] = []
        self.slots: dict[int, int] = {}
        beside = self._beside([t for t in found if not is_read(t)])
        for t in found:
            if id(t) not in beside:
                self._leave(t)
        for t in found:
            if id(t) in beside:
                self._leave_beside(t, beside)
        self.changes.bind(self.slots)
        self.gradients: list[tuple[Any, Value | None]] = []
        self.grad_writes: list[int] = []
        for t, g in self.grad_changes:
            value = None
            if g is not None:
                value = tracer.value(g._array, "a gradient")
                all_of_it = value.offset == 0 and value.nbytes == value.buffer.size
                if value.buffer.kind != "temp" or not all_of_it:
                    value = self._copied(value)
                program.outputs.append(value)
            self.gradients.append((self._who(t), value))
            self.grad_writes.append(0 if g is None else writes_of(g))
        self.moved = [(self._who(t), self._moved(t)) for t in self.to_move]
        self.split = len(program.instructions)
        self.parts: list[Part] = []
        if self.differentiable:
            self._trace_backward()

    def _moved(self, t: Tensor) -> Value:
        """The new memory of a tensor whose memory the call replaced. Raises Refusal if its layout
        differs, or if something else refers to the old or new memory.
        """
        tracer, program = self.tracer, self.tracer.program
        old, new = self.started[id(t)], t._array
        value = tracer.value(new, "a tensor's memory")
        before = tracer.lookup(old) if type(old) is ndarray else None
        leaving = {v.buffer for v in program.outputs}
        if (
            value.buffer in leaving
            or before is not None
            and before.buffer in leaving
            or t._view is not None
            or self.shared[id(memory_of(old))] > 1
            or any(type(o) is ViewOf and o.who is self._who(t) for o in self.outputs)
            or (new.shape, new.dtype, new.strides) != (old.shape, old.dtype, old.strides)
            or not new.flags.c_contiguous
        ):
            raise Refusal(OTHER_MEMORY)
        if value.buffer.kind != "temp" or value.offset or value.nbytes != value.buffer.size:
            value = self._copied(value)
        program.outputs.append(value)
        return value

    def _check_containers(self) -> None:
        """Raise Refusal if a list or dictionary in the result is not created anew by each call."""
        made: list[int] = []
        containers_in(self.traced.result, made, self.changes.known)
        held: list[int] = []
        containers_in(self.traced.result, held)
        if len(held) > len(set(held)):
            raise Refusal("the step returns a list or dictionary twice")
        if made != held:
            raise Refusal("the step returns a list or dictionary that was there before it")
        if not self.changes.environment.containers.isdisjoint(held):
            raise Refusal("the step returns a list or dictionary that it was given")

    def _leave(self, t: Any) -> int:
        """Make a number or tensor of the call an output; returns its index among the outputs."""
        if id(t) not in self.slots:
            output = self._output(t)
            self.slots[id(t)] = len(self.outputs)
            self.outputs.append(output)
        return self.slots[id(t)]

    def _beside(self, found: list[Tensor]) -> dict[int, Tensor]:
        """Find outputs that share memory created by the call with other outputs: id -> the tensor
        from which to recreate it.
        """
        together: dict[int, list[Tensor]] = {}
        for t in {id(t): t for t in found if t._ver is not None}.values():
            together.setdefault(id(t._ver), []).append(t)
        beside: dict[int, Tensor] = {}
        for members in together.values():
            several = len(members) > 1
            if not several and (members[0]._view is None or members[0]._view.kind != "multi"):
                continue
            roots = [t if t._view is None else t._view.base for t in members]
            first = next((t for t in roots if t._rg), roots[0])
            if id(first) in self.known or any(
                t.is_inference() or t._view is not None and t._view.kind not in _VIEWS
                for t in members
            ):
                continue
            value = self.tracer.value(first._array, "the result")
            if value.buffer.kind in ("input", "state"):
                continue
            memory = {self.tracer.value(t._array, "the result").buffer for t in (*members, *roots)}
            if len(memory) > 1:
                raise Refusal("the step returns a view that it has given other memory (`.data = `)")
            beside.update((id(t), t._view.base) for t in members if t._view is not None)
            beside.update((id(t), first) for t in roots if t is not first)
        return beside

    def _leave_beside(self, t: Tensor, beside: dict[int, Tensor]) -> int:
        if id(t) not in beside or id(t) in self.slots:
            return self._leave(t)
        if t._rg and has_hooks(t):
            raise Refusal("the step leaves a graph with hooks behind")
        if t._grad is not None:
            raise Refusal("the step leaves a tensor of its own that has or keeps a gradient")
        chain = None if t._view is None else t._view.chain
        if chain is not None and any(op.name == "as_strided" for op, _, _ in chain):
            raise Refusal("the step returns a view by as_strided beside what it looks into")
        of = self._leave_beside(beside[id(t)], beside)
        value = self.tracer.value(t._array, "the result")
        self.tracer.program.outputs.append(value)
        self.slots[id(t)] = len(self.outputs)
        kind = "" if t._view is None else t._view.kind
        output = Beside(of, value, chain, kind)
        if chain is not None:
            again = output.made(wrap(beside[id(t)]._array), t._array, {})._array
            same = again.shape == t._array.shape and (
                not again.size
                or again.strides == t._array.strides
                and address(again) == address(t._array)
            )
            if not same:
                raise Refusal("the step returns a view whose geometry it has replaced (resize_)")
        self.outputs.append(output)
        if kind in ("grad", "multi") and t._rg and not is_spent(t):
            self.views.append(t)
        return self.slots[id(t)]

    def _is_new(self, value: Any) -> bool:
        """Whether a call can recreate an object in a result: it consists of its class and
        attributes, and did not exist before.
        """
        return is_record(value) and not self.changes.known(value)

    def _opens(self, value: Any, opened: set[int]) -> bool:
        """As `_is_new`, but raises Refusal if a copy would not be equivalent to the object."""
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
        """Whether an object in a result is the same at each call: a constant of the library, or a
        class.
        """
        return (
            isinstance(value, (dtype, device, layout, memory_format))
            or isinstance(value, type)
            and "<locals>" not in value.__qualname__
        )

    def _output(self, t: Any) -> Output:
        """How a number or tensor of the call is returned."""
        tracer, program = self.tracer, self.tracer.program
        if is_read(t):
            return Number([self._term(*term) for term in t.terms], t.compute)
        known = self.known.get(id(t))
        if known is not None:
            return known
        if t._grad is not None or (t._x or {}).get("retains"):
            raise Refusal("the step leaves a tensor of its own that has or keeps a gradient")
        value = tracer.value(t._array, "the result")
        if value.buffer.kind in ("input", "state") and not has_hooks(t):
            view = view_of(t, [*self.tensors, *self.environment.found])
            if view is not None and all(
                v.buffer is not value.buffer for i in program.instructions for v in i.writes
            ):
                return ViewOf(self._who(view[0]), view[1])
        inference = None if t.is_inference() is local.inference else not local.inference
        if inference is not None and (t._rg or value.buffer.kind in ("input", "state")):
            raise Refusal(
                "the step returns a tensor of another inference mode than the one around it"
            )
        if value.buffer.kind == "constant":
            # keeps its strides, and values that share its memory
            value = tracer.own(value, t._array)
        program.outputs.append(value)
        made = New(value, t._rg, t._rg and lost(t), writes_of(t), inference=inference)
        if made.spent:
            made = replace(made, ends=self._ends(t))
        if made.joins:
            self.differentiable.append(t)
        if t._view is None or not t._view.base._rg:
            self.detached.add(len(self.outputs))
        return made

    def _term(self, value: Any, after: Any) -> Any:
        """A term of a number that leaves: the position of a given number, or a value that the
        program computes.
        """
        if isinstance(value, LaterNumber):
            return value.position
        given = self.tracer.given.get(value.buffer)
        return self._kept_number(value, after) if given is None else given

    def _kept_number(self, value: Value, after: Any) -> Value:
        """A value that at the end of the call still holds the number that was read after the
        instruction `after`.
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

    # ---- its second half -----------------------------------------------------------------------------------
    def _leaves(self) -> list[Tensor]:
        """The arguments and state that require gradients."""
        found = {id(t): t for t in (*self.tensors, *self.environment.found)}
        return [t for t in found.values() if t._rg]

    def _ends(self, t: Tensor) -> tuple[Any, ...]:
        """The leaves whose gradients would flow through the graph of a result, as "who"."""
        places = {place_of(leaf): leaf for leaf in self._leaves()}
        reached = below(t._node, set(places))
        return tuple([self._who(leaf) for key, leaf in places.items() if key in reached])

    def _trace_backward(self) -> None:
        """Trace the gradients of the results with respect to arguments and state, as the second
        half of the program.
        """
        tracer, outs = self.tracer, self.differentiable
        leaves = self._leaves()
        if not leaves:
            raise Refusal(
                "the result requires grad through a tensor that is no argument and not found from one"
            )
        if any(t.is_leaf for t in outs):
            raise Refusal("the step returns a tensor that it has made require grad")
        for t in outs:
            if has_hooks(t):
                raise Refusal("the step leaves a graph with hooks behind")
        ends = {place_of(leaf) for leaf in leaves}
        found = sections([*outs, *self.views], ends, tracer.began)
        # A view is recreated from its base, except if other results were computed from it.
        used = {key for section in found for key in section.beyond}
        outs = [*outs, *[t for t in self.views if place_of(t) in used]]
        found = sections(outs, ends, tracer.began)
        instead, restore = _cut(found)
        try:
            for k in range(len(found)):
                if not self._trace_part(k, found, outs, leaves, ends, instead):
                    return
        finally:
            restore()

    def _trace_part(
        self,
        at: int,
        found: list[Section],
        outs: list[Tensor],
        leaves: list[Tensor],
        ends: set[Any],
        instead: dict[Any, Tensor],
    ) -> bool:
        """Trace one part of the second half: the gradients that a section of the graph passes on.
        `instead` maps edges to other sections to substitute leaves. False if there can be no
        gradient of the results.
        """
        tracer, program, section = self.tracer, self.tracer.program, found[at]
        part = Part(len(program.instructions), keeps=keeps_all(section.nodes))
        starts, seeds = [], []
        for k, edge in enumerate(section.places.values()):
            shape, kind = value_at(edge)
            start = wrap(np.broadcast_to(np.zeros((), kind), shape))
            start._node, start._rg = edge, True
            starts.append(start)
            seeds.append(wrap(np.ones(shape, kind)))
            name = f"g{len(self.parts) or ''}" + ("_" * bool(self.parts) + f"{k}") * (
                len(section.places) > 1
            )
            part.seeds.append(tracer.declare(seeds[-1]._array, "input", name))
        index = {key: k for k, key in enumerate(section.places)}
        part.results = [
            (self.slots[id(t)], index[place_of(t)]) for t in outs if place_of(t) in index
        ]
        wanted = [(t, self._who(t)) for t in leaves]
        for key in section.beyond:
            n = next(n for n, s in enumerate(found) if key in s.places)
            wanted.append((instead[key], ResultEdge(n, [*found[n].places].index(key))))
        with self._users_code(section, part):
            got = self._gradients(starts, [t for t, _ in wanted], seeds)
        if got is None:
            return False
        if tracer.refusal is not None:
            raise tracer.refusal
        ends = ends | {place_of(t) for t in instead.values()}
        found_below = [below(edge, ends) for edge in section.places.values()]
        for (t, who), g in zip(wanted, got, strict=True):
            if g is not None:
                part.wanted.append(who)
                part.reached.append(
                    [k for k, places in enumerate(found_below) if place_of(t) in places]
                )
                value = tracer.value(g._array, "a gradient")
                if value.buffer.kind != "temp" or not value.whole or value in program.outputs:
                    value = self._copied(value)
                program.outputs.append(value)
                part.returned.append(value)
        part.end = len(program.instructions)
        self.parts.append(part)
        return True

    @contextmanager
    def _users_code(self, section: Section, part: Part) -> Iterator[None]:
        """Run gradients that include the backward of custom functions, before anyone has asked for
        them: what the code reads is guarded, and what it changes is undone and refused.
        """
        functions = backwards_of(section.nodes)
        if not functions:
            yield
            return
        witness, environment = self.witness, self.environment
        before, calls = set(map(id, environment.relevant(witness))), len(witness.impure)
        outside = Untouched(functions)
        try:
            with witness.watching():
                yield
        finally:
            moved = outside.put_back()
        if moved:
            raise Refusal("the backward of a custom function changes something outside of it")
        if len(witness.impure) > calls:
            call, site, _ = witness.impure[-1]
            raise Refusal(f"the backward of a custom function {call}", site)
        part.guards = [g for g in environment.relevant(witness) if id(g) not in before]
        hidden = next((g for g in part.guards if isinstance(g, Opaque)), None)
        if hidden is not None:
            raise self._unseen(hidden)
        if changed(part.guards):
            raise Refusal("the backward of a custom function reads what the step changes")
        self.guards += part.guards

    def _gradients(self, outs: list[Tensor], leaves: list[Tensor], seeds: list[Tensor]) -> Any:
        """Trace the gradients of `outs` in `leaves`. None if they cannot be computed, which eager
        execution also reports only to a caller who asks for them.
        """
        tracer, environment = self.tracer, self.environment
        tracer.phase = "backward"
        tracer.outside = True  # an argument may itself depend on the parameters
        tracer.changed = lambda: bool(changed(environment.guards()))
        # A checkpoint runs its function again, which writes again (running statistics). Undo that,
        # since no one has asked for gradients yet.
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
            # not an error yet: the caller may never ask for gradients
            if known is None or known.kind is not GraphError:
                raise Refusal(f"its gradient raises {type(error).__name__}") from error
            # Eager execution raises this to a caller who asks for gradients, too: the step
            # overwrote values that they need.
            if len(self.differentiable) > 1:  # some of the results may still have gradients
                raise Refusal(
                    f"the gradient of one of its results raises {type(error).__name__}"
                ) from error
            del tracer.program.instructions[self.split :]
            told, ends = error.with_traceback(None), self._ends(self.differentiable[0])
            self.outputs = [
                replace(o, spent=told, ends=ends) if type(o) is New and o.joins else o
                for o in self.outputs
            ]
            self.parts, self.differentiable = [], []
            return None
        finally:
            for array, held in before:
                array[...] = held


def _cut(found: list[Section]) -> tuple[dict[Any, Tensor], Callable[[], None]]:
    """Replace the edges that leave a section by new leaves. Returns the leaves by edge key, and a
    function that restores the graph.
    """
    instead: dict[Any, Tensor] = {}
    held = [(node, node.inputs) for section in found if section.beyond for node in section.nodes]
    for section in found:
        for key, edge in section.beyond.items():
            if key not in instead:
                shape, kind = value_at(edge)
                instead[key] = wrap(np.broadcast_to(np.zeros((), kind), shape))
                instead[key]._rg = True
        if section.beyond:
            for node in section.nodes:
                node.inputs = tuple(
                    [instead[key_of(e)] if key_of(e) in section.beyond else e for e in node.inputs]
                )

    def restore() -> None:
        for node, inputs in held:
            node.inputs = inputs

    return instead, restore


def _objects(shape: Any) -> Iterator[Any]:
    """The objects in a description that are neither tensors nor numbers nor containers."""
    if isinstance(shape, tuple):
        if len(shape) == 2 and shape[0] == "object":
            yield shape[1].value
        for s in shape:
            yield from _objects(s)
