"""Conversion of Python numbers to a dtype."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from .. import dtypes
from ..core.tensor import Tensor
from ..core.tracing import constant
from ..errors import ArgumentTypeError, OperationError, type_name

_C_NAMES = {
    "int64": "int64_t",
    "int32": "int",
    "int16": "int16_t",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


_LARGEST = {kind: dtypes.finfo(kind).max for kind in dtypes.ALL if kind.is_floating_point}


def _overflow(kind: dtypes.dtype) -> Exception:
    name = _C_NAMES.get(kind.name, kind.c_name)
    return OperationError(f"value cannot be converted to type {name} without overflow")


_EXACT = frozenset({dtypes.float32, dtypes.float64})  # hold whole numbers of 24 bits
_POWERS = dtypes.float8_e8m0fnu


def _power(value: float) -> float:
    """A number for a type that has neither a sign nor a zero: its smallest stands for that."""
    return abs(float(value)) or 2.0**-127


def as_number(value: Any, function: str, argument: str, position: int | None = None) -> Any:
    """An argument as a Python number: it may be a number, a NumPy scalar, or a 0-d tensor that does
    not require grad.

    Raises:
        TypeError: anything else.
    """
    if type(value) in (int, float):
        return value
    if isinstance(value, (np.number, np.bool_)):
        return dtypes.as_python_number(value)
    if isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, Tensor) and not value._array.ndim and not value._rg:
        return value.item()
    place = "" if position is None else f" (position {position})"
    raise ArgumentTypeError(
        f"{function}(): argument '{argument}'{place} must be Number, not {type_name(value)}"
    )


def fitting(value: Any, kind: dtypes.dtype) -> Any:
    """A number as a Python number that `kind` holds; negative integers count back from the end of
    the range of an unsigned dtype.

    Raises:
        RuntimeError: its value would be lost. OverflowError: an integer of more than 64 bits.
    """
    if type(value) is float and kind.is_floating_point and abs(value) <= _LARGEST[kind]:
        return value if kind is not _POWERS else _power(value)  # as nearly all are
    if type(value) is int and kind in _EXACT and abs(value) < 1 << 24:
        return float(value)
    value = dtypes.as_python_number(value)
    if type(value) is int and not -(1 << 63) <= value < 1 << 64:
        raise OverflowError(
            "int too big to convert" if value > 0 else "can't convert negative int to unsigned"
        )
    if kind is dtypes.bool_:
        return bool(value)
    if kind.is_complex:
        part = kind.to_real()
        if not (_fits(value.real, part) and _fits(value.imag, part)):
            raise _overflow(kind)
        return complex(value)
    if isinstance(value, complex):
        if value.imag:
            raise _overflow(kind)
        value = value.real
    if kind.is_floating_point:
        if not _fits(value, kind):
            raise _overflow(kind)
        return float(value) if kind is not _POWERS else _power(value)
    limits = dtypes.iinfo(kind)
    low = limits.min if kind.is_signed or isinstance(value, float) else -limits.max
    # A float is compared before its fraction is cut off. NaN fails the comparison.
    if not low <= value <= limits.max:
        raise _overflow(kind)
    return int(value) if kind.is_signed else int(value) % (limits.max + 1)


def _fits(value: float, kind: dtypes.dtype) -> bool:
    return not math.isfinite(value) or abs(value) <= _LARGEST[kind]


def check_fitting(array: ndarray, kind: Any) -> None:
    """Raise as `fitting` does where the value of a 0-d array does not fit a NumPy dtype."""
    if type(array) is ndarray and array.dtype != kind:
        fitting(array.item(), dtypes.BY_NUMPY[kind])


def number_array(value: Any, kind: Any) -> ndarray:
    """A number as a 0-d array of a NumPy dtype, with the errors of `fitting`."""
    return constant(np.array(fitting(value, dtypes.BY_NUMPY[kind]), kind))


def scalar_array(value: Any, kind: Any) -> ndarray:
    """As `number_array` for a number that is made a tensor first: what two-byte floats do not hold
    becomes infinite.
    """
    if dtypes.BY_NUMPY[kind].is_floating_point and kind.itemsize == 2:
        with np.errstate(over="ignore"):
            return constant(np.array(fitting(value, dtypes.float64), kind))
    return number_array(value, kind)
