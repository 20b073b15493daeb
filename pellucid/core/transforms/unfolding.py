"""Show one operation as the several nodes that PyTorch has for it.

The steps run once more, one by one, on what the node saved, and their nodes replace it. This
happens only when someone looks at the node; backward then runs through the new nodes. A node that
nobody looked at runs the operation's own gradient rule.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .. import observe
from ..bind import wrap
from ..interpret import install, thread
from ..modes import enable_grad
from ..primitive import BackwardPlan, Primitive
from ..tape import Node, named_type, saved_arrays, walk
from ..tensor import OutputSlot, Tensor

# entries of `ext` that stay when a node is replaced by another: they belong to its result or its
# holder
OUTER = {"tensor_hooks", "pre_hooks", "post_hooks", "metadata", "module", "role"}


class Unfolding:
    """The value of a record's field `nodes` for such an operation.

    Args:
        function: called as the operation is, with Tensors, it returns the same by PyTorch's
            operations, and None where the operation is one of PyTorch's.
        last: of an operation of several results, the names of the nodes behind them: a function of
            the node, which returns nothing where the node is PyTorch's.
        single: gives such a node of PyTorch's its edges.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        last: Callable[[Node], Sequence[str]] = lambda node: (),
        single: Callable[[Node], None] | None = None,
    ) -> None:
        self.function, self.last, self.single = function, last, single

    def __call__(self, node: Node) -> tuple[Node, ...]:
        """The nodes whose saved values hooks receive."""
        return (node,)

    def arrange(self, node: Node, arrange: Callable[[Node], None]) -> None:
        """Arrange a node that someone looks at (called by `core.transforms.arranging`)."""
        if not isinstance(node.shape, list):
            self.unfold(node, arrange)
        elif self.single is not None and not self.last(node):
            self.single(node)

    def unfold(self, node: Node, arrange: Callable[[Node], None]) -> None:
        """Replace a node by the nodes of the steps, themselves arranged. Does nothing if its saved
        values are gone.
        """
        given = _arguments(node)
        if given is not None and not observe.observers:
            take_steps(node, self.function, given, node.inputs, arrange, **node.params)

    def front(self, slot: OutputSlot) -> Any:
        """A node that represents one of several results until someone looks behind it."""
        node, index = slot.node, slot.index
        names = self.last(node)
        if not names:
            return slot
        known = node.extra().setdefault("fronts", {})
        found = known.get(index, lambda: None)()
        if found is None:
            found = object.__new__(Node)
            found.seq, found.code, found.lasti = node.seq + 0.25, node.code, node.lasti
            found.op, found.inputs, found.params = _FRONT, (slot,), {}
            found.plan = BackwardPlan([], _same, (True,))
            found.saved, found.guard, found.total, found.versions = (), (), 0, ()
            found.shape, found.dtype = node.shape[index], node.dtype[index]
            found.ext = {"role": node.role} if node.role != "forward" else None
            found.__class__ = named_type(names[index])
            known[index] = weakref.ref(found)
        return found


def in_front(slot: OutputSlot) -> Any:
    """The edge to show for one of several results."""
    op = slot.node.op
    if op is _DIVIDED:
        return slot.node.inputs[slot.index]
    return op.nodes.front(slot) if type(op.nodes) is Unfolding else slot


def is_front(node: Node) -> bool:
    """Whether the node is a front, that is, represents one result of another node."""
    return node.op is _FRONT


def uncover(front: Node, arrange: Callable[[Node], None]) -> None:
    """Replace a front by the nodes of the steps behind it."""
    node = front.inputs[0].node
    if type(node.op.nodes) is Unfolding:
        node.op.nodes.unfold(node, arrange)


def _same(F: Any, g: Any, s: Any, p: Any) -> tuple[Any, ...]:
    return (g,)


def _each(F: Any, g: Any, s: Any, p: Any) -> tuple[Any, ...]:
    return tuple(g)


class _Divided(Primitive):
    keep_none_grads = True


_FRONT = Primitive(name="front", args=("x",), grad_name="Front", title="front", vjp=_same)
_DIVIDED = _Divided(
    name="divided",
    args=("x",),
    variadic=True,
    grad_name="Divided",
    title="divided",
    vjp=_each,
    variant=lambda node: "Divided",
)


def take_steps(
    node: Node,
    function: Callable[..., Any],
    given: Sequence[Tensor | None],
    edges: Sequence[Any],
    arrange: Callable[[Node], None],
    **params: Any,
) -> None:
    """Run `function` on copies of the arguments behind `edges`, and replace `node` by the recorded
    nodes. Does nothing if the function returns None.
    """
    before = thread.stack.all
    install(())
    try:
        with enable_grad():
            made = function(*given, **params)
    finally:
        install(before)
    if made is None:
        return
    outs = made if isinstance(made, tuple) else (made,)
    for n in _nodes(outs):
        arrange(n)
    _put(
        node, _nodes(outs), {id(t): e for t, e in zip(given, edges, strict=False) if t is not None}
    )
    if isinstance(made, tuple):
        _divide(node, [t._node for t in outs], _nodes(outs))
    else:
        _become(node, outs[0]._node)


def _arguments(node: Node) -> list[Tensor | None] | None:
    """Tensors with a node's saved arguments; None if one of them is gone or was overwritten."""
    if node.saved is None or sum([v.count for v in node.versions]) != node.total:
        return None
    kept = dict(zip(node.plan.entries, saved_arrays(node), strict=True))
    counters = dict(zip([node.plan.entries[k] for k in node.plan.versioned], node.versions))
    given: list[Tensor | None] = []
    for k, edge in enumerate(node.inputs):
        value = kept.get(("in", k))
        if value is None and edge is not None:
            return None
        t = None if value is None else wrap(value)
        if t is not None:
            t._rg = edge is not None
            t._ver = counters.get(("in", k), t._ver)
        given.append(t)
    return given


def _nodes(outs: Sequence[Tensor]) -> list[Node]:
    return [n for n in walk([t._node for t in outs]) if isinstance(n, Node)]


def _put(node: Node, nodes: list[Node], edges: dict[int, Any]) -> None:
    """Give new nodes the position of `node` in the order of recording and in the program, and
    connect them to the edges of its arguments.
    """

    def real(edge: Any) -> Any:
        return edges.get(id(edge), edge)

    for k, n in enumerate(sorted(nodes, key=lambda n: n.seq), 1):
        n.seq = node.seq - 0.5 + 0.4375 * k / len(nodes)
        n.code, n.lasti = node.code, node.lasti
        n.inputs = tuple([real(e) for e in n.inputs])
        if n.ext is not None and "of" in n.ext:
            inner, shown = n.ext["of"]
            n.ext["of"] = tuple([real(e) for e in inner]), shown
        if n.ext is not None and "linked" in n.ext:
            n.ext["linked"] = [(real(e), how) for e, how in n.ext["linked"]]
        if node.role != "forward":
            n.extra()["role"] = node.role


def _become(node: Node, other: Any) -> None:
    """Turn a node into a copy of another one. It keeps its number and its hooks."""
    kept = {k: v for k, v in (node.ext or {}).items() if k in OUTER}
    for slot in Node.__slots__:
        if slot not in ("__weakref__", "seq"):
            setattr(node, slot, getattr(other, slot))
    node.ext = ((other.ext or {}) | kept) or None
    node.__class__ = type(other)


def _divide(node: Node, roots: list[Any], nodes: list[Node]) -> None:
    """Turn a node of several results into one that passes their gradients on to `roots`. The fronts
    of the node take the place of the roots.
    """
    fronts = {k: ref() for k, ref in (node.ext or {}).pop("fronts", {}).items()}
    taken = {id(roots[k]): front for k, front in fronts.items() if front is not None}
    for root in roots:
        if front := taken.get(id(root)):
            _become(front, root)
            front.seq = root.seq  # it must run after the node that passes it gradients
    for n in nodes:
        n.inputs = tuple([taken.get(id(e), e) for e in n.inputs])
    node.op, node.params = _DIVIDED, {}
    node.inputs = tuple([taken.get(id(root), root) for root in roots])
    node.plan = BackwardPlan([], _each, tuple([True] * len(roots)))
    node.saved, node.guard, node.total, node.versions = (), (), 0, ()
