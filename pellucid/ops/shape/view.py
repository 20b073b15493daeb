"""Views of all elements in another shape, or as another dtype: view, reshape, flatten and others.

A view's forward rule returns a NumPy view with PyTorch's strides. The public functions make the
NumPy view themselves in the usual case and hand it to `view_result`; meta tensors, subclasses,
observers and errors go through the record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from ... import dtypes, shapes
from ...arrays.numpy_cpu import element_offset
from ...core import bind
from ...core.primitive import defop
from ...core.public import method, public
from ...core.tape import titled, value_at
from ...core.tensor import Tensor
from ...core.transforms.arranging import become, node_before
from ...errors import OperationError, ShapeError
from .._rules import keyword, require_tensor
from .._samples import cases
from ._sizes import element_strides, is_fast, sizes_of


def viewable(x: Any, shape: Sequence[int]) -> bool:
    """Whether a view of these sizes needs no copy; of a tensor with data or without."""
    array = x._array
    stand_in = np.lib.stride_tricks.as_strided(np.empty(1, array.dtype), array.shape, array.strides)
    try:
        view_op.numpy_forward(stand_in, shape=tuple(shape))
    except Exception:  # whatever the refusal says: it is one
        return False
    return True


# ---- view and reshape ------------------------------------------------------------------------
def _view(xp: Any, x: Any, *, shape: tuple[int, ...]) -> Any:
    if type(x) is not ndarray:
        return xp.reshape(x, shape)
    if x.flags.c_contiguous:
        return x.reshape(shape)
    strides = shapes.view_strides(x.shape, x.strides, shape)
    if strides is None:
        raise OperationError(shapes.VIEW_REFUSED)
    if 0 in x.shape:
        return x.reshape(shape)
    made = _by_numpy(x, shape)
    if made is not None:
        return made
    item = x.dtype.itemsize
    # view_strides counts the innermost stride of a scalar as 1 element; the other strides scale
    # with what went in.
    return xp.strided(x, shape, strides if x.ndim else (item,) * len(shape))


_SMALL = 1 << 16  # elements that NumPy may copy in vain


def _by_numpy(x: ndarray, shape: Sequence[int]) -> ndarray | None:
    """The view that NumPy finds sooner, of an array with gaps; None where it copies, or has other
    strides than PyTorch.
    """
    if not 0 < x.size < _SMALL or 0 in x.strides:
        return None
    try:
        made = x.reshape(shape)
    except (ValueError, TypeError):
        return None
    if made.base is not (x if x.base is None else x.base):
        return None
    return made if made.strides == shapes.view_strides(x.shape, x.strides, made.shape) else None


def _batch_shape(b: Any) -> Any:
    try:
        return b.call(b[0], shape=(b.size, *b.p["shape"]))
    except RuntimeError:
        if b.op.view:  # a batch with these strides has no such view, its samples have
            return None
        raise


view_op = defop(
    "view",
    "input",
    forward=_view,
    view=True,
    aval=None,
    vjp={"input": lambda F, g, input_shape: F.reshape(g, shape=input_shape)},
    jvp="linear",
    batch=_batch_shape,
    traits="passes",
    onnx=lambda c: c.reshape(c[0], c.p["shape"], c.shape()),
    aten=lambda A, x, *, shape: A.view(x, list(shape)),
    samples=cases(
        (((2, 3, 4),), {"shape": (6, 4)}),
        (((),), {"shape": (1, 1)}),
        (((0, 3),), {"shape": (3, 0)}),
        complex=True,
    ),
)

alias_op = defop(
    "alias",
    "input",
    forward=lambda xp, x: x[...],
    view=True,
    vjp={"input": lambda g: g},
    jvp="linear",
    batch="leading",
    traits="passes diagonal",
    title="view",
    onnx="Identity",
    samples=cases((((2, 3),), {}), (((),), {}), complex=True),
)


# Another shape of a result that nobody else sees.
unsafe_view_op = defop(
    "unsafe_view",
    "input",
    forward=lambda xp, x, *, shape: xp.reshape(x, shape),
    aval=lambda x, shape: (shape, x[1]),
    vjp={"input": lambda F, g, input_shape: F.reshape(g, shape=input_shape)},
    jvp="linear",
    batch=_batch_shape,
    traits="passes",
    title="view",
    onnx=lambda c: c.reshape(c[0], c.p["shape"], c.shape()),
    aten=lambda A, x, *, shape: A._unsafe_view(
        x if viewable(x, shape) else A.clone(x, memory_format=dtypes.contiguous_format), list(shape)
    ),
    samples=cases((((2, 3, 4),), {"shape": (6, 4)}), (((0, 3),), {"shape": (0,)})),
)


def _in_order(a: ndarray, shape: Any, name: str, argument: str = "size") -> ndarray:
    """The view of an array in C order; `shape` is looked at where NumPy objects."""
    try:
        return a.reshape(shape)
    except (ValueError, TypeError):
        return a.reshape(shapes.infer_size(sizes_of(shape, name, argument), a.size))


def reshape_to(x: Tensor, shape: Sequence[int]) -> Tensor:
    """View or copy of known shape (one size may be -1)."""
    a = x._array
    fast = is_fast(x)
    if fast and a.flags.c_contiguous:
        r = _in_order(a, shape, "reshape", "shape")
        if (made := r.shape) != shape and -1 not in shape:  # NumPy takes any negative size for -1
            shapes.infer_size(shape, a.size)
        return bind.view_result(view_op, x, r, {"shape": made})
    shape = shapes.infer_size(sizes_of(shape, "reshape", "shape"), a.size)
    strides = shapes.view_strides(a.shape, a.strides, shape)
    if strides is not None:
        r = _by_numpy(a, shape) if fast else None
        if r is not None:
            made = bind.view_result(view_op, x, r, {"shape": shape})
            return made if a.flags.c_contiguous else titled(made, "ReshapeAliasBackward0")
        try:
            made = view_op.call(x, shape=shape)
            dense = type(a) is ndarray and a.flags.c_contiguous
            return made if dense else titled(made, "ReshapeAliasBackward0")
        except (
            NotImplementedError
        ):  # of a batch whose samples have such a view, but the whole has not
            if type(a) is ndarray:
                raise
    return reshape_op.plain(x, shape=shape)


def _nodes_of_a_copy(node: Any) -> tuple[Any, ...]:
    """The nodes of PyTorch's: a copy in order, which is then seen in another shape."""
    shape = value_at(node.inputs[0])[0]
    copy = node_before(node, "clone", node.inputs[0], shape, 0.125)
    become(node, "unsafe_view", (copy,), node.shape, node.dtype, shape=node.shape)
    return (node,)


# What gradient rules call: `F.reshape(x, shape=...)` is a view or a copy, whichever it must be. A
# copy runs as this record, a view as that of `view`.
reshape_op = defop(
    "reshape",
    "input",
    forward=lambda xp, x, *, shape: xp.reshape(x, shape),
    aval=lambda x, shape: (shape, x[1]),
    vjp={"input": lambda F, g, input_shape: F.reshape(g, shape=input_shape)},
    jvp="linear",
    batch=_batch_shape,
    traits="passes",
    grad_name="UnsafeView",
    nodes=_nodes_of_a_copy,
    onnx=lambda c: c.reshape(c[0], c.p["shape"], c.shape()),
    call=lambda _: lambda x, *, shape: reshape_to(x, shape),
    aten=lambda A, x, *, shape: (
        A.view(x, list(shape))
        if viewable(x, shape)
        else A._unsafe_view(A.clone(x, memory_format=dtypes.contiguous_format), list(shape))
    ),
    samples=cases(
        (((2, 3, 4),), {"shape": (4, 6)}),
        (((1,),), {"shape": ()}),
        (((0, 3),), {"shape": (3, 0)}),
        complex=True,
    ),
)


@method()
def view(self: Tensor, *shape: Any, **named: Any) -> Tensor:
    """View the same memory in another shape, or as another dtype.

    Args:
        shape: the new sizes, of which one may be -1. A dtype instead reinterprets the bytes.

    Raises:
        RuntimeError: another number of elements, or strides that no view can have. Use `reshape`.

    >>> import pellucid as torch
    >>> torch.arange(6).view(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    if named:
        shape = (keyword(named, "view", "size", "dtype"),)
    if len(shape) == 1 and type(shape[0]) is not int:
        only = shape[0]
        if dtypes.is_dtype(only):
            require_tensor(self, "view", "self")
            return _view_dtype(self, dtypes.check_dtype(only, "view") or self.dtype)
        shape = sizes_of(shape, "view")
    if is_fast(self):
        a = self._array
        r = _in_order(a, shape, "view") if a.flags.c_contiguous else _by_numpy(a, shape)
        if r is not None:
            if (made := r.shape) != shape and -1 not in shape:
                shapes.infer_size(shape, a.size)
            return bind.view_result(view_op, self, r, {"shape": made})
    a = require_tensor(self, "view", "self")._array
    if not shape and a.size != 1:
        raise ShapeError(f"shape '[]' is invalid for input of size {a.size}")
    return _strict_view(self, shapes.infer_size(sizes_of(shape, "view"), a.size))


def _strict_view(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    a = x._array
    if shapes.view_strides(a.shape, a.strides, shape) is None:
        maker = x.grad_fn
        notes = [f"the tensor's sizes are {list(a.shape)}, its strides {list(element_strides(a))}"]
        link = (
            x._view.chain[-1][0].name
            if x._view is not None
            else getattr(getattr(maker, "op", None), "name", None)
        )
        if link is not None:
            where = f" at {maker.line}" if maker is not None and maker.line else ""
            notes.append(f"it became non-contiguous by {link}{where}")
        raise OperationError(
            shapes.VIEW_REFUSED,
            op="view",
            notes=notes,
            hint="call .reshape(...), or .contiguous() before .view(...)",
        )
    return view_op.call(x, shape=shape)


@public(methods="=")
def reshape(input: Tensor, *shape: Any, **named: Any) -> Tensor:
    """Change the shape. The result is a view where possible, otherwise a copy.

    Args:
        input: any shape and dtype.
        shape: the new sizes. One of them may be -1, and is computed from the others.

    Raises:
        RuntimeError: the shape has another number of elements.

    >>> import pellucid as torch
    >>> torch.reshape(torch.arange(4), (2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    if named:
        shape = (keyword(named, "reshape", "shape"),)
    if len(shape) == 1 and type(shape[0]) is not int:
        shape = sizes_of(shape, "reshape", "shape")
    if not isinstance(input, Tensor):
        require_tensor(input, "reshape")
    return reshape_to(input, shape)


@method()
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """View in the shape of another tensor; same as `view(other.size())`.

    >>> import pellucid as torch
    >>> torch.arange(4).view_as(torch.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return view(self, *require_tensor(other, "view_as", "other")._array.shape)


@method()
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """Reshape to the shape of another tensor; same as `reshape(other.size())`.

    >>> import pellucid as torch
    >>> torch.arange(4).reshape_as(torch.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return reshape_to(self, require_tensor(other, "reshape_as", "other")._array.shape)


@public(methods="=")
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Flatten dimensions `start_dim` to `end_dim` into one. A view where possible, otherwise a
    copy.

    Args:
        input: any shape and dtype.
        start_dim: the first dimension to flatten. Default: 0.
        end_dim: the last one. Default: -1.

    >>> import pellucid as torch
    >>> torch.flatten(torch.ones(2, 3, 4), 1).shape
    torch.Size([2, 12])
    """
    a = require_tensor(input, "flatten")._array
    if start_dim == end_dim and a.ndim:
        shapes.normalize_dim(start_dim, a.ndim)
        return input
    shape = shapes.flatten_shape(a.shape, start_dim, end_dim)
    return input if shape == a.shape else reshape_to(input, shape)


@public(methods="=")
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension.

    >>> import pellucid as torch
    >>> torch.ravel(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 2, 3, 4])
    """
    x = require_tensor(input, "ravel")
    # what is not contiguous is copied, also where a view would do
    return reshape_to(x if x.is_contiguous() else x.contiguous(), (-1,) if x._array.size else (0,))


@public(methods="=")
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Split dimension `dim` into several. The result is a view.

    Args:
        input: any shape and dtype.
        dim: the dimension.
        sizes: the new sizes; one of them may be -1.

    >>> import pellucid as torch
    >>> torch.unflatten(torch.ones(2, 12), 1, (3, -1)).shape
    torch.Size([2, 3, 4])
    """
    shape = require_tensor(input, "unflatten")._array.shape
    if sizes is None:
        raise OperationError("unflatten: sizes must be non-empty")
    return view(input, shapes.unflatten_shape(shape, dim, sizes_of((sizes,), "unflatten", "sizes")))


# ---- another dtype ---------------------------------------------------------------------------
view_dtype_op = defop(
    "view_dtype", "input", forward=lambda xp, x, *, dtype: x.view(dtype), view=True
)


def _differentiable(kind: dtypes.dtype) -> bool:
    return kind.is_floating_point or kind.is_complex


def _view_dtype(x: Tensor, kind: dtypes.dtype) -> Tensor:
    a, target = x._array, kind.numpy
    if a.dtype == target:
        return alias_op.call(x)
    own, new = a.dtype.itemsize, target.itemsize
    if own != new:
        names = f"to view {x.dtype.scalar_type_name} as {kind.scalar_type_name} (different element sizes)"
        if a.ndim == 0:
            raise OperationError(f"self.dim() cannot be 0 {names}")
        strides = element_strides(a)
        if strides[-1] != 1 and a.size:
            raise OperationError(f"self.stride(-1) must be 1 {names}, but got {strides[-1]}")
        if own < new:
            ratio = new // own
            if a.shape[-1] % ratio:
                raise OperationError(
                    f"self.size(-1) must be divisible by {ratio} {names}, but got {a.shape[-1]}"
                )
            if (offset := element_offset(a)) % ratio:
                raise OperationError(
                    f"self.storage_offset() must be divisible by {ratio} {names}, but got {offset}"
                )
            for dim, stride in enumerate(strides[:-1]):
                if stride % ratio and a.size:
                    raise OperationError(
                        f"self.stride({dim}) must be divisible by {ratio} {names}, but got {stride}"
                    )
    made = view_dtype_op.call(x, dtype=target)
    if made._view is not None and not (_differentiable(x.dtype) and _differentiable(kind)):
        # no gradient passes: what is written through it is not for the base's graph
        made._view.kind, made._rg = "bits", False
    return made
