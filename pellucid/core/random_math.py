"""The arithmetic under the fills: fused multiply-adds, the C library's functions, the 16-value normal transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_EXACT_LIMIT = 1 << 14
_VECTOR: dict[str, Any] = {"log": np.log, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "exp": np.exp, "tan": np.tan}
_TWO_PI = np.float32(2.0 * np.pi)


def exact(function: Callable[[float], float], values: np.ndarray) -> np.ndarray:
    """`function` of the C library for each float64, for equality to the bit with PyTorch's loops.

    From 16,384 values on NumPy's vector loops take over, which are many times faster and differ by at most a few
    last places.
    """
    if values.size >= _EXACT_LIMIT:
        return _VECTOR[function.__name__](values)
    flat = values.ravel().tolist()
    return np.fromiter(map(function, flat), np.float64, len(flat)).reshape(values.shape)


def fma(values: np.ndarray, factor: Any, addend: Any) -> np.ndarray:
    """`values * factor + addend`, rounded once."""
    if values.dtype == np.float32:
        # The product is exact in float64; only the sum is rounded before the final rounding to float32.
        total = values.astype(np.float64)
        total *= np.float64(factor)
        product = total.copy()
        total += np.float64(addend)
        return _round_sum(product, float(addend), total)
    product, error = _two_product(values, np.float64(factor))
    total = product + addend
    part = total - product
    error += (product - (total - part)) + (addend - part)
    total += error
    return total


def _round_sum(product: np.ndarray, addend: float, total: np.ndarray) -> np.ndarray:
    """float64 sums to float32, minding those that fall half-way between two float32 only because they were rounded."""
    half = (total.view(np.uint64) & np.uint64(0x1FFFFFFF)) == np.uint64(0x10000000)
    if half.any():
        where = np.flatnonzero(half)
        part = total[where] - product[where]
        error = (product[where] - (total[where] - part)) + (addend - part)
        total[where] = np.where(error == 0, total[where], np.nextafter(total[where], np.where(error > 0, np.inf, -np.inf)))
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


def normal_pairs32(uniforms: np.ndarray) -> np.ndarray:
    """float32 uniforms in blocks of 16 (8 radii, 8 angles) into blocks of 16 normals (8 cosines, 8 sines).

    Overwrites its argument.
    """
    halves = uniforms.view("V32").reshape(-1, 2)  # 8 floats at a time: NumPy's inner loop must not be 8 long
    apart = np.empty((2, len(halves)), "V32")
    apart[...] = halves.T
    first, second = apart.view(np.float32)
    radius, theta = first, second
    np.subtract(np.float32(1.0), radius, out=radius)
    np.log(radius, out=radius)
    radius *= np.float32(-2.0)
    np.sqrt(radius, out=radius)
    theta *= _TWO_PI
    sines = np.sin(theta)
    np.cos(theta, out=theta)
    theta *= radius
    sines *= radius
    halves[:, 0] = theta.view("V32")
    halves[:, 1] = sines.view("V32")
    return uniforms
