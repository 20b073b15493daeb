"""The one place to intercept what the engine does: each thread has a stack of interpreters.

An interpreter is any object; the methods it defines among `STEPS` are asked. `run` and `gradient`
go around what the engine does: they are handed `below`, the interpreters under them and at the end
the engine itself, and call it, with other arguments if they like, or do something else. The others
are told of what was done, the lowest first, so that one who computes with an operation's results
does so after whoever wrote that operation down.

    run(below, op, args, params) -> result(s)      an operation as it was called, nothing promoted yet
    ran(op, tensors, params, made, aux)            it ran, on these promoted tensors
    writes(tensor)                                 a tensor is about to be overwritten
    wrote(tensor, result)                          a tensor was overwritten (`result` None: in a way that left no tensor of the values)
    recorded(node)                                 a node was added to the graph
    save(array)                                    what a node keeps in the place of an array that its rules need; the innermost decides
    gradient(below, node, g)                       the gradient rules of one node -> a gradient for each argument

Besides, it may say what it is: `role` ("autocast", "anomaly", "tracer": `thread.stack.autocast` is
the innermost of that role), `key` (what of it a compiled program depends on), `on_tensors`
(backward must run on tensors, though no graph is wanted of it).

Types of tensors that are more than an array (a batch of them, nested or masked ones) have an
interpreter of their own, `_interpreter`, which comes before the thread's. It defines `run`, and may
define `write(below, tensor, result, name)` for an operation in place and
`apply(below, cls, args, kwargs)` for an `autograd.Function`.

An empty stack costs nothing: `modes.state.slow` counts the interpreters of all threads and the
observers, and operations look at that number alone. Observers (`core.observe`) are told of more, in
every thread, and change nothing.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .modes import state
from .tensor import FAST_TYPES, Tensor

ROLES = ("anomaly", "autocast", "tracer")
STEPS = ("run", "ran", "writes", "wrote", "recorded", "save", "gradient")


Steps = tuple[Callable[..., Any], ...]


class Stack:
    """A thread's interpreters, lowest first, the methods that they define for each step, and who
    plays each role. A stack is never changed, but replaced.
    """

    __slots__ = ("all", "key", "on_tensors", *ROLES, *STEPS)

    def __init__(self, interpreters: tuple[Any, ...] = ()) -> None:
        nobody: Any = None
        no: Steps = ()
        self.all, self.on_tensors = interpreters, False
        self.anomaly = self.autocast = self.tracer = nobody
        self.run = self.ran = self.writes = self.wrote = self.recorded = self.save = (
            self.gradient
        ) = no
        for i in interpreters:
            kind: Any = type(i)
            for step in _steps_of(kind):
                setattr(self, step, (*getattr(self, step), getattr(i, step)))
            if (role := getattr(i, "role", None)) in ROLES:
                setattr(self, role, i)
            self.on_tensors |= getattr(i, "on_tensors", False)
        self.key = tuple([getattr(i, "key", type(i)) for i in interpreters if i is not self.tracer])


@functools.cache
def _steps_of(kind: type) -> tuple[str, ...]:
    return tuple([step for step in STEPS if hasattr(kind, step)])


EMPTY = Stack()


class _Thread(threading.local):
    stack = EMPTY


thread = _Thread()


def stack_of(interpreters: Iterable[Any]) -> Stack:
    """A stack of interpreters, lowest first."""
    made = tuple(interpreters)
    return Stack(made) if made else EMPTY


def install(interpreters: Iterable[Any]) -> None:
    """Make these the thread's interpreters, lowest first."""
    before, thread.stack = thread.stack, stack_of(interpreters)
    state.slow += len(thread.stack.all) - len(before.all)


def push(interpreter: Any) -> None:
    """Put an interpreter on top of the thread's stack."""
    install((*thread.stack.all, interpreter))


def pop(interpreter: Any) -> None:
    """Take an interpreter off the thread's stack: where it was put last, if others were put on it
    since.
    """
    kept = list(thread.stack.all)
    del kept[len(kept) - 1 - kept[::-1].index(interpreter)]
    install(kept)


def exchange(role: str, interpreter: Any) -> Any:
    """Have `interpreter` (None: nobody) play a role in this thread from now on; returns who did."""
    before = getattr(thread.stack, role)
    if before is not interpreter:
        kept = [i for i in thread.stack.all if i is not before]
        install(kept if interpreter is None else (*kept, interpreter))
    return before


@contextmanager
def playing(role: str, interpreter: Any) -> Iterator[None]:
    """As `exchange`, inside the block; what the code in it exchanges for good stays."""
    before = exchange(role, interpreter)
    try:
        yield
    finally:
        if getattr(thread.stack, role) is interpreter:
            exchange(role, before)


def owner(values: Iterable[Any], step: str) -> Any:
    """The method for a step that the type of one of the values defines; None for plain tensors and
    numbers.
    """
    for x in values:
        kind = type(x)
        if kind not in FAST_TYPES and isinstance(x, Tensor) and hasattr(kind._interpreter, step):
            return getattr(kind._interpreter, step)
    return None
