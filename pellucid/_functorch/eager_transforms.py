"""`torch._functorch.eager_transforms`: the function transforms, where libraries import them."""

from __future__ import annotations

from typing import Any

from ..func import (
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
)
from ..func.transforms import _check_argnums, _chosen

__all__ = [
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "vjp",
]


def _slice_argnums(args: tuple[Any, ...], argnums: Any, as_tuple: bool = True) -> Any:
    """The arguments that `argnums` numbers; one of them as a tuple, too, unless told otherwise.

    Raises:
        RuntimeError: no number, or not one of each argument.

    >>> _slice_argnums((3, 5), -1)
    (5,)
    """
    numbers = _check_argnums(argnums, len(args))
    chosen = _chosen(args, numbers)
    return (chosen,) if as_tuple and isinstance(numbers, int) else chosen
