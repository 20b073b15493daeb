"""Sums, products and functions of each element: what keeps zeros zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.sparse.array import SparseArray
from ..core.bind import common_dtype
from ..core.primitive import PRIMITIVES, Primitive
from ..core.primitive import TENSORS as F
from ..core.tape import titled
from ..core.tensor import Tensor
from ..errors import OperationError, UnsupportedError
from ._convert import NAMES, build, gather, values_of
from ._tensor import family, is_sparse, operation, recorded, refuse

_SPARSE_FIRST = "add(sparse, dense) is not supported. Use add(dense, sparse) instead."


def _same_dtype(*tensors: Any) -> list[Any]:
    kind = common_dtype(tensors).numpy
    return [F.cast(t, dtype=kind) if t._array.dtype != kind else t for t in tensors]


def _number(x: Any) -> bool:
    return not isinstance(x, Tensor) or not is_sparse(x) and x._array.ndim == 0


def _unsupported(x: Any) -> Exception:
    return OperationError(f"unsupported tensor layout: {NAMES[x._array.layout]}")


def each(name: str, x: Any, *args: Any, coalesced: bool = True, **params: Any) -> Any:
    """A function of each stored element."""
    if coalesced and x._array.layout == "coo":
        x = x.coalesce()
    made = PRIMITIVES[name].call(values_of(x), *args, **params)
    return titled(build(x._array, made), PRIMITIVES[name].grad_name.removesuffix("Backward0"))


# ---- functions of one tensor -----------------------------------------------------------------
@family(
    "abs sin sinh asin asinh tan tanh atan atanh sqrt sign sgn signbit floor ceil round trunc frac expm1 log1p erf erfinv rad2deg deg2rad "
    "relu isnan isinf isposinf isneginf"
)
def keep_zero(op: Primitive, x: Any, **params: Any) -> Any:
    return each(op.name, x, **params)


@family("neg conj real imag")
def linear(op: Primitive, x: Any, **params: Any) -> Any:
    """These take each entry as it is, also where a place is there twice."""
    return each(op.name, x, coalesced=False, **params)


@operation("nan_to_num")
def nan_to_num(x: Any, **params: Any) -> Any:
    if x._array.layout != "coo":
        raise refuse("nan_to_num.out", x)
    return each("nan_to_num", x, **params)


# ---- sums ------------------------------------------------------------------------------------
@operation("add")
def add(x: Any, y: Any) -> Any:
    return _sum(x, y, "Add", 1)


@operation("sub")
def sub(x: Any, y: Any) -> Any:
    return _sum(x, y, "Sub", -1)


@operation("add_scaled")
def add_scaled(x: Any, y: Any, alpha: Any) -> Any:
    return add(x, _scaled(x, y, alpha))


@operation("sub_scaled")
def sub_scaled(x: Any, y: Any, alpha: Any) -> Any:
    return sub(x, _scaled(x, y, alpha))


def _scaled(x: Any, y: Any, alpha: Any) -> Any:
    kind = common_dtype([x, y])
    return F.mul(y if y.dtype is kind else F.cast(y, dtype=kind.numpy), alpha)


def _sum(x: Any, y: Any, name: str, sign: int) -> Any:
    if not isinstance(x, Tensor) or not isinstance(y, Tensor) or not is_sparse(y):
        s = x if is_sparse(x) else y
        if s._array.layout == "coo" or not isinstance(x, Tensor):
            raise OperationError(_SPARSE_FIRST)
        if not isinstance(y, Tensor) or y._array.shape != s._array.shape:
            shape = list(y._array.shape) if isinstance(y, Tensor) else []
            raise OperationError(
                f"add: expected 'self' and 'other' to have same size, but self has size {shape} while other has size "
                f"{list(s._array.shape)} (FYI: op2-sparse addition does not currently support broadcasting)"
            )
    a, b = x._array, y._array
    if a.shape != b.shape:
        if is_sparse(x) or b.layout != "coo":
            raise OperationError(
                f"add: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != {list(b.shape)}"
            )
        raise OperationError(
            f"add: expected 'self' and 'other' to have same size, but got {list(a.shape)} and {list(b.shape)}"
        )
    x, y = _same_dtype(x, y)
    a, b = x._array, y._array
    if is_sparse(x) and is_sparse(y):
        if a.layout != b.layout:
            raise OperationError(
                f"add: operands of layouts {NAMES[a.layout]} and {NAMES[b.layout]} cannot be added; convert one of them"
            )
        made = a.plus(b if sign == 1 else b.like(-b.values))
    elif is_sparse(x):
        made = a.dense() + b if sign == 1 else a.dense() - b
    else:
        made = a + b.dense() if sign == 1 else a - b.dense()
    return recorded(name, made, (x, y), lambda g: (g, g if sign == 1 else F.neg(g)))


# ---- products --------------------------------------------------------------------------------
@operation("mul")
def mul(x: Any, y: Any) -> Any:
    if not is_sparse(x):
        x, y = y, x
    if _number(y):
        return each("mul", x, y, coalesced=False)
    if not is_sparse(y):
        return _times_dense(x, y)
    a, b = x._array, y._array
    if a.layout != b.layout:
        raise OperationError(
            f"mul: operands of layouts {NAMES[a.layout]} and {NAMES[b.layout]} cannot be multiplied; convert one of them"
        )
    if a.shape != b.shape:
        raise OperationError(
            f"mul: expected 'self' and 'other' to be of same size, but {list(a.shape)} != {list(b.shape)}"
        )
    if a.dtype.kind == b.dtype.kind == "b":
        raise UnsupportedError("\"mul_out_sparse\" not implemented for 'Bool'")
    if a.layout == "coo" and not (a.coalesced and b.coalesced):
        # Entries in one place count as their sum: each of one operand times the whole of the other.
        one, other = (x, y.coalesce()) if not a.coalesced else (y, x)
        return titled(build(one._array, values_of(one) * gather(other, one._array)), "Mul")
    both = _shared(a, b)
    return titled(build(both, gather(x, both) * gather(y, both)), "Mul")


def _shared(a: SparseArray, b: SparseArray) -> SparseArray:
    """The places that two sparse arrays have both."""
    p, q = a.coo().coalesce(), b.coo().coalesce()
    if p.sparse_dim != q.sparse_dim:
        raise OperationError("mul operands have incompatible number of dense dimensions")
    keys = np.intersect1d(p.keys(), q.keys(), assume_unique=True)
    kept = np.searchsorted(p.keys(), keys)
    made = SparseArray("coo", a.shape, p.values[kept], p.indices[:, kept], None, True)
    return made if a.layout == "coo" else made.to(a.layout, a.block)


def _times_dense(x: Any, y: Any) -> Any:
    a = x._array
    if y._array.shape != a.shape:
        if y._array.ndim > a.ndim:
            raise OperationError(
                f"mul: a dense tensor of shape {list(y._array.shape)} does not broadcast to {list(a.shape)}"
            )
        y = y.expand(a.shape)
    return titled(build(a, values_of(x) * gather(y, a)), "Mul")


@operation("div")
def div(x: Any, y: Any, name: str = "division") -> Any:
    if not isinstance(x, Tensor):
        raise refuse("reciprocal", y)
    if not _number(y):
        raise OperationError(
            f"Sparse {name} requires a scalar or zero-dim dense tensor divisor (got shape {list(y._array.shape)} for divisor)"
        )
    if is_sparse(y):
        raise OperationError("Sparse division requires a dense divisor")
    if x._array.layout != "coo":
        raise _unsupported(x)
    return each("div", x, y, coalesced=False)


@operation("floor_divide")
def floor_divide(x: Any, y: Any) -> Any:
    if not isinstance(x, Tensor) or not _number(y) or x._array.layout != "coo":
        return div(x, y, "floor division")
    return each("floor_divide", x, y)


@operation("pow")
def power(x: Any, y: Any) -> Any:
    if not isinstance(x, Tensor):
        raise refuse("pow.Scalar", y)
    if isinstance(y, Tensor):
        raise refuse("pow.Tensor_Tensor", x, y)
    if x._array.layout != "coo":
        raise _unsupported(x)
    if y == 0:
        raise OperationError(
            "pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense"
        )
    return each("pow", x, y)


@operation("square")
def square(x: Any) -> Any:
    return power(x, 2)
