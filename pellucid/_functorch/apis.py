"""Function transforms under the names of `torch._functorch.apis`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _pytree
from ..func import grad as grad
from ..func import grad_and_value as grad_and_value
from ..func import vmap as vmap

__all__ = ["chunk_vmap", "grad", "grad_and_value", "vmap"]


def chunk_vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    chunks: int = 2,
) -> Callable[..., Any]:
    """As `vmap`, in so many parts one after the other, which takes less memory at a time.

    >>> import pellucid as torch
    >>> chunk_vmap(torch.sum, chunks=3)(torch.ones(5, 2))
    tensor([2., 2., 2., 2., 2.])
    """

    def mapped(*args: Any, **kwargs: Any) -> Any:
        dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
        sizes = [
            leaf.shape[dim]
            for x, d in zip(args, dims, strict=True)
            for leaf, dim in zip(*_leaves_and_dims(x, d), strict=True)
            if dim is not None
        ]
        size = -(-sizes[0] // chunks) if sizes and sizes[0] else None
        return vmap(func, in_dims, out_dims, randomness, chunk_size=size)(*args, **kwargs)

    return mapped


def _leaves_and_dims(x: Any, dims: Any) -> tuple[list[Any], list[Any]]:
    """The tensors in a container, and the dimension that each is mapped over."""
    leaves, spec = _pytree.tree_flatten(x)
    found = _pytree._broadcast_to_and_flatten(dims, spec)
    return leaves, [None] * len(leaves) if found is None else found
