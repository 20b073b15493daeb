"""What calls of a version change in Python, in which order, and how it is undone."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import memmove, string_at
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy import ndarray

from ...arrays.numpy_cpu import writable
from ...core.modes import state
from ...core.streams.generator import Generator
from ...core.tensor import Tensor
from ...ir import Buffer, Value
from ...kernels.random.twister import SIZE
from ..capture.side_effects import RepeatedCall, SideEffect, counts
from .results import New, Number, Output

# size of a generator's state in bytes: its words, and the position of the next one
STREAM = 4 * (SIZE + 1)


@dataclass(slots=True, eq=False)
class Undoing:
    """What a call that stops in the middle has changed by then: random streams, memory and
    optimizer states.
    """

    streams: list[Generator]
    arrays: list[ndarray]
    places: list[int]  # indices of further arrays among the program's inputs
    states: list[dict[Any, Any]]

    def undoer(self, given: list[ndarray]) -> Callable[[], None]:
        """A function that restores random streams and memory to their present state."""
        states = [(string_at(g._state, STREAM), g.normal, g._float_normal) for g in self.streams]
        arrays = [*self.arrays, *[given[k] for k in self.places]]
        arrays += [t._array for s in self.states for t in s.values() if isinstance(t, Tensor)]
        before = [a.copy() for a in arrays]

        def undo() -> None:
            for g, (words, normal, float_normal) in zip(self.streams, states, strict=True):
                with g._lock:
                    memmove(g._state, words, STREAM)
                    g.normal, g._float_normal = normal, float_normal
            for a, b in zip(arrays, before, strict=True):
                np.copyto(writable(a), b)

        return undo


@dataclass(slots=True, eq=False)
class SideEffects:
    """All changes in Python. `numbers` are those given to the call (None: not known yet), `made`
    the outputs so far.
    """

    effects: list[SideEffect]
    calls: list[RepeatedCall]
    outputs: list[Output]
    # computations on numbers that come first because they may fail
    partial: list[tuple[Callable[[list[Any]], Any], list[int]]]
    undoing: Undoing | None = None  # None: nothing to undo
    # ---- in which order it is done
    early: list[SideEffect] = field(init=False)  # before the program
    first_calls: list[RepeatedCall] = field(init=False)
    late_calls: list[RepeatedCall] = field(init=False)  # after the program
    staged: list[list[SideEffect]] = field(init=False)  # index: the number of late calls before
    late_outputs: list[int] = field(init=False)  # outputs that depend on numbers from late calls
    # outputs that only depend on numbers known before the program runs
    given_outputs: list[int] = field(init=False)
    # ---- what there is at all
    tables: list[dict[Any, Any]] = field(init=False)  # dictionaries that change before the program
    starting: bool = field(init=False)  # whether anything happens before the program
    changing: bool = field(init=False)  # whether there is any change
    bumps: int = field(init=False)  # the increments of `state.structure`
    counted: set[tuple[int, Any]] = field(init=False)  # the places whose changes increment it

    def __post_init__(self) -> None:
        effects, calls = self.effects, self.calls
        self.early = [e for e in effects if e.stage < 0]
        self.first_calls = [c for c in calls if not c.late]
        self.late_calls = [c for c in calls if c.late]
        self.staged = [
            [e for e in effects if e.stage == k] for k in range(len(self.late_calls) + 1)
        ]
        late = {k for c in self.late_calls for k, *_ in c.reads}
        numbers = [(k, o) for k, o in enumerate(self.outputs) if type(o) is Number]
        self.late_outputs = [
            k for k, o in numbers if any(type(v) is int and v in late for v in o.terms)
        ]
        self.given_outputs = [
            k
            for k, o in numbers
            if all(type(v) is int for v in o.terms) and k not in self.late_outputs
        ]
        self.tables = [t for c in calls for t in c.tables] + [e.place.holder for e in self.early]
        self.starting = bool(self.first_calls or self.early or self.given_outputs or self.partial)
        self.changing = bool(effects or calls)
        places = [e.place for e in effects if counts(e.place)]
        self.bumps, self.counted = len(places), {(id(p.holder), p.key) for p in places}

    def begin(self, numbers: list[Any], made: list[Any]) -> None:
        """Set the options that the step sets before its optimizer reads them, and step the
        schedules that come before it.
        """
        self._number(numbers, made, True)
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
            self._number(numbers, made, False)

    def _number(self, numbers: list[Any], made: list[Any], known: bool) -> None:
        """Compute the outputs that only depend on numbers; with `known`, only those whose numbers
        are known by now.
        """
        for k in self.given_outputs:
            o: Any = self.outputs[k]
            values = [numbers[v] for v in o.terms]
            if not known or all(v is not None for v in values):
                made[k] = o.compute(values)

    def follow(
        self, numbers: list[Any], made: list[Any], memory: Callable[[Value], ndarray], check: Any
    ) -> None:
        """Make the changes that come after the program. `check` is the generated guard check, which
        should ignore the version's own changes.
        """
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
                o: Any = self.outputs[k]
                if all(type(v) is not int or numbers[v] is not None for v in o.terms):
                    made[k] = o.made(numbers, memory)
        # The values it stored in modules are its own inputs or are never read by it, so the covered
        # guards need no new check.
        if (
            self.bumps
            and check is not None
            and check.seen[0] == before
            and state.structure == before + self.bumps
            and check.covered.isdisjoint(self.counted)
        ):
            check.seen[0] = state.structure


def buffers_of(outputs: list[Output]) -> list[Buffer]:
    """The temporaries that outputs take from the program."""
    leaving = [o.value.buffer for o in outputs if type(o) is New and o.value.buffer.kind == "temp"]
    return leaving + [v.buffer for o in outputs if type(o) is Number for v in o.values]
