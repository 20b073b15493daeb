"""The order in which PyTorch lays dimensions in memory."""

from __future__ import annotations

from typing import Any

import numpy as np


def axis_order(array: np.ndarray) -> list[int]:
    """The axes of `array`, slowest first, as PyTorch's iterator orders them.

    An insertion sort, because axes of stride 0 (broadcast) compare equal to all others.
    """
    order = list(range(array.ndim))[::-1]  # fastest first
    strides, sizes = array.strides, array.shape
    for start in range(1, array.ndim):
        current = start
        for before in range(start - 1, -1, -1):
            left, right = order[before], order[current]
            if not strides[left] or not strides[right]:
                continue
            if strides[left] < strides[right]:
                break
            if strides[left] > strides[right] or sizes[left] > sizes[right]:
                order[before], order[current] = right, left
                current = before
    return order[::-1]


def laid_alike(array: np.ndarray, kind: Any) -> np.ndarray:
    """New memory for the shape of `array`, dense, with its dimensions in the same order.

    >>> laid_alike(np.broadcast_to(np.arange(3.0), (4, 3)), np.dtype(float)).strides
    (24, 8)
    """
    order = axis_order(array)
    made = np.empty([array.shape[d] for d in order], kind)
    return made.transpose(sorted(range(array.ndim), key=order.__getitem__))
