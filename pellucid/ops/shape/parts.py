"""Views of a part of the elements: narrow, select, slices, diagonals, windows, strides, and splits
into several views.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from ... import shapes
from ...core import bind, tracing
from ...core.bind import views_result
from ...core.primitive import PRIMITIVES, defop
from ...core.public import FUNCTIONS, METHODS, method, public
from ...core.tape import named_type
from ...core.tensor import OutputSlot, Tensor
from ...errors import (
    ArgumentTypeError,
    DimensionError,
    IndexOutOfRangeError,
    OperationError,
    type_name,
)
from .._overloads import checked
from .._rules import as_index, keyword, require_tensor
from .._samples import cases
from ._sizes import is_fast


# ---- the gradient of a part ------------------------------------------------------------------
def _embed(xp: Any, g: Any, *, shape: tuple[int, ...], op: str, how: dict[str, Any]) -> Any:
    out = xp.zeros(shape, g.dtype)
    PRIMITIVES[op].run_forward(xp, (out,), how)[...] = g
    return out


# Zeros of `shape`, with `g` in the part that the view operation `op` with the parameters `how`
# shows.
embed_op = defop(
    "embed",
    "input",
    forward=_embed,
    aval=lambda g, shape, op, how: (shape, g[1]),
    vjp={"input": lambda F, g, op, how: getattr(F, op)(g, **how)},
    jvp="linear",
    title="embedding",
    aten=lambda A, g, *, shape, op, how: getattr(A, f"{op}_backward")(
        g, list(shape), *how.values()
    ),
    samples=cases(
        (((2, 4),), {"shape": (2, 3, 4), "op": "select", "how": {"dim": 1, "index": 2}}),
        (
            ((2, 2),),
            {"shape": (2, 4), "op": "slice", "how": {"dim": 1, "start": 0, "end": 4, "step": 2}},
        ),
        (
            ((2, 3),),
            {"shape": (3, 2, 3), "op": "diagonal", "how": {"offset": 0, "dim1": 0, "dim2": 2}},
        ),
    ),
)


def part_op(name: str, forward: Any, rule: Any, **fields: Any) -> Any:
    """Record a view of a part of one tensor, with the gradient rule for it."""
    return defop(
        name, "input", forward=forward, view=True, vjp={"input": rule}, jvp="linear", **fields
    )


def _onnx_select(c: Any) -> Any:
    at = c.emit("Squeeze", c.ints([c.p["index"]]), c.ints([0]))
    return c.emit("Gather", c[0], at, axis=int(c.p["dim"]))


select_op = part_op(
    "select",
    lambda xp, x, *, dim, index: x[(slice(None),) * dim + (index, ...)],
    lambda F, g, dim, index, input_shape: F.embed(
        g, shape=input_shape, op="select", how={"dim": dim, "index": index}
    ),
    batch="dims",
    traits="passes",
    onnx=_onnx_select,
    aten=lambda A, x, *, dim, index: A.select.int(x, dim, index),
    samples=cases(
        (((2, 3, 4),), {"dim": 1, "index": 2}),
        (((5,),), {"dim": 0, "index": 0}),
        (((0, 3),), {"dim": 1, "index": 1}),
        complex=True,
    ),
)


def _onnx_slice(c: Any) -> Any:
    dim = c.p["dim"]
    end = c.LAST if c.p["end"] == c.shape()[dim] else c.p["end"]
    return c.cut(c[0], dim, c.p["start"], end, c.p["step"])


slice_op = part_op(
    "slice",
    lambda xp, x, *, dim, start, end, step: x[(slice(None),) * dim + (slice(start, end, step),)],
    lambda F, g, dim, start, end, step, input_shape: F.embed(
        g, shape=input_shape, op="slice", how={"dim": dim, "start": start, "end": end, "step": step}
    ),
    batch="dims",
    traits="passes",
    onnx=_onnx_slice,
    aten=lambda A, x, *, dim, start, end, step: A.slice.Tensor(x, dim, start, end, step),
    samples=cases(
        (((2, 7),), {"dim": 1, "start": 1, "end": 6, "step": 2}),
        (((3, 2),), {"dim": 0, "start": 2, "end": 2, "step": 1}),
        complex=True,
    ),
)


def _onnx_diagonal(c: Any) -> Any:
    rank = len(c.shape())
    dims = [c.p["dim1"] % rank, c.p["dim2"] % rank]
    rest = [d for d in range(rank) if d not in dims]
    rows, columns = (c.fixed([c.shape()[d]])[0] for d in dims)
    turned = c.emit("Transpose", c[0], perm=[*rest, *dims])
    flat = c.emit("Reshape", turned, c.ints([*[0] * len(rest), rows * columns]))
    picked = np.arange(rows * columns).reshape(rows, columns).diagonal(c.p["offset"])
    return c.emit("Gather", flat, c.const(picked.copy()), axis=len(rest))


diagonal_op = part_op(
    "diagonal",
    lambda xp, x, *, offset, dim1, dim2: _diagonal(xp, x, offset, dim1, dim2),
    lambda F, g, offset, dim1, dim2, input_shape: F.embed(
        g, shape=input_shape, op="diagonal", how={"offset": offset, "dim1": dim1, "dim2": dim2}
    ),
    batch="dims",
    onnx=_onnx_diagonal,
    overload="as_strided",
    samples=cases(
        (((3, 2, 4),), {"offset": 1, "dim1": 0, "dim2": 2}),
        (((3, 3),), {"offset": -1, "dim1": 0, "dim2": 1}),
        complex=True,
    ),
)


def _diagonal(xp: Any, x: Any, offset: int, dim1: int, dim2: int) -> Any:
    if type(x) is not ndarray:
        return xp.diagonal(x, offset, dim1, dim2)
    if x.ndim == 2 and not offset:
        rows, columns = x.shape
        return xp.strided(x, (rows if rows < columns else columns,), (x.strides[0] + x.strides[1],))
    shape = shapes.diagonal_shape(x.shape, offset, dim1, dim2)
    steps = [s for d, s in enumerate(x.strides) if d not in (dim1, dim2)]
    shift = max(offset, 0) * x.strides[dim2] - min(offset, 0) * x.strides[dim1] if shape[-1] else 0
    return xp.strided(x, shape, (*steps, x.strides[dim1] + x.strides[dim2]), shift)


# ---- one dimension ---------------------------------------------------------------------------
_ALL = (slice(None),) * 64  # everything of each dimension


@public(methods="=")
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """Take position `index` of dimension `dim`, as a view. That dimension is removed.

    Args:
        input: at least one dimension.
        dim: the dimension.
        index: the position; negative counts from the end.

    Raises:
        IndexError: `dim` or `index` is out of range.

    >>> import pellucid as torch
    >>> torch.select(torch.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    index = index if type(index) is int else as_index(index)
    fast = is_fast(input)
    a = (input if fast else require_tensor(input, "select"))._array
    shape = a.shape
    if not (type(dim) is int and 0 <= dim < len(shape) and 0 <= index < shape[dim]):
        dim, index = shapes.select_position(index, shape, dim)
    if fast:
        made = a[(*_ALL[:dim], index, ...)]
        return bind.view_result(select_op, input, made, {"dim": dim, "index": index})
    return select_op.call(input, dim=dim, index=index)


@public(methods="=")
def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """Take `length` positions of dimension `dim`, from `start` on, as a view.

    Args:
        input: at least one dimension.
        dim: the dimension.
        start: the first position, a number or a tensor with one integer.
        length: how many positions.

    >>> import pellucid as torch
    >>> torch.narrow(torch.tensor([1, 2, 3, 4]), 0, 1, 2)
    tensor([2, 3])
    """
    if type(start) is not int:
        if isinstance(start, Tensor):
            if start._array.ndim or start._array.dtype.kind not in "iu":
                raise OperationError("start must be an 0-dim integral Tensor.")
            if tracing.tracer():
                start = start.item()
        start = as_index(start)
    fast = is_fast(input)
    a = (input if fast else require_tensor(input, "narrow"))._array
    dim, first = shapes.narrow_range(a.shape, dim, start, length)
    where = {"dim": dim, "start": first, "end": first + length, "step": 1}
    if fast:
        made = a[(*_ALL[:dim], slice(first, first + length))]
        return bind.view_result(slice_op, input, made, where)
    return slice_op.call(input, **where)


def slice_dim(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """`input[..., start:end:step]` in dimension `dim`."""
    shape = input._array.shape
    if not shape:
        raise IndexOutOfRangeError("slice() cannot be applied to a 0-dim tensor.")
    dim = shapes.normalize_dim(dim, len(shape))
    if step <= 0:
        raise OperationError("slice step must be positive")
    first, length, step = shapes.slice_range(slice(start, end, step), shape[dim])
    last = first + (length - 1) * step + 1 if length else first
    return slice_op.call(input, dim=dim, start=first, end=last, step=step)


@public(methods="=")
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dimensions, as a new last dimension. The result is a view.

    Args:
        input: at least two dimensions.
        offset: which diagonal; 0 is the main one, positive ones are above it. Default: 0.
        dim1, dim2: the two dimensions. Default: 0 and 1.

    >>> import pellucid as torch
    >>> torch.diagonal(torch.tensor([[1, 2], [3, 4]]), 1)
    tensor([2])
    """
    shape = require_tensor(input, "diagonal")._array.shape
    if dim1 != 0 or dim2 != 1 or len(shape) < 2:
        shapes.diagonal_shape(shape, offset, dim1, dim2)
        dim1, dim2 = (shapes.normalize_dim(d, len(shape)) for d in (dim1, dim2))
    return diagonal_op.call(input, offset=offset, dim1=dim1, dim2=dim2)


# ---- windows and strides ---------------------------------------------------------------------
def _unfold(xp: Any, x: Any, *, dim: int, size: int, step: int) -> Any:
    if x.ndim == 0:
        return xp.strided(x, (size,), (x.dtype.itemsize,))
    shape = shapes.unfold_shape(x.shape, dim, size, step)
    own = x.strides[dim]
    return xp.strided(x, shape, (*x.strides[:dim], own * step, *x.strides[dim + 1 :], own))


def _unfold_grad(xp: Any, g: Any, *, shape: tuple[int, ...], dim: int, size: int, step: int) -> Any:
    out = xp.zeros(shape, g.dtype)
    if not shape:
        out[...] = g.sum()
        return out
    count = g.shape[dim]
    if step >= size:
        _unfold(xp, out, dim=dim, size=size, step=step)[...] = g
        return out
    moved = out if dim == 0 else xp.moveaxis(out, dim, 0)
    parts = g if dim == 0 else xp.moveaxis(g, dim, 0)
    for k in range(size):
        moved[k : k + (count - 1) * step + 1 : step] += parts[..., k]
    return out


def _onnx_unfold(c: Any) -> Any:
    dim, rank = c.p["dim"] % len(c.shape()), len(c.shape())
    count = c.fixed([c.out_shape[dim]])[0]
    index = np.arange(count)[:, None] * c.p["step"] + np.arange(c.p["size"])
    # the elements of the windows come right after the axis
    out = c.emit("Gather", c[0], c.const(index), axis=dim)
    return c.emit("Transpose", out, perm=[*range(dim + 1), *range(dim + 2, rank + 1), dim + 1])


unfold_op = part_op(
    "unfold",
    _unfold,
    lambda F, g, dim, size, step, input_shape: F.unfold_grad(
        g, shape=input_shape, dim=dim, size=size, step=step
    ),
    batch="dims",
    traits="passes",
    onnx=_onnx_unfold,
    samples=cases(
        (((2, 7),), {"dim": 1, "size": 3, "step": 2}), (((4, 2),), {"dim": 0, "size": 2, "step": 1})
    ),
)
unfold_grad_op = defop(
    "unfold_grad",
    "input",
    forward=_unfold_grad,
    aval=lambda g, shape, dim, size, step: (shape, g[1]),
    vjp={"input": lambda F, g, dim, size, step: F.unfold(g, dim=dim, size=size, step=step)},
    jvp="linear",
    grad_name="UnfoldBackward",
    samples=cases(
        (((2, 3, 3),), {"shape": (2, 7), "dim": 1, "size": 3, "step": 2}),
        (((3, 2, 2),), {"shape": (4, 2), "dim": 0, "size": 2, "step": 1}),
    ),
)


@method()
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Sliding windows along a dimension, as a view. The elements of a window are a new last
    dimension.

    Args:
        dimension: the dimension.
        size: the length of a window.
        step: the distance from one window to the next.

    >>> import pellucid as torch
    >>> torch.arange(5).unfold(0, 3, 2)
    tensor([[0, 1, 2],
            [2, 3, 4]])
    """
    shape = require_tensor(self, "unfold")._array.shape
    shapes.unfold_shape(shape, dimension, size, step)
    return unfold_op.call(
        self, dim=shapes.normalize_dim(dimension, len(shape)), size=size, step=step
    )


# ---- several views ---------------------------------------------------------------------------
def _pieces(xp: Any, x: Any, *, sizes: tuple[int, ...], dim: int) -> Any:
    before, out, start = (slice(None),) * dim, [], 0
    for size in sizes:
        out.append(x[(*before, slice(start, start + size))])
        start += size
    return out


def _onnx_split(c: Any) -> Any:
    made = c.emit(
        "Split", c[0], c.ints(c.p["sizes"]), count=len(c.step.outputs), axis=int(c.p["dim"])
    )
    return made if isinstance(made, list) else [made]


split_op = defop(
    "split",
    "input",
    forward=_pieces,
    outputs=-1,
    view=True,
    vjp={"input": lambda F, g, dim: F.cat(*g, dim=dim)},
    jvp="linear",
    batch="dims",
    traits="passes",
    onnx=_onnx_split,
    aten=lambda A, x, *, sizes, dim: A.split_with_sizes(x, list(sizes), dim),
    samples=cases(
        (((2, 7),), {"sizes": (3, 0, 4), "dim": 1}),
        (((3, 2),), {"sizes": (1, 2), "dim": 0}),
        complex=True,
    ),
    shows={"split_size": "sizes", "split_sizes": "sizes"},
)


def _onnx_unbind(c: Any) -> Any:
    dim = int(c.p["dim"])
    return [
        c.emit("Gather", c[0], c.const(np.array(k)), axis=dim) for k in range(len(c.step.outputs))
    ]


unbind_op = defop(
    "unbind",
    "input",
    forward=lambda xp, x, *, dim: [x[(slice(None),) * dim + (i, ...)] for i in range(x.shape[dim])],
    outputs=-1,
    view=True,
    vjp={"input": lambda F, g, dim: F.stack(*g, dim=dim)},
    jvp="linear",
    batch="dims",
    traits="passes",
    onnx=_onnx_unbind,
    aten=lambda A, x, *, dim: A.unbind.int(x, dim),
    samples=cases((((2, 3),), {"dim": 1}), (((3,),), {"dim": 0}), complex=True),
)


def _split(x: Tensor, sizes: tuple[int, ...], dim: int) -> tuple[Tensor, ...]:
    if is_fast(x):
        return views_result(
            split_op, x, _pieces(None, x._array, sizes=sizes, dim=dim), {"sizes": sizes, "dim": dim}
        )
    return split_op.call(x, sizes=sizes, dim=dim)


def _splittable(x: Any, dim: int, name: str) -> tuple[int, int]:
    """Return the dimension, counted from 0, and its size."""
    shape = require_tensor(x, name)._array.shape
    if not shape:
        shown = name.removesuffix("_with_sizes").removeprefix("unsafe_")
        raise OperationError(f"{shown} expects at least a 1-dimensional tensor")
    dim = shapes.normalize_dim(dim, len(shape))
    return dim, shape[dim]


@public()
def split(
    tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """Views of the parts along `dim`: of one size with a smaller rest, or of the sizes listed.

    Args:
        tensor: any shape and dtype.
        split_size_or_sections: the size of each part, or a list of all sizes.
        dim: the dimension that is split. Default: 0.

    Returns:
        A tuple of views, which share the memory of `tensor`.

    Raises:
        RuntimeError: sizes that do not sum to the size of the dimension.

    >>> import pellucid as torch
    >>> torch.split(torch.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    sections: Any = split_size_or_sections
    if not isinstance(tensor, Tensor):
        return _split_other(tensor, sections, dim)
    if isinstance(sections, Tensor):
        with contextlib.suppress(ValueError):
            sections = int(sections)
    if not isinstance(sections, int):
        return FUNCTIONS["torch"]["split_with_sizes"](tensor, sections, dim)
    if type(sections) is not int or type(dim) is not int:
        return _split_checked(tensor, sections, dim)
    return _split_evenly(tensor, sections, dim)


def _split_other(value: Any, sections: Any, dim: int) -> Any:
    """Call the `split` of an object that is not a tensor, and rewrite its error to name types as
    PyTorch's C++ code does.
    """
    try:
        return value.split(sections, dim)
    except TypeError as error:
        kind = type(sections).__name__
        told = str(error).replace(f"not {kind}", f"not {type_name(sections)}")
        raise TypeError(told) from None


def _split_evenly(tensor: Tensor, sections: int, dim: int) -> tuple[Tensor, ...]:
    number, size = _splittable(tensor, dim, "split")
    return _split(tensor, shapes.split_sizes(size, sections, dim), number)


_split_checked = checked(_split_evenly, "_VF.split")


@method("split")
def split_method(self: Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """See :func:`split`."""
    return split(self, split_size, dim)


@public(methods="=")
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of the parts of the sizes listed.

    >>> import pellucid as torch
    >>> torch.split_with_sizes(torch.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    number, size = _splittable(input, dim, "split_with_sizes")
    made = _split(input, shapes.split_sizes(size, list(split_sizes), dim), number)
    for part in made[:1]:
        if type(part._node) is OutputSlot:
            part._node.node.__class__ = named_type("SplitWithSizesBackward0")
    return made


@public(methods="=")
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` views of parts along `dim`, all but the last of one size.

    Args:
        input: any shape and dtype.
        chunks: how many parts; there are fewer where the size divides so.
        dim: the dimension that is split. Default: 0.

    Returns:
        A tuple of views, which share the memory of `input`.

    Raises:
        RuntimeError: `chunks` is not positive.

    >>> import pellucid as torch
    >>> torch.chunk(torch.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    dim, size = _splittable(input, dim, "chunk")
    return _split(input, shapes.chunk_sizes(size, as_index(chunks)), dim)


@public(names="tensor_split", methods="=")
def tensor_split(
    input: Tensor, indices_or_sections: Any = None, dim: int = 0, **named: Any
) -> tuple[Tensor, ...]:
    """Split a tensor into views of almost equal size, or at given positions.

    Args:
        input: at least one dimension.
        indices_or_sections: how many parts, or the positions to cut at.
        dim: the dimension. Default: 0.

    >>> import pellucid as torch
    >>> torch.tensor_split(torch.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    given = keyword(named, "tensor_split", "sections", "indices") if named else indices_or_sections
    shape = require_tensor(input, "tensor_split")._array.shape
    if not shape:
        raise OperationError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    if isinstance(given, Tensor):
        array = given._array
        if array.dtype != np.int64:
            raise OperationError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                + given.dtype.scalar_type_name
            )
        if array.ndim > 1:
            raise OperationError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a tensor "
                f"with {array.ndim} dims"
            )
        if tracing.tracer():  # a tracer follows numbers, but not lists
            given = [mark.item() for mark in given] if array.ndim else given.item()
        else:
            given = array.tolist()
    elif not isinstance(given, (int, list, tuple)):
        raise ArgumentTypeError(
            f"tensor_split(): argument 'indices_or_sections' (position 2) must be int or tuple of ints, not {type_name(given)}"
        )
    dim = shapes.normalize_dim(dim, len(shape))
    size = shape[dim]
    if isinstance(given, int):
        cuts, at = [], 0
        for length in shapes.tensor_split_sizes(size, given):
            cuts.append((at, at + length))
            at += length
    else:
        marks = [0, *given, size]
        cuts = [slice(a, b).indices(size)[:2] for a, b in zip(marks, marks[1:], strict=False)]
    return tuple(slice_op.call(input, dim=dim, start=a, end=max(a, b), step=1) for a, b in cuts)


def _directional(name: str, dim: int, least: int) -> None:
    def function(input: Tensor, *args: Any, **named: Any) -> tuple[Tensor, ...]:
        ndim = require_tensor(input, name)._array.ndim
        if ndim < least:
            raise OperationError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {ndim} dimensions!"
            )
        given = args[0] if args else None
        if named:
            given = keyword(
                named, name, *(() if args else ("sections", "indices", "indices_or_sections"))
            )
        axis = 0 if name == "hsplit" and ndim == 1 else dim
        size = input._array.shape[axis]
        if isinstance(given, int) and (given == 0 or size % given):
            raise OperationError(
                f"torch.{name} attempted to split along dimension {axis}, but the size of the dimension {size} is not divisible by the "
                f"split_size {given}!"
            )
        return tensor_split(input, given, axis)

    function.__name__ = name
    function.__doc__ = f"""Split a tensor along dimension {dim}{" (0 for a vector)" if name == "hsplit" else ""}.

    Args:
        input: the tensor.
        indices_or_sections: how many equal parts, or the positions to cut at.

    >>> import pellucid as torch
    >>> [part.shape for part in torch.{name}(torch.zeros(2, 4, 6), 2)]
    [torch.Size({[2 >> (dim == 0), 4 >> (dim == 1), 6 >> (dim == 2)]}), torch.Size({[2 >> (dim == 0), 4 >> (dim == 1), 6 >> (dim == 2)]})]
    """
    public(names=name)(function)

    def of_tensor(self: Tensor, *args: Any, **named: Any) -> tuple[Tensor, ...]:
        return function(self, *((args,) if len(args) > 1 else args), **named)

    of_tensor.__name__, of_tensor.__doc__ = name, f"`{name}(1, 2)` is `{name}((1, 2))`."
    method(name)(of_tensor)


_directional("hsplit", 1, 1)
_directional("vsplit", 0, 2)
_directional("dsplit", 2, 3)


def _unbind(x: Tensor, dim: int) -> tuple[Tensor, ...]:
    if is_fast(x):
        a = x._array
        front = a if dim == 0 else np.moveaxis(a, dim, 0)
        parts = list(front) if a.ndim > 1 else [front[i, ...] for i in range(len(front))]
        return views_result(unbind_op, x, parts, {"dim": dim})
    return unbind_op.call(x, dim=dim)


@public(methods="=")
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Split a tensor into a tuple of views, one for each position of dimension `dim`.

    Args:
        input: at least one dimension.
        dim: the dimension, which is removed. Default: 0.

    >>> import pellucid as torch
    >>> torch.unbind(torch.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    ndim = require_tensor(input, "unbind")._array.ndim
    dim = shapes.normalize_dim(dim, ndim)
    if not ndim:
        raise DimensionError("Dimension specified as 0 but tensor has no dimensions")
    return _unbind(input, dim)


unsafe_split_op = defop(
    "unsafe_split",
    "input",
    forward=_pieces,
    outputs=-1,
    vjp={"input": lambda F, g, dim: F.cat(*g, dim=dim)},
    jvp="linear",
    onnx=_onnx_split,
    samples=cases((((2, 7),), {"sizes": (3, 4), "dim": 1})),
)


def _unsafe(name: str, sizes: Callable[[int, Any, int], tuple[int, ...]], argument: str) -> None:
    def function(input: Tensor, *args: Any, **named: Any) -> tuple[Tensor, ...]:
        given = list(args)
        if not given:
            given.append(named.pop(argument))
        dim = given[1] if len(given) > 1 else named.pop("dim", 0)
        keyword(named, name)
        number, size = _splittable(input, dim, name)
        return unsafe_split_op.call(input, sizes=sizes(size, given[0], dim), dim=number)

    function.__name__ = name
    shown = "[2, 2]" if name.endswith("sizes") else "2"
    function.__doc__ = (
        f"As :func:`{name.removeprefix('unsafe_')}`, without noting that the parts share memory: they may be written in place when "
        "neither the input nor another part is used afterwards.\n\n"
        f">>> import pellucid as torch\n>>> torch.{name}(torch.arange(4), {shown})\n"
        "(tensor([0, 1]), tensor([2, 3]))\n"
    )
    public(names=name, methods="=")(function)


_unsafe("unsafe_split", lambda size, given, dim: shapes.split_sizes(size, given, dim), "split_size")
_unsafe(
    "unsafe_split_with_sizes",
    lambda size, given, dim: shapes.split_sizes(size, list(given), dim),
    "split_sizes",
)
_unsafe("unsafe_chunk", lambda size, given, dim: shapes.chunk_sizes(size, given), "chunks")


# ---- Python's protocols ----------------------------------------------------------------------
def _iterate(self: Tensor) -> Iterator[Tensor]:
    # by public names: subclasses take over these two, and give the parts their class
    if not self.dim():
        raise ArgumentTypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def _length(self: Tensor) -> int:
    shape = self._array.shape
    if not shape:
        raise ArgumentTypeError("len() of a 0-d tensor")
    return shape[0]


def _contains(self: Tensor, element: Any) -> bool:
    if isinstance(element, (Tensor, bool, int, float, complex, np.number)):
        equal: Any = element == self
        return bool(equal.any())
    raise OperationError(
        f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
    )


def _reversed(self: Tensor) -> Tensor:
    """`reversed(x)`: a copy with dimension 0 in reverse order."""
    return self.flip(0) if self._array.ndim else self


def _delete(self: Tensor, index: Any) -> None:
    raise ArgumentTypeError("Tensor does not support deleting items")


METHODS["__reversed__"] = _reversed
METHODS["__delitem__"] = _delete
METHODS["__iter__"] = _iterate
METHODS["__len__"] = _length
METHODS["__contains__"] = _contains
