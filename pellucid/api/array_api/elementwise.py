"""Element-wise functions of the array API standard over tensors, where PyTorch's arguments or
values differ.

Operators (`x // y`) keep PyTorch's values; the functions have the standard's.

Source: the array API standard, version 2024.12, section "Element-wise functions", special cases
included.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...core.public import FUNCTIONS, METHODS
from ...core.tensor import Tensor

_T: dict[str, Any] = FUNCTIONS["torch"]


def promoted(a: dtypes.dtype, b: dtypes.dtype) -> dtypes.dtype:
    """The dtype of an operation on both; also of unsigned integers, which PyTorch does not promote."""
    if (
        a is not b
        and (a.is_wide_unsigned or b.is_wide_unsigned)
        and a.is_integral
        and b.is_integral
        and dtypes.bool_ not in (a, b)
    ):
        found = np.promote_types(a.numpy, b.numpy)
        if found.kind in "iu":
            return dtypes.BY_NUMPY[found]
    return dtypes.promote_types(a, b)


def together(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Two operands as tensors of one dtype; a Python number takes that of the tensor. A tensor
    without dimensions counts as the others do.
    """
    if not isinstance(x1, Tensor):
        return _T["asarray"](x1, dtype=x2.dtype), x2
    if not isinstance(x2, Tensor):
        return x1, _T["asarray"](x2, dtype=x1.dtype)
    if x1.dtype is not x2.dtype:
        kind = promoted(x1.dtype, x2.dtype)
        return METHODS["to"](x1, kind), METHODS["to"](x2, kind)
    return x1, x2


def _binary(name: str, own: str = "") -> Any:
    def function(x1: Any, x2: Any, /) -> Tensor:
        return _T[own or name](*together(x1, x2))

    function.__name__, function.__doc__ = name, f"`{name}` of corresponding elements."
    return function


NAMES = (
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide greater greater_equal hypot less "
    "less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder subtract"
).split()
FOUND = {name: _binary(name) for name in NAMES} | {"equal": _binary("equal", "eq")}


def floor_divide(x1: Any, x2: Any, /) -> Tensor:
    """Quotients rounded down; of floats `floor(x1 / x2)`, as the standard's special cases say."""
    a, b = together(x1, x2)
    result: Tensor = (
        _T["floor"](a / b)
        if a.dtype.is_floating_point and b.dtype.is_floating_point
        else _T["floor_divide"](a, b)
    )
    return result


def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1; NaN stays, and of complex numbers `x / abs(x)`."""
    if x.dtype.is_complex:
        return _T["where"](x == 0, _T["zeros_like"](x), _T["sgn"](x))
    signs: Tensor = _T["sign"](x)
    return _T["where"](_T["isnan"](x), x, signs) if x.dtype.is_floating_point else signs


def round(x: Tensor, /) -> Tensor:
    """The nearest whole number, the even one of two; of complex numbers part by part."""
    if not x.dtype.is_complex:
        return _T["round"](x)
    return _T["complex"](_T["round"](x.real), _T["round"](x.imag))


def expm1(x: Tensor, /) -> Tensor:
    """`exp(x) - 1`. Of complex numbers `expm1(a) cos(b) - 2 sin(b / 2)^2 + i exp(a) sin(b)`."""
    if not x.dtype.is_complex:
        return _T["expm1"](x)
    where, a, b = _T["where"], x.real, x.imag
    half = _T["sin"](b / 2)
    a = where(a == 0, _T["zeros_like"](a), a)  # of -0, too, it is 0
    real = where(b == 0, _T["expm1"](a), _T["expm1"](a) * _T["cos"](b) - 2 * half * half)
    imag = where(b == 0, b, _T["exp"](a) * _T["sin"](b))
    endless = _T["isinf"](a) & ~_T["isfinite"](b)
    real = where(endless, where(a < 0, -_T["ones_like"](a), a), real)
    imag = where(endless, where(a < 0, _T["zeros_like"](a), _T["full_like"](a, math.nan)), imag)
    result: Tensor = _T["complex"](real, imag)
    return result


def tanh(x: Tensor, /) -> Tensor:
    """Hyperbolic tangent. Of complex numbers without end on the real side, the imaginary part is a
    zero with the sign that it has in `x`.
    """
    found: Tensor = _T["tanh"](x)
    if not x.dtype.is_complex:
        return found
    zero = _T["copysign"](_T["zeros_like"](x.real), x.imag)
    imag = _T["where"](_T["isinf"](x.real) & _T["isfinite"](x.imag), zero, found.imag)
    result: Tensor = _T["complex"](found.real, imag)
    return result


def accumulated(x: Tensor, dtype: Any) -> Any:
    """The dtype of sums and products."""
    kind = x.dtype
    if dtype is not None or not kind.is_integral:
        return dtype or kind
    return dtypes.int64 if kind.is_signed or kind is dtypes.bool_ else dtypes.uint64
