"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

from ..core.tensor import Tensor
from . import constraints
from ._functions import T
from .chi2 import Chi2
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """`loc + scale * x` for a ratio x of a normal number and the root of a chi-squared one over its
    `df` degrees of freedom.

    >>> import pellucid as torch
    >>> d = torch.distributions.StudentT(4.0)
    >>> d.variance, d.log_prob(torch.tensor(0.0))
    (tensor(2.), tensor(-0.9808))
    """

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expand_parameters(StudentT, batch_shape, _instance)
        new._chi2 = self._chi2.expand(batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        return T.where(self.df <= 1, math.nan, self.loc)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        spread = self.scale.pow(2) * self.df / (self.df - 2)
        spread = T.where(self.df > 2, spread, math.inf)
        return T.where(self.df <= 1, math.nan, spread)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        x = T.randn(shape, dtype=self.df.dtype, device=self.df.device)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * T.rsqrt(z / self.df))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        norm = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi)
        norm = norm + T.lgamma(0.5 * self.df) - T.lgamma(0.5 * (self.df + 1.0))
        return -0.5 * (self.df + 1.0) * T.log1p(y**2.0 / self.df) - norm

    def entropy(self) -> Tensor:
        half = 0.5 * (self.df + 1)
        log_beta = T.lgamma(0.5 * self.df) + math.lgamma(0.5) - T.lgamma(half)
        return (
            self.scale.log()
            + half * (T.digamma(half) - T.digamma(0.5 * self.df))
            + 0.5 * self.df.log()
            + log_beta
        )
