"""Addition, subtraction, multiplication; signs and absolute values, squares and reciprocals."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ... import dtypes
from ...core.bind import common_dtype, make_operators
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import FUNCTIONS, METHODS, public
from ...core.tape import titled
from ...core.tensor import FAST_TYPES, Tensor
from ...errors import DtypeError, OperationError, UnsupportedError
from ...ir.formula import Formula
from .._numbers import as_number, fitting
from .._overloads import former
from .._rules import overloads, require_tensor, zero_gradient
from .._samples import POSITIVE, REAL, elementwise
from ._direct import write_directly
from ._unary import unary

_FLOAT32 = np.dtype(np.float32)
Number = bool | int | float | complex

add_op = defop(
    "add",
    "input other",
    forward="add",
    vjp={"input": lambda g: g, "other": lambda g: g},
    jvp="linear",
    promote="common",
    elementwise=True,
    onnx="Add",
    samples=elementwise(REAL, REAL, complex=True),
    aten=lambda A, x, y: A.add.Tensor(x, y) if hasattr(x, "dtype") else A.add.Tensor(y, x),
)


def _scaled_sum(name: str, sign: int) -> Any:
    """Return the record of `input + sign * alpha * other`. Its node saves nothing, like that of
    `add`.
    """
    return defop(
        f"{name}_scaled",
        "input other alpha",
        formula=Formula(lambda m, x, y, alpha: x + y * alpha if sign > 0 else x - y * alpha),
        kept="alpha",
        vjp={"input": lambda g: g, "other": lambda F, g, alpha: g * F.conj(sign * alpha)},
        promote="common",
        elementwise=True,
        grad_name=name.capitalize(),
        title=name,
        onnx=lambda c: c.emit(name.capitalize(), c[0], c.emit("Mul", c[1], c[2])),
        samples=elementwise(REAL, REAL, REAL, complex=True),
        aten=lambda A, x, y, alpha: getattr(A, name).Tensor(x, y, alpha=alpha),
    )


add_scaled_op, sub_scaled_op = _scaled_sum("add", 1), _scaled_sum("sub", -1)


def _is_bool(x: Any) -> bool:
    return x.dtype.kind == "b" if hasattr(x, "dtype") else isinstance(x, bool)


def _check_sub(input: Any, other: Any) -> None:
    if _is_bool(input) and _is_bool(other):
        raise DtypeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator "
            "instead."
        )
    if _is_bool(input) or _is_bool(other):
        _refuse_bool()


def _refuse_bool() -> None:
    raise DtypeError(
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
        "`logical_not()` operator instead."
    )


sub_op = defop(
    "sub",
    "input other",
    advice="Inf minus Inf has no value: find what became Inf before",
    variant=overloads("SubBackward0", "RsubBackward1", at=0),
    forward="subtract",
    vjp={"input": lambda g: g, "other": lambda g: -g},
    jvp="linear",
    promote="common",
    elementwise=True,
    onnx="Sub",
    check=_check_sub,
    samples=elementwise(REAL, REAL, complex=True),
    aten=lambda A, x, y: A.sub.Tensor(x, y) if hasattr(x, "dtype") else A.rsub.Scalar(y, x),
)

mul_op = defop(
    "mul",
    "input other",
    advice=(
        "the factors are too large for this dtype, or Inf met zero: scale them down "
        "before multiplying"
    ),
    forward="multiply",
    vjp={
        "input": lambda F, g, other: F.mul(g, F.conj(other)),
        "other": lambda F, g, input: F.mul(g, F.conj(input)),
    },
    promote="common",
    elementwise=True,
    onnx="Mul",
    samples=elementwise(REAL, REAL, complex=True),
    numbers="wide",
    aten=lambda A, x, y: A.mul.Tensor(x, y) if hasattr(x, "dtype") else A.mul.Tensor(y, x),
)


def _check_neg(input: Any) -> None:
    if _is_bool(input):
        raise DtypeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
            "`logical_not()` operator instead."
        )


neg_op = unary(
    "neg negative",
    "negative",
    lambda g: -g,
    jvp="linear",
    promote=None,
    own_out=True,
    onnx="Neg",
    check=_check_neg,
    complex=True,
    doc="`-input`.",
    example="torch.neg(torch.tensor([1.0, -2.0]))",
    shows="tensor([-1.,  2.])",
)


def _rsub(self: Tensor, other: Tensor) -> Tensor:
    return titled(sub_op.call(other, self), "Rsub", of=(self, other), alpha=1)


for _name, _op in (("add", add_op), ("sub", sub_op), ("mul", mul_op)):
    METHODS[f"__{_name}__"], METHODS[f"__r{_name}__"] = make_operators(
        _op, commutes=_name != "sub", of_tensors=_rsub if _name == "sub" else None
    )
METHODS["__neg__"] = neg_op.call


def _add_scaled(op: Any, input: Any, other: Any, alpha: Number) -> Tensor:
    """Return `op(input, alpha * other)`. For two-byte floats alpha is rounded, and then the result."""
    if type(alpha) is float and type(input) in FAST_TYPES and type(other) in FAST_TYPES:
        kind = input._array.dtype
        if kind.char in "fd" and kind is other._array.dtype and alpha != 1:
            fitting(alpha, dtypes.BY_NUMPY[kind])
            return (sub_scaled_op if op is sub_op else add_scaled_op).call(input, other, alpha)
    kind = common_dtype([input, other])
    alpha = as_number(alpha, "sub" if op is sub_op else "add", "alpha")
    if op is sub_op:
        _check_sub(*(x._array if isinstance(x, Tensor) else x for x in (input, other)))
    if isinstance(alpha, bool) and kind.category != 0:
        raise OperationError("Boolean alpha only supported for Boolean results.")
    if kind.is_integral and not isinstance(alpha, int):
        raise OperationError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    if isinstance(alpha, complex) and not kind.is_complex:
        raise OperationError(
            "For non-complex input tensors, argument alpha must not be a complex number."
        )
    if kind.category and type(alpha) in (int, float, complex):  # not a traced number
        fitting(alpha, kind)
    if alpha == 1 or kind.name in dtypes.QUANTIZED:
        return op.call(input, other)
    if kind.is_floating_point and kind.itemsize == 2:
        wide = [_wide(x, kind) if isinstance(x, Tensor) else x for x in (input, other)]
        factor = float(np.asarray(alpha, kind.numpy))
        return F.cast(_sum(op, wide[0], wide[1], factor), dtype=kind.numpy)
    return _sum(op, input, other, alpha)


def _wide(x: Tensor, kind: Any) -> Any:
    """Return `x` as float32, after rounding it to `kind`."""
    rounded = x if x.dtype is kind else F.cast(x, dtype=kind.numpy)
    return F.cast(rounded, dtype=_FLOAT32)


def _sum(op: Any, input: Any, other: Any, alpha: Number) -> Tensor:
    if isinstance(other, Tensor) and not common_dtype([input, other]).is_integral:
        return (sub_scaled_op if op is sub_op else add_scaled_op).call(input, other, alpha)
    return op.call(input, _scaled(input, other, alpha))


def _scaled(input: Any, other: Any, alpha: Number) -> Any:
    """Return `alpha * other` in the dtype of the result."""
    kind = common_dtype([input, other])
    if kind.category == 0:
        alpha = bool(alpha)  # the product of booleans is a boolean
        if not isinstance(other, Tensor):
            return bool(other) and alpha
    if isinstance(other, Tensor):
        return F.mul(F.cast(other, dtype=kind.numpy) if other.dtype is not kind else other, alpha)
    return other * alpha


@public(methods="=", inplace="add_ __iadd__", out=True)
def add(input: Tensor | Number, other: Tensor | Number, *rest: Any, alpha: Number = 1) -> Tensor:
    """Add element by element, with broadcasting: `input + alpha * other`.

    Args:
        input: any shape and dtype.
        other: a tensor whose shape broadcasts with `input`, or a number.
        alpha: a factor for `other`. Default: 1.

    Raises:
        RuntimeError: the shapes do not broadcast.

    >>> import pellucid as torch
    >>> torch.add(torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0]), alpha=0.5)
    tensor([ 6., 12.])
    """
    if rest:
        return former(add, input, other, *rest, numbers=("alpha",), alpha=alpha)
    if alpha == 1 and type(alpha) is int:
        return add_op.call(input, other)
    return _add_scaled(add_op, input, other, alpha)


@public(methods="=", inplace="sub_ subtract_ __isub__", names="sub subtract", out=True)
def sub(input: Tensor | Number, other: Tensor | Number, *rest: Any, alpha: Number = 1) -> Tensor:
    """Subtract element by element, with broadcasting: `input - alpha * other`.

    Args:
        input, other: tensors or numbers.
        alpha: a factor for `other`. Default: 1.

    >>> import pellucid as torch
    >>> torch.sub(torch.tensor([1.0, 2.0]), 1)
    tensor([0., 1.])
    """
    if rest:
        return former(sub, input, other, *rest, numbers=("alpha",), alpha=alpha)
    if alpha == 1 and type(alpha) is int:
        return sub_op.call(input, other)
    return _add_scaled(sub_op, input, other, alpha)


@public()
def rsub(input: Tensor, other: Tensor | Number, alpha: Number = 1) -> Tensor:
    """`other - alpha * input`.

    >>> import pellucid as torch
    >>> torch.rsub(torch.tensor([1.0, 2.0]), 10)
    tensor([9., 8.])
    """
    require_tensor(input, "rsub")
    if alpha == 1 and type(alpha) is int:
        result = sub_op.call(other, input)
    else:
        result = _add_scaled(sub_op, other, input, alpha)
    if isinstance(other, Tensor):
        return titled(result, "Rsub", of=(input, other), alpha=alpha)
    return titled(result, "RsubBackward1", of=(input,), alpha=alpha)


@public(names="mul multiply", methods="=", inplace="mul_ multiply_ __imul__", out=True)
def mul(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """Multiply element by element, with broadcasting and type promotion. Same as `input * other`.

    Args:
        input, other: tensors or numbers.

    >>> import pellucid as torch
    >>> torch.mul(torch.tensor([1.0, 2.0]), 3)
    tensor([3., 6.])
    """
    return mul_op.call(input, other)


# ---- signs ------------------------------------------------------------------------------------
def _check_abs(x: Any) -> None:
    if x.dtype.kind == "b":
        raise UnsupportedError("\"abs_cpu\" not implemented for 'Bool'")


abs_op = unary(
    "abs absolute",
    "absolute",
    lambda F, g, input: g * F.sgn(input),
    promote=None,
    own_out=True,
    jvp=None,
    onnx="Abs",
    check=_check_abs,
    aval=lambda x: (x[0], x[1] if x[1].kind not in "cW" else np.dtype(f"f{x[1].itemsize // 2}")),
    complex=True,
    doc="Absolute value of each element; real for complex numbers.",
    example="torch.abs(torch.tensor([-1.5, 2.0]))",
    shows="tensor([1.5000, 2.0000])",
)
METHODS["__abs__"] = abs_op.call


def _of_reals(form: Any) -> Any:
    """Return the method `abs_`, which refuses complex tensors, as their absolute values have
    another dtype.
    """

    @functools.wraps(form)
    def in_place(self: Tensor) -> Tensor:
        if self.dtype.is_complex:
            raise OperationError("In-place abs is not supported for complex tensors.")
        return form(self)

    return in_place


for _name in ("abs_", "absolute_"):
    METHODS[_name] = FUNCTIONS["torch"][_name] = _of_reals(METHODS[_name])

sign = unary(
    "sign",
    "real_sign",
    zero_gradient,
    promote=None,
    own_out=True,
    traits="steps",
    onnx="Sign",
    doc="-1, 0 or 1 for negative, zero and positive elements.",
    example="torch.sign(torch.tensor([-1.5, 0.0, 2.0]))",
    shows="tensor([-1.,  0.,  1.])",
)


def _sgn_gradient(F: Any, g: Any, input: Any, out: Any) -> Any:
    if input.dtype.kind not in "cW" if hasattr(input.dtype, "kind") else not input.dtype.is_complex:
        return F.full(shape=input.shape, value=0, dtype=input.dtype if F.raw else input.dtype.numpy)
    size = F.abs(input)
    return F.where(size == 0, 0, (g - F.real(g * F.conj(out)) * out) / size)


def _onnx_sgn(c: Any) -> Any:
    if c.dtype.kind in "cW":
        raise c.refuse("of complex numbers")
    return c.emit("Sign", c[0])


sgn = unary(
    "sgn",
    "complex_sign",
    _sgn_gradient,
    promote=None,
    own_out=True,
    jvp=None,
    complex=True,
    traits="steps",
    onnx=_onnx_sgn,
    doc="As `sign`; for complex numbers the number divided by its absolute value, 0 for 0.",
    example="torch.sgn(torch.tensor([3 + 4j]))",
    shows="tensor([0.6000+0.8000j])",
)


def _positive(input: Tensor) -> Tensor:
    """The tensor itself.

    Raises:
        RuntimeError: a bool tensor.

    >>> import pellucid as torch
    >>> torch.positive(torch.tensor([-1, 2]))
    tensor([-1,  2])
    """
    if require_tensor(input, "positive").dtype.category == 0:
        raise DtypeError("The `+` operator, on a bool tensor is not supported.")
    return input


public(names="positive", methods="positive __pos__")(_positive)

square = unary(
    "square",
    "square",
    # input ** 1 stays connected in the graph, with second derivative 0
    lambda F, g, input: g * F.conj((input if F.raw else F.pow(input, 1)) * 2),
    promote=None,
    complex=True,
    onnx=lambda c: c.emit("Mul", c[0], c[0]),
    variant=lambda n: "PowBackward0",
    doc="`input * input`.",
    example="torch.square(torch.tensor([1.0, -3.0]))",
    shows="tensor([1., 9.])",
    aten=lambda A, x: A.pow.Tensor_Scalar(x, 2),
)

reciprocal = unary(
    "reciprocal",
    "reciprocal",
    lambda F, g, out: -g * F.conj(out * out),
    onnx="Reciprocal",
    domain=POSITIVE,
    complex=True,
    advice="keep the denominator away from zero: add a small number to it, or skip the case where it is zero",
    doc="`1 / input`.",
    example="torch.reciprocal(torch.tensor([2.0, 4.0]))",
    shows="tensor([0.5000, 0.2500])",
)


write_directly("add_ __iadd__", np.add, add_op, counts=True)
write_directly("sub_ subtract_ __isub__", np.subtract, sub_op, counts=True)
write_directly("mul_ multiply_ __imul__", np.multiply, mul_op, counts=True)
