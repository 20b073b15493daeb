"""A graph that was read, as text: a line for each node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .read import ReadGraph


def _value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return repr(value.tolist()) if value.size <= 8 else f"{value.dtype.name}{list(value.shape)}"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def _type(name: str, described: tuple[Any, Any]) -> str:
    kind, dims = described
    if kind is None:
        return name
    return f"{name}: {kind.name}" + ("" if dims is None else f"[{', '.join(map(str, dims))}]")


def lines(graph: ReadGraph, inputs: list[str] | None = None, indent: str = "") -> Iterator[str]:
    """Inputs, nodes and results of a graph; the graphs of branches and loops follow their node,
    indented.
    """
    names = list(graph.inputs) if inputs is None else inputs
    if names:
        yield indent + "inputs " + ", ".join(_type(name, graph.inputs[name]) for name in names)
    for node in graph.nodes:
        inner = {
            key: value for key, value in node.attributes.items() if isinstance(value, ReadGraph)
        }
        extra = [
            f"{key}={_value(value)}" for key, value in node.attributes.items() if key not in inner
        ]
        extra += [f"{key}=@{name}" for key, name in node.refs.items()]
        op = f"{node.domain}.{node.op}" if node.domain else node.op
        yield f"{indent}{', '.join(node.outputs)} = {op}({', '.join([*node.inputs, *extra])})"
        for key, part in inner.items():
            yield f"{indent}  {key}:"
            yield from lines(part, indent=indent + "    ")
    yield indent + "return " + ", ".join(graph.returns)
