"""The binomial distribution."""

from __future__ import annotations

from typing import Any

from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..errors import UnsupportedError
from . import constraints
from ._functions import T
from ._probs import BinaryParameter
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Binomial"]


class Binomial(BinaryParameter, Distribution):
    """The number of successes in `total_count` trials of probability `probs`, or of log odds
    `logits`.

    Raises:
        ValueError: both of `probs` and `logits`, or none.

    >>> import pellucid as torch
    >>> torch.distributions.Binomial(2, torch.tensor(0.5)).log_prob(torch.tensor(1.0)).exp()
    tensor(0.5000)
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Any = 1,
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
        return self._expand_parameters(Binomial, batch_shape, _instance, "_param")

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return T.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, x = self.total_count, self.logits
        choices = T.lgamma(n + 1) - T.lgamma(value + 1) - T.lgamma(n - value + 1)
        # log(1 + exp(x)) from |x|; max(x, 0) is written so that its derivative at 0 is 1/2.
        positive = (x.clamp(min=0) + x - x.clamp(max=0)) / 2
        return value * x - n * (positive + T.log1p(T.exp(-T.abs(x)))) + choices

    def _one_count(self, function: str) -> int:
        count = int(self.total_count.max())
        if int(self.total_count.min()) != count:
            raise UnsupportedError(f"Inhomogeneous total count not supported by `{function}`.")
        return count

    def entropy(self) -> Tensor:
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(T.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = T.arange(
            1 + self._one_count("enumerate_support"),
            dtype=self._param.dtype,
            device=self._param.device,
        )
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values
