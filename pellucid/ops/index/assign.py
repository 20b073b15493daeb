"""Writing at an index: `x[...] = value`, index_put."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy import ndarray

from ... import shapes
from ...arrays.numpy_cpu import strided
from ...arrays.scatter import add_at
from ...core import tracing
from ...core.inplace import bump, check_read, check_writable, write
from ...core.modes import local, state
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import FUNCTIONS, METHODS
from ...core.tensor import Parameter, Tensor, make_tensor
from ...dtypes import float8_e8m0fnu
from ...errors import (
    ArgumentTypeError,
    ArgumentValueError,
    IndexOutOfRangeError,
    OperationError,
    ShapeError,
    type_name,
)
from ...ir import Value
from .._numbers import check_fitting, scalar_array
from .._rules import require_tensor
from .._samples import Sample
from ..shape._sizes import legacy_type
from ..shape.broadcast import expand
from ..shape.view import reshape
from . import basic as basic_index
from ._writes import wrote_in_order
from .basic import (
    basic_tuple,
    check_index,
    checked_index,
    in_nothing,
    numpy_index,
    parse,
    take_view,
)


def _put_into(
    xp: Any, out: Any, values: Any, *indices: Any, spec: tuple[bool, ...], accumulate: bool
) -> None:
    if not out.size and type(out) is ndarray:
        indices = tuple(in_nothing(out, indices, spec))
    index = numpy_index(indices, spec)
    if not accumulate:
        out[index] = values
    elif out.dtype.kind == "b":
        xp.logical_or.at(out, index, values)
    else:
        add_at(out, index, values)


def _index_put(
    xp: Any, x: Any, values: Any, *indices: Any, spec: tuple[bool, ...], accumulate: bool
) -> Any:
    out = xp.copy(x)
    _put_into(xp, out, values, *indices, spec=spec, accumulate=accumulate)
    return out


def _check_put(
    x: Any, values: Any, *indices: Any, spec: tuple[bool, ...], accumulate: bool = False
) -> None:
    check_index(x, *indices, spec=spec)
    if type(x) is ndarray:
        _check_put_shape(x, values, indices, spec)
    if x.dtype != values.dtype:
        raise OperationError(
            "Index put requires the source and destination dtypes match, got "
            f"{_scalar_name(x)} for the destination and {_scalar_name(values)} for the source."
        )


def _check_put_shape(x: Any, values: Any, indices: Sequence[Any], spec: tuple[bool, ...]) -> None:
    phantom = (
        strided(np.empty(1, np.uint8), x.shape, (0,) * x.ndim)
        if x.size
        else np.empty(x.shape, np.uint8)
    )
    if not x.size:
        indices = in_nothing(x, indices, spec)
    shape = phantom[numpy_index(indices, spec)].shape if values.ndim else ()
    own = values.shape
    if len(own) > len(shape) or any(
        a not in (1, b) for a, b in zip(reversed(own), reversed(shape), strict=False)
    ):
        raise ShapeError(
            f"shape mismatch: value tensor of shape {shapes.text(own)} cannot be broadcast to indexing result of shape {shapes.text(shape)}"
        )


def _check_fits(x: Any, values: Any, indices: Sequence[Any], spec: tuple[bool, ...]) -> None:
    _check_put(x, values, *indices, spec=spec)


def _scalar_name(array: Any) -> str:
    from ...dtypes import BY_NUMPY

    return BY_NUMPY[array.dtype].scalar_type_name


def _put_grad(
    F: Any,
    g: Any,
    indices: Any,
    spec: Any,
    accumulate: bool,
    values_shape: Any,
    values_dtype: Any,
    needs: Any,
) -> Any:
    base = None
    if needs[0]:
        base = (
            g
            if accumulate
            else F.index_put(
                g,
                F.full(shape=(), value=0, dtype=values_dtype),
                *indices,
                spec=spec,
                accumulate=False,
            )
        )
    part = F.sum_to(F.index(g, *indices, spec=spec), shape=values_shape) if needs[1] else None
    return (base, part, *[None] * len(indices))


def _onnx_index_put(c: Any) -> Any:
    """Translate a put of one value under a mask. Other forms have no translation."""
    whole = (
        len(c) == 3
        and c.shape(2) == c.shape(0)
        and c.graph.trace.dtypes[c.step.inputs[2].value].kind == "b"
    )
    if not whole or c.p["accumulate"] or any(n != 1 for n in c.shape(1)):
        raise c.refuse("other than one value under a mask")
    return c.emit("Where", c[2], c.emit("Reshape", c[1], c.const(np.zeros(0, np.int64))), c[0])


def _expand_put(e: Any, x: Any) -> bool:
    """Lower a put of one number under a mask to `where`. Returns False for other forms."""
    _, value, *masks = e.i.inputs
    if (
        e.i.params["accumulate"]
        or tuple(e.i.params["spec"]) != (True,)
        or len(masks) != 1
        or masks[0].dtype != "bool"
        or not e.floats(x)
    ):
        return False
    if not isinstance(value, Value) or value.size != 1 or value.dtype != x.dtype:
        return False
    mask = masks[0]
    for _ in range(len(x.shape) - len(mask.shape)):
        mask = e.with_one(mask, len(mask.shape))
    e.give("where", mask, e.reshaped(value, ()), x)
    return True


index_put_op = defop(
    "index_put",
    "input values *indices",
    expand=_expand_put,
    forward=_index_put,
    inplace=_put_into,
    check=_check_put,
    aval=lambda x, *rest, spec, accumulate: x,
    vjp=_put_grad,
    onnx=_onnx_index_put,
    variant=lambda n: ("IndexPutBackward0", (0, 1)),
    host=True,
    samples=lambda rng: [
        Sample(
            (rng.random((4, 3)), rng.random((2, 3)), np.array([2, 0])),
            {"spec": (True,), "accumulate": False},
        ),
        Sample(
            (rng.random((4, 3)), rng.random((3, 1)), np.array([2, 0, 2])),
            {"spec": (True,), "accumulate": True},
        ),
        Sample(
            (rng.random((2, 3)), np.asarray(rng.random()), np.array([1]), np.array([-1])),
            {"spec": (True, True), "accumulate": False},
        ),
    ],
    overload="_index_put_impl_",
    shows={"indices": "indices"},
)


def _setitem(self: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`."""
    own, kind = type(self), type(value)
    if (own is Tensor or own is Parameter) and not (state.slow or state.born) and self._x is None:
        if self._ver is not None and self._ver.borrowers is not None:
            return _set_slowly(self, index, value)
        plain = kind is Tensor or kind is Parameter
        graph = local.grad and (
            self._rg or plain and value._rg or self._view is not None and self._view.kind != "grad"
        )
        if (plain or kind is float or kind is int or kind is bool) and not graph:
            a = self._array
            target = _target(index)
            if type(target) is ndarray and not target.size:
                target = None  # NumPy accepts an empty mask for any shape
            if (
                target is not None
                and type(a) is ndarray
                and a.flags.writeable
                and 0 not in a.strides
            ):
                source = value._array if plain else value
                one = plain and (
                    value is self or value._ver is not None and value._ver is self._ver
                )
                if one and np.may_share_memory(a, source):
                    # Source and target share memory. NumPy would copy correctly, but PyTorch
                    # refuses if they overlap.
                    if type(target) is ndarray or _meets(a, target, source):
                        return _set_slowly(self, index, value)
                if (not plain and _held(value, kind, a.dtype)) or (
                    plain
                    and type(source) is ndarray
                    and (
                        source.dtype is a.dtype
                        or (type(target) is not ndarray and source.dtype.kind not in "cW")
                    )
                ):
                    try:
                        a[target] = source
                    except (IndexError, ValueError, TypeError, OverflowError):
                        pass
                    else:
                        bump(self, "__setitem__")
                        return
    _set_slowly(self, index, value)


def _meets(a: ndarray, target: Any, source: Any) -> bool:
    """Return whether `a[target]` shares memory with `source`. Also True if the target does not
    exist, which the slow path refuses with PyTorch's message.
    """
    try:
        return np.may_share_memory(a[target], source)
    except IndexError:
        return True


_POWERS = float8_e8m0fnu.numpy


def _held(value: Any, kind: Any, dtype: Any) -> bool:
    """Return whether NumPy writes a plain number into an array as PyTorch does, including the cases
    that PyTorch refuses.
    """
    if kind is bool or dtype.kind in "iub":
        return kind is bool or kind is int and -(1 << 63) <= value < 1 << 63
    if dtype is _POWERS:  # which hold no zero and no sign
        return False
    return -65504 <= value <= 65504 or (
        dtype.char in "df" and (-3.4e38 < value < 3.4e38 or not isfinite(value))
    )


def _target(index: Any) -> Any:
    """Return the NumPy index of a simple index: a basic index, or one index tensor or mask. None if
    the index is not simple.
    """
    kind = type(index)
    if kind is int:
        return index
    if kind is slice:
        step = index.step
        return index if step is None or (type(step) is int and step > 0) else None
    if kind is tuple:
        return basic_tuple(index)[0]
    if kind is Tensor:
        a = index._array
        if type(a) is ndarray and (a.dtype == np.int64 or a.dtype.kind == "b") and a.ndim:
            return a
    return None


def _set_slowly(x: Tensor, index: Any, value: Any) -> None:
    if index is False:
        return
    if basic_index.taken_over("__setitem__", x, index, value) is not NotImplemented:
        return
    basic, spec, tensors = parse(x, index)
    whole = value
    if not isinstance(value, Tensor):
        value = _scalar(x, value)
    else:
        value = _without_leading_ones(value)
    if not spec:
        view = take_view(x, basic)
        shape = view._array.shape
        own = value._array.shape
        if view is x and not own and index is not ... and index != ():
            x.fill_(value)
            return
        if own != shape:
            value = expand(value, shape)
        check_read(view, (value,))
        view.copy_(value)
        return
    part = take_view(x, basic)
    if whole is not value and isinstance(whole, Tensor) and tensors[0]._array.dtype.kind != "b":
        check_read(part, (whole,), exact=True)
    if value._array.dtype != x._array.dtype:
        if value._array.size != 1 or len(tensors) != 1 or tensors[0]._array.dtype.kind != "b":
            _check_put(part._array, value._array, *[index._array for index in tensors], spec=spec)
        tracing.check(check_fitting, value._array, x._array.dtype)
        value = F.cast(value, dtype=x._array.dtype)
    put_(part, tensors, spec, value, False, "index_put_")


def _scalar(x: Tensor, value: Any) -> Tensor:
    """Return a number as a 0-d tensor with the dtype of `x`."""
    if not isinstance(value, (bool, int, float, complex, np.integer)):
        raise ArgumentTypeError(f"can't assign a {type_name(value)} to a {legacy_type(x)}")
    if type(value) is int and not -(1 << 63) <= value < 1 << 63:
        raise ArgumentValueError("Overflow when unpacking long long")
    return make_tensor(scalar_array(value, x._array.dtype))


def _without_leading_ones(value: Tensor) -> Tensor:
    shape = value._array.shape
    k = 0
    while k < len(shape) and shape[k] == 1:
        k += 1
    if not k:
        return value
    return reshape(value, shape[k:])


def put_(
    x: Tensor,
    tensors: Sequence[Tensor],
    spec: tuple[bool, ...],
    values: Tensor,
    accumulate: bool,
    name: str,
) -> Tensor:
    """`index_put` into the tensor itself."""
    a = x._array
    check_writable(x, name)
    tracing.check(_check_fits, a, values._array, [t._array for t in tensors], spec)
    # the single value of a fill by mask is read once, before anything is written
    masked = len(tensors) == 1 and tensors[0]._array.dtype.kind == "b" and not accumulate
    if name != "masked_scatter_" and (values._array.ndim or not masked):
        check_read(x, (values, *tensors), exact=True)
    if type(a) is ndarray and np.may_share_memory(a, values._array):
        values = F.clone(values)
    params = {"spec": spec, "accumulate": accumulate}
    example = "tensor[indices] = tensor" if name == "index_put_" and not accumulate else ""
    if wrote_in_order(x, name, index_put_op, (values, *tensors), params, example):
        return x
    return write(x, name, index_put_op, (values, *tensors), params)


METHODS["__setitem__"] = _setitem


def _arguments(
    x: Tensor, indices: Any, values: Any, name: str
) -> tuple[tuple[bool, ...], list[Tensor], Tensor]:
    require_tensor(x, name)
    if not isinstance(indices, (tuple, list)):
        raise ArgumentTypeError(
            f"{name}(): argument 'indices' (position 1) must be tuple of Tensors, not {type_name(indices)}"
        )
    if not isinstance(values, Tensor):
        raise ArgumentTypeError(
            f"{name}(): argument 'values' (position 2) must be Tensor, not {type_name(values)}"
        )
    spec = [item is not None for item in indices]
    tensors = [require_tensor(item, name, "indices", 2) for item in indices if item is not None]
    if len(spec) > x._array.ndim:
        raise IndexOutOfRangeError(
            f"too many indices for tensor of dimension {x._array.ndim} (got {len(spec)})"
        )
    tensors = [checked_index(t) for t in tensors]
    if (
        values._array.dtype != x._array.dtype
        and values._array.size == 1
        and [t._array.dtype.kind for t in tensors] == ["b"]
    ):
        tracing.check(check_fitting, values._array, x._array.dtype)
        # one value under a mask is a fill, and fills convert
        values = F.cast(values, dtype=x._array.dtype)
    return tuple(spec), tensors, values


def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with `values` put at the places that the index tensors pick.

    Args:
        indices: index tensors or masks, one for each leading dimension (None: all positions).
        values: same dtype as `input`; broadcasts to the shape of `input[indices]`.
        accumulate: add instead of replacing; places that repeat are counted each time.

    >>> import pellucid as torch
    >>> torch.index_put(torch.zeros(3), (torch.tensor([0, 2]),), torch.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    spec, tensors, values = _arguments(input, indices, values, "index_put_")
    if type(input._array) is ndarray:
        tracing.check(_check_fits, input._array, values._array, [t._array for t in tensors], spec)
    return index_put_op.call(input, values, *tensors, spec=spec, accumulate=accumulate)


def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Write `values` into this tensor at the given indices, `self[indices] = values`; see :func:`index_put`.

    >>> import pellucid as torch
    >>> x = torch.zeros(3)
    >>> x.index_put_((torch.tensor([0, 2, 2]),), torch.tensor([1.0, 2.0, 3.0]), accumulate=True)
    tensor([1., 0., 5.])
    """
    spec, tensors, values = _arguments(self, indices, values, "index_put_")
    return put_(self, tensors, spec, values, accumulate, "index_put_")


FUNCTIONS["torch"]["index_put"] = METHODS["index_put"] = index_put

FUNCTIONS["torch"]["index_put_"] = METHODS["index_put_"] = index_put_
