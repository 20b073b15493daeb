"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from typing import Any

from ..core.tensor import Tensor
from . import constraints
from ._functions import EULER, T
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all

__all__ = ["Kumaraswamy"]


def _moments(a: Tensor, b: Tensor, n: int) -> Tensor:
    """The n-th moment."""
    first = 1 + n / a
    return T.exp(b.log() + T.lgamma(first) + T.lgamma(b) - T.lgamma(first + b))


class Kumaraswamy(TransformedDistribution):
    """The distribution `1 - (1 - x**concentration1)**concentration0` over [0, 1].

    >>> import pellucid as torch
    >>> d = torch.distributions.Kumaraswamy(1.0, 2.0)
    >>> d.mean, d.log_prob(torch.tensor(0.5))
    (tensor(0.3333), tensor(0.))
    """

    arg_constraints: Any = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            T.full_like(self.concentration0, 0),
            T.full_like(self.concentration0, 1),
            validate_args=validate_args,
        )
        transforms = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1 = self.concentration1.expand(batch_shape)
        new.concentration0 = self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    @property
    def mean(self) -> Tensor:
        return _moments(self.concentration1, self.concentration0, 1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log_mode = a.reciprocal() * (-b).log1p() - (-a * b).log1p()
        return T.where((a < 1) | (b < 1), math.nan, log_mode.exp())

    @property
    def variance(self) -> Tensor:
        return _moments(self.concentration1, self.concentration0, 2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        t1 = 1 - self.concentration1.reciprocal()
        t0 = 1 - self.concentration0.reciprocal()
        harmonic = T.digamma(self.concentration0 + 1) + EULER
        return t0 + t1 * harmonic - T.log(self.concentration1) - T.log(self.concentration0)
