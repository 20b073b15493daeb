"""Split a module into submodules that run one after another (`torch.fx.passes.split_module`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._compatibility import compatibility
from ..graph import Graph
from ..graph_module import GraphModule, _get_attr
from ..node import Node, map_arg
from ..proxy import Proxy

__all__ = ["Partition", "split_module"]


@compatibility(is_backward_compatible=True)
class Partition:
    """One of the parts: its nodes, what it takes, what it gives, and which parts it needs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list[str] = []
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.dependents: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}

    def __repr__(self) -> str:
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {self.inputs},\n outputs: {self.outputs},\n "
            f"partitions depended on: {self.dependencies},\n partition dependents: {self.dependents}"
        )


@compatibility(is_backward_compatible=True)
def split_module(
    m: GraphModule,
    root_m: Any,
    split_callback: Callable[[Node], int | str],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> GraphModule:
    """A module of submodules `submod_0`, `submod_1`, ... that together do what a graph module does.

    Args:
        m: the module to cut.
        root_m: accepted; not used.
        split_callback: the part that a node belongs to.
        qualname_map: gets the dotted names of submodules in `m` by those in the result.
        keep_original_order: call the parts in the order in which their first nodes stood.
        keep_original_node_name: nodes keep their names.
        keep_original_input_name: inputs of parts are called what their values are called; else
            `arg_0`, ...
        partition_affix: stands before the number in the submodules' names.
        tuple_return: parts with one result return it in a tuple, too.

    Raises:
        RuntimeError: parts need each other in a circle.

    >>> import pellucid as torch
    >>> from pellucid.fx.passes.split_module import split_module
    >>> gm = torch.fx.symbolic_trace(lambda x: torch.relu(x).neg() + 1)
    >>> parts = split_module(gm, None, lambda node: 0 if node.name == "relu" else 1)
    >>> print(parts.code.strip())
    def forward(self, x):
        submod_0 = self.submod_0(x);  x = None
        submod_1 = self.submod_1(submod_0);  submod_0 = None
        return submod_1
    """
    nodes = {node.name: node for node in m.graph.nodes}
    home: dict[Node, str] = {}
    parts: dict[str, Partition] = {}
    for node in m.graph.nodes:
        if node.op not in ("placeholder", "get_attr", "output"):
            name = str(split_callback(node))
            home[node] = name
            if name not in parts:
                parts[name] = Partition(name)
                if partition_affix is not None:
                    parts[name].submod_name = "_".join(["submod", partition_affix, name])
            parts[name].node_names.append(node.name)
    for node in m.graph.nodes:
        for used in (arg for arg in _uses(node)):
            _record(used, node, home, parts)
    ordered = list(parts) if keep_original_order else _sorted(parts)
    if keep_original_order:
        _sorted(parts)  # refuses circles
    for name in ordered:
        part = parts[name]
        for at, given in enumerate(part.inputs):
            origin = nodes[given]
            made = part.graph.placeholder(
                given if keep_original_input_name else f"arg_{at}", type_expr=origin.type
            )
            made.meta = origin.meta.copy()
            part.environment[origin] = made
    for node in m.graph.nodes:
        if node not in home:
            continue
        part = parts[home[node]]
        args = map_arg(node.args, part.environment.__getitem__)
        kwargs = map_arg(node.kwargs, part.environment.__getitem__)
        target: Any = node.target
        if node.op == "call_module":
            target = str(node.target).replace(".", "_")
            part.targets[target] = _get_attr(m, str(node.target))
            if qualname_map is not None:
                qualname_map[f"{part.submod_name}.{target}"] = str(node.target)
        made = part.graph.create_node(
            node.op, target, args, kwargs, node.name if keep_original_node_name else None, node.type
        )
        made.meta = node.meta.copy()
        part.environment[node] = made
    return _assembled(m, [parts[name] for name in ordered], nodes, tuple_return)


def _assembled(
    m: GraphModule, parts: list[Partition], nodes: dict[str, Node], tuple_return: bool
) -> GraphModule:
    """The module that calls the parts."""
    base = Graph()
    values: dict[str, Node] = {}
    attributes: dict[str, Any] = {}
    for node in m.graph.nodes:
        if node.op == "placeholder":
            extra = {"default_value": node.args[0]} if node.args else {}
            values[node.name] = base.placeholder(str(node.target), type_expr=node.type, **extra)
        elif node.op == "get_attr":
            values[node.name] = base.get_attr(str(node.target))
            attributes[str(node.target)] = _get_attr(m, str(node.target))
        else:
            continue
        values[node.name].meta = node.meta.copy()
    for part in parts:
        results = tuple(part.environment[nodes[name]] for name in part.outputs)
        if len(results) == 1 and not tuple_return:
            part.graph.output(results[0])
        elif results:
            part.graph.output(results)
        else:
            part.graph.output(())
        attributes[part.submod_name] = GraphModule(part.targets, part.graph)
        called = base.call_module(part.submod_name, tuple(values[name] for name in part.inputs))
        if len(results) > 1 or results and tuple_return:
            proxy: Any = Proxy(called)
            for at, name in enumerate(part.outputs):
                values[name] = proxy[at].node
        elif results:
            values[next(iter(part.outputs))] = called
    for node in m.graph.nodes:
        if node.op == "output":
            base.output(map_arg(node.args[0], lambda n: values[n.name])).meta = node.meta.copy()
    return GraphModule(attributes, base)


def _uses(node: Node) -> list[Node]:
    return node.all_input_nodes


def _record(used: Node, user: Node, home: dict[Node, str], parts: dict[str, Partition]) -> None:
    """A value is used: where that is in another part, the one gives it and the other takes it."""
    giver, taker = home.get(used), home.get(user)
    if giver == taker:
        return
    if giver is not None:
        parts[giver].outputs.setdefault(used.name)
        if taker is not None:
            parts[giver].dependents.setdefault(taker)
    if taker is not None:
        parts[taker].inputs.setdefault(used.name)
        if giver is not None:
            parts[taker].dependencies.setdefault(giver)


def _sorted(parts: dict[str, Partition]) -> list[str]:
    """Names of parts, each after those it needs.

    Raises:
        RuntimeError: there is no such order.
    """
    waiting = {name: set(part.dependencies) for name, part in parts.items()}
    ready = [name for name, needs in waiting.items() if not needs]
    order: list[str] = []
    while ready:
        name = ready.pop(0)
        order.append(name)
        for dependent in parts[name].dependents:
            waiting[dependent].discard(name)
            if not waiting[dependent]:
                ready.append(dependent)
    if len(order) != len(parts):
        raise RuntimeError("cycle exists between partitions!")
    return order
