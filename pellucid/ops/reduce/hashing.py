"""A hash of a tensor's elements."""

from __future__ import annotations

import math
from typing import Any

from ... import dtypes
from ...core.public import FUNCTIONS, METHODS, public
from ...core.tensor import Tensor
from ...errors import IndexOutOfRangeError, OperationError, UnsupportedError
from ...shapes import reduce_dims


@public(methods="=")
def hash_tensor(input: Tensor, dim: Any = (), *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """The exclusive or of the bits of elements, each widened to 64 bits (floats to float64, others
    to int64), in uint64.

    `dim` as for `sum`; all elements where it is left out.

    Raises:
        RuntimeError: the mode is another than 0.

    Example:
        >>> import pellucid as torch
        >>> torch.hash_tensor(torch.tensor([5, 3]))
        tensor(6, dtype=torch.uint64)
    """
    if mode != 0:
        raise OperationError(f"Unknown hash_tensor mode: {mode}")
    if input.is_complex():
        raise UnsupportedError(
            f"\"xor_sum_cpu\" not implemented for '{input.dtype.scalar_type_name}'"
        )
    if not input.numel() and (
        dim == () or any(not input.shape[d] for d in reduce_dims(dim, input.ndim))
    ):
        if dim == ():
            raise OperationError(
                "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
            )
        empty = next(d for d in reduce_dims(dim, input.ndim) if not input.shape[d])
        raise IndexOutOfRangeError(
            f"hash_tensor: Expected reduction dim {empty} to have non-zero size."
        )
    wide = METHODS["to"](input, dtypes.float64 if input.is_floating_point() else dtypes.int64)
    bits = METHODS["view"](METHODS["contiguous"](wide), dtypes.int64)
    dims = sorted(reduce_dims(dim if isinstance(dim, int) or len(dim) else None, input.ndim))
    others = [d for d in range(input.ndim) if d not in dims]
    count = math.prod(input.shape[d] for d in dims)
    shape = [1 if d in dims else input.shape[d] for d in range(input.ndim)]
    rest = METHODS["reshape"](
        METHODS["permute"](bits, (*dims, *others)),
        (count, math.prod(input.shape[d] for d in others)),
    )
    while count > 1:  # fold one half onto the other
        half = count // 2
        folded = rest[:half] ^ rest[half : 2 * half]
        rest, count = FUNCTIONS["torch"]["cat"]([folded, rest[2 * half :]]), count - half
    out = METHODS["reshape"](rest, shape if keepdim else [shape[d] for d in others])
    result: Tensor = METHODS["view"](out, dtypes.uint64)
    return result
