"""Tensors put together or repeated: cat, stack and kin, repeat, tile, flip, roll, triangles,
diagonals, meshgrid.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes, shapes
from ...core import tracing
from ...core.bind import common_dtype, wrap
from ...core.modes import local, state
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import FUNCTIONS, METHODS, method, public
from ...core.tape import titled
from ...core.tensor import Tensor, make_tensor
from ...core.tracing import constant
from ...errors import ArgumentTypeError, DimensionError, OperationError, ShapeError
from .._format import has_channels_last
from .._rules import as_index, keyword, require_tensor
from .._samples import cases
from .view import expand, reshape, sizes_of, transpose_op


# ---- cat and stack ---------------------------------------------------------------------------
def _cat(xp: Any, *tensors: Any, dim: int) -> Any:
    ndim = tensors[0].ndim
    for x in tensors:
        if x.ndim != ndim:  # PyTorch leaves empty vectors out
            tensors = tuple(x for x in tensors if x.shape != (0,))
            break
    return _joined(xp, tensors, dim)


def _joined(xp: Any, arrays: Any, dim: int) -> Any:
    """The arrays in one: in rows unless all of them lie in one memory format of images.

    NumPy's result takes the order in memory that its operands agree on.
    """
    made = xp.concatenate(arrays, axis=dim)
    if type(made) is not np.ndarray or made.flags.c_contiguous:
        return made
    return made if all(map(has_channels_last, arrays)) else np.ascontiguousarray(made)


def _cat_grad(F: Any, g: Any, tensors_shapes: Any, dim: int, needs: Any) -> Any:
    ndim = max(len(s) for s in tensors_shapes)
    out, start = [], 0
    for shape, need in zip(tensors_shapes, needs, strict=True):
        if shape == (0,) != g.shape and ndim > 1:
            out.append(F.full(shape=shape, value=0, dtype=np.dtype(np.float32)) if need else None)
            continue
        end = start + shape[dim]
        out.append(F.slice(g, dim=dim, start=start, end=end, step=1) if need else None)
        start = end
    return out


def _cat_aval(*avals: Any, dim: int) -> Any:
    return shapes.cat_shape([a[0] for a in avals], dim), avals[0][1]


cat_op = defop(
    "cat",
    "*tensors",
    forward=_cat,
    aval=_cat_aval,
    vjp=_cat_grad,
    jvp="linear",
    promote="common",
    batch="dims",
    traits="passes",
    onnx=lambda c: c.emit("Concat", *c.names, axis=int(c.p["dim"])),
    autocast="promote",
    aten=lambda A, *tensors, dim: A.cat(list(tensors), dim),
    samples=cases((((2, 3), (2, 1), (2, 0)), {"dim": 1}), (((2,), (3,)), {"dim": 0}), complex=True),
)


def _stack(xp: Any, *tensors: Any, dim: int) -> Any:
    # an index each is no longer cheaper, or is refused in NumPy's words
    if len(tensors) > 64 or dim > tensors[0].ndim:
        return xp.stack(tensors, axis=dim)
    if dim == 0 and type(tensors[0]) is np.ndarray and len({x.shape for x in tensors}) == 1:
        return np.array(tensors)
    place = (*[slice(None)] * dim, None)
    return xp.concatenate([x[place] for x in tensors], dim)


def _onnx_stack(c: Any) -> Any:
    dim = int(c.p["dim"])
    return c.emit(
        "Concat", *[c.emit("Unsqueeze", name, c.ints([dim])) for name in c.names], axis=dim
    )


stack_op = defop(
    "stack",
    "*tensors",
    forward=_stack,
    aval=lambda *avals, dim: (shapes.stack_shape([a[0] for a in avals], dim), avals[0][1]),
    vjp=lambda F, g, dim, needs: [
        F.select(g, dim=dim, index=i) if need else None for i, need in enumerate(needs)
    ],
    jvp="linear",
    promote="common",
    autocast="promote",
    batch=lambda b: b.call(*b.whole(), dim=b.shifted(b.p["dim"])),
    traits="passes",
    onnx=_onnx_stack,
    aten=lambda A, *tensors, dim: A.stack(list(tensors), dim),
    samples=cases(
        (((2, 3), (2, 3)), {"dim": 2}),
        (((), (), ()), {"dim": 0}),
        (((2, 0),), {"dim": 1}),
        complex=True,
    ),
)


def tensors_of(tensors: Any, name: str) -> Sequence[Tensor]:
    """The tensors of a call, checked."""
    if isinstance(tensors, Tensor) or not isinstance(tensors, (list, tuple)):
        raise ArgumentTypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    for k, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(
                f"expected Tensor as element {k} in argument 0, but got {type(x).__name__}"
            )
    return tensors


def _plain(tensors: Any) -> tuple[list[np.ndarray], bool] | None:
    """The arrays of plain tensors of one dtype and number of dimensions, and whether a gradient is
    wanted; None for all other arguments.
    """
    if state.slow or type(tensors) not in (list, tuple) or not tensors:
        return None
    arrays = []
    kind = ndim = None
    wanted = False
    for x in tensors:
        if type(x) is not Tensor:
            return None
        a = x._array
        if a.dtype is not kind or a.ndim != ndim:
            if kind is not None:
                return None
            kind, ndim = a.dtype, a.ndim
        if type(a) is not np.ndarray:
            return None
        wanted = wanted or x._rg
        arrays.append(a)
    return arrays, wanted and local.grad


@public(names="cat concat concatenate", out="apart")
def cat(tensors: Sequence[Tensor], dim: int = 0, **alias: int) -> Tensor:
    """Concatenate tensors along an existing dimension.

    Args:
        tensors: a sequence of tensors whose sizes agree in all dimensions but `dim`. They are
            promoted
            to a common dtype.
        dim: the dimension. Default: 0.

    Raises:
        RuntimeError: sizes differ in another dimension. ValueError: no tensors. IndexError: `dim`
            is
        out of range.

    >>> import pellucid as torch
    >>> torch.cat((torch.tensor([1, 2]), torch.tensor([3])))
    tensor([1, 2, 3])
    """
    if alias:
        dim = keyword(alias, "cat", "axis")
    plain = _plain(tensors)
    if plain is not None and plain[0][0].ndim:
        arrays, recorded = plain
        if recorded:
            return cat_op.call(*tensors, dim=shapes.normalize_dim(dim, arrays[0].ndim))
        try:
            return wrap(_joined(np, arrays, dim))
        except (TypeError, ValueError):
            pass  # refused below, in PyTorch's words
    given = [x._array.shape for x in tensors_of(tensors, "cat")]
    shape = shapes.cat_shape(given, dim)
    return cat_op.call(*tensors, dim=shapes.normalize_dim(dim, len(shape)))


@public(out="apart")
def stack(tensors: Sequence[Tensor], dim: int = 0, **alias: int) -> Tensor:
    """Join tensors of the same shape along a new dimension.

    Args:
        tensors: a sequence of tensors of the same shape. They are promoted to a common dtype.
        dim: the position of the new dimension in the result. Default: 0.

    Raises:
        RuntimeError: the shapes differ. IndexError: `dim` is out of range.

    >>> import pellucid as torch
    >>> torch.stack((torch.tensor([1, 2]), torch.tensor([3, 4])), 1)
    tensor([[1, 3],
            [2, 4]])
    """
    if alias:
        dim = keyword(alias, "stack", "axis")
    plain = _plain(tensors)
    if plain is not None:
        arrays, recorded = plain
        if not recorded and dim == 0 and len({a.shape for a in arrays}) == 1:
            return wrap(np.array(arrays))
        return stack_op.call(*tensors, dim=shapes.normalize_dim(dim, arrays[0].ndim + 1))
    shape = shapes.stack_shape([x._array.shape for x in tensors_of(tensors, "stack")], dim)
    return stack_op.call(*tensors, dim=dim + len(shape) if dim < 0 else dim)


def _joiner(name: str, least: int, dim: Any, doc: str, example: str) -> None:

    def function(tensors: Sequence[Tensor]) -> Tensor:
        if not tensors_of(tensors, name):
            raise OperationError(f"{name} expects a non-empty TensorList")
        grown = FUNCTIONS["torch"][f"atleast_{least}d"](tuple(tensors))
        return cat(grown, dim(grown) if callable(dim) else dim)

    function.__name__ = name
    function.__doc__ = f"""{doc}

    Args:
        tensors: a sequence of tensors whose sizes agree in all other dimensions.

    >>> import pellucid as torch
    >>> torch.{name}({example}
    """
    public(names={"vstack": "vstack row_stack"}.get(name, name), out="apart")(function)


_joiner(
    "hstack",
    1,
    lambda xs: 0 if xs[0]._array.ndim == 1 else 1,
    "Join tensors horizontally: along dimension 1, or dimension 0 for vectors.",
    "(torch.tensor([1, 2]), torch.tensor([3])))\n    tensor([1, 2, 3])",
)
_joiner(
    "vstack",
    2,
    0,
    "Join tensors vertically, along dimension 0. Vectors count as rows.",
    "(torch.tensor([1, 2]), torch.tensor([3, 4])))\n    tensor([[1, 2],\n            [3, 4]])",
)
_joiner(
    "dstack",
    3,
    2,
    "Join tensors along dimension 2. Vectors and matrices get the missing dimensions first.",
    "(torch.tensor([1, 2]), torch.tensor([3, 4])))\n    tensor([[[1, 3],\n             [2, 4]]])",
)


@public(out=True)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors horizontally. Vectors count as columns.

    Args:
        tensors: a sequence of tensors whose sizes agree in all dimensions but the second.

    >>> import pellucid as torch
    >>> torch.column_stack((torch.tensor([1, 2]), torch.tensor([3, 4])))
    tensor([[1, 3],
            [2, 4]])
    """
    if not tensors_of(tensors, "column_stack"):
        raise OperationError("column_stack expects a non-empty TensorList")
    return cat([reshape(x, (x._array.size, 1)) if x._array.ndim <= 1 else x for x in tensors], 1)


@public()
def block_diag(*tensors: Any) -> Tensor:
    """Matrices along the diagonal of a matrix that is 0 elsewhere.

    >>> import pellucid as torch
    >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    matrices = []
    for k, x in enumerate(tensors):
        ndim = require_tensor(x, "block_diag", "tensors")._array.ndim
        if ndim > 2:
            raise ShapeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {k} has {ndim} dimensions"
            )
        matrices.append(x if ndim == 2 else reshape(x, (1, x._array.size)))
    if not matrices:
        return make_tensor(constant(np.empty((1, 0), dtypes.get_default_dtype().numpy)))
    kind = common_dtype(matrices)
    width, left, rows = sum(m._array.shape[1] for m in matrices), 0, []
    for m in matrices:
        wide = m._array.shape[1]
        m = m if m.dtype is kind else F.cast(m, dtype=kind.numpy)
        rows.append(F.constant_pad_nd(m, pad=(left, width - wide - left), value=0))
        left += wide
    return cat(rows, 0)


# ---- repeating -------------------------------------------------------------------------------
def _repeat_grad(F: Any, g: Any, input_shape: Any, repeats: Any) -> Any:
    added = len(repeats) - len(input_shape)
    full = (1,) * added + tuple(input_shape)
    split = tuple(n for pair in zip(repeats, full, strict=True) for n in pair)
    keep = tuple(n for pair in zip((1,) * len(full), full, strict=True) for n in pair)
    return F.reshape(F.sum_to(F.reshape(g, shape=split), shape=keep), shape=tuple(input_shape))


def _onnx_repeat(c: Any) -> Any:
    repeats = c.p["repeats"]
    extra = len(repeats) - len(c.shape())
    x = c.emit("Unsqueeze", c[0], c.ints(list(range(extra)))) if extra else c[0]
    return c.emit("Tile", x, c.ints(repeats))


repeat_op = defop(
    "repeat",
    "input",
    forward=lambda xp, x, *, repeats: xp.tile(x, repeats),
    aval=lambda x, repeats: (
        tuple(
            n * r
            for n, r in zip((1,) * (len(repeats) - len(x[0])) + tuple(x[0]), repeats, strict=True)
        ),
        x[1],
    ),
    vjp={"input": _repeat_grad},
    jvp="linear",
    traits="passes",
    onnx=_onnx_repeat,
    aten=lambda A, x, *, repeats: A.repeat(x, list(repeats)),
    samples=cases(
        (((2, 3),), {"repeats": (2, 1, 3)}),
        (((),), {"repeats": (2,)}),
        (((2,),), {"repeats": (0,)}),
    ),
)


def repeat(input: Tensor, *repeats: Any, **named: Any) -> Tensor:
    """Repeat the tensor along each dimension. The result is a copy.

    Args:
        repeats: how often, for each dimension. Additional counts in front add new dimensions.

    >>> import pellucid as torch
    >>> torch.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    if named:
        repeats = (keyword(named, "repeat", "repeats"),)
    counts = sizes_of(repeats, "repeat", "repeats")
    if len(counts) < require_tensor(input, "repeat")._array.ndim:
        raise OperationError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    if any(n < 0 for n in counts):
        own = input._array.shape
        whole = [
            n * size for n, size in zip(counts, (1,) * (len(counts) - len(own)) + own, strict=True)
        ]
        raise ShapeError(
            f"Trying to create tensor with negative dimension {min(whole)}: {shapes.text(whole)}"
        )
    return repeat_op.call(input, repeats=counts)


METHODS["repeat"] = repeat


@public(methods="=")
def tile(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """Repeat a tensor along its dimensions, like `repeat`. Missing counts in front are 1.

    Args:
        input: any shape and dtype.
        dims: how often to repeat along each dimension.

    >>> import pellucid as torch
    >>> torch.tile(torch.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    if named:
        dims = (keyword(named, "tile", "dims"),)
    counts = sizes_of(dims, "tile", "dims")
    return repeat(input, (1,) * (require_tensor(input, "tile")._array.ndim - len(counts)) + counts)


def _repeat_each_grad(F: Any, g: Any, input_shape: Any, count: int, dim: int) -> Any:
    split = (*input_shape[: dim + 1], count, *input_shape[dim + 1 :])
    keep = (*input_shape[: dim + 1], 1, *input_shape[dim + 1 :])
    return F.reshape(F.sum_to(F.reshape(g, shape=split), shape=keep), shape=tuple(input_shape))


def _onnx_repeat_each(c: Any) -> Any:
    """A new axis after `dim`, repeated, and put together with it."""
    count, dim = c.p["count"], int(c.p["dim"])
    if not isinstance(count, int):
        raise c.refuse("with a count for each element")
    wide = c.emit("Unsqueeze", c[0], c.ints([dim + 1]))
    target = [1] * (len(c.shape()) + 1)
    target[dim + 1] = count
    wide = c.emit("Expand", wide, c.ints(target))
    return c.reshape(wide, c.out_shape, c.shape())


repeat_each_op = defop(
    "repeat_each",
    "input",
    forward=lambda xp, x, *, count, dim: xp.repeat(x, count, axis=dim),
    aval=lambda x, count, dim: ((*x[0][:dim], x[0][dim] * count, *x[0][dim + 1 :]), x[1]),
    vjp={"input": _repeat_each_grad},
    jvp="linear",
    grad_name="RepeatInterleave",
    title="repeat_interleave",
    onnx=_onnx_repeat_each,
    samples=cases((((2, 3),), {"count": 3, "dim": 1}), (((2, 3),), {"count": 0, "dim": 0})),
)


@public(methods="=")
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Repeat each element, or each position of a dimension.

    Args:
        input: any shape and dtype. Without `repeats`, it holds the counts, and the result holds
            positions.
        repeats: a number, or an integer tensor with one count for each position.
        dim: the dimension. Default: None, which flattens the tensor.
        output_size: the size of the result along `dim`, if known.

    >>> import pellucid as torch
    >>> torch.repeat_interleave(torch.tensor([1, 2]), torch.tensor([2, 3]))
    tensor([1, 1, 2, 2, 2])
    """
    require_tensor(input, "repeat_interleave")
    if repeats is None:
        counts = input._array
        if counts.ndim != 1:
            raise OperationError("repeat_interleave only accept 1D vector as repeat")
        _check_repeats(input)
        return make_tensor(_repeated(input, output_size))
    if dim is not None and not input._array.ndim:
        if isinstance(repeats, Tensor):
            raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
        raise DimensionError(
            "Dimension out of range (expected to be in range of [-1, 0], but got 1)"
        )
    if dim is None:
        input, dim = reshape(input, (-1,) if input._array.size else (0,)), 0
    shape = input._array.shape
    dim = shapes.normalize_dim(dim, len(shape))
    if isinstance(repeats, (list, tuple)):
        if output_size is None:
            output_size = sum(repeats) if len(repeats) > 1 else None
        repeats = make_tensor(constant(np.array(repeats, np.int64)))
    if isinstance(repeats, Tensor):
        _check_repeats(repeats)
        counts = repeats._array
        if counts.ndim == 0 or counts.shape == (1,):
            repeats = repeats.item()
        else:
            if counts.ndim != 1:
                raise OperationError("repeats must be 0-dim or 1-dim tensor")
            if len(counts) != shape[dim]:
                raise OperationError(
                    "repeats must have the same size as input along dim, but got repeats.size(0) = "
                    f"{len(counts)} and input.size({dim}) = {shape[dim]}"
                )
            return F.index_select(input, make_tensor(_repeated(repeats, output_size)), dim=dim)
    count = as_index(repeats)
    if count < 0:
        raise OperationError("Repeats must be non-negative")
    return repeat_each_op.call(input, count=count, dim=dim)


def _check_repeats(repeats: Tensor) -> None:
    if repeats._array.dtype not in (np.int32, np.int64):
        raise OperationError("repeats has to be Long or Int tensor")
    tracing.check(_check_not_negative, repeats._array)


def _check_not_negative(counts: np.ndarray) -> None:
    if (counts < 0).any():
        raise OperationError("repeats can not be negative")


def _repeated(repeats: Tensor, output_size: int | None) -> np.ndarray:
    """Each position as often as `repeats` says."""
    if output_size is None:
        tracing.seen(repeats._array)
    else:
        output_size = as_index(output_size)
    return tracing.effect(_positions, repeats._array, output_size)


def _positions(counts: np.ndarray, size: int | None) -> np.ndarray:
    made = np.repeat(np.arange(len(counts)), counts)
    if size is not None and len(made) != size:
        raise OperationError("allocated size does not match required size")
    return made


# ---- turning ---------------------------------------------------------------------------------
def _onnx_roll(c: Any) -> Any:
    name, shape = c[0], c.shape()
    dims, shifts = c.p["dims"], c.p["shifts"]
    if not dims:
        raise c.refuse("of the flattened tensor")
    for dim, shift in zip(dims, shifts, strict=True):
        (size,) = c.fixed([shape[dim]])
        at = (size - shift % size) % size
        if at:
            name = c.emit(
                "Concat",
                c.cut(name, int(dim), at, c.LAST),
                c.cut(name, int(dim), 0, at),
                axis=int(dim),
            )
    return name if name != c[0] else c.emit("Identity", name)


roll_op = defop(
    "roll",
    "input",
    forward=lambda xp, x, *, shifts, dims: xp.ascontiguousarray(xp.roll(x, shifts, dims)),
    aval=lambda x, shifts, dims: x,
    vjp={
        "input": lambda F, g, shifts, dims: F.roll(g, shifts=tuple(-s for s in shifts), dims=dims)
    },
    jvp="linear",
    traits="passes",
    onnx=_onnx_roll,
    samples=cases(
        (((3, 4),), {"shifts": (1, -2), "dims": (0, 1)}),
        (((0, 2),), {"shifts": (1,), "dims": (0,)}),
    ),
)


@public(methods="=")
def roll(
    input: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] | None = ()
) -> Tensor:
    """Shift elements along dimensions. Elements that leave at the end come back at the start.

    Args:
        input: any shape and dtype.
        shifts: by how many positions, one number for each of `dims`.
        dims: the dimensions. Default: none, which shifts the flattened tensor.

    >>> import pellucid as torch
    >>> torch.roll(torch.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    steps = tuple(shifts) if isinstance(shifts, Sequence) else (as_index(shifts),)
    dims = () if dims is None else dims
    axes = tuple(dims) if isinstance(dims, Sequence) else (as_index(dims),)
    a = require_tensor(input, "roll")._array
    if not steps:
        raise OperationError("`shifts` required")
    if not a.size:
        return F.clone(input)
    if not axes and len(steps) == 1:
        flat = reshape(input, (a.size,))
        return titled(reshape(roll_op.call(flat, shifts=steps, dims=(0,)), a.shape), "Roll")
    if len(steps) != len(axes):
        raise OperationError(
            f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(axes)}"
        )
    return roll_op.call(
        input,
        shifts=steps,
        dims=tuple(shapes.normalize_dim(d, a.ndim, scalar_is_vector=False) for d in axes),
    )


def _flip(xp: Any, x: Any, *, dims: tuple[int, ...]) -> Any:
    return xp.copy(
        x[tuple([slice(None, None, -1) if d in dims else slice(None) for d in range(x.ndim)])]
    )


def _onnx_flip(c: Any) -> Any:
    name = c[0]
    for dim in c.p["dims"]:
        name = c.cut(name, int(dim), -1, -c.LAST, -1)
    return name if name != c[0] else c.emit("Identity", name)


flip_op = defop(
    "flip",
    "input",
    forward=_flip,
    aval=lambda x, dims: x,
    vjp={"input": lambda F, g, dims: F.flip(g, dims=dims)},
    jvp="linear",
    batch="dims",
    traits="passes",
    onnx=_onnx_flip,
    aten=lambda A, x, *, dims: A.flip(x, list(dims)),
    samples=cases(
        (((3, 4),), {"dims": (0, 1)}),
        (((2, 3, 2),), {"dims": (1,)}),
        (((0, 2),), {"dims": (0,)}),
        complex=True,
    ),
)


@public()
def flip(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Reverse the order of the elements along dimensions. The result is a copy.

    Args:
        input: any shape and dtype.
        dims: the dimensions to reverse.

    >>> import pellucid as torch
    >>> torch.flip(torch.tensor([1, 2, 3]), (0,))
    tensor([3, 2, 1])
    """
    ndim = require_tensor(input, "flip")._array.ndim
    if not isinstance(dims, (tuple, list)):
        raise ArgumentTypeError(
            f"flip(): argument 'dims' (position 2) must be tuple of ints, not {type(dims).__name__}"
        )
    axes = shapes.normalize_dims(sizes_of((dims,), "flip", "dims"), ndim)
    return flip_op.call(input, dims=axes if ndim else ())


@method("flip")
def _flip_of_tensor(self: Tensor, *dims: Any, **named: Any) -> Tensor:
    if named:
        return flip(self, keyword(named, "flip", "dims"))
    if not dims:
        raise ArgumentTypeError('flip() missing 1 required positional arguments: "dims"')
    return flip(self, dims if len(dims) > 1 or isinstance(dims[0], int) else dims[0])


@public(methods="=")
def fliplr(input: Tensor) -> Tensor:
    """Reverse the order along dimension 1: left and right change places.

    >>> import pellucid as torch
    >>> torch.fliplr(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    if require_tensor(input, "fliplr")._array.ndim < 2:
        raise OperationError("Input must be >= 2-d.")
    return flip_op.call(input, dims=(1,))


@public(methods="=")
def flipud(input: Tensor) -> Tensor:
    """Reverse the order along dimension 0: up and down change places.

    >>> import pellucid as torch
    >>> torch.flipud(torch.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    if require_tensor(input, "flipud")._array.ndim < 1:
        raise OperationError("Input must be >= 1-d.")
    return flip_op.call(input, dims=(0,))


@public(methods="=")
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Rotate by 90 degrees in the plane of two dimensions.

    Args:
        input: at least two dimensions.
        k: how many times; negative turns the other way. Default: 1.
        dims: the two dimensions; the rotation is from the first towards the second. Default: (0,
            1).

    >>> import pellucid as torch
    >>> torch.rot90(torch.tensor([[0, 1], [2, 3]]))
    tensor([[1, 3],
            [0, 2]])
    """
    ndim = require_tensor(input, "rot90")._array.ndim
    dims = tuple(dims)
    if len(dims) != 2:
        raise OperationError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise OperationError(f"expected total dims >= 2, but got total dims = {ndim}")
    for d in dims:
        if not -ndim <= d < ndim:
            raise DimensionError(
                f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {d})"
            )
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == ndim:
        raise OperationError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    first, second = (d % ndim for d in dims)
    k %= 4
    if k == 1:
        return flip_op.call(transpose_op.call(input, dim0=first, dim1=second), dims=(first,))
    if k == 2:
        return flip_op.call(input, dims=(first, second))
    if k == 3:
        return flip_op.call(transpose_op.call(input, dim0=first, dim1=second), dims=(second,))
    return F.clone(input)


# ---- triangles and diagonals -----------------------------------------------------------------
def _onnx_triangle(c: Any, upper: bool) -> Any:
    x = c.cast(c[0], np.int32) if c.dtype == np.bool_ else c[0]
    if c.graph.opset < 14:
        mask = c.triangle(c.shape()[-2], c.shape()[-1], int(c.p["diagonal"]), upper)
        zero = c.const(np.zeros((), np.int32)) if c.dtype == np.bool_ else c.number(0)
        out = c.emit("Where", mask, x, zero)
    else:
        out = c.emit("Trilu", x, c.const(np.array(c.p["diagonal"], np.int64)), upper=int(upper))
    return c.cast(out, np.bool_) if c.dtype == np.bool_ else out


def _triangle(name: str, which: str, example: str) -> None:
    op = defop(
        name,
        "input",
        forward=lambda xp, x, *, diagonal: xp.ascontiguousarray(
            xp.triangle(x, diagonal, name == "tril")
        ),
        aval=lambda x, diagonal: x,
        vjp={"input": lambda F, g, diagonal: getattr(F, name)(g, diagonal=diagonal)},
        jvp="linear",
        batch="leading",
        onnx=lambda c: _onnx_triangle(c, name == "triu"),
        traits="masks",
        samples=cases((((2, 3, 4),), {"diagonal": 1}), (((3, 2),), {"diagonal": -1}), complex=True),
    )

    def function(input: Tensor, diagonal: int = 0) -> Tensor:
        if require_tensor(input, name)._array.ndim < 2:
            raise OperationError(f"{name}: input tensor must have at least 2 dimensions")
        return op.call(input, diagonal=diagonal)

    function.__name__ = name
    function.__doc__ = f"""The {which} triangle of matrices, with zeros elsewhere.

    Args:
        input: `(..., m, n)`.
        diagonal: where the triangle ends. 0 is the main diagonal, positive ones lie above it.
            Default: 0.

    >>> import pellucid as torch
    >>> torch.{name}(torch.ones(2, 2))
    {example}
    """
    public(names=name, methods="=", inplace="=", out=True)(function)


_triangle("tril", "lower", "tensor([[1., 0.],\n            [1., 1.]])")
_triangle("triu", "upper", "tensor([[1., 1.],\n            [0., 1.]])")


def _diag_embed(xp: Any, x: Any, *, offset: int, dim1: int, dim2: int) -> Any:
    size = x.shape[-1] + abs(offset)
    shape = list(x.shape[:-1])
    for d in sorted((dim1, dim2)):
        shape.insert(d, size)
    out = xp.zeros(tuple(shape), x.dtype)
    n = x.shape[-1]
    rows, columns = xp.arange(n) - min(offset, 0), xp.arange(n) + max(offset, 0)
    window = xp.moveaxis(out, (dim1, dim2), (-2, -1))
    window[..., rows, columns] = x
    return out


diag_embed_op = defop(
    "diag_embed",
    "input",
    forward=_diag_embed,
    vjp={
        "input": lambda F, g, offset, dim1, dim2: F.diagonal(g, offset=offset, dim1=dim1, dim2=dim2)
    },
    jvp="linear",
    batch="dims",
    samples=cases(
        (((2, 3),), {"offset": 1, "dim1": 0, "dim2": 2}),
        (((3,),), {"offset": -1, "dim1": 0, "dim2": 1}),
    ),
)


@public(methods="=")
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Put the last dimension on the diagonal of new matrices, which are zero elsewhere.

    Args:
        input: at least one dimension.
        offset: which diagonal; 0 is the main one, positive ones lie above it. Default: 0.
        dim1, dim2: the dimensions of the new matrices. Default: -2 and -1.

    >>> import pellucid as torch
    >>> torch.diag_embed(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    ndim = require_tensor(input, "diag_embed")._array.ndim + 1
    first, second = shapes.normalize_dim(dim1, ndim), shapes.normalize_dim(dim2, ndim)
    if first == second:
        raise OperationError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return diag_embed_op.call(input, offset=offset, dim1=first, dim2=second)


@public(methods="=", out="same")
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Build a diagonal matrix from a vector, or copy the diagonal of a matrix.

    Args:
        input: a vector or a matrix.
        diagonal: which diagonal; 0 is the main one, positive ones lie above it. Default: 0.

    >>> import pellucid as torch
    >>> torch.diag(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    ndim = require_tensor(input, "diag")._array.ndim
    if ndim not in (1, 2):
        raise ShapeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    if ndim == 1:
        return diag_embed(input, diagonal)
    return F.clone(F.diagonal(input, offset=diagonal, dim1=0, dim2=1))


@public(methods="=")
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """Flatten a tensor and put it on the diagonal of a matrix.

    Args:
        input: any shape.
        offset: which diagonal; 0 is the main one, positive ones lie above it. Default: 0.

    >>> import pellucid as torch
    >>> torch.diagflat(torch.tensor([[1], [2]]))
    tensor([[1, 0],
            [0, 2]])
    """
    return diag_embed(reshape(require_tensor(input, "diagflat"), (input._array.size,)), offset)


# ---- grids and selections --------------------------------------------------------------------
@public()
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Grids of coordinates: each vector expanded over the product of all.

    Args:
        indexing: "ij" (the k-th dimension belongs to the k-th vector, the default) or "xy" (the
            first two exchanged).

    >>> import pellucid as torch
    >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4]), indexing="ij")[0]
    tensor([[1, 1],
            [2, 2]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    if not tensors:
        raise OperationError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        from warnings import warn

        warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
            UserWarning,
            stacklevel=2,
        )
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise OperationError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    for x in tensors:
        ndim = require_tensor(x, "meshgrid", "tensors")._array.ndim
        if ndim > 1:
            raise ShapeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {legacy_text(x)}"
            )
        if x.dtype is not tensors[0].dtype:
            raise OperationError("torch.meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(tensors) > 1
    vectors = [tensors[1], tensors[0], *tensors[2:]] if swap else list(tensors)
    shape = tuple(x._array.size for x in vectors)
    grids = [
        expand(reshape(x, (1,) * k + (shape[k],) + (1,) * (len(shape) - 1 - k)), shape)
        for k, x in enumerate(vectors)
    ]
    if swap:
        # The vectors were exchanged first, so the grids come back in their order with the first two
        # dimensions exchanged.
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def legacy_text(x: Tensor) -> str:
    """Type and sizes as in older messages."""
    return f"{shapes.text(x._array.shape)}"


@public()
def cartesian_prod(*tensors: Any) -> Tensor:
    """Every combination of one element of each vector, as rows.

    >>> import pellucid as torch
    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    for x in tensors:
        ndim = require_tensor(x, "cartesian_prod", "tensors")._array.ndim
        if ndim != 1:
            raise ShapeError(f"Expect a 1D vector, but got shape {shapes.text(x._array.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    grids = meshgrid(*tensors, indexing="ij")
    return stack([reshape(grid, (-1,)) for grid in grids], 1)


@public()
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of `r` elements of a vector, one per row, in the order of
    `itertools.combinations`.

    Args:
        input: a vector.
        r: how many elements to choose. Default: 2.
        with_replacement: an element may be chosen again. Default: False.

    >>> import pellucid as torch
    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    ndim = require_tensor(input, "combinations")._array.ndim
    if ndim != 1:
        raise ShapeError(f"Expect a 1D vector, but got shape {shapes.text(input._array.shape)}")
    if r < 0:
        raise OperationError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return make_tensor(constant(np.empty(0, input._array.dtype)))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = constant(np.array(list(choose(range(input._array.size), r)), np.int64)).reshape(-1, r)
    flat = F.index_select(input, make_tensor(rows.reshape(-1)), dim=0)
    return reshape(flat, rows.shape)
