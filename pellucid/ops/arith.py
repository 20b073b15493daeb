"""Addition, multiplication and their kin."""

from __future__ import annotations

from ..core.bind import make_operators
from ..core.primitive import TENSORS as F
from ..core.primitive import defop
from ..core.public import METHODS, public
from ..core.tensor import Tensor

Number = bool | int | float | complex

add_op = defop(
    "add",
    "input other",
    forward="add",
    vjp={"input": lambda g: g, "other": lambda g: g},
    jvp="linear",
    promote="common",
    elementwise=True,
    batch="elementwise",
    onnx="Add",
)

sub_op = defop(
    "sub",
    "input other",
    forward="subtract",
    vjp={"input": lambda g: g, "other": lambda g: -g},
    jvp="linear",
    promote="common",
    elementwise=True,
    batch="elementwise",
    onnx="Sub",
)

mul_op = defop(
    "mul",
    "input other",
    forward="multiply",
    vjp={"input": lambda F, g, other: g * F.conj(other), "other": lambda F, g, input: g * F.conj(input)},
    promote="common",
    elementwise=True,
    batch="elementwise",
    onnx="Mul",
)

div_op = defop(
    "div",
    "input other",
    forward="true_divide",
    vjp={
        "input": lambda F, g, other: g / F.conj(other),
        "other": lambda F, g, input, other: -g * F.conj(input / (other * other)),
    },
    promote="float",
    elementwise=True,
    batch="elementwise",
    onnx="Div",
)

neg_op = defop(
    "neg",
    "input",
    forward="negative",
    vjp={"input": lambda g: -g},
    jvp="linear",
    elementwise=True,
    batch="elementwise",
    onnx="Neg",
)

for _name, _op in (("add", add_op), ("sub", sub_op), ("mul", mul_op), ("truediv", div_op)):
    METHODS[f"__{_name}__"], METHODS[f"__r{_name}__"] = make_operators(_op)
METHODS["__neg__"] = neg_op.call


@public(methods="=", inplace="add_ __iadd__", out=True)
def add(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """`input + alpha * other`, broadcast and promoted.

    Args:
        input: any shape and dtype.
        other: a tensor whose shape broadcasts with `input`, or a number.
        alpha: the multiplier for `other`.

    Raises:
        RuntimeError: the shapes do not broadcast.

    >>> import pellucid as torch
    >>> torch.add(torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0]), alpha=0.5)
    tensor([ 6., 12.])
    """
    return add_op.call(input, other if alpha == 1 else F.mul(other, alpha))


@public(methods="=", inplace="sub_ subtract_ __isub__", names="sub subtract", out=True)
def sub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """`input - alpha * other`, broadcast and promoted.

    >>> import pellucid as torch
    >>> torch.sub(torch.tensor([1.0, 2.0]), 1)
    tensor([0., 1.])
    """
    return sub_op.call(input, other if alpha == 1 else F.mul(other, alpha))


@public(names="mul multiply", methods="=", inplace="mul_ multiply_ __imul__", out=True)
def mul(input: Tensor, other: Tensor | Number) -> Tensor:
    """`input * other`, broadcast and promoted.

    >>> import pellucid as torch
    >>> torch.mul(torch.tensor([1.0, 2.0]), 3)
    tensor([3., 6.])
    """
    return mul_op.call(input, other)
