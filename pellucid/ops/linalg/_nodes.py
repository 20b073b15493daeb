"""PyTorch's graph nodes for a product: a product of two matrices or of two stacks, and views around
it.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...core.tape import named_type, value_at
from ...core.transforms.arranging import become, drawn, moved_before, node_before
from ...shapes import broadcast_shapes, matmul_shape, view_strides

BMM = named_type("BmmBackward0")  # of a call of `bmm` itself
_MM = named_type("MmBackward0")


def last_name(node: Any) -> str:
    """The name of the last of the nodes."""
    kept = dict(zip(node.plan.entries, node.saved or (), strict=False))
    known: list[Any] = [
        kept["in", k].shape
        if hasattr(kept.get(("in", k)), "shape")
        else kept["shape", k]
        if ("shape", k) in kept
        else value_at(edge)[0]
        if edge is not None
        else None
        for k, edge in enumerate(node.inputs)
    ]
    nx, ny = (None if shape is None else len(shape) for shape in known)
    wide = len(node.shape)
    if nx is None or ny is None:  # freed
        return ("Dot", "Mv", "Mm", "UnsafeView")[min(wide, 3)] + "Backward0"
    if (nx, ny) == (1, 2):
        return "SqueezeBackward4"
    if _single(*known) == 0:
        nx = 2
    if nx <= 2 and ny <= 2:
        return ("Dot", "Mv", "Mm")[wide] + "Backward0"
    turned = nx == 2 and node.inputs[0] is not None
    if not turned:
        return "UnsafeViewBackward0"
    return "TransposeBackward0" if _lies_turned(node.shape) else "CloneBackward0"


def _single(x: tuple[int, ...], y: tuple[int, ...]) -> int | None:
    """Return which of two stacks has only one matrix, if exactly one has, else None. PyTorch treats
    that stack as a matrix.
    """
    if len(x) != 3 or len(y) != 3 or (x[0] == 1) is (y[0] == 1):
        return None
    return int(y[0] == 1)


def _lies_turned(shape: tuple[int, ...]) -> bool:
    """Return whether contiguous matrices of this shape have the memory layout of their transposes,
    too.
    """
    return 0 in shape or 1 in shape[-2:]


class _Operand:
    """An operand of a product on its way to the matrices that are multiplied: its value if it was
    saved, its shape, and its edge.
    """

    def __init__(self, node: Any, k: int, kept: dict[Any, Any]) -> None:
        self.node, self.edge, self.value = node, node.inputs[k], kept.get(("in", k))
        self.shape = kept["shape", k] if self.value is None else self.value.shape
        self.strides: tuple[int, ...] | None = None  # strides, if known without the value
        self.place = 0.25 - 0.0625 * k  # no two nodes have the same number

    def step(self, name: str, shape: tuple[int, ...], made: Any, /, **params: Any) -> None:
        """Add a node. `made` applies the same step to the value."""
        self.edge = node_before(self.node, name, self.edge, shape, 0.0, **params)
        if self.edge is not None:
            # later steps of an operand have higher numbers
            self.place /= 2
            self.edge.seq = self.node.seq - 0.125 - self.place
        self.shape = shape
        if self.value is not None:
            self.value = made(self.value)

    def expanded(self, shape: tuple[int, ...]) -> None:
        if self.value is None:
            # without the value, assume that it was contiguous
            steps, lead = np.cumprod((1, *self.shape[:0:-1]))[::-1], len(shape) - len(self.shape)
            kept = zip(steps, self.shape, shape[lead:], strict=True)
            strides = [int(step) * (n == m) for step, n, m in kept]
            self.strides = (*(0,) * lead, *strides) if prod(shape) != prod(self.shape) else None
        self.step("expand", shape, lambda v: np.broadcast_to(v, shape), shape=shape)

    def turned(self) -> None:
        """Swap the last two dimensions."""
        n = len(self.shape)
        name = "t" if n == 2 else "transpose"
        shape = (*self.shape[:-2], self.shape[-1], self.shape[-2])
        self.step(name, shape, lambda v: v.swapaxes(-1, -2), dim0=n - 2, dim1=n - 1)

    def reshaped(self, shape: tuple[int, ...]) -> None:
        """Add the nodes of `reshape`: a view if the strides allow it, else a copy."""
        v = self.value
        strides = self.strides if v is None else v.strides
        if strides is None or v is not None and v.flags.c_contiguous:
            self.step("view", shape, lambda v: v.reshape(shape), shape=shape)
        elif view_strides(self.shape, strides, shape) is not None:
            self.step("view", shape, lambda v: v.reshape(shape), shape=shape)
            if self.edge is not None:
                self.edge.__class__ = named_type("ReshapeAliasBackward0")
        else:
            self.step("clone", self.shape, lambda v: v)
            self.step("unsafe_view", shape, lambda v: v.reshape(shape), shape=shape)


def _folds(x: _Operand, y: _Operand) -> bool:
    """Return whether PyTorch folds the stack `x` to one matrix, as `y` is one matrix or vector."""
    if not len(y.shape) <= 2 < len(x.shape):
        return False
    if y.edge is not None or 0 in x.shape or x.value is None:
        return True
    a, b = x.value.shape, x.value.strides
    return all(b[k] == b[k + 1] * a[k + 1] for k in range(len(a) - 2))


def nodes(node: Any) -> tuple[Any, ...]:
    """Return PyTorch's nodes: a product of two matrices or of two stacks, and views around it."""
    if type(node) in (BMM, _MM):  # already as in PyTorch
        return (node,)
    kept = dict(zip(node.plan.entries, node.saved, strict=True))
    if any(k == "in" and type(v) is not np.ndarray for (k, _), v in kept.items()):
        # from another library, or packed by hooks and therefore already as in PyTorch
        return (node,)
    x, y = (_Operand(node, k, kept) for k in (0, 1))
    single = _single(x.shape, y.shape)
    if single is not None and (one := (x, y)[single]).edge is not None:
        one.step("squeeze", one.shape[1:], lambda v: v[0], dims=(0,))
        one.edge.__class__ = named_type("SqueezeBackward1")
    nx, ny, shape = len(x.shape), len(y.shape), node.shape
    if ny <= 2 and nx <= 2 and (nx, ny) != (1, 2):
        return (node,)
    steps: list[
        tuple[str, tuple[int, ...], dict[str, Any]]
    ] = []  # steps of the result, after the product
    turned = False
    if (nx, ny) == (1, 2):
        x.step("unsqueeze", (1, *x.shape), lambda v: v[None], dim=0)
        steps = [("squeeze", shape, {"dims": (0,)})]
    elif _folds(x, y):
        x.reshaped((prod(x.shape[:-1]), x.shape[-1]))
        steps = [("unsafe_view", shape, {"shape": shape})]
    elif nx <= 2 and x.edge is not None:
        turned = True
        y.turned()
        lead = y.shape[:-1]
        y.reshaped((prod(lead), y.shape[-1]))
        if nx == 1:
            steps = [("unsafe_view", shape, {"shape": shape})]
        else:
            x.turned()
            made = (*lead, x.shape[-1])
            k = len(made)
            steps = [
                ("unsafe_view", made, {"shape": made}),
                ("transpose", shape, {"dim0": k - 2, "dim1": k - 1}),
                ("clone", shape, {}),
            ]
            if _lies_turned(shape):
                steps.pop()
    else:
        a, b = (1,) * (nx == 1) + x.shape, y.shape + (1,) * (ny == 1)
        if nx == 1:
            x.step("unsqueeze", a, lambda v: v[None], dim=0)
        if ny == 1:
            y.step("unsqueeze", b, lambda v: v[:, None], dim=1)
        batch = broadcast_shapes(a[:-2], b[:-2])
        for one in (x, y):
            matrix = one.shape[-2:]
            one.expanded((*batch, *matrix))
            one.reshaped((prod(batch), *matrix))
        steps = [("unsafe_view", shape, {"shape": shape})]
    if turned:
        x, y = y, x
    inner = moved_before(node)
    inner.shape, inner.inputs = matmul_shape(x.shape, y.shape), (x.edge, y.edge)
    inner.plan = node.op.plan((x.edge is not None, y.edge is not None))
    values = {("in", 0): x.value, ("in", 1): y.value, ("shape", 0): x.shape, ("shape", 1): y.shape}
    inner.saved = tuple([values[entry] for entry in inner.plan.entries])
    if inner.guard and inner.plan.versioned:
        was = [node.plan.entries[k] for k in node.plan.versioned]
        known = dict(zip(was, inner.versions, strict=True))
        now = [inner.plan.entries[k] for k in inner.plan.versioned]
        swapped = {("in", 0): ("in", 1), ("in", 1): ("in", 0)} if turned else {}
        inner.versions = tuple([known[swapped.get(entry, entry)] for entry in now])
    names = {(1, 2): "Mv", (2, 2): "Mm", (3, 3): "Bmm"}
    low, high = sorted((len(x.shape), len(y.shape)))
    inner.__class__ = named_type(names[low, high] + "Backward0")
    last: Any = inner
    for k, (name, made, params) in enumerate(steps):
        if k == len(steps) - 1:
            become(node, name, (last,), made, node.dtype, **params)
            if name == "squeeze":
                node.__class__ = named_type("SqueezeBackward4")
        else:
            last = node_before(node, name, last, made, 0.0625 / (k + 1), **params)
    return (inner,)


def dot_of_permuted(made: Any, x: Any, y: Any) -> Any:
    """The dot product of two vectors, whose node shows them permuted, as that of `inner` does."""
    return drawn(made, "ViewBackward0", _draw_dot, x, y)


def _draw_dot(node: Any, edges: tuple[Any, Any]) -> None:
    product = moved_before(node)
    product.inputs = tuple(
        [
            node_before(
                node, "permute", e, () if e is None else value_at(e)[0], 0.25 - k / 32, dims=(0,)
            )
            for k, e in enumerate(edges)
        ]
    )
    product.__class__ = named_type("DotBackward0")
    become(node, "view", (product,), (), node.dtype, shape=())
