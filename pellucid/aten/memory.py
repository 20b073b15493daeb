"""Strides and memory formats of tensors, with or without data."""

from __future__ import annotations

from typing import Any

from ..ops.shape.view import viewable as viewable


def contiguous(t: Any) -> bool:
    """Return whether a tensor is contiguous (row-major)."""
    step = t._array.dtype.itemsize
    for size, stride in zip(reversed(t._array.shape), reversed(t._array.strides), strict=True):
        if size != 1 and stride != step:
            return not t._array.size
        step *= size
    return True
