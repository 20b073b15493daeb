"""Creation functions of the array API standard over tensors.

Source: the array API standard, version 2024.12, section "Creation functions".
"""

from __future__ import annotations

import math
from typing import Any

from ...core.public import FUNCTIONS, METHODS
from ...core.tensor import Tensor

_T: dict[str, Any] = FUNCTIONS["torch"]


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """Evenly spaced values in [start, stop), or in [0, start) where `stop` is None; none where the
    step leads away from `stop`.
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("step must not be zero")
    if math.copysign(1, step) * (stop - start) < 0:
        floats = any(isinstance(v, float) for v in (start, stop, step))
        dtype = (
            dtype
            or (FUNCTIONS["torch"]["arange"](1.0).dtype if floats else None)
            or _T["arange"](1).dtype
        )
        return _T["empty"](0, dtype=dtype, device=device)
    wide = dtype is not None and dtype.name in (
        "uint16",
        "uint32",
        "uint64",
    )  # PyTorch refuses them
    made = _T["arange"](start, stop, step, dtype=None if wide else dtype, device=device)
    result: Tensor = made.to(dtype) if wide else made
    return result


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor with any values."""
    result: Tensor = _T["empty"](_sizes(shape), dtype=dtype, device=device)
    return result


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of zeros."""
    result: Tensor = _T["zeros"](_sizes(shape), dtype=dtype, device=device)
    return result


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of ones."""
    result: Tensor = _T["ones"](_sizes(shape), dtype=dtype, device=device)
    return result


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of one value."""
    result: Tensor = _T["full"](_sizes(shape), fill_value, dtype=dtype, device=device)
    return result


def _sizes(shape: Any) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> Tensor:
    """Ones on the diagonal `k`, zeros elsewhere."""
    columns = n_rows if n_cols is None else n_cols
    out: Tensor = _T["zeros"]((n_rows, columns), dtype=dtype, device=device)
    if -n_rows <= k <= columns:
        METHODS["fill_"](METHODS["diagonal"](out, k), 1)
    return out


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Tensor:
    """`num` evenly spaced values from `start` to `stop`, which is the last or, without `endpoint`,
    would be the next.
    """
    result: Tensor = _T["linspace"](start, stop, num + (not endpoint), dtype=dtype, device=device)
    return result if endpoint else result[:num]


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """What is on and below the diagonal `k`."""
    result: Tensor = _T["tril"](x, k)
    return result


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """What is on and above the diagonal `k`."""
    result: Tensor = _T["triu"](x, k)
    return result


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """Coordinates of a grid, from those along each axis."""
    return list(_T["meshgrid"](*arrays, indexing=indexing)) if arrays else []
