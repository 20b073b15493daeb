"""The part of a graph that a backward for given edges has to run: the nodes on a path to one of the
edges, and only the gradients that lead there.

`autograd.grad(loss, x)` needs no gradients of weights, which are half of the work of a layer or
more. PyTorch leaves out the same ones (`should_compute_output` of its nodes).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import lru_cache
from typing import Any

from ..primitive import BackwardPlan, Primitive
from ..tape import Node
from ..tensor import OutputSlot, node_of


def key_of(edge: Any) -> tuple[int, int]:
    """The key that identifies an edge in `wanted` and `found`."""
    if type(edge) is OutputSlot:
        return (id(edge.node), edge.index)
    return (id(edge), 0)


def paths(
    roots: Sequence[Any], wanted: Container[tuple[int, int]], oldest: float
) -> dict[int, Any]:
    """The nodes on a path from the roots to a wanted edge: `id` of the node -> its plan.

    Args:
        roots: edges.
        wanted: keys of edges (`key_of`).
        oldest: the smallest `seq` of a wanted edge. Older nodes cannot lead to one.
    """
    nodes: list[Node] = []
    seen: set[int] = set()
    stack = [node_of(e) for e in roots]
    while stack:
        n = stack.pop()
        if id(n) in seen or not isinstance(n, Node) or n.seq < oldest:
            continue
        seen.add(id(n))
        nodes.append(n)
        stack += [node_of(e) for e in n.inputs]
    nodes.sort(key=lambda n: n.seq)
    plans: dict[int, Any] = {}
    for n in nodes:  # producers first
        leads = []
        for e in n.inputs:
            key = None if e is None else key_of(e)
            leads.append(key is not None and (key in wanted or key[0] in plans))
        if True in leads:
            plans[id(n)] = _narrowed(n, tuple(leads))
    return plans


def _narrowed(node: Node, leads: tuple[bool, ...]) -> Any:
    """The node's plan for the arguments that lead to a wanted edge."""
    plan, op = node.plan, node.op
    if type(plan) is not BackwardPlan or len(plan.needs) != len(leads):
        return plan  # a custom Function always computes all its gradients
    needs = tuple([need and lead for need, lead in zip(plan.needs, leads, strict=True)])
    if needs == plan.needs:
        return plan
    if op._plans.get(plan.needs) is plan:
        return _among(op, plan, needs)
    return _without(plan, plan.backward, needs)  # the node has its own plan, which is not shared


@lru_cache(4096)
def _among(op: Primitive, whole: BackwardPlan, needs: tuple[bool | None, ...]) -> BackwardPlan:
    """The plan of an operation for fewer arguments. It reads the values that were saved for more."""
    few = op.plan(needs)
    if not {*few.entries} <= {*whole.entries}:
        return _without(whole, whole.backward, needs)
    places, backward = [whole.entries.index(entry) for entry in few.entries], few.backward
    return _without(whole, lambda F, g, s, p: backward(F, g, [s[k] for k in places], p), needs)


def _without(
    whole: BackwardPlan, backward: Callable[..., Any], needs: tuple[bool | None, ...]
) -> BackwardPlan:
    """A plan that drops the gradients of arguments that are not needed."""

    def asked_for(F: Any, g: Any, s: Any, p: Any) -> tuple[Any, ...]:
        gs = zip(backward(F, g, s, p), needs, strict=True)
        return tuple([g if need else None for g, need in gs])

    return BackwardPlan(list(whole.entries), asked_for, needs)
