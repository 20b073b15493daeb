"""Distance layers."""

from __future__ import annotations

from ...core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """Pairwise distance: the p-norm of `x1 - x2 + eps` over the last dimension.

    Args:
        p: of the norm. Default: 2.
        eps: added to the differences. Default: 1e-6.
        keepdim: whether the last dimension stays, with size 1. Default: False.

    Shape:
        x1, x2: `(N, D)` or `(D,)`; the result `(N,)` or `()`.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.PairwiseDistance()(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
        tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """Cosine similarity along a dimension: `x1 . x2 / (max(|x1|, eps) max(|x2|, eps))`.

    Args:
        dim: the dimension of the vectors, which the result does not have. Default: 1.
        eps: lower bound of the norms. Default: 1e-8.

    Shape:
        x1, x2: shapes that broadcast.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.CosineSimilarity()(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
        tensor([0.7071])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
