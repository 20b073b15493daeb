"""How tensors travel to other processes (PyTorch's `torch.multiprocessing.reductions`).

A tensor whose memory nobody else knows moves into shared memory when it is sent, and arrives as the
same memory. Where a view, `.data` or a NumPy array shares the memory of this process, moving it
would cut them off, so the other process gets a copy; call `share_memory_` first to share it anyway.
Sending a tensor needs an open file in both processes until they drop the tensor, and the sender has
to live until the tensor was received.
"""

from __future__ import annotations

import sys
import weakref
from multiprocessing import reduction as _reduction
from multiprocessing.reduction import ForkingPickler as ForkingPickler
from typing import Any

from ..api import sharing as _sharing
from ..arrays import shared_memory as _memory
from ..core.tensor import Parameter, Tensor
from ..errors import GraphError

__all__ = [
    "StorageWeakRef",
    "init_reductions",
    "rebuild_tensor",
    "reduce_tensor",
]


class StorageWeakRef:
    """A reference to the memory of a storage that does not keep it; equal for storages on the same
    memory.

    >>> import pellucid as torch
    >>> from pellucid.multiprocessing.reductions import StorageWeakRef
    >>> x = torch.ones(3)
    >>> StorageWeakRef(x.untyped_storage()) == StorageWeakRef(x[1:].untyped_storage())
    True
    """

    __slots__ = ("_owner", "cdata")

    def __init__(self, storage: Any) -> None:
        untyped = storage.untyped()
        self.cdata = untyped._cdata
        self._owner = weakref.ref(untyped._owner)

    def expired(self) -> bool:
        """Whether the memory is gone."""
        return self._owner() is None

    def __hash__(self) -> int:
        return self.cdata

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, StorageWeakRef) and self.cdata == other.cdata)


def rebuild_tensor(descriptor: Any, size: int, *facts: Any) -> Tensor:
    """The tensor that another process sent: its memory's file, and where it lies in there."""
    return _sharing.tensor_in(_memory.open_map(descriptor.detach(), size), *facts)


def reduce_tensor(tensor: Tensor) -> Any:
    """A function and its arguments that make the tensor in another process.

    Raises:
        RuntimeError: a result of recorded operations, whose gradient could not come back.
    """
    if tensor.requires_grad and not tensor.is_leaf:
        raise GraphError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing process "
            "boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing (e.g., putting it on "
            "the queue)."
        )
    within = _sharing.shared_map(tensor)
    if within is None:
        return tensor.__reduce_ex__(2)
    where = _memory.layout(tensor._array, within)
    return rebuild_tensor, (
        _reduction.DupFd(within.fd),
        len(within),
        where,
        isinstance(tensor, Parameter),
        tensor.requires_grad,
    )


def init_reductions() -> None:
    """Have queues, pipes and processes send tensors in these ways; done when this is imported."""
    if sys.platform != "win32":
        ForkingPickler.register(Tensor, reduce_tensor)
        ForkingPickler.register(Parameter, reduce_tensor)


init_reductions()
