"""Replace the subgraphs that match a pattern (`torch.fx.subgraph_rewriter`)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..nn import Module
from ._compatibility import compatibility
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _get_attr, _has_attr
from .node import Node
from .passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]

Pattern = Callable[..., Any] | GraphModule | Graph


@compatibility(is_backward_compatible=True)
class Match(NamedTuple):
    """A place that was replaced: the node it was found from, and nodes of the graph by those of the
    pattern.
    """

    anchor: Node
    nodes_map: dict[Node, Node]


@compatibility(is_backward_compatible=False)
@dataclass
class ReplacedPatterns:
    """A place that was replaced: as `Match`, with the nodes that are there now."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def _replace_attributes(gm: GraphModule, replacement: Module) -> None:
    """Give the module what the nodes of the replacement name."""
    gm.delete_all_unused_submodules()
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr") or _has_attr(gm, str(node.target)):
            continue
        target = str(node.target)
        if not _has_attr(replacement, target):
            raise RuntimeError(
                f'Attempted to create a "{node.op}" node during subgraph rewriting with target {target}, but the referenced attribute '
                "does not exist in the replacement GraphModule"
            )
        value = _get_attr(replacement, target)
        if isinstance(value, Module):
            gm.add_submodule(target, copy.deepcopy(value))
        else:
            path, _, last = target.rpartition(".")
            if path and not _has_attr(gm, path):
                gm.add_submodule(path, Module())
            setattr(gm.get_submodule(path), last, value)
    gm.graph.lint()


@compatibility(is_backward_compatible=True)
def replace_pattern(gm: GraphModule, pattern: Pattern, replacement: Pattern) -> list[Match]:
    """Put a replacement in all places of a module's graph that look like a pattern, and make its
    code anew.

    Inputs of the pattern stand for anything; those of the replacement stand for the same, in order.
    Places that overlap an earlier one, and those whose inner values are used elsewhere, stay.

    Args:
        gm: the module, which is changed.
        pattern, replacement: functions, graph modules or graphs.

    Returns:
        The places that were replaced.

    >>> import pellucid as torch
    >>> gm = torch.fx.symbolic_trace(lambda x: torch.relu(x).neg() + 1)
    >>> places = torch.fx.replace_pattern(gm, lambda x: torch.relu(x).neg(), lambda x: torch.clamp(-x, max=0))
    >>> print(gm.code.strip())
    def forward(self, x):
        neg_1 = -x;  x = None
        clamp = torch.clamp(neg_1, max = 0);  neg_1 = None
        add = clamp + 1;  clamp = None
        return add
    """
    return [Match(found.anchor, found.nodes_map) for found in _replaced(gm, pattern, replacement)]


@compatibility(is_backward_compatible=False)
def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Pattern,
    replacement: Pattern | None = None,
    match_filters: list[Callable[[InternalMatch, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """As `replace_pattern`, for the places that all filters accept.

    Args:
        gm, pattern, replacement: as there.
        match_filters: functions of (match, the module's graph, the pattern's graph).
        ignore_literals: numbers and other constants may differ from the pattern's.
        replacement_callback: gives the replacement for a place, with the arguments of a filter.
        node_name_match: nodes whose names have this in them look like any node.
    """
    return _replaced(
        gm,
        pattern,
        replacement,
        match_filters,
        ignore_literals,
        replacement_callback,
        node_name_match,
    )


def _graph_of(pattern: Pattern) -> Graph:
    if isinstance(pattern, GraphModule):
        return pattern.graph
    return pattern if isinstance(pattern, Graph) else symbolic_trace(pattern).graph


def _replaced(
    gm: GraphModule,
    pattern: Pattern,
    replacement: Pattern | None = None,
    match_filters: Any = None,
    ignore_literals: bool = False,
    replacement_callback: Any = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    graph = gm.graph
    pattern_graph = _graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals)
    matches = [
        match
        for match in matcher.match(graph, node_name_match=node_name_match)
        if all(accepts(match, graph, pattern_graph) for accepts in match_filters or ())
    ]
    common = _graph_of(replacement) if replacement is not None else None
    done: list[ReplacedPatterns] = []
    now: dict[Node, Node] = {}  # what stands for nodes that were replaced
    for match in matches:
        new = (
            replacement_callback(match, graph, pattern_graph)
            if replacement_callback is not None
            else common
        )
        if new is None:
            raise AssertionError(
                "Must provide either a replacement GraphModule or a replacement callback"
            )
        done.append(_put(graph, pattern_graph, match, new, now))
    gm.recompile()
    if isinstance(replacement, Module):
        _replace_attributes(gm, replacement)
    return done


def _put(
    graph: Graph, pattern_graph: Graph, match: InternalMatch, new: Graph, now: dict[Node, Node]
) -> ReplacedPatterns:
    """Put a replacement in the place of a match."""
    inputs = [node for node in new.nodes if node.op == "placeholder"]
    if len(match.placeholder_nodes) != len(inputs):
        raise AssertionError(
            f"Expected {len(match.placeholder_nodes)} placeholders in replacement graph, got {len(inputs)}"
        )
    values: dict[Node, Any] = {}
    for theirs, given in zip(inputs, match.placeholder_nodes):
        current = now.get(given, given) if isinstance(given, Node) else given
        values[theirs] = current
        if current is not given:
            match.placeholder_nodes[match.placeholder_nodes.index(given)] = current
            for pn, gn in match.nodes_map.items():
                if gn is given:
                    match.nodes_map[pn] = current
    users = {user for node in match.returning_nodes for user in node.users}
    first = next((node for node in graph.nodes if node in users), None)
    if first is None:  # nobody uses it: right after its last node
        own = set(match.nodes_map.values())
        first = next(node for node in reversed(graph.nodes) if node in own).next
    before = set(graph.nodes)
    with graph.inserting_before(first):
        copied = graph.graph_copy(new, values)
    results = (copied,) if isinstance(copied, Node) else tuple(copied)
    if len(match.returning_nodes) != len(results):
        raise AssertionError(
            f"Expected {len(match.returning_nodes)} returning nodes, got {len(results)}"
        )
    for old, result in zip(match.returning_nodes, results):
        old.replace_all_uses_with(result)
        now[old] = result
    for node in reversed(pattern_graph.nodes):
        if node.op not in ("placeholder", "output"):
            graph.erase_node(match.nodes_map[node])
    made = [node for node in graph.nodes if node not in before]
    return ReplacedPatterns(match.anchors[0], match.nodes_map, made)
