"""Running a function over slices, carrying a value along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._pytree import tree_flatten, tree_unflatten
from ..core.public import FUNCTIONS
from ..core.tensor import Tensor


def scan(
    combine_fn: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any,
    *,
    dim: int = 0,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Call `carry, y = combine_fn(carry, x)` for each slice `x` of `xs`; return the last carry, and
    the results `y` stacked.

    Args:
        combine_fn: a function of the carry and of a slice without its scanned dimension.
        init: the first carry: a tensor, or a container of tensors.
        xs: a tensor, or a container of tensors, of one size along `dim`.
        reverse: from the last slice to the first; results stand where their slices do, along `dim`.

    Raises:
        RuntimeError: something is not a tensor, there are no slices, or the carry changes its
            structure.

    >>> import pellucid as torch
    >>> scan(lambda a, x: (a + x, a * x), torch.tensor(0.0), torch.tensor([1.0, 2.0, 3.0]))
    (tensor(6.), tensor([0., 2., 9.]))
    """
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise RuntimeError(f"Dim must be an int, but got {type(dim)}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    carried, carry_spec = tree_flatten(init)
    leaves, spec = tree_flatten(xs)
    if not carried:
        raise RuntimeError("scan() operator requires init leaves.")
    for name, parts in (("init", carried), ("xs", leaves)):
        for leaf in parts:
            if not isinstance(leaf, Tensor):
                raise RuntimeError(f"All {name} leaves must be a Tensor but got {leaf}")
    if not leaves:
        return init, []
    slices = [leaf.unbind(dim) for leaf in leaves]
    count = len(slices[0])
    if any(len(part) != count for part in slices):
        raise RuntimeError("All xs leaves must have the same size along the scanned dimension")
    made: list[Any] = [None] * count
    out_spec: Any = None
    for k in reversed(range(count)) if reverse else range(count):
        given = (
            tree_unflatten(carried, carry_spec),
            tree_unflatten([part[k] for part in slices], spec),
        )
        carry, y = combine_fn(*given)
        carried, now = tree_flatten(carry)
        if now != carry_spec:
            raise RuntimeError(
                f"The tree structure of the carry is expected to be {carry_spec}, but combine_fn gives {now}"
            )
        made[k], out_spec = tree_flatten(y)
    if not count:
        raise RuntimeError("All xs leaves must have a scan dimension > 0")
    stack = FUNCTIONS["torch"]["stack"]
    stacked = [stack(list(parts), dim) for parts in zip(*made, strict=True)]
    return tree_unflatten(carried, carry_spec), tree_unflatten(stacked, out_spec)
