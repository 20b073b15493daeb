"""Whole positions of one dimension: index_select, index_add, index_copy, index_fill, index_reduce;
masks; where elements are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from ... import shapes
from ...backends.numpy_cpu import namespace_of
from ...backends.scatter import add_at
from ...core import tracing
from ...core.bind import NUMBERS, wrap
from ...core.inplace import check_out, into, overwrite
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import METHODS, public
from ...core.tensor import Tensor
from ...core.tracing import constant
from ...errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DtypeError,
    IndexOutOfRangeError,
    OperationError,
    ShapeError,
)
from ...ir.formula import Formula
from .._numbers import check_fitting, number_array
from .._rules import mismatch, overloads, require_tensor, values
from .._samples import Sample
from ..shape.view import broadcast_to, expand, reshape
from .basic import put_
from .scatter import (
    both_forms,
    bounded,
    bounded_line,
    copying,
    first_outside,
    inside,
    scatter_reduce_op,
)

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def _at(dim: int, index: Any) -> tuple[Any, ...]:
    return (slice(None),) * dim + (index,)


def _line(index: Any) -> Any:
    """An index as a vector."""
    return index.reshape(1) if index.ndim == 0 else index


# ---- index_select ----------------------------------------------------------------------------
_INDEX_DTYPES = frozenset({np.dtype(np.int64), np.dtype(np.int32)})


def _select_check(x: Any, index: Any, *, dim: int) -> None:
    size = x.shape[dim] if x.ndim else 1
    if inside(index, size):
        return
    if dim == 1 or dim and not x.size:  # PyTorch's other kernel
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


@public(methods="=", out="exact")
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
    if kind.dtype not in _INDEX_DTYPES:
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
    """A one-dimensional index repeated to a shape, for operators that take one index for each
    element.
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
    """The source of a write to whole positions of `dim` has the tensor's other sizes."""
    if a.ndim != b.ndim or any(
        d != dim and m != n for d, (m, n) in enumerate(zip(a.shape, b.shape, strict=True))
    ):
        raise ShapeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{shapes.text(a.shape)} source.shape = {shapes.text(b.shape)}"
        )


def _check_count(name: str, index: Tensor, b: Any, dim: int) -> None:
    """There is one position for each slice of the source."""
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
    if isinstance(alpha, complex) and a.dtype.kind != "c":
        raise OperationError(
            "For non-complex input tensors, argument alpha must not be a complex number."
        )
    _check_source(a, b, dim)
    _check_count("index_add", index, b, dim)
    return (index, source), {"dim": dim, "alpha": alpha}


both_forms("index_add", index_add_op, _prepare_index_add)


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


both_forms("index_copy", index_copy_op, _prepare_index_copy)


def _fill_check(x: Any, index: Any, value: Any, *, dim: int) -> None:
    size = x.shape[dim] if x.ndim else 1
    if index.size and (x.size or not size):  # where nothing is written, no position is looked at
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
    variant=overloads("IndexFillBackward1", "IndexFillBackward0", 2),
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
    """The positions of an index, counted from the start, each once."""
    xp, size = namespace_of(values(F, index)), shape[dim] if len(shape) else 1
    positions = xp.to_host(values(F, index))
    once = xp.from_host(np.unique(np.where(positions < 0, positions + size, positions)))
    return once if F.raw else wrap(once)


def zero_dim_value(name: str, x: Tensor, *between: Any, value: Any) -> Tensor:
    """The value of a fill, which was called with `x`, `between` and it, as a 0-d tensor of the
    dtype of `x`.
    """
    if not isinstance(value, Tensor):
        if not isinstance(value, NUMBERS):
            raise mismatch(name, x, *between, value)
        return wrap(number_array(value, x._array.dtype))
    if value._array.ndim:
        raise OperationError(
            f"{name}_ only supports a 0-dimensional value tensor, but got tensor with {value._array.ndim} dimension(s)."
        )
    if value._array.dtype.kind == "c" and x._array.dtype.kind != "c":
        number_array(1j, x._array.dtype)
    tracing.check(check_fitting, value._array, x._array.dtype)
    return value if value._array.dtype == x._array.dtype else F.cast(value, dtype=x._array.dtype)


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
    dim = shapes.normalize_dim(dim, input._array.ndim)
    a = require_tensor(index, "index_fill", "index", 3)._array
    if a.dtype != np.int64:
        raise IndexOutOfRangeError("index_fill_(): Expected dtype int64 for index.")
    if a.ndim > 1:
        raise OperationError("Index has to be a vector/scalar")
    if input._array.dtype.kind != "c" and (
        value._array.dtype.kind == "c" if isinstance(value, Tensor) else isinstance(value, complex)
    ):
        raise DtypeError(
            "index_fill_(): Converting complex Scalar to non-complex type is not supported"
        )
    return (index, zero_dim_value("index_fill", input, dim, index, value=value)), {"dim": dim}


both_forms("index_fill", index_fill_op, _prepare_index_fill, out=False)


# ---- index_reduce ----------------------------------------------------------------------------
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
    if type(picks) is ndarray:
        tracing.check(bounded_line, picks, a.shape[dim] if a.ndim else 1)
    line = (
        reshape(index, (1,) * dim + (picks.size,) + (1,) * (b.ndim - 1 - dim))
        if b.ndim
        else reshape(index, ())
    )
    return (broadcast_to(line, b.shape), source), {
        "dim": dim,
        "reduce": reduce,
        "include_self": include_self,
    }


both_forms("index_reduce", scatter_reduce_op, _prepare_index_reduce, direct=False)


# ---- masks -----------------------------------------------------------------------------------
def _fill_where(xp: Any, out: Any, mask: Any, value: Any) -> None:
    if out.size:  # NumPy's copy under a mask reads an element also where there is none
        xp.copyto(out, value, where=mask)


masked_fill_op = defop(
    "masked_fill",
    "input mask value",
    variant=overloads("MaskedFillBackward1", "MaskedFillBackward0", 2),
    forward=lambda xp, x, mask, value: xp.where(mask, value, x),
    formula=Formula(lambda m, x, mask, value: m.where(mask, value, x), "fhib", masks=(1,)),
    inplace=_fill_where,
    vjp={
        "input": lambda F, g, mask, input_dtype: F.masked_fill(
            g, mask, F.full(shape=(), value=0, dtype=input_dtype)
        ),
        "value": lambda F, g, mask, input_dtype: F.where(
            mask, g, F.full(shape=(), value=0, dtype=input_dtype)
        ),
    },
    elementwise=True,
    traits="masks",
    onnx=lambda c: c.emit("Where", c[1], c[2], c[0]),
    samples=lambda rng: [
        Sample((rng.random((2, 4)), rng.random((2, 4)) > 0.5, np.asarray(rng.random())), {}),
        Sample((rng.random((3, 2, 4)), rng.random((2, 1)) > 0.5, np.asarray(2.5)), {}),
    ],
)


def _mask(mask: Any, name: str) -> Tensor:
    if require_tensor(mask, name, "mask", 2)._array.dtype.kind != "b":
        raise DtypeError(
            f"{name}_ only supports boolean masks, but got mask with dtype {mask.dtype.c_name}"
        )
    return mask


def _prepare_masked_fill(input: Tensor, mask: Tensor, value: Any) -> Arguments:
    """A copy with `value` where the mask is True.

    Args:
        mask: bool, broadcast against the tensor.
        value: a number or a 0-d tensor.

    >>> import pellucid as torch
    >>> x = torch.tensor([1.0, -1.0])
    >>> torch.masked_fill(x, x < 0, 0)
    tensor([1., 0.])
    """
    _mask(mask, "masked_fill")
    a, b = input._array.shape, mask._array.shape
    if a != b:
        shapes.broadcast_shapes(b, a)
    return (mask, zero_dim_value("masked_fill", input, mask, value=value)), {}


both_forms("masked_fill", masked_fill_op, _prepare_masked_fill, out=False)
_out_of_place_fill_ = METHODS["masked_fill_"]


def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """In-place version of :func:`masked_fill`."""
    a, b = self._array.shape, _mask(mask, "masked_fill")._array.shape
    if a != b and shapes.broadcast_shapes(a, b) != a:
        raise ShapeError(
            f"output with shape {shapes.text(a)} doesn't match the broadcast shape {shapes.text(shapes.broadcast_shapes(a, b))}"
        )
    return _out_of_place_fill_(self, mask, value)


METHODS["masked_fill_"] = masked_fill_


@public(methods="=", out="exact")
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """Select the elements where the mask is True, as a vector.

    Args:
        input: any shape and dtype.
        mask: a bool tensor that broadcasts with `input`.

    >>> import pellucid as torch
    >>> x = torch.tensor([1.0, -1.0, 2.0])
    >>> torch.masked_select(x, x > 0)
    tensor([1., 2.])
    """
    require_tensor(input, "masked_select")
    if require_tensor(mask, "masked_select", "mask", 2)._array.dtype.kind != "b":
        raise OperationError("masked_select: expected BoolTensor for mask")
    a, b = input._array.shape, mask._array.shape
    shape = shapes.broadcast_shapes(b, a) if a != b else a
    if not shape:
        input, mask, shape = reshape(input, (1,)), reshape(mask, (1,)), (1,)
    return F.index(broadcast_to(input, shape), broadcast_to(mask, shape), spec=(True,))


def _scatter_source(input: Tensor, mask: Tensor, source: Tensor) -> tuple[Tensor, Tensor]:
    require_tensor(input, "masked_scatter")
    if require_tensor(mask, "masked_scatter", "mask", 2)._array.dtype.kind != "b":
        raise DtypeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype.scalar_type_name}"
        )
    if require_tensor(source, "masked_scatter", "source", 3)._array.dtype != input._array.dtype:
        raise DtypeError(
            f"masked_scatter: expected self and source to have same dtypes but got{input.dtype.scalar_type_name} and {source.dtype.scalar_type_name}"
        )
    return mask, source


def _taken(mask: Tensor, source: Tensor) -> Tensor:
    count = int(np.count_nonzero(mask._array))
    if count > source._array.size:
        raise OperationError("Number of elements of source < number of ones in mask")
    flat = reshape(source, (source._array.size,))
    return F.slice(flat, dim=0, start=0, end=count, step=1)


def _scatter_in_order(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """`masked_scatter` by operations whose sizes do not depend on how many elements the mask has."""
    size = source._array.size
    order = tracing.effect(_order_of_ones, mask._array, size)
    if not size:  # which no element of the mask asks for: the source counts as used all the same
        return F.where(
            mask, F.cast(F.sum(source, dim=None, keepdim=False), dtype=input._array.dtype), input
        )
    return F.where(mask, F.index(reshape(source, (size,)), wrap(order), spec=(True,)), input)


def _order_of_ones(mask: ndarray, size: int) -> ndarray:
    """How many ones of a mask stand before each element, and a number inside of the source where
    there is none.
    """
    order = np.cumsum(mask.reshape(-1)) - 1
    if order.size and order[-1] >= size:
        raise OperationError("Number of elements of source < number of ones in mask")
    return np.maximum(order, 0).reshape(mask.shape)


@public(methods="=")
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Copy `input`, and put the elements of `source`, in order, where the mask is True.

    Args:
        input: any shape and dtype.
        mask: a bool tensor that broadcasts with `input`.
        source: at least as many elements as the mask has True.

    >>> import pellucid as torch
    >>> torch.masked_scatter(torch.zeros(3), torch.tensor([True, False, True]), torch.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    mask, source = _scatter_source(input, mask, source)
    shape = shapes.broadcast_shapes(mask._array.shape, input._array.shape)
    if not shape:
        return reshape(masked_scatter(reshape(input, (1,)), reshape(mask, (1,)), source), ())
    mask = broadcast_to(mask, shape)
    if tracing.tracer():
        return _scatter_in_order(broadcast_to(input, shape), mask, source)
    return F.index_put(
        broadcast_to(input, shape), _taken(mask, source), mask, spec=(True,), accumulate=False
    )


def masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """In-place version of :func:`masked_scatter`."""
    mask, source = _scatter_source(self, mask, source)
    shape = self._array.shape
    if not shape:
        masked_scatter_(reshape(self, (1,)), reshape(mask, (1,)), source)
        return self
    mask = expand(mask, shape)
    if tracing.tracer():
        return overwrite(self, _scatter_in_order(self, mask, source), "masked_scatter_")
    return put_(self, [mask], (True,), _taken(mask, source), False, "masked_scatter_")


METHODS["masked_scatter_"] = masked_scatter_


# ---- where elements are ----------------------------------------------------------------------
@public(methods="=")
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """The positions of the nonzero elements.

    Args:
        input: any shape and dtype.
        as_tuple: return one vector of positions for each dimension, as indexing takes them,
            instead of a matrix with one row for each element. Default: False.

    >>> import pellucid as torch
    >>> torch.nonzero(torch.tensor([0, 5, 6]))
    tensor([[1],
            [2]])
    """
    a = require_tensor(input, "nonzero")._array
    if type(a) is not ndarray:
        raise OperationError(
            "nonzero(): the number of elements that are not zero depends on values, which a meta tensor does not have"
        )
    if out is not None:
        if not isinstance(out, Tensor):
            raise ArgumentTypeError(
                f"nonzero(): argument 'out' must be Tensor, not {type(out).__name__}"
            )
        if out._array.dtype != np.int64:
            raise DtypeError(
                f"nonzero: Expected out tensor to have scalar type Long but got scalar type{out.dtype.scalar_type_name}"
            )
        check_out(out, (input,), False)
        return into(out, nonzero(input), "nonzero")
    tracing.seen(a)
    found = (a.reshape(1) if a.ndim == 0 else a).nonzero()
    if as_tuple:
        return tuple(wrap(np.ascontiguousarray(d)) for d in found)
    if a.ndim == 0:
        return wrap(np.empty((len(found[0]), 0), np.int64))
    # as it lies in PyTorch
    return wrap(np.stack(found).T if len(found[0]) else np.empty((0, a.ndim), np.int64))


@public(methods="=")
def argwhere(input: Tensor) -> Tensor:
    """The positions of the elements that are not 0, as rows.

    >>> import pellucid as torch
    >>> torch.argwhere(torch.tensor([[0, 1]]))
    tensor([[0, 1]])
    """
    return nonzero(input)


@public(namespace="nn.functional")
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Class numbers as vectors with a 1 at the number.

    Args:
        tensor: int64, any shape.
        num_classes: length of the vectors; -1: one more than the greatest number. Default: -1.

    Returns:
        int64, the shape of `tensor` with a new last dimension.

    Raises:
        RuntimeError: another dtype, or a number outside 0 to num_classes - 1.

    >>> import pellucid as torch
    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    a = require_tensor(tensor, "one_hot")._array
    if a.dtype != np.int64:
        raise OperationError("one_hot is only applicable to index tensor of type LongTensor.")
    if not a.size:
        if num_classes <= 0:
            raise OperationError("Can not infer total number of classes from empty tensor.")
        return wrap(constant(np.empty((*a.shape, num_classes), np.int64)))
    tracing.check(_check_classes, a, num_classes)
    if num_classes == -1:
        num_classes = int(namespace_of(a).to_host(a).max()) + 1
    if tracing.tracer():
        classes = wrap(constant(np.arange(num_classes)))
        return F.cast(
            F.eq(reshape(tensor.contiguous(), (*a.shape, 1)), classes), dtype=np.dtype(np.int64)
        )
    return wrap(tracing.effect(_ones_at, a, num_classes))


def _check_classes(a: ndarray, num_classes: int) -> None:
    if a.min() < 0:
        raise OperationError("Class values must be non-negative.")
    if num_classes != -1 and (num_classes < 1 or a.max() >= num_classes):
        raise OperationError("Class values must be smaller than num_classes.")


def _ones_at(a: ndarray, num_classes: int) -> ndarray:
    out = np.zeros((a.size, num_classes), np.int64)
    out[np.arange(a.size), a.reshape(-1)] = 1
    return out.reshape(*a.shape, num_classes)


@public(methods="=", out=True)
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """As `nonzero`, cut or filled up to `size` rows.

    >>> import pellucid as torch
    >>> torch.nonzero_static(torch.tensor([0, 5]), size=2)
    tensor([[ 1],
            [-1]])
    """
    if size < 0:
        raise OperationError("nonzero_static: 'size' must be an non-negative integer")
    if require_tensor(input, "nonzero_static").is_meta:
        return nonzero(input)
    return wrap(tracing.effect(_first_places, input._array, size, fill_value))


def _first_places(a: ndarray, size: int, fill_value: int) -> ndarray:
    """The positions of the first `size` elements that are not 0, as rows, with rows of `fill_value`
    after the last one.
    """
    found = (
        np.stack(a.nonzero(), axis=1)[:size]
        if a.ndim
        else np.empty((int(bool(a)), 0), np.int64)[:size]
    )
    out = np.full((size, a.ndim), fill_value, np.int64)
    out[: len(found)] = found
    return out


@public()
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Turn positions in a flattened tensor into positions in each dimension.

    Args:
        indices: integers of any shape.
        shape: the sizes of the tensor.

    >>> import pellucid as torch
    >>> torch.unravel_index(torch.tensor([3, 5]), (2, 3))
    (tensor([1, 1]), tensor([0, 2]))
    """
    a = require_tensor(indices, "unravel_index", "indices")._array
    if a.dtype.kind not in "iu":
        raise ArgumentTypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise ArgumentTypeError(
            f"expected 'shape' to be int or sequence of ints, but got {type(shape)}"
        )
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for n in sizes:
        if not isinstance(n, int):
            raise ArgumentTypeError(
                f"expected 'shape' sequence to only contain ints, but got {type(n)}"
            )
    if any(n < 0 for n in sizes):
        raise ArgumentValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    return tuple(map(wrap, tracing.effect(_unravelled, a, sizes)))


def _unravelled(a: ndarray, sizes: tuple[int, ...]) -> tuple[ndarray, ...]:
    out, rest = [], a.astype(np.int64)
    for size in reversed(sizes):
        out.append(np.asarray(rest % size))
        rest = rest // size
    return tuple(reversed(out))
