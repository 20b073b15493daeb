"""ONNX files read without the `onnx` package: protobuf messages, tensors in all their encodings,
external data.

Nothing is allocated for what a file merely announces: a tensor's shape must agree with the bytes
that are there.

Source: the field numbers of onnx.proto (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto) and
the encoding described at https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

import math
import os
import struct
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np

from pellucid.errors import OperationError, UnsupportedError

from .wire import DATA_TYPES

NUMPY_TYPES = {
    number: np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    for name, number in DATA_TYPES.items()
}
_SMALL = {
    17: "float8_e4m3fn",
    18: "float8_e4m3fnuz",
    19: "float8_e5m2",
    20: "float8_e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4_e2m1fn",
    24: "float8_e8m0fnu",
    25: "uint2",
    26: "int2",
}
NUMPY_TYPES.update({n: np.dtype(getattr(ml_dtypes, _SMALL[n])) for n in (17, 19)})
STRING = 8
DEPTH = 64  # messages inside each other: subgraphs of subgraphs


def damaged(why: str) -> Exception:
    """The error for bytes that are no complete ONNX file."""
    return OperationError(
        f"onnx: the file is damaged or cut short, or is not an ONNX model ({why})"
    )


# ---- messages --------------------------------------------------------------------------------
# name -> {field number: (field name, kind, whether it is repeated)}; kinds are int, float, double, str, bytes or a message.
SCHEMA: dict[str, dict[int, tuple[str, str, bool]]] = {}


def _message(name: str, /, **fields: str) -> None:
    """Register a message; a field is described as "number kind" with a star for repeated ones."""
    table = SCHEMA[name] = {}
    for key, text in fields.items():
        number, kind = text.split()
        table[int(number)] = (key, kind.rstrip("*"), kind.endswith("*"))


_message(
    "Model",
    ir_version="1 int",
    producer_name="2 str",
    producer_version="3 str",
    domain="4 str",
    graph="7 Graph",
    opset_import="8 OperatorSetId*",
    metadata_props="14 Entry*",
    functions="25 Function*",
)
_message("Entry", key="1 str", value="2 str")
_message("OperatorSetId", domain="1 str", version="2 int")
_message(
    "Graph",
    node="1 Node*",
    name="2 str",
    initializer="5 Tensor*",
    input="11 ValueInfo*",
    output="12 ValueInfo*",
    sparse_initializer="15 SparseTensor*",
)
_message(
    "Node",
    input="1 str*",
    output="2 str*",
    name="3 str",
    op_type="4 str",
    attribute="5 Attribute*",
    domain="7 str",
)
_message(
    "Attribute",
    name="1 str",
    f="2 float",
    i="3 int",
    s="4 bytes",
    t="5 Tensor",
    g="6 Graph",
    floats="7 float*",
    ints="8 int*",
    strings="9 bytes*",
    tensors="10 Tensor*",
    graphs="11 Graph*",
    tp="14 Type",
    type="20 int",
    ref_attr_name="21 str",
    sparse_tensor="22 SparseTensor",
)
_message(
    "Tensor",
    dims="1 int*",
    data_type="2 int",
    segment="3 bytes",
    float_data="4 float*",
    int32_data="5 int*",
    string_data="6 bytes*",
    int64_data="7 int*",
    name="8 str",
    raw_data="9 bytes",
    double_data="10 double*",
    uint64_data="11 int*",
    external_data="13 Entry*",
    data_location="14 int",
)
_message("SparseTensor", values="1 Tensor", indices="2 Tensor", dims="3 int*")
_message("ValueInfo", name="1 str", type="2 Type")
_message("Type", tensor_type="1 TensorType", sequence_type="4 Inner", optional_type="9 Inner")
_message("Inner", elem_type="1 Type")
_message("TensorType", elem_type="1 int", shape="2 Shape")
_message("Shape", dim="1 Dimension*")
_message("Dimension", dim_value="1 int", dim_param="2 str")
_message(
    "Function",
    name="1 str",
    input="4 str*",
    output="5 str*",
    attribute="6 str*",
    node="7 Node*",
    opset_import="9 OperatorSetId*",
    domain="10 str",
    attribute_proto="11 Attribute*",
    overload="13 str",
)

_FIXED = {"float": ("<f", 4, 5, np.dtype("<f4")), "double": ("<d", 8, 1, np.dtype("<f8"))}


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    end = len(data)
    while True:
        if at >= end or shift > 63:
            raise damaged("an integer does not end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= (1 << 64) - 1
            return (value - (1 << 64) if value >> 63 else value), at
        shift += 7


def _packed_integers(data: memoryview) -> Any:
    """The integers of a packed field, all at once."""
    raw = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(raw < 0x80)
    if not len(raw) or not len(ends) or ends[-1] != len(raw) - 1:
        if len(raw):
            raise damaged("an integer does not end")
        return np.zeros(0, np.int64)
    starts = np.concatenate([[0], ends[:-1] + 1])
    if (ends - starts).max() > 9:
        raise damaged("an integer does not end")
    out = np.zeros(len(ends), np.uint64)
    for k in range(int((ends - starts).max()) + 1):
        here = ends - starts >= k
        out[here] |= (raw[starts[here] + k] & np.uint64(0x7F)).astype(np.uint64) << np.uint64(7 * k)
    return out.view(np.int64)


def _one(kind: str, wire: int, data: memoryview, depth: int) -> Any:
    """The value of a field that is no packed list."""
    if wire != 2:
        raise damaged(f"a field of the kind {kind} is not one")
    if kind == "bytes":
        return data
    if kind == "str":
        try:
            return str(data, "utf-8")
        except UnicodeDecodeError as error:
            raise damaged("a name is not UTF-8") from error
    return parse(kind, data, depth + 1)


def parse(name: str, data: memoryview, depth: int = 0) -> Any:
    """A message as an object with its fields; those that are missing are None, or empty lists.

    Raises:
        RuntimeError: the bytes are cut short or are no such message.
    """
    if depth > DEPTH:
        raise damaged("messages are nested too deeply")
    schema = SCHEMA[name]
    out: dict[str, Any] = {key: [] if many else None for key, _, many in schema.values()}
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        wire, number = tag & 7, tag >> 3
        value: Any = None
        if wire == 0:
            value, at = _varint(data, at)
        elif wire in (1, 2, 5):
            size = 8 if wire == 1 else 4
            if wire == 2:
                size, at = _varint(data, at)
            if size < 0 or size > end - at:
                raise damaged("a field is longer than the file")
            value = data[at : at + size]
            at += size
        else:
            raise damaged(f"wire type {wire}")
        if number not in schema:
            if number == 0:
                raise damaged("a field without a number")
            continue
        key, kind, many = schema[number]
        if kind == "int":
            if wire == 0:
                found = [value]
            elif wire == 2 and many:
                found = [_packed_integers(value)]
            else:
                raise damaged(f"{key} is no integer")
        elif kind in _FIXED:
            code, size, own, dtype = _FIXED[kind]
            if wire == own:
                found = [struct.unpack(code, value)[0]]
            elif wire == 2 and many and len(value) % size == 0:
                found = [np.frombuffer(value, dtype)]
            else:
                raise damaged(f"{key} is no {kind}")
        else:
            found = [_one(kind, wire, value, depth)]
        if many:
            out[key] += found
        else:
            out[key] = found[0]
    for key, kind, many in schema.values():
        if many and (kind == "int" or kind in _FIXED):
            out[key] = _joined(out[key], kind)
    return SimpleNamespace(**out)


def _joined(parts: list[Any], kind: str) -> Any:
    """A repeated field of numbers, packed or not, as one array."""
    dtype = np.dtype(np.int64) if kind == "int" else _FIXED[kind][3]
    if not any(isinstance(p, np.ndarray) for p in parts):
        return np.array(parts, dtype)
    return np.concatenate([np.atleast_1d(np.asarray(p, dtype)) for p in parts])


# ---- tensors ---------------------------------------------------------------------------------
def type_name(number: int | None) -> str:
    """What ONNX calls an element type."""
    if number in NUMPY_TYPES:
        return str(NUMPY_TYPES[number].name)
    return "string" if number == STRING else _SMALL.get(number or 0, f"number {number}")


def numpy_type(number: int | None, where: str) -> np.dtype[Any]:
    """The NumPy dtype of an ONNX element type.

    Raises:
        NotImplementedError: tensors here have no such type.
    """
    if number is None or number not in NUMPY_TYPES:
        raise UnsupportedError(
            f"onnx: {where} has elements of the type {type_name(number)}, which is not supported"
        )
    return NUMPY_TYPES[number]


def _external(t: Any, folder: str | None, wanted: int) -> Any:
    """The bytes of a tensor in another file, mapped and not read."""
    info = {e.key: e.value for e in t.external_data}
    where = info.get("location") or ""
    if folder is None:
        raise UnsupportedError(
            f"onnx: {t.name!r} lies in another file ({where!r}); give the path of the model, not a stream"
        )
    if "\0" in where:
        raise damaged(f"the location of {t.name!r}")
    path = os.path.realpath(os.path.join(folder, where))
    root = os.path.realpath(folder)
    if not where or os.path.isabs(where) or os.path.commonpath([path, root]) != root:
        raise UnsupportedError(
            f"onnx: {t.name!r} lies in the file {where!r}, outside of the model's folder"
        )
    try:
        offset, length = int(info.get("offset") or 0), int(info.get("length") or wanted)
    except ValueError as error:
        raise damaged(f"offset or length of {t.name!r}") from error
    if not os.path.isfile(path):
        raise OperationError(f"onnx: the file {where!r} with the data of {t.name!r} is missing")
    if length != wanted or offset < 0 or offset + length > os.path.getsize(path):
        raise damaged(f"{t.name!r} does not lie in {where!r}")
    return np.memmap(path, np.uint8, "r", offset, (length,)) if length else b""


def tensor(t: Any, folder: str | None = None) -> Any:
    """The array of a TensorProto; text as an array of str objects.

    Raises:
        RuntimeError: the data do not fit the shape.
        NotImplementedError: an element type that does not exist here.
    """
    where = f"the tensor {t.name!r}" if t.name else "a tensor"
    dims = [int(n) for n in t.dims]
    if any(n < 0 for n in dims) or len(dims) > 64:
        raise damaged(f"the shape of {where}")
    count = math.prod(dims)
    if t.segment is not None:
        raise UnsupportedError(f"onnx: {where} is cut into segments")
    if t.data_type == STRING:
        if len(t.string_data) != count:
            raise damaged(f"{where} has {len(t.string_data)} strings for the shape {dims}")
        words = np.empty(count, object)
        words[:] = [str(word, "utf-8", "replace") for word in t.string_data]
        return words.reshape(dims)
    dtype = numpy_type(t.data_type, where)
    raw: Any = t.raw_data
    if t.data_location == 1:
        raw = _external(t, folder, count * dtype.itemsize)
    if raw is not None:
        if len(raw) != count * dtype.itemsize:
            raise damaged(f"{where} has {len(raw)} bytes for the shape {dims}")
        array = np.frombuffer(raw, dtype.newbyteorder("<") if dtype.kind in "iufc" else dtype)
        return array.astype(dtype).reshape(dims)
    return _typed(t, dtype, count, where).reshape(dims)


def _typed(t: Any, dtype: np.dtype[Any], count: int, where: str) -> Any:
    """The elements of a tensor from the field for its type."""
    if dtype.kind == "c":
        data, wanted = (t.float_data if dtype.itemsize == 8 else t.double_data), 2 * count
    else:
        data = {
            "float32": t.float_data,
            "float64": t.double_data,
            "int64": t.int64_data,
            "uint64": t.uint64_data,
        }.get(dtype.name)
        data = t.uint64_data if dtype.name == "uint32" else t.int32_data if data is None else data
        wanted = count
    if len(data) != wanted:
        raise damaged(f"{where} has {len(data)} numbers for {count} elements")
    if dtype.kind == "c":
        return data.astype(data.dtype.newbyteorder("=")).view(dtype)
    if dtype.name in ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"):
        # bits as integers
        return data.astype(np.uint16 if dtype.itemsize == 2 else np.uint8).view(dtype)
    return data.astype(dtype)


def _dense(s: Any, folder: str | None) -> Any:
    """A SparseTensorProto as an ordinary array."""
    if s.values is None or s.indices is None:
        raise damaged("a sparse tensor without values or indices")
    values, where = tensor(s.values, folder).reshape(-1), tensor(s.indices, folder)
    shape = tuple(int(n) for n in s.dims)
    size = math.prod(shape)
    if any(n < 0 for n in shape) or size > max(1 << 24, 1000 * len(values)):
        raise damaged("the shape of a sparse tensor")
    if where.dtype != np.int64 or where.ndim not in (1, 2):
        raise damaged("the indices of a sparse tensor")
    try:
        flat = np.ravel_multi_index(tuple(where.T), shape) if where.ndim == 2 else where
    except ValueError as error:
        raise damaged("the indices of a sparse tensor") from error
    if len(flat) != len(values) or (len(flat) and not 0 <= flat.min() <= flat.max() < size):
        raise damaged("the indices of a sparse tensor")
    out = np.zeros(size, values.dtype)
    out[flat] = values
    return out.reshape(shape)


# ---- the graph -------------------------------------------------------------------------------
@dataclass
class ReadNode:
    """A NodeProto that was read; attributes that refer to a function's attribute are in `refs` (own
    name -> its name).
    """

    op: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]
    name: str = ""
    domain: str = ""
    refs: dict[str, str] = field(default_factory=dict)


@dataclass
class ReadGraph:
    """A graph: of the model, of a function or of a branch. Values are (dtype or None, shape or
    None).
    """

    nodes: list[ReadNode]
    initializers: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    outputs: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    # the names of the outputs in order, some perhaps twice
    returns: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.returns = self.returns or list(self.outputs)


@dataclass
class ReadFunction(ReadGraph):
    """A function of the file: attributes without a default by name, others with their default, and
    its own opsets.
    """

    required: list[str] = field(default_factory=list)
    defaults: dict[str, Any] = field(default_factory=dict)
    opsets: dict[str, int] = field(default_factory=dict)


@dataclass
class ReadModel(ReadGraph):
    """What `read_model` finds in a file."""

    ir_version: int = 0
    producer: str = ""
    opsets: dict[str, int] = field(default_factory=dict)
    functions: dict[tuple[str, str], ReadFunction] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)

    @property
    def opset(self) -> int:
        """The version of ONNX's own operators."""
        return self.opsets.get("", 0)


def _attribute(a: Any, folder: str | None) -> Any:
    kind = a.type or next(
        (n for n, v in ((1, a.f), (2, a.i), (3, a.s), (4, a.t), (5, a.g)) if v is not None), None
    )
    if kind in (1, 2):
        value = a.f if kind == 1 else a.i
        return 0 if value is None else value
    if kind == 3:
        return str(a.s if a.s is not None else b"", "utf-8", "replace")
    if kind == 4 and a.t is not None:
        return tensor(a.t, folder)
    if kind == 5 and a.g is not None:
        return _graph(a.g, folder)
    if kind in (6, 7):
        return (a.floats if kind == 6 else a.ints).tolist()
    if kind == 8:
        return [str(word, "utf-8", "replace") for word in a.strings]
    if kind == 9:
        return [tensor(t, folder) for t in a.tensors]
    if kind == 11 and a.sparse_tensor is not None:
        return _dense(a.sparse_tensor, folder)
    if kind == 13 and a.tp is not None:
        return _type(a.tp)
    raise UnsupportedError(f"onnx: the attribute {a.name!r} has a type that is not read ({kind})")


def _node(n: Any, folder: str | None) -> ReadNode:
    if not n.op_type:
        raise damaged("a node without an operator")
    domain = "" if n.domain in (None, "ai.onnx") else n.domain
    attributes = {a.name: _attribute(a, folder) for a in n.attribute if not a.ref_attr_name}
    named = {a.name: a.ref_attr_name for a in n.attribute if a.ref_attr_name}
    return ReadNode(n.op_type, n.input, n.output, attributes, n.name or "", domain, named)


def _type(t: Any) -> tuple[Any, Any]:
    """(dtype, shape) of a tensor type; (None, None) of sequences and optional values."""
    inner = t.tensor_type if t is not None else None
    if inner is None:
        return None, None
    dtype = NUMPY_TYPES.get(inner.elem_type)
    if inner.shape is None:
        return dtype, None
    dims: list[Any] = []
    for d in inner.shape.dim:
        dims.append(d.dim_param if d.dim_param else d.dim_value if d.dim_value is not None else "?")
    return dtype, tuple(dims)


def _graph(g: Any, folder: str | None) -> ReadGraph:
    initializers = {t.name or "": tensor(t, folder) for t in g.initializer}
    for s in g.sparse_initializer:
        array = _dense(s, folder)
        initializers[s.values.name or ""] = array
    return ReadGraph(
        [_node(n, folder) for n in g.node],
        initializers,
        {v.name or "": _type(v.type) for v in g.input},
        {v.name or "": _type(v.type) for v in g.output},
        [v.name or "" for v in g.output],
    )


def _opsets(entries: Any) -> dict[str, int]:
    return {"" if e.domain in (None, "ai.onnx") else e.domain: e.version or 0 for e in entries}


def _function(f: Any, folder: str | None) -> ReadFunction:
    return ReadFunction(
        nodes=[_node(n, folder) for n in f.node],
        inputs=dict.fromkeys(f.input, (None, None)),
        outputs=dict.fromkeys(f.output, (None, None)),
        required=list(f.attribute),
        defaults={a.name: _attribute(a, folder) for a in f.attribute_proto},
        opsets=_opsets(f.opset_import),
    )


def read_model(data: Any, folder: str | None = None) -> ReadModel:
    """The graph of an ONNX file.

    Args:
        data: the file's bytes.
        folder: where files with external data lie; None: there are none.

    Raises:
        RuntimeError: the bytes are cut short or are no ONNX model.
        NotImplementedError: something in it is not supported.
    """
    model = parse("Model", memoryview(data))
    if model.graph is None or not model.opset_import:
        raise damaged("no graph")
    graph = _graph(model.graph, folder)
    functions = {
        ("" if f.domain in (None, "ai.onnx") else f.domain, f.name): _function(f, folder)
        for f in model.functions
    }
    return ReadModel(
        nodes=graph.nodes,
        initializers=graph.initializers,
        inputs=graph.inputs,
        outputs=graph.outputs,
        returns=graph.returns,
        ir_version=model.ir_version or 0,
        producer=model.producer_name or "",
        opsets=_opsets(model.opset_import),
        functions=functions,
        metadata={e.key or "": e.value or "" for e in model.metadata_props},
    )
