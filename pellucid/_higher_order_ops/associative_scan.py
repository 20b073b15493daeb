"""Running results of an associative function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._pytree import tree_flatten, tree_unflatten
from ..core.public import FUNCTIONS
from ..core.tensor import Tensor


def associative_scan(
    combine_fn: Callable[[Any, Any], Any],
    xs: Any,
    dim: int,
    reverse: bool = False,
    combine_mode: str = "pointwise",
) -> Any:
    """The running results of an associative function along a dimension: x0, f(x0, x1), f(f(x0, x1),
    x2) ...

    Neighbors are combined first, then the results for pairs are scanned, so that there are about 2
    log2(n) calls of the function (Blelloch, "Prefix sums and their applications", 1990).

    Args:
        combine_fn: a function of two containers like `xs`, of slices of any length along the
            dimension.
        xs: a tensor, or a container of tensors, of one size along the dimension.
        reverse: from the last to the first.
        combine_mode: "pointwise" or "generic".

    Raises:
        ValueError: no tensors, a dimension that they do not have, or sizes that differ.

    >>> import pellucid as torch
    >>> associative_scan(lambda a, b: a * b, torch.tensor([1.0, 2.0, 3.0, 4.0]), 0)
    tensor([ 1.,  2.,  6., 24.])
    """
    leaves, spec = tree_flatten(xs)
    if not callable(combine_fn):
        raise ValueError("Combine_fn must be a callable, but got {combine_fn}")
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    if not all(isinstance(leaf, Tensor) for leaf in leaves):
        raise ValueError("xs leaves must be a Tensor")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(
            f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}"
        )
    if any(leaf.dim() <= dim or leaf.dim() < -dim for leaf in leaves):
        raise ValueError(
            "All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0"
        )
    first = [leaf.movedim(dim, 0) for leaf in leaves]
    if len({leaf.shape[0] for leaf in first}) > 1:
        raise ValueError("All xs leaves must have the same size along the scanned dimension")
    if reverse:
        first = [leaf.flip(0) for leaf in first]

    def combine(a: list[Tensor], b: list[Tensor]) -> list[Tensor]:
        # The function sees the scanned dimension where it was.
        args = [tree_unflatten([t.movedim(0, dim) for t in part], spec) for part in (a, b)]
        return [t.movedim(dim, 0) for t in tree_flatten(combine_fn(*args))[0]]

    done = _scan(combine, first)
    return tree_unflatten([(t.flip(0) if reverse else t).movedim(0, dim) for t in done], spec)


def _scan(
    combine: Callable[[list[Tensor], list[Tensor]], list[Tensor]], xs: list[Tensor]
) -> list[Tensor]:
    n = xs[0].shape[0]
    if n < 2:
        return xs
    odd = _scan(combine, combine([x[0 : n - 1 : 2] for x in xs], [x[1::2] for x in xs]))
    later = [x[2::2] for x in xs]
    if n % 2 == 0:
        even = combine([x[:-1] for x in odd], later) if later[0].shape[0] else later
    else:
        even = combine(odd, later)
    cat, stack = FUNCTIONS["torch"]["cat"], FUNCTIONS["torch"]["stack"]
    even = [cat([x[:1], rest]) for x, rest in zip(xs, even, strict=True)]
    made = []
    for a, b in zip(even, odd, strict=True):
        count = b.shape[0]
        pairs = stack([a[:count], b], 1).reshape(2 * count, *b.shape[1:])
        made.append(cat([pairs, a[count:]]) if a.shape[0] > count else pairs)
    return made
