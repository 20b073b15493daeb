"""Where a kernel's result goes: new memory, or memory that a compiled step provides."""

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
    """As `np.empty`: an array for a kernel to fill, perhaps one that this thread offers.

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
    """Inside the block kernels of this thread may fill `places`, each once, instead of new arrays
    of the same look.

    A kernel may use one for something else than its result; the caller copies whatever it gets into
    its place.
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
