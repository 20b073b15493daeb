"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

from ..core.tensor import Tensor
from . import constraints
from ._functions import T
from .distribution import Distribution
from .utils import broadcast_all, shape_of

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Exceedances over a threshold `loc`: the survival function
    `(1 + concentration * z)**(-1 / concentration)`, z = (x - loc) / scale.

    With a concentration of 0 it is the exponential distribution.

    >>> import pellucid as torch
    >>> d = torch.distributions.GeneralizedPareto(0.0, 1.0, 0.25)
    >>> d.mean, d.cdf(torch.tensor(1.0))
    (tensor(1.3333), tensor(0.5904))
    """

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(shape_of(self.loc, loc, scale, concentration), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_parameters(GeneralizedPareto, batch_shape, _instance)

    def _shape(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is 0 (near enough), and the concentration with 1 in these places."""
        zero = T.isclose(self.concentration, T.zeros_like(self.concentration))
        return zero, T.where(zero, 1.0, self.concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        top = T.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, top)

    @property
    def mean(self) -> Tensor:
        valid = self.concentration < 1
        return T.where(
            valid, self.loc + self.scale / (1 - T.where(valid, self.concentration, 0.5)), math.nan
        )

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        valid = self.concentration < 0.5
        k = T.where(valid, self.concentration, 0.25)
        return T.where(valid, self.scale**2 / ((1 - k) ** 2 * (1 - 2 * k)), math.nan)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(T.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        zero, k = self._shape()
        z = (value - self.loc) / self.scale
        power = 1 / k + T.ones_like(z)
        curved = T.where(power == 0, power, power * T.log1p(k * z))
        return -self.scale.log() - T.where(zero, z, curved)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """log P(X > value)."""
        if self._validate_args:
            self._validate_sample(value)
        zero, k = self._shape()
        z = (value - self.loc) / self.scale
        return T.where(zero, -z, -T.log1p(k * z) / k)

    def log_cdf(self, value: Tensor) -> Tensor:
        """log P(X <= value)."""
        return T.log1p(-T.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return T.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        zero, k = self._shape()
        log_left = T.log1p(-value)
        curved = self.loc + self.scale / k * T.expm1(-k * log_left)
        return T.where(zero, self.loc - self.scale * log_left, curved)

    def entropy(self) -> Tensor:
        return (T.log(self.scale) + self.concentration + 1).expand(self._batch_shape)
