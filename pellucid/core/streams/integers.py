"""Random integers: ranges of any dtype, `random_`, permutations."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...dtypes import name_of
from ...errors import warn
from ..tracing import repeatable
from .fill import C_NAMES, DIGITS, LARGEST, NAMES, Target, deliver, refuse, spec
from .generator import Generator
from .math import kernel

_INT64 = np.dtype(np.int64)
_PERM_NATIVE = 1 << 17  # from here on, it pays to load the compiler for the swaps
_PERM_WIDE = (2**32 - 1) // 20  # from here on, 32 bits would favor small offsets


@repeatable
def randint(
    generator: Generator, target: Target, low: int, high: int, dtype: Any = np.int64
) -> np.ndarray:
    """Integers in [low, high), of any dtype: r mod (high - low) + low, with 64-bit draws from a
    range of 2**28 on.

    Raises RuntimeError when the range is empty or does not fit the dtype.

    >>> randint(Generator().manual_seed(0), (4,), 0, 10).tolist()
    [4, 9, 3, 0]
    """
    count, kind = spec(target, dtype)
    low, high = int(low), int(high)
    if kind is _INT64 and -(2**63) <= low < high <= 2**63:
        if type(target) is tuple and high - low < 1 << 28:
            with generator.lock:
                made = generator.native("integers", count, kind, low, high - low, shape=target)
            if made is not None:
                return made
        return _from_range(generator, target, count, kind, low, high - low)
    if not low < high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    digits = DIGITS.get(name_of(kind))
    if digits is not None and -(1 << digits) < low and high < 1 << digits:
        return _from_range(generator, target, count, kind, low, high - low)
    if digits is not None:
        low, high = _inner_from(low, kind), _inner_to(high, kind)
        if not low < high:
            raise RuntimeError(
                f"random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got from={low} >= to={high}"
            )
    _check_range(low, high - 1, kind)
    return _from_range(generator, target, count, kind, low, high - low)


@repeatable
def random_integers(
    generator: Generator,
    target: Target,
    low: int | None = None,
    high: int | None = None,
    dtype: Any = np.int64,
) -> np.ndarray:
    """What `random_` draws: without bounds [0, the largest value of the dtype], or [0, 2**digits]
    for floats.

    With `low` alone, up to and including that largest value; with low = -2**63 alone, all 64-bit
    integers.

    >>> random_integers(Generator().manual_seed(0), (1,), dtype=np.uint8).tolist()
    [172]
    """
    count, kind = spec(target, dtype)
    if high is not None:
        return randint(generator, target, 0 if low is None else low, high, dtype)
    if low is None:
        return _whole_range(generator, target, count, kind)
    low = int(low)
    if low == -(2**63):
        return _all_64_bits(generator, target, count, kind)
    if name_of(kind) in DIGITS:
        last = 1 << DIGITS[name_of(kind)]
        low = _inner_from(low, kind)
        if not low < last:
            raise RuntimeError(
                f"random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but "
                f"got from={low} > to_inc={last}"
            )
    elif name_of(kind) in C_NAMES:
        last = 1 if kind == np.bool_ else min(int(np.iinfo(kind).max), 2**64 - 1)
        last = last - 2**64 if last >= 2**63 else last
    else:
        raise RuntimeError(
            "random_from_to_impl handles only integral, floating-point and boolean types"
        )
    _check_range(low, last, kind)
    return _from_range(generator, target, count, kind, low, (last - low + 1) % 2**64)


def _from_range(
    generator: Generator, target: Target, count: int, kind: np.dtype, low: int, span: int
) -> np.ndarray:
    if count == 0:
        return deliver(target, np.empty(0, kind))
    if span < 1 << 28 and -(2**63) <= low < 2**63:
        with generator.lock:
            made = generator.native("integers", count, _INT64, low, span)
        if made is not None:
            return deliver(target, _from_int64(made, kind))
    with generator.lock:
        if span >= 1 << 28:
            wide = generator.wide_words(count)
            wide %= np.uint64(span)
            offsets = wide.view(np.int64)
        else:
            words = generator.words(count)
            # an array without dimensions is twice as fast as a scalar here
            np.remainder(words, np.array(span, words.dtype), words)
            offsets = words.view(_INT64) if words.itemsize == 8 else words.astype(_INT64)
    if low:
        offsets += np.int64(low)  # modulo 2**64, as in C
    return deliver(target, _from_int64(offsets, kind))


def _from_int64(values: np.ndarray, kind: np.dtype) -> np.ndarray:
    if kind is _INT64:
        return values
    if name_of(kind) in ("float16", "bfloat16"):
        values = values.astype(np.float32)
    if kind == np.bool_:
        return np.not_equal(values, 0)
    return values.astype(kind, copy=False)


def _whole_range(generator: Generator, target: Target, count: int, kind: np.dtype) -> np.ndarray:
    if count == 0:
        return deliver(target, np.empty(0, kind))
    if name_of(kind) not in C_NAMES or name_of(kind) in ("uint16", "uint32", "uint64"):
        raise refuse("random_kernel_cpu", kind)
    span = (1 << DIGITS[name_of(kind)]) + 1 if name_of(kind) in DIGITS else 2
    if kind.kind in "iu":
        span = int(np.iinfo(kind).max) + 1
    with generator.lock:
        if name_of(kind) in ("float64", "int64"):
            values = (generator.wide_words(count) % np.uint64(span)).view(np.int64)
        else:
            values = (generator.words(count).astype(np.uint64, copy=False) % np.uint64(span)).view(
                np.int64
            )
    return deliver(target, _from_int64(values, kind))


def _all_64_bits(generator: Generator, target: Target, count: int, kind: np.dtype) -> np.ndarray:
    if count == 0:
        return deliver(target, np.empty(0, kind))
    if name_of(kind) not in ("int64", "float64", "float32", "bfloat16"):
        if name_of(kind) in C_NAMES and name_of(kind) not in (
            "float16",
            "bool",
            "uint16",
            "uint32",
            "uint64",
        ):
            raise RuntimeError(
                "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16"
            )
        raise refuse("random_full_64_bits_range_kernel_cpu", kind)
    with generator.lock:
        values = generator.wide_words(count).view(np.int64)
    return deliver(target, _from_int64(values, kind))


def _as_float(value: int, kind: np.dtype) -> float:
    real = np.float64(value) if kind == np.float64 else np.float32(value)
    return float(real.astype(kind))


def _inner_from(low: int, kind: np.dtype) -> int:
    """The smallest integer from `low` on that remains >= `low` when converted to a float dtype."""
    after = int(_finite(_as_float(low + 1, kind)))
    if after < low:
        return after + (1 << (abs(low + 1).bit_length() - 1 - DIGITS[name_of(kind)] + 1))
    return low


def _inner_to(high: int, kind: np.dtype) -> int:
    """The largest exclusive bound up to `high` such that smaller values remain below it when
    converted to a float dtype.
    """
    before = int(_finite(_as_float(high - 1, kind)))
    if before >= high:
        return before - (1 << (abs(high - 1).bit_length() - 1 - DIGITS[name_of(kind)] + 1))
    return high


def _finite(value: float) -> float:
    # the result of C's conversion of an infinite float to an integer
    return value if math.isfinite(value) else -(2.0**63)


@functools.cache
def _limits(kind: np.dtype) -> tuple[int, int]:
    """The smallest and largest integer of a dtype, cached because `np.iinfo` takes microseconds."""
    info = np.iinfo(kind)
    return int(info.min), int(info.max)


def _check_range(low: int, last: int, kind: np.dtype) -> None:
    name = name_of(kind)
    if name not in C_NAMES:
        raise RuntimeError(
            "check_random_bounds handles only integral, floating-point and boolean types"
        )
    if name in DIGITS:
        least, most = -LARGEST[name], LARGEST[name]
    elif name == "bool":
        least, most = 0, 1
    elif name == "uint64":
        least, most = 0, 2**63 - 1
    else:
        least, most = _limits(kind)
    for what, value in (("from", low), ("to - 1", last)):
        if not least <= value <= most:
            raise RuntimeError(f"{what} is out of bounds for {C_NAMES[name]}")
        if name in DIGITS and abs(value) > 1 << DIGITS[name]:
            warn(
                f"{what} is out of bounds [-(2^{DIGITS[name]}), 2^{DIGITS[name]}]. Due to precision limitations "
                f"{C_NAMES[name]} can support discrete uniform distribution only within this range.",
            )


@repeatable
def randperm(generator: Generator, count: int, dtype: Any = np.int64) -> np.ndarray:
    """A permutation of 0 .. count-1 by Fisher and Yates: entry i is swapped with entry i + r mod
    (count - i).

    Raises RuntimeError for a negative count, or a dtype that cannot hold it.

    >>> randperm(Generator().manual_seed(0), 4).tolist()
    [0, 1, 3, 2]
    """
    kind = np.dtype(dtype)
    if count < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {count}: [{count}]")
    if kind is not _INT64:
        _check_perm(count, kind)
    with generator.lock:
        if count < 2:
            return np.arange(count).astype(kind)
        permute = kernel("permute", count >= _PERM_NATIVE) if count < _PERM_WIDE else None
        if permute:
            words, shuffled = (
                generator.words(count - 1).astype(np.uint32, copy=False),
                np.empty(count, np.int64),
            )
            permute(words, shuffled, count)
            return shuffled.astype(kind, copy=False)
        left = np.arange(count, 1, -1)
        if count < _PERM_WIDE:
            steps = generator.words(count - 1) % left.astype(np.uint32)
        else:
            steps = generator.wide_words(count - 1) % left.astype(np.uint64)
    shuffle = kernel("shuffle", count >= _PERM_NATIVE)
    if shuffle:
        shuffled = np.arange(count)
        shuffle(steps.astype(np.int64), shuffled, count)
        return shuffled.astype(kind, copy=False)
    order = list(range(count))
    for place, step in enumerate(steps.tolist()):
        other = place + step
        order[place], order[other] = order[other], order[place]
    return np.array(order, np.int64).astype(kind, copy=False)


def _check_perm(count: int, kind: np.dtype) -> None:
    name = name_of(kind)
    if kind.kind in "iu" and count - 1 > np.iinfo(kind).max:
        raise RuntimeError(f"value cannot be converted to type {name}_t without overflow")
    if name in DIGITS and name != "bfloat16" and count > (1 << DIGITS[name]) + 1:
        limit = "2049" if name == "float16" else f"2^{DIGITS[name]}+1"
        raise RuntimeError(f"n cannot be greater than {limit} for {NAMES[name]} type.")
    if name not in DIGITS and name not in ("uint8", "int8", "int16", "int32", "int64"):
        raise refuse("randperm", kind)
