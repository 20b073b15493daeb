"""Copies by `copy.deepcopy`."""

from __future__ import annotations

import copy as _copy
from typing import Any

import numpy as np

from ...arrays.meta import MetaArray
from ...arrays.numpy_cpu import address, owner
from ...core import tracing
from ...core.modes import local, no_grad
from ...core.public import METHODS
from ...core.tensor import FAST_TYPES, Parameter, Tensor, make_tensor
from ...errors import GraphError
from ...ops.shape.storages import copied
from .construct import WithoutData, without_data


def deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """`copy.deepcopy` of a leaf: values, flags and attributes; a non-leaf is refused as in PyTorch."""
    if not self.is_leaf:
        raise GraphError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you were "
            "attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    known = memo.get(id(self))
    if known is not None:
        return known
    kind = type(self)
    if kind not in FAST_TYPES and type(self._array) is np.ndarray and kind._interpreter is None:
        return _copied_subclass(self, memo)
    with no_grad():
        result = make_tensor(_copy_array(self._array, memo))
        result.__class__ = type(self)
        result._rg = self._rg
        memo[id(self)] = result
        # a copied parameter starts without, as in PyTorch
        if self._grad is not None and not isinstance(self, Parameter):
            result._grad = deepcopy(self._grad, memo)
        if kind is not Parameter:  # nor does it keep its attributes
            _copy_attributes(self, result, memo)
    return result


def _copy_attributes(self: Tensor, result: Tensor, memo: dict[int, Any]) -> None:
    for key, value in vars(self).items():
        result.__dict__[key] = _copy.deepcopy(value, memo)


def _copied_subclass(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """As `deepcopy`, of a tensor whose class the program has defined: the class makes the copy.

    Raises:
        RuntimeError: `new_empty` of the class makes tensors of another class.
    """
    kind: Any = type(self)
    if issubclass(kind, Parameter):
        made: Tensor = kind(make_tensor(self._array.copy("K")), self._rg)
        memo[id(self)] = made
        return made
    local.function_off += 1  # in PyTorch, too, only a class's own method keeps the class
    try:
        result = self.new_empty([])
    finally:
        local.function_off -= 1
    if type(result) is not kind:
        raise RuntimeError(
            "The default implementation of __deepcopy__() for non-wrapper subclasses only works for subclass types that implement "
            "new_empty() and for which that function returns another instance of the same subclass. You should either properly "
            "implement new_empty() for your subclass or override __deepcopy__() if it is intended behavior for new_empty() to return an "
            "instance of a different type."
        )
    result._array, result._rg = _copy_array(self._array, memo), self._rg
    memo[id(self)] = result
    if self._grad is not None:
        result._grad = deepcopy(self._grad, memo)
    _copy_attributes(self, result, memo)
    return result


def _copy_array(array: Any, memo: dict[Any, Any]) -> Any:
    """A copy that keeps sharing: views of one storage copied in one deepcopy stay views of one
    copy.
    """
    if type(array) is MetaArray:
        return MetaArray(array.shape, array.dtype, array.strides)
    if type(array) is WithoutData:
        return without_data(array.shape, array.dtype, array.strides, array.device)
    root = owner(tracing.seen(array, "copy.deepcopy copies a tensor past the operations"))
    fresh = copied(root, memo)
    if root is array:
        return fresh
    if fresh.strides != root.strides:  # it has gaps: memory of another library
        return array.copy("K")
    if not array.size:  # which may begin behind the end of its memory
        return np.ndarray(array.shape, array.dtype, fresh.reshape(-1)[:0], 0, array.strides)
    memory = fresh.ravel("K").view(np.uint8).data  # in the order in which it lies
    return np.ndarray(
        array.shape, array.dtype, memory, address(array) - address(root), array.strides
    )


METHODS["__deepcopy__"] = deepcopy
