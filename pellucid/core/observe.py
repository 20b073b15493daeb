"""Seam 4: observers, which watch the engine without changing it. They cost nothing while there are
none.

An observer is any object; the methods it defines among `EVENTS` are called. While there is an
observer, `core.modes.state.slow` is greater than zero. This sends every operation through the
general path of `core.bind`, the only place that notifies.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .modes import state

EVENTS = (
    "operation_enter",  # (op, args): an operation was called
    "operation",  # (op, inputs, params, outputs): it ran, on these inputs of one dtype
    "operation_exit",  # (op, args, outputs): it is over; outputs are None when it raised
    "inplace",  # (name, tensor, inputs): a tensor was overwritten
    "module_enter",  # (module, name, args, kwargs)
    "module_exit",  # (module, name, result)
    "backward_start",  # (roots,)
    "node_enter",  # (node,): backward comes to a node
    "backward_node",  # (node, grad_output, grad_inputs): its gradient rules ran
    "node_exit",  # (node, grad_inputs): it is over; None when they raised
    "backward_end",  # (roots,)
    "accumulate",  # (leaf, grad)
    "grad_set",  # (tensor, value): `.grad` was assigned, to None as well
    "data_taken",  # (tensor, result): `.data` was read
    "requires_grad",  # (tensor, value): the flag of a leaf was set
    "optimizer_step",  # (optimizer,) after the step
    # (tensors, set_to_none): a module or an optimizer is about to clear their gradients
    "zero_grad",
    "mode",  # (name, value): grad mode, train/eval, ...
    "error",  # (exception, op, inputs)
    "made",  # (tensor, sources): tensor() was called; `sources` are the tensors that it was given
    "created",  # (tensor, sources): a factory made it, or a loader of samples; what it was given
    "read",  # (tensor, how): a value left the graph through item(), numpy(), tolist(), bool()
)

observers: list[Any] = []


def add_observer(observer: Any) -> None:
    """Start sending events to `observer`."""
    observers.append(observer)
    state.slow += 1


def remove_observer(observer: Any) -> None:
    """Stop sending events to `observer`; ValueError when it was not registered."""
    observers.remove(observer)
    state.slow -= 1


@contextmanager
def observing(observer: Any) -> Iterator[Any]:
    """Send events to `observer` inside the block."""
    add_observer(observer)
    try:
        yield observer
    finally:
        remove_observer(observer)


def notify(event: str, *args: Any) -> None:
    """Tell every observer that defines a method of this name. Callers check `observers` first."""
    for observer in tuple(observers):
        handler = getattr(observer, event, None)
        if handler is not None:
            handler(*args)
