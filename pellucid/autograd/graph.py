"""Inspect the recorded graph, and hook into what it saves (`torch.autograd.graph`)."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from ..api.edges import GradientEdge as GradientEdge
from ..arrays import numpy_cpu
from ..core import tracing
from ..core.bind import wrap
from ..core.display.nodes import AccumulateGrad, accumulator
from ..core.interpret import pop, push, stack_of, thread
from ..core.reverse import queue_callback
from ..core.tape import Node as _Node
from ..core.tape import Packed, RemovableHandle
from ..core.tensor import OutputSlot, Tensor, count_write, version_of
from ..core.transforms.linking import are_tools

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class Node(abc.ABC):  # noqa: B024 (registered below)
    """Abstract type of graph nodes; `isinstance(t.grad_fn, Node)` is true."""


Node.register(_Node)
Node.register(AccumulateGrad)


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The place in the graph where the gradient of `tensor` is computed."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    edge = tensor._node
    if edge is None:
        return GradientEdge(accumulator(tensor), 0)
    if type(edge) is OutputSlot:
        return GradientEdge(edge.node, edge.index)
    return GradientEdge(edge, 0)


class saved_tensors_hooks:  # noqa: N801 (PyTorch's name)
    """Context manager: tensors saved for backward go through `pack_hook` when saved and
    `unpack_hook` when used.

    >>> import pellucid as torch
    >>> seen = []
    >>> def pack(t):
    ...     seen.append(tuple(t.shape))
    ...     return t
    >>> with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
    ...     y = torch.ones(3, requires_grad=True) ** 2
    >>> seen
    [(3,)]
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def save(self, array: Any) -> Any:
        """What a node keeps in the place of an array (`core.interpret`); what the hook saves itself
        is not packed.
        """
        if are_tools():
            return array
        before, thread.stack = (
            thread.stack,
            stack_of(i for i in thread.stack.all if not isinstance(i, saved_tensors_hooks)),
        )
        try:
            given = wrap(array)
            before_write = version_of(given).count
            packed = self.pack_hook(given)
            if version_of(given).count != before_write:
                raise RuntimeError(
                    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
                    "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you "
                    "need to perform in-place operations on the input to a pack hook."
                )
            return Packed(packed, self.unpack_hook)
        finally:
            thread.stack = before

    def __enter__(self) -> None:
        push(self)

    def __exit__(self, *exc: object) -> None:
        pop(self)


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """Keep saved tensors in CPU memory, where they already are: nothing is copied."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda t: t, lambda t: t)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside the block, using `saved_tensors_hooks` raises RuntimeError(error_message)."""
    enter = saved_tensors_hooks.__enter__

    def refuse(self: Any) -> None:
        raise RuntimeError(error_message)

    if thread.stack.save:
        raise RuntimeError(error_message)
    saved_tensors_hooks.__enter__ = refuse  # type: ignore[method-assign]
    try:
        yield
    finally:
        saved_tensors_hooks.__enter__ = enter  # type: ignore[method-assign]


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn` once per backward: with the gradients of all tensors when the last has arrived
    ("all"), or with the first ("any").
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "all" and not all(t.requires_grad for t in tensors):
        raise AssertionError("Expected gradient function to be set")
    held: dict[int, Any] = {}
    handles = []
    wanted = len(tensors)

    def arrived() -> None:
        grads = [held.get(k) for k in range(wanted)] if held else None
        held.clear()
        if grads is not None and mode == "all":
            fn(grads)

    def make(index: int) -> Callable[[Tensor], None]:
        def hook(g: Tensor) -> None:
            first = not held
            held[index] = g
            if first:
                queue_callback(arrived)  # tensors that this backward does not reach have None
                if mode == "any":
                    fn(g)
            if len(held) == wanted:
                arrived()

        return hook

    for index, tensor in enumerate(tensors):
        handles.append(tensor.register_hook(make(index)))

    return _MultiHandle(handles)


class _MultiHandle(RemovableHandle):
    """The handle of a hook on several tensors."""

    def __init__(self, handles: Any) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> Any:
        return self.handles

    def __setstate__(self, state: Any) -> None:
        self.handles = state


class _Kept:
    """What one or several nodes saved of a tensor; a copy of it once the tensor is about to be
    overwritten.
    """

    __slots__ = ("__weakref__", "array")

    def __init__(self, array: Any) -> None:
        self.array = array


class _AllowMutationOnSavedContext:
    """The interpreter behind `allow_mutation_on_saved_tensors`.

    Attributes:
        cloned: the copies that were made and are still kept, by who keeps them.
        tid_to_weakhandle: who keeps a tensor that was not overwritten since, by its place in
            memory.
    """

    def __init__(self) -> None:
        self.cloned: WeakKeyDictionary[_Kept, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: WeakValueDictionary[Any, _Kept] = WeakValueDictionary()
        self.open = True

    def save(self, array: Any) -> Packed:
        """What a node keeps in the place of an array."""
        place = (numpy_cpu.address(array), array.shape, array.strides, array.dtype)
        kept = self.tid_to_weakhandle.get(place)
        if kept is None:
            kept = self.tid_to_weakhandle[place] = _Kept(array)
        return Packed(kept, self.unpack)

    def unpack(self, kept: _Kept) -> Tensor:
        """The tensor as it was when it was saved."""
        if not self.open:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was originally recorded."
            )
        return wrap(kept.array)

    def writes(self, t: Tensor) -> None:
        """Copy what is kept of the memory that is about to be overwritten."""
        for place, kept in list(self.tid_to_weakhandle.items()):
            if np.may_share_memory(kept.array, t._array):
                del self.tid_to_weakhandle[place]
                kept.array = tracing.copied(kept.array)
                self.cloned[kept] = wrap(kept.array)

    def clear(self) -> None:
        """Forget what is kept; backward is refused from here on."""
        self.open = False
        self.cloned.clear()
        self.tid_to_weakhandle.clear()


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_AllowMutationOnSavedContext]:
    """Inside the block, overwriting saved tensors does not spoil backward: they are copied when
    they are about to be overwritten.

    Backward must run inside the block, too.

    Raises:
        RuntimeError: blocks are nested. AssertionError: backward runs outside.

    >>> import pellucid as torch
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     x = torch.tensor([3.0], requires_grad=True)
    ...     y = x.clone()
    ...     z = y ** 2
    ...     _ = y.zero_()
    ...     z.backward()
    >>> x.grad
    tensor([6.])
    """
    if any(isinstance(i, _AllowMutationOnSavedContext) for i in thread.stack.all):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = _AllowMutationOnSavedContext()
    push(context)
    try:
        yield context
    finally:
        pop(context)
        context.clear()


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Count a write to the tensor that happened outside of the library."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        count_write(version_of(t))
