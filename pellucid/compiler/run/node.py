"""The graph node of a compiled function whose result is differentiated outside of it. Its backward
is the program's second half.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...core import source
from ...core.primitive import Plan, Primitive
from ...core.tape import Node, count, node_type, walk
from ...core.tensor import OutputSlot, Tensor, make_tensor, version_of
from ...errors import GraphError

COMPILED = Primitive(
    name="compiled_function", variadic=True, outputs=-1, grad_name="CompiledFunctionBackward"
)
# what only results without a gradient come from gets none, as in eager execution
COMPILED.keep_none_grads = True


def _backward(F: Any, g: Any, s: Any, p: Any) -> Any:
    if not F.raw:
        raise GraphError(
            "torch.compile with aot_autograd does not currently support double backward",
            op="CompiledFunctionBackward",
            hint="run the function without compiling it (torch.compiler.disable) to differentiate its gradient",
        )
    version, saved, extras, *_ = s
    return version.back(saved, extras, [None if x is None else np.asarray(x) for x in g])


def _spent(F: Any, g: Any, s: Any, p: Any) -> Any:
    raise s[0]  # a freed graph is refused before its rule runs: this one was kept


@cache
def _plan(read: int, keeps: bool) -> Plan:
    """For a backward that uses the values of so many tensors, kept behind what it needs: who
    overwrote one is told its shape. `keeps`: it can be repeated.
    """
    made = Plan([("aux", 0)] * (3 + read), _backward)
    made.saves_nothing = keeps
    made.versioned = tuple(range(3, 3 + read))
    return made


_SPENT = Plan([("in", 0)], _spent)


def _node(leaves: list[Tensor], results: list[Tensor], plan: Plan) -> Node:
    kind = node_type(COMPILED)
    node: Node = object.__new__(kind)
    node.op = COMPILED
    node.params = {}
    node.plan = plan
    node.inputs = tuple([t._node or t for t in leaves])
    node.versions = ()
    node.total = 0
    node.seq = count()
    node.shape = [t._array.shape for t in results]
    node.dtype = [t._array.dtype for t in results]
    node.ext = None
    node.source = source.capture(3)
    for k, t in enumerate(results):
        t._node = OutputSlot(node, k)
        t._rg = True
    return node


def record(
    version: Any,
    results: list[Tensor],
    leaves: list[Tensor],
    read: list[Tensor],
    saved: list[Any],
    extras: Any,
    keeps: bool,
) -> None:
    """Make `results` the results of one node over `leaves`; `read` are tensors whose values its
    backward uses. `keeps`: backward frees nothing.
    """
    node = _node(leaves, results, _plan(len(read), keeps))
    node.saved = (version, saved, extras, *[t._array for t in read])
    node.versions = tuple([version_of(t) for t in read])
    node.total = sum(v.count for v in node.versions)


def freed(result: Tensor, error: Exception | bool = True) -> None:
    """Make `result` what it is after a backward inside the compiled function: a tensor whose graph
    is spent, or one that was kept and raises `error`, since the function overwrote what its
    gradient needs.
    """
    node = _node([], [result], _SPENT)
    node.saved = None if error is True else (error,)
    if error is True:
        node.total = source.capture(4)


def spent_slot(shape: tuple[int, ...], kind: Any, error: Exception | bool = True) -> OutputSlot:
    """The place in the graph that results of a step whose graph is spent share."""
    result = make_tensor(np.empty(shape, kind))
    freed(result, error)
    return result._node


def view_of(t: Tensor, bases: list[Tensor]) -> tuple[Tensor, tuple[Any, ...]] | None:
    """The tensor among `bases` that the result `t` is a differentiable view of, and the way from
    there; None where there is none.
    """
    if t._view is None or t._view.kind not in ("grad", "multi") or not t._rg:
        return None
    found = None
    for base in bases:
        root, known = (base, ()) if base._view is None else (base._view.base, base._view.chain)
        chain = t._view.chain
        if (
            base._rg
            and root is t._view.base
            and len(known) < len(chain)
            and all(a is b for a, b in zip(known, chain, strict=False))
        ):
            if found is None or len(chain) - len(known) < len(found[1]):
                found = base, chain[len(known) :]
    return found


# ---- questions about a graph -------------------------------------------------------------------------
def place_of(t: Tensor) -> Any:
    """Where a tensor stands in the graph."""
    edge = t._node
    return (id(edge.node), edge.index) if type(edge) is OutputSlot else id(edge or t)


def below(t: Tensor, ends: set[Any]) -> set[Any]:
    """The places in the graph that gradients of a tensor come to, no further than those at the
    ends.
    """
    stack: list[Any] = [t._node or t]
    found = set()
    while stack:
        edge = stack.pop()
        key = (id(edge.node), edge.index) if type(edge) is OutputSlot else id(edge)
        if edge is not None and key not in found:
            found.add(key)
            node = edge.node if type(edge) is OutputSlot else edge
            if key not in ends and isinstance(node, Node):
                stack.extend(node.inputs)
    return found


def keeps_all(results: list[Tensor], ends: set[Any]) -> bool:
    """True when backward frees nothing between results and the places at the ends, so that it can
    be repeated.
    """
    stack: list[Any] = [t._node for t in results]
    seen = set()
    while stack:
        edge = stack.pop()
        key = (id(edge.node), edge.index) if type(edge) is OutputSlot else id(edge)
        node = edge.node if type(edge) is OutputSlot else edge
        if key in ends or id(node) in seen or not isinstance(node, Node):
            continue
        seen.add(id(node))
        if node.saved is None or node.saved and not node.plan.saves_nothing:
            return False
        stack.extend(node.inputs)
    return True


def is_spent(t: Tensor) -> bool:
    """True when backward went through the graph of a tensor and freed it."""
    return any(isinstance(n, Node) and n.saved is None for n in walk([t._node]))


def has_hooks(t: Tensor) -> bool:
    """True when a node or leaf below a tensor has a hook that sees gradients on their way.

    Hooks that wait until a leaf has its gradient do so with a version's node as well.
    """
    for n in walk([t._node]):
        held, names = (n.ext, _NODE_HOOKS) if isinstance(n, Node) else (n._x, ("hooks",))
        if held is not None and not held.keys().isdisjoint(names):
            return True
    return False


_NODE_HOOKS = ("tensor_hooks", "pre_hooks", "post_hooks")
