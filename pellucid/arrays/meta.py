"""Arrays without data: shape, dtype and strides only. Meta tensors and batched views hold one;
NumPy functions refuse it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


class Described:
    """The properties that follow from an array's `shape`."""

    __slots__ = ()
    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)


_LIKE = (np.zeros_like, np.ones_like, np.empty_like, np.full_like)


class MetaArray(Described):
    """The description of an array. Anything that would read or write values raises TypeError."""

    __slots__ = ("dtype", "shape", "strides")
    __array_ufunc__ = None
    device = "meta"

    def __init__(
        self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None
    ) -> None:
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)
        if strides is None:
            step, made = self.dtype.itemsize, []
            for size in reversed(self.shape):
                made.append(step)
                step *= max(size, 1)
            strides = tuple(reversed(made))
        self.strides = strides

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("an array without data cannot be read")

    def __array_function__(self, function: Any, kinds: Any, given: Any, named: Any) -> Any:
        if function in _LIKE:
            return MetaArray(self.shape, named.get("dtype") or self.dtype)
        raise TypeError("an array without data cannot be computed with")

    def __repr__(self) -> str:
        return f"MetaArray({self.shape}, {self.dtype})"
