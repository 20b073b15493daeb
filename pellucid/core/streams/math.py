"""Arithmetic for the fills: fused multiply-adds, the C library's functions, and the transform to
blocks of 16 normals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays.native import native_code_runs
from ...llvm import threads
from .generator import serial

EXACT_LIMIT = 1 << 14
_VECTOR: dict[str, Any] = {
    "log": np.log,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "exp": np.exp,
    "tan": np.tan,
}
_TWO_PI = np.float32(2.0 * np.pi)


def exact(function: Callable[[float], float], values: np.ndarray) -> np.ndarray:
    """Apply the C library's `function` to each float64, for equality with PyTorch's loops bit for
    bit.

    From 16,384 values on, NumPy's vector loops are used instead. They are many times faster and
    differ in at most a few last digits.
    """
    if values.size >= EXACT_LIMIT:
        vector: np.ndarray = _VECTOR[function.__name__](values)
        return vector
    run = serial(f"each_{function.__name__}", values.size)
    if run is not None:
        out = np.empty(values.shape)
        run(np.ascontiguousarray(values), out, values.size)
        return out
    flat = values.ravel().tolist()
    return np.fromiter(map(function, flat), np.float64, len(flat)).reshape(values.shape)


def fma(values: np.ndarray, factor: Any, addend: Any) -> np.ndarray:
    """`values * factor + addend`, rounded once."""
    if factor == 1 or addend == 0:  # one of the two steps is exact
        return values * factor + addend
    if values.dtype == np.float32:
        # The product is exact in float64; only the sum is rounded before the final rounding to
        # float32.
        total = values.astype(np.float64)
        total *= np.float64(factor)
        product = total.copy()
        total += np.float64(addend)
        return _round_sum(product, float(addend), total)
    # Boldo and Melquiond (2008): the small parts are added with rounding to odd, so that rounding
    # twice does no harm.
    high, low = _two_product(values, np.float64(factor))
    middle, rest = _two_sum(low, addend)
    total, carry = _two_sum(high, middle)
    small, lost = _two_sum(rest, carry)
    even = (small.view(np.int64) & 1) == 0
    inexact = lost != 0
    if (even & inexact).any():
        small = np.where(
            even & inexact, np.nextafter(small, np.where(lost > 0, np.inf, -np.inf)), small
        )
    total += small
    return total


def _two_sum(a: np.ndarray, b: Any) -> tuple[np.ndarray, np.ndarray]:
    """a + b and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _round_sum(product: np.ndarray, addend: float, total: np.ndarray) -> np.ndarray:
    """Round float64 sums to float32. Sums that lie half-way between two float32 only because they
    were rounded are corrected first.
    """
    half = (total.view(np.uint64) & np.uint64(0x1FFFFFFF)) == np.uint64(0x10000000)
    if half.any():
        where = np.flatnonzero(half)
        part = total[where] - product[where]
        error = (product[where] - (total[where] - part)) + (addend - part)
        total[where] = np.where(
            error == 0,
            total[where],
            np.nextafter(total[where], np.where(error > 0, np.inf, -np.inf)),
        )
    return total.astype(np.float32)


def _two_product(a: np.ndarray, b: np.float64) -> tuple[np.ndarray, np.ndarray]:
    """a * b and its rounding error (Dekker, 1971)."""
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _split(a: Any) -> tuple[Any, Any]:
    scaled = a * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - a)
    return high, a - high


def normal_blocks32(
    words: np.ndarray, mean: float, std: float, compile_kernel: bool, out: Any = None
) -> np.ndarray:
    """Transform 32-bit words in blocks of 16 (8 radii, 8 angles) to blocks of 16 float32 normals (8
    cosines, 8 sines).

    The native kernel and NumPy give the same numbers. `compile_kernel` says whether the draw is
    large enough to load the compiler; `out` is where the kernel may write.
    """
    words = words.astype(np.uint32, copy=False)
    transform = kernel("transform", compile_kernel)
    if transform:
        if out is None:
            out = np.empty(words.size, np.float32)
        blocks = words.size // 16
        shared = kernel("transform_shared", True) if blocks > _SHARED else None
        if shared:
            shared(threads.team(), words, out, mean, std, blocks, _SHARED)
        else:
            transform(words, out, blocks, mean, std)
        return out
    words &= np.uint32((1 << 24) - 1)
    uniforms = words.view(np.int32).astype(np.float32)
    uniforms *= np.float32(2.0**-24)
    halves = uniforms.reshape(-1, 2, 8)
    radius = _log32(np.float32(1.0) - halves[:, 0])
    radius *= np.float32(-2.0)
    np.sqrt(radius, out=radius)
    sines, cosines = _sincos32(halves[:, 1] * _TWO_PI)
    out = np.stack((radius * cosines, radius * sines), 1).reshape(-1)
    return scale(out, mean, std)


_SHARED = 2048  # blocks in one thread's chunk


def scale(values: np.ndarray, mean: float, std: float) -> np.ndarray:
    """`values * std + mean`, rounded once."""
    real = values.dtype.type
    if mean == 0.0:
        return values if std == 1.0 else values * real(std)
    return fma(values, real(std), real(mean))


_library: Any = None
# the number of small draws (0.2 ms each) after which loading the compiler (about 0.15 s) pays off,
# counted down
_waiting = [400]


def kernel(name: str, load: bool) -> Any:
    """A function of `kernels.random.normal`. None without a compiler, or if neither a large draw
    (`load`) nor many small ones have made loading it worthwhile.
    """
    global _library
    if _library is None:
        _waiting[0] -= 1
        if not load and _waiting[0] >= 0 and not native_code_runs():
            return None
        from ...kernels.random import normal as random_kernels

        _library = random_kernels.library
    return getattr(_library, name)


# PyTorch's vector loops evaluate the single-precision polynomials of Moshier's Cephes library
# (logf, sinf, cosf) with fused multiply-adds; such a step is the float64 sum rounded to float32,
# but for one case in 2**29.

_LOG = [7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1]
_LOG += [-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1]
_SINE = [-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1]
_COSINE = [2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2]
# pi / 4 in three parts
_QUARTER_PI = [-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8]
_LN2 = [-2.12194440e-4, 0.693359375]  # ln 2 in two parts


def _wide(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float64)


def _horner(coefficients: list[float], at: np.ndarray) -> Any:
    """The polynomial in float32 with fused steps; `at` and the result are float64 holding float32
    values.
    """
    value: Any = np.float64(np.float32(coefficients[0]))
    for coefficient in coefficients[1:]:
        value = _wide((value * at + np.float64(np.float32(coefficient))).astype(np.float32))
    return value


def _log32(values: np.ndarray) -> np.ndarray:
    fraction, exponent = np.frexp(values)
    small = fraction < np.float32(0.707106781186547524)
    exponent = (exponent - small).astype(np.float64)
    fraction = np.where(small, fraction + (fraction - np.float32(1.0)), fraction - np.float32(1.0))
    square = fraction * fraction
    at = _wide(fraction)
    cubic = _horner(_LOG, at).astype(np.float32) * fraction
    low = (exponent * np.float64(np.float32(_LN2[0]))).astype(np.float32)
    value = (_wide(cubic) * _wide(square) + low).astype(np.float32)
    value -= square * np.float32(0.5)
    value += fraction
    total: np.ndarray = (exponent * _LN2[1] + value).astype(np.float32)
    return total


def _sincos32(angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sine and cosine of float32 angles that are not negative."""
    octant = (angles * np.float32(1.27323954473516)).astype(np.int32)
    octant = (octant + 1) & ~1
    turns, rest = octant.astype(np.float64), angles
    for part in _QUARTER_PI:
        rest = (turns * np.float64(np.float32(part)) + rest).astype(np.float32)
    square = rest * rest
    at = _wide(square)
    cosine = _horner(_COSINE, at).astype(np.float32) * square
    cosine = (_wide(cosine) * at - 0.5 * at).astype(np.float32) + np.float32(1.0)
    sine = _horner(_SINE, at).astype(np.float32) * square
    sine = (_wide(sine) * _wide(rest) + rest).astype(np.float32)
    swap = (octant & 2) != 0
    sines, cosines = np.where(swap, cosine, sine), np.where(swap, sine, cosine)
    np.negative(sines, out=sines, where=(octant & 4) != 0)
    np.negative(cosines, out=cosines, where=((octant + 2) & 4) != 0)
    return sines, cosines
