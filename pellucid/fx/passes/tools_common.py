"""Helpers of passes (`torch.fx.passes.tools_common`)."""

from __future__ import annotations

import collections
import heapq
from collections.abc import Mapping
from typing import Any

from ...core.tensor import Tensor
from ...nn import Module
from ...nn.modules._naming import typename
from .._compatibility import compatibility
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, _get_qualified_name

__all__ = [
    "get_acc_ops_name",
    "get_node_target",
    "is_node_output_tensor",
    "legalize_graph",
    "stable_topological_sort",
]

Tensors = tuple[Tensor, ...] | list[Tensor]
TensorOrTensors = Tensor | Tensors
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


@compatibility(is_backward_compatible=False)
def get_acc_ops_name(k: Any) -> str:
    """The name of a callable, with its module where it is not a string."""
    if isinstance(k, str):
        return k
    if k.__module__ and "acc_ops" in k.__module__:
        return f"acc_ops.{k.__name__}"
    module = k.__module__.replace("torch._ops", "torch.ops") if k.__module__ else ""
    return f"{module}.{k.__name__}"


@compatibility(is_backward_compatible=False)
def get_node_target(submodules: Mapping[str, Module], node: Node) -> str:
    """The name of what a node calls: a function's dotted name, a module's type, or a method's name.

    Raises:
        AssertionError: the node is not a call.
    """
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(
            "Expect op types of " + ", ".join(CALLABLE_NODE_OPS) + f", but found {node.op}"
        )
    if node.op == "call_module":
        return _module_type(submodules[str(node.target)])
    if node.op == "call_function":
        return _get_qualified_name(node.target)
    return str(node.target)


def _module_type(module: Any) -> str:
    return typename(getattr(module, "_base_class_origin", type(module)))


@compatibility(is_backward_compatible=False)
def is_node_output_tensor(node: Node) -> bool:
    """Whether `meta["type"]`, which `ShapeProp` fills in, is a tensor."""
    kind = node.meta.get("type", None)
    return kind is not None and issubclass(kind, Tensor)


@compatibility(is_backward_compatible=False)
def legalize_graph(gm: GraphModule) -> GraphModule:
    """Put the nodes of a module's graph into an order in which each comes after what it uses.

    Raises:
        RuntimeError: nodes use each other in a circle.
    """
    return _in_order(gm, stable=False)


@compatibility(is_backward_compatible=False)
def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """As `legalize_graph`, with nodes left in the order they are in wherever that is possible.

    Raises:
        RuntimeError: nodes use each other in a circle.
    """
    return _in_order(gm, stable=True)


def _in_order(gm: GraphModule, stable: bool) -> GraphModule:
    nodes = list(gm.graph.nodes)
    place = {node: at for at, node in enumerate(nodes)}
    waiting = {node: len(node.all_input_nodes) for node in nodes}
    made = Graph()
    copies: dict[Node, Node] = {}
    ready: Any = [(place[node], node) for node in nodes if not waiting[node]]
    queue: Any = ready if stable else collections.deque(ready)
    if stable:
        heapq.heapify(queue)
    output = None
    while queue:
        _, node = heapq.heappop(queue) if stable else queue.popleft()
        if node.op == "output":
            output = node
        else:
            copies[node] = made.node_copy(node, lambda n: copies[n])
        for user in node.users:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(queue, (place[user], user)) if stable else queue.append(
                    (place[user], user)
                )
    if output is not None:
        new = made.node_copy(output, lambda n: copies[n])
        new.name = output.name
    if len(made.nodes) < len(nodes):
        left = {node: count for node, count in waiting.items() if count}
        raise RuntimeError(f"Input graph has cycles, unable to add {left}")
    made._codegen = gm.graph._codegen
    gm.graph = made
    return gm
