"""Where a loss of a step that was not recorded became NaN: read off its graph, which knows the line
of each operation and keeps what its gradient needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...events import Site

MOST = 20_000  # operations of a graph that are looked at


@dataclass(slots=True)
class Born:
    """An operation whose result is not finite although what it was given is."""

    name: str
    site: Site | None
    argument: Any = None  # (smallest, largest) of the argument


def parameters_bad(tensor: Any) -> bool:
    """Whether a leaf that the loss is made of is not finite already."""
    return any(_bad(leaf._array) for leaf in _walk(tensor)[1])


def born(tensor: Any) -> Born | None:
    """The first operation behind a loss at which a number becomes NaN or infinite; None where the
    graph does not tell.
    """
    for node in sorted(_walk(tensor)[0], key=lambda n: n.seq):
        given, made = _kept(node)
        if any(_bad(a) for a in given.values()):
            return None  # it came in with the data
        name = node.op.name
        argument = given.get(1 if name == "div" else 0)
        if not any(_bad(a) for a in made or _again(node, given)):
            continue
        site = None if node.code is None else Site(node.code, node.lasti)
        known = argument is not None and argument.size
        return Born(name, site, (float(argument.min()), float(argument.max())) if known else None)
    return None


def _again(node: Any, given: dict[int, Any]) -> list[Any]:
    """The result of an element-wise operation from the arguments that its node keeps. Ones take the
    place of the others: a quotient is not finite where its divisor is 0.
    """
    op = node.op
    if not op.elementwise or not given:
        return []
    arguments: list[Any] = [np.float32(1)] * len(op.args)
    for (kind, place), value in zip(node.plan.entries, node.saved, strict=True):
        if kind == "in":
            arguments[place] = value
    return [op.numpy_forward(*arguments, **node.params)]


def _walk(tensor: Any) -> tuple[list[Any], list[Any]]:
    """(nodes, leaves) of a graph of Pellucid's; nothing of another engine's."""
    first = getattr(tensor, "_node", None)
    if first is None:
        return [], []
    nodes: list[Any] = []
    leaves: list[Any] = []
    waiting, seen = [first], set()
    while waiting and len(nodes) < MOST:
        node = waiting.pop()
        node = getattr(node, "node", node)  # one of several results
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if hasattr(node, "saved"):
            nodes.append(node)
            waiting += [edge for edge in node.inputs if edge is not None]
        elif hasattr(node, "_array"):
            leaves.append(node)
    return nodes, leaves


def _kept(node: Any) -> tuple[dict[int, Any], list[Any]]:
    """(arguments by place, results) that a node keeps, as far as they are arrays of numbers."""
    given: dict[int, Any] = {}
    made: list[Any] = []
    entries = getattr(node.plan, "entries", ())
    if node.saved is None or len(entries) != len(node.saved):
        return given, made
    for (kind, place), value in zip(entries, node.saved, strict=True):
        for k, array in enumerate(value if isinstance(value, (list, tuple)) else (value,)):
            if isinstance(array, np.ndarray) and array.dtype.kind == "f":
                if kind in ("in", "ins"):
                    given[place + k] = array
                elif kind in ("out", "outs"):
                    made.append(array)
    return given, made


def _bad(array: Any) -> bool:
    return (
        isinstance(array, np.ndarray)
        and array.dtype.kind == "f"
        and not bool(np.isfinite(array).all())
    )
