"""Dropout layers: random zeros while training, nothing in evaluation mode."""

from __future__ import annotations

from ...core.tensor import Tensor
from ...errors import ArgumentValueError
from .. import functional as F
from .module import Module


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
    """During training, sets each element to zero with probability p and divides the others by 1 - p.

    Source: Hinton et al., "Improving neural networks by preventing co-adaptation of feature detectors", 2012.
    """

    _function = "dropout"


class Dropout1d(_DropoutNd):
    """During training, sets whole channels of (N, C, L) or (C, L) to zero."""

    _function = "dropout1d"


class Dropout2d(_DropoutNd):
    """During training, sets whole channels of (N, C, H, W) or (C, H, W) to zero."""

    _function = "dropout2d"


class Dropout3d(_DropoutNd):
    """During training, sets whole channels of (N, C, D, H, W) or (C, D, H, W) to zero."""

    _function = "dropout3d"


class AlphaDropout(_DropoutNd):
    """Dropout that preserves the mean and variance of SELU outputs.

    Source: Klambauer et al., "Self-normalizing neural networks", 2017.
    """

    _function = "alpha_dropout"

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels."""

    _function = "feature_alpha_dropout"

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
