"""The state of tensors when the traced call began: their arrays, gradients and `requires_grad`,
which the call may change.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any

from numpy import ndarray

from ...core.tensor import Tensor
from ..trace.refusal import Refusal

GONE: Any = object()  # marks a gradient that existed and has been released


class Earlier:
    """The state at the start of the call of all leaves that it can reach, by identity.

    A gradient that the call has cleared without reading it is released if nothing else refers to
    it, as in an eager call. Otherwise the gradients of two steps would be in memory, as much as a
    second model.
    """

    def __init__(self, leaves: dict[int, Tensor], environment: Any) -> None:
        self.leaves, self.environment = leaves, environment
        self.grads: dict[int, Any] = {k: t._grad for k, t in leaves.items()}
        self.arrays: dict[int, Any] = {k: t._array for k, t in leaves.items()}
        self.wants = {k: t._rg for k, t in leaves.items()}
        self.nodes = {k: t._node for k, t in leaves.items() if t._rg and t._node is not None}
        self.asked: list[Tensor] = []  # leaves on which the call sets `requires_grad`
        self.moved: list[Tensor] = []  # leaves whose memory the call replaces: `.data = `

    def let_go(self, tracer: Any) -> None:
        """Release the gradients that the call has cleared so far."""
        for key in tracer.cleared:
            g, t = self.grads.get(key), self.leaves.get(key)
            if (
                t is None
                or g is None
                or g is GONE
                or t._grad is g
                or key in tracer.needs_grad
                or type(g._array) is not ndarray
            ):
                continue
            known = (
                tracer.lookup(g._array) is not None
                or self.environment.tensors.get(id(g._array), (None,))[0] is not g
            )
            del g  # before the references are counted
            if not known:
                self._forget(key)

    def _forget(self, key: int) -> None:
        g: Tensor = self.grads[key]
        array, tables = (
            g._array,
            (self.leaves, self.grads, self.arrays, self.wants, self.environment.seen),
        )
        named = self.environment.tensors.pop(id(array))
        held = [table.pop(id(g), GONE) for table in tables]
        self.grads[key] = GONE
        # the references here, in `named`, and as the function's argument
        mine = 3 + sum(x is g for x in held)
        if getrefcount(g) > mine or getrefcount(array) > 3 + sum(x is array for x in held):
            self.environment.tensors[id(array)] = named
            for table, x in zip(tables, held, strict=True):
                if x is not GONE:
                    table[id(g)] = x
            self.grads[key] = g

    def changes(self, cleared: set[int]) -> list[tuple[Tensor, Any]]:
        """The tensors whose `.grad` the call has replaced, with the new values. Raises Refusal if
        the call did something that a program would not repeat.
        """
        found = []
        for key, t in self.leaves.items():
            if t._array is not self.arrays[key]:
                self.moved.append(t)
            if t._rg and not self.wants[key] and t._node is None:
                self.asked.append(t)
            elif t._rg != self.wants[key]:
                raise Refusal("the step changes requires_grad of a tensor")
            if t._rg and key in self.nodes and t._node is not self.nodes[key]:
                # The write belongs to the caller's graph, which a program's call cannot change.
                raise Refusal(
                    "the step writes in place to a tensor that its caller's graph has made"
                )
            if t._grad is not self.grads[key] or key in cleared and t._grad is None:
                found.append((t, t._grad))
        return found

    def ask(self, needed: dict[int, bool], cleared: set[int]) -> None:
        """Note for all leaves that the call did not clear that it matters whether they had a
        gradient.
        """
        for key in self.leaves.keys() - cleared:
            if self.grads[key] is not GONE:
                needed.setdefault(key, self.grads[key] is not None)

    def read(
        self, needed: dict[int, bool], external: dict[Any, ndarray]
    ) -> list[tuple[Tensor, Any]]:
        """The tensors for which it matters whether they had a gradient, with that gradient."""
        arrays = {id(a) for a in external.values()}
        return [
            (t, self.grads[k])
            for k, t in self.leaves.items()
            if k in needed
            or self.grads[k] not in (None, GONE)
            and id(self.grads[k]._array) in arrays
        ]
