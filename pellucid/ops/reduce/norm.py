"""Norms of vectors and matrices: norm, dist, renorm; and cond and matrix_rank, which use them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...arrays import numpy_cpu
from ...arrays.formulas import planned
from ...arrays.halves import converted
from ...arrays.native import FEW, kernels
from ...arrays.sparse import array as sparse_array
from ...core import tracing
from ...core.modes import local
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import FUNCTIONS, method, public
from ...core.tape import titled
from ...core.tensor import Tensor, make_tensor
from ...core.transforms.whole import one_node
from ...errors import (
    ArgumentTypeError,
    DtypeError,
    OperationError,
    ShapeError,
    resized,
    type_name,
    warn,
    warn_once,
)
from ...shapes import broadcast_shapes, normalize_dim, reduce_shape
from .._rules import aged, full_precision, is_plain, library, require_tensor, values
from .._samples import cases
from ..linalg._linalg import double_or_float, linalg, matrices, singular, square
from ._reduction import as_dtype, count, dims_of, listed, restore, slope_tangent

INF = math.inf


# ---- vector norms -----------------------------------------------------------------------------
def _vector_norm(xp: Any, x: Any, *, ord: float, dim: Any, keepdim: bool) -> Any:
    kind = x.dtype
    n = count(x.shape, dim)
    if ord == 2 and xp is numpy_cpu and kind.kind not in "cW" and n > 1:
        made = numpy_cpu.euclidean(x, dim, keepdim)
        if made is not None:
            return made
    size = converted(x, xp.ACCUMULATE[kind]) if kind in xp.ACCUMULATE else x
    size = size if ord == 2 and n != 1 and size.dtype.kind == "f" else xp.abs(size)
    real = kind if kind.kind not in "cW" else size.dtype
    if ord == INF:
        made = xp.max(size, dim, keepdim) if x.size else xp.sum(size, dim, None, None, keepdim)
    elif ord == -INF:
        made = xp.min(size, dim, keepdim)
    elif ord == 0:
        made = xp.sum((size != 0).astype(size.dtype), dim, None, None, keepdim)
    elif ord == 1 or n == 1:  # the square of a single element might overflow
        made = xp.sum(size, dim, None, None, keepdim)
    elif ord == 2:
        made = xp.sqrt(xp.sum(size * size, dim, None, None, keepdim))
    else:
        p = size.dtype.type(ord)
        made = xp.power(xp.sum(xp.power(size, p), dim, None, None, keepdim), 1 / p)
    made = xp.asarray(made)
    return made if made.dtype is real else made.astype(real, copy=False)


def _norm_of_few(shape: Any, kind: Any, ord: float, dim: Any, keepdim: bool) -> Any:
    few = math.prod(shape) <= FEW
    return kernels.pointwise.few.norm(shape, kind, dim, ord, keepdim) if few else None


def _vector_norm_grad(
    F: Any, g: Any, input: Any, out: Any, input_shape: Any, ord: float, dim: Any, keepdim: bool
) -> Any:
    if ord == 0:
        return None  # the count of nonzero elements has no gradient
    g, out = restore(g, input_shape, dim, keepdim), restore(out, input_shape, dim, keepdim)
    if ord == 1:
        return F.sgn(input) * g
    # If the norm is 0, the gradient is defined as 0 instead of 0/0 (the second derivative stays
    # NaN, as it should). While tracing, the norm may be 0 in another call.
    if F.raw and type(out) is not np.ndarray and input.dtype.kind == "f":
        share = g if math.isinf(ord) else g / (out if ord == 2 else F.pow(out, ord - 1))
        return F.where(out == 0, 0.0, _slope(F, input, out, ord, dim) * share)
    zero = values(F, out) == 0
    if ord == 2:
        # for a single element it is exactly g or -g
        made = (
            input / out * g if values(F, out).size == values(F, input).size else input * (g / out)
        )
        return _zero_where(F, zero, made) if zero.any() else made
    if math.isinf(ord):
        top = abs(values(F, input)) == values(F, out)
        share = top.astype(values(F, out).dtype)
        # no element equals the norm if that is NaN
        count = library(F).maximum(share.sum(axis=dim, keepdims=True), 1)
        share = share / count.astype(share.dtype)
        return F.sgn(input) * ((share if F.raw else make_tensor(share)) * g)
    size = F.abs(input)
    if ord < 2 or zero.any():
        slope = F.sgn(input) * F.pow(size, ord - 1)
        nothing = (values(F, input) == 0) & (ord < 1)
        if nothing.any():
            slope = _zero_where(F, nothing, slope)
    else:
        slope = input * F.pow(size, ord - 2)
    # for these orders nothing is infinite, not even in the second derivative
    if ord > 2 and zero.any():
        return input * F.pow(size, ord - 2) * (g / F.pow(_one_where(F, zero, out), ord - 1))
    made = slope * (g / F.pow(out, ord - 1))
    return _zero_where(F, zero, made) if zero.any() else made


def _slope(F: Any, input: Any, out: Any, ord: float, dim: Any) -> Any:
    """Return the gradient up to a factor for each norm, for all values."""
    if ord == 2:
        return input
    if math.isinf(ord):
        top = (abs(input) == out).astype(out.dtype)
        dims = tuple(range(len(input.shape))) if dim is None else tuple(dim)
        count = F.sum(top, dim=dims, keepdim=True)
        return F.sgn(input) * (top / F.where(count == 0, 1.0, count))
    slope = F.sgn(input) * F.pow(abs(input), ord - 1)
    return F.where(input == 0, 0.0, slope) if ord < 1 else slope


def _one_where(F: Any, mask: Any, x: Any) -> Any:
    return (
        np.where(mask, x.dtype.type(1), x)
        if F.raw
        else x.masked_fill(make_tensor(np.broadcast_to(mask, x.shape).copy()), 1)
    )


def _zero_where(F: Any, mask: Any, x: Any) -> Any:
    mask = np.broadcast_to(mask, x.shape)
    return (
        np.where(mask, x.dtype.type(0), x) if F.raw else x.masked_fill(make_tensor(mask.copy()), 0)
    )


def _vector_norm_tangent(
    F: Any, tangents: Any, input: Any, out: Any, ord: float, dim: Any, keepdim: bool
) -> Any:
    one = F.full(shape=out._array.shape, value=1, dtype=out._array.dtype)
    slope = _vector_norm_grad(F, one, input, out, input._array.shape, ord, dim, keepdim)
    if slope is None:
        return F.full(shape=out._array.shape, value=0, dtype=out._array.dtype)
    return slope_tangent(F, slope, tangents[0], dim, keepdim)


def _onnx_vector_norm(c: Any) -> Any:
    dims, keepdim, order = c.dims, c.p["keepdim"], float(c.p["ord"])
    if order == 2:
        return c.reduce("ReduceL2", c[0], dims, keepdim)
    size = c.emit("Abs", c[0])
    if order == 1:
        return c.reduce("ReduceSum", size, dims, keepdim)
    if math.isinf(order):
        return c.reduce("ReduceMax" if order > 0 else "ReduceMin", size, dims, keepdim)
    total = c.reduce("ReduceSum", c.emit("Pow", size, c.number(order)), dims, keepdim)
    return c.emit("Pow", total, c.number(1 / order))


def _expand_vector_norm(e: Any, x: Any) -> bool:
    if not e.floats(x):
        return False
    order, dims, keepdim = e.i.params["ord"], e.dims, e.i.params["keepdim"]
    shape = e.i.outputs[0].shape
    if order == 2 and math.prod(x.shape[d] for d in dims) == 1:  # whose square might overflow
        order = 1
    if order == 2:
        total = e.new("sum", e.new("mul", x, x), shape=shape, dim=dims, keepdim=keepdim)
        e.give("sqrt", total)
    elif order in (1, INF, -INF):
        word = {1: "sum", INF: "amax"}.get(order, "amin")
        e.give(word, e.new("abs", x), dim=dims, keepdim=keepdim)
    elif order == 0:
        hits = e.new("cast", e.new("ne", x, 0, dtype="bool"), dtype=x.dtype, shape=x.shape)
        e.give("sum", hits, dim=dims, keepdim=keepdim)
    else:
        powers = e.new("pow", e.new("abs", x), float(order))
        total = e.new("sum", powers, shape=shape, dim=dims, keepdim=keepdim)
        e.give("pow", total, 1 / order)
    return True


defop(
    "vector_norm",
    "input",
    expand=_expand_vector_norm,
    forward=planned(_norm_of_few, _vector_norm),
    vjp={"input": _vector_norm_grad},
    jvp=_vector_norm_tangent,
    grad_name="LinalgVectorNorm",
    batch="dims",
    onnx=_onnx_vector_norm,
    samples=cases(
        *(
            (((3, 4),), {"ord": p, "dim": dim, "keepdim": False})
            for p in (0.5, 1, 1.5, 2, 3, INF, -INF)  # order 0 has no gradient
            for dim in (None, (1,))
        ),
        complex=True,
    ),
    aval=lambda x, ord, dim, keepdim: (
        reduce_shape(x[0], range(len(x[0])) if dim is None else dim, keepdim),
        np.empty(0, x[1]).real.dtype,
    ),
    aten=lambda A, x, *, ord, dim, keepdim: A.linalg_vector_norm(x, ord, listed(dim), keepdim),
    overload="linalg_vector_norm",
)


def _in_dtype(name: str, x: Tensor, dtype: Any) -> Tensor:
    """Convert the tensor to the dtype in which a norm is asked to compute."""
    if dtype is None:
        return x
    dtype = dtypes.check_dtype(dtype, name.replace(".", "_"))
    if not (dtype.is_floating_point or dtype.is_complex):
        raise DtypeError(
            f"{name}: dtype should be floating point or complex, but got {dtype.scalar_type_name}"
        )
    if x.dtype.is_complex != dtype.is_complex:
        wanted, got = ("complex", "real") if x.dtype.is_complex else ("real", "complex")
        raise DtypeError(
            f"{name}: dtype should be {wanted} for {wanted} inputs, but got {dtype.scalar_type_name}"
        )
    if dtypes.promote_types(x.dtype, dtype) is not dtype:
        raise DtypeError(
            f"{name}: the dtype of the input ({x.dtype.scalar_type_name}) should be convertible without narrowing to the specified "
            f"dtype ({dtype.scalar_type_name})"
        )
    return as_dtype(x, dtype, name)


def vector_norm_of(name: str, x: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    """The vector norm with PyTorch's checks."""
    kind = require_tensor(x, name, "x").dtype
    if not (kind.is_floating_point or kind.is_complex):
        raise DtypeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {kind.scalar_type_name}"
        )
    if isinstance(ord, (Tensor, np.generic)) and ord.ndim == 0:
        ord = ord.item()
    if isinstance(ord, complex):
        raise OperationError(f"{name}: Expected a non-complex scalar as the order of norm.")
    if isinstance(ord, str) or not isinstance(ord, (int, float)):
        raise ArgumentTypeError(
            f"{name.replace('.', '_')}(): argument 'ord' (position 2) must be Number, not {type_name(ord)}"
        )
    x = _in_dtype(name, x, dtype)
    shape = x._array.shape
    dims = dims_of(dim, len(shape), name)
    if isinstance(dim, (tuple, list)) and not dim:
        dims = None
    if (ord < 0 or ord == INF) and 0 in shape:
        if dims is None:
            raise OperationError(
                f"{name} cannot compute the {ord} norm on an empty tensor because the operation does not have an identity"
            )
        for d in dims:
            if shape[d] == 0:
                raise OperationError(
                    f"{name} cannot compute the {ord} norm on the dimension {d} because this dimension is empty and the "
                    "operation does not have an identity"
                )
    return F.vector_norm(x, ord=float(ord), dim=dims, keepdim=bool(keepdim))


Dims = int | tuple[int, ...] | list[int] | None


@linalg(out="same")
def vector_norm(
    x: Tensor,
    ord: float = 2,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The vector norm over `dim` (all dimensions, flattened, for None).

    Args:
        x: floating point or complex.
        ord: 2, 1, any number p for `sum(|x|^p)^(1/p)`, 0 for the count of non-zeros, inf and -inf
            for largest and smallest.

    >>> import pellucid as torch
    >>> torch.linalg.vector_norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    return vector_norm_of("linalg.vector_norm", x, ord, dim, keepdim, dtype)


# ---- matrix norms -----------------------------------------------------------------------------
@linalg(out="linalg.matrix_norm expected out tensor dtype {wanted} but got: {given}")
def matrix_norm(
    A: Tensor,
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,  # noqa: N803
) -> Tensor:
    """The matrix norm over two dimensions.

    Args:
        ord: "fro" (root of the sum of squares), "nuc" (sum of singular values), 2 and -2 (largest
            and smallest singular value), 1 and -1 (largest and smallest column sum), inf and -inf
            (row sums).

    >>> import pellucid as torch
    >>> torch.linalg.matrix_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    name = "linalg.matrix_norm"
    ndim = require_tensor(A, "linalg_matrix_norm", "A")._array.ndim
    kind = A.dtype
    if isinstance(ord, complex):
        raise OperationError(f"{name}: Expected a non-complex scalar as the order of norm.")
    if not isinstance(ord, (str, int, float)):
        raise ArgumentTypeError(
            f"linalg_matrix_norm(): argument 'ord' must be Number or str, not {type_name(ord)}"
        )
    if ord not in (("fro", "nuc") if isinstance(ord, str) else (1, -1, 2, -2, INF, -INF)):
        raise OperationError(f"{name}: Order {ord} not supported.")
    if ndim < 2:
        raise ShapeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if not (kind.is_floating_point or kind.is_complex):
        raise DtypeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {kind.scalar_type_name}"
        )
    if isinstance(dim, int) or dim is None or len(dim) != 2:
        raise OperationError(
            f"{name}: dim must be a 2-tuple. Got {'' if dim is None else dim if isinstance(dim, int) else ' '.join(map(str, dim))}"
        )
    first, second = (normalize_dim(d, ndim) for d in dim)
    if first == second:
        raise OperationError(f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return vector_norm_of(name, A, 2, (first, second), keepdim, dtype)
    x = _in_dtype(name, A, dtype)
    if ord in ("nuc", 2, -2):
        if x._array.dtype not in (np.float32, np.float64, np.complex64, np.complex128):
            raise DtypeError(
                f"{name}: Low precision dtypes not supported. Got {kind.scalar_type_name}"
            )
        s = F.svd(x.movedim((first, second), (-2, -1)), full=False)[1]
        made = s.sum(-1, keepdim) if ord == "nuc" else _largest(s, -1, ord, keepdim)
        return made.unsqueeze(-1).movedim((-2, -1), (first, second)) if keepdim else made
    else:
        over, along = (first, second) if ord in (1, -1) else (second, first)
        sums = vector_norm_of(name, x, 1, over, keepdim, None)
        along -= not keepdim and over < along
        return _largest(sums, along, ord, keepdim)


def _largest(x: Any, dim: int, ord: Any, keepdim: bool = False) -> Any:
    if ord > 0 and x._array.shape[dim] == 0:
        return x.sum(dim, keepdim)  # the norm of nothing is 0
    return x.amax(dim, keepdim) if ord > 0 else x.amin(dim, keepdim)


@linalg(out="linalg.norm expected out tensor dtype {wanted} but got: {given}")
def norm(
    A: Tensor,
    ord: Any = None,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,  # noqa: N803
) -> Tensor:
    """A vector norm (`dim` is one number, or A a vector) or a matrix norm (`dim` is two numbers, or
    A a matrix).

    Args:
        ord: as for `vector_norm` and `matrix_norm`; None is the root of the sum of squares over
            `dim`.

    >>> import pellucid as torch
    >>> torch.linalg.norm(torch.tensor([3.0, 4.0]), ord=1)
    tensor(7.)
    """
    ndim = require_tensor(A, "linalg_norm", "A")._array.ndim
    if isinstance(dim, (tuple, list)) and len(dim) not in (1, 2) and ord is not None:
        raise OperationError(
            "linalg.norm: If dim is specified, it must be of length 1 or 2. Got " + str(list(dim))
        )
    if ord is None:
        return vector_norm_of("linalg.vector_norm", A, 2, dim, keepdim, dtype)
    if dim is None:
        if ndim not in (1, 2):
            raise OperationError(
                "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                + str(ndim)
                + "D."
            )
        pair = ndim == 2
    else:
        pair = isinstance(dim, (tuple, list)) and len(dim) == 2
    if pair or isinstance(ord, str):
        dims = (0, 1) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
        return matrix_norm(A, ord, tuple(dims), keepdim, dtype=dtype)
    return vector_norm_of("linalg.vector_norm", A, ord, dim, keepdim, dtype)


@public(names="norm")
def torch_norm(
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Norm of vectors or matrices. New code should call `linalg.norm`.

    Args:
        input: any shape, a floating-point or complex dtype.
        p: the order of the norm, "fro" (2) or "nuc" (the sum of the singular values). Default:
            "fro".
        dim: a dimension or several. Default: all of them.
        keepdim: keep the reduced dimensions with size 1. Default: False.
        out: a tensor for the result. Default: None, a new tensor.
        dtype: convert to this type first. Default: None.

    >>> import pellucid as torch
    >>> torch.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    order = 2 if p is None or type(p) is str and p == "fro" else p
    if (
        is_plain(require_tensor(input, "norm"))
        and (type(order) is int or type(order) is float)
        and (dim is None or type(dim) is int)
        and type(keepdim) is bool
        and out is dtype is None
    ):
        return vector_norm_of("linalg.vector_norm", input, order, dim, keepdim, None)
    dims = [dim] if isinstance(dim, int) else dim
    named = isinstance(p, str)
    if named and not (p == "fro" and (dims is None or len(dims) <= 2)):
        order, function = p, FUNCTIONS["linalg"]["matrix_norm"]
    else:
        function = FUNCTIONS["linalg"]["vector_norm"]
    if dims is None and not (named and order == 2):
        dims = [*range(input.ndim)]
    written = {} if out is None else {"out": out}
    made: Tensor = function(input, order, dims, keepdim, dtype=dtype, **written)
    return made


@method("norm")
def _method(
    self: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    return torch_norm(self, p, dim, keepdim, dtype=dtype)


_method.__doc__ = (torch_norm.__doc__ or "").replace(
    "        out: a tensor for the result. Default: None, a new tensor.\n", ""
)
torch_norm.__name__ = "norm"


@public()
def native_norm(
    input: Tensor, p: Any = 2, dim: Any = (), keepdim: bool = False, dtype: Any = None
) -> Tensor:
    """The norm of a sparse tensor of all its elements; PyTorch's inner form of `torch.norm`.

    >>> import pellucid as torch
    >>> torch.native_norm(torch.eye(3).to_sparse(), 1)
    tensor(3.)
    """
    require_tensor(input, "native_norm")
    if input.layout is dtypes.strided:
        raise sparse_array.refusal("native_norm", "")
    return torch_norm(input, p, dim or None, keepdim, dtype=dtype)


def _leaving(name: str, successor: str) -> str:
    return (
        f"at::{name} is deprecated and it is just left for JIT compatibility. It will be removed in a future PyTorch release. Please use "
        f"`linalg.{successor}` instead"
    )


_FROBENIUS = _leaving("frobenius_norm", "vector_norm(A, 2., dim, keepdim)")
_NUCLEAR = _leaving("nuclear_norm", "matrix_norm(A, 'nuc', dim, keepdim)")


def _frobenius(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    _no_whole_numbers(input)
    if isinstance(dim, (list, tuple)) and len(dim) > 2:
        raise OperationError(
            f"Expected at most 2 dimensions, but got {len(dim)} dimensions instead."
        )
    return vector_norm_of("linalg.vector_norm", input, 2, dim, keepdim, None)


@public(out=aged("same", _FROBENIUS, _frobenius))
def frobenius_norm(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """The root of the sum of squares over `dim`.

    >>> import warnings
    >>> import pellucid as torch
    >>> warnings.simplefilter("ignore")  # it warns that it is deprecated
    >>> torch.frobenius_norm(torch.tensor([3.0, 4.0]), dim=0)
    tensor(5.)
    """
    warn_once(_FROBENIUS)
    return _frobenius(input, dim, keepdim)


def _no_whole_numbers(x: Tensor) -> None:
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        raise DtypeError(
            f"norm(): input dtype should be either floating point or complex. Got {x.dtype.scalar_type_name} instead."
        )


def _nuclear(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    if isinstance(dim, bool):  # without dimensions, `keepdim` is the second argument
        dim, keepdim = (-2, -1), dim
    if hasattr(dim, "__index__") and not getattr(dim, "ndim", 0):
        dim = (int(dim),) * 2  # one number stands for a list of two
    return matrix_norm(input, "nuc", dim, keepdim)


_WRITTEN = "linalg.matrix_norm expected out tensor dtype {wanted} but got: {given}"


@public(out=aged(_WRITTEN, _NUCLEAR, _nuclear))
def nuclear_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """The sum of the singular values of matrices.

    >>> import warnings
    >>> import pellucid as torch
    >>> warnings.simplefilter("ignore")  # it warns that it is deprecated
    >>> torch.nuclear_norm(torch.eye(2))
    tensor(2.)
    """
    warn_once(_NUCLEAR)
    return _nuclear(input, dim, keepdim)


@public()
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norms of the slices along `dim`, with the other dimensions kept as 1 (of everything for
    -1).

    >>> import pellucid as torch
    >>> torch.norm_except_dim(torch.tensor([[3.0, 4.0]]), 2, 0)
    tensor([[5.]])
    """
    ndim = require_tensor(v, "norm_except_dim", "v")._array.ndim
    _no_whole_numbers(v)
    if dim == -1:
        return vector_norm_of("linalg.vector_norm", v, pow, None, False, None)
    keep = normalize_dim(dim, ndim)
    others = tuple(d for d in range(ndim) if d != keep)
    return vector_norm_of("linalg.vector_norm", v, pow, others, True, None) if others else v.abs()


@public()
def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """`g v / |v|`, with the norms of the slices of `v` along `dim` (of everything for -1).

    Args:
        v: the direction, of any shape.
        g: the length of each slice, of the shape of `norm_except_dim(v, 2, dim)`.

    Source: Salimans, Kingma, "Weight normalization", 2016.

    >>> import pellucid as torch
    >>> torch._weight_norm(torch.tensor([[3.0, 4.0]]), torch.tensor([[10.0]]))
    tensor([[6., 8.]])
    """
    ndim = require_tensor(v, "_weight_norm", "v")._array.ndim
    require_tensor(g, "_weight_norm", "g", 2)
    if dim in (0, ndim - 1):
        return _of_length(v, g, dim)
    return v * (g / norm_except_dim(v, 2, dim))


def _norms(way: Tensor, dim: int, **_: Any) -> dict[str, Any]:
    return {"norms": norm_except_dim(way.detach(), 2, dim)}


@one_node("WeightNormInterface", "way length", "length way norms", beside=_norms)
def _of_length(way: Tensor, length: Tensor, dim: int) -> Tensor:
    made = way * (length / norm_except_dim(way, 2, dim))
    return titled(made, "WeightNormInterface", of=(way, length), dim=dim)


@public(methods="=")
@one_node("Dist", "input other", "other input out")
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of `input - other`.

    >>> import pellucid as torch
    >>> torch.dist(torch.tensor([3.0, 4.0]), torch.zeros(2))
    tensor(5.)
    """
    require_tensor(other, "dist", "other", 2)
    gap = require_tensor(input, "dist") - other
    if not (gap.dtype.is_floating_point or gap.dtype.is_complex):
        raise OperationError(
            "norm(): input dtype should be either floating point or complex. Got "
            f"{gap.dtype.scalar_type_name} instead."
        )
    return titled(
        vector_norm_of("linalg.vector_norm", gap, p, None, False, None),
        "Dist",
        of=(input, other),
        p=p,
    )


@public(methods="=", inplace="=", out="same")
@one_node("Renorm", "input", "input")
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """The slices along `dim` scaled down so that none has a p-norm above `maxnorm`.

    >>> import pellucid as torch
    >>> torch.renorm(torch.tensor([[3.0, 4.0]]), p=2, dim=0, maxnorm=1.0)
    tensor([[0.6000, 0.8000]])
    """
    ndim = require_tensor(input, "renorm")._array.ndim
    if isinstance(p, complex):
        raise OperationError("renorm: p must be real-valued")
    if p <= 0:
        raise OperationError("renorm: non-positive-norm not supported")
    if isinstance(maxnorm, complex):
        raise OperationError("renorm: maxnorm must be real-valued")
    if maxnorm < 0:
        raise OperationError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if ndim <= 1:
        raise ShapeError(f"renorm: input needs at least 2 dimensions, got {ndim} dimensions")
    keep = normalize_dim(dim, ndim)
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise DtypeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {input.dtype.scalar_type_name}"
        )
    # a copy, which `renorm_` does not overwrite
    own = F.clone(input) if input._rg and local.grad else input
    sizes = F.vector_norm(
        own, ord=float(p), dim=tuple(d for d in range(ndim) if d != keep), keepdim=True
    )
    over = sizes.detach() > maxnorm
    factor = F.where(over, maxnorm / (sizes + 1e-7), 1.0)
    return titled(input * factor, "Renorm", of=(input,), p=p, dim=dim, maxnorm=maxnorm)


# ---- condition and rank -----------------------------------------------------------------------
@linalg(out="castable: linalg.cond")
@full_precision
def cond(A: Tensor, p: Any = None) -> Tensor:  # noqa: N803
    """The condition number of matrices in a norm: `norm(A) * norm(inv(A))`; the ratio of extreme
    singular values by default.

    Args:
        p: None or 2, -2 (by singular values), or "fro", "nuc", 1, -1, inf, -inf (square matrices;
            inf where singular).

    >>> import pellucid as torch
    >>> torch.linalg.cond(torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor(2.)
    """
    empty = require_tensor(A, "linalg_cond", "A")._array.ndim >= 2 and not A._array.size
    if empty and not isinstance(p, str) and (p is None or abs(p) in (1, 2, INF)):
        return make_tensor(tracing.constant(np.zeros(A._array.shape[:-2], A._array.real.dtype)))
    if isinstance(p, str) and A._array.ndim < 2:
        raise ShapeError(
            f"linalg.cond(ord={p}): The input tensor A must have at least 2 dimensions."
        )
    if A._array.ndim < 2:
        raise ShapeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    rows, columns = A._array.shape[-2:]
    if rows != columns and isinstance(p, str):
        raise _not_square(p, rows, columns)
    if p is not None and p not in ("fro", "nuc") and not _orders(p):
        raise OperationError(f"linalg.cond got an invalid norm type: {p}")
    singular_values = p is None or p in (2, -2)
    if singular_values or p == "nuc":
        matrices(A, "linalg.svd", kernel="linalg_svd_cpu")
    else:
        matrices(A, "linalg.inv")
    if singular_values:
        s = F.svd(A, full=False)[1]
        low, high = s[..., -1:], s[..., :1]
        return (low / high if p == -2 else high / low).squeeze(-1)
    if rows != columns:
        raise _not_square(p, rows, columns)
    if A._array.size == 0:
        return make_tensor(tracing.constant(np.zeros(A._array.shape[:-2], A._array.real.dtype)))
    from ..linalg.solve import inv_ex

    inverse, info = inv_ex(A)
    made = matrix_norm(A, p) * matrix_norm(inverse, p)
    if tracing.tracer() or (info._array > 0).any():
        return made.masked_fill(info > 0, INF)
    return made


def _not_square(p: Any, rows: int, columns: int) -> Exception:
    return ShapeError(
        f"linalg.cond(ord={p}): A must be batches of square matrices, but they are {rows} by {columns} matrices"
    )


def _orders(p: Any) -> bool:
    return isinstance(p, (int, float)) and abs(p) in (1, 2, INF)


@linalg(out="castable: torch.linalg.matrix_rank")
@full_precision
def matrix_rank(
    A: Tensor,
    tol: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,  # noqa: N803
) -> Tensor:
    """The number of singular values above a tolerance, as int64.

    Args:
        atol, rtol: they count when above max(atol, rtol * largest); rtol defaults to eps * max(m,
            n). `tol` stands for atol alone.

    >>> import pellucid as torch
    >>> torch.linalg.matrix_rank(torch.tensor([[1.0, 1.0], [1.0, 1.0]]))
    tensor(1)
    """
    from ..linalg.lstsq import number_or_array

    by_precision = (
        rtol is None and tol is None and not (isinstance(atol, (int, float)) and atol > 0)
    )
    if require_tensor(A, "linalg_matrix_rank", "A")._array.ndim >= 2:
        if by_precision:
            double_or_float(A)
        else:
            matrices(A, "linalg.svd", "input", kernel="linalg_svd_cpu")
    x = matrices(A, "torch.linalg.matrix_rank", "input")._array
    for tolerance in (tol, atol, rtol):
        if isinstance(tolerance, Tensor) and tolerance.dtype.is_complex:
            raise DtypeError(
                "torch.linalg.matrix_rank: tolerance tensor of complex type is not supported."
            )
        if isinstance(tolerance, str):
            raise ArgumentTypeError(
                "linalg_matrix_rank(): tolerances must be numbers or Tensors, not str"
            )
    if tol is not None:
        atol, rtol = tol, 0.0
    if x.size == 0:
        return make_tensor(tracing.constant(np.zeros(x.shape[:-2], np.int64)))
    if hermitian:
        square(A, "torch.linalg.matrix_rank")
    several = [t._array.shape for t in (rtol, atol) if isinstance(t, Tensor)]
    wanted = broadcast_shapes(*several, x.shape[:-2])
    if wanted != x.shape[:-2]:  # PyTorch writes the result to a tensor that it has allocated before
        warn(resized(x.shape[:-2], wanted))
    return make_tensor(
        tracing.effect(_ranks, x, number_or_array(atol), number_or_array(rtol), bool(hermitian))
    )


def _ranks(x: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    from ..linalg.lstsq import cutoff

    s = np.abs(kernels.matmul.blas.linalg.eigvalsh(x)) if hermitian else singular(x, False)[1]
    least = cutoff(s.max(-1), x.shape, atol, rtol, x.dtype)
    return np.asarray((s > np.asarray(least)[..., None]).sum(-1), np.int64)
