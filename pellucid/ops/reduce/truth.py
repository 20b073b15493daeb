"""Truth over dimensions: all, any, count_nonzero."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...arrays.halves import HALVES, nonzero_bits
from ...arrays.native import FEW, straight
from ...core.display import refusals
from ...core.inplace import check_out, into
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import method, public
from ...core.tensor import Tensor
from ...core.transforms.batching import all_samples
from ...errors import DtypeError
from .._rules import require_tensor
from .._samples import cases
from ._reduction import Dims, dims_of, listed, numpy_names
from .basic import OVER_DIMS, reduced_aval

_counted = straight(np.count_nonzero)


def _all(xp: Any, x: Any, *, dim: Any, keepdim: bool) -> Any:
    if x.itemsize == 2 and x.dtype in HALVES and type(x) is np.ndarray:
        x = nonzero_bits(x)
    if dim is None and not keepdim and x.size and type(x) is np.ndarray:
        if x.dtype.kind == "b":
            # argmin stops at the first False and costs a quarter
            return x.item(x.argmin())
        if x.size <= FEW:
            return _counted(x) == x.size
    return xp.all(x, dim, keepdims=keepdim)


def _any(xp: Any, x: Any, *, dim: Any, keepdim: bool) -> Any:
    if x.itemsize == 2 and x.dtype in HALVES and type(x) is np.ndarray:
        x = nonzero_bits(x)
    if dim is None and not keepdim and x.size and type(x) is np.ndarray:
        if x.dtype.kind == "b":
            return x.item(x.argmax())
        if x.size <= FEW:
            return _counted(x) > 0
    return xp.any(x, dim, keepdims=keepdim)


def _onnx_all_any(c: Any, reduction: str) -> Any:
    x = c.cast(c.as_bool(0), np.int32)
    return c.cast(c.reduce(reduction, x, c.dims, c.p["keepdim"]), np.bool_)


def _expand_truth(e: Any, x: Any) -> bool:
    """Lowering: compare floats with 0 first, which is fused into the loop."""
    if not e.floats(x):
        return False
    hits = e.new("ne", x, 0, dtype="bool")
    if e.i.op == "count_nonzero":
        shape = e.i.outputs[0].shape
        counted = e.new("cast", hits, dtype="int64", shape=x.shape)
        e.give("sum", counted, dim=e.dims, keepdim=len(shape) == len(x.shape))
    else:
        e.give(e.i.op, hits, **e.i.params)
    return True


all_op = defop(
    "all",
    "input",
    reduces="all",
    expand=_expand_truth,
    forward=_all,
    aten=lambda A, x, *, dim, keepdim: (
        A.all(x) if dim is None else A.all.dims(x, listed(dim), keepdim)
    ),
    aval=lambda x, dim, keepdim: (reduced_aval(x, dim=dim, keepdim=keepdim)[0], np.dtype(bool)),
    batch="dims",
    onnx=lambda c: _onnx_all_any(c, "ReduceMin"),
    samples=cases(*OVER_DIMS),
)
any_op = defop(
    "any",
    "input",
    reduces="any",
    expand=_expand_truth,
    forward=_any,
    aten=lambda A, x, *, dim, keepdim: (
        A.any(x) if dim is None else A.any.dims(x, listed(dim), keepdim)
    ),
    aval=lambda x, dim, keepdim: (reduced_aval(x, dim=dim, keepdim=keepdim)[0], np.dtype(bool)),
    batch="dims",
    onnx=lambda c: _onnx_all_any(c, "ReduceMax"),
    samples=cases(*OVER_DIMS),
)


def _truth(op: Any, name: str, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    if (
        dim is None
        and isinstance(input, Tensor)
        and input._array.dtype.kind == "b"
        and input._array.ndim
    ):
        return op.call(input, dim=None, keepdim=keepdim)
    dims = dims_of(dim, require_tensor(input, name)._array.ndim, name)
    if isinstance(dim, (tuple, list)) and not dim and input._array.ndim:
        dims = ()  # an empty list reduces nothing
    made = op.call(
        input if dims != () and input._array.dtype.kind != "W" else input != 0,
        dim=dims,
        keepdim=keepdim,
    )
    # PyTorch keeps uint8
    return F.cast(made, dtype=input._array.dtype) if input._array.dtype == np.uint8 else made


def _truth_into(out: Any, made: Tensor, name: str, input: Tensor) -> Tensor:
    refusals.has_out(name, out, (input,))
    check_out(out, (input,))
    if isinstance(out, Tensor) and out.dtype not in (dtypes.bool_, dtypes.uint8):
        raise DtypeError(
            f"{name} only supports bool tensor for result, got: {out.dtype.scalar_type_name}"
        )
    return into(
        out, F.cast(made, dtype=out._array.dtype) if isinstance(out, Tensor) else made, name
    )


@public(methods="=")
@numpy_names
def all(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Test whether all elements are nonzero, in the whole tensor or along dimensions.

    Args:
        input: any shape and dtype. NaN counts as nonzero.
        dim: a dimension or several. Default: all of them.
        keepdim: keep the reduced dimensions with size 1. Default: False.

    Returns:
        bool values; uint8 for a uint8 input.

    >>> import pellucid as torch
    >>> torch.all(torch.tensor([[True, False], [True, True]]), dim=1)
    tensor([False,  True])
    """
    made = _truth(all_op, "all", input, dim, keepdim)
    return made if out is None else _truth_into(out, made, "all", input)


@public(methods="=")
@numpy_names
def any(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Test whether any element is nonzero, in the whole tensor or along dimensions.

    Args:
        input: any shape and dtype. NaN counts as nonzero.
        dim: a dimension or several. Default: all of them.
        keepdim: keep the reduced dimensions with size 1. Default: False.

    Returns:
        bool values; uint8 for a uint8 input.

    >>> import pellucid as torch
    >>> torch.any(torch.tensor([[True, False], [False, False]]), dim=1)
    tensor([ True, False])
    """
    made = _truth(any_op, "any", input, dim, keepdim)
    return made if out is None else _truth_into(out, made, "any", input)


@public(names="_is_all_true")
def _is_all_true(self: Tensor) -> Tensor:
    """Whether all elements are true; inside of `vmap`, those of all samples.

    >>> import pellucid as torch
    >>> torch._is_all_true(torch.tensor([True, False]))
    tensor(False)
    """
    return all(all_samples(self))


@public(names="_is_any_true")
def _is_any_true(self: Tensor) -> Tensor:
    """Whether any element is true; inside of `vmap`, of any sample.

    >>> import pellucid as torch
    >>> torch._is_any_true(torch.tensor([True, False]))
    tensor(True)
    """
    return any(all_samples(self))


def _onnx_count_nonzero(c: Any) -> Any:
    ones = c.cast(c.cast(c[0], np.bool_), np.int64)
    return c.reduce("ReduceSum", ones, c.dims, False)


def _count_nonzero(xp: Any, x: Any, *, dim: Any) -> Any:
    if dim is None and type(x) is np.ndarray:
        if x.dtype in HALVES:
            return np.count_nonzero(nonzero_bits(x))
        if x.dtype.kind in "biufc":
            return _counted(x if x.size < 4096 or x.dtype.kind == "b" else x != 0)
    return xp.sum(x != 0, dim, np.int64)


count_nonzero_op = defop(
    "count_nonzero",
    "input",
    forward=_count_nonzero,
    expand=_expand_truth,
    aval=lambda x, dim: (reduced_aval(x, dim=dim)[0], np.dtype(np.int64)),
    batch="dims",
    onnx=_onnx_count_nonzero,
    samples=cases((((3, 4),), {"dim": (0,)})),
    overload="count_nonzero.dim_IntList",
)


@public()
def count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """Count the nonzero elements, in the whole tensor or along dimensions.

    Args:
        input: any shape and dtype.
        dim: a dimension or several. Default: all of them.

    Returns:
        int64 counts.

    >>> import pellucid as torch
    >>> torch.count_nonzero(torch.tensor([0.0, 3.0, 4.0]))
    tensor(2)
    """
    return count_nonzero_op.call(
        input, dim=dims_of(dim, require_tensor(input, "count_nonzero")._array.ndim, "count_nonzero")
    )


@method("count_nonzero")
def _count_nonzero_of_tensor(self: Tensor, dim: Dims = None, *more: int) -> Tensor:
    """Count nonzero elements; `count_nonzero(0, 2)` is `count_nonzero((0, 2))`."""
    return count_nonzero(self, (dim, *more) if more else dim)  # type: ignore[arg-type]
