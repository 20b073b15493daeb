"""softmax, log_softmax, logsumexp. The largest element is subtracted first, so that nothing
overflows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import config, dtypes
from ...arrays.formulas import planned
from ...arrays.native import kernels
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import public
from ...core.tensor import Tensor
from ...errors import OperationError, UnsupportedError
from ...shapes import normalize_dim, reduce_shape
from .._rules import library, require_tensor
from .._samples import cases
from ._reduction import Dims, as_dtype, dims_of, listed, numpy_names, restore, to_float

_KERNELS = (np.dtype(np.float32), np.dtype(np.float64))  # dtypes of the native kernels
_ALONG = ((((3, 4),), {"dim": 0}), (((2, 3, 4),), {"dim": 2}))


def _softmax_grad(F: Any, g: Any, out: Any, out_shape: Any, dim: int) -> Any:
    if F.raw and config.kernels and type(out) is np.ndarray and out.dtype in _KERNELS and out.ndim:
        made = kernels.rows.softmax.softmax_backward(g, out, dim)
        if made is not None:
            return made
    weighted = g * out
    return weighted - out * (F.sum(weighted, dim=(dim,), keepdim=True) if out_shape else weighted)


def _log_softmax_grad(F: Any, g: Any, out: Any, out_shape: Any, dim: int) -> Any:
    if F.raw and config.kernels and type(out) is np.ndarray and out.dtype in _KERNELS and out.ndim:
        made = kernels.rows.softmax.log_softmax_backward(g, out, dim)
        if made is not None:
            return made
    return g - F.exp(out) * (F.sum(g, dim=(dim,), keepdim=True) if out_shape else g)


def _expand_softmax(e: Any, x: Any) -> bool:
    dim = e.i.params["dim"]
    rows = dim == len(x.shape) - 1 and x.dtype == "float32" and x.contiguous
    if not e.floats(x) or set(e.i.params) - {"dim"} or rows:  # contiguous rows have a kernel
        return False
    away = e.new("sub", x, e.reduced("amax", x, (dim,)))
    powers = e.new("exp", away)
    total = e.reduced("sum", powers, (dim,))
    if e.i.op == "softmax":
        e.give("div", powers, total)
    else:
        e.give("sub", away, e.new("log", total))
    return True


softmax_op = defop(
    "softmax",
    "input",
    advice="leave at least one position unmasked in every row",
    expand=_expand_softmax,
    forward=planned(
        lambda *plan: kernels.rows.softmax.few("softmax", *plan),
        lambda xp, x, *, dim: xp.softmax(x, dim) if x.ndim else xp.exp(x - x),
        widens="float32",
    ),
    aval=lambda x, dim: x,
    vjp={"input": _softmax_grad},
    batch="dims",
    traits="saturates recentres",
    onnx=lambda c: c.emit("Softmax", c[0], axis=int(c.p["dim"])),
    samples=cases(*_ALONG),
    aten=lambda A, x, *, dim: A._softmax(x, dim, False),
    overload="_softmax",
)

log_softmax_op = defop(
    "log_softmax",
    "input",
    expand=_expand_softmax,
    forward=planned(
        lambda *plan: kernels.rows.softmax.few("log_softmax", *plan),
        lambda xp, x, *, dim: xp.log_softmax(x, dim) if x.ndim else x - x,
        widens="float32",
    ),
    aval=lambda x, dim: x,
    vjp={"input": _log_softmax_grad},
    batch="dims",
    traits="saturates",
    onnx=lambda c: c.emit("LogSoftmax", c[0], axis=int(c.p["dim"])),
    advice="leave at least one position unmasked in every row",
    samples=cases(*_ALONG),
    aten=lambda A, x, *, dim: A._log_softmax(x, dim, False),
    overload="_log_softmax",
)


def _logsumexp_grad(
    F: Any, g: Any, input: Any, out: Any, input_shape: Any, dim: Any, keepdim: bool
) -> Any:
    g, out = restore(g, input_shape, dim, keepdim), restore(out, input_shape, dim, keepdim)
    # A line of -inf has the result -inf. As in PyTorch its softmax is defined as 0, not exp(-inf +
    # inf). While tracing, this may happen in another call.
    if F.raw and type(out) is not np.ndarray and out.dtype.kind == "f":
        return g * F.exp(input - F.where(out == -np.inf, 0.0, out))
    values = out if F.raw else out._array
    # the values are on another device, or on the meta device
    if not F.raw and type(values) is not np.ndarray:
        return g * F.conj(F.exp(input - out.masked_fill(out == -float("inf"), 0)))
    xp = library(F)
    if not xp.isfinite(values).all():
        if F.raw:
            out = xp.where(xp.isinf(values) & (values.real < 0), 0, values).astype(values.dtype)
        else:
            out = out.masked_fill(out == -float("inf"), 0)
    return g * F.conj(F.exp(input - out))


def _expand_logsumexp(e: Any, x: Any) -> bool:
    if not e.floats(x):
        return False
    top = e.reduced("amax", x, e.dims)
    # Subtract nothing from lines whose maximum is infinite.
    finite = e.new("isfinite", top, dtype="bool")
    top = e.new("where", finite, top, 0.0, shape=top.shape, dtype=x.dtype)
    total = e.reduced("sum", e.new("exp", e.new("sub", x, top)), e.dims)
    shape = e.i.outputs[0].shape
    e.give("add", e.reshaped(e.new("log", total), shape), e.reshaped(top, shape))
    return True


logsumexp_op = defop(
    "logsumexp",
    "input",
    expand=_expand_logsumexp,
    aten=lambda A, x, *, dim, keepdim: A.logsumexp(x, listed(dim), keepdim),
    forward=lambda xp, x, *, dim, keepdim: xp.logsumexp(x, dim, keepdim) if x.ndim else x.copy(),
    aval=lambda x, dim, keepdim: (reduce_shape(x[0], dim, keepdim), x[1]),
    vjp={"input": _logsumexp_grad},
    batch="dims",
    onnx=lambda c: c.reduction("ReduceLogSumExp"),
    samples=cases(
        *(
            (((3, 4),), {"dim": dim, "keepdim": keepdim})
            for dim in ((0,), (0, 1))
            for keepdim in (False, True)
        ),
        complex=True,
    ),
)


def softmax_along(
    op: Any, name: str, input: Tensor, dim: Any, dtype: dtypes.dtype | None
) -> Tensor:
    """softmax or log_softmax of a tensor, checked, in another dtype where one is given."""
    if dtype is None and type(dim) is int and isinstance(input, Tensor):
        a = input._array
        # fast path
        if a.dtype.kind == "f" and 0 < a.ndim > dim >= -a.ndim:
            return op.call(input, dim=dim % a.ndim)
    input = as_dtype(require_tensor(input, name), dtype, name)
    if dim is None:
        raise TypeError(f'{name}() missing 1 required positional arguments: "dim"')
    number = normalize_dim(dim, input._array.ndim)
    kind = input.dtype
    if not kind.is_floating_point:
        if not input._array.size:  # empty tensors may have any dtype
            return F.clone(input)
        kernel = (
            f"{name}_lastdim_kernel_impl"
            if number >= input._array.ndim - 1
            else f"{name}_kernel_impl"
        )
        raise UnsupportedError(
            f"\"{kernel}\" not implemented for '{kind.scalar_type_name}'",
            hint="convert first: x.float()",
        )
    return op.call(input, dim=number)


@public(methods="=", out="same", namespace="torch special")
@numpy_names
def softmax(input: Tensor, dim: int, dtype: dtypes.dtype | None = None) -> Tensor:
    """`exp(x) / sum(exp(x))` along `dim`, computed without overflow.

    Args:
        input: floating point, any shape (other types with `dtype=`).
        dim: the dimension over which the results sum to 1.
        dtype: convert to this type first. Default: None.

    Raises:
        IndexError: `dim` is out of range. RuntimeError: integers without `dtype`.

    >>> import pellucid as torch
    >>> torch.softmax(torch.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return softmax_along(softmax_op, "softmax", input, dim, dtype)


@public(methods="=", out="same", namespace="torch special")
@numpy_names
def log_softmax(input: Tensor, dim: int, dtype: dtypes.dtype | None = None) -> Tensor:
    """log(softmax(x)) along `dim`, without the loss of precision of the two steps.

    Args:
        input: floating point, any shape (other types with `dtype=`).
        dim: the dimension over which the probabilities sum to 1.
        dtype: convert to this type first. Default: None.

    Raises:
        IndexError: `dim` is out of range. RuntimeError: integers without `dtype`.

    >>> import pellucid as torch
    >>> torch.log_softmax(torch.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return softmax_along(log_softmax_op, "log_softmax", input, dim, dtype)


@public(
    methods="=",
    out="cast: logsumexp(): Expected floating point type for result tensor, but got: {given}",
    namespace="torch special",
)
@numpy_names
def logsumexp(input: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """Logarithm of the sum of exponentials, `log(sum(exp(x)))`, without overflow.

    Args:
        input: any shape.
        dim: a dimension or several.
        keepdim: keep the reduced dimensions with size 1. Default: False.

    >>> import pellucid as torch
    >>> torch.logsumexp(torch.tensor([1000.0, 1000.0]), dim=0)
    tensor(1000.6932)
    """
    input = to_float(require_tensor(input, "logsumexp"))
    if dim is None:
        raise TypeError(
            "logsumexp(): argument 'dim' (position 2) must be tuple of ints, not NoneType"
        )
    dims = dims_of(dim, input._array.ndim, "logsumexp")
    if not keepdim and isinstance(dim, (tuple, list)) and not dim and 0 not in input._array.shape:
        _no_dimensions(input._array.ndim)
    return F.logsumexp(input, dim=dims, keepdim=keepdim)


def _no_dimensions(ndim: int) -> None:
    """Refuse an empty list of dimensions, which means all dimensions in other reductions. PyTorch
    refuses it because the maxima that it adds keep their dimensions.
    """
    if ndim:
        raise OperationError(
            f"output with shape [] doesn't match the broadcast shape {[1] * ndim}",
            hint="name the dimensions: dim=tuple(range(x.ndim))",
        )
