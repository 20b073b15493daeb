"""Replace targets and count sizes (`torch.fx.passes.graph_manipulation`)."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._compatibility import compatibility
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, Target, map_arg
from .shape_prop import ShapeProp

__all__ = [
    "get_size_of_all_nodes",
    "get_size_of_node",
    "get_tensor_meta",
    "replace_target_nodes_with",
    "size_bytes",
]


@compatibility(is_backward_compatible=False)
def replace_target_nodes_with(
    fx_module: GraphModule, old_op: str, old_target: Target, new_op: str, new_target: Target
) -> None:
    """Exchange the kind and target of all nodes that have the old ones."""
    made = Graph()
    copies: dict[Node, Node] = {}
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            args = map_arg(node.args, lambda n: copies[n])
            kwargs = map_arg(node.kwargs, lambda n: copies[n])
            if not isinstance(args, tuple):
                raise AssertionError(f"Expected tuple, got {type(args)}")
            copies[node] = made.create_node(new_op, new_target, args, kwargs, node.name)
        else:
            copies[node] = made.node_copy(node, lambda n: copies[n])
    fx_module.graph = made


@compatibility(is_backward_compatible=False)
class size_bytes(NamedTuple):  # noqa: N801 (PyTorch's name)
    """Bytes of a node's result, and of it with the parameters that the node uses."""

    output_size: int
    total_size: int


@compatibility(is_backward_compatible=False)
def get_size_of_all_nodes(fx_module: GraphModule, args: list[Any] | None = None) -> None:
    """Run the graph on example inputs and give each node its `size_bytes`."""
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op == "output":
            break
        node.size_bytes = get_size_of_node(fx_module, node)  # type: ignore[attr-defined]


@compatibility(is_backward_compatible=False)
def get_tensor_meta(node: Node) -> Any:
    """What `ShapeProp` found of a node's result.

    Raises:
        RuntimeError: it has not been run.
    """
    meta = node.meta.get("tensor_meta")
    if not meta:
        raise RuntimeError(
            f"Node {node} has no tensor metadata associated with it! Check that shape propagation has run."
        )
    return meta


@compatibility(is_backward_compatible=False)
def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """Bytes of a node's result, and of it with the parameters that the node uses."""
    parameters = 0
    if node.op == "call_module":
        called = dict(fx_module.named_modules())[str(node.target)]
        parameters = sum(value.numel() for _, value in called.named_parameters())
    meta = get_tensor_meta(node)
    count = 1
    for size in meta.shape:
        count *= size
    each = meta.dtype.itemsize
    return size_bytes(each * count, each * (parameters + count))
