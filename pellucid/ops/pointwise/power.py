"""Powers."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from ... import dtypes
from ...core.bind import NUMBERS, make_operators
from ...core.display.packing import before_write
from ...core.inplace import overwrite
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import METHODS, method, public
from ...core.tensor import Tensor
from ...errors import DtypeError, OperationError
from .._numbers import fitting
from .._rules import mismatch
from .._samples import POSITIVE, REAL, elementwise


def _is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex))


def _base_gradient(
    F: Any, g: Any, input: Any, other: Any, input_shape: Any, input_dtype: Any
) -> Any:
    if not _is_number(other):
        # With `where`, the slope at exponent 0 is 0 even if input ** -1 is infinite.
        return F.where(other == 0, 0, g * F.conj(other * F.pow(input, other - 1)))
    if other == 0:
        return F.full(shape=input_shape, value=0, dtype=input_dtype)
    if other == 2 and F.raw:  # otherwise input ** 1 is recorded, whose gradient is 0
        return g * F.conj(input * 2)
    power = other - 1
    # PyTorch takes no roots of float16: a tensor avoids the shortcut for plain numbers
    if input_dtype == np.float16:
        power = F.full(shape=(), value=power, dtype=np.dtype(np.float32))
    return g * F.conj(F.pow(input, power) * other)


def _exponent_gradient(F: Any, g: Any, input: Any, other: Any, out: Any, out_dtype: Any) -> Any:
    flat = _real(F, other) >= 0  # 0 ** other is constant where `other` is not negative
    if not _is_number(input):
        return F.where((input == 0) & flat, 0, g * F.conj(out * F.log(input)))
    if input == 0:
        return F.where(flat, 0, g * F.conj(out * -math.inf))
    slope: Any = (
        cmath.log(input)
        if isinstance(input, complex) or out_dtype.kind in "cW"
        else math.log(input)
        if input > 0
        else math.nan
    )
    return g * F.conj(out * slope)


def _real(F: Any, x: Any) -> Any:
    return x.real if _is_number(x) else F.real(x)


def _check_pow(input: Any, other: Any) -> None:
    if all(
        x.dtype.kind == "b" if hasattr(x, "dtype") else isinstance(x, bool) for x in (input, other)
    ):
        raise TypeError("ufunc not supported")


def _pow_call(plain: Any) -> Any:
    def call(input: Any, other: Any) -> Tensor:
        if (
            isinstance(other, int)
            and other < 0
            and isinstance(input, Tensor)
            and input.dtype.is_integral
        ):
            raise OperationError("Integers to negative integer powers are not allowed.")
        if (
            type(other) is int
            and isinstance(input, Tensor)
            and input.dtype.is_integral
            and input.dtype is not dtypes.bool_
        ):
            other = fitting(other, input.dtype)
        return plain(input, other)

    return call


def _pow_face(node: Any) -> Any:
    """Return PyTorch's name for the three overloads: a number as exponent, tensors, a number as
    base.
    """
    first, second = [need is not None for need in node.plan.needs]
    return f"PowBackward{1 if first and second else 0 if first else 2}", tuple(
        [k for k, is_tensor in enumerate((first, second)) if is_tensor]
    )


pow_op = defop(
    "pow",
    "input other",
    advice="keep the base above zero: `(x + 1e-8) ** p`",
    variant=_pow_face,
    forward="pow",
    vjp={"input": _base_gradient, "other": _exponent_gradient},
    promote="common",
    elementwise=True,
    onnx="Pow",
    check=_check_pow,
    numbers="given",
    samples=elementwise(POSITIVE, REAL, complex=True),
    call=_pow_call,
)
_pow = pow_op.call


@public(methods="=", inplace="pow_ __ipow__", out=True)
def pow(input: Tensor | float, exponent: Tensor | float) -> Tensor:
    """Raise to a power element by element, with broadcasting. Same as `input ** exponent`.

    Args:
        input, exponent: tensors or numbers, at least one of them a tensor.

    Raises:
        RuntimeError: an integer tensor to a negative integer power.

    >>> import pellucid as torch
    >>> torch.pow(torch.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    """
    if not isinstance(exponent, Tensor) and not (
        isinstance(input, Tensor) and isinstance(exponent, NUMBERS)
    ):
        raise mismatch("pow", input, exponent)
    return _pow(input, exponent)


_forward, _reflected = make_operators(pow_op)


def _power_operator(self: Tensor, other: Any) -> Tensor:
    if isinstance(other, int) and not 0 <= other < 128:
        return _pow(self, other)
    return _forward(self, other)


METHODS["__pow__"], METHODS["__rpow__"] = _power_operator, _reflected


@public(methods="=", out="given")
def float_power(input: Tensor | float, exponent: Tensor | float) -> Tensor:
    """`input ** exponent` in double precision.

    >>> import pellucid as torch
    >>> torch.float_power(torch.tensor([1, 2]), -1)
    tensor([1.0000, 0.5000], dtype=torch.float64)
    """
    if not isinstance(exponent, Tensor) and not isinstance(input, Tensor):
        raise mismatch("float_power", input, exponent)
    kind = dtypes.complex128 if _is_complex(input) or _is_complex(exponent) else dtypes.float64
    return _pow(_as(input, kind), _as(exponent, kind))


def _is_complex(x: Any) -> bool:
    return x.dtype.is_complex if isinstance(x, Tensor) else isinstance(x, complex)


def _as(x: Any, kind: dtypes.dtype) -> Any:
    if isinstance(x, Tensor):
        return x if x.dtype is kind else F.cast(x, dtype=kind.numpy)
    return complex(x) if kind.is_complex else float(x)


@method()
def float_power_(self: Tensor, exponent: Tensor | float) -> Tensor:
    """In-place `float_power`; the tensor must be double."""
    made_of = [
        x.dtype.is_complex if isinstance(x, Tensor) else isinstance(x, complex)
        for x in (self, exponent)
    ]
    wide = dtypes.complex128 if any(made_of) else dtypes.float64
    if self.dtype is not wide:
        raise DtypeError(
            f"the base given to float_power_ has dtype {self.dtype.scalar_type_name} but the operation's result requires dtype "
            f"{wide.scalar_type_name}"
        )
    result = before_write(float_power)(self, exponent)
    return overwrite(self, result, "float_power_")
