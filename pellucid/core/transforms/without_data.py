"""Backward on the meta device: gradients are only shapes and dtypes, which follow from the graph."""

from __future__ import annotations

from typing import Any

from ...arrays.layout import laid_alike
from ...arrays.meta import MetaArray
from ..primitive import PRIMITIVES
from ..reverse import PASSES, BackwardPass
from ..tape import Node, value_at
from ..tensor import Tensor, make_tensor


class WithoutData(BackwardPass):
    """A traversal that runs no gradient rules: each argument's gradient has the argument's shape
    and dtype. Custom Functions do run, on meta tensors.
    """

    by_hand = True

    def rules(self, node: Node, g: Any) -> Any:
        if self.tensors or PRIMITIVES.get(node.op.name) is not node.op:
            return super().rules(node, g)
        rules = node.op.vjp
        return [
            None
            if edge is None or isinstance(rules, dict) and node.op.args[k] not in rules
            else MetaArray(*value_at(edge))
            for k, edge in enumerate(node.inputs)
        ]

    def fitted(self, g: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        return super().fitted(g, shape, dtype) if self.tensors else MetaArray(shape, dtype)

    def add(self, a: Any, b: Any) -> Any:
        return a + b if self.tensors else a

    def own(self, g: Any) -> Any:
        return g

    def give(self, leaf: Tensor, g: Any) -> None:
        if self.tensors:
            super().give(leaf, g)
        elif leaf._grad is None:
            leaf._grad = make_tensor(laid_alike(leaf._array, g.dtype))


PASSES["meta"] = WithoutData
