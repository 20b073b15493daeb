"""Function transforms under the names of `torch._functorch.apis`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..func import grad as grad
from ..func import grad_and_value as grad_and_value
from ..func import vmap as vmap
from ..func.vmap import _inputs

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
        batch, *_ = _inputs(func, in_dims, args)
        size = -(-batch // chunks) or None
        return vmap(func, in_dims, out_dims, randomness, chunk_size=size)(*args, **kwargs)

    return mapped
