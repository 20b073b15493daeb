"""Scratch memory of the convolution kernels, kept between calls because fresh memory costs a page
fault for every 4 KB.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...llvm import workspace as kept

KEPT_BYTES = 64 << 20
_free: list[Scratch] = []  # one for each Python thread that was inside a kernel at the same time


@dataclass(frozen=True)
class Scratch:
    """`size` bytes of scratch memory at `address`, a multiple of 128. The content is arbitrary."""

    size: int
    address: int
    memory: np.ndarray


def take(size: int) -> Scratch:
    """Return scratch memory of at least `size` bytes, to be returned with `give`.

    >>> scratch = take(1000)
    >>> scratch.size >= 1000 and scratch.address % 128 == 0
    True
    >>> give(scratch)
    """
    try:
        scratch = _free.pop()
        if scratch.size >= size:
            return scratch
    except IndexError:
        pass
    size = -(-size * 5 // 4 // 4096) * 4096
    memory = np.zeros(size + 128, np.uint8)
    return Scratch(size, -(-memory.ctypes.data // 128) * 128, memory)


def give(scratch: Scratch) -> None:
    """Return scratch memory from `take`. It is freed if it is too large to keep."""
    if scratch.size <= KEPT_BYTES and len(_free) < 16:
        _free.append(scratch)


kept.holders.append(_free.clear)
