"""The product of tensors by operators of aten."""

from __future__ import annotations

from math import prod
from typing import Any

from ...core.tensor import Tensor
from ...dtypes import contiguous_format
from ...shapes import broadcast_shapes, matmul_shape


def matmul_by_aten(A: Any, input: Any, other: Any) -> Any:
    """The product by operators of aten; NotImplemented for what is not a tensor.

    The operators refuse sizes that do not fit: to a type that handles them, a size may mean
    something else.
    """
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        return NotImplemented
    left, right = list(input._array.shape), list(other._array.shape)
    n, m = len(left), len(right)
    if not n or not m:
        matmul_shape(left, right)
    if n <= 2 and m <= 2:
        if n == 1 and m == 1:
            return A.dot(input, other)
        if m == 1:
            return A.mv(input, other)
        return (
            A.mm(input, other) if n == 2 else A.squeeze.dim(A.mm(A.unsqueeze(input, 0), other), 0)
        )
    if m <= 2:
        folded = A.view(_foldable(A, input, 1), [prod(left[:-1]), left[-1]])
        if m == 1:
            return A._unsafe_view(A.mv(folded, other), left[:-1])
        return A._unsafe_view(A.mm(folded, other), [*left[:-1], right[-1]])
    if n == 1:
        return A.squeeze.dim(matmul_by_aten(A, A.unsqueeze(input, 0), other), -2)
    batch = list(broadcast_shapes(left[:-2], right[:-2]))
    x = A.view(_foldable(A, A.expand(input, [*batch, *left[-2:]]), 2), [prod(batch), *left[-2:]])
    y = A.view(_foldable(A, A.expand(other, [*batch, *right[-2:]]), 2), [prod(batch), *right[-2:]])
    return A._unsafe_view(A.bmm(x, y), [*batch, left[-2], right[-1]])


def _foldable(A: Any, t: Any, kept: int) -> Any:
    """Return the tensor, copied if the dimensions before the last `kept` ones cannot be viewed as
    one.
    """
    shape, strides = t._array.shape, t._array.strides
    step = None
    for k in range(len(shape) - kept - 1, -1, -1):
        if shape[k] != 1:
            if step is not None and strides[k] != step:
                return A.clone(t, memory_format=contiguous_format)
            step = strides[k] * shape[k]
    return t
