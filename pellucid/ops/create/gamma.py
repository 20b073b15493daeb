"""Gamma and Dirichlet samples with derivatives with respect to their parameters.

A sample x of the distribution function F(x; a) moves with its parameter, at a fixed quantile, by
-(dF/da) / p(x) (Figurnov, Mohamed, Mnih, "Implicit reparameterization gradients", 2018). With p(t)
the density and m the mean of log t, dF/da is the integral of p(t) (log t - m) up to x, which is
also minus the integral from x on. Of the two, the one whose integrand keeps its sign is computed,
in coordinates in which it falls off smoothly: no digits are lost anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...core.primitive import defop
from ...core.public import public
from ...core.streams import reject as random_reject
from ...core.tensor import Tensor, make_tensor
from ...errors import UnsupportedError
from .._rules import require_tensor
from .random import default_generator

Array = Any  # NumPy's, or a Python number for a 0-d one
# logarithm of an integrand, relative to its start, below which the rest does not count
_NEGLIGIBLE = -40.0


@cache
def _nodes() -> tuple[Array, Array, Array]:
    """Double exponential quadrature of [0, 1]: distances from 0, distances from 1, weights
    (Takahasi, Mori, 1974).
    """
    step = 0.1
    t = np.arange(-35, 36) * step
    q = np.pi / 2 * np.sinh(t)
    return (
        1 / (1 + np.exp(-2 * q)),
        1 / (1 + np.exp(2 * q)),
        step * np.pi / 4 * np.cosh(t) / np.cosh(q) ** 2,
    )


def _integral(
    log_weight: Callable[[Array, Array], Array], factor: Callable[[Array], Array], top: Any
) -> Array:
    """The integral over v from 0 to `top` of exp(log_weight(v, top - v)) factor(v), for weights
    that fall from 1.
    """
    low = np.full_like(top, -30.0)
    high = np.log(top)
    for _ in range(10):
        middle = (low + high) / 2
        v = np.exp(middle)
        small = log_weight(v, top - v) < _NEGLIGIBLE
        high, low = np.where(small, middle, high), np.where(small, low, middle)
    cut = np.minimum(np.exp(high), top)
    near, far, weights = (a.reshape(-1, *[1] * np.ndim(top)) for a in _nodes())
    v = cut * near
    values = np.exp(log_weight(v, (top - cut) + cut * far)) * factor(v) * weights
    return cut * np.where(np.isfinite(values), values, 0.0).sum(0)


def _by_case(case: Array, rules: tuple[Callable[..., Array], ...], *arrays: Array) -> Array:
    """Rule k of the entries where `case` is k."""
    out = np.empty(case.shape)
    for k, rule in enumerate(rules):
        chosen = case == k
        if chosen.any():
            out[chosen] = rule(*(a[chosen] for a in arrays))
    return out


def _gamma_slope(alpha: Array, x: Array) -> Array:
    """dx/da of a gamma sample x (1-d float64 arrays)."""
    from scipy.special import digamma

    def below(alpha: Array, x: Array, ahead: Array) -> Array:  # t = x exp(-v)
        return x * _integral(
            lambda v, _: -alpha * v - x * np.expm1(-v), lambda v: v - ahead, np.full_like(x, 1e12)
        )

    def above(alpha: Array, x: Array, ahead: Array) -> Array:  # t = x exp(v)
        return x * _integral(
            lambda v, _: alpha * v - x * np.expm1(v), lambda v: v + ahead, np.full_like(x, 1e12)
        )

    ahead = np.log(x) - digamma(alpha)  # of the mean of the logarithm
    return _by_case((ahead >= 0).astype(int), (below, above), alpha, x, ahead)


def _beta_slope(x: Array, alpha: Array, beta: Array) -> Array:
    """dx/da of a beta sample x (1-d float64 arrays)."""
    from scipy.special import digamma

    def below(x: Array, alpha: Array, beta: Array, mean: Array) -> Array:  # t = x exp(-v)
        y, ahead = 1 - x, np.log(x) - mean
        fall = lambda v, _: -alpha * v + (beta - 1) * np.log1p(-x * np.expm1(-v) / y)
        return x * _integral(fall, lambda v: v - ahead, np.full_like(x, 1e12))

    # t = x exp(v), up to t = 1
    def above(x: Array, alpha: Array, beta: Array, mean: Array) -> Array:
        y, ahead = 1 - x, np.log(x) - mean
        fall = lambda v, rest: alpha * v + (beta - 1) * np.log(-np.expm1(-rest) / y)
        return x * _integral(fall, lambda v: v + ahead, np.maximum(-np.log(x), 1e-300))

    # 1 - t = (1 - x) exp(-v)
    def far_above(x: Array, alpha: Array, beta: Array, mean: Array) -> Array:
        y = 1 - x
        fall = lambda v, _: -beta * v + (alpha - 1) * np.log1p(-y * np.expm1(-v) / x)
        return y * _integral(
            fall, lambda v: np.log1p(-y * np.exp(-v)) - mean, np.full_like(x, 1e12)
        )

    mean = digamma(alpha) - digamma(alpha + beta)  # of the logarithm
    case = np.where(np.log(x) < mean, 0, np.where(x < 0.5, 1, 2))
    return _by_case(case, (below, above, far_above), x, alpha, beta, mean)


def _over(slope: Callable[..., Array], *arrays: Any) -> Any:
    """`slope` of broadcast arrays in float64, in pieces that fit into a cache, in the first one's
    dtype.
    """
    first = np.asarray(arrays[0])
    shape = np.broadcast_shapes(*(np.shape(a) for a in arrays))
    flat = [np.broadcast_to(np.asarray(a, np.float64), shape).reshape(-1) for a in arrays]
    out = np.empty(flat[0].size)
    with np.errstate(all="ignore"):
        for start in range(0, out.size, 1024):
            part = slice(start, start + 1024)
            out[part] = slope(*(a[part] for a in flat))
    return out.reshape(shape).astype(first.dtype)


def _no_second(F: Any, g: Any) -> Any:
    raise UnsupportedError(
        "the derivative for a sample's derivative (_standard_gamma_grad, _dirichlet_grad) is not implemented"
    )


standard_gamma_grad = defop(
    "standard_gamma_grad",
    "input output",
    forward=lambda xp, alpha, x: _over(_gamma_slope, alpha, x),
    aval=lambda alpha, x: alpha,
    vjp={"input": _no_second, "output": _no_second},
)

dirichlet_grad = defop(
    "dirichlet_grad",
    "input alpha total",
    forward=lambda xp, x, alpha, total: _over(
        lambda x, a, s: _beta_slope(x, a, s - a) / (1 - x), x, alpha, total
    ),
    aval=lambda x, alpha, total: x,
    vjp={"input": _no_second, "alpha": _no_second, "total": _no_second},
)

standard_gamma = defop(
    "standard_gamma",
    "input values",
    forward=lambda xp, alpha, values: values,
    aval=lambda alpha, values: values,
    vjp={"input": lambda F, g, input, out: g * F.standard_gamma_grad(input, out)},
)


def _dirichlet_vjp(F: Any, g: Any, input: Any, out: Any) -> Any:
    total = F.expand(F.sum(input, dim=(-1,), keepdim=True), shape=tuple(input.shape))
    slopes = F.dirichlet_grad(out, input, total)
    return slopes * (g - F.sum(out * g, dim=(-1,), keepdim=True))


sample_dirichlet = defop(
    "sample_dirichlet",
    "input values",
    forward=lambda xp, alpha, values: values,
    aval=lambda alpha, values: values,
    vjp={"input": _dirichlet_vjp},
)


@public(names="_standard_gamma")
def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Gamma samples of shape parameter `input` and scale 1, with gradients.

    >>> import pellucid as torch
    >>> torch._standard_gamma(torch.ones(2, dtype=torch.float64)).shape
    torch.Size([2])
    """
    alpha = require_tensor(input, "_standard_gamma")._array
    return standard_gamma.call(
        input, make_tensor(random_reject.standard_gamma(generator or default_generator, alpha))
    )


@public(names="_sample_dirichlet")
def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Dirichlet samples over the last dimension of `input`, with gradients.

    >>> import pellucid as torch
    >>> torch._sample_dirichlet(torch.ones(1))
    tensor([1.0000])
    """
    alpha = require_tensor(input, "_sample_dirichlet")._array
    return sample_dirichlet.call(
        input, make_tensor(random_reject.dirichlet(generator or default_generator, alpha))
    )


@public(names="_standard_gamma_grad")
def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """The derivative of gamma samples `output` for their shape parameters `input`."""
    return standard_gamma_grad.call(input, output)


@public(names="_dirichlet_grad")
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """The derivative of Dirichlet samples' components `x` for their parameter, divided by 1 - x."""
    return dirichlet_grad.call(x, alpha, total)
