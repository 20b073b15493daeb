"""Arrays as a tracer sees them: the memory they use, its bounds, and whether they are still alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy import ndarray

from ...arrays.numpy_cpu import address
from ...arrays.numpy_cpu import memory_of as memory_of
from ...arrays.numpy_cpu import owner as owner


@cache
def dtype_name(kind: np.dtype) -> str:
    """The name of a dtype, cached because NumPy takes microseconds for it."""
    return str(kind)


def numpy_dtype(name: str) -> np.dtype:
    """The NumPy dtype with a value's dtype name, including those of ml_dtypes."""
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))


def bounds(array: ndarray) -> tuple[int, int]:
    """The first and the one-past-last address of an array."""
    start = address(array)
    if array.flags.c_contiguous:
        return start, start + array.nbytes
    if array.size == 0:
        return start, start
    low = start + sum(s * (n - 1) for s, n in zip(array.strides, array.shape, strict=True) if s < 0)
    high = start + sum(
        s * (n - 1) for s, n in zip(array.strides, array.shape, strict=True) if s > 0
    )
    return low, high + array.itemsize


def arrays_in(value: Any) -> Iterator[ndarray]:
    """The arrays in nested tuples and lists."""
    if type(value) is ndarray:
        yield value
    elif isinstance(value, (tuple, list)):
        for v in value:
            yield from arrays_in(v)


class Watched(weakref.ref[ndarray]):
    """A weak reference to an array that still knows the array's id when it is gone."""

    __slots__ = ("key",)
    key: int

    def __new__(cls, array: ndarray, gone: Callable[[Watched], None]) -> Watched:
        made = super().__new__(cls, array, gone)
        made.key = id(array)
        return made
