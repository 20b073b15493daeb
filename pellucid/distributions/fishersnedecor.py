"""The F distribution."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..dtypes import finfo
from . import constraints
from ._functions import T
from .distribution import Distribution
from .gamma import Gamma
from .utils import broadcast_all, shape_of

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The ratio of two chi-squared numbers, each divided by its degrees of freedom `df1` and `df2`.

    >>> import pellucid as torch
    >>> d = torch.distributions.FisherSnedecor(2.0, 6.0)
    >>> d.mean, d.variance
    (tensor(1.5000), tensor(6.7500))
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(shape_of(self.df1, df1, df2), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expand_parameters(FisherSnedecor, batch_shape, _instance)
        new._gamma1 = self._gamma1.expand(batch_shape)
        new._gamma2 = self._gamma2.expand(batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        d = T.where(self.df2 <= 2, float("nan"), self.df2)
        return d / (d - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return T.where(self.df1 <= 2, float("nan"), mode)

    @property
    def variance(self) -> Tensor:
        d = T.where(self.df2 <= 4, float("nan"), self.df2)
        return 2 * d.pow(2) * (self.df1 + d - 2) / (self.df1 * (d - 2).pow(2) * (d - 4))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        above = self._gamma1.rsample(sample_shape).view(shape)
        below = self._gamma2.rsample(sample_shape).view(shape)
        tiny = finfo(below.dtype).tiny
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        front = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        middle = half1 * ratio.log() + (half1 - 1) * T.log(value)
        return front + middle - (half1 + half2) * T.log1p(ratio * value)
