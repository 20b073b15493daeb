"""Rearrange nodes as PyTorch has them, where several operations represent one of its functions, or
one operation several. This happens only when someone looks at a node; other programs pay nothing
for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import observe
from ..bind import record, wrap
from ..display.words import face
from ..interpret import thread
from ..modes import local
from ..primitive import PRIMITIVES, BackwardPlan, Primitive
from ..reverse import BackwardPass
from ..tape import Node, named_type, value_at
from ..tensor import FAST_TYPES, OutputSlot, Tensor, node_of
from .unfolding import OUTER, Unfolding, is_front, take_steps, uncover


def arrange(node: Node) -> None:
    """Give a node the edges of PyTorch's node."""
    if local.run is not None:  # a backward is under way
        return
    if is_front(node):
        uncover(node, arrange)
    if type(node.op.nodes) is Unfolding:
        node.op.nodes.arrange(node, arrange)
    of = node.ext.pop("of", None) if node.ext else None
    if of is not None and callable(of[1]):
        of[1](node, of[0])
    elif of is not None:
        _one_for_several(node, *of)
    elif callable(node.op.nodes) and node.saved is not None:
        node.op.nodes(node)
    elif node.op.name == "copy_slices":
        _one_write(node)


# ---- several operations for one function ---------------------------------------------------------
class _Within(BackwardPass):
    """A traversal of the operations that represent one function. It ends at the function's
    arguments, whose hooks and gradients are left to the outer traversal.
    """

    ends: frozenset[int]

    def runs(self, node: Node) -> bool:
        return id(node) not in self.ends

    def step(self, node: Node, g: Any) -> Any:
        if id(node) in self.ends:
            self.collect(node, g)
            return ()
        return super().step(node, g)


@functools.cache
def _within(kind: type[BackwardPass]) -> Any:
    return type("Within", (_Within, kind), {})


def _backward(F: Any, g: Any, s: Any, p: Any) -> tuple[Any, ...]:
    """The gradients of a function's arguments, computed by the operations that represent it."""
    inner, edges, *_ = s[0]
    # a function with several results has one operation for each; only some may have a gradient
    given = zip(inner, g, strict=True) if type(inner) is tuple else [(inner, g)]
    sent = [(root, its) for root, its in given if its is not None]
    if not sent:
        return tuple([None] * len(edges))
    around = local.run
    wanted = [e for e in edges if e is not None]
    kind: Any = BackwardPass if around is None else type(around)
    run = _within(kind)(not F.raw and local.grad, True, wanted, [None if F.raw else sent[0][1]])
    run.tensors = run.tensors or not F.raw
    run.F = F if F.raw else run.F
    run.plans = {}  # any dictionary: `runs` decides
    run.ends = frozenset(id(node_of(e)) for e in wanted)
    for root, its in sent:
        run.send(root, its)
    try:
        local.run = run
        run.go()
    finally:
        local.run = around
    found, made = dict(run.found), []
    for key, (_, value, _) in run.leaves.items():
        found[key, 0] = value
    for e in edges:
        key = (id(e.node), e.index) if type(e) is OutputSlot else (id(e), 0)
        made.append(None if e is None else found.pop(key, None))
    return tuple(made)


@functools.cache
def _whole(title: str, count: int) -> Primitive:
    """The record of a function that several operations represent."""
    name = title.partition("Backward")[0]
    return Primitive(
        name=name,
        args=tuple(f"x{k}" for k in range(count)),
        grad_name=title,
        title=name,
        vjp=_backward,
        kernel=name,
    )


def _one_for_several(
    node: Node, edges: tuple[Any, ...], shown: dict[str, Any] | None = None
) -> None:
    """Turn `node` into the node of a whole function with the arguments `edges`. The operations that
    computed the result continue to exist inside it.
    """
    inner = moved_before(node)
    node.op = _whole(type(node).__name__, len(edges))
    node.inputs, node.params = edges, shown or {}
    node.plan = BackwardPlan([("aux", 0)], _backward, tuple([e is not None for e in edges]))
    if {id(e) for e in inner.inputs} <= {id(e) for e in edges}:  # a single operation
        node.plan.saves_nothing = inner.plan.saves_nothing
    node.guard = ()
    if node.saved is not None:  # otherwise it was freed, and `total` says where
        node.saved, node.total = ((inner, edges),), 0


class _Together(Primitive):
    keep_none_grads = True


@functools.cache
def _several(title: str, count: int, results: int) -> Primitive:
    """The record of a function with several results, each computed by an operation of its own."""
    return _Together(
        name=title,
        args=tuple(f"x{k}" for k in range(count)),
        grad_name=title,
        title=title,
        outputs=results,
        aux=True,
        vjp=lambda F, g, aux, params: _backward(F, g, (aux,), params),
        variant=lambda node: title if "Backward" in title else title + "Backward0",
        kernel=title,
    )


def together(
    results: Any,
    title: str,
    *of: Tensor | None,
    keeps: Mapping[str, Tensor | None] | None = None,
    **shown: Any,
) -> Any:
    """Give `results` (a tuple that operations computed from the tensors `of`) one common node, as
    PyTorch's function `title` has; returns `results`.

    The node shows the tensors in `keeps` and the values in `shown` as `_saved_<word>`.
    """
    stack = thread.stack
    plain = all(t is None or type(t) in FAST_TYPES for t in (*results, *of))
    if stack.run or stack.tracer is not None or stack.save or observe.observers or not plain:
        return results
    made = [t for t in results if t._node is not None]
    needs = tuple([None if x is None else x._rg for x in of])
    if not made or True not in needs:
        return results
    roots = tuple([t._node for t in made]) if len(made) > 1 else made[0]._node
    edges = tuple([(x._node or x) if x is not None and x._rg else None for x in of])
    op = _several(title, len(of), len(made))
    values = {word: t._array for word, t in (keeps or {}).items() if t is not None}
    node = record(op, of, needs, shown, made, (roots, edges, values))
    for k, t in enumerate(made):
        t._node, t._view = OutputSlot(node, k) if len(made) > 1 else node, None
    return results


def drawn(
    made: Tensor, title: str, draw: Callable[[Node, tuple[Any, ...]], None], *of: Tensor
) -> Tensor:
    """Name the node of `made` `title`, and let `draw` rearrange it later; returns `made`, which was
    computed from the tensors `of`.

    When someone looks at the node, `draw(node, edges of the tensors)` gives it PyTorch's form.
    """
    node = made._node
    edges = tuple([(x._node or x) if x._rg else None for x in of])
    # where it is an argument's, nothing was computed
    if isinstance(node, Node) and all(edge is not node for edge in edges):
        node.__class__ = named_type(title)
        node.extra()["of"] = edges, draw
    return made


def by_steps(
    title: str, short: Callable[[], Tensor], steps: Callable[[Tensor], Tensor], x: Tensor
) -> Tensor:
    """Compute `short()`, but show the nodes of `steps(x)`, PyTorch's way to compute the same, to
    those who look at the graph. The last of these nodes has the name `title`.

    Saved-tensor hooks make `steps` itself run. Otherwise the steps run on zeros when someone looks,
    which is enough because they are linear.
    """
    if type(x._array) is not np.ndarray or not x._rg:
        return short()
    if thread.stack.save:
        return steps(x)
    return drawn(short(), title, functools.partial(_draw_steps, steps), x)


def _draw_steps(steps: Callable[[Tensor], Tensor], node: Node, edges: tuple[Any, ...]) -> None:
    if node.saved is not None and not observe.observers:
        shape, dtype = value_at(edges[0])
        stand_in = wrap(np.zeros(shape, dtype))
        stand_in._rg = True
        take_steps(node, steps, [stand_in], edges, arrange)


def _one_write(node: Node) -> None:
    """Turn the node of a write through a view into the node of the function that wrote, with the
    base as the argument in place of the view.
    """
    base, wrote = node.inputs
    ext = (wrote.ext or {}) if isinstance(wrote, Node) else {}
    if "writes" in ext:
        edges, _ = ext.get("of") or ([wrote.inputs[k] for k in face(wrote)[1]], {})
        copied = wrote.op.name in ("clone", "cast") and ext["writes"] in ("copy_", "__setitem__")
        if copied or ext["writes"] not in ("copy_", "__setitem__"):
            _one_for_several(node, (base, *edges[not copied :]))


# ---- one operation for several functions ---------------------------------------------------------
def node_before(
    node: Node, name: str, edge: Any, shape: tuple[int, ...], place: float, /, **params: Any
) -> Any:
    """A new node for a view of one argument, numbered `place` before `node`. None if the argument
    needs no gradient.
    """
    if edge is None:
        return None
    made: Node = object.__new__(Node)
    made.seq, made.code, made.lasti = node.seq - place, node.code, node.lasti
    made.ext = {"role": node.role} if node.role != "forward" else None
    become(made, name, (edge,), shape, value_at(edge)[1], **params)
    return made


def become(
    node: Node,
    name: str,
    edges: Sequence[Any],
    shape: tuple[int, ...],
    dtype: Any,
    /,
    **params: Any,
) -> None:
    """Turn a node into the node of another operation, one that saves only shapes and dtypes."""
    op = PRIMITIVES[name]
    node.op, node.inputs, node.params = op, tuple(edges), params
    node.plan = op.plan(tuple([e is not None for e in edges]))
    node.shape, node.dtype = shape, dtype
    node.saved = tuple([value_at(edges[i])[k == "dtype"] for k, i in node.plan.entries])
    node.guard, node.total = (), 0
    node.__class__ = named_type(op.grad_name)


def moved_before(node: Node) -> Node:
    """A copy of `node` with an earlier number. The caller then turns `node` itself into another
    node.
    """
    made: Node = object.__new__(type(node))
    for slot in Node.__slots__:
        if slot != "__weakref__":
            setattr(made, slot, getattr(node, slot))
    made.seq = node.seq - 0.125
    ext = node.ext or {}
    made.ext = {k: v for k, v in ext.items() if k not in OUTER or k == "role"} or None
    node.ext = {k: v for k, v in ext.items() if k in OUTER} or None
    return made
