"""`make_tensor`: a tensor with random elements, for tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..core.public import FUNCTIONS
from ..core.tensor import Tensor
from ..errors import warn


def make_tensor(
    *shape: Any,
    dtype: dtypes.dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return a tensor of the shape, with elements drawn uniformly from [low, high).

    Args:
        shape: integers, or one sequence of them.
        low, high: limits, clamped to what the dtype holds; by default 0 and 2 for bool, 0 and 10
            for unsigned integers, -9 and 10 for signed ones, -9 and 9 for floating point and for
            both parts of complex numbers.
        noncontiguous: give a tensor with gaps in memory; ignored for fewer than two elements.
        exclude_zero: put the dtype's smallest normal number (one for integers) in the place of
            zeros.

    Raises:
        ValueError: for limits that are NaN, reversed or out of the dtype's range; for requires_grad
            with integers; for noncontiguous together with memory_format.

    Example:
        >>> import pellucid as torch
        >>> torch.testing.make_tensor(2, 3, dtype=torch.float32, device="cpu", low=0).shape
        torch.Size([2, 3])
    """
    size = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else tuple(shape)
    integral = not (dtype.is_floating_point or dtype.is_complex)
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, "
            f"but got {noncontiguous=} and {memory_format=}"
        )
    if requires_grad and integral:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}"
        )
    gaps = noncontiguous and math.prod(size) > 1
    if gaps:
        size = (*size[:-1], 2 * size[-1])

    low, high = _limits(dtype, low, high, integral)
    torch = FUNCTIONS["torch"]
    if integral:
        result = torch["randint"](math.ceil(low), math.ceil(high), size, device=device, dtype=dtype)
    else:
        # Eight-bit floats are drawn in single precision.
        drawn = dtypes.float32 if dtype.itemsize == 1 else dtype
        result = torch["empty"](size, device=device, dtype=drawn)
        parts = torch["view_as_real"](result) if dtype.is_complex else result
        if high - low >= dtypes.finfo(drawn).max:  # the width itself must be representable
            parts.uniform_(low / 2, high / 2).mul_(2)
        else:
            parts.uniform_(low, high)
        result = result.to(dtype)

    if gaps:
        # every second element, not from the start: mistakes with offsets show, too
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = 1 if integral else dtypes.finfo(dtype).tiny
    if requires_grad:
        result.requires_grad_(True)
    return result


def _limits(
    dtype: dtypes.dtype, low: float | None, high: float | None, integral: bool
) -> tuple[float, float]:
    least: float
    most: float
    default: tuple[float, float]
    if dtype is dtypes.bool_:
        least, most, default = 0, 2, (0, 2)
    elif integral:
        info = dtypes.iinfo(dtype)
        # randint takes its limits as int64, so the last value of that one is out of reach.
        least, most, default = info.min, info.max + (dtype is not dtypes.int64), (-9, 10)
    else:
        limits = dtypes.finfo(dtype)
        least, most, default = limits.min, limits.max, (-9, 9)
    low = default[0] if low is None else low
    high = default[1] if high is None else high
    if any(isinstance(value, float) and math.isnan(value) for value in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and not integral:
        warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 and will be "
            "removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= most:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports [{least}, {most})"
        )
    return min(max(low, least), most), min(max(high, least), most)
