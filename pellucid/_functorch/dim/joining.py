"""Tensors with first-class dimensions joined and split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.public import FUNCTIONS
from ...core.tensor import Tensor as PlainTensor
from .tensors import OF_DIMS, Dim, DimensionBindError, _batched, _Tensor, bound, parts


def _joined(function: str, tensors: Any, dim: int) -> Any:
    values = list(tensors)
    found = [x for x in values if isinstance(x, _Tensor)]
    func = FUNCTIONS["torch"][function]
    if not found:
        return func(values, dim)
    return _batched(func, (values, dim), {}, found)


def stack(tensors: Any, new_dim: Dim, dim: int = 0) -> Any:
    """Tensors one behind the other along a new dimension.

    Args:
        tensors: tensors of the same dimensions.
        new_dim: the dimension that tells which tensor.
        dim: a dimension of the tensors beside which the new one is laid out in memory.

    >>> import pellucid as torch
    >>> from pellucid._functorch.dim import dims, stack
    >>> i, which = dims()
    >>> x = torch.arange(3)[i]
    >>> stack([x, x + 1], which).order(which, i)
    tensor([[0, 1, 2],
            [1, 2, 3]])
    """
    if not tensors:
        raise ValueError("stack expects a non-empty sequence of tensors")
    place = dim if isinstance(dim, int) else 0
    return bound(_joined("stack", tensors, place), place, new_dim)


def cat(tensors: Any, dim: Any, new_dim: Dim) -> Any:
    """Tensors one behind the other along a dimension, which goes by a new name then.

    Args:
        tensors: tensors that have the dimension.
        dim: the dimension, or the number of a positional one.
        new_dim: what the longer dimension is.
    """
    if isinstance(dim, int):
        return bound(_joined("cat", tensors, dim), dim, new_dim)
    return bound(_joined("cat", [x.order(dim) for x in tensors], 0), 0, new_dim)


def split(tensor: Any, split_size_or_sections: Any, dim: Any = None) -> Any:
    """Consecutive parts along a dimension.

    Args:
        tensor: a tensor.
        split_size_or_sections: dimensions, each of which is a part and tells its size (those without
            one share what is left); or sizes, as for plain tensors.
        dim: the dimension to split.

    Raises:
        TypeError: dimensions and sizes mixed, or a dimension that the tensor does not have.
    """
    sections = split_size_or_sections
    by_dims = isinstance(sections, Sequence) and any(isinstance(d, Dim) for d in sections)
    if not by_dims:
        if isinstance(dim, Dim):
            raise TypeError(
                "when dim is specified as a Dim object, split sizes must also be dimensions."
            )
        place = 0 if dim is None else dim
        if not isinstance(tensor, _Tensor):
            return PlainTensor.split(tensor, sections, place)
        return _batched(PlainTensor.split, (tensor, sections, place), {}, [tensor])
    if not all(isinstance(d, Dim) for d in sections):
        raise TypeError("split list must be ints or dims but got a mix")
    if isinstance(dim, Dim):
        if not any(dim is d for d in parts(tensor)[1]):
            raise TypeError(f"tensor does not contain dimension {dim}")
        tensor, place = tensor.order(dim), 0
    else:
        place = 0 if dim is None else dim
    size = int(tensor.shape[place])
    free = [d for d in sections if not d.is_bound]
    left = size - sum(d.size for d in sections if d.is_bound)
    if left < 0 or not free and left:
        raise DimensionBindError(
            f"sizes of target dimensions add up to {size - left} but source dimension has size {size}"
        )
    if free:
        each = -(-left // len(free))
        for d in free:
            d.size = min(each, left)
            left -= d.size
    pieces = split(tensor, [d.size for d in sections], place)
    return tuple([bound(p, place, d) for p, d in zip(pieces, sections, strict=True)])


OF_DIMS["split"] = split
