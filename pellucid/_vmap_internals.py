"""`torch._vmap_internals`: `vmap` as it was before `torch.func`, where older code looks for it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ._pytree import _broadcast_to_and_flatten, tree_flatten
from .core.tensor import Tensor
from .errors import warn
from .func import vmap as _mapped
from .func.vmap import _name


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """As `torch.vmap`, of functions that return a tensor or a tuple of them. Deprecated."""
    warn("Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.", FutureWarning)
    return _vmap(func, in_dims, out_dims)


def _vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    allow_none_pass_through: bool = False,
) -> Callable[..., Any]:
    """As `vmap`; with `allow_none_pass_through`, results that are None stay so.

    Raises:
        ValueError: dimensions that are no numbers from 0 on, or not one of each output; outputs
            that are no tensors.
    """

    @functools.wraps(func)
    def mapped(*args: Any) -> Any:
        name = f"vmap({_name(func)}, ..., out_dims={out_dims})"
        if not isinstance(out_dims, int) and not (
            isinstance(out_dims, tuple) and all(isinstance(d, int) for d in out_dims)
        ):
            raise ValueError(
                f"{name}: `out_dims` must be an int or a tuple of int representing where in the outputs the vmapped dimension should "
                "appear."
            )
        _check_in_dims(func, in_dims, args)
        outputs: list[Any] = []  # with those that are None

        @functools.wraps(func)
        def inner(*inner_args: Any) -> Any:
            found = func(*inner_args)
            if not allow_none_pass_through:
                _check_outputs(func, found)
            outputs[:] = found if isinstance(found, tuple) else [found]
            if isinstance(out_dims, tuple) and len(out_dims) != len(outputs):
                raise ValueError(
                    f"{name}: `out_dims` must have one dim per output (got {len(outputs)} outputs) of {_name(func)}."
                )
            several.append(isinstance(found, tuple))
            return tuple(x for x in outputs if x is not None)

        several: list[bool] = []
        made = iter(_mapped(inner, in_dims)(*args))
        places = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(outputs)
        results = tuple(
            None if x is None else next(made).movedim(0, d)
            for x, d in zip(outputs, places, strict=True)
        )
        return results if several[0] else results[0]

    return mapped


def _check_in_dims(func: Callable[..., Any], in_dims: Any, args: tuple[Any, ...]) -> None:
    """Refuse what the newer `vmap` takes: dimensions counted from the right."""
    leaves, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(in_dims, spec) if isinstance(in_dims, (int, tuple)) else None
    for x, dim in zip(leaves, dims or [None] * len(leaves), strict=True):
        if isinstance(dim, int) and isinstance(x, Tensor) and not 0 <= dim < x.ndim:
            raise ValueError(
                f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for some input, but that input is a Tensor of "
                f"dimensionality {x.ndim} so expected in_dim to satisfy 0 <= in_dim < {x.ndim}."
            )


def _check_outputs(func: Callable[..., Any], outputs: Any) -> None:
    name = f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type"
    if isinstance(outputs, Tensor):
        return
    if not isinstance(outputs, tuple):
        raise ValueError(f"{name} {type(outputs)} as the return.")
    for k, x in enumerate(outputs):
        if not isinstance(x, Tensor):
            raise ValueError(f"{name} {type(x)} for return {k}.")
