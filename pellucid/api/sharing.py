"""Tensors in memory that processes share: `share_memory_`, and what `pellucid.multiprocessing`
sends to another process. Tensors that exchange what they are.

Forked processes have the memory at once; others are given its file's descriptor.
"""

from __future__ import annotations

import copyreg
import sys
import weakref
from typing import Any

import numpy as np

from ..arrays.meta import MetaArray
from ..arrays.shared_memory import Layout, SharedMap, map_of, new_map
from ..core import tracing
from ..core.public import METHODS, method
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


_PARTS = ("_array", "_grad", "_node", "_rg", "_ver", "_view", "_x")


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange values, gradient, type and attributes of two tensors; everybody who holds one of
    them sees the other's.

    Raises:
        RuntimeError: something refers weakly to one of them, or their classes have different slots.

    >>> import pellucid as torch
    >>> a, b = torch.zeros(2), torch.ones(3)
    >>> torch.utils.swap_tensors(a, b)
    >>> a, b
    (tensor([1., 1., 1.]), tensor([0., 0.]))
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    slots = [name for name in copyreg._slotnames(type(t1)) if name not in _PARTS]  # type: ignore[attr-defined]
    if set(slots) != {name for name in copyreg._slotnames(type(t2)) if name not in _PARTS}:  # type: ignore[attr-defined]
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for name in (*_PARTS, *slots):
        held = [(t, getattr(t, name)) for t in (t1, t2) if hasattr(t, name)]
        for tensor, _ in held:
            delattr(tensor, name)
        for tensor, value in held:
            setattr(t2 if tensor is t1 else t1, name, value)


def _has_compatible_shallow_copy_type(input: Tensor, from_: Tensor) -> bool:
    """Whether `input.data = from_` can be: both are of one layout and on one device."""
    return input.layout == from_.layout and input.is_meta == from_.is_meta


@method()
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What takes this tensor's place when `load_state_dict` swaps: this one with the values of
    `other`, or with `assign=True` `other` itself, as a Parameter where this is one.

    >>> import pellucid as torch
    >>> torch.zeros(2).module_load(torch.ones(2))
    tensor([1., 1.])
    """
    if not assign:
        return METHODS["copy_"](self, other).detach()
    if isinstance(self, Parameter):
        return other if isinstance(other, Parameter) else Parameter(other, self.requires_grad)
    return other.detach()
