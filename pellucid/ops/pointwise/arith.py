"""Addition, multiplication, division and their kin; signs and absolute values."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...core.bind import OPERANDS, common_dtype, make_operators
from ...core.modes import state
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import FUNCTIONS, METHODS, public
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, DtypeError, OperationError, UnsupportedError, foreign
from ...ir.formula import Formula
from .._numbers import as_number
from .._overloads import former
from .._rules import mismatch, overloads, require_tensor, zero_gradient
from .._samples import POSITIVE, REAL, elementwise
from ._direct import write_directly
from ._unary import unary
from .basic import underivable

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
    forward="multiply",
    vjp={
        "input": lambda F, g, other: g * F.conj(other),
        "other": lambda F, g, input: g * F.conj(input),
    },
    promote="common",
    elementwise=True,
    onnx="Mul",
    samples=elementwise(REAL, REAL, complex=True),
    wide_numbers=True,
    aten=lambda A, x, y: A.mul.Tensor(x, y) if hasattr(x, "dtype") else A.mul.Tensor(y, x),
)

div_op = defop(
    "div",
    "input other",
    forward="true_divide",
    vjp={
        "input": lambda F, g, other: g / F.conj(other),
        # the square may overflow or vanish
        "other": lambda F, g, input, other: -g * F.conj(input / other / other),
    },
    promote="float",
    elementwise=True,
    onnx="Div",
    samples=elementwise(REAL, POSITIVE, complex=True),
    wide_numbers=True,
    aten=lambda A, x, y: (
        A.div.Tensor(x, y) if hasattr(x, "dtype") else A.mul.Tensor(A.reciprocal(y), x)
    ),
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

for _name, _op in (("add", add_op), ("sub", sub_op), ("mul", mul_op), ("truediv", div_op)):
    METHODS[f"__{_name}__"], METHODS[f"__r{_name}__"] = make_operators(_op)
METHODS["__neg__"] = neg_op.call


def _add_scaled(op: Any, input: Any, other: Any, alpha: Number) -> Tensor:
    """`op(input, alpha * other)`; of two-byte floats alpha is rounded, and then the result."""
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
    if alpha == 1:
        return op.call(input, other)
    if kind.is_floating_point and kind.itemsize == 2:
        wide = [F.cast(x, dtype=_FLOAT32) if isinstance(x, Tensor) else x for x in (input, other)]
        factor = float(np.asarray(alpha, kind.numpy))
        return F.cast(op.call(wide[0], _scaled(wide[0], wide[1], factor)), dtype=kind.numpy)
    return op.call(input, _scaled(input, other, alpha))


def _scaled(input: Any, other: Any, alpha: Number) -> Any:
    """`alpha * other` in the type of the result."""
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
def rsub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """`other - alpha * input`.

    >>> import pellucid as torch
    >>> torch.rsub(torch.tensor([1.0, 2.0]), 10)
    tensor([9., 8.])
    """
    require_tensor(input, "rsub")
    if alpha == 1 and type(alpha) is int:
        return sub_op.call(other, input)
    return _add_scaled(sub_op, other, input, alpha)


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


# ---- division ---------------------------------------------------------------------------------
def _check_whole(input: Any, other: Any) -> None:
    kinds = [
        x.dtype.kind == "b" if hasattr(x, "dtype") else type(x) is bool for x in (input, other)
    ]
    if all(kinds):
        raise TypeError("ufunc not supported")
    for x in (input, other):
        if (x.dtype.kind == "c") if hasattr(x, "dtype") else isinstance(x, complex):
            raise TypeError("ufunc not supported")


def _onnx_floor_divide(c: Any) -> Any:
    if c.dtype.kind in "iu":
        return c.emit("Div", c.emit("Sub", c[0], c.emit("Mod", *c.names)), c[1])
    return c.emit("Floor", c.emit("Div", *c.names))


floor_divide_op = defop(
    "floor_divide",
    "input other",
    grad_name="DivBackward2",
    kernel="div_floor_cpu",
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
    samples=elementwise(REAL, POSITIVE),
)


def _onnx_trunc_divide(c: Any) -> Any:
    quotient = c.emit("Div", *c.names)
    return quotient if c.dtype.kind in "iu" else c.truncated(quotient)


trunc_divide_op = defop(
    "trunc_divide",
    "input other",
    kernel="div_trunc_cpu",
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
    samples=elementwise(REAL, POSITIVE),
)


@public(names="div divide", methods="=", inplace="=", out=True)
def div(
    input: Tensor | Number, other: Tensor | Number, *, rounding_mode: str | None = None
) -> Tensor:
    """Divide element by element, with broadcasting: `input / other`.

    Args:
        input, other: tensors or numbers. Integers give floats, unless there is a rounding mode.
        rounding_mode: None for true division, "trunc" to round towards zero as C does, "floor" to
            round
            down as Python's `//` does. Default: None.

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
    >>> torch.true_divide(torch.tensor([1, 2]), 2)
    tensor([0.5000, 1.0000])
    """
    return div_op.call(input, other)


def _divided_by(self: Tensor, other: Any) -> Any:
    """`other / self`: the reciprocal times the number, each rounded, as PyTorch computes it."""
    if not isinstance(self, Tensor):
        raise foreign("__rtruediv__", self)
    if not isinstance(other, OPERANDS):
        return NotImplemented
    inverse = reciprocal(self)
    # A product with 1 changes nothing, but whoever watches or records is told of it.
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
        return c.emit("Mod", *c.names)  # the sign of the divisor, as Python's
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
    """`//`, which has no gradient in PyTorch; `div(rounding_mode="floor")` has one, of zeros."""

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
    aval=lambda x: (x[0], x[1] if x[1].kind != "c" else x[1].type(0).real.dtype),
    complex=True,
    doc="Absolute value of each element; real for complex numbers.",
    example="torch.abs(torch.tensor([-1.5, 2.0]))",
    shows="tensor([1.5000, 2.0000])",
)
METHODS["__abs__"] = abs_op.call


def _of_reals(form: Any) -> Any:
    """`abs_`: of complex numbers the result has another dtype."""

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
    if input.dtype.kind != "c" if hasattr(input.dtype, "kind") else not input.dtype.is_complex:
        return F.full(shape=input.shape, value=0, dtype=input.dtype if F.raw else input.dtype.numpy)
    size = F.abs(input)
    return F.where(size == 0, 0, (g - F.real(g * F.conj(out)) * out) / size)


def _onnx_sgn(c: Any) -> Any:
    if c.dtype.kind == "c":
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
    """
    if require_tensor(input, "positive").dtype.category == 0:
        raise DtypeError("The `+` operator, on a bool tensor is not supported.")
    return input


public(names="positive", methods="positive __pos__")(_positive)

square = unary(
    "square",
    "square",
    lambda F, g, input: g * F.conj(input * 2),
    promote=None,
    complex=True,
    onnx=lambda c: c.emit("Mul", c[0], c[0]),
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
    doc="`1 / input`.",
    example="torch.reciprocal(torch.tensor([2.0, 4.0]))",
    shows="tensor([0.5000, 0.2500])",
)


# ---- several at once --------------------------------------------------------------------------
def _onnx_addc(c: Any, op: str) -> Any:
    return c.emit("Add", c[0], c.emit("Mul", c.emit(op, c[1], c[2]), c.number(c.p["value"])))


addcmul_op = defop(
    "addcmul",
    "input tensor1 tensor2",
    forward=lambda xp, x, a, b, *, value: xp.addcmul(x, a, b, value),
    formula=Formula(
        lambda m, x, a, b, *, value: x + (a * b if value == 1 else a * b * value), "fhi"
    ),
    vjp={
        "input": lambda g: g,
        "tensor1": lambda F, g, tensor2, value: g * F.conj(tensor2 * value),
        "tensor2": lambda F, g, tensor1, value: g * F.conj(tensor1 * value),
    },
    elementwise=True,
    onnx=lambda c: _onnx_addc(c, "Mul"),
    samples=elementwise(REAL, REAL, REAL, params=({"value": 1}, {"value": -0.5}), complex=True),
)

addcdiv_op = defop(
    "addcdiv",
    "input tensor1 tensor2",
    forward=lambda xp, x, a, b, *, value: xp.addcdiv(x, a, b, value),
    formula=Formula(lambda m, x, a, b, *, value: x + (a / b if value == 1 else a / b * value)),
    vjp={
        "input": lambda g: g,
        "tensor1": lambda F, g, tensor2, value: g * F.conj(value / tensor2),
        "tensor2": lambda F, g, tensor1, tensor2, value: (
            -g * F.conj(value * tensor1 / (tensor2 * tensor2))
        ),
    },
    elementwise=True,
    onnx=lambda c: _onnx_addc(c, "Div"),
    samples=elementwise(REAL, REAL, POSITIVE, params=({"value": 1}, {"value": -0.5}), complex=True),
)


def _common(*tensors: Tensor) -> Any:
    """The tensors in their common dtype."""
    kind = tensors[0]._array.dtype
    for t in tensors:
        if t._array.dtype is not kind:
            break
    else:
        return tensors
    target = common_dtype(tensors).numpy
    return [t if t._array.dtype == target else F.cast(t, dtype=target) for t in tensors]


def _three(name: str, input: Tensor, tensor1: Tensor, tensor2: Tensor) -> None:
    for position, (argument, x) in enumerate(
        (("input", input), ("tensor1", tensor1), ("tensor2", tensor2)), start=1
    ):
        require_tensor(x, name, argument, position)


def _multiplier(name: str, value: Any, *tensors: Tensor) -> Any:
    """The number that the product is multiplied by."""
    value = as_number(value, name, "value")
    if isinstance(value, complex) and not (kind := common_dtype(tensors)).is_complex:
        raise OperationError(f"value cannot be converted to type {kind.c_name} without overflow")
    return value


@public(methods="=", inplace="=", out=True)
def addcmul(
    input: Tensor, tensor1: Tensor, tensor2: Tensor, *rest: Any, value: Number = 1
) -> Tensor:
    """`input + value * tensor1 * tensor2`, broadcast and promoted.

    >>> import pellucid as torch
    >>> torch.addcmul(torch.ones(2), torch.ones(2), torch.tensor([1.0, 2.0]), value=0.5)
    tensor([1.5000, 2.0000])
    """
    if rest:
        return former(addcmul, input, tensor1, tensor2, *rest, numbers=("value",), value=value)
    if not (
        isinstance(input, Tensor) and isinstance(tensor1, Tensor) and isinstance(tensor2, Tensor)
    ):
        _three("addcmul", input, tensor1, tensor2)
    value = _multiplier("addcmul", value, input, tensor1, tensor2)
    if (
        isinstance(value, float)
        and input._array.dtype.kind not in "fc"
        and common_dtype([input, tensor1, tensor2]).is_integral
    ):
        value = int(value)
    return addcmul_op.call(*_common(input, tensor1, tensor2), value=value)


@public(methods="=", inplace="=", out=True)
def addcdiv(
    input: Tensor, tensor1: Tensor, tensor2: Tensor, *rest: Any, value: Number = 1
) -> Tensor:
    """`input + value * tensor1 / tensor2`, broadcast and promoted.

    >>> import pellucid as torch
    >>> torch.addcdiv(torch.ones(2), torch.ones(2), torch.tensor([1.0, 2.0]), value=0.5)
    tensor([1.5000, 1.2500])
    """
    if rest:
        return former(addcdiv, input, tensor1, tensor2, *rest, numbers=("value",), value=value)
    _three("addcdiv", input, tensor1, tensor2)
    if tensor1.dtype.is_integral and tensor2.dtype.is_integral:
        raise OperationError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
            "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
            "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
            "tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * "
            "tensor1 / tensor2), for all dtypes."
        )
    return addcdiv_op.call(
        *_common(input, tensor1, tensor2),
        value=_multiplier("addcdiv", value, input, tensor1, tensor2),
    )


def _onnx_lerp(c: Any, weight: str) -> Any:
    return c.emit("Add", c[0], c.emit("Mul", weight, c.emit("Sub", c[1], c[0])))


def _lerp(m: Any, start: Any, end: Any, weight: Any) -> Any:
    span = end - start  # as PyTorch's two branches
    return m.where(m.abs(weight) < 0.5, start + weight * span, end - span * (1 - weight))


def _lerp_number(m: Any, start: Any, end: Any, *, weight: Any) -> Any:
    span = end - start
    return start + weight * span if abs(weight) < 0.5 else end - span * (1 - weight)


lerp_op = defop(
    "lerp",
    "input end weight",
    grad_name="LerpBackward1",
    formula=Formula(_lerp),
    vjp={
        "input": lambda F, g, weight: g * F.conj(1 - weight),
        "end": lambda F, g, weight: g * F.conj(weight),
        "weight": lambda F, g, input, end: g * F.conj(end - input),
    },
    elementwise=True,
    onnx=lambda c: _onnx_lerp(c, c[2]),
    samples=elementwise(REAL, REAL, REAL, complex=True),
)


# The number is kept out of the promotion: it is not rounded to the tensors' dtype first.
lerp_number_op = defop(
    "lerp_number",
    "input end",
    forward=lambda xp, start, end, *, weight: xp.lerp(start, end, weight),
    formula=Formula(_lerp_number),
    vjp={
        "input": lambda F, g, weight: g * F.conj(1 - weight),
        "end": lambda F, g, weight: g * F.conj(weight),
    },
    elementwise=True,
    grad_name="Lerp",
    title="lerp",
    onnx=lambda c: _onnx_lerp(c, c.number(c.p["weight"])),
    samples=elementwise(REAL, REAL, params=({"weight": 0.3}, {"weight": 0.7}), complex=True),
)


@public(methods="=", inplace="=", out=True)
def lerp(input: Tensor, end: Tensor, weight: Tensor | float) -> Tensor:
    """Linear interpolation, `input + weight * (end - input)`.

    Args:
        input: the result where the weight is 0.
        end: the result where the weight is 1.
        weight: a number, or a tensor that broadcasts.

    >>> import pellucid as torch
    >>> torch.lerp(torch.tensor([0.0]), torch.tensor([10.0]), 0.25)
    tensor([2.5000])
    """
    if type(weight) is float and isinstance(input, Tensor) and isinstance(end, Tensor):
        kind = input._array.dtype
        if kind.char in "fd" and end._array.dtype is kind:  # the everyday call
            return lerp_number_op.call(input, end, weight=weight)
    for position, (name, value) in enumerate((("input", input), ("end", end)), start=1):
        require_tensor(value, "lerp", name, position)
    if end.dtype is not input.dtype:
        raise DtypeError(f"expected dtype {_c_name(input)} for `end` but got dtype {_c_name(end)}")
    if isinstance(weight, Tensor):
        if weight.dtype is not input.dtype:
            raise DtypeError(
                f"expected dtype {_c_name(input)} for `weight` but got dtype {_c_name(weight)}"
            )
    elif not isinstance(weight, (int, float, complex)):
        raise ArgumentTypeError(
            f"lerp(): argument 'weight' (position 3) must be Tensor, not {type(weight).__name__}"
        )
    if input.dtype.is_integral:
        raise NotImplementedError(
            f"\"lerp_kernel_scalar\" not implemented for '{input.dtype.scalar_type_name}'"
        )
    return (
        lerp_op.call(input, end, weight)
        if isinstance(weight, Tensor)
        else lerp_number_op.call(input, end, weight=weight)
    )


def _c_name(x: Tensor) -> str:
    return x.dtype.c_name


write_directly("add_ __iadd__", np.add)
write_directly("sub_ subtract_ __isub__", np.subtract)
write_directly("mul_ multiply_ __imul__", np.multiply)
write_directly("div_ divide_ true_divide_ __itruediv__ __idiv__", np.true_divide)
