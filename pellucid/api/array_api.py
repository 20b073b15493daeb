"""The Python array API standard's names over tensors: what `x.__array_namespace__()` returns.

Functions are the library's own under the standard's names, with `axis` and `keepdims`. Source: the array API standard, version 2023.12.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import dtypes
from ..core.public import FUNCTIONS, METHODS
from ..core.tensor import Tensor

__array_api_version__ = "2023.12"

_T: dict[str, Any] = FUNCTIONS.setdefault("torch", {})
e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi

bool = dtypes.bool_
int8, int16, int32, int64 = dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64
uint8, uint16, uint32, uint64 = dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64
float32, float64, complex64, complex128 = dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128
finfo, iinfo = dtypes.finfo, dtypes.iinfo

# Functions whose name, arguments and meaning are the standard's already.
_SAME = (
    "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift ceil conj "
    "copysign cos cosh divide exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal log "
    "log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply negative not_equal positive "
    "pow real reciprocal remainder round sign signbit sin sinh sqrt square subtract tan tanh trunc where matmul tensordot reshape "
    "broadcast_to empty_like full_like ones_like zeros_like tril triu eye linspace arange empty full ones zeros meshgrid moveaxis "
    "from_dlpack nonzero searchsorted tile"
).split()  # fmt: skip
_RENAMED = {"bitwise_invert": "bitwise_not", "equal": "eq", "permute_dims": "permute", "broadcast_arrays": "broadcast_tensors"}


def __getattr__(name: str) -> Any:
    if name in _SAME and name in _T:
        return _T[name]
    if name in _RENAMED:
        return _T[_RENAMED[name]]
    if name in ("linalg", "fft"):
        from types import SimpleNamespace

        return SimpleNamespace(**FUNCTIONS[name])
    raise AttributeError(f"the array namespace has no function {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SAME, *_RENAMED, "linalg", "fft"})


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Tensor:
    """`obj` as a tensor."""
    result: Tensor = _T["asarray"](obj, dtype=dtype, device=device, copy=copy)
    return result


def astype(x: Tensor, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Tensor:
    """`x` in another dtype."""
    result: Tensor = METHODS["to"](x, dtype, copy=copy)
    return result


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """`x` limited to [min, max]."""
    if min is None and max is None:
        return x
    result: Tensor = METHODS["clamp"](x, min, max)
    return result


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Tensors joined along an axis (None: flattened first)."""
    if axis is None:
        arrays, axis = [METHODS["flatten"](a) for a in arrays], 0
    result: Tensor = _T["cat"](tuple(arrays), axis)
    return result


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Tensors joined along a new axis."""
    result: Tensor = _T["stack"](tuple(arrays), axis)
    return result


def expand_dims(x: Tensor, /, *, axis: int = 0) -> Tensor:
    """`x` with an axis of size 1."""
    result: Tensor = METHODS["unsqueeze"](x, axis)
    return result


def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    """`x` without axes of size 1; ValueError when one of them is larger."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    if [a for a in axes if x.shape[a] != 1]:
        raise ValueError("squeezed dimensions must be equal to 1")
    result: Tensor = METHODS["squeeze"](x, axes)
    return result


def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    """`x` with elements reversed along axes (None: all)."""
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    result: Tensor = METHODS["flip"](x, axes)
    return result


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """`x` with elements shifted round."""
    result: Tensor = METHODS["roll"](x, shift, axis)
    return result


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Each element repeated."""
    result: Tensor = METHODS["repeat_interleave"](x, repeats, axis)
    return result


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis."""
    result: tuple[Tensor, ...] = METHODS["unbind"](x, axis)
    return result


def take(x: Tensor, indices: Tensor, /, *, axis: int = 0) -> Tensor:
    """Elements along an axis."""
    result: Tensor = METHODS["index_select"](x, axis, indices)
    return result


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Elements at matching indices along an axis."""
    result: Tensor = _T["take_along_dim"](x, indices, axis)
    return result


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged."""
    result: Tensor = METHODS["transpose"](x, -2, -1)
    return result


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Sum of conj(x1) * x2 along an axis."""
    result: Tensor = FUNCTIONS["linalg"]["vecdot"](x1, x2, dim=axis)
    return result


def argsort(x: Tensor, /, *, axis: int = -1, descending: Any = False, stable: Any = True) -> Tensor:
    """Indices that sort."""
    result: Tensor = _T["argsort"](x, dim=axis, descending=descending, stable=stable)
    return result


def sort(x: Tensor, /, *, axis: int = -1, descending: Any = False, stable: Any = True) -> Tensor:
    """Sorted values."""
    result: Tensor = _T["sort"](x, dim=axis, descending=descending, stable=stable)[0]
    return result


def cumulative_sum(x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: Any = False) -> Tensor:
    """Running sums along an axis."""
    if axis is None:
        if x.ndim > 1:
            raise ValueError("axis must be given for more than one dimension")
        axis = 0
    out: Tensor = METHODS["cumsum"](x, axis, dtype=dtype)
    if not include_initial:
        return out
    shape = list(out.shape)
    shape[axis] = 1
    return concat((_T["zeros"](shape, dtype=out.dtype), out), axis=axis)


def _reduction(name: str, own: str) -> Callable[..., Any]:
    def function(x: Tensor, /, *, axis: Any = None, keepdims: Any = False, **options: Any) -> Any:
        if "correction" in options:
            options["correction"] = int(options["correction"])
        if name in ("sum", "prod", "mean", "std", "var", "any", "all", "max", "min") and axis is None and not keepdims:
            return _T[own](x, **options)
        axes = tuple(range(x.ndim)) if axis is None else axis
        if name == "prod" and not isinstance(axes, int):
            out, dtype = x, options.get("dtype")
            for a in sorted((a % x.ndim for a in axes), reverse=True):
                out = _T["prod"](out, a, keepdim=keepdims, dtype=dtype)
            return out
        return _T[own](x, axes, keepdim=keepdims, **options)

    function.__name__ = name
    function.__doc__ = f"`{name}` over axes."
    return function


sum, prod, mean, std, var = (_reduction(n, n) for n in ("sum", "prod", "mean", "std", "var"))
max, min = _reduction("max", "amax"), _reduction("min", "amin")
any, all = _reduction("any", "any"), _reduction("all", "all")


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: Any = False) -> Tensor:
    """Index of the largest element."""
    result: Tensor = METHODS["argmax"](x, axis, keepdims)
    return result


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: Any = False) -> Tensor:
    """Index of the smallest element."""
    result: Tensor = METHODS["argmin"](x, axis, keepdims)
    return result


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: Tensor
    inverse_indices: Tensor


def unique_values(x: Tensor, /) -> Tensor:
    """The different values."""
    result: Tensor = _T["unique"](x)
    return result


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The different values and how often each occurs."""
    return UniqueCounts(*_T["unique"](x, return_counts=True))


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The different values and where each element is among them."""
    return UniqueInverse(*_T["unique"](x, return_inverse=True))


def unique_all(x: Tensor, /) -> UniqueAll:
    """The different values, first positions, inverse and counts."""
    values, inverse, counts = _T["unique"](x, return_inverse=True, return_counts=True)
    flat = METHODS["flatten"](inverse)
    order = _T["argsort"](flat, stable=True)
    starts = METHODS["cumsum"](counts, 0) - counts
    return UniqueAll(values, order[starts], inverse, counts)


def result_type(*arrays_and_dtypes: Any) -> dtypes.dtype:
    """The dtype of an operation on tensors and dtypes."""
    kinds = [a if isinstance(a, dtypes.dtype) else a.dtype for a in arrays_and_dtypes]
    out = kinds[0]
    for kind in kinds[1:]:
        out = dtypes.promote_types(out, kind)
    return out


def can_cast(from_: Any, to: Any, /) -> Any:
    """Whether `from_` can be cast to `to` under promotion."""
    source = from_ if isinstance(from_, dtypes.dtype) else from_.dtype
    return dtypes.promote_types(source, to) is to


_KINDS: dict[str, Callable[[dtypes.dtype], Any]] = {
    "bool": lambda d: d is dtypes.bool_,
    "signed integer": lambda d: d.is_integral and d.is_signed,
    "unsigned integer": lambda d: d.is_integral and not d.is_signed and d is not dtypes.bool_,
    "integral": lambda d: d.is_integral and d is not dtypes.bool_,
    "real floating": lambda d: d.is_floating_point,
    "complex floating": lambda d: d.is_complex,
    "numeric": lambda d: d is not dtypes.bool_,
}


def isdtype(dtype: dtypes.dtype, kind: Any) -> Any:
    """Whether a dtype is of a kind ("bool", "integral", "real floating", ...), or is another dtype, or any of a tuple."""
    if isinstance(kind, tuple):
        return True in [isdtype(dtype, k) for k in kind]
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"unknown kind of dtype: {kind!r}")
        return not not _KINDS[kind](dtype)
    return dtype is kind


def array_namespace(self: Tensor, *, api_version: str | None = None) -> Any:
    """This module, for `x.__array_namespace__()`."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12"):
        raise ValueError(f"array API version {api_version!r} is not there; 2023.12 is")
    import sys

    return sys.modules[__name__]


METHODS["__array_namespace__"] = array_namespace
