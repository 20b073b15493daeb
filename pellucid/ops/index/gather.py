"""Picking element by element along one dimension: gather, take_along_dim."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from ... import config, shapes
from ...arrays.native import kernels, native_code_runs
from ...arrays.scatter import FEW, KERNEL_SIZE, gather_along, short_way, take_by
from ...core import tracing
from ...core.bind import wrap
from ...core.modes import local
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import public
from ...core.tensor import Tensor
from ...errors import DtypeError, ShapeError
from .._rules import is_direct, is_plain, require_tensor
from .._samples import Sample
from ..reduce._reduction import everyday_dim
from ..shape.broadcast import broadcast_to
from ..shape.view import reshape
from ._bounds import bounded, index_of, inside, places, vectors


def _gather(xp: Any, x: Any, index: Any, *, dim: int) -> Any:
    if not isinstance(x, (ndarray, np.generic)):
        # the index may be smaller than the array in the other dimensions
        cut = tuple(slice(None if d == dim else n) for d, n in enumerate(index.shape))
        return xp.take_along_axis(x[cut], index, dim)
    shape, count = index.shape, index.size
    if count == 0:
        return np.empty(shape, x.dtype)
    if not x.ndim or not shape:
        x, index = vectors(x, index)
    try:
        quick = gather_along(x, index, dim)
    except IndexError:
        quick = None
    if quick is not None:
        return quick if shape else quick.reshape(())
    way = short_way(x, index, dim) if shape and count <= KERNEL_SIZE else None
    if way is not None and inside(index, x.shape[dim]):
        return take_by(x, index, way)
    bounded(index, x.shape[dim], dim)
    if shape and x.shape[:dim] == shape[:dim] and x.shape[dim + 1 :] == shape[dim + 1 :]:
        return xp.take_along_axis(x, index, dim)
    return xp.ascontiguousarray(x).reshape(-1).take(places(x.shape, index, dim)).reshape(shape)


def _gather_check(x: Any, index: Any, *, dim: int) -> None:
    if index.size:
        bounded(index, x.shape[dim] if x.ndim else 1, dim)


gather_op = defop(
    "gather",
    "input index",
    packs="index input",
    forward=_gather,
    check=_gather_check,
    aval=lambda x, index, dim: (index[0], x[1]),
    vjp={
        "input": lambda F, g, index, dim, input_shape, input_dtype: F.scatter_add(
            F.full(shape=input_shape, value=0, dtype=input_dtype), index, g, dim=dim
        )
    },
    batch="dims",
    traits="passes",
    onnx=lambda c: c.emit("GatherElements", c[0], c[1], axis=int(c.p["dim"])),
    samples=lambda rng: [
        Sample((rng.random((3, 4)), np.array([[2, 0], [1, 1]])), {"dim": 0}),
        Sample((rng.random((3, 4)), np.zeros((3, 0), np.int64)), {"dim": 1}),
    ],
    shows={"sparse_grad": lambda: False},
)


_INT64 = np.dtype(np.int64)


def _of_few(input: Tensor, index: Tensor, dim: int) -> Tensor | None:
    """Fast path of `gather` for few numbers that want no gradient; None for other calls."""
    if not (is_direct(input) and is_plain(index)) or not 0 < index._array.size <= FEW:
        return None
    if not config.kernels or not native_code_runs():
        return None
    try:
        made = kernels.indexing.along.gather_along(input._array, index._array, dim)
    except IndexError:  # the operation raises it with PyTorch's message
        return None
    return None if made is None else wrap(made)


@public(methods="=", out="apart: same")
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """Gather elements by index: `out[i][j] = input[index[i][j]][j]` for dim 0, and likewise for
    other dimensions.

    Args:
        input: any shape and dtype.
        dim: the dimension that is indexed.
        index: int32 or int64, with as many dimensions as `input` and not larger in the other ones.
            The result has its shape.
        sparse_grad: make the gradient a sparse tensor. Default: False.

    Raises:
        RuntimeError: shapes that do not fit, an index out of range, or another dtype of `index`.

    >>> import pellucid as torch
    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    if isinstance(input, Tensor) and isinstance(index, Tensor) and index._array.dtype is _INT64:
        number = everyday_dim(input, dim)
        if number >= 0 and input._array.ndim == index._array.ndim == 2:
            # Fast path for matrices: the index is not longer than the input in the other dimension.
            if index._array.shape[1 - number] <= input._array.shape[1 - number]:
                few = _of_few(input, index, number)
                if few is not None:
                    return few
                return gather_op.call(input, index, dim=number)
    dim, index = index_of(require_tensor(input, "gather"), dim, index, "gather")
    a, b = input._array.shape, index._array.shape
    if not index._array.size:
        return gather_op.call(input, index, dim=dim)
    if len(a or (1,)) != len(b or (1,)):
        raise ShapeError("Index tensor must have the same number of dimensions as input tensor")
    if a and a != b:
        for d, (own, wanted) in enumerate(zip(a, b or (1,), strict=True)):
            if d != dim and wanted > own:
                raise ShapeError(
                    f"Size does not match at dimension {d} expected index {shapes.text(b)} to be no larger than self "
                    f"{shapes.text(a)} apart from dimension {dim}"
                )
    return gather_op.call(input, index, dim=dim)


@public(methods="=", out="apart: same")
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Take elements along a dimension, as `argsort` and `argmax` return their positions.

    Args:
        input: any shape and dtype.
        indices: int64 positions; it broadcasts with `input` except along `dim`.
        dim: the dimension. Default: None, which flattens both.

    >>> import pellucid as torch
    >>> x = torch.tensor([[10, 30, 20], [60, 40, 50]])
    >>> torch.take_along_dim(x, torch.tensor([[1], [0]]), dim=1)
    tensor([[30],
            [60]])
    """
    require_tensor(input, "take_along_dim")
    require_tensor(indices, "take_along_dim", "indices", 2)
    if dim is None:
        return gather(reshape(input, (input._array.size,)), 0, indices.view(indices.numel()))
    if indices._array.dtype != np.int64:
        raise DtypeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.scalar_type_name}"
        )
    a, b = input._array.shape, indices._array.shape
    if len(a) != len(b):
        raise ShapeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{len(a)} dimensions for input, and {len(b)} dimensions for indices"
        )
    dim = shapes.normalize_dim(dim, len(a))
    if input._rg and local.grad:
        indices = indices.clone()  # the gradient needs positions that no later write changes
    alike = a[:dim] == b[:dim] and a[dim + 1 :] == b[dim + 1 :]
    if alike and is_plain(input) and is_direct(indices) and inside(indices._array, a[dim]):
        wide = broadcast_to(input, a) if input._rg and local.grad else input
        return gather(wide, dim, indices)
    common = list(
        shapes.broadcast_shapes((*a[:dim], 1, *a[dim + 1 :]), (*b[:dim], 1, *b[dim + 1 :]))
    )
    wide = broadcast_to(input, (*common[:dim], a[dim], *common[dim + 1 :]))
    # This function accepts negative positions.
    picks = indices._array
    if type(picks) is ndarray and picks.size and (tracing.tracer() or picks.min() < 0):
        indices = F.where(F.lt(indices, 0), F.add(indices, a[dim]), indices)
    return gather(wide, dim, broadcast_to(indices, (*common[:dim], b[dim], *common[dim + 1 :])))
