"""Reductions that choose elements: max, min, argmax, median, mode, kthvalue, quantile. Their
gradient goes to the chosen elements.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import config, dtypes
from ...arrays import numpy_fast
from ...arrays.formulas import numbered, planned
from ...arrays.halves import HALVES, narrowed, widened
from ...arrays.native import kernels
from ...arrays.numpy_cpu import in_order
from ...arrays.numpy_extra import comparable
from ...arrays.scatter import put_few, take_few
from ...core import tracing
from ...core.display.refusals import Asked
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import FUNCTIONS, public
from ...core.tape import titled
from ...core.tensor import Tensor, make_tensor
from ...core.tracing import constant
from ...errors import (
    ArgumentTypeError,
    DimensionError,
    DtypeError,
    OperationError,
    UnsupportedError,
    type_name,
)
from ...shapes import broadcast_shapes, check_nonempty_reduction, moved, normalize_dim
from .. import return_types
from .._rules import full_precision, require_tensor
from .._samples import REAL, Sample, cases, draw
from ._order import check_fractions, places, quantile_spots
from ._reduction import everyday_dim, kept, numpy_names
from .basic import max_all_op, min_all_op, whole


# ---- elements by position along a dimension ---------------------------------------------------
def put_along_array(
    xp: Any, src: Any, index: Any, shape: tuple[int, ...], dim: int, unique: bool
) -> Any:
    """Zeros of `shape` with `src` added at positions `index` along `dim`."""
    if not shape:
        return src.copy().reshape(())
    out = xp.zeros(shape, src.dtype)
    if unique:
        if type(out) is np.ndarray:
            put_few(out, index, src, dim)
        else:
            xp.put_along_axis(out, index, src, dim)
        return out
    places = [xp.from_host(at) for at in np.ogrid[tuple(slice(n) for n in index.shape)]]
    places[dim] = index
    xp.add.at(out, tuple(places), src)
    return out


take_along_op = defop(
    "take_along",
    "input index",
    grad_name="Gather",
    forward=lambda xp, x, index, *, dim, unique: (
        xp.take_along_axis(x, index, dim) if x.ndim else x.copy()
    ),
    aval=lambda x, index, dim, unique: (index[0], x[1]),
    vjp={
        "input": lambda F, g, index, input_shape, dim, unique: F.put_along(
            g, index, shape=input_shape, dim=dim, unique=unique
        )
    },
    packs="index input",
    batch="dims",
    title="gather",
    onnx=lambda c: c.emit("GatherElements", c[0], c[1], axis=int(c.p["dim"])),
    samples=lambda rng: [
        Sample((draw(rng, (3, 4), REAL), rng.integers(0, 4, (3, 6))), {"dim": 1, "unique": False}),
        Sample(
            (draw(rng, (3, 4), REAL), rng.permuted(np.tile(np.arange(3), (4, 1)), axis=1).T[:2]),
            {"dim": 0, "unique": True},
        ),
    ],
)

defop(
    "put_along",
    "src index",
    forward=lambda xp, src, index, *, shape, dim, unique: put_along_array(
        xp, src, index, shape, dim, unique
    ),
    aval=lambda src, index, shape, dim, unique: (shape, src[1]),
    vjp={"src": lambda F, g, index, dim, unique: F.take_along(g, index, dim=dim, unique=unique)},
    title="scatter",
    samples=lambda rng: [
        Sample(
            (draw(rng, (3, 6), REAL), rng.integers(0, 4, (3, 6))),
            {"shape": (3, 4), "dim": 1, "unique": False},
        )
    ],
)


def chosen_grad(F: Any, g: Any, out1: Any, input_shape: Any, dim: int, keepdim: bool) -> Any:
    """The gradient of the values that a reduction chose along `dim`: it lands where the index
    (`out1`) says.
    """
    g = g[0]
    if not input_shape:
        return g.reshape(())
    if not keepdim:
        shape = kept(input_shape, dim)
        g, out1 = g.reshape(shape), out1.reshape(shape)
    return F.put_along(g, out1, shape=input_shape, dim=dim, unique=True)


def _chosen_aval(x: Any, *, dim: int, keepdim: bool, **rest: Any) -> Any:
    shape = kept(x[0], dim)
    if not keepdim and shape:
        shape = (*shape[:dim], *shape[dim + 1 :])
    return [(shape, x[1]), (shape, np.dtype(np.int64))]


_ALONG = tuple(
    (((3, 5),), {"dim": dim, "keepdim": keepdim}) for dim in (0, 1) for keepdim in (False, True)
)


def _choose(name: str, index_rule: Any, **given: Any) -> Any:
    """Return an operation (values, indices) along `dim`. `index_rule` returns the index of the
    chosen element and keeps the dimension.
    """

    def forward(xp: Any, x: Any, *, dim: int, keepdim: bool, **params: Any) -> Any:
        if x.ndim == 0:
            return x.copy(), np.zeros((), np.int64)
        served = type(x) is np.ndarray and config.kernels
        # Many two-byte floats are equal, so the k-th is rarely unique.
        if served and (x.dtype.kind in "fi" or x.dtype in HALVES and name != "kthvalue"):
            way = "kth" if name == "kthvalue" else name
            made = kernels.ordering.select.select(widened(x), dim, way, **params)
            if made is not None and (name != "kthvalue" or _alone(x, made[0])):
                values, index = narrowed(made[0], x.dtype), made[1]
                return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))
        index = index_rule(x, dim, **params)
        values = take_few(x, index, dim)
        return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))

    def few(shape: Any, kind: Any, dim: int, keepdim: bool, k: int = 1) -> Any:
        one = name == "kthvalue"
        way, short = "kth" if one else name, (*shape[:dim], *shape[dim + 1 :])
        longer = kept(shape, dim)
        short = longer if keepdim else short
        run = shape and kernels.ordering.select.few(shape, kind, dim, way, short, k)

        def chosen(x: Any) -> Any:
            made = run(x)
            return made if _alone(x, made[0].reshape(longer)) else None

        return run and (chosen if one else run)

    planned(
        few,
        numbered(forward, "dim", "keepdim", *given),
        widens="" if name == "kthvalue" else "float32",
    )
    samples = cases(*((shapes, {**params, **given}) for shapes, params in _ALONG))
    return defop(
        name,
        "input",
        host=True,
        forward=forward,
        aval=_chosen_aval,
        vjp={"input": chosen_grad},
        outputs=2,
        batch="dims",
        samples=samples,
        autocast="float32" if name == "kthvalue" else None,
        grad_name=name.capitalize() + "Backward1" * name.endswith("median"),
    )


def _onnx_extreme(c: Any, word: str) -> Any:
    values = c.reduce(f"Reduce{word}", c[0], (c.p["dim"],), c.p["keepdim"])
    return [values, c.emit(f"Arg{word}", c[0], axis=int(c.p["dim"]), keepdims=int(c.p["keepdim"]))]


def _extreme_op(which: str) -> Any:
    reduce = np.maximum.reduce if which == "max" else np.minimum.reduce

    def forward(xp: Any, x: Any, *, dim: int, keepdim: bool) -> Any:
        if x.ndim == 0:
            return x.copy(), np.zeros((), np.int64)
        if x.size < 1024 and type(x) is np.ndarray:
            place = x.argmax if which == "max" else x.argmin
            made = reduce(x, dim, None, None, keepdim), place(dim, keepdims=keepdim)
            return made if x.flags.c_contiguous else tuple(map(in_order, made))
        if type(x) is np.ndarray and config.kernels:
            made = kernels.ordering.order.extreme(widened(x), dim, which == "max")
            if made is not None:
                made = narrowed(made[0], x.dtype), made[1]
                made = made if keepdim else (made[0].squeeze(dim), made[1].squeeze(dim))
                return made if x.flags.c_contiguous else tuple(map(in_order, made))
        return getattr(xp, which)(x, dim, keepdim), getattr(xp, "arg" + which)(
            x, dim, keepdims=keepdim
        )

    return defop(
        which + "_dim",
        "input",
        forward=forward,
        aval=_chosen_aval,
        vjp={"input": chosen_grad},
        outputs=2,
        aten=lambda A, x, *, dim, keepdim: getattr(A, which).dim(x, dim, keepdim),
        overload=f"{which}.dim",
        grad_name=which.capitalize(),
        batch="dims",
        onnx=lambda c: _onnx_extreme(c, which.capitalize()),
        title=which,
        samples=cases(*_ALONG),
    )


max_op, min_op = _extreme_op("max"), _extreme_op("min")

_RESULTS = {
    name: return_types.make(name, "values indices")
    for name in ("max", "min", "median", "nanmedian", "mode", "kthvalue")
}


def _checked_dim(name: str, input: Any, dim: Any) -> int:
    """Return the number of a dimension, which must have elements. As in PyTorch, this is checked
    before the dtype.
    """
    shape = require_tensor(input, name)._array.shape
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise ArgumentTypeError(
            f"{name}(): argument 'dim' (position 2) must be int, not {type_name(dim)}"
        )
    number = normalize_dim(dim.__index__(), len(shape))
    check_nonempty_reduction("median" if name == "nanmedian" else name, shape, number)
    return number


def _along(op: Any, name: str, input: Tensor, dim: Any, keepdim: bool, **params: Any) -> Any:
    number = everyday_dim(input, dim)
    if number < 0:
        number = _checked_dim(name, input, dim)
    made = op.call(input, dim=number, keepdim=bool(keepdim), **params)
    return return_types.packed(_RESULTS[name], made)


def _real_only(input: Any, name: str, kernel: str) -> None:
    """Refuse complex numbers, which have no order, with PyTorch's message. `kernel` is the whole
    message or the name of a kernel.
    """
    if require_tensor(input, name)._array.dtype.kind in "cW":
        if " " in kernel:
            raise DtypeError(kernel)
        raise UnsupportedError(f"\"{kernel}\" not implemented for '{input.dtype.scalar_type_name}'")


def _extreme(
    name: str, op: Any, whole: Any, pairwise: str, input: Any, dim: Any, keepdim: Any, other: Any
) -> Any:
    if other is None:
        number = everyday_dim(input, dim)
        if number >= 0:
            made = op.call(input, dim=number, keepdim=bool(keepdim))
            return return_types.packed(_RESULTS[name], made)
        if (
            dim is None
            and isinstance(input, Tensor)
            and input._array.size
            and (input._array.dtype.kind in "fiu" or input._array.dtype in HALVES)
        ):
            return whole.call(input)
        if dim is not None and not isinstance(dim, Tensor):
            _checked_dim(name, input, dim)
    if isinstance(dim, Tensor) or other is not None:
        return FUNCTIONS["torch"][pairwise](input, dim if other is None else other)
    _real_only(
        input, name, f"{name}_all" if dim is None else f"{name}(): does not support complex input"
    )
    if dim is None:
        check_nonempty_reduction(name, input._array.shape, None)
        return whole.call(input)
    return _along(op, name, input, dim, keepdim)


def _extreme_written(out: Tensor, args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
    input = args[0] if args else given.get("input")
    over_all = len(args) < 2 and given.keys().isdisjoint(("dim", "axis", "other", "x2"))
    if over_all and isinstance(input, Tensor) and not dtypes.can_cast(input.dtype, out.dtype):
        raise DtypeError(
            "Expected canCast( typeMetaToScalarType(self.dtype()), typeMetaToScalarType(out.dtype())) to be true, but got "
            "false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
        )
    return {}


_EXTREME = Asked("several: same", _extreme_written)


@public(methods="=", out=_EXTREME)
@numpy_names
def max(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Tensor | None = None
) -> Any:
    """The largest element, the largest along a dimension with its index, or the larger of two
    tensors.

    Args:
        input: any shape, a real dtype. NaN counts as largest.
        dim: a dimension; the result is then (values, indices). A tensor in its place is compared
            with `input`, as by `maximum`.
        keepdim: keep the dimension with size 1. Default: False.

    Raises:
        RuntimeError: there are no elements. IndexError: `dim` is empty or out of range.

    >>> import pellucid as torch
    >>> torch.max(torch.tensor([[1.0, 5.0], [7.0, 3.0]]), dim=1)
    torch.return_types.max(
    values=tensor([5., 7.]),
    indices=tensor([1, 0]))
    """
    return _extreme("max", max_op, max_all_op, "maximum", input, dim, keepdim, other)


@public(methods="=", out=_EXTREME)
@numpy_names
def min(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Tensor | None = None
) -> Any:
    """The smallest element, the smallest along a dimension with its index, or the smaller of two
    tensors.

    Args:
        input: any shape, a real dtype. NaN counts as smallest.
        dim: a dimension; the result is then (values, indices). A tensor in its place is compared
            with `input`, as by `minimum`.
        keepdim: keep the dimension with size 1. Default: False.

    Raises:
        RuntimeError: there are no elements. IndexError: `dim` is empty or out of range.

    >>> import pellucid as torch
    >>> torch.min(torch.tensor([3.0, 1.0, 2.0]))
    tensor(1.)
    """
    return _extreme("min", min_op, min_all_op, "minimum", input, dim, keepdim, other)


def _arg_aval(x: Any, *, dim: Any, keepdim: bool) -> Any:
    if dim is None:
        return ((1,) * len(x[0]) if keepdim else ()), np.dtype(np.int64)
    return _chosen_aval(x, dim=dim, keepdim=keepdim)[1]


def _batch_arg(b: Any) -> Any:
    """Batching rule: reduce over a dimension, or over all elements of a sample in their order."""
    if b.ndim == 0 or (b.p["dim"] is None and b.p["keepdim"]):
        return None
    return (
        b.along_dims()
        if b.p["dim"] is not None
        else b.call(b.F.reshape(b[0], shape=(b.size, -1)), dim=1)
    )


def _onnx_arg(c: Any, op: str) -> Any:
    x, dim, keepdim = c[0], c.p["dim"], c.p["keepdim"]
    if dim is not None:
        return c.emit(op, x, axis=int(dim), keepdims=int(keepdim))
    if keepdim:
        raise c.refuse("over all dimensions with keepdim=True")
    return c.emit(op, c.emit("Reshape", x, c.ints([-1])), axis=0, keepdims=0)


argmax_op = defop(
    "argmax",
    "input",
    forward=lambda xp, x, *, dim, keepdim: xp.argmax(x, dim, keepdims=keepdim),
    aval=_arg_aval,
    batch=_batch_arg,
    onnx=lambda c: _onnx_arg(c, "ArgMax"),
    samples=cases(*_ALONG),
)
argmin_op = defop(
    "argmin",
    "input",
    forward=lambda xp, x, *, dim, keepdim: xp.argmin(x, dim, keepdims=keepdim),
    aval=_arg_aval,
    batch=_batch_arg,
    onnx=lambda c: _onnx_arg(c, "ArgMin"),
    samples=cases(*_ALONG),
)


def _arg(op: Any, name: str, input: Any, dim: Any, keepdim: bool) -> Tensor:
    number = everyday_dim(input, dim)
    if number >= 0:
        return op.call(input, dim=number, keepdim=bool(keepdim))
    a = require_tensor(input, name)._array
    if a.dtype.kind in "cW":
        raise DtypeError(f"{name}(): does not support complex input")
    if a.dtype.kind == "b":
        raise DtypeError(f"{name}(): does not support bool input")
    if dim is not None:
        if isinstance(dim, bool) or not hasattr(dim, "__index__"):
            raise ArgumentTypeError(
                f"{name}(): argument 'dim' (position 2) must be int, not {type_name(dim)}"
            )
        dim = normalize_dim(dim.__index__(), a.ndim)
    if 0 in a.shape:
        check_nonempty_reduction(name, a.shape, dim)
    return op.call(input, dim=dim if a.ndim else None, keepdim=bool(keepdim))


@public(methods="=", out="same")
@numpy_names
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the largest element, in the flattened tensor or along a dimension. The first one
    wins a tie.

    Args:
        input: any shape, a real dtype. NaN counts as largest.
        dim: the dimension. Default: None, which flattens the tensor.
        keepdim: keep the dimension with size 1. Default: False.

    Returns:
        int64 indices.

    Raises:
        IndexError: there are no elements, or `dim` is out of range.

    >>> import pellucid as torch
    >>> torch.argmax(torch.tensor([[1.0, 5.0], [7.0, 3.0]]), dim=1)
    tensor([1, 0])
    """
    return _arg(argmax_op, "argmax", input, dim, keepdim)


@public(methods="=", out="same")
@numpy_names
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the smallest element, in the flattened tensor or along a dimension. The first
    one wins a tie.

    Args:
        input: any shape, a real dtype. NaN counts as smallest.
        dim: the dimension. Default: None, which flattens the tensor.
        keepdim: keep the dimension with size 1. Default: False.

    Returns:
        int64 indices.

    Raises:
        IndexError: there are no elements, or `dim` is out of range.

    >>> import pellucid as torch
    >>> torch.argmin(torch.tensor([3.0, 1.0, 2.0]))
    tensor(1)
    """
    return _arg(argmin_op, "argmin", input, dim, keepdim)


# ---- order statistics -------------------------------------------------------------------------
def _median_index(x: Any, dim: int, ignore_nan: bool) -> Any:
    """Return the index of the lower median along `dim`. If there is a NaN, that is the first NaN,
    unless NaNs are ignored.
    """
    order = np.argsort(comparable(x), dim, kind="stable")  # NaN comes last
    n = x.shape[dim]
    nan = x != x
    if ignore_nan:
        rank = np.maximum(n - np.asarray(nan.sum(dim, keepdims=True)) - 1, 0) // 2
    else:
        rank = np.full(kept(x.shape, dim), (n - 1) // 2)
    index = np.take_along_axis(order, rank, dim)
    if not ignore_nan and nan.any():
        index = np.where(nan.any(dim, keepdims=True), np.argmax(nan, dim, keepdims=True), index)
    return index


def _mode_index(x: Any, dim: int) -> Any:
    """Return the index of the last of the most frequent elements. Of several equally frequent
    values, take the smallest.
    """
    lines = x.transpose(moved(x.ndim, dim, -1))
    order = places(lines, lines.ndim - 1, lines.shape[-1], False, "sort")
    ordered = numpy_fast.take_along_axis(lines, order, -1)
    position = np.arange(lines.shape[-1])
    start = np.zeros(lines.shape, np.int64)
    np.copyto(start[..., 1:], position[1:], where=ordered[..., 1:] != ordered[..., :-1])
    run = position - np.maximum.accumulate(start, -1)  # how many equal elements come before
    last = run.argmax(-1, keepdims=True)
    return in_order(numpy_fast.take_along_axis(order, last, -1).transpose(moved(x.ndim, -1, dim)))


def _kth_index(x: Any, dim: int, k: int) -> Any:
    return np.take(places(x, dim, k, False, "choice"), [k - 1], dim)


def _alone(x: np.ndarray, values: np.ndarray) -> bool:
    """Return whether exactly one element of each line equals its value. False for NaN."""
    return int(np.count_nonzero(x == values)) == values.size


median_op = _choose("median", lambda x, dim: _median_index(x, dim, False))
nanmedian_op = _choose("nanmedian", lambda x, dim: _median_index(x, dim, True))
mode_op = _choose("mode", _mode_index)
kthvalue_op = _choose("kthvalue", _kth_index, k=2)


def _median_of_all(xp: Any, x: Any, ignore_nan: bool) -> Any:
    flat = x.reshape(-1)
    if not flat.size:
        return np.full((), np.iinfo(x.dtype).min if x.dtype.kind in "iu" else np.nan, x.dtype)
    if type(flat) is np.ndarray and (x.dtype.kind in "fi" or x.dtype in HALVES) and config.kernels:
        way = "nanmedian" if ignore_nan else "median"
        made = kernels.ordering.select.select(widened(flat), 0, way)
        if made is not None:
            return narrowed(made[0], x.dtype).reshape(())
    return flat[_median_index(flat, 0, ignore_nan)].reshape(())


def _median_rule(name: str) -> Any:
    def few(shape: Any, kind: Any) -> Any:
        run = kernels.ordering.select.few((math.prod(shape),), kind, 0, name, ())
        return run and (lambda x: run(x)[0])

    return planned(few, lambda xp, x: _median_of_all(xp, x, name == "nanmedian"), widens="float32")


median_all_op = whole("median", forward=_median_rule("median"), host=True)
nanmedian_all_op = whole("nanmedian", forward=_median_rule("nanmedian"), host=True)


def _median(op: Any, whole_op: Any, name: str, input: Any, dim: Any, keepdim: bool) -> Any:
    kernel = "median_cpu" if dim is None else "median_out"
    if dim is not None and not (isinstance(input, Tensor) and input._array.size):
        _checked_dim(name, input, dim)
    _real_only(input, name, kernel)
    if input._array.dtype.kind == "b":
        raise UnsupportedError(f"\"{kernel}\" not implemented for 'Bool'")
    if dim is not None:
        return _along(op, name, input, dim, keepdim)
    return whole_op.call(input)


_CHECKING = "(while checking arguments for median)"
_MEDIAN_OUT = (
    "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type {got_cpu} does not equal {wants_cpu} "
    + _CHECKING,
    "Expected tensor for argument #1 'indices' to have scalar type Long; but got {got_cpu} instead "
    + _CHECKING,
)


@public(methods="=", out=_MEDIAN_OUT)
@numpy_names
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median of all elements, or along one dimension with its index. Of an even number of
    elements it is the lower one of the middle two.

    Args:
        input: any shape, a real dtype. NaN anywhere gives NaN.
        dim: one dimension; the result is then (values, indices). Default: all of them.
        keepdim: keep the dimension with size 1. Default: False.

    >>> import pellucid as torch
    >>> torch.median(torch.tensor([4.0, 1.0, 3.0, 2.0]))
    tensor(2.)
    """
    return _median(median_op, median_all_op, "median", input, dim, keepdim)


@public(methods="=", out=_MEDIAN_OUT)
@numpy_names
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """As `median`, ignoring NaN.

    >>> import pellucid as torch
    >>> torch.nanmedian(torch.tensor([float("nan"), 1.0, 3.0]))
    tensor(1.)
    """
    return _median(nanmedian_op, nanmedian_all_op, "nanmedian", input, dim, keepdim)


@public(methods="=", out="expected scalar type '{wanted}' but got '{given}' for {part} output")
@numpy_names
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along `dim`, and its index. The smallest one wins a tie.

    Args:
        input: any shape, a real dtype.
        dim: the dimension. Default: -1.
        keepdim: keep the dimension with size 1. Default: False.

    Returns:
        (values, indices).

    >>> import pellucid as torch
    >>> torch.mode(torch.tensor([3, 1, 3, 2])).values
    tensor(3)
    """
    if isinstance(input, Tensor):
        _checked_dim("mode", input, dim)
    _real_only(input, "mode", "mode_cpu")
    return _along(mode_op, "mode", input, dim, keepdim)


@public(
    methods="=",
    out=(
        "apart: output values must be of same type as input",
        "output indices must be of scalar type Long",
    ),
)
@numpy_names
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest element along `dim`, and its index.

    Args:
        input: any shape, a real dtype.
        k: 1 for the smallest.
        dim: the dimension. Default: -1.
        keepdim: keep the dimension with size 1. Default: False.

    Returns:
        (values, indices).

    >>> import pellucid as torch
    >>> torch.kthvalue(torch.tensor([4.0, 1.0, 3.0]), 2).values
    tensor(3.)
    """
    shape = require_tensor(input, "kthvalue")._array.shape
    number = normalize_dim(dim, len(shape))
    size = shape[number] if shape else 1
    if shape and size == 0:
        raise DimensionError(f"kthvalue(): Expected reduction dim {number} to have non-zero size.")
    if not 1 <= k <= size:
        raise OperationError(f"kthvalue(): selected number k out of range for dimension {number}")
    _real_only(input, "kthvalue", "kthvalue_cpu")
    if input.dtype is dtypes.bool_:
        raise UnsupportedError("\"kthvalue_cpu\" not implemented for 'Bool'")
    return _along(kthvalue_op, "kthvalue", input, dim, keepdim, k=k)


# ---- quantiles --------------------------------------------------------------------------------
_MODES = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(
    name: str, input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, ignore_nan: bool
) -> Tensor:
    kind = require_tensor(input, name).dtype
    if not isinstance(q, (Tensor, int, float)):
        raise ArgumentTypeError(
            f"{name}(): argument 'q' (position 2) must be Tensor or float, not {type_name(q)}"
        )
    if not isinstance(q, Tensor) and not 0 <= q <= 1:
        raise OperationError(f"quantile() q must be in the range [0, 1] but got {q:g}")
    if interpolation not in _MODES:
        raise OperationError(
            f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if not input._array.size:
        raise OperationError("quantile() input tensor must be non-empty")
    if isinstance(q, Tensor) and q._array.ndim > 1:
        raise OperationError("quantile() q must be a scalar or 1D tensor")
    if kind not in (dtypes.float32, dtypes.float64):
        raise DtypeError("quantile() input tensor must be either float or double dtype")
    if isinstance(q, Tensor):
        if q.dtype is not kind:
            raise DtypeError("quantile() q tensor must be same dtype as the input tensor")
        tracing.check(check_fractions, q._array, "quantile")
    else:
        q = make_tensor(constant(np.asarray(q, input._array.dtype)))
    if input.is_meta:
        raise UnsupportedError(f"{name} on a meta tensor: it reads the values")
    ndim = input._array.ndim
    shape = list(input._array.shape)
    if dim is None:
        x = input if ndim == 1 else input.reshape((-1,))
        lines = [1] * ndim if keepdim else []
    else:
        axis = normalize_dim(dim, ndim)
        x = input if axis == ndim - 1 else input.unsqueeze(-1).transpose(axis, -1)
        lines = [*shape[:axis], *([1] if keepdim and ndim else []), *shape[axis + 1 :]]
    ordered = FUNCTIONS["torch"]["sort"](x)[0]
    ordered = ordered.view([*lines, x._array.shape[-1]])
    low, high, part, last, start = map(
        make_tensor,
        tracing.effect(quantile_spots, ordered._array, q._array, interpolation, ignore_nan),
    )
    made = F.take_along(ordered, low, dim=ordered._array.ndim - 1, unique=False)
    if interpolation in ("linear", "midpoint"):
        learned = q._rg and interpolation == "linear"
        top = x._array.shape[-1] - 1
        weight = _ranks(q, last, top, ignore_nan) - start if learned else part
        above = F.take_along(ordered, high, dim=ordered._array.ndim - 1, unique=False)
        made = FUNCTIONS["torch"]["lerp"](made, above, weight)
    # (lines..., q) -> (q, lines...), in place in PyTorch
    if q._array.ndim:
        made = titled(made.unsqueeze(0), "UnsqueezeBackward1")
        made = titled(made.transpose(0, -1), "TransposeBackward1")
    return titled(made.squeeze(-1), "SqueezeBackward4")


def _ranks(q: Tensor, last: Any, top: int, ignore_nan: bool) -> Any:
    """Return the positions of the quantiles in lines whose last position is `last`. A -1 stands for
    a NaN at `top`.
    """
    ranks = q * last if ignore_nan else titled(q * top, "MulBackward1", of=(q,), other=top)
    each = broadcast_shapes(ranks._array.shape, last._array.shape)
    ranks = ranks if ranks._array.shape == each else ranks.expand(each)
    return titled(F.where(F.lt(last, 0.0), float(top), ranks), "MaskedFill", of=(ranks,))


@public(methods="=", out="quantile() out tensor must be same dtype as the input tensor")
@numpy_names
@full_precision
def quantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The values below which fractions `q` of the elements lie, of all or along `dim`; a vector `q`
    adds a first dimension.

    Args:
        input: float32 or float64.
        q: a number or vector between 0 and 1.
        interpolation: "linear", "lower", "higher", "midpoint" or "nearest", for a place between two
            elements.

    >>> import pellucid as torch
    >>> torch.quantile(torch.tensor([1.0, 2.0, 3.0, 4.0]), 0.5)
    tensor(2.5000)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@public(methods="=", out="quantile() out tensor must be same dtype as the input tensor")
@numpy_names
@full_precision
def nanquantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """As `quantile`, ignoring NaN.

    >>> import pellucid as torch
    >>> torch.nanquantile(torch.tensor([1.0, float("nan"), 3.0]), 0.5)
    tensor(2.)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)
