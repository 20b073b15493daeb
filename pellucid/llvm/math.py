"""Elementary functions of float32 vectors as LLVM IR, accurate to 2 ulp over the whole range
(except `gelu` and its derivative).

Each takes a builder and a value of type float or vector of float, and returns a value of the same
type. NaN gives NaN; infinities and signed zeros give what IEEE 754-2019 section 9.2.1 says;
denormals are neither flushed nor approximated. The method is Cody and Waite's argument reduction
with minimax polynomials of the relative error (found by Lawson's iteration in double precision,
with coefficients rounded to float one after the other). `tests/llvm/test_math.py` measures the
errors.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from . import target
from .emit import Function, SSAValue, lanes, vector

__all__ = [
    "FUNCTIONS",
    "arctan2",
    "erf",
    "exp",
    "expm1",
    "gelu",
    "gelu_slope",
    "log",
    "log1p",
    "sigmoid",
    "tanh",
]

_LOG2_E = 1.4426950408889634
# ln 2 = high + low, high with 15 bits so that n * high is exact for every exponent n.
_LN2_HIGH = 0.693145751953125
_LN2_LOW = math.log(2) - _LN2_HIGH
# (e^r - 1 - r) / r^2 on |r| <= ln(2) / 2.
_EXP = [
    0.00138210563454777,
    0.008368674665689468,
    0.04166826233267784,
    0.1666652113199234,
    0.4999999403953552,
]
# (log(1 + r) - r + r^2 / 2) / r^3 on sqrt(1/2) - 1 <= r <= sqrt(2) - 1.
_LOG = [
    *(
        0.06749269366264343,
        -0.11670098453760147,
        0.11883548647165298,
        -0.12406233698129654,
        0.14220358431339264,
    ),
    *(-0.16667988896369934, 0.2000207155942917, -0.25000008940696716, 0.3333331346511841),
]
# (tanh(r) / r - 1) / r^2 in z = r^2 on r <= 0.625.
_TANH = [
    -0.0056922961957752705,
    0.02062816731631756,
    -0.05373651534318924,
    0.13331405818462372,
    -0.3333328068256378,
]
# erf(r) / r - 1 in z = r^2 on r <= 0.93, and -log(erfc(r)) / r on 0.92 <= r <= 4.
_ERF_SMALL = [
    *(7.996649947017431e-05, -0.0008049769676290452, 0.005192405078560114, -0.02685573138296604),
    *(0.11283625662326813, -0.3761262893676758, 0.12837916612625122),
]
_ERF_LARGE = [
    *(4.940953203913523e-06, -4.561118839774281e-05, -4.94516862090677e-05, 0.0029298339504748583),
    *(-0.02267369255423546, 0.10526234656572342, 0.635625422000885, 1.128551721572876),
]
# (arctan(r) / r - 1) / r^2 in z = r^2 on r <= 1.
_ARCTAN = [
    *(-0.0017821441870182753, 0.010866271331906319, -0.0310935340821743, 0.05787887051701546),
    *(-0.08399207890033722, 0.10950861126184464, -0.1426401436328888, 0.1999852955341339),
    -0.33333298563957214,
]


def _integers(x: SSAValue) -> str:
    return vector("i32", lanes(x.ctype))


def _power_of_two(f: Function, n: SSAValue) -> SSAValue:
    """Return 2^n for -126 <= n <= 127."""
    return f.bitcast((n + 127) << 23, vector("float", lanes(n.ctype)))


def _avx512(x: SSAValue) -> bool:
    return (
        x.ctype == "<16 x float>"
        and target.host().arch == "x86"
        and target.host().vector_bits == 512
    )


def _scale(f: Function, p: SSAValue, n: SSAValue, x: SSAValue) -> SSAValue:
    """Return p * 2^n for a whole number n with |n| <= 151, with correct denormals and infinities.
    The result is arbitrary where x is NaN.
    """
    if _avx512(p):
        unmasked = (f.const(0, p.ctype), f.const(-1, "i16"), f.const(4, "i32"))
        return f.intrinsic("x86.avx512.mask.scalef.ps", p.ctype, p, n, *unmasked, overload="512")
    n = _whole(f, n, x)
    half = n >> 1  # 2^n itself may not be a float although p * 2^n is one
    return p * _power_of_two(f, half) * _power_of_two(f, n - half)


def _reciprocal(f: Function, b: SSAValue) -> SSAValue:
    """Return 1 / b within 1 ulp, for normal b with a normal reciprocal. It takes 3 cycles, a
    division 16.
    """
    unmasked = (f.const(0, b.ctype), f.const(-1, "i16"))
    rough = f.intrinsic("x86.avx512.rcp14.ps", b.ctype, b, *unmasked, overload="512")  # 14 bits
    return f.fma(rough, f.fma(-b, rough, 1.0), rough)


def _reduce(f: Function, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return a whole number n and r with x = n ln 2 + r and |r| <= ln(2) / 2."""
    n = f.rint(x * _LOG2_E)
    r = f.fma(n, -_LN2_HIGH, x)
    return n, f.fma(n, -_LN2_LOW, r)


def exp(f: Function, x: SSAValue) -> SSAValue:
    """Return e^x over the full range, including denormal results."""
    # The result is infinite from 89 on and 0 below -104; NaN passes through both comparisons
    # (`smaller` returns its second operand). Zeros are selected, not computed: a multiplication
    # that underflows takes a hundred cycles, and masked softmaxes are full of them.
    none = x.compare("olt", -104.0)
    bounded = f.select(none, 0.0, f.smaller(f.const(89.0, x.ctype), x))
    n, r = _reduce(f, bounded)
    p = f.fma(r * r, f.polynomial(r, _EXP), r) + 1.0
    return f.select(none, 0.0, _scale(f, p, n, x))


def _whole(f: Function, n: SSAValue, x: SSAValue) -> SSAValue:
    """Return `n` as integers, 0 where x is NaN (converting NaN to an integer is undefined)."""
    safe = f.select(x.compare("ord", x), n, f.const(0, x.ctype))
    return f.to_int(safe, _integers(x))


def expm1(f: Function, x: SSAValue) -> SSAValue:
    """Return e^x - 1, without cancellation near 0."""
    bounded = f.larger(f.const(-20.0, x.ctype), f.smaller(f.const(89.0, x.ctype), x))
    n, r = _reduce(f, bounded)
    small = f.fma(r * r, f.polynomial(r, _EXP), r)
    # Compute 2^n (small + 1) - 1 as 2 (t small + (t - 1/2)) with t = 2^(n - 1), which is still a
    # float for n = 128.
    t = _power_of_two(f, _whole(f, n, x) - 1)
    result = 2.0 * f.fma(t, small, t - 0.5)
    # For n = 0 nothing cancels, and the halving above would lose bits of denormals. -0 stays -0.
    result = f.select(n.compare("oeq", 0.0), small, result)
    return f.select(x.compare("oeq", 0.0), x, result)


def log(f: Function, x: SSAValue) -> SSAValue:
    """Return the natural logarithm: -inf at 0, NaN below."""
    tiny = x.compare("olt", 1.17549435e-38)
    scaled = f.select(tiny, x * 8388608.0, x)
    bits = f.bitcast(scaled, _integers(x))
    # Split x into exponent and mantissa with 1/sqrt(2) <= m < sqrt(2): the offset moves the
    # boundary between exponents to sqrt(1/2).
    offset = 0x3F3504F3
    moved = bits - offset
    e = moved >> 23
    m = f.bitcast((moved & 0x007FFFFF) + offset, x.ctype)
    n = f.to_float(e, x.ctype) + f.select(tiny, f.const(-23.0, x.ctype), 0.0)
    r = m - 1.0
    z = r * r
    tail = f.fma(r * z, f.polynomial(r, _LOG), n * _LN2_LOW)
    tail = f.fma(z, -0.5, tail)
    result = f.fma(n, _LN2_HIGH, r + tail)
    result = f.select(x.compare("oeq", math.inf), x, result)
    result = f.select(x.compare("oeq", 0.0), f.const(-math.inf, x.ctype), result)
    return f.select(
        x.compare("ult", 0.0), f.select(x.compare("uno", x), x, f.const(math.nan, x.ctype)), result
    )


def log1p(f: Function, x: SSAValue) -> SSAValue:
    """Return log(1 + x) without cancellation near 0: what rounding 1 + x has lost is added to first
    order.
    """
    u = 1.0 + x
    lost = f.select(x.compare("olt", 1.0), x - (u - 1.0), 1.0 - (u - x))
    result = log(f, u) + lost / u
    plain = f.fabs(x).compare("olt", 5.9604645e-08) | x.compare("oeq", math.inf)  # 2^-24; keeps -0
    result = f.select(plain, x, result)
    return f.select(x.compare("oeq", -1.0), f.const(-math.inf, x.ctype), result)


def _by_table(
    f: Function, x: SSAValue, function, scale: float, degree: int, near: SSAValue
) -> SSAValue:
    """Return an odd function that rounds to 1 from 31.5 / scale on, by one of 32 polynomials; below
    0.5 / scale the result is `near`.
    """
    a = f.fabs(x)
    p = _picked(f, a, function, scale, degree)
    far = f.copysign(f.select(a.compare("oge", 31.375 / scale), 1.0, p), x)
    return f.select(a.compare("olt", 0.5 / scale), near, far)


def _picked(f: Function, a: SSAValue, function, scale: float, degree: int) -> SSAValue:
    """Evaluate a function of a >= 0 up to 31.5 / scale by one of 32 polynomials.

    Interval i reaches half a step to both sides of i / scale. For each power, two registers hold
    the 32 coefficients, and one instruction selects each lane's own.
    """
    x = a
    # 1.5 * 2^23: adding it rounds to a whole number, which is then in the lowest bits
    magic = 12582912.0
    shifted = f.fma(a, scale, magic)
    t = f.fma(a, scale, -(shifted - magic))
    index = f.bitcast(shifted, _integers(x))  # only its lowest five bits count

    def pick(values: np.ndarray) -> SSAValue:
        low, high = (f.vector_const(part, "float") for part in (values[:16], values[16:]))
        return f.intrinsic("x86.avx512.vpermi2var.ps", x.ctype, low, index, high, overload="512")

    tables = _coefficients(function, scale, degree)
    p = pick(tables[-1])
    for power in tables[-2::-1]:
        p = f.fma(p, t, pick(power))
    return p


@functools.cache
def _coefficients(function, scale: float, degree: int) -> np.ndarray:
    """Return an array with one row per power, which holds the coefficients of 32 intervals. Each
    polynomial interpolates the function at Chebyshev points.
    """
    t = 0.5 * np.cos(np.pi * (2 * np.arange(degree + 1) + 1) / (2 * degree + 2))
    x = (np.arange(32)[:, None] + t) / scale
    values = np.array([[function(v) for v in row] for row in x.tolist()])
    return np.linalg.solve(np.vander(t, increasing=True), values.T)


def tanh(f: Function, x: SSAValue) -> SSAValue:
    """Return the hyperbolic tangent: a polynomial up to 0.625, then 1 - 2 / (e^2|x| + 1)."""
    a = f.fabs(x)
    z = x * x
    if _avx512(x):
        # the lowest powers suffice up to 0.15
        near = f.fma(z * x, f.polynomial(z, _TANH[-3:]), x)
        return f.copysign(_by_table(f, x, math.tanh, 3.4375, 6, near), x)
    small = f.fma(z * x, f.polynomial(z, _TANH), x)
    # From 10 on the result rounds to 1; the bound keeps e^2a from overflowing.
    e = exp(f, 2.0 * f.smaller(f.const(10.0, x.ctype), a))
    large = 1.0 - 2.0 / (e + 1.0)
    return f.copysign(f.select(a.compare("olt", 0.625), small, large), x)


def erf(f: Function, x: SSAValue) -> SSAValue:
    """Return the error function: a polynomial up to 0.93, then 1 - e^(-|x| q(|x|))."""
    a = f.fabs(x)
    z = x * x
    if _avx512(x):
        near = f.fma(x, f.polynomial(z, _ERF_SMALL[-4:]), x)  # up to 1/16
        return _by_table(f, x, math.erf, 8.0, 5, near)
    small = f.fma(x, f.polynomial(z, _ERF_SMALL), x)
    t = f.smaller(f.const(4.0, x.ctype), a)  # erf rounds to 1 from 3.92 on
    large = 1.0 - exp(f, -(t * f.polynomial(t, _ERF_LARGE)))
    return f.select(a.compare("olt", 0.925), small, f.copysign(large, x))


def sigmoid(f: Function, x: SSAValue) -> SSAValue:
    """Return 1 / (1 + e^-x), from e = e^-|x|, which cannot overflow: e / (1 + e) below zero and 1 /
    (1 + e) above. Above zero the sum is used as rounded, so that the result becomes 1 where
    PyTorch's does.
    """
    e = exp(f, -f.fabs(x))
    below = x.compare("olt", 0.0)
    top = f.select(below, e, f.const(1.0, x.ctype))
    d = 1.0 + e
    lost = f.select(below, e - (d - 1.0), 0.0)  # the rounding error of the sum
    if _avx512(x):
        r = _reciprocal(f, d)
        q = top * r
        return f.fma(f.fma(-q, lost, f.fma(-q, d, top)), r, q)
    q = top / d
    return f.fma(q * -lost, 1.0 - q, q)  # to first order; 1 / d is 1 - q below zero


def arctan2(f: Function, y: SSAValue, x: SSAValue) -> SSAValue:
    """Return the angle of the point (x, y), from -pi to pi; the signs of zeros and infinities
    count.

    It is the arctangent of the smaller coordinate over the larger one, moved to the octant of the
    point.
    """
    a, b = f.fabs(y), f.fabs(x)
    steep = a.compare("ogt", b)
    low, high = f.select(steep, b, a), f.select(steep, a, b)
    even = f.select(a.compare("oeq", 0.0), 0.0, f.const(1.0, x.ctype))
    r = f.select(a.compare("oeq", b), even, low / high)  # also for two zeros or two infinities
    z = r * r
    angle = f.fma(r * z, f.polynomial(z, _ARCTAN), r)
    angle = f.select(steep, 0.5 * math.pi - angle, angle)
    left = f.copysign(f.const(1.0, x.ctype), x).compare("olt", 0.0)
    return f.copysign(f.select(left, math.pi - angle, angle), y)


# Both tables have this many intervals per unit, so that they share the search for the interval.
# From 6.1 on, Phi(-x) is below 1e-9, and so is 1 - slope.
_GELU = 5.125


def _tail(x: float) -> float:
    """Return Phi(-x)."""
    return 0.5 * math.erfc(x * math.sqrt(0.5))


def gelu(f: Function, x: SSAValue) -> SSAValue:
    """Return x Phi(x), within 2e-7 and two units in the last place of the larger half. -inf gives
    NaN, as the formula does.
    """
    if _avx512(x):
        # max(x, 0) - |x| Phi(-|x|)
        a, far = f.fabs(x), f.fabs(x).compare("oge", 31.375 / _GELU)
        tail = f.select(far, 0.0, _picked(f, a, _tail, _GELU, 5))
        whole = f.select(x.compare("ogt", 0.0), x, 0.0)
        return f.fma(-f.select(x.compare("oge", 31.375 / _GELU), 0.0, a), tail, whole)
    return x * f.fma(erf(f, x * math.sqrt(0.5)), 0.5, f.const(0.5, x.ctype))


def _half(x: float) -> float:
    """Return s - 1/2 for the slope s = Phi(x) + x phi(x) of gelu; it is odd."""
    return 0.5 * math.erf(x * math.sqrt(0.5)) + x * math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def gelu_slope(f: Function, x: SSAValue) -> SSAValue:
    """Return Phi(x) + x phi(x), the derivative of x Phi(x), within 2e-7; 0 and 1 at the infinities."""
    if _avx512(x):
        a = f.fabs(x)
        half = f.select(a.compare("oge", 31.375 / _GELU), 0.5, _picked(f, a, _half, _GELU, 5))
        return f.copysign(half, x) + 0.5
    cdf = f.fma(erf(f, x * math.sqrt(0.5)), 0.5, f.const(0.5, x.ctype))
    # bounded, since infinity times zero would be NaN
    near = f.larger(f.const(-40.0, x.ctype), f.smaller(f.const(40.0, x.ctype), x))
    return f.fma(near * exp(f, near * near * -0.5), 1 / math.sqrt(2 * math.pi), cdf)


FUNCTIONS = {
    fn.__name__: fn
    for fn in (arctan2, erf, exp, expm1, gelu, gelu_slope, log, log1p, sigmoid, tanh)
}


def ulps(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Return the distance of float32 results from exact float64 values, in units in the last place
    of float32.

    >>> float(ulps(np.float32([1 + 2**-23]), np.float64([1.0]))[0])
    1.0
    """
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float32)
        step = np.spacing(
            np.maximum(np.abs(rounded), np.float32(1.2e-38)).astype(np.float32)
        ).astype(np.float64)
        distance = np.abs(got.astype(np.float64) - exact) / step
        same = (got == rounded) | (np.isnan(got) & np.isnan(exact))
    return np.where(
        same,
        np.where(np.isfinite(distance), distance, 0.0),
        np.where(np.isnan(distance), np.inf, distance),
    )
