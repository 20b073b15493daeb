"""Keep recorded gradients connected to arguments on which their values may not depend, as in
PyTorch.

Many of PyTorch's gradient functions (for ReLUs, pools, convolutions) are differentiable functions
of the gradient and the arguments. The second derivative with respect to these arguments is
therefore zero or None instead of an error.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...arrays.layout import turned
from ..bind import record
from ..interpret import stack_of, thread
from ..primitive import PRIMITIVES, TENSORS
from ..tape import Node, joined, named_type, value_at
from ..tensor import OutputSlot, Tensor

_apart = threading.local()


@contextmanager
def apart() -> Iterator[None]:
    """Inside the block, gradients are connected only to what they depend on."""
    before, _apart.now = getattr(_apart, "now", False), True
    try:
        yield
    finally:
        _apart.now = before


@contextmanager
def without(mark: str) -> Iterator[None]:
    """Inside the block, the interpreters that have an attribute `mark` are not active."""
    before = thread.stack
    thread.stack = stack_of([i for i in before.all if not hasattr(i, mark)])
    try:
        yield
    finally:
        thread.stack = before


def are_tools() -> bool:
    """Whether the code runs inside `apart`, where the library takes gradients for its own purposes."""
    return getattr(_apart, "now", False)


def in_reverse(leaves: dict[int, tuple[Tensor, Any, Node | None]]) -> list[tuple[Tensor, Any]]:
    """Empty `leaves` and return pairs (leaf, gradient), in reverse order of service.

    A leaf is served when its last gradient has arrived. Leaves with the same last node are served
    in the order of the edges of PyTorch's node (the record's `order`). Only hooks can observe this
    order.
    """
    found = list(leaves.values())
    leaves.clear()
    if any(leaf._x for leaf, _, _ in found):
        groups = itertools.groupby(found, lambda entry: id(entry[2]))
        found = [entry for _, group in groups for entry in _by_edges(list(group))]
    return [(leaf, g) for leaf, g, _ in reversed(found)]


def _by_edges(found: list[tuple[Tensor, Any, Node | None]]) -> list[Any]:
    node = found[0][2]
    if node is None or not node.op.order or len(found) == 1:
        return found
    places = [node.op.args.index(word) for word in node.op.order]
    order = [id(node.inputs[k]) for k in places if k < len(node.inputs)]
    return sorted(found, key=lambda entry: order.index(id(entry[0])))


def linked(node: Node, gs: Any) -> Any:
    """Connect recorded gradients of a node to the arguments that its record's `linked` names."""
    named, known = node.op.linked, (node.ext or {}).get("linked", ())
    if not named and not known or are_tools():
        return gs
    places = dict(zip(node.op.args, node.inputs, strict=False)) | {
        "out": node if node.op.outputs == 1 else OutputSlot(node, 0)
    }
    ends = [
        (edge, zeros)
        for edge, zeros in (*((places[word], zeros) for word, zeros in named), *known)
        if edge is not None
    ]
    if not ends:
        return gs
    made = []
    for g in gs:
        if g is not None:
            t = connected(g, ends)
            t._node.__class__ = named_type(node.name().replace("Backward", "BackwardBackward", 1))
            g = t
        made.append(g)
    return made


def connected(g: Tensor, ends: list[tuple[Any, bool]]) -> Tensor:
    """Connect a recorded gradient to edges (nodes, leaves or slots) that it may not depend on. A
    second derivative gives zeros for the edges that are marked True, and None for the others.
    """
    others = []
    for edge, _ in ends:
        shape, dtype = value_at(edge)
        others.append(
            edge
            if isinstance(edge, Tensor)
            else joined(np.broadcast_to(np.zeros((), dtype), shape), edge)
        )
    params = {"zeros": tuple([zeros for _, zeros in ends])}
    t = TENSORS.alias(g)
    needs = (g._rg or None, *[True] * len(others))
    t._node = record(PRIMITIVES["linked"], (g, *others), needs, params, [t])
    t._rg, t._view = True, None
    return t


def copied_like(leaf: Tensor, g: Tensor) -> Tensor:
    """A recorded copy of a gradient that has the leaf's strides."""
    order = turned(leaf._array, g._array)
    copied: Tensor = TENSORS.clone(g) if order is None else TENSORS.contiguous(g, order=order)
    return copied
