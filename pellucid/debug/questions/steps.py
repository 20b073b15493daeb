"""The steps that a watch recorded: operations with their inputs and results, where values left the
graph, and the paths between them.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from ...core import source
from .._names import carried, without_gradients


class NotedStep(NamedTuple):
    """One noted event: `kind` is "op", or the slug of the way in which the value left the graph."""

    kind: str
    name: str
    inputs: tuple[int, ...]
    output: int | None
    site: source.Site | None
    module: str | None
    order: int
    # where gradients were switched off: the user's frames, innermost first
    stack: tuple[source.Site, ...] = ()

    @property
    def line(self) -> source.Line | None:
        """The user's line; under no_grad the one inside the block or the decorated function, not
        the module's that ran there.
        """
        return without_gradients(self.stack) or source.describe(self.site)


class BackwardCall(NamedTuple):
    """One backward call: its roots' numbers, its place, how many steps were noted before it,
    whether it fills `.grad`, and how many nodes there had been.
    """

    roots: tuple[int, ...]
    site: source.Site | None
    before: int
    accumulates: bool
    nodes: int


class Steps:
    """Noted steps by number of value, the newest `limit` of them."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.dropped = 0
        self.steps: deque[NotedStep] = deque()
        self.users: dict[int, list[NotedStep]] = {}  # by input
        self.makers: dict[int, list[NotedStep]] = {}  # by output
        self.backwards: deque[BackwardCall] = deque(maxlen=256)
        self._modules: list[str] = []

    def _note(
        self,
        kind: str,
        name: str,
        inputs: tuple[int, ...],
        output: int | None,
        site: source.Site | None = None,
    ) -> NotedStep:
        module = self._modules[-1] if self._modules else None
        stack = _stack() if kind == "no-grad-block" else ()
        step = NotedStep(
            kind,
            name,
            inputs,
            output,
            site or source.capture(3),
            module,
            self.dropped + len(self.steps),
            stack,
        )
        self.steps.append(step)
        for number in set(inputs):
            self.users.setdefault(number, []).append(step)
        if output is not None:
            self.makers.setdefault(output, []).append(step)
        while len(self.steps) > self.limit:
            self._drop(self.steps.popleft())
        return step

    def _drop(self, step: NotedStep) -> None:
        self.dropped += 1
        for number in set(step.inputs):
            _remove(self.users, number, step)
        if step.output is not None:
            _remove(self.makers, step.output, step)

    def way(self, start: int, goals: set[int]) -> list[NotedStep] | None:
        """The steps from one noted value to one of the goals, shortest first; None when there are
        none.
        """
        came: dict[int, tuple[int, NotedStep] | None] = {start: None}
        waiting = deque([start])
        while waiting:
            number = waiting.popleft()
            if number in goals:
                path: list[NotedStep] = []
                link = came[number]
                while link is not None:
                    path.append(link[1])
                    link = came[link[0]]
                return path[::-1]
            for step in self.users.get(number, ()):
                if step.output is not None and step.output not in came:
                    came[step.output] = (number, step)
                    waiting.append(step.output)
        return None

    def exits(self, start: int) -> list[NotedStep]:
        """Everything by which what came of a value left the graph, in order."""
        seen, stack, found = {start}, [start], []
        while stack:
            for step in self.users.get(stack.pop(), ()):
                if step.kind not in ("op", "decided") and step not in found:
                    found.append(step)
                if step.output is not None and step.output not in seen:
                    seen.add(step.output)
                    stack.append(step.output)
        return found

    def last_use(self, number: int) -> source.Site | None:
        """Where the newest noted operation ran that used a value, or something computed from it."""
        last = self.last_step(number, ("op",)) or self.last_step(number)
        return last.site if last is not None else None

    def last_step(self, number: int, kinds: tuple[str, ...] | None = None) -> NotedStep | None:
        """The newest noted step (of some kinds) that used a value, or something computed from it."""
        seen, stack = {number}, [number]
        last: NotedStep | None = None
        while stack:
            for step in self.users.get(stack.pop(), ()):
                if (last is None or step.order > last.order) and (
                    kinds is None or step.kind in kinds
                ):
                    last = step
                if step.output is not None and step.output not in seen:
                    seen.add(step.output)
                    stack.append(step.output)
        return last

    def whole_calls(self) -> list[BackwardCall]:
        """The backward calls of which the whole forward pass is still in the notes."""
        begins = [
            0 if len(self.backwards) < (self.backwards.maxlen or 0) else -1,
            *(call.before for call in self.backwards),
        ]
        return [
            call
            for call, begin in zip(self.backwards, begins, strict=False)
            if begin >= self.dropped
        ]

    def sites_of(self, call: BackwardCall) -> list[source.Site]:
        """Where the steps ran that the roots of a backward call were made by, and the call itself."""
        found = [] if call.site is None else [call.site]
        seen, stack = set(call.roots), list(call.roots)
        while stack:
            for step in self.makers.get(stack.pop(), ()):
                if step.site is not None:
                    found.append(step.site)
                for number in step.inputs:
                    if number not in seen:
                        seen.add(number)
                        stack.append(number)
        return list(dict.fromkeys(found))

    def only_decides(self, step: NotedStep) -> bool:
        """True when all that came of a step's result was a decision of the program: an `if`, an
        assertion.
        """
        if step.output is None:
            return False
        seen, stack, decided = {step.output}, [step.output], False
        while stack:
            number = stack.pop()
            users = self.users.get(number, ())
            decided = decided or any(s.kind == "decided" for s in users)
            if not users:
                return False
            for s in users:
                if s.output is not None and s.output not in seen:
                    seen.add(s.output)
                    stack.append(s.output)
        return decided

    def beginnings(self, end: int) -> list[int]:
        """The numbers of the values that something was computed from and that no noted step made."""
        seen, waiting, found = {end}, [end], []
        while waiting:
            number = waiting.pop()
            makers = self.makers.get(number, ())
            if not makers:
                found.append(number)
            for step in makers:
                for other in step.inputs:
                    if other not in seen:
                        seen.add(other)
                        waiting.append(other)
        return found

    def has_graph(self, end: int) -> bool:
        """Whether a way leads to a value from a beginning that no step cut."""
        seen, waiting = {end}, [end]
        while waiting:
            number = waiting.pop()
            makers = self.makers.get(number, ())
            if not makers:
                return True
            for step in makers:
                fresh = [n for n in step.inputs if step.kind == "op" and n not in seen]
                seen.update(fresh)
                waiting.extend(fresh)
        return False

    def left_toward(self, goals: list[Any]) -> NotedStep | None:
        """The newest place at which a value left the graph as a number or an array and went on, by the
        source, to one of some statements.
        """
        left = {step.site: step for step in self.steps if step.kind.startswith("through-n")}
        newest = list(left.values())[:-21:-1] if goals else []
        # what a value that had no graph any more gave says less
        newest.sort(key=lambda step: not self.has_graph(step.inputs[0]))
        return next((step for step in newest if carried(step.site, goals) is not None), None)

    def cut_before(self, end: int) -> NotedStep | None:
        """The last place at which what a value is made of left the graph."""
        seen, waiting = {end}, deque([end])
        while waiting:
            for step in reversed(self.makers.get(waiting.popleft(), ())):
                if step.kind != "op":
                    return step
                for number in step.inputs:
                    if number not in seen:
                        seen.add(number)
                        waiting.append(number)
        return None


def _stack() -> tuple[source.Site, ...]:
    """The user's frames, innermost first."""
    found: list[source.Site] = []
    frame = source.user_frame(3)
    while frame is not None and len(found) < 64:
        if not source.is_library(frame.f_code.co_filename):
            found.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


def _remove(table: dict[int, list[NotedStep]], number: int, step: NotedStep) -> None:
    steps = table.get(number)
    if steps:
        steps.remove(step)
        if not steps:
            del table[number]
