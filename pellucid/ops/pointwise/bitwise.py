"""Operations on the bits of integers, and on bools; greatest common divisors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...core.bind import make_operators
from ...core.inplace import inplace_form
from ...core.public import METHODS
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError
from ._unary import binary, unary


def _whole(input: Any, other: Any) -> None:
    """Refuse shifts of bools, as PyTorch does. NumPy would shift them as bytes."""
    if all(
        x.dtype.kind == "b" if hasattr(x, "dtype") else isinstance(x, bool) for x in (input, other)
    ):
        raise TypeError("ufunc not supported")


def _onnx_bitwise(c: Any, word: str) -> Any:
    if c.dtype == np.bool_:
        return c.emit(word, *c.names)
    if c.graph.opset < 18:
        raise c.refuse("of integers needs opset 18")
    return c.emit("Bitwise" + word, *c.names)


for _name, _ufunc, _dunder, _doc, _example, _shows in (
    (
        "bitwise_and",
        "bitwise_and",
        "and",
        "Bits set in both; logical and of bools.",
        "3]), 5",
        "tensor([1])",
    ),
    (
        "bitwise_or",
        "bitwise_or",
        "or",
        "Bits set in one or both; logical or of bools.",
        "3]), 5",
        "tensor([7])",
    ),
    (
        "bitwise_xor",
        "bitwise_xor",
        "xor",
        "Bits set in exactly one; logical xor of bools.",
        "3]), 5",
        "tensor([6])",
    ),
    (
        "bitwise_left_shift",
        "left_shift",
        "lshift",
        "`input * 2 ** other` by moving bits.",
        "3]), 2",
        "tensor([12])",
    ),
    (
        "bitwise_right_shift",
        "right_shift",
        "rshift",
        "`input / 2 ** other` rounded down, by moving bits.",
        "13]), 2",
        "tensor([3])",
    ),
):
    _op = binary(
        _name,
        _ufunc,
        numbers="input other",
        doc=_doc,
        example=f"torch.{_name}(torch.tensor([{_example})",
        shows=_shows,
        domains=("signed", "int"),
        check=_whole if "shift" in _name else None,
        overload=f"{_name}.Tensor",
        onnx=None if "shift" in _name else partial(_onnx_bitwise, word=_dunder.capitalize()),
    )
    METHODS[f"__{_dunder}__"], METHODS[f"__r{_dunder}__"] = make_operators(_op, _dunder)
    METHODS[f"__i{_dunder}__"] = inplace_form(_op.call, f"__i{_dunder}__")

bitwise_not = unary(
    "bitwise_not",
    "invert",
    promote=None,
    own_out=True,
    domain="signed",
    onnx=lambda c: _onnx_bitwise(c, "Not"),
    doc="Each bit inverted; logical not of bools.",
    example="torch.bitwise_not(torch.tensor([0, 1]))",
    shows="tensor([-1, -2])",
)


def _invert(self: Any) -> Any:
    """`~x`, for whole numbers and bools only."""
    if isinstance(self, Tensor) and self._array.dtype.kind not in "iub":
        raise ArgumentTypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return bitwise_not.call(self)


METHODS["__invert__"] = _invert

gcd = binary(
    "gcd",
    "gcd",
    domains=("int", "int"),
    doc="Greatest common divisor; gcd(0, 0) is 0.",
    example="torch.gcd(torch.tensor([12]), torch.tensor([18]))",
    shows="tensor([6])",
)

lcm = binary(
    "lcm",
    "lcm",
    domains=("int", "int"),
    doc="Least common multiple; 0 when one of the two is 0.",
    example="torch.lcm(torch.tensor([4]), torch.tensor([6]))",
    shows="tensor([12])",
)
