"""What PyTorch's older exporter gave to functions that write ONNX nodes themselves
(`torch.onnx.symbolic_helper`).

This exporter takes its rules from the operations' records and calls no such function;
`register_custom_op_symbolic` keeps them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NoReturn

from ..errors import UnsupportedError


class TensorProtoDataType(enum.IntEnum):
    """The numbers that ONNX files use for element types.

    >>> import pellucid as torch
    >>> from pellucid.onnx import TensorProtoDataType
    >>> TensorProtoDataType.FLOAT.value, TensorProtoDataType.INT64.value
    (1, 7)
    """

    (
        UNDEFINED,
        FLOAT,
        UINT8,
        INT8,
        UINT16,
        INT16,
        INT32,
        INT64,
        STRING,
        BOOL,
        FLOAT16,
        DOUBLE,
        UINT32,
        UINT64,
        COMPLEX64,
    ) = range(15)
    COMPLEX128, BFLOAT16 = 15, 16


cast_pytorch_to_onnx = {
    "Byte": TensorProtoDataType.UINT8,
    "Char": TensorProtoDataType.INT8,
    "Double": TensorProtoDataType.DOUBLE,
    "Float": TensorProtoDataType.FLOAT,
    "Half": TensorProtoDataType.FLOAT16,
    "Int": TensorProtoDataType.INT32,
    "Long": TensorProtoDataType.INT64,
    "Short": TensorProtoDataType.INT16,
    "Bool": TensorProtoDataType.BOOL,
    "ComplexFloat": TensorProtoDataType.COMPLEX64,
    "ComplexDouble": TensorProtoDataType.COMPLEX128,
    "BFloat16": TensorProtoDataType.BFLOAT16,
    "Undefined": TensorProtoDataType.UNDEFINED,
}
symbolics: dict[tuple[str, int], Callable[..., Any]] = {}


def parse_args(*arg_descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that notes the kinds of a function's arguments ("v" a value, "i" an int, "f" a
    float ...).
    """

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        fn._arg_descriptors = arg_descriptors  # type: ignore[attr-defined]
        return fn

    return decorate


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int
) -> None:
    """Store a function that writes ONNX nodes for an operator. The exporter does not use it: it refuses such operators by name.

    >>> import pellucid as torch
    >>> def twice(g, x):
    ...     return g.op("Add", x, x)
    >>> torch.onnx.register_custom_op_symbolic("mylib::twice", twice, 18)
    >>> torch.onnx.unregister_custom_op_symbolic("mylib::twice", 18)
    """
    symbolics[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Forget a function that `register_custom_op_symbolic` stored.

    >>> import pellucid as torch
    >>> torch.onnx.register_custom_op_symbolic("mylib::same", lambda g, x: x, 18)
    >>> torch.onnx.unregister_custom_op_symbolic("mylib::same", 18)
    """
    symbolics.pop((symbolic_name, opset_version), None)


def refusing(module: str, name: str) -> Callable[..., Any]:
    """A function of an older exporter's module, refused when it is called."""
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.onnx.{module}' has no attribute {name!r}", name=name)

    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedError(
            f"torch.onnx.{module}.{name} is not supported: nodes are written by the operations' own rules"
        )

    refused.__name__ = refused.__qualname__ = name
    return refused
