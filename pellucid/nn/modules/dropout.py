"""Dropout layers: they zero random values during training and do nothing in eval mode."""

from __future__ import annotations

from ...core.tensor import Tensor
from ...errors import ArgumentValueError
from .. import functional as F
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    _function = ""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ArgumentValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(input, self.p, self.training, self.inplace)


class Dropout(_DropoutNd):
    """During training, sets each element to zero with probability p and divides the others by 1 -
    p.

    The expected value stays the same. In evaluation mode (`eval()`) the input is returned.

    Args:
        p: probability that an element becomes zero. Default: 0.5.
        inplace: whether to change the input itself. Default: False.

    Shape:
        input: any shape; the result has the same one.

    Raises:
        ValueError: p outside [0, 1].

    Source: Hinton et al., "Improving neural networks by preventing co-adaptation of feature
    detectors", 2012.

    Example:
        >>> import pellucid as torch
        >>> x = torch.nn.Dropout(0.5)(torch.ones(1000))
        >>> x.unique()
        tensor([0., 2.])
    """

    _function = "dropout"


class Dropout1d(_DropoutNd):
    """During training, sets whole channels of (N, C, L) or (C, L) to zero, each with probability p.

    The others are divided by 1 - p. In evaluation mode the input is returned. Neighboring elements
    of a feature map are alike, so that dropping single ones regularizes little.

    Args:
        p: probability that a channel becomes zero. Default: 0.5.
        inplace: whether to change the input itself. Default: False.

    Shape:
        input: `(N, C, L)` or `(C, L)`; the result has the same shape.

    Raises:
        ValueError: p outside [0, 1].

    Source: Tompson et al., "Efficient object localization using convolutional networks", 2015.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Dropout1d(0.2).eval()(torch.ones(1, 2, 1)).sum()
        tensor(2.)
    """

    _function = "dropout1d"


class Dropout2d(_DropoutNd):
    """During training, sets whole channels of (N, C, H, W) to zero, each with probability p.

    The others are divided by 1 - p. In evaluation mode the input is returned. Neighboring elements
    of a feature map are alike, so that dropping single ones regularizes little.

    Args:
        p: probability that a channel becomes zero. Default: 0.5.
        inplace: whether to change the input itself. Default: False.

    Shape:
        input: `(N, C, H, W)`; the result has the same shape. A 3-d input is taken as `(N, C, L)`,
            with a warning.

    Raises:
        ValueError: p outside [0, 1].

    Source: Tompson et al., "Efficient object localization using convolutional networks", 2015.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Dropout2d(0.2).eval()(torch.ones(1, 2, 1, 1)).sum()
        tensor(2.)
    """

    _function = "dropout2d"


class Dropout3d(_DropoutNd):
    """During training, sets whole channels of (N, C, D, H, W) or (C, D, H, W) to zero, each with
    probability p.

    The others are divided by 1 - p. In evaluation mode the input is returned. Neighboring elements
    of a feature map are alike, so that dropping single ones regularizes little.

    Args:
        p: probability that a channel becomes zero. Default: 0.5.
        inplace: whether to change the input itself. Default: False.

    Shape:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`; the result has the same shape.

    Raises:
        ValueError: p outside [0, 1].

    Source: Tompson et al., "Efficient object localization using convolutional networks", 2015.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.Dropout3d(0.2).eval()(torch.ones(1, 2, 1, 1, 1)).sum()
        tensor(2.)
    """

    _function = "dropout3d"


class AlphaDropout(_DropoutNd):
    """Dropout that preserves the mean and variance of SELU outputs.

    During training, each element becomes SELU's negative limit, -1.7581, with probability p; then
    all are scaled and shifted. In evaluation mode the input is returned.

    Args:
        p: probability that an element is dropped. Default: 0.5.
        inplace: accepted.

    Shape:
        input: any shape; the result has the same one.

    Raises:
        ValueError: p outside [0, 1].

    Source: Klambauer et al., "Self-normalizing neural networks", 2017.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.AlphaDropout(0.2).eval()(torch.ones(3))
        tensor([1., 1., 1.])
    """

    _function = "alpha_dropout"

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels: during training, sets a channel to SELU's negative limit with
    probability p.

    All elements are then scaled and shifted, so that mean and variance of SELU outputs stay the
    same. In evaluation mode the input is returned.

    Args:
        p: probability that a channel is dropped. Default: 0.5.
        inplace: accepted.

    Shape:
        input: `(N, C, *)`; the result has the same shape.

    Raises:
        ValueError: p outside [0, 1].

    Source: Klambauer et al., "Self-normalizing neural networks", 2017.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.FeatureAlphaDropout(0.2).eval()(torch.ones(1, 2, 2))
        tensor([[[1., 1.],
                 [1., 1.]]])
    """

    _function = "feature_alpha_dropout"

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
