"""From one layout of a tensor on a mesh to another, by as few collectives as the two need.

Shard -> Replicate is an all-gather, Partial -> Replicate an all-reduce, Partial -> Shard a
reduce-scatter, Shard -> Shard along another dimension an all-to-all; what is in full is cut without
communication. Parts have the sizes of `bounds`: nothing is padded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays.meta import MetaArray
from ..core.tensor import make_tensor
from ..distributed import collectives, exchanges
from ..distributed.mesh import DeviceMesh
from ..distributed.transport.reductions import ReduceOp
from ..errors import OperationError, UnsupportedError
from .placements import (
    REPLICATE,
    NormPartial,
    Partial,
    Placement,
    Replicate,
    Shard,
    bounds,
    orders,
    region,
)

_OPS = {
    "sum": ReduceOp.SUM,
    "avg": ReduceOp.AVG,
    "product": ReduceOp.PRODUCT,
    "max": ReduceOp.MAX,
    "min": ReduceOp.MIN,
    "band": ReduceOp.BAND,
    "bor": ReduceOp.BOR,
    "bxor": ReduceOp.BXOR,
}


def cut(x: np.ndarray, dim: int, low: int, high: int) -> np.ndarray:
    """Elements low to high along a dimension, a view."""
    return x[(slice(None),) * dim + (slice(low, high),)]


def all_gathered(x: np.ndarray, dim: int, size: int, mesh: DeviceMesh, i: int) -> np.ndarray:
    """The parts that the ranks along mesh dimension `i` have of `size` elements along `dim`, in one
    array.
    """
    n = mesh.size(i)
    if n == 1:
        return x
    group = mesh.get_group(i)
    mine = make_tensor(np.ascontiguousarray(x))
    shape = list(x.shape)
    if dim == 0 and size % n == 0:
        shape[0] = size
        whole = np.empty(shape, x.dtype)
        collectives.all_gather_into_tensor(make_tensor(whole), mine, group)
        return whole
    parts = []
    for k in range(n):
        low, high = bounds(size, n, k)
        shape[dim] = high - low
        parts.append(make_tensor(np.empty(shape, x.dtype)))
    collectives.all_gather(parts, mine, group)
    return np.concatenate([p._array for p in parts], axis=dim)


def all_reduced(x: np.ndarray, placement: Partial, mesh: DeviceMesh, i: int) -> np.ndarray:
    """What the ranks' terms along mesh dimension `i` make together."""
    if mesh.size(i) == 1:
        return x
    if isinstance(placement, NormPartial):
        p = placement.norm_type
        if p in (math.inf, -math.inf):
            return all_reduced(x, Partial("max" if p > 0 else "min"), mesh, i)
        total = make_tensor(np.array(x**p if p != 0 else x))
        collectives.all_reduce(total, ReduceOp.SUM, mesh.get_group(i))
        made: np.ndarray = (total._array ** (1 / p)).astype(x.dtype) if p != 0 else total._array
        return made
    total = make_tensor(np.array(x, order="C"))
    collectives.all_reduce(total, _OPS[placement.reduce_op], mesh.get_group(i))
    return total._array


def reduce_scattered(
    x: np.ndarray, placement: Partial, dim: int, mesh: DeviceMesh, i: int
) -> np.ndarray:
    """This rank's part along `dim` of what the ranks' terms make together."""
    n, at = mesh.size(i), mesh.get_coordinate()
    assert at is not None
    size = x.shape[dim]
    if n == 1:
        return x
    if isinstance(placement, NormPartial):
        return np.ascontiguousarray(
            cut(all_reduced(x, placement, mesh, i), dim, *bounds(size, n, at[i]))
        )
    pieces = [make_tensor(np.ascontiguousarray(cut(x, dim, *bounds(size, n, k)))) for k in range(n)]
    mine = make_tensor(np.empty(pieces[at[i]]._array.shape, x.dtype))
    exchanges.reduce_scatter(mine, pieces, _OPS[placement.reduce_op], mesh.get_group(i))
    return mine._array


def exchanged(
    x: np.ndarray, dim: int, size: int, new_dim: int, mesh: DeviceMesh, i: int
) -> np.ndarray:
    """From parts along `dim`, of `size` elements in all, to parts along `new_dim`."""
    n, at = mesh.size(i), mesh.get_coordinate()
    assert at is not None
    if n == 1:
        return x
    sent = [
        make_tensor(np.ascontiguousarray(cut(x, new_dim, *bounds(x.shape[new_dim], n, k))))
        for k in range(n)
    ]
    shape = list(sent[at[i]]._array.shape)
    received = []
    for k in range(n):
        low, high = bounds(size, n, k)
        shape[dim] = high - low
        received.append(make_tensor(np.empty(shape, x.dtype)))
    exchanges.all_to_all(received, sent, mesh.get_group(i))
    return np.concatenate([p._array for p in received], axis=dim)


def as_terms(x: np.ndarray, placement: Partial, mesh: DeviceMesh, i: int) -> np.ndarray:
    """Terms that make a value which all ranks have: of a sum, all of it on the first rank and zeros
    on the others.
    """
    at = mesh.get_coordinate()
    assert at is not None
    if isinstance(placement, NormPartial) or placement.reduce_op not in (
        "sum",
        "avg",
        "max",
        "min",
    ):
        raise UnsupportedError(
            f"torch.distributed.tensor: from Replicate() to {placement!r} is not supported"
        )
    return np.zeros_like(x) if placement.reduce_op == "sum" and at[i] else x


def redistributed(
    x: np.ndarray,
    mesh: DeviceMesh,
    source: Sequence[Placement],
    target: Sequence[Placement],
    shape: Sequence[int],
) -> np.ndarray:
    """This rank's array in another layout.

    Args:
        x: its part in layout `source` of a tensor of `shape`; not written to, but the result may
            share its memory.
    """
    at = mesh.get_coordinate()
    if at is None or tuple(source) == tuple(target):
        return x
    for p, q in zip(source, target, strict=True):
        if q.is_partial() and p != q and not p.is_replicate():
            raise OperationError(f"redistribute from {p} to {q} not supported yet")
    if type(x) is MetaArray:  # without values there is nothing to send
        return MetaArray(tuple(region(shape, mesh, target)[0]), x.dtype)
    now = list(source)
    before, after = orders(source), orders(target)
    keep = {}
    for dim, order in before.items():
        wanted = after.get(dim, [])
        k = 0
        while (
            k < len(order)
            and k < len(wanted)
            and order[k] == wanted[k]
            and source[order[k]] == target[order[k]]
        ):
            k += 1
        keep[dim] = k
    for dim, order in before.items():
        for i in reversed(order[keep[dim] :]):
            rest = [p if j != i else REPLICATE for j, p in enumerate(now)]
            size = region(shape, mesh, rest)[0][dim]
            q = target[i]
            if (
                isinstance(q, Shard)
                and q.dim != dim
                and orders(now).get(q.dim, []) == after[q.dim][: after[q.dim].index(i)]
            ):
                x = exchanged(x, dim, size, q.dim, mesh, i)
                now[i] = q
            else:
                x = all_gathered(x, dim, size, mesh, i)
                now[i] = REPLICATE
    for dim, order in after.items():
        for i in order[keep.get(dim, 0) :]:
            p = now[i]
            if isinstance(p, Partial):
                x = reduce_scattered(x, p, dim, mesh, i)
            elif isinstance(p, Replicate):
                x = np.ascontiguousarray(cut(x, dim, *bounds(x.shape[dim], mesh.size(i), at[i])))
            now[i] = target[i]
    for i, (p, q) in enumerate(zip(list(now), target, strict=True)):
        if p == q:
            continue
        if isinstance(p, Partial):
            x = all_reduced(x, p, mesh, i)
        elif isinstance(q, Partial):
            x = as_terms(x, q, mesh, i)
        now[i] = q
    return x


def cost(p: Placement, q: Placement, size: int, n: int) -> float:
    """About how many bytes a rank receives for a change of layout along one mesh dimension; `inf`
    where there is no way.

    Args:
        size: bytes of the whole tensor. n: ranks.
    """
    if p == q:
        return 0.0
    share = size * (n - 1) / n
    if isinstance(q, Partial):
        return (
            1e-3
            if isinstance(p, Replicate) and not isinstance(q, NormPartial) and q.reduce_op == "sum"
            else math.inf
        )
    if isinstance(p, Replicate):
        return 1e-6
    if isinstance(p, Partial):
        return 1.0 + (2 * share if isinstance(q, Replicate) else share)
    return 1.0 + (share if isinstance(q, Replicate) else share / n + 1.0)


def full_array(
    x: np.ndarray, mesh: DeviceMesh, placements: Sequence[Placement], shape: Sequence[int]
) -> np.ndarray:
    """The whole tensor's array."""
    return redistributed(x, mesh, placements, (REPLICATE,) * mesh.ndim, shape)


def part(whole: np.ndarray, mesh: DeviceMesh, placements: Sequence[Placement]) -> Any:
    """This rank's part of an array that it has in full."""
    sizes, offsets = region(whole.shape, mesh, placements)
    return np.ascontiguousarray(
        whole[tuple([slice(o, o + s) for o, s in zip(offsets, sizes, strict=True)])]
    )
