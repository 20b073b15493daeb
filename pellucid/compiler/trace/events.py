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
    """The part of a tracer that takes note of steps, of cleared gradients and of errors."""

    def optimizer_step(self, owner: Any) -> None:
        """An optimizer has stepped, with the options that its groups hold."""
        self.stepped.setdefault(id(owner), []).append(
            [(id(g), dict(g)) for g in owner.param_groups]
        )
        if any(c.late and any(o is owner for o in c.optimizers) for c in self.changes.calls):
            self.refuse("an optimizer steps after a schedule that comes after a step of it")

    def again(self, function: Callable[..., Any], owner: Any, args: Any, kwargs: Any) -> Any:
        """A call that each call of the version makes again."""
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
        """An optimizer made the state of some parameters, in its first step that has gradients for
        them.

        Whether there is state decides nothing but that, and the step itself is repeated as a whole:
        later calls do what this one did, with the state that it leaves. That holds for what this
        library's optimizers do.
        """
        if all(
            is_own(getattr(type(owner), name).__code__.co_filename)
            for name in ("_init_state", "_keeps_state")
        ):
            self.begun.update((id(s), (owner, s, dict(s))) for s in states)

    def grad_missing(self, tensor: Tensor) -> None:
        """An optimizer leaves out a parameter that has no gradient."""
        if id(tensor) not in self.cleared:
            self.needs_grad.setdefault(id(tensor), False)

    @contextmanager
    def away(self, reason: str) -> Iterator[None]:
        """Stop recording for a reason, and see nothing of what runs inside the block."""
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
        """Have what runs inside the block take the paths of what is traced; nothing is recorded."""
        kind: Any = cls
        made = kind(SimpleNamespace(name_of=lambda array: None, holder_of=lambda array: None))
        made.refusal = Refusal("nothing is recorded")
        with made.active():
            yield

    def computes_again(self) -> None:
        """A checkpoint is about to run its function once more, in the backward."""
        if self.outside and self.changed():
            raise Refusal(
                "a checkpointed function may change what it can reach, and would again where nobody has asked for gradients yet"
            )

    def computed_again(self, first: int, again: int) -> None:
        """A checkpoint has run its function once more. Statistics that operations of the first run
        made, instructions from `first` on, would serve the second, from `again` on: not where that
        reads what was written to in between.
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
