"""The Poisson distribution."""

from __future__ import annotations

from typing import Any

from ..core.modes import no_grad
from ..core.tensor import Tensor
from . import constraints
from ._functions import T
from .exp_family import ExponentialFamily
from .utils import broadcast_all, shape_of

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """The number of events that come at `rate` independently.

    >>> import pellucid as torch
    >>> torch.distributions.Poisson(torch.tensor(2.0)).log_prob(torch.tensor(0.0))
    tensor(-2.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(shape_of(self.rate, rate), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_parameters(Poisson, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return T.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (T.log(self.rate),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return T.exp(x)
