"""The graph nodes of a compiled function whose results are differentiated outside of it. Their
gradient rule is the rest of the program, in one or more parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from ...core import source
from ...core.primitive import BackwardPlan, Primitive
from ...core.tape import Node, check_saved, count, node_type, walk
from ...core.tensor import OutputSlot, Tensor, make_tensor, node_of, version_of
from ...errors import GraphError, pass_on

COMPILED = Primitive(
    name="compiled_function", variadic=True, outputs=-1, grad_name="CompiledFunctionBackward"
)
# results without a gradient keep None, as in eager execution
COMPILED.keep_none_grads = True


def _backward(F: Any, g: Any, s: Any, p: Any) -> Any:
    if not F.raw:
        raise GraphError(
            "torch.compile with aot_autograd does not currently support double backward",
            op="CompiledFunctionBackward",
            hint="run the function without compiling it (torch.compiler.disable) to differentiate its gradient",
        )
    version, part, saved, extras, *_ = s
    return version.back(part, saved, extras, [None if x is None else np.asarray(x) for x in g])


def _spent(F: Any, g: Any, s: Any, p: Any) -> Any:
    raise s[0]  # a freed graph raises before its rule runs; this one was retained


@cache
def plan_of(read: int, keeps: bool) -> BackwardPlan:
    """The plan of a backward that reads the values of `read` tensors. They are saved after the
    other values, so that the error for an overwritten one can tell its shape. With `keeps`, the
    backward can be repeated.
    """
    made = BackwardPlan([("aux", 0)] * (4 + read), _backward)
    made.saves_nothing = keeps
    made.versioned = tuple(range(4, 4 + read))
    return made


_SPENT = BackwardPlan([("in", 0)], _spent)


def _node(inputs: list[Any], shapes: list[Any], kinds: list[Any], plan: BackwardPlan) -> Node:
    kind = node_type(COMPILED)
    node: Node = object.__new__(kind)
    node.op = COMPILED
    node.params = {}
    node.plan = plan
    node.inputs = tuple(inputs)
    node.versions = ()
    node.total = 0
    node.seq = count()
    node.shape, node.dtype = shapes, kinds
    node.ext = None
    node.source = source.capture(3)
    return node


def record(
    version: Any,
    part: Any,
    inputs: list[Any],
    read: list[Tensor],
    saved: list[Any],
    extras: Any,
) -> Node:
    """Make a node over the edges `inputs` whose gradient rule is a `part` of the program. `read`
    are the tensors whose values the rule uses.
    """
    node = _node(inputs, *part.form)
    node.saved = (version, part, saved, extras, *[t._array for t in read])
    node.versions = versions = tuple([t._ver or version_of(t) for t in read])
    total = 0
    for v in versions:
        total += v.count
    node.total = total
    return node


def freed(result: Tensor, error: Exception | bool = True, ends: Any = ()) -> None:
    """Put `result` in the state after a backward inside the compiled function: its graph is freed,
    or it was retained and raises `error` because the function overwrote values that its gradient
    needs. `ends` are the tensors whose gradients would flow through it.
    """
    edges = [t._node or t for t in ends]
    node = _node(edges, [result._array.shape], [result._array.dtype], _SPENT)
    result._node, result._rg = OutputSlot(node, 0), True
    node.saved = None if error is True else (error,)
    if error is True:
        node.total = source.capture(4)


def spent_slot(shape: tuple[int, ...], kind: Any, error: Exception | bool, ends: Any) -> OutputSlot:
    """A place in the graph that results with a spent graph can share."""
    result = make_tensor(np.empty(shape, kind))
    freed(result, error, ends)
    return result._node


def view_of(t: Tensor, bases: list[Tensor]) -> tuple[Tensor, tuple[Any, ...]] | None:
    """The tensor among `bases` of which `t` is a differentiable view, and the chain of operations
    from there; None if there is none.
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
def key_of(edge: Any) -> Any:
    """A key that identifies an edge of the graph."""
    return (id(edge.node), edge.index) if type(edge) is OutputSlot else id(edge)


def place_of(t: Tensor) -> Any:
    """The key of a tensor's place in the graph."""
    return key_of(t._node or t)


@dataclass(slots=True, frozen=True)
class ResultEdge:
    """The target of a gradient: a result of the node of another part of the second half."""

    part: int
    index: int


@dataclass(slots=True, eq=False)
class Section:
    """Nodes that are reached from the same set of the call's results. Backward from any of these
    results runs all of the nodes; backward from other results runs none.

    Gradients enter at `places`. They leave to the places of other sections in `beyond` (by
    `key_of`), and to the call's arguments and state.
    """

    nodes: list[Node] = field(default_factory=list)
    places: dict[Any, Any] = field(default_factory=dict)
    beyond: dict[Any, Any] = field(default_factory=dict)


def sections(results: list[Tensor], ends: set[Any], began: int) -> list[Section]:
    """Split the graph of `results` into sections, producers first. The graph ends at the places
    `ends`, and at nodes older than `began`.
    """

    def inside(edge: Any) -> Any:
        node = node_of(edge)
        return (
            node
            if isinstance(node, Node) and node.seq >= began and key_of(edge) not in ends
            else None
        )

    over: dict[Node, int] = {}  # bit mask of the results from which a node is reached
    for k, t in enumerate(results):
        if (node := inside(t._node)) is not None:
            over[node] = over.get(node, 0) | 1 << k
    heap = [(-node.seq, node) for node in over]
    heapify(heap)
    known = set(over)
    found: dict[int, Section] = {}
    while heap:
        node = heappop(heap)[1]
        section = found.setdefault(over[node], Section())
        section.nodes.append(node)
        for edge in node.inputs:
            if (below := inside(edge)) is not None:
                over[below] = over.get(below, 0) | over[node]
                if below not in known:
                    known.add(below)
                    heappush(heap, (-below.seq, below))
    for t in results:
        if (node := inside(t._node)) is not None:
            found[over[node]].places[key_of(t._node)] = t._node
    for section in found.values():
        for node in section.nodes:
            for edge in node.inputs:
                below = inside(edge)
                if below is not None and over[below] != over[node]:
                    found[over[below]].places[key_of(edge)] = edge
                    section.beyond[key_of(edge)] = edge
    # a section that receives gradients from others is reached from more results
    order = sorted(found, key=lambda mask: (-mask.bit_count(), found[mask].nodes[0].seq))
    return [found[mask] for mask in order]


def below(edge: Any, ends: set[Any]) -> set[Any]:
    """The places in the graph that gradients at an edge reach, not going beyond `ends`."""
    stack: list[Any] = [edge]
    found = set()
    while stack:
        edge = stack.pop()
        key = key_of(edge)
        if edge is not None and key not in found:
            found.add(key)
            node = node_of(edge)
            if key not in ends and isinstance(node, Node):
                stack.extend(node.inputs)
    return found


def keeps_all(nodes: list[Node]) -> bool:
    """Whether backward frees nothing of these nodes, so that it can be repeated."""
    return not any(
        node.saved is None or node.saved and not node.plan.saves_nothing for node in nodes
    )


def is_spent(t: Tensor) -> bool:
    """Whether a backward has freed the graph of a tensor."""
    return any(isinstance(n, Node) and n.saved is None for n in walk([t._node]))


def lost(t: Tensor) -> bool | Exception:
    """What a backward through a spent graph raises, which visits the newest node first: True if
    that node was freed, or the error if its saved values were overwritten. False if the graph is
    not spent.
    """
    if not is_spent(t):
        return False
    nodes = [n for n in walk([t._node]) if isinstance(n, Node)]
    for node in sorted(nodes, key=lambda n: -n.seq):
        if node.saved is None:
            break
        try:
            check_saved(node)
        except Exception as error:
            pass_on(error)
            return error.with_traceback(None)
    return True


def has_hooks(t: Tensor) -> bool:
    """Whether a node or leaf of a tensor's graph has a hook that sees gradients on their way.

    Hooks that run after a leaf has received its gradient also work with a version's node and do not
    count.
    """
    for n in walk([t._node]):
        held, names = (n.ext, _NODE_HOOKS) if isinstance(n, Node) else (n._x, ("hooks",))
        if held is not None and not held.keys().isdisjoint(names):
            return True
    return False


def hooks_above(t: Tensor) -> tuple[Any, ...]:
    """The hooks on the node that made a tensor, including that of `retain_grad`."""
    node = node_of(t._node)
    held = (None if node is None else node.ext) or {}
    of_results, *others = (held.get(name, {}) for name in _NODE_HOOKS)
    return tuple(hook for hooks in (*of_results.values(), *others) for hook in hooks.values())


_NODE_HOOKS = ("tensor_hooks", "pre_hooks", "post_hooks")
