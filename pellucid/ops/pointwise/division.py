"""Division: true, rounded, and its remainders."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...core.bind import OPERANDS, make_operators
from ...core.modes import state
from ...core.primitive import defop
from ...core.public import METHODS, public
from ...core.tensor import Tensor
from ...errors import OperationError
from .._rules import asked_for, mismatch, overloads, zero_gradient
from .._samples import POSITIVE, REAL, elementwise
from ._direct import write_directly
from .arith import Number, reciprocal
from .basic import underivable

div_op = defop(
    "div",
    "input other",
    advice=(
        "keep the denominator away from zero: add a small number to it, or skip the case where it is zero"
    ),
    forward="true_divide",
    vjp={
        "input": lambda F, g, other: g / F.conj(other),
        # divide twice, as the square may overflow or underflow
        "other": lambda F, g, input, other: -g * F.conj(input / other / other),
    },
    promote="float",
    elementwise=True,
    onnx="Div",
    samples=elementwise(REAL, POSITIVE, complex=True),
    numbers="wide",
    aten=lambda A, x, y: (
        A.div.Tensor(x, y) if hasattr(x, "dtype") else A.mul.Tensor(A.reciprocal(y), x)
    ),
)


METHODS["__truediv__"], METHODS["__rtruediv__"] = make_operators(div_op)


def _check_whole(input: Any, other: Any) -> None:
    kinds = [
        x.dtype.kind == "b" if hasattr(x, "dtype") else type(x) is bool for x in (input, other)
    ]
    if all(kinds):
        raise TypeError("ufunc not supported")
    for x in (input, other):
        if (x.dtype.kind in "cW") if hasattr(x, "dtype") else isinstance(x, complex):
            raise TypeError("ufunc not supported")


def _onnx_floor_divide(c: Any) -> Any:
    if c.dtype.kind in "iu":
        return c.emit("Div", c.emit("Sub", c[0], c.emit("Mod", *c.names)), c[1])
    return c.emit("Floor", c.emit("Div", *c.names))


floor_divide_op = defop(
    "floor_divide",
    "input other",
    grad_name="DivBackward2",
    forward="floor_divide",
    vjp={
        "input": zero_gradient,
        "other": lambda F, other_shape, other_dtype: zero_gradient(F, other_shape, other_dtype),
    },
    promote="common",
    elementwise=True,
    check=_check_whole,
    traits="steps",
    onnx=_onnx_floor_divide,
    packs="other input_for_other",
    samples=elementwise(REAL, POSITIVE),
    shows={"rounding_mode": lambda: "floor"},
)


def _onnx_trunc_divide(c: Any) -> Any:
    quotient = c.emit("Div", *c.names)
    return quotient if c.dtype.kind in "iu" else c.truncated(quotient)


trunc_divide_op = defop(
    "trunc_divide",
    "input other",
    forward="trunc_divide",
    vjp={
        "input": zero_gradient,
        "other": lambda F, other_shape, other_dtype: zero_gradient(F, other_shape, other_dtype),
    },
    promote="common",
    elementwise=True,
    grad_name="DivBackward2",
    check=_check_whole,
    traits="steps",
    title="div",
    onnx=_onnx_trunc_divide,
    packs="other input_for_other",
    samples=elementwise(REAL, POSITIVE),
    shows={"rounding_mode": lambda: "trunc"},
)


@public(names="div divide", methods="=", inplace="=", out=True)
def div(
    input: Tensor | Number, other: Tensor | Number, *, rounding_mode: str | None = None
) -> Tensor:
    """Divide element by element, with broadcasting: `input / other`.

    Args:
        input, other: tensors or numbers. Integers give floats, unless there is a rounding mode.
        rounding_mode: None for true division, "trunc" to round towards zero as C does, "floor" to
            round down as Python's `//` does. Default: None.

    Raises:
        RuntimeError: an integer is divided by zero with a rounding mode.

    >>> import pellucid as torch
    >>> torch.div(torch.tensor([-7, 7]), 2, rounding_mode="trunc")
    tensor([-3,  3])
    """
    if rounding_mode is None:
        return div_op.call(input, other)
    if rounding_mode == "floor":
        return floor_divide_op.call(input, other)
    if rounding_mode == "trunc":
        return trunc_divide_op.call(input, other)
    raise OperationError(
        f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
    )


@public(methods="=", inplace="true_divide_ __itruediv__ __idiv__", out=True)
def true_divide(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """`input / other`; integers give floats.

    >>> import pellucid as torch
    >>> torch.true_divide(torch.tensor([1.0, 2.0]), 2)
    tensor([0.5000, 1.0000])
    >>> torch.true_divide(torch.tensor([1, 2]), 2).dtype
    torch.float32
    """
    return div_op.call(input, other)


def _divided_by(self: Tensor, other: Any) -> Any:
    """Return `other / self` as PyTorch computes it: the reciprocal times the number, each rounded."""
    asked_for("reciprocal", self)
    if not isinstance(other, OPERANDS):
        return NotImplemented
    inverse = reciprocal(self)
    # Skip a product with 1, which changes nothing, unless it is observed or recorded.
    unseen = not (state.slow or inverse.requires_grad)
    return inverse if unseen and other.__class__ in (int, float) and other == 1 else inverse * other


METHODS["__div__"] = METHODS["__truediv__"]
METHODS["__rdiv__"] = METHODS["__rtruediv__"] = _divided_by


@public(methods="=", inplace="floor_divide_ __ifloordiv__", out=True)
def floor_divide(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """`input / other` rounded down.

    >>> import pellucid as torch
    >>> torch.floor_divide(torch.tensor([-7, 7]), 2)
    tensor([-4,  3])
    """
    return underivable(floor_divide_op.call(input, other), (input, other), "aten::floor_divide")


def _onnx_remainder(c: Any) -> Any:
    if c.dtype.kind in "iu":
        return c.emit("Mod", *c.names)  # has the sign of the divisor, as in Python
    whole = c.emit("Floor", c.emit("Div", *c.names))
    return c.emit("Sub", c[0], c.emit("Mul", whole, c[1]))


remainder_op = defop(
    "remainder",
    "input other",
    variant=overloads("RemainderBackward1", "RemainderBackward0"),
    forward="remainder",
    vjp={
        "input": lambda g: g,
        "other": lambda F, g, input, other: -g * F.floor_divide(input, other),
    },
    promote="common",
    elementwise=True,
    onnx=_onnx_remainder,
    samples=elementwise(REAL, POSITIVE),
    overload="remainder.Tensor",
)

fmod_op = defop(
    "fmod",
    "input other",
    variant=overloads("FmodBackward1", "FmodBackward0"),
    forward="fmod",
    vjp={
        "input": lambda g: g,
        "other": lambda F, g, input, other: -g * F.trunc_divide(input, other),
    },
    promote="common",
    elementwise=True,
    onnx=lambda c: c.emit("Mod", *c.names, fmod=1),
    samples=elementwise(REAL, POSITIVE),
    overload="fmod.Tensor",
)


@public(methods="=", inplace="remainder_ __imod__", out=True)
def remainder(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """The remainder of a division rounded down: the sign of `other`, as Python's `%`.

    >>> import pellucid as torch
    >>> torch.remainder(torch.tensor([-3.0, 3.0]), 2)
    tensor([1., 1.])
    """
    if not isinstance(other, Tensor) and not isinstance(input, Tensor):
        raise mismatch("remainder", input, other)
    return remainder_op.call(input, other)


@public(methods="=", inplace="=", out=True)
def fmod(input: Tensor, other: Tensor | Number) -> Tensor:
    """The remainder of a division rounded towards zero: the sign of `input`, as C's `fmod`.

    >>> import pellucid as torch
    >>> torch.fmod(torch.tensor([-3.0, 3.0]), 2)
    tensor([-1.,  1.])
    """
    if not isinstance(input, Tensor):
        raise mismatch("fmod", input, other)
    return fmod_op.call(input, other)


def _without_gradient(operator: Any) -> Any:
    """Return the operator `//` without a gradient, as in PyTorch. `div(rounding_mode="floor")` has
    one, of zeros.
    """

    @functools.wraps(operator)
    def divide(self: Tensor, other: Any) -> Any:
        result = operator(self, other)
        return (
            result
            if result is NotImplemented
            else underivable(result, (self, other), "aten::floor_divide")
        )

    return divide


METHODS["__floordiv__"], METHODS["__rfloordiv__"] = map(
    _without_gradient, make_operators(floor_divide_op)
)
METHODS["__mod__"], METHODS["__rmod__"] = make_operators(remainder_op, "mod")


write_directly("div_ divide_ true_divide_ __itruediv__ __idiv__", np.true_divide, div_op)
