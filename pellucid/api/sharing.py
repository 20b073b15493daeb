"""Tensors in memory that processes share: `share_memory_`, and what `pellucid.multiprocessing` sends to another process.

The memory is a nameless file in RAM (`memfd_create`, else a deleted temporary file) mapped as shared: forked processes have it at
once, others are given its descriptor.
"""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
from typing import Any

import numpy as np

from ..backends.meta import MetaArray
from ..core.public import method
from ..core.tensor import Parameter, Tensor, make_tensor
from ..errors import OperationError

Layout = tuple[Any, tuple[int, ...], tuple[int, ...], int]  # dtype, shape, strides, offset in bytes


class SharedMap(mmap.mmap):
    """A mapping that knows its file's descriptor, and closes it at its end."""

    fd: int

    def __del__(self) -> None:
        os.close(self.fd)


def open_map(fd: int, size: int) -> SharedMap:
    """Map a file whose descriptor now belongs to the mapping."""
    made = SharedMap(fd, size)
    made.fd = fd
    return made


def new_map(size: int) -> SharedMap:
    """A mapping of new memory, all zero."""
    size = max(size, 1)
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("pellucid")
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.ftruncate(fd, size)
    return open_map(fd, size)


def map_of(array: Any) -> SharedMap | None:
    """The shared mapping that an array lies in."""
    while isinstance(array, np.ndarray):
        array = array.base
        if isinstance(array, memoryview):
            array = array.obj
    return array if isinstance(array, SharedMap) else None


def layout(array: np.ndarray, within: SharedMap) -> Layout:
    start = np.frombuffer(within, np.uint8).__array_interface__["data"][0]
    return array.dtype, array.shape, array.strides, array.__array_interface__["data"][0] - start


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

    Processes forked afterwards, and those that get the tensor through `torch.multiprocessing`, read and write the same values.
    Views and `.data` of the tensor taken before keep the memory of this process.

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
        raise OperationError("share_memory_() is not supported on Windows", hint="send tensors through queues; they are copied")
    if self._view is not None or self._node is not None:
        what = "a view of another tensor" if self._view is not None else "the result of a recorded operation"
        raise OperationError(
            f"share_memory_() cannot move {what}", hint="share the tensor it comes from, or clone().detach() it first"
        )
    like = np.empty_like(array)  # the same order of dimensions, without gaps
    moved = np.ndarray(array.shape, array.dtype, buffer=new_map(array.nbytes), strides=like.strides)
    moved[...] = array
    self._array = moved
    return self


@method()
def is_shared(self: Tensor) -> bool:
    """Whether the tensor lies in memory that other processes can share; see `share_memory_`."""
    return map_of(self._array) is not None
