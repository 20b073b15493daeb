"""Losses that ask for a margin: between classes, pairs and triplets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.tensor import Tensor
from ...errors import ArgumentValueError
from .. import functional as F
from ._loss import _Loss, _WeightedLoss
from .distance import PairwiseDistance


class HingeEmbeddingLoss(_Loss):
    """Hinge loss for distances: `input` where the target is 1, `max(0, margin - input)` where it is
    -1.

    Args:
        margin: distance beyond which dissimilar pairs cost nothing. Default: 1.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.

    Shape:
        input, target: any shape, the same for both. The result is a scalar; of that shape with
            reduction="none". The target holds 1 and -1.

    Example:
        >>> import pellucid as torch
        >>> distances, target = torch.tensor([0.5, 0.2]), torch.tensor([1.0, -1.0])
        >>> torch.nn.HingeEmbeddingLoss()(distances, target)
        tensor(0.6500)
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """Multi-label hinge loss: the sum of `max(0, 1 - (x[t] - x[c])) / C` over the labels t and all
    classes c that are not labels.

    Args:
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.

    Shape:
        input: scores, `(N, C)` or `(C,)`.
        target: the labels of each sample, int64, in the same shape; those from the first -1 on are
            ignored.
        result: a scalar; `(N,)` or `()` with reduction="none".

    Example:
        >>> import pellucid as torch
        >>> scores = torch.tensor([[0.1, 0.2, 0.4, 0.8]])
        >>> torch.nn.MultiLabelMarginLoss()(scores, torch.tensor([[3, 0, -1, 1]]))
        tensor(0.8500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """Logistic loss: `log(1 + exp(-target * input))` for targets 1 and -1.

    Args:
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.

    Shape:
        input, target: any shape, the same for both. The result is a scalar; of that shape with
            reduction="none".

    Example:
        >>> import pellucid as torch
        >>> torch.nn.SoftMarginLoss()(torch.tensor([2.0, -1.0]), torch.tensor([1.0, -1.0]))
        tensor(0.2201)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Multi-label loss: the binary cross-entropy of `sigmoid(input)`, averaged over the classes.

    Args:
        weight: `(C,)`, one factor for each class.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.

    Shape:
        input: scores, `(N, C)` or `(C,)`.
        target: 0 or 1 for each class, in the same shape.
        result: a scalar; `(N,)` or `()` with reduction="none".

    Example:
        >>> import pellucid as torch
        >>> scores, target = torch.tensor([[2.0, -1.0]]), torch.tensor([[1.0, 0.0]])
        >>> torch.nn.MultiLabelSoftMarginLoss()(scores, target)
        tensor(0.2201)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(
            input, target, weight=self.weight, reduction=self.reduction
        )


class CosineEmbeddingLoss(_Loss):
    """Cosine embedding loss: `1 - cos(x1, x2)` where the target is 1,
    `max(0, cos(x1, x2) - margin)` where it is -1.

    Args:
        margin: cosine below which dissimilar pairs cost nothing, usually 0 to 0.5. Default: 0.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.

    Call it as `loss(input1, input2, target)`.

    Shape:
        input1, input2: `(N, D)` or `(D,)`.
        target: 1 or -1, `(N,)` or `()`.

    Example:
        >>> import pellucid as torch
        >>> loss = torch.nn.CosineEmbeddingLoss()
        >>> loss(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]), torch.tensor([1]))
        tensor(1.)
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class MarginRankingLoss(_Loss):
    """Margin ranking loss: `max(0, -target * (input1 - input2) + margin)`; target 1 ranks the first
    input higher, -1 the second.

    Args:
        margin: how far apart the inputs should be. Default: 0.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.

    Call it as `loss(input1, input2, target)`.

    Shape:
        input1, input2, target: `(N,)` or `()`, the same for all.

    Example:
        >>> import pellucid as torch
        >>> first, second = torch.tensor([1.0, 1.0]), torch.tensor([0.0, 2.0])
        >>> torch.nn.MarginRankingLoss()(first, second, torch.ones(2))
        tensor(0.5000)
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class MultiMarginLoss(_WeightedLoss):
    """Multi-class hinge loss: the sum of `max(0, margin - x[t] + x[c])^p / C` over the classes c
    other than the label t.

    Args:
        p: 1 or 2. Default: 1.
        margin: how far the label's score should exceed the others. Default: 1.
        weight: `(C,)`, one factor for each label.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.

    Shape:
        input: scores, `(N, C)` or `(C,)`.
        target: class indices, int64, `(N,)` or `()`.

    Raises:
        ValueError: another p, or a weight that is not a vector.

    Example:
        >>> import pellucid as torch
        >>> scores = torch.tensor([[0.1, 0.2, 0.9]])
        >>> torch.nn.MultiMarginLoss()(scores, torch.tensor([2]))
        tensor(0.1667)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p != 1 and p != 2:
            raise ArgumentValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.ndim != 1:
            raise ArgumentValueError(
                f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.ndim}D instead"
            )
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input,
            target,
            p=self.p,
            margin=self.margin,
            weight=self.weight,
            reduction=self.reduction,
        )


class TripletMarginLoss(_Loss):
    """Triplet loss: `max(0, d(anchor, positive) - d(anchor, negative) + margin)` with p-norm
    distances d.

    Args:
        margin: how much farther the negative should be; above 0. Default: 1.
        p: of the norm. Default: 2.
        eps: added to the differences. Default: 1e-6.
        swap: whether d(positive, negative) takes the place of d(anchor, negative) where it is
            smaller. Default: False.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.

    Call it as `loss(anchor, positive, negative)`.

    Shape:
        anchor, positive, negative: `(N, D)` or `(D,)`.
        result: a scalar; `(N,)` or `()` with reduction="none".

    Raises:
        ValueError: `margin` is not positive.

    Source: Balntas et al., "Learning shallow convolutional feature descriptors with triplet
    losses", 2016.

    Example:
        >>> import pellucid as torch
        >>> a, p, n = torch.tensor([[0.0, 0.0], [0.0, 1.0], [0.0, 1.5]])
        >>> torch.nn.TripletMarginLoss()(a, p, n)
        tensor(0.5000)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ArgumentValueError(
                f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """Triplet loss with any distance: `max(0, d(anchor, positive) - d(anchor, negative) + margin)`.

    Args:
        distance_function: maps two tensors to their distances; None: PairwiseDistance.
        margin: how much farther the negative should be; above 0. Default: 1.
        swap: whether d(positive, negative) takes the place of d(anchor, negative) where it is
            smaller. Default: False.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean".

    Call it as `loss(anchor, positive, negative)`, each `(N, *)`.

    Raises:
        ValueError: `margin` is not positive.

    Example:
        >>> import pellucid as torch
        >>> loss = torch.nn.TripletMarginWithDistanceLoss(
        ...     distance_function=lambda x, y: (x - y).abs().sum(dim=1)
        ... )
        >>> loss(torch.tensor([[0.0]]), torch.tensor([[0.5]]), torch.tensor([[1.0]]))
        tensor(0.5000)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average=None, reduce=None, reduction=reduction)
        if margin <= 0:
            raise ArgumentValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.distance_function: Any = (
            distance_function if distance_function is not None else PairwiseDistance()
        )
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
