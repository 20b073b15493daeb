"""Events that optimizers, schedules and gradients report to a tracer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from ...core import interpret, observe
from ...core.tensor import Tensor
from .recording import Recording
from .refusal import Refusal
from .watch import is_own


class Events(Recording):
    """The part of a tracer that notes steps, cleared gradients and errors."""

    def optimizer_step(self, owner: Any) -> None:
        """An optimizer has made a step with the current options of its groups."""
        self.stepped.setdefault(id(owner), []).append(
            [(id(g), dict(g)) for g in owner.param_groups]
        )
        if any(c.late and any(o is owner for o in c.optimizers) for c in self.changes.calls):
            self.refuse("an optimizer steps after a schedule that comes after a step of it")

    def again(self, function: Callable[..., Any], owner: Any, args: Any, kwargs: Any) -> Any:
        """A call that every call of the version repeats."""
        if not self.recording:
            with self.paused():
                return function(owner, *args, **kwargs)
        return self.changes.again(function, owner, args, kwargs)

    def zero_grad(self, tensors: list[Tensor], set_to_none: bool) -> None:
        """Gradients are about to be cleared."""
        if set_to_none:
            self.cleared.update(id(t) for t in tensors)
            self._clearing = True

    def state_begun(self, owner: Any, states: list[dict[Any, Any]]) -> None:
        """An optimizer created the state of some parameters, in its first step with gradients for
        them.

        Whether state exists decides only that, and the step is repeated as a whole: later calls do
        the same with the state that this one leaves. This holds for this library's optimizers.
        """
        if all(
            is_own(getattr(type(owner), name).__code__.co_filename)
            for name in ("_init_state", "_keeps_state")
        ):
            self.begun.update((id(s), (owner, s, dict(s))) for s in states)

    def grad_missing(self, tensor: Tensor) -> None:
        """An optimizer skips a parameter that has no gradient."""
        if id(tensor) not in self.cleared:
            self.needs_grad.setdefault(id(tensor), False)

    @contextmanager
    def away(self, reason: str) -> Iterator[None]:
        """Stop recording for the given reason; nothing inside the block is observed."""
        self.refuse(reason)
        interpret.pop(self)
        observe.observers.remove(self)
        try:
            yield
        finally:
            observe.observers.append(self)
            interpret.push(self)

    @classmethod
    @contextmanager
    def idle(cls) -> Iterator[None]:
        """Run a block as if it were traced, without recording anything."""
        kind: Any = cls
        made = kind(SimpleNamespace(name_of=lambda array: None, holder_of=lambda array: None))
        made.refusal = Refusal("nothing is recorded")
        with made.active():
            yield

    def computes_again(self) -> None:
        """A checkpoint is about to rerun its function during backward."""
        if self.outside and self.changed():
            raise Refusal(
                "a checkpointed function may change what it can reach, and would again where nobody has asked for gradients yet"
            )

    def computed_again(self, first: int, again: int) -> None:
        """A checkpoint has rerun its function. `first` and `again` are the first instructions of
        both runs. Values that the first run passed to gradient rules would also serve the second
        run, which is wrong if the second one reads something that was written in between.
        """
        steps = self.program.instructions
        changed = {place.buffer for step in steps[first:again] for place in step.writes}
        for step in steps[again:]:
            if any(getattr(value, "buffer", None) in changed for value in step.inputs):
                if step.hands_on:
                    self.refuse("a checkpointed function reads what was written to after it ran")
                    return
                changed.update(value.buffer for value in (*step.outputs, *step.writes))

    def grad_set(self, tensor: Tensor, value: Any) -> None:
        """`.grad` is about to be assigned."""
        if value is None:
            self.cleared.add(id(tensor))
            self._clearing = True

    def error(self, error: BaseException, *rest: Any) -> None:
        """An operation raised."""
        self.refuse(f"the step raised {type(error).__name__}")
