"""Reductions, searches and cumulative operators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pellucid.core.tensor import make_tensor

from .registry import OPERATORS, NodeCall, Operator, T, array_of, ints, kind, like, operator

_REDUCE = {
    "ReduceSum": T.sum,
    "ReduceMean": lambda x, d, k: _mean(x, d, k),
    "ReduceSumSquare": lambda x, d, k: T.sum(x * x, d, k),
    "ReduceL1": lambda x, d, k: T.sum(T.abs(x), d, k),
    "ReduceL2": lambda x, d, k: T.sqrt(T.sum(_real(x) * _real(x), d, k)),
    "ReduceLogSum": lambda x, d, k: T.log(T.sum(_real(x), d, k)),
    "ReduceLogSumExp": lambda x, d, k: T.logsumexp(_real(x), d, k),
}  # fmt: skip


def _real(x: Any) -> Any:
    return x if kind(x) == "f" else x.double()


def _mean(x: Any, dims: Any, keep: bool) -> Any:
    if kind(x) == "f":
        return T.mean(x, dims, keep)
    return T.div(T.sum(x, dims, keep), math.prod(x.shape[d] for d in dims), rounding_mode="trunc")


def _prod(x: Any, dims: Any, keep: bool) -> Any:
    for d in sorted(dims, reverse=True):
        x = T.prod(x, d, keepdim=keep)
    return x


def _extreme(op: str, x: Any, dims: Any, keep: bool) -> Any:
    """The largest or smallest; of nothing the end of the type's range."""
    shape = [x.shape[d] for d in dims]
    if 0 not in shape:
        if kind(x) == "b":
            return (T.any if op == "ReduceMax" else T.all)(x, tuple(dims), keepdim=keep)
        return (T.amax if op == "ReduceMax" else T.amin)(x, dims, keep)
    top = op == "ReduceMin"
    if kind(x) == "b":
        end: Any = top
    elif kind(x) == "f":
        end = np.inf if top else -np.inf
    else:
        info = np.iinfo(array_of(x).dtype)
        end = info.max if top else info.min
    kept = [1 if k in dims else n for k, n in enumerate(x.shape) if keep or k not in dims]
    return T.full(kept, end, dtype=x.dtype)


def _reduction(op: str) -> Any:
    def run(c: NodeCall, x: Any, axes: Any = None) -> Any:
        given = c.get("axes") if axes is None else ints(axes)
        if not given:
            if c.get("noop_with_empty_axes", 0):
                # The function that is applied to each element before and after reducing is still
                # applied.
                return like(_REDUCE[op](x.unsqueeze(0), [0], False), x) if op in _REDUCE else x
            given = range(x.ndim)
        dims, keep = sorted({d % max(x.ndim, 1) for d in given}), bool(c.get("keepdims", 1))
        if not dims:
            x, dims, keep = x.reshape([1]), [0], False
        if op in ("ReduceMax", "ReduceMin"):
            return _extreme(op, x, dims, keep)
        return like(_prod(x, dims, keep) if op == "ReduceProd" else _REDUCE[op](x, dims, keep), x)

    return run


for _op in [*_REDUCE, "ReduceProd", "ReduceMax", "ReduceMin"]:
    OPERATORS[_op] = Operator(_reduction(_op), frozenset({1}))


@operator("ArgMax", "ArgMin")
def _arg(c: NodeCall, x: Any) -> Any:
    axis, keep = c.get("axis", 0) % x.ndim, bool(c.get("keepdims", 1))
    search = T.argmax if c.op == "ArgMax" else T.argmin
    if not c.get("select_last_index", 0):
        return search(x, axis, keep)
    return x.shape[axis] - 1 - search(T.flip(x, [axis]), axis, keep)


@operator("TopK", static=(1,))
def _topk(c: NodeCall, x: Any, k: Any = None) -> Any:
    count = c.get("k") if k is None else ints(k)[0]
    axis, largest = c.get("axis", -1) % x.ndim, bool(c.get("largest", 1))
    # Among equals the first ones are wanted, which a stable sort gives.
    order = T.sort(x, dim=axis, descending=largest, stable=True)
    return T.narrow(order[0], axis, 0, count), T.narrow(order[1], axis, 0, count)


@operator("CumSum", "CumProd", static=(1,))
def _cumulative(c: NodeCall, x: Any, axis: Any) -> Any:
    dim = ints(axis)[0] % x.ndim
    back, exclusive = c.get("reverse", 0), c.get("exclusive", 0)
    x = T.flip(x, [dim]) if back else x
    if exclusive and x.shape[dim]:
        shape = list(x.shape)
        shape[dim] = 1
        first = T.full(shape, 0 if c.op == "CumSum" else 1, dtype=x.dtype)
        x = T.cat([first, T.narrow(x, dim, 0, x.shape[dim] - 1)], dim)
    out = like((T.cumsum if c.op == "CumSum" else T.cumprod)(x, dim), x)
    return T.flip(out, [dim]) if back else out


@operator("NonZero")
def _nonzero(c: NodeCall, x: Any) -> Any:
    return make_tensor(np.stack(np.nonzero(np.atleast_1d(array_of(x)))).astype(np.int64))


@operator("Unique")
def _unique(c: NodeCall, x: Any) -> Any:
    array, axis = array_of(x), c.get("axis")
    found, first, inverse, counts = np.unique(
        array, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(-1)
    if not c.get("sorted", 1):
        order = np.argsort(first)
        rank = np.argsort(order)
        found = np.take(found, order, axis=axis or 0)
        first, counts, inverse = first[order], counts[order], rank[inverse]
    return (
        make_tensor(np.ascontiguousarray(found)),
        *[make_tensor(a.astype(np.int64)) for a in (first, inverse, counts)],
    )
