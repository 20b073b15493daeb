"""Positions of the flattened tensor: take and put."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from ...core import tracing
from ...core.bind import wrap
from ...core.primitive import TENSORS as F
from ...core.public import public
from ...core.tape import titled
from ...core.tensor import Tensor
from ...core.transforms.whole import one_node
from ...errors import DtypeError, IndexOutOfRangeError
from .._rules import is_direct, is_plain, require_tensor
from ..shape.view import reshape


def _long(index: Any, name: str) -> Tensor:
    require_tensor(index, name.rstrip("_"), "index", 2)
    if index._array.dtype != np.int64:
        raise DtypeError(
            f"{name}(): Expected a long tensor for index, but got {index.dtype.scalar_type_name}"
        )
    return index


def _in_flat(index: Tensor, size: int) -> None:
    a = index._array
    if type(a) is ndarray and a.size:
        tracing.check(_check_flat, a, size)


def _check_flat(a: ndarray, size: int) -> None:
    low, high = int(a.min()), int(a.max())
    if low < -size or high >= size:
        raise IndexOutOfRangeError(
            f"out of range: tried to access index {low if low < -size else high} on a tensor of {size} elements."
        )


@public(
    methods="=",
    out="apart: take(): self and out expected to have the same dtype, but got self.dtype = {wanted} and out.dtype = {given}",
)
@one_node("Take", "input", "index input")
def take(input: Tensor, index: Tensor) -> Tensor:
    """Take elements by their positions in the flattened tensor.

    Args:
        input: any shape and dtype.
        index: int64 positions, of any shape; negative ones count from the end.

    Returns:
        A tensor of the shape of `index`.

    >>> import pellucid as torch
    >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, -1]))
    tensor([1, 4])
    """
    size = require_tensor(input, "take")._array.size
    index = _long(index, "take")
    if not size and index._array.size:
        raise IndexOutOfRangeError("take(): tried to take from an empty tensor")
    if is_direct(input) and is_plain(index):
        try:
            return wrap(np.asarray(input._array.take(index._array)))
        except IndexError:
            pass  # `_in_flat` raises it with PyTorch's message
    _in_flat(index, size)
    return titled(
        F.index(reshape(input, (size,)), index, spec=(True,)), "Take", of=(input,), index=index
    )


@public(methods="=", inplace="=")
@one_node("Put", "input source", "index source")
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with the elements of `source` at positions of the flattened tensor.

    >>> import pellucid as torch
    >>> torch.put(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, -1]), torch.tensor([7, 8]))
    tensor([[7, 2],
            [3, 8]])
    """
    a = require_tensor(input, "put")._array
    index = _long(index, "put_")
    if require_tensor(source, "put", "source", 3)._array.dtype != a.dtype:
        raise DtypeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {input.dtype.scalar_type_name} and source.dtype = "
            f"{source.dtype.scalar_type_name}"
        )
    if source._array.size != index._array.size:
        raise IndexOutOfRangeError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source._array.size}, index.numel() = {index._array.size}"
        )
    _in_flat(index, a.size)
    flat = F.index_put(
        reshape(input, (a.size,)),
        reshape(source, (source._array.size,)),
        reshape(index, (index._array.size,)),
        spec=(True,),
        accumulate=accumulate,
    )
    return titled(
        reshape(flat, a.shape), "Put", of=(input, source), index=index, accumulate=accumulate
    )
