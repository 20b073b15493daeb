"""Allocate the memory of kernels' results: new arrays, or memory that a compiled step provides."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

__all__ = ["empty", "offering"]

_empty = np.empty
_offers: list[tuple[int, np.ndarray]] = []


def empty(shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Like `np.empty`, but return an array that this thread offers, if one of that shape and dtype
    is left.

    >>> place = np.zeros(3, np.float32)
    >>> with offering([place]):
    ...     empty((3,), np.float32) is place, empty((3,), np.float32) is place
    (True, False)
    """
    if _offers:
        me = threading.get_ident()
        for k, (thread, place) in enumerate(_offers):
            if thread == me and place.shape == tuple(shape) and place.dtype == dtype:
                del _offers[k]
                return place
    return _empty(shape, dtype)


@contextmanager
def offering(places: Sequence[np.ndarray]) -> Iterator[None]:
    """Inside the block, kernels of this thread may fill `places`, each once, instead of new arrays
    of the same shape and dtype.

    A kernel may use one for something other than its result, so the caller must copy the result to
    its place unless it is there.
    """
    me = threading.get_ident()
    mine = [(me, place) for place in places]
    _offers.extend(mine)
    try:
        yield
    finally:
        for offer in mine:
            for k, other in enumerate(_offers):
                if other is offer:
                    del _offers[k]
                    break
