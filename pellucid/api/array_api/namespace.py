"""The Python array API standard's names over tensors: what `x.__array_namespace__()` returns.

Functions are the library's own under the standard's names, with `axis` and `keepdims`. Source: the
array API standard, version 2024.12.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import dtypes
from ...core.public import FUNCTIONS, METHODS
from ...core.tensor import Tensor
from .create import arange as arange
from .create import empty as empty
from .create import eye as eye
from .create import full as full
from .create import linspace as linspace
from .create import meshgrid as meshgrid
from .create import ones as ones
from .create import tril as tril
from .create import triu as triu
from .create import zeros as zeros
from .elementwise import FOUND, accumulated, promoted, together
from .elementwise import expm1 as expm1
from .elementwise import floor_divide as floor_divide
from .elementwise import round as round
from .elementwise import sign as sign
from .elementwise import tanh as tanh
from .info import Info
from .linalg import matmul as matmul
from .linalg import matrix_transpose as matrix_transpose
from .linalg import tensordot as tensordot
from .linalg import vecdot as vecdot

__array_api_version__ = "2024.12"

_T: dict[str, Any] = FUNCTIONS.setdefault("torch", {})
e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi

bool = dtypes.bool_
int8, int16, int32, int64 = dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64
uint8, uint16, uint32, uint64 = dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64
float32, float64, complex64, complex128 = (
    dtypes.float32,
    dtypes.float64,
    dtypes.complex64,
    dtypes.complex128,
)

# Functions whose name, arguments and meaning are the standard's already.
_SAME = (
    "abs acos acosh asin asinh atan atanh ceil conj cos cosh exp floor imag isfinite isinf isnan log log10 log1p log2 logical_not negative "
    "positive real reciprocal signbit sin sinh sqrt square tan trunc empty_like full_like ones_like zeros_like from_dlpack "
    "searchsorted tile"
).split()
_RENAMED = {"bitwise_invert": "bitwise_not"}


def __getattr__(name: str) -> Any:
    if name in _SAME:
        return _T[name]
    if name in FOUND:
        return FOUND[name]
    if name in _RENAMED:
        return _T[_RENAMED[name]]
    if name in ("linalg", "fft"):
        return importlib.import_module(f".{name}", __package__)
    raise AttributeError(f"the array namespace has no function {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SAME, *_RENAMED, *FOUND, "linalg", "fft"})


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
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        min, max = (
            b if b is None or isinstance(b, Tensor) else _T["full_like"](x, b) for b in (min, max)
        )
    result: Tensor = METHODS["clamp"](x, min, max)
    return result


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Tensors joined along an axis (None: flattened first)."""
    if axis is None:
        arrays, axis = [METHODS["flatten"](a) for a in arrays], 0
    kind = functools.reduce(promoted, [a.dtype for a in arrays])
    result: Tensor = _T["cat"](tuple(METHODS["to"](a, kind) for a in arrays), axis)
    return result


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Tensors joined along a new axis."""
    result: Tensor = _T["stack"](tuple(arrays), axis)
    return result


def expand_dims(x: Tensor, /, axis: int) -> Tensor:
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
    axes = (
        tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    )
    result: Tensor = METHODS["flip"](x, axes)
    return result


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """`x` with elements shifted round."""
    result: Tensor = METHODS["roll"](x, shift, () if axis is None else axis)
    return result


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Each element repeated."""
    if isinstance(repeats, Tensor):
        repeats = METHODS["to"](repeats, dtypes.int64)
    result: Tensor = METHODS["repeat_interleave"](x, repeats, axis)
    return result


def reshape(x: Tensor, /, shape: Sequence[int], *, copy: Any = None) -> Tensor:
    """The elements in another shape: a view (`copy=False`), a copy (True), or as it comes (None).

    Raises:
        ValueError: no view of that shape is possible.
    """
    if copy is False:
        try:
            return METHODS["view"](x, tuple(shape))
        except RuntimeError:
            raise ValueError(f"a view of shape {tuple(shape)} is not possible") from None
    result: Tensor = METHODS["reshape"](METHODS["clone"](x) if copy else x, tuple(shape))
    return result


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """The axes in another order."""
    result: Tensor = METHODS["permute"](x, tuple(axes))
    return result


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """Axes moved to other places."""
    result: Tensor = METHODS["moveaxis"](x, source, destination)
    return result


def broadcast_to(x: Tensor, /, shape: Sequence[int]) -> Tensor:
    """`x` repeated to a shape, without a copy."""
    result: Tensor = METHODS["broadcast_to"](x, tuple(shape))
    return result


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Tensors repeated to their common shape."""
    return list(_T["broadcast_tensors"](*arrays))


def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
    """`x1` where the condition is true, `x2` elsewhere."""
    result: Tensor = _T["where"](
        condition,
        *(together(x1, x2) if isinstance(x1, Tensor) or isinstance(x2, Tensor) else (x1, x2)),
    )
    return result


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Positions of elements that are not zero, axis by axis.

    Raises:
        ValueError: `x` has no axes.
    """
    if not x.ndim:
        raise ValueError("nonzero() needs an axis")
    return tuple(_T["nonzero"](x, as_tuple=True))


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis."""
    result: tuple[Tensor, ...] = METHODS["unbind"](x, axis)
    return result


def take(x: Tensor, indices: Tensor, /, *, axis: int = 0) -> Tensor:
    """Elements along an axis; negative indices count from the end."""
    size = x.shape[axis]
    result: Tensor = METHODS["index_select"](
        x, axis, _T["where"](indices < 0, indices + size, indices)
    )
    return result


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Elements at matching indices along an axis."""
    result: Tensor = _T["take_along_dim"](x, indices, axis)
    return result


def argsort(x: Tensor, /, *, axis: int = -1, descending: Any = False, stable: Any = True) -> Tensor:
    """Indices that sort."""
    result: Tensor = _T["argsort"](x, dim=axis, descending=descending, stable=stable)
    return result


def sort(x: Tensor, /, *, axis: int = -1, descending: Any = False, stable: Any = True) -> Tensor:
    """Sorted values."""
    result: Tensor = _T["sort"](x, dim=axis, descending=descending, stable=stable)[0]
    return result


def __array_namespace_info__() -> Info:
    """What the namespace can do, its devices and its dtypes."""
    return Info()


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: Any = False
) -> Tensor:
    """Running products along an axis."""
    return _running("cumprod", x, axis, dtype, include_initial)


def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None
) -> Tensor:
    """Differences between neighbors along an axis."""
    result: Tensor = _T["diff"](x, n=n, dim=axis, prepend=prepend, append=append)
    return result


def count_nonzero(x: Tensor, /, *, axis: Any = None, keepdims: Any = False) -> Tensor:
    """How many elements are not zero, over axes."""
    return sum(x != 0, axis=axis, keepdims=keepdims)


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: Any = False
) -> Tensor:
    """Running sums along an axis."""
    return _running("cumsum", x, axis, dtype, include_initial)


def _running(name: str, x: Tensor, axis: int | None, dtype: Any, include_initial: Any) -> Tensor:
    if axis is None:
        if x.ndim > 1:
            raise ValueError("axis must be given for more than one dimension")
        axis = 0
    out: Tensor = METHODS[name](x, axis, dtype=accumulated(x, dtype))
    if not include_initial:
        return out
    shape = list(out.shape)
    shape[axis] = 1
    return concat(
        (_T["zeros" if name == "cumsum" else "ones"](shape, dtype=out.dtype), out), axis=axis
    )


def sum(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Tensor:
    """Sums over axes; of integers in int64, of unsigned ones in uint64, unless a dtype is given."""
    return _over("sum", x, axis, keepdims, dtype=accumulated(x, dtype))


def prod(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: Any = False) -> Tensor:
    """Products over axes; dtypes as for `sum`."""
    dtype = accumulated(x, dtype)
    if axis is None and not keepdims:
        return _T["prod"](x, dtype=dtype)
    out = METHODS["to"](x, dtype)
    for a in sorted((a % x.ndim for a in _axes(x, axis)), reverse=True):
        out = _T["prod"](out, a, keepdim=keepdims, dtype=dtype)
    return out


def mean(x: Tensor, /, *, axis: Any = None, keepdims: Any = False) -> Tensor:
    """Means over axes."""
    return _over("mean", x, axis, keepdims)


def std(
    x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: Any = False
) -> Tensor:
    """Standard deviations over axes, with `n - correction` in the denominator."""
    return _over("std", x, axis, keepdims, correction=correction)


def var(
    x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: Any = False
) -> Tensor:
    """Variances over axes, with `n - correction` in the denominator."""
    return _over("var", x, axis, keepdims, correction=correction)


def max(x: Tensor, /, *, axis: Any = None, keepdims: Any = False) -> Tensor:
    """Largest elements over axes."""
    return _over("amax", x, axis, keepdims)


def min(x: Tensor, /, *, axis: Any = None, keepdims: Any = False) -> Tensor:
    """Smallest elements over axes."""
    return _over("amin", x, axis, keepdims)


def any(x: Tensor, /, *, axis: Any = None, keepdims: Any = False) -> Tensor:
    """Whether an element is not zero, over axes."""
    return METHODS["to"](_over("any", x, axis, keepdims), bool)


def all(x: Tensor, /, *, axis: Any = None, keepdims: Any = False) -> Tensor:
    """Whether no element is zero, over axes."""
    return METHODS["to"](_over("all", x, axis, keepdims), bool)


def _axes(x: Tensor, axis: Any) -> tuple[int, ...]:
    return (
        tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    )


def _over(name: str, x: Tensor, axis: Any, keepdims: Any, **options: Any) -> Tensor:
    if axis == ():  # PyTorch takes this for all axes: each element is by itself
        x, axis = METHODS["unsqueeze"](x, -1), -1
        keepdims = False
    result: Tensor = _T[name](x, _axes(x, axis), keepdim=keepdims, **options)
    return result


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


def _unique(x: Tensor, *wanted: str) -> Any:
    """As `torch.unique`; complex numbers as pairs, in the order of their real parts."""
    options = dict.fromkeys(wanted, True)
    if not x.dtype.is_complex:
        return _T["unique"](x, **options)
    found = _T["unique"](_T["view_as_real"](METHODS["flatten"](x)), dim=0, **options)
    values, *rest = found if wanted else (found,)
    values = _T["view_as_complex"](METHODS["contiguous"](values))
    if "return_inverse" in wanted:
        rest[0] = METHODS["reshape"](rest[0], x.shape)
    return (values, *rest) if wanted else values


def unique_values(x: Tensor, /) -> Tensor:
    """The different values."""
    result: Tensor = _unique(x)
    return result


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The different values and how often each occurs."""
    return UniqueCounts(*_unique(x, "return_counts"))


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The different values and where each element is among them."""
    return UniqueInverse(*_unique(x, "return_inverse"))


def unique_all(x: Tensor, /) -> UniqueAll:
    """The different values, first positions, inverse and counts."""
    values, inverse, counts = _unique(x, "return_inverse", "return_counts")
    flat = METHODS["flatten"](inverse)
    order = _T["argsort"](flat, stable=True)
    starts = METHODS["cumsum"](counts, 0) - counts
    return UniqueAll(values, order[starts], inverse, counts)


def result_type(*arrays_and_dtypes: Any) -> dtypes.dtype:
    """The dtype of an operation on tensors, dtypes and Python numbers, which matter by their kind
    alone.
    """
    kinds = [
        a if isinstance(a, dtypes.dtype) else a.dtype
        for a in arrays_and_dtypes
        if isinstance(a, (dtypes.dtype, Tensor))
    ]
    if not kinds:
        raise ValueError("a tensor or a dtype is needed")
    out = functools.reduce(promoted, kinds)
    for number in arrays_and_dtypes:
        if isinstance(number, complex) and not out.is_complex:
            out = (
                out.to_complex()
                if out.is_floating_point
                else dtypes.get_default_dtype().to_complex()
            )
        elif isinstance(number, float) and out.is_integral:
            out = dtypes.get_default_dtype()
        elif isinstance(number, int) and type(number).__name__ == "int" and out is bool:
            out = dtypes.int64
    return out


def can_cast(from_: Any, to: Any, /) -> Any:
    """Whether `from_` can be cast to `to` under promotion."""
    source = from_ if isinstance(from_, dtypes.dtype) else from_.dtype
    if source is bool or to is bool:
        return source is to
    if to.is_wide_unsigned and not source.is_integral:
        return False
    try:
        return promoted(source, to) is to
    except RuntimeError:
        return False


class FInfo(NamedTuple):
    """What `finfo` returns."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: dtypes.dtype


class IInfo(NamedTuple):
    """What `iinfo` returns."""

    bits: int
    max: int
    min: int
    dtype: dtypes.dtype


def finfo(type: Any, /) -> FInfo:
    """Limits of a floating-point dtype, or of a tensor's; of complex ones those of their parts."""
    kind = type if isinstance(type, dtypes.dtype) else type.dtype
    found = dtypes.finfo(kind)
    return FInfo(
        found.bits,
        found.eps,
        found.max,
        found.min,
        found.smallest_normal,
        kind.to_real() if kind.is_complex else kind,
    )


def iinfo(type: Any, /) -> IInfo:
    """Limits of an integer dtype, or of a tensor's."""
    kind = type if isinstance(type, dtypes.dtype) else type.dtype
    found = dtypes.iinfo(kind)
    return IInfo(found.bits, found.max, found.min, kind)


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
    """Whether a dtype is of a kind ("bool", "integral", "real floating", ...), or is another dtype,
    or any of a tuple.
    """
    if isinstance(kind, tuple):
        return True in [isdtype(dtype, k) for k in kind]
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"unknown kind of dtype: {kind!r}")
        return not not _KINDS[kind](dtype)
    return dtype is kind
