"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..dtypes import bool_
from . import constraints
from ._functions import LOG_2PI, T
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


# Polynomials of Abramowitz and Stegun, 9.8.1 to 9.8.4, for I0 and I1: in (x / 3.75)**2 below 3.75,
# in 3.75 / x above.
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411),
)
_LARGE = (
    (
        0.39894228,
        0.01328592,
        0.00225319,
        -0.00157565,
        0.00916281,
        -0.02057706,
        0.02635537,
        -0.01647633,
        0.00392377,
    ),
    (
        0.39894228,
        -0.03988024,
        -0.00362018,
        0.00163801,
        -0.01031555,
        0.02282967,
        -0.02895312,
        0.01787654,
        -0.00420059,
    ),
)


def _polynomial(x: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    result: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        result = c + x * result
    return result


def _log_bessel(x: Tensor, order: int) -> Tensor:
    """log of I0(x) or I1(x), to about 7 digits."""
    small = _polynomial((x / 3.75) ** 2, _SMALL[order])
    small = (x.abs() * small if order else small).log()
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _LARGE[order]).log()
    return T.where(x < 3.75, small, large)


class VonMises(Distribution):
    """Angles in radians around `loc`, of density proportional to
    `exp(concentration * cos(x - loc))`.

    >>> import pellucid as torch
    >>> d = torch.distributions.VonMises(0.0, 1.0)
    >>> d.log_prob(torch.tensor(0.0))
    tensor(-1.0738)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, (), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expand_parameters(VonMises, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance."""
        return 1 - (_log_bessel(self.concentration, 1) - _log_bessel(self.concentration, 0)).exp()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (
            self.concentration * T.cos(value - self.loc)
            - LOG_2PI
            - _log_bessel(self.concentration, 0)
        )

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Samples by rejection from a wrapped Cauchy distribution, in float64 (Best, Fisher, 1979)."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            loc, kappa = self.loc.double(), self.concentration.double()
            tau = 1 + (1 + 4 * kappa**2).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
            r = T.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))
            angle = T.zeros(shape, dtype=loc.dtype)
            done = T.zeros(shape, dtype=bool_)
            while not bool(done.all()):
                u1, u2, u3 = T.rand((3, *shape), dtype=loc.dtype).unbind()
                z = T.cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                # Entries that were accepted before are drawn again too: the last accepted value
                # stays.
                angle = T.where(accept, (u3 - 0.5).sign() * f.acos(), angle)
                done = done | accept
            return ((angle + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)
