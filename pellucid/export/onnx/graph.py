"""The ONNX graph under construction, and what a translation rule sees of one step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.export.trace import Ref, Size, Step, Trace

from . import wire
from .errors import UnsupportedOperatorError

LAST = 2**63 - 1  # "to the end" of a Slice

RULES: dict[str, Callable[[Context], Any]] = {}


def rule(*names: str) -> Callable[[Any], Any]:
    """Register the translation of operations."""

    def register(function: Any) -> Any:
        for name in names:
            RULES[name] = function
        return function

    return register


@dataclass
class Node:
    """A node before it is encoded."""

    op: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]


class Graph:
    """Nodes, initializers and the names of the trace's values."""

    def __init__(self, trace: Trace, opset: int) -> None:
        self.trace = trace
        self.opset = opset
        self.nodes: list[Node] = []
        self.initializers: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.taken: set[str] = set()
        self.pool: dict[Any, str] = {}  # constants by content
        self.axes: dict[str, tuple[int, int]] = {}  # dynamic size -> (input value, axis)
        self.sizes_known: dict[Size, str] = {}
        for value in trace.inputs:
            for axis, n in enumerate(trace.shapes[value]):
                if isinstance(n, Size):
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
        self.nodes.append(Node(op, list(inputs), outputs, kept))
        return outputs[0] if count == 1 else outputs

    def size(self, n: Size) -> str:
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
            self.sizes_known[n] = name
        return name

    def ints(self, numbers: Sequence[Any]) -> str:
        """Integers, some of them perhaps dynamic sizes, as an int64 tensor of one dimension."""
        if any(n is None for n in numbers):
            raise UnsupportedOperatorError("a size that is no multiple of a dynamic one")
        if not any(isinstance(n, Size) for n in numbers):
            return self.const(np.array([int(n) for n in numbers], np.int64))
        parts = [self.size(n) if isinstance(n, Size) else self.const(np.array([n], np.int64)) for n in numbers]
        return self.emit("Concat", parts, axis=0) if len(parts) > 1 else parts[0]

    def encoded(self) -> list[bytes]:
        """The nodes as protobuf messages."""
        return [wire.node_bytes(n.op, n.inputs, n.outputs, n.attributes, f"{n.op}_{k}") for k, n in enumerate(self.nodes)]


class Context:
    """One step, as its rule sees it: names of inputs, shapes, dtypes, parameters, and `emit` for nodes."""

    def __init__(self, graph: Graph, step: Step) -> None:
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
        if isinstance(x, Size):
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

    def fixed(self, shape: Sequence[Any]) -> tuple[int, ...]:
        """A shape that must not be dynamic."""
        if not all(type(n) is int for n in shape):
            raise self.refuse("needs a fixed size where a dynamic one is")
        return tuple(shape)

    def refuse(self, why: str) -> UnsupportedOperatorError:
        """The error of a rule that cannot translate this case."""
        return UnsupportedOperatorError(f"{self.step.op} ({why})")
