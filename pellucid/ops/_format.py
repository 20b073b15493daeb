"""Which results keep the memory format of their operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import shapes
from ..core import tracing
from ..core.tensor import Tensor


def has_channels_last(a: Any) -> bool:
    """Whether an array is a batch of images or volumes whose channels are closest in memory."""
    if type(a) is not np.ndarray or a.ndim not in (4, 5) or a.flags.c_contiguous:
        return False
    # As PyTorch judges: the strides grow in this order, with gaps or without.
    least, near = 0, a.strides[1]
    for d in (1, *range(a.ndim - 1, 1, -1), 0):
        if not a.shape[d] or a.strides[d] < max(least, 1) or (d == 0 and least == near):
            return False
        least = a.strides[d] * max(a.shape[d], 1)
    return True


def in_format(result: Tensor, *inputs: Tensor) -> Tensor:
    """The result, with its channels closest in memory where those of one of the inputs are: what
    PyTorch's layers of images do.

    The values are those that the operation made, copied once: there is no kernel for this order of
    memory.
    """
    for x in inputs:
        if x._array.flags.c_contiguous if type(x._array) is np.ndarray else True:
            continue
        if (
            has_channels_last(x._array)
            and type(result._array) is np.ndarray
            and result._array.ndim in (4, 5)
            and not tracing.tracer()
        ):
            a = result._array
            strides = shapes.channels_last_strides(a.shape)
            if a.size and tuple([s // a.itemsize for s in a.strides]) != strides:
                result._array = a.transpose(shapes.moved(a.ndim, 1, -1)).copy()
                result._array = result._array.transpose(shapes.moved(a.ndim, -1, 1))
                result._view = result._ver = None
        return result
    return result
