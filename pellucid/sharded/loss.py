"""`loss_parallel`: cross entropy of logits that are cut along the classes, without gathering them.

The largest logit and the sum of exponentials are found by two all-reduces of a number per sample;
each rank adds the losses of those targets that fall into its classes.

Source: PyTorch's `torch.distributed.tensor.parallel.loss_parallel`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..aten.overload import OpOverload
from ..core.tensor import make_tensor
from ..errors import ArgumentValueError
from .dtensor import SPECIAL, DTensor, relaid
from .placements import REPLICATE, DTensorSpec, Partial, Placement, Shard, meta_of, region
from .redistribute import all_reduced

_handlers: dict[str, Any] = {}


@contextmanager
def loss_parallel() -> Iterator[None]:
    """Inside the block `cross_entropy` of logits of layout `Shard(1)` (the classes) computes on the
    parts; so does its backward.
    """
    before = {name: SPECIAL.get(name) for name in _handlers}
    SPECIAL.update(_handlers)
    try:
        yield
    finally:
        for name, was in before.items():
            if was is None:
                SPECIAL.pop(name, None)
            else:
                SPECIAL[name] = was


def _cut_along(t: DTensor, dim: int) -> int:
    """The mesh dimension that cuts a dimension.

    Raises:
        ValueError: there is none.
    """
    found = [i for i, p in enumerate(t._spec.placements) if p == Shard(dim)]
    if len(found) != 1:
        raise ArgumentValueError(
            f"loss_parallel() should be enabled only when the input tensor is sharded on dimension {dim}."
        )
    return found[0]


def _log_softmax(func: OpOverload, given: Any, tensors: list[DTensor]) -> DTensor:
    x = tensors[0]
    dim = given[1] % x.ndim
    i, mesh = _cut_along(x, dim), x._spec.mesh
    a = x._local_tensor._array
    top = (
        a.max(axis=dim, keepdims=True)
        if a.shape[dim]
        else np.full([1 if d == dim else n for d, n in enumerate(a.shape)], -np.inf, a.dtype)
    )
    top = all_reduced(top, Partial("max"), mesh, i)
    shifted = a - top
    total = all_reduced(np.exp(shifted).sum(axis=dim, keepdims=True), Partial("sum"), mesh, i)
    return DTensor(make_tensor((shifted - np.log(total)).astype(a.dtype)), x._spec)


def _log_softmax_backward(func: OpOverload, given: Any, tensors: list[DTensor]) -> DTensor:
    g, out = tensors
    dim = given[2] % out.ndim
    i, mesh = _cut_along(out, dim), out._spec.mesh
    a = relaid(g, out._spec.placements)._local_tensor._array
    total = all_reduced(a.sum(axis=dim, keepdims=True), Partial("sum"), mesh, i)
    return DTensor(
        make_tensor((a - np.exp(out._local_tensor._array) * total).astype(a.dtype)), out._spec
    )


def _parts(x: DTensor, target: DTensor, weight: DTensor | None, ignore: int) -> Any:
    """For this rank's samples and classes: the mesh dimension, where the target's class is here,
    its index, its weight, what counts.
    """
    i = _cut_along(x, 1 if x.ndim > 1 else 0)
    mesh, dim = x._spec.mesh, 1 if x.ndim > 1 else 0
    rows: list[Placement] = [
        REPLICATE
        if k == i or not isinstance(p, Shard)
        else Shard(p.dim if p.dim < dim else p.dim - 1)
        for k, p in enumerate(x._spec.placements)
    ]
    wanted = relaid(target, rows)._local_tensor._array
    sizes, offsets = region(x._spec.shape, mesh, x._spec.placements)
    counted = wanted != ignore
    if (counted & ((wanted < 0) | (wanted >= x.shape[dim]))).any():
        bad = wanted[counted & ((wanted < 0) | (wanted >= x.shape[dim]))].flat[0]
        raise IndexError(f"Target {bad} is out of bounds.")
    here = counted & (wanted >= offsets[dim]) & (wanted < offsets[dim] + sizes[dim])
    place = np.where(here, wanted - offsets[dim], 0)
    if weight is None:
        weights = counted.astype(x._local_tensor._array.dtype)
    else:
        whole = relaid(weight, (REPLICATE,) * mesh.ndim)._local_tensor._array
        weights = np.where(counted, whole[np.where(counted, wanted, 0)], 0).astype(
            x._local_tensor._array.dtype
        )
    return i, dim, here, place, weights, rows


def _nll_loss(func: OpOverload, given: Any, tensors: list[DTensor]) -> Any:
    x, target, weight, reduction, ignore = given[:5]
    target = tensors[1]
    i, dim, here, place, weights, rows = _parts(
        x, target, tensors[2] if weight is not None else None, ignore
    )
    mesh, a = x._spec.mesh, x._local_tensor._array
    if a.shape[dim]:
        picked = np.take_along_axis(a, np.expand_dims(place, dim), dim).squeeze(dim)
    else:
        picked = np.zeros(place.shape, a.dtype)
    losses = np.where(here, -picked * weights, 0).astype(a.dtype)
    others = [k for k in range(mesh.ndim) if k != i and rows[k] != REPLICATE]
    total = np.array(weights.sum(), a.dtype)
    for k in others:
        total = all_reduced(total, Partial("sum"), mesh, k)
    losses = all_reduced(losses, Partial("sum"), mesh, i)
    scalar = DTensorSpec(mesh, (REPLICATE,) * mesh.ndim, meta_of((), x.dtype))
    if reduction == 0:
        return DTensor(
            make_tensor(losses), DTensorSpec(mesh, rows, meta_of(target.shape, x.dtype))
        ), DTensor(make_tensor(total), scalar)
    result = np.array(losses.sum(), a.dtype)
    for k in others:
        result = all_reduced(result, Partial("sum"), mesh, k)
    if reduction == 1:
        result = np.array(result / total, a.dtype)
    return DTensor(make_tensor(result), scalar), DTensor(make_tensor(total), scalar)


def _nll_loss_backward(func: OpOverload, given: Any, tensors: list[DTensor]) -> DTensor:
    g, x, target, weight, reduction, ignore, total = given
    names = iter(tensors)
    g, x, target = next(names), next(names), next(names)
    weight = next(names) if weight is not None else None
    total = next(names)
    i, dim, here, place, weights, rows = _parts(x, target, weight, ignore)
    mesh, a = x._spec.mesh, x._local_tensor._array
    seed = relaid(g, rows if reduction == 0 else (REPLICATE,) * mesh.ndim)._local_tensor._array
    scaled = -weights * seed
    if reduction == 1:
        scaled = scaled / relaid(total, (REPLICATE,) * mesh.ndim)._local_tensor._array
    made = np.zeros_like(a)
    if a.shape[dim]:
        np.put_along_axis(
            made,
            np.expand_dims(place, dim),
            np.expand_dims(np.where(here, scaled, 0), dim).astype(a.dtype),
            dim,
        )
    return DTensor(make_tensor(made), x._spec)


for _name, _function in (
    ("_log_softmax", _log_softmax),
    ("_log_softmax_backward_data", _log_softmax_backward),
    ("nll_loss_forward", _nll_loss),
    ("nll_loss_backward", _nll_loss_backward),
    ("nll_loss2d_forward", _nll_loss),
    ("nll_loss2d_backward", _nll_loss_backward),
):
    _handlers[_name] = _function
