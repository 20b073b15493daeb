"""The one place to intercept what the engine does: each thread has a stack of interpreters.

An interpreter is any object that defines some of the methods in `STEPS`. `run` and `gradient` wrap
a step of the engine: they receive `below` (the next interpreter down, or the engine itself) and may
call it, with the same arguments or others, or do something else. The other methods are notified of
a step, the lowest interpreter first. So an interpreter that computes with an operation's results
does so after the interpreter below it has recorded that operation.

  run(below, op, args, params) -> result(s)      an operation as it was called, before promotion
  ran(op, tensors, params, made, aux)            it ran, on these promoted tensors
  writes(tensor)                                 a tensor is about to be overwritten
  wrote(tensor, result)                          a tensor was overwritten (`result` None: no tensor holds the new values)
  recorded(node)                                 a node was added to the graph
  save(array)                                    returns what a node keeps in place of an array; only the innermost one is asked
  gradient(below, node, g)                       the gradient rules of one node -> a gradient for each argument

An interpreter may also have these attributes: `role` ("autocast", "anomaly" or "tracer";
`thread.stack.autocast` is the innermost with that role), `key` (the settings on which a compiled
program depends), and `on_tensors` (backward must run on tensors even if no graph of it is wanted).

Types of tensors that are more than an array (batched, nested, masked) have an interpreter of their
own, `_interpreter`, which comes before the thread's. It defines `run`, and may define `write(below,
tensor, result, name)` for in-place operations and `apply(below, cls, args, kwargs)` for an
`autograd.Function`.

An empty stack costs nothing: `modes.state.slow` counts the interpreters of all threads and the
observers, and operations only look at that number. Observers (`core.observe`) are notified of more
events, in every thread, and change nothing.
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
    """A thread's interpreters (lowest first), the methods they define for each step, and the
    interpreter in each role. A stack is immutable; a change installs a new one.
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
    """Remove the topmost occurrence of an interpreter from the thread's stack, even if others lie
    above it.
    """
    kept = list(thread.stack.all)
    del kept[len(kept) - 1 - kept[::-1].index(interpreter)]
    install(kept)


def exchange(role: str, interpreter: Any) -> Any:
    """Give a role to `interpreter` in this thread (None: leave it empty). Returns the previous one."""
    before = getattr(thread.stack, role)
    if before is not interpreter:
        kept = [i for i in thread.stack.all if i is not before]
        install(kept if interpreter is None else (*kept, interpreter))
    return before


@contextmanager
def playing(role: str, interpreter: Any) -> Iterator[None]:
    """As `exchange`, for the duration of the block. If code in the block has exchanged the role
    itself, its choice stays.
    """
    before = exchange(role, interpreter)
    try:
        yield
    finally:
        if getattr(thread.stack, role) is interpreter:
            exchange(role, before)


def owner(values: Iterable[Any], step: str) -> Any:
    """The method `step` of the interpreter that belongs to the type of one of the values; None if
    all are plain tensors and numbers.
    """
    for x in values:
        kind = type(x)
        if kind not in FAST_TYPES and isinstance(x, Tensor) and hasattr(kind._interpreter, step):
            return getattr(kind._interpreter, step)
    return None
