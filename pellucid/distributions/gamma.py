"""The gamma distribution."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..dtypes import finfo
from . import constraints
from ._functions import T
from .exp_family import ExponentialFamily
from .utils import broadcast_all, shape_of

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """The density `rate**concentration / gamma(concentration) * x**(concentration - 1) * exp(-rate
    * x)`; samples have gradients.

    >>> import pellucid as torch
    >>> torch.distributions.Gamma(torch.tensor(3.0), torch.tensor(2.0)).mean
    tensor(1.5000)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(shape_of(self.rate, concentration, rate), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_parameters(Gamma, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = T._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        # Kept above 0 without touching the gradient.
        value.detach().clamp_(min=finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        value = T.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        a, rate = self.concentration, self.rate
        return T.xlogy(a, rate) + T.xlogy(a - 1, value) - rate * value - T.lgamma(a)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return T.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - T.log(self.rate) + T.lgamma(a) + (1.0 - a) * T.digamma(a)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration - 1, -self.rate)

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return T.lgamma(x + 1) + (x + 1) * T.log(-y.reciprocal())
