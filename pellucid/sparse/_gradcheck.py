"""`gradcheck` of functions of sparse tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.sparse.array import from_dense
from ..core.tensor import Tensor, make_tensor
from ._convert import build, values_of
from ._tensor import is_sparse


def as_sparse_gradcheck(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """`gradcheck`, or `gradgradcheck`, for functions that take or return sparse tensors.

    The function is checked as one of the stored values: of those that are there with `masked=True`,
    of all elements otherwise.

    >>> import pellucid as torch
    >>> check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    >>> x = torch.eye(2, dtype=torch.float64).to_sparse().requires_grad_()
    >>> check(lambda s: (s * s).to_dense(), (x,), masked=True)
    True
    """

    @functools.wraps(gradcheck)
    def gradcheck_with_sparse_support(func: Callable[..., Any], inputs: Any, **kwargs: Any) -> Any:
        masked = kwargs.pop("masked", False)
        patterns: list[Any] = []
        arguments = []
        for x in (inputs,) if isinstance(inputs, Tensor) else inputs:
            if not (is_sparse(x) and x.requires_grad):
                patterns.append(None)
                arguments.append(x)
                continue
            a = x._array.coalesce() if x._array.layout == "coo" else x._array
            if not masked:
                places = from_dense(np.ones(a.shape[: a.ndim - a.dense_dim]), a.ndim - a.dense_dim)
                whole = a.dense()
                places.values, places.shape = whole[tuple(places.indices)], a.shape
                a = places.to(a.layout, a.block)
            patterns.append(a)
            arguments.append(
                values_of(x).detach().clone() if masked else make_tensor(a.values.copy())
            )
            arguments[-1].requires_grad_()

        def of_values(*given: Any) -> Any:
            made = func(
                *[x if p is None else build(p, x) for p, x in zip(patterns, given, strict=True)]
            )
            return tuple(map(_dense, made)) if isinstance(made, (tuple, list)) else _dense(made)

        return gradcheck(of_values, tuple(arguments), **kwargs)

    return gradcheck_with_sparse_support


def _dense(x: Any) -> Any:
    return x.to_dense() if is_sparse(x) else x
