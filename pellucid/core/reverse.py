"""Backward: gradients flow from the roots to the leaves, newest operation first.

Operations are numbered as they are recorded, so the highest number among the nodes that hold a
gradient is never an input of another one: a heap ordered by it visits the graph in reverse
topological order without a search beforehand and without recursion.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy import ndarray

from ..arrays import numpy_cpu
from ..arrays.halves import real
from ..arrays.numpy_cpu import as_array, namespace_of
from ..errors import GraphError, OperationError, returned_nothing
from ..shapes import broadcast_shapes, check_inplace_shape
from . import observe, source
from .bind import wrap
from .callers import tensor_of
from .display import refusals
from .inplace import check_writable
from .interpret import thread
from .modes import enable_grad, local, no_grad, state
from .primitive import RAW, TENSORS, raw_of
from .tape import Node, check_saved, saved_arrays, saved_tensors, value_at
from .tensor import FAST_TYPES, OutputSlot, Tensor, collects, make_tensor, node_of, version_of
from .transforms.linking import copied_like, in_reverse, linked
from .transforms.narrowing import key_of, paths

_refcount = sys.getrefcount


def unbroadcast(g: Any, shape: tuple[int, ...]) -> Any:
    """Sum an array over the dimensions in which an argument of `shape` was expanded."""
    extra = g.ndim - len(shape)
    if extra > 0:
        g = namespace_of(g).sum(g, tuple(range(extra)))
    axes = tuple([i for i, s in enumerate(shape) if s == 1 and g.shape[i] != 1])
    if axes:
        g = namespace_of(g).sum(g, axes, None, None, True)
    return g


def fit(g: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Reduce and cast a gradient array to the shape and dtype of the value that it belongs to."""
    if g.shape != shape:
        g = unbroadcast(g, shape)
    if g.dtype != dtype:
        if g.dtype.kind in "cW" and dtype.kind not in "cW":
            g = real(g)
        g = numpy_cpu.narrowed(g, dtype)
    return g


def fit_tensor(g: Tensor, shape: tuple[int, ...], dtype: Any) -> Tensor:
    """As `fit`, for tensors; the operations are recorded."""
    if g._array.shape != shape:
        g = TENSORS.sum_to(g, shape=shape)
    if g._array.dtype != dtype:
        if g._array.dtype.kind in "cW" and dtype.kind not in "cW":
            g = TENSORS.real(g)
        if g._array.dtype != dtype:
            g = TENSORS.cast(g, dtype=dtype)
    return g


class BackwardPass:
    """One traversal of the graph. If `wanted` is given (`autograd.grad`, `inputs=`), it computes
    the gradients of these edges only and collects them in `found`.
    """

    by_hand = False  # whether array gradients, too, are combined by the methods below
    F = RAW  # the namespace for gradient rules on arrays

    def __init__(
        self,
        create_graph: bool,
        keep: bool,
        wanted: Sequence[Any] | None,
        seeds: Sequence[Any] = (),
    ) -> None:
        self.create_graph = create_graph
        # Gradients are Tensors when they are recorded, and when they carry tangents or a batch;
        # otherwise they are arrays.
        custom = [s for s in seeds if s is not None and type(s) not in FAST_TYPES]
        self.tensors = create_graph or thread.stack.on_tensors or bool(custom)
        self.keep = keep
        self.heap: list[tuple[float, Node]] = []
        self.grads: dict[Any, Any] = {}
        # id -> (leaf, its gradient so far, the node that contributed last)
        self.leaves: dict[int, tuple[Tensor, Any, Node | None]] = {}
        self.wanted = None if wanted is None else {key_of(e) for e in wanted}
        # Nodes older than the oldest wanted edge cannot lead to one. Leaves count as older than all
        # nodes.
        made = [node_of(e) for e in wanted or ()]
        self.oldest = min([e.seq if isinstance(e, Node) else -1 for e in made], default=-1)
        self.found: dict[Any, Any] = {}
        self.plans: dict[int, Any] | None = None  # the plans of the nodes to run; None: all
        self.site: Any = None
        self.callbacks: list[Callable[[], Any]] = []

    def send(self, edge: Any, g: Any, giver: Node | None = None) -> None:
        """Add the gradient `g` from the node `giver` to an edge. With None, the edge's node is only
        scheduled for a visit.
        """
        if isinstance(edge, Node):
            known = self.grads.get(edge)
            if known is None:
                heappush(self.heap, (-edge.seq, edge))
            if known is None or known is _NOTHING:
                self.grads[edge] = _NOTHING if g is None else g
            elif g is not None:
                self.grads[edge] = self.add(known, g)
        elif type(edge) is OutputSlot:
            node, index = edge.node, edge.index
            slots = self.grads.get(node)
            if slots is None:
                slots = self.grads[node] = [None] * len(node.shape)
                heappush(self.heap, (-node.seq, node))
            if g is not None:
                slots[index] = g if slots[index] is None else self.add(slots[index], g)
        elif g is not None:
            # Keyed by identity: == of tensors is element-wise.
            known = self.leaves.pop(id(edge), None)
            self.leaves[id(edge)] = (edge, g if known is None else self.add(known[1], g), giver)

    def add(self, a: Any, b: Any) -> Any:
        """The sum of two gradients."""
        return a + b

    def fitted(self, g: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        """Reduce and cast a gradient to the shape and dtype of the value that it belongs to."""
        return (fit_tensor if self.tensors else fit)(g, shape, dtype)

    def go(self, waiting: Any = None, waiting_g: Any = None) -> None:
        """Run the nodes that hold a gradient, newest first, until only leaves hold one. `waiting`
        is a first node that is not on the heap.

        The common case is written inline for speed. Everything else is in methods: `step` handles
        nodes that are observed, have hooks or several results. If gradients are tensors, or a
        subclass records them (`by_hand`), `fitted` and `send` handle each gradient.
        """
        heap, grads, leaves, keep, F = self.heap, self.grads, self.leaves, self.keep, self.F
        by_hand = self.tensors or self.by_hand
        wanted, watched = self.wanted is not None, by_hand or state.slow > 0
        summed: set[Any] = set()
        # A single waiting node is kept here instead of on the heap, since most graphs are chains.
        while True:
            if waiting is not None:
                node, g = waiting, waiting_g
                waiting = waiting_g = None
            elif heap:
                node = heappop(heap)[1]
                g = grads.pop(node)
            else:
                break
            ext = node.ext
            s = node.saved
            if (
                watched
                or type(g) is list
                or s is None
                or (ext is not None and not ext.keys() <= _HARMLESS)
            ):
                gs = self.step(node, g)
            else:
                if wanted:
                    self.collect(node, g)
                    if not self.runs(node):
                        continue
                guard = node.guard
                if type(guard) is tuple:
                    total = 0
                    for v in guard:
                        total += v.count
                else:
                    total = guard.count
                if guard and total != node.total:
                    check_saved(node)
                gs = (self.plan(node) if wanted else node.plan).backward(F, g, s, node.params)
            if s and not keep and not node.plan.saves_nothing and gs:
                if self.site is None:
                    self.site = source.capture(3)
                node.saved = None
                node.guard = ()
                node.total = self.site
            for edge, gi in zip(node.inputs, gs):
                if edge is None:
                    continue
                if by_hand:
                    self.send(edge, None if gi is None else self.fitted(gi, *value_at(edge)), node)
                elif gi is None or type(edge) is OutputSlot:
                    if waiting is not None:
                        grads[waiting] = waiting_g
                        heappush(heap, (-waiting.seq, waiting))
                        waiting = waiting_g = None
                    self.send(edge, None if gi is None else fit(gi, *value_at(edge)), node)
                elif isinstance(edge, Node):
                    if gi.shape != edge.shape or gi.dtype is not edge.dtype:
                        gi = fit(gi, edge.shape, edge.dtype)
                    if edge is waiting:
                        waiting_g = numpy_cpu.plus(waiting_g, gi)
                    elif waiting is None and not heap:
                        waiting, waiting_g = edge, gi
                    else:
                        if waiting is not None:
                            grads[waiting] = waiting_g
                            heappush(heap, (-waiting.seq, waiting))
                            waiting = waiting_g = None
                        known = grads.get(edge)
                        if known is None:
                            grads[edge] = gi
                            heappush(heap, (-edge.seq, edge))
                        else:
                            grads[edge] = _sum(known, gi, edge, summed)
                else:
                    la = edge._array
                    if gi.shape != la.shape or gi.dtype is not la.dtype:
                        gi = fit(gi, la.shape, la.dtype)
                    held = leaves.pop(id(edge), None)
                    leaves[id(edge)] = (
                        edge,
                        gi if held is None else _sum(held[1], gi, id(edge), summed),
                        node,
                    )
            # drop the references, so that a leaf can take over the array without a copy
            held = gs = gi = g = s = None

    def step(self, node: Node, g: Any) -> Any:
        """Run one node in the general case: with hooks, several results, interpreters or observers.
        Returns no gradients if the node need not run.
        """
        ext, g = node.ext or {}, None if g is _NOTHING else g
        if "tensor_hooks" in ext and (
            self.runs(node) or any(place == id(node) for place, _ in self.wanted or ())
        ):
            g = self.tensor_hooks(node, g)
        if self.wanted is not None:
            self.collect(node, g)
        if not self.runs(node):
            return ()
        several = type(g) is list
        g = given = tuple(g) if several else g
        if "pre_hooks" in ext:
            g = given = _pre_hooks(node, g)
        if several:
            g = self.materialize(node, list(g))
        if g is None and not node.op.keep_none_grads:  # then its arguments have none either
            gs: Any = [None] * len(node.inputs)
        else:
            check_saved(node)
            gs = self.watched(node, g) if state.slow else self.rules(node, g)
        return _post_hooks(node, gs, given) if "post_hooks" in ext else gs

    def watched(self, node: Node, g: Any) -> Any:
        """As `rules`, wrapped by interpreters; observers are notified."""
        gs = None
        observe.notify("node_enter", node)
        try:
            below: Any = self.rules
            for step in thread.stack.gradient:
                below = partial(step, below)
            gs = below(node, g)
            observe.notify("backward_node", node, g, gs)
        finally:
            observe.notify("node_exit", node, gs)
        return gs

    def runs(self, node: Node) -> bool:
        """Whether a node has to run."""
        return self.plans is None or id(node) in self.plans

    def plan(self, node: Node) -> Any:
        """The plan by which a node is differentiated in this traversal."""
        return (self.plans or {}).get(id(node), node.plan)

    def rules(self, node: Node, g: Any) -> Any:
        """Run a node's gradient rules. Returns one gradient per argument."""
        if self.tensors:
            gs = self.plan(node).backward(TENSORS, g, saved_tensors(node), node.params)
            return linked(node, gs) if local.grad else gs
        return self.plan(node).backward(self.F, g, saved_arrays(node), node.params)

    def collect(self, node: Node, g: Any) -> None:
        """Keep the gradients of the wanted results of a node."""
        assert self.wanted is not None and self.plans is not None
        if node.op.partial_backward is not None and id(node) in self.plans:
            raise OperationError(node.op.partial_backward, op="checkpoint")
        if type(g) is list:
            for k, gk in enumerate(g):
                if (id(node), k) in self.wanted and gk is not None:
                    self.found[(id(node), k)] = gk
        elif (id(node), 0) in self.wanted:
            self.found[(id(node), 0)] = g

    def materialize(self, node: Node, g: list[Any]) -> Any:
        """The gradients of several results as a tuple, with zeros for results that no gradient
        reached. None if no gradient reached any result.
        """
        if not node.op.keep_none_grads:
            if all(gk is None for gk in g):
                return None
            for k, (gk, shape, dtype) in enumerate(zip(g, node.shape, node.dtype, strict=True)):
                if gk is None:
                    zeros = self.F.xp.zeros(shape, dtype)
                    g[k] = wrap(zeros) if self.tensors else zeros
        return tuple(g)

    def tensor_hooks(self, node: Node, g: Any) -> Any:
        """Run the hooks of the tensors that this node made, among them `retain_grad`. Returns the
        gradient, which hooks may replace.
        """
        assert node.ext is not None
        hooks = node.ext["tensor_hooks"]
        for index, entries in hooks.items():
            value = g[index] if type(g) is list else g
            tensor = value if self.tensors or value is None else tensor_of(value)
            tensor = run_hooks(entries, tensor, self.create_graph)
            new = tensor if self.tensors or tensor is None else tensor._array
            if type(g) is list:
                g[index] = new
            else:
                g = new
        return g

    def finish(self) -> None:
        """Pass the leaves their gradients, and run the final callbacks."""
        leaves = in_reverse(self.leaves)
        while leaves:
            leaf, g = leaves.pop()
            if leaf._view is not None and not collects(leaf):
                continue
            if leaf._x is not None and "hooks" in leaf._x:
                tensor = g if self.tensors else tensor_of(g)
                tensor = run_hooks(leaf._x["hooks"], tensor, self.create_graph)
                g = tensor if self.tensors else tensor._array
            if self.wanted is not None:
                if key_of(leaf) in self.wanted:
                    self.found[key_of(leaf)] = g
                continue
            if leaf._rg:  # the flag may have changed since the forward pass
                self.give(leaf, g)
            g = None
        for callback in self.callbacks:  # a callback may add others
            callback()

    def give(self, leaf: Tensor, g: Any) -> None:
        """Add a gradient to `leaf.grad`."""
        accumulate(leaf, g, self.tensors)

    def own(self, g: ndarray) -> ndarray:
        """The gradient as an array that is not a view of another one."""
        return g if g.base is None else g.copy()


def _count_owned() -> int:
    """The reference count that `accumulate` reads for an array that only it, `BackwardPass.give`
    and its caller refer to. Measured, because it depends on the Python version.
    """

    def give_like(leaf: Any, g: Any) -> int:
        return accumulate_like(leaf, g)

    def accumulate_like(leaf: Any, g: Any) -> int:
        return _refcount(g)

    leaves = [(None, np.empty(1))]
    leaf, g = leaves.pop()
    return give_like(leaf, g)


_OWNED = _count_owned()


def accumulate(leaf: Tensor, g: Any, create_graph: bool) -> None:
    """Add a gradient to `leaf.grad`."""
    extra = leaf._x
    if extra is not None and "acc_pre_hooks" in extra:
        t = g if create_graph else tensor_of(g)
        for hook in tuple(extra["acc_pre_hooks"].values()):
            got = hook((t,))
            t = t if got is None else got[0] if isinstance(got, tuple) else got
        g = t if create_graph else t._array
    if extra is not None and extra.get("grad_dtype") is not None:
        g = (
            TENSORS.cast(g, dtype=extra["grad_dtype"].numpy)
            if create_graph
            else as_array(g).astype(extra["grad_dtype"].numpy)
        )
    posted = extra is not None and "acc_post_hooks" in extra and tensor_of(as_array(g).copy())
    held = leaf._grad
    if create_graph:
        # A new tensor, because a later backward adds to it in place.
        leaf._grad = copied_like(leaf, g) if held is None else held + g
    elif held is None:
        if type(g) is not ndarray:
            g = as_array(g)
        # Take the array without a copy only if no one else can hold it: it is not a view, and only
        # this call and its callers refer to it. Otherwise a later in-place accumulation would
        # overwrite another value.
        if g.base is not None or _refcount(g) > _OWNED or not g.flags.carray:
            g = g.copy()
        a = leaf._array
        if type(a) is ndarray is type(g) and not a.flags.c_contiguous:
            g, values = np.empty_like(a), g  # the gradient gets the leaf's strides
            np.copyto(g, values)
        leaf._grad = (
            make_tensor(g) if local.inference else wrap(g) if type(g) is ndarray else tensor_of(g)
        )
    elif held._array.dtype != g.dtype or not held._array.flags.writeable:
        with no_grad():
            new, a = tensor_of(g), held._array
            # the sum keeps the dtype of `held`; a dense tensor comes before a sparse one
            leaf._grad = (
                held.add_(new)
                if type(a) is ndarray is type(g) and a.flags.writeable
                else new + held
                if type(g) is ndarray
                else held + new
            )
    else:
        if held._ver is not None:
            check_writable(held, "backward")
        version_of(held).count += 1
        try:
            held._array += g
        except ValueError:  # the leaf's data has been replaced by data of another shape
            shape = held._array.shape
            check_inplace_shape(shape, broadcast_shapes(shape, g.shape))
            raise
    if extra is not None:
        if isinstance(posted, Tensor):
            for hook in tuple(extra["acc_post_hooks"].values()):
                hook((), (posted,))
        if "post_accumulate" in extra:
            for hook in tuple(extra["post_accumulate"].values()):
                returned_nothing(hook(leaf))
    if observe.observers:
        observe.notify("accumulate", leaf, leaf._grad)


def run_hooks(hooks: Any, g: Any, create_graph: bool) -> Any:
    """Call tensor hooks in order; each may return a replacement. None stands for the gradient of a
    tensor that no gradient reached.
    """
    mode = enable_grad() if create_graph else no_grad()
    with mode:
        for hook in tuple(hooks.values()):
            got = hook(g)
            g = g if got is None else refusals.replacement(hook, got, g)
    return g


def _as_tensors(values: Any) -> tuple[Any, ...]:
    return tuple(v if v is None or isinstance(v, Tensor) else tensor_of(v) for v in values)


def _pre_hooks(node: Node, g: Any) -> Any:
    assert node.ext is not None
    whole, shown = node.shown(g)
    raw = not any(isinstance(v, Tensor) for v in whole)
    values = _as_tensors([whole[k] for k in shown])
    for hook in tuple(node.ext["pre_hooks"].values()):
        values = refusals.answered(hook, hook(values), values)
    for k, v in zip(shown, values, strict=False):
        whole[k] = None if v is None else v._array if raw else v
    return tuple(whole) if isinstance(g, tuple) else whole[0]


def _post_hooks(node: Node, gs: Any, g: Any) -> Any:
    assert node.ext is not None
    raw = any(v is not None and not isinstance(v, Tensor) for v in gs)
    places, gs = node.places(), [*gs, None]  # PyTorch's node may have an edge for a number
    inputs = _as_tensors([gs[k] for k in places])
    whole, shown = node.shown(g)
    outputs = _as_tensors([whole[k] for k in shown])
    for hook in tuple(node.ext["post_hooks"].values()):
        inputs = refusals.answered(hook, hook(inputs, outputs), inputs)
    for k, v in zip(places, inputs, strict=False):
        gs[k] = None if v is None else v._array if raw else v
    return gs


def _root_edge(t: Tensor, k: int, what: str = "tensors") -> Any:
    if not t._rg or t._node is None and not collects(t):
        raise GraphError(
            f"element {k} of {what} does not require grad and does not have a grad_fn",
            op="backward",
            notes=[line for explain in explain_cut for line in explain(t)],
            hint="was the graph cut (detach(), .item(), .numpy(), no_grad, argmax or an integer operation), or does no parameter "
            "require a gradient? Setting requires_grad on the loss itself hides the error without training anything",
        )
    return t._node or t


# functions that the debug layer registers, which explain why a tensor has no graph
explain_cut: list[Any] = []


def _seed(t: Tensor, g: Any, k: int) -> Tensor:
    """Check and return the gradient that a root starts with; ones if it is None."""
    if g is None:
        if t._array.size != 1:
            raise GraphError(
                "grad can be implicitly created only for scalar outputs",
                op="backward",
                found=f"a tensor of shape {list(t._array.shape)}",
                hint="reduce it to one number first (.sum() or .mean()), or pass gradient= of the same shape",
            )
        if t._array.dtype.kind in "cW":
            raise GraphError(
                f"grad can be implicitly created only for real scalar outputs but got {t.dtype}",
                op="backward",
            )
        return wrap(namespace_of(t._array).ones_like(t._array))
    if not isinstance(g, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if g._array.shape != t._array.shape:
        raise OperationError(
            f"Mismatch in shape: grad_output[{k}] has a shape of torch.Size({list(g._array.shape)}) and output[{k}] has a shape of "
            f"torch.Size({list(t._array.shape)})."
        )
    if (g._array.dtype.kind in "cW") != (t._array.dtype.kind in "cW"):
        raise OperationError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{k}] has a dtype of {g.dtype} and output[{k}] has a dtype of {t.dtype}."
        )
    return g


def _starts(tensors: Sequence[Tensor], gradients: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The edges at which backward starts, and their gradients. As in PyTorch, gradients are checked
    before tensors.
    """
    seeds = [
        _seed(t, g, k) if t._rg or g is not None else None
        for k, (t, g) in enumerate(zip(tensors, gradients, strict=True))
    ]
    return [_root_edge(t, k) for k, t in enumerate(tensors)], seeds


def _begin(tensors: Sequence[Tensor], gradients: Sequence[Any], run: BackwardPass) -> None:
    edges, seeds = _starts(tensors, gradients)
    run.site = source.capture(3)
    run.F = raw_of(namespace_of(seeds[0]._array)) if seeds else RAW
    if run.wanted is not None:
        run.plans = paths(edges, run.wanted, run.oldest)
    if observe.observers:
        observe.notify("backward_start", tuple(tensors))
    for t, edge, seed in zip(tensors, edges, seeds, strict=True):
        fitted, g = (fit_tensor, seed) if run.tensors else (fit, seed._array)
        run.send(edge, fitted(g, t._array.shape, t._array.dtype))


@contextmanager
def _under_way(run: BackwardPass) -> Iterator[None]:
    outer, local.run = local.run, run
    try:
        yield
    finally:
        local.run = outer


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call `callback()` at the end of the running backward.

    Raises:
        RuntimeError: no backward is running.
    """
    if local.run is None:
        raise GraphError("Final callbacks can only be installed during backward pass.")
    local.run.callbacks.append(callback)


def _drive(run: BackwardPass, tensors: Sequence[Tensor], gradients: Sequence[Any]) -> None:
    with enable_grad() if run.create_graph else no_grad(), _under_way(run):
        _begin(tensors, gradients, run)
        if run.create_graph:
            local.role = "backward"
            try:
                run.go()
            finally:
                local.role = "forward"
        else:
            run.go()
        run.finish()
    if observe.observers:
        observe.notify("backward_end", tuple(tensors))


def _sum(known: Any, g: Any, key: Any, summed: set[Any]) -> Any:
    """Add two gradients. This is done in place if `known` is itself such a sum, because nothing
    else refers to it.
    """
    if known is _NOTHING:
        return g
    if key in summed:
        return numpy_cpu.plus(known, g, known)
    summed.add(key)
    return as_array(numpy_cpu.plus(known, g))


_NOTHING: list[Any] = []  # marks a node with one result that is visited without a gradient
_HARMLESS = {"metadata", "forward_stack", "role", "module", "freed_by", "linked", "of"}


# subclasses of BackwardPass for devices whose arrays have no values, by the first root's device
# type
PASSES: dict[str, type[BackwardPass]] = {}


def _kind_of_pass(roots: Sequence[Tensor]) -> type[BackwardPass]:
    kind = PASSES.get(roots[0].device.type if roots else "cpu", BackwardPass)
    return kind if thread.stack.tracer is None else thread.stack.tracer.BackwardPass


def backward(
    tensors: Sequence[Tensor],
    grad_tensors: Sequence[Any],
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | None = None,
) -> None:
    """Accumulate the gradients of `tensors` into the `.grad` of the leaves (or of `inputs` only)."""
    keep = create_graph if retain_graph is None else retain_graph
    if (
        inputs is None
        and not create_graph
        and not state.slow
        and len(tensors) == 1
        and grad_tensors[0] is None
    ):
        t = tensors[0]
        if (
            isinstance(t._node, Node)
            and type(t._array) is ndarray
            and t._array.size == 1
            and t._array.dtype.kind not in "cW"
        ):
            # The common `loss.backward()`, without interpreters and observers.
            run = BackwardPass(False, keep, None)
            seed = np.empty(t._array.shape, t._array.dtype)
            seed.fill(1)
            before, local.grad, outer, local.run = local.grad, False, local.run, run
            try:
                run.go(t._node, seed)
                run.finish()
            finally:
                local.grad, local.run = before, outer
            return
    grad_tensors = [*map(refusals.classless, grad_tensors)]
    if not all(t._rg for t in inputs or ()):
        _starts(tensors, grad_tensors)  # raises the errors about tensors and gradients first
        raise GraphError("can't retain_grad on Tensor that has requires_grad=False")
    wanted = None if inputs is None else [t._node or t for t in inputs]
    run = _kind_of_pass(tensors)(create_graph, keep, wanted, grad_tensors)
    _drive(run, tensors, grad_tensors)
    for t in inputs or ():
        g = run.found.pop(key_of(t._node or t), None)
        if g is not None:
            run.give(t, g)


def grad(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    grad_outputs: Sequence[Any],
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """Gradients of `outputs` with respect to `inputs`, returned instead of accumulated."""
    keep = create_graph if retain_graph is None else retain_graph
    for t in inputs:
        if not t._rg:
            _starts(outputs, grad_outputs)  # raises the errors about outputs and gradients first
            raise GraphError(
                "One of the differentiated Tensors does not require grad",
                op="autograd.grad",
                hint="call requires_grad_() on it first",
            )
    kind, grad_outputs = _kind_of_pass(outputs), [*map(refusals.classless, grad_outputs)]
    run = kind(create_graph, keep, [t._node or t for t in inputs], grad_outputs)
    _drive(run, outputs, grad_outputs)
    results: list[Tensor | None] = []
    for k, t in enumerate(inputs):
        g = run.found.get(key_of(t._node or t))
        if g is None and not allow_unused:
            raise GraphError(
                f"The differentiated Tensor at index {k} appears to not have been used in the graph. Set allow_unused=True if this "
                "is the desired behavior.",
                op="autograd.grad",
                hint=f"inputs[{k}] was not used to compute the outputs, or the graph was cut in between (detach(), .item(), no_grad); "
                "with allow_unused=True its gradient is None",
            )
        results.append(g if g is None or run.tensors else tensor_of(run.own(as_array(g))))
    return tuple(results)
