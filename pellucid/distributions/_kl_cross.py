"""Divergences between distributions of different families.

KL(p || q) is minus the entropy of p and minus the mean of log q over p. The second needs of p only
its mean, its variance, or the means of log x or exp(-x / s); `_CROSS` has the formula for each q.
"""

from __future__ import annotations

import math
from typing import Any

from ..core.tensor import Tensor
from ._functions import EULER, LOG_2PI, T, logbeta
from ._kl_registry import register_kl
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform


def _mean_log(p: Any) -> Tensor:
    """The mean of log x."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -EULER - p.rate.log()
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    assert isinstance(p, Uniform)
    return (T.xlogy(p.high, p.high) - T.xlogy(p.low, p.low)) / (p.high - p.low) - 1


def _mean_exp(p: Any, s: Tensor) -> Tensor:
    """The mean of exp(-x / s)."""
    if isinstance(p, Exponential):
        return p.rate * s / (p.rate * s + 1)
    if isinstance(p, Gamma):
        return (1 + (p.rate * s).reciprocal()).pow(-p.concentration)
    if isinstance(p, Normal):
        return T.exp(0.5 * (p.scale / s).pow(2) - p.loc / s)
    assert isinstance(p, Uniform)
    return s * (T.exp(-p.low / s) - T.exp(-p.high / s)) / (p.high - p.low)


def _to_exponential(p: Any, q: Any) -> Tensor:
    return q.rate * p.mean - q.rate.log()


def _to_gamma(p: Any, q: Any) -> Tensor:
    a = q.concentration
    return a.lgamma() - a * q.rate.log() - (a - 1) * _mean_log(p) + q.rate * p.mean


def _to_normal(p: Any, q: Any) -> Tensor:
    return (
        0.5 * LOG_2PI
        + q.scale.log()
        + (p.variance + (p.mean - q.loc).pow(2)) / (2 * q.scale.pow(2))
    )


def _to_gumbel(p: Any, q: Any) -> Tensor:
    return (
        q.scale.log() + (p.mean - q.loc) / q.scale + T.exp(q.loc / q.scale) * _mean_exp(p, q.scale)
    )


def _to_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return -(p.mean * q.logits + T.log1p(-q.probs) + q._log_norm())


def _to_uniform(p: Any, q: Any) -> Tensor:
    return (q.high - q.low).log()


def _to_pareto(p: Any, q: Any) -> Tensor:
    return (q.alpha + 1) * _mean_log(p) - q.alpha.log() - q.alpha * q.scale.log()


def _to_beta(p: Any, q: Any) -> Tensor:
    mirrored = Uniform(1 - p.high, 1 - p.low, validate_args=False)
    a, b = q.concentration1, q.concentration0
    return logbeta(a, b) - (a - 1) * _mean_log(p) - (b - 1) * _mean_log(mirrored)


def _to_laplace(p: Any, q: Any) -> Tensor:
    """From a normal distribution: |x - loc| has a folded normal mean."""
    gap = p.loc - q.loc
    z = gap / p.scale
    folded = math.sqrt(2 / math.pi) * p.scale * T.exp(-0.5 * z.pow(2)) + gap * T.erf(
        math.sqrt(0.5) * z
    )
    return T.log(2 * q.scale) + folded / q.scale


_CROSS = {
    (Beta, ContinuousBernoulli): _to_continuous_bernoulli,
    (Beta, Exponential): _to_exponential,
    (Beta, Gamma): _to_gamma,
    (Beta, Normal): _to_normal,
    (Beta, Uniform): _to_uniform,
    (ContinuousBernoulli, Exponential): _to_exponential,
    (ContinuousBernoulli, Normal): _to_normal,
    (ContinuousBernoulli, Uniform): _to_uniform,
    (Exponential, Gamma): _to_gamma,
    (Exponential, Gumbel): _to_gumbel,
    (Exponential, Normal): _to_normal,
    (Gamma, Exponential): _to_exponential,
    (Gamma, Gumbel): _to_gumbel,
    (Gamma, Normal): _to_normal,
    (Gumbel, Normal): _to_normal,
    (Laplace, Normal): _to_normal,
    (Normal, Gumbel): _to_gumbel,
    (Normal, Laplace): _to_laplace,
    (Pareto, Exponential): _to_exponential,
    (Pareto, Gamma): _to_gamma,
    (Pareto, Normal): _to_normal,
    (Uniform, Beta): _to_beta,
    (Uniform, ContinuousBernoulli): _to_continuous_bernoulli,
    (Uniform, Exponential): _to_exponential,
    (Uniform, Gamma): _to_gamma,
    (Uniform, Gumbel): _to_gumbel,
    (Uniform, Normal): _to_normal,
    (Uniform, Pareto): _to_pareto,
}

# q gives no probability to part of what p can be.
_INFINITE = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}


def _outside(p: Any, q: Any) -> Any:
    """Where p reaches beyond q's support, for pairs that may fit."""
    if isinstance(q, Uniform):  # from the unit interval
        return (q.low > 0) | (q.high < 1)
    if isinstance(p, Uniform):
        if isinstance(q, (Beta, ContinuousBernoulli)):
            return (p.low < 0) | (p.high > 1)
        if isinstance(q, (Exponential, Gamma)):
            return p.low < 0
        if isinstance(q, Pareto):
            return p.low < q.scale
    if isinstance(p, Pareto):  # no mean, or no variance
        return p.alpha <= (2 if isinstance(q, Normal) else 1)
    return None


def _cross(rule: Any) -> Any:
    def divergence(p: Any, q: Any) -> Tensor:
        value = rule(p, q) - p.entropy()
        outside = _outside(p, q)
        return value if outside is None else T.where(outside, math.inf, value)

    return divergence


def _infinite(p: Any, q: Any) -> Tensor:
    parameter = next(p.__dict__[n] for n in (*p.arg_constraints, "_dirichlet") if n in p.__dict__)
    if isinstance(p, Beta):
        parameter = p.concentration1
    return T.full_like(parameter, math.inf)


for _pair, _rule in _CROSS.items():
    register_kl(*_pair)(_cross(_rule))
for _p, _others in _INFINITE.items():
    for _q in _others:
        register_kl(_p, _q)(_infinite)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return q.rate - p.probs * q.rate.log() - p.entropy()
