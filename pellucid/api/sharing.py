"""Tensors in memory that processes share: `share_memory_`, and what `pellucid.multiprocessing`
sends to another process.

Forked processes have the memory at once; others are given its file's descriptor.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..arrays.meta import MetaArray
from ..arrays.shared_memory import Layout, SharedMap, map_of, new_map
from ..core import tracing
from ..core.public import method
from ..core.tensor import Parameter, Tensor, make_tensor
from ..errors import OperationError
from ..ops.shape.storage import WHERE


def tensor_in(within: SharedMap, where: Layout, parameter: bool, requires_grad: bool) -> Tensor:
    """A tensor on shared memory."""
    dtype, shape, strides, offset = where
    made = make_tensor(np.ndarray(shape, dtype, buffer=within, offset=offset, strides=strides))
    if parameter:
        return Parameter(made, requires_grad)
    made._rg = requires_grad
    return made


@method()
def share_memory_(self: Tensor) -> Tensor:
    """Move the tensor's values into memory that other processes share, and return the tensor.

    Processes forked afterwards, and those that get the tensor through `torch.multiprocessing`, read
    and write the same values. Views and `.data` of the tensor taken before keep the memory of this
    process.

    Raises:
        RuntimeError: for a view, for a result of recorded operations, and on Windows.

    Example:
        >>> import pellucid as torch
        >>> torch.ones(2).share_memory_().is_shared()
        True
    """
    array = self._array
    if type(array) is MetaArray or map_of(array) is not None:
        return self
    if sys.platform == "win32":
        raise OperationError(
            "share_memory_() is not supported on Windows",
            hint="send tensors through queues; they are copied",
        )
    if self._view is not None or self._node is not None:
        what = (
            "a view of another tensor"
            if self._view is not None
            else "the result of a recorded operation"
        )
        raise OperationError(
            f"share_memory_() cannot move {what}",
            hint="share the tensor it comes from, or clone().detach() it first",
        )
    _move(self)
    return self


def _move(tensor: Tensor) -> None:
    """Move a tensor's values into shared memory; `OSError` where the system has no more of it."""
    array = tensor._array
    like = np.empty_like(array)  # the same order of dimensions, without gaps
    moved = np.ndarray(array.shape, array.dtype, buffer=new_map(array.nbytes), strides=like.strides)
    moved[...] = array
    tensor._array = moved


def _known(tensor: Any) -> tuple[int, int]:
    """How many know a tensor's array and the array whose memory it is, this function among them."""
    array = tensor._array
    base = array.base
    return sys.getrefcount(array), sys.getrefcount(base)


class _Alone:
    """What only one tensor knows."""

    def __init__(self) -> None:
        self._array = np.empty((2, 1)).T


_ALONE = _known(_Alone())


def movable(tensor: Tensor) -> bool:
    """Whether nobody but this tensor knows its memory: no view, no `.data`, no NumPy array. Only
    then can the memory be replaced unseen.
    """
    array = tensor._array
    if tensor._view is not None or tensor._node is not None or type(array) is not np.ndarray:
        return False
    base, owned = array.base, array.flags.owndata
    if not owned and (type(base) is not np.ndarray or not base.flags.owndata):
        return False  # memory of somebody else
    del array, base
    arrays, bases = _known(tensor)
    return arrays <= _ALONE[0] and (owned or bases <= _ALONE[1])


def shared_map(tensor: Tensor) -> SharedMap | None:
    """The shared memory of a tensor, which moves there where that is possible."""
    if movable(tensor):
        try:
            _move(tensor)
        except OSError:  # too many files, or no space
            return None
    return map_of(tensor._array) if tensor._node is None else None


@method()
def is_shared(self: Tensor) -> bool:
    """Whether the tensor lies in memory that other processes can share; see `share_memory_`.

    >>> import pellucid as torch
    >>> torch.tensor([1.0]).is_shared(), torch.tensor([1.0]).share_memory_().is_shared()
    (False, True)
    """
    tracing.unkept(WHERE)
    return map_of(self._array) is not None
