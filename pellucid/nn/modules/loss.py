"""Loss layers. `reduction` is "none", "mean" or "sum". Those with margins are in `_margins`."""

from __future__ import annotations

import math
from typing import Any

from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, OperationError, warn
from .. import functional as F
from ._loss import _Loss, _WeightedLoss
from ._margins import CosineEmbeddingLoss as CosineEmbeddingLoss
from ._margins import HingeEmbeddingLoss as HingeEmbeddingLoss
from ._margins import MarginRankingLoss as MarginRankingLoss
from ._margins import MultiLabelMarginLoss as MultiLabelMarginLoss
from ._margins import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from ._margins import MultiMarginLoss as MultiMarginLoss
from ._margins import SoftMarginLoss as SoftMarginLoss
from ._margins import TripletMarginLoss as TripletMarginLoss
from ._margins import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
from .linear import Linear

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LinearCrossEntropyLoss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]

# These stand in other files; PyTorch has them here, and pickles name this module.
for _kind in (
    _Loss,
    _WeightedLoss,
    CosineEmbeddingLoss,
    HingeEmbeddingLoss,
    MarginRankingLoss,
    MultiLabelMarginLoss,
    MultiLabelSoftMarginLoss,
    MultiMarginLoss,
    SoftMarginLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
):
    _kind.__module__ = __name__


class L1Loss(_Loss):
    """Mean absolute error: `|input - target|`, averaged over all elements.

    Args:
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.

    Shape:
        input, target: any shape, the same for both. The result is a scalar; of that shape with
            reduction="none".

    Example:
        >>> import pellucid as torch
        >>> torch.nn.L1Loss()(torch.tensor([1.0, 4.0]), torch.tensor([1.0, 1.0]))
        tensor(1.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """Mean squared error: `(input - target)^2`, averaged over all elements.

    Args:
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.

    Shape:
        input, target: any shape, the same for both. The result is a scalar; of that shape with
            reduction="none". Shapes that differ but broadcast give a warning.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.MSELoss()(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0]))
        tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class NLLLoss(_WeightedLoss):
    """Negative log-likelihood of class labels: `-weight[target] * input[target]`, for the
    log-probabilities of a log_softmax.

    Args:
        weight: `(C,)`, one factor for each class. The mean is then weighted: the sum of the losses
            divided by the sum of the factors.
        ignore_index: label without a loss, which the mean does not count. Default: -100.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.

    Shape:
        input: log-probabilities, `(N, C)`, `(C,)` or `(N, C, d1, ...)`.
        target: class indices from 0 to C - 1, int64, `(N,)`, `()` or `(N, d1, ...)`.
        result: a scalar; of the shape of the target with reduction="none".

    Raises:
        IndexError: a label out of range.
        ValueError: batch sizes differ.
        RuntimeError: wrong dtypes or shapes.

    Example:
        >>> import pellucid as torch
        >>> logp = torch.log_softmax(torch.tensor([[2.0, 0.0, 0.0]]), 1)
        >>> torch.nn.NLLLoss()(logp, torch.tensor([0]))
        tensor(0.2395)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class NLLLoss2d(NLLLoss):
    """Deprecated name of `NLLLoss`, which takes input of shape (N, C, H, W) as well.

    >>> import pellucid as torch
    >>> scores = torch.log(torch.tensor([[[[0.25]], [[0.75]]]]))  # (N, C, H, W)
    >>> torch.nn.NLLLoss()(scores, torch.tensor([[[1]]]))
    tensor(0.2877)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement and see "
            "https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.",
            FutureWarning,
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class CrossEntropyLoss(_WeightedLoss):
    """Cross-entropy between raw scores and classes: log_softmax and negative log-likelihood in one.

    For a class number t, `loss = -weight[t] * log(exp(x[t]) / sum(exp(x)))`; for probabilities p,
    `loss = -sum(weight * p * log_softmax(x))`.

    Args:
        weight: `(C,)`, one factor for each class. The mean over class indices is then weighted:
            divided by the sum of the factors.
        ignore_index: class number without a loss, which the mean does not count. Default: -100.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.
        label_smoothing: share of the target spread evenly over all classes, in [0, 1]. Default: 0.

    Shape:
        input: scores before any softmax, `(N, C)`, `(C,)` or `(N, C, d1, ...)`.
        target: class indices, int64, `(N,)`, `()` or `(N, d1, ...)`; or probabilities, floating
            point, in the shape of the input.
        result: a scalar; with reduction="none" `(N, d1, ...)`, the shape of the class indices.

    Raises:
        IndexError: a class number out of range.
        ValueError: batch sizes differ.
        RuntimeError: wrong dtypes or shapes; `label_smoothing` outside [0, 1].

    Source: Szegedy et al., "Rethinking the inception architecture for computer vision", 2016 (label
    smoothing).

    Example:
        >>> import pellucid as torch
        >>> torch.nn.CrossEntropyLoss()(torch.tensor([[2.0, 0.0, 0.0]]), torch.tensor([0]))
        tensor(0.2395)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class LinearCrossEntropyLoss(_WeightedLoss):
    """Cross-entropy loss with its linear layer included: `cross_entropy(linear(input), target)`.

    Args:
        in_features: size of the last dimension of the input.
        num_classes: number of classes, C.
        out_features: further dimensions of the layer's result, after the classes. Default: ().
        bias: whether the layer has a bias. Default: False.
        device, dtype: of the layer's parameters.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean".
        weight: `(C,)`, one factor for each class.
        ignore_index: class number without a loss. Default: None.
        label_smoothing: share of the target spread evenly over all classes, in [0, 1]. Default: 0.
        options: how PyTorch computes it in parts; accepted.

    Shape:
        input: `(N, in_features)`.
        target: class indices, int64, `(N, *out_features)`.

    Raises:
        RuntimeError: a weight of the wrong shape; `label_smoothing` outside [0, 1].

    Example:
        >>> import pellucid as torch
        >>> loss = torch.nn.LinearCrossEntropyLoss(3, 4)
        >>> loss(torch.zeros(2, 3), torch.tensor([0, 2])).shape
        torch.Size([])
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise OperationError(
                f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}"
            )
        if label_smoothing < 0 or label_smoothing > 1.0:
            raise OperationError(
                f"expected label_smoothing to be in range [0, 1], got {label_smoothing}"
            )
        super().__init__(weight, None, None, reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        width = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, width, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        layer: Any = self.linear
        return F.linear_cross_entropy(
            input,
            layer.weight.reshape((*shape, layer.in_features)),
            target,
            linear_bias=None if layer.bias is None else layer.bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


class PoissonNLLLoss(_Loss):
    """Poisson negative log-likelihood: `exp(input) - target * input`, where the input is the
    logarithm of the rate.

    Args:
        log_input: False: the input is the rate itself, `input - target * log(input + eps)`.
            Default: True.
        full: whether to add Stirling's approximation of log(target!), for targets above 1. Default:
            False.
        eps: keeps the logarithm finite, with log_input=False. Default: 1e-8.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.

    Shape:
        input, target: any shape, the same for both. The result is a scalar; of that shape with
            reduction="none".

    Example:
        >>> import pellucid as torch
        >>> torch.nn.PoissonNLLLoss()(torch.tensor([0.0]), torch.tensor([2.0]))
        tensor(1.)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(_Loss):
    """Gaussian negative log-likelihood: `(log(var) + (input - target)^2 / var) / 2`, with `var` at
    least `eps`.

    Args:
        full: whether to add the constant log(2 pi) / 2. Default: False.
        eps: lower bound of the variance; it does not change the gradient. Default: 1e-6.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean".

    Call it as `loss(input, target, var)`.

    Shape:
        input, target: `(N, *)`, means and observations.
        var: variances in the same shape, or with 1 as last dimension, or without it; or a number.

    Raises:
        ValueError: a negative variance; shapes that do not fit.

    Source: Nix, Weigend, "Estimating the mean and variance of the target probability distribution",
    1994.

    Example:
        >>> import pellucid as torch
        >>> mean, target, var = torch.zeros(2), torch.tensor([0.0, 1.0]), torch.ones(2)
        >>> torch.nn.GaussianNLLLoss()(mean, target, var)
        tensor(0.2500)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


class KLDivLoss(_Loss):
    """Kullback-Leibler divergence: `target * (log(target) - input)`, where the input holds
    log-probabilities.

    Args:
        reduction: "batchmean" divides the sum by the batch size, which is the divergence as it is
            defined; "mean" divides it by the number of all elements; also "sum" and "none".
            Default: "mean".
        log_target: whether the target holds log-probabilities, too. Default: False.

    Shape:
        input, target: any shape, the same for both. The result is a scalar; of that shape with
            reduction="none".

    Example:
        >>> import pellucid as torch
        >>> p = torch.tensor([[0.5, 0.5]])
        >>> torch.nn.KLDivLoss(reduction="batchmean")(torch.log(torch.tensor([[0.25, 0.75]])), p)
        tensor(0.1438)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class BCELoss(_WeightedLoss):
    """Binary cross-entropy of probabilities:
    `-(target * log(input) + (1 - target) * log(1 - input))`.

    The logarithms are at least -100, so the loss stays finite. BCEWithLogitsLoss takes scores and
    is more precise.

    Args:
        weight: factors that broadcast with the input.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.

    Shape:
        input: probabilities in [0, 1], such as those of a sigmoid; any shape.
        target: numbers in [0, 1] in the same shape, floating point.

    Raises:
        ValueError: the shapes differ.
        RuntimeError: an input outside [0, 1].

    Example:
        >>> import pellucid as torch
        >>> torch.nn.BCELoss()(torch.tensor([0.5, 0.5]), torch.tensor([1.0, 0.0]))
        tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Binary cross-entropy of raw scores: sigmoid and BCELoss in one, numerically stable.

    `loss = -(pos_weight * target * log(sigmoid(input)) + (1 - target) * log(1 - sigmoid(input)))`

    Args:
        weight: factors that broadcast with the input.
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.
        pos_weight: factor of the positive targets, broadcast with the target; above 1 it raises
            recall.

    Shape:
        input: scores before the sigmoid, any shape.
        target: numbers in [0, 1] in the same shape, floating point.

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.BCEWithLogitsLoss()(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 0.0]))
        tensor(0.6931)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)
        self.weight: Any
        self.pos_weight: Any

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class SmoothL1Loss(_Loss):
    """Smooth L1 loss, with d = input - target: `d^2 / (2 beta)` where |d| < beta, else
    `|d| - beta / 2`.

    Args:
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean". Older
            forms: `size_average`, `reduce`.
        beta: where the two forms meet; 0 gives L1Loss. Default: 1.

    Shape:
        input, target: any shape, the same for both. The result is a scalar; of that shape with
            reduction="none".

    Raises:
        RuntimeError: a negative beta.

    Source: Girshick, "Fast R-CNN", 2015.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.SmoothL1Loss()(torch.tensor([0.5, 3.0]), torch.zeros(2))
        tensor(1.3125)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Huber loss, with d = input - target: `d^2 / 2` where |d| <= delta, else
    `delta * (|d| - delta / 2)`.

    Args:
        reduction: "mean", "sum" or "none" (one loss for each element). Default: "mean".
        delta: where the two forms meet, and the slope beyond. Default: 1.

    Shape:
        input, target: any shape, the same for both. The result is a scalar; of that shape with
            reduction="none".

    Raises:
        TypeError: `delta` is not a number.

    Source: Huber, "Robust estimation of a location parameter", 1964.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.HuberLoss()(torch.tensor([0.5, 3.0]), torch.zeros(2))
        tensor(1.3125)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        if not isinstance(delta, (int, float)):
            raise ArgumentTypeError(f"delta must be a float or int, got: {type(delta)}")
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class CTCLoss(_Loss):
    """Connectionist temporal classification: the negative log-probability of a label sequence,
    summed over all alignments.

    Args:
        blank: number of the blank class. Default: 0.
        reduction: "mean" divides each loss by its target's length and takes the mean over the
            batch; also "sum" and "none". Default: "mean".
        zero_infinity: whether infinite losses, of inputs too short for their targets, become 0,
            with gradient 0. Default: False.

    Call it as `loss(log_probs, targets, input_lengths, target_lengths)`.

    Shape:
        log_probs: log-probabilities, `(T, N, C)` or `(T, C)`.
        targets: labels without blanks, `(N, S)` padded, or all one after the other,
            `(sum of target_lengths,)`.
        input_lengths, target_lengths: `(N,)` or `()`, tensors or tuples.
        result: a scalar; `(N,)` or `()` with reduction="none".

    Source: Graves et al., "Connectionist temporal classification", 2006.

    Example:
        >>> import pellucid as torch
        >>> log_probs = torch.log_softmax(torch.zeros(4, 1, 3), 2)
        >>> torch.nn.CTCLoss()(log_probs, torch.tensor([[1, 2]]), (4,), (2,))
        tensor(0.8432)
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )
