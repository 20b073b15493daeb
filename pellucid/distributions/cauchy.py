"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

from ..core.tensor import Tensor
from . import constraints
from ._functions import T
from .distribution import Distribution
from .utils import broadcast_all, shape_of

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The distribution of `loc + scale * x / y` for independent normal x, y; it has no mean.

    >>> import pellucid as torch
    >>> d = torch.distributions.Cauchy(0.0, 1.0)
    >>> d.log_prob(torch.tensor(0.0)), d.cdf(torch.tensor(1.0))
    (tensor(-1.1447), tensor(0.7500))
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(shape_of(self.loc, loc, scale), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_parameters(Cauchy, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return T.full(
            self._extended_shape(), float("nan"), dtype=self.loc.dtype, device=self.loc.device
        )

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return T.full(
            self._extended_shape(), float("inf"), dtype=self.loc.dtype, device=self.loc.device
        )

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = self.loc.new_empty(shape).cauchy_()
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (
            -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()
        )

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return T.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return T.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
