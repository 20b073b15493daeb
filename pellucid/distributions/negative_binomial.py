"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

from ..core.modes import no_grad
from ..core.tensor import Tensor
from . import constraints
from ._functions import T
from ._probs import BinaryParameter
from .distribution import Distribution
from .gamma import Gamma
from .utils import broadcast_all, lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(BinaryParameter, Distribution):
    """The number of successes of probability `probs` (below 1) before `total_count` failures.

    >>> import pellucid as torch
    >>> d = torch.distributions.NegativeBinomial(3, torch.tensor(0.5))
    >>> d.mean, d.variance
    (tensor(3.), tensor(6.))
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        name, given = self._given(probs, logits)
        count, self._param = broadcast_all(total_count, given)
        setattr(self, name, self._param)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_parameters(NegativeBinomial, batch_shape, _instance, "_param")

    @property
    def mean(self) -> Tensor:
        return self.total_count * T.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / T.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        # Not checked: a count of 0 is allowed here.
        return Gamma(concentration=self.total_count, rate=T.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return T.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        choices = T.lgamma(n + value) - T.lgamma(1.0 + value) - T.lgamma(n)
        # No trial at all has one outcome.
        choices = choices.masked_fill(n + value == 0.0, 0.0)
        return n * T.logsigmoid(-self.logits) + value * T.logsigmoid(self.logits) + choices
