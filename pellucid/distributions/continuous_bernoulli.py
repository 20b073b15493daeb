"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

from ..core.tensor import Tensor
from ..errors import ArgumentValueError
from . import constraints
from ._functions import N, T
from ._probs import BinaryParameter
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs, shape_of

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(BinaryParameter, ExponentialFamily):
    """The density proportional to `probs**x * (1 - probs)**(1 - x)` over [0, 1].

    Args:
        probs, logits: one of them; `probs` is kept inside (0, 1).
        lims: around 1/2, between these, Taylor series stand for formulas that divide by 1 - 2
            probs.

    Source: Loaiza-Ganem, Cunningham, "The continuous Bernoulli", 2019.

    >>> import pellucid as torch
    >>> d = torch.distributions.ContinuousBernoulli(torch.tensor([0.2, 0.5]))
    >>> d.mean
    tensor([0.3880, 0.5000])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        name, given = self._given(probs, logits)
        (param,) = broadcast_all(given)
        if name == "probs":
            # Checked before it is clamped: what is clamped would always pass.
            if validate_args is not None and not bool(
                self.arg_constraints["probs"].check(param).all()
            ):
                raise ArgumentValueError("The parameter probs has invalid values")
            param = clamp_probs(param)
        setattr(self, name, param)
        self._param = param
        self._lims = lims
        super().__init__(shape_of(param, given), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expand_parameters(ContinuousBernoulli, batch_shape, _instance, "_param")
        new._lims = self._lims
        return new

    @lazy_property
    def probs(self) -> Tensor:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _stable(self) -> Tensor:
        """Where the formulas can be used as they are."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _safe_probs(self) -> Tensor:
        """The probabilities, and where the series are used, a value at which the formulas do no
        harm.
        """
        return T.where(self._stable(), self.probs, self._lims[0])

    def _log_norm(self) -> Tensor:
        p = self._safe_probs()
        below = T.where(p <= 0.5, p, 0.0)
        above = T.where(p >= 0.5, p, 1.0)
        gap = T.where(p <= 0.5, T.log1p(-2.0 * below), T.log(2.0 * above - 1.0))
        exact = T.log(T.abs(T.log1p(-p) - T.log(p))) - gap
        x = (self.probs - 0.5).pow(2)
        return T.where(self._stable(), exact, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        p = self._safe_probs()
        exact = p / (2.0 * p - 1.0) + 1.0 / (T.log1p(-p) - T.log(p))
        x = self.probs - 0.5
        return T.where(self._stable(), exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def variance(self) -> Tensor:
        p = self._safe_probs()
        exact = p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + 1.0 / (T.log1p(-p) - T.log(p)).pow(2)
        x = (self.probs - 0.5).pow(2)
        return T.where(self._stable(), exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(T.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return self._log_norm() - N.binary_cross_entropy_with_logits(
            logits, value, reduction="none"
        )

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        p = self._safe_probs()
        exact = (p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = T.where(self._stable(), exact, value)
        return T.where(value <= 0.0, 0.0, T.where(value >= 1.0, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        p = self._safe_probs()
        exact = (T.log1p(-p + value * (2.0 * p - 1.0)) - T.log1p(-p)) / (T.log(p) - T.log1p(-p))
        return T.where(self._stable(), exact, value)

    def entropy(self) -> Tensor:
        log0, log1 = T.log1p(-self.probs), T.log(self.probs)
        return self.mean * (log0 - log1) - self._log_norm() - log0

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        stable = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        safe = T.where(stable, x, self._lims[0] - 0.5)
        exact = T.log(T.abs(T.expm1(safe))) - T.log(T.abs(safe))
        return T.where(stable, exact, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
