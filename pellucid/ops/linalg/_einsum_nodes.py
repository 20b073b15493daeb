"""PyTorch's graph nodes for `einsum` of two operands: views that put all labels in one order, a
batched product, and views of the result. They are created when somebody looks at the graph.
"""

from __future__ import annotations

from itertools import accumulate
from math import prod
from operator import mul
from typing import Any

from ...core.tape import Node, named_type
from ...core.tensor import Tensor
from ...core.transforms.arranging import become, drawn, moved_before, node_before
from ...shapes import broadcast_shapes, view_strides
from ._nodes import BMM

Labels = list[int]


def arranged_as(made: Tensor, x: Tensor, y: Tensor, labels: tuple[Labels, Labels, Labels]) -> None:
    """Let the result's node show PyTorch's nodes. `labels` are those of the two operands and of the
    result.
    """
    node = made._node
    if isinstance(node, Node):
        lies = [(t._array.shape, t._array.strides) for t in (x, y)]
        drawn(made, type(node).__name__, _Drawing(labels, lies).draw, x, y)


class _Drawing:
    """Creates the nodes of one call."""

    def __init__(self, labels: tuple[Labels, Labels, Labels], lies: list[Any]) -> None:
        self.a, self.b, self.wanted = labels
        self.lies = lies
        self.place = 0.9375

    def draw(self, node: Node, edges: tuple[Any, Any]) -> None:
        """Put PyTorch's nodes between `node` and the edges of the operands."""
        self.node = node
        summed = sorted({*self.a, *self.b} - {*self.wanted})
        every = [*self.wanted, *summed]
        left, right = (
            self.aligned(edge, labels, lie, every)
            for edge, labels, lie in zip(edges, (self.a, self.b), self.lies, strict=True)
        )
        inner: Any = node
        while inner.op.name not in ("matmul", "mul") and isinstance(inner.inputs[0], Node):
            inner = inner.inputs[0]
        own = range(len(self.wanted), len(every))  # dimensions that are summed
        x, y = left[1], right[1]
        left, right = (
            self.summed(*operand, [k for k in own if operand[1][k] != 1 == other[k]])
            for operand, other in ((left, y), (right, x))
        )
        x, y = left[1], right[1]
        last = [k for k in own if x[k] != 1 != y[k]]
        # packed by hooks, in the layout of the product
        packed = inner.ext is not None and "packed" in inner.ext
        if inner.op.name != ("matmul" if last else "mul") or packed and inner is not node:
            return
        if not last:
            self.multiplied(inner, left, right)
            return
        many = [k for k in range(len(every)) if k not in last]
        both = [k for k in many if x[k] != 1 and y[k] != 1]
        lo = [k for k in many if x[k] != 1 and y[k] == 1]
        ro = [k for k in many if x[k] == 1]
        swapped = bool(lo and ro) and ro[-1] < lo[0]
        # PyTorch swaps the operands, so that the result has the order that is asked for
        if swapped:
            left, right, lo, ro = right, left, ro, lo
            x, y = y, x
        order = [*both, *lo, *last, *ro]
        batch, rows, depth, columns = (
            prod(size[k] for k in ks) for size, ks in ((x, both), (x, lo), (x, last), (y, ro))
        )
        shapes = (batch, rows, depth), (batch, depth, columns)
        product = moved_before(inner)
        product.inputs = (
            self.reshaped(*self.turned(*left, order), shapes[0]),
            self.reshaped(*self.turned(*right, [*both, *last, *ro, *lo]), shapes[1]),
        )
        product.seq = node.seq - self.next()
        needs = tuple([e is not None for e in product.inputs])
        product.plan = inner.op.plan(needs)
        if inner.saved is not None:
            kept = dict(zip(inner.plan.entries, inner.saved, strict=True))
            product.saved = tuple(
                [_kept(kept, kind, k, swapped, shapes) for kind, k in product.plan.entries]
            )
        product.shape = (batch, rows, columns)
        product.__class__ = BMM
        sizes = tuple([(x if k not in ro else y)[k] if k not in last else 1 for k in order])
        back = [order.index(k) for k in range(len(order))]
        edge = node_before(node, "view", product, sizes, self.next(), shape=sizes)
        sizes = tuple([sizes[k] for k in back])
        edge = node_before(node, "permute", edge, sizes, self.next(), dims=tuple(back))
        become(node, "view", (edge,), node.shape, node.dtype, shape=node.shape)

    def multiplied(self, inner: Node, left: Any, right: Any) -> None:
        """Use an elementwise product: no label that both operands have is summed."""
        if inner is self.node:
            inner.inputs = (left[0], right[0])
            return
        product = moved_before(inner)
        product.inputs, sizes = (left[0], right[0]), (left[1], right[1])
        product.seq = self.node.seq - self.next()
        product.shape = broadcast_shapes(*sizes)
        if inner.saved is not None:
            product.saved = tuple(
                [
                    sizes[k] if kind == "shape" else v.reshape(sizes[k]) if kind == "in" else v
                    for (kind, k), v in zip(inner.plan.entries, inner.saved, strict=True)
                ]
            )
        node = self.node
        become(node, "view", (product,), node.shape, node.dtype, shape=node.shape)

    def summed(self, edge: Any, shape: Any, strides: Any, dims: list[int]) -> tuple[Any, Any, Any]:
        """Sum an operand over `dims`, which stay with size 1."""
        if not dims:
            return edge, shape, strides
        shape = tuple([1 if k in dims else n for k, n in enumerate(shape)])
        edge = node_before(
            self.node, "sum", edge, shape, self.next(), dim=tuple(dims), keepdim=True
        )
        if edge is not None:
            edge.__class__ = named_type("SumBackward1")
        strides = [edge.dtype.itemsize if edge is not None else 1]
        for n in shape[:0:-1]:
            strides.append(strides[-1] * n)
        return edge, shape, tuple(strides[::-1])

    def next(self) -> float:
        self.place -= 0.0078125
        return self.place

    def aligned(self, edge: Any, labels: Labels, lie: Any, every: Labels) -> tuple[Any, Any, Any]:
        """Give an operand all labels in the order of `every`. Returns its edge, shape and strides."""
        shape, strides = lie
        labels = list(labels)
        for label in every:
            if label not in labels:
                labels.append(label)
                shape, strides = (*shape, 1), (*strides, 0)
                edge = node_before(self.node, "unsqueeze", edge, shape, self.next(), dim=-1)
        return self.turned(edge, shape, strides, [labels.index(label) for label in every])

    def turned(self, edge: Any, shape: Any, strides: Any, order: list[int]) -> tuple[Any, Any, Any]:
        shape, strides = (tuple([v[k] for k in order]) for v in (shape, strides))
        edge = node_before(self.node, "permute", edge, shape, self.next(), dims=tuple(order))
        return edge, shape, strides

    def reshaped(self, edge: Any, shape: Any, strides: Any, into: tuple[int, ...]) -> Any:
        """Add the nodes of `reshape`: a view if the strides allow it, else a copy."""
        if edge is None:
            return None
        dense = accumulate([edge.dtype.itemsize, *reversed(shape[1:])], mul)
        in_order = all(
            n == 1 or stride == step
            for n, stride, step in zip(reversed(shape), reversed(strides), dense)
        )
        if in_order or 0 in shape or view_strides(shape, strides, into) is not None:
            made = node_before(self.node, "view", edge, into, self.next(), shape=into)
            if not in_order and 0 not in shape:
                made.__class__ = named_type("ReshapeAliasBackward0")
            return made
        edge = node_before(self.node, "clone", edge, shape, self.next())
        return node_before(self.node, "unsafe_view", edge, into, self.next(), shape=into)


def _kept(kept: dict[Any, Any], kind: str, k: int, swapped: bool, shapes: Any) -> Any:
    """Return the values that a product of stacks saves, given those that the product of matrices
    saved.
    """
    value = kept.get((kind, 1 - k if swapped else k))
    if kind == "shape":
        return shapes[k]
    if kind != "in" or value is None:
        return value
    return (value.swapaxes(-1, -2) if swapped else value).reshape(shapes[k])
