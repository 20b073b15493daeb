"""One element-wise rule applied in place to many arrays at once, such as scaling or clipping
gradients. A kernel is used if there is one.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy import ndarray

from ..ir.formula import nearer
from .halves import widened
from .native import enabled, kernels


def scaled(m: Any, n: Any, param: Any, grad: Any) -> dict[str, Any]:
    """The formula: multiply by a number."""
    return {"param": param * n.factor}


def limited(m: Any, n: Any, param: Any, grad: Any) -> dict[str, Any]:
    """The formula: clamp between two numbers; NaN stays."""
    return {"param": m.clamp(param, min=n.low, max=n.high)}


def moved(m: Any, n: Any, param: Any, grad: Any) -> dict[str, Any]:
    """The formula: move part of the way towards another array."""
    return {"param": nearer(m, param, grad, n.weight)}


@functools.cache
def _rule(formula: Any, names: tuple[str, ...]) -> Any:
    return kernels.updates.optim.UpdateRule(formula, (), names)


def _applied(formula: Any, lists: list[list[ndarray]], **numbers: float) -> bool:
    return enabled() and kernels.updates.optim.apply(
        _rule(formula, tuple(numbers)), lists, False, tuple(numbers.values())
    )


def scale(arrays: list[ndarray], factor: float) -> None:
    """Multiply all elements.

    >>> a = np.array([1.0, 2.0])
    >>> scale([a], 0.5)
    >>> a
    array([0.5, 1. ])
    """
    if not _applied(scaled, [arrays, arrays], factor=float(factor)):
        for a in arrays:
            # multiply in float32, so that the factor is not rounded to two bytes
            if a.dtype.itemsize == 2:
                a[...] = widened(a) * np.float32(factor)
            else:
                a *= a.dtype.type(factor)


def limit(arrays: list[ndarray], most: float) -> None:
    """Clamp all elements to [-most, most]."""
    if not _applied(limited, [arrays, arrays], low=-most, high=most):
        for a in arrays:
            np.clip(a, -most, most, out=a)


def move(arrays: list[ndarray], towards: list[ndarray], weight: float) -> bool:
    """Move all elements the fraction `weight` of the way towards other arrays. Returns False,
    without any change, if no kernel serves.
    """
    same = all(a.shape == b.shape for a, b in zip(arrays, towards, strict=False))
    return same and _applied(moved, [arrays, towards], weight=weight)
