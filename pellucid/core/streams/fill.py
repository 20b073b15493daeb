"""Fills: random values for a shape, or into an array, made from a generator's words as PyTorch
makes them.

Each fill takes the generator, then a `target`: a shape (with `dtype`; a new array is returned) or
an array, which is filled in place and returned. An array that is not contiguous is filled in the
order of its memory, as PyTorch fills it; so a transposed array gets the numbers of its base.

With `r` a 32-bit word and `R` a 64-bit draw: a float32 uniform is (r mod 2**24) / 2**24, a float64
one (R mod 2**53) / 2**53; float16 and bfloat16 are float32 numbers rounded. Complex numbers are
pairs of real ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ... import config, dtypes
from ...arrays.halves import HALVES, narrowed
from ...arrays.halves import real as real_part
from ...arrays.layout import axis_order
from ...dtypes import name_of
from ...llvm import threads
from ..tracing import repeatable
from .generator import Generator, draw_guards, native, serial
from .math import EXACT_LIMIT, exact, fma, normal_blocks32, scale

Target: TypeAlias = "np.ndarray | tuple[int, ...]"

_BLOCK = 1 << 16  # values per block, so that the temporary arrays stay in a core's cache
_MASK24 = np.uint32((1 << 24) - 1)
_WIDE_MASK24 = np.array((1 << 24) - 1, np.uint64)
_SCALE24 = np.array(2.0**-24, np.float32)

# How PyTorch's messages name the types: "Float" and "float".
NAMES = {kind.name: kind.scalar_type_name for kind in dtypes.ALL}
C_NAMES = {
    kind.name: kind.c_name for kind in dtypes.ALL if not kind.is_complex and not kind.is_float8
}
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
LARGEST = {
    "float16": 65504.0,
    "bfloat16": float.fromhex("0x1.fep127"),
    "float32": float.fromhex("0x1.fffffep127"),
    "float64": float.fromhex("0x1.fffffffffffffp1023"),
}
_COMPLEX = {
    "complex32": np.dtype(np.float16),
    "complex64": np.dtype(np.float32),
    "complex128": np.dtype(np.float64),
}


def spec(target: Target, dtype: Any) -> tuple[int, np.dtype]:
    """The number of values in `target`, and their dtype."""
    if type(target) is tuple:
        count = math.prod(target)
        threads.expect(count)
        return count, dtype if type(dtype) in _DTYPES else np.dtype(dtype)
    if isinstance(target, np.ndarray):
        return target.size, target.dtype
    return math.prod(target), np.dtype(dtype)


_REALS = frozenset((float, int))
_DTYPES = {type(np.dtype(kind)) for kind in ("f4", "f8", "i8")}


def deliver(target: Target, values: np.ndarray) -> np.ndarray:
    """Return flat `values` in the target's shape, or write them into the target array in memory
    order.
    """
    if not isinstance(target, np.ndarray):
        return values.reshape(target)
    ordered = memory_order(target)
    ordered[...] = values.reshape(ordered.shape)
    return target


# the native functions used so far, by dtype and by what they draw
_READY: dict[Any, dict[str, Any]] = {kind: {} for kind in (_FLOAT32, _FLOAT64, *HALVES)}
_OWN_NAMES = {
    "uniform.float32": "uniform24",
    "uniform.float64": "uniform53",
    "normals.float32": "normals",
    "exponentials.float32": "exponentials",
    "bernoulli.float32": "bernoulli",
}
# Float64 draws of the C library's functions, and the sizes from which on NumPy's are taken.
_SERIAL = {"normals": "blocks", "exponentials": "exponentials"}
_LIMITS = {"normals": 2 * EXACT_LIMIT, "exponentials": EXACT_LIMIT}


def fast(
    generator: Generator,
    name: str,
    target: Any,
    dtype: Any,
    block: int = 1,
    more: tuple[float, ...] = (),
) -> np.ndarray | None:
    """Fill a contiguous target of a float type, or a new array, by one call of native code; `more`
    are further arguments of that function.

    Returns None and draws nothing for other targets, if there is no native code, or if the size is
    not a multiple of `block`.
    """
    if type(target) is np.ndarray:
        kind, count = target.dtype, target.size
        if not target.flags.carray:
            return None
    elif type(target) is tuple:
        kind, count = dtype, math.prod(target)
        threads.expect(count)
    else:
        return None
    known = _READY.get(kind)
    if known is None or not count or block > 1 and (count % block or count > _BLOCK):
        return None
    run = known.get(name) if config.kernels else None
    if run is None:
        run = _native_fill(name, kind, count, block)
        if run is None:
            return None
    elif kind is _FLOAT64 and count >= _LIMITS.get(name, count + 1):
        return None
    place = np.empty(target, kind) if type(target) is tuple else target
    lock = generator.lock if draw_guards else generator._lock
    lock.acquire()  # costs half as much as a `with` statement
    try:
        if more:
            run(generator._state, place, count, *more)
        else:
            run(generator._state, place, count)
    finally:
        lock.release()
    return place


def _native_fill(name: str, kind: Any, count: int, block: int) -> Any:
    """The native function for a fill, or None."""
    full = f"{name}.{kind.name}"
    if kind is _FLOAT64 and name in _LIMITS:
        # the C library's logarithm, up to the sizes at which NumPy's is taken
        run = serial(_SERIAL[name], count) if count < _LIMITS[name] else None
    else:
        # without native code, a block of 16 takes about forty NumPy calls
        run = native(_OWN_NAMES.get(full, full), count, 3 * block)
    if run is not None:
        _READY[kind][name] = run
    return run


def memory_order(array: np.ndarray) -> np.ndarray:
    """A view of `array` with its axes ordered by falling stride: the order in which PyTorch's
    serial kernels write.

    >>> memory_order(np.empty((2, 3)).T).shape
    (2, 3)
    """
    if array.flags.c_contiguous or array.ndim < 2:
        return array
    return array.transpose(axis_order(array.shape, array.strides))


def _real_view(
    target: Target, dtype: Any
) -> tuple[Target, np.dtype, Callable[[np.ndarray], np.ndarray]]:
    """View a complex target as real numbers. Returns the view, its dtype, and a function that turns
    the filled reals back into the result.
    """
    if isinstance(target, np.ndarray):
        real = _COMPLEX[target.dtype.name]
        flat: Any = real_part(target)  # shares memory; the imaginary part follows one element later
        pairs = np.lib.stride_tricks.as_strided(
            flat, (*target.shape, 2), (*target.strides, real.itemsize)
        )
        return pairs, real, lambda filled: target
    kind, shape = np.dtype(dtype), target
    return (
        (*shape, 2),
        _COMPLEX[kind.name],
        lambda filled: filled.reshape(-1).view(kind).reshape(shape),
    )


def refuse(kernel: str, dtype: np.dtype) -> NotImplementedError:
    return NotImplementedError(
        f"\"{kernel}\" not implemented for '{NAMES.get(dtype.name, dtype.name)}'"
    )


def require_float(kernel: str, dtype: np.dtype) -> None:
    if name_of(dtype) not in DIGITS:
        raise refuse(kernel, dtype)


def uniform24(generator: Generator, count: int) -> np.ndarray:
    """float32 uniforms in [0, 1), one word each."""
    made = generator.native("uniform24", count, np.float32)
    if made is not None:
        return made
    if count <= _BLOCK:
        words = generator.words(count)
        if words.itemsize == 8:  # few words: converting them costs less than another array of words
            np.bitwise_and(words, _WIDE_MASK24, words)
            values = words.astype(np.float32)
            return np.multiply(values, _SCALE24, values)
        words &= _MASK24
        values = words.view(np.int32).astype(np.float32)
        values *= _SCALE24
        return values
    values = np.empty(count, np.float32)
    for start in range(0, count, _BLOCK):
        part = values[start : start + _BLOCK]
        part[...] = uniform24(generator, part.size)
    return values


# ---------------------------------------------------------------------------------------------------------- uniform


@repeatable
def uniform(
    generator: Generator,
    target: Target,
    low: float = 0.0,
    high: float = 1.0,
    dtype: Any = np.float32,
) -> np.ndarray:
    """Uniform values in [low, high): u * (high - low) + low, rounded once (`rand`, `uniform_`).

    Raises RuntimeError for bounds that the dtype cannot hold or that are out of order,
    NotImplementedError for integers.

    >>> uniform(Generator().manual_seed(0), (2,)).tolist()
    [0.49625658988952637, 0.7682217955589294]
    """
    if low == 0.0 and high == 1.0:
        made = fast(generator, "uniform", target, dtype)
        if made is not None:
            return made
    count, kind = spec(target, dtype)
    if kind is _FLOAT32 and low == 0.0 and high == 1.0:
        with generator.lock:
            return deliver(target, uniform24(generator, count))
    name = name_of(kind)
    if name in _COMPLEX:
        pairs, real, finish = _real_view(target, dtype)
        return finish(uniform(generator, pairs, low, high, real))
    require_float("check_uniform_bounds", kind)
    low, high = float(low), float(high)
    unit = low == 0.0 and high == 1.0
    if not unit:
        _check_uniform(low, high, kind)
    with generator.lock:
        if name == "float64":
            values = generator.uniform53(count)
            return deliver(target, values if unit else _spread(values, low, high, kind))
        values = np.empty(count, kind)
        for start in range(0, count, _BLOCK):
            part = values[start : start + _BLOCK]
            part[...] = _spread(uniform24(generator, part.size), low, high, kind)
    return deliver(target, values)


_NEAR, _FAR = 2.0**-4, 2.0**4


def _spread(values: np.ndarray, low: float, high: float, kind: np.dtype) -> np.ndarray:
    """Map uniforms in [0, 1) to [low, high) in the dtype `kind`."""
    real = values.dtype.type
    start, span = real(low), real(high) - real(low)
    first, length = float(start), float(span)
    if kind is _FLOAT32 and length * _NEAR <= abs(first) <= length * _FAR:
        # the values have 24 fractional bits, so float64 products and sums are exact
        wide = values.astype(np.float64)
        wide *= length
        wide += first
        spread = wide.astype(kind)
        if real((1 - 2.0**-24) * length + first) < real(high):
            return spread  # even the largest value stays below `high`
    else:
        spread = values * span if low == 0.0 else fma(values, span, start)
    end = kind.type(high)
    reached = bool(spread.size) and spread.max().astype(kind) >= end
    spread = narrowed(spread, kind)
    if reached:
        spread[spread == end] = kind.type(low)  # rounding may reach the excluded bound
    return spread


def _check_uniform(low: float, high: float, kind: np.dtype) -> None:
    largest = LARGEST[name_of(kind)]
    for name, bound in (("from", low), ("to", high)):
        if not -largest <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {C_NAMES[kind.name]}")
    if not low <= high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )
    if not high - low <= largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{NAMES[kind.name]}>::max(), but found to={high:g} and "
            f"from={low:g} which result in to-from to exceed the limit"
        )


# ----------------------------------------------------------------------------------------------------------- normal


@repeatable
def normal(
    generator: Generator,
    target: Target,
    mean: float = 0.0,
    std: float = 1.0,
    dtype: Any = np.float32,
) -> np.ndarray:
    """Normal values by Box and Muller's transform (`randn`, `normal_`).

    16 values or more are made in blocks of 16: with u1 = 1 - (the first 8 uniforms) and u2 = the
    other 8, the block is sqrt(-2 ln u1) cos(2 pi u2) and then sqrt(-2 ln u1) sin(2 pi u2); when the
    count is no multiple of 16, the last 16 values are drawn again. Fewer values, and arrays that
    are not contiguous, are made one by one from pairs of 53-bit uniforms, the second of each pair
    being kept for the next draw. Complex values have variance std**2.

    Raises RuntimeError for std < 0, NotImplementedError for integers.

    >>> normal(Generator().manual_seed(0), (2,)).tolist()
    [1.5409960746765137, -0.293428897857666]
    """
    if type(mean) in _REALS and type(std) in _REALS and std >= 0:
        made = fast(generator, "normals", target, dtype, 16, (mean, std))
        if made is not None:
            return made
    count, kind = spec(target, dtype)
    if kind is _FLOAT32 and 0 < count < 16 and mean == 0.0 and std == 1.0:
        with generator.lock:
            values = normal_serial(generator, count).astype(kind)
        return values if type(target) is tuple and len(target) == 1 else deliver(target, values)
    mean, std = float(mean), float(std)
    if not std >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if name_of(kind) in _COMPLEX:
        pairs, real, finish = _real_view(target, dtype)
        return finish(normal(generator, pairs, mean, std / math.sqrt(2.0), real))
    if count == 0:
        return deliver(target, np.empty(0, kind))
    require_float("normal_kernel_cpu", kind)
    contiguous = not isinstance(target, np.ndarray) or target.flags.c_contiguous
    with generator.lock:
        if count < 16 or not contiguous:
            values = round_to(scale(normal_serial(generator, count), mean, std), kind)
        elif kind == np.float64:
            values = _normal_blocks64(generator, count, mean, std)
        else:
            values = _normal_blocks32(generator, count, mean, std, kind, target)
    return values if values is target else deliver(target, values)


def normal_serial(generator: Generator, count: int) -> np.ndarray:
    """Standard normals (float64) drawn one by one, starting with the one kept from the last draw,
    if any.
    """
    if count < 2 * EXACT_LIMIT:
        made = generator.serial("normals", count)
        if made is not None:
            return made
    out = np.empty(count)
    have = 0
    if generator.normal is not None:
        out[0], have = generator.normal, 1
        generator.normal = None
    pairs = (count - have + 1) // 2
    if not pairs:
        return out
    if pairs <= _FEW_PAIRS:
        _serial_few(generator, out, have, pairs)
        return out
    uniforms = generator.uniform53(2 * pairs)
    radius = np.sqrt(-2.0 * exact(math.log1p, -uniforms[1::2]))
    theta = 2.0 * math.pi * uniforms[::2]
    cosines, sines = radius * exact(math.cos, theta), radius * exact(math.sin, theta)
    out[have::2] = cosines
    kept = out[have + 1 :: 2]
    kept[...] = sines[: kept.size]
    if kept.size < pairs:
        generator.normal = float(sines[-1])
    return out


def _serial_few(generator: Generator, out: np.ndarray, have: int, pairs: int) -> None:
    """As `normal_serial`, without array functions, which cost more than a handful of numbers."""
    words = generator.words(4 * pairs).tolist()
    made = []
    for k in range(0, 4 * pairs, 4):
        theta = 2.0 * math.pi * (((words[k] << 32 | words[k + 1]) & _MASK53) * 2.0**-53)
        radius = math.sqrt(
            -2.0 * math.log1p(-((words[k + 2] << 32 | words[k + 3]) & _MASK53) * 2.0**-53)
        )
        made.append(radius * math.cos(theta))
        made.append(radius * math.sin(theta))
    if 2 * pairs > out.size - have:
        generator.normal = made.pop()
    out[have:] = made


_FEW_PAIRS = 8
_MASK53 = (1 << 53) - 1


def _normal_blocks64(generator: Generator, count: int, mean: float, std: float) -> np.ndarray:
    values = generator.uniform53(count)
    whole = count // 16 * 16
    values[:whole] = _box_muller64(values[:whole], mean, std)
    if whole != count:
        values[-16:] = _box_muller64(generator.uniform53(16), mean, std)
    return values


def _box_muller64(uniforms: np.ndarray, mean: float, std: float) -> np.ndarray:
    run = serial("boxes", uniforms.size) if uniforms.size < 2 * EXACT_LIMIT else None
    if run is not None:
        made = np.empty(uniforms.size)
        run(uniforms, made, uniforms.size // 16)
        return scale(made, mean, std)
    blocks = uniforms.reshape(-1, 2, 8)
    radius = np.sqrt(-2.0 * exact(math.log, 1.0 - blocks[:, 0]))
    theta = 2.0 * math.pi * blocks[:, 1]
    out = np.stack((radius * exact(math.cos, theta), radius * exact(math.sin, theta)), 1)
    return scale(out, mean, std).reshape(-1)


def _normal_blocks32(
    generator: Generator, count: int, mean: float, std: float, kind: np.dtype, target: Any
) -> np.ndarray:
    """Normals drawn in blocks of 16, written block by block by native code if it is loaded."""
    whole = count // 16 * 16
    large = count > _BLOCK
    out = np.empty(count, kind)
    for start in range(0, whole, _BLOCK):
        part = out[start : min(start + _BLOCK, whole)]
        place = part if kind is _FLOAT32 else None
        made = normal_blocks32(generator.words(part.size), mean, std, large, place)
        if made is not part:
            part[...] = made
    if whole != count:
        # PyTorch draws the remainder before it overwrites it (float32 only)
        if kind == np.float32:
            generator.words(count - whole)
        out[-16:] = normal_blocks32(generator.words(16), mean, std, large)
    return out


def round_to(values: np.ndarray, kind: np.dtype) -> np.ndarray:
    """float64 values as `kind`. Two-byte floats go through float32, as in PyTorch's conversions."""
    if name_of(kind) in ("float16", "bfloat16"):
        values = values.astype(np.float32)
    return values.astype(kind, copy=False)


@repeatable
def normal_like(generator: Generator, mean: Any, std: Any, dtype: Any = None) -> np.ndarray:
    """Normal values with arrays for `mean`, `std` or both, broadcast against each other
    (`torch.normal`), in their own dtype or another one.

    Raises RuntimeError for a complex or negative std.

    >>> normal_like(Generator().manual_seed(0), np.zeros(2, np.float32), 2.0).tolist()
    [3.0819921493530273, -0.586857795715332]
    """
    if not isinstance(std, (int, float, np.number)):
        if std.dtype.kind in "cW":
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std.size and not std.min() >= 0:
            raise RuntimeError("normal expects all elements of std >= 0.0")
        first = mean if isinstance(mean, np.ndarray) else std
        shape = np.broadcast_shapes(np.shape(mean), std.shape)
        kind = first.dtype if dtype is None else dtype
        out = normal(generator, shape, 0.0, 1.0, kind)
        out *= std
        out += mean if isinstance(mean, np.ndarray) else kind.type(mean)
        return out
    out = normal(generator, mean.shape, 0.0, std, mean.dtype if dtype is None else dtype)
    out += mean
    return out
