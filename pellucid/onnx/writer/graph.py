"""The ONNX graph under construction, and what the `onnx` rule of a record sees of one step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.arrays import numpy_cpu
from pellucid.core.inplace import replay
from pellucid.core.primitive import PRIMITIVES
from pellucid.export.sizes import Expression

from . import wire
from .errors import UnsupportedOperatorError
from .trace import Ref, Trace, TracedOperation


@dataclass
class OnnxNode:
    """A node before it is encoded."""

    op: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]


class OnnxGraph:
    """Nodes, initializers and the names of the trace's values."""

    def __init__(self, trace: Trace, opset: int) -> None:
        self.trace = trace
        self.opset = opset
        self.nodes: list[OnnxNode] = []
        self.initializers: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.taken: set[str] = set()
        self.pool: dict[Any, str] = {}  # constants by content
        self.axes: dict[str, tuple[int, int]] = {}  # dynamic size -> (input value, axis)
        self.sizes_known: dict[Expression, str] = {}
        for value in trace.inputs:
            for axis, n in enumerate(trace.shapes[value]):
                if isinstance(n, Expression):
                    self.axes.setdefault(n.names[0], (value, axis))

    def fresh(self, stem: str) -> str:
        """A name not used before."""
        name, k = stem, 0
        while name in self.taken or not name:
            k += 1
            name = f"{stem}_{k}"
        self.taken.add(name)
        return name

    def const(self, array: Any) -> str:
        """The name of an initializer with these values, shared by content."""
        array = np.asarray(array)
        key = (array.dtype, array.shape, array.tobytes())
        name = self.pool.get(key)
        if name is None:
            name = self.pool[key] = self.fresh("const")
            self.initializers[name] = array
        return name

    def emit(self, op: str, inputs: Sequence[str], count: int = 1, **attributes: Any) -> Any:
        """Add a node; the name of its result, or a list of names."""
        outputs = [self.fresh(op.lower()) for _ in range(count)]
        kept = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(OnnxNode(op, list(inputs), outputs, kept))
        return outputs[0] if count == 1 else outputs

    def size(self, n: Expression) -> str:
        """A dynamic size as an int64 tensor of shape (1,)."""
        name = self.sizes_known.get(n)
        if name is None:
            parts = []
            for word in n.names:
                value, axis = self.axes[word]
                shape = self.emit("Shape", [self.names[value]])
                parts.append(self.emit("Gather", [shape, self.const(np.array([axis]))], axis=0))
            name = parts[0]
            for part in parts[1:]:
                name = self.emit("Mul", [name, part])
            if n.factor != 1:
                name = self.emit("Mul", [name, self.const(np.array([n.factor]))])
            if n.offset:
                name = self.emit("Add", [name, self.const(np.array([n.offset]))])
            if n.divisor != 1:
                name = self.emit("Div", [name, self.const(np.array([n.divisor]))])
            self.sizes_known[n] = name
        return name

    def ints(self, numbers: Sequence[Any]) -> str:
        """Integers, some of them perhaps dynamic sizes, as an int64 tensor of one dimension."""
        if any(n is None for n in numbers):
            raise UnsupportedOperatorError("a size that does not follow from the dynamic ones")
        if not any(isinstance(n, Expression) for n in numbers):
            return self.const(np.array([int(n) for n in numbers], np.int64))
        parts = [
            self.size(n) if isinstance(n, Expression) else self.const(np.array([n], np.int64))
            for n in numbers
        ]
        return self.emit("Concat", parts, axis=0) if len(parts) > 1 else parts[0]

    def encoded(self) -> list[bytes]:
        """The nodes as protobuf messages."""
        return [
            wire.node_bytes(n.op, n.inputs, n.outputs, n.attributes, f"{n.op}_{k}")
            for k, n in enumerate(self.nodes)
        ]


class OnnxContext:
    """One step, as its rule sees it: names of inputs, shapes, dtypes, parameters, and `emit` for
    nodes.

    A rule (`onnx` of a record) returns the name of the result, or a list of names.
    """

    LAST = 2**63 - 1  # "to the end" of a Slice

    def __init__(self, graph: OnnxGraph, step: TracedOperation) -> None:
        self.graph = graph
        self.step = step
        self.p = step.params
        self.const = graph.const
        self.ints = graph.ints

    def __getitem__(self, k: int) -> str:
        x = self.step.inputs[k]
        if isinstance(x, Ref):
            return self.graph.names[x.value]
        return "" if x is None else self.number(x)

    def __len__(self) -> int:
        return len(self.step.inputs)

    def has(self, k: int) -> bool:
        """Whether the k-th argument is given."""
        return self.step.inputs[k] is not None

    @property
    def names(self) -> list[str]:
        """The names of all arguments."""
        return [self[k] for k in range(len(self))]

    def shape(self, k: int = 0) -> tuple[Any, ...]:
        """The shape of an argument."""
        x = self.step.inputs[k]
        return self.graph.trace.shapes[x.value] if isinstance(x, Ref) else ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the tensors among the arguments."""
        kinds = [self.graph.trace.dtypes[x.value] for x in self.step.inputs if isinstance(x, Ref)]
        return kinds[0] if kinds else self.out_dtype

    @property
    def out_shape(self) -> tuple[Any, ...]:
        """The shape of the (first) result."""
        return self.graph.trace.shapes[self.step.outputs[0]]

    @property
    def out_dtype(self) -> np.dtype[Any]:
        """The dtype of the (first) result."""
        return self.graph.trace.dtypes[self.step.outputs[0]]

    def number(self, x: Any) -> str:
        """A number as a constant of the arguments' dtype; a dynamic size as what computes it."""
        if isinstance(x, Expression):
            return self.cast(self.emit("Squeeze", self.graph.size(x), self.ints([0])), self.dtype)
        return self.const(np.asarray(x).astype(self.dtype))

    def name(self, ref: Ref) -> str:
        """The name of a value in the parameters."""
        return self.graph.names[ref.value]

    def array(self, ref: Ref) -> Any:
        """The values of a constant in the parameters."""
        array = self.graph.trace.constants.get(ref.value)
        if array is None:
            raise self.refuse("takes positions that are not constant")
        return array

    def emit(self, op: str, *inputs: str, count: int = 1, **attributes: Any) -> Any:
        """Add a node."""
        return self.graph.emit(op, inputs, count, **attributes)

    def cast(self, name: str, dtype: Any) -> str:
        """A value in another dtype."""
        return self.emit("Cast", name, to=wire.data_type(dtype))

    def reduce(self, op: str, name: str, dims: Any, keepdim: bool) -> str:
        """A reduction; its axes became an input in opset 18 (of ReduceSum in 13)."""
        axes = None if dims is None else [int(d) for d in dims]
        if axes is not None and (op == "ReduceSum" or self.graph.opset >= 18):
            return self.emit(op, name, self.ints(axes), keepdims=int(keepdim))
        return self.emit(op, name, axes=axes, keepdims=int(keepdim))

    @property
    def dims(self) -> Any:
        """The dimensions that are reduced; None for all."""
        dim = self.p.get("dim")
        return dim if dim is None or isinstance(dim, (tuple, list)) else (dim,)

    def reduction(self, op: str) -> str:
        """The step as a reduction over its dimensions, in the dtype of its result."""
        x = self[0] if self.dtype == self.out_dtype else self.cast(self[0], self.out_dtype)
        if self.dims is not None and len(self.dims) == 0:
            return self.emit("Identity", x)
        return self.reduce(op, x, self.dims, self.p.get("keepdim", False))

    def reshape(self, name: str, shape: Any, before: Any) -> str:
        """A Reshape that keeps dynamic sizes open: 0 copies a size from the same place, -1 stands
        for at most one more.
        """
        target: list[Any] = list(shape)
        if 0 in target:
            allow = 1 if self.graph.opset >= 14 else None
            if (
                allow is None
                and -1 not in target
                and any(n != 0 and before[k : k + 1] != (n,) for k, n in enumerate(target))
            ):
                raise self.refuse("to a shape with a size of 0 needs opset 14")
            return self.emit("Reshape", name, self.ints(target), allowzero=allow)
        for k, n in enumerate(target):
            if isinstance(n, Expression) and k < len(before) and before[k] == n:
                target[k] = 0
        left = [k for k, n in enumerate(target) if isinstance(n, Expression)]
        if len(left) == 1:
            target[left[0]] = -1
        elif left:
            target = list(shape)
        return self.emit("Reshape", name, self.ints(target))

    def cut(self, name: str, axis: int, start: Any, end: Any, step: int = 1) -> str:
        """A Slice along one axis."""
        return self.emit("Slice", name, *[self.ints([n]) for n in (start, end, axis, step)])

    def triangle(self, rows: Any, columns: Any, diagonal: int, upper: bool = False) -> str:
        """A bool matrix that is true up to a diagonal (or from it on), for opsets before Trilu."""
        ends = [self.emit("Squeeze", self.ints([n]), self.ints([0])) for n in (rows, columns)]
        row, column = [
            self.emit("Range", self.const(np.array(0)), end, self.const(np.array(1)))
            for end in ends
        ]
        row = self.emit(
            "Unsqueeze", self.emit("Add", row, self.const(np.array(diagonal))), self.ints([1])
        )
        return self.emit("LessOrEqual" if upper else "GreaterOrEqual", row, column)

    def as_bool(self, k: int) -> str:
        """An argument as truth values."""
        return self[k] if self.dtype == np.bool_ else self.cast(self[k], np.bool_)

    def negative(self, x: str) -> str:
        """Whether the sign bit is set: of -0 only its reciprocal tells."""
        below = self.emit("Less", x, self.number(0))
        if self.dtype.kind != "f":
            return below
        return self.emit("Or", below, self.emit("Less", self.emit("Reciprocal", x), self.number(0)))

    def truncated(self, x: str) -> str:
        """The whole part, towards zero."""
        return self.emit(
            "Where",
            self.emit("Less", x, self.number(0)),
            self.emit("Ceil", x),
            self.emit("Floor", x),
        )

    def clipped(self, low: Any, high: Any) -> str:
        """The first argument between two numbers; None for no limit."""
        ends = ["" if n is None else self.number(n) for n in (low, high)]
        return self.emit("Clip", self[0], ends[0], *filter(None, ends[1:]))

    @property
    def pads(self) -> tuple[list[int], list[int]]:
        """Padding before and after each dimension."""
        both = [(p, p) if isinstance(p, int) else tuple(p) for p in self.p["padding"]]
        return [int(a) for a, _ in both], [int(b) for _, b in both]

    def is_size(self, x: Any) -> bool:
        """Whether a number in the parameters is a dynamic size."""
        return isinstance(x, Expression)

    def part_written(self) -> str:
        """A base in which the part that a chain of views shows has new values: their places in the
        flat base are known.
        """
        shape = self.fixed(self.shape())
        if any(isinstance(value, Ref) for _, how, _ in self.p["chain"] for value in how.values()):
            raise self.refuse("through an index that is a tensor")
        chain = tuple([(PRIMITIVES[name], how, k) for name, how, k in self.p["chain"]])
        places = replay(
            numpy_cpu, np.arange(np.prod(shape, dtype=int)).reshape(shape), chain
        ).reshape(-1)
        flat, part = [self.emit("Reshape", self[k], self.ints([-1])) for k in (0, 1)]
        written = self.emit("ScatterElements", flat, self.const(places), part, axis=0)
        return self.emit("Reshape", written, self.ints(shape))

    def fixed(self, shape: Sequence[Any]) -> tuple[int, ...]:
        """A shape that must not be dynamic."""
        if not all(type(n) is int for n in shape):
            raise self.refuse("needs a fixed size where a dynamic one is")
        return tuple(shape)

    def refuse(self, why: str) -> UnsupportedOperatorError:
        """The error of a rule that cannot translate this case."""
        return UnsupportedOperatorError(f"{self.step.op} ({why})")


def translate(c: OnnxContext) -> Any:
    """Nodes for a step, by its record; the name of the result, or names."""
    if c.step.op == "arange":  # counted out by the trace, no operation of the engine
        end = c.emit("Squeeze", c.ints([c.p["end"]]), c.ints([0]))
        out = c.emit("Range", c.const(np.array(0)), end, c.const(np.array(1)))
        return out if c.p["dtype"] == np.int64 else c.cast(out, c.p["dtype"])
    rule = PRIMITIVES[c.step.op].onnx if c.step.op in PRIMITIVES else None
    if rule is None:
        raise UnsupportedOperatorError(c.step.op)
    return c.emit(rule, *c.names) if isinstance(rule, str) else rule(c)
