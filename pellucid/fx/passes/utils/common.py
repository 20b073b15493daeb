"""Compare graphs, and make modules of them (`torch.fx.passes.utils.common`)."""

from __future__ import annotations

from typing import Any

from ....nn import Module
from ..._compatibility import compatibility
from ...graph import Graph
from ...graph_module import GraphModule
from .matcher_utils import SubgraphMatcher

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


@compatibility(is_backward_compatible=False)
class HolderModule(Module):
    """A module whose submodules are those of a dictionary."""

    def __init__(self, d: dict[str, Module]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


@compatibility(is_backward_compatible=False)
def lift_subgraph_as_module(
    gm: GraphModule, subgraph: Graph, comp_name: str = "", class_name: str = "GraphModule"
) -> tuple[GraphModule, dict[str, str]]:
    """A module of its own from a graph that names attributes of another module.

    Args:
        gm: the module whose attributes the graph names.
        subgraph: the graph.
        comp_name: what the new module will be called in `gm`.
        class_name: what its class is called.

    Returns:
        The module, and the dotted names under `comp_name` by those in `gm`.
    """
    holder = HolderModule({})
    moved: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        target = str(node.target)
        *path, last = target.split(".")
        inside: Any = holder
        value: Any = gm
        for name in path:
            if not hasattr(inside, name):
                inside.add_module(name, HolderModule({}))
            inside = getattr(inside, name)
            value = getattr(value, name)
        setattr(inside, last, getattr(value, last))
        moved[target] = f"{comp_name}.{target}" if comp_name else target
    return GraphModule(holder, subgraph, class_name), moved


@compatibility(is_backward_compatible=False)
def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether two graphs do the same in the same way, whatever their nodes are called."""
    matcher = SubgraphMatcher(left, match_output=True, match_placeholder=True)
    return len(matcher.match(right)) > 0
