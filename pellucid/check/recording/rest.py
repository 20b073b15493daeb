"""Steps that are not recorded, because they only repeat what has been seen.

Recording a step takes several times as long as running it. The first steps are recorded in full
(fewer where a step calls many modules, because each of them costs time), then those around powers
of two and halfway between them; in between, a program runs at its own speed. What is new ends such
a rest at once: a block of the program that has never run, a batch of another shape, the first
passes of a loader, an optimizer that is made, a loss that jumps. In the middle of a step,
operations are recorded from there on, and backward and what follows it from the next step on.
Losses are noted in every step.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ..events import Glimpse, Site, Value
from ..numbers import number_of

FIRST = 64  # steps that are recorded before the first rest
FEWEST, MANY = 24, 500  # ... or so few, once so many calls of modules have been recorded
BEFORE, AFTER = 2, 2  # steps that are recorded before and after those that end a rest
NEWS = 8  # steps that are recorded after something new
FARTHEST = 2048  # steps of the longest rest
PASSES = 3  # passes of a loader whose beginning and end are recorded
LITTLE = 8  # operations for backward after a step, as of sums of losses
JUMP = 8.0  # times the largest loss so far

_BACKWARD = frozenset(
    "on_backward_begin on_backward on_step_begin on_step on_update on_clear".split()
)
"""What rules are not told of in a step whose beginning was not recorded."""


def following(step: int) -> int:
    """The next step that ends a rest: 96, 128, 192, 256, 384, 512 ..., never farther than
    `FARTHEST`.
    """
    power = 1 << step.bit_length()
    middle = power // 4 * 3
    return min(middle if step < middle else power, step + FARTHEST)


class Rest:
    """Decides which steps of a run are recorded."""

    def __init__(self, recorder: Any) -> None:
        self.recorder = recorder
        self.engine = recorder.engine
        self.allowed = False  # whether new blocks of the program are told of
        self.every_step: Callable[[], bool] = lambda: False  # whether somebody needs every step
        self.touched = False  # whether gradients were cleared or computed in this step of a rest
        self.partial = False  # recording began in the middle of this step
        self.changes = 0  # how often something new has happened
        self._until = FEWEST
        self._next = 0
        self._due = False  # the rest should end, as soon as it can
        self._anchor = 0  # the optimizer whose step began the rest
        # by variable: the values of the last steps that were recorded
        self._held: dict[tuple[Any, str], Value] = {}
        self._below: Any = None  # what else there was on the stack of function modes
        self._position = 0
        self._largest = 0.0
        self._backward: Any = None
        self._shapes: dict[int, set[Any]] = {}  # by loader: shapes of batches that were seen
        # by place: optimizers that were made there, beginnings and ends of passes of loaders
        self._counts: dict[Any, int] = {}
        self._modes: dict[int, bool] = {}  # by number of a module: the mode that rules know of

    # ---- when --------------------------------------------------------------------------------
    def untold(self, event: str) -> bool:
        """Whether rules are not told of an event, because its step was not recorded as a whole."""
        return self.partial and event in _BACKWARD

    def news(self) -> None:
        """Something happens that has not happened before."""
        recorder = self.recorder
        if recorder.elsewhere:
            return
        self.changes += 1
        self._until = max(self._until, recorder.step + NEWS * self._round())
        if recorder.resting:
            if self.engine.position() - self._position > LITTLE:
                self._due = True  # in the middle of a forward pass: nothing would be understood
            elif self._end():
                self.partial = self.touched

    def stepped(self, optimizer: int) -> None:
        """An optimizer has stepped: a rest begins or ends, or neither."""
        recorder = self.recorder
        self.partial = self.touched = False
        if recorder.resting:
            self._position = self.engine.position()
            past = recorder.step - self._next
            if self._due or past >= 0 and (optimizer == self._anchor or past > 64):
                self._end()
        elif self.allowed and optimizer >= 0 and recorder.step >= self._until:
            if recorder.step >= FIRST or recorder.count_of_calls >= MANY:
                self._begin(optimizer)

    def _round(self) -> int:
        """Steps of one round of all optimizers."""
        return self.recorder.steps_of_round()

    # ---- beginning and end -------------------------------------------------------------------
    def _begin(self, optimizer: int) -> None:
        recorder = self.recorder
        below = self.engine.below(recorder._mode)
        if below is None or recorder.stack or self.every_step():
            return
        target = following(recorder.step)
        rounds = self._round()
        if target - BEFORE * rounds <= recorder.step:
            self._until = target + AFTER * rounds
            return
        self._next = target - BEFORE * rounds
        self._due = False
        self._anchor, self._below = optimizer, below
        values = recorder.values
        self._held = {
            variable: held
            for variable, tensor in recorder.names.tensors(self.engine.Tensor).items()
            if (held := values.get(id(tensor))) is not None
            and held._ref() is tensor
            and held.producer is not None
        }
        recorder.asleep(True)
        self._position = self.engine.position()
        kind = self.engine.Tensor
        self._backward = vars(kind)["backward"]
        kind.backward = self._glimpsing(self._backward)

    def _end(self) -> bool:
        """Record again from here on; when a function mode of the program's is active, later."""
        recorder = self.recorder
        if self.engine.below(None) != self._below:
            self._due = True
            return False
        self.over()
        with recorder.reading():
            self._take_over()
        recorder.asleep(False)
        self._until = max(self._until, recorder.step + (BEFORE + AFTER) * self._round())
        return True

    def _take_over(self) -> None:
        """A variable's tensor was made in the rest: as the one before it was, as far as it looks
        the same.
        """
        recorder, engine = self.recorder, self.engine
        for variable, tensor in recorder.names.tensors(engine.Tensor).items():
            before, known = self._held.get(variable), recorder.values.get(id(tensor))
            if before is None or known is not None and known._ref() is tensor:
                continue
            shape, kind, wants, leaf, _ = engine.facts(tensor)
            if (shape, kind, wants, leaf) == (
                before.shape,
                before.kind,
                before.requires_grad,
                before.is_leaf,
            ):
                recorder._made(tensor, before.producer, before.index)
        self._held = {}

    def over(self) -> None:
        """Put back what was replaced for the rest."""
        if self._backward is not None:
            self.engine.Tensor.backward = self._backward
            self._backward = None

    # ---- what is seen meanwhile ------------------------------------------------------------------
    def _glimpsing(self, old: Any) -> Any:
        @functools.wraps(old)
        def backward(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            self.recorder.guarded(self._glimpse, tensor)
            return old(tensor, *args, **kwargs)

        return backward

    def _glimpse(self, tensor: Any) -> None:
        """A loss, before its backward."""
        recorder = self.recorder
        if not recorder.resting or recorder.elsewhere:
            return
        self.touched = True
        array = self.engine.array(tensor)
        if array is None or array.size != 1:
            return
        loss = float(array.reshape(-1)[0].real)
        site: Site | None = recorder.site(3)
        recorder.tell("on_glimpse", Glimpse(tensor, loss, site, recorder.step))
        size = abs(loss)
        if not math.isfinite(loss) or self._largest and size > JUMP * self._largest:
            self.news()
        self._largest = max(self._largest, size) if math.isfinite(size) else self._largest

    def seen(self, loss: float) -> None:
        """A loss of a step that was recorded."""
        if math.isfinite(loss):
            self._largest = max(self._largest, abs(loss))

    def batch(self, loader: Any, data: Any) -> None:
        """A batch of a loader: one of another shape is news."""
        shapes = self._shapes.setdefault(loader.number, set())
        parts = data.values() if isinstance(data, dict) else data
        parts = parts if isinstance(parts, (list, tuple)) or isinstance(data, dict) else (parts,)
        shape = tuple([getattr(part, "shape", None) for part in parts])
        if shape not in shapes and len(shapes) < 16:
            shapes.add(shape)
            if self.recorder.resting:
                self.news()

    def passing(self, site: Site | None) -> None:
        """A pass of a loader that was made at a place begins or ends: the first ones are news."""
        self._counted((site, "pass"), 2 * PASSES)

    def made(self, site: Site | None) -> None:
        """An optimizer is made at a place."""
        self._counted((site, "optimizer"), 1)

    def _counted(self, key: Any, limit: int) -> None:
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if count <= limit and self.recorder.resting:
            self.news()

    def switched(self, module: Any, training: bool) -> bool:
        """Whether rules should be told of `train()` or `eval()`: in a rest only when it differs."""
        known = self._modes.get(number_of(module))
        self._modes[number_of(module)] = training
        return not self.recorder.resting or known is not training
