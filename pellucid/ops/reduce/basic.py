"""Sums and similar reductions over dimensions: sum, mean, prod, amax, amin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...arrays.formulas import planned
from ...arrays.native import of_few
from ...core import tracing
from ...core.display.refusals import Asked
from ...core.inplace import into
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import method, public
from ...core.tape import titled
from ...core.tensor import Tensor
from ...errors import (
    ArgumentTypeError,
    DimensionError,
    DtypeError,
    OperationError,
    UnsupportedError,
    type_name,
)
from ...shapes import broadcast_shapes, normalize_dim, reduce_shape
from .. import return_types
from .._rules import require_tensor
from .._samples import cases
from ._reduction import (
    Dims,
    as_dtype,
    count,
    dims_of,
    everyday_dim,
    listed,
    numpy_names,
    restore,
    spread,
)


def reduced_aval(x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
    """Shape and dtype of a reduction over `dim` (all dimensions for None) that keeps the dtype."""
    return reduce_shape(x[0], range(len(x[0])) if dim is None else dim, keepdim), x[1]


OVER_DIMS = tuple(
    (((2, 3, 4),), {"dim": dim, "keepdim": keepdim})
    for dim in (None, (1,), (0, 2))
    for keepdim in (False, True)
)
_OVER_ALL: Any = ((((3, 4),), {}), (((),), {}))


def _sum_aval(x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
    return reduced_aval(x, dim=dim, keepdim=keepdim)[0], np.dtype(np.int64) if x[
        1
    ].kind in "biu" else x[1]


def _batch_sums(b: Any) -> Any:
    """Batching rule of sums: a number is summed as a vector of one."""
    return b.along_dims() if b.ndim else b.call(b.F.unsqueeze(b[0], dim=1), dim=(1,), keepdim=False)


def _batch_whole(name: str) -> Any:
    """Return the batching rule of a reduction of everything: reduce each sample with the operation
    `name`, which takes dimensions.
    """

    def batch(b: Any) -> Any:
        x = b[0] if b.ndim else b.F.unsqueeze(b[0], dim=1)
        return getattr(b.F, name)(x, dim=b.shifted(None) or (1,), keepdim=False)

    return batch


def _expand_sum(e: Any, x: Any) -> bool:
    """Lowering: cast booleans and narrow integers to int64 first."""
    if x.dtype not in ("bool", "int32") or e.i.outputs[0].dtype != "int64":
        return False
    e.give(e.i.op, e.new("cast", x, dtype="int64", shape=x.shape), **e.i.params)
    return True


sum_op = defop(
    "sum",
    "input",
    reduces="sum",
    expand=_expand_sum,
    forward=planned(
        of_few("sum"),
        lambda xp, x, *, dim=None, keepdim=False: xp.sum(x, dim, None, None, keepdim),
        widens="float32",
    ),
    aval=_sum_aval,
    vjp={"input": lambda F, g, input_shape, dim, keepdim: spread(F, g, input_shape, dim, keepdim)},
    jvp="linear",
    grad_name="SumBackward1",
    batch=_batch_sums,
    traits="passes",
    onnx=lambda c: c.reduction("ReduceSum"),
    samples=cases(*OVER_DIMS, complex=True),
    aten=lambda A, x, *, dim, keepdim: A.sum.dim_IntList(x, listed(dim), keepdim),
)

sum_all_op = defop(
    "sum_all",
    "input",
    reduces="sum",
    expand=_expand_sum,
    forward="sum",
    aval=_sum_aval,
    vjp={"input": lambda F, g, input_shape: F.expand(g, shape=input_shape)},
    jvp="linear",
    grad_name="Sum",
    batch=_batch_whole("sum"),
    traits="passes",
    title="sum",
    onnx=lambda c: c.reduction("ReduceSum"),
    samples=cases(*_OVER_ALL, complex=True),
    aten=lambda A, x: A.sum(x),
)


@public(methods="=", out="computes")
@numpy_names
def sum(
    input: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Sum of all elements, or along dimensions. Integers and bools give int64.

    Args:
        input: any shape and dtype.
        dim: a dimension or several. Default: all of them.
        keepdim: keep the reduced dimensions with size 1. Default: False.
        dtype: convert to this type first. Default: None.

    Raises:
        IndexError: `dim` is out of range. RuntimeError: `dim` names a dimension twice.

    >>> import pellucid as torch
    >>> torch.sum(torch.ones(2, 3), dim=1)
    tensor([3., 3.])
    """
    if dtype is not None:
        made = sum(as_dtype(require_tensor(input, "sum"), dtype, "sum"), dim, keepdim)
        return as_dtype(made, dtype, "sum")
    if dim is None and not keepdim:
        return sum_all_op.call(input)
    dims = dims_of(dim, require_tensor(input, "sum")._array.ndim, "sum")
    return sum_op.call(input, dim=dims, keepdim=keepdim)


mean_op = defop(
    "mean",
    "input",
    reduces="mean",
    forward=planned(
        of_few("mean"),
        lambda xp, x, *, dim=None, keepdim=False: xp.mean(x, dim, keepdim),
        widens="float32",
    ),
    aval=reduced_aval,
    vjp={
        "input": lambda F, g, input_shape, dim, keepdim: spread(
            F, g / float(count(input_shape, dim)), input_shape, dim, keepdim
        )
    },
    jvp="linear",
    grad_name="MeanBackward1",
    batch=_batch_sums,
    traits="passes",
    onnx=lambda c: c.reduction("ReduceMean"),
    advice="skip the empty case",
    samples=cases(*OVER_DIMS, complex=True),
    aten=lambda A, x, *, dim, keepdim: A.mean.dim(x, listed(dim), keepdim),
    overload="mean.dim",
)


mean_all_op = defop(
    "mean_all",
    "input",
    reduces="mean",
    forward="mean",
    aval=reduced_aval,
    vjp={
        "input": lambda F, g, input_shape: F.expand(
            g / float(count(input_shape, None)), shape=input_shape
        )
    },
    jvp="linear",
    grad_name="Mean",
    batch=_batch_whole("mean"),
    traits="passes",
    title="mean",
    onnx=lambda c: c.reduction("ReduceMean"),
    advice="skip the empty case",
    samples=cases(*_OVER_ALL, complex=True),
    aten=lambda A, x: A.mean(x),
    overload="mean.dim",
)


def _mean_written(out: Tensor, args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
    """Return the dtype for a mean written to `out=`: that of `out`, if both are floats."""
    input = args[0] if args else given.get("input")
    if not isinstance(input, Tensor):
        return {}
    over_all = len(args) < 2 and given.keys().isdisjoint(("dim", "axis"))
    if over_all and not dtypes.can_cast(input.dtype, out.dtype):
        raise DtypeError(
            f"mean.dtype_out(): input types can't be cast to the desired output type {out.dtype.scalar_type_name}"
        )
    floats = [t.dtype.is_floating_point or t.dtype.is_complex for t in (out, input)]
    return {"dtype": out.dtype} if all(floats) else {}


@public(methods="=", out=Asked("True", _mean_written))
@numpy_names
def mean(
    input: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Mean of all elements, or along dimensions.

    Args:
        input: any shape, a floating-point or complex dtype.
        dim: a dimension or several. Default: all of them.
        keepdim: keep the reduced dimensions with size 1. Default: False.
        dtype: convert to this type first. Default: None.

    Raises:
        RuntimeError: integers or bools, without `dtype`. IndexError: `dim` is out of range.

    >>> import pellucid as torch
    >>> torch.mean(torch.tensor([1.0, 2.0, 6.0]))
    tensor(3.)
    """
    if dtype is not None:
        input = as_dtype(require_tensor(input, "mean"), dtype, "mean")
    a = require_tensor(input, "mean")._array
    if a.dtype.kind not in "fcW" and not (kind := input.dtype).is_floating_point:
        where = "Optional dtype" if dtype is not None else "Input dtype"
        raise DtypeError(
            f"mean(): could not infer output dtype. {where} must be either a floating point or complex dtype. "
            f"Got: {kind.scalar_type_name}",
            hint="convert first: x.float().mean()",
        )
    if dim is None and not keepdim:
        return mean_all_op.call(input)
    return mean_op.call(input, dim=dims_of(dim, a.ndim, "mean"), keepdim=keepdim)


def _nansum(xp: Any, x: Any, *, dim: Any, keepdim: bool) -> Any:
    return xp.nansum(x, dim, keepdims=keepdim)


def _onnx_nansum(c: Any) -> Any:
    x = c.emit("Where", c.emit("IsNaN", c[0]), c.number(0), c[0])
    return c.reduce("ReduceSum", x, c.dims, c.p["keepdim"])


defop(
    "nansum",
    "input",
    forward=_nansum,
    aval=reduced_aval,
    vjp={
        "input": lambda F, g, input, input_shape, dim, keepdim: (
            spread(F, g, input_shape, dim, keepdim)
            * F.cast(input == input, dtype=g.dtype if F.raw else g._array.dtype)
        )
    },
    batch="dims",
    onnx=_onnx_nansum,
    samples=cases(*OVER_DIMS),
)


def _nansum_written(out: Tensor, args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
    """Return the dtype for a nansum written to `out=`. For floats, PyTorch's kernel writes only
    floats.
    """
    input = args[0] if args else given.get("input")
    if (
        isinstance(input, Tensor)
        and input.dtype.is_floating_point
        and not out.dtype.is_floating_point
    ):
        raise UnsupportedError(f"\"nansum_cpu\" not implemented for '{out.dtype.scalar_type_name}'")
    return {"dtype": out.dtype}


@public(methods="=", out=Asked("True", _nansum_written))
@numpy_names
def nansum(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None
) -> Tensor:
    """As `sum`, with NaN counted as 0.

    >>> import pellucid as torch
    >>> torch.nansum(torch.tensor([1.0, float("nan"), 2.0]))
    tensor(3.)
    """
    kind = require_tensor(input, "nansum").dtype
    if kind.is_complex:
        raise DtypeError("nansum on CPU does not support complex inputs")
    wanted = dtypes.check_dtype(dtype, "nansum") or kind
    if kind.is_floating_point and wanted.is_complex:
        raise UnsupportedError(f"\"nansum_cpu\" not implemented for '{wanted.scalar_type_name}'")
    if kind.is_floating_point and not wanted.is_floating_point:
        input = F.where(input == input, input, 0.0)
    input = as_dtype(input, dtype, "nansum")
    if not input.dtype.is_floating_point:
        return as_dtype(sum(input, dim, keepdim), dtype, "nansum")
    return F.nansum(input, dim=dims_of(dim, input._array.ndim, "nansum"), keepdim=keepdim)


def _nanmean_written(out: Tensor, args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
    input = args[0] if args else given.get("input")
    if isinstance(input, Tensor) and input.dtype.is_complex:
        raise DtypeError("nansum on CPU does not support complex inputs")
    if isinstance(input, Tensor) and not input.dtype.is_floating_point:
        raise DtypeError(
            "nanmean(): integral types and 'Bool' are not supported for nanmean, even for empty tensors."
        )
    return _nansum_written(out, args, given)


@public(methods="=", out=Asked("True", _nanmean_written))
@numpy_names
def nanmean(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None
) -> Tensor:
    """Mean of the elements that are not NaN, and NaN where all are.

    Args:
        input: any shape, a floating-point dtype.
        dim: a dimension or several. Default: all of them.
        keepdim: keep the reduced dimensions with size 1. Default: False.
        dtype: convert to this type first. Default: None.

    >>> import pellucid as torch
    >>> torch.nanmean(torch.tensor([1.0, float("nan"), 2.0]))
    tensor(1.5000)
    """
    kind = require_tensor(input, "nanmean").dtype
    if not (kind.is_floating_point or kind.is_complex):
        raise DtypeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            + kind.scalar_type_name
        )
    wanted = dtypes.check_dtype(dtype, "nanmean") or kind
    if not (wanted.is_floating_point or wanted.is_complex):
        raise OperationError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. Got: "
            + wanted.scalar_type_name
        )
    numbers = sum(input.detach() == input.detach(), dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / numbers


def _prod(xp: Any, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
    return xp.prod(x, dim, keepdims=keepdim)


def _prod_grad(
    F: Any, g: Any, input: Any, out: Any, input_shape: Any, dim: Any, keepdim: bool
) -> Any:
    if dim is None or not input_shape:
        if not input_shape:
            return g
        flat = (math.prod(input_shape),)
        return _prod_grad(
            F, g.reshape((1,)), input.reshape(flat), out.reshape((1,)), flat, (0,), True
        ).reshape(input_shape)
    g, out = restore(g, input_shape, dim, keepdim), restore(out, input_shape, dim, keepdim)
    values = input if F.raw else input._array
    if not (values == 0).any():
        return g * F.conj(out / input)
    return g * F.conj(_prod_of_others(F, input, dim[0], input_shape))


def _prod_of_others(F: Any, x: Any, dim: int, shape: tuple[int, ...]) -> Any:
    """Return, for every element, the product of all others along `dim`, without division, as some
    are 0.
    """
    if F.raw:
        xp = F.xp
        x = xp.moveaxis(x, dim, -1)
        left, right = xp.ones_like(x), xp.ones_like(x)
        xp.cumprod(x[..., :-1], -1, out=left[..., 1:])
        xp.cumprod(x[..., :0:-1], -1, out=right[..., -2::-1])
        return xp.moveaxis(left * right, -1, dim)
    # Recorded: n copies of the line, with element k of copy k replaced by 1. This is quadratic, but
    # differentiable to any order.
    n = shape[dim]
    x = x.transpose(dim, -1)
    hole = F.full(shape=(n, n), value=0, dtype=x._array.dtype)
    hole._array = np.eye(n, dtype=x._array.dtype)
    lines = x.unsqueeze(-2) * (1 - hole) + hole
    return F.prod(lines, dim=(lines._array.ndim - 1,), keepdim=False).transpose(dim, -1)


def _with_zeros(x: Any) -> Any:
    x = x.copy()
    x.flat[::3] = 0
    return (x,)


_LINES = (
    (((3, 4),), {"dim": (1,), "keepdim": False}),
    (((2, 3),), {"dim": None, "keepdim": False}),
)
prod_op = defop(
    "prod",
    "input",
    reduces="prod",
    forward=planned(of_few("prod"), _prod, widens="float32"),
    aval=_sum_aval,
    vjp={"input": _prod_grad},
    batch=_batch_sums,
    autocast="float32",
    onnx=lambda c: c.reduction("ReduceProd"),
    samples=lambda rng: (
        *cases(*_LINES, complex=True)(rng),
        *cases(*_LINES, make=_with_zeros)(rng),
    ),
)


@public(methods="=", out="computes")
@numpy_names
def prod(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Product of all elements, or along one dimension. Integers and bools give int64.

    Args:
        input: any shape and dtype.
        dim: one dimension. Default: all of them.
        keepdim: keep the reduced dimension with size 1. Default: False.
        dtype: convert to this type before multiplying. Default: None.

    >>> import pellucid as torch
    >>> torch.prod(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1)
    tensor([ 2., 12.])
    """
    if isinstance(dim, (tuple, list)):
        raise ArgumentTypeError(
            f"prod(): argument 'dim' (position 2) must be int, not {type_name(dim)}"
        )
    input = as_dtype(require_tensor(input, "prod"), dtype, "prod")
    result = prod_op.call(input, dim=dims_of(dim, input._array.ndim, "prod"), keepdim=keepdim)
    return as_dtype(result if dim is None else titled(result, "ProdBackward1"), dtype, "prod")


@method()
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """The tensor summed down to `size`, from which it could have been expanded.

    >>> import pellucid as torch
    >>> torch.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    shape = require_tensor(self, "sum_to_size")._array.shape
    target = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    if len(target) > len(shape) or broadcast_or_none(target, shape) != shape:
        raise OperationError(
            f"size {{{list(target)}}} is not expandable to size {{{list(shape)}}}."
        )
    if not target:
        return sum_all_op.call(self)
    extra = len(shape) - len(target)
    dims = (
        *range(extra),
        *(extra + d for d, n in enumerate(target) if n == 1 and shape[extra + d] != 1),
    )
    if not dims:
        return self
    total = sum_op.call(self, dim=dims, keepdim=True).reshape(target)
    return titled(total, "SumBackward1", of=(self,))


def broadcast_or_none(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """The common shape, or None."""
    try:
        return broadcast_shapes(a, b)
    except RuntimeError:
        return None


# ---- largest and smallest, gradient shared among ties -----------------------------------------
def _extreme_grad(
    F: Any, g: Any, input: Any, out: Any, input_shape: Any, dim: Any, keepdim: bool
) -> Any:
    g, out = restore(g, input_shape, dim, keepdim), restore(out, input_shape, dim, keepdim)
    if F.raw and type(out) is not np.ndarray:  # traced
        mask = (input == out).astype(out.dtype)
        dims = tuple(range(len(input_shape))) if dim is None else dim
        return g * (mask / F.sum(mask, dim=dims, keepdim=True)) if dims else g * mask
    values, top = (input, out) if F.raw else (input._array, out._array)
    mask = (values == top).astype(values.dtype)
    share = mask / np.asarray(mask.sum(axis=dim, keepdims=True)).astype(values.dtype)
    if not F.raw:
        from ...core.tensor import make_tensor

        share = make_tensor(share)
    return g * share


amax_op = defop(
    "amax",
    "input",
    reduces="max",
    forward=planned(
        of_few("max"), lambda xp, x, *, dim, keepdim: xp.max(x, dim, keepdim), widens="float32"
    ),
    aval=reduced_aval,
    vjp={"input": _extreme_grad},
    batch="dims",
    onnx=lambda c: c.reduction("ReduceMax"),
    samples=cases(*OVER_DIMS),
)
amin_op = defop(
    "amin",
    "input",
    reduces="min",
    forward=planned(
        of_few("min"), lambda xp, x, *, dim, keepdim: xp.min(x, dim, keepdim), widens="float32"
    ),
    aval=reduced_aval,
    vjp={"input": _extreme_grad},
    batch="dims",
    onnx=lambda c: c.reduction("ReduceMin"),
    samples=cases(*OVER_DIMS),
)


def _shared_grad(F: Any, g: Any, input: Any, out: Any, input_shape: Any) -> Any:
    value = out if F.raw else out._array
    if F.raw and type(value) is not np.ndarray:  # traced
        same = F.where(out == out, input == out, input != input)
        mask = F.cast(same, dtype=out.dtype)
        dims = tuple(range(len(input_shape)))
        return g * (mask / F.sum(mask, dim=dims, keepdim=True)) if dims else g * mask
    if type(value) is np.ndarray and np.isnan(value):  # NaNs share the gradient, too
        return F.where(
            input == input, 0.0, g / float(np.isnan(input if F.raw else input._array).sum())
        )
    return _extreme_grad(F, g, input, out, input_shape, None, False)


def whole(
    name: str, onnx: Any = None, forward: Any = None, host: bool = False, reduces: str = ""
) -> Any:
    """The largest, smallest or median element of all; those that are equal to it share the
    gradient.
    """
    return defop(
        f"{name}_all",
        "input",
        forward=forward or name,
        host=host,
        reduces=reduces,
        aval=lambda x: ((), x[1]),
        vjp={"input": _shared_grad},
        grad_name=name.capitalize() if forward else f"{name.capitalize()}Backward1",
        onnx=onnx,
        aten=lambda A, x: getattr(A, name)(x),
        title=name,
        samples=cases(*_OVER_ALL),
    )


max_all_op = whole("max", lambda c: c.reduction("ReduceMax"), reduces="max")
min_all_op = whole("min", lambda c: c.reduction("ReduceMin"), reduces="min")


def check_nonempty(name: str, shape: tuple[int, ...], dims: Any) -> None:
    """Refuse a reduction without neutral element over no elements."""
    if 0 not in shape:
        return
    if dims is None or len(dims) == len(shape):
        raise OperationError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
            "Specify the reduction dim with the 'dim' argument."
        )
    for d in dims:
        if shape[d] == 0:
            title = name if name == "aminmax" else f"{name}()"
            raise DimensionError(f"{title}: Expected reduction dim {d} to have non-zero size.")


def _checked_dims(name: str, input: Tensor, dim: Any) -> Any:
    a = require_tensor(input, name)._array
    shape = a.shape
    if 0 in shape:
        for d in (dim,) if isinstance(dim, int) else dim or ():
            number = normalize_dim(d, len(shape))
            if shape[number] == 0:
                title, shown = (name, number) if name == "aminmax" else (f"{name}()", d)
                raise DimensionError(
                    f"{title}: Expected reduction dim {shown} to have non-zero size."
                )
    if a.dtype.kind in "cW":
        if name == "aminmax" and not shape:
            raise DtypeError(f"aminmax not implemented for {input.dtype.scalar_type_name}")
        kernel = {"amax": "max_values_cpu", "amin": "min_values_cpu"}.get(name, "aminmax_cpu")
        raise UnsupportedError(f"\"{kernel}\" not implemented for '{input.dtype.scalar_type_name}'")
    dims = dims_of(None if dim == () else dim, len(shape), name)
    check_nonempty(name, shape, dims)
    return dims


def _extreme(op: Any, name: str, input: Tensor, dim: Any, keepdim: bool, out: Any = None) -> Tensor:
    dims = _checked_dims(name, input, dim)
    if out is None:
        return op.call(input, dim=dims, keepdim=keepdim)
    if isinstance(out, Tensor) and out.dtype is not input.dtype:
        raise DtypeError(
            f"Expected the dtype for input and out to match, but got {input.dtype.scalar_type_name} for input's dtype and "
            f"{out.dtype.scalar_type_name} for out's dtype."
        )
    return into(out, op.call(input, dim=dims, keepdim=keepdim), name)


@public(methods="=")
@numpy_names
def amax(
    input: Tensor, dim: Dims = (), keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The largest element along dimensions. Ties share the gradient evenly, unlike in `max`.

    Args:
        input: any shape, a real dtype.
        dim: a dimension or several. Default: all of them.
        keepdim: keep the reduced dimensions with size 1. Default: False.

    Raises:
        IndexError: a reduced dimension is empty, or out of range.

    >>> import pellucid as torch
    >>> torch.amax(torch.tensor([[1.0, 5.0], [7.0, 3.0]]), dim=1)
    tensor([5., 7.])
    """
    return _extreme(amax_op, "amax", input, dim, keepdim, out)


@public(methods="=")
@numpy_names
def amin(
    input: Tensor, dim: Dims = (), keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The smallest element along dimensions. Ties share the gradient evenly, unlike in `min`.

    Args:
        input: any shape, a real dtype.
        dim: a dimension or several. Default: all of them.
        keepdim: keep the reduced dimensions with size 1. Default: False.

    Raises:
        IndexError: a reduced dimension is empty, or out of range.

    >>> import pellucid as torch
    >>> torch.amin(torch.tensor([[1.0, 5.0], [7.0, 3.0]]), dim=0)
    tensor([1., 3.])
    """
    return _extreme(amin_op, "amin", input, dim, keepdim, out)


def _few_of_both(shape: Any, kind: Any, dim: Any, keepdim: bool) -> Any:
    least, most = (of_few(name)(shape, kind, dim, keepdim) for name in ("min", "max"))
    return least and most and (lambda x: (least(x), most(x)))


def _both_grad(
    F: Any, g: Any, input: Any, out0: Any, out1: Any, input_shape: Any, dim: Any, keepdim: bool
) -> Any:
    made = [
        _extreme_grad(F, of, input, out, input_shape, dim, keepdim)
        for of, out in zip(g, (out0, out1), strict=True)
        if of is not None
    ]
    return made[0] if len(made) == 1 else made[0] + made[1]


_aminmax_op = defop(
    "aminmax",
    "input",
    forward=planned(
        _few_of_both,
        lambda xp, x, *, dim, keepdim: (xp.min(x, dim, keepdim), xp.max(x, dim, keepdim)),
    ),
    aval=lambda x, dim=None, keepdim=False: [reduced_aval(x, dim=dim, keepdim=keepdim)] * 2,
    vjp={"input": _both_grad},
    outputs=2,
    packs="input out1 out0",
    shows={"dim": lambda dim: dim[0] if dim else None},
    batch="dims",
    onnx=lambda c: (c.reduction("ReduceMin"), c.reduction("ReduceMax")),
    samples=cases(*OVER_DIMS),
)
_aminmax_op.keep_none_grads = True
_aminmax = return_types.make("aminmax", "min max")


def _min_and_max(x: Tensor, dim: Any, keepdim: bool) -> Any:
    if tracing.tracer():  # in compiled programs, two reductions share a loop
        return amin_op.call(x, dim=dim, keepdim=keepdim), amax_op.call(x, dim=dim, keepdim=keepdim)
    return _aminmax_op.call(x, dim=dim, keepdim=keepdim)


@public(methods="=", out="same")
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The smallest and the largest element in one call, as (min, max).

    Args:
        input: any shape, a real dtype.
        dim: one dimension. Default: all of them.
        keepdim: keep the reduced dimension with size 1. Default: False.

    >>> import pellucid as torch
    >>> torch.aminmax(torch.tensor([3.0, 1.0, 2.0])).max
    tensor(3.)
    """
    number = everyday_dim(input, dim)
    if number >= 0:
        return _aminmax(*_min_and_max(input, (number,), keepdim))
    shape = require_tensor(input, "aminmax")._array.shape
    if dim is None and 0 in shape:
        raise OperationError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    dims = _checked_dims("aminmax", input, dim)
    return _aminmax(*_min_and_max(input, dims, keepdim))
