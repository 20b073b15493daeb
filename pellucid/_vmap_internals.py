"""`torch._vmap_internals`: `vmap` where older code looks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .func import vmap as vmap


def _vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    allow_none_pass_through: bool = False,
) -> Callable[..., Any]:
    """As `vmap`; with `allow_none_pass_through`, results that are None stay so."""
    if not allow_none_pass_through:
        return vmap(func, in_dims, out_dims)

    def mapped(*args: Any) -> Any:
        kept: list[Any] = []

        def inner(*inner_args: Any) -> Any:
            found = func(*inner_args)
            kept[:] = found if isinstance(found, tuple) else [found]
            return tuple(f for f in kept if f is not None)

        found = iter(vmap(inner, in_dims, out_dims)(*args))
        results = tuple(None if k is None else next(found) for k in kept)
        return results if len(results) != 1 else results[0]

    return mapped
