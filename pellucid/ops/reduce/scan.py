"""Running sums, products and extremes along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import config, dtypes
from ...arrays.formulas import planned
from ...arrays.native import kernels
from ...arrays.numpy_fast import positions
from ...core import tracing
from ...core.inplace import inplace_form
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import FUNCTIONS, METHODS, public
from ...core.tensor import Tensor, make_tensor
from ...errors import DimensionError, DtypeError, UnsupportedError
from ...shapes import normalize_dim
from .. import return_types
from .._rules import constant, require_tensor
from .._samples import cases
from ._reduction import as_dtype, everyday_dim, numpy_names


def _flip(F: Any, x: Any, dim: int) -> Any:
    if not F.raw:
        return x.flip(dim)
    return np.flip(x, dim) if type(x) is np.ndarray else F.flip(x, dims=(dim,))


def _in_order(x: Any) -> Any:
    """Return the elements in C order. Scans return contiguous results whatever the layout of their
    argument.
    """
    return np.ascontiguousarray(x) if type(x) is np.ndarray and x.ndim else x


def _cumsum(xp: Any, x: Any, *, dim: int) -> Any:
    kind, x = x.dtype, _in_order(x)
    if x.ndim == 0:
        return x.astype(np.int64) if kind.kind in "biu" else x.copy()
    return xp.cumsum(x, dim, np.int64 if kind.kind in "biu" else None)


def _scan_aval(x: Any, *, dim: int) -> Any:
    return x[0], np.dtype(np.int64) if x[1].kind in "biu" else x[1]


_ALONG = ((((3, 4),), {"dim": 0}), (((2, 5),), {"dim": 1}))


def _cumsum_grad(F: Any, g: Any, input_shape: Any, dim: int) -> Any:
    return _flip(F, F.cumsum(_flip(F, g, dim), dim=dim), dim) if input_shape else g


def _onnx_cumsum(c: Any) -> Any:
    x = c[0] if c.dtype == c.out_dtype else c.cast(c[0], c.out_dtype)
    return c.emit("CumSum", x, c.const(np.array(c.p["dim"], np.int64)))


cumsum_op = defop(
    "cumsum",
    "input",
    forward=planned(lambda *plan: kernels.ordering.scan.few("cumsum", *plan), _cumsum),
    aval=_scan_aval,
    vjp={"input": _cumsum_grad},
    jvp="linear",
    batch="dims",
    onnx=_onnx_cumsum,
    samples=cases(*_ALONG, complex=True),
)


def _cumprod(xp: Any, x: Any, *, dim: int) -> Any:
    kind, x = x.dtype, _in_order(x)
    if x.ndim == 0:
        return x.astype(np.int64) if kind.kind in "biu" else x.copy()
    return xp.cumprod(x, dim, np.int64 if kind.kind in "biu" else None)


def _cumprod_grad(F: Any, g: Any, input: Any, out: Any, input_shape: Any, dim: int) -> Any:
    if not input_shape:
        return g
    values = input if F.raw else input._array
    if (
        F.raw
        and type(values) is np.ndarray
        and type(g) is np.ndarray
        and values.dtype.kind == "f"
        and config.kernels
    ):
        made = kernels.ordering.scan.cumprod_backward(values, out, np.ascontiguousarray(g), dim)
        if made is not None:
            return made
    if not (values == 0).any():
        return _cumsum_grad(F, g * F.conj(out), input_shape, dim) / F.conj(input)
    # With a zero, replace the division by products that leave out one element: element k of line k
    # is set to 1.
    n = input_shape[dim]
    eye = np.eye(n, dtype=values.dtype)
    keep = np.triu(np.ones((n, n), values.dtype))  # element k takes part in results k, k+1, ...
    swap = (lambda t: F.xp.moveaxis(t, dim, -1)) if F.raw else (lambda t: t.movedim(dim, -1))
    back = (lambda t: F.xp.moveaxis(t, -1, dim)) if F.raw else (lambda t: t.movedim(-1, dim))
    eye, keep = constant(F, eye), constant(F, keep)
    x, g = swap(input), swap(g)
    wide = (*x.shape[:-1], 1, n)
    lines = F.cumprod(x.reshape(wide) * (1 - eye) + eye, dim=len(wide) - 1)
    return back(F.sum(g.reshape(wide) * F.conj(lines) * keep, dim=(len(wide) - 1,), keepdim=False))


def _with_zeros(x: Any) -> Any:
    x = x.copy()
    x.flat[::3] = 0
    return (x,)


cumprod_op = defop(
    "cumprod",
    "input",
    forward=planned(lambda *plan: kernels.ordering.scan.few("cumprod", *plan), _cumprod),
    aval=_scan_aval,
    vjp={"input": _cumprod_grad},
    batch="dims",
    samples=lambda rng: (
        *cases(*_ALONG, complex=True)(rng),
        *cases(*_ALONG, make=_with_zeros)(rng),
    ),
)


@public(methods="=", inplace="=", out="computes")
@numpy_names
def cumsum(input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """The running sum along `dim`: `out[i] = input[0] + ... + input[i]`; integers and bools give
    int64.

    Args:
        input: any shape and dtype.
        dim: the dimension.
        dtype: convert to this type before adding. Default: None.

    Raises:
        IndexError: `dim` is out of range.

    >>> import pellucid as torch
    >>> torch.cumsum(torch.tensor([1, 2, 3]), dim=0)
    tensor([1, 3, 6])
    """
    number = everyday_dim(input, dim)
    if number >= 0 and dtype is None:
        return cumsum_op.call(input, dim=number)
    input = as_dtype(require_tensor(input, "cumsum"), dtype, "cumsum")
    if dtype is dtypes.bool_ and input._array.size:
        raise UnsupportedError("\"cumsum_out_cpu\" not implemented for 'Bool'")
    made = cumsum_op.call(input, dim=normalize_dim(dim, input._array.ndim))
    return as_dtype(made, dtype, "cumsum")


@public(methods="=", inplace="=", out="computes")
@numpy_names
def cumprod(input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Running product along `dim`; integers and bools give int64.

    Args:
        input: any shape and dtype.
        dim: the dimension.
        dtype: convert to this type before multiplying. Default: None.

    >>> import pellucid as torch
    >>> torch.cumprod(torch.tensor([1, 2, 3]), dim=0)
    tensor([1, 2, 6])
    """
    input = as_dtype(require_tensor(input, "cumprod"), dtype, "cumprod")
    if dtype is dtypes.bool_ and input._array.size:
        raise UnsupportedError("\"cumprod_out_cpu\" not implemented for 'Bool'")
    made = cumprod_op.call(input, dim=normalize_dim(dim, input._array.ndim))
    return as_dtype(made, dtype, "cumprod")


def _accumulated_in_place(function: Any) -> None:
    """Define the in-place method of a scan, which accumulates in the tensor's own dtype."""

    def within(self: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
        if dtype is not None and dtype is not self.dtype:
            normalize_dim(dim, self._array.ndim)
            raise DtypeError(
                f"Bad in-place call: input tensor dtype {self.dtype.c_name} and output tensor dtype {dtype.c_name} should match"
            )
        return function(self, dim, dtype=None if self.dtype.is_floating_point else self.dtype)

    within.__name__, within.__doc__ = function.__name__, function.__doc__
    name = function.__name__ + "_"
    METHODS[name] = FUNCTIONS["torch"][name] = inplace_form(numpy_names(within), name)


_accumulated_in_place(cumsum)
_accumulated_in_place(cumprod)


# ---- running extremes -------------------------------------------------------------------------
def _running(x: Any, dim: int, better: Any) -> Any:
    """Return the running extreme and the index of its last occurrence so far. After a NaN, it stays
    NaN.
    """
    if x.ndim == 0:
        return x.copy(), np.zeros((), np.int64)
    x = _in_order(x)
    if type(x) is np.ndarray and config.kernels:
        made = kernels.ordering.scan.extremes(x, dim, better is np.maximum)
        if made is not None:
            return made
    values = better.accumulate(x, dim)
    here = x == values
    if x.dtype.kind not in "biu":
        here |= x != x
    places = here * positions(x.shape[dim], x.ndim, dim)
    return values, np.maximum.accumulate(places, dim, None, places)


def _running_grad(F: Any, g: Any, out1: Any, input_shape: Any, dim: int) -> Any:
    g = g[0]
    return F.put_along(g, out1, shape=input_shape, dim=dim, unique=False) if input_shape else g


def _running_aval(x: Any, *, dim: int) -> Any:
    return [x, (x[0], np.dtype(np.int64))]


cummax_op = defop(
    "cummax",
    "input",
    packs="input out1",
    host=True,
    forward=planned(
        lambda *plan: kernels.ordering.scan.few("cummax", *plan),
        lambda xp, x, *, dim: _running(x, dim, np.maximum),
        widens="float32",
    ),
    outputs=2,
    aval=_running_aval,
    vjp={"input": _running_grad},
    batch="dims",
    samples=cases(*_ALONG),
)
cummin_op = defop(
    "cummin",
    "input",
    packs="input out1",
    host=True,
    forward=planned(
        lambda *plan: kernels.ordering.scan.few("cummin", *plan),
        lambda xp, x, *, dim: _running(x, dim, np.minimum),
        widens="float32",
    ),
    outputs=2,
    aval=_running_aval,
    vjp={"input": _running_grad},
    batch="dims",
    samples=cases(*_ALONG),
)
_cummax, _cummin = (
    return_types.make("cummax", "values indices"),
    return_types.make("cummin", "values indices"),
)


def _real_dim(input: Any, name: str, dim: int) -> int:
    number = everyday_dim(input, dim)
    if number >= 0:
        return number
    if require_tensor(input, name).dtype.is_complex and input._array.size:
        raise UnsupportedError(
            f"\"{name}_cpu\" not implemented for '{input.dtype.scalar_type_name}'"
        )
    if not input._array.ndim and dim not in (0, -1):
        raise DimensionError(f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}")
    return normalize_dim(dim, input._array.ndim)


@public(methods="=", out="expected scalar_type {wanted} but found {given}")
@numpy_names
def cummax(input: Tensor, dim: int) -> Any:
    """Running maximum along `dim`, and the index where each maximum was found.

    Args:
        input: any shape, a real dtype.
        dim: the dimension.

    Returns:
        (values, indices).

    >>> import pellucid as torch
    >>> torch.cummax(torch.tensor([1.0, 3.0, 2.0]), dim=0).values
    tensor([1., 3., 3.])
    """
    dim = _real_dim(input, "cummax", dim)
    return return_types.packed(_cummax, cummax_op.call(input, dim=dim))


@public(methods="=", out="expected scalar_type {wanted} but found {given}")
@numpy_names
def cummin(input: Tensor, dim: int) -> Any:
    """Running minimum along `dim`, and the index where each minimum was found.

    Args:
        input: any shape, a real dtype.
        dim: the dimension.

    Returns:
        (values, indices).

    >>> import pellucid as torch
    >>> torch.cummin(torch.tensor([2.0, 3.0, 1.0]), dim=0).values
    tensor([2., 2., 1.])
    """
    dim = _real_dim(input, "cummin", dim)
    return return_types.packed(_cummin, cummin_op.call(input, dim=dim))


# ---- running log-sum-exp ----------------------------------------------------------------------
def _logcumsumexp(xp: Any, x: Any, *, dim: int) -> Any:
    if x.ndim == 0 or x.size == 0:
        return x.copy()
    kind, x = x.dtype, _in_order(x)
    if kind.kind in "cW":
        return _complex_logcumsumexp(x, dim)
    wide = x.astype(xp.ACCUMULATE[kind]) if kind in xp.ACCUMULATE else x
    return np.logaddexp.accumulate(wide, dim).astype(kind, copy=False)


def _complex_logcumsumexp(x: Any, dim: int) -> Any:
    # Combine sums of 1, 2, 4 ... neighbors. The larger one is factored out each time, so that no
    # term is lost next to a far larger one.
    out = np.moveaxis(x.copy(), dim, 0)
    out[np.isnan(out)] = complex(np.nan, np.nan)
    out[np.isneginf(out.real) & ~np.isnan(out)] = -np.inf  # the imaginary part means nothing then
    step = 1
    while step < len(out):
        out[step:] = _complex_logaddexp(out[:-step], out[step:])
        step *= 2
    return np.ascontiguousarray(np.moveaxis(out, 0, dim))


def _complex_logaddexp(a: Any, b: Any) -> Any:
    """Return log(exp(a) + exp(b)): the larger one plus log1p of the exponential of their
    difference.
    """
    first = a.real < b.real
    low, high = np.where(first, a, b), np.where(first, b, a)
    ratio = np.exp(low - high)
    made = np.empty_like(high)
    made.real = 0.5 * np.log1p(ratio.real * (2 + ratio.real) + ratio.imag**2) + high.real
    made.imag = np.arctan2(ratio.imag, 1 + ratio.real) + high.imag
    same = np.isinf(low.real) & (low.real == high.real)
    made = np.where(same, np.where(low.real < 0, low, np.log(np.exp(low) + np.exp(high))), made)
    return np.where(np.isnan(a) | np.isnan(b), complex(np.nan, np.nan), made).astype(a.dtype)


def _logcumsumexp_grad(F: Any, g: Any, input: Any, out: Any, input_shape: Any, dim: int) -> Any:
    # d out_j / d x_i = exp(x_i - out_j) for i <= j. Sum positive and negative gradients separately,
    # as logarithms, so that exp(-out_j) cannot overflow.
    if not input_shape:
        return g
    input = F.conj(input)
    out = F.conj(out)
    if (input.dtype.kind if F.raw else input._array.dtype.kind) == "c":
        return _cumsum_grad(F, g * F.exp(-out), input_shape, dim) * F.exp(input)
    if not F.raw:
        return _logcumsumexp_grad_recorded(g, input, out, dim)
    total = None
    for sign in (1.0, -1.0):
        part = F.where(g * sign > 0, g * sign, 0.0).astype(out.dtype)
        made = F.exp(
            F.flip(F.logcumsumexp(F.flip(F.log(part) - out, dims=(dim,)), dim=dim), dims=(dim,))
            + input
        )
        total = made if total is None else total - made
    return total


def _logcumsumexp_grad_recorded(g: Any, input: Any, out: Any, dim: int) -> Any:
    """Return the same sum over all pairs (i, j): quadratic, but differentiable to any order."""
    x, out, g = (t.movedim(dim, -1) for t in (input, out, g))
    n = x._array.shape[-1]
    later = make_tensor(tracing.constant(np.triu(np.ones((n, n), bool))))  # row i, column j >= i
    gap = F.where(later, x.unsqueeze(-1) - out.unsqueeze(-2), -float("inf"))
    return (F.exp(gap) * g.unsqueeze(-2)).sum(-1).movedim(-1, dim)


logcumsumexp_op = defop(
    "logcumsumexp",
    "input",
    host=True,
    forward=_logcumsumexp,
    aval=lambda x, dim: x,
    vjp={"input": _logcumsumexp_grad},
    batch="dims",
    samples=cases(*_ALONG),
)


@public(methods="=", out="expected scalar_type {wanted} but found {given}")
@numpy_names
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """log(cumsum(exp(x))) along `dim`, without overflow.

    >>> import pellucid as torch
    >>> torch.logcumsumexp(torch.tensor([0.0, 0.0]), dim=0)
    tensor([0.0000, 0.6931])
    """
    kind = require_tensor(input, "logcumsumexp").dtype
    if not (kind.is_floating_point or kind.is_complex):
        raise UnsupportedError(
            f"\"logcumsumexp_out_cpu\" not implemented for '{kind.scalar_type_name}'"
        )
    return logcumsumexp_op.call(input, dim=normalize_dim(dim, input._array.ndim))
