"""`torch.testing._internal.common_dtype`: lists of dtypes."""

from __future__ import annotations

from ... import dtypes as _dtypes
from ...dtypes import dtype

_FLOATS = (_dtypes.float32, _dtypes.float64)
_COMPLEX = (_dtypes.complex64, _dtypes.complex128)
_INTEGERS = (_dtypes.uint8, _dtypes.int8, _dtypes.int16, _dtypes.int32, _dtypes.int64)


def floating_types() -> tuple[dtype, ...]:
    """float32 and float64."""
    return _FLOATS


def floating_types_and(*dtypes: dtype) -> tuple[dtype, ...]:
    """`floating_types` and others."""
    return _FLOATS + dtypes


def floating_types_and_half() -> tuple[dtype, ...]:
    """`floating_types` and float16."""
    return (*_FLOATS, _dtypes.float16)


def complex_types() -> tuple[dtype, ...]:
    """complex64 and complex128."""
    return _COMPLEX


def complex_types_and(*dtypes: dtype) -> tuple[dtype, ...]:
    """`complex_types` and others."""
    return _COMPLEX + dtypes


def floating_and_complex_types() -> tuple[dtype, ...]:
    """`floating_types` and `complex_types`."""
    return _FLOATS + _COMPLEX


def floating_and_complex_types_and(*dtypes: dtype) -> tuple[dtype, ...]:
    """`floating_and_complex_types` and others."""
    return _FLOATS + _COMPLEX + dtypes


def integral_types() -> tuple[dtype, ...]:
    """uint8 and the signed integers."""
    return _INTEGERS


def integral_types_and(*dtypes: dtype) -> tuple[dtype, ...]:
    """`integral_types` and others."""
    return _INTEGERS + dtypes


def all_types() -> tuple[dtype, ...]:
    """`floating_types` and `integral_types`."""
    return _FLOATS + _INTEGERS


def all_types_and(*dtypes: dtype) -> tuple[dtype, ...]:
    """`all_types` and others."""
    return _FLOATS + _INTEGERS + dtypes


def all_types_and_complex() -> tuple[dtype, ...]:
    """`all_types` and `complex_types`."""
    return _FLOATS + _INTEGERS + _COMPLEX


def all_types_and_complex_and(*dtypes: dtype) -> tuple[dtype, ...]:
    """`all_types_and_complex` and others."""
    return _FLOATS + _INTEGERS + _COMPLEX + dtypes


def all_types_and_half() -> tuple[dtype, ...]:
    """`all_types` and float16."""
    return (*_FLOATS, *_INTEGERS, _dtypes.float16)
