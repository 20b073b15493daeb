"""ONNX files in the protobuf encoding, written without the `onnx` package.

Source: the field numbers of onnx.proto (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto) and
the encoding described at https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import ml_dtypes
import numpy as np

from pellucid.errors import OperationError, UnsupportedError

# TensorProto.DataType
DATA_TYPES = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float16": 10,
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
    "complex64": 14,
    "complex128": 15,
    "bfloat16": 16,
}
NUMPY_TYPES = {
    number: np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    for name, number in DATA_TYPES.items()
}
IR_VERSIONS = {13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10, 23: 11}
LIMIT = 2**31 - 1  # a protobuf message is shorter


def data_type(dtype: Any) -> int:
    """The number that ONNX has for a NumPy dtype."""
    number = DATA_TYPES.get(np.dtype(dtype).name)
    if number is None:
        raise UnsupportedError(
            f"onnx.export(): tensors of the dtype {np.dtype(dtype).name} cannot be stored"
        )
    return number


# ---- writing ---------------------------------------------------------------------------------
def varint(number: int) -> bytes:
    """An integer, seven bits a byte; negative ones as their 64-bit two's complement."""
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def integer(key: int, value: int) -> bytes:
    """A field that holds an integer."""
    return varint(key << 3) + varint(value)


def chunk(key: int, value: bytes | str) -> bytes:
    """A field that holds bytes, text or a message."""
    data = value.encode() if isinstance(value, str) else value
    return varint(key << 3 | 2) + varint(len(data)) + data


def real(key: int, value: float) -> bytes:
    """A field that holds a four-byte float."""
    return varint(key << 3 | 5) + struct.pack("<f", value)


def tensor_bytes(name: str, array: Any) -> bytes:
    """A TensorProto."""
    dims = b"".join(integer(1, n) for n in array.shape)
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    return dims + integer(2, data_type(array.dtype)) + chunk(8, name) + chunk(9, little.tobytes())


def attribute_bytes(name: str, value: Any) -> bytes:
    """An AttributeProto; its type follows from the Python value."""
    head = chunk(1, name)
    if isinstance(value, (bool, int, np.integer)):
        return head + integer(3, int(value)) + integer(20, 2)
    if isinstance(value, float):
        return head + real(2, value) + integer(20, 1)
    if isinstance(value, str):
        return head + chunk(4, value) + integer(20, 3)
    if isinstance(value, np.ndarray):
        return head + chunk(5, tensor_bytes("", value)) + integer(20, 4)
    if value and all(isinstance(x, str) for x in value):
        return head + b"".join(chunk(9, x) for x in value) + integer(20, 8)
    if all(isinstance(x, (int, np.integer)) for x in value):
        return head + b"".join(integer(8, int(x)) for x in value) + integer(20, 7)
    return head + b"".join(real(7, x) for x in value) + integer(20, 6)


def node_bytes(
    op: str, inputs: Iterable[str], outputs: Iterable[str], attributes: dict[str, Any], name: str
) -> bytes:
    """A NodeProto."""
    parts = (
        [chunk(1, x) for x in inputs]
        + [chunk(2, x) for x in outputs]
        + [chunk(3, name), chunk(4, op)]
    )
    return b"".join(
        parts + [chunk(5, attribute_bytes(key, value)) for key, value in attributes.items()]
    )


def value_bytes(name: str, dtype: Any, shape: Iterable[int | str]) -> bytes:
    """A ValueInfoProto; a dynamic size is a name."""
    dims = b"".join(chunk(1, chunk(2, n) if isinstance(n, str) else integer(1, n)) for n in shape)
    return chunk(1, name) + chunk(2, chunk(1, integer(1, data_type(dtype)) + chunk(2, dims)))


def model_bytes(
    name: str,
    nodes: list[bytes],
    initializers: list[bytes],
    inputs: list[bytes],
    outputs: list[bytes],
    opset: int,
    version: str,
) -> bytes:
    """A ModelProto.

    Raises:
        RuntimeError: more than 2 GiB, the limit of protobuf.
    """
    parts = [(1, nodes), (5, initializers), (11, inputs), (12, outputs)]
    if sum(len(x) + 16 for _, items in parts for x in items) > LIMIT:
        raise OperationError(
            "onnx.export(): the model is larger than 2 GiB, the limit of a file; use export_params=False"
        )
    graph = b"".join(chunk(key, x) for key, items in parts[:1] for x in items) + chunk(2, name)
    graph += b"".join(chunk(key, x) for key, items in parts[1:] for x in items)
    head = integer(1, IR_VERSIONS[opset]) + chunk(2, "pellucid") + chunk(3, version)
    return head + chunk(7, graph) + chunk(8, chunk(1, "") + integer(2, opset))
