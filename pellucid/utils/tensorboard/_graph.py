"""The graph of one run of a model, as TensorFlow's GraphDef: what TensorBoard's graph page shows.

The model runs once under an observer. Every operation becomes a node, named after the modules it
ran in; parameters, buffers and inputs become nodes without inputs; tensors that come from elsewhere
become constants.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...core import observe
from ...core.modes import no_grad
from ...core.tensor import Tensor
from . import _wire as wire


class GraphRecorder:
    """Writes down the operations between `module_enter` and `module_exit` of the model."""

    def __init__(self, model: Any) -> None:
        self.root = type(model).__name__
        self.path: list[str] = []
        # name, op, inputs, shape, attributes
        self.nodes: list[tuple[str, str, list[str], tuple[int, ...], str]] = []
        self.names: set[str] = set()
        self.made_by: dict[int, str] = {}
        self.kept: list[Any] = []  # ids stay unique while the tensors live
        for kind, tensors in (
            ("Parameter", model.named_parameters()),
            ("Buffer", model.named_buffers()),
        ):
            for name, tensor in tensors:
                self.add(f"{self.root}/{name.replace('.', '/')}", kind, [], tensor)

    def add(
        self, name: str, kind: str, inputs: list[str], tensor: Any, attributes: str = ""
    ) -> str:
        """One node; its name gets a number when it is taken."""
        unique, count = name, 0
        while unique in self.names:
            count += 1
            unique = f"{name}_{count}"
        self.names.add(unique)
        self.nodes.append((unique, kind, inputs, tuple(tensor.shape), attributes))
        self.kept.append(tensor)
        self.made_by[id(tensor)] = unique
        return unique

    def source_of(self, tensor: Tensor) -> str:
        return self.made_by.get(id(tensor)) or self.add(
            self.within("Constant"), "Constant", [], tensor
        )

    def within(self, name: str) -> str:
        return "/".join([*self.path, name])

    # ---- events --------------------------------------------------------------------------------
    def module_enter(self, module: Any, name: str, args: Any, kwargs: Any) -> None:
        self.path.append(
            f"{name.rpartition('.')[2] or type(module).__name__}" if self.path else self.root
        )

    def module_exit(self, module: Any, name: str, result: Any) -> None:
        self.path.pop()

    def operation(self, op: Any, inputs: Any, params: dict[str, Any], outputs: Any) -> None:
        sources = [self.source_of(x) for x in inputs if isinstance(x, Tensor)]
        made = [
            t
            for t in (outputs if isinstance(outputs, tuple) else (outputs,))
            if isinstance(t, Tensor)
        ]
        if not made:
            return
        attributes = ", ".join(
            f"{key}={value}" for key, value in params.items() if not isinstance(value, Tensor)
        )
        name = self.add(self.within(op.name), op.name, sources, made[0], attributes)
        for other in made[1:]:
            self.kept.append(other)
            self.made_by[id(other)] = name

    def inplace(self, name: str, tensor: Tensor, inputs: Any) -> None:
        before = self.source_of(tensor)
        sources = [
            self.source_of(x)
            for x in (inputs if isinstance(inputs, tuple) else (inputs,))
            if isinstance(x, Tensor)
        ]
        self.add(self.within(name), name, [before, *sources], tensor)


def record_graph(
    model: Any, inputs: Any
) -> tuple[bytes, list[tuple[str, str, list[str], tuple[int, ...], str]]]:
    """Run the model once, without gradients; returns the GraphDef and the nodes (name, operation,
    inputs, shape, attributes).
    """
    arguments = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    recorder = GraphRecorder(model)
    for i, tensor in enumerate(_tensors(arguments)):
        recorder.add(f"input/{i}", "Input", [], tensor)
    with no_grad(), observe.observing(recorder):
        result = model(*arguments)
    for i, tensor in enumerate(_tensors((result,))):
        recorder.nodes.append(
            (f"output/{i}", "Output", [recorder.source_of(tensor)], tuple(tensor.shape), "")
        )
    producer = wire.data(4, wire.integer(1, 22))
    return b"".join(
        wire.data(1, _node(*node)) for node in recorder.nodes
    ) + producer, recorder.nodes


def _tensors(values: Any) -> Iterable[Tensor]:
    """The tensors in nested tuples, lists and dictionaries."""
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, (tuple, list)):
        for value in values:
            yield from _tensors(value)
    elif isinstance(values, dict):
        for value in values.values():
            yield from _tensors(value)


def _node(
    name: str, kind: str, inputs: list[str], shape: tuple[int, ...], attributes: str
) -> bytes:
    sizes = b"".join(wire.data(2, wire.integer(1, size)) for size in shape)
    shapes = wire.data(1, wire.data(7, sizes))  # AttrValue.list.shape
    body = (
        wire.text(1, name)
        + wire.text(2, kind)
        + b"".join(wire.text(3, source) for source in inputs)
    )
    body += wire.data(5, wire.text(1, "_output_shapes") + wire.data(2, shapes))
    if attributes:
        body += wire.data(
            5, wire.text(1, "attr") + wire.data(2, wire.data(2, attributes.encode("utf-8")))
        )
    return body
