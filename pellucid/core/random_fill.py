"""Fills: random values for a shape, or into an array, made from a generator's words as PyTorch makes them.

Each fill takes the generator, then a `target`: a shape (with `dtype`; a new array is returned) or an array, which is
filled in place and returned. An array that is not contiguous is filled in the order of its memory, as PyTorch fills
it; so a transposed array gets the numbers of its base.

With `r` a 32-bit word and `R` a 64-bit draw: a float32 uniform is (r mod 2**24) / 2**24, a float64 one
(R mod 2**53) / 2**53; float16 and bfloat16 are float32 numbers rounded. Complex numbers are pairs of real ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from pellucid.core.random import Generator
from pellucid.core.random_math import exact, fma, normal_pairs32

Target: TypeAlias = "np.ndarray | tuple[int, ...]"

_BLOCK = 1 << 16  # values at a time: what they need stays in a core's cache
_MASK24 = np.uint32((1 << 24) - 1)
_SCALE24 = np.float32(2.0**-24)
_PERM_WIDE = (2**32 - 1) // 20  # from here on, 32 bits would favour small offsets

_NAMES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "float16": "Half", "bfloat16": "BFloat16",
    "float32": "Float", "float64": "Double", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip
_C_NAMES = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int",
    "int64": "long int", "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int",
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
}  # fmt: skip
_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_LARGEST = {
    "float16": 65504.0,
    "bfloat16": float.fromhex("0x1.fep127"),
    "float32": float.fromhex("0x1.fffffep127"),
    "float64": float.fromhex("0x1.fffffffffffffp1023"),
}
_COMPLEX = {"complex64": np.dtype(np.float32), "complex128": np.dtype(np.float64)}


def _spec(target: Target, dtype: Any) -> tuple[int, np.dtype]:
    """How many values of which dtype `target` takes."""
    if isinstance(target, np.ndarray):
        return target.size, target.dtype
    return math.prod(target), np.dtype(dtype)


def _deliver(target: Target, values: np.ndarray) -> np.ndarray:
    """Give flat `values` the target's shape, or write them into the target in the order of its memory."""
    if not isinstance(target, np.ndarray):
        return values.reshape(target)
    ordered = memory_order(target)
    ordered[...] = values.reshape(ordered.shape)
    return target


def memory_order(array: np.ndarray) -> np.ndarray:
    """A view of `array` with its axes ordered by falling stride: the order in which PyTorch's serial kernels write.

    >>> memory_order(np.empty((2, 3)).T).shape
    (2, 3)
    """
    if array.flags.c_contiguous or array.ndim < 2:
        return array
    order = list(range(array.ndim))[::-1]  # fastest axis first
    strides, sizes = array.strides, array.shape

    def belongs_before(left: int, right: int) -> int:
        if not strides[left] or not strides[right]:
            return 0  # a broadcast axis says nothing
        if strides[left] != strides[right]:
            return 1 if strides[left] > strides[right] else -1
        return 1 if sizes[left] > sizes[right] else 0

    for start in range(1, array.ndim):
        current = start
        for before in range(start - 1, -1, -1):
            comparison = belongs_before(order[before], order[current])
            if comparison > 0:
                order[before], order[current] = order[current], order[before]
                current = before
            elif comparison < 0:
                break
    return array.transpose(order[::-1])


def _real_view(target: Target, dtype: Any) -> tuple[Target, Any, Callable[[np.ndarray], np.ndarray]]:
    """A complex target seen as real numbers, and what turns the filled reals back into the result."""
    if isinstance(target, np.ndarray):
        real = _COMPLEX[target.dtype.name]
        pairs = np.lib.stride_tricks.as_strided(
            target.view(target.dtype).reshape(-1)[:0].view(real) if target.size == 0 else target.real,
            target.shape + (2,),
            target.strides + (real.itemsize,),
        )
        return pairs, real, lambda filled: target
    kind = np.dtype(dtype)
    return (*target, 2), _COMPLEX[kind.name], lambda filled: filled.reshape(-1).view(kind).reshape(target)


def _refuse(kernel: str, dtype: np.dtype) -> NotImplementedError:
    return NotImplementedError(f'"{kernel}" not implemented for \'{_NAMES.get(dtype.name, dtype.name)}\'')


def _require_float(kernel: str, dtype: np.dtype) -> None:
    if dtype.name not in _DIGITS:
        raise _refuse(kernel, dtype)


def _uniform24(generator: Generator, count: int) -> np.ndarray:
    """float32 uniforms in [0, 1), one word each."""
    if count <= _BLOCK:
        words = generator.words(count)
        if words.dtype == np.uint64:
            words = words.astype(np.uint32)
        words &= _MASK24
        values = words.view(np.int32).astype(np.float32)
        values *= _SCALE24
        return values
    values = np.empty(count, np.float32)
    for start in range(0, count, _BLOCK):
        part = values[start : start + _BLOCK]
        part[...] = _uniform24(generator, part.size)
    return values


# ---------------------------------------------------------------------------------------------------------- uniform


def uniform(
    generator: Generator, target: Target, low: float = 0.0, high: float = 1.0, dtype: Any = np.float32
) -> np.ndarray:
    """Uniform values in [low, high): u * (high - low) + low, rounded once (`rand`, `uniform_`).

    Raises RuntimeError for bounds that the dtype cannot hold or that are out of order, NotImplementedError for
    integers.

    >>> uniform(Generator().manual_seed(0), (2,)).tolist()
    [0.49625658988952637, 0.7682217955589294]
    """
    count, kind = _spec(target, dtype)
    if kind.name in _COMPLEX:
        pairs, real, finish = _real_view(target, dtype)
        return finish(uniform(generator, pairs, low, high, real))
    _require_float("check_uniform_bounds", kind)
    low, high = float(low), float(high)
    _check_uniform(low, high, kind)
    if count == 0:
        return _deliver(target, np.empty(0, kind))
    with generator.lock:
        if kind == np.float64:
            values = generator.uniform53(count)
        else:
            values = _uniform24(generator, count)
    if (low, high) != (0.0, 1.0):
        real = values.dtype.type
        span = real(high) - real(low)
        values = values * span if low == 0.0 else fma(values, span, real(low))
    values = values.astype(kind, copy=False)
    if kind.itemsize < 4 or (low, high) != (0.0, 1.0):
        values[values == kind.type(high)] = kind.type(low)  # rounding may reach the open end
    return _deliver(target, values)


def _check_uniform(low: float, high: float, kind: np.dtype) -> None:
    largest = _LARGEST[kind.name]
    for name, bound in (("from", low), ("to", high)):
        if not -largest <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {_C_NAMES[kind.name]}")
    if not low <= high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )
    if not high - low <= largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{_NAMES[kind.name]}>::max(), but found to={high:g} and "
            f"from={low:g} which result in to-from to exceed the limit"
        )


# ----------------------------------------------------------------------------------------------------------- normal


def normal(
    generator: Generator, target: Target, mean: float = 0.0, std: float = 1.0, dtype: Any = np.float32
) -> np.ndarray:
    """Normal values by Box and Muller's transform (`randn`, `normal_`).

    16 values or more are made in blocks of 16: with u1 = 1 - (the first 8 uniforms) and u2 = the other 8, the block
    is sqrt(-2 ln u1) cos(2 pi u2) and then sqrt(-2 ln u1) sin(2 pi u2); when the count is no multiple of 16, the
    last 16 values are drawn again. Fewer values, and arrays that are not contiguous, are made one by one from pairs
    of 53-bit uniforms, the second of each pair being kept for the next draw. Complex values have variance std**2.

    Raises RuntimeError for std < 0, NotImplementedError for integers.

    >>> normal(Generator().manual_seed(0), (2,)).tolist()
    [1.5409960746765137, -0.293428897857666]
    """
    count, kind = _spec(target, dtype)
    mean, std = float(mean), float(std)
    if not std >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if kind.name in _COMPLEX:
        pairs, real, finish = _real_view(target, dtype)
        return finish(normal(generator, pairs, mean, std / math.sqrt(2.0), real))
    if count == 0:
        return _deliver(target, np.empty(0, kind))
    _require_float("normal_kernel_cpu", kind)
    contiguous = not isinstance(target, np.ndarray) or target.flags.c_contiguous
    with generator.lock:
        if count < 16 or not contiguous:
            values = _round(_scale(_normal_serial(generator, count), mean, std), kind)
        elif kind == np.float64:
            values = _normal_blocks64(generator, count, mean, std)
        else:
            values = _normal_blocks32(generator, count, mean, std, kind)
    return _deliver(target, values)


def _normal_serial(generator: Generator, count: int) -> np.ndarray:
    """Standard normals (float64) one by one, beginning with the one that was kept."""
    out = np.empty(count)
    have = 0
    if generator.normal is not None:
        out[0], have = generator.normal, 1
        generator.normal = None
    pairs = (count - have + 1) // 2
    if not pairs:
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


def _normal_blocks64(generator: Generator, count: int, mean: float, std: float) -> np.ndarray:
    values = generator.uniform53(count)
    whole = count // 16 * 16
    values[:whole] = _box_muller64(values[:whole], mean, std)
    if whole != count:
        values[-16:] = _box_muller64(generator.uniform53(16), mean, std)
    return values


def _box_muller64(uniforms: np.ndarray, mean: float, std: float) -> np.ndarray:
    blocks = uniforms.reshape(-1, 2, 8)
    radius = np.sqrt(-2.0 * exact(math.log, 1.0 - blocks[:, 0]))
    theta = 2.0 * math.pi * blocks[:, 1]
    out = np.stack((radius * exact(math.cos, theta), radius * exact(math.sin, theta)), 1)
    return _scale(out, mean, std).reshape(-1)


def _scale(values: np.ndarray, mean: float, std: float) -> np.ndarray:
    if mean == 0.0:
        return values if std == 1.0 else values * values.dtype.type(std)
    return fma(values, values.dtype.type(std), values.dtype.type(mean))


def _normal_blocks32(generator: Generator, count: int, mean: float, std: float, kind: np.dtype) -> np.ndarray:
    whole = count // 16 * 16
    out = np.empty(count, kind)
    for start in range(0, whole, _BLOCK):
        part = out[start : min(start + _BLOCK, whole)]
        part[...] = _scale(normal_pairs32(_uniform24(generator, part.size)), mean, std)
    if whole != count:
        if kind == np.float32:  # the remainder is drawn in full before it is overwritten; the short types leave it out
            generator.words(count - whole)
        out[-16:] = _scale(normal_pairs32(_uniform24(generator, 16)), mean, std)
    return out


def _round(values: np.ndarray, kind: np.dtype) -> np.ndarray:
    """float64 values as `kind`; the short types go through float32, as PyTorch's conversions do."""
    if kind.name in ("float16", "bfloat16"):
        values = values.astype(np.float32)
    return values.astype(kind, copy=False)


def normal_like(generator: Generator, mean: Any, std: Any) -> np.ndarray:
    """Normal values with arrays for `mean`, `std` or both, broadcast against each other (`torch.normal`).

    Raises RuntimeError for a complex or negative std.

    >>> normal_like(Generator().manual_seed(0), np.zeros(2, np.float32), 2.0).tolist()
    [3.0819921493530273, -0.586857795715332]
    """
    if isinstance(std, np.ndarray):
        if std.dtype.kind == "c":
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std.size and not std.min() >= 0:
            raise RuntimeError("normal expects all elements of std >= 0.0")
        first = mean if isinstance(mean, np.ndarray) else std
        shape = np.broadcast_shapes(np.shape(mean), std.shape)
        out = normal(generator, shape, 0.0, 1.0, first.dtype)
        out *= std
        out += mean if isinstance(mean, np.ndarray) else first.dtype.type(mean)
        return out
    out = normal(generator, mean.shape, 0.0, std, mean.dtype)
    out += mean
    return out


# --------------------------------------------------------------------------------------------------------- integers


def randint(
    generator: Generator, target: Target, low: int, high: int, dtype: Any = np.int64
) -> np.ndarray:
    """Integers in [low, high), of any dtype: r mod (high - low) + low, with 64-bit draws from a range of 2**28 on.

    Raises RuntimeError when the range is empty or does not fit the dtype.

    >>> randint(Generator().manual_seed(0), (4,), 0, 10).tolist()
    [4, 9, 3, 0]
    """
    count, kind = _spec(target, dtype)
    low, high = int(low), int(high)
    if not low < high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if kind.name in _DIGITS:
        low, high = _inner_from(low, kind), _inner_to(high, kind)
        if not low < high:
            raise RuntimeError(
                f"random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got from={low} "
                f">= to={high}"
            )
    _check_range(low, high - 1, kind)
    return _from_range(generator, target, count, kind, low, high - low)


def random_integers(
    generator: Generator, target: Target, low: int | None = None, high: int | None = None, dtype: Any = np.int64
) -> np.ndarray:
    """What `random_` draws: without bounds [0, the largest value of the dtype], or [0, 2**digits] for floats.

    With `low` alone, up to and including that largest value; with low = -2**63 alone, all 64-bit integers.

    >>> random_integers(Generator().manual_seed(0), (1,), dtype=np.uint8).tolist()
    [84]
    """
    count, kind = _spec(target, dtype)
    if high is not None:
        return randint(generator, target, 0 if low is None else low, high, dtype)
    if low is None:
        return _whole_range(generator, target, count, kind)
    low = int(low)
    if low == -(2**63):
        return _all_64_bits(generator, target, count, kind)
    if kind.name in _DIGITS:
        last = 1 << _DIGITS[kind.name]
        low = _inner_from(low, kind)
        if not low < last:
            raise RuntimeError(
                f"random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but "
                f"got from={low} > to_inc={last}"
            )
    elif kind.name in _C_NAMES:
        last = 1 if kind == np.bool_ else min(int(np.iinfo(kind).max), 2**64 - 1)
        last = last - 2**64 if last >= 2**63 else last
    else:
        raise RuntimeError("random_from_to_impl handles only integral, floating-point and boolean types")
    _check_range(low, last, kind)
    return _from_range(generator, target, count, kind, low, (last - low + 1) % 2**64)


def _from_range(
    generator: Generator, target: Target, count: int, kind: np.dtype, low: int, span: int
) -> np.ndarray:
    if count == 0:
        return _deliver(target, np.empty(0, kind))
    with generator.lock:
        if span >= 1 << 28:
            wide = generator.wide_words(count)
            wide %= np.uint64(span)
            offsets = wide.view(np.int64)
        else:
            words = generator.words(count)
            words %= words.dtype.type(span)
            offsets = words.astype(np.int64, copy=False)
    if low:
        offsets += np.int64(low)  # modulo 2**64, as in C
    return _deliver(target, _from_int64(offsets, kind))


def _from_int64(values: np.ndarray, kind: np.dtype) -> np.ndarray:
    if kind.name in ("float16", "bfloat16"):
        values = values.astype(np.float32)
    if kind == np.bool_:
        return values != 0
    return values.astype(kind, copy=False)


def _whole_range(generator: Generator, target: Target, count: int, kind: np.dtype) -> np.ndarray:
    if count == 0:
        return _deliver(target, np.empty(0, kind))
    if kind.name not in _C_NAMES or kind.name in ("uint16", "uint32", "uint64"):
        raise _refuse("random_kernel_cpu", kind)
    span = (1 << _DIGITS[kind.name]) + 1 if kind.name in _DIGITS else 2
    if kind.kind in "iu":
        span = int(np.iinfo(kind).max) + 1
    with generator.lock:
        if kind.name in ("float64", "int64"):
            values = (generator.wide_words(count) % np.uint64(span)).view(np.int64)
        else:
            values = (generator.words(count).astype(np.uint64, copy=False) % np.uint64(span)).view(np.int64)
    return _deliver(target, _from_int64(values, kind))


def _all_64_bits(generator: Generator, target: Target, count: int, kind: np.dtype) -> np.ndarray:
    if count == 0:
        return _deliver(target, np.empty(0, kind))
    if kind.name not in ("int64", "float64", "float32", "bfloat16"):
        if kind.name in _C_NAMES and kind.name not in ("float16", "bool", "uint16", "uint32", "uint64"):
            raise RuntimeError("random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16")
        raise _refuse("random_full_64_bits_range_kernel_cpu", kind)
    with generator.lock:
        values = generator.wide_words(count).view(np.int64)
    return _deliver(target, _from_int64(values, kind))


def _as_float(value: int, kind: np.dtype) -> float:
    real = np.float64(value) if kind == np.float64 else np.float32(value)
    return float(real.astype(kind))


def _inner_from(low: int, kind: np.dtype) -> int:
    """The smallest integer from `low` on that stays there in a float dtype."""
    after = int(_finite(_as_float(low + 1, kind)))
    if after < low:
        return after + (1 << (abs(low + 1).bit_length() - 1 - _DIGITS[kind.name] + 1))
    return low


def _inner_to(high: int, kind: np.dtype) -> int:
    """The largest open end up to `high` that stays there in a float dtype."""
    before = int(_finite(_as_float(high - 1, kind)))
    if before >= high:
        return before - (1 << (abs(high - 1).bit_length() - 1 - _DIGITS[kind.name] + 1))
    return high


def _finite(value: float) -> float:
    return value if math.isfinite(value) else -(2.0**63)  # what C makes of an infinite float as an integer


def _check_range(low: int, last: int, kind: np.dtype) -> None:
    name = kind.name
    if name not in _C_NAMES:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if name in _DIGITS:
        least, most = -_LARGEST[name], _LARGEST[name]
    elif name == "bool":
        least, most = 0, 1
    elif name == "uint64":
        least, most = 0, 2**63 - 1
    else:
        least, most = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    for what, value in (("from", low), ("to - 1", last)):
        if not least <= value <= most:
            raise RuntimeError(f"{what} is out of bounds for {_C_NAMES[name]}")


def randperm(generator: Generator, count: int, dtype: Any = np.int64) -> np.ndarray:
    """A permutation of 0 .. count-1 by Fisher and Yates: entry i is swapped with entry i + r mod (count - i).

    Raises RuntimeError for a negative count, or a dtype that cannot hold it.

    >>> randperm(Generator().manual_seed(0), 4).tolist()
    [2, 0, 1, 3]
    """
    kind = np.dtype(dtype)
    if count < 0:
        raise RuntimeError(f"n must be non-negative, got{count}")
    with generator.lock:
        if count < 2:
            return np.arange(count).astype(kind)
        left = np.arange(count, 1, -1)
        if count < _PERM_WIDE:
            steps = generator.words(count - 1) % left.astype(np.uint32)
        else:
            steps = generator.wide_words(count - 1) % left.astype(np.uint64)
    order = list(range(count))
    for place, step in enumerate(steps.tolist()):
        other = place + step
        order[place], order[other] = order[other], order[place]
    return np.array(order, np.int64).astype(kind)
