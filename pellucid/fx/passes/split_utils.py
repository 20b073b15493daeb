"""Split a module by tags on its nodes (`torch.fx.passes.split_utils`)."""

from __future__ import annotations

from typing import Any

from .._compatibility import compatibility
from ..graph_module import GraphModule, _get_attr
from ..node import Node
from .split_module import Partition, _assembled, _record

__all__ = ["split_by_tags"]


@compatibility(is_backward_compatible=False)
def split_by_tags(
    gm: GraphModule,
    tags: list[str],
    return_fqn_mapping: bool = False,
    return_tuple: bool = False,
    GraphModuleCls: type[GraphModule] = GraphModule,  # noqa: N803 (PyTorch's name)
) -> Any:
    """A module of submodules named by tags, which run in the order of `tags` and together do what
    `gm` does. Each node that computes has its tag in the attribute `tag`; submodules keep their
    dotted names.

    Args:
        gm: the module to cut.
        tags: the names of the parts, in the order in which they run.
        return_fqn_mapping: also return the new dotted names of submodules by those in `gm`.
        return_tuple: parts with one result return it in a tuple, too.

    Raises:
        AssertionError: a node has no tag, or takes a value of a part that runs later.

    >>> import pellucid as torch
    >>> from pellucid.fx.passes.split_utils import split_by_tags
    >>> gm = torch.fx.symbolic_trace(lambda x: torch.relu(x).neg())
    >>> for node, tag in zip(list(gm.graph.nodes)[1:3], ["left", "right"]):
    ...     node.tag = tag
    >>> print(split_by_tags(gm, ["left", "right"]).code.strip())
    def forward(self, x):
        left = self.left(x);  x = None
        right = self.right(left);  left = None
        return right
    """
    nodes = {node.name: node for node in gm.graph.nodes}
    parts = {tag: Partition(tag) for tag in tags}
    for tag, part in parts.items():
        part.submod_name = tag
    home: dict[Node, str] = {}
    moved: dict[str, str] = {}
    for node in gm.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        own = getattr(node, "tag", None)
        if own not in parts:
            raise AssertionError(f"node {node.name} has no tag among {tags}: {own!r}")
        home[node] = own
    for node in gm.graph.nodes:
        for used in node.all_input_nodes:
            first, then = home.get(used), home.get(node)
            if first and then and tags.index(first) > tags.index(then):
                raise AssertionError(
                    f"node {node.name} of part {then} takes {used.name} of part {first}, which runs later"
                )
            if used.op != "get_attr":
                _record(used, node, home, parts)
    for node in gm.graph.nodes:
        if node not in home:
            continue
        part = parts[home[node]]
        for used in node.all_input_nodes:
            if used not in part.environment and used.op == "get_attr":  # each part has its own
                target = str(used.target)
                part.environment[used] = part.graph.node_copy(used)
                part.targets[target] = _get_attr(gm, target)
                moved[target] = f"{part.submod_name}.{target}"
            elif used not in part.environment:
                given = part.graph.placeholder(used.name, type_expr=used.type)
                given.meta = used.meta.copy()
                part.environment[used] = given
        made = part.graph.node_copy(node, part.environment.__getitem__)
        part.environment[node] = made
        if node.op == "call_module":
            target = str(node.target)
            part.targets[target] = _get_attr(gm, target)
            moved[target] = f"{part.submod_name}.{target}"
    for part in parts.values():
        part.inputs = {
            used.name: None for used, own in part.environment.items() if own.op == "placeholder"
        }
    whole = _assembled(gm, list(parts.values()), nodes, return_tuple)
    for node in reversed(whole.graph.nodes):
        if node.op == "get_attr" and not node.users:
            whole.graph.erase_node(node)
            delattr(whole, str(node.target))
    whole.recompile()
    if GraphModuleCls is not GraphModule:
        whole = GraphModuleCls(whole, whole.graph)
    return (whole, moved) if return_fqn_mapping else whole
