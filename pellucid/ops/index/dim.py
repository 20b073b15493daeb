"""Indexing along one dimension: index_select, index_add, index_copy, index_fill and
index_reduce.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from ... import shapes
from ...arrays.numpy_cpu import namespace_of
from ...arrays.scatter import add_at
from ...core import tracing
from ...core.bind import wrap
from ...core.display.packing import packed_as
from ...core.primitive import defop
from ...core.public import public
from ...core.tensor import Tensor
from ...errors import (
    DtypeError,
    IndexOutOfRangeError,
    OperationError,
    ShapeError,
    UnsupportedError,
    warn_once,
)
from .._rules import filling, is_direct, is_plain, require_tensor, values
from .._samples import Sample
from ..shape.broadcast import broadcast_to
from ..shape.view import reshape
from ._bounds import INDEX_DTYPES, bounded, bounded_line, first_outside, inside
from ._writes import Arguments, both_forms, copying, zero_dim_value
from .scatter import scatter_reduce_op


def _at(dim: int, index: Any) -> tuple[Any, ...]:
    return (slice(None),) * dim + (index,)


def _line(index: Any) -> Any:
    """Return the index as a vector."""
    return index.reshape(1) if index.ndim == 0 else index


def _of_few(write: Callable[[ndarray, Any, ndarray], Any]) -> Callable[..., Tensor | None]:
    """Return a fast path that writes few numbers to a copy of a tensor, if no gradient is wanted.
    The fast path returns None for calls that it does not handle.
    """

    def few(*given: Any) -> Tensor | None:
        if len(given) != 4:
            return None
        input, dim, index, source = given
        if not (is_direct(input) and is_direct(source) and is_plain(index) and type(dim) is int):
            return None
        a, at, b = input._array, index._array, source._array
        if (
            b.size > _FEW
            or a.dtype is not b.dtype
            or at.dtype is not _INT64
            or a.dtype.kind == "b"
            or not 0 <= dim < a.ndim == b.ndim
            or not a.flags.c_contiguous
            or at.shape != (b.shape[dim],)
            or a.shape[:dim] != b.shape[:dim]
            or a.shape[dim + 1 :] != b.shape[dim + 1 :]
            or not inside(at, a.shape[dim])
        ):
            return None
        out = a.copy()
        write(out, _at(dim, at), b)
        return wrap(out)

    return few


# up to this many numbers, writing takes less time than the full call
_FEW, _INT64 = 256, np.dtype(np.int64)


# ---- index_select ----------------------------------------------------------------------------
def _select_check(x: Any, index: Any, *, dim: int) -> None:
    size = x.shape[dim] if x.ndim else 1
    if inside(index, size):
        return
    if dim == 1 or dim and not x.size:  # PyTorch's other kernel, with its own message
        raise OperationError(
            f"INDICES element is out of DATA bounds, id={first_outside(index, 0, size)} axis_dim={size}"
        )
    raise IndexOutOfRangeError("index out of range in self")


def _index_select(xp: Any, x: Any, index: Any, *, dim: int) -> Any:
    if type(x) is ndarray:
        _select_check(x, index, dim=dim)
    if x.ndim == 0:
        return xp.take(x.reshape(1), _line(index), axis=0).reshape(())
    return x.take(_line(index), dim) if type(x) is ndarray else xp.take(x, _line(index), axis=dim)


index_select_op = defop(
    "index_select",
    "input index",
    forward=_index_select,
    check=_select_check,
    aval=lambda x, index, dim: (
        (*x[0][:dim], index[0][0] if index[0] else 1, *x[0][dim + 1 :]) if x[0] else (),
        x[1],
    ),
    vjp={
        "input": lambda F, g, index, dim, input_shape, input_dtype: F.index_add(
            F.full(shape=input_shape, value=0, dtype=input_dtype), index, g, dim=dim, alpha=1
        )
    },
    traits="passes",
    onnx=lambda c: c.emit("Gather", c[0], c[1], axis=int(c.p["dim"])),
    samples=lambda rng: [
        Sample((rng.random((2, 4)), np.array([3, 0, 3])), {"dim": 1}),
        Sample((rng.random((4, 2)), np.zeros(0, np.int64)), {"dim": 0}),
    ],
)


@public(methods="=", out="apart: index_select(): self and result must have the same scalar type")
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Take the positions `index` of dimension `dim`, as a copy.

    Args:
        input: any shape and dtype.
        dim: the dimension.
        index: a vector of int32 or int64 positions.

    Raises:
        IndexError: a position out of range, or an index that is not a vector.

    >>> import pellucid as torch
    >>> torch.index_select(torch.tensor([[1, 2], [3, 4]]), 0, torch.tensor([1, 1]))
    tensor([[3, 4],
            [3, 4]])
    """
    ndim = require_tensor(input, "index_select")._array.ndim
    dim = shapes.normalize_dim(dim, ndim)
    kind = require_tensor(index, "index_select", "index", 3)._array
    if kind.ndim > 1:
        raise IndexOutOfRangeError("index_select(): Index is supposed to be a vector")
    if kind.dtype not in INDEX_DTYPES:
        raise OperationError("index_select(): Expected dtype int32 or int64 for index")
    if ndim == 0 and kind.size != 1:
        raise OperationError(
            f"index_select(): Index to scalar can have only 1 value, got {kind.size} value(s)"
        )
    return index_select_op.call(input, index, dim=dim)


# ---- index_add -------------------------------------------------------------------------------
def _bounded_for_add(index: Any, x: Any, dim: int) -> None:
    if x.ndim > 1:
        bounded(index, x.shape[dim], dim)
    else:
        bounded_line(index, x.size)


def _add_rule(xp: Any, out: Any, index: Any, source: Any, *, dim: int, alpha: Any) -> None:
    if out.ndim == 0:
        out, source = out.reshape(1), source.reshape(-1)
    index = _line(index)
    _bounded_for_add(index, out, dim)
    values = source if alpha == 1 else np.multiply(source, np.asarray(alpha).astype(out.dtype))
    if not index.size:
        return
    if out.dtype.kind == "b":
        xp.logical_or.at(out, _at(dim, index), values)
    else:
        add_at(out, _at(dim, index), values)


def _index_along(c: Any, index: str, dim: int, shape: Any) -> str:
    """Return a one-dimensional index repeated to `shape`, for operators that take one index for
    each element.
    """
    view = [1] * len(shape)
    view[dim] = -1
    return c.emit("Expand", c.emit("Reshape", index, c.ints(view)), c.ints(shape))


def _onnx_index_write(c: Any, reduction: str | None = None) -> Any:
    if not c.shape():
        raise c.refuse("of a tensor without dimensions")
    if reduction and c.graph.opset < 16:
        raise c.refuse("needs opset 16")
    alpha = c.p.get("alpha", 1)
    source = c[2] if alpha == 1 else c.emit("Mul", c[2], c.number(alpha))
    dim = int(c.p["dim"])
    return c.emit(
        "ScatterElements",
        c[0],
        _index_along(c, c[1], dim, c.shape(2)),
        source,
        axis=dim,
        reduction=reduction,
    )


index_add_op = defop(
    "index_add",
    "input index source",
    packs="index_for_source source_for_source",
    forward=copying(_add_rule, row_major=True),
    inplace=_add_rule,
    check=lambda x, index, source, *, dim, alpha: _bounded_for_add(index, x, dim),
    aval=lambda x, index, source, dim, alpha: x,
    vjp={
        "input": lambda g: g,
        "source": lambda F, g, index, dim, alpha, source_shape: _scaled(
            F.reshape(F.index_select(g, index, dim=dim), shape=source_shape), alpha
        ),
    },
    onnx=lambda c: _onnx_index_write(c, "add"),
    host=True,
    samples=lambda rng: [
        Sample(
            (rng.random((3, 4)), np.array([2, 0, 2]), rng.random((3, 3))), {"dim": 1, "alpha": 2}
        ),
        Sample((rng.random((3, 4)), np.array([1]), rng.random((1, 4))), {"dim": 0, "alpha": 1}),
    ],
    shows={"source_dim": lambda source_shape: len(source_shape)},
)


def _scaled(g: Any, alpha: Any) -> Any:
    return g if alpha == 1 else g * (alpha.conjugate() if isinstance(alpha, complex) else alpha)


def _vector(index: Any, name: str, error: Any = IndexOutOfRangeError) -> Tensor:
    a = require_tensor(index, name, "index", 3)._array
    if a.ndim > 1:
        raise error(
            f"{name}_(): Index is supposed to be a vector, but got dim: {a.ndim} with type: {index.dtype.scalar_type_name} "
            f"and size: {shapes.text(a.shape)}"
        )
    if a.dtype != np.int64 and a.dtype != np.int32:
        raise OperationError(
            f"{name}_(): Expected dtype int32/int64 for index but got: {index.dtype.scalar_type_name}"
        )
    return index


def _check_source(a: Any, b: Any, dim: int) -> None:
    """Refuse a source whose sizes other than that of `dim` differ from the tensor's."""
    m, n = a.shape, b.shape
    if m == n:
        return
    if len(m) != len(n) or m[:dim] != n[:dim] or m[dim + 1 :] != n[dim + 1 :]:
        raise ShapeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{shapes.text(a.shape)} source.shape = {shapes.text(b.shape)}"
        )


def _check_count(name: str, index: Tensor, b: Any, dim: int) -> None:
    """Refuse an index that does not have one position for each slice of the source."""
    given, wanted = index._array.size, b.shape[dim] if dim < b.ndim else 1
    if given == wanted:
        return
    if not b.ndim:
        raise IndexOutOfRangeError(f"Dimension specified as {dim} but tensor has no dimensions")
    raise ShapeError(
        f"{name}_(): Number of indices ({given}) should be equal to source.size(dim): ({wanted}), for dim: {dim}"
    )


def _prepare_index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1
) -> Arguments:
    """Copy `input`, and add slices of `source` at the positions `index` of dimension `dim`.

    Args:
        input: any shape and dtype.
        dim: the dimension.
        index: a vector of positions; those that repeat are added each time.
        source: one slice for each position.
        alpha: a factor for `source`. Default: 1.

    >>> import pellucid as torch
    >>> torch.index_add(torch.zeros(3), 0, torch.tensor([0, 0]), torch.tensor([1.0, 2.0]))
    tensor([3., 0., 0.])
    """
    a, b = input._array, require_tensor(source, "index_add", "source", 4)._array
    dim = shapes.normalize_dim(dim, a.ndim)
    index = _vector(index, "index_add")
    if a.dtype != b.dtype:
        raise DtypeError(
            f"index_add_(): self ({input.dtype.scalar_type_name}) and source ({source.dtype.scalar_type_name}) must have the same scalar type"
        )
    if isinstance(alpha, complex) and a.dtype.kind not in "cW":
        raise OperationError(
            "For non-complex input tensors, argument alpha must not be a complex number."
        )
    _check_count("index_add", index, b, dim)
    _check_source(a, b, dim)
    return (index, source), {"dim": dim, "alpha": alpha}


both_forms("index_add", index_add_op, _prepare_index_add, few=_of_few(add_at))


# ---- index_copy and index_fill ---------------------------------------------------------------
def _copy_rule(xp: Any, out: Any, index: Any, source: Any, *, dim: int) -> None:
    if out.ndim == 0:
        out, source = out.reshape(1), source.reshape(-1)
    index = _line(index)
    bounded(index, out.shape[dim], dim, IndexOutOfRangeError, "index_copy_(): ")
    out[_at(dim, index)] = source


def _filled(F: Any, g: Any, index: Any, dim: int, kind: Any) -> Any:
    return F.index_fill(g, index, F.full(shape=(), value=0, dtype=kind), dim=dim)


index_copy_op = defop(
    "index_copy",
    "input index source",
    packs="index source_for_source",
    forward=copying(_copy_rule, row_major=True),
    inplace=_copy_rule,
    check=lambda x, index, source, *, dim: bounded(
        index, x.shape[dim] if x.ndim else 1, dim, IndexOutOfRangeError, "index_copy_(): "
    ),
    aval=lambda x, index, source, dim: x,
    vjp={
        "input": lambda F, g, index, dim, input_dtype: _filled(F, g, index, dim, input_dtype),
        "source": lambda F, g, index, dim, source_shape: F.reshape(
            F.index_select(g, index, dim=dim), shape=source_shape
        ),
    },
    onnx=_onnx_index_write,
    host=True,
    samples=lambda rng: [
        Sample((rng.random((3, 4)), np.array([2, 0, 3]), rng.random((3, 3))), {"dim": 1}),
        Sample((rng.random((3, 4)), np.array([1]), rng.random((1, 4))), {"dim": 0}),
    ],
    shows={"source_dim": lambda source_shape: len(source_shape)},
)


def _prepare_index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Arguments:
    """Copy `input`, and replace the slices at the positions `index` of dimension `dim`.

    Args:
        input: any shape and dtype.
        dim: the dimension.
        index: a vector of int64 positions.
        source: one slice for each position.

    >>> import pellucid as torch
    >>> torch.index_copy(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """
    a, b = input._array, require_tensor(source, "index_copy", "source", 4)._array
    dim = shapes.normalize_dim(dim, a.ndim)
    if require_tensor(index, "index_copy", "index", 3)._array.ndim > 1:
        raise IndexOutOfRangeError(
            f"index_copy_(): Index should have dimension 1 or 0 (got {index._array.ndim})"
        )
    count = index._array.size
    if b.ndim == 0 and count != 1:
        raise IndexOutOfRangeError(
            f"index_copy_(): When source is scalar, index should have one element (got {count})"
        )
    if b.ndim and a.ndim and a.ndim != b.ndim:
        raise IndexOutOfRangeError(
            f"index_copy_(): When source and destination are not scalars, their dimensionality must match. Source dimensionality ({b.ndim}), "
            f"destination dimensionality ({a.ndim})"
        )
    if index._array.dtype != np.int64:
        raise OperationError(
            f"index_copy_(): Expected a long tensor for index, but got {index.dtype.scalar_type_name}"
        )
    if a.dtype != b.dtype:
        raise DtypeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {input.dtype.scalar_type_name} and (source) "
            f"{source.dtype.scalar_type_name}"
        )
    own = [n for d, n in enumerate(a.shape) if d != dim]
    theirs = [n for d, n in enumerate(b.shape) if d != (dim if a.ndim else 0)]
    if own != theirs:
        raise ShapeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, own))} at dimension {dim} and source slice shape: {' '.join(map(str, theirs))} at dimension 0."
        )
    if b.ndim and count != b.shape[dim]:
        raise IndexOutOfRangeError(
            f"index_copy_(): Number of indices ({count}) should be equal to source.size(dim) ({b.shape[dim]})"
        )
    return (index, source), {"dim": dim}


both_forms("index_copy", index_copy_op, _prepare_index_copy, few=_of_few(operator.setitem))


def _fill_check(x: Any, index: Any, value: Any, *, dim: int) -> None:
    size = x.shape[dim] if x.ndim else 1
    if index.size and (x.size or not size):  # positions are not checked if nothing is written
        low, high = int(index.min()), int(index.max())
        if low < -size or high >= size:
            raise IndexOutOfRangeError(
                f"index {first_outside(index, -size, size)} is out of bounds for dimension {dim} with size {size}"
            )


def _fill_rule(xp: Any, out: Any, index: Any, value: Any, *, dim: int) -> None:
    if out.ndim == 0:
        out = out.reshape(1)
    _fill_check(out, index, value, dim=dim)
    if out.size:
        out[_at(dim, _line(index))] = value


def _onnx_index_fill(c: Any) -> Any:
    if not c.shape():
        raise c.refuse("of a tensor without dimensions")
    dim, shape = int(c.p["dim"]), list(c.shape())
    shape[dim] = c.shape(1)[0] if c.shape(1) else 1
    filled = c.emit("Expand", c[2], c.ints(shape))
    return c.emit("ScatterElements", c[0], _index_along(c, c[1], dim, shape), filled, axis=dim)


index_fill_op = defop(
    "index_fill",
    "input index value",
    variant=filling("IndexFill", 2),
    forward=copying(_fill_rule),
    inplace=_fill_rule,
    check=_fill_check,
    aval=lambda x, index, value, dim: x,
    vjp={
        "input": lambda F, g, index, dim, input_dtype: _filled(F, g, index, dim, input_dtype),
        "value": lambda F, g, index, dim, value_shape: F.sum_to(
            F.index_select(g, _distinct(F, index, g.shape, dim), dim=dim), shape=value_shape
        ),
    },
    traits="masks",
    onnx=_onnx_index_fill,
    host=True,
    samples=lambda rng: [
        Sample((rng.random((3, 4)), np.array([2, 0, 2]), np.asarray(rng.random())), {"dim": 1}),
        Sample((rng.random((3, 4)), np.array([1]), np.asarray(0.5)), {"dim": 0}),
    ],
)


def _distinct(F: Any, index: Any, shape: Any, dim: int) -> Any:
    """Return the distinct positions of an index, counted from the start."""
    xp, size = namespace_of(values(F, index)), shape[dim] if len(shape) else 1
    positions = xp.to_host(values(F, index))
    once = xp.from_host(np.unique(np.where(positions < 0, positions + size, positions)))
    return once if F.raw else wrap(once)


def _prepare_index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Arguments:
    """Copy `input`, and fill the positions `index` of dimension `dim` with one number.

    Args:
        input: any shape and dtype.
        dim: the dimension.
        index: a vector of int64 positions.
        value: the number.

    >>> import pellucid as torch
    >>> torch.index_fill(torch.zeros(3), 0, torch.tensor([0, 2]), 5)
    tensor([5., 0., 5.])
    """
    a = require_tensor(index, "index_fill", "index", 3)._array
    if isinstance(value, Tensor):
        zero_dim_value("index_fill", input, dim, index, value=value)
    dim = shapes.normalize_dim(dim, input._array.ndim)
    if a.dtype != np.int64:
        raise IndexOutOfRangeError("index_fill_(): Expected dtype int64 for index.")
    if a.ndim > 1:
        raise OperationError("Index has to be a vector/scalar")
    if input._array.dtype.kind not in "cW" and (
        value._array.dtype.kind in "cW" if isinstance(value, Tensor) else isinstance(value, complex)
    ):
        raise DtypeError(
            "index_fill_(): Converting complex Scalar to non-complex type is not supported"
        )
    return (index, zero_dim_value("index_fill", input, dim, index, value=value)), {"dim": dim}


both_forms("index_fill", index_fill_op, _prepare_index_fill, out=False)


# ---- index_reduce ----------------------------------------------------------------------------
def _refusing(reduce: str, include_self: bool, ndim: int, kind: str) -> str | None:
    """The kernel of PyTorch that refuses complex numbers and bools, or None if they can be reduced."""
    if not include_self:
        return "index_reduce_func_exclude_input_init"
    if ndim <= 1:
        return "index_func_"
    if kind == "b":
        return "div_floor_cpu" if reduce == "mean" else None
    return {"amax": "maximum_cpu", "amin": "minimum_cpu"}.get(reduce)


def _prepare_index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Arguments:
    """A copy in which the slices of `source` that `index` sends to one position of `dim` are
    reduced.

    Args:
        reduce: "prod", "mean", "amax" or "amin".
        include_self: whether the old values take part.

    >>> import pellucid as torch
    >>> torch.index_reduce(torch.ones(2), 0, torch.tensor([0, 0]), torch.tensor([2.0, 3.0]), "prod")
    tensor([6., 1.])
    """
    warn_once("index_reduce() is in beta and the API may change at any time.")
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise OperationError(
            f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}."
        )
    a, b = input._array, require_tensor(source, "index_reduce", "source", 4)._array
    dim = shapes.normalize_dim(dim, a.ndim)
    picks = _vector(index, "index_reduce")._array
    if a.dtype != b.dtype:
        raise DtypeError(
            f"index_reduce_(): self ({input.dtype.scalar_type_name}) and source ({source.dtype.scalar_type_name}) must have the same "
            "scalar type"
        )
    _check_count("index_reduce", index, b, dim)
    _check_source(a, b, dim)
    if a.dtype.kind in "cb" and (kernel := _refusing(reduce, include_self, a.ndim, a.dtype.kind)):
        raise UnsupportedError(f"\"{kernel}\" not implemented for '{input.dtype.scalar_type_name}'")
    if type(picks) is ndarray:
        tracing.check(bounded_line, picks, a.shape[dim] if a.ndim else 1)
    if b.ndim:
        line = reshape(index, (1,) * dim + (picks.size,) + (1,) * (b.ndim - 1 - dim))
        places = broadcast_to(line, b.shape)
    else:  # hooks see a vector of one
        places = packed_as(reshape(index, ()), reshape(index, (1,)))
    return (places, source), {
        "dim": dim,
        "reduce": reduce,
        "include_self": include_self,
    }


both_forms(
    "index_reduce", scatter_reduce_op, _prepare_index_reduce, direct=False, title="IndexReduce"
)
