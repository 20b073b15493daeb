"""Variance and standard deviation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...arrays import numpy_cpu
from ...arrays.formulas import planned
from ...arrays.native import FEW, kernels
from ...core import tracing
from ...core.bind import wrap
from ...core.display.refusals import Asked
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import public
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, DtypeError, UnsupportedError, type_name, warn
from .._rules import is_direct, require_tensor
from .._samples import cases
from ._reduction import count, dims_of, numpy_names, restore, slope_tangent, spread
from .basic import OVER_DIMS, mean_op, reduced_aval


# ---- variance ---------------------------------------------------------------------------------
def _spread(xp: Any, x: Any, dim: Any, correction: Any, keepdim: bool, root: bool) -> Any:
    """Return the variance, or with `root` the standard deviation, which may be finite even if the
    variance overflows.
    """
    kind = x.dtype
    n = count(x.shape, dim)
    if n > correction and n and type(x) is np.ndarray:
        made = xp.variance(x, dim, correction, keepdim)
        # If squares overflow or underflow, they may not do so in float64.
        if made is not None and _well_held(made[0]):
            return np.sqrt(made[0]) if root else made[0]
    if kind.kind == "W":
        x = x.astype(np.complex64)
    wide = x.astype(np.float64) if kind == np.float32 or kind in xp.ACCUMULATE else x
    real = wide.real.dtype.type
    if n == 0:
        made = xp.sum(abs(wide), dim, None, None, keepdim) * real(np.nan)
    else:
        away = wide - xp.sum(wide, dim, None, None, True) / real(n)
        square = away * away if kind.kind not in "cW" else away.real**2 + away.imag**2
        made = xp.sum(square, dim, None, None, keepdim)
        if n > correction:
            made = made / real(n - correction)
        else:
            with np.errstate(all="ignore"):
                made = made / real(0)
    made = xp.sqrt(made) if root else made
    return made.astype(dtypes.BY_NUMPY[kind].to_real().numpy, copy=False)


def _few(name: str) -> Any:
    """Return the function that prepares a fast path for few elements, with the bits of the rule."""

    def prepare(shape: Any, kind: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
        if math.prod(shape) > FEW:
            return None
        return kernels.pointwise.few.spread(name, shape, kind, dim, correction, keepdim)

    return prepare


_ONE_VALUE = "one value has no standard deviation: pass `unbiased=False` or use more values"


def _var(xp: Any, x: Any, *, dim: Any, correction: Any, keepdim: bool) -> Any:
    return _spread(xp, x, dim, correction, keepdim, False)


# the range in which a float32 variance has lost no digits
_LEAST, _MOST = 2.0**-100, 2.0**120


def _well_held(variances: np.ndarray) -> bool:
    """Return whether all variances are in that range."""
    if variances.size > 16:
        return bool(((variances > _LEAST) & (variances < _MOST)).all())
    for v in variances.ravel().tolist():
        if not _LEAST < v < _MOST:
            return False
    return True


def _var_grad(
    F: Any, g: Any, input: Any, input_shape: Any, dim: Any, correction: Any, keepdim: bool
) -> Any:
    # below 0 the value is infinite, but as in PyTorch the formula stays the same
    left = count(input_shape, dim) - correction
    away = input - F.mean(input, dim=dim, keepdim=True)
    return restore(g * (2.0 / left if left else math.inf), input_shape, dim, keepdim) * away


def _onnx_var(c: Any, root: bool) -> Any:
    dims = c.dims
    shape = c.shape()
    axes = tuple(range(len(shape))) if dims is None else dims
    count = math.prod(c.fixed([shape[d] for d in axes]))
    if count - c.p["correction"] <= 0:
        raise c.refuse("of too few values")
    d = c.emit("Sub", c[0], c.reduce("ReduceMean", c[0], axes, True))
    total = c.reduce("ReduceSum", c.emit("Mul", d, d), axes, c.p["keepdim"])
    out = c.emit("Div", total, c.number(count - c.p["correction"]))
    return c.emit("Sqrt", out) if root else out


def _expand_var(e: Any, x: Any) -> bool:
    dims, out, correction = e.dims, e.i.outputs[0], e.i.params["correction"]
    left = math.prod(x.shape[d] for d in dims) - correction
    if left <= 0 or not e.floats(x):
        return False
    if x.dtype == "float32":  # square in float64, which neither overflows nor underflows
        x = e.new("cast", x, dtype="float64")
    away = e.new("sub", x, e.reduced("mean", x, dims))
    squares = e.new("mul", away, away)
    total = e.new("sum", squares, shape=out.shape, dim=dims, keepdim=e.i.params["keepdim"])
    last = (
        ("div", total, float(left))
        if e.i.op == "var"
        else ("sqrt", e.new("div", total, float(left)))
    )
    if total.dtype == out.dtype:
        e.give(*last)
    else:
        e.give("cast", e.new(*last), dtype=np.dtype(out.dtype))
    return True


defop(
    "var",
    "input",
    expand=_expand_var,
    forward=planned(_few("var"), _var, widens="float32"),
    vjp={"input": _var_grad},
    aval=lambda x, dim, correction, keepdim: (
        reduced_aval(x, dim=dim, keepdim=keepdim)[0],
        dtypes.BY_NUMPY[x[1]].to_real().numpy,
    ),
    batch="dims",
    onnx=lambda c: _onnx_var(c, False),
    advice=_ONE_VALUE,
    samples=cases(
        *((shapes, {**params, "correction": 1}) for shapes, params in OVER_DIMS), complex=True
    ),
)


def _std(xp: Any, x: Any, *, dim: Any, correction: Any, keepdim: bool) -> Any:
    return _spread(xp, x, dim, correction, keepdim, True)


def _std_grad(
    F: Any, g: Any, input: Any, out: Any, input_shape: Any, dim: Any, correction: Any, keepdim: bool
) -> Any:
    # If all elements are equal, the gradient is defined as 0, as in PyTorch, instead of 0/0.
    if F.raw and type(out) is not np.ndarray:  # while tracing: they may be equal in another call
        slope = F.where(out == 0, 0.0, g / (out * 2.0))
        return _var_grad(F, slope, input, input_shape, dim, correction, keepdim)
    values = out if F.raw else out._array
    flat = values == 0
    if not flat.any():
        slope = g / (out * 2.0)
    elif F.raw:
        slope = np.where(flat, values.dtype.type(0), g / (out * 2.0)).astype(values.dtype)
    else:
        slope = (g / (out * 2.0)).masked_fill(out == 0, 0)
    return _var_grad(F, slope, input, input_shape, dim, correction, keepdim)


def _std_tangent(
    F: Any, tangents: Any, input: Any, out: Any, dim: Any, correction: Any, keepdim: bool
) -> Any:
    one = F.full(shape=out._array.shape, value=1, dtype=out._array.dtype)
    slope = _std_grad(F, one, input, out, input._array.shape, dim, correction, keepdim)
    return slope_tangent(F, slope, tangents[0], dim, keepdim)


defop(
    "std",
    "input",
    expand=_expand_var,
    forward=planned(_few("std"), _std, widens="float64"),
    vjp={"input": _std_grad},
    jvp=_std_tangent,
    aval=lambda x, dim, correction, keepdim: (
        reduced_aval(x, dim=dim, keepdim=keepdim)[0],
        dtypes.BY_NUMPY[x[1]].to_real().numpy,
    ),
    batch="dims",
    onnx=lambda c: _onnx_var(c, True),
    advice=_ONE_VALUE,
    samples=cases(
        *((shapes, {**params, "correction": 1}) for shapes, params in OVER_DIMS), complex=True
    ),
)


def _spread_arguments(
    name: str, input: Any, dim: Any, unbiased: Any, correction: Any
) -> tuple[Any, Any]:
    """Return (dims, correction) for both forms: `var(x, dim, correction=1)`, and `var(x, unbiased)`
    or `var(x, dim, unbiased)`.
    """
    a = require_tensor(input, name)._array
    if a.dtype.kind not in "fcW" and not input.dtype.is_floating_point:
        functions = name if name.endswith("_mean") else "std and var"
        raise DtypeError(f"{functions} only support floating point and complex dtypes")
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None:
        if not isinstance(unbiased, bool):
            raise ArgumentTypeError(
                f"{name}(): argument 'unbiased' must be bool, not {type_name(unbiased)}"
            )
        if correction is not _DEFAULT:
            raise ArgumentTypeError(f"{name}() received both 'unbiased' and 'correction'")
        correction = int(unbiased)
    correction = 1 if correction is _DEFAULT or correction is None else correction
    dims = dims_of(dim, a.ndim, name)
    if (a.size and count(a.shape, dims)) <= correction:
        warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            "(input numel divided by output numel).",
            UserWarning,
        )
    return dims, correction


class _Unset:
    """The default of `correction`: 1, but distinct from an explicit 1, which is refused together
    with `unbiased`.
    """

    def __repr__(self) -> str:
        return "1"


_DEFAULT: Any = _Unset()


def _real(out: Tensor, args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
    input = args[0] if args else given.get("input")
    if out.dtype.is_complex and isinstance(input, Tensor) and input.dtype.is_floating_point:
        raise UnsupportedError(f"\"std_cpu\" not implemented for '{out.dtype.scalar_type_name}'")
    return {}


@public(methods="=", out=Asked("True", _real))
@numpy_names
def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = _DEFAULT,
) -> Tensor:
    """Variance of all elements, or along dimensions: the squared distances from the mean, divided
    by the count minus `correction`.

    Args:
        input: any shape, a floating-point or complex dtype. The result is real.
        dim: a dimension or several. Default: all of them.
        keepdim: keep the reduced dimensions with size 1. Default: False.
        unbiased: an older form of `correction`: True for 1, False for 0.
        correction: subtracted from the count. 0 gives the variance of a whole population. Default:
            1.

    >>> import pellucid as torch
    >>> torch.var(torch.tensor([1.0, 2.0, 3.0, 6.0]))
    tensor(4.6667)
    """
    dims, correction = _spread_arguments("var", input, dim, unbiased, correction)
    return F.var(input, dim=dims, correction=correction, keepdim=keepdim)


@public(methods="=", out=Asked("True", _real))
@numpy_names
def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = _DEFAULT,
) -> Tensor:
    """Standard deviation of all elements, or along dimensions.

    Args:
        input: any shape, a floating-point or complex dtype. The result is real.
        dim: a dimension or several. Default: all of them.
        keepdim: keep the reduced dimensions with size 1. Default: False.
        unbiased: an older form of `correction`: True for 1, False for 0.
        correction: subtracted from the count. 0 gives the deviation of a whole population. Default:
            1.

    >>> import pellucid as torch
    >>> torch.std(torch.tensor([1.0, 2.0, 3.0]), correction=0)
    tensor(0.8165)
    """
    dims, correction = _spread_arguments("std", input, dim, unbiased, correction)
    return F.std(input, dim=dims, correction=correction, keepdim=keepdim)


def _and_mean(name: str, title: str, forward: Any, gradient: Any) -> Any:
    """Return an operation (spread, mean), which is a single node in PyTorch's graph."""
    alone = _few(name)

    def few(shape: Any, kind: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
        spread = alone(shape, kind, dim, correction, keepdim)
        mean = spread and kernels.pointwise.few.function("mean", shape, kind, dim, keepdim)
        return mean and (lambda x: (spread(x), mean(x)))

    one = defop(
        f"{name}_mean",
        "input",
        forward=planned(
            few,
            lambda xp, x, *, dim, correction, keepdim: (
                forward(xp, x, dim=dim, correction=correction, keepdim=keepdim),
                xp.mean(x, dim, keepdim),
            ),
            widens="float32" if name == "var" else "",
        ),
        vjp={"input": gradient},
        aval=lambda x, dim, correction, keepdim: [
            (reduced_aval(x, dim=dim, keepdim=keepdim)[0], dtypes.BY_NUMPY[x[1]].to_real().numpy),
            reduced_aval(x, dim=dim, keepdim=keepdim),
        ],
        outputs=2,
        batch="dims",
        grad_name=title,
        advice=_ONE_VALUE,
        onnx=lambda c: (_onnx_var(c, name == "std"), c.reduction("ReduceMean")),
        samples=cases(*((shapes, {**params, "correction": 1}) for shapes, params in OVER_DIMS)),
    )

    def call(input: Tensor, dims: Any, correction: Any, keepdim: bool) -> Any:
        if tracing.tracer():  # in compiled programs, two reductions share a loop
            return getattr(F, name)(
                input, dim=dims, correction=correction, keepdim=keepdim
            ), mean_op.call(input, dim=dims, keepdim=keepdim)
        return one.call(input, dim=dims, correction=correction, keepdim=keepdim)

    return call


def _mean_part(F: Any, g: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    return spread(F, g / float(count(shape, dim)), shape, dim, keepdim)


def _var_mean_grad(
    F: Any, g: Any, input: Any, input_shape: Any, dim: Any, correction: Any, keepdim: bool
) -> Any:
    return _var_grad(F, g[0], input, input_shape, dim, correction, keepdim) + _mean_part(
        F, g[1], input_shape, dim, keepdim
    )


def _std_mean_grad(
    F: Any,
    g: Any,
    input: Any,
    out0: Any,
    input_shape: Any,
    dim: Any,
    correction: Any,
    keepdim: bool,
) -> Any:
    return _std_grad(F, g[0], input, out0, input_shape, dim, correction, keepdim) + _mean_part(
        F, g[1], input_shape, dim, keepdim
    )


_var_mean = _and_mean("var", "VarMean", _var, _var_mean_grad)
_std_mean = _and_mean("std", "StdMean", _std, _std_mean_grad)


@public()
@numpy_names
def var_mean(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = _DEFAULT,
) -> Any:
    """Variance and mean in one call, as (var, mean); see `var` for the arguments.

    >>> import pellucid as torch
    >>> torch.var_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    dims, correction = _spread_arguments("var_mean", input, dim, unbiased, correction)
    few = input._array.size <= FEW
    if not few and is_direct(input) and count(input._array.shape, dims) > correction:
        made = numpy_cpu.variance(input._array, dims, correction, keepdim)
        if made is not None and _well_held(made[0]):
            return wrap(made[0]), wrap(made[1])
    return _var_mean(input, dims, correction, keepdim)


@public()
@numpy_names
def std_mean(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = _DEFAULT,
) -> Any:
    """Standard deviation and mean in one call, as (std, mean); see `std` for the arguments.

    >>> import pellucid as torch
    >>> torch.std_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    dims, correction = _spread_arguments("std_mean", input, dim, unbiased, correction)
    return _std_mean(input, dims, correction, keepdim)
