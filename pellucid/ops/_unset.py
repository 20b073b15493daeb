"""Creation of uninitialized memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.modes import state
from ..errors import out_of_memory


def mark_unset(array: Any) -> Any:
    """Return the given new array. With `fill_unset` (deterministic algorithms), fill it first with
    NaN, or the largest value of its dtype, so that results never depend on what the memory held.
    """
    if state.fill_unset and type(array) is np.ndarray:
        kind = array.dtype
        array[...] = (
            True
            if kind.kind == "b"
            else np.iinfo(kind).max
            if kind.kind in "iu"
            else np.array(np.nan, np.float32).astype(kind)
        )
    return array


def unset(shape: tuple[int, ...], kind: Any) -> Any:
    """Return a new uninitialized array, which `mark_unset` may have filled."""
    try:
        return mark_unset(np.empty(shape, kind))
    except MemoryError as error:
        raise out_of_memory(error) from None
