"""Backward while tracing: the engine's traversal, with every gradient rule, sum and reduction
recorded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from ...core import tracing
from ...core.bind import wrap
from ...core.modes import local
from ...core.primitive import PRIMITIVES
from ...core.reverse import BackwardPass, accumulate, key_of
from ...core.tape import Node, saved_arrays
from ...core.tensor import Tensor, make_tensor, node_of, version_of
from ...errors import returned_nothing
from .refusal import refusal_of
from .watch import unseen


class TracedBackwardPass(BackwardPass):
    """A traversal under a tracer. Gradients are arrays, as in an ordinary backward. With
    `create_graph` they are Tensors, whose operations are recorded like all others.
    """

    by_hand = True

    def __init__(self, create_graph: bool, keep: bool, wanted: Any, seeds: Any = ()) -> None:
        super().__init__(create_graph, keep, wanted, seeds)
        self.tracer = tracing.tracer()
        self.starting = True
        # Wanted edges that existed before the call: an older graph may lead to them, in this call
        # or in a later one.
        self.before = {key_of(e) for e in wanted or () if self._began_before(e)}
        if self.tensors and self.tracer.numbers_handed_on:
            self.tracer.refuse(
                "gradients of gradients through an operation whose rule uses numbers that depend on values"
            )

    # ---- arithmetic on gradients, recorded -----------------------------------------------------------
    @unseen
    def _record(
        self, name: str, arrays: tuple[ndarray, ...], result: ndarray, **params: Any
    ) -> ndarray:
        tracer = self.tracer
        if tracer.recording:
            before, tracer.phase = tracer.phase, "backward"
            try:
                tracer.emit(
                    PRIMITIVES[name],
                    tuple(tracer.value(a, "a gradient") for a in arrays),
                    params,
                    [result],
                )
            except Exception as error:
                tracer.refused(refusal_of(error))
            finally:
                tracer.phase = before
        return result

    def add(self, a: Any, b: Any) -> Any:
        """The sum of two gradients."""
        if self.tensors:
            return a + b
        return self._record("add", (a, b), np.asarray(a + b))

    def fitted(self, g: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        """Reduce and cast a gradient to the shape and dtype of the value that it belongs to."""
        if self.tensors:
            return super().fitted(g, shape, dtype)
        if g.shape != shape:
            g = self._record(
                "sum_to",
                (g,),
                np.asarray(PRIMITIVES["sum_to"].numpy_forward(g, shape=shape)),
                shape=shape,
            )
        if g.dtype != dtype:
            if g.dtype.kind == "c" and dtype.kind != "c":
                g = self._record("real", (g,), np.ascontiguousarray(g.real))
            g = self._record("cast", (g,), g.astype(dtype), dtype=dtype)
        return g

    def own(self, g: ndarray, leaf: ndarray | None = None) -> ndarray:
        """The gradient in its own memory, with the strides that a gradient of `leaf` has."""
        known = self.tracer.lookup(g) if self.tracer.recording else None
        lies = leaf is None or g.strides == np.empty_like(leaf, dtype=g.dtype).strides
        if (
            known is not None
            and known.buffer.kind == "temp"
            and known.whole
            and id(known.buffer) not in self.tracer.claimed
            and lies
        ):
            self.tracer.claimed.add(id(known.buffer))
            return g
        # with the strides of an eager call
        if leaf is None:
            made = g.copy("K" if g.base is None else "C")
        else:
            made = np.empty_like(leaf, dtype=g.dtype)
            np.copyto(made, g)
        self._record("clone", (g,), made)
        if self.tracer.recording:
            self.tracer.claimed.add(id(self.tracer.lookup(made).buffer))
        return made

    # ---- the traversal ---------------------------------------------------------------------------
    def send(self, edge: Any, g: Any, giver: Any = None) -> None:
        """Pass a gradient to an edge. The gradients with which backward starts are constants of the
        program.
        """
        if self.starting and self.before and self.tracer.recording and not self.tracer.outside:
            self._look_for_older(edge)
        if self.starting and g is not None and self.tracer.recording:
            array = g._array if self.tensors else g
            if (
                type(array) is ndarray
                and self.tracer.lookup(array) is None
                and self.tracer.resolve(array) is None
                and (array == 1).all()
            ):
                self.tracer.constant(array)  # the initial gradient of backward
        super().send(edge, g, giver)

    def _began_before(self, edge: Any) -> bool:
        node = node_of(edge)
        if isinstance(node, Node):
            return node.seq < self.tracer.began
        return self.tracer.recording and id(node) in self.tracer.earlier.leaves

    def _look_for_older(self, root: Any) -> None:
        """Stop recording if the root's graph began before the call and may lead to a wanted edge,
        even if not in this call.
        """
        waiting, seen = [root], set()
        while waiting:
            edge = waiting.pop()
            node = node_of(edge)
            if not isinstance(node, Node) or node in seen:
                continue
            seen.add(node)
            if node.seq >= self.tracer.began:
                waiting += node.inputs
            elif any(place != id(node) for place, _ in self.before):
                self.tracer.refuse("the step goes backward through a graph that began before it")
                return

    def go(self, waiting: Any = None, waiting_g: Any = None) -> None:
        """Traverse the graph, newest node first."""
        self.starting = False
        super().go(waiting, waiting_g)

    def runs(self, node: Node) -> bool:
        """Whether a node's rule runs. A node from before the call ends the recording."""
        if (
            self.wanted is not None
            and self.tracer.outside
            and node.seq < self.tracer.began
            or not super().runs(node)
        ):
            return False
        if node.seq < self.tracer.began:
            # Its saved values, numbers included, belong to this call; the next call may have
            # another graph.
            self.tracer.refuse("the step goes backward through a graph that began before it")
        return True

    def rules(self, node: Node, g: Any) -> Any:
        """Run a node's gradient rules and record them."""
        return (
            super().rules(node, g)
            if self.tensors
            else self.tracer.rule(node, g, saved_arrays(node))
        )

    def materialize(self, node: Node, g: list[Any]) -> Any:
        """Zeros for the results that got no gradient; they are constants of the program."""
        reached = [gk is not None for gk in g]
        made = super().materialize(node, g)
        for known, new in zip(reached, made or (), strict=made is not None):
            if new is not None and not known:
                self.tracer.constant(new._array if self.tensors else new)
        return made

    def give(self, leaf: Tensor, g: Any) -> None:
        """Add a gradient to a leaf's, as an operation of the program."""
        if id(leaf) not in self.tracer.cleared:
            self.tracer.needs_grad.setdefault(id(leaf), leaf._grad is not None)
        if self.tensors and (g._rg or leaf._grad is not None and leaf._grad._rg):
            self.tracer.refuse(
                "backward(create_graph=True) leaves gradients that have a graph of their own"
            )
        extra = leaf._x or {}
        if extra.get("grad_dtype") is not None:
            self.tracer.refuse("a leaf asks for gradients of another dtype")
        if self.tensors or not self.tracer.recording:
            accumulate(leaf, g, self.tensors)
            return
        for hook in tuple(extra.get("acc_pre_hooks", {}).values()):
            got = hook((wrap(g),))
            if got is not None:
                g = (got[0] if isinstance(got, tuple) else got)._array
        held = leaf._grad
        if held is None:
            leaf._grad = (make_tensor if local.inference else wrap)(self.own(g, leaf._array))
        elif (
            held._rg
            or held._array.dtype != g.dtype
            or held._array.shape != g.shape
            or held.is_inference()
        ):
            self.tracer.refuse(
                "a gradient is accumulated into one that requires grad, of another dtype or shape, or of inference mode"
            )
            accumulate(leaf, g, False)
            return
        else:
            total = self.add(held._array, g)
            np.copyto(held._array, total)
            self.tracer.wrote(held, wrap(total))
            version_of(held).count += 1
        for hook in tuple(extra.get("acc_post_hooks", {}).values()):
            hook((), (leaf._grad,))
        for hook in tuple(extra.get("post_accumulate", {}).values()):
            returned_nothing(hook(leaf))
