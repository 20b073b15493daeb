"""Helpers for nodes (`torch.fx._utils`)."""

from __future__ import annotations

from typing import Any

from ._compatibility import compatibility
from .graph import Graph
from .node import Node


@compatibility(is_backward_compatible=False)
def first_call_function_nn_module_stack(graph: Graph) -> dict[str, Any] | None:
    """The submodules that were being called at the first "call_function" that knows them."""
    for node in graph.nodes:
        if node.op == "call_function" and "nn_module_stack" in node.meta:
            return node.meta["nn_module_stack"]
    return None


@compatibility(is_backward_compatible=False)
def get_node_context(node: Node, num_nodes: int = 2) -> str:
    """The node and those before it, as lines of text."""
    lines: list[str] = []
    current = node
    for _ in range(num_nodes):
        lines.append(str(current.format_node()))
        if current.op == "root":
            break
        current = current.prev
    return "\n".join(reversed(lines))
