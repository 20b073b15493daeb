"""Element-wise array functions that NumPy lacks, over NumPy and (loaded when first used)
scipy.special.

Two-byte floats are computed in float32 and rounded once.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import asarray, ndarray

from .. import config, dtypes
from ..errors import OperationError, UnsupportedError
from ..ir.formula import FORMULAS, Formula
from .halves import HALVES, narrowed
from .halves import imag as imag_part
from .halves import real as real_part
from .halves import widened as _wide
from .native import REAL, SERVED, activation, chunked, fused, quick, ufuncs
from .numpy_fast import cube

__all__: list[str] = []


def _export(function: Callable[..., Any]) -> Callable[..., Any]:
    __all__.append(function.__name__)
    return function


def _kind(arrays: tuple[Any, ...]) -> np.dtype[Any]:
    """The dtype of the arrays among the arguments, ignoring Python numbers."""
    for a in arrays:
        if hasattr(a, "dtype"):
            return a.dtype
    return np.dtype(np.float64)


_LARGE = 1 << 12  # from so many elements on, loading a generated kernel pays off


def widened(name: str, doc: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that registers the array function `name`: the decorated function, with two-byte
    floats computed in float32 and the dtype kept.
    """

    def decorate(compute: Callable[..., Any]) -> Callable[..., Any]:
        def function(*arrays: Any) -> Any:
            kind = arrays[0].dtype if type(arrays[0]) is ndarray else _kind(arrays)
            if kind.char not in "fd":
                if kind in HALVES:
                    x = arrays[0]
                    if len(arrays) == 1 and x.size >= _MANY_HALVES and x.flags.c_contiguous:
                        return _of_each(compute, kind).take(x.view(np.uint16))
                    return narrowed(asarray(compute(*map(_wide, arrays))), kind)
                if kind.kind in "biu":
                    raise TypeError(f"not supported: {name} of {kind}")
            result = compute(*arrays)
            return result if result.dtype is kind else asarray(result, kind)

        function.__name__, function.__doc__ = name, doc
        globals()[name] = function
        __all__.append(name)
        return function

    return decorate


# from so many elements on, the function is tabulated for all 65,536 two-byte floats
_MANY_HALVES = 1 << 17


@functools.lru_cache(32)
def _of_each(compute: Callable[..., Any], kind: Any) -> ndarray:
    """The values of a function at all 65,536 two-byte floats, in the order of their bits."""
    every = np.arange(1 << 16, dtype=np.uint16).view(kind)
    return narrowed(asarray(compute(_wide(every))), kind)


def from_scipy(name: str, scipy_name: str, doc: str) -> None:
    """Register `scipy.special.scipy_name` as the array function `name`."""

    def load(*arrays: Any) -> Any:
        nonlocal load
        load = getattr(importlib.import_module("scipy.special"), scipy_name)
        return load(*arrays)

    widened(name, doc)(lambda *arrays: load(*arrays))


# ---- NumPy alone ------------------------------------------------------------------------------
@_export
def reciprocal(x: Any) -> Any:
    """1 / x; integers are refused (NumPy would divide them as integers)."""
    if x.dtype.kind in "biu":
        raise TypeError("not supported: reciprocal of integers")
    run = fused("reciprocal", x, least=_LARGE) if x.dtype.kind in "fV" else None
    if run is not None:
        return run(x)
    return np.divide(1, x, dtype=x.dtype) if x.dtype.kind in "fc" else np.reciprocal(x)


@_export
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    run = fused("sigmoid", x, least=1)
    if run is not None:
        return run(x)
    if x.dtype.kind in "biu":
        raise TypeError("not supported: sigmoid of integers")
    if x.dtype.itemsize == 2:
        return narrowed(sigmoid(_wide(x)), x.dtype)
    result = np.negative(x)
    if type(result) is not np.ndarray:
        return 1 / (np.exp(result) + 1)
    one = _ONE.get(result.dtype, 1)
    np.exp(result, result)
    np.add(result, one, result)
    return np.divide(one, result, result)


vars(sigmoid)["quick"] = quick("sigmoid")

# NumPy handles an array without dimensions in half the time of a Python number.
_ONE = {kind: np.ones((), kind) for kind in (np.dtype(np.float32), np.dtype(np.float64))}


@_export
def round_half_even(x: Any) -> Any:
    """Round to the nearest integer, halves to even; integers are returned unchanged."""
    return ufuncs.rint(x) if x.dtype.kind in "fV" else _whole_numbers(x, "round")


@_export
def frac(x: Any) -> Any:
    """x - trunc(x)."""
    _floats("frac", x)
    run = fused("frac", x, least=_LARGE)
    return x - np.trunc(x) if run is None else run(x)


@_export
def floor(x: Any) -> Any:
    """As `np.floor`; integers are returned unchanged."""
    return ufuncs.floor(x) if x.dtype.kind in "fV" else _whole_numbers(x, "floor")


@_export
def ceil(x: Any) -> Any:
    """As `np.ceil`; integers are returned unchanged."""
    return ufuncs.ceil(x) if x.dtype.kind in "fV" else _whole_numbers(x, "ceil")


@_export
def trunc(x: Any) -> Any:
    """As `np.trunc`; integers are returned unchanged."""
    return ufuncs.trunc(x) if x.dtype.kind in "fV" else _whole_numbers(x, "trunc")


def _whole_numbers(x: Any, name: str) -> Any:
    """A copy of an integer array, which needs no rounding; PyTorch's error for bool and complex."""
    if x.dtype.kind in "cW":
        raise UnsupportedError(f"{name} is not supported for complex inputs")
    if x.dtype.kind == "b":
        raise UnsupportedError(f"\"{name}_vml_cpu\" not implemented for 'Bool'")
    return x.copy()


def _floats(name: str, x: Any) -> None:
    if x.dtype.kind in "biu":
        raise TypeError(f"not supported: {name} of integers")


@_export
def real_sign(x: Any) -> Any:
    """-1, 0 or 1, and 0 for NaN (NumPy's sign keeps NaN)."""
    if x.dtype.kind == "b":
        return x.copy()
    if x.dtype.kind == "u":
        return (x > 0).astype(x.dtype)
    if x.dtype.kind in "cW":
        raise UnsupportedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
        )
    if x.dtype.kind == "i":
        return np.sign(x)
    run = fused("real_sign", x, least=1) if x.dtype.kind in "fV" else None
    if run is not None:
        return run(x)
    return np.subtract(x > 0, x < 0, dtype=np.int8).astype(x.dtype)


@_export
def complex_sign(x: Any) -> Any:
    """x / |x|, and 0 at 0."""
    if x.dtype.kind not in "cW":
        return real_sign(x)
    size = np.abs(x)
    return np.where(size == 0, 0, x / np.where(size == 0, 1, size)).astype(x.dtype)


@_export
def logaddexp(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)) without overflow, also of complex numbers."""
    _floats("logaddexp", x)
    if x.dtype.kind not in "cW":
        run = fused("logaddexp", x, y, least=_LARGE)
        return np.logaddexp(x, y) if run is None else run(x, y)
    first = x.real >= y.real
    top, low = np.where(first, x, y), np.where(first, y, x)
    return np.where((x.real == -np.inf) & (y.real == -np.inf), x, top + np.log1p(np.exp(low - top)))


@_export
def logaddexp2(x: Any, y: Any) -> Any:
    """log2(2^x + 2^y) without overflow."""
    _floats("logaddexp2", x)
    return np.logaddexp2(x, y)


@_export
def hypot(x: Any, y: Any) -> Any:
    """sqrt(x^2 + y^2) without overflow."""
    _floats("hypot", x)
    # the float32 kernel gives NumPy's bits
    run = fused("hypot", x, y, least=_LARGE) if x.dtype == np.float32 else None
    return ufuncs.hypot(x, y) if run is None else run(x, y)


@_export
def nextafter(x: Any, y: Any) -> Any:
    """The next number after x towards y."""
    _floats("nextafter", x)
    return np.nextafter(x, y)


@_export
def log10(x: Any) -> Any:
    """As `np.log10`. For float32, whose NumPy version is inexact at powers of ten, it is computed
    in float64 and rounded.
    """
    return (
        np.log10(x, dtype=np.float64).astype(np.float32)
        if x.dtype == np.float32
        else ufuncs.log10(x)
    )


@_export
def xlogy(x: Any, y: Any) -> Any:
    """x * log(y), 0 where x is 0 (unless y is NaN)."""
    return _x_times(np.log, x, y)


@_export
def xlog1py(x: Any, y: Any) -> Any:
    """x * log1p(y), 0 where x is 0 (unless y is NaN)."""
    return _x_times(np.log1p, x, y)


def _x_times(log: Any, x: Any, y: Any) -> Any:
    kind = _kind((x, y))
    x, y = _wide(asarray(x, kind)), _wide(asarray(y, kind))
    zero = (x == 0) & ~np.isnan(y)
    return np.where(zero, 0, x * log(np.where(zero, 1, y))).astype(kind, copy=False)


@_export
def heaviside(x: Any, values: Any) -> Any:
    """0 below zero, 1 above, `values` at zero; NaN counts as below, as in PyTorch's kernel."""
    kind = _kind((x, values))
    return np.where(x == 0, values, np.where(x > 0, np.ones((), kind), np.zeros((), kind)))


# ---- scipy.special ----------------------------------------------------------------------------
for _name, _theirs, _doc in (
    ("erf", "erf", "2/sqrt(pi) times the integral of exp(-t^2) from 0 to x."),
    ("erfcx", "erfcx", "exp(x^2) erfc(x)."),
    ("ndtr", "ndtr", "The normal distribution function."),
    ("ndtri", "ndtri", "The quantile function of the normal distribution."),
    ("log_ndtr", "log_ndtr", "The logarithm of ndtr."),
    ("i0", "i0", "Modified Bessel function of the first kind, order 0."),
    ("i0e", "i0e", "exp(-|x|) i0(x)."),
    ("i1", "i1", "Modified Bessel function of the first kind, order 1."),
    ("i1e", "i1e", "exp(-|x|) i1(x)."),
    ("bessel_j0", "j0", "Bessel function of the first kind, order 0."),
    ("bessel_j1", "j1", "Bessel function of the first kind, order 1."),
    ("bessel_y0", "y0", "Bessel function of the second kind, order 0."),
    ("bessel_y1", "y1", "Bessel function of the second kind, order 1."),
    ("modified_bessel_k0", "k0", "Modified Bessel function of the second kind, order 0."),
    ("modified_bessel_k1", "k1", "Modified Bessel function of the second kind, order 1."),
    ("scaled_modified_bessel_k0", "k0e", "exp(x) k0(x)."),
    ("scaled_modified_bessel_k1", "k1e", "exp(x) k1(x)."),
    ("igamma", "gammainc", "The lower regularized incomplete gamma function."),
    ("igammac", "gammaincc", "The upper regularized incomplete gamma function."),
    ("zeta", "zeta", "The Hurwitz zeta function."),
):
    from_scipy(_name, _theirs, _doc)


def _or_native(name: str, doc: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """As `widened`, for a word of the formula language: native code computes it if there is any,
    otherwise the decorated function.
    """

    def decorate(compute: Callable[..., Any]) -> Callable[..., Any]:
        widened(name, doc)(compute)
        otherwise = globals()[name]

        def function(x: Any) -> Any:
            run = fused(name, x, least=1)
            return otherwise(x) if run is None else run(x)

        function.__name__, function.__doc__ = name, doc
        vars(function)["quick"] = quick(name)
        globals()[name] = function
        return function

    return decorate


@_or_native("erfinv", "The inverse of erf.")
def _erfinv(x: Any) -> Any:
    from scipy.special import erfinv

    # its float32 loop is off by up to three units in the last place
    return erfinv(x.astype(np.float64, copy=False))


_erf = globals()["erf"]


@_export
def erf(x: Any) -> Any:
    """2/sqrt(pi) times the integral of exp(-t^2) from 0 to x."""
    run = fused("erf", x, least=_LARGE) if x.size >= _LARGE else None
    return _erf(x) if run is None else run(x)


@functools.cache
def _scipy(name: str) -> Any:
    found = getattr(importlib.import_module("scipy.special"), name)
    return chunked(found) if _real(found) else found


def _real(function: Any) -> bool:
    """Whether a function is a ufunc of float32 and float64 alone."""
    return isinstance(function, np.ufunc) and set("".join(function.types)) <= set("fd->")


def _large(x: Any, y: Any, least: int = 1 << 16) -> bool:
    """Whether the operands (two arrays of one dtype, or an array and a number) are floats, and
    large enough for several threads.
    """
    kind = x.dtype
    return (
        x.size >= least
        and type(x) is ndarray
        and kind in REAL
        and (type(y) in (float, int) or type(y) is ndarray and y.dtype is kind)
    )


@widened("erfc", "1 - erf(x).")
def _erfc(x: Any) -> Any:
    value = _scipy("erfc")(x)
    if x.dtype != np.float64:
        return value
    # scipy rounds the square before the exponential, and returns 0 for denormal results. Here the
    # square is split in two parts, the first of which is exact.
    far = (x > 5) & (x < 27.3)
    if not far.any():
        return value
    t = x[far]
    high = np.rint(t * 2.0**20) / 2.0**20
    small = (
        np.exp(600.0 - high * high)
        * np.exp(-(t - high) * (t + high))
        * _scipy("erfcx")(t)
        * np.exp(-600.0)
    )
    value = np.array(value)
    value[far] = small
    return value


_LARGEST_OF = {kind.char: np.finfo(kind).max for kind in map(np.dtype, (np.float32, np.float64))}


@_or_native("lgamma", "The logarithm of |gamma(x)|.")
def _lgamma(x: Any) -> Any:
    # Both infinities give inf, but scipy's result has the argument's sign. So clip to the lowest
    # finite number, which is an integer and therefore also a pole.
    value = _scipy("gammaln")(np.maximum(x, -_LARGEST_OF.get(x.dtype.char, np.inf)))
    if x.dtype != np.float64 or not (near := np.abs(x - 1.5) <= 1).any():
        return value
    value = np.array(value)
    value[near] = _lgamma_near_its_zeros(x[near])
    return value


def _lgamma_near_its_zeros(x: Any) -> Any:
    """lgamma from 1/2 to 5/2, by the series of Abramowitz and Stegun 6.1.33 around its zeros 1 and
    2.
    """
    first = x < 1.5
    away = x - np.where(first, 1.0, 2.0)
    total = np.zeros_like(away)
    for coefficient in _lgamma_series():
        total += coefficient
        total *= away
    return np.where(first, total - np.log1p(np.where(first, away, 0.0)), total)


@functools.cache
def _lgamma_series() -> list[float]:
    """The coefficients (-1)^k (zeta(k) - 1) / k for k from 29 down to 2, then 1 minus Euler's
    constant. Each term is about a quarter of the one before it in the series.
    """
    orders = np.arange(29, 1, -1)
    series = _scipy("zetac")(orders.astype(float)) / orders * np.where(orders % 2, -1.0, 1.0)
    return [*series.tolist(), 1 - np.euler_gamma]


@widened("airy_ai", "The Airy function Ai.")
def _airy_ai(x: Any) -> Any:
    # Beyond 110, the value underflows to 0; scipy returns NaN far out.
    most = x.dtype.type(110)
    return np.where(x > most, x.dtype.type(0), _scipy("airy")(np.minimum(x, most))[0])


@_or_native("digamma", "The derivative of lgamma; -inf at 0, NaN at negative integers.")
def _digamma(x: Any) -> Any:
    value = _scipy("psi")(x)
    # NaN fails the comparison
    if x.size and x.dtype.kind == "f" and np.minimum.reduce(x, None) > 0:
        return value
    at_zero = np.copysign(np.full((), np.inf, value.dtype), -np.asarray(x))
    return np.where(
        x == 0,
        at_zero,
        np.where((x < 0) & (x == np.floor(x)), np.full((), np.nan, value.dtype), value),
    )


@widened("spherical_bessel_j0", "sin(x) / x, and 1 at 0.")
def _spherical_bessel_j0(x: Any) -> Any:
    safe = np.where(x == 0, np.ones((), x.dtype), x)
    return np.where(
        np.isinf(x),
        np.zeros((), x.dtype),
        np.where(x == 0, np.ones((), x.dtype), np.sin(safe) / safe),
    )


@_or_native("trigamma", "The derivative of digamma; infinite at 0 and at negative integers.")
def _trigamma(x: Any) -> Any:
    return _scipy("zeta")(np.asarray(2, x.dtype), x)


@_export
def polygamma(x: Any, n: int) -> Any:
    """The n-th derivative of digamma."""
    if n <= 1:
        return globals()["trigamma" if n else "digamma"](x)
    wide = _wide(x)
    special = importlib.import_module("scipy.special")
    sign = 1.0 if n % 2 else -1.0
    # (-1)^(n+1) n! zeta(n+1, x)
    value = sign * float(special.gamma(n + 1.0)) * special.zeta(np.asarray(n + 1, wide.dtype), wide)
    return asarray(value).astype(x.dtype)


# ---- powers and whole numbers -----------------------------------------------------------------
@_export
def pow(x: Any, y: Any) -> Any:
    """x ** y. Integers to negative powers are 0, except for the bases 1 and -1. An exponent that is
    a number may be computed as a root, except for float16, where roots differ at -inf and -0.0.
    """
    if not hasattr(x, "dtype"):
        x = asarray(x, y.dtype)
    if x.dtype.kind in "cW" and getattr(y, "ndim", 0) == 0 and complex(y) in (2, 3):
        if complex(y) == 2:
            return np.square(x)
        made = x * x
        return np.multiply(made, x, made) if type(made) is ndarray else made * x
    if hasattr(y, "dtype"):
        if x.dtype in HALVES:
            return narrowed(pow(_wide(x), _wide(y)), x.dtype)
        if y.dtype.kind == "i" and x.dtype.kind in "iu" and np.any(y < 0):
            return _negative_powers(x, y)
        made = (chunked(np.power) if _large(x, y) else np.power)(x, y)
        # two contiguous arrays of equal size: NumPy does not see one exponent for a whole row
        apart = x.size == y.size > 1 and x.flags.c_contiguous and y.flags.c_contiguous
        return _no_roots(x, y, made) if y.dtype.kind == "f" and not apart else made
    if x.dtype in HALVES:
        y = float(asarray(y, x.dtype))
        short = _POWERS[y] if y == 2 or y == 0.5 and x.dtype != np.float16 else None
        if y == 3:
            short = "cube" if x.dtype == np.float16 else "cube_in_steps"
        run = None if short is None else fused(short, x)
        if run is not None:
            return run(x)
        # as in PyTorch, rounded after each product
        if x.dtype != np.float16 and y in (-0.5, 3, -2):
            if y == -0.5:
                return narrowed(ufuncs.reciprocal(ufuncs.sqrt(_wide(x))), x.dtype)
            squared = pow(x, 2)
            return x * squared if y == 3 else ufuncs.reciprocal(squared)
        # as an array, the exponent is not taken for a number
        other = asarray(y, np.float32) if x.dtype == np.float16 else y
        return narrowed(pow(_wide(x), other), x.dtype)
    if x.dtype.kind == "f" and y == -0.5:
        return ufuncs.reciprocal(ufuncs.sqrt(x))
    if y == 3:
        return cube(x)
    if _large(x, y):
        short = _POWERS.get(y)
        return chunked(np.power)(x, y) if short is None else getattr(ufuncs, short)(x)
    # `ndarray.__pow__` has fast paths for small powers; `np.power` does not.
    return x**y


def _no_roots(x: Any, y: Any, made: Any) -> Any:
    """Correct the result `made` of a power where NumPy took square roots, as it does in a row with
    one exponent.
    """
    half = y == 0.5
    if np.count_nonzero(half) and (special := half & ((x == 0) | (x == -np.inf))).any():
        return np.where(special, abs(x), made)
    return made


_POWERS = {2: "square", 1: "positive", 0.5: "sqrt", -1: "reciprocal"}


def _negative_powers(x: Any, y: Any) -> Any:
    # for the bases 1 and -1 only the parity matters; `-y` could overflow for the smallest integer
    value = np.power(x, np.where(y < 0, y & 1, y))
    unit = np.abs(x) == 1
    return np.where((y < 0) & ~unit, np.zeros((), value.dtype), value)


@_export
def comparable(x: Any) -> Any:
    """The array in a dtype that NumPy sorts correctly: bool normalized to 0 and 1 (foreign memory
    may hold other bytes), and bfloat16 as float32, because its own sort misplaces NaN.
    """
    if x.dtype.kind == "V":
        return x.astype(np.float32)
    return x != np.False_ if x.dtype.kind == "b" else x


@_export
def square(x: Any) -> Any:
    """x * x; bool counts as an integer."""
    return ufuncs.square(x.astype(np.int64) if x.dtype.kind == "b" else x)


@_export
def floor_divide(x: Any, y: Any) -> Any:
    """x / y rounded down; division of integers by zero raises."""
    _refuse_zero(x, y)
    return _divided("floor_divide", x, y)


@_export
def trunc_divide(x: Any, y: Any) -> Any:
    """x / y rounded towards zero; division of integers by zero raises."""
    if _whole(x) and _whole(y):
        _refuse_zero(x, y)
        # C's division: exact for integers of any size, unlike the quotient of floats.
        quotient = np.floor_divide(x, y)
        return np.where((quotient < 0) & (quotient * y != x), quotient + 1, quotient).astype(
            quotient.dtype
        )
    return np.trunc(np.true_divide(x, y))


@_export
def remainder(x: Any, y: Any) -> Any:
    """x - y * floor(x / y), with the sign of y."""
    return _divided("remainder", x, y)


@_export
def fmod(x: Any, y: Any) -> Any:
    """x - y * trunc(x / y), with the sign of x."""
    return _divided("fmod", x, y)


def _divided(name: str, x: Any, y: Any) -> Any:
    """NumPy's function; a kernel with the same bits computes large float arrays."""
    function = getattr(np, name)
    if type(x) is not ndarray or x.dtype.kind != "f":
        _refuse_division(name, x, y)
    if type(x) is not ndarray or x.size < _LARGE:
        return function(x, y)
    halves = type(y) is ndarray and y.dtype is x.dtype and x.dtype in SERVED()
    if not halves and not _large(x, y, _LARGE):
        return function(x, y)
    run = activation(name, x.size) if config.kernels else None
    if run is None:
        return function(x, y) if halves else chunked(function)(x, y)
    return run(x, y)


def _whole(x: Any) -> bool:
    return (
        x.dtype.kind in "biu" if type(x) is ndarray or hasattr(x, "dtype") else isinstance(x, int)
    )


def _is_bool(x: Any) -> bool:
    return x.dtype.kind == "b" if hasattr(x, "dtype") else isinstance(x, bool)


def _refuse_division(name: str, x: Any, y: Any) -> None:
    if _is_bool(x) and _is_bool(y):
        raise UnsupportedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    _refuse_zero(x, y)


def _refuse_zero(x: Any, y: Any) -> None:
    if not (_whole(x) and _whole(y)):
        return
    if not y if type(y) is int else not np.logical_and.reduce(y, None):
        raise OperationError("ZeroDivisionError")


_LERP_NEAR, _LERP_FAR = quick("lerp_near"), quick("lerp_far")


@_export
def addcmul(x: Any, a: Any, b: Any, value: Any) -> Any:
    """x + value * a * b, rounded once for two-byte floats."""
    kind = x.dtype
    if kind.itemsize > 2:
        run = (
            fused("addcmul", x, a, b, least=_LARGE)
            if kind.kind == "f" and b.size >= _LARGE and a.dtype is kind is b.dtype
            else None
        )
        if run is not None:
            return run(x, a, b, value)
        product = a * b
        if value != 1:
            product = np.multiply(
                product,
                value,
                product if kind.kind == "f" and type(product) is np.ndarray else None,
            )
        if product.shape == x.shape and product.dtype is kind and type(product) is ndarray:
            return ufuncs.add(x, product, product)
        return x + product
    run = fused("addcmul", x, a, b)
    if run is not None:
        return run(x, a, b, value)
    product = _wide(a) * _wide(b)
    return narrowed(_wide(x) + (product if value == 1 else product * value), kind)


@_export
def addcdiv(x: Any, a: Any, b: Any, value: Any) -> Any:
    """x + value * a / b, rounded once for two-byte floats."""
    kind = x.dtype
    if kind.kind in "fV" and a.dtype is kind is b.dtype:
        if kind.itemsize > 2 and b.size < _LARGE:
            quotient = a / b
            return x + (quotient if value == 1 else quotient * value)
        run = fused("addcdiv", x, a, b, least=_LARGE if kind.itemsize > 2 else 1)
        if run is not None:
            return run(x, a, b, value)
    quotient = _wide(a) / _wide(b)
    return narrowed(_wide(x) + (quotient if value == 1 else quotient * value), kind)


FORMULAS["lerp_near"] = Formula(lambda m, start, end, *, weight: start + weight * (end - start))
FORMULAS["lerp_far"] = Formula(lambda m, start, end, *, rest: end - (end - start) * rest)


@_export
def lerp(start: Any, end: Any, weight: Any) -> Any:
    """start + weight * (end - start), exact at both ends; rounded once for two-byte floats."""
    kind = start.dtype
    if (
        type(weight) is float
        and kind.char in "fd"
        and (start.size < _LARGE or end.dtype is not kind)
    ):
        near = abs(weight) < 0.5
        few = (_LERP_NEAR if near else _LERP_FAR)(start, end, weight if near else 1 - weight)
        if few is not None:
            return few
        span = np.subtract(end, start)
        room = span if type(span) is np.ndarray else None
        if near:
            return np.add(np.multiply(span, weight, room), start, room)
        return np.subtract(end, np.multiply(span, 1 - weight, room), room)
    if type(weight) is float and kind.kind in "fV":
        near = abs(weight) < 0.5
        rest = weight if near else 1 - weight
        if kind in HALVES:
            made = (_LERP_NEAR if near else _LERP_FAR)(start, end, rest)
            if made is not None:
                return made
        run = fused("lerp_near" if near else "lerp_far", start, end)
        if run is not None:
            return run(start, end, rest)
    start, end = _wide(start), _wide(end)
    span = end - start
    result = start + weight * span if abs(weight) < 0.5 else end - span * (1 - weight)
    return narrowed(result, kind)


@_export
def make_complex(real: Any, imag: Any) -> Any:
    """real + i imag, part by part (so that an infinite part does not spoil the other)."""
    shape = np.broadcast_shapes(np.shape(real), np.shape(imag))
    out = np.empty(shape, dtypes.BY_NUMPY[real.dtype].to_complex().numpy)
    real_part(out)[...], imag_part(out)[...] = real, imag
    return out
