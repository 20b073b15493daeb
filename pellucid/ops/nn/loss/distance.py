"""Distances between vectors, and the embedding losses based on them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ....core.bind import wrap
from ....core.primitive import RAW
from ....core.primitive import TENSORS as F
from ....core.public import public
from ....core.tape import titled
from ....core.tensor import Tensor
from ....dtypes import promote_types
from ....errors import ArgumentValueError, OperationError
from ....shapes import broadcast_shapes
from ..._rules import full_precision, is_direct, require_tensor
from ...reduce._reduction import everyday_dim
from ._reduction import added, clamped, get_reduction, known, reduce_loss
from .likelihood import floored_op


@public(namespace="nn.functional torch")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Cosine of the angle between vectors: `x1 . x2 / (max(|x1|, eps) max(|x2|, eps))`.

    Args:
        x1, x2: floating point, shapes that broadcast.
        dim: the dimension of the vectors, which the result does not have. Default: 1.
        eps: lower bound of the norms. Default: 1e-8.

    >>> import pellucid as torch
    >>> torch.cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    a, b = (
        require_tensor(x1, "cosine_similarity", "x1"),
        require_tensor(x2, "cosine_similarity", "x2", 2),
    )
    if (
        is_direct(a)
        and is_direct(b)
        and a._array.shape == b._array.shape
        and a._array.dtype is b._array.dtype
        and a._array.dtype.char in "fd"
        and type(eps) is float
        and (along := everyday_dim(a, dim)) >= 0
    ):
        return wrap(_cosine(a._array, b._array, along, eps))
    common = promote_types(a.dtype, b.dtype)
    if not common.is_floating_point:
        raise OperationError(
            f"expected common dtype to be floating point, yet common dtype is {common.scalar_type_name}"
        )
    if a.dtype is not b.dtype:
        a, b = F.cast(a, dtype=common.numpy), F.cast(b, dtype=common.numpy)
    shape = broadcast_shapes(a._array.shape, b._array.shape)
    # Compute norms after broadcasting, which matters if `dim` itself is broadcast.
    a, b = (t if t._array.shape == shape else F.expand(t, shape=shape) for t in (a, b))
    na = titled(floored_op.call(_norm(a, dim), low=eps), "Clone")
    nb = titled(floored_op.call(_norm(b, dim), low=eps), "Clone")
    second = b / nb
    return ((a / na) * second).sum(dim=dim)


def _cosine(a: np.ndarray, b: np.ndarray, dim: int, eps: float) -> np.ndarray:
    """Return the cosine similarity of arrays of the same shape and dtype, without a graph."""
    sides = []
    for x in (a, b):
        norm = RAW.vector_norm(x, ord=2.0, dim=(dim,), keepdim=True)
        sides.append(x / RAW.clamp(norm, min=eps, max=None))
    return np.asarray(RAW.sum(sides[0] * sides[1], dim=(dim,), keepdim=False))


def _norm(x: Tensor, dim: int) -> Any:
    return x.norm(2, dim=dim, keepdim=True)


@public(namespace="nn.functional torch")
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of `x1 - x2 + eps` over the last dimension.

    Args:
        x1, x2: `(N, D)` or `(D,)`; they broadcast.
        p: of the norm. Default: 2.
        eps: added to the differences. Default: 1e-6.
        keepdim: keep the last dimension with size 1. Default: False.

    >>> import pellucid as torch
    >>> torch.nn.functional.pairwise_distance(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """
    require_tensor(x1, "pairwise_distance", "x1"), require_tensor(x2, "pairwise_distance", "x2", 2)
    return titled(added(x1 - x2, eps).norm(p, dim=-1, keepdim=keepdim), "NormBackward1")


@public(namespace="nn.functional")
@full_precision
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Cosine embedding loss: 1 - cos(x1, x2) where target is 1, max(0, cos(x1, x2) - margin) where
    it is -1.

    Args:
        input1, input2: `(N, D)` or `(D,)`.
        target: 1 or -1, `(N,)` or `()`.
        margin: cosine below which dissimilar pairs cost nothing. Default: 0.
        reduction: "mean", "sum" or "none". Default: "mean". Older forms: `size_average`, `reduce`.

    >>> import pellucid as torch
    >>> a, b = torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    >>> torch.nn.functional.cosine_embedding_loss(a, b, torch.tensor([1, -1]))
    tensor(0.1464)
    """
    reduction = get_reduction(size_average, reduce, reduction, True)
    for k, (name, t) in enumerate(
        (("input1", input1), ("input2", input2), ("target", target)), start=1
    ):
        require_tensor(t, "cosine_embedding_loss", name, k)
    if target.ndim not in (0, 1):
        raise OperationError("0D or 1D target tensor expected, multi-target not supported")
    if (
        target.ndim == 1
        and (input1.ndim != 2 or input2.ndim != 2)
        or target.ndim == 0
        and (input1.ndim != 1 or input2.ndim != 1)
    ):
        sizes = f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with sizes "
        raise OperationError(
            sizes + f"{list(input1._array.shape)} and {list(input2._array.shape)}."
        )
    # PyTorch adds this epsilon to the squared norms here
    eps = 1e-12
    dot = (input1 * input2).sum(dim=-1)
    squares = [added((x * x).sum(dim=-1), eps) for x in (input1, input2)]
    cos = dot / (squares[0] * squares[1]).sqrt()
    ones = F.full(shape=(), value=1, dtype=cos._array.dtype)
    apart = clamped(titled(cos - margin, "SubBackward1", of=(cos,)))
    positive = F.where(target == 1, ones - cos, 0.0)
    negative = F.where(target == -1, apart, 0.0)
    return reduce_loss(positive + negative, reduction)


@public(namespace="nn.functional")
@full_precision
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Triplet loss: `max(0, d(anchor, positive) - d(anchor, negative) + margin)`, where d is the
    p-norm distance.

    Args:
        anchor, positive, negative: `(N, D)` or `(D,)`.
        margin: how much farther the negative should be, above 0. Default: 1.
        p: order of the norm. Default: 2.
        eps: added to the differences. Default: 1e-6.
        swap: use the smaller of d(anchor, negative) and d(positive, negative) (Balntas et al.,
            2016). Default: False.
        reduction: "mean", "sum" or "none". Default: "mean". Older forms: `size_average`, `reduce`.

    >>> import pellucid as torch
    >>> anchor, near, far = torch.tensor([[0.0]]), torch.tensor([[0.5]]), torch.tensor([[1.0]])
    >>> torch.nn.functional.triplet_margin_loss(anchor, near, far)
    tensor(0.5000)
    """
    reduction = get_reduction(size_average, reduce, reduction, True)
    for k, (name, t) in enumerate(
        (("anchor", anchor), ("positive", positive), ("negative", negative)), start=1
    ):
        require_tensor(t, "triplet_margin_loss", name, k)
    if margin <= 0:
        raise ArgumentValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise OperationError(
            f"The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor "
            f"{anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    return _triplet(
        anchor,
        positive,
        negative,
        lambda a, b: pairwise_distance(a, b, p, eps),
        margin,
        swap,
        reduction,
    )


def _triplet(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance: Callable[[Tensor, Tensor], Tensor],
    margin: float,
    swap: bool,
    reduction: str,
    plus: Callable[[Tensor, float], Tensor] = added,
) -> Tensor:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduce_loss(clamped(plus(near, margin) - far), reduction)


@public(namespace="nn.functional")
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with any distance function.

    >>> import pellucid as torch
    >>> anchor, near, far = torch.tensor([[0.0]]), torch.tensor([[0.5]]), torch.tensor([[1.0]])
    >>> city = lambda x, y: (x - y).abs().sum(dim=1)
    >>> torch.nn.functional.triplet_margin_with_distance_loss(
    ...     anchor, near, far, distance_function=city
    ... )
    tensor(0.5000)
    """
    known(reduction)
    if margin <= 0:
        raise ArgumentValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise OperationError(
            f"The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor "
            f"{anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    distance = distance_function or pairwise_distance
    return _triplet(anchor, positive, negative, distance, margin, swap, reduction, operator.add)


@public(namespace="nn.functional")
def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Vectors of norm 1: `input / max(norm(input), eps)`.

    Args:
        input: floating point or complex, any shape.
        p: of the norm. Default: 2.
        dim: the dimension of the vectors. Default: 1.
        eps: lower bound of the norm. Default: 1e-12.
        out: where the result is written.

    >>> import pellucid as torch
    >>> torch.nn.functional.normalize(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    x = require_tensor(input, "normalize")
    result = x / x.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(x)
    if out is None:
        return result
    return out.copy_(result)
