"""Triangular systems of arrays: one matrix for a whole stack, many small ones, or LAPACK for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.native import kernels
from ._linalg import loop

_SMALL, _MANY = 8, 4  # rows of a matrix, and matrices, for which LAPACK's calls take longest


def solved(xp: Any, a: Any, b: Any, *, upper: bool, left: bool, unit: bool) -> Any:
    """X of A X = B (or X A = B), of stacks with the same leading dimensions."""
    if b.size == 0 or a.size == 0:
        return np.zeros_like(b)
    lead = b.shape[:-2]
    count = b.size // (b.shape[-2] * b.shape[-1])
    if lead and a.shape[:-2] == lead and count > 1:
        if not left:  # the transposed system
            turned = solved(xp, a.mT, b.mT, upper=not upper, left=True, unit=unit)
            return turned.mT
        if all(s == 0 or n == 1 for s, n in zip(a.strides[:-2], lead, strict=True)):
            return _by_one(xp, a[(0,) * len(lead)], b, upper, unit)
        if count >= _MANY and a.shape[-1] <= _SMALL:
            return _substituted(a, b, upper, unit)
    from scipy.linalg import get_blas_funcs

    trsm = kernels.matmul.blas.bounded(get_blas_funcs("trsm", (a, b)))

    def one(x: Any, y: Any) -> Any:
        return (
            trsm(1.0, x, y, side=0 if left else 1, lower=0 if upper else 1, diag=1 if unit else 0),
        )

    return loop(one, a, b)[0]


def _by_one(xp: Any, a: Any, b: Any, upper: bool, unit: bool) -> Any:
    """The stack's columns as those of one right-hand side."""
    rows = np.moveaxis(b, -2, 0)
    flat = rows.reshape(b.shape[-2], -1)
    made = solved(xp, a, flat, upper=upper, left=True, unit=unit)
    return np.moveaxis(made.reshape(rows.shape), 0, -2)


def _substituted(a: Any, b: Any, upper: bool, unit: bool) -> Any:
    """Row after row of all systems at once."""
    size = a.shape[-1]
    x = np.empty_like(b)
    for step in range(size):
        i = size - 1 - step if upper else step
        known = slice(i + 1, size) if upper else slice(0, i)
        row = b[..., i : i + 1, :]
        if step:
            row = row - np.matmul(a[..., i : i + 1, known], x[..., known, :])
        if not unit:
            row = row / a[..., i : i + 1, i : i + 1]
        x[..., i : i + 1, :] = row
    return x
