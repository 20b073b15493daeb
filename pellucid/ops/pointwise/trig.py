"""Trigonometric and hyperbolic functions, their inverses, and angles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ...core.display.refusals import NO_TANGENT
from ...core.modes import local, no_grad, state
from ...core.primitive import PRIMITIVES
from ...core.public import public
from ...core.tensor import Tensor
from ...errors import OperationError, UnsupportedError
from ...ir.formula import Formula
from .._rules import fused_gradient
from .._samples import POSITIVE, REAL, UNIT
from ._unary import binary, unary
from .basic import underivable

_INSIDE = "keep the argument inside (-1, 1): `x.clamp(-1 + 1e-6, 1 - 1e-6)`"

sin = unary(
    "sin",
    "sin",
    lambda F, g, input: g * F.conj(F.cos(input)),
    complex=True,
    doc="Sine of each element, in radians.",
    example="torch.sin(torch.tensor([0.0, 1.0]))",
    shows="tensor([0.0000, 0.8415])",
    onnx="Sin",
)

cos = unary(
    "cos",
    "cos",
    lambda F, g, input: -g * F.conj(F.sin(input)),
    complex=True,
    doc="Cosine of each element, in radians.",
    example="torch.cos(torch.tensor([0.0, 1.0]))",
    shows="tensor([1.0000, 0.5403])",
    onnx="Cos",
)

tan = unary(
    "tan",
    "tan",
    lambda F, g, out: g * F.conj(1 + out * out),
    domain=(-1.2, 1.2),
    complex=True,
    doc="Tangent of each element, in radians.",
    example="torch.tan(torch.tensor([0.0, 1.0]))",
    shows="tensor([0.0000, 1.5574])",
    onnx="Tan",
)

asin = unary(
    "asin arcsin",
    "arcsin",
    lambda F, g, input: g * F.conj(F.rsqrt(1 - input * input)),
    domain=UNIT,
    complex=True,
    advice=_INSIDE,
    doc="Angle in [-pi/2, pi/2] whose sine is the element; NaN outside [-1, 1].",
    example="torch.asin(torch.tensor([0.0, 1.0]))",
    shows="tensor([0.0000, 1.5708])",
    onnx="Asin",
)

acos = unary(
    "acos arccos",
    "arccos",
    lambda F, g, input: -g * F.conj(F.rsqrt(1 - input * input)),
    domain=UNIT,
    complex=True,
    advice=_INSIDE,
    doc="Angle in [0, pi] whose cosine is the element; NaN outside [-1, 1].",
    example="torch.acos(torch.tensor([0.0, 1.0]))",
    shows="tensor([1.5708, 0.0000])",
    onnx="Acos",
)

atan = unary(
    "atan arctan",
    "arctan",
    lambda F, g, input: g / F.conj(input * input + 1),
    complex=True,
    traits="saturates",
    doc="Angle in (-pi/2, pi/2) whose tangent is the element.",
    example="torch.atan(torch.tensor([0.0, 1.0]))",
    shows="tensor([0.0000, 0.7854])",
    onnx="Atan",
)

sinh = unary(
    "sinh",
    "sinh",
    lambda F, g, input: g * F.conj(F.cosh(input)),
    complex=True,
    doc="Hyperbolic sine of each element.",
    example="torch.sinh(torch.tensor([0.0, 1.0]))",
    shows="tensor([0.0000, 1.1752])",
    onnx="Sinh",
)

cosh = unary(
    "cosh",
    "cosh",
    lambda F, g, input: g * F.conj(F.sinh(input)),
    complex=True,
    doc="Hyperbolic cosine of each element.",
    example="torch.cosh(torch.tensor([0.0, 1.0]))",
    shows="tensor([1.0000, 1.5431])",
    onnx="Cosh",
)


tanh = unary(
    "tanh",
    "tanh",
    fused_gradient("tanh", lambda F, g, out: g * F.conj(1 - out * out), "out"),
    complex=True,
    traits="saturates",
    doc="Hyperbolic tangent of each element.",
    example="torch.tanh(torch.tensor([0.0, 1.0]))",
    shows="tensor([0.0000, 0.7616])",
    onnx="Tanh",
)

public(namespace="nn.functional", names="tanh")(tanh.call)


def _written(name: str) -> Callable[[Tensor], Tensor]:
    """Return a function that computes the result of an in-place method, which has no derivative in
    PyTorch.
    """

    def written(input: Tensor) -> Tensor:
        if state.slow and (input._x or {}).get("tangents"):
            raise UnsupportedError(NO_TANGENT.format(f"{name}_"))
        call: Any = PRIMITIVES[name].call
        if not (local.grad and input._rg):
            return cast(Tensor, call(input))
        with no_grad():
            made = call(input)
        return cast(Tensor, underivable(made, (input,), f"inplace version of {name}"))

    return written


asinh = unary(
    "asinh arcsinh",
    "arcsinh",
    lambda F, g, input: g * F.conj(F.rsqrt(input * input + 1)),
    complex=True,
    doc="Inverse hyperbolic sine of each element.",
    example="torch.asinh(torch.tensor([0.0, 1.0]))",
    shows="tensor([0.0000, 0.8814])",
    onnx="Asinh",
    written=_written("asinh"),
)

acosh = unary(
    "acosh arccosh",
    "arccosh",
    lambda F, g, input: (
        g
        * (
            F.conj(F.rsqrt(input - 1) * F.rsqrt(input + 1))
            if _complex(input)
            else F.rsqrt(input * input - 1)
        )
    ),
    domain=(1.2, 3.0),
    complex=True,
    doc="Inverse hyperbolic cosine of each element; NaN below 1.",
    example="torch.acosh(torch.tensor([1.0, 2.0]))",
    shows="tensor([0.0000, 1.3170])",
    onnx="Acosh",
    written=_written("acosh"),
)

atanh = unary(
    "atanh arctanh",
    "arctanh",
    lambda F, g, input: g / F.conj(1 - input * input),
    domain=UNIT,
    complex=True,
    advice=_INSIDE,
    doc="Inverse hyperbolic tangent of each element; NaN outside [-1, 1].",
    example="torch.atanh(torch.tensor([0.0, 0.5]))",
    shows="tensor([0.0000, 0.5493])",
    onnx="Atanh",
    written=_written("atanh"),
)


def _complex(x: Any) -> bool:
    return x.dtype.kind in "cW" if isinstance(x.dtype, np.dtype) else bool(x.dtype.is_complex)


def _atan2_grad(F: Any, g: Any, top: Any, input: Any, other: Any) -> Any:
    # The gradient at (0, 0) is defined as 0.
    size = input * input + other * other
    return g * top * F.where(size == 0, 0.0, 1 / F.where(size == 0, 1.0, size))


def _onnx_atan2(c: Any) -> Any:
    """Translate to the arc tangent of the quotient, moved to the right quadrant. At (0, 0) it is 0."""
    y, x = c[0], c[1]
    zero = c.number(0)
    both = c.emit("And", c.emit("Equal", y, zero), c.emit("Equal", x, zero))
    base = c.emit("Atan", c.emit("Div", y, c.emit("Where", both, c.number(1), x)))
    half = c.emit("Where", c.negative(y), c.number(-math.pi), c.number(math.pi))
    return c.emit("Where", c.emit("Less", x, zero), c.emit("Add", base, half), base)


atan2 = binary(
    "atan2 arctan2",
    "arctan2",
    {
        "input": lambda F, g, input, other: _atan2_grad(F, g, other, input, other),
        "other": lambda F, g, input, other: _atan2_grad(F, -g, input, input, other),
    },
    promote="float",
    domains=(REAL, POSITIVE),
    onnx=_onnx_atan2,
    doc="Angle in [-pi, pi] of the point (other, input): y comes first.",
    example="torch.atan2(torch.tensor([1.0, 1.0]), torch.tensor([1.0, -1.0]))",
    shows="tensor([0.7854, 2.3562])",
)

hypot = binary(
    "hypot",
    "hypot",
    {
        "input": lambda g, input, out: g * (input / out),
        "other": lambda g, other, out: g * (other / out),
    },
    domains=(POSITIVE, POSITIVE),
    onnx=lambda c: c.emit(
        "Sqrt", c.emit("Add", c.emit("Mul", c[0], c[0]), c.emit("Mul", c[1], c[1]))
    ),
    doc="Length of the hypotenuse: `sqrt(input ** 2 + other ** 2)`, without overflow.",
    example="torch.hypot(torch.tensor([3.0]), torch.tensor([4.0]))",
    shows="tensor([5.])",
)


def _real_angles(name: str) -> Any:
    def check(x: Any) -> None:
        if x.dtype.kind in "cW":
            raise OperationError(f"{name} is not supported for complex tensors.")

    return check


deg2rad = unary(
    "deg2rad",
    Formula(lambda m, x: x * (math.pi / 180)),
    lambda g: g * (math.pi / 180),
    jvp="linear",
    onnx=lambda c: c.emit("Mul", c[0], c.number(math.pi / 180)),
    grad_name="Deg2Rad",
    check=_real_angles("deg2rad"),
    doc="Degrees to radians.",
    example="torch.deg2rad(torch.tensor([180.0, 90.0]))",
    shows="tensor([3.1416, 1.5708])",
)

rad2deg = unary(
    "rad2deg",
    Formula(lambda m, x: x * (180 / math.pi)),
    lambda g: g * (180 / math.pi),
    jvp="linear",
    onnx=lambda c: c.emit("Mul", c[0], c.number(180 / math.pi)),
    grad_name="Rad2Deg",
    check=_real_angles("rad2deg"),
    doc="Radians to degrees.",
    example="torch.rad2deg(torch.tensor([3.1416, 1.5708]))",
    shows="tensor([180.0004,  90.0002])",
)


def _sinc(m: Any, x: Any) -> Any:
    turns = x * math.pi
    return m.where(m.equal(turns, 0), 1, m.sin(turns) / m.where(m.equal(turns, 0), 1, turns))


def _sinc_grad(F: Any, g: Any, input: Any) -> Any:
    turns = input * math.pi
    slope = (F.cos(turns) * turns - F.sin(turns)) / (turns * input)
    # The difference cancels near 0. There, the first term of the series, -pi^2 x / 3, is exact and
    # has the right derivative.
    return g * F.conj(F.where(input == 0, input * (-math.pi * math.pi / 3), slope))


sinc = unary(
    "sinc",
    Formula(_sinc),
    _sinc_grad,
    domain=POSITIVE,
    complex=True,
    doc="`sin(pi x) / (pi x)`, and 1 at 0.",
    example="torch.sinc(torch.tensor([0.0, 0.5]))",
    shows="tensor([1.0000, 0.6366])",
    namespace="torch special",
)
