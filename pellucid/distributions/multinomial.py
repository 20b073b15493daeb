"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import Any

from ..core.tensor import Tensor
from ..errors import UnsupportedError
from . import constraints
from ._functions import T
from ._probs import CategoricalParameter
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(CategoricalParameter, Distribution):
    """How often each of K categories comes in `total_count` independent draws.

    Args:
        total_count: an int, the same for the whole batch.
        probs, logits: as for `Categorical`, (..., K).

    Raises:
        NotImplementedError: the count is not an int.

    >>> import pellucid as torch
    >>> torch.distributions.Multinomial(4, torch.tensor([1.0, 3.0])).mean
    tensor([1., 3.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self,
        total_count: int = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise UnsupportedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        super().__init__(
            self._categorical.batch_shape,
            self._categorical.param_shape[-1:],
            validate_args=validate_args,
        )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expand_categorical(Multinomial, Distribution, batch_shape, _instance)
        new.total_count = self.total_count
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = T.zeros(self._extended_shape(sample_shape), dtype=drawn.dtype, device=drawn.device)
        return counts.scatter_add_(-1, drawn, T.ones_like(drawn)).type_as(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        # An impossible category that did not come counts as 0 * log(0) = 0.
        logits = T.where((value == 0) & (logits == -math.inf), 0.0, logits)
        return T.lgamma(value.sum(-1) + 1) - T.lgamma(value + 1).sum(-1) + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        n = self.total_count
        counts = Binomial(n, probs=self.probs)
        values = counts.enumerate_support(expand=False)[1:]
        weighted = T.exp(counts.log_prob(values)) * T.lgamma(values + 1)
        return n * self._categorical.entropy() - math.lgamma(n + 1) + weighted.sum((0, -1))
