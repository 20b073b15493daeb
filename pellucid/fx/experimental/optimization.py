"""Make modules faster for inference (`torch.fx.experimental.optimization`)."""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterable
from typing import Any

from ...nn import BatchNorm1d, BatchNorm2d, BatchNorm3d, Conv1d, Conv2d, Conv3d, Dropout, Module
from ...nn.utils.fusion import fuse_conv_bn_eval
from .._symbolic_trace import symbolic_trace
from ..graph import Graph
from ..graph_module import GraphModule
from ..interpreter import Transformer
from ..node import Argument, Node, Target

__all__ = [
    "UnionFind",
    "extract_subgraph",
    "fuse",
    "matches_module_pattern",
    "remove_dropout",
    "replace_node_module",
]


def _parent_name(target: str) -> tuple[str, str]:
    """A dotted name as (the module's, the attribute's)."""
    parent, _, name = target.rpartition(".")
    return parent, name


def matches_module_pattern(pattern: Iterable[type], node: Node, modules: dict[str, Any]) -> bool:
    """Whether a node's first argument and the node call modules of exactly these two types."""
    if len(node.args) == 0:
        return False
    for expected, current in zip(pattern, (node.args[0], node)):
        if (
            not isinstance(current, Node)
            or current.op != "call_module"
            or not isinstance(current.target, str)
        ):
            return False
        if type(modules.get(current.target)) is not expected:
            return False
    return True


def replace_node_module(node: Node, modules: dict[str, Any], new_module: Module) -> None:
    """Have a node call another module, which takes the old one's place.

    Args:
        node: the node.
        modules: the modules by their dotted names; the old one's entry is changed.
        new_module: the module.
    """
    if not isinstance(node.target, str):
        raise AssertionError(f"Expected str target, got {type(node.target)}")
    parent, name = _parent_name(node.target)
    modules[str(node.target)] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: Module, inplace: bool = False, no_trace: bool = False) -> Module:
    """A module whose batch normalizations right after convolutions are part of these, for
    inference.

    Args:
        model: a module in evaluation mode that can be traced.
        inplace: change the module's own submodules, not those of a copy.
        no_trace: it is a `GraphModule` already.

    >>> import pellucid as torch
    >>> from pellucid.fx.experimental.optimization import fuse
    >>> model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2)).eval()
    >>> [node.target for node in fuse(model).graph.nodes if node.op == "call_module"]
    ['0']
    """
    patterns = [(Conv1d, BatchNorm1d), (Conv2d, BatchNorm2d), (Conv3d, BatchNorm3d)]
    if not inplace:
        model = copy.deepcopy(model)
    if not no_trace or not isinstance(model, GraphModule):
        fx_model = symbolic_trace(model)
    else:
        fx_model = model
    modules = dict(fx_model.named_modules())
    new_graph = copy.deepcopy(fx_model.graph)
    for pattern in patterns:
        for node in new_graph.nodes:
            if not matches_module_pattern(pattern, node, modules):
                continue
            before = node.args[0]
            if len(before.users) > 1:  # the convolution's own result is used, too
                continue
            conv, bn = modules[before.target], modules[str(node.target)]
            if not bn.track_running_stats:
                continue
            replace_node_module(before, modules, fuse_conv_bn_eval(conv, bn))
            node.replace_all_uses_with(before)
            new_graph.erase_node(node)
    return GraphModule(fx_model, new_graph)


def remove_dropout(model: Module) -> Module:
    """A module without its `Dropout` modules."""

    class DropoutRemover(Transformer):
        def call_module(
            self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
        ) -> Any:
            if isinstance(self.submodules[str(target)], Dropout):
                if len(args) != 1:
                    raise AssertionError(f"Expected 1 arg for Dropout, got {len(args)}")
                return args[0]
            return super().call_module(target, args, kwargs)

    return DropoutRemover(symbolic_trace(model)).transform()


def extract_subgraph(
    orig_module: Module, nodes: list[Node], inputs: list[Node], outputs: list[Node]
) -> GraphModule:
    """A module of its own from some nodes of a module's graph.

    Args:
        orig_module: the module.
        nodes: the nodes, in order.
        inputs: nodes whose values it takes.
        outputs: nodes whose values it gives.
    """
    made = Graph()
    env = {node: made.placeholder(node.name) for node in inputs}
    for node in nodes:
        env[node] = made.node_copy(node, lambda n: env[n])
    made.output([env[node] for node in outputs])
    made.lint()
    return GraphModule(orig_module, made)


class UnionFind:
    """Disjoint sets of the numbers below `n`, and ones made later.

    >>> from pellucid.fx.experimental.optimization import UnionFind
    >>> sets = UnionFind(3)
    >>> for number in range(3):
    ...     sets.make_set(number)
    >>> _ = sets.join(0, 2)
    >>> sets.find(0) == sets.find(2), sets.find(1)
    (True, 1)
    """

    def __init__(self, n: int) -> None:
        self.parent: list[int | None] = [None] * n
        self.size: list[int] = [0] * n

    def make_set(self, v: int) -> None:
        """Let a number be a set of its own."""
        self.parent[v] = v
        self.size[v] = 1

    def find(self, v: int) -> int:
        """The number that stands for the set of `v`."""
        root = v
        while self.parent[root] != root:
            root = operator.index(self.parent[root])  # type: ignore[arg-type]
        while self.parent[v] != root:
            self.parent[v], v = root, operator.index(self.parent[v])  # type: ignore[arg-type]
        return root

    def join(self, a: int, b: int) -> int:
        """Make one set of two; the number that stands for it."""
        a, b = self.find(a), self.find(b)
        if a == b:
            return a
        if self.size[a] < self.size[b]:
            a, b = b, a
        self.parent[b] = a
        self.size[a] += self.size[b]
        return a
