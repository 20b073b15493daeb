"""Elementary functions of double vectors as LLVM IR, accurate to 3 ulp over the whole range (2 for
exponentials, the logarithm, sine and cosine; 1 for `hypot`). Functions related to gamma: `lgamma`
to 4 ulp for positive arguments, also near its zeros 1 and 2; trigamma to 3; `digamma` to 6 where
its magnitude is above 1, and to 3e-16 near its zeros.

The conventions are those of `llvm.math`: each function takes a builder and a value of type double
or vector of double, and returns a value of the same type; NaN, infinities, zeros and denormals
follow IEEE 754-2019 section 9.2.1. The method is Cody and Waite's argument reduction. The
exponential, sine and cosine use their Taylor series, the logarithm that of 2 artanh(f / (2 + f)),
the error function Chebyshev approximations computed with 40 digits. Angles beyond 2^30 are passed
to the C library. `tests/llvm/test_math64.py` measures the errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .c_library import through_c
from .emit import Function, SSAValue, lanes, vector

__all__ = ["FUNCTIONS"]

_LOG2_E = 1.4426950408889634
# ln 2 = high + low, high with 32 bits, so that n * high is exact for every exponent n.
_LN2_HIGH = 0.6931471803691238
_LN2_LOW = 1.9082149292705877e-10
# (e^r - 1 - r) / r^2, and (2 artanh(s) / s - 2) in s^2, from the highest power down.
_EXP = [1 / math.factorial(k) for k in range(13, 1, -1)]
_LOG = [2 / (2 * k + 1) for k in range(11, 0, -1)]
# pi / 2 = first + second + third. Where n is the nearest whole number to x / (pi / 2), a fused
# x - n * first is exact.
_HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
_TWO_OVER_PI = 0.6366197723675814
# (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2 / 2) / r^4 in r^2, for |r| <= pi / 4.
_SIN = [(-1) ** k / math.factorial(2 * k + 1) for k in range(8, 0, -1)]
_COS = [(-1) ** k / math.factorial(2 * k) for k in range(8, 1, -1)]
# erf(x) / x - 1 in x^2 up to 1; erfc(x) e^(x^2) from 1 to 6 in u = (12 (x - 3) / (x + 3) + 1) / 5.
_ERF_SMALL = [
    *(
        5.957176147748911e-11,
        -1.1372848856791674e-09,
        1.4659775274047436e-08,
        -1.6350312701054695e-07,
        1.6461000484121368e-06,
    ),
    *(
        -1.4925595266831182e-05,
        0.0001205533111164271,
        -0.000854832698083379,
        0.0052239776248180145,
        -0.026866170645076792,
    ),
    *(0.11283791670954879, -0.3761263890318375, 0.1283791670955126),
]
_ERFC = [
    *(
        -1.6799777159311457e-13,
        4.468786282795809e-15,
        6.716060821011204e-12,
        6.030100178315267e-12,
        -2.5809703293704675e-10,
    ),
    *(
        -2.6378817019432074e-10,
        1.1340261055840323e-08,
        -4.526722197970927e-09,
        -5.541277438329464e-07,
        2.4255574811020284e-06,
    ),
    *(
        1.956358330834969e-05,
        -0.00033160296057845436,
        0.0024793146970724187,
        -0.012713147695691995,
        0.0496984454033948,
    ),
    *(-0.15436117429436919, 0.20798329133342885),
]
# erfinv(x) / x with w = -log(1 - x^2): in w - 2.5 up to 5, then in sqrt(w) - 2.75 up to 3.3 and in
# sqrt(w) - 4.65 (Chebyshev approximations computed with 50 digits).
_ERFINV = [
    -6.890747263782666e-20,
    1.700908089393591e-19,
    4.909393921888345e-18,
    -2.6828646429085144e-17,
    -1.3661917890666732e-16,
    1.896729354143592e-15,
    -2.8811110175240593e-15,
    -7.612669130138496e-14,
    5.356343166393055e-13,
    9.115660381671943e-13,
    -3.110278672226475e-11,
    1.1960698817209524e-10,
    9.073036495405582e-10,
    -1.0861168938287872e-08,
    1.3416803755242823e-08,
    4.787252185239e-07,
    -3.416619596565087e-06,
    -4.996079598850206e-06,
    0.00021825026434406123,
    -0.0012527079078110321,
    -0.004177317724383624,
    0.246640276744167,
    1.501409351110792,
]
_ERFINV_FAR = [
    3.5963240692271134e-09,
    -8.272559334976377e-07,
    1.9242583078039965e-06,
    8.654358466957706e-07,
    -1.051044036542295e-05,
    1.6128783688759543e-05,
    1.4478796676714149e-05,
    -9.550302694012995e-05,
    0.00012014233738197361,
    0.00015708845627472034,
    -0.0007694572786674713,
    0.0009185024313031522,
    0.0009567610694450389,
    -0.005623246676695055,
    0.01150166063945557,
    -0.016017298397022345,
    0.01795395985119619,
    0.9950856902414795,
    2.5832938084582984,
]
_ERFINV_LAST = [
    1.5371846398136324e-13,
    3.513929933410457e-14,
    -3.8851821995670686e-12,
    9.89731233791103e-12,
    5.353707751612839e-12,
    -8.507949082044979e-11,
    2.9092600550847303e-10,
    -6.304790427035323e-10,
    5.027688421934551e-10,
    2.6141580559368326e-09,
    -1.4803239047822192e-08,
    4.653366362300577e-08,
    -1.1091348624156912e-07,
    2.205319109469205e-07,
    -4.010152527108993e-07,
    8.004740386104366e-07,
    -2.204197505610812e-06,
    8.134581311109287e-06,
    -3.24753408044608e-05,
    0.00012054602689948039,
    -0.000350017102761337,
    0.00015249944119418007,
    1.0103038781276346,
    4.49629471779925,
]
# About the gamma function, in t from -1/2 to 1/2: lgamma(2 + t) / t and the first two derivatives of
# lgamma(2 + t) (Chebyshev approximations computed with 60 digits); sin(pi t) / (pi t) in t^2 (its series).
_LGAMMA = [
    -1.3219945666117874e-07,
    2.78740805211359e-07,
    -4.3252393445604814e-07,
    9.200527894968101e-07,
    -2.0439048107029907e-06,
    4.38470440459836e-06,
    -9.438715099211532e-06,
    2.0505590755833454e-05,
    -4.49263133791557e-05,
    9.945767355819498e-05,
    -0.00022315475400520507,
    0.0005096695154115458,
    -0.0011927539118428156,
    0.002890510331034267,
    -0.0073855510286719986,
    0.02058080842778038,
    -0.0673523010531981,
    0.32246703342411326,
    0.42278433509846713,
]
_DIGAMMA = [
    1.3137798782020037e-06,
    -2.627891771944428e-06,
    3.6145567803015683e-06,
    -7.231701017698152e-06,
    1.53436270842166e-05,
    -3.0710978704203905e-05,
    6.123704338305966e-05,
    -0.00012269116296546469,
    0.0002460877865122942,
    -0.0004941910706674096,
    0.000994575044648632,
    -0.0020083926597339397,
    0.004077356201158327,
    -0.008349277388351162,
    0.01734306198438618,
    -0.036927755143244,
    0.08232323371113867,
    -0.20205690315959524,
    0.6449340668482264,
    0.42278433509846713,
]
_TRIGAMMA = [
    7.237436470093094e-06,
    -1.380823148697592e-05,
    1.6784613908580967e-05,
    -3.178036755186309e-05,
    6.533001208815559e-05,
    -0.0001230302745042054,
    0.00022914811160903913,
    -0.0004280710059701088,
    0.000796236338862252,
    -0.0014725804426842942,
    0.0027069512712802027,
    -0.004941884479824965,
    0.008951176188001264,
    -0.016067142680757002,
    0.02854149338465684,
    -0.05009566428971037,
    0.08671530992225676,
    -0.14771102057350088,
    0.24696970113341454,
    -0.4041138063191885,
    0.6449340668482264,
]
_SIN_PI = [(-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k + 1) for k in range(12, -1, -1)]
# the Bernoulli numbers B_2, B_4 ..., from which the coefficients of Stirling's series follow
_BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
)
_LGAMMA_FAR = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(_BERNOULLI, 1)][7::-1]
_DIGAMMA_FAR = [-b / (2 * k) for k, b in enumerate(_BERNOULLI, 1)][8::-1]
_TRIGAMMA_FAR = [*_BERNOULLI[::-1]]


def _power_of_two(f: Function, n: SSAValue) -> SSAValue:
    """Return 2^n for whole n of type i32, -1022 <= n <= 1023."""
    bits = f.extend(n + 1023, vector("i64", lanes(n.ctype))) << 52
    return f.bitcast(bits, vector("double", lanes(n.ctype)))


def _reduce(f: Function, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Return a whole number n, and `high` and `low`, with x = n ln 2 + (high - low) and |high -
    low| <= ln(2) / 2. n is 0 where x is NaN, since converting NaN to an integer is undefined.
    """
    n = f.rint(f.select(x.compare("ord", x), x, 0.0) * _LOG2_E)
    return n, f.fma(n, -_LN2_HIGH, x), n * _LN2_LOW


def _whole(f: Function, n: SSAValue) -> SSAValue:
    return f.to_int(n, vector("i32", lanes(n.ctype)))


def exp(f: Function, x: SSAValue) -> SSAValue:
    """Return e^x: infinite from 709.8 on, denormal below -708.4 and 0 below -745.2."""
    none = x.compare("olt", -746.0)
    bounded = f.select(none, 0.0, f.smaller(f.const(710.0, x.ctype), x))
    n, high, low = _reduce(f, bounded)
    r = high - low
    rest = f.fma(r * r, f.polynomial(r, _EXP), -low)
    t = high + rest
    p = t + 1.0
    # add the rounding errors of both sums, so that the result is nearly correctly rounded
    p = p + ((t - (p - 1.0)) + (rest - (t - high)))
    whole = _whole(f, n)
    half = whole >> 1  # 2^n itself may not be a double although p * 2^n is one
    return f.select(none, 0.0, p * _power_of_two(f, half) * _power_of_two(f, whole - half))


def expm1(f: Function, x: SSAValue) -> SSAValue:
    """Return e^x - 1, without cancellation near 0."""
    bounded = f.larger(f.const(-40.0, x.ctype), f.smaller(f.const(710.0, x.ctype), x))
    n, high, low = _reduce(f, bounded)
    r = high - low
    small = high + f.fma(r * r, f.polynomial(r, _EXP), -low)
    t = _power_of_two(f, _whole(f, n) - 1)
    result = 2.0 * f.fma(t, small, t - 0.5)
    result = f.select(n.compare("oeq", 0.0), small, result)
    result = f.select(x.compare("uno", x), x, result)  # `larger` has replaced NaN by a number
    return f.select(x.compare("oeq", 0.0), x, result)


def log(f: Function, x: SSAValue) -> SSAValue:
    """Return the natural logarithm: -inf at 0, NaN below."""
    tiny = x.compare("olt", 2.2250738585072014e-308)
    bits = f.bitcast(f.select(tiny, x * 2.0**54, x), vector("i64", lanes(x.ctype)))
    # Split x into exponent and mantissa with 1/sqrt(2) <= m < sqrt(2): the offset moves the
    # boundary between exponents to sqrt(1/2).
    offset = 0x3FE6A09E00000000
    moved = bits - offset
    # Take the exponent from the upper 32 bits: processors without AVX-512 cannot convert 64-bit
    # integers to doubles.
    high = f.trunc(
        f.emit(f"lshr {moved.ctype} {moved.name}, {f.const(32, moved.ctype).name}", moved.ctype),
        vector("i32", lanes(x.ctype)),
    )
    n = f.to_float(high >> 20, x.ctype) + f.select(tiny, f.const(-54.0, x.ctype), 0.0)
    m = f.bitcast((moved & 0x000FFFFFFFFFFFFF) + offset, x.ctype) - 1.0
    s = m / (m + 2.0)
    z = s * s
    half = 0.5 * m * m
    result = f.fma(
        n, _LN2_HIGH, m - (half - f.fma(s, half + z * f.polynomial(z, _LOG), n * _LN2_LOW))
    )
    result = f.select(x.compare("oeq", math.inf), x, result)
    result = f.select(x.compare("oeq", 0.0), -math.inf, result)
    return f.select(x.compare("ult", 0.0), math.nan, result)


def log1p(f: Function, x: SSAValue) -> SSAValue:
    """Return log(1 + x): the logarithm of the rounded sum, corrected by the rounding error."""
    u = x + 1.0
    result = log(f, u) + (x - (u - 1.0)) / u
    odd = u.compare("oeq", 1.0) | x.compare("oeq", math.inf)
    result = f.select(u.compare("oeq", 0.0), -math.inf, result)
    return f.select(odd, x, result)


def tanh(f: Function, x: SSAValue) -> SSAValue:
    """Return (e^2|x| - 1) / (e^2|x| + 1), which is 1 from 20 on."""
    a = f.smaller(f.const(20.0, x.ctype), f.fabs(x))
    e = expm1(f, a + a)
    return f.copysign(e / (e + 2.0), x)


def sigmoid(f: Function, x: SSAValue) -> SSAValue:
    """Return 1 / (1 + e^-x), from e^-|x|, which cannot overflow."""
    e = exp(f, -f.fabs(x))
    return f.select(x.compare("olt", 0.0), e, f.const(1.0, x.ctype)) / (1.0 + e)


def erf(f: Function, x: SSAValue) -> SSAValue:
    """Return the error function: a polynomial up to 1, then 1 - erfc(|x|)."""
    a = f.fabs(x)
    small = f.fma(x, f.polynomial(x * x, _ERF_SMALL), x)
    t = f.smaller(f.const(6.0, x.ctype), a)  # from 5.9 on erf rounds to 1
    u = f.fma((t - 3.0) / (t + 3.0), f.const(2.4, x.ctype), f.const(0.2, x.ctype))
    large = 1.0 - exp(f, -(t * t)) * f.polynomial(u, _ERFC)
    return f.select(a.compare("olt", 1.0), small, f.copysign(large, x))


def _on_some(f: Function, lane: SSAValue) -> SSAValue:
    """Return whether the condition holds in any lane."""
    count = lanes(lane.ctype)
    return (
        f.intrinsic("vector.reduce.or", "i1", lane, overload=f"v{count}i1") if count > 1 else lane
    )


def erfinv(f: Function, x: SSAValue) -> SSAValue:
    """Return the inverse of the error function: infinite at -1 and 1, NaN beyond."""
    w = -log(f, f.fma(-x, x, 1.0))
    far = w.compare("ogt", 5.0)
    result = f.var(x.ctype, f.polynomial(w - 2.5, _ERFINV))
    with f.when(_on_some(f, far)):
        s = f.sqrt(f.select(far, w, 5.0))
        tail = f.polynomial(s - 2.75, _ERFINV_FAR)
        tail = f.select(s.compare("ogt", 3.3), f.polynomial(s - 4.65, _ERFINV_LAST), tail)
        result.set(f.select(far, tail, result.get()))
    return x * result.get()


def _quadrant(f: Function, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Return the number of quarter turns in x, rounded, as i64, and sine and cosine of the
    remaining angle, which is at most an eighth turn.
    """
    first, second, third = _HALF_PI
    # 1.5 * 2^52: adding it rounds to a whole number, which is then in the lowest bits
    magic = 6755399441055744.0
    shifted = f.fma(x, _TWO_OVER_PI, magic)
    n = shifted - magic
    rough = f.fma(n, -first, x)
    product = n * second
    r = rough - product
    # the rounding errors of the difference and the product, and the third part of pi / 2
    low = ((rough - r) - product) - f.fma(n, third, f.fma(n, second, -product))
    z = r * r
    sine = r + f.fma(r * z, f.polynomial(z, _SIN), low)
    half = 0.5 * z
    near = 1.0 - half
    rest = f.fma(z * z, f.polynomial(z, _COS), -(r * low))
    cosine = near + (((1.0 - near) - half) + rest)
    return f.bitcast(shifted, vector("i64", lanes(x.ctype))), sine, cosine


_FARTHEST = 2.0**30  # the largest angle for which three parts of pi / 2 are enough


def _turned(f: Function, x: SSAValue, name: str, quarters: int) -> SSAValue:
    """Return sin(x + quarters * pi / 2). For large angles, call the C library's function."""
    result = f.var(x.ctype)

    def near() -> None:
        turns, sine, cosine = _quadrant(f, x)
        turns = turns + quarters
        made = f.select((turns & 1).compare("eq", 0), sine, cosine)
        result.set(f.select((turns & 2).compare("eq", 0), made, -made))

    _where_near(f, x, near, lambda: result.set(through_c(f, name, x)))
    return result.get()


def _where_near(
    f: Function, x: SSAValue, near: Callable[[], None], far: Callable[[], None]
) -> None:
    good = f.fabs(x).compare("ult", _FARTHEST)
    count = lanes(x.ctype)
    if count > 1:
        good = f.intrinsic("vector.reduce.and", "i1", good, overload=f"v{count}i1")
    f.branch(good, near, far)


def sin(f: Function, x: SSAValue) -> SSAValue:
    """Return the sine of an angle in radians; -0 stays -0."""
    return f.select(x.compare("oeq", 0.0), x, _turned(f, x, "sin", 0))


def cos(f: Function, x: SSAValue) -> SSAValue:
    """Return the cosine of an angle in radians."""
    return _turned(f, x, "cos", 1)


def tan(f: Function, x: SSAValue) -> SSAValue:
    """Return the tangent of an angle in radians; -0 stays -0."""
    result = f.var(x.ctype)

    def near() -> None:
        turns, sine, cosine = _quadrant(f, x)
        odd = (turns & 1).compare("ne", 0)
        result.set(f.select(odd, -cosine, sine) / f.select(odd, sine, cosine))

    _where_near(f, x, near, lambda: result.set(through_c(f, "tan", x)))
    return f.select(x.compare("oeq", 0.0), x, result.get())


def hypot(f: Function, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return sqrt(x^2 + y^2), nearly correctly rounded; infinite if either operand is, whatever the
    other one is.

    The operands are scaled by a power of two where a square would overflow or lose bits.
    """
    x, y = f.fabs(x), f.fabs(y)
    top = f.select(x.compare("ogt", y), x, y)
    large, small = top.compare("ogt", 2.0**500), top.compare("olt", 2.0**-450)
    one = f.const(1.0, x.ctype)
    scale = f.select(large, 2.0**-600, f.select(small, f.const(2.0**600, x.ctype), one))
    back = f.select(large, 2.0**600, f.select(small, f.const(2.0**-600, x.ctype), one))
    x, y = x * scale, y * scale
    a, b = f.select(x.compare("ogt", y), x, y), f.select(x.compare("ogt", y), y, x)
    rough = f.sqrt(f.fma(a, a, b * b))
    # One step of Newton's method, with the excess of the square computed almost exactly.
    square, first = rough * rough, a * a
    excess = f.fma(-b, b, square - first) + (f.fma(rough, rough, -square) - f.fma(a, a, -first))
    length = rough - f.select(rough.compare("oeq", 0.0), 0.0, excess / (rough + rough))
    length = length * back
    endless = x.compare("oeq", math.inf) | y.compare("oeq", math.inf)
    return f.select(endless, f.const(math.inf, x.ctype), length)


# ---- the gamma function: NIST Digital Library of Mathematical Functions, 5.5 and 5.11 -------------
# Range of whole numbers n for which the recurrence is used at n + t, |t| <= 1/2.
_FROM, _TO = -4, 8


def _away_from_two(
    f: Function, x: SSAValue, whole: SSAValue
) -> tuple[SSAValue, SSAValue, list[tuple[SSAValue, SSAValue]]]:
    """Prepare the recurrence that leads from x to 2 + t, which differs from x by a whole number.

    Returns whether x is below 1.5 (the way goes up), t, and the factors as pairs (whether this one
    counts, factor). On the way up, gamma(2 + t) is gamma(x) times all factors that count; on the
    way down, it is gamma(x) divided by them.
    """
    kind = x.ctype
    up, steps = whole.compare("olt", 2.0), f.fabs(whole - 2.0)
    first = f.select(up, x, x - 1.0)
    way = f.select(up, f.const(1.0, kind), f.const(-1.0, kind))
    factors = [
        (steps.compare("ogt", float(k)), f.fma(way, float(k), first) if k else first)
        for k in range(_TO - 2)
    ]
    return up, f.select(whole.compare("ogt", float(_TO)), 0.0, x - whole), factors


def _reflecting(
    f: Function,
    x: SSAValue,
    positive: Callable[[SSAValue, SSAValue], SSAValue],
    reflected: Callable[[SSAValue, SSAValue, SSAValue], SSAValue],
) -> SSAValue:
    """Return `positive(x, n)`, where n is the nearest whole number; far below zero, return
    `reflected(x, t, made)` instead, where t is x minus the nearest whole number and `made` is what
    `positive` returns for -x.
    """
    whole = f.rint(x)
    below = whole.compare("olt", float(_FROM))
    result = f.var(x.ctype)

    def turned() -> None:
        made = positive(f.select(below, -x, x), f.select(below, -whole, whole))
        result.set(f.select(below, reflected(x, x - whole, made), made))

    f.branch(_on_some(f, below), turned, lambda: result.set(positive(x, whole)))
    return result.get()


def _sine(f: Function, t: SSAValue) -> SSAValue:
    """Return sin(pi t) / pi for |t| <= 1/2."""
    return t * f.polynomial(t * t, _SIN_PI)


def _whole_below(f: Function, x: SSAValue) -> SSAValue:
    """Return where x is a negative whole number (or -inf)."""
    return x.compare("olt", 0.0) & x.compare("oeq", f.rint(x))


def lgamma(f: Function, x: SSAValue) -> SSAValue:
    """Return the logarithm of |gamma(x)|: infinite at 0, at negative whole numbers and at both
    infinities.
    """

    def positive(x: SSAValue, whole: SSAValue) -> SSAValue:
        up, t, factors = _away_from_two(f, x, whole)
        product = f.const(1.0, x.ctype)
        for is_one, factor in factors:
            product = product * f.select(is_one, factor, 1.0)
        large = whole.compare("ogt", float(_TO))
        logarithm = log(f, f.select(large, x, f.fabs(product)))
        near = f.fma(t, f.polynomial(t, _LGAMMA), f.select(up, -logarithm, logarithm))
        r = 1.0 / x
        tail = f.fma(r, f.polynomial(r * r, _LGAMMA_FAR), 0.5 * math.log(2 * math.pi) - 0.5)
        return f.select(large, f.fma(x - 0.5, logarithm - 1.0, tail), near)

    made = _reflecting(f, x, positive, lambda x, t, made: -log(f, f.fabs(x * _sine(f, t))) - made)
    endless = f.fabs(x).compare("oeq", math.inf) | _whole_below(f, x)
    return f.select(endless, f.const(math.inf, x.ctype), made)


def digamma(f: Function, x: SSAValue) -> SSAValue:
    """Return the derivative of `lgamma`: -inf at 0, inf at -0, NaN at negative whole numbers."""

    def positive(x: SSAValue, whole: SSAValue) -> SSAValue:
        up, t, factors = _away_from_two(f, x, whole)
        top, bottom = f.const(0.0, x.ctype), f.const(1.0, x.ctype)
        for is_one, factor in factors:
            top = f.select(is_one, f.fma(top, factor, bottom), top)
            bottom = f.select(is_one, bottom * factor, bottom)
        away, r = top / bottom, 1.0 / x
        near = f.polynomial(t, _DIGAMMA) + f.select(up, -away, away)
        far = log(f, x) + r * f.fma(r, f.polynomial(r * r, _DIGAMMA_FAR), -0.5)
        return f.select(whole.compare("ogt", float(_TO)), far, near)

    def reflected(x: SSAValue, t: SSAValue, made: SSAValue) -> SSAValue:
        sine, cosine = _sine(f, t), _sine(f, 0.5 - f.fabs(t))
        return made - (1.0 / x + math.pi * (cosine / sine))

    made = _reflecting(f, x, positive, reflected)
    return f.select(_whole_below(f, x), f.const(math.nan, x.ctype), made)


def trigamma(f: Function, x: SSAValue) -> SSAValue:
    """Return the second derivative of `lgamma`: infinite at 0 and at negative whole numbers."""

    def positive(x: SSAValue, whole: SSAValue) -> SSAValue:
        # The recurrence only goes up, to 2 + t or to where the asymptotic series is accurate, so
        # nothing cancels.
        high = whole.compare("ogt", 2.0)
        steps = f.select(high, f.const(_TO + 1.0, x.ctype), f.const(2.0, x.ctype)) - whole
        top, bottom = f.const(0.0, x.ctype), f.const(1.0, x.ctype)
        for k in range(_TO - 2):
            counts = steps.compare("ogt", float(k))
            square = (x + float(k)) * (x + float(k))
            top = f.select(counts, f.fma(top, square, bottom), top)
            bottom = f.select(counts, bottom * square, bottom)
        r = 1.0 / (x + f.larger(f.const(0.0, x.ctype), steps))
        z = r * r
        far = r + z * f.fma(r, f.polynomial(z, _TRIGAMMA_FAR), 0.5)
        near = f.polynomial(f.select(high, 0.0, x - whole), _TRIGAMMA)
        return f.select(high, far, near) + top / bottom

    def reflected(x: SSAValue, t: SSAValue, made: SSAValue) -> SSAValue:
        sine, r = _sine(f, t), 1.0 / x
        return 1.0 / (sine * sine) + f.fma(r, r, -made)

    return _reflecting(f, x, positive, reflected)


FUNCTIONS: dict[str, Callable[..., SSAValue]] = {
    fn.__name__: fn
    for fn in (
        cos,
        digamma,
        erf,
        erfinv,
        exp,
        expm1,
        hypot,
        lgamma,
        log,
        log1p,
        sigmoid,
        sin,
        tan,
        tanh,
        trigamma,
    )
}
