"""Repetition of elements: repeat, tile, repeat_interleave."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes, shapes
from ...core import tracing
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import METHODS, public
from ...core.tensor import Tensor, make_tensor
from ...core.tracing import constant
from ...errors import DimensionError, OperationError, ShapeError, UnsupportedError
from .._rules import as_index, keyword, require_tensor
from .._samples import cases
from ._sizes import sizes_of
from .view import reshape


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
            f"Trying to create tensor with negative dimension {next(n for n in whole if n < 0)}: {shapes.text(whole)}"
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
    """Translate to a new axis after `dim`, which is expanded and merged with it."""
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
        if input.dtype not in (dtypes.int32, dtypes.int64):
            raise UnsupportedError(
                f"\"repeat_interleave_cpu\" not implemented for '{input.dtype.scalar_type_name}'"
            )
        if counts.ndim != 1:
            raise OperationError("repeat_interleave only accept 1D vector as repeat")
        _check_repeats(input)
        found = make_tensor(_repeated(input, output_size))
        return F.cast(found, dtype=counts.dtype) if counts.dtype != np.int64 else found
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
        counts = repeats._array
        if counts.ndim == 0 or counts.shape == (1,):
            _check_repeats(repeats)
            repeats = repeats.item()
        else:
            if counts.ndim != 1:
                raise OperationError("repeats must be 0-dim or 1-dim tensor")
            if len(counts) != shape[dim]:
                raise OperationError(
                    "repeats must have the same size as input along dim, but got repeats.size(0) = "
                    f"{len(counts)} and input.size({dim}) = {shape[dim]}"
                )
            _check_repeats(repeats)
            return F.index_select(input, make_tensor(_repeated(repeats, output_size)), dim=dim)
    count = as_index(repeats)
    if count < 0:
        raise OperationError("Repeats must be non-negative")
    wanted = shape[dim] * count
    if output_size is not None and as_index(output_size) != wanted:
        raise OperationError(
            f"repeat_interleave: Invalid output_size, expected {wanted} but got {output_size}"
        )
    if tracing.tracer() or not input._rg:
        return repeat_each_op.call(input, count=count, dim=dim)
    # PyTorch's nodes
    wide = input.unsqueeze(dim + 1).expand(*shape[: dim + 1], count, *shape[dim + 1 :])
    return wide.clone(memory_format=dtypes.contiguous_format).view(
        *shape[:dim], wanted, *shape[dim + 1 :]
    )


def _check_repeats(repeats: Tensor) -> None:
    if repeats._array.dtype not in (np.int32, np.int64):
        raise UnsupportedError(
            f"\"repeat_interleave_cpu\" not implemented for '{repeats.dtype.scalar_type_name}'",
            hint="counts must be integers: use repeats.long()",
        )
    tracing.check(_check_not_negative, repeats._array)


def _check_not_negative(counts: np.ndarray) -> None:
    if (counts < 0).any():
        raise OperationError("repeats can not be negative")


def _repeated(repeats: Tensor, output_size: int | None) -> np.ndarray:
    """Return each position as often as `repeats` says."""
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
