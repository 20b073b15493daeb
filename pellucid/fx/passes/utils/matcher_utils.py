"""Find the places in a graph that match a pattern graph (`torch.fx.passes.utils.matcher_utils`)."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from ....core.tensor import Tensor
from ..._compatibility import compatibility
from ...graph import Graph
from ...graph_module import _get_attr
from ...node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@compatibility(is_backward_compatible=False)
@dataclass
class InternalMatch:
    """A place that looks like the pattern.

    Attributes:
        anchors: the nodes from which it was found.
        nodes_map: nodes of the graph by those of the pattern.
        placeholder_nodes: what stands for the pattern's inputs, in their order.
        returning_nodes: what stands for the pattern's results, in their order.
        name_node_map: nodes of the graph by names that the pattern gives.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Node] = field(default_factory=dict)
    placeholder_nodes: list[Node] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            self.anchors,
            self.nodes_map.copy(),
            self.placeholder_nodes.copy(),
            self.returning_nodes.copy(),
            self.name_node_map.copy(),
        )


@compatibility(is_backward_compatible=False)
class SubgraphMatcher:
    """Finds the places in a graph that look like a pattern.

    Args:
        pattern: the graph to look for; its inputs stand for anything.
        match_output: the pattern's result must be the graph's.
        match_placeholder: the pattern's inputs must be the graph's.
        remove_overlapping_matches: of matches that share nodes, keep the first.
        ignore_literals: numbers and other constants may differ.

    Raises:
        ValueError: an empty pattern, or one with unused inputs or disconnected nodes.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.is_impure() and not node.users:
                raise AssertionError(
                    "SubgraphMatcher cannot be initialized with an pattern with dead code"
                )
        self.pattern_placeholder_nodes = [
            node for node in pattern.nodes if node.op == "placeholder"
        ]
        output = next(iter(reversed(pattern.nodes)))
        self.pattern_returning_nodes: list[Node] = output.all_input_nodes
        self.pattern_anchors: list[Node] = []
        if match_output:
            self.pattern_anchors = [output]
        else:
            # A result that others of the pattern use is found on the way to them.
            self.pattern_anchors = [node for node in output.all_input_nodes if len(node.users) == 1]

    # -- one node against another ------------------------------------------------------------------
    def _nodes_are_equal(self, pn: Node, gn: Node, node_name_match: str = "") -> bool:
        if not self.match_placeholder and pn.op == "placeholder":
            return True
        if node_name_match and node_name_match in gn.name:
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        if pn.op == "get_attr":
            return self._match_attributes(pn, gn)
        return pn.target == gn.target

    def _match_attributes(self, pn: Node, gn: Node) -> bool:
        theirs = _get_attr(gn.graph.owning_module, str(gn.target))
        ours = _get_attr(pn.graph.owning_module, str(pn.target))
        if type(theirs) is not type(ours):
            return False
        return isinstance(theirs, Tensor) or theirs == ours

    def _match_literals(self, pn: Any, gn: Any, match: InternalMatch) -> bool:
        if isinstance(pn, Node):
            if pn.op != "placeholder":
                return False
            if pn in match.nodes_map:
                return match.nodes_map[pn] == gn
            match.nodes_map[pn] = gn
            return True
        return not isinstance(gn, Node) and (
            self.ignore_literals or type(gn) is type(pn) and gn == pn
        )

    def _match_values(self, pn: Any, gn: Any, match: InternalMatch, node_name_match: str) -> bool:
        if isinstance(pn, Node) and isinstance(gn, Node):
            return self._match_nodes(pn, gn, match, node_name_match)
        if isinstance(pn, (list, tuple)) and isinstance(gn, (list, tuple)):
            return len(pn) == len(gn) and all(
                self._match_values(p, g, match, node_name_match) for p, g in zip(pn, gn)
            )
        if isinstance(pn, dict) and isinstance(gn, dict):
            return pn.keys() == gn.keys() and all(
                self._match_values(pn[key], gn[key], match, node_name_match) for key in pn
            )
        if isinstance(pn, slice) and isinstance(gn, slice):
            parts = lambda s: (s.start, s.stop, s.step)
            return self._match_values(parts(pn), parts(gn), match, node_name_match)
        return self._match_literals(pn, gn, match)

    def _match_nodes(
        self, pn: Node, gn: Node, match: InternalMatch, node_name_match: str = ""
    ) -> bool:
        if pn in match.nodes_map:
            return match.nodes_map[pn] is gn
        if gn in match.nodes_map.values() or not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        before = match.nodes_map.copy()
        match.nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        found = self._match_values(pn.args, gn.args, match, node_name_match) and self._match_values(
            pn.kwargs, gn.kwargs, match, node_name_match
        )
        if not found:
            match.nodes_map = before
        return found

    # -- the whole pattern
    # --------------------------------------------------------------------------
    def _is_contained(self, nodes_map: dict[Node, Node]) -> bool:
        """Whether what the pattern does not return is used inside of the match only."""
        inside = {gn: pn for pn, gn in nodes_map.items() if pn.op != "placeholder"}
        for gn, pn in inside.items():
            if pn in self.pattern_returning_nodes:
                continue
            if any(user not in inside for user in gn.users):
                return False
        return True

    def _remove_overlapping_matches(self, matches: list[InternalMatch]) -> list[InternalMatch]:
        kept: list[InternalMatch] = []
        taken: set[Node] = set()
        for match in matches:
            own = {
                gn for pn, gn in match.nodes_map.items() if pn.op not in ("placeholder", "output")
            }
            if not own & taken:
                kept.append(match)
                taken |= own
        return kept

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The places in a graph that look like the pattern, from the first to the last.

        Args:
            graph: the graph to look in.
            node_name_match: a node whose name has this in it looks like any node of the pattern.
        """
        candidates = [
            (
                anchor,
                [
                    node
                    for node in graph.nodes
                    if self._nodes_are_equal(anchor, node, node_name_match)
                ],
            )
            for anchor in self.pattern_anchors
        ]
        matches: list[InternalMatch] = []

        def search(at: int, match: InternalMatch) -> None:
            if at == len(candidates):
                match.placeholder_nodes = [
                    match.nodes_map[pn] for pn in self.pattern_placeholder_nodes
                ]
                match.returning_nodes = [match.nodes_map[pn] for pn in self.pattern_returning_nodes]
                matches.append(match)
                return
            anchor, nodes = candidates[at]
            for node in nodes:
                tried = copy.copy(match)
                if self._match_nodes(anchor, node, tried, node_name_match):
                    search(at + 1, tried)

        search(0, InternalMatch(anchors=self.pattern_anchors))
        matches = [match for match in matches if self._is_contained(match.nodes_map)]
        return (
            self._remove_overlapping_matches(matches)
            if self.remove_overlapping_matches
            else matches
        )
