"""Reading and writing under a mask: masked_fill, masked_select, masked_scatter."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from ... import shapes
from ...arrays import numpy_cpu
from ...arrays.numpy_cpu import apart
from ...core import tracing
from ...core.bind import wrap
from ...core.inplace import overwrite
from ...core.modes import state
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import METHODS, public
from ...core.tape import titled
from ...core.tensor import FAST_TYPES, Tensor
from ...core.transforms.whole import one_node
from ...errors import DtypeError, OperationError, ShapeError
from ...ir.formula import Formula
from .._numbers import number_array
from .._rules import filling, is_direct, is_plain, require_tensor
from .._samples import Sample
from ..shape.broadcast import broadcast_to, expand
from ..shape.view import reshape
from ._writes import Arguments, both_forms, zero_dim_value
from .assign import put_


def _fill_where(xp: Any, out: Any, mask: Any, value: Any) -> None:
    if out.size:  # NumPy's masked copy reads an element even if there is none
        xp.copyto(out, value, where=mask)


masked_fill_op = defop(
    "masked_fill",
    "input mask value",
    variant=filling("MaskedFill", 2),
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
    lies="",
    traits="masks",
    onnx=lambda c: c.emit("Where", c[1], c[2], c[0]),
    samples=lambda rng: [
        Sample((rng.random((2, 4)), rng.random((2, 4)) > 0.5, np.asarray(rng.random())), {}),
        Sample((rng.random((3, 2, 4)), rng.random((2, 1)) > 0.5, np.asarray(2.5)), {}),
    ],
    overload="masked_fill_.Scalar",
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
    a, b = input._array.shape, require_tensor(mask, "masked_fill", "mask", 2)._array.shape
    if a != b:
        shapes.broadcast_shapes(b, a)
    value = zero_dim_value("masked_fill", input, mask, value=value)
    return (_mask(mask, "masked_fill"), value), {}


def _filled(*given: Any) -> Tensor | None:
    """Fast path of `masked_fill` of a contiguous tensor that wants no gradient by a number; None
    for other calls.
    """
    if len(given) != 3:
        return None
    input, mask, value = given
    if type(value) not in (float, int) or not is_direct(input) or not is_plain(mask):
        return None
    a, marked = input._array, mask._array
    if marked.dtype.kind != "b" or marked.shape != a.shape or not a.ndim:
        return None
    if not (a.flags.c_contiguous and marked.flags.c_contiguous):
        return None
    return wrap(numpy_cpu.where(marked, number_array(value, a.dtype), a))


both_forms("masked_fill", masked_fill_op, _prepare_masked_fill, out=False, few=_filled)

_out_of_place_fill_ = METHODS["masked_fill_"]


def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """In-place version of :func:`masked_fill`."""
    require_tensor(mask, "masked_fill", "mask", 2)
    value = zero_dim_value("masked_fill", self, mask, value=value)
    a, b = self._array.shape, _mask(mask, "masked_fill")._array.shape
    if a != b and shapes.broadcast_shapes(a, b) != a:
        raise ShapeError(
            f"output with shape {shapes.text(a)} doesn't match the broadcast shape {shapes.text(shapes.broadcast_shapes(a, b))}"
        )
    return _out_of_place_fill_(self, mask, value)


METHODS["masked_fill_"] = masked_fill_


@public(methods="=", out="apart: masked_select(): self and result must have the same scalar type")
@one_node("MaskedSelect", "input", "mask input")
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
    if a == b and a and is_direct(input) and is_direct(mask):
        return titled(wrap(input._array[mask._array]), "MaskedSelect", of=(input,), mask=mask)
    if a == b and a and type(input) in FAST_TYPES and type(mask) in FAST_TYPES and not state.slow:
        return titled(input[mask], "MaskedSelect", of=(input,), mask=mask)
    shape = shapes.broadcast_shapes(b, a) if a != b else a
    x = input
    if not shape:
        x, mask, shape = reshape(x, (1,)), reshape(mask, (1,)), (1,)
    made = F.index(broadcast_to(x, shape), broadcast_to(mask, shape), spec=(True,))
    return titled(made, "MaskedSelect", of=(input,), mask=mask)


def _scatter_source(input: Tensor, mask: Tensor, source: Tensor) -> tuple[Tensor, Tensor]:
    a = require_tensor(input, "masked_scatter")._array.shape
    b = require_tensor(mask, "masked_scatter", "mask", 2)._array.shape
    if a != b:
        shapes.broadcast_shapes(b, a)
    _check_one_kind(input, require_tensor(source, "masked_scatter", "source", 3))
    if mask._array.dtype.kind != "b":
        raise DtypeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype.scalar_type_name}"
        )
    return mask, source


def _check_one_kind(input: Tensor, source: Tensor) -> None:
    if source._array.dtype != input._array.dtype:
        raise DtypeError(
            f"masked_scatter: expected self and source to have same dtypes but got{input.dtype.scalar_type_name} and {source.dtype.scalar_type_name}"
        )


def _taken(mask: Tensor, source: Tensor) -> Tensor:
    count = int(np.count_nonzero(mask._array))
    if count > source._array.size:
        raise OperationError("Number of elements of source < number of ones in mask")
    flat = reshape(source, (source._array.size,))
    return F.slice(flat, dim=0, start=0, end=count, step=1)


def _scatter_in_order(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Compute `masked_scatter` with operations whose sizes do not depend on the number of ones in
    the mask.
    """
    size = source._array.size
    order = tracing.effect(_order_of_ones, mask._array, size)
    if not size:  # no element of the source is used, but the source stays in the graph
        return F.where(
            mask, F.cast(F.sum(source, dim=None, keepdim=False), dtype=input._array.dtype), input
        )
    return F.where(mask, F.index(reshape(source, (size,)), wrap(order), spec=(True,)), input)


def _order_of_ones(mask: ndarray, size: int) -> ndarray:
    """Return for each element of the mask the position in the source that it takes: the count of
    earlier ones. Elsewhere the numbers are merely valid positions.
    """
    order = np.cumsum(mask.reshape(-1)) - 1
    if order.size and order[-1] >= size:
        raise OperationError("Number of elements of source < number of ones in mask")
    return np.maximum(order, 0).reshape(mask.shape)


@public(methods="=")
@one_node("MaskedScatter", "input source", "mask")
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
        return titled(
            reshape(masked_scatter(reshape(input, (1,)), reshape(mask, (1,)), source), ()),
            "MaskedScatter",
            of=(input, source),
            mask=mask,
            source_sym_sizes=source._array.shape,
        )
    mask = broadcast_to(mask, shape)
    if tracing.tracer():
        return titled(
            _scatter_in_order(broadcast_to(input, shape), mask, source),
            "MaskedScatter",
            of=(input, source),
            mask=mask,
            source_sym_sizes=source._array.shape,
        )
    return titled(
        F.index_put(
            broadcast_to(input, shape), _taken(mask, source), mask, spec=(True,), accumulate=False
        ),
        "MaskedScatter",
        of=(input, source),
        mask=mask,
        source_sym_sizes=source._array.shape,
    )


def masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """In-place version of :func:`masked_scatter`."""
    given = require_tensor(mask, "masked_scatter_", "mask")._array.shape
    require_tensor(source, "masked_scatter_", "source", 2)
    _check_one_kind(self, source)
    shapes.expand(given, (0,) * len(given), self._array.shape, mask.dtype.cpu_name)
    mask, source = _scatter_source(self, mask, source)
    shape = self._array.shape
    if not shape:
        masked_scatter_(reshape(self, (1,)), reshape(mask, (1,)), source)
        return self
    mask = expand(mask, shape)
    # if elements share memory, those outside of the mask must not be written
    if tracing.tracer() and apart(self._array):
        return overwrite(self, _scatter_in_order(self, mask, source), "masked_scatter_")
    return put_(self, [mask], (True,), _taken(mask, source), False, "masked_scatter_")


METHODS["masked_scatter_"] = masked_scatter_
