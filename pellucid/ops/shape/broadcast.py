"""Expansion of dimensions of size 1: expand, broadcast_to, broadcast_tensors."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from numpy import ndarray

from ... import dtypes, shapes
from ...arrays.numpy_cpu import broadcast_to as broadcast_array
from ...core import bind
from ...core.modes import state
from ...core.public import method, public
from ...core.tensor import Tensor
from .._rules import checked_tensors, keyword, require_tensor
from ..pointwise.basic import expand as expand_op
from ._sizes import sizes_of


@lru_cache(1024)
def _sizes(own: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...] | None:
    """Replace each -1 by the tensor's own size. None if a -1 stands for a new dimension."""
    before = len(wanted) - len(own)  # new dimensions have no size to keep
    if before >= 0 and -1 in wanted:
        kept = (-1,) * before + own
        wanted = tuple([k if n == -1 else n for n, k in zip(wanted, kept, strict=True)])
    return None if -1 in wanted else wanted


@method()
def expand(self: Tensor, *size: Any, implicit: bool = False, **named: Any) -> Tensor:
    """Broadcast to a larger shape, as a view. Nothing is copied, so do not write to the result.

    Args:
        size: the new sizes. -1 keeps a size, dimensions of size 1 are stretched, and new dimensions
            go in front.

    Raises:
        RuntimeError: a size other than 1 would change.

    >>> import pellucid as torch
    >>> torch.tensor([[1], [2]]).expand(-1, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    if named:
        size = (keyword(named, "expand", "size"),)
    if type(self) is Tensor and not state.slow and type(self._array) is ndarray:
        a = self._array
        wanted = size[0] if len(size) == 1 and type(size[0]) in (tuple, dtypes.Size) else size
        try:
            wanted = _sizes(a.shape, tuple(wanted))
            if wanted is not None:
                made = broadcast_array(a, wanted)
                return bind.view_result(expand_op, self, made, {"shape": wanted})
        except (ValueError, TypeError):
            pass
    a = require_tensor(self, "expand")._array
    shape, _ = shapes.expand(a.shape, (1,) * a.ndim, sizes_of(size, "expand"), self.dtype.cpu_name)
    return expand_op.call(self, shape=shape)


@method()
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Broadcast to the shape of another tensor; same as `expand(other.size())`.

    >>> import pellucid as torch
    >>> torch.tensor([1, 2]).expand_as(torch.zeros(2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return expand(self, require_tensor(other, "expand_as", "other")._array.shape)


@public(methods="=")
def broadcast_to(input: Tensor, *size: Any, **named: Any) -> Tensor:
    """Broadcast a tensor to a shape, as a view. Same as `input.expand(size)`.

    Args:
        input: any shape that broadcasts to `size`.
        size: the sizes of the result.

    >>> import pellucid as torch
    >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return expand(require_tensor(input, "broadcast_to"), *size, **named)


@public()
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape.

    >>> import pellucid as torch
    >>> a, b = torch.broadcast_tensors(torch.ones(3, 1), torch.ones(2))
    >>> a.shape == b.shape == (3, 2)
    True
    """
    shape = shapes.broadcast_shapes(*[x._array.shape for x in checked_tensors(tensors)])
    return tuple(x if x._array.shape == shape else expand(x, shape) for x in tensors)


@public()
def broadcast_shapes(*shapes_: Any) -> dtypes.Size:
    """The common shape of operands.

    >>> import pellucid as torch
    >>> torch.broadcast_shapes((2,), (3, 1))
    torch.Size([3, 2])
    """
    return dtypes.Size(shapes.broadcast_shapes_api(*shapes_))
