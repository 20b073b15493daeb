"""Divergences between two distributions of one family."""

from __future__ import annotations

import math
from typing import Any

from ..core import reverse
from ..core.modes import enable_grad
from ..core.tensor import Tensor
from ..errors import ArgumentValueError, UnsupportedError
from ._functions import EULER, L, T
from ._kl_registry import kl_divergence, register_kl
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis, half_log_det
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import sum_rightmost


def _weighted(weight: Tensor, gap: Tensor, other: Tensor) -> Tensor:
    """`weight * gap`: 0 where the weight is 0, infinite where only the other distribution's is."""
    return T.where(weight == 0, 0.0, T.where(other == 0, math.inf, weight * gap))


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    ones = _weighted(p.probs, T.softplus(-q.logits) - T.softplus(-p.logits), q.probs)
    return ones + _weighted(1 - p.probs, T.softplus(q.logits) - T.softplus(p.logits), 1 - q.probs)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    return _weighted(p.probs, p.logits - q.logits, q.probs).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if bool((p.total_count < q.total_count).any()):
        raise UnsupportedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return T.where(p.total_count > q.total_count, math.inf, p.total_count * each)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Tensor:
    a, b = p.concentration1, p.concentration0
    c, d = q.concentration1, q.concentration0
    front = c.lgamma() + d.lgamma() - (c + d).lgamma() - a.lgamma() - b.lgamma() + (a + b).lgamma()
    return (
        front + (a - c) * a.digamma() + (b - d) * b.digamma() + (c + d - a - b) * (a + b).digamma()
    )


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    norms = p._log_norm() + T.log1p(-p.probs) - q._log_norm() - T.log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + norms


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    front = a.sum(-1).lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return front + ((a - b) * (a.digamma() - a.sum(-1, True).digamma())).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Tensor:
    """The Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise UnsupportedError(
            "The cross KL-divergence between different exponential families cannot                             be computed using Bregman divergences"
        )
    with enable_grad():
        theta = [n if n.requires_grad else n.detach().requires_grad_() for n in p._natural_params]
        normalizer = p._log_normalizer(*theta)
        slopes = reverse.grad([normalizer.sum()], theta, [None], create_graph=True)
    theirs = q._natural_params
    result = q._log_normalizer(*theirs) - normalizer
    batch = max(len(p.batch_shape), len(q.batch_shape))
    for mine, other, slope in zip(theta, theirs, slopes, strict=True):
        term = (other - mine) * slope
        result = result - sum_rightmost(term, term.dim() - batch)
    wanted = any(n.requires_grad for n in (*p._natural_params, *theirs))
    return result if wanted else result.detach()


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    a, c = p.concentration, q.concentration
    front = c * (p.rate / q.rate).log() + c.lgamma() - a.lgamma()
    return front + (a - c) * a.digamma() + (q.rate - p.rate) * (a / p.rate)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - T.log1p(-q.probs) / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    shift = (p.loc - q.loc) / q.scale
    return shift - ratio.log() + ratio * EULER + T.exp((1 + ratio).lgamma() - shift) - (1 + EULER)


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio, gap = p.scale / q.scale, (p.loc - q.loc).abs()
    return gap / q.scale + ratio * T.exp(-gap / p.scale) - ratio.log() - 1


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    spread = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return spread.log() - (4 * p.scale * q.scale).log()


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    value = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return T.where(p.scale < q.scale, math.inf, value)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    value = ((q.high - q.low) / (p.high - p.low)).log()
    return T.where((q.low > p.low) | (q.high < p.high), math.inf, value)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise UnsupportedError(
            "KL between TransformedDistributions with different transforms or event shapes is not implemented"
        )
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise UnsupportedError(
            "KL between Independents of different reinterpreted_batch_ndims is not implemented"
        )
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# Normal distributions of vectors: half of log det(Q) - log det(P) + trace(inv(Q) P) +
# mahalanobis(Q, q - p) - n.
def _square_sum(matrix: Tensor) -> Tensor:
    """The trace of `matrix @ matrix.T`."""
    return matrix.pow(2).sum((-2, -1))


def _log_det(d: Any) -> Tensor:
    if isinstance(d, LowRankMultivariateNormal):
        return d._log_det()
    return 2 * half_log_det(d._unbroadcasted_scale_tril)


def _distance(q: Any, difference: Tensor) -> Tensor:
    if isinstance(q, LowRankMultivariateNormal):
        return q._mahalanobis(difference)
    return _batch_mahalanobis(q._unbroadcasted_scale_tril, difference)


def _roots(p: Any) -> list[Tensor]:
    """Matrices whose products with their transposes add up to p's covariance."""
    if isinstance(p, LowRankMultivariateNormal):
        return [p._unbroadcasted_cov_factor, T.diag_embed(p._unbroadcasted_cov_diag.sqrt())]
    return [p._unbroadcasted_scale_tril]


def _trace(q: Any, root: Tensor) -> Tensor:
    """trace(inv(Q) root @ root.T)."""
    if isinstance(q, LowRankMultivariateNormal):
        # inv(Q) = inv(D) - A.T A by Woodbury's identity.
        a = L.solve_triangular(q._capacitance_tril, q._scaled, upper=False)
        return _square_sum(root * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)) - _square_sum(
            a @ root
        )
    factor = q._unbroadcasted_scale_tril
    batch = T.broadcast_shapes(factor.shape[:-2], root.shape[:-2])
    solved = L.solve_triangular(
        factor.expand(batch + factor.shape[-2:]), root.expand(batch + root.shape[-2:]), upper=False
    )
    return _square_sum(solved)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        low = [isinstance(d, LowRankMultivariateNormal) for d in (p, q)]
        kind = (
            "Low Rank Multivariate"
            if all(low)
            else "(Low Rank) Multivariate"
            if any(low)
            else "Multivariate"
        )
        raise ArgumentValueError(
            f"KL-divergence between two {kind} Normals with different event shapes cannot be computed"
        )
    trace = sum(_trace(q, root) for root in _roots(p))
    return 0.5 * (
        _log_det(q) - _log_det(p) + trace + _distance(q, q.loc - p.loc) - p.event_shape[0]
    )
