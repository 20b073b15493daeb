"""The array namespace on NumPy (seam 1). Forward rules call these functions as `xp.name(...)`.

Names and meanings are NumPy's; what NumPy lacks is defined here or in the modules imported at the
end, with generated kernels where NumPy is slow.
"""

from __future__ import annotations

import functools
import math
import sys
import weakref
from typing import Any

import ml_dtypes
import numpy as np
from numpy import asarray, ndarray

from .. import config
from ..dtypes import BY_NUMPY
from ..errors import OperationError, UnsupportedError
from ..kernels.matmul.blas import SHARED_PRODUCT
from ..shapes.dims import reordered
from . import memory as _memory  # noqa: F401  (arrays are made from here on)
from .halves import HALVES, multiplied, narrowed, widened
from .meta import MetaArray
from .native import FEW, REAL, Planned, kernels, native_code_runs, of_few, sparing, ufuncs
from .native import LEAST_ROWS as LEAST_ROWS
from .native import by_rows as by_rows
from .numpy_extra import *  # noqa: F403
from .numpy_fast import *  # noqa: F403
from .numpy_nn import *  # noqa: F403
from .numpy_nn import by_dot, numpy_matmul

name = "numpy"


def __getattr__(attribute: str) -> Any:
    # Not `from numpy import *`, which would also load numpy.testing, numpy.f2py and more: 60 ms of
    # every start.
    try:
        value = getattr(ufuncs, attribute)
    except AttributeError:
        raise AttributeError(f"the array namespace has no function {attribute!r}") from None
    globals()[attribute] = value  # cached, so the next lookup does not come here
    return value


def as_array(value: Any) -> Any:
    """A number, list or NumPy scalar as an array (ufuncs on 0-d arrays return scalars). An array of
    another library is returned unchanged.
    """
    return asarray(value) if isinstance(value, _HOST) else value


_HOST = (ndarray, np.generic, bool, int, float, complex, list, tuple)


def namespace_of(array: Any) -> Any:
    """The array namespace of an array: the attribute `xp` of its class, or this module."""
    return _SELF if type(array) is ndarray else getattr(array, "xp", _SELF)


_SELF = sys.modules[__name__]
NAMESPACES: dict[str, Any] = {"cpu": _SELF}  # device type -> namespace


def from_host(value: Any) -> Any:
    """Convert a NumPy array to this namespace; here it is one already."""
    return value


to_host = from_host  # and back


# ---- reductions and products ------------------------------------------------------------------
# The dtype in which sums are accumulated: float32 for two-byte floats (rounded once, at the end),
# int64 for small integers.
ACCUMULATE: dict[Any, Any] = {
    np.dtype(np.float16): np.dtype(np.float32),
    np.dtype(ml_dtypes.bfloat16): np.dtype(np.float32),
    **{
        np.dtype(kind): np.dtype(np.int64)
        for kind in ("?", "i1", "i2", "i4", "u1", "u2", "u4", "u8")
    },
}
_F32 = np.dtype(np.float32)
_REDUCED = HALVES | set(map(np.dtype, "fdFD?bBhHiIl"))
_multiply, _divide = np.multiply, np.divide
_WIDE = {kind: wide for kind, wide in ACCUMULATE.items() if wide == np.float32}
_reduce, _max, _min, _matmul = np.add.reduce, np.maximum.reduce, np.minimum.reduce, np.matmul

# Along the innermost axis in memory, NumPy sums pairwise. Along another axis it adds row after row,
# and rounding errors grow with the number of rows. Long sums in single precision are therefore
# added in blocks of this many rows first.
BLOCK_ROWS = 256


def _kernels_for(x: Any) -> Any:
    """The reduction kernels if they are faster than NumPy for `x` (a contiguous array of a
    supported dtype), otherwise None.
    """
    serves = (
        (x.dtype is _F32 or x.dtype in _REDUCED)
        and type(x) is ndarray
        and x.flags.c_contiguous
        and config.kernels
        and not sparing[0]
    )
    return kernels.pointwise.reduce if serves else None


_MANY = 1 << 12  # reduction kernels pay off above this many elements


def _by_kernel(name: str, x: Any, axis: Any, keepdims: bool) -> Any:
    """Reduce a large array by a kernel; None if no kernel serves."""
    if x.size <= _MANY:
        return None
    run = _kernels_for(x)
    return (
        _permuted(name, x, axis, keepdims) if run is None else getattr(run, name)(x, axis, keepdims)
    )


def _permuted(name: str, x: Any, axis: Any, keepdims: bool) -> Any:
    """Reduce an array whose dimensions have another order in memory, such as channels_last images,
    by a kernel. None for other arrays.
    """
    if axis is None or type(x) is not ndarray or x.flags.c_contiguous:
        return None
    order, axes, back, left = reordered(x.shape, x.strides, axis)
    y = x.transpose(order)
    run = _kernels_for(y)
    made = None if run is None else getattr(run, name)(y, axes, True)
    if made is None:
        return None
    made = made.transpose(back)
    return in_order(made if keepdims else made.reshape(left))


def _add(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> Any:
    """As `np.add.reduce`, but by a kernel if one serves. Long sums over an axis that is not the
    innermost in memory are added in blocks.
    """
    size = x.size
    if size <= _BUFFERED:
        made = _few("sum", x, axis, keepdims) if size <= FEW and dtype is out is None else None
        if made is not None:
            return made
        made = _reduce(x, axis, dtype, out, keepdims)
        return made if out is not None or x.flags.c_contiguous else in_order(made)
    if size > _MANY and dtype is out is None:
        # NumPy adds long rows to each other just as fast, and no kernel needs to be compiled.
        across = axis is not None and {-1, x.ndim - 1}.isdisjoint(
            axis if type(axis) is tuple else (axis,)
        )
        run = None if across and x.shape[-1] >= 64 else _kernels_for(x)
        made = _permuted("sum", x, axis, keepdims) if run is None else run.sum(x, axis, keepdims)
        if made is not None:
            return made
    if size > 65536 and axis is not None and dtype in _SINGLE and x.dtype in _SINGLE and x.ndim > 1:
        first = axis[0] if type(axis) is tuple and len(axis) == 1 else axis
        if (
            type(first) is int
            and x.strides[first] != x.itemsize
            and x.shape[first] > 4 * BLOCK_ROWS
        ):
            first %= x.ndim
            before, n, after = x.shape[:first], x.shape[first] // BLOCK_ROWS, x.shape[first + 1 :]
            whole, rest = np.split(x, [n * BLOCK_ROWS], first)
            blocks = _reduce(whole.reshape(*before, n, BLOCK_ROWS, *after), first + 1)
            x = np.concatenate([blocks, _reduce(rest, first, keepdims=True)], first)
    flags = x.flags
    if flags.forc or dtype is None and type(axis) is int:
        made = _reduce(x, axis, dtype, out, keepdims)
    else:
        before = np.setbufsize(_GATHERED)
        try:
            made = _reduce(x, axis, dtype, out, keepdims)
        finally:
            np.setbufsize(before)
    return made if flags.c_contiguous or out is not None else in_order(made)


def _no_kernels_yet(name: str, x: Any, axis: Any, keepdims: bool) -> None:
    """The first value of `_few`. It installs the native reduction of few elements once native code
    is loaded, or after so many calls that loading it pays off.
    """
    global _few
    _asked[0] += 1
    if _asked[0] % 256 or not config.kernels or sparing[0]:
        return
    if native_code_runs() or _asked[0] >= _OFTEN:
        _few = kernels.pointwise.few.reduced


_few: Any = _no_kernels_yet
_asked = [0]  # number of calls
_OFTEN = 8192
# So many elements of an array with gaps are gathered and added pairwise; NumPy adds up such partial
# sums one by one.
_GATHERED = 8192
_BUFFERED = 512  # elements in NumPy's buffer as set by `core.modes`


def in_order(made: Any) -> Any:
    """The result of a reduction as a C-contiguous array with regular strides. NumPy would keep the
    axis order of a permuted operand.
    """
    if type(made) is not ndarray or made.ndim <= 1:
        return made
    made = np.ascontiguousarray(made)
    return made.reshape(-1).reshape(made.shape) if 1 in made.shape else made


_SINGLE = (None, np.dtype(np.float32), np.dtype(np.complex64))


def sum(
    x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> Any:
    """As `np.sum`, but float16 and bfloat16 are added in float32, and integers give int64."""
    kind = x.dtype
    wide = None if kind is _F32 else ACCUMULATE.get(kind)
    if wide is None:
        return _add(x, axis, dtype, out, keepdims)
    if wide.kind == "f" and out is None and (dtype is None or dtype == kind):
        made = (_few if x.size <= FEW else _by_kernel)("sum", x, axis, keepdims)
        if made is not None:
            return made
        return narrowed(np.asarray(_add(widened(x), axis, None, None, keepdims)), kind)
    if dtype is None:
        made = _by_kernel("sum", x, axis, keepdims) if out is None else None
        if made is not None:
            return made
        total = _add(x, axis, wide, out, keepdims)
        return total if wide.kind == "i" else total.astype(kind)
    return _add(x, axis, dtype, out, keepdims)


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """As `np.mean` of floats, but two-byte floats are summed in float32."""
    kind = x.dtype
    n = x.size
    if axis is not None:
        n = 1
        for d in axis if type(axis) is tuple else (axis,):
            n *= x.shape[d]
    if kind.itemsize == 2:
        made = (_few if x.size <= FEW else _by_kernel)("mean", x, axis, keepdims)
        if made is not None:
            return made
        return narrowed(
            np.asarray(_add(widened(x), axis, None, None, keepdims) / np.float32(n)), kind
        )
    made = _add(x, axis, None, None, keepdims)
    if type(made) is not ndarray:
        return made / kind.type(n)
    # an operation of NumPy on an array and a number takes most of a microsecond
    if kind is _F32 and not made.ndim and 0 < n <= FEW:
        # a float32 quotient computed in float64 and then rounded is correctly rounded
        return np.array(made.item() / n, kind)
    return _divide(made, np.array(n, kind), made)


def nansum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """As `sum`, with NaN counted as 0."""
    if axis is None and type(x) is ndarray and x.size <= FEW:
        total = _few("sum", x, None, keepdims)
        if total is not None and total.item() == total.item():  # no NaN
            return total
    made = _by_kernel("nansum", x, axis, keepdims)
    if made is not None:
        return made
    missing = x != x
    # usually there is no NaN, and checking costs less than a copy
    return sum(
        np.where(missing, x.dtype.type(0), x) if missing.any() else x, axis, None, None, keepdims
    )


def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """As `np.prod`, but float16 and bfloat16 are multiplied in float32, and integers give int64."""
    made = (_few if x.size <= FEW else _by_kernel)("prod", x, axis, keepdims)
    if made is not None:
        return made
    kind = x.dtype
    wide = ACCUMULATE.get(kind)
    made = in_order(_multiply.reduce(x, axis, wide, None, keepdims))
    return made if wide is None or wide.kind == "i" else made.astype(kind)


def max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """As `np.max`."""
    return _extreme("amax", _max, x, axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """As `np.min`."""
    return _extreme("amin", _min, x, axis, keepdims)


def _extreme(name: str, plain: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """The maximum or minimum, by a kernel along rows, where NumPy is slow."""
    kind = x.dtype
    if x.size <= FEW:
        made = _few(name[1:], x, axis, keepdims)
        if made is not None:
            return made
    if kind.itemsize == 2 and kind in _WIDE and x.size:
        made = _by_kernel(name, x, axis, keepdims)
        if made is not None:
            return made
        return narrowed(np.asarray(_extreme(name, plain, widened(x), axis, keepdims)), kind)
    if kind.kind in "biu" or (axis == x.ndim - 1 or axis == (x.ndim - 1,)) and x.ndim > 1:
        made = _by_kernel(name, x, axis, keepdims)
        if made is not None:
            return made
    made = plain(x, axis, None, None, keepdims)
    return made if x.flags.c_contiguous else in_order(made)


vars(max)["quick"], vars(min)["quick"] = (
    Planned(of_few(name), "float32") for name in ("max", "min")
)


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """As `np.any`."""
    made = _by_kernel("any", x, axis, keepdims)
    return in_order(np.logical_or.reduce(x, axis, None, None, keepdims)) if made is None else made


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """As `np.all`."""
    made = _by_kernel("all", x, axis, keepdims)
    return in_order(np.logical_and.reduce(x, axis, None, None, keepdims)) if made is None else made


def copy(x: Any, order: Any = "K") -> Any:
    """As `np.copy`."""
    if (
        order == "C"
        and x.size > _MANY
        and type(x) is ndarray
        and not x.flags.c_contiguous
        and config.kernels
    ):
        backwards = x.strides[-1] == -x.itemsize
        indexing = kernels.indexing
        made = indexing.reverse.reversed_rows(x) if backwards else indexing.transpose.transposed(x)
        if made is not None:
            return made
    return np.array(x, order=order)


def ordered(x: Any) -> Any:
    """As `np.ascontiguousarray`; a kernel copies large arrays."""
    if x.size <= _MANY or type(x) is not ndarray or x.flags.c_contiguous or not config.kernels:
        return np.ascontiguousarray(x)
    return kernels.indexing.transpose.in_order(x)


def euclidean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The root of the sum of squares by a kernel, for large contiguous arrays; None otherwise."""
    return _by_kernel("norm", x, axis, keepdims)


def variance(x: Any, axis: Any, correction: Any, keepdims: bool) -> Any:
    """(variance, mean) by a kernel for contiguous arrays of more than a few elements; None
    otherwise.
    """
    run = _kernels_for(x) if x.size > FEW else None
    return None if run is None else run.var(x, axis, correction, keepdims)


def argmax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """As `np.argmax`."""
    return in_order(x.argmax(axis, keepdims=keepdims))


def argmin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """As `np.argmin`."""
    return in_order(x.argmin(axis, keepdims=keepdims))


def plus(a: Any, b: Any, into: Any = None) -> Any:
    """a + b of any two arrays, in the memory of `into` if that is `a`. Two-byte floats and large
    arrays use generated code.
    """
    if a.dtype.itemsize == 2 and type(a) is ndarray is type(b):
        return _SELF.add(a, b, into)
    if type(a) is ndarray is type(b) and a.size >= _SHARED:  # split among several threads
        return _SELF.add(a, b, into)
    if into is None:
        return a + b
    into += b
    return into


_SHARED = 1 << 16  # from so many elements on, arrays are split into chunks


def matmul(a: Any, b: Any) -> Any:
    """As `np.matmul`, but two-byte floats are multiplied in float32, and a batch of matrices times
    one matrix is computed as one product.
    """
    kind = a.dtype
    made = by_dot(a, b) if a.size <= FEW >= b.size else None
    if made is not None:
        return made
    if b.ndim == 2 and a.ndim > 2 and a.size:
        shape = a.shape
        return matmul(a.reshape(-1, shape[-1]), b).reshape(*shape[:-1], b.shape[-1])
    if kind in _WIDE:
        made = multiplied(a, b)
        return narrowed(matmul(widened(a), widened(b)), kind) if made is None else made
    if (
        kind.kind in "iu"
        and a.size > 64
        and b.size > 64
        and config.kernels
        and type(a) is ndarray is type(b)
    ):
        run = kernels.matmul.integers
        integers = run.multiply(a, b) if b.ndim > 1 else run.times_vector(a, b)
        if integers is not None:
            return integers
    if (
        kind in REAL
        and a.ndim > 1
        and b.ndim > 1
        and a.shape[-1] == 1 == b.shape[-2]
        and b.shape[-1] > 1
    ):
        # an outer product needs no sums, and NumPy would call BLAS once per matrix
        return _multiply(a, b)
    if kind is _F32 and b.size > 2048 and a.size > 2048 and config.kernels:
        # A broadcast operand, such as the gradient of a sum: copying it once is cheaper than
        # packing it.
        if 0 in a.strides:
            a = np.ascontiguousarray(a)
        if 0 in b.strides:
            b = np.ascontiguousarray(b)
        return kernels.matmul.call.multiply(a, b)
    if a.size * b.shape[-1] < SHARED_PRODUCT and kind in REAL:
        return _matmul(a, b)
    return numpy_matmul(a, b)


def softmax(x: Any, axis: int) -> Any:
    """exp(x) / sum(exp(x)) along an axis, without overflow."""
    kind = x.dtype
    if (kind is _F32 or kind in REAL) and config.kernels:
        made = kernels.rows.softmax.softmax(x, axis)
        if made is not None:
            return made
    if x.size == 0:
        return x.copy()
    if kind in _WIDE:
        return narrowed(softmax(widened(x), axis), kind)
    e = np.subtract(x, _max(x, axis, None, None, True))
    e = ufuncs.exp(e, e) if type(e) is ndarray else np.exp(e)
    return e / _add(e, axis, None, None, True)


def log_softmax(x: Any, axis: int) -> Any:
    """log(softmax(x)) along an axis, without overflow."""
    kind = x.dtype
    if (kind is _F32 or kind in REAL) and config.kernels:
        made = kernels.rows.softmax.log_softmax(x, axis)
        if made is not None:
            return made
    if x.size == 0:
        return x.copy()
    if kind in _WIDE:
        return narrowed(log_softmax(widened(x), axis), kind)
    shifted = x - _max(x, axis, None, None, True)
    return shifted - np.log(_add(ufuncs.exp(shifted), axis, None, None, True))


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) along axes, without overflow; -inf over no elements."""
    wide = widened(x)
    if x.size == 0:
        return np.log(_add(ufuncs.exp(wide), axis, None, None, keepdims)).astype(x.dtype)
    if x.dtype.kind in "cW":
        real = _max(wide.real, axis, None, None, True)  # the real part bounds the magnitude of exp
        top = np.where(np.isfinite(real), real, 0)
    else:
        top = _max(wide, axis, None, None, True)
        top = np.where(np.isfinite(top), top, np.zeros((), wide.dtype))
    total = np.log(_add(ufuncs.exp(wide - top), axis, None, None, True)) + top
    if not keepdims:
        total = np.squeeze(total, axis)
    return np.asarray(total).astype(x.dtype, copy=False)


# As NumPy's functions, without their dispatch.
def squeeze(x: Any, axis: Any = None) -> Any:
    return x.squeeze(axis)


def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    return x.swapaxes(axis1, axis2)


def transpose(x: Any, axes: Any = None) -> Any:
    return x.transpose(axes)


def broadcast_to(x: Any, shape: tuple[int, ...]) -> ndarray:
    """As `np.broadcast_to`, at a fraction of its cost. The result is writeable if `x` is."""
    x = x if type(x) is ndarray else as_array(x)
    try:
        if x.flags.writeable:
            shape = tuple(shape)
            return strided(x, shape, _spread_strides(x.shape, x.strides, shape))
    except (ValueError, IndexError, TypeError, BufferError):
        pass  # unusual dtypes, or a wrong shape: leave it to NumPy
    return np.broadcast_to(x, shape)


@functools.lru_cache(1024)
def _spread_strides(
    own: tuple[int, ...], steps: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[int, ...]:
    """The strides of an array of shape `own` and strides `steps` that is broadcast to `shape`."""
    extra = len(shape) - len(own)
    if extra < 0:
        raise ValueError
    strides = [0] * len(shape)
    for k, (size, stride) in enumerate(zip(own, steps, strict=True), extra):
        if size == shape[k]:
            strides[k] = stride
        elif size != 1:
            raise ValueError
    if own and extra:
        # as in PyTorch, a new dimension of size 1 has the stride of a contiguous one
        for k in range(extra - 1, -1, -1):
            strides[k] = shape[k + 1] * strides[k + 1] if shape[k] == 1 else 0
    return tuple(strides)


def strided(
    x: ndarray, shape: tuple[int, ...], strides: tuple[int, ...], shift: int = 0
) -> ndarray:
    """A view of the memory of `x` with another shape and strides (in bytes), starting `shift` bytes
    after its first element.

    The result keeps the memory alive and is writeable if `x` is. It may reach any part of the array
    that owns the memory.
    """
    if not shift:
        try:
            return ndarray(shape, x.dtype, x, 0, strides)
        except (TypeError, ValueError, BufferError):
            pass  # `x` is not contiguous: start from the owner of the memory
    held = owner(x)
    offset = address(x) - address(held) + shift
    try:
        return ndarray(shape, x.dtype, held, offset, strides)
    except (TypeError, ValueError, BufferError):
        return asarray(_Window(x, shape, strides, shift)).view(x.dtype)


def address(x: ndarray) -> int:
    """The memory address of the first element."""
    return x.__array_interface__["data"][0]


def resized(x: Any, shape: tuple[int, ...], like: Any = None) -> Any:
    """An array of another shape at the start of `x`, in new memory if the memory of `x` is too
    small. The values are whatever is there.

    If `like`, an array of that shape, has no gaps, the result gets its order of dimensions.

    >>> import numpy as np
    >>> x = np.zeros(4)
    >>> resized(x[1:2], (3,))[...] = 1
    >>> x
    array([0., 1., 1., 1.])
    """
    if type(like) is ndarray and type(x) is ndarray and not like.flags.c_contiguous:
        order = sorted(range(like.ndim), key=lambda d: -like.strides[d])
        if np.ascontiguousarray(like.transpose(order)).strides == like.transpose(order).strides:
            return resized(x, tuple(shape[d] for d in order)).transpose(np.argsort(order))
    if type(x) is ndarray and x.size:  # the position of an empty array in its memory is unknown
        held = owner(x)
        offset = x.__array_interface__["data"][0] - held.__array_interface__["data"][0]
        flat = held.reshape(-1, order="A").view(np.uint8) if held.flags.forc else None
        if flat is not None and offset + math.prod(shape) * x.itemsize <= flat.size:
            return (
                flat[offset : offset + math.prod(shape) * x.itemsize].view(x.dtype).reshape(shape)
            )
    if type(x) is ndarray:
        check_resizable(x)
    return np.empty(shape, x.dtype)


def owner(x: ndarray) -> ndarray:
    """The array that owns the memory of `x`, or the outermost array if the memory does not belong
    to an array.

    >>> import numpy as np
    >>> x = np.ones((2, 3), order="F")
    >>> owner(strided(x, (1, 2, 3), (48, *x.strides))) is x, owner(np.ndarray((2,), float, x.T.reshape(-1).data)) is x
    (True, True)
    """
    while True:
        base = x.base
        if base is None:
            return x
        # a memoryview of an array, or an object that exposes an array's memory in a new shape
        if not isinstance(base, ndarray):
            base = base.obj if type(base) is memoryview else getattr(base, "base", None)
            if not isinstance(base, ndarray):
                return x
        x = base


_LENT: dict[int, weakref.ref[ndarray]] = {}


def with_known_dtype(x: ndarray) -> ndarray:
    """`x`, or a view of it, whose dtype is the canonical object for its type.

    Unpickled dtypes are equal to these objects, but not identical. Kernels test `x.dtype is ...`,
    so an array with another object would take another path, which is slower and has other last
    digits. Arrays from outside therefore pass through here.
    """
    known = BY_NUMPY.get(x.dtype)
    if known is None or x.dtype.names is not None or x.dtype is known.numpy:
        return x
    return x.view(known.numpy)


def lend(x: ndarray) -> ndarray:
    """Note that the user's program also holds the memory of `x`, so a tensor in it must keep its
    size; returns `x`.
    """
    key = id(held := owner(x))
    if key not in _LENT:
        _LENT[key] = weakref.ref(held, lambda _: _LENT.pop(key, None))
    return x


def is_lent(x: Any) -> bool:
    """Whether the user's program also holds the memory of `x` as an array."""
    return bool(_LENT) and type(x) is ndarray and id(owner(x)) in _LENT


def check_resizable(x: Any) -> None:
    """Raise PyTorch's error if the memory is shared with NumPy arrays of the user, so that it
    cannot be resized.
    """
    if is_lent(x):
        raise OperationError("Trying to resize storage that is not resizable")


def element_offset(a: Any) -> int:
    """The number of elements from the start of the array's memory to its first element."""
    if type(a) is not ndarray or a.base is None or not a.size:
        return 0
    return (address(a) - address(owner(a))) // a.itemsize


def memory_of(x: ndarray) -> Any:
    """An object that identifies the memory of `x`: the array, or other object (a mapped file,
    bytes), that owns it.
    """
    held = owner(x)
    base = held.base
    return held if base is None else base.obj if type(base) is memoryview else base


def with_places(x: Any, numbers: ndarray, part: Any) -> Any:
    """A copy of `x` with `part` written to the elements with these numbers, counted from 1; the
    number 0 is skipped.

    >>> import numpy as np
    >>> with_places(np.zeros(3), np.array([0, 3]), np.array([7.0, 8.0]))
    array([0., 0., 8.])
    """
    flat, inside = x.flatten(), numbers > 0
    flat[numbers[inside] - 1] = np.broadcast_to(part, numbers.shape)[inside]
    return flat.reshape(x.shape)


def overlaps_itself(array: ndarray) -> bool:
    """Whether two elements share memory, as in an expanded tensor."""
    ordered = type(array) is ndarray and array.flags.c_contiguous
    return (
        not ordered
        and array.size > 1
        and (0, True)
        in {(stride, size > 1) for stride, size in zip(array.strides, array.shape, strict=True)}
    )


def apart(array: ndarray) -> bool:
    """Whether each element certainly has its own memory: no dimension steps into another one."""
    if type(array) is not ndarray or array.flags.c_contiguous:
        return True
    reach = 0
    for step, n in sorted((abs(step), n) for n, step in _steps(array)):
        if step <= reach:
            return not array.size
        reach += step * (n - 1)
    return True


def _steps(a: ndarray) -> list[tuple[int, int]]:
    """Sizes and strides, dimensions of size 1 left out."""
    return [(n, step) for n, step in zip(a.shape, a.strides, strict=True) if n != 1]


def _dense(a: ndarray) -> bool:
    """Whether the elements are adjacent in memory, in any order of the dimensions."""
    if a.flags.c_contiguous:
        return True
    expected = a.itemsize
    for step, n in sorted((step, n) for n, step in _steps(a)):
        if step != expected:
            return False
        expected *= n
    return True


def overlaps(a: Any, b: Any, exact: bool = False) -> bool:
    """Whether writing to `a` would change elements of `b` that are still to be read. With `exact`,
    also if both are the same elements.

    As in PyTorch, an array with gaps is not checked; NumPy copies overlapping operands first.
    """
    if (
        type(a) is not ndarray
        or type(b) is not ndarray
        or a.base is None is b.base
        and a is not b  # both own their memory
        or not np.may_share_memory(a, b)
        or not (a.size and b.size)
    ):
        return False
    same = a is b or (a.shape == b.shape and address(a) == address(b) and _steps(a) == _steps(b))
    return (exact or not same) and _dense(a) and _dense(b)


def writable(array: ndarray) -> ndarray:
    """A writeable array on the same memory. Views of broadcast arrays are read-only in NumPy."""
    if array.flags.writeable:
        return array
    held = owner(array)
    if not held.flags.writeable:
        raise OperationError(
            "the tensor shares memory with a read-only NumPy array and cannot be written to"
        )
    shift = address(array) - address(held)
    memory = held.ravel("K")  # in memory order: a view, unless the memory has gaps
    dense = np.may_share_memory(memory, held) or not held.size
    return (
        ndarray(array.shape, array.dtype, memory.view(np.uint8).data, shift, array.strides)
        if dense
        else array
    )


def written(array: Any, name: str) -> ndarray | None:
    """The memory for a write to the array; None for a meta tensor. Other arrays raise an error."""
    if isinstance(array, ndarray):
        return array if array.flags.writeable else writable(array)
    if isinstance(array, MetaArray):
        return None
    if namespace_of(array) is not _SELF:
        return array
    raise UnsupportedError(
        f"{name}: an array of type {type(array).__name__} cannot be written to", op=name
    )


class _Window:
    """Exposes memory in a new shape for which NumPy makes no buffer (a non-contiguous array, or
    another library's).
    """

    def __init__(
        self, x: ndarray, shape: tuple[int, ...], strides: tuple[int, ...], shift: int
    ) -> None:
        self.base = x
        self.__array_interface__ = {
            "version": 3,
            "shape": tuple(shape),
            "strides": tuple(strides),
            "typestr": f"|V{x.dtype.itemsize}",
            "data": (address(x) + shift, not x.flags.writeable),
        }
