"""Several operations at once: addcmul, addcdiv, lerp."""

from __future__ import annotations

from typing import Any

from ...arrays.formulas import with_few
from ...core.bind import common_dtype
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import public
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, DtypeError, OperationError, type_name
from ...ir.formula import Formula
from .._numbers import as_number, fitting
from .._overloads import former
from .._rules import require_tensor
from .._samples import POSITIVE, REAL, elementwise
from .arith import Number


def _onnx_addc(c: Any, op: str) -> Any:
    return c.emit("Add", c[0], c.emit("Mul", c.emit(op, c[1], c[2]), c.number(c.p["value"])))


addcmul_op = defop(
    "addcmul",
    "input tensor1 tensor2",
    forward=with_few("addcmul", lambda xp, x, a, b, *, value: xp.addcmul(x, a, b, value)),
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
    forward=with_few("addcdiv", lambda xp, x, a, b, *, value: xp.addcdiv(x, a, b, value)),
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
    """Convert the tensors to their common dtype."""
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
    """Check and convert the number by which the product is multiplied."""
    if type(value) is not int and type(value) is not float:
        value = as_number(value, name, "value")
    if isinstance(value, complex) and not (kind := common_dtype(tensors)).is_complex:
        raise OperationError(f"value cannot be converted to type {kind.c_name} without overflow")
    if tensors[0]._array.dtype.kind in "iu" and (kind := common_dtype(tensors)).is_integral:
        return fitting(value, kind)
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
    if not (
        isinstance(input, Tensor) and isinstance(tensor1, Tensor) and isinstance(tensor2, Tensor)
    ):
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
    span = end - start  # two branches, as in PyTorch
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


# The number is not used in type promotion: it is not rounded to the dtype of the tensors first.
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
    overload="lerp.Scalar",
)


@public(
    methods="=",
    inplace="=",
    out="tensors: found",
)
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
        if kind.char in "fd" and end._array.dtype is kind:  # fast path
            return lerp_number_op.call(input, end, weight=weight)
    if type(weight) is Tensor and isinstance(input, Tensor) and isinstance(end, Tensor):
        kind = input._array.dtype
        if kind.char in "fd" and end._array.dtype is kind is weight._array.dtype:
            return lerp_op.call(input, end, weight)
    for position, (name, value) in enumerate((("input", input), ("end", end)), start=1):
        require_tensor(value, "lerp", name, position)
    if end.dtype is not input.dtype:
        raise DtypeError(f"expected dtype {_c_name(input)} for `end` but got dtype {_c_name(end)}")
    if isinstance(weight, Tensor):
        if weight.dtype is not input.dtype and not weight._array.ndim and not weight._rg:
            weight = weight.item()  # a 0-d tensor without gradient counts as a number
        elif weight.dtype is not input.dtype:
            raise DtypeError(
                f"expected dtype {_c_name(input)} for `weight` but got dtype {_c_name(weight)}"
            )
    if not isinstance(weight, (Tensor, int, float, complex)):
        raise ArgumentTypeError(
            f"lerp(): argument 'weight' (position 3) must be Tensor, not {type_name(weight)}"
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
