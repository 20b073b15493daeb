"""Tensors in memory that processes share: `share_memory_`, and what `pellucid.multiprocessing`
sends to another process.

Forked processes have the memory at once; others are given its file's descriptor.
"""

from __future__ import annotations

import sys

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
    like = np.empty_like(array)  # the same order of dimensions, without gaps
    moved = np.ndarray(array.shape, array.dtype, buffer=new_map(array.nbytes), strides=like.strides)
    moved[...] = array
    self._array = moved
    return self


@method()
def is_shared(self: Tensor) -> bool:
    """Whether the tensor lies in memory that other processes can share; see `share_memory_`.

    >>> import pellucid as torch
    >>> torch.tensor([1.0]).is_shared(), torch.tensor([1.0]).share_memory_().is_shared()
    (False, True)
    """
    tracing.unkept(WHERE)
    return map_of(self._array) is not None
