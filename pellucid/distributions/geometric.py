"""The geometric distribution."""

from __future__ import annotations

from typing import Any

from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..dtypes import finfo
from ..errors import ArgumentValueError
from . import constraints
from ._functions import N, T
from .distribution import Distribution
from .utils import (
    broadcast_all,
    lazy_property,
    logits_to_probs,
    only_one,
    probs_to_logits,
    shape_of,
)

__all__ = ["Geometric"]


class Geometric(Distribution):
    """The number of failures before the first success in trials of probability `probs`.

    Raises:
        ValueError: both of `probs` and `logits`, or none.

    >>> import pellucid as torch
    >>> torch.distributions.Geometric(torch.tensor(0.25)).mean
    tensor(3.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        only_one("probs", "logits", probs, logits)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        (param,) = broadcast_all(given)
        setattr(self, name, param)
        super().__init__(shape_of(param, given), validate_args=validate_args)
        if self._validate_args and probs is not None:
            # The constraint lets 0 pass, with which no success ever comes.
            if not bool((self.probs > 0).all()):
                raise ArgumentValueError(
                    f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) "
                    f"of distribution {self!r} to be positive but found invalid values:\n{self.probs}"
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_parameters(Geometric, batch_shape, _instance)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return T.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            u = self.probs.new_empty(shape).uniform_(finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        # No failure in trials that always succeed: 0 * log(0) counts as 0.
        probs = T.where((probs == 1) & (value == 0), 0.0, probs)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return (
            N.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
            / self.probs
        )
