"""Memory layout of the results of transforms, and fast transforms of few numbers along rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._few import Few

COMPLEX = {"f": np.complex64, "d": np.complex128, "F": np.complex64, "D": np.complex128}


def order_in_memory(dims: Sequence[int], x: np.ndarray) -> list[int]:
    """Dimensions from the outermost in memory to the innermost."""
    return sorted(dims, key=lambda d: -x.strides[d])


def laid_out(made: Any, x: Any, dim: tuple[int, ...], last: int) -> Any:
    """The result of a transform in memory as PyTorch has it: the dimensions that were transformed
    are the innermost, the `last` ones of them as they are given, all others in the order in which
    they lie in `x`.
    """
    if type(made) is not np.ndarray or (dim == (x.ndim - 1,) and x.flags.c_contiguous):
        return made
    at = len(dim) - last
    order = order_in_memory([d for d in range(x.ndim) if d not in dim], x)
    order += [*order_in_memory(dim[:at], x), *dim[at:]]
    return np.ascontiguousarray(made.transpose(order)).transpose(np.argsort(order))


few = Few(4096)  # for so few numbers, the transform takes less time than the call
_LAST: Any = [(-1,), (), (-1,)]


def transformer(a: np.ndarray, forward: bool) -> Any:
    """What transforms the rows of few numbers, past what NumPy asks about them first."""
    run = getattr(getattr(np.fft, "_pocketfft_umath", None), "fft" if forward else "ifft", None)
    kind = COMPLEX.get(a.dtype.char)
    if run is None or kind is None or not a.flags.carray or not a.size:
        return False
    shape, scale = a.shape, np.empty(0, kind).real.dtype.type(1 / a.shape[-1])
    if forward:
        return lambda x: run(x, 1, axes=_LAST, out=np.empty(shape, kind))
    return lambda x: run(x, 1, axes=_LAST, out=np.empty(shape, kind)) * scale
