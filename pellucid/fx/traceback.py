"""Metadata that a tracer copies from the node being run to the nodes it creates
(`torch.fx.traceback`).
"""

from __future__ import annotations

import contextlib
import copy
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ._compatibility import compatibility

if TYPE_CHECKING:
    from .graph import Graph
    from .node import Node

__all__ = [
    "annotate",
    "annotate_fn",
    "format_stack",
    "get_current_meta",
    "get_current_replay_node",
    "get_graph_provenance_json",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "reset_grad_fn_seq_nr",
    "set_current_meta",
    "set_current_replay_node",
    "set_grad_fn_seq_nr",
    "set_stack_trace",
]

current_meta: dict[str, Any] = {}
current_replay_node: Node | None = None
should_preserve_node_meta = False


@compatibility(is_backward_compatible=False)
@contextlib.contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Context manager: nodes that are made inside get the `meta` of the node that is being run.

    `torch.fx.Interpreter` says which one that is, node by node.
    """
    global should_preserve_node_meta, current_meta
    before = should_preserve_node_meta, current_meta
    should_preserve_node_meta, current_meta = enable, current_meta.copy()
    try:
        yield
    finally:
        should_preserve_node_meta, current_meta = before


@compatibility(is_backward_compatible=False)
def has_preserved_node_meta() -> bool:
    """Whether `preserve_node_meta` is on."""
    return should_preserve_node_meta


@compatibility(is_backward_compatible=False)
def get_current_meta() -> dict[str, Any]:
    """The `meta` that new nodes get."""
    return current_meta


@compatibility(is_backward_compatible=False)
@contextlib.contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """Context manager: `node` is being run."""
    global current_meta
    if not (should_preserve_node_meta and node.meta):
        yield
        return
    before, current_meta = current_meta, copy.copy(node.meta)
    try:
        yield
    finally:
        current_meta = before


@compatibility(is_backward_compatible=False)
@contextlib.contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Context manager: nodes that are made inside have these entries in `meta["custom"]`."""
    before = current_meta.get("custom")
    current_meta["custom"] = {**(before or {}), **annotation_dict}
    try:
        yield
    finally:
        if before is None:
            current_meta.pop("custom", None)
        else:
            current_meta["custom"] = before


@compatibility(is_backward_compatible=False)
def annotate_fn(
    annotation_dict: dict[str, Any],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function runs inside `annotate`."""
    import functools

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return wrapped

    return decorate


@compatibility(is_backward_compatible=False)
def set_stack_trace(stack: list[str]) -> None:
    """Give new nodes this stack, where `preserve_node_meta` is on."""
    if should_preserve_node_meta and stack:
        current_meta["stack_trace"] = "".join(stack)


@compatibility(is_backward_compatible=False)
def format_stack() -> list[str]:
    """The stack that new nodes get, or else the one here, as lines of text."""
    if should_preserve_node_meta:
        return [current_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@compatibility(is_backward_compatible=False)
def set_grad_fn_seq_nr(seq_nr: int) -> None:
    """Say which node of backward is being run, by its number."""
    if should_preserve_node_meta:
        current_meta["grad_fn_seq_nr"] = [*current_meta.get("grad_fn_seq_nr", []), seq_nr]
        current_meta["in_grad_fn"] = current_meta.get("in_grad_fn", 0) + 1


@compatibility(is_backward_compatible=False)
def reset_grad_fn_seq_nr() -> None:
    """The reverse of `set_grad_fn_seq_nr`."""
    if not should_preserve_node_meta:
        return
    level = current_meta.get("in_grad_fn", 0)
    if level > 1:
        current_meta["in_grad_fn"] = level - 1
        current_meta["grad_fn_seq_nr"] = current_meta["grad_fn_seq_nr"][:-1]
    else:
        current_meta.pop("in_grad_fn", None)
        current_meta.pop("grad_fn_seq_nr", None)


@compatibility(is_backward_compatible=False)
@contextlib.contextmanager
def set_current_replay_node(node: Node | None) -> Iterator[None]:
    """Context manager: `node` of another graph is being repeated."""
    global current_replay_node
    before, current_replay_node = current_replay_node, node
    try:
        yield
    finally:
        current_replay_node = before


@compatibility(is_backward_compatible=False)
def get_current_replay_node() -> Node | None:
    """The node of another graph that is being repeated, or None."""
    return current_replay_node


@compatibility(is_backward_compatible=False)
def get_graph_provenance_json(graph: Graph) -> dict[str, Any]:
    """The nodes that each call of a graph was made from, by name."""
    found: dict[str, Any] = {}
    for node in graph.nodes:
        if node.op == "call_function":
            found[node.name] = [
                source.to_dict()
                for source in node.meta.get("from_node", [])
                if hasattr(source, "to_dict")
            ]
    return found
